"""The table of constructs in docs/materialized.md: how a refresh computes the rows after each kind of change."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from hive_views.identifiers import ViewName
from hive_views.materialized.freshness.cache import SnapshotInfo, TableState
from hive_views.materialized.freshness.verdict import Cause, Freshness, RecordedRefresh, StalenessReason, Verdict
from hive_views.materialized.refresh.plan import PlanInput, plan_refresh
from hive_views.materialized.state.refresh_state import RefreshState, SourceKind, SourceState
from hive_views.spec.session_settings import ANSI, TIME_ZONE
from hive_views.sql.analysis.incremental import IncrementalQuery, NotIncrementalError
from hive_views.sql.analysis.references import find_nondeterminism
from hive_views.sql.analysis.with_clauses import without_with

DOCUMENT = Path(__file__).parents[3] / "docs" / "materialized.md"
COLUMNS = {("db", "t"): ("a", "b", "c"), ("db", "u"): ("x", "y")}
SETTINGS = {TIME_ZONE: "UTC", ANSI: "true"}
ROW = re.compile(r"^\| [^|]+ \| `(SELECT|WITH) (.*)` \| ([\w ]+) \| ([\w ]+) \| ([\w ]+) \|$")
CASES = [match.groups() for match in map(ROW.match, DOCUMENT.read_text(encoding="utf-8").splitlines()) if match]
ACTIONS = {"incremental": "incremental", "by keys": "keys", "full": "full"}


def first_action(sql: str, changed: str, operation: str) -> str:
    """The first plan after a snapshot of one table, whose columns and those of the view are all of one type."""
    tables = {}
    for (database, name), columns in COLUMNS.items():
        snapshots = {10: SnapshotInfo(None, "append", 0), 11: SnapshotInfo(10, operation, 0)}
        fields = tuple(NestedField(at, column, LongType()) for at, column in enumerate(columns, start=1))
        snapshot_id = 11 if name == changed else 10
        tables[ViewName(database, name)] = TableState(f"uuid-{name}", snapshot_id, 0, snapshots, {0: fields})
    sources = tuple(
        SourceState(SourceKind.TABLE, name, table.uuid, 10, schema_id=0, definition=table.definition(0))
        for name, table in tables.items()
    )
    recorded = RecordedRefresh(RefreshState(1, sources, 0), settings=SETTINGS)
    reason = StalenessReason(Cause.CHANGED, ViewName("db", changed), "snapshot 10", "snapshot 11")
    query = IncrementalQuery(without_with(sql, "spark"), "spark", "db", COLUMNS)
    width = len(query.tree.selects)
    given = PlanInput(
        recorded,
        Freshness(Verdict.STALE, (reason,)),
        tables,
        query,
        Schema(*(NestedField(at, f"c{at}", LongType()) for at in range(1, width + 1))),
        not find_nondeterminism(sql, "spark"),
        SETTINGS,
        True,
    )

    def no_partitions(*_: object) -> str:
        raise NotIncrementalError("its storage is not partitioned")

    return next(plan_refresh(given, no_partitions)).action


@pytest.mark.parametrize(("word", "rest", "added", "changed", "other"), CASES)
def test_documented_plans(word: str, rest: str, added: str, changed: str, other: str):
    sql = f"{word} {rest}"
    assert first_action(sql, "t", "append") == ACTIONS[added]
    assert first_action(sql, "t", "delete") == ACTIONS[changed]
    if other != "none":
        assert first_action(sql, "u", "overwrite") == ACTIONS[other]


def test_document_has_the_table():
    assert len(CASES) > 25
