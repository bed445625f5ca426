"""Rollbacks: only SQL of hive_views is executed, in the order of the changes, and a missing backup is an error."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from hive_views.errors import NotAMetastoreError, UpgradeError
from hive_views.schema_upgrade import detect, plan, render, rollback
from tests.integration.schema_upgrade.conftest import WHOLE, on_servers, once
from tests.integration.schema_upgrade.contents import apply_before_scripts, change, rows_of, select, types_of
from tests.integration.schema_upgrade.databases import Databases, SqlDatabases

FORGED = [
    # (change of the journal, the message of the step that is kept)
    ("UPDATE [HIVE_VIEWS_UPGRADE] SET [UNDO] = 'DROP TABLE SDS' WHERE [STEP] = 'TBLS.OWNER_TYPE'", "is not that of"),
    ("UPDATE [HIVE_VIEWS_UPGRADE] SET [UNDO_CHECK] = NULL WHERE [STEP] = 'TBLS.OWNER_TYPE'", "is not that of"),
    ("UPDATE [HIVE_VIEWS_UPGRADE] SET [UNDO] = 'DROP TABLE DBS' WHERE [STEP] = 'TBLS.TBL_NAME wide'", "is not that of"),
    ("UPDATE [HIVE_VIEWS_UPGRADE] SET [UNDO_CHECK] = '[]' WHERE [STEP] = 'TBLS.TBL_NAME wide'", "no step of"),
    ("UPDATE [HIVE_VIEWS_UPGRADE] SET [STEP] = 'TBLS.TBL_NAME' WHERE [STEP] = 'TBLS.OWNER_TYPE'", "no step of"),
]


@pytest.mark.parametrize("databases", ["mariadb", "postgresql"] if WHOLE else ["mariadb"], indirect=True)
@pytest.mark.parametrize(("sql", "message"), FORGED)
def test_sql_of_the_journal_is_not_executed(databases: SqlDatabases, sql: str, message: str) -> None:
    with databases.open(databases.copy("2.1.0")) as session:
        apply_before_scripts(session, plan(detect(session), "3.0.0"))
        change(session, sql)
        before = [table.name for table in detect(session, rows=False).tables]
        (kept,) = [item for item in rollback(session, schema=True, dry_run=True).kept if message in item]
        report = rollback(session, schema=True)
        assert kept in report.kept
        after = detect(session, rows=False)
        assert after.column("TBLS", "OWNER_TYPE") is None or "wide" not in sql
        assert {"SDS", "DBS"} <= {table.name for table in after.tables}
        assert set(before) - {table.name for table in after.tables} == {"MV_CREATION_METADATA", "MV_TABLES_USED"}


FORGED_BACKUPS = [
    "UPDATE [HIVE_VIEWS_BACKUP] SET [FIELD] = 'OWNER'",
    "UPDATE [HIVE_VIEWS_BACKUP] SET [FIELD] = 'TBL_TYPE` = NULL, `OWNER'",
    "UPDATE [HIVE_VIEWS_BACKUP] SET [TABLE_NAME] = 'DBS'",
    "UPDATE [HIVE_VIEWS_BACKUP] SET [ROW_IDS] = '1 OR 1=1'",
    "UPDATE [HIVE_VIEWS_BACKUP] SET [ROW_IDS] = '1-99999999999'",
]


@pytest.mark.parametrize("databases", ["mariadb", "postgresql"] if WHOLE else ["mariadb"], indirect=True)
@pytest.mark.parametrize("sql", FORGED_BACKUPS)
def test_forged_backup_is_rejected(databases: SqlDatabases, sql: str) -> None:
    with databases.open(databases.copy("0.10.0")) as session:
        apply_before_scripts(session, plan(detect(session)))
        rows = rows_of(session, "TBLS")
        change(session, sql)
        for dry_run in (True, False):
            with pytest.raises(UpgradeError, match="a row that hive_views did not write"):
                rollback(session, dry_run=dry_run)
        assert rows_of(session, "TBLS") == rows


@pytest.mark.parametrize("is_script_first", [True, False])
def test_changes_of_script_and_apply_are_undone_in_reverse_order(databases: Databases, is_script_first: bool) -> None:
    """A table without a type becomes managed, and external by the second upgrade."""
    address = databases.copy("0.10.0")
    with databases.open(address) as session:
        before = rows_of(session, "TBLS")
    for is_script in (is_script_first, not is_script_first):
        with databases.open(address) as session:
            new_plan = plan(detect(session))
            if is_script:
                script = render(new_plan)
            else:
                apply_before_scripts(session, new_plan)
        if is_script:
            databases.run_script(address, script)
        with databases.open(address) as session:
            assert types_of(session)["t"] in ("MANAGED_TABLE", "EXTERNAL_TABLE")
            if is_script is is_script_first:
                change(
                    session,
                    "INSERT INTO [TABLE_PARAMS] ([TBL_ID], [PARAM_KEY], [PARAM_VALUE]) VALUES (1, 'EXTERNAL', 'TRUE')",
                )
    with databases.open(address) as session:
        assert types_of(session)["t"] == "EXTERNAL_TABLE"
        assert rollback(session).changed_since == ()
        assert rows_of(session, "TBLS") == before


def test_dry_run_reports_what_a_rollback_of_two_upgrades_restores(databases: Databases) -> None:
    """A row that the second upgrade changed does not hold the value of the first one until it is restored."""
    with databases.open(databases.copy("0.10.0")) as session:
        apply_before_scripts(session, plan(detect(session)))
        change(
            session, "INSERT INTO [TABLE_PARAMS] ([TBL_ID], [PARAM_KEY], [PARAM_VALUE]) VALUES (1, 'EXTERNAL', 'TRUE')"
        )
        apply_before_scripts(session, plan(detect(session)))
        expected = rollback(session, dry_run=True)
        assert replace(rollback(session), dry_run=True) == expected


@once
def test_rollback_is_repeated_after_tables_were_dropped(databases: Databases) -> None:
    """The backup keeps the rows of dropped tables, also when the column has been dropped."""
    with databases.open(databases.copy("0.5.0")) as session:
        apply_before_scripts(session, plan(detect(session), "4.0.0"))
        (dropped, *_) = [key for key, kind in select(session, "TBLS", ["TBL_ID", "TBL_TYPE"]) if kind is not None]
        for table in ("TABLE_PARAMS", "TBLS"):
            change(session, f"DELETE FROM [{table}] WHERE [TBL_ID] = {dropped}")
        report = rollback(session, schema=True)
        assert (report.changed_since, "TBLS.TBL_TYPE" in report.undone) == ((f"TBL_ID {dropped}: TBL_TYPE",), True)
        kept = {item.split(":")[0]: item.split(": ")[1] for item in report.kept}
        assert "NEXT_LOCK_ID row" in kept and not [reason for reason in kept.values() if "older versions" in reason]
        again = rollback(session, schema=True)
        assert (again.rows, again.changed_since, again.undone) == (0, report.changed_since, ())


def test_changes_of_repeated_scripts_without_times_are_undone(postgresql: SqlDatabases) -> None:
    """Scripts of older versions wrote no times, and their table had no key, so the changes of a row look alike."""
    with postgresql.open(postgresql.copy("0.10.0")) as session:
        before = types_of(session)
        apply_before_scripts(session, plan(detect(session)))
        rollback(session)
        change(session, "ALTER TABLE [HIVE_VIEWS_BACKUP] DROP CONSTRAINT [HIVE_VIEWS_BACKUP_pkey]")
        for old, new in (("NULL", "'MANAGED_TABLE'"), ("'MANAGED_TABLE'", "'EXTERNAL_TABLE'")):
            values = f"'p', 'rows TBL_TYPE', 'TBLS', 'TBL_TYPE', 1, '1', {old}, {new}, ''"
            change(session, f"INSERT INTO [HIVE_VIEWS_BACKUP] VALUES ({values})")
        change(session, "UPDATE [TBLS] SET [TBL_TYPE] = 'EXTERNAL_TABLE' WHERE [TBL_ID] = 1")
        assert rollback(session).changed_since == ()
        assert types_of(session) == before


@once
def test_rollback_without_an_upgrade_is_an_error(databases: Databases) -> None:
    with (
        databases.open(databases.copy("0.10.0")) as session,
        pytest.raises(UpgradeError, match="no upgrade is recorded"),
    ):
        rollback(session)


@once
def test_skipped_step_that_an_interrupted_run_began_is_not_recorded_as_done(databases: Databases) -> None:
    with databases.open(databases.copy("2.1.0")) as session:
        new_plan = plan(detect(session), "3.0.0")
        names = [step.id for step in new_plan.steps]
        apply_before_scripts(session, new_plan, skip=names[1:])
        change(
            session,
            "UPDATE [HIVE_VIEWS_UPGRADE] SET [STATE] = 'begun', [STEP] = 'TBLS.OWNER_TYPE' WHERE [STEP] <> 'version'",
        )
        apply_before_scripts(session, new_plan, skip=["TBLS.OWNER_TYPE"])
        assert ("TBLS.OWNER_TYPE", "begun") in select(session, "HIVE_VIEWS_UPGRADE", ["STEP", "STATE"])


def test_missing_backup_is_an_error(databases: Databases) -> None:
    with databases.open(databases.copy("0.10.0")) as session:
        apply_before_scripts(session, plan(detect(session)))
        change(session, "DROP TABLE [HIVE_VIEWS_BACKUP]")
        with pytest.raises(UpgradeError, match="there is no table HIVE_VIEWS_BACKUP"):
            rollback(session)


@once
def test_unfinished_step_of_an_older_plan_is_settled(databases: Databases) -> None:
    """The step was begun by a plan with another target, and completed by the next plan."""
    with databases.open(databases.copy("2.1.0")) as session:
        older, newer = (plan(detect(session), target) for target in ("3.0.0", "3.1.0"))
        apply_before_scripts(session, replace(older, steps=older.steps[:1]))
        change(
            session,
            "UPDATE [HIVE_VIEWS_UPGRADE] SET [STATE] = 'begun', [STEP] = 'TBLS.OWNER_TYPE' WHERE [STEP] <> 'version'",
        )
        apply_before_scripts(session, plan(detect(session), newer.target))
        assert [item for item in rollback(session, schema=True).kept if "not finished" in item] == []
        assert detect(session, rows=False).column("TBLS", "OWNER_TYPE") is None


@on_servers
def test_second_upgrade_at_the_same_time_is_rejected(databases: SqlDatabases) -> None:
    address = databases.copy("0.10.0")
    messages: list[str] = []
    with databases.open(address) as session, databases.open(address) as other:
        second = plan(detect(other))

        def run_others(_: object) -> None:
            if messages:
                return
            for run in (
                lambda: apply_before_scripts(other, second, while_running=True),
                lambda: rollback(other, while_running=True),
            ):
                with pytest.raises(UpgradeError, match="another upgrade or rollback runs") as caught:
                    run()
                messages.append(str(caught.value))

        apply_before_scripts(session, plan(detect(session)), while_running=True, progress=run_others)
        assert len(messages) == 2
        assert apply_before_scripts(other, plan(detect(other)), while_running=True).done == ()


@once
def test_table_tbls_of_another_program_is_no_metastore(databases: Databases) -> None:
    with databases.open(databases.copy("0.10.0")) as session:
        change(session, "ALTER TABLE [TBLS] DROP COLUMN [SD_ID]")
        for run in (detect, rollback):
            with pytest.raises(NotAMetastoreError, match="TBLS has no column SD_ID"):
                run(session)


@on_servers
def test_view_committed_during_a_rollback_keeps_its_column(databases: SqlDatabases) -> None:
    """Another session has created a view, and commits it while the rollback waits for its lock."""
    address = databases.copy("0.5.0")
    with databases.open(address) as session, databases.open(address) as other:
        new_plan = plan(detect(session))
        # No other step waits for the session before the column is checked.
        others = [step.id for step in new_plan.steps if step.id != "TBLS.VIEW_ORIGINAL_TEXT"]
        apply_before_scripts(session, new_plan, while_running=True, skip=others)
        other.execute(other.dialect.sql("UPDATE [TBLS] SET [VIEW_ORIGINAL_TEXT] = 'SELECT 1' WHERE [TBL_ID] = 10"))
        committing = threading.Timer(2, other.commit)
        committing.start()
        report = rollback(session, schema=True, while_running=True)
        committing.join()
        assert [item.split(":")[0] for item in report.kept if "would be lost" in item] == ["TBLS.VIEW_ORIGINAL_TEXT"]
        assert (10, "SELECT 1") in select(session, "TBLS", ["TBL_ID", "VIEW_ORIGINAL_TEXT"])


@on_servers
def test_columns_of_a_schema_that_hive_upgraded_since_are_kept(databases: SqlDatabases) -> None:
    """Hive 4 writes 0 into WRITE_ID, so all values are the default, but it cannot read a row without the column."""
    with databases.open(databases.copy("3.1.0")) as session:
        apply_before_scripts(session, plan(detect(session), "4.0.0"))
        change(session, "UPDATE [VERSION] SET [SCHEMA_VERSION] = '4.0.0'")
        kept = [item for item in rollback(session, schema=True).kept if "belongs to the schema of Hive" in item]
        assert "TBLS.WRITE_ID" in {item.split(":")[0] for item in kept}
        assert detect(session, rows=False).column("TBLS", "WRITE_ID")
        change(session, "UPDATE [VERSION] SET [SCHEMA_VERSION] = '3.1.0'")
        assert "TBLS.WRITE_ID" in rollback(session, schema=True).undone
