"""Detection of legacy views among rows, and the choice of the reader for each."""

from __future__ import annotations

from collections.abc import Sequence

from hive_views.identifiers import ViewName
from hive_views.legacy_import.legacy_view import LegacyView, Problem, Reason, Writer, declared_columns, decode_mojibake
from hive_views.legacy_import.readers import spark, trino
from hive_views.metastore.queries import names_by_table_type
from hive_views.metastore.rows.row import MATERIALIZED_VIEW, VIRTUAL_VIEW, Row, RowKind
from hive_views.metastore.store import MetastoreStore
from hive_views.spec.session_settings import ANSI
from hive_views.sql.text.dialects import Dialect

_STORAGE_PARAMETERS = ("metadata_location", "rewriting.time.window", "transactional", "table_type")


def read_hive_view(row: Row) -> LegacyView:
    """Read the row of a Hive view or materialized view, with its expanded text as the source.

    In the original text, Hive's lexer has removed the backticks around names, and unqualified names refer to a database
    that is not recorded. So it becomes the typed text only if it can be shown to mean the same as the expanded text.
    """
    text = row.texts.expanded or row.texts.original
    is_materialized = row.table_type == MATERIALIZED_VIEW
    repairs: tuple[str, ...] = ()
    if text and not row.texts.expanded:
        repairs = ("the row has no expanded text; the original one is used instead",)
    return LegacyView(
        name=row.name,
        writer=Writer.HIVE,
        dialect=Dialect.HIVE,
        sql=text or "",
        database=row.name.database,
        columns=declared_columns(row),
        original=row.texts.original if row.texts.original != text else None,
        comment=row.parameters.get("comment"),
        settings={ANSI: "false"},  # Hive's casts return NULL where they fail
        partitioned=bool(row.partition_keys),
        materialized=is_materialized,
        storage=_read_storage(row) if is_materialized else {},
        repairs=repairs,
        repaired_sql=decode_mojibake(text or ""),
        problem=None if text else Problem(Reason.NO_TEXT, f"the row of {row.name} has no view text"),
    )


def _read_storage(row: Row) -> dict[str, str]:
    storage = {key: row.parameters[key] for key in _STORAGE_PARAMETERS if key in row.parameters}
    if row.location:
        storage["location"] = row.location
    storage["rewrite"] = "enabled" if row.is_rewrite_enabled else "disabled"
    return storage


def read_view(row: Row) -> LegacyView:
    """Read a legacy view from its row alone."""
    if trino.is_trino_row(row):
        return trino.read(row)
    if spark.is_spark_row(row) and row.table_type != MATERIALIZED_VIEW:
        return spark.read(row)
    return read_hive_view(row)


def is_legacy(row: Row) -> bool:
    """Return whether a row is a view or a materialized view, and not an Iceberg view."""
    return row.kind is RowKind.HIVE_VIEW or (row.table_type or "").upper() == MATERIALIZED_VIEW


def list_view_names(store: MetastoreStore, databases: Sequence[str]) -> list[ViewName]:
    """List all views and materialized views of some databases, including Iceberg views."""
    names = {
        name
        for database in databases
        for table_type in (VIRTUAL_VIEW, MATERIALIZED_VIEW)
        for name in names_by_table_type(store, database, table_type)
    }
    return sorted(names)
