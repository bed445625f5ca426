"""Import to another metastore, and the grants on views."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hmsclient import HMSClient
from hmsclient.genthrift.hive_metastore import ttypes as hms

from hive_views import HiveViewCatalog
from hive_views.errors import PlanError
from hive_views.identifiers import ViewName
from hive_views.legacy_import.journal import ImportStatus, RevertStatus
from hive_views.legacy_import.legacy_view import Reason
from hive_views.legacy_import.options import ImportOptions, RenameRule
from hive_views.legacy_import.plan import plan_import, read_plan, write_plan
from hive_views.legacy_import.revert import revert_run
from hive_views.legacy_import.run import dry_run, run_plan
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.metastore._thrift.hive_metastore.ttypes import Database
from tests.integration.catalog.samples import files_below, row_bytes
from tests.integration.cli.conftest import cli
from tests.integration.legacy_import.rows import hive_view_row, table_row
from tests.integration.metastore.rpc import connect

__all__ = ["cli"]

IDS = [("id", "bigint")]


@pytest.fixture
def views(add, sales) -> str:
    """Two views on `orders`, one of which reads the other, and one on `customers`."""
    for name, below in (("old_base", "orders"), ("top", "old_base"), ("people", "customers")):
        kind = [("id", "int")] if below == "customers" else IDS
        text = f"select /* ünï */ `{below}`.`id` from `{sales}`.`{below}`"
        add(hive_view_row(sales, name, f"select /* ünï */ id from {below}", text, kind, team="bi"))
    return sales


@pytest.fixture
def target(short: EmbeddedMetastore, views: str) -> Iterator[HiveViewCatalog]:
    """A catalog on another metastore, where a database of the same name has `orders` and no `customers`."""
    with connect(short.port) as raw:
        raw.create_database(Database(name=views, locationUri=f"{short.warehouse}/{views}.db"))
        raw.create_table(table_row(views, "orders", IDS))
        with HiveViewCatalog("there", uri=short.uri, warehouse=short.warehouse) as opened:
            yield opened
        raw.drop_database(views, True, True)


def below(short: EmbeddedMetastore, target: HiveViewCatalog, database: str) -> dict[str, bytes]:
    """Rows and files of the database in the other metastore."""
    found = {f"file {file}": file.read_bytes() for file in files_below(f"{short.warehouse}/{database}.db")}
    for name in target.store.client.get_all_tables(database):
        found[f"row {name}"] = row_bytes(target, ViewName(database, name))
    return found


def test_import_to_another_metastore_and_revert(catalog, target, short, views, journal, everything):
    here, there = everything(), below(short, target, views)
    options = ImportOptions(renames=(RenameRule.parse("old_*:new_*"),))
    plan = read_plan(write_plan(plan_import(catalog, databases=[views], options=options, to=target)))
    reasons = {entry.name.name: entry.problem and entry.problem.reason for entry in plan.entries}
    # The tables that a view reads must be in the target metastore.
    assert reasons == {"old_base": None, "top": None, "people": Reason.MISSING_TABLE}
    dry_run(plan, catalog, to=target)
    assert (everything(), below(short, target, views)) == (here, there)

    result = run_plan(plan, catalog, journal, to=target)

    assert result.complete
    assert everything() == here
    assert sorted(target.list_views(views)) == [(views, "new_base"), (views, "top")]
    top = target.load_view((views, "top"))
    assert top.expanded_text == f"select /* ünï */ `old_base`.`id` from `{views}`.`new_base` AS `old_base`"
    assert top.metadata.properties["team"] == "bi"
    done = below(short, target, views)
    again = run_plan(plan, catalog, journal, to=target)
    assert {o.status for o in again.outcomes} == {ImportStatus.CONVERTED, ImportStatus.REFUSED}
    assert below(short, target, views) == done

    outcomes = revert_run(catalog, journal, to=target)
    assert {outcome.status for outcome in outcomes} == {RevertStatus.REVERTED}
    assert everything() == here
    assert target.list_views(views) == []
    assert target.store.client.get_all_tables(views) == ["orders"]


def test_command_line_imports_to_another_metastore_and_reverts(cli, target, short, views, everything, tmp_path):
    here, there = everything(), below(short, target, views)
    plan, journal = str(tmp_path / "plan.json"), str(tmp_path / "plan.json.journal")
    uri = ("--to-uri", short.uri, "--to-warehouse", short.warehouse)
    planned = cli("--json", "import", "plan", views, "--rename", "old_*:new_*", *uri, "-o", plan).json
    ends = {view["name"].partition(".")[2]: (view["target"], view["reason"]) for view in planned["views"]}
    assert ends == {
        "old_base": (f"{views}.new_base", None),
        "top": (f"{views}.top", None),
        "people": (f"{views}.people", "missing-table"),
    }
    assert f"{views}.old_base  ready    {views}.new_base" in cli("import", "report", plan).out

    # Without the target the plan is rejected, and not run in place.
    for words in (("run", plan), ("run", plan, "--dry-run"), ("run", plan, "--spark", "local[1]", "--verify", "none")):
        assert cli("--json", "import", *words).error["type"] == "PlanError"
    verified = cli("--json", "import", "run", plan, *uri, "--verify", "rows").error
    assert verified["error"].endswith("views in another metastore cannot be read by the same Spark")
    assert cli("--json", "import", "run", plan, "--dry-run", *uri).json["counts"] == {"refused": 1, "would-convert": 2}
    assert (everything(), below(short, target, views)) == (here, there)

    # The same metastore, named in another way.
    configured = {"PYICEBERG_CATALOG__THERE__URI": short.uri, "PYICEBERG_CATALOG__THERE__WAREHOUSE": short.warehouse}
    done = json.loads(cli("--json", "import", "run", plan, "--to-catalog", "there", **configured).out)
    assert done["counts"] == {"converted": 2, "refused": 1}
    assert everything() == here
    assert sorted(target.list_views(views)) == [(views, "new_base"), (views, "top")]

    # A view here with the name of a copy is not changed.
    assert cli("--json", "import", "revert", "--yes", "--view", f"{views}.top", *uri).error["type"] == "UsageError"
    assert cli("--json", "import", "revert", "--yes", "-j", journal).error["type"] == "PlanError"
    assert cli("--json", "import", "revert", "--yes", "-j", journal, *uri).json["counts"] == {"reverted": 2}
    assert everything() == here
    assert target.store.client.get_all_tables(views) == ["orders"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--to-uri", "thrift://127.0.0.1:1", "--to-catalog", "x"), "exclude each other"),
        (("--to-warehouse", "file:///x"), "needs --to-uri or --to-catalog"),
        (("--to-catalog", "missing"), "has no catalog 'missing'"),
        (("--to-database", "missing"), "Namespace does not exist: missing"),
    ],
)
def test_incomplete_target_is_rejected(cli, database, words, message):
    done = cli("import", "plan", database, *words)
    assert done.code in (2, 3)
    assert message in done.err


def test_plan_is_run_and_reverted_only_for_its_target(catalog, target, short, views, journal, everything):
    there = plan_import(catalog, databases=[views], to=target)
    here = plan_import(catalog, databases=[views])
    before = everything(), below(short, target, views)
    with pytest.raises(PlanError, match="for the metastore thrift://"):
        run_plan(there, catalog, journal)
    with pytest.raises(PlanError, match="the metastore of the legacy views"):
        run_plan(here, catalog, journal, to=target)
    with pytest.raises(PlanError):
        dry_run(there, catalog)
    assert not journal.exists()
    run_plan(there, catalog, journal, to=target)
    with pytest.raises(PlanError):
        revert_run(catalog, journal)
    revert_run(catalog, journal, to=target)
    assert everything() == before[0]


PRINCIPALS = {"USER": hms.PrincipalType.USER, "ROLE": hms.PrincipalType.ROLE}
GRANTS = (("SELECT", "USER", "ann"), ("SELECT", "ROLE", "public"), ("ALL", "USER", "boss"))


def grants(client: HMSClient, database: str, view: str) -> list[tuple[str, str, str, str, int, bool]]:
    """Return the grants on a view as another client reads them."""
    privilege_object = hms.HiveObjectRef(hms.HiveObjectType.TABLE, database, view, None, None)
    return sorted(
        (
            item.grantInfo.privilege,
            next(name for name, kind in PRINCIPALS.items() if kind == item.principalType),
            item.principalName,
            item.grantInfo.grantor,
            item.grantInfo.createTime,
            item.grantInfo.grantOption,
        )
        for who, kind in (("ann", hms.PrincipalType.USER), ("boss", hms.PrincipalType.USER), ("public", 2))
        for item in client.list_privileges(who, kind, privilege_object)
    )


def test_grants_survive_conversion_and_revert(catalog, metastore, views, plan, journal):
    with HMSClient(host="127.0.0.1", port=metastore.port) as client:
        for privilege, kind, who in GRANTS:
            info = hms.PrivilegeGrantInfo(privilege, 1_600_000_000, "root", hms.PrincipalType.USER, privilege == "ALL")
            privilege_object = hms.HiveObjectRef(hms.HiveObjectType.TABLE, views, "top", None, None)
            bag = hms.PrivilegeBag([hms.HiveObjectPrivilege(privilege_object, who, PRINCIPALS[kind], info)])
            assert client.grant_privileges(bag)
        before = grants(client, views, "top")
        assert [(privilege, kind, who) for privilege, kind, who, *_ in before] == sorted(GRANTS)

        assert run_plan(plan(), catalog, journal).complete
        assert catalog.view_exists((views, "top"))
        assert grants(client, views, "top") == before

        assert {outcome.status for outcome in revert_run(catalog, journal)} == {RevertStatus.REVERTED}
        assert grants(client, views, "top") == before
