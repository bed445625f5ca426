"""Questions: the expressions and queries that are valid in both engines, with the signatures of their constructs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hive_views.errors import SqlError
from hive_views.sql.analysis.constructs import constructs
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.resolver.resolved import ResolvedQuery
from hive_views.sql.resolver.resolver import resolve
from hive_views.sql.text.dialects import Dialect
from tests.reader_tables import forms, guarded, known, usual
from tests.reader_tables.engines import DIRECTORY, grouped_query, scalar_query
from tests.reader_tables.values import KEY, TABLE, schema
from tests.unit.sql.tables import Tables

TABLES = Tables({TABLE: schema()})
_MOST_CALLS = 40


@dataclass(frozen=True)
class Described:
    """The constructs of a query and the types of its columns."""

    signatures: Mapping[Dialect, frozenset[str]]
    """The signatures of its constructs, as a text of each dialect."""
    types: tuple[str, ...]
    """The types of its columns in Spark; that of the last one only, for an expression."""
    has_key: bool = False
    """Whether the number of a row of its result tells the values of the columns."""


def described(query: str, *, is_column: bool) -> Described:
    """Return the constructs of a query, or of an expression as the last column of a query; raises SqlError."""
    resolved = {dialect: resolve(parse_query(query, dialect), TABLES, "k") for dialect in (Dialect.HIVE, Dialect.SPARK)}
    types = tuple(column.type or "?" for column in resolved[Dialect.SPARK].output.columns)
    found = {dialect: _signatures(resolution) for dialect, resolution in resolved.items()}
    return Described(found, types[-1:] if is_column else types, has_key=query.startswith(f"SELECT {KEY}, "))


def _signatures(resolution: ResolvedQuery) -> frozenset[str]:
    return frozenset(construct.signature for construct in constructs(resolution))


def is_valid(query: str) -> bool:
    """Return whether both engines accept a query, as far as the tables of types tell."""
    try:
        found = described(query, is_column=False).signatures
        return all("?" not in item for items in found.values() for item in items)
    except SqlError:
        return False


def questions() -> dict[str, list[str]]:
    """Return the expressions, the aggregates and the queries."""
    scalar = lambda item: is_valid(scalar_query([item]))  # noqa: E731
    grouped = lambda item: is_valid(grouped_query([item]))  # noqa: E731
    listed = (*forms.operators(), *forms.casts(), *forms.choices(), *forms.formats(), *forms.classes())
    usual_calls = (*filter(scalar, (*usual.scalars(), *guarded.scalars(), *known.scalars())), *usual.calls(scalar))
    return {
        "scalar": _unique([*filter(scalar, listed), *forms.calls(scalar, _MOST_CALLS), *usual_calls]),
        "aggregate": _unique(
            [
                *forms.aggregates(grouped),
                *filter(grouped, (*usual.aggregates(), *guarded.aggregates(), *known.aggregates())),
            ]
        ),
        "text": _unique(filter(is_valid, (*forms.texts(), *usual.texts(), *guarded.texts(), *known.texts()))),
    }


def known_questions() -> dict[str, list[str]]:
    """Return the questions of `known` alone."""
    kinds = (("scalar", known.scalars, scalar_query), ("aggregate", known.aggregates, grouped_query))
    found = {kind: [item for item in items() if is_valid(query([item]))] for kind, items, query in kinds}
    return {kind: _unique(items) for kind, items in (*found.items(), ("text", filter(is_valid, known.texts())))}


def saved_questions() -> dict[str, list[str]]:
    """Return the questions of the run before in `build/reader_tables`; the first run takes two minutes for them."""
    path = DIRECTORY / "questions.json"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(questions()), "utf-8")
    kept: dict[str, list[str]] = json.loads(path.read_text("utf-8"))
    return kept


def _unique(items: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(items))
