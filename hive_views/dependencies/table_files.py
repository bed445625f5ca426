"""What Spark does with a table because of its files, of which neither the row nor a partition tells.

Of a table, one directory is listed, and the footer of one file in it is read; what other files have is not seen.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from hive_views.dependencies.table_findings import ORC, PARQUET, columns_of_files, has_native_reader
from hive_views.io.listing import ListedEntry, list_entries
from hive_views.io.metadata_files import MetadataFiles
from hive_views.metastore.rows.row import Row
from hive_views.sql.analysis.outcomes import Outcome
from hive_views.sql.types.hive_types import base, decimal

if TYPE_CHECKING:
    from pyarrow.parquet import ColumnSchema
    from pyiceberg.io import InputStream

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
    ("INT64", "TIMESTAMP milliseconds"): _TIMES,
    ("INT64", "TIMESTAMP microseconds"): _TIMES,
    ("INT64", "TIMESTAMP nanoseconds"): Readable(frozenset({"bigint"})),
    ("FLOAT", "NONE"): Readable(frozenset({"float", "double"})),
    ("DOUBLE", "NONE"): Readable(frozenset({"double"})),
    ("BOOLEAN", "NONE"): Readable(frozenset({"boolean"})),
    ("BYTE_ARRAY", "NONE"): _TEXTS,
    ("BYTE_ARRAY", "STRING"): _TEXTS,
}
"""Physical and logical type of a column of a Parquet file → what Spark 4.0.5 and 4.1.4 read it as.

Measured with files of 14 types of PyArrow as tables of 19 types of Hive; with all others Spark ends in an error. Types
that are not here, such as nested ones, DECIMAL and unsigned integers, are not known. Spark 3.5.9 reads no wider type.
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
    inner = next((entry for entry in visible if not entry.is_file), None)
    if inner is not None:
        yield from _inner_directory(files, row, inner)
    file = next((entry.location for entry in visible if entry.is_file and entry.size), None)
    format_of_files = _FORMATS.get(row.input_format or "")
    if file is None or format_of_files is None:
        return
    with files.open_data(file) as stream:
        if stream.read(len(format_of_files.magic)) != format_of_files.magic:
            reason = f"{format_of_files.article} table with a file of another format: Spark fails on it"
            yield FileProblem(Outcome.REFUSED, reason)
            return
        stream.seek(0)
        yield from format_of_files.problems(stream, row)


def _inner_directory(files: MetadataFiles, row: Row, directory: ListedEntry) -> Iterator[FileProblem]:
    name = directory.name
    if not has_native_reader(row):
        yield FileProblem(Outcome.REFUSED, f"a table whose directory contains a directory ({name}): Spark fails on it")
        return
    if all(entry.name.startswith((".", "_")) for entry in list_entries(files, directory.location, recursive=False)):
        return
    if "=" in name and not row.partition_keys:
        reason = f"a table without partitions, whose directory contains one ({name}): Spark fails on its columns"
        yield FileProblem(Outcome.REFUSED, reason)
        return
    reason = (
        f"a table whose directory contains a directory ({name}): Spark does not read the files in it, and Hive does "
        "with mapreduce.input.fileinputformat.input.dir.recursive=true, as on Tez; have Hive copy it"
    )
    yield FileProblem(Outcome.OTHER_ROWS, reason, is_relative=True)


def _orc_problems(stream: InputStream, row: Row) -> Iterator[FileProblem]:
    """Yield a problem if an ORC file has another column at the place of one of the table's."""
    from pyarrow.orc import ORCFile

    names = [name.lower() for name in ORCFile(stream).schema.names]
    if all(re.fullmatch(r"_col\d+", name) for name in names):
        return  # Spark reads these by position, too
    for (name, _), found in zip(columns_of_files(row), names, strict=False):
        if name != found:
            reason = (
                f"an ORC table with files of other columns ({found} for {name}): Hive reads them by position, Spark "
                "by name, unless it has the setting spark.hadoop.orc.force.positional.evolution=true"
            )
            yield FileProblem(Outcome.OTHER_ROWS, reason, is_relative=True)
            return


def _parquet_problems(stream: InputStream, row: Row) -> Iterator[FileProblem]:
    """Yield a problem for each column that Spark cannot read from a Parquet file with the table's type."""
    from pyarrow.parquet import ParquetFile

    kinds = dict(columns_of_files(row))
    file = ParquetFile(stream)
    schema = file.schema
    if file.metadata.num_rows == 0:
        return  # Spark reads no column of it
    for at in range(len(schema.names)):
        column = schema.column(at)
        kind = None if "." in column.path else kinds.get(column.path.lower())  # a field, otherwise
        logical = _logical_type(column)
        readable = READABLE.get((column.physical_type, logical))
        if kind is None or readable is None or _reads(readable, kind):
            continue
        stored = column.physical_type if logical == "NONE" else logical
        reason = (
            f"a Parquet table with files of other types (column {column.path} is {stored} in a file, and {kind} in the "
            "table): Spark fails on them; have Hive copy the table"
        )
        yield FileProblem(Outcome.REFUSED, reason)


def _logical_type(column: ColumnSchema) -> str:
    """Return the logical type of a column of a Parquet file, as in `READABLE`."""
    name = str(column.logical_type.type)
    details = json.loads(column.logical_type.to_json()) if name in ("INT", "TIMESTAMP") else {}
    if name == "INT" and not details["isSigned"]:
        return "unsigned INT"
    return f"{name} {details['timeUnit']}" if name == "TIMESTAMP" else name


def _reads(readable: Readable, kind: str) -> bool:
    sizes = decimal(kind)
    if sizes is None:
        return base(kind) in readable.kinds or base(kind) not in _MEASURED
    precision, scale = sizes
    return readable.whole_digits is not None and precision - scale >= readable.whole_digits


_MEASURED = frozenset(
    {"tinyint", "smallint", "int", "bigint", "float", "double", "string", "varchar", "char", "binary", "boolean"}
    | {"date", "timestamp"}
)
"""The types of a table's columns that were measured, beside DECIMAL."""


@dataclass(frozen=True)
class _Format:
    """A format of files that Spark reads with its own reader."""

    article: str
    """Its name, with the article."""
    magic: bytes
    """What a file begins with."""
    problems: Callable[[InputStream, Row], Iterator[FileProblem]]
    """Yields what Spark does with a table because of a file."""


_FORMATS = {ORC: _Format("an ORC", b"ORC", _orc_problems), PARQUET: _Format("a Parquet", b"PAR1", _parquet_problems)}
