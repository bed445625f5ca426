"""The content of views as Spark returns it, for comparisons: columns, the number of rows and the sum of their hashes.

The order of rows does not matter. The hash of a row is that of a text with its columns in a canonical form: maps sorted
by their keys, floating-point numbers with 12 digits (6 for `float`), one zero and one NaN, and null different from an
empty value. The types that Iceberg does not have, which an import widens, have the same hash as the wider ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

from hive_views.errors import HiveViewsError
from hive_views.identifiers import ViewName
from hive_views.spark.session.session import ViewSession
from hive_views.spark.sessions import spark_exceptions
from hive_views.sql.text.quoting import quote_identifier

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession
    from pyspark.sql.types import DataType, StructType

_T = TypeVar("_T")

_VIEWS_PER_QUERY = 20
"""Views in one query or analysis."""
_KEEP_NULLS = "map('ignoreNullFields', 'false')"
_SMALL_INTEGERS = re.compile(r"\b(tinyint|smallint)\b")
_SIZED_STRINGS = re.compile(r"\b(varchar|char)\(\d+\)")


@dataclass(frozen=True)
class ViewContent:
    """What Spark returns for a view, or why it cannot read it. The fields are those of the file's JSON objects."""

    columns: tuple[str, ...] = ()
    """The names of its columns, in lower case."""
    number: int | None = None
    """The number of rows; None if they were not counted."""
    checksum: str | None = None
    """The sum of the rows' hashes."""
    problem: str | None = None
    """The first line of Spark's error if it cannot read the view."""
    types: tuple[str, ...] = ()
    """The columns' types as Spark writes them, with the types that Iceberg does not have as those that replace them;
    empty if they are not known."""


def read_contents(
    session: SparkSession | ViewSession, tables: Mapping[ViewName, str], *, columns_only: bool = False
) -> dict[ViewName, ViewContent]:
    """Read views in one session, many in each query.

    Args:
        session: Where the names are read.
        tables: The quoted names in Spark, by those in the result.
        columns_only: Read no rows.
    """
    names = list(tables)

    def read_schemas(part: Sequence[ViewName]) -> dict[ViewName, StructType | ViewContent]:
        columns = ", ".join(f"struct(t{number}.*) AS c{number}" for number in range(len(part)))
        joined = " CROSS JOIN ".join(f"{tables[name]} AS t{number}" for number, name in enumerate(part))
        fields = session.sql(f"SELECT {columns} FROM {joined}").schema.fields
        return {name: field.dataType for name, field in zip(part, fields, strict=True)}

    contents: dict[ViewName, ViewContent] = {}
    queries: dict[ViewName, str] = {}
    # A `ViewSession` takes longer for a query of many views than for the views one by one (measured with PySpark
    # 4.1.4).
    size = 1 if isinstance(session, ViewSession) else _VIEWS_PER_QUERY
    for start in range(0, len(names), size):
        schemas = _read_together(
            names[start : start + size], read_schemas, lambda _, problem: ViewContent(problem=problem)
        )
        for name, schema in schemas.items():
            if isinstance(schema, ViewContent):
                contents[name] = schema
                continue
            contents[name] = content_of_schema(schema)
            types = [column.dataType for column in schema.fields]
            aliases = ", ".join(f"c{number}" for number in range(len(types)))
            queries[name] = (
                f"SELECT count(*), CAST(sum(CAST(xxhash64({row_text(types)}) AS DECIMAL(38, 0))) AS STRING) "
                f"FROM (SELECT * FROM {tables[name]}) AS t ({aliases})"
            )
    if columns_only:
        return contents

    def read_sums(part: Sequence[ViewName]) -> dict[ViewName, ViewContent]:
        selects = (f"SELECT {number} AS n, * FROM ({queries[name]})" for number, name in enumerate(part))
        rows: list[Any] = session.sql(" UNION ALL ".join(selects)).collect()
        return {part[row[0]]: replace(contents[part[row[0]]], number=row[1], checksum=row[2]) for row in rows}

    def unreadable(name: ViewName, problem: str) -> ViewContent:
        return replace(contents[name], problem=problem)

    readable = list(queries)
    for start in range(0, len(readable), _VIEWS_PER_QUERY):
        part = readable[start : start + _VIEWS_PER_QUERY]
        contents.update(_read_together(part, read_sums, unreadable))
    return contents


def row_text(types: Sequence[DataType]) -> str:
    """Return a Spark expression for a row of columns c0, c1 … as one text, which is equal for equal rows."""
    names = (f"x{number}" for number in count())
    fields = [f"'c{number}', {_canonical(f'c{number}', data_type, names)}" for number, data_type in enumerate(types)]
    return f"to_json(named_struct({', '.join(fields)}), {_KEEP_NULLS})"


def _canonical(value: str, data_type: DataType, names: Iterator[str]) -> str:
    """Return a Spark expression for the canonical form of a value."""
    name = data_type.typeName()
    if name in ("double", "float"):
        # The sum makes -0.0 a 0.0.
        return f"format_string('{'%.11e' if name == 'double' else '%.5e'}', CAST({value} AS DOUBLE) + 0D)"
    if name == "struct":
        fields = [
            f"'f{number}', {_canonical(f'{value}.{quote_identifier(item.name)}', item.dataType, names)}"
            for number, item in enumerate(data_type.fields)
        ]
        return f"IF({value} IS NULL, NULL, named_struct({', '.join(fields)}))"
    if name == "array":
        item = next(names)
        return f"transform({value}, {item} -> {_canonical(item, data_type.elementType, names)})"
    if name == "map":
        item = next(names)
        key = _canonical(f"{item}.key", data_type.keyType, names)
        pair = f"'k', {key}, 'v', {_canonical(f'{item}.value', data_type.valueType, names)}"
        return f"array_sort(transform(map_entries({value}), {item} -> to_json(named_struct({pair}), {_KEEP_NULLS})))"
    if name == "timestamp":
        return f"unix_micros({value})"
    if name == "binary":
        return f"hex({value})"
    return f"CAST({value} AS STRING)"


def _read_together(
    names: Sequence[ViewName],
    read: Callable[[Sequence[ViewName]], dict[ViewName, _T]],
    fail: Callable[[ViewName, str], _T],
) -> dict[ViewName, _T]:
    """Read several views in one query. If that fails, each half is read, down to the failing views."""
    errors: tuple[type[Exception], ...] = (HiveViewsError, *spark_exceptions())
    try:
        return read(names)
    except errors as error:
        if len(names) == 1:
            return {names[0]: fail(names[0], _first_line(error))}
        middle = len(names) // 2
        return _read_together(names[:middle], read, fail) | _read_together(names[middle:], read, fail)


def content_of_schema(schema: StructType) -> ViewContent:
    """Return the content of a view whose rows were not read."""
    return ViewContent(
        tuple(column.name.lower() for column in schema.fields),
        types=tuple(_as_iceberg_type(column.dataType.simpleString().lower()) for column in schema.fields),
    )


def _as_iceberg_type(type_text: str) -> str:
    """Replace the types that Iceberg does not have, whose change the plan reports."""
    return _SIZED_STRINGS.sub("string", _SMALL_INTEGERS.sub("int", type_text))


def changed_types(before: ViewContent, after: ViewContent) -> list[str]:
    """Describe columns with another type; empty if the types are not known."""
    if not before.types or not after.types:
        return []
    columns = zip(before.columns, before.types, after.types, strict=True)
    return [f"{name} was {old} and is {new}" for name, old, new in columns if old != new]


def is_different(before: ViewContent | None, after: ViewContent) -> bool:
    """Return whether two contents have other columns or rows, as far as both were read."""
    if before is None or before.problem is not None:
        return False
    if before.columns != after.columns or changed_types(before, after):
        return True
    if before.number is None or after.number is None:
        return False
    return (before.number, before.checksum) != (after.number, after.checksum)


def _first_line(error: Exception) -> str:
    text = str(getattr(error, "java_exception", None) or error).strip()
    return text.splitlines()[0][:300] if text else type(error).__name__
