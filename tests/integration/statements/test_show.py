"""SHOW VIEWS, DESCRIBE, and SHOW CREATE VIEW, whose text creates the same view."""

from __future__ import annotations

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, NestedField

from hive_views import define
from hive_views.errors import NoSuchNamespaceError, NoSuchViewError, SqlError


@pytest.mark.parametrize(
    ("rest", "dialect", "expected"),
    [
        ("", "spark", ["a_b", "axb", "top", "top_1"]),
        (" LIKE 'top*'", "spark", ["top", "top_1"]),
        (" 'TOP'", "spark", ["top"]),
        (" LIKE 'a_b'", "spark", ["a_b"]),
        (" LIKE 'a_b'", "hive", ["a_b", "axb"]),
        (" LIKE 'top%'", "hive", ["top", "top_1"]),
        (" LIKE '*x*|top'", "hive", ["axb", "top"]),
        (" LIKE 'top%'", "trino", ["top", "top_1"]),
        (" LIKE 'top*'", "trino", []),
        (" LIKE '.*'", "spark", []),
    ],
)
def test_show_views(run, shop: str, rest: str, dialect: str, expected: list[str]) -> None:
    for name in ("top", "top_1", "a_b", "axb"):
        run(f"CREATE VIEW {name} AS SELECT 1 AS n")
    done = run(f"SHOW VIEWS{rest}", dialect=dialect)
    assert (done.kind, done.columns) == ("rows", ("database", "view"))
    assert done.rows == tuple((shop, name) for name in expected)
    assert run(f"SHOW VIEWS IN {shop}{rest}", dialect=dialect, database="default").rows == done.rows


def test_show_views_of_missing_database_raises(run) -> None:
    with pytest.raises(NoSuchNamespaceError):
        run("SHOW VIEWS IN nowhere")


def test_describe_lists_columns_and_extended_details(run, shop: str) -> None:
    run("CREATE VIEW top (id COMMENT 'nr', at) COMMENT 'c' AS SELECT id, placed FROM orders")
    plain = run("DESCRIBE top")
    assert plain.columns == ("name", "type", "comment")
    assert plain.rows == (("id", "bigint", "nr"), ("at", "timestamp with local time zone", None))
    for words in ("DESC EXTENDED", "DESCRIBE FORMATTED"):
        rows = run(f"{words} {shop}.top", database="default").rows
        assert rows[: len(plain.rows)] == plain.rows
        details = {key: value for key, value, _ in rows[len(plain.rows) :]}
        assert details["Original Text"] == "SELECT id, placed FROM orders"
        assert (details["Comment"], details["Current Database"], details["Version"]) == ("c", shop, "1")
    with pytest.raises(NoSuchViewError):
        run("DESCRIBE orders")


STATEMENTS = [
    ("spark", "CREATE VIEW v AS SELECT * FROM orders"),
    ("spark", "CREATE VIEW v AS SELECT id, total, 1 FROM {shop}.orders"),
    ("spark", "CREATE VIEW v (`a b` COMMENT 'it\\'s \\\\ a \\\\n \"q\"\\nnext', `semi;` ) COMMENT '\\\\u0041 ; -- no' "
     "TBLPROPERTIES ('k' = 'x', 'p.q' = '%_\\\\%', 'empty' = '', 'ünï' = '日本') AS SELECT id, total FROM orders"),
    ("spark", "CREATE VIEW v (a, b) AS SELECT id, '\\'; \\\\' /* c */ FROM orders -- end"),
    ("spark", "CREATE VIEW v COMMENT 'only' AS\n\n  WITH x AS (SELECT id FROM orders)\n SELECT * FROM x"),
    ("hive", "CREATE VIEW v (n COMMENT \"dou'ble\") TBLPROPERTIES (\"a\"=\"b\") AS SELECT `id` FROM orders o"),
    ("hive", "CREATE VIEW v AS SELECT * FROM visits"),
    ("trino", "CREATE VIEW v (\"A b\" COMMENT 'it''s \\n', c) COMMENT 'back\\slash''s' "
     "AS SELECT \"id\", 'x''y' FROM orders"),
    ("trino", "CREATE VIEW v AS SELECT * FROM orders"),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "sql"), STATEMENTS, ids=[f"{d}-{sql[:40]}" for d, sql in STATEMENTS])
def test_show_create_output_recreates_same_view(run, shop: str, dialect: str, sql: str) -> None:
    first = run(sql.format(shop=shop), dialect=dialect).view
    (shown,) = run("SHOW CREATE VIEW v", dialect=dialect).rows[0]
    run("DROP VIEW v")
    again = run(shown, dialect=dialect).view
    assert definition(again) == definition(first)
    assert run("SHOW CREATE VIEW v", dialect=dialect).rows == ((shown,),)
    assert run("SHOW CREATE TABLE v", dialect=dialect).rows == ((shown,),)  # Hive's only spelling
    # In any other database it makes the same view, or is refused.
    assert shown.startswith("-- names without") == (f"{shop}.orders" not in sql.format(shop=shop))


@pytest.mark.parametrize(
    ("dialect", "note"), [("spark", "spark.sql.variable.substitute=false"), ("hive", "hive.variable.substitute=false")]
)
def test_shown_statement_contains_no_variables(run, shop: str, dialect: str, note: str) -> None:
    created = (
        f"CREATE VIEW v COMMENT 'c ${{a}}' TBLPROPERTIES ('k' = '${{b}}') AS SELECT '${{c}}' AS s FROM {shop}.orders"
    )
    first = run(created, dialect=dialect).view
    (shown,) = run("SHOW CREATE VIEW v", dialect=dialect).rows[0]
    assert "${" not in shown
    run("DROP VIEW v")
    again = run(shown, dialect=dialect).view
    assert again.metadata.properties == first.metadata.properties
    assert again.metadata.properties["comment"] == "c ${a}"
    assert again.expanded_text == first.expanded_text
    run(f"CREATE VIEW named AS SELECT id AS `${{d}}` FROM {shop}.orders", dialect=dialect)
    (shown,) = run("SHOW CREATE VIEW named", dialect=dialect).rows[0]
    assert shown.splitlines()[0].endswith(f"first SET {note}")
    assert "`${d}`" in shown


def definition(view) -> tuple:
    version = view.current_version()
    summary = dict(version.summary)
    texts = [item.root.model_dump() for item in version.representations]
    row = (view.original_text, view.expanded_text)
    defaults = (version.default_catalog, version.default_namespace)
    return (view.schema().model_dump(), view.metadata.properties, texts, summary, row, defaults)


def test_show_create_names_current_database_of_author(run, shop: str) -> None:
    run("CREATE VIEW v AS SELECT * FROM orders")
    (shown,) = run(f"SHOW CREATE VIEW {shop}.v", database="default").rows[0]
    assert shown.splitlines()[:2] == [f'-- names without a database mean "{shop}"', f"CREATE VIEW `{shop}`.`v`"]


def test_show_create_works_without_source_table(run, shop: str) -> None:
    run("CREATE VIEW v AS SELECT id FROM orders")
    run("DROP TABLE orders")
    (shown,) = run("SHOW CREATE VIEW v").rows[0]
    assert f"CREATE VIEW `{shop}`.`v` (\n  `id`)\n" in shown
    with pytest.raises(SqlError):
        run("ALTER VIEW v RECOMPILE")


def test_show_create_refuses_text_with_second_statement(run, shop: str, catalog) -> None:
    """A metadata file of another writer: the output would be run as two statements."""
    version = define("SELECT 1 AS n;\nDROP DATABASE prod CASCADE", dialect="spark", default_namespace=(shop,))
    catalog.create_view((shop, "v"), Schema(NestedField(1, "n", IntegerType())), version)
    with pytest.raises(SqlError, match="exactly one query"):
        run("SHOW CREATE VIEW v")
