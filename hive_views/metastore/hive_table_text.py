"""The CREATE TABLE statement of a plain Hive table, derived from its row, because a drop removes the definition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hive_views.errors import UndroppableTableError
from hive_views.metastore._thrift.hive_metastore.ttypes import FieldSchema
from hive_views.metastore.rows.row import CHANGE_TIME, EXTERNAL, MATERIALIZED_VIEW, Row, RowKind
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.text.quoting import quote_identifier, quote_name, string_literal

_STATISTICS = frozenset(
    {
        *("COLUMN_STATS_ACCURATE", "numFiles", "numRows", "rawDataSize", "totalSize", "numFilesErasureCoded"),
        *("last_modified_by", "last_modified_time", "numPartitions"),
    }
)
_HANDLER = "storage_handler"
_COMMENT = "comment"
_PROVIDER = "spark.sql.sources.provider"
_HIVE_PROVIDERS = ("hive", "parquet", "orc")
"""Spark's table formats for which a row has the columns and classes that Hive needs to read them."""


def check_droppable(row: Row) -> None:
    """Reject the drop of a Hive table that no statement can create again."""
    name = str(row.name)
    if row.table_type == MATERIALIZED_VIEW:
        raise UndroppableTableError(name, "it is a materialized view of Hive")
    if row.kind is RowKind.HIVE_TABLE and row.parameters.get("transactional", "").lower() == "true":
        raise UndroppableTableError(name, "it is a transactional table, whose files mean nothing without the metastore")


def create_statement(row: Row) -> str | None:
    """Return a statement for Hive and Spark that creates a Hive table again over its files; None if that is impossible.

    The table is external, so that a later drop keeps the files. The statement does not contain partitions.
    """
    table, sd = row.table, row.table.sd
    if sd is None or not sd.location or row.parameters.get(_PROVIDER, "hive").lower() not in _HIVE_PROVIDERS:
        return None
    name = quote_name((row.name.database, row.name.name))
    clauses = [f"CREATE EXTERNAL TABLE {name} ({_columns(sd.cols)})"]
    if row.parameters.get(_COMMENT):
        clauses.append(f"COMMENT {_text(row.parameters[_COMMENT])}")
    if table.partitionKeys:
        clauses.append(f"PARTITIONED BY ({_columns(table.partitionKeys)})")
    if sd.bucketCols and sd.numBuckets > 0:
        clauses.append(f"CLUSTERED BY ({', '.join(map(quote_identifier, sd.bucketCols))})")
        orders = [f"{quote_identifier(item.col)} {'ASC' if item.order else 'DESC'}" for item in sd.sortCols or ()]
        clauses += [f"SORTED BY ({', '.join(orders)})"] if orders else []
        clauses.append(f"INTO {sd.numBuckets} BUCKETS")
    handler = row.parameters.get(_HANDLER)
    serde = sd.serdeInfo
    properties = _properties(serde.parameters or {} if serde is not None else {})
    options = f" WITH SERDEPROPERTIES ({properties})" if properties else ""
    if handler:
        clauses.append(f"STORED BY {_text(handler)}{options}")
    else:
        if serde is not None and serde.serializationLib:
            clauses.append(f"ROW FORMAT SERDE {_text(serde.serializationLib)}{options}")
        if sd.inputFormat and sd.outputFormat:
            clauses.append(f"STORED AS INPUTFORMAT {_text(sd.inputFormat)} OUTPUTFORMAT {_text(sd.outputFormat)}")
    clauses.append(f"LOCATION {_text(sd.location)}")
    excluded = {*_STATISTICS, CHANGE_TIME, EXTERNAL, _HANDLER, _COMMENT}
    parameters = {
        key: value
        for key, value in row.parameters.items()
        if key not in excluded and not key.startswith("spark.sql.")  # Spark accepts no such property
    }
    if parameters:
        clauses.append(f"TBLPROPERTIES ({_properties(parameters)})")
    return " ".join(clauses)


def _columns(fields: Iterable[FieldSchema]) -> str:
    return ", ".join(
        f"{quote_identifier(field.name)} {field.type}{f' COMMENT {_text(field.comment)}' if field.comment else ''}"
        for field in fields
    )


def _properties(properties: Mapping[str, str]) -> str:
    return ", ".join(f"{_text(key)} = {_text(value or '')}" for key, value in sorted(properties.items()))


def _text(value: str) -> str:
    return string_literal(value, Dialect.HIVE)
