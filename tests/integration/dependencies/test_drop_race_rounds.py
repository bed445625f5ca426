"""Drops against definitions over what they drop, held at random calls: none leaves a dangling view."""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest

from hive_views import HiveViewCatalog
from hive_views.dependencies import DropReport
from hive_views.errors import HiveViewsError
from tests.integration.dependencies.test_graph import COLUMNS
from tests.proxy import ANY, Hold, ThriftProxy

ROUNDS = int(os.environ.get("HIVE_VIEWS_RACE_ROUNDS", "20"))
MOST_CALLS = 20
"""A change makes about as many calls."""


class Change(threading.Thread):
    """A change of a catalog that is held at one of its calls."""

    def __init__(self, proxy: ThriftProxy, nth: int, change: Callable[[], object]) -> None:
        super().__init__()
        proxy.clear()
        self._change = change
        self._hold = proxy.on(ANY, Hold(), nth=nth)
        self.error: HiveViewsError | None = None
        self.result: object = None

    def run(self) -> None:
        try:
            self.result = self._change()
        except HiveViewsError as error:
            self.error = error

    def start_until_held(self, timeout_s: float) -> bool:
        """Start it, and return whether it is held; it may also have finished, or wait for the other's lock."""
        self.start()
        deadline = time.monotonic() + timeout_s
        while self.is_alive() and not self._hold.arrived.is_set() and time.monotonic() < deadline:
            time.sleep(0.005)
        return self._hold.arrived.is_set()

    def release(self) -> None:
        self._hold.released.set()


@pytest.mark.extended
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("behavior", ["restrict", "cascade"])
@pytest.mark.parametrize("mode", ["default", "strict"])
def test_random_interleavings_leave_no_dangling_view(
    catalog: HiveViewCatalog,
    open_catalog,
    metastore,
    database: str,
    hive_table,
    mode: str,
    behavior: str,
) -> None:
    """Both changes are held, each at a random call, and go on in a random order, until `ROUNDS` rounds overlapped.

    The dropped object is an Iceberg or Hive table or a view, below the source or the source itself.
    """
    source = random.Random(17)
    catalog.create_table(f"{database}.base", COLUMNS)
    outcomes: Counter[str] = Counter()
    rounds = overlapping = 0
    reported: set[str] = set()
    properties = {"hive-views.dependency-mode": "strict"} if mode == "strict" else {}
    with ThriftProxy(metastore.port) as one, ThriftProxy(metastore.port) as other:
        creating, dropping = (open_catalog({"uri": proxy.uri, **properties}) for proxy in (one, other))
        while overlapping < ROUNDS and rounds < 4 * ROUNDS:
            rounds += 1
            dropped, read = _sources(catalog, database, hive_table, behavior, rounds, source)
            text = f"CREATE VIEW top_{rounds} AS SELECT id FROM {read}"
            define = partial(creating.execute, text, database=database)
            create = Change(one, source.randint(1, MOST_CALLS), define)
            drop_object = dropping.drop_table if dropped.startswith("table") else dropping.drop_view
            remove = partial(drop_object, f"{database}.{dropped}", behavior=behavior)
            drop = Change(other, source.randint(1, MOST_CALLS), remove)
            order = [create, drop] if source.random() < 0.5 else [drop, create]
            is_first_held = order[0].start_until_held(30)
            order[1].start_until_held(1)
            overlapping += is_first_held and order[1].is_alive()
            for change in source.sample(order, 2):
                change.release()
                time.sleep(source.uniform(0, 0.1))
            for change in order:
                change.join(120)
                assert not change.is_alive()
            if isinstance(drop.result, DropReport):
                reported.update(map(str, drop.result.left_dangling))
            is_removed = not create.error and not catalog.view_exists(f"{database}.top_{rounds}")
            outcomes[f"{type(create.error).__name__}{' removed' * is_removed} {type(drop.error).__name__}"] += 1
    dangling = {str(edge.view) for edge in catalog.dependencies.graph(database).broken()}
    print(
        f"{mode} {behavior}: {rounds} rounds, {overlapping} with both changes at once, "
        f"{len(dangling)} dangling, {len(dangling & reported)} of them in reports: {dict(outcomes)}"
    )
    assert not dangling
    assert overlapping == ROUNDS


def _sources(
    catalog: HiveViewCatalog, database: str, hive_table, behavior: str, number: int, source: random.Random
) -> tuple[str, str]:
    """Create the objects of a round; return the one to drop, and the one that the new view reads."""
    kind = source.random()
    if kind < 0.3:
        catalog.create_table(f"{database}.table_{number}", COLUMNS)
        lowest = f"table_{number}"
    elif kind < 0.6:
        lowest = hive_table(f"table_{number}").rpartition(".")[2]
    else:
        catalog.execute(f"CREATE VIEW view_{number} AS SELECT id, total FROM base", database=database)
        lowest = f"view_{number}"
    if behavior == "restrict":
        return lowest, lowest
    names = [lowest]
    for level in range(2):
        catalog.execute(f"CREATE VIEW over_{number}_{level} AS SELECT id FROM {names[-1]}", database=database)
        names.append(f"over_{number}_{level}")
    return lowest, source.choice(names)
