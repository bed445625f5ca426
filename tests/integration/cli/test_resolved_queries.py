"""create and replace resolve their query; every command reports views that were stored unresolved (--raw)."""

from __future__ import annotations

import pytest

from hive_views import HiveViewCatalog, define
from hive_views.cli.columns import parse_columns
from hive_views.errors import InvalidViewError, SqlError
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.metastore._thrift.hive_metastore.ttypes import FieldSchema
from tests.integration.catalog.samples import hive_row
from tests.integration.cli.conftest import Cli
from tests.integration.metastore.rpc import connect

COLUMNS = (("id", "int"), ("total", "decimal(10,2)"), ("note", "string"))


@pytest.fixture
def orders(metastore: EmbeddedMetastore, database: str) -> str:
    """The database with a plain Hive table `orders`."""
    row = hive_row(database, "orders", "MANAGED_TABLE")
    row.sd.cols = [FieldSchema(name=name, type=kind, comment=None) for name, kind in COLUMNS]
    with connect(metastore.port) as client:
        client.create_table(row)
    return database


@pytest.mark.parametrize(
    ("words", "row_text", "columns"),
    [
        (
            ["--sql", "SELECT * FROM orders WHERE total > 1"],
            "SELECT `orders`.`id`, `orders`.`total`, `orders`.`note` FROM `{0}`.`orders` WHERE `orders`.`total` > 1",
            [("id", "int", None), ("total", "decimal(10, 2)", None), ("note", "string", None)],
        ),
        (
            ["--sql", "SELECT id, note FROM orders", "-c", "ID", "-c", "note:string:a note"],
            "SELECT `orders`.`id`, `orders`.`note` FROM `{0}`.`orders`",
            [("id", "int", None), ("note", "string", "a note")],
        ),
        (
            ["--sql", "SELECT id FROM orders", "-c", "number::the id"],
            "SELECT `id` AS `number` FROM (SELECT `orders`.`id` FROM `{0}`.`orders`) `v`",
            [("number", "int", "the id")],
        ),
        (
            ["--dialect", "trino", "--sql", 'SELECT "id" AS "n" FROM orders'],
            "SELECT `orders`.`id` AS `n` FROM `{0}`.`orders`",
            [("n", "int", None)],
        ),
        (
            ["--dialect", "hive", "--sql", "select id from orders"],
            "select `orders`.`id` from `{0}`.`orders`",
            [("id", "int", None)],
        ),
    ],
)
def test_create_resolves_names_stars_and_types(
    cli: Cli, catalog: HiveViewCatalog, orders: str, words: list[str], row_text: str, columns: list[tuple[str, ...]]
) -> None:
    result = cli("create", f"{orders}.v", *words, "--json").json
    assert (result["outcome"], result["raw"]) == ("created", False)
    view = catalog.load_view(f"{orders}.v")
    assert view.expanded_text == row_text.format(orders)
    assert view.original_text == words[words.index("--sql") + 1]
    assert [(field.name, str(field.field_type).lower(), field.doc) for field in view.schema().fields] == columns
    assert view.current_version().summary["engine-name"] == "hive-views"
    assert cli("deps", "check", f"{orders}.v", "--strict").code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--sql", "SELEC nonsense FROM nowhere"], "line 1:1 "),
        (["--sql", "SELECT id\nFROM nowhere"], "line 2:6 Table not found 'nowhere'"),
        (["--sql", "SELECT id,\n  missing FROM orders"], "line 2:3 "),
        (["--sql", "SELECT id FROM lake.sales.orders"], "is in another catalog"),
        (["--sql", "SELECT id FROM orders", "-c", "id:bigint"], "Column id is of type int in the query, not long"),
        (["--sql", "SELECT id FROM orders", "-c", "a", "-c", "b"], "1 columns, 2 names"),
        (["--sql", "SELECT id, note FROM orders", "-c", "a", "-c", "A"], "given twice"),
        (["--sql", "SELECT id FROM orders", "-c", "a:"], "is not of the form"),
        (["--sql", "SELECT id FROM orders", "--dialect", "presto"], "Unknown dialect 'presto'"),
        (["--sql", "SELECT id FROM orders", "--expanded", "SELECT 1"], "--expanded: it belongs to --raw"),
        (["--sql", "SELECT id FROM orders", "--default-catalog", "x"], "--default-catalog: it belongs to --raw"),
    ],
)
@pytest.mark.parametrize("command", ["create", "replace"])
def test_unresolvable_query_is_rejected(
    cli: Cli, catalog: HiveViewCatalog, orders: str, command: str, words: list[str], message: str
) -> None:
    if command == "replace":
        assert cli("create", f"{orders}.v", "--sql", "SELECT id FROM orders").code == 0
    result = cli(command, f"{orders}.v", *words)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    if command == "replace":
        assert catalog.load_view(f"{orders}.v").metadata.current_version_id == 1
    else:
        assert not catalog.view_exists(f"{orders}.v")


def test_replace_keeps_star_frozen_comments_and_column_list(cli: Cli, catalog: HiveViewCatalog, orders: str) -> None:
    assert (
        cli("create", f"{orders}.v", "--sql", "SELECT * FROM orders", "-c", "id::key", "-c", "b", "-c", "c").code == 0
    )
    assert cli("replace", f"{orders}.v", "--sql", "SELECT note, id, total FROM orders").code == 0
    view = catalog.load_view(f"{orders}.v")
    assert [(field.name, str(field.field_type), field.doc) for field in view.schema().fields] == [
        ("id", "string", "key"),
        ("b", "int", None),
        ("c", "decimal(10, 2)", None),
    ]
    assert "*" not in (view.expanded_text or "*")
    result = cli("replace", f"{orders}.v", "--sql", "SELECT 1 AS one")
    assert (result.code, "1 columns, 3 names" in result.err) == (2, True)


ALL = ("-c", "id:int", "-c", "total:decimal(10,2)", "-c", "note:string")
RAW_VIEWS = {
    "star": ["--sql", "SELECT * FROM orders", *ALL],
    "unqualified": ["--sql", "SELECT id FROM orders", "-c", "id:int"],
    "hive": ["--dialect", "hive", "--sql", "select id from orders", "-c", "id:int"],
    "hive star": ["--dialect", "hive", "--sql", "select * from {0}.orders", *ALL],
    "trino": ["--dialect", "trino", "--sql", 'SELECT "id" FROM orders', "-c", "id:int"],
    "expanded": ["--sql", "SELECT id FROM orders", "-c", "id:int", "--expanded", "SELECT orders.id FROM orders"],
}


@pytest.mark.parametrize("name", RAW_VIEWS)
def test_raw_view_is_reported_alike(cli: Cli, orders: str, name: str) -> None:
    view = f"{orders}.v"
    words = [word.format(orders) for word in RAW_VIEWS[name]]
    created = cli("create", view, "--raw", *words)
    assert (created.code, "Stored as it is" in created.out) == (0, True)
    (checked,) = cli("deps", "check", view, "--json").json["views"]
    (reason,) = [item["reason"] for item in checked["problems"] if item["validity"] == "unexpanded"]
    assert cli("deps", "check", view, "--strict").code == 1
    details = cli("show", view, "--json").json
    assert (details["validity"], details["problems"]) == (checked["validity"], checked["problems"])
    assert f"  {reason}\n" in cli("show", view).out
    findings = cli("doctor", "--database", orders, "--no-write", "--json")
    assert f"it is unexpanded: {reason}" in findings.out
    exported = cli("export", "--view", view)
    assert (exported.code, exported.out) == (1, f"-- {view} is not exported: {reason}\n")
    tree = cli("deps", "tree", view, "--json").json["trees"][0]["lines"][0]
    assert (tree["standing"], reason in tree["reasons"][0]) == ("unexpanded", True)
    # As the reason says, RECOMPILE expands the text.
    assert cli("recompile", view).code == 0
    assert cli("deps", "check", view, "--strict").code == 0
    assert cli("export", "--view", view).code == 0


def test_python_method_creates_in_one_call(catalog: HiveViewCatalog, orders: str) -> None:
    name = f"{orders}.v"
    view = catalog.create_view_from_sql(name, "SELECT * FROM orders", properties={"team": "bi"})
    assert (len(view.schema().fields), view.metadata.properties["team"]) == (3, "bi")
    changed = catalog.replace_view_from_sql(name, "SELECT id FROM orders", column_comments=["key"])
    assert [(field.name, field.doc) for field in changed.schema().fields] == [("id", "key")]
    again = catalog.create_view_from_sql(name, "SELECT id AS n FROM orders", or_replace=True)
    assert (again.metadata.current_version_id, again.metadata.properties["team"]) == (3, "bi")
    with pytest.raises(SqlError, match="Unknown dialect"):
        catalog.create_view_from_sql(name, "SELECT 1", dialect="mysql")
    foreign = define("SELECT 1 AS n", dialect="spark", default_namespace=("x",), default_catalog="lake")
    catalog.replace_view(name, parse_columns(["n:int"]), foreign)
    with pytest.raises(InvalidViewError, match="catalog lake"):
        catalog.replace_view_from_sql(name, "SELECT 2 AS n")
