"""CREATE VIEW and ALTER VIEW AS: types, texts, names, and rejected statements."""

from __future__ import annotations

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, NestedField

from hive_views.errors import (
    CyclicViewError,
    NoSuchNamespaceError,
    NoSuchViewError,
    NotAnIcebergViewError,
    SqlError,
    TableAlreadyExistsError,
    ViewAlreadyExistsError,
)
from hive_views.sql.writing.expand import UnknownTypeError
from tests.integration.catalog.samples import hive_row


def columns(view) -> list[str]:
    return [f"{field.name} {field.field_type}" for field in view.schema().fields]


QUERIES = [
    ("SELECT * FROM orders", "spark", ["id long", "customer_id long", "total decimal(10, 2)", "day date",
                                       "placed timestamptz", "local timestamp"]),
    ("SELECT `local`, placed FROM orders", "hive", ["local timestamp", "placed timestamptz"]),
    ("SELECT local, placed FROM orders", "trino", ["local timestamp", "placed timestamptz"]),
    ("SELECT max(local) AS l, max(placed) AS p FROM orders", "spark", ["l timestamp", "p timestamptz"]),
    ("SELECT c.name, count(*) AS n, sum(o.total) AS total FROM orders o JOIN customers c ON o.customer_id = c.id "
     "GROUP BY c.name", "spark", ["name string", "n long", "total decimal(20, 2)"]),
    ("SELECT c.*, o.total FROM customers c LEFT JOIN orders o ON o.customer_id = c.id", "spark",
     ["id long", "name string", "tags list<string>", "total decimal(10, 2)"]),
    ("SELECT name, tag FROM customers LATERAL VIEW explode(tags) t AS tag", "spark", ["name string", "tag string"]),
    ("SELECT * FROM visits", "spark", ["page string", "at timestamptz", "seconds int",
                                       "more list<struct<6: t: optional timestamptz, 7: n: optional int>>"]),
    ("SELECT at FROM visits", "hive", ["at timestamptz"]),
    ("SELECT at FROM visits", "trino", ["at timestamp"]),
    ("SELECT p.title, sum(v.seconds) AS s, current_timestamp() AS now FROM visits v JOIN pages p ON v.page = p.page "
     "GROUP BY p.title", "spark", ["title string", "s long", "now timestamptz"]),
    ("SELECT CAST(try_add(seconds, 1) AS bigint) AS n FROM visits", "spark", ["n long"]),
    ("SELECT 1 AS one, 'a' AS a, 1.5 AS d, true AS t", "spark", ["one int", "a string", "d decimal(2, 1)",
                                                                 "t boolean"]),
]  # fmt: skip


@pytest.mark.parametrize(("query", "dialect", "expected"), QUERIES, ids=[f"{d}-{q[:40]}" for q, d, _ in QUERIES])
def test_columns_by_rules(run, query: str, dialect: str, expected: list[str]) -> None:
    assert columns(run(f"CREATE VIEW v AS {query}", dialect=dialect).view) == expected


def test_view_over_view_has_its_types(run) -> None:
    run("CREATE VIEW low AS SELECT placed, local FROM orders")
    assert columns(run("CREATE VIEW high AS SELECT * FROM low").view) == ["placed timestamptz", "local timestamp"]


def test_create_keeps_all_clauses(run, shop: str) -> None:
    done = run(
        "CREATE VIEW top (`Nr` COMMENT 'the orders' , total COMMENT 'it\\'s €') COMMENT 'large\\norders'\n"
        "TBLPROPERTIES ('team' = 'b\\\\i', 'n' = 3)\nAS SELECT id, total FROM orders WHERE total > 100 ;"
    )  # fmt: skip
    view = done.view
    assert (done.kind, done.identifier) == ("created", (shop, "top"))
    assert [(f.name, f.doc) for f in view.schema().fields] == [("nr", "the orders"), ("total", "it's €")]
    given = {key: view.metadata.properties[key] for key in ("team", "n", "comment")}
    assert given == {"team": "b\\i", "n": "3", "comment": "large\norders"}
    assert view.original_text == "SELECT id, total FROM orders WHERE total > 100"
    assert f"`{shop}`.`orders`" in view.expanded_text
    assert view.dialects == ("spark", "hive")
    assert view.current_version().default_namespace == (shop,)
    assert not view.drift


def test_create_with_the_default_schema_mode_of_spark(run, shop: str) -> None:
    """Spark's SHOW CREATE TABLE prints the clause."""
    assert run("CREATE VIEW v WITH SCHEMA COMPENSATION AS SELECT id FROM orders").kind == "created"


def test_create_view_resolves_qualified_names(run, catalog, shop: str, other_database: str) -> None:
    run("CREATE VIEW one AS SELECT 1 AS n")
    run(f"CREATE VIEW {other_database}.two AS SELECT 2 AS n, id FROM orders")
    run(f"CREATE VIEW prod.{other_database.upper()}.`Three` AS SELECT id FROM prod.{shop}.orders")
    assert catalog.list_views(shop) == [(shop, "one")]
    assert catalog.list_views(other_database) == [(other_database, "three"), (other_database, "two")]
    assert catalog.execute("CREATE VIEW only_default AS SELECT 1 AS n").identifier == ("default", "only_default")
    catalog.execute("DROP VIEW only_default")


@pytest.mark.parametrize(
    ("dialect", "sql", "dialects"),
    [
        ("hive", "SELECT id FROM orders", ("hive",)),
        ("spark", "SELECT id FROM orders", ("spark", "hive")),
        ("trino", 'SELECT "id" FROM "orders"', ("trino", "hive")),
        ("trino", "SELECT id, 'it''s' AS s FROM orders", ("trino",)),
    ],
)
def test_which_texts_a_dialect_gets(run, dialect: str, sql: str, dialects: tuple[str, ...]) -> None:
    view = run(f"CREATE VIEW v AS {sql}", dialect=dialect).view
    assert view.dialects == dialects
    assert view.original_text == sql
    if "hive" in dialects:
        assert view.expanded_text.startswith("SELECT `orders`.`id` FROM `")


def test_analyzer_computes_column_types(run) -> None:
    analyzed: list[str] = []

    def analyzer(query: str) -> Schema:
        analyzed.append(query)
        return Schema(NestedField(1, "n", IntegerType(), required=False))

    view = run("CREATE VIEW v (n COMMENT 'c') AS SELECT system.f(id) AS q FROM orders", analyzer=analyzer).view
    assert columns(view) == ["n int"]
    assert view.schema().fields[0].doc == "c"
    assert analyzed == [view.expanded_text]


def test_or_replace_and_alter_as(run, catalog, shop: str) -> None:
    assert run("CREATE OR REPLACE VIEW v AS SELECT id FROM orders").kind == "created"
    assert run("CREATE OR REPLACE VIEW v AS SELECT id FROM orders").kind == "unchanged"
    assert run("CREATE OR REPLACE VIEW v AS SELECT total FROM orders").kind == "replaced"
    done = run("ALTER VIEW v AS\nSELECT day FROM orders")
    assert (done.kind, columns(done.view)) == ("replaced", ["day date"])
    assert len(catalog.load_view((shop, "v")).history()) == 3
    with pytest.raises(NoSuchViewError):
        run("ALTER VIEW nothing AS SELECT 1 AS n")
    with pytest.raises(CyclicViewError):
        run("ALTER VIEW v AS SELECT * FROM v")


def test_if_not_exists(run, raw, shop: str) -> None:
    assert run("CREATE VIEW IF NOT EXISTS v AS SELECT 1 AS n").kind == "created"
    done = run("CREATE VIEW IF NOT EXISTS v AS SELECT no_such_column FROM orders")
    assert (done.kind, done.view.original_text) == ("unchanged", "SELECT 1 AS n")
    with pytest.raises(ViewAlreadyExistsError):
        run("CREATE VIEW v AS SELECT 1 AS n")
    raw.create_table(hive_row(shop, "old", "VIRTUAL_VIEW"))
    for words in ("VIEW IF NOT EXISTS", "OR REPLACE VIEW", "VIEW"):
        with pytest.raises(NotAnIcebergViewError):
            run(f"CREATE {words} old AS SELECT 1 AS n")
        with pytest.raises(TableAlreadyExistsError):
            run(f"CREATE {words} orders AS SELECT 1 AS n")
        with pytest.raises(NoSuchNamespaceError):
            run(f"CREATE {words} nowhere.v AS SELECT 1 AS n")


INVALID_STATEMENTS = [
    ("CREATE VIEW v AS\n  SELECT id, nope FROM orders", 2, 14, "nope"),
    ("CREATE VIEW v AS SELECT *\nFROM nothing", 2, 6, "nothing"),
    ("CREATE VIEW v AS SELECT id,\n  f(total) AS x FROM orders", 2, 3, "f is not a built-in function"),
    ("CREATE VIEW v AS SELECT id,\n  from_json('1', schema_of_json('1')) AS x FROM orders", 2, 3, "type of column x"),
    ("CREATE VIEW v AS\nSELECT id, NULL AS x FROM orders", 2, 20, "void"),
    ("CREATE VIEW v (a, b) AS SELECT id FROM orders", 1, 25, "number of columns"),
    ("CREATE VIEW v (a, a) AS SELECT id, day FROM orders", 1, 19, "Duplicate"),
    ("CREATE VIEW v AS SELECT * FROM orders o JOIN customers c", 1, 25, "Duplicate"),
    ("CREATE VIEW elsewhere.db.v AS SELECT 1 AS n", 1, 13, "this catalog is prod"),
    ("CREATE VIEW v AS SELECT * FROM elsewhere.db.t", 1, 32, "another catalog"),
    ("CREATE TEMPORARY VIEW v AS SELECT 1 AS n", 1, 23, "TEMPORARY"),
    ("CREATE VIEW v PARTITIONED ON (id) AS SELECT id, day FROM orders", 1, 13, "PARTITIONED ON"),
    ("CREATE VIEW v SECURITY DEFINER AS SELECT 1 AS n", 1, 13, "SECURITY"),
    ("CREATE VIEW v WITH SCHEMA BINDING AS SELECT 1 AS n", 1, 13, "WITH SCHEMA"),
    ("CREATE VIEW v COMMENT 'a' TBLPROPERTIES ('comment'='b') AS SELECT 1 AS n", 1, 13, "differ"),
    ("CREATE VIEW v TBLPROPERTIES ('a'='b', 'a'='c') AS SELECT 1 AS n", 1, 13, "twice"),
    ("CREATE VIEW v AS\n  SELECT id FROM\n    orders o WHERE", 3, 14, "Cannot read"),
    ("CREATE VIEW v AS SELECT id FROM orders; DROP VIEW v", 1, 39, "exactly one query"),
    ("CREATE TABLE t (a int)", 1, 8, "VIEW"),
    ("SELECT 1", 1, 1, "Expected a statement about views"),
    ("", 1, 1, "nothing"),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "line", "column", "reason"), INVALID_STATEMENTS, ids=lambda value: str(value)[:50])
def test_invalid_statement_raises_error_with_position(
    run, catalog, shop: str, sql: str, line: int, column: int, reason: str
) -> None:
    with pytest.raises(SqlError) as raised:
        run(sql)
    assert reason in str(raised.value)
    assert (raised.value.line, raised.value.column) == (line, column), str(raised.value)
    assert catalog.list_views(shop) == []


def test_unknown_type_error_names_the_column(run) -> None:
    with pytest.raises(UnknownTypeError) as raised:
        run("CREATE VIEW v AS SELECT id, system.f(id) AS strange FROM orders")
    assert raised.value.name == "strange"


def test_trino_storage_properties_are_rejected(run, catalog, shop: str) -> None:
    head = "CREATE MATERIALIZED VIEW mv"
    for clause in ("WITH (format = 'ORC')", "WITH (partitioning = ARRAY['id'])", "GRACE PERIOD INTERVAL '2' MONTH"):
        with pytest.raises(SqlError) as raised:
            run(f"{head} {clause} AS SELECT id FROM orders", dialect="trino")
        assert (raised.value.line, raised.value.column) == (1, 26)
    assert catalog.list_views(shop) == []


def test_unknown_dialect_is_rejected(run) -> None:
    with pytest.raises(SqlError, match="'mysql'"):
        run("SHOW VIEWS", dialect="mysql")


def test_mixed_table_kinds_need_session_catalog_that_serves_iceberg(run, open_catalog, shop: str) -> None:
    query = "CREATE VIEW v AS SELECT o.id, v.page FROM orders o CROSS JOIN visits v"
    with pytest.raises(SqlError, match="no one catalog of Spark reads both"):
        run(query)
    one = open_catalog({"hive-views.session-catalog-serves-iceberg": "true"})
    assert one.execute(query, database=shop).view.current_version().default_catalog == "spark_catalog"


def test_view_can_read_session_catalog_tables_and_views_over_them(run, shop: str) -> None:
    run("CREATE VIEW first AS SELECT page FROM visits")
    run("CREATE VIEW second AS SELECT page FROM first")
    third = run("CREATE VIEW third AS SELECT s.page FROM second s JOIN visits v ON s.page = v.page").view
    assert third.current_version().default_catalog == "spark_catalog"
    assert run("CREATE VIEW over_both AS SELECT s.page FROM second s CROSS JOIN orders o").view is not None
    with pytest.raises(SqlError, match="no one catalog of Spark reads both"):
        run("CREATE VIEW mixed AS SELECT v.page FROM over_both o CROSS JOIN visits v")
