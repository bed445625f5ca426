"""How often a definition parses and resolves its text: the author's text, and the row's text once more as a proof."""

from __future__ import annotations

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import DateType, LongType, NestedField

from hive_views import HiveViewCatalog
from hive_views.sql.parsing.parser import ParsedQuery
from hive_views.sql.resolver.resolver import resolve
from tests.function_calls import count_function_calls

QUERIES = {
    "a column": "SELECT id FROM t",
    "a star": "SELECT * FROM t",
    "dates": "SELECT id FROM t WHERE d > DATE '2024-01-01' AND year(d) = 2024",
    "USING": "SELECT a.id FROM t a JOIN t b USING (id)",
    "FULL JOIN USING": "SELECT b.id FROM t a FULL JOIN t b USING (id)",
    "UNION": "SELECT id FROM t UNION SELECT id FROM t",
    "a derived table": "SELECT q.n FROM (SELECT count(*) AS n FROM t) q",
    "a common table expression": "WITH q AS (SELECT * FROM t) SELECT * FROM q",
    "GROUP BY": "SELECT d, count(*) AS n FROM t GROUP BY d HAVING count(*) > 1 ORDER BY n",
    "a window": "SELECT id, sum(id) OVER (PARTITION BY d) AS s FROM t",
    "EXISTS": "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM t u WHERE u.id = t.id)",
}
CASES = [
    *((dialect, f"CREATE VIEW v AS {query}") for dialect in ("spark", "hive") for query in QUERIES.values()),
    *((dialect, "CREATE VIEW v (p) AS SELECT id FROM t") for dialect in ("spark", "hive")),
]


@pytest.mark.parametrize(("dialect", "statement"), CASES)
def test_view_is_defined_with_two_parses_and_two_resolutions(
    catalog: HiveViewCatalog, database: str, dialect: str, statement: str
) -> None:
    fields = (NestedField(1, "id", LongType()), NestedField(2, "d", DateType()))
    catalog.create_table((database, "t"), Schema(*fields))
    with count_function_calls(ParsedQuery.__init__, resolve) as counts:
        catalog.execute(statement, database=database, dialect=dialect)
    assert counts == {"ParsedQuery.__init__": 2, "resolve": 2}
