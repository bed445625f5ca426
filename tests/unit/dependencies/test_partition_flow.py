"""Which tables a view reads, through views."""

from __future__ import annotations

import pytest

from hive_views.dependencies.partition_flow import Relation, find_table_uses
from hive_views.identifiers import ViewName
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.resolver.resolver import resolve
from hive_views.sql.resolver.scopes import TableSchema
from hive_views.sql.text.dialects import Dialect

COLUMNS = {"x": "int", "ds": "string"}
TABLE = ViewName("d", "t")


class Tables:
    def table(self, database: str, name: str) -> TableSchema | None:
        return TableSchema(tuple(COLUMNS.items()), "table")


def chain(length: int) -> dict[ViewName, Relation]:
    """A table and views, each of which reads the previous one; the last one is `d.v`."""
    relations, source = {TABLE: Relation(TABLE, COLUMNS)}, "t"
    for number in range(length):
        name = f"v{number}" if number < length - 1 else "v"
        query = resolve(parse_query(f"select x, ds from d.{source}", Dialect.HIVE), Tables(), "d")
        relations[ViewName("d", name)] = Relation(ViewName("d", name), COLUMNS, query)
        source = name
    return relations


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("length", "is_followed"), [(50, True), (300, False)])
def test_chain_of_views_ends(length: int, is_followed: bool) -> None:
    """One that is too long is a problem; it took a time exponential in its length."""
    relations = chain(length)
    uses = find_table_uses(relations[ViewName("d", "v")], relations.get, ["ds"])
    assert [use.table for use in uses.tables] == ([TABLE] if is_followed else [])
    assert bool(uses.problems) is not is_followed
    assert all("nested too deeply" in problem for problem in uses.problems.values())
