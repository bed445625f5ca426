"""Late and duplicated requests of operations of several steps: what they do after the operation and what follows it.

HIVE_VIEWS_WHOLE_FAULTS=1 tries each request that changes rows with both faults, otherwise the last one with one fault.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from hive_views import HiveViewCatalog
from hive_views.errors import CommitStateUnknownError, HiveViewsError, LockTimeoutError
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.metastore.rows.row import HIVE_UUID
from tests.faults.database_content import Labels
from tests.faults.fault_matrix import Stage
from tests.faults.multi_step import IMPORT_OPERATIONS, MULTI_STEP_OPERATIONS, revert
from tests.faults.operations import CHANGES, Operation, World
from tests.faults.reporting import ALL_CASES
from tests.faults.view_changes import ALTER_TABLE, CREATE_TABLE, DROP_TABLE
from tests.proxy import ANY, Action, Duplicate, Hold, ThriftProxy

OPERATIONS = {operation.name: operation for operation in (*MULTI_STEP_OPERATIONS, *IMPORT_OPERATIONS)}

TWICE = [
    (name, fault)
    for number, name in enumerate(OPERATIONS)
    for fault in (Duplicate, Hold)
    if ALL_CASES or number % 2 == (fault is Hold)
]
"""The operations and faults of a request that arrives twice."""

Step = Callable[[HiveViewCatalog, World], object]


def changes(stage: Stage, operation: Operation) -> list[int]:
    """The indexes of the requests of an operation that change rows."""
    found = [index for index, method in enumerate(stage.recorded(operation).methods) if method in CHANGES]
    return found if ALL_CASES else found[-1:]


def apply(proxy: ThriftProxy, action: Action, index: int) -> None:
    """Apply an action to a request of the operation that begins."""
    proxy.clear()
    proxy.on(ANY, action, nth=index + 1)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("name", "fault"), TWICE)
def test_request_that_arrives_twice(
    name: str, fault: type[Duplicate | Hold], stage: Stage, subtests: pytest.Subtests
) -> None:
    operation = OPERATIONS[name]
    after = stage.recorded(operation).after
    for index in changes(stage, operation):
        with (
            subtests.test(f"{index} {stage.recorded(operation).methods[index]}"),
            stage.world(operation) as world,
            stage.proxy() as proxy,
        ):
            before = operation.read(world, Labels())
            action = Hold(close=True) if fault is Hold else Duplicate()
            error = None
            with stage.catalog(proxy) as catalog:
                try:
                    operation.run(catalog, world, partial(apply, proxy, action, index))
                except HiveViewsError as failure:
                    error = failure
            if isinstance(action, Hold):
                action.release()
            world.observer.expire_locks()
            now = operation.read(world, Labels())
            if error is None:
                assert now == after
            for item in before.keys() | after.keys() | now.keys():
                assert now.get(item) in (before.get(item), after.get(item)), (item, error)
            operation.continue_with(world.direct, world)
            assert operation.read(world, Labels()) == after


def _drop(catalog: HiveViewCatalog, world: World) -> object:
    return catalog.materialized.load((world.database, "mv")).drop()


def _run(name: str) -> Step:
    return lambda catalog, world: OPERATIONS[name].run(catalog, world, lambda: None)


def _prepared(name: str) -> Step:
    return lambda catalog, world: OPERATIONS[name].prepare(world)


INVERSES: dict[str, Step] = {
    **{f"mv create, {layout}": _drop for layout in ("registered", "attached", "table")},
    **{f"mv drop, {layout}": _run(f"mv create, {layout}") for layout in ("registered", "attached", "table")},
    **{f"mv plain, {layout}": _run(f"mv back, {layout}") for layout in ("registered", "attached")},
    **{f"mv back, {layout}": _run(f"mv plain, {layout}") for layout in ("registered", "attached")},
    "cascade": _prepared("cascade"),
    "purging cascade": _prepared("cascade"),
    "purge": _prepared("purge"),
    "import": revert,
}


def rows(world: World) -> dict[str, Any]:
    """The rows, without the UUIDs that lineage gives to Hive tables."""
    found = {name: world.observer.row(name) for name in world.observer.names()}
    for row in found.values():
        if row is not None:
            row["parameters"].pop(HIVE_UUID, None)
    return found


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", INVERSES)
def test_late_request_after_inverse_operation(
    name: str, stage: Stage, metastore: EmbeddedMetastore, subtests: pytest.Subtests
) -> None:
    """A late request changes nothing, except for what docs/servers.md lists, and that can be corrected."""
    operation = OPERATIONS[name]
    for index in changes(stage, operation):
        method = stage.recorded(operation).methods[index]
        with (
            subtests.test(f"{index} {method}"),
            stage.world(operation) as world,
            stage.proxy() as proxy,
        ):
            late = Hold(close=True)
            with stage.catalog(proxy) as catalog:
                try:
                    operation.run(catalog, world, partial(apply, proxy, late, index))
                except CommitStateUnknownError:
                    # Of a table, whose changes are not repeated.
                    operation.continue_with(world.direct, world)
            impatient = {"uri": metastore.uri, "warehouse": metastore.warehouse, "iceberg.hive.lock-timeout-ms": "500"}
            # The lock protects a name as long as a request for it may arrive.
            with HiveViewCatalog("prod", **impatient) as catalog, suppress(LockTimeoutError):
                INVERSES[name](catalog, replace(world, direct=catalog))
            expected = rows(world)
            late.release()
            world.observer.expire_locks()
            for item in rows(world).keys() - expected.keys():
                assert method == CREATE_TABLE, item
                world.direct.store.client.drop_table(world.database, item)
            for item in expected.keys() - rows(world).keys():
                assert method == DROP_TABLE and expected[item]["parameters"]["table_type"] == "ICEBERG", item
                location = expected[item]["parameters"]["metadata_location"]
                world.direct.register_table((world.database, item), location)
                expected[item] = rows(world)[item]
            if name == "import" and rows(world) != expected:
                assert method == ALTER_TABLE
                revert(world.direct, world, force=True)
            assert rows(world) == expected
