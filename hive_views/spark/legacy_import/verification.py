"""What Spark says of an import: whether its analyzer takes each definition, and whether each view has its rows still.

Before a row is swapped, Spark's session catalog reads the legacy view as plain Spark does; afterwards a `ViewSession`
reads the new one as it is meant. Both give a count and a sum of hashes, which does not depend on the order of rows.
A hash is of each row's columns as text, each in one form: maps sorted by their keys, floating numbers to 12 digits
(6 for `float`) with one zero and one NaN, nulls told from what is empty. Types that the import widens hash alike.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hive_views.errors import HiveViewsError, JournalError, SqlError
from hive_views.identifiers import ViewName
from hive_views.legacy_import.model import Writer
from hive_views.legacy_import.outcome import Outcome, Status
from hive_views.legacy_import.plan import Entry, Plan
from hive_views.spark.legacy_import.analysis import analyzed
from hive_views.spark.session.session import ViewSession
from hive_views.spark.sessions import SESSION_CATALOG, spark_exceptions
from hive_views.sql.analysis.determinism import find_nondeterminism
from hive_views.sql.rewriting.quoting import quote_identifier, quote_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType

    from hive_views.catalog.catalog import HiveViewCatalog

_AT_ONCE = 20
"""Views in one query or analysis."""
_KEPT_AT_ONCE = 100
"""Views after which what was found is put on the disk."""

Checked = Callable[[str, int, int], None]
"""Told `before` or `after`, how many views Spark was asked about, and of how many."""


@dataclass(frozen=True)
class Rows:
    """What a view returns, in short; or why it cannot be read."""

    columns: tuple[str, ...] = ()
    """The names of its columns, in lower case, as Spark's analyzer gives them."""
    number: int | None = None
    """How many rows; None where it was not read."""
    checksum: str | None = None
    """The sum of the rows' hashes."""
    problem: str | None = None
    """What Spark says if it cannot read it, in its first line."""
    types: tuple[str, ...] = ()
    """The columns' types in Spark's words, those that Iceberg does not have as the ones that they become; empty where
    they are not known."""


class RowCheck:
    """Compares the rows of views before and after an import. What was before is kept in a file, for a later run."""

    def __init__(
        self, spark: SparkSession, catalog: HiveViewCatalog, file: Path, *, columns_only: bool = False
    ) -> None:
        """Read the file, if it is there."""
        self._spark = spark
        self._views = ViewSession(spark, catalog)
        self._file = file
        self._columns_only = columns_only
        self._before: dict[ViewName, Rows] = {}
        try:
            data = file.read_bytes()
            whole = data.rfind(b"\n") + 1
            if whole < len(data):
                os.truncate(file, whole)  # the line that a crash cut off
            for line in data[:whole].splitlines():
                item = json.loads(line)
                name = ViewName.from_text(item.pop("name"))
                self._before[name] = Rows(
                    **{**item, "columns": tuple(item["columns"]), "types": tuple(item.get("types", ()))}
                )
        except FileNotFoundError:
            return
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise JournalError(str(file), f"it does not hold what views returned: {error!r}") from error

    def before(self, plan: Plan, converted: Sequence[ViewName] = (), told: Checked | None = None) -> None:
        """Read the legacy views of a plan, before it is run, but for those that were read already."""
        known = {*self._before, *converted}
        # Plain Spark takes Trino's encoding for an empty query.
        readable = (entry for entry in plan.ready if entry.writer is not Writer.TRINO)
        names = [entry.name for entry in readable if entry.name not in known]
        for start in range(0, len(names), _KEPT_AT_ONCE):
            part = names[start : start + _KEPT_AT_ONCE]
            found = self._read(part, SESSION_CATALOG, lambda name: name, self._spark.sql)
            try:
                with self._file.open("a", encoding="utf-8") as file:
                    for name, rows in found.items():
                        file.write(json.dumps({"name": str(name), **vars(rows)}) + "\n")
            except OSError as error:
                raise JournalError(str(self._file), str(error)) from error
            self._before.update(found)
            if told is not None:
                told("before", start + len(part), len(names))

    def after(self, plan: Plan, outcomes: Sequence[Outcome], told: Checked | None = None) -> dict[ViewName, Verdict]:
        """Read the new views, and compare."""
        done = {outcome.name for outcome in outcomes if outcome.status is Status.CONVERTED}
        entries = {entry.name: entry for entry in plan.entries if entry.name in done}
        catalog = self._views.catalog.name

        def target(name: ViewName) -> ViewName:
            return entries[name].target

        names = list(entries)
        found: dict[ViewName, Rows] = {}
        for start in range(0, len(names), _KEPT_AT_ONCE):
            found |= self._read(names[start : start + _KEPT_AT_ONCE], catalog, target, self._views.sql)
            if told is not None:
                told("after", len(found), len(names))
        differing = [
            name for name, rows in found.items() if rows.problem is None and _differs(self._before.get(name), rows)
        ]
        # One whose rows differ from themselves a moment later is not the import's fault.
        again = self._read(differing, catalog, target, self._views.sql)
        return {
            name: _verdict(entries[name], self._before.get(name), rows, again.get(name)) for name, rows in found.items()
        }

    def close(self) -> None:
        """Drop what was made in Spark."""
        self._views.close()

    def _read(
        self,
        names: Sequence[ViewName],
        catalog: str,
        place: Callable[[ViewName], ViewName],
        ask: Callable[[str], DataFrame],
    ) -> dict[ViewName, Rows]:
        sources = {name: quote_name((catalog, *place(name).identifier)) for name in names}
        found: dict[ViewName, Rows] = {}
        types: dict[ViewName, list[DataType]] = {}
        ours = ask == self._views.sql
        if self._columns_only and ours:
            found = {name: _shape(columns) for name, columns in analyzed(self._views, names, place).items()}
        left = [name for name in names if name not in found]
        # A `ViewSession` has more to do for a query of many views than for the views one by one (measured).
        size = 1 if ours else _AT_ONCE
        for start in range(0, len(left), size):
            for name, columns in _columns(left[start : start + size], sources, ask).items():
                if isinstance(columns, Rows):
                    found[name] = columns
                    continue
                found[name] = _shape(columns)
                types[name] = [column.dataType for column in columns.fields]
        if self._columns_only:
            return {name: found[name] for name in names}
        queries = {}
        for name, kinds in types.items():
            listed = ", ".join(f"c{number}" for number in range(len(kinds)))
            queries[name] = (
                f"SELECT count(*), CAST(sum(CAST(xxhash64({row_text(kinds)}) AS DECIMAL(38, 0))) AS STRING) "
                f"FROM (SELECT * FROM {sources[name]}) AS t ({listed})"
            )
        waiting = list(queries)
        for start in range(0, len(waiting), _AT_ONCE):
            found.update(_sums(waiting[start : start + _AT_ONCE], queries, found, ask))
        return {name: found[name] for name in names}


@dataclass(frozen=True)
class Verdict:
    """What is said of one view's rows."""

    good: bool
    """Whether nothing is wrong, as far as that can be told."""
    text: str
    """In words."""


def row_text(types: Sequence[DataType]) -> str:
    """An expression of Spark's that writes a row of columns c0, c1 … as one text, equal for equal rows."""
    names = (f"x{number}" for number in count())
    fields = [f"'c{number}', {_plain(f'c{number}', kind, names)}" for number, kind in enumerate(types)]
    return f"to_json(named_struct({', '.join(fields)}), map('ignoreNullFields', 'false'))"


def _plain(value: str, kind: DataType, names: Iterator[str]) -> str:
    """An expression that gives a value's one form."""
    name = kind.typeName()
    if name in ("double", "float"):
        # The sum makes -0.0 a 0.0.
        return f"format_string('{'%.11e' if name == 'double' else '%.5e'}', CAST({value} AS DOUBLE) + 0D)"
    if name == "struct":
        fields = [
            f"'f{number}', {_plain(f'{value}.{quote_identifier(item.name)}', item.dataType, names)}"
            for number, item in enumerate(kind.fields)
        ]
        return f"IF({value} IS NULL, NULL, named_struct({', '.join(fields)}))"
    if name == "array":
        item = next(names)
        return f"transform({value}, {item} -> {_plain(item, kind.elementType, names)})"
    if name == "map":
        item = next(names)
        pair = (
            f"'k', {_plain(f'{item}.key', kind.keyType, names)}, 'v', {_plain(f'{item}.value', kind.valueType, names)}"
        )
        return f"array_sort(transform(map_entries({value}), {item} -> to_json(named_struct({pair}), {_NULLS})))"
    if name == "timestamp":
        return f"unix_micros({value})"
    if name == "binary":
        return f"hex({value})"
    return f"CAST({value} AS STRING)"


_NULLS = "map('ignoreNullFields', 'false')"


def _columns(
    names: Sequence[ViewName], sources: Mapping[ViewName, str], ask: Callable[[str], DataFrame]
) -> dict[ViewName, StructType | Rows]:
    """The columns of views, many in one analysis; where that fails, its halves are asked, down to the view at fault."""
    listed = ", ".join(f"struct(t{number}.*) AS c{number}" for number in range(len(names)))
    joined = " CROSS JOIN ".join(f"{sources[name]} AS t{number}" for number, name in enumerate(names))
    try:
        fields = ask(f"SELECT {listed} FROM {joined}").schema.fields
    except _failures() as error:
        if len(names) == 1:
            return {names[0]: Rows(problem=_first_line(error))}
        middle = len(names) // 2
        return _columns(names[:middle], sources, ask) | _columns(names[middle:], sources, ask)
    return {name: field.dataType for name, field in zip(names, fields, strict=True)}


def _sums(
    names: Sequence[ViewName],
    queries: Mapping[ViewName, str],
    known: Mapping[ViewName, Rows],
    ask: Callable[[str], DataFrame],
) -> dict[ViewName, Rows]:
    """Counts and sums; where a query fails, its halves are asked, down to the view that makes it fail."""
    text = " UNION ALL ".join(f"SELECT {number} AS n, * FROM ({queries[name]})" for number, name in enumerate(names))
    try:
        answers: list[Any] = ask(text).collect()
    except _failures() as error:
        if len(names) == 1:
            return {names[0]: replace(known[names[0]], problem=_first_line(error))}
        middle = len(names) // 2
        return _sums(names[:middle], queries, known, ask) | _sums(names[middle:], queries, known, ask)
    return {names[row[0]]: replace(known[names[row[0]]], number=row[1], checksum=row[2]) for row in answers}


def _shape(columns: StructType) -> Rows:
    """The names and types of a view's columns, before any row is read."""
    return Rows(
        tuple(column.name.lower() for column in columns.fields),
        types=tuple(_as_in_iceberg(column.dataType.simpleString().lower()) for column in columns.fields),
    )


def _as_in_iceberg(kind: str) -> str:
    """A type's text with the types that Iceberg does not have, and that the plan tells of, as what they become."""
    return _TEXTS.sub("string", _SHORT.sub("int", kind))


_SHORT = re.compile(r"\b(tinyint|smallint)\b")
_TEXTS = re.compile(r"\b(varchar|char)\(\d+\)")


def _other_types(before: Rows, after: Rows) -> list[str]:
    """Which columns of the same names have another type, in words; none where a type is not known."""
    if not before.types or not after.types:
        return []
    columns = zip(before.columns, before.types, after.types, strict=True)
    return [f"{name} was {old} and is {new}" for name, old, new in columns if old != new]


def _differs(before: Rows | None, after: Rows) -> bool:
    if before is None or before.problem is not None:
        return False
    if before.columns != after.columns or _other_types(before, after):
        return True
    if before.number is None or after.number is None:
        return False
    return (before.number, before.checksum) != (after.number, after.checksum)


def _verdict(entry: Entry, before: Rows | None, after: Rows, again: Rows | None) -> Verdict:
    if entry.writer is Writer.TRINO:
        return Verdict(after.problem is None, _unknown("plain Spark reads no legacy view of Trino's", after))
    if before is None:
        return Verdict(after.problem is None, _unknown("its rows before the import were not counted", after))
    if before.problem is not None:
        return Verdict(True, _unknown(f"Spark could not read the legacy view ({before.problem})", after))
    if after.problem is not None:
        return Verdict(False, f"Spark read the legacy view, and cannot read the new one: {after.problem}")
    if before.columns != after.columns:
        return Verdict(False, f"its columns were {', '.join(before.columns)} and are {', '.join(after.columns)}")
    types = _other_types(before, after)
    if types:
        return Verdict(False, f"its columns have other types: {', '.join(types)}")
    if before.number is None or after.number is None:
        return Verdict(True, "Spark's analyzer gives it the same columns")
    if not _differs(before, after):
        return Verdict(True, f"the same {before.number} rows")
    numbers = f"{before.number} rows before, {after.number} after"
    if again is not None and again != after:
        return Verdict(True, f"not comparable: it returns other rows each time ({numbers})")
    reasons = _find_nondeterminism(entry)
    if reasons:
        return Verdict(
            True, f"not comparable: its rows may differ each time, because of {', '.join(reasons)} ({numbers})"
        )
    return Verdict(False, f"OTHER ROWS: {numbers}" + ("" if before.number != after.number else ", of other content"))


def _unknown(why: str, after: Rows) -> str:
    if after.problem is not None:
        return f"{why}, and cannot read the new one: {after.problem}"
    if after.number is None:
        return f"{why}; its analyzer takes the new one"
    return f"{why}; the new one returns {after.number} rows"


def _find_nondeterminism(entry: Entry) -> tuple[str, ...]:
    try:
        return find_nondeterminism(entry.new_text or "", "hive")
    except SqlError:
        return ()


def _failures() -> tuple[type[Exception], ...]:
    return (HiveViewsError, *spark_exceptions())


def _first_line(error: Exception) -> str:
    text = str(getattr(error, "java_exception", None) or error).strip()
    return text.splitlines()[0][:300] if text else type(error).__name__
