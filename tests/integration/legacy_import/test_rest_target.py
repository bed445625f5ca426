"""Import of legacy views into an Iceberg REST catalog; metastore and catalog are real."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pytest
import requests
from pyiceberg.catalog import load_catalog
from pyiceberg.types import StringType

from hive_views import HiveViewCatalog
from hive_views.errors import CatalogUnavailableError, PlanError, UsageError
from hive_views.identifiers import ViewName
from hive_views.legacy_import import (
    ImportOptions,
    ImportStatus,
    PlanStatus,
    Reason,
    RenameRule,
    RevertStatus,
    dry_run,
    plan_import,
    read_journal,
    read_plan,
    revert_run,
    run_plan,
    write_plan,
)
from tests.integration.catalog.samples import files_below
from tests.integration.cli.conftest import cli
from tests.integration.legacy_import.conftest import entry_of
from tests.integration.legacy_import.rows import alter, hive_view_row, table_row, trino_view_row
from tests.integration.view_copy.conftest import forwarder, metastore_over_rest, rest, rest_server
from tests.suites import extended

__all__ = ["cli", "metastore_over_rest", "rest", "rest_server"]

IDS = [("id", "bigint")]
ODD = "ünï 'quote' \"double\" \\n {x} %s \u2028 😀"


@pytest.fixture
def orders(rest, database) -> str:
    """A table of the REST catalog that the metastore does not have."""
    name = f"{database}.lake_orders"
    rest.create_table(name, pa.schema([("id", pa.int64()), ("Note", pa.string()), ("at", pa.timestamp("us"))]))
    return name


@pytest.fixture
def views(add, sales) -> str:
    """Two views on the Hive table `orders`, one of which reads the other."""
    for name, below in (("old_base", "orders"), ("top", "old_base")):
        text = f"select /* ünï */ `{below}`.`id` from `{sales}`.`{below}`"
        add(hive_view_row(sales, name, f"select /* ünï */ id from {below}", text, IDS, team="bi"))
    return sales


def texts(view) -> dict[str, str]:
    return {text.root.dialect: text.root.sql for text in view.current_version().representations}


def rest_files(tmp_path) -> set[str]:
    return {file.name for file in files_below(str(tmp_path / "rest"))}


def test_views_over_hive_tables_are_imported_and_reverted(catalog, rest, views, journal, everything, tmp_path):
    before = everything()
    plan = read_plan(write_plan(plan_import(catalog, databases=[views], to=rest)))
    note = f"its names are resolved in the reader's catalog spark_catalog, since the REST catalog has no {views}.orders"
    assert [(entry.target.name, entry.status) for entry in plan.entries] == [
        ("old_base", PlanStatus.READY),
        ("top", PlanStatus.READY),
    ]
    assert note in entry_of(plan, "old_base").changes
    assert not any("resolved in" in change for change in entry_of(plan, "top").changes)
    assert [outcome.status for outcome in dry_run(plan, catalog, to=rest).outcomes] == [
        ImportStatus.WOULD_CONVERT,
        ImportStatus.WOULD_CONVERT,
    ]
    assert rest.list_views(views) == [] and not rest_files(tmp_path), "a plan writes nothing"

    assert run_plan(plan, catalog, journal, to=rest).complete
    assert everything() == before
    base, top = rest.load_view(f"{views}.old_base"), rest.load_view(f"{views}.top")
    assert base.current_version().default_catalog == "spark_catalog"
    assert top.current_version().default_catalog is None
    assert texts(top)["hive"] == f"select /* ünï */ `old_base`.`id` from `{views}`.`old_base`"
    assert top.properties["team"] == "bi" and [field.name for field in top.schema().fields] == ["id"]

    done, lines = rest_files(tmp_path), journal.read_bytes()
    again = run_plan(plan, catalog, journal, to=rest)
    assert {outcome.status for outcome in again.outcomes} == {ImportStatus.CONVERTED}
    assert (rest_files(tmp_path), journal.read_bytes()) == (done, lines)

    assert {outcome.status for outcome in revert_run(catalog, journal, to=rest)} == {RevertStatus.REVERTED}
    assert rest.list_views(views) == [] and everything() == before
    assert {outcome.status for outcome in revert_run(catalog, journal, to=rest)} == {RevertStatus.ALREADY}


def test_names_mean_tables_of_the_rest_catalog_first(catalog, rest, add, orders, sales, journal):
    """A table with other columns than that of the same name in the metastore, and one that only the target has."""
    rest.create_table(f"{sales}.orders", pa.schema([("id", pa.int64()), ("amount", pa.decimal128(10, 2))]))
    add(
        hive_view_row(
            sales, "v", "select * from orders", f"select `orders`.`id` from `{sales}`.`orders`", [("id", "bigint")]
        )
    )
    add(hive_view_row(sales, "missing", "x", f"select `orders`.`cust` from `{sales}`.`orders`", [("cust", "int")]))
    add(hive_view_row(sales, "both", "x", f"select o.`id` from `{sales}`.`orders` o, `{sales}`.`customers` c", IDS))
    add(
        hive_view_row(
            sales,
            "other",
            "x",
            f"select `customers`.`id` from `{sales}`.`customers`",
            IDS,
        )
    )
    plan = plan_import(catalog, databases=[sales], to=rest)
    assert entry_of(plan, "v").status is PlanStatus.READY
    assert entry_of(plan, "missing").problem.reason is Reason.UNRESOLVED
    assert "no one catalog of Spark reads both" in entry_of(plan, "both").problem.text
    plan = plan_import(catalog, names=[ViewName(sales, name) for name in ("v", "other")], to=rest)
    assert {entry.status for entry in plan.entries} == {PlanStatus.READY}, [entry.problem for entry in plan.entries]
    assert run_plan(plan, catalog, journal, to=rest).complete
    assert rest.load_view(f"{sales}.v").current_version().default_catalog is None
    assert rest.load_view(f"{sales}.other").current_version().default_catalog == "spark_catalog"


def test_iceberg_table_that_only_the_metastore_has_is_missing(catalog, rest, add, database):
    catalog.create_table(f"{database}.lake", schema=pa.schema([("id", pa.int64())]))
    add(hive_view_row(database, "v", "select id from lake", f"select `lake`.`id` from `{database}`.`lake`", IDS))
    (entry,) = plan_import(catalog, databases=[database], to=rest).entries
    assert (entry.problem.reason, entry.problem.text) == (
        Reason.MISSING_TABLE,
        f"the REST catalog has no {database}.lake",
    )
    rest.register_table(f"{database}.lake", catalog.load_table(f"{database}.lake").metadata_location)
    (entry,) = plan_import(catalog, databases=[database], to=rest).entries
    assert (entry.status, entry.changes) == (PlanStatus.READY, ())


def test_texts_over_both_catalogs_are_refused(catalog, rest, views, add):
    """A new view is in the REST catalog, and Hive's table is not."""
    text = f"select o.`id` from `{views}`.`orders` o join `{views}`.`old_base` b on o.id = b.id"
    add(hive_view_row(views, "joined", text, text, IDS))
    (refused,) = [entry for entry in plan_import(catalog, databases=[views], to=rest).entries if entry.problem]
    assert (refused.name.name, refused.problem.reason) == ("joined", Reason.OTHER_CATALOG)
    assert f"{views}.old_base would be read in the REST catalog" in refused.problem.text


def test_view_that_another_view_in_the_rest_catalog_hides_is_refused(catalog, rest, views, add, journal):
    """The REST catalog's view of a name may read the metastore, and differ from the metastore's object of that name."""
    plan = plan_import(catalog, names=[ViewName(views, "old_base")], to=rest)
    assert run_plan(plan, catalog, journal, to=rest).complete
    text = f"select b.`id` from `{views}`.`old_base` b join `{views}`.`orders` o on o.id = b.id"
    add(hive_view_row(views, "joined", text, text, IDS))
    (refused,) = plan_import(catalog, names=[ViewName(views, "joined")], to=rest).entries
    assert refused.problem.reason is Reason.OTHER_CATALOG


@pytest.mark.parametrize(
    "options",
    [ImportOptions(renames=(RenameRule.parse("old_*:new_*"),)), ImportOptions(to_database="other")],
    ids=["rename", "database"],
)
def test_views_keep_their_names(catalog, rest, views, options):
    with pytest.raises(UsageError, match="views keep their names in a REST catalog"):
        plan_import(catalog, databases=[views], options=options, to=rest)


def test_permanent_functions_are_refused(catalog, rest, add, sales):
    """Spark would look for them in the REST catalog."""
    rest.create_table(f"{sales}.orders", pa.schema([("id", pa.int64())]))
    text = f"SELECT {sales}.f1(id) AS id FROM orders"
    add(hive_view_row(sales, "v", text, text, IDS, **{"spark.sql.create.version": "3.5.1"}))
    (entry,) = plan_import(catalog, databases=[sales], to=rest).entries
    assert entry.status is PlanStatus.REFUSED and "f1" in entry.problem.text, entry


def test_view_that_was_renamed_since_keeps_its_files(catalog, rest, views, journal):
    """A second run creates the view of the plan again; the first one is in use under its new name."""
    plan = plan_import(catalog, names=[ViewName(views, "old_base")], to=rest)
    for number in (1, 2, 3):
        assert run_plan(plan, catalog, journal, to=rest).complete
        names = {
            "source": {"namespace": [views], "name": "old_base"},
            "destination": {"namespace": [views], "name": f"renamed_{number}"},
        }
        requests.post(f"{rest.uri.rstrip('/')}/v1/views/rename", json=names, timeout=60).raise_for_status()
    for number in (1, 2, 3):
        assert rest.load_view(f"{views}.renamed_{number}").sql_for("hive").sql == entry_of(plan, "old_base").new_text


def without_properties(request: str, answer: bytes) -> bytes:
    """The definitions of views without their properties."""
    if re.fullmatch("(GET|POST) .*/(views/.*|register-view)", request) is None:
        return answer
    document = json.loads(answer)
    if "metadata" in document:
        document["metadata"]["properties"] = {}
    return json.dumps(document).encode()


def test_definition_that_the_server_returns_differently_is_dropped(
    catalog, rest, rest_server, views, journal, tmp_path
):
    with forwarder(rest_server, change=without_properties) as uri:
        behind = load_catalog("rest", type="rest", uri=uri)
        plan = plan_import(catalog, names=[ViewName(views, "old_base")], to=behind)
        for _ in range(2):
            (outcome,) = run_plan(plan, catalog, journal, to=behind).outcomes
            assert (outcome.status, outcome.reason) == (ImportStatus.REFUSED, Reason.UNREADABLE), outcome
            assert "another definition" in outcome.text and "It was dropped again" in outcome.text
            assert rest.list_views(views) == [] and not rest_files(tmp_path)


def without_endpoint(endpoint: str) -> Callable[[str, bytes], bytes]:
    """A configuration that does not list an endpoint."""

    def change(request: str, answer: bytes) -> bytes:
        if not request.startswith("GET /v1/config"):
            return answer
        document = json.loads(answer)
        assert endpoint in document["endpoints"], document
        document["endpoints"].remove(endpoint)
        return json.dumps(document).encode()

    return change


def test_server_without_registration_is_an_error(catalog, rest_server, rest, views, journal, tmp_path):
    endpoint = "POST /v1/{prefix}/namespaces/{namespace}/register-view"
    with forwarder(rest_server, change=without_endpoint(endpoint)) as uri:
        behind = load_catalog("rest", type="rest", uri=uri)
        plan = plan_import(catalog, names=[ViewName(views, "old_base")], to=behind)
        (outcome,) = run_plan(plan, catalog, journal, to=behind).outcomes
    assert outcome.status is ImportStatus.FAILED and "Server does not support endpoint" in outcome.text, outcome
    assert not rest_files(tmp_path)
    endpoint = "GET /v1/{prefix}/namespaces/{namespace}/views/{view}"
    with forwarder(rest_server, change=without_endpoint(endpoint)) as uri:
        behind = load_catalog("rest", type="rest", uri=uri)
        with pytest.raises(CatalogUnavailableError, match="Server does not support endpoint"):
            plan_import(catalog, names=[ViewName(views, "old_base")], to=behind)


def test_odd_texts_comments_and_properties_arrive(catalog, rest, add, sales, journal):
    literal = ODD.replace("\\", "\\\\").replace("'", "\\'")
    text = f"-- {ODD[:4]}\nselect `orders`.`id` AS `ï d`, '{literal}' AS `s`\nfrom `{sales}`.`orders` -- end"
    columns = [("ï d", "bigint", ODD), ("s", "string")]
    add(hive_view_row(sales, "odd", text, text, columns, comment=ODD, **{"odd key ü": ODD, "empty": ""}))
    add(
        trino_view_row(
            sales,
            "of_trino",
            f'SELECT id, note AS "n\'ü" FROM hive.{sales}.orders',
            [("id", "bigint", ODD), ("n'ü", "varchar(20)")],
            comment=ODD,
        )
    )
    plan = plan_import(catalog, databases=[sales], to=rest)
    assert {entry.status for entry in plan.entries} == {PlanStatus.READY}, [entry.problem for entry in plan.entries]
    assert "its text for Trino reads the catalog hive, not the REST catalog" in entry_of(plan, "of_trino").changes
    assert run_plan(plan, catalog, journal, to=rest).complete
    odd, trino = rest.load_view(f"{sales}.odd"), rest.load_view(f"{sales}.of_trino")
    assert odd.properties["comment"] == ODD and odd.properties["odd key ü"] == ODD and odd.properties["empty"] == ""
    assert [(field.name, field.doc) for field in odd.schema().fields] == [("ï d", ODD), ("s", None)]
    assert texts(odd)["hive"] == entry_of(plan, "odd").new_text
    assert trino.properties["comment"] == ODD and trino.schema().fields[0].doc == ODD
    assert trino.schema().fields[1].field_type == StringType() and f"hive.{sales}.orders" in texts(trino)["trino"]
    assert {outcome.status for outcome in revert_run(catalog, journal, to=rest)} == {RevertStatus.REVERTED}


def test_what_the_target_cannot_hold_is_reported(catalog, rest, add, sales, journal):
    add(
        trino_view_row(
            sales, "stored", f"SELECT id FROM hive.{sales}.orders", IDS, materialized=True,
            parameters={"storage_schema": sales, "storage_table": "st"},
        )
    )  # fmt: skip
    partitioned = hive_view_row(
        sales, "parts", "x", f"select `orders`.`id`, `orders`.`cust` from `{sales}`.`orders`", IDS
    )
    partitioned.partitionKeys = table_row(sales, "x", [("cust", "int")]).sd.cols
    add(partitioned)
    plan = plan_import(catalog, databases=[sales], to=rest)
    assert "its stored rows are not imported: the new view is a plain view" in entry_of(plan, "stored").changes
    assert "the new view has no partitions: its partition columns are columns" in entry_of(plan, "parts").changes
    assert run_plan(plan, catalog, journal, to=rest).complete
    stored = rest.load_view(f"{sales}.stored")
    assert not any("storage" in key for key in (*stored.properties, *stored.current_version().summary))
    assert [field.name for field in rest.load_view(f"{sales}.parts").schema().fields] == ["id", "cust"]


def test_names_that_the_target_has_are_refused(catalog, rest, views, journal, everything):
    rest.create_table(f"{views}.top", pa.schema([("id", pa.int64())]))
    plan = plan_import(catalog, databases=[views], to=rest)
    assert (entry_of(plan, "top").status, entry_of(plan, "top").problem.reason) == (
        PlanStatus.REFUSED,
        Reason.NAME_TAKEN,
    )
    rest.drop_table(f"{views}.top")
    plan = plan_import(catalog, databases=[views], to=rest)
    rest.create_table(f"{views}.top", pa.schema([("id", pa.int64())]))
    before = everything()
    result = run_plan(plan, catalog, journal, to=rest)
    assert [(outcome.status, outcome.reason) for outcome in result.outcomes] == [
        (ImportStatus.CONVERTED, None),
        (ImportStatus.REFUSED, Reason.NAME_TAKEN),
    ]
    # A view of another program with the name of an imported one.
    other = plan_import(catalog, names=[ViewName(views, "old_base")], to=rest)
    assert other.entries[0].problem.reason is Reason.NAME_TAKEN
    assert {outcome.name.name: outcome.status for outcome in revert_run(catalog, journal, to=rest)} == {
        "old_base": RevertStatus.REVERTED
    }
    assert rest.table_exists(f"{views}.top") and everything() == before


def test_missing_namespace_is_reported(catalog, rest, views):
    rest.drop_namespace(views)
    plan = plan_import(catalog, databases=[views], to=rest)
    assert f"{views} (in the REST catalog rest)" in entry_of(plan, "old_base").problem.text
    rest.create_namespace(views)


def test_changes_since_the_plan_are_refused(catalog, rest, views, journal, raw):
    plan = plan_import(catalog, databases=[views], to=rest)
    row = raw.get_table(views, "top")
    row.viewExpandedText += " where 1 = 1"
    alter(raw, row)
    # With this table, the view would read the REST catalog instead of the metastore.
    rest.create_table(f"{views}.orders", pa.schema([("id", pa.int64())]))
    result = run_plan(plan, catalog, journal, to=rest)
    assert [(outcome.name.name, outcome.status, outcome.reason) for outcome in result.outcomes] == [
        ("old_base", ImportStatus.REFUSED, Reason.CHANGED),
        ("top", ImportStatus.BLOCKED, Reason.BLOCKED),
    ]
    assert not result.complete and rest.list_views(views) == []


def test_revert_keeps_changed_views_without_force(catalog, rest, views, journal, tmp_path):
    plan = plan_import(catalog, databases=[views], to=rest)
    run_plan(plan, catalog, journal, to=rest)
    top = f"{views}.top"
    version = rest.load_view(top).current_version()
    # The same definition under another UUID, from another import.
    rest.drop_view(top)
    run_plan(plan_import(catalog, names=[ViewName(views, "top")], to=rest), catalog, tmp_path / "other.jsonl", to=rest)
    outcomes = {outcome.name.name: outcome for outcome in revert_run(catalog, journal, to=rest)}
    assert outcomes["old_base"].status is RevertStatus.REVERTED
    assert outcomes["top"].status is RevertStatus.REFUSED and "changed since its import" in outcomes["top"].text
    assert rest.load_view(top).current_version().representations == version.representations
    forced = revert_run(catalog, journal, to=rest, force=True)
    assert {outcome.name.name: outcome.status for outcome in forced} == {
        "top": RevertStatus.REVERTED,
        "old_base": RevertStatus.ALREADY,
    }
    # A view that was not imported is never dropped.
    rest.create_view(top, *definition_of(catalog, views))
    (refused, _) = revert_run(catalog, journal, to=rest, force=True)
    assert refused.status is RevertStatus.REFUSED and "is not the view that was imported" in refused.text
    assert rest.view_exists(top)


def definition_of(catalog: HiveViewCatalog, database: str):
    view = catalog.create_view_from_sql(f"{database}.model", "SELECT 1 AS id")
    pyiceberg = view.metadata.to_pyiceberg()
    return pyiceberg.schemas[0], pyiceberg.versions[0]


def test_plan_is_run_and_reverted_only_for_its_target(catalog, rest, views, journal, everything):
    there, here = plan_import(catalog, databases=[views], to=rest), plan_import(catalog, databases=[views])
    before = everything()
    with pytest.raises(PlanError, match="for the REST catalog http://"):
        run_plan(there, catalog, journal)
    with pytest.raises(PlanError, match="for the metastore of the legacy views"):
        run_plan(here, catalog, journal, to=rest)
    run_plan(there, catalog, journal, to=rest)
    with pytest.raises(PlanError):
        revert_run(catalog, journal)
    assert everything() == before
    revert_run(catalog, journal, to=rest)


def test_lost_answers_are_unknown_and_resumed(catalog, rest, rest_server, views, journal, tmp_path):
    with forwarder(rest_server, lost="POST .*/register-view|DELETE .*/top") as uri:
        behind = load_catalog("rest", type="rest", uri=uri)
        plan = plan_import(catalog, databases=[views], to=behind)
        result = run_plan(plan, catalog, journal, to=behind)
        assert [outcome.status for outcome in result.outcomes] == [ImportStatus.UNKNOWN, ImportStatus.BLOCKED]
        assert not result.complete and rest.view_exists(f"{views}.old_base")
        # The next run finds the first view, and the answer about the second one is lost.
        result = run_plan(plan, catalog, journal, to=behind)
        assert [outcome.status for outcome in result.outcomes] == [ImportStatus.CONVERTED, ImportStatus.UNKNOWN]
        result = run_plan(plan, catalog, journal, to=behind)
        assert {outcome.status for outcome in result.outcomes} == {ImportStatus.CONVERTED}
        assert len(rest_files(tmp_path)) == 4, "a metadata file and a legacy row for each view"
        reverted = revert_run(catalog, journal, to=behind)
        assert [outcome.status for outcome in reverted] == [RevertStatus.FAILED, RevertStatus.REVERTED]
        assert "did not confirm the drop" in reverted[0].text and rest.list_views(views) == []
        again = revert_run(catalog, journal, to=behind)
        assert {outcome.status for outcome in again} == {RevertStatus.ALREADY}


def test_reads_that_fail_are_outcomes_of_a_run(catalog, rest, rest_server, views, journal):
    with forwarder(rest_server, lost="GET .*/views/.*top") as uri:
        behind = load_catalog("rest", type="rest", uri=uri)
        with pytest.raises(CatalogUnavailableError):
            plan_import(catalog, databases=[views], to=behind)
    plan = plan_import(catalog, databases=[views], to=rest)
    with forwarder(rest_server, lost="GET .*/views/.*top") as uri:
        behind = load_catalog("rest", type="rest", uri=uri)
        moved = replace(plan, to=f"rest:{uri}")
        result = run_plan(moved, catalog, journal, to=behind)
        assert [outcome.status for outcome in result.outcomes] == [ImportStatus.CONVERTED, ImportStatus.FAILED]
        outcomes = revert_run(catalog, journal, to=behind)
        assert [outcome.status for outcome in outcomes] == [RevertStatus.REVERTED]
    assert rest.list_views(views) == []


@pytest.mark.parametrize("lines", [2, 4, *extended(1, 3, 5, 6, 7, 8, 9)])
def test_killed_run_is_resumed_and_reverted(catalog, rest, rest_server, sales, add, properties, tmp_path, lines):
    names = [f"k_{number}" for number in range(5)]
    for name, below in zip(names, ("orders", *names), strict=False):
        add(hive_view_row(sales, name, "x", f"select `{below}`.`id` from `{sales}`.`{below}`", IDS))
    plan = plan_import(catalog, databases=[sales], to=rest)
    file, journal = tmp_path / "plan.json", tmp_path / "plan.json.journal"
    file.write_text(write_plan(plan))
    command = [sys.executable, "-m", "hive_views", "--uri", properties["uri"], "--warehouse", properties["warehouse"]]
    lake = {"PYICEBERG_CATALOG__LAKE__TYPE": "rest", "PYICEBERG_CATALOG__LAKE__URI": rest_server}
    run = subprocess.Popen(
        [*command, "import", "run", str(file), "--to-catalog", "lake"],
        env={**os.environ, **lake},
        stdout=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while run.poll() is None and time.monotonic() < deadline:
        if journal.exists() and journal.read_bytes().count(b"\n") >= lines:
            break
        time.sleep(0.001)
    run.kill()
    assert run.wait() == -9
    assert not any('"refused"' in line for line in journal.read_text().splitlines()[1:])
    result = run_plan(plan, catalog, journal, to=rest)
    assert {outcome.status for outcome in result.outcomes} == {ImportStatus.CONVERTED}
    assert sorted(rest.list_views(sales)) == [(sales, name) for name in names]
    assert len(rest_files(tmp_path)) == 2 * len(names), "files of the killed run are deleted"
    assert {outcome.status for outcome in revert_run(catalog, journal, to=rest)} == {RevertStatus.REVERTED}
    assert rest.list_views(sales) == []


def test_commands_import_and_revert(cli, rest, rest_server, views, everything, tmp_path):
    before, plan = everything(), str(tmp_path / "plan.json")
    lake = {"PYICEBERG_CATALOG__LAKE__TYPE": "rest", "PYICEBERG_CATALOG__LAKE__URI": rest_server}
    planned = cli("import", "plan", views, "--to-catalog", "lake", "-o", plan, "--verbose", **lake)
    assert planned.code == 0 and "since the REST catalog has no" in planned.out
    assert cli("--json", "import", "run", plan).error["type"] == "PlanError"
    for words in (("--spark", "local[1]"), ("--verify", "rows")):
        assert cli("import", "run", plan, "--to-catalog", "lake", *words, **lake).code == 2
    spark = cli("import", "plan", views, "--to-catalog", "lake", "--spark", "local[1]", **lake)
    assert spark.code == 2 and "lake is a REST catalog" in spark.err
    dry = cli("--json", "import", "run", plan, "--dry-run", "--to-catalog", "lake", **lake)
    assert dry.json["counts"] == {"would-convert": 2}
    done = cli("--json", "import", "run", plan, "--to-catalog", "lake", **lake)
    assert (done.code, done.json["counts"]) == (0, {"converted": 2})
    assert cli("import", "report", f"{plan}.journal").code == 0
    taken = cli("--json", "import", "plan", views, "--to-catalog", "lake", **lake)
    assert taken.json["reasons"] == {"name-taken": 1, "blocked": 1}
    reverted = cli("--json", "import", "revert", "--yes", "-j", f"{plan}.journal", "--to-catalog", "lake", **lake)
    assert (reverted.code, reverted.json["counts"]) == (0, {"reverted": 2})
    assert rest.list_views(views) == [] and everything() == before
    history = read_journal(tmp_path / "plan.json.journal")
    assert {announcement.fingerprint is None for (announcement,) in history.announcements.values()} == {False}


def test_unreachable_catalog_ends_with_its_exit_code(cli, rest, rest_server, views, tmp_path, free_port):
    plan = str(tmp_path / "plan.json")
    lake = {"PYICEBERG_CATALOG__LAKE__TYPE": "rest", "PYICEBERG_CATALOG__LAKE__URI": rest_server}
    assert cli("import", "plan", views, "--to-catalog", "lake", "-o", plan, **lake).code == 0
    closed = {**lake, "PYICEBERG_CATALOG__LAKE__URI": f"http://127.0.0.1:{free_port}"}
    for words in (("plan", views), ("run", plan), ("revert", "--yes", "-j", f"{plan}.journal")):
        done = cli("--json", "import", *words, "--to-catalog", "lake", **closed)
        assert (done.code, done.error["type"]) == (6, "CatalogUnavailableError"), words
    with forwarder(rest_server, lost="GET .*/tables/.*") as uri:
        done = cli("import", "plan", views, "--to-catalog", "lake", **{**lake, "PYICEBERG_CATALOG__LAKE__URI": uri})
        assert done.code == 6 and "Traceback" not in done.err
    other = {"PYICEBERG_CATALOG__DB__TYPE": "sql", "PYICEBERG_CATALOG__DB__URI": "sqlite://"}
    assert "name one of type hive or rest" in cli("import", "plan", views, "--to-catalog", "db", **other).err


@pytest.fixture
def free_port() -> int:
    """A port on which nothing listens."""
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def test_unused_parts_of_the_journal_can_be_read(journal, catalog, rest, views):
    run_plan(plan_import(catalog, databases=[views], to=rest), catalog, journal, to=rest)
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    assert [line["event"] for line in lines] == ["plan", "prepared", "outcome", "prepared", "outcome"]
    revert_run(catalog, journal, to=rest)


def test_legacy_view_stays_if_the_server_serves_its_metastore(
    catalog, metastore_over_rest, add, database, journal, everything
):
    """Such a server cannot read Hive's views, and they have the names of the new ones."""
    served = load_catalog("served", type="rest", uri=metastore_over_rest)
    catalog.create_table(f"{database}.lake", schema=pa.schema([("id", pa.int64())]))
    add(hive_view_row(database, "v", "x", f"select `lake`.`id` from `{database}`.`lake`", IDS))
    row = everything()["row v"]
    plan = plan_import(catalog, databases=[database], to=served)
    (entry,) = plan.entries
    assert entry.status is PlanStatus.REFUSED and "Not an iceberg view" in entry.problem.text
    # A plan from before the view had its name.
    renamed = replace(entry, status=PlanStatus.READY, problem=None, new_text="x")
    (outcome,) = run_plan(replace(plan, entries=(renamed,)), catalog, journal, to=served).outcomes
    assert outcome.status is ImportStatus.FAILED, outcome
    assert everything()["row v"] == row


def test_catalogs_in_names_of_spark_views_are_left_out(catalog, rest, add, sales, journal):
    parameters = {
        "spark.sql.create.version": "3.5.1",
        "view.catalogAndNamespace.numParts": "2",
        "view.catalogAndNamespace.part.0": "spark_catalog",
        "view.catalogAndNamespace.part.1": sales,
        "view.query.out.numCols": "1",
        "view.query.out.col.0": "id",
    }
    text = f"SELECT id FROM spark_catalog.{sales}.orders"
    add(hive_view_row(sales, "v", text, text, IDS, **parameters))
    rest.create_table(f"{sales}.orders", pa.schema([("id", pa.int64())]))
    (entry,) = plan_import(catalog, databases=[sales], to=rest).entries
    assert (entry.status, entry.problem) == (PlanStatus.READY, None)
    run_plan(plan_import(catalog, databases=[sales], to=rest), catalog, journal, to=rest)
    view = rest.load_view(f"{sales}.v")
    assert "spark_catalog" not in "".join(texts(view).values())
    assert view.current_version().default_catalog is None
    assert view.current_version().summary["hive-views.legacy-original-sql"] == text
