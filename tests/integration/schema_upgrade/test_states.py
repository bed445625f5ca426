"""Upgrades and rollbacks of all start states on all databases."""

from __future__ import annotations

import pytest

from hive_views.errors import InvalidPlanError, MetastoreRunningError, PlanChangedError
from hive_views.schema_upgrade import detect, dumps, loads, plan, rollback, verify
from hive_views.schema_upgrade.execution import without_rows
from tests.integration.schema_upgrade.conftest import WHOLE, on_servers, once
from tests.integration.schema_upgrade.contents import apply_before_scripts, change, rows_of, schema_of, select, types_of
from tests.integration.schema_upgrade.databases import Databases
from tests.integration.schema_upgrade.states import MOJIBAKE, OLD, REPAIRED, STATES, samples

VIEW_COLUMNS = ["TBL_TYPE", "VIEW_EXPANDED_TEXT", "VIEW_ORIGINAL_TEXT"]


@pytest.mark.parametrize("state", STATES if WHOLE else ["0.3.0", "0.10.0", "2.3.0"])
def test_start_state_is_upgraded_verified_and_rolled_back(databases: Databases, state: str) -> None:
    with databases.open(databases.copy(state)) as session:
        before = detect(session)
        new_plan = plan(before)
        assert before.version == ("0.5.0" if state == "0.3.0" else state)
        old_types = types_of(session) if before.column("TBLS", "TBL_TYPE") else None
        old_rows = rows_of(session, "TBLS")

        done = apply_before_scripts(session, new_plan)

        after = detect(session)
        rows = samples(old_types is not None)
        assert done.done == tuple(step.id for step in new_plan.steps)
        assert plan(after).steps == ()
        assert types_of(session) == {row.name: row.expected for row in rows}
        assert [doubt.tbl_id for doubt in done.doubts] == [row.tbl_id for row in rows if row.doubtful]
        texts = dict(select(session, "TBLS", ["TBL_NAME", "VIEW_ORIGINAL_TEXT"]))
        assert texts == {row.name: REPAIRED if row.text == MOJIBAKE else row.text for row in rows}

        assert apply_before_scripts(session, plan(detect(session))).done == (), "the second run has no steps"
        report = verify(session)
        assert report.complete
        assert report.views == sum(row.text is not None for row in rows)
        broken = {check.view: check.validity for check in report.broken}
        assert broken == ({"sales.v_gone": "invalid", "sales.v_bad": "unknown"} if old_types else {})

        with pytest.raises(InvalidPlanError, match="no plan 0123 was applied"):
            rollback(session, plan_id="0123")
        reverted = rollback(session, plan_id=new_plan.id, dry_run=True)
        assert reverted.rows > 0
        assert types_of(session) == {row.name: row.expected for row in rows}, "a dry run writes nothing"
        assert rollback(session).rows == reverted.rows
        if old_types is not None:
            assert types_of(session) == old_types
            assert rows_of(session, "TBLS") == old_rows
        else:
            assert set(types_of(session).values()) == {None}
            assert rollback(session, schema=True).undone
            assert rows_of(session, "TBLS") == old_rows
            assert detect(session, rows=False).column("TBLS", "VIEW_ORIGINAL_TEXT") is None
        assert rollback(session).rows == 0, "values are restored once"


@pytest.mark.parametrize("state", ["0.5.0", "1.2.0", "2.3.0"] if WHOLE else ["0.5.0"])
def test_upgrade_to_hive_4_adds_all_requirements(databases: Databases, state: str) -> None:
    with databases.open(databases.copy(state)) as session:
        new_plan = plan(detect(session), "4.0.1")
        assert new_plan.target == "4.0.0"
        assert new_plan.hive_scripts[-1].name.startswith("upgrade-4.0.0-beta-1-to-4.0.0.")

        apply_before_scripts(session, new_plan)

        after = detect(session)
        for table, column in [
            ("TBLS", "IS_REWRITE_ENABLED"),
            ("TBLS", "OWNER_TYPE"),
            ("TBLS", "WRITE_ID"),
            ("MV_CREATION_METADATA", "MATERIALIZATION_TIME"),
            ("MV_TABLES_USED", "INSERTED_COUNT"),
            ("HIVE_LOCKS", "HL_AGENT_INFO"),
            ("NEXT_LOCK_ID", "NL_NEXT"),
            ("MATERIALIZATION_REBUILD_LOCKS", "MRL_TBL_NAME"),
        ]:
            assert after.column(table, column), f"{table}.{column}"
        name = after.column("TBLS", "TBL_NAME")
        assert name is not None and name.length == 256
        counter = after.table("NEXT_LOCK_ID")
        assert counter is not None
        assert select(session, counter.name, [counter.columns[0].name]) == [(1,)]
        assert plan(after, "4.0.1").steps == ()
        undone = rollback(session, schema=True)
        assert {"MV_TABLES_USED", "MV_CREATION_METADATA", "TBLS.OWNER_TYPE"} <= set(undone.undone)
        assert detect(session, rows=False).table("MV_CREATION_METADATA") is None


@once
def test_columns_with_definitions_are_never_dropped(databases: Databases) -> None:
    with databases.open(databases.copy("0.5.0")) as session:
        apply_before_scripts(session, plan(detect(session)))
        text = "SELECT `t`.`a` FROM `sales`.`t`"
        texts = "[VIEW_ORIGINAL_TEXT] = :text, [VIEW_EXPANDED_TEXT] = :text"
        change(session, f"UPDATE [TBLS] SET {texts}, [TBL_TYPE] = 'VIRTUAL_VIEW' WHERE [TBL_ID] = 1", {"text": text})

        reverted = rollback(session, schema=True)

        assert reverted.changed_since == ("TBL_ID 1: TBL_TYPE",)
        kept_columns = [item.split(":")[0] for item in reverted.kept if "would be lost" in item]
        assert kept_columns == ["TBLS.TBL_TYPE", "TBLS.VIEW_EXPANDED_TEXT", "TBLS.VIEW_ORIGINAL_TEXT"], (
            "in reverse order"
        )
        assert (1, text, text, "VIRTUAL_VIEW") in select(
            session, "TBLS", ["TBL_ID", "VIEW_ORIGINAL_TEXT", "VIEW_EXPANDED_TEXT", "TBL_TYPE"]
        )


class _InterruptedError(Exception):
    """Interrupts a rollback."""


def test_rollback_interrupted_at_any_statement_is_resumed(databases: Databases) -> None:
    """The rollback is interrupted after its first statement, then after its second, and so on."""
    with databases.open(databases.copy("0.5.0")) as session:
        before, rows = schema_of(session), rows_of(session, "TBLS")
        apply_before_scripts(session, plan(detect(session), "3.1.0"), batch_size=3)
        for stop in range(1, 100):
            seen = 0

            def stop_at(_: object, stop: int = stop) -> None:
                nonlocal seen
                seen += 1
                if seen == stop:
                    raise _InterruptedError

            try:
                reverted = rollback(session, schema=True, progress=stop_at)
                break
            except _InterruptedError:
                session.rollback()
        assert stop > 4, "several were stopped"
        assert rows_of(session, "TBLS") == rows
        kept = {item.split(":")[0] for item in reverted.kept}
        wider = {"TBLS.TBL_NAME wide", "TABLE_PARAMS.PARAM_VALUE wide"} if databases.dialect == "derby" else set()
        assert kept == {"NEXT_LOCK_ID row"} | wider
        after = schema_of(session)
        assert wider or after.tables == before.tables
        assert [(table.name, [column.name for column in table.columns]) for table in after.tables] == [
            (table.name, [column.name for column in table.columns]) for table in before.tables
        ]


@once
def test_plan_json_survives_round_trip_without_password(databases: Databases) -> None:
    address = databases.copy("0.7.0")
    with databases.open(address) as session:
        new_plan = plan(detect(session), "3.1.3")
    text = dumps(new_plan)
    assert loads(text) == new_plan
    assert address.password.reveal() not in text


@once
def test_dry_run_writes_nothing(databases: Databases) -> None:
    with databases.open(databases.copy("0.5.0")) as session:
        before, rows = schema_of(session), rows_of(session, "TBLS")
        new_plan = plan(detect(session))
        applied = apply_before_scripts(session, new_plan, dry_run=True)
        assert applied.done == tuple(step.id for step in new_plan.steps)
        assert (schema_of(session), rows_of(session, "TBLS")) == (before, rows)
        assert detect(session, rows=False).own_tables == frozenset()


@once
def test_plan_is_rejected_if_schema_changed(databases: Databases) -> None:
    with databases.open(databases.copy("0.5.0")) as session:
        new_plan = plan(detect(session))
        change(session, "ALTER TABLE [TBLS] ADD COLUMN [TBL_TYPE] VARCHAR(128)")
        with pytest.raises(PlanChangedError, match="never started"):
            apply_before_scripts(session, new_plan)
        assert detect(session, rows=False).column("TBLS", "VIEW_ORIGINAL_TEXT") is None


@once
def test_started_plan_is_rejected_if_hive_was_upgraded(databases: Databases) -> None:
    with databases.open(databases.copy("0.12.0")) as session:
        new_plan = plan(detect(session), "2.3.0")
        apply_before_scripts(session, without_rows(new_plan))
        change(session, "UPDATE [VERSION] SET [SCHEMA_VERSION] = '1.2.0'")
        with pytest.raises(PlanChangedError, match=r"version is 1\.2\.0, the plan was made for 0\.12\.0"):
            apply_before_scripts(session, new_plan)


@once
def test_plan_for_another_database_is_rejected(databases: Databases) -> None:
    with databases.open(databases.copy("0.5.0")) as session:
        new_plan = plan(detect(session))
    with databases.open(databases.copy("0.5.0")) as other, pytest.raises(InvalidPlanError, match="was made for"):
        apply_before_scripts(other, new_plan)


@on_servers
def test_running_metastore_blocks_apply_and_rollback(databases: Databases) -> None:
    address = databases.copy("0.5.0")
    with databases.open(address) as metastore, databases.open(address) as session:
        new_plan = plan(detect(session))
        with pytest.raises(MetastoreRunningError, match="1 other session") as caught:
            apply_before_scripts(session, new_plan)
        assert "hive" in caught.value.sessions[0]
        assert detect(session, rows=False).column("TBLS", "TBL_TYPE") is None
        applied = apply_before_scripts(session, new_plan, while_running=True)
        assert "other session" in applied.warnings[0]
        assert types_of(metastore)["t"] == "MANAGED_TABLE"
        with pytest.raises(MetastoreRunningError):
            rollback(session)
        assert rollback(session, while_running=True).rows > 0


@pytest.mark.parametrize("state", [state for state in STATES if state not in OLD] if WHOLE else ["0.12.0"])
def test_row_types_can_be_filled_in_again(databases: Databases, state: str) -> None:
    with databases.open(databases.copy(state)) as session:
        apply_before_scripts(session, plan(detect(session)))
        change(session, "UPDATE [TBLS] SET [TBL_TYPE] = NULL WHERE [TBL_ID] IN (1, 22)")
        new_plan = plan(detect(session))
        assert [step.id for step in new_plan.steps] == ["rows TBL_TYPE"]
        apply_before_scripts(session, new_plan, batch_size=3)
        assert types_of(session)["t"] == "MANAGED_TABLE"
        assert types_of(session)["v_ext"] == "VIRTUAL_VIEW"
        assert [doubt.name for doubt in verify(session, views=False).doubts] == [
            "sales.odd",
            "sales.nothing",
            "sales.typed_external",
        ]
