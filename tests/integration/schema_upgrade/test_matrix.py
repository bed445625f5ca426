"""Upgrades of each start state by each user, and rollbacks to equal dumps; docs/upgrade.md has the table.

Runs of Hive on these states are in test_metastores.py, kills after each statement in test_killed.py.
"""

from __future__ import annotations

import pytest

from hive_views.errors import BlockedStepsError, DatabaseError
from hive_views.schema_upgrade import Address, connect, detect, plan, rollback, verify
from hive_views.schema_upgrade.plan_model import Kind
from tests.integration.schema_upgrade.conftest import WHOLE
from tests.integration.schema_upgrade.contents import apply_before_scripts, schema_of, select
from tests.integration.schema_upgrade.databases import DerbyDatabases, SqlDatabases
from tests.integration.schema_upgrade.states import VARIANTS
from tests.integration.schema_upgrade.test_users import of_user, with_users

TARGET = "4.0.0"
STARTS = {
    "mariadb": ("0.5.0", "1.2.0", "2.3.0", "3.1.0", "4.0.0", *VARIANTS),
    "postgresql": ("0.5.0", "1.2.0", "2.3.0", "3.1.0", "4.0.0", "2.3.0 small"),
}
USERS = {
    # user: why steps would fail, by database; empty if the user can upgrade
    "hv_owner": {"mariadb": "", "postgresql": ""},
    "hv_super": {"mariadb": "", "postgresql": ""},
    "hv_member": {"mariadb": "", "postgresql": ""},
    "hv_other": {"mariadb": "lacks the privilege INDEX", "postgresql": "does not own"},
    "hv_dml": {"mariadb": "lacks the privilege ALTER", "postgresql": "does not own"},
    "hv_reader": {"mariadb": "lacks the privilege UPDATE", "postgresql": "does not own"},
    "hv_none": {"mariadb": "denied", "postgresql": "denied"},
}
CASES = [(kind, start, user) for kind, starts in STARTS.items() for start in starts for user in USERS]
QUICK_CASES = [
    *(("mariadb", "2.3.0 small", user) for user in ("hv_member", "hv_other", "hv_reader")),
    *(("postgresql", "1.2.0", user) for user in ("hv_super", "hv_dml", "hv_none")),
    ("mariadb", "2.3.0 compact", "hv_owner"),
]

REMEDIES = {"2.3.0 compact": "ALTER TABLE TBLS ROW_FORMAT=DYNAMIC; ALTER TABLE TABLE_PARAMS ROW_FORMAT=DYNAMIC"}
"""Statements that unblock the steps of a start state, as its plan says."""

OWN = ("HIVE_VIEWS_UPGRADE", "HIVE_VIEWS_BACKUP")


def dump(databases: SqlDatabases, address: Address) -> list[str]:
    """The lines of a dump without the tables of hive_views, in a fixed order: changed rows move."""
    if databases.dialect == "postgresql":
        options = [f'--exclude-table="{name}"' for name in OWN]
    else:
        options = ["--skip-extended-insert", *(f"--ignore-table={address.database}.{name}" for name in OWN)]
    lines = databases.server.dump(address.database, *options).splitlines()
    return sorted(line.rstrip(",") for line in lines if not line.startswith(("\\restrict", "\\unrestrict")))


@pytest.mark.parametrize(("kind", "start", "user"), CASES if WHOLE else QUICK_CASES)
def test_upgrade_by_user(kind: str, start: str, user: str, request: pytest.FixtureRequest) -> None:
    """Plan, dry run, apply, verify and rollback; users who cannot upgrade change nothing."""
    databases: SqlDatabases = request.getfixturevalue(kind)
    address = with_users(databases, start)
    own = of_user(address, user)
    before = dump(databases, address)
    if reason := USERS[user][kind]:
        with pytest.raises((BlockedStepsError, DatabaseError), match=reason), connect(own) as session:
            apply_before_scripts(session, plan(detect(session), TARGET), dry_run=True, while_running=True)
        with pytest.raises((BlockedStepsError, DatabaseError), match=reason), connect(own) as session:
            apply_before_scripts(session, plan(detect(session), TARGET), while_running=True)
        assert dump(databases, address) == before
        return
    if start in REMEDIES:
        _apply_around_blocked_steps(databases, own, start)
        before = dump(databases, address)
    with connect(own) as session:
        new_plan = plan(detect(session), TARGET)
        assert apply_before_scripts(session, new_plan, dry_run=True).done == tuple(step.id for step in new_plan.steps)
        assert dump(databases, address) == before, "planning and a dry run write nothing"
        apply_before_scripts(session, new_plan)
        assert verify(session, TARGET).lacking == ()
    with connect(of_user(address, "hv_dml" if kind == "mariadb" else "hv_owner")) as metastore:
        for table in (step.table for step in new_plan.steps if step.kind is Kind.CREATE_TABLE):
            assert len(metastore.query(f"SELECT COUNT(*) FROM {metastore.dialect.quote(table)}")) == 1
    with connect(own) as session:
        report = rollback(session, schema=True)
    assert report.changed_since == ()
    assert dump(databases, address) == before


def _apply_around_blocked_steps(databases: SqlDatabases, own: Address, start: str) -> None:
    """Apply what is possible, roll it back, and follow the remedy of the blocked steps."""
    before = dump(databases, own)
    with connect(own) as session:
        new_plan = plan(detect(session), TARGET)
        blocked = [step.id for step in new_plan.steps if step.blocked]
        assert blocked
        with pytest.raises(BlockedStepsError, match="ROW_FORMAT=DYNAMIC"):
            apply_before_scripts(session, new_plan, dry_run=True)
        apply_before_scripts(session, new_plan, skip=blocked)
        assert [step.id for step in verify(session, TARGET).lacking] == blocked
        rollback(session, schema=True)
    assert dump(databases, own) == before
    databases.server.run(REMEDIES[start], own.database)


@pytest.mark.parametrize("start", ["0.5.0", "1.2.0", "2.3.0", "3.1.0", "4.0.0"] if WHOLE else ["0.5.0"])
def test_upgrade_of_derby(derby: DerbyDatabases, start: str) -> None:
    """Derby has one user, who opens the database alone."""
    with derby.open(derby.copy(start)) as session:
        before = schema_of(session)
        names = {table.name: [column.name for column in table.columns] for table in before.tables}
        rows = {table: select(session, table, columns) for table, columns in names.items()}
        new_plan = plan(detect(session), TARGET)
        assert apply_before_scripts(session, new_plan, dry_run=True).done == tuple(step.id for step in new_plan.steps)
        assert schema_of(session) == before
        apply_before_scripts(session, new_plan)
        assert verify(session, TARGET).lacking == ()
        report = rollback(session, schema=True)
        kept = {item.split(" ")[0] for item in report.kept}
        after = schema_of(session)
        for old, new in zip(before.tables, after.tables, strict=True):
            wider = [column.name for column in old.columns if f"{old.name}.{column.name}" in kept]
            assert [column for column in old.columns if column.name not in wider] == [
                column for column in new.columns if column.name not in wider
            ]
            assert (old.name, set(old.indexes)) == (new.name, set(new.indexes))
        assert {table: select(session, table, columns) for table, columns in names.items()} == rows
