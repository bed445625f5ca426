"""Comparison: the inferred types of expressions beside the types that the engine gave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from hive_views.errors import SqlError
from hive_views.sql.writing.expand import expand
from tests.unit.sql.tables import Tables

ANSI = "spark.sql.ansi.enabled"


def inferred(sql: str, tables: Tables, dialect: str, conf: Mapping[str, str] | None = None) -> str | None:
    """Return the inferred type of an expression; None where it is unknown or the text is refused."""
    try:
        query = f"SELECT {sql} AS c FROM t"
        return expand(query, tables, database="d", dialect=dialect, conf=dict(conf or {})).columns[0].type
    except SqlError:
        return None


def outcome(kind: str | None, answer: str) -> str:
    """Return how an inferred type and the engine's answer compare."""
    if answer == "!":
        return "both refuse" if kind is None else "we accept"
    if kind is None:
        return "unknown"
    return "equal" if kind.lower() == answer.lower() else "different"


def compare(
    cases: Mapping[str, Mapping[str, Sequence[str]]], columns: Mapping[str, str], examples: int = 40
) -> Iterator[str]:
    """Yield the counts of each class with ANSI on and off, and examples of what is not equal."""
    tables = Tables({"t": dict(columns)})
    for class_name, items in cases.items():
        for position, setting in enumerate(("true", "false")):
            counts: Counter[str] = Counter()
            shown: dict[str, list[str]] = {"different": [], "unknown": []}
            for sql, answers in items.items():
                kind = inferred(sql, tables, "spark", {ANSI: setting})
                result = outcome(kind, answers[position])
                counts[result] += 1
                if result in shown:
                    shown[result].append(f"{sql}: {kind} {answers[position]}")
            yield f"{class_name} ANSI {setting}: {dict(sorted(counts.items()))}"
            for name, lines in shown.items():
                yield from (f"  {name} {line}" for line in sorted(lines)[:examples])
