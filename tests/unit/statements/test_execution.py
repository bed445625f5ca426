"""Which statements are about materialized views."""

import pytest

from hive_views.catalog.statements import is_about_materialized
from hive_views.sql.parsing.ddl import parse_statement
from hive_views.sql.text.dialects import Dialect


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CREATE MATERIALIZED VIEW m AS SELECT 1 AS x", True),
        ("REFRESH MATERIALIZED VIEW m", True),
        ("ALTER MATERIALIZED VIEW m REBUILD", True),
        ("ALTER MATERIALIZED VIEW m DISABLE REWRITE", True),
        ("ALTER MATERIALIZED VIEW m SET TBLPROPERTIES ('a' = 'b')", True),
        ("ALTER MATERIALIZED VIEW m RENAME TO n", True),
        ("DROP MATERIALIZED VIEW m", True),
        ("SHOW MATERIALIZED VIEWS", True),
        ("SHOW CREATE MATERIALIZED VIEW m", True),
        ("CREATE VIEW m AS SELECT 1 AS x", False),
        ("ALTER VIEW m RENAME TO n", False),
        ("DROP VIEW m", False),
        ("DROP TABLE m", False),
        ("SHOW VIEWS", False),
        ("DESCRIBE m", False),
    ],
)
def test_is_about_materialized(text: str, expected: bool) -> None:
    assert is_about_materialized(parse_statement(text, Dialect.SPARK)) is expected
