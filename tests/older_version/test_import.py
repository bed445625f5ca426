"""Imports that one version planned and began, and that the other one resumes and reverts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.older_version.conftest import Properties
from tests.older_version.versions import REPOSITORY, Worker, WorkerError, WorkerKilledError

DATABASES = ["sales", "hr", "web"]
COLUMNS = [["id", "bigint"]]
HANDLER = {"storage_handler": "org.apache.hadoop.hive.hbase.HBaseStorageHandler"}


@pytest.fixture(scope="module")
def legacy(old: Worker) -> list[str]:
    """Legacy views of Hive, Trino and Athena over the tables of a corpus."""
    names: list[str] = old.call("warehouse", hive=11, trino=5)
    assert len(names) >= 50
    return names


def killed(tree: Path, properties: Properties, plan: Path, journal: Path, kill_after: int) -> None:
    """Run a plan in a process that kills itself; without locks, which would remain."""
    options = {**properties, "iceberg.engine.hive.lock-enabled": "false"}
    with Worker(tree, options) as worker, pytest.raises(WorkerKilledError):
        worker.call("run", plan=str(plan), journal=str(journal), kill_after=kill_after)


@pytest.mark.parametrize("is_begun_by_old", [True, False], ids=["begun by the older", "begun by this"])
def test_killed_import_is_resumed_and_reverted(
    old: Worker,
    new: Worker,
    old_tree: Path,
    properties: Properties,
    legacy: list[str],
    tmp_path: Path,
    is_begun_by_old: bool,
) -> None:
    first, second = (old, new) if is_begun_by_old else (new, old)
    plan, journal = tmp_path / "plan.json", tmp_path / "journal"
    rows = new.call("rows", names=legacy)
    statuses = first.call("plan", plan=str(plan), databases=DATABASES)
    assert second.call("plan", plan=str(tmp_path / "other.json"), databases=DATABASES) == statuses
    ready = sorted(name for name, status in statuses.items() if status == "ready")
    assert len(ready) >= 40
    killed(old_tree if is_begun_by_old else REPOSITORY, properties, plan, journal, kill_after=len(statuses) // 2)
    outcomes = second.call("run", plan=str(plan), journal=str(journal))
    assert [outcomes[name] for name in ready] == [["converted", None]] * len(ready)
    assert first.call("run", plan=str(plan), journal=str(journal)) == outcomes
    views = first.call("describe", names=ready)
    assert second.call("describe", names=ready) == views
    assert {(len(view["versions"]), view["previous"], str(view["drift"])) for view in views.values()} == {
        (1, None, "[]")
    }
    # The older version takes the settings that this one writes into a row for a change, and leaves the row alone.
    by_old = {name: status for name, (status, _) in old.call("revert", journal=str(journal)).items() if name in ready}
    assert set(by_old.values()) == {"reverted", "refused"}
    by_new = {name: status for name, (status, _) in new.call("revert", journal=str(journal)).items() if name in ready}
    then = {"reverted": "already", "refused": "reverted"}
    assert by_new == {name: then[status] for name, status in by_old.items()}
    assert new.call("rows", names=legacy) == rows
    assert {first.call("revert", journal=str(journal))[name][0] for name in ready} == {"already"}


def test_plan_of_the_older_version_whose_text_would_differ(old: Worker, new: Worker, tmp_path: Path) -> None:
    old.call("create_database", name="literals")
    old.call("hive_view", name="literals.v", text="select 10BD", columns=[["_c0", "decimal(2,0)"]])
    plan, journal = str(tmp_path / "plan.json"), str(tmp_path / "journal")
    assert old.call("plan", plan=plan, databases=["literals"]) == {"literals.v": "ready"}
    [[status, text]] = new.call("run", plan=plan, journal=journal).values()
    assert status == "refused"
    assert "another version of hive_views made the plan" in text
    assert text.endswith("plan again")
    assert new.call("plan", plan=plan, databases=["literals"]) == {"literals.v": "ready"}
    assert new.call("run", plan=plan, journal=f"{journal}2") == {"literals.v": ["converted", None]}
    assert old.call("revert", journal=f"{journal}2")["literals.v"][0] == "refused"
    assert new.call("revert", journal=f"{journal}2")["literals.v"][0] == "reverted"


def test_tables_that_spark_does_not_read(old: Worker, new: Worker, tmp_path: Path) -> None:
    old.call("create_database", name="handlers")
    for name, parameters in (("plain", {}), ("hbase", HANDLER)):
        old.call("hive_table", name=f"handlers.{name}", columns=COLUMNS, partitions=[], parameters=parameters)
        text = f"select `{name}`.`id` from `handlers`.`{name}`"
        old.call("hive_view", name=f"handlers.v_{name}", text=text, columns=COLUMNS)
    plan, journal = str(tmp_path / "plan.json"), str(tmp_path / "journal")
    assert set(old.call("plan", plan=plan, databases=["handlers"]).values()) == {"ready"}
    # This version refuses what the older one planned, and the older one still reads the journal.
    outcomes = new.call("run", plan=plan, journal=journal)
    assert outcomes["handlers.v_plain"] == ["converted", None]
    status, text = outcomes["handlers.v_hbase"]
    assert status == "refused"
    assert text.endswith("plan again")
    assert old.call("revert", journal=journal)["handlers.v_plain"][0] == "refused"
    assert new.call("revert", journal=journal)["handlers.v_plain"][0] == "reverted"
    # A plan with the new reason names its format to the older version, and so does its journal.
    assert new.call("plan", plan=plan, databases=["handlers"]) == {
        "handlers.v_plain": "ready",
        "handlers.v_hbase": "refused",
    }
    with pytest.raises(WorkerError, match=r"PlanError: .*the plan is of format 3; this version reads 2. Plan again"):
        old.call("run", plan=plan, journal=f"{journal}2")
    assert new.call("run", plan=plan, journal=f"{journal}2")["handlers.v_plain"] == ["converted", None]
    with pytest.raises(WorkerError, match=r"JournalError: .*the plan is of format 3; this version reads 2"):
        old.call("revert", journal=f"{journal}2")
    assert new.call("revert", journal=f"{journal}2")["handlers.v_plain"][0] == "reverted"
