"""What Spark does with a table because of its files, of which neither the row nor a partition tells.

Of a table, one directory is listed, and the footer of one file in it is read; what other files have is not seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from hive_views.dependencies.table_findings import ORC, PARQUET, has_native_reader
from hive_views.io.listing import list_entries
from hive_views.io.metadata_files import MetadataFiles
from hive_views.metastore.rows.row import Row
from hive_views.sql.analysis.outcomes import Outcome
from hive_views.sql.types.hive_types import base

MOST_ENTRIES = 1_000
"""How many entries of a directory are looked at."""


class FileProblem(NamedTuple):
    """What Spark does with a table because of its files."""

    outcome: Outcome
    """What happens."""
    reason: str
    """Why, and what helps; follows `it reads {table}, `."""
    is_relative: bool = False
    """Whether it only says that Spark reads the table otherwise than Hive, which the author of a Spark text sees."""


@dataclass(frozen=True)
class Readable:
    """The types of a table's column with which Spark reads a column of a Parquet file."""

    kinds: frozenset[str]
    """The types, without their sizes."""
    whole_digits: int | None = None
    """The digits before the point that a DECIMAL needs, if Spark reads the column as DECIMAL, too."""


_INTEGERS = Readable(frozenset({"tinyint", "smallint", "int", "bigint", "double", "date"}), whole_digits=10)
_TEXTS = Readable(frozenset({"string", "varchar", "char", "binary"}))
_TIMES = Readable(frozenset({"bigint", "timestamp"}))

READABLE: Mapping[tuple[str, str], Readable] = {
    ("INT32", "NONE"): _INTEGERS,
    ("INT32", "INT"): _INTEGERS,
    ("INT32", "DATE"): Readable(_INTEGERS.kinds),
    ("INT64", "NONE"): Readable(frozenset({"bigint"}), whole_digits=20),
    ("INT64", "TIMESTAMP"): _TIMES,
    ("FLOAT", "NONE"): Readable(frozenset({"float", "double"})),
    ("DOUBLE", "NONE"): Readable(frozenset({"double"})),
    ("BOOLEAN", "NONE"): Readable(frozenset({"boolean"})),
    ("BYTE_ARRAY", "NONE"): _TEXTS,
    ("BYTE_ARRAY", "STRING"): _TEXTS,
}
"""Physical and logical type of a column of a Parquet file → what Spark 4.1.4 reads it as.

Measured with files of 14 types of PyArrow as tables of 17 types of Hive; with all others Spark ends in an error. Types
that are not here, such as nested ones, are not known.
"""


def file_problems(files: MetadataFiles, row: Row, directory: str) -> Iterator[FileProblem]:
    """Yield what Spark does with a Hive table because of the files in its directory, or in that of a partition.

    Raises the errors of the storage. A storage whose FileIO cannot list has no problems.
    """
    is_native = has_native_reader(row)
    if not files.exists(directory):
        if is_native and row.partition_keys:
            return  # Spark skips the partition, too
        reason = f"a table whose directory {directory} does not exist: Spark fails, and Hive returns no rows of it"
        yield FileProblem(Outcome.REFUSED, reason)
        return
    entries = islice(list_entries(files, directory, recursive=False), MOST_ENTRIES)
    visible = sorted(entry for entry in entries if not entry.name.startswith((".", "_")))
    inner = next((entry.name for entry in visible if not entry.is_file), None)
    if inner is not None:
        yield _inner_directory(inner, is_native=is_native)
    file = next((entry.location for entry in visible if entry.is_file and entry.size), None)
    if file is not None and row.input_format == ORC:
        yield from _orc_problems(files, row, file)
    if file is not None and row.input_format == PARQUET:
        yield from _parquet_problems(files, row, file)


def _inner_directory(name: str, *, is_native: bool) -> FileProblem:
    if not is_native:
        return FileProblem(Outcome.REFUSED, f"a table whose directory contains a directory ({name}): Spark fails on it")
    reason = (
        f"a table whose directory contains a directory ({name}): Spark does not read the files in it, and Hive does "
        "with mapreduce.input.fileinputformat.input.dir.recursive=true, as on Tez; have Hive copy it"
    )
    return FileProblem(Outcome.OTHER_ROWS, reason, is_relative=True)


def _orc_problems(files: MetadataFiles, row: Row, location: str) -> Iterator[FileProblem]:
    """Yield a problem if an ORC file has another column at the place of one of the table's."""
    from pyarrow.orc import ORCFile

    with files.open_data(location) as stream:
        names = [name.lower() for name in ORCFile(stream).schema.names]
    if all(name.startswith("_col") for name in names):
        return  # Spark reads these by position, too
    for (name, _), found in zip(_columns(row), names, strict=False):
        if name != found:
            reason = (
                f"an ORC table with files of other columns ({found} for {name}): Hive reads them by position, Spark "
                "by name, unless it has the setting spark.hadoop.orc.force.positional.evolution=true"
            )
            yield FileProblem(Outcome.OTHER_ROWS, reason, is_relative=True)
            return


def _parquet_problems(files: MetadataFiles, row: Row, location: str) -> Iterator[FileProblem]:
    """Yield a problem for each column that Spark cannot read from a Parquet file with the table's type."""
    from pyarrow.parquet import ParquetFile

    kinds = dict(_columns(row))
    with files.open_data(location) as stream:
        schema = ParquetFile(stream).schema
    for at in range(len(schema.names)):
        column = schema.column(at)
        kind = kinds.get(column.path.lower())
        readable = READABLE.get((column.physical_type, column.logical_type.type))
        if kind is None or readable is None or _reads(readable, kind):
            continue
        stored = column.physical_type if column.logical_type.type == "NONE" else column.logical_type.type
        reason = (
            f"a Parquet table with files of other types (column {column.path} is {stored} in a file, and {kind} in the "
            "table): Spark fails on them; have Hive copy the table"
        )
        yield FileProblem(Outcome.REFUSED, reason)


def _reads(readable: Readable, kind: str) -> bool:
    name = base(kind)
    if name != "decimal":
        return name in readable.kinds or name not in _MEASURED
    precision, _, scale = kind.partition("(")[2].rstrip(") ").partition(",")
    whole = int(precision or 10) - int(scale or 0)
    return readable.whole_digits is not None and whole >= readable.whole_digits


_MEASURED = frozenset(
    {"tinyint", "smallint", "int", "bigint", "float", "double", "string", "varchar", "char", "binary", "boolean"}
    | {"date", "timestamp"}
)
"""The types of a table's columns that were measured, beside DECIMAL."""


def _columns(row: Row) -> list[tuple[str, str]]:
    """Return the columns that are in the files of a Hive table, in lower case."""
    descriptor = row.table.sd
    return [(column.name.lower(), column.type.lower()) for column in (descriptor.cols or () if descriptor else ())]
