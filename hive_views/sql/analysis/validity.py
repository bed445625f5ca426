"""The validity of views, from their texts and the tables that they read; without any I/O.

Hive's design left this open (Hive Views, Dependency Invalidation): after a base table is dropped, or a column is
removed or changes its type, nothing is reported until a query fails or returns other rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import islice

from sqlglot import exp

from hive_views.errors import SqlError
from hive_views.identifiers import ViewName, components
from hive_views.sql.analysis.view_text import ViewText
from hive_views.sql.parsing.errors import ParseTextError
from hive_views.sql.parsing.spark_grammar import unreadable_position
from hive_views.sql.resolver.scopes import Schemas
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.writing.expand import Expansion


class Validity(Enum):
    """The validity of a view or of an object that views read."""

    VALID = "valid"
    """Its text can be resolved and returns the declared columns, and everything that it reads can be read."""
    OUTDATED = "outdated"
    """Its stored text is valid, but the typed text means something else now; RECOMPILE would change the view."""
    UNEXPANDED = "unexpanded"
    """It has no text that means the same to Hive and plain Spark under any current database."""
    DRIFTED = "drifted"
    """Another program changed the row without the metadata file; the change can be adopted or repaired."""
    INVALID = "invalid"
    """It cannot be read, or not with its declared columns."""
    UNKNOWN = "unknown"
    """It, or a view that it reads, has no text in a dialect that can be analyzed, or unknown dependencies."""
    BLOCKED = "blocked"
    """Its own text is valid, but it reads something, directly or through views, that is invalid or missing."""
    MISSING = "missing"
    """A view reads the name, but no object has it."""
    UNCHECKED = "unchecked"
    """It is a table, or a view that was not checked."""

    @property
    def is_unreadable(self) -> bool:
        """Whether a query of the object fails, as far as known."""
        return self in (Validity.INVALID, Validity.MISSING, Validity.BLOCKED)


SEVERITY = (
    Validity.INVALID,
    Validity.MISSING,
    Validity.BLOCKED,
    Validity.DRIFTED,
    Validity.UNEXPANDED,
    Validity.OUTDATED,
    Validity.UNKNOWN,
    Validity.UNCHECKED,
    Validity.VALID,
)
"""From bad to good."""


@dataclass(frozen=True)
class ViewProblem:
    """A problem of a view."""

    validity: Validity
    """The validity that it implies."""
    reason: str
    """What is wrong."""
    line: int | None = None
    """Line in the view's text, from 1; None if the problem concerns the view as a whole."""
    column: int | None = None
    """Character in that line, from 1."""
    blocked_by: tuple[ViewName, ...] = ()
    """For `BLOCKED`: the root causes, which are invalid or missing themselves."""

    @property
    def text(self) -> str:
        """The reason with its position."""
        return self.reason if self.line is None else f"line {self.line}:{self.column}: {self.reason}"


@dataclass(frozen=True)
class CheckedView:
    """The result of the check of one view."""

    view: ViewName
    """The view."""
    validity: Validity = field(init=False)
    """The validity of its worst problem."""
    problems: tuple[ViewProblem, ...]
    """Its problems, worst first; empty for a valid view."""

    def __post_init__(self) -> None:
        ordered = tuple(sorted(self.problems, key=lambda problem: SEVERITY.index(problem.validity)))
        object.__setattr__(self, "problems", ordered)
        object.__setattr__(self, "validity", ordered[0].validity if ordered else Validity.VALID)


def missing_object(name: ViewName) -> CheckedView:
    """Return the result for a name that a view reads but no object has."""
    return CheckedView(name, (ViewProblem(Validity.MISSING, "nothing has this name"),))


def with_source_problems(
    checked: Mapping[ViewName, CheckedView], sources: Mapping[ViewName, Sequence[ViewName]]
) -> dict[ViewName, CheckedView]:
    """Add the problems that follow from the sources of views.

    A view that reads itself is invalid, a view over an unreadable source is blocked, and a view over a source whose
    validity is unknown is unknown.
    """
    neighbors = {name: [source for source in names if source in sources] for name, names in sources.items()}
    results = {name: result for name, result in checked.items() if name not in sources}
    for group in components(neighbors):
        for name in group:
            problems = checked[name].problems if name in checked else ()
            if len(group) > 1 or name in neighbors[name]:
                reason = f"it reads itself: {', '.join(map(str, group))} read each other"
                problems = (ViewProblem(Validity.INVALID, reason), *problems)
            if not any(problem.validity.is_unreadable for problem in problems):
                problems = (
                    *_unreadable_source_problems(sources[name], results),
                    *problems,
                    *_unknown_source_problems(sources[name], results),
                )
            results[name] = CheckedView(name, tuple(dict.fromkeys(problems)))
    return results


_MAX_SHOWN_CAUSES = 3


def _unreadable_source_problems(
    sources: Sequence[ViewName], results: Mapping[ViewName, CheckedView]
) -> Iterator[ViewProblem]:
    """Yield a problem for each source that cannot be read, with the root causes."""
    for name in sources:
        source = results.get(name)
        if source is None or not source.validity.is_unreadable:
            continue
        causes = dict.fromkeys(cause for problem in source.problems for cause in problem.blocked_by) or (name,)
        shown = "; ".join(_description(results[cause]) for cause in islice(causes, _MAX_SHOWN_CAUSES))
        more = f"; and {len(causes) - _MAX_SHOWN_CAUSES} more" if len(causes) > _MAX_SHOWN_CAUSES else ""
        path = f"{name}, which is blocked by " if source.validity is Validity.BLOCKED else ""
        yield ViewProblem(Validity.BLOCKED, f"it reads {path}{shown}{more}", blocked_by=tuple(causes))


def _unknown_source_problems(
    sources: Sequence[ViewName], results: Mapping[ViewName, CheckedView]
) -> Iterator[ViewProblem]:
    """Yield a problem for each source of which it is unknown whether it can be read."""
    for name in sources:
        source = results.get(name)
        if source is not None and any(problem.validity is Validity.UNKNOWN for problem in source.problems):
            yield ViewProblem(Validity.UNKNOWN, f"it reads {name}, which cannot be checked completely")


def _description(cause: CheckedView) -> str:
    if cause.validity is Validity.MISSING:
        return f"{cause.view}, which is missing"
    return f"{cause.view}, which is {cause.validity.value}: {cause.problems[0].text}"


def find_problems(
    text: ViewText, schemas: Schemas, columns: Sequence[tuple[str, str]]
) -> tuple[list[ViewProblem], tuple[ViewName, ...] | None]:
    """Resolve a view's texts and compare the results with its declared columns (names and Hive types).

    Returns the problems and the tables that the stored text reads, None if it cannot be resolved.
    """
    typed: Expansion | None = None
    outdated: ViewProblem | None = None
    try:
        typed = text.expand_typed(schemas)
    except SqlError as error:
        reason = f"the typed text can no longer be resolved: {error.reason}"
        outdated = ViewProblem(Validity.OUTDATED, reason, error.line, error.column)
    stored = typed
    is_row_text_checked = text.expanded is None
    if typed is None or (text.expanded is not None and not _is_row_text(text, typed, schemas)):
        if typed is not None:
            reason = "the typed text means something else now: recompile the view to adopt that"
            outdated = ViewProblem(Validity.OUTDATED, reason)
        try:
            stored = text.expand_stored(schemas)
        except SqlError as error:
            # The author knows the typed text, so an error with a position in that text is preferred.
            shown = outdated if outdated is not None and outdated.line is not None else error
            # Its engine may read what this package cannot.
            validity = Validity.UNKNOWN if isinstance(error, ParseTextError) else Validity.INVALID
            return [ViewProblem(validity, shown.reason, shown.line, shown.column)], None
        is_row_text_checked = True
    assert stored is not None, "a text that cannot be resolved has returned"
    problems = [] if outdated is None else [outdated]
    row_text = text.typed if text.expanded is None else text.expanded
    # A view that Spark itself wrote is read under its own settings, which can change the grammar.
    is_checked = text.dialect is Dialect.SPARK and text.has_hive_text is not None
    if is_checked and (start := unreadable_position(row_text)) is not None:
        reason = f"Spark does not read its text at '{row_text[start : start + _MAX_SHOWN_TEXT]}'"
        problems.append(ViewProblem(Validity.INVALID, reason))
    if is_row_text_checked and (unexpanded := text.unexpanded_reason(stored, schemas)) is not None:
        problems.append(ViewProblem(Validity.UNEXPANDED, unexpanded))
    tables = tuple(dict.fromkeys(ViewName(*table) for table in stored.tables))
    if len(stored.names) != len(columns):
        reason = f"the view has {len(columns)} columns, its text gives {len(stored.names)}"
        return [ViewProblem(Validity.INVALID, reason), *problems], tables
    for (name, kind), current in zip(columns, plain_types(stored), strict=True):
        if current not in (None, kind) and stored_type(current) != stored_type(kind):
            reason = f"column {name} is {kind}, but its table's column is now {current}"
            problems.append(ViewProblem(Validity.INVALID, reason))
    return problems, tables


def _is_row_text(text: ViewText, typed: Expansion, schemas: Schemas) -> bool:
    """Return whether a commit of the typed text would write the text of the row.

    Earlier releases wrote the columns of inner queries in lower case, which matters only where a name becomes data.
    """
    expanded = text.expanded or ""
    written = []
    for item in text.row_texts(typed, schemas):
        if item == expanded:
            return True
        written.append(item)
    is_case_data = text.dialect is not Dialect.SPARK or typed.resolution.tree.find(*_NAMES_AS_DATA) is not None
    return not is_case_data and expanded.lower() in {item.lower() for item in written if item is not None}


_NAMES_AS_DATA = (exp.Struct, exp.ArraysZip, exp.Tuple, exp.Pivot)
"""What makes data of the names of columns: structs and UNPIVOT."""
_MAX_SHOWN_TEXT = 40


def plain_types(expansion: Expansion) -> list[str | None]:
    """Return the Hive types of columns that are unchanged columns of tables; None for computed columns."""
    resolution = expansion.resolution
    if not isinstance(resolution.tree, exp.Select):
        return [None] * len(expansion.names)
    types: list[str | None] = []
    for (_, source), column in zip(resolution.columns, expansion.columns, strict=True):
        item = resolution.bound.select_items.get(source)
        is_plain = item is None or isinstance(item.unalias(), (exp.Column, exp.Star))
        types.append(column.type if is_plain else None)
    return types


def stored_type(kind: str) -> str:
    """Return the Hive type that results from a conversion to Iceberg and back, as stored in a view's row."""
    kind = kind.lower().replace(" ", "")
    kind = re.sub(r"\b(tinyint|smallint)\b", "int", kind)
    kind = re.sub(r"\b(?:var)?char\(\d+\)", "string", kind)
    return kind.replace("timestampwithlocaltimezone", "timestamp")
