"""Tables that an engine reads, or may read, with other rows, or not at all, whatever the text of the view over them.

A fact about a kind of table is an entry of `TABLE_RULES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from hive_views.config import ENGINES
from hive_views.identifiers import ViewName
from hive_views.metastore.row_codec import MATERIALIZED_VIEW, Row, RowKind
from hive_views.sql.analysis.outcomes import Outcome

SPARK, HIVE_ENGINE, TRINO = ENGINES


@dataclass(frozen=True)
class EngineFinding:
    """A reason why an engine does not return, or may not return, the rows that a view's author sees.

    There is one finding per engine and cause. A view that reads the view has it once, too, on however many paths.
    """

    engine: str
    """`spark`, `hive` or `trino`."""
    outcome: Outcome
    """What happens."""
    construct: str
    """The cause: a construct of the text or a source of the view."""
    line: int | None = field(default=None, compare=False)
    """Line of the construct in the examined text, from 1; None if it has no position."""
    column: int | None = field(default=None, compare=False)
    """Character in that line, from 1."""
    table: str | None = None
    """The table that is the cause, whose name `construct` contains; None if a text is."""
    view: str | None = None
    """The view whose text is the cause, whose name `construct` contains; None if the examined text is, or a table."""

    @property
    def text(self) -> str:
        """The finding on one line."""
        return f"{self.engine}: {self.outcome.value}: {self.construct}"

    def through(self, source: ViewName) -> EngineFinding:
        """Return the finding of a view that reads the view `source`, which has this finding."""
        if self.table is not None or self.view is not None:
            return self
        return EngineFinding(self.engine, self.outcome, f"it reads {source}: {self.construct}", view=str(source))


@dataclass(frozen=True)
class TableRule:
    """What an engine does with a kind of table."""

    engine: str
    """`spark`, `hive` or `trino`."""
    outcome: Outcome
    """What happens."""
    reason: str
    """Why, and what helps; follows `it reads {table}, `."""
    version: str
    """The versions of the engine that were measured."""
    applies: Callable[[Row], bool]
    """Whether the row of a table is of this kind."""


def _parameter(row: Row, key: str) -> str:
    """Return a parameter as Hive reads it: its key may also be in upper case, and its value is in any case."""
    return (row.parameters.get(key) or row.parameters.get(key.upper()) or "").lower()


def _is_hive_table(row: Row) -> bool:
    return row.kind is RowKind.HIVE_TABLE and row.table_type != MATERIALIZED_VIEW


def _has_provider(row: Row) -> bool:
    """Whether Spark reads the table by a data source of its own, which ignores Hive's formats and directories."""
    return "spark.sql.sources.provider" in row.parameters


def _is_transactional(row: Row) -> bool:
    # Also a table that Spark created and Hive has made transactional since.
    return _is_hive_table(row) and _parameter(row, "transactional") == "true"


def _is_insert_only(row: Row) -> bool:
    return _is_transactional(row) and _parameter(row, "transactional_properties") == "insert_only"


def _is_full_acid(row: Row) -> bool:
    return _is_transactional(row) and not _is_insert_only(row)


def _has_native_reader(row: Row) -> bool:
    """Return whether Spark reads the files with its own reader, which ignores directories, and not with Hive's."""
    return _has_provider(row) or row.input_format in (
        "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat",
        "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
    )


_UNREADABLE_TYPES = ("uniontype<", "timestamp with local time zone")
"""Types of columns with which Spark (4.1.4) reads no column of a table."""
MISSING_SERDES = frozenset(
    {
        "org.apache.hadoop.hive.ql.io.protobuf.ProtobufBytesWritableSerDe",
        "org.apache.hadoop.hive.ql.io.protobuf.ProtobufMessageSerDe",
        "org.apache.hadoop.hive.ql.udf.esri.serde.EsriJsonSerDe",
        "org.apache.hadoop.hive.ql.udf.esri.serde.GeoJsonSerDe",
        "org.apache.hadoop.hive.serde2.JsonSerDe",
        "org.apache.hadoop.hive.serde2.MultiDelimitSerDe",
        "org.apache.hadoop.hive.serde2.teradata.TeradataBinarySerde",
    }
)
"""Classes in the JARs of Hive 4.1.0, and not in those of PySpark 4.1.4 (a test looks for them there)."""


def _is_read_by_hive_classes(row: Row) -> bool:
    """Return whether Spark reads a table with the classes that its row names."""
    return _is_hive_table(row) and not _has_provider(row)


def _has_skipped_lines(row: Row) -> bool:
    counts = [_parameter(row, f"skip.{part}.line.count") for part in ("header", "footer")]
    is_text = row.input_format == "org.apache.hadoop.mapred.TextInputFormat"
    return is_text and any(count.isdigit() and int(count) for count in counts)


def _has_unreadable_type(row: Row) -> bool:
    kinds = [kind.lower() for _, kind, _ in row.columns]
    return any(kind in text for text in kinds for kind in _UNREADABLE_TYPES)


def _may_have_renamed_columns(row: Row) -> bool:
    is_orc = row.input_format == "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat"
    return _is_read_by_hive_classes(row) and is_orc and bool(_parameter(row, "last_modified_time"))


_COPY = "have Hive copy it to a table that is not transactional"

TABLE_RULES = (
    TableRule(
        SPARK,
        Outcome.OTHER_ROWS,
        "a transactional (full ACID) table: Spark does not read the rows that were written since it is transactional, "
        f"and reports no error; {_COPY}",
        "Spark 4.1.4",
        _is_full_acid,
    ),
    TableRule(
        SPARK,
        Outcome.OTHER_ROWS,
        "an insert-only transactional table of ORC or Parquet files: Spark does not read the rows that were written "
        f"since it is transactional, and reports no error; {_COPY}",
        "Spark 4.1.4",
        lambda row: _is_insert_only(row) and _has_native_reader(row),
    ),
    TableRule(
        SPARK,
        Outcome.REFUSED,
        f"an insert-only transactional table: Spark fails on its directories; {_COPY}",
        "Spark 4.1.4",
        lambda row: _is_insert_only(row) and not _has_native_reader(row),
    ),
    TableRule(
        SPARK,
        Outcome.REFUSED,
        "a table of a storage handler (its property storage_handler): Spark fails without the handler's class; add it "
        "to Spark's class path, or copy the table",
        "Spark 4.1.4",
        lambda row: _is_read_by_hive_classes(row) and bool(_parameter(row, "storage_handler")),
    ),
    TableRule(
        SPARK,
        Outcome.REFUSED,
        "a materialized view of Hive: Spark reads none; import it first, or read the tables that it reads",
        "Spark 4.1.4",
        lambda row: row.kind is RowKind.HIVE_TABLE and row.table_type == MATERIALIZED_VIEW,
    ),
    TableRule(
        SPARK,
        Outcome.OTHER_ROWS,
        "a table whose files have a header or footer (skip.header.line.count, skip.footer.line.count): Spark returns "
        "these lines as rows; have Hive copy it to a table without them",
        "Spark 3.5.9, 4.0.5, 4.1.4",
        lambda row: _is_read_by_hive_classes(row) and _has_skipped_lines(row),
    ),
    TableRule(
        SPARK,
        Outcome.REFUSED,
        "a table with a column of type uniontype or timestamp with local time zone: Spark reads none of its columns; "
        "have Hive copy it to a table without this type",
        "Spark 3.5.9, 4.0.5, 4.1.4",
        lambda row: _is_read_by_hive_classes(row) and _has_unreadable_type(row),
    ),
    TableRule(
        SPARK,
        Outcome.REFUSED,
        "a table whose SerDe is a class that Spark's JARs lack; add Hive's JAR to Spark's class path, or have Hive "
        "copy the table",
        "Spark 3.5.9, 4.0.5, 4.1.4",
        lambda row: _is_read_by_hive_classes(row) and row.serde in MISSING_SERDES,
    ),
    TableRule(
        SPARK,
        Outcome.UNVERIFIED,
        "an ORC table that ALTER TABLE changed: if a column was renamed, it is NULL in Spark for older files, unless "
        "Spark has the setting spark.hadoop.orc.force.positional.evolution=true",
        "Spark 4.1.4",
        _may_have_renamed_columns,
    ),
    TableRule(
        HIVE_ENGINE,
        Outcome.REFUSED,
        "an Iceberg table: Hive needs Iceberg's storage handler, and the table property engine.hive.enabled=true",
        "Hive 4.1.0",
        lambda row: row.kind is RowKind.ICEBERG_TABLE,
    ),
)


def spark_findings(rows: Iterable[Row]) -> tuple[EngineFinding, ...]:
    """Return the findings about tables that Spark does not read, or reads with other rows, among some rows."""
    return tuple(
        item
        for row in rows
        for item in table_findings(row)
        if item.engine == SPARK and item.outcome is not Outcome.UNVERIFIED
    )


def table_findings(row: Row) -> tuple[EngineFinding, ...]:
    """Return the findings about a table that a view reads."""
    return tuple(
        EngineFinding(rule.engine, rule.outcome, f"it reads {row.name}, {rule.reason}", table=str(row.name))
        for rule in TABLE_RULES
        if rule.applies(row)
    )
