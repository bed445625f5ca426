"""ALTER VIEW and DROP: properties, renames, RECOMPILE, RESTRICT, CASCADE, and rejected statements."""

from __future__ import annotations

import pytest
from pyiceberg.types import LongType

from hive_views.errors import (
    DependentsError,
    NoSuchTableError,
    NoSuchViewError,
    NotAnIcebergViewError,
    SqlError,
    ViewAlreadyExistsError,
)
from tests.integration.catalog.samples import hive_row


@pytest.fixture
def top(run) -> str:
    """A view."""
    run("CREATE VIEW top TBLPROPERTIES ('team' = 'bi') AS SELECT * FROM orders")
    return "top"


def test_alter_view_sets_and_unsets_properties(run, top: str) -> None:
    done = run("ALTER VIEW top SET TBLPROPERTIES ('a' = '1', 'team' = 'etl', 'comment' = 'c')")
    assert done.kind == "changed"
    assert {**done.view.metadata.properties, "a": "1", "team": "etl", "comment": "c"} == done.view.metadata.properties
    assert run("ALTER VIEW top SET TBLPROPERTIES ('a' = '1')").kind == "unchanged"
    with pytest.raises(SqlError, match=r"'nope'.*UNSET … IF EXISTS") as raised:
        run("ALTER VIEW top UNSET TBLPROPERTIES ('a', 'nope')")
    assert (raised.value.line, raised.value.column) == (1, 12)
    done = run("ALTER VIEW top UNSET TBLPROPERTIES IF EXISTS ('a', 'nope')")
    assert "a" not in done.view.metadata.properties
    assert "a" not in run("DESCRIBE top").view.metadata.properties


def test_alter_view_rename_keeps_or_changes_database(run, catalog, top: str, shop: str, other_database: str) -> None:
    assert run("ALTER VIEW top RENAME TO best").identifier == (shop, "best")
    # The name alone: the view stays in its database, whatever the current one is.
    assert run(f"ALTER VIEW {shop}.best RENAME TO better", database="default").identifier == (shop, "better")
    assert run(f"ALTER VIEW better RENAME TO {other_database}.moved").identifier == (other_database, "moved")
    assert catalog.list_views(shop) == []
    assert run("ALTER VIEW IF EXISTS better RENAME TO x").kind == "absent"
    with pytest.raises(NoSuchViewError):
        run("ALTER VIEW better RENAME TO x")
    run("CREATE VIEW there AS SELECT 1 AS n")
    with pytest.raises(ViewAlreadyExistsError):
        run(f"ALTER VIEW {other_database}.moved RENAME TO {shop}.there")


def test_recompile_adds_new_column(run, catalog, shop: str) -> None:
    run("CREATE VIEW people AS SELECT * FROM customers")
    assert run("ALTER VIEW people RECOMPILE").kind == "unchanged"
    catalog.load_table((shop, "customers")).update_schema().add_column("extra", LongType()).commit()
    done = run(f"ALTER VIEW {shop}.people RECOMPILE", database="default")
    assert done.kind == "recompiled"
    assert done.view.schema().fields[-1].name == "extra"


def test_drop_view_rejects_missing_and_foreign_objects(run, raw, top: str, shop: str) -> None:
    assert run("DROP VIEW top").kind == "dropped"
    assert run("DROP VIEW IF EXISTS top").kind == "absent"
    with pytest.raises(NoSuchViewError):
        run("DROP VIEW top")
    raw.create_table(hive_row(shop, "old", "VIRTUAL_VIEW"))
    for words in ("DROP VIEW", "DROP VIEW IF EXISTS"):
        with pytest.raises(NotAnIcebergViewError):
            run(f"{words} old")
        with pytest.raises(NoSuchViewError, match="orders"):
            run(f"{words} orders")


def test_restrict_and_cascade(run, catalog, top: str, shop: str) -> None:
    run("CREATE VIEW middle AS SELECT id FROM top")
    run("CREATE VIEW upper AS SELECT id FROM middle")
    for sql in ("DROP VIEW top RESTRICT", "DROP TABLE orders RESTRICT"):
        with pytest.raises(DependentsError) as raised:
            run(sql)
        assert {f"{shop}.middle", f"{shop}.upper"} <= set(raised.value.dependents)
    assert len(catalog.list_views(shop)) == 3
    done = run("DROP VIEW middle CASCADE")
    assert (done.kind, done.rows) == ("dropped", ((f"{shop}.upper",), (f"{shop}.middle",)))
    assert catalog.list_views(shop) == [(shop, "top")]
    done = run("DROP TABLE orders CASCADE")
    assert done.rows == ((f"{shop}.top",), (f"{shop}.orders",))
    assert catalog.list_views(shop) == []


def test_drop_table_drops_only_iceberg_tables(run, raw, top: str, shop: str) -> None:
    for words in ("DROP TABLE visits", "DROP TABLE IF EXISTS visits CASCADE", "DROP TABLE top", "DROP TABLE nothing"):
        with pytest.raises(NoSuchTableError):
            run(words)
    assert run("DROP TABLE IF EXISTS nothing RESTRICT").kind == "absent"
    assert raw.get_table(shop, "visits").tableName == "visits"


@pytest.mark.parametrize(
    "sql",
    [
        "DROP TABLE orders PURGE",
        "REFRESH MATERIALIZED VIEW top",
        "ALTER MATERIALIZED VIEW top REBUILD",
        "ALTER MATERIALIZED VIEW top ENABLE REWRITE",
        "ALTER VIEW top ADD PARTITION (day='2026-01-01')",
        "ALTER VIEW top DROP PARTITION (day='2026-01-01')",
        "SHOW CREATE TABLE orders",
        "ALTER VIEW top SET TBLPROPERTIES ('a'='b', 'a'='c')",
    ],
)
def test_unsupported_alter_statement_leaves_view_unchanged(run, catalog, top: str, shop: str, sql: str) -> None:
    before = catalog.load_view((shop, "top")).metadata_location
    with pytest.raises(SqlError) as raised:
        run(sql)
    name = raised.value.name or ""
    assert raised.value.line == 1
    assert sql[(raised.value.column or 0) - 1 :].startswith(name)
    assert catalog.load_view((shop, "top")).metadata_location == before
