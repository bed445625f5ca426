"""Hive's scripts come before the steps that they contain: refusals, the whole way, and the way back.

Hive's scripts of 1.2 to 3.1 are run by Hive's own schematool of 3.1.3, or by the client of the database.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from hive_views.errors import RemainingHiveScriptsError
from hive_views.local_metastore.hive_schemas import DatabaseType
from hive_views.local_metastore.jvm import Launch
from hive_views.local_metastore.standalone import Database, StandaloneMetastore
from hive_views.schema_upgrade import Address, ApplyOptions, apply, detect, plan, render, rollback, verify
from hive_views.schema_upgrade.address import PASSWORD_VARIABLE
from hive_views.schema_upgrade.hive_scripts import early_objects
from tests.integration.cli.conftest import invoke
from tests.integration.schema_upgrade.conftest import on_servers
from tests.integration.schema_upgrade.contents import rows_of, schema_of, types_of
from tests.integration.schema_upgrade.databases import Databases, SqlDatabases
from tests.integration.schema_upgrade.servers import PASSWORD
from tests.integration.schema_upgrade.states import CACHE, script
from tests.integration.schema_upgrade.test_metastores import metastore, use_views

TARGET = "3.1.3"
HIVE_NAMES = {"mariadb": "mysql", "postgresql": "postgres", "derby": "derby"}

DERBY_DEFECT = "ERROR 22001: A truncation error was encountered trying to shrink CHAR"
"""Hive's script from 2.3 to 3.0 for Derby sets IS_REWRITE_ENABLED to the current time, which fails if TBLS has rows."""


def environment(address: Address) -> dict[str, str]:
    return {"HIVE_VIEWS_UPGRADE_URL": address.place, "HIVE_VIEWS_UPGRADE_USER": "hive", PASSWORD_VARIABLE: PASSWORD}


def run_scripts(databases: Databases, address: Address, target: str) -> None:
    """Run the scripts of Hive that a plan lists, by the client of the database."""
    with databases.open(address) as session:
        names = [each.name for each in plan(detect(session), target).hive_scripts]
    for name in names:
        printed = databases.run_script(address, script(databases.dialect, name))
        errors = [line for line in re.findall(r"^ERROR \w{5}: .*", printed, re.MULTILINE) if DERBY_DEFECT not in line]
        assert not errors, name


class _UpgradedMetastore(StandaloneMetastore):
    """A metastore that upgrades its database by Hive's schematool when it starts."""

    def _prepare_database(self, launch: Launch) -> None:
        done = self._run_schema_tool(launch, DatabaseType.POSTGRES, "-upgradeSchema")
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]


def upgrade_by_hive(directory: Path, databases: SqlDatabases, address: Address) -> None:
    """Run Hive's scripts: by schematool on PostgreSQL, by the client on MariaDB.

    On MariaDB schematool fails with the JDBC driver of these tests (mysql-connector-j 8.4.0): sqlline cannot print the
    empty column name in `SELECT '…' AS ' '`.
    """
    if databases.server.kind == "mysql":
        run_scripts(databases, address, TARGET)
        return
    database = Database(
        kind=databases.server.kind, port=databases.server.port, name=address.database, user="hive", password=PASSWORD
    )
    with _UpgradedMetastore(directory, version=TARGET, database=database, cache=CACHE):
        pass


def test_apply_refuses_steps_of_remaining_scripts(databases: Databases) -> None:
    with databases.open(databases.copy("1.2.0")) as session:
        before, rows = schema_of(session), rows_of(session, "TBLS")
        new_plan = plan(detect(session), TARGET)
        for dry_run in (True, False):
            with pytest.raises(RemainingHiveScriptsError, match="nothing was changed") as caught:
                apply(session, new_plan, ApplyOptions(dry_run=dry_run))
        assert (schema_of(session), rows_of(session, "TBLS")) == (before, rows)
        assert detect(session, rows=False).own_tables == frozenset()
        refused = dict(caught.value.scripts)
        name = HIVE_NAMES[databases.dialect]
        assert list(refused) == [
            f"upgrade-{versions}.{name}.sql"
            for versions in ("1.2.0-to-2.0.0", "2.1.0-to-2.2.0", "2.3.0-to-3.0.0", "3.0.0-to-3.1.0")
        ]
        assert "HIVE_LOCKS.HL_AGENT_INFO" in refused[f"upgrade-1.2.0-to-2.0.0.{name}.sql"]
        assert f"schematool -dbType {name} -upgradeSchema," in str(caught.value)
        assert [script.name for script in new_plan.hive_scripts if script.conflicts] == list(refused)

        scripted = sorted({step for steps in refused.values() for step in steps})
        assert apply(session, new_plan, ApplyOptions(skip=scripted, dry_run=True)).done
        assert apply(session, plan(detect(session))).done, "views of the version of the schema need no script of Hive"


def test_scripts_run_after_a_plan_for_the_version_of_the_schema(databases: Databases) -> None:
    address = databases.copy("1.2.0")
    with databases.open(address) as session:
        apply(session, plan(detect(session)))
        assert early_objects(detect(session, rows=False)) == ()
    run_scripts(databases, address, "4.0.0")


def test_commands_name_what_runs_first(postgresql: SqlDatabases, tmp_path: Path) -> None:
    address = postgresql.copy("1.2.0")
    plan_file = str(tmp_path / "plan.json")

    planned = invoke("upgrade", "plan", "--target", TARGET, "--output", plan_file, **environment(address))
    assert planned.code == 0
    assert (
        "apply rejects this plan: run Hive's scripts first (schematool -dbType postgres -upgradeSchema" in planned.out
    )
    assert "upgrade-1.2.0-to-2.0.0.postgres.sql (includes AUX_TABLE, " in planned.out
    rendered = invoke("upgrade", "render", "--plan", plan_file, **environment(address))
    assert rendered.out.startswith("-- DO NOT RUN THIS SCRIPT YET")
    for words in (("--plan", plan_file), ("--target", TARGET), ("--target", TARGET, "--dry-run")):
        refused = invoke("upgrade", "apply", *words, "--yes", **environment(address))
        assert refused.code == 1
        assert "schematool -dbType postgres -upgradeSchema" in refused.err
    refused = invoke("upgrade", "apply", "--plan", plan_file, "--yes", "--json", **environment(address))
    assert json.loads(refused.err)["type"] == "RemainingHiveScriptsError"
    assert json.loads(refused.err)["operands"]["scripts"][0][0] == "upgrade-1.2.0-to-2.0.0.postgres.sql"


@on_servers
def test_whole_way_from_1_2_to_views_of_3_1(databases: SqlDatabases, tmp_path: Path) -> None:
    """Schematool, plan, apply, verify, a metastore of 3.1.3 with views, and rollback."""
    address = databases.copy("1.2.0")
    upgrade_by_hive(tmp_path / "schematool", databases, address)
    with databases.open(address) as session:
        assert detect(session).version == "3.1.0"
        old_types, new_plan = types_of(session), plan(detect(session), TARGET)
        assert new_plan.hive_scripts == ()
        assert apply(session, new_plan).done
        assert verify(session, TARGET).complete
    with metastore(tmp_path / "metastore", TARGET, databases, address) as running:
        use_views(running, expect_intact_texts=True)
    with databases.open(address) as session:
        assert verify(session, TARGET).complete
        assert rollback(session, schema=True).rows > 0
        types = types_of(session)
        assert {name: types[name] for name in old_types} == old_types
        assert early_objects(detect(session)) == ()


def test_steps_before_their_scripts_are_reported_and_rolled_back(databases: Databases, tmp_path: Path) -> None:
    """A database that an earlier version of hive_views, or --before-hive-scripts, has changed before Hive's scripts."""
    address = databases.copy("1.2.0")
    with databases.open(address) as session:
        before, rows = schema_of(session), rows_of(session, "TBLS")
        applied = apply(session, plan(detect(session), TARGET), ApplyOptions(before_hive_scripts=True))
        early = {each.step: each.script.split(".")[-2] for each in early_objects(detect(session))}
        assert {"TBLS.IS_REWRITE_ENABLED", "MV_TABLES_USED", "AUX_TABLE"} <= set(early)
        # A column of a table that was created with it is no step.
        assert set(early) - set(applied.done) == {"MV_CREATION_METADATA.MATERIALIZATION_TIME"}
        assert set(early.values()) == {HIVE_NAMES[databases.dialect]}
        (note,) = [note for note in plan(detect(session), TARGET).notes if "exist already" in note]
        assert "hive-views upgrade rollback --schema" in note
        assert apply(session, plan(detect(session))).done == ()

        reverted = rollback(session, schema=True)

        assert set(early) & set(applied.done) <= set(reverted.undone)
        assert early_objects(detect(session)) == ()
        after = schema_of(session)
        kept = {"TBLS.TBL_NAME wide", "TABLE_PARAMS.PARAM_VALUE wide"} if databases.dialect == "derby" else set()
        assert kept or after.tables == before.tables
        assert rows_of(session, "TBLS") == rows or kept
    run_scripts(databases, address, "3.1.0")
    with databases.open(address) as session:
        apply(session, plan(detect(session), TARGET))
        assert verify(session, TARGET).complete


@on_servers
def test_script_fails_after_its_steps(databases: SqlDatabases) -> None:
    """Why `apply` refuses: a script of Hive ends at the first object that exists."""
    address = databases.copy("1.2.0")
    with databases.open(address) as session:
        apply(session, plan(detect(session), TARGET), ApplyOptions(before_hive_scripts=True))
        name = early_objects(detect(session))[0].script
    with pytest.raises(AssertionError, match=r"already exists|Duplicate column"):
        databases.run_script(address, script(databases.dialect, name))


def test_objects_without_a_journal_are_not_rolled_back(postgresql: SqlDatabases) -> None:
    """An interrupted script of Hive leaves such objects, too."""
    address = postgresql.copy("1.2.0")
    postgresql.server.run("ALTER TABLE HIVE_LOCKS ADD COLUMN HL_HEARTBEAT_COUNT integer", address.database)
    result = invoke("upgrade", "detect", **environment(address))
    assert (
        "before its script: HIVE_LOCKS.HL_HEARTBEAT_COUNT exists already, and Hive's upgrade-1.2.0-to-2.0.0"
        in result.out
    )
    assert "restore the backup" in result.out
    document = json.loads(invoke("upgrade", "detect", "--json", **environment(address)).out)
    assert document["early"] == [
        {"step": "HIVE_LOCKS.HL_HEARTBEAT_COUNT", "script": "upgrade-1.2.0-to-2.0.0.postgres.sql"}
    ]


def test_script_of_a_refused_plan_names_the_scripts_of_hive() -> None:
    from hive_views.schema_upgrade import assumed_schema

    for database in ("oracle", "sqlserver"):
        text = render(plan(assumed_schema(database, "1.2.0"), TARGET))
        assert text.startswith("-- DO NOT RUN THIS SCRIPT YET")
        assert "schematool -dbType" in " ".join(text.replace("\n-- ", " ").split())
        assert "DO NOT RUN" not in render(plan(assumed_schema(database, "1.2.0")))
