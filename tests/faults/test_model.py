"""Random changes by several clients, with faults on random calls, against a simple model that is checked at each step.

Whatever a client is told must be the truth: a success was made, once; an error changed nothing; an unknown outcome is
one of the two. `HIVE_VIEWS_MODEL_EXAMPLES` sets how many random histories are tried.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from hive_views import HiveViewCatalog
from hive_views.errors import CommitFailedError, CommitStateUnknownError, HiveViewsError
from hive_views.metastore._thrift.hive_metastore.ttypes import Database
from hive_views.metastore.process import MetastoreProcess
from hive_views.view import HiveView
from tests.catalog.samples import SCHEMA, version
from tests.faults.observer import Observer, until
from tests.metastore.rpc import connect
from tests.proxy import ANY, Action, CutReply, Delay, DropReply, DropRequest, ThriftProxy

EXAMPLES = int(os.environ.get("HIVE_VIEWS_MODEL_EXAMPLES", "6"))
TIMEOUT_S = 1.0
PROPERTIES = {
    "hive-views.call-timeout-ms": str(int(TIMEOUT_S * 1000)),
    "view-default.version.history.num-entries": "100",
    "view-default.commit.retry.min-wait-ms": "1",
}

NAMES = st.sampled_from(["a", "b", "c"])
PICKS = st.integers(0, 11)
"""Which view: mostly one that is there."""
CLIENTS = st.integers(0, 1)
ACTIONS: list[Action] = [
    DropRequest(),
    DropRequest(reset=True),
    DropReply(),
    DropReply(reset=True),
    CutReply(),
    CutReply(keep=3),
]
SLOW: list[Action] = [Delay(request_s=1.5 * TIMEOUT_S), Delay(reply_s=1.5 * TIMEOUT_S), DropReply(silent=True)]
FAULTS = st.one_of(
    st.none(),
    st.lists(st.tuples(st.integers(1, 9), st.sampled_from(ACTIONS)), min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(1, 9), st.sampled_from(SLOW)), min_size=1, max_size=1),
)
Faults = list[tuple[int, Action]] | None


@dataclass(frozen=True)
class Known:
    """What the model says of one view."""

    identity: str | None
    """Its uuid; None where it is not known yet."""
    texts: tuple[str, ...]
    """Its versions' texts: the first is version 1."""
    log: tuple[int, ...]
    """The versions in the order in which they were made current."""
    color: str | None = None
    """Its property `color`."""

    def with_text(self, text: str) -> Known:
        """After a replace by a text that it never had."""
        return replace(self, texts=(*self.texts, text), log=(*self.log, len(self.texts) + 1))


World = dict[str, Known]


class Machine(RuleBasedStateMachine):
    """Two clients, each behind a proxy of its own, on one database."""

    metastore: MetastoreProcess
    counts: dict[str, int]

    def __init__(self) -> None:
        super().__init__()
        self.open = ExitStack()
        self.world: World = {}
        self.stale: tuple[HiveView, Known, str] | None = None
        self.number = 0

    @initialize()
    def begin(self) -> None:
        self.database = f"model_{uuid.uuid4().hex[:12]}"
        with connect(self.metastore.port) as client:
            location = f"{self.metastore.warehouse}/{self.database}.db"
            client.create_database(Database(name=self.database, locationUri=location))
        self.observer = Observer(self.metastore, self.database)
        self.proxies = [self.open.enter_context(ThriftProxy(self.metastore.port)) for _ in range(2)]
        self.clients = [
            self.open.enter_context(
                HiveViewCatalog("prod", uri=proxy.uri, warehouse=self.metastore.warehouse, **PROPERTIES)
            )
            for proxy in self.proxies
        ]

        for name in ("a", "b"):
            self.clients[0].create_view(self.at(name), SCHEMA, self.made(self.text()))
        self.world = self.seen()

    def teardown(self) -> None:
        self.open.close()
        with connect(self.metastore.port) as client:
            client.drop_database(self.database, True, True)

    # -- Changes ------------------------------------------------------------------------------------------------------

    @rule(client=CLIENTS, name=NAMES, faults=FAULTS)
    def create(self, client: int, name: str, faults: Faults) -> None:
        text = self.text()
        after = None if name in self.world else {**self.world, name: Known(None, (text,), (1,))}
        self.change(client, faults, after, lambda own: own.create_view(self.at(name), SCHEMA, self.made(text)))

    @rule(client=CLIENTS, pick=PICKS, faults=FAULTS)
    def replaced(self, client: int, pick: int, faults: Faults) -> None:
        name = self.pick(pick)
        text = self.text()
        known = self.world.get(name)
        after = {**self.world, name: known.with_text(text)} if known else None
        self.change(client, faults, after, lambda own: own.replace_view(self.at(name), SCHEMA, self.made(text)))

    @rule(client=CLIENTS, pick=PICKS, color=st.sampled_from(["red", "blue"]), faults=FAULTS)
    def colored(self, client: int, pick: int, color: str, faults: Faults) -> None:
        name = self.pick(pick)
        known = self.world.get(name)
        after = {**self.world, name: replace(known, color=color)} if known else None
        new = {"color": color}
        self.change(
            client, faults, after, lambda own: own.load_view(self.at(name)).update().set_properties(new).commit()
        )

    @rule(client=CLIENTS, pick=PICKS, faults=FAULTS)
    def rolled_back(self, client: int, pick: int, faults: Faults) -> None:
        name = self.pick(pick)
        known = self.world.get(name)
        after = None
        if known:
            after = {**self.world, name: known if known.log[-1] == 1 else replace(known, log=(*known.log, 1))}
        self.change(
            client, faults, after, lambda own: own.load_view(self.at(name)).update().rollback(version_id=1).commit()
        )

    @rule(client=CLIENTS, pick=PICKS, new=NAMES, faults=FAULTS)
    def renamed(self, client: int, pick: int, new: str, faults: Faults) -> None:
        name = self.pick(pick)
        after = None
        if name in self.world and (new not in self.world) and new != name:
            after = {(new if key == name else key): known for key, known in self.world.items()}
        elif name == new:
            return
        self.change(client, faults, after, lambda own: own.rename_view(self.at(name), self.at(new)))

    @rule(client=CLIENTS, pick=PICKS, faults=FAULTS)
    def dropped(self, client: int, pick: int, faults: Faults) -> None:
        name = self.pick(pick)
        after = None
        if name in self.world:
            after = {key: known for key, known in self.world.items() if key != name}
        self.change(client, faults, after, lambda own: own.drop_view(self.at(name)))

    @rule(client=CLIENTS, pick=PICKS)
    def remember(self, client: int, pick: int) -> None:
        """Load a view now, to change it later."""
        name = self.pick(pick)
        if name in self.world:
            self.stale = (self.clients[client].load_view(self.at(name)), self.world[name], name)

    @rule(client=CLIENTS, faults=FAULTS)
    def replace_what_was_remembered(self, client: int, faults: Faults) -> None:
        """A definition that was made for one state of a view never replaces another one."""
        if self.stale is None:
            return
        view, known, name = self.stale
        self.stale = None
        text = self.text()
        now = self.world.get(name)
        same = now is not None and (now.identity, now.texts, now.log) == (known.identity, known.texts, known.log)
        after = {**self.world, name: now.with_text(text)} if now is not None and same else None
        own = self.clients.index(next(each for each in self.clients if each._store is view._store))
        self.change(own, faults, after, lambda _: view.update().replace_version(self.made(text)).commit())

    @rule(pick=PICKS)
    def both_at_once(self, pick: int) -> None:
        """Two clients replace one view at the same moment."""
        name = self.pick(pick)
        known = self.world.get(name)
        if known is None:
            return
        texts = [self.text(), self.text()]

        def attempt(number: int) -> bool:
            try:
                self.clients[number].replace_view(self.at(name), SCHEMA, self.made(texts[number]))
            except CommitFailedError:
                return False
            return True

        with ThreadPoolExecutor(2) as pool:
            won = [text for text, done in zip(texts, pool.map(attempt, range(2)), strict=True) if done]
        assert won, "nobody won"
        orders = [won, won[::-1]]
        worlds = []
        for order in orders:
            grown = known
            for text in order:
                grown = grown.with_text(text)
            worlds.append({**self.world, name: grown})
        seen = self.seen()
        assert seen in worlds
        self.world = seen
        self.count("at once")

    # -- What is checked ----------------------------------------------------------------------------------------------

    @invariant()
    def every_client_sees_it(self) -> None:
        if not hasattr(self, "clients"):
            return
        for client in self.clients:
            assert {name for _, name in client.list_views(self.database)} == set(self.world)

    def change(
        self, client: int, faults: Faults, after: World | None, run: Callable[[HiveViewCatalog], object]
    ) -> None:
        """Make a change while calls go wrong, and hold what the client is told against what is there.

        Args:
            client: Who makes it.
            faults: Which of its calls, counted from now on, goes wrong in which way.
            after: The world when it was made; None where it must be refused.
            run: Makes it.
        """
        proxy = self.proxies[client]
        for nth, action in faults or ():
            proxy.on(ANY, action, nth=nth)
        try:
            run(self.clients[client])
            told = "done"
        except CommitStateUnknownError:
            told = "unknown"
        except HiveViewsError as error:
            told = "refused"
            assert faults or after is None, f"refused for no reason: {error}"
        proxy.clear()
        # Requests that were too slow may still be on their way.
        until(lambda: all(call.answered for call in proxy.calls if call.delivered))
        seen = self.seen()
        self.count(told)
        if told == "done":
            assert after is not None, "it should have been refused"
            assert agree(seen, after), f"{seen} is not {after}"
        elif told == "refused":
            assert seen == self.world, f"{seen} is not {self.world}"
        else:
            assert seen == self.world or (after is not None and agree(seen, after))
        self.world = seen

    def seen(self) -> World:
        """What is there, seen with other eyes."""
        world = {}
        for name in self.observer.names():
            view = self.observer.view(name)
            assert view.row["viewExpandedText"] == view.queries[view.log[-1] - 1]
            color = view.properties.get("color")
            world[name] = Known(view.metadata["view-uuid"], tuple(view.queries), tuple(view.log), color)
        return world

    def pick(self, number: int) -> str:
        """The name of a view that is there, for all numbers but the largest."""
        names = sorted(self.world)
        return names[number % len(names)] if names and number < 10 else "abc"[number % 3]

    def at(self, name: str) -> tuple[str, str]:
        return (self.database, name)

    def text(self) -> str:
        """A text that nobody used before."""
        self.number += 1
        return f"select {self.number}, 'x'"

    def made(self, text: str):  # type: ignore[no-untyped-def]
        return version(self.database, ("spark", text))

    def count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1


def agree(seen: World, wanted: World) -> bool:
    """Whether a world is the one that was wanted; a new view may have any uuid."""
    return seen.keys() == wanted.keys() and all(
        seen[name] == replace(known, identity=known.identity or seen[name].identity) for name, known in wanted.items()
    )


def test_what_clients_are_told_is_true(metastore: MetastoreProcess) -> None:
    counts: dict[str, int] = {}
    machine = type("Histories", (Machine,), {"metastore": metastore, "counts": counts})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=12,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            derandomize="HIVE_VIEWS_MODEL_EXAMPLES" not in os.environ,
            print_blob=True,
        ),
    )
    assert counts.get("done", 0) > EXAMPLES
    print(counts)
