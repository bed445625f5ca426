"""The comparison of legacy views with the views that replaced them, by checksums that the engines compute.

Each result is a line of a file next to the journal, so that a comparison that was interrupted goes on where it ended.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from hive_views.errors import ComparisonError, HiveViewsError, JournalError, SqlError
from hive_views.identifiers import ViewName
from hive_views.io.json_lines import append_documents, resume_documents
from hive_views.legacy_import.comparison.checksums import ROW, Relation, relations, uncompared
from hive_views.legacy_import.comparison.engines import QueryEngine
from hive_views.legacy_import.comparison.legacy_text import LegacyQuery, LegacyTexts
from hive_views.legacy_import.journal import History, ImportStatus
from hive_views.legacy_import.legacy_view import LegacyView, Writer
from hive_views.legacy_import.options import NameText
from hive_views.legacy_import.plan import PlanEntry
from hive_views.sql.analysis.references import find_nondeterminism
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.text.dialects import Dialect
from hive_views.text_enum import TextEnum

_MOST_ROWS = 1000
"""The maximum number of rows that are read to find those that differ."""
_DIGITS = 2
_MOST_DIGITS = 12
"""How many more hex digits of the hash each division of a bucket of rows takes, and the maximum number of them."""
_MOST_BUCKETS = 10
"""The maximum number of buckets that are divided: a changed row is in two, as it was and as it is."""


class CompareStatus(TextEnum):
    """The result of the comparison of a view."""

    EQUAL = "equal"
    """Both return the same rows."""
    DIFFERENT = "different"
    """They return other rows."""
    UNSTABLE = "unstable"
    """They return other rows, and so does the legacy view each time."""
    FAILED = "failed"
    """An engine failed a query."""
    SKIPPED = "skipped"
    """It was not compared."""


@dataclass(frozen=True)
class RowDifference:
    """A row that only one of two views returns, or returns more often."""

    only_in: str
    """`legacy` or `new`."""
    number: int
    """How many times more often it is returned."""
    values: Mapping[str, str | None]
    """The texts by which the engines compared it, by column; arrays and maps as their sizes."""


@dataclass(frozen=True, kw_only=True)
class ComparedView:
    """The result of the comparison of one view."""

    name: NameText
    """The legacy view."""
    status: CompareStatus
    """The result."""
    text: str
    """A sentence about it."""
    rows: tuple[int, int] | None = None
    """The numbers of rows of the legacy and of the new view."""
    columns: tuple[str, ...] = ()
    """The columns with other values; elements of arrays and maps by their path."""
    uncompared: tuple[str, ...] = ()
    """Columns of types that cannot be compared."""
    differences: tuple[RowDifference, ...] = ()
    """The first rows that differ."""
    seconds: float = 0.0
    """The time of the comparison, in seconds."""

    def to_json(self) -> dict[str, Any]:
        """Return the result as a JSON object."""
        document: dict[str, Any] = _RESULT.dump_python(self, mode="json")
        return document


_RESULT = TypeAdapter(ComparedView)


@dataclass(frozen=True)
class CompareOptions:
    """What is compared."""

    where: str | None = None
    """A predicate on the columns of each view, such as `ds = '2026-11-01'`, in SQL that both engines read alike."""
    sample: int | None = None
    """Compare one of so many rows, chosen by their hashes; None for all."""
    most_differences: int = 5
    """The maximum number of rows of each side that are reported."""


@dataclass(frozen=True, kw_only=True)
class CompareRequest:
    """An import whose legacy views are compared with the new ones, and the engines of the legacy views."""

    history: History
    """The run's journal, with its rows."""
    file: Path
    """The file with the results; it is continued."""
    hive: str | None = None
    """The address of HiveServer2, see `connect_hive`; None to skip Hive's views."""
    trino: str | None = None
    """The address of Trino, see `connect_trino`; None to skip Trino's views."""
    names: tuple[ViewName, ...] = ()
    """Only these views; empty for all."""
    options: CompareOptions = CompareOptions()


@dataclass(frozen=True)
class NewView:
    """How the rows of a new view are read."""

    engine: QueryEngine
    source: str
    """Its quoted name."""


CompareProgress = Callable[[int, int, ComparedView], None]
"""Called with the number of compared views, the number of all views, and the last result."""


class Comparison:
    """Compares the views that an import converted."""

    def __init__(
        self,
        texts: LegacyTexts,
        history: History,
        legacy: Mapping[Writer, QueryEngine],
        new: Callable[[PlanEntry], NewView],
        options: CompareOptions,
    ) -> None:
        """Prepare a comparison; `legacy` has the engines by the writers of the legacy views."""
        self._texts = texts
        self._history = history
        self._legacy = legacy
        self._new = new
        self._options = options

    def run(
        self, file: Path, names: Sequence[ViewName] = (), progress: CompareProgress | None = None
    ) -> tuple[ComparedView, ...]:
        """Compare the ready views of the plan, or some of them; raises JournalError.

        Views whose result is in the file are not compared again, unless they failed or were skipped.
        """
        entries = [entry for entry in self._history.plan.ready if not names or entry.name in names]
        results = _read_results(file)
        compared: list[ComparedView] = []
        for entry in entries:
            key = self._key(entry)
            result = results.get((entry.name, key))
            if result is None or result.status in (CompareStatus.FAILED, CompareStatus.SKIPPED):
                result = self.compare(entry)
                _write_result(file, key, result)
            compared.append(result)
            if progress is not None:
                progress(len(compared), len(entries), result)
        return tuple(compared)

    def _key(self, entry: PlanEntry) -> str:
        """Return what a result holds for: the legacy row, the attempt that converted it, and the rows."""
        outcome = self._history.outcomes.get(entry.name)
        location = None if outcome is None else outcome.metadata_location
        return json.dumps([entry.fingerprint, location, self._options.where, self._options.sample])

    def compare(self, entry: PlanEntry) -> ComparedView:
        """Compare one view. Problems are results, not exceptions."""
        started = time.monotonic()
        try:
            result = self._compare(entry)
        except ComparisonError as error:
            result = ComparedView(name=entry.name, status=CompareStatus.SKIPPED, text=error.reason)
        except HiveViewsError as error:
            result = ComparedView(name=entry.name, status=CompareStatus.FAILED, text=str(error))
        return replace(result, seconds=round(time.monotonic() - started, 3))

    def _compare(self, entry: PlanEntry) -> ComparedView:
        name = str(entry.name)
        outcome = self._history.outcomes.get(entry.name)
        reverted = self._history.reverted.get(entry.name)
        is_restored = reverted is not None and reverted.is_restored
        if outcome is None or outcome.status is not ImportStatus.CONVERTED or is_restored:
            raise ComparisonError(name, "it is not converted: run the plan first")
        if entry.materialized:
            raise ComparisonError(name, "it is a materialized view, whose legacy rows were stored")
        engine = self._legacy.get(entry.writer)
        if engine is None:
            raise ComparisonError(name, f"no address of its engine is given (--{entry.writer.value})")
        legacy = self._texts.query(entry)
        columns = [(column.name, column.type) for column in legacy.view.columns]
        left_out = uncompared(columns)
        columns = [column for column in columns if column[0] not in left_out]
        if not columns:
            raise ComparisonError(name, "no type of its columns can be compared")
        pair = _Pair(engine, legacy, self._new(entry), columns, self._options)
        result = replace(_compare_pair(entry, pair), uncompared=left_out)
        if left_out:
            return replace(result, text=f"{result.text}; not compared: {', '.join(left_out)}")
        return result


@dataclass(frozen=True)
class _Pair:
    """A legacy view and the new one."""

    engine: QueryEngine
    legacy: LegacyQuery
    new: NewView
    columns: Sequence[tuple[str, str]]
    options: CompareOptions

    def relations(self) -> Iterator[tuple[Relation, Relation]]:
        """Yield the relations of both, one after the other."""
        sources = (self.legacy.source, self.engine.dialect), (self.new.source, self.new.engine.dialect)
        left, right = (relations(self._limited(source), self.columns, dialect) for source, dialect in sources)
        yield from zip(left, right, strict=True)

    def _limited(self, source: str) -> str:
        where = self.options.where
        return source if where is None else f"(SELECT * FROM {source} WHERE {where}\n)"

    def query_legacy(self, sql: str) -> list[Sequence[Any]]:
        return self.engine.query(self.legacy.statement(sql), self.view)

    def query_new(self, sql: str) -> list[Sequence[Any]]:
        return self.new.engine.query(sql, self.view)

    @property
    def view(self) -> LegacyView:
        return self.legacy.view


def _compare_pair(entry: PlanEntry, pair: _Pair) -> ComparedView:
    sample = pair.options.sample
    rows: tuple[int, int] | None = None
    differing: list[str] = []
    differences: tuple[RowDifference, ...] = ()
    is_stable = True
    for left, right in pair.relations():
        (before,) = pair.query_legacy(left.checksum_query(sample))
        (after,) = pair.query_new(right.checksum_query(sample))
        rows = rows or (int(before[0]), int(after[0]))
        columns = _differing_columns(left, before, after, are_rows_equal=not differing)
        if not columns:
            continue
        differing += columns
        is_stable = is_stable and pair.query_legacy(left.checksum_query(sample)) == [before]
        differences = differences or _find_differences(pair, left, right, int(before[0]) + int(after[0]))
    assert rows is not None
    counted = f"{rows[0]:,} rows" if sample is None else f"{rows[0]:,} rows of a sample"
    if not differing:
        return ComparedView(name=entry.name, status=CompareStatus.EQUAL, text=f"the same {counted}", rows=rows)
    text = f"{rows[0]:,} rows before, {rows[1]:,} after; other values in {', '.join(differing)}"
    status = CompareStatus.DIFFERENT
    if not is_stable:
        status, text = CompareStatus.UNSTABLE, f"the legacy view returns other rows each time ({text})"
    elif causes := _nondeterminism(entry):
        text += f"; its rows may also differ each time, because of {', '.join(causes)}"
    return ComparedView(
        name=entry.name, status=status, text=text, rows=rows, columns=tuple(differing), differences=differences
    )


def _plain(value: Any) -> Any:
    """Return a number or a text as both engines' clients return it."""
    return int(value) if isinstance(value, int) else value if value is None else str(value)


def _differing_columns(
    relation: Relation, before: Sequence[Any], after: Sequence[Any], *, are_rows_equal: bool
) -> list[str]:
    """Return the columns whose checksums differ; empty if the relations are equal.

    The elements of other rows are next to other hashes, so these are compared only if the rows themselves are equal.
    """
    left, right = (list(map(_plain, side)) for side in (before, after))
    if left == right:
        return []
    differing = [
        name
        for at, name in enumerate(relation.columns, 1)
        if left[2 * at - 1 : 2 * at + 1] != right[2 * at - 1 : 2 * at + 1]
    ]
    if not relation.name:
        return differing or [f"the combination of columns in a {ROW}"]
    return [relation.name] if are_rows_equal or set(differing) - {ROW} else []


def _find_differences(pair: _Pair, left: Relation, right: Relation, total: int) -> tuple[RowDifference, ...]:
    """Return the first rows that differ: buckets of hashes that differ are divided until they are small."""
    prefixes: list[str] = []
    for digits in range(_DIGITS, _MOST_DIGITS + 1, _DIGITS):
        if total <= _MOST_ROWS:
            break
        before = _buckets(pair.query_legacy(left.bucket_query(prefixes, digits)))
        after = _buckets(pair.query_new(right.bucket_query(prefixes, digits)))
        differing = sorted(bucket for bucket in before.keys() | after.keys() if before.get(bucket) != after.get(bucket))
        prefixes = differing[:_MOST_BUCKETS]
        if not prefixes:
            return ()
        total = sum(int(side.get(prefix, (0,))[0]) for side in (before, after) for prefix in prefixes)
    limit = pair.options.most_differences
    legacy = _counted(pair.query_legacy(left.rows_query(prefixes, _MOST_ROWS)))
    new = _counted(pair.query_new(right.rows_query(prefixes, _MOST_ROWS)))
    return (
        *_row_differences("legacy", left.columns, legacy - new, limit),
        *_row_differences("new", left.columns, new - legacy, limit),
    )


def _buckets(rows: Sequence[Sequence[Any]]) -> dict[str, tuple[Any, ...]]:
    return {row[0]: tuple(map(_plain, row[1:])) for row in rows if row[0] is not None}


_Texts = tuple[str | None, ...]


def _counted(rows: Sequence[Sequence[Any]]) -> Counter[_Texts]:
    kept = (row for row in rows if row[0] is not None)
    return Counter({tuple(None if value is None else str(value) for value in row[2:]): int(row[1]) for row in kept})


def _row_differences(
    only_in: str, columns: Sequence[str], rows: Counter[_Texts], limit: int
) -> Iterator[RowDifference]:
    for texts, number in list(rows.items())[:limit]:
        yield RowDifference(only_in, number, dict(zip(columns, texts, strict=True)))


def _nondeterminism(entry: PlanEntry) -> tuple[str, ...]:
    try:
        return find_nondeterminism(parse_query(entry.new_text or "", Dialect.HIVE))
    except SqlError:
        return ()


# -- The file ----------------------------------------------------------------------------------------------------------


def _read_results(file: Path) -> dict[tuple[ViewName, str], ComparedView]:
    """Read the results of earlier comparisons, and remove a last line that a crash cut off."""
    results: dict[tuple[ViewName, str], ComparedView] = {}
    try:
        for document in resume_documents(file):
            result = _RESULT.validate_python(document["result"])
            results[result.name, document["key"]] = result
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise JournalError(str(file), f"it does not hold results of comparisons: {error!r}") from error
    return results


def _write_result(file: Path, key: str, result: ComparedView) -> None:
    try:
        append_documents(file, [{"key": key, "result": result.to_json()}])
    except OSError as error:
        raise JournalError(str(file), str(error)) from error
