"""What an engine does with a table because of its partitions or its metadata file, which its row does not show.

Each table is examined once, with at most two requests to the metastore, and four to the storage. A fact about NULL
in a partition column is an entry of `NULL_RULES`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace

from hive_views.dependencies.table_files import FileProblem, file_problems
from hive_views.dependencies.table_findings import (
    HIVE_ENGINE,
    SPARK,
    TRINO,
    EngineFinding,
    has_native_reader,
    is_read_by_hive_classes,
    is_transactional,
    table_findings,
)
from hive_views.errors import MetastoreRefusedError
from hive_views.identifiers import ViewName
from hive_views.metastore.partitions import DEFAULT_PARTITION, PartitionFiles, Values, partition_files, partition_values
from hive_views.metastore.rows.row import Row, RowKind
from hive_views.metastore.store import MetastoreStore
from hive_views.sql.analysis.outcomes import Outcome
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.types.hive_types import base

_THREADS = 8

SAMPLE = 100
"""Of a table with more than twice as many partitions, the formats of this many at both ends of their list are read."""


@dataclass(frozen=True)
class NullRule:
    """What Spark does with NULL in a partition column, for which Hive stores `__HIVE_DEFAULT_PARTITION__`."""

    kinds: frozenset[str]
    """The types of the column, without their sizes; empty for all others."""
    is_native: bool
    """Whether it holds for files that Spark reads with its own readers (ORC, Parquet), or for all others."""
    outcome: Outcome | None
    """What happens; None if Spark and Hive return the same."""
    reason: str
    """What differs."""
    version: str = "Hive 4.1.0, Spark 4.1.4"
    """The versions that were measured, with columns of eight types over text, sequence, Avro, ORC and Parquet files."""


_AS_TEXT = f"Hive returns the text {DEFAULT_PARTITION}, and Spark NULL"
_IN_ANSI_MODE = "Spark fails in ANSI mode (CAST_INVALID_INPUT)"
NULL_RULES = (
    NullRule(frozenset({"string", "varchar", "char"}), True, Outcome.OTHER_ROWS, _AS_TEXT),
    NullRule(frozenset({"string"}), False, None, ""),
    NullRule(
        frozenset({"varchar", "char"}),
        False,
        Outcome.OTHER_ROWS,
        f"Hive returns the text {DEFAULT_PARTITION}, cut to the column's length, and Spark the whole",
    ),
    NullRule(frozenset({"boolean"}), True, Outcome.OTHER_ROWS, "Hive returns true, and Spark NULL"),
    NullRule(
        frozenset({"boolean"}),
        False,
        Outcome.MAY_FAIL,
        f"Hive returns true; {_IN_ANSI_MODE}, and otherwise returns NULL",
    ),
    NullRule(frozenset(), True, None, ""),
    NullRule(
        frozenset(),
        False,
        Outcome.MAY_FAIL,
        f"{_IN_ANSI_MODE}; it returns Hive's rows with spark.sql.ansi.enabled=false",
    ),
)
"""The first rule that holds counts."""


class TableChecker:
    """Examines the tables that views read, each once; create a new object to see changes."""

    def __init__(self, store: MetastoreStore) -> None:
        self._store = store
        self._findings: dict[ViewName, tuple[EngineFinding, ...]] = {}
        self._of_nulls: dict[ViewName, tuple[EngineFinding, ...]] = {}
        self._of_files: dict[ViewName, tuple[FileProblem, ...]] = {}

    def check(self, row: Row, author: Dialect) -> tuple[EngineFinding, ...]:
        """Return the findings about a table that a view reads, whose text is written for an engine."""
        if row.name not in self._findings:
            self._findings[row.name] = tuple(self._examine(row))
        is_spark_text = author is Dialect.SPARK
        of_nulls = self._of_nulls.get(row.name, ())
        if is_spark_text:
            # Spark returns what its author sees.
            of_nulls = tuple(
                replace(item, engine=HIVE_ENGINE) for item in of_nulls if item.outcome is Outcome.OTHER_ROWS
            )
        of_files = (
            _finding(SPARK, problem.outcome, row, problem.reason)
            for problem in self._of_files.get(row.name, ())
            if not (is_spark_text and problem.is_relative)
        )
        return (*table_findings(row, is_spark_text=is_spark_text), *self._findings[row.name], *of_nulls, *of_files)

    def _examine(self, row: Row) -> Iterator[EngineFinding]:
        """Yield the findings that the row does not show."""
        problem = missing_metadata_file(self._store, row)
        if problem is not None:
            for engine in (SPARK, TRINO):
                yield _finding(engine, Outcome.REFUSED, row, f"an Iceberg table that cannot be read: {problem}")
        schema_file = _missing_schema_file(self._store, row)
        if schema_file is not None:
            reason = (
                f"an Avro table whose schema file {schema_file} (avro.schema.url) does not exist: Spark has no columns"
            )
            yield _finding(SPARK, Outcome.REFUSED, row, reason)
        if not is_read_by_hive_classes(row):
            return
        directory = row.location
        if row.partition_keys:
            try:
                partitions = partition_values(self._store.client, row)
                self._of_nulls[row.name] = tuple(_null_findings(row, partitions))
                stored = self._stored(row, [*partitions])
            except MetastoreRefusedError as error:
                yield _finding(SPARK, Outcome.UNVERIFIED, row, f"a table whose partitions cannot be read: {error}")
                return
            yield from _format_findings(row, stored)
            directory = stored[-1].location if stored else None
        if directory is not None and row.name not in self._of_files:
            self._of_files[row.name] = self._problems_of_files(row, directory)

    def examine_files(self, rows: Iterable[Row]) -> None:
        """Examine the files of many tables at once, since each takes some requests to the storage."""
        locations = [
            (row, row.location)
            for row in rows
            if is_read_by_hive_classes(row) and not row.partition_keys and row.location is not None
        ]
        with ThreadPoolExecutor(_THREADS, "hive-views-files") as pool:
            found = pool.map(lambda item: self._problems_of_files(*item), locations)
            self._of_files.update(zip((row.name for row, _ in locations), found, strict=True))

    def _problems_of_files(self, row: Row, directory: str) -> tuple[FileProblem, ...]:
        """Return what Spark does with the files in a directory; nothing if that cannot be found out."""
        problems: list[FileProblem] = []
        # A location with a fragment or a query is read without it by PyIceberg, and with it by Spark.
        if not is_transactional(row) and not {"#", "?"} & {*directory}:
            # Readers of the view may have the credentials that are missing here.
            with suppress(Exception):
                problems.extend(file_problems(self._store.files, row, directory))
        return tuple(problems)

    def _stored(self, row: Row, names: Sequence[str]) -> tuple[PartitionFiles, ...]:
        """Return the files of partitions at both ends of their list; the last one is enough for most formats."""
        if not has_native_reader(row):
            names = names[-1:]
        elif len(names) > 2 * SAMPLE:
            names = [*names[:SAMPLE], *names[-SAMPLE:]]
        return partition_files(self._store.client, row, names) if names else ()


def _format_findings(row: Row, stored: Sequence[PartitionFiles]) -> Iterator[EngineFinding]:
    """Yield a finding if a table that Spark reads with its own reader has partitions of other formats."""
    others = {files.input_format for files in stored if files.input_format} - {row.input_format}
    if others and has_native_reader(row):
        yield _finding(
            SPARK,
            Outcome.REFUSED,
            row,
            f"a table with partitions of other formats ({', '.join(sorted(others))}): Spark reads the files of all "
            "partitions by the table's format, and fails; have Hive copy it",
        )


def missing_metadata_file(store: MetastoreStore, row: Row) -> str | None:
    """Return what is wrong with the metadata file of an Iceberg table; None if it exists, or if that is unknown."""
    if row.kind is not RowKind.ICEBERG_TABLE:
        return None
    if not row.metadata_location:
        return "its row has no metadata_location"
    is_missing = _is_missing(store, row.metadata_location)
    return f"its metadata file {row.metadata_location} does not exist" if is_missing else None


def _missing_schema_file(store: MetastoreStore, row: Row) -> str | None:
    """Return the file that a table of Avro files has its columns from, if it does not exist."""
    if not is_read_by_hive_classes(row) or row.serde != _AVRO:
        return None
    url = row.parameters.get("avro.schema.url")
    return url if url is not None and _is_missing(store, url) else None


_AVRO = "org.apache.hadoop.hive.serde2.avro.AvroSerDe"


def _is_missing(store: MetastoreStore, location: str) -> bool:
    """Return whether a file does not exist; False if that is unknown."""
    try:
        return not store.files.exists(location)
    except Exception:  # noqa: BLE001 -- FileIOs raise the exceptions of their storages' clients
        return False  # readers of the view may have the credentials


def _null_findings(row: Row, partitions: Mapping[str, Values]) -> Iterator[EngineFinding]:
    """Yield one finding for each partition column with NULL that Spark does not read as Hive does."""
    is_native = has_native_reader(row)
    for at, (name, kind) in enumerate(row.partition_keys):
        rule = next(
            rule for rule in NULL_RULES if rule.is_native == is_native and (base(kind) in rule.kinds or not rule.kinds)
        )
        if rule.outcome is not None and any(values[at] == DEFAULT_PARTITION for values in partitions.values()):
            yield _finding(
                SPARK, rule.outcome, row, f"a table with NULL in its partition column {name} {kind}: {rule.reason}"
            )


def _finding(engine: str, outcome: Outcome, row: Row, reason: str) -> EngineFinding:
    return EngineFinding(engine, outcome, f"it reads {row.name}, {reason}", table=str(row.name))
