"""RESTRICT drops against definitions over the same object, held at random calls: none leaves a dangling view."""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable

import pytest

from hive_views import HiveViewCatalog
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

    def run(self) -> None:
        try:
            self._change()
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
@pytest.mark.parametrize("mode", ["default", "strict"])
def test_random_interleavings_leave_no_unreported_dangling_view(
    catalog: HiveViewCatalog, open_catalog, metastore, database: str, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Both changes are held, each at a random call, and go on in a random order.

    A source that is dropped before the definition's commit begins is logged, and rejected in strict mode.
    """
    source = random.Random(17)
    catalog.create_table(f"{database}.base", COLUMNS)
    outcomes: Counter[str] = Counter()
    overlapping = 0
    properties = {"hive-views.dependency-mode": "strict"} if mode == "strict" else {}
    with ThriftProxy(metastore.port) as one, ThriftProxy(metastore.port) as other:
        creating, dropping = (open_catalog({"uri": proxy.uri, **properties}) for proxy in (one, other))
        for number in range(ROUNDS):
            catalog.execute(f"CREATE VIEW source_{number} AS SELECT id, total FROM base", database=database)
            text = f"CREATE VIEW top_{number} AS SELECT id FROM source_{number}"
            name = f"{database}.source_{number}"
            create = Change(
                one, source.randint(1, MOST_CALLS), lambda text=text: creating.execute(text, database=database)
            )
            drop = Change(
                other, source.randint(1, MOST_CALLS), lambda name=name: dropping.drop_view(name, restrict=True)
            )
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
            outcomes[f"{type(create.error).__name__} {type(drop.error).__name__}"] += 1
    dangling = {str(edge.view) for edge in catalog.graph(database).broken()}
    print(
        f"{mode}: {ROUNDS} rounds, {overlapping} with both changes at once, {len(dangling)} dangling: {dict(outcomes)}"
    )
    assert not dangling if mode == "strict" else all(f"{view} was defined over" in caplog.text for view in dangling)
    assert overlapping >= ROUNDS // 3
