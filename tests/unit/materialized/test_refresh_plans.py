"""The table of constructs in docs/materialized.md: how a refresh computes the rows after each kind of change."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NoReturn

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import IcebergType, ListType, LongType, MapType, NestedField, StringType
from sqlglot import exp

from hive_views.identifiers import ViewName
from hive_views.materialized.freshness.cache import SnapshotInfo, TableState
from hive_views.materialized.freshness.verdict import Cause, Freshness, RecordedRefresh, StalenessReason, Verdict
from hive_views.materialized.refresh.plan import PlanInput, RefreshPlan, plan_refresh
from hive_views.materialized.state.refresh_state import RefreshState, SourceKind, SourceState
from hive_views.spec.session_settings import ANSI, TIME_ZONE
from hive_views.sql.analysis.incremental import IncrementalQuery, NotIncrementalError
from hive_views.sql.analysis.references import find_nondeterminism
from hive_views.sql.analysis.with_clauses import without_with
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.text.dialects import Dialect

DOCUMENT = Path(__file__).parents[3] / "docs" / "materialized.md"
COLUMNS = {("db", "t"): ("a", "b", "c"), ("db", "u"): ("x", "y")}
SETTINGS = {TIME_ZONE: "UTC", ANSI: "true"}
ROW = re.compile(r"^\| [^|]+ \| `(SELECT|WITH) (.*)` \| ([\w ]+) \| ([\w ]+) \| ([\w ]+) \|$")
CASES = [match.groups() for match in map(ROW.match, DOCUMENT.read_text(encoding="utf-8").splitlines()) if match]
ACTIONS = {"incremental": "incremental", "by keys": "keys", "full": "full"}


def planned(
    sql: str,
    changed: str,
    operation: str,
    last: SnapshotInfo | None = None,
    max_compared_percent: int | None = 20,
    kind: IcebergType | None = None,
    *,
    by_files: bool = False,
) -> list[RefreshPlan]:
    """The plans after a snapshot of one table, whose columns and those of the view are all of one type."""
    kind = kind or LongType()
    tables = {}
    for (database, name), columns in COLUMNS.items():
        first = SnapshotInfo(
            parent=None, operation="append", schema_id=0, has_delete_files=False, rows=1_000_000, changed_rows=1_000_000
        )
        snapshots = {10: first, 11: last or SnapshotInfo(parent=10, operation=operation, schema_id=0)}
        fields = tuple(NestedField(at, column, kind) for at, column in enumerate(columns, start=1))
        snapshot_id = 11 if name == changed else 10
        tables[ViewName(database, name)] = TableState(
            uuid=f"uuid-{name}", snapshot_id=snapshot_id, schema_id=0, snapshots=snapshots, columns={0: fields}
        )
    sources = tuple(
        SourceState(SourceKind.TABLE, name, table.uuid, 10, schema_id=0, definition=table.definition(0))
        for name, table in tables.items()
    )
    recorded = RecordedRefresh(RefreshState(1, sources, 0), settings=SETTINGS)
    reason = StalenessReason(Cause.CHANGED, ViewName("db", changed), "snapshot 10", "snapshot 11")
    query = IncrementalQuery(without_with(parse_query(sql, Dialect.SPARK)), Dialect.SPARK, "db", COLUMNS)
    assert isinstance(query.tree, exp.Query)
    width = len(query.tree.selects)
    given = PlanInput(
        recorded=recorded,
        freshness=Freshness(Verdict.STALE, (reason,)),
        tables=tables,
        leaves=query,
        schema=Schema(*(NestedField(at, f"c{at}", kind) for at in range(1, width + 1))),
        is_repeatable=not find_nondeterminism(parse_query(sql, Dialect.SPARK)),
        settings=SETTINGS,
        can_replace_keys=True,
        can_compare_files=by_files,
        max_compared_percent=max_compared_percent,
    )

    def no_partitions(*_: object) -> NoReturn:
        raise NotIncrementalError("its storage is not partitioned")

    return list(plan_refresh(given, no_partitions))


@pytest.mark.parametrize(("word", "rest", "added", "changed", "other"), CASES)
def test_documented_plans(word: str, rest: str, added: str, changed: str, other: str):
    sql = f"{word} {rest}"
    assert planned(sql, "t", "append")[0].action == ACTIONS[added]
    assert planned(sql, "t", "delete")[0].action == ACTIONS[changed]
    if other != "none":
        assert planned(sql, "u", "overwrite")[0].action == ACTIONS[other]


def overwrite(rows: int | None, changed_rows: int | None, deletes: int | None = None) -> SnapshotInfo:
    return SnapshotInfo(
        parent=10,
        operation="overwrite",
        schema_id=0,
        has_delete_files=deletes is not None,
        rows=rows,
        changed_rows=changed_rows,
        deletes=deletes or 0,
    )


AVERAGES = "SELECT a, avg(b) AS m FROM t GROUP BY a"
JOINED = "SELECT t.a, avg(t.b) AS m FROM t LEFT JOIN u ON t.a = u.x GROUP BY t.a"


@pytest.mark.parametrize(
    ("sql", "last", "percent", "action"),
    [
        (AVERAGES, overwrite(1_000_000, 200_000), 20, "keys"),
        (AVERAGES, overwrite(1_000_000, 200_001), 20, "full"),
        (AVERAGES, overwrite(1_000_000, 200_001), 21, "keys"),
        (AVERAGES, overwrite(1_000_000, 2_000_000), None, "keys"),  # the mode `incremental`
        (AVERAGES, overwrite(1_000, 99_999), 20, "keys"),  # too few to matter
        (AVERAGES, overwrite(1_000_000, 1, deletes=1), 199, "full"),  # compares both states
        (AVERAGES, overwrite(1_000_000, 1, deletes=1), 200, "keys"),
        (AVERAGES, overwrite(None, 2_000_000), 20, "keys"),  # not recorded
        (AVERAGES, overwrite(1_000_000, None), 20, "keys"),
        (JOINED, overwrite(1_000_000, 400_000), 20, "keys"),  # of the rows of both tables
        (JOINED, overwrite(1_000_000, 400_001), 20, "full"),
    ],
)
def test_keys_are_not_searched_if_everything_costs_less(
    sql: str, last: SnapshotInfo, percent: int | None, action: str
) -> None:
    plans = planned(sql, "t", "overwrite", last, percent)
    assert plans[0].action == action
    assert ("row(s) would be compared" in plans[-1].why) == (action == "full")


@pytest.mark.parametrize(
    ("last", "action"),
    [
        (overwrite(1_000_000, 1, deletes=199_999), "keys"),
        (overwrite(1_000_000, 1, deletes=200_000), "full"),
        (overwrite(1_000_000, 200_001, deletes=0), "full"),
        (overwrite(1_000_000, None, deletes=1), "keys"),  # not recorded
        (
            SnapshotInfo(
                parent=10,
                operation="replace",
                schema_id=0,
                has_delete_files=True,
                rows=1_000_000,
                changed_rows=2_000_000,
            ),
            "full",
        ),  # all rows are in other files
    ],
)
def test_only_rows_of_differing_files_count_if_files_are_compared(last: SnapshotInfo, action: str) -> None:
    assert planned(AVERAGES, "t", "overwrite", last, by_files=True)[0].action == action


def test_maps_are_no_keys():
    last = overwrite(1_000_000, 1)
    for kind in (MapType(8, StringType(), 9, LongType()), ListType(7, MapType(8, StringType(), 9, LongType()))):
        [plan] = planned("SELECT a, b FROM t", "t", "overwrite", last, kind=kind)
        assert plan.action == "full" and "without a MAP" in plan.why
    assert planned("SELECT a, b FROM t", "t", "overwrite", last, kind=ListType(7, LongType()))[0].action == "keys"


def test_document_has_the_table():
    assert len(CASES) > 25
