"""Tables that the texts under test name."""

from __future__ import annotations

from collections.abc import Mapping

from hive_views.sql.resolver.scopes import TableSchema


class Tables:
    """Tables as a `Schemas` source: the types of columns by `database.table`, or by the table in every database.

    Names can have letters in upper case.
    """

    def __init__(self, columns: Mapping[str, Mapping[str, str]]) -> None:
        self._schemas = {name: _schema(types) for name, types in columns.items()}

    def table(self, database: str, name: str) -> TableSchema | None:
        return self._schemas.get(f"{database}.{name}") or self._schemas.get(name)


def _schema(types: Mapping[str, str]) -> TableSchema:
    spellings = {name.lower(): name for name in types}
    return TableSchema(tuple((name.lower(), kind) for name, kind in types.items()), spellings=lambda: spellings)
