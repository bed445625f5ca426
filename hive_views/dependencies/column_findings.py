"""Columns of a view that an engine cannot read: names of fields in structs, and types that Spark computes otherwise.

A row does not quote the names of fields. A fact about them is an entry of `FIELD_NAME_RULES`; each was measured with a
field `a?b` for every printable character of ASCII in place of `?`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from hive_views.dependencies.table_findings import HIVE_ENGINE, SPARK, TRINO, EngineFinding
from hive_views.errors import SqlError
from hive_views.sql.analysis.outcomes import Outcome
from hive_views.sql.types.names import row_type
from hive_views.sql.types.upcasts import can_upcast, row_type_as_read


@dataclass(frozen=True)
class FieldNameRule:
    """The names of fields with which an engine reads a row."""

    engine: str
    """`spark`, `hive` or `trino`."""
    outcome: Outcome
    """What it does with other names."""
    readable: re.Pattern[str]
    """Matches the names that it reads."""
    version: str
    """The engine with the version that was measured; empty if it was not."""


FIELD_NAME_RULES = (
    FieldNameRule(SPARK, Outcome.REFUSED, re.compile(r"[^,:<`]+"), "Spark 4.0.5, 4.1.4, 4.2.1 and 4.3.0"),
    FieldNameRule(HIVE_ENGINE, Outcome.REFUSED, re.compile(r"[\w .$]+"), "Hive 4.1.0"),
    FieldNameRule(TRINO, Outcome.UNVERIFIED, re.compile(r"\w+"), ""),
)
"""Spark 3.5.9 reads names of ASCII letters, digits and `_` only; a finding would be wrong for the other versions."""


def column_findings(columns: Iterable[tuple[str, str, str | None]]) -> Iterator[EngineFinding]:
    """Yield the findings about the columns of a view's row: name, type and comment of each."""
    for column, kind, _ in columns:
        read = row_type(kind)
        names: tuple[str, ...] = (":",) if _COLON_IN_NAME.search(kind) else ()
        if read is not None:
            names = read.field_names
        for rule in FIELD_NAME_RULES:
            name = next((name for name in names if not rule.readable.fullmatch(name)), None)
            if name is not None:
                odd, measured = _odd(name, rule.readable), f" ({rule.version})" if rule.version else ""
                reason = f"the type of column {column}, {kind}, has a field with {odd} in its name{measured}"
                yield EngineFinding(rule.engine, rule.outcome, reason)


def type_findings(
    columns: Sequence[tuple[str, str, str | None]], computed: Sequence[str | None]
) -> Iterator[EngineFinding]:
    """Yield the findings about columns of a row that Spark computes with types that it does not cast to the row's.

    Args:
        columns: Name, type and comment of each column.
        computed: The type that Spark computes for each column, in Hive's spelling; None if it is unknown, as for
            decimals with more than 38 digits, to which versions of Spark give different types.
    """
    for (column, declared, _), actual in zip(columns, computed, strict=False):
        if actual is None and ("decimal" in declared or declared == "float"):
            reason = f"column {column} is {declared}, and the type that Spark computes is not known (CANNOT_UP_CAST)"
            yield EngineFinding(SPARK, Outcome.UNVERIFIED, f"{reason}: cast it in the text")
        if actual is None or actual == declared:
            continue
        try:
            is_cast = can_upcast(row_type_as_read(actual), row_type_as_read(declared))
        except SqlError:
            continue
        if not is_cast:
            reason = f"column {column} is {declared}, and Spark computes {actual} (CANNOT_UP_CAST): cast it in the text"
            yield EngineFinding(SPARK, Outcome.REFUSED, reason)


_COLON_IN_NAME = re.compile(r":[^<>,:()`]*:")


def _odd(name: str, readable: re.Pattern[str]) -> str:
    """Return the first character of a name that an engine does not read, in quotes."""
    return repr(next((character for character in name if not readable.fullmatch(f"a{character}")), name))
