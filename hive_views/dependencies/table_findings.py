"""Tables that an engine reads, or may read, with other rows, or not at all, whatever the text of the view over them.

A fact about a kind of table is an entry of `TABLE_RULES`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from hive_views.config import ENGINES
from hive_views.identifiers import ViewName
from hive_views.metastore.rows.row import MATERIALIZED_VIEW, Row, RowKind
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
    is_relative: bool = False
    """Whether it only says that Spark reads the table otherwise than Hive, which the author of a Spark text sees."""


def _parameter(row: Row, key: str) -> str:
    """Return a parameter as Hive reads it: its key may also be in upper case, and its value is in any case."""
    return (row.parameters.get(key) or row.parameters.get(key.upper()) or "").lower()


def _is_hive_table(row: Row) -> bool:
    return row.kind is RowKind.HIVE_TABLE and row.table_type != MATERIALIZED_VIEW


def _has_provider(row: Row) -> bool:
    """Whether Spark reads the table by a data source of its own, which ignores Hive's formats and directories."""
    return "spark.sql.sources.provider" in row.parameters


def is_transactional(row: Row) -> bool:
    """Return whether a Hive table is transactional, full ACID or insert-only."""
    # Also a table that Spark created and Hive has made transactional since.
    return _is_hive_table(row) and _parameter(row, "transactional") == "true"


def _is_insert_only(row: Row) -> bool:
    return is_transactional(row) and _parameter(row, "transactional_properties") == "insert_only"


def _is_full_acid(row: Row) -> bool:
    return is_transactional(row) and not _is_insert_only(row)


ORC = "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat"
PARQUET = "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat"
"""The input formats of Hive's tables whose files Spark reads with its own readers."""


def has_native_reader(row: Row) -> bool:
    """Return whether Spark reads the files with its own reader, which ignores directories, and not with Hive's."""
    return _has_provider(row) or row.input_format in (ORC, PARQUET)


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


def is_read_by_hive_classes(row: Row) -> bool:
    """Return whether Spark reads a table with the classes that its row names."""
    return _is_hive_table(row) and not _has_provider(row)


def _has_skipped_lines(row: Row) -> bool:
    counts = [_parameter(row, f"skip.{part}.line.count") for part in ("header", "footer")]
    is_text = row.input_format == "org.apache.hadoop.mapred.TextInputFormat"
    return is_text and any(count.isdigit() and int(count) for count in counts)


def _has_unreadable_type(row: Row) -> bool:
    kinds = [kind.lower() for _, kind, _ in row.columns]
    return any(kind in text for text in kinds for kind in _UNREADABLE_TYPES)


def columns_of_files(row: Row) -> list[tuple[str, str]]:
    """Return names and types, in lower case, of the columns that are in a table's files: not those of partitions."""
    keys = {name.lower() for name, _ in row.partition_keys}
    return [(name.lower(), kind.lower()) for name, kind, _ in row.columns if name.lower() not in keys]


def _is_changed(row: Row, input_format: str) -> bool:
    """Return whether ALTER TABLE changed a table of an input format, which Spark reads with its own reader."""
    is_own = is_read_by_hive_classes(row) and row.input_format == input_format
    return is_own and bool(_parameter(row, "last_modified_time"))


def _may_have_renamed_columns(row: Row) -> bool:
    return _is_changed(row, ORC)


def _may_have_changed_types(row: Row) -> bool:
    has_texts = any(re.search(r"\b(?:string|char|varchar)\b(?!:)", kind) for _, kind in columns_of_files(row))
    return _is_changed(row, PARQUET) and has_texts


_TYPES_IN_TEXT = re.compile(r"\b(?:timestamp|date|decimal)\b(?!:)")
"""Types of columns whose texts the SerDe of Hive 4 and that of Spark read differently; not the names of fields."""


def _has_types_in_text(row: Row) -> bool:
    is_text = is_read_by_hive_classes(row) and row.serde == "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
    return is_text and any(_TYPES_IN_TEXT.search(kind) for _, kind in columns_of_files(row))


def _has_timestamps(row: Row) -> bool:
    return any(re.search(r"\btimestamp\b(?!:| with)", kind) for _, kind in columns_of_files(row))


_CLASSES_OF_SPARK = (
    *("org.apache.hadoop.hive.serde2.", "org.apache.hadoop.hive.ql.io.", "org.apache.hadoop.mapred."),
    *("org.apache.parquet.", "parquet.hive."),
)
"""The packages of SerDes and input formats in the JARs of PySpark 4.1.4; `MISSING_SERDES` are those that they lack."""
_PROVIDERS_OF_SPARK = frozenset({"avro", "binaryfile", "csv", "hive", "jdbc", "json", "orc", "parquet", "text", "xml"})
"""Spark's own data sources, also by the name of a class (`org.apache.spark.sql.…`)."""


def _is_list_bucketed(row: Row) -> bool:
    descriptor = row.table.sd
    skew = descriptor.skewedInfo if descriptor is not None and descriptor.storedAsSubDirectories else None
    return is_read_by_hive_classes(row) and skew is not None and bool(skew.skewedColNames)


def _has_other_collection_delimiter(row: Row) -> bool:
    serde = row.table.sd.serdeInfo if row.table.sd is not None else None
    parameters = (serde.parameters if serde is not None else None) or {}
    has_collections = any(kind.lower().startswith(("array<", "map<", "struct<")) for _, kind, _ in row.columns)
    is_hive_3 = "colelction.delim" not in parameters and parameters.get("collection.delim", "\2") != "\2"
    return is_read_by_hive_classes(row) and has_collections and is_hive_3


def _is_hudi_table(row: Row) -> bool:
    return is_read_by_hive_classes(row) and (row.input_format or "").startswith(
        ("org.apache.hudi.hadoop.", "com.uber.hoodie.hadoop.")
    )


def _has_manifest(row: Row) -> bool:
    is_symlink = row.input_format == "org.apache.hadoop.hive.ql.io.SymlinkTextInputFormat"
    return is_read_by_hive_classes(row) and is_symlink and row.serde.endswith(("ParquetHiveSerDe", "OrcSerde"))


def _has_foreign_class(row: Row) -> bool:
    if not is_read_by_hive_classes(row) or _parameter(row, "storage_handler") or _is_hudi_table(row):
        return False
    return any(name and not name.startswith(_CLASSES_OF_SPARK) for name in (row.serde, row.input_format))


def _has_foreign_provider(row: Row) -> bool:
    provider = _parameter(row, "spark.sql.sources.provider")
    is_own = provider in _PROVIDERS_OF_SPARK or provider.startswith("org.apache.spark.sql.")
    return _is_hive_table(row) and bool(provider) and not is_own


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
        lambda row: _is_insert_only(row) and has_native_reader(row),
    ),
    TableRule(
        SPARK,
        Outcome.REFUSED,
        f"an insert-only transactional table: Spark fails on its directories; {_COPY}",
        "Spark 4.1.4",
        lambda row: _is_insert_only(row) and not has_native_reader(row),
    ),
    TableRule(
        SPARK,
        Outcome.REFUSED,
        "a table of a storage handler (its property storage_handler): Spark fails without the handler's class; add it "
        "to Spark's class path, or copy the table",
        "Spark 4.1.4",
        lambda row: is_read_by_hive_classes(row) and bool(_parameter(row, "storage_handler")),
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
        lambda row: is_read_by_hive_classes(row) and _has_skipped_lines(row),
    ),
    TableRule(
        SPARK,
        Outcome.REFUSED,
        "a table with a column of type uniontype or timestamp with local time zone: Spark reads none of its columns; "
        "have Hive copy it to a table without this type",
        "Spark 3.5.9, 4.0.5, 4.1.4",
        lambda row: is_read_by_hive_classes(row) and _has_unreadable_type(row),
    ),
    TableRule(
        SPARK,
        Outcome.REFUSED,
        "a table whose SerDe is a class that Spark's JARs lack; add Hive's JAR to Spark's class path, or have Hive "
        "copy the table",
        "Spark 3.5.9, 4.0.5, 4.1.4",
        lambda row: is_read_by_hive_classes(row) and row.serde in MISSING_SERDES,
    ),
    TableRule(
        SPARK,
        Outcome.OTHER_ROWS,
        "a table whose skewed values are in directories (SKEWED BY … STORED AS DIRECTORIES): Spark returns none of its "
        "rows, or fails on the directories; have Hive copy it to a table without them",
        "Spark 4.1.4",
        _is_list_bucketed,
    ),
    TableRule(
        SPARK,
        Outcome.OTHER_ROWS,
        "a table with COLLECTION ITEMS TERMINATED BY, which Hive 3 and later record under the key collection.delim: "
        "Spark reads the key colelction.delim only; set it to the same value with ALTER TABLE … SET SERDEPROPERTIES",
        "Spark 4.1.4",
        _has_other_collection_delimiter,
    ),
    TableRule(
        SPARK,
        Outcome.OTHER_ROWS,
        "a Hudi table that Spark reads as plain Parquet files, every version of a row; have Hudi's sync write Spark's "
        "provider, and add Hudi to Spark's class path",
        "Spark 4.1.4",
        _is_hudi_table,
    ),
    TableRule(
        SPARK,
        Outcome.REFUSED,
        "a table whose files are named by a manifest (SymlinkTextInputFormat): Spark reads the manifest as a file of "
        "rows; read the table by Spark's data source for its format",
        "Spark 4.1.4",
        _has_manifest,
    ),
    TableRule(
        SPARK,
        Outcome.REFUSED,
        "an index table of Hive: Spark reads none",
        "Spark 4.1.4",
        lambda row: row.kind is RowKind.HIVE_TABLE and row.table_type == "INDEX_TABLE",
    ),
    TableRule(
        SPARK,
        Outcome.UNVERIFIED,
        "a table whose SerDe or input format is no class of Hive's packages: Spark needs its JAR on the class path",
        "Spark 4.1.4",
        _has_foreign_class,
    ),
    TableRule(
        SPARK,
        Outcome.UNVERIFIED,
        "a table of a data source that is not Spark's own (spark.sql.sources.provider): Spark needs its library",
        "Spark 4.1.4",
        _has_foreign_provider,
    ),
    TableRule(
        SPARK,
        Outcome.UNVERIFIED,
        "an ORC table that ALTER TABLE changed: if a column was renamed, it is NULL in Spark for older files, unless "
        "Spark has the setting spark.hadoop.orc.force.positional.evolution=true",
        "Spark 4.1.4",
        _may_have_renamed_columns,
        is_relative=True,
    ),
    TableRule(
        SPARK,
        Outcome.UNVERIFIED,
        "a Parquet table that ALTER TABLE changed: if a column became a text, Spark fails on the files that were "
        "written before; have Hive copy the table",
        "Spark 4.1.4",
        _may_have_changed_types,
        is_relative=True,
    ),
    TableRule(
        SPARK,
        Outcome.UNVERIFIED,
        "a text table with columns of type TIMESTAMP, DATE or DECIMAL: Spark reads some of the texts that Hive reads "
        "as NULL (2024-01-01T10:00:00, a DATE with a time of day, blanks around a value), and days that do not exist "
        "as other days; if the files have any, have Hive copy the table to another format",
        "Spark 4.1.4, Hive 4.1.0",
        _has_types_in_text,
        is_relative=True,
    ),
    TableRule(
        SPARK,
        Outcome.SOME_VALUES,
        "an ORC or Parquet table with columns of type TIMESTAMP: Spark cuts nanoseconds to microseconds",
        "Spark 4.1.4, Hive 4.1.0",
        lambda row: is_read_by_hive_classes(row) and row.input_format in (ORC, PARQUET) and _has_timestamps(row),
        is_relative=True,
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
        if item.engine == SPARK and item.outcome not in (Outcome.UNVERIFIED, Outcome.SOME_VALUES)
    )


def table_findings(row: Row, *, is_spark_text: bool = False) -> tuple[EngineFinding, ...]:
    """Return the findings about a table that a view reads; `is_spark_text` states that its author used Spark."""
    return tuple(
        EngineFinding(rule.engine, rule.outcome, f"it reads {row.name}, {rule.reason}", table=str(row.name))
        for rule in TABLE_RULES
        if rule.applies(row) and not (is_spark_text and rule.is_relative)
    )
