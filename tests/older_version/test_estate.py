"""An estate of views that the older version made is read and changed by this version, and by the older one after it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.older_version.estate import DATABASES, REQUIRING_HIVE, SHOP, tables, views
from tests.older_version.versions import Worker, WorkerError

Views = dict[str, dict[str, Any]]

REJECTED_CALLS = {"shop.spark_27": "regr_count accepts 2 arguments, not 1"}
"""Views that this version reports as unknown and the older one as valid: Spark rejects them, and why."""

RECOMPILED = {
    "shop.spark_13": (
        "SELECT 10BD, ",
        "SELECT `10` AS `_c0`, `price` AS `price`, `1` AS `_c2`, `a` AS `_c3`",
        "outdated",
    ),
    "shop.spark_17": ("SELECT CAST(", "SELECT `_c0` AS `_c0`, `_c1` AS `_c1`, `double` AS `_c2`, `snow`", "outdated"),
    "shop.trino_16": ("TABLE", "SELECT", "unexpanded"),
    "lib.trino_30": ("table", "SELECT", "unexpanded"),
}
"""Views that RECOMPILE changes only because of the version: how the row's text begins, and begins then, and what
`deps check` reports until then."""

FOR_TRINO = frozenset(
    {
        *(
            "lib.hive_160",
            "lib.hive_164",
            "lib.hive_168",
            "lib.hive_4",
            "lib.spark_306",
            "lib.spark_330",
            "lib.spark_816",
        ),
        *("lib.spark_426", "lib.spark_444", "lib.spark_468", "lib.spark_60", "lib.trino_200", "shop.hive_18"),
        *("shop.hive_2", "shop.hive_4", "shop.spark_2", "shop.spark_25", "shop.spark_32", "shop.spark_4"),
        *("shop.trino_2", "shop.trino_4"),
    }
)
"""Views whose row's text the older version wrote in a form for Trino's reader.

This version does so with the property `hive-views.row-text-for-trino` only. `deps check` reports no problem.
"""

RETYPED = {"shop.hive_20"}
"""Views whose column has another type after RECOMPILE: `1.50BD` is a decimal(2,1) in Hive, a decimal(3,2) in Spark."""

UNREADABLE = {"shop.raw_4": "its spark text cannot be read"}
"""Views that this version reports as unknown and the older one as invalid: neither can read their texts."""


REWORDED = {"shop.raw_1"}
"""Views with an error that has other words now: DialectLossError names the text that would be lost."""

REFUSED_BY_OLDER = ("ParseTextError", "SqlError", "UnknownNameError", "UnknownTypeError")
"""The errors with which the older version may refuse a measured text."""


@pytest.fixture(scope="module")
def names(old: Worker) -> list[str]:
    """The names of the views of the estate, which the older version makes."""
    for call in tables():
        old.call(**call)
    for call in views():
        try:
            old.call(**call)
        except WorkerError as error:
            # Only Spark determines the type of a column of some measured texts; others are read since then.
            if error.kind not in REFUSED_BY_OLDER or not call["name"].startswith("lib."):
                raise
    created = [name for database in DATABASES for name in old.call("list", database=database)]
    assert len(created) >= 300
    return created


def describe(worker: Worker, names: list[str]) -> Views:
    return worker.call("describe", names=names)


def check(worker: Worker) -> dict[str, Any]:
    """Return the problems of each view."""
    return {name: found for database in DATABASES for name, found in worker.call("check", database=database).items()}


def outcome(worker: Worker, operation: str, **arguments: Any) -> Any:
    """Return the result of an operation, or its error as text."""
    try:
        return worker.call(operation, **arguments)
    except WorkerError as error:
        return str(error)


def test_each_view_is_read_as_the_older_version_reads_it(old: Worker, new: Worker, names: list[str]) -> None:
    before = describe(old, names)
    assert describe(new, names) == before
    assert [name for name in names if before[name]["drift"]] == []
    for name in ("part_0", "part_1"):
        marked = old.call("partitions", name=f"{SHOP}.{name}")
        assert len(marked) == 3
        assert new.call("partitions", name=f"{SHOP}.{name}") == marked


def test_each_view_has_the_same_problems(old: Worker, new: Worker, names: list[str]) -> None:
    before, after = check(old), check(new)
    assert before.keys() == after.keys()
    different = {name for name in before if before[name] != after[name]}
    expected = REJECTED_CALLS.keys() | RECOMPILED.keys() | UNREADABLE.keys()
    assert {name: (before[name], after[name]) for name in different - expected} == {}
    assert different == expected
    for name, reason in UNREADABLE.items():
        assert {validity for validity, _ in after[name]} == {"unknown"}
        assert any(reason in text for _, text in after[name])
    for name, reason in REJECTED_CALLS.items():
        [[validity, text]] = after[name]
        assert (before[name], validity, reason in text) == ([], "unknown", True)
    for name, (_, _, validity) in RECOMPILED.items():
        [[now, text]] = after[name]
        assert now == validity
        assert "recompile the view" in text.lower()


def test_changes_of_this_version_are_read_by_the_older_one(old: Worker, new: Worker, names: list[str]) -> None:
    before = describe(old, names)
    for at, name in enumerate(names):
        new.call("set_properties", name=name, properties={"by": "new", "comment": "ünïcode ☃"})
        if at % 4 == 0 and name != REQUIRING_HIVE:
            new.call("replace_summary", name=name, mark="new")
        if (count := len(before[name]["versions"])) > 2:
            new.call("rollback", name=name, version=count - 1)
    # A new definition must fulfil the stricter rules, a change of a property need not.
    assert outcome(new, "replace_summary", name=REQUIRING_HIVE, mark="new").startswith("EngineRequirementError")
    after = describe(new, names)
    assert describe(old, names) == after
    for name, view in before.items():
        now = after[name]
        assert (now["parameters"]["by"], now["drift"]) == ("new", [])
        assert now["columns"] == view["columns"] or len(view["versions"]) > 2
        assert now["versions"][: len(view["versions"])] == view["versions"]
        assert now["history"][: len(view["history"])] == view["history"]


def test_recompile_gives_the_texts_of_the_older_version(old: Worker, new: Worker, names: list[str]) -> None:
    by_old: dict[str, Any] = {}
    by_new: dict[str, Any] = {}
    unchanged = [False, [], [], []]
    validity = check(old)
    # The older version comes first: what it changes differs from the row for other reasons than the version.
    for name in names:
        by_old[name] = outcome(old, "recompile", name=name)
    between = describe(old, names)
    for name in names:
        by_new[name] = outcome(new, "recompile", name=name)
    after = describe(old, names)
    # What this version changes: listed views only, and no column.
    changed = {name for name, result in by_new.items() if isinstance(result, list) and result != unchanged}
    expected = RECOMPILED.keys() | FOR_TRINO | RETYPED
    assert {name: (between[name]["expanded"], after[name]["expanded"]) for name in changed - expected} == {}
    assert changed == expected
    for name, (start, new_start, _) in RECOMPILED.items():
        assert by_new[name] == [True, [], [], []]
        assert between[name]["expanded"].startswith(start)
        assert after[name]["expanded"].startswith(new_start)
    for name in names:
        assert (after[name]["columns"] == between[name]["columns"]) == (name not in RETYPED)
        if name not in changed:
            assert after[name] == between[name]
    # What both refuse is refused for the same reason, and what the older version recompiles, this one does as well.
    errors = {name: result for name, result in by_new.items() if isinstance(result, str)}
    old_errors = {name: result for name, result in by_old.items() if isinstance(result, str)}
    assert errors.keys() - old_errors.keys() == REJECTED_CALLS.keys()
    assert old_errors.keys() - errors.keys() == set()
    reworded = {name: (old_errors[name], errors[name]) for name in old_errors if old_errors[name] != errors[name]}
    assert reworded.keys() == REWORDED
    assert all(before.partition(":")[0] == now.partition(":")[0] for before, now in reworded.values())
    # A recompiled view has no problem for this version; for the older one its text is outdated in turn.
    now, by_old_now = check(new), check(old)
    assert {name for name in names if now[name] and not validity[name]} == REJECTED_CALLS.keys()
    assert [now[name] for name in RECOMPILED] == [[]] * len(RECOMPILED)
    renamed = {"shop.spark_13", "shop.spark_17"}
    assert {name for name in names if by_old_now[name] and not validity[name]} == renamed
    assert [by_old_now[name][0][0] for name in renamed] == ["outdated", "outdated"]
    assert describe(new, names) == after


def test_older_version_changes_what_this_one_wrote(old: Worker, new: Worker, names: list[str]) -> None:
    for at, name in enumerate(names):
        if at % 5 == 0 and name != REQUIRING_HIVE:
            new.call("replace_summary", name=name, mark="newer")
        elif at % 5 == 1:
            new.call("set_properties", name=name, properties={"only": "new"})
    view = f"{SHOP}.by_new"
    new.call("create", name=view, sql="SELECT *, 10BD, CAST('it''s' AS string) AS q FROM orders")
    new.call("replace", name=view, sql="SELECT o.*, c.name FROM orders o JOIN customers c ON o.cust = c.id")
    new.call("create", name=f"{view}_over", sql="SELECT * FROM by_new", dialect="trino")
    assert check(old)[f"{view}_over"] == check(new)[f"{view}_over"] == []
    old.call("recompile", name=f"{view}_over")
    new.call("rename", name=view, new_name=f"{view}_renamed")
    view = f"{view}_renamed"
    before = describe(new, [view])[view]
    assert describe(old, [view])[view] == before
    old.call("rollback", name=view, version=1)
    old.call("set_properties", name=view, properties={"by": "old"})
    old.call("replace", name=view, sql="SELECT id FROM orders")
    old.call("rename", name=view, new_name=f"{SHOP}.by_old")
    [now] = describe(new, [f"{SHOP}.by_old"]).values()
    assert describe(old, [f"{SHOP}.by_old"]) == {f"{SHOP}.by_old": now}
    assert (len(now["versions"]), [entry[1] for entry in now["history"]]) == (3, [1, 2, 1, 3])
    assert now["versions"][:2] == before["versions"]
    for at, name in enumerate(names):
        if at % 5 == 0:
            versions = describe(old, [name])[name]["versions"]
            old.call("rollback", name=name, version=versions[0][0])
        elif at % 5 == 1:
            old.call("set_properties", name=name, properties={"only": "old"})
        elif at % 5 == 2:
            old.call("drop", name=name, purge=at % 2 == 0)
    left = [name for at, name in enumerate(names) if at % 5 != 2]
    assert describe(new, left) == describe(old, left)
    assert set(left) <= {name for database in DATABASES for name in new.call("list", database=database)}
    for at, name in enumerate(names):
        if at % 5 == 2 and at % 2:
            assert outcome(new, "describe", names=[name]).startswith("NoSuchViewError")


def test_settings_that_the_older_version_leaves_in_a_row_are_drift_until_repair(
    old: Worker, new: Worker, names: list[str]
) -> None:
    """The older version leaves the settings of the version before in the row, and plain Spark applies them."""
    view = f"{SHOP}.by_both"
    zones = ("Asia/Tokyo", "Europe/Rome")
    for operation, zone in zip(("create", "replace"), zones, strict=True):
        summary = {"hive-views.conf.spark.sql.session.timeZone": zone, "engine-name": "spark"}
        new.call(operation, name=view, sql=f"SELECT hour(ts) AS h, '{zone}' AS zone FROM kinds", summary=summary)
    assert describe(new, [view])[view]["drift"] == []
    changes = (
        {"operation": "rollback", "version": 1},
        {"operation": "replace", "sql": "SELECT hour(ts) AS h FROM kinds"},
    )
    for change in changes:
        old.call(**change, name=view)
        [drift] = describe(new, [view])[view]["drift"]
        assert "setting spark.sql.session.timeZone" in drift
        [[validity, _]] = check(new)[view]
        assert (validity, check(old)[view]) == ("drifted", [])
        new.call("repair", name=view)
        assert describe(new, [view])[view]["drift"] == []
        assert check(new)[view] == []


def test_older_version_fails_at_names_and_comments_that_only_this_one_stores(
    old: Worker, new: Worker, names: list[str]
) -> None:
    """It reads such views; its errors do not name the version."""
    field, keyword, comment = (f"{SHOP}.only_new_{kind}" for kind in ("field", "keyword", "comment"))
    new.call("create", name=field, sql="SELECT named_struct('my-f', id) AS s FROM orders")
    new.call("create", name=keyword, sql="SELECT values.id FROM orders AS values")
    new.call("create", name=comment, sql="SELECT id FROM orders", column_comments=["x" * 400])
    for name in (field, keyword, comment):
        assert describe(old, [name]) == describe(new, [name])
    assert outcome(old, "recompile", name=field).startswith("UnknownTypeError")
    assert outcome(old, "recompile", name=keyword).startswith("ParseTextError")
    assert outcome(old, "set_properties", name=comment, properties={"by": "old"}).startswith("CommitStateUnknownError")
    new.call("set_properties", name=comment, properties={"by": "new"})
    assert describe(old, [comment])[comment]["parameters"]["by"] == "new"
