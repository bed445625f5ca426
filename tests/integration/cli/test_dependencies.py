"""deps tree, graph, impact, check; recompile, adopt, repair; drop with its keywords, on a real metastore."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from hive_views import HiveViewCatalog
from hive_views.errors import UndroppableTableError
from hive_views.identifiers import ViewName
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.metastore._thrift.hive_metastore.ttypes import EnvironmentContext, FieldSchema, Partition, Table
from hive_views.rendering.html_page import embed_json
from tests.conftest import empty_database
from tests.integration.catalog.samples import hive_row
from tests.integration.cli.conftest import Cli
from tests.integration.metastore.rpc import connect
from tests.suites import extended


def create_shop(metastore: EmbeddedMetastore, database: str) -> None:
    """orders <- big <- ids, orders <- all_orders (a star); gone <- lost, where `gone` does not exist."""
    for name in ("orders", "gone"):
        row = hive_row(database, name, "MANAGED_TABLE")
        row.sd.cols = [FieldSchema(name=column, type="bigint", comment=None) for column in ("id", "total")]
        with connect(metastore.port) as client:
            client.create_table(row)
    with HiveViewCatalog("prod", uri=metastore.uri, warehouse=metastore.warehouse) as catalog:
        for name, query in {
            "big": "SELECT id, total FROM orders WHERE total > 100",
            "ids": "SELECT id FROM big",
            "all_orders": "SELECT * FROM orders",
            "lost": "SELECT id FROM gone",
        }.items():
            catalog.execute(f"CREATE VIEW {name} AS {query}", database=database)
    with connect(metastore.port) as client:
        client.drop_table(database, "gone", False)


@pytest.fixture
def own_shop(metastore: EmbeddedMetastore, database: str) -> str:
    """A database with the objects of `create_shop`."""
    create_shop(metastore, database)
    return database


@pytest.fixture(scope="module")
def shop(metastore: EmbeddedMetastore) -> Iterator[str]:
    """The same, for tests that change nothing."""
    with empty_database(metastore, "shop") as name:
        create_shop(metastore, name)
        yield name


def hive_view_row(database: str, name: str, text: str, column: str) -> Table:
    """A plain Hive view."""
    row = hive_row(database, name, "VIRTUAL_VIEW")
    row.viewOriginalText = row.viewExpandedText = text
    row.sd.cols = [FieldSchema(name=column, type="bigint", comment=None)]
    return row


def alter(metastore: EmbeddedMetastore, database: str, name: str, *columns: tuple[str, str]) -> None:
    """Change the columns of a table, as another program."""
    with connect(metastore.port) as client:
        row = client.get_table(database, name)
        row.sd.cols = [FieldSchema(name=column, type=kind, comment=None) for column, kind in columns]
        client.alter_table_with_environment_context(database, name, row, EnvironmentContext({}))


def drift(metastore: EmbeddedMetastore, database: str, name: str, text: str) -> None:
    """Change a view's text in its row only, as another program."""
    with connect(metastore.port) as client:
        row = client.get_table(database, name)
        row.viewOriginalText = row.viewExpandedText = text
        client.alter_table_with_environment_context(database, name, row, EnvironmentContext({}))


# -- deps tree --------------------------------------------------------------------------------------------------------


def test_tree_shows_both_directions(cli: Cli, shop: str) -> None:
    done = cli("deps", "tree", f"{shop}.big")
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        f"Reads\n{shop}.big  view\n└─ {shop}.orders  hive-table\n\nIs read by\n{shop}.big  view\n└─ {shop}.ids  view\n"
    )


def test_tree_shows_one_direction(cli: Cli, shop: str) -> None:
    assert cli("deps", "tree", f"{shop}.IDS", "--up").out == (
        f"{shop}.ids  view\n└─ {shop}.big  view\n   └─ {shop}.orders  hive-table\n"
    )
    assert cli("deps", "tree", f"{shop}.orders", "--down").out == (
        f"{shop}.orders  hive-table\n├─ {shop}.all_orders  view\n└─ {shop}.big  view\n   └─ {shop}.ids  view\n"
    )


def test_tree_shows_missing_dependency(cli: Cli, shop: str) -> None:
    lines = cli("deps", "tree", f"{shop}.lost", "--up").out.splitlines()
    assert lines[0].startswith(f"{shop}.lost  view  invalid: line 1:16: ")
    assert lines[1:] == [f"└─ {shop}.gone  missing"]


def test_tree_shows_readers_of_missing_object(cli: Cli, shop: str) -> None:
    result = cli("deps", "tree", f"{shop}.gone", "--json").json
    assert [[line["name"] for line in tree["lines"]] for tree in result["trees"]] == [
        [f"{shop}.gone"],
        [f"{shop}.gone", f"{shop}.lost"],
    ]
    done = cli("deps", "tree", f"{shop}.nothing")
    assert (done.code, done.out) == (3, "")


def test_tree_as_json(cli: Cli, shop: str) -> None:
    result = cli("deps", "tree", f"{shop}.ids", "--up", "--json").json
    assert (result["name"], [tree["direction"] for tree in result["trees"]]) == (f"{shop}.ids", ["up"])
    assert result["trees"][0]["lines"][1] == {
        "name": f"{shop}.big",
        "kind": "view",
        "standing": "valid",
        "reasons": [],
        "depth": 1,
        "note": None,
        "branch": "└─ ",
    }


# -- deps graph -------------------------------------------------------------------------------------------------------


def test_graph_as_tree(cli: Cli, shop: str) -> None:
    lines = cli("deps", "graph", shop).out.splitlines()
    assert lines[:2] == [f"{shop}.all_orders  view", f"└─ {shop}.orders  hive-table"]
    assert lines[-1] == f"└─ {shop}.gone  missing"
    assert "invalid" in lines[-2]
    unchecked = cli("deps", "graph", shop, "--unchecked").out.splitlines()
    assert len(unchecked) == len(lines)
    assert unchecked[-2] == f"{shop}.lost  view  invalid: {shop}.gone is missing"


def test_graph_as_json(cli: Cli, shop: str, tmp_path: Path) -> None:
    result = cli("deps", "graph", shop, "--json").json
    assert [(node["name"], node["kind"], node["standing"]) for node in result["nodes"]] == [
        (f"{shop}.all_orders", "view", "valid"),
        (f"{shop}.big", "view", "valid"),
        (f"{shop}.gone", "missing", "missing"),
        (f"{shop}.ids", "view", "valid"),
        (f"{shop}.lost", "view", "invalid"),
        (f"{shop}.orders", "hive-table", "unchecked"),
    ]
    assert {"view": f"{shop}.lost", "reads": f"{shop}.gone", "state": "missing"} in result["edges"]
    assert (result["format"], result["cycles"]) == ("tree", [])
    assert result["picture"].startswith(f"{shop}.all_orders  view\n")
    file = tmp_path / "graph.json"
    assert cli("deps", "graph", shop, "-f", "json", "-o", str(file)).code == 0
    written = json.loads(file.read_text())
    assert written == {**result, "format": "json", "output": str(file), "picture": None}
    assert json.loads(cli("deps", "graph", shop, "-f", "json").out) == {
        **result,
        "format": "json",
        "picture": None,
    }


def test_graph_as_dot_and_mermaid(cli: Cli, shop: str, tmp_path: Path) -> None:
    text = cli("deps", "graph", shop, "--format", "dot").out
    assert f'"{shop}.orders" -> "{shop}.big";' in text
    file = tmp_path / "graph.dot"
    done = cli("deps", "graph", shop, "--format", "dot", "--output", str(file))
    assert done.out == f"{file}: 6 objects, 4 edges\n"
    assert file.read_text() == text
    program = shutil.which("dot")
    if program is not None:
        subprocess.run([program, "-Tsvg", str(file)], check=True, capture_output=True)
    assert cli("deps", "graph", shop, "--format", "mermaid").out.startswith("flowchart LR\n")


def test_graph_as_html_page(cli: Cli, shop: str, browser, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / "views.html"
    assert cli("deps", "graph", shop, "--format", "html", "--output", str(file)).code == 0
    browser.open(file.read_text(), fragment=f"#{shop}.big")
    assert browser.console() == []
    assert browser.run("return document.querySelectorAll('#nodes .node').length") == 6
    assert browser.run("return document.getElementById('typed').textContent") == (
        "SELECT id, total FROM orders WHERE total > 100"
    )
    details = browser.run("return document.getElementById('details').innerText")
    assert f"FROM `{shop}`.`orders`" in details
    assert "bigint" in details
    sources = browser.run(
        "const view = nodes.find((node) => node.name === 'big');"
        "return view.sources.map((columns) => columns.map((one) => columnName(...one)))"
    )
    assert sources == [[f"{shop}.orders.id"], [f"{shop}.orders.total"]]
    assert cli("deps", "graph", shop, "-f", "html", "-o", "-").out == file.read_text()
    without = cli("deps", "graph", shop, "-f", "html", "-o", "-", "--without-columns").out
    assert "Draw its lineage" in without
    assert '"sources":[[' not in without


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--format", "png"], "'png' is none of tree, dot, mermaid, html, json"),
        (["--format", "html"], "name the page's file"),
        (["--output", "/nowhere/at/all"], "cannot be written"),
    ],
)
def test_graph_rejects_invalid_format_and_output(cli: Cli, shop: str, words: list[str], message: str) -> None:
    done = cli("deps", "graph", shop, *words)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


@pytest.mark.parametrize("command", [["graph"], ["check"]])
def test_missing_database_is_reported(cli: Cli, command: list[str]) -> None:
    assert cli("deps", *command, "nothing_here").code == 3


# -- deps impact ------------------------------------------------------------------------------------------------------


def test_impact_command_for_drop(cli: Cli, shop: str) -> None:
    done = cli("deps", "impact", f"{shop}.orders", "--json")
    result = json.loads(done.out)
    assert done.code == 1
    assert (result["name"], result["columns"], result["breaks"]) == (f"{shop}.orders", None, True)
    assert {item["view"]: item["effect"] for item in result["views"]} == {
        f"{shop}.all_orders": "breaks",
        f"{shop}.big": "breaks",
        f"{shop}.ids": "breaks",
    }
    text = cli("deps", "impact", f"{shop}.orders", "--drop")
    assert text.code == 1
    assert text.out.splitlines()[-1] == f"3 views of 3 would break if {shop}.orders was dropped"


@pytest.mark.parametrize(
    ("words", "code", "effects"),
    [
        (["--drop-column", "total"], 1, {"all_orders": "breaks", "big": "breaks", "ids": "breaks"}),
        (["--add-column", "tax:double"], 0, {"all_orders": "stays frozen", "big": "none", "ids": "none"}),
        (["--change-column", "ID:int"], 0, dict.fromkeys(("all_orders", "big", "ids"), "changes types")),
        (["-c", "id:bigint", "-c", "total:long"], 0, {"all_orders": "none", "big": "none", "ids": "none"}),
    ],
)  # fmt: skip
def test_impact_command_for_columns(cli: Cli, shop: str, words: list[str], code: int, effects: dict[str, str]) -> None:
    done = cli("deps", "impact", f"{shop}.orders", *words, "--json")
    result = {item["view"].split(".")[1]: item["effect"] for item in json.loads(done.out)["views"]}
    assert (done.code, result) == (code, effects)


def test_impact_command_parses_column_options(cli: Cli, shop: str) -> None:
    words = ("--drop-column", "id", "--change-column", "total:smallint", "--add-column", "tags:list<string>")
    done = cli("deps", "impact", f"{shop}.orders", *words, "--json")
    assert json.loads(done.out)["columns"] == [["total", "smallint"], ["tags", "array<string>"]]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--drop", "--drop-column", "id"], 2),
        (["--drop-column", "nothing"], 2),
        (["--add-column", "id:int"], 2),
        (["--add-column", "tax"], 2),
        (["--add-column", "tax:nonsense"], 2),
    ],
)
def test_impact_command_rejects_contradicting_options(cli: Cli, shop: str, words: list[str], code: int) -> None:
    done = cli("deps", "impact", f"{shop}.orders", *words)
    assert (done.code, done.out) == (code, "")
    assert cli("deps", "impact", f"{shop}.nothing", "--drop-column", "id").code == 3


# -- deps check -------------------------------------------------------------------------------------------------------


def test_check_of_database(cli: Cli, metastore: EmbeddedMetastore, own_shop: str) -> None:
    alter(metastore, own_shop, "orders", ("id", "bigint"), ("total", "bigint"), ("tax", "bigint"))
    done = cli("deps", "check", own_shop, "--workers", "2", "--json")
    result = json.loads(done.out)
    assert (done.code, result["ok"]) == (1, False)
    assert result["counts"] == {"invalid": 1, "outdated": 1, "valid": 2}
    views = {view["view"].split(".")[1]: view for view in result["views"]}
    assert views["big"] == {"view": f"{own_shop}.big", "validity": "valid", "problems": []}
    (problem,) = views["lost"]["problems"]
    assert (problem["validity"], problem["line"], problem["column"]) == ("invalid", 1, 16)
    text = cli("deps", "check", own_shop)
    assert text.out.splitlines()[-1] == "4 views: 1 invalid, 1 outdated, 2 valid"
    assert len(text.out.splitlines()) == 3


def test_check_of_view_and_strict_option(cli: Cli, metastore: EmbeddedMetastore, own_shop: str) -> None:
    assert cli("deps", "check", f"{own_shop}.all_orders", "--strict").out == "1 view: 1 valid\n"
    alter(metastore, own_shop, "orders", ("id", "bigint"), ("total", "bigint"), ("tax", "bigint"))
    assert cli("deps", "check", f"{own_shop}.all_orders").code == 0
    assert cli("deps", "check", f"{own_shop}.all_orders", "--strict").code == 1
    assert cli("deps", "check", f"{own_shop}.lost").code == 1
    assert cli("deps", "check", f"{own_shop}.nothing").code == 3


@pytest.mark.parametrize("successor", ["hive view", *extended(None, "table")])
def test_blocked_views_are_reported_by_all_outputs(
    cli: Cli, metastore: EmbeddedMetastore, database: str, tmp_path: Path, successor: str | None
) -> None:
    """base <- a <- b <- c <- plain, when base was dropped, and after an object without its columns got its name."""
    base = hive_row(database, "base", "MANAGED_TABLE")
    base.sd.cols = [FieldSchema(name="id", type="bigint", comment=None)]
    with connect(metastore.port) as client:
        client.create_table(base)
        for name, source in (("a", "base"), ("b", "a"), ("c", "b")):
            assert cli("sql", f"CREATE VIEW {name} AS SELECT id FROM {source}", "--database", database).code == 0
        client.create_table(hive_view_row(database, "plain", f"select `c`.`id` from `{database}`.`c`", "id"))
        assert cli("deps", "check", database, "--strict").code == 0
        client.drop_table(database, "base", False)
        if successor == "table":
            base.sd.cols[0].name = "one"
            client.create_table(base)
        elif successor == "hive view":
            client.create_table(hive_view_row(database, "base", "select 1 as `one`", "one"))

    root, blocked = f"{database}.a", [f"{database}.{name}" for name in ("b", "c", "plain")]
    expected = {root: "invalid", **dict.fromkeys(blocked, "blocked")}
    result = json.loads(cli("deps", "check", database, "--json").out)
    problems = {view["view"]: view["problems"] for view in result["views"]}
    reasons = {name: problems[name][0]["reason"] for name in expected}
    for name, *strict in ([database], [database, "--strict"], [f"{database}.plain"], [f"{database}.c", "--strict"]):
        done = cli("deps", "check", name, *strict, "--json")
        result = json.loads(done.out)
        checked = {view["view"]: view["validity"] for view in result["views"] if view["view"] in expected}
        assert (done.code, result["ok"]) == (1, False)
        assert checked == (expected if name == database else {name: expected[name]})
        text = cli("deps", "check", name, *strict)
        assert text.code == 1 and all(f"{view}  {expected[view]}" in text.out for view in checked)
    graph = json.loads(cli("deps", "graph", database, "--format", "json", "--json").out)
    standings = {node["name"]: (node["standing"], node["reasons"]) for node in graph["nodes"]}
    pictures = {}
    for format in ("tree", "dot", "mermaid", "html"):
        assert cli("deps", "graph", database, "--format", format, "--output", str(tmp_path / format)).code == 0
        pictures[format] = (tmp_path / format).read_text()
    doctor = cli("doctor", "--database", database, "--no-write", "--json")
    assert doctor.code == 1
    findings = {
        item["subject"]: item["message"] for item in json.loads(doctor.out)["findings"] if item["level"] == "problem"
    }
    tree = json.loads(cli("deps", "tree", f"{database}.plain", "--up", "--json").out)["trees"][0]["lines"]
    assert {line["name"]: line["standing"] for line in tree if line["name"] in expected} == expected
    for name in (blocked[0], blocked[-1]):
        (problem,) = problems[name]
        assert problem["blocked_by"] == [root] and f"{root}, which is invalid: line" in reasons[name]
        assert standings[name] == ("blocked", [reasons[name]])
        assert f"{name.split('.')[1]} (blocked)" in pictures["mermaid"].replace("#40;", "(").replace("#41;", ")")
        assert reasons[name] in pictures["dot"]
        assert f'"standing":"blocked","reasons":[{embed_json(reasons[name])}]' in pictures["html"]
        assert findings[name].startswith("it is blocked: it reads")
        shown = json.loads(cli("show", name, "--json").out)
        assert (shown["validity"], shown["problems"]) == ("blocked", problems[name])
        assert reasons[name] in cli("show", name).out
    assert pictures["tree"].count("view  blocked: it reads") == len(blocked)


# -- recompile, adopt, repair -----------------------------------------------------------------------------------------


def test_recompile_updates_columns_of_changed_table(
    cli: Cli, catalog: HiveViewCatalog, metastore: EmbeddedMetastore, own_shop: str
) -> None:
    alter(metastore, own_shop, "orders", ("id", "bigint"), ("total", "double"), ("tax", "bigint"))
    done = cli("recompile", f"{own_shop}.all_orders", f"{own_shop}.ids", "--json").json
    assert done["views"][0] == {
        "view": f"{own_shop}.all_orders",
        "outcome": "recompiled",
        "version_id": 2,
        "added": ["tax"],
        "removed": [],
        "retyped": ["total"],
        "error": None,
    }
    assert (done["views"][1]["outcome"], done["views"][1]["version_id"]) == ("unchanged", 1)
    assert [field.name for field in catalog.load_view(f"{own_shop}.all_orders").schema().fields] == [
        "id",
        "total",
        "tax",
    ]


def test_recompile_of_database_continues_after_failure(
    cli: Cli, metastore: EmbeddedMetastore, catalog: HiveViewCatalog, own_shop: str
) -> None:
    """A star over a star: each view is recompiled after what it reads, so both get the new column."""
    assert cli("sql", f"CREATE VIEW {own_shop}.above AS SELECT * FROM {own_shop}.all_orders").code == 0
    alter(metastore, own_shop, "orders", ("id", "bigint"), ("total", "bigint"), ("tax", "bigint"))
    done = cli("recompile", "--database", own_shop, "--yes")
    assert done.code == 1
    lines = done.out.splitlines()
    assert f"{own_shop}.all_orders: recompiled, version 2 is current; + tax" in lines
    assert f"{own_shop}.above: recompiled, version 2 is current; + tax" in lines
    assert f"{own_shop}.ids: unchanged, version 1 is current" in lines
    assert any(line.startswith(f"{own_shop}.lost: failed: line 1:16") for line in lines)
    assert catalog.load_view(f"{own_shop}.lost").metadata.current_version_id == 1


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("SELECT id, total + 1 FROM orders", ["number:bigint:the order", "more:bigint"]),
        ("SELECT *, total * 2 FROM orders", ["id:bigint", "total:bigint:in cents", "twice:bigint"]),
        ("SELECT id, count(*) FROM orders GROUP BY id", ["id:bigint", "lines:bigint:how many"]),
    ],
)
def test_recompile_keeps_names_and_comments_that_the_text_does_not_give(
    cli: Cli, catalog: HiveViewCatalog, own_shop: str, sql: str, columns: list[str]
) -> None:
    """A view created with explicit columns has them only in its schema."""
    words = [word for column in columns for word in ("-c", column)]
    assert cli("create", f"{own_shop}.named", "--raw", "--sql", sql, *words).code == 0
    before = [(field.name, field.doc) for field in catalog.load_view(f"{own_shop}.named").schema().fields]
    done = cli("recompile", f"{own_shop}.named", "--json").json["views"][0]
    assert (done["outcome"], done["added"], done["removed"]) == ("recompiled", [], [])
    assert [(field.name, field.doc) for field in catalog.load_view(f"{own_shop}.named").schema().fields] == before
    assert cli("recompile", f"{own_shop}.named", "--json").json["views"][0]["outcome"] == "unchanged"
    assert cli("deps", "check", f"{own_shop}.named", "--strict").code == 0


def test_recompile_needs_views_or_a_database(cli: Cli, shop: str) -> None:
    assert cli("recompile").code == 2
    assert cli("recompile", f"{shop}.big", "--database", shop, "--yes").code == 2
    assert cli("recompile", "--database", "nothing_here", "--yes").code == 3


def test_adopt_makes_drifted_text_a_version(
    cli: Cli, catalog: HiveViewCatalog, metastore: EmbeddedMetastore, own_shop: str
) -> None:
    text = f"select `orders`.`id`, `orders`.`total` from `{own_shop}`.`orders`"
    drift(metastore, own_shop, "big", text)
    assert cli("deps", "check", f"{own_shop}.big", "--strict").code == 1
    done = cli("adopt", f"{own_shop}.big", "--json").json
    assert (done["outcome"], done["version_id"]) == ("adopted", 2)
    assert catalog.load_view(f"{own_shop}.big").drift == ()
    assert cli("adopt", f"{own_shop}.big").out == f"{own_shop}.big: unchanged, version 2 is current\n"
    assert cli("rollback", f"{own_shop}.big", "--to-version", "1").code == 0


def test_repair_requires_confirmation_and_restores_row(
    cli: Cli, catalog: HiveViewCatalog, metastore: EmbeddedMetastore, own_shop: str
) -> None:
    before = catalog.load_view(f"{own_shop}.big").expanded_text
    drift(metastore, own_shop, "big", "select 1")
    refused = cli("repair", f"{own_shop}.big")
    assert refused.code == 2
    assert "Overwrite what another program wrote" in refused.err
    assert catalog.load_view(f"{own_shop}.big").drift != ()
    assert cli("repair", f"{own_shop}.big", "--yes").out == f"{own_shop}.big: repaired, version 1 is current\n"
    assert catalog.load_view(f"{own_shop}.big").expanded_text == before
    assert cli("repair", f"{own_shop}.big", "--yes").out == f"{own_shop}.big: unchanged, version 1 is current\n"


# -- drop -------------------------------------------------------------------------------------------------------------


def test_dry_run_drops_nothing(cli: Cli, catalog: HiveViewCatalog, shop: str) -> None:
    location = catalog.load_view(f"{shop}.ids").metadata_location
    done = cli("drop", f"{shop}.big", "--cascade", "--dry-run", "--json").json
    assert (done["outcome"], done["dependents"]) == ("would be dropped", [f"{shop}.ids"])
    assert done["others"] == [{"view": f"{shop}.ids", "kind": "view", "metadata_location": location, "text": None}]
    assert cli("drop", f"{shop}.big", "--cascade", "--dry-run").out == (
        f"{shop}.ids: would be dropped\n{shop}.big: would be dropped\n"
    )
    plain = cli("drop", f"{shop}.big", "--dry-run")
    assert plain.out == f"{shop}.big: would be dropped\nLeft dangling: {shop}.ids\n"
    refused = cli("drop", f"{shop}.big", "--restrict", "--dry-run")
    assert (refused.code, refused.out) == (
        4,
        f"{shop}.big: would be refused\nThese views depend on it: {shop}.ids\n",
    )
    assert catalog.view_exists(f"{shop}.big")
    assert catalog.view_exists(f"{shop}.ids")


def test_drop_restrict_fails_with_dependents(cli: Cli, catalog: HiveViewCatalog, own_shop: str) -> None:
    done = cli("drop", f"{own_shop}.big", "--restrict", "--yes", "--json")
    assert (done.code, done.error["type"]) == (4, "DependentsError")
    assert done.error["operands"]["dependents"] == [f"{own_shop}.ids"]
    assert catalog.view_exists(f"{own_shop}.big")
    assert cli("drop", f"{own_shop}.ids", "--restrict", "--yes").code == 0
    assert cli("drop", f"{own_shop}.big", "--restrict", "--cascade", "--yes").code == 2


def test_cascade_and_restore_by_register(cli: Cli, catalog: HiveViewCatalog, own_shop: str) -> None:
    refused = cli("drop", f"{own_shop}.big", "--cascade")
    assert "and every view that depends on it (--dry-run lists them)?" in refused.err
    done = cli("drop", f"{own_shop}.big", "--cascade", "--yes")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[:2] == [f"{own_shop}.ids: dropped", f"{own_shop}.big: dropped"]
    assert {name for (_, name) in catalog.list_views(own_shop)} == {"all_orders", "lost"}
    for line in lines[2:]:
        assert cli(*line.removeprefix("To bring it back: hive-views ").split()).code == 0
    assert [str(name) for name in catalog.dependencies.dependents(f"{own_shop}.orders").views] == [
        f"{own_shop}.all_orders",
        f"{own_shop}.big",
        f"{own_shop}.ids",
    ]
    assert catalog.dependencies.graph(own_shop).dependencies(ViewName(own_shop, "ids")) == (ViewName(own_shop, "big"),)


def test_cascade_with_purge(cli: Cli, own_shop: str) -> None:
    done = cli("drop", f"{own_shop}.big", "--cascade", "--purge", "--yes", "--json").json
    assert (done["outcome"], done["purged"], done["metadata_location"]) == ("dropped", True, None)
    assert done["others"] == [{"view": f"{own_shop}.ids", "kind": "view", "metadata_location": None, "text": None}]


def test_drop_of_table_with_keyword(cli: Cli, catalog: HiveViewCatalog, own_shop: str) -> None:
    iceberg = f"{own_shop}.iceberg"
    location = catalog.create_table(iceberg, Schema(NestedField(1, "id", LongType()))).metadata_location
    for name, source in (("low", "iceberg"), ("high", "low")):
        assert cli("sql", f"CREATE VIEW {name} AS SELECT id FROM {source}", "--database", own_shop).code == 0
    high, low = f"{own_shop}.high", f"{own_shop}.low"
    assert cli("drop", iceberg, "--yes").code == 3
    assert cli("drop", iceberg, "--cascade", "--purge", "--yes").code == 2
    restricted = cli("drop", iceberg, "--restrict", "--yes")
    assert restricted.code != 0 and low in restricted.err and high in restricted.err
    asked = cli("drop", iceberg, "--cascade").err
    assert (
        f"Drop table {iceberg} and every view that depends on it (--dry-run lists them)? Its files are kept." in asked
    )
    planned = json.loads(cli("drop", iceberg, "--cascade", "--dry-run", "--json").out)
    assert [item["view"] for item in planned["others"]] == [high, low]
    assert (planned["view"], planned["table"]) == (None, iceberg)
    assert catalog.table_exists(iceberg)
    dropped = json.loads(cli("drop", iceberg, "--cascade", "--yes", "--json").out)
    assert (dropped["dependents"], dropped["metadata_location"]) == ([high, low], location)
    assert (dropped["view"], dropped["table"], dropped["text"]) == (None, iceberg, None)
    assert not catalog.table_exists(iceberg) and not catalog.view_exists(low)
    catalog.register_table(iceberg, location)
    printed = cli("drop", iceberg, "--restrict", "--yes").out
    assert printed.splitlines() == [
        f"{iceberg}: dropped",
        f"To bring it back, in Python: catalog.register_table('{iceberg}', '{location}')",
    ]


@pytest.mark.parametrize("table_type", ["MANAGED_TABLE", "EXTERNAL_TABLE"])
def test_drop_of_hive_table_keeps_its_files(
    cli: Cli, catalog: HiveViewCatalog, metastore: EmbeddedMetastore, tmp_path: Path, own_shop: str, table_type: str
) -> None:
    """The row has what no file has: the report has a statement that creates the table again."""
    name, data = f"{own_shop}.facts", tmp_path / "facts" / "ds=1" / "rows.txt"
    data.parent.mkdir(parents=True)
    data.write_text("1\n")
    row = hive_row(own_shop, "facts", table_type, EXTERNAL="TRUE" if table_type == "EXTERNAL_TABLE" else "FALSE")
    row.sd.cols, row.sd.location = [FieldSchema("id", "bigint", "it's")], f"file:{tmp_path}/facts"
    row.sd.serdeInfo.serializationLib = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
    row.sd.serdeInfo.parameters = {"field.delim": "\\t"}
    row.partitionKeys = [FieldSchema("ds", "string", None)]
    row.parameters["owner's"] = "a\\b"
    with connect(metastore.port) as client:
        client.create_table(row)
        sd = client.get_table(own_shop, "facts").sd
        sd.location = f"file:{data.parent}"
        client.add_partition(Partition(["1"], own_shop, "facts", 0, 0, sd, {}))
    assert cli("sql", "CREATE VIEW over_facts AS SELECT id FROM facts", "--database", own_shop).code == 0
    view = f"{own_shop}.over_facts"
    for command in (("drop", name, "--yes"), ("sql", f"DROP TABLE {name} RESTRICT")):
        assert cli(*command).code != 0
    assert cli("drop", name, "--restrict", "--yes").code == 4
    asked = cli("drop", name, "--restrict").err
    assert f"Drop table {name}? Its files are kept; the metastore forgets its columns and partitions." in asked
    assert json.loads(cli("drop", name, "--cascade", "--dry-run", "--json").out)["dependents"] == [view]
    done = json.loads(cli("drop", name, "--cascade", "--yes", "--json").out)
    assert (done["view"], done["table"], done["outcome"], done["dependents"]) == (None, name, "dropped", [view])
    assert data.read_text() == "1\n" and catalog.store.get_row(ViewName(own_shop, "facts")) is None
    uuid = done["text"].partition("'hive_views_uuid' = '")[2][:36]
    assert done["text"] == (
        f"CREATE EXTERNAL TABLE `{own_shop}`.`facts` (`id` bigint COMMENT 'it\\'s') PARTITIONED BY (`ds` string) "
        f"ROW FORMAT SERDE '{row.sd.serdeInfo.serializationLib}' WITH SERDEPROPERTIES ('field.delim' = '\\\\t') "
        f"STORED AS INPUTFORMAT '{row.sd.inputFormat}' OUTPUTFORMAT '{row.sd.outputFormat}' "
        f"LOCATION 'file:{tmp_path}/facts' TBLPROPERTIES ('hive_views_uuid' = '{uuid}', 'owner\\'s' = 'a\\\\b')"
    )
    assert cli("drop", name, "--restrict", "--yes", "--if-exists").out.strip() == f"{name}: absent"


def test_materialized_view_of_hive_is_not_dropped(
    cli: Cli, catalog: HiveViewCatalog, metastore: EmbeddedMetastore, own_shop: str
) -> None:
    name = f"{own_shop}.kept"
    with connect(metastore.port) as client:
        client.create_table(hive_row(own_shop, "kept", "MATERIALIZED_VIEW"))
    for arguments in (("--restrict", "--yes"), ("--cascade", "--yes"), ("--restrict", "--dry-run")):
        assert "Drop it with Hive" in cli("drop", name, *arguments).err
    with pytest.raises(UndroppableTableError):
        catalog.drop_table(name)
    assert catalog.store.get_row(ViewName(own_shop, "kept")) is not None
