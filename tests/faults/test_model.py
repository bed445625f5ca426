"""Random changes by several clients, with random faults, compared with a simple model after each step.

See `tests.faults.model`. `HIVE_VIEWS_MODEL_EXAMPLES` sets the number of random histories (different in each run),
`HIVE_VIEWS_MODEL_SERVER_KILLS` how often the server may be killed in them; see also `test_outages`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from hive_views.catalog.views import HiveView
from hive_views.local_metastore.process import MetastoreProcess
from hive_views.local_metastore.standalone import free_port
from tests.conftest import SERVER, started
from tests.faults.model import LOCK_ONLY, SWAP_ONLY, TIMEOUT_S, Faults, Interrupted, Model, ViewState
from tests.faults.model_worker import Change, Worker
from tests.faults.view_changes import ALTER_TABLE, CREATE_TABLE, DROP_TABLE
from tests.proxy import Action, CutReply, CutRequest, Delay, DropReply, DropRequest, Duplicate

EXAMPLES = int(os.environ.get("HIVE_VIEWS_MODEL_EXAMPLES", "4"))
SERVER_KILLS = int(os.environ.get("HIVE_VIEWS_MODEL_SERVER_KILLS", "0"))

NAMES = st.sampled_from(["a", "b", "c"])
PICKS = st.integers(0, 11)
"""Which view: mostly one that is there."""
CLIENTS = st.integers(0, 3)
CALLS = st.integers(1, 9)
ACTIONS: list[Action] = [
    DropRequest(),
    DropRequest(reset=True),
    CutRequest(),
    DropReply(),
    DropReply(reset=True),
    CutReply(),
    CutReply(keep=3),
    Duplicate(),
]
SLOW: list[Action] = [Delay(request_s=1.5 * TIMEOUT_S), Delay(reply_s=1.5 * TIMEOUT_S), DropReply(silent=True)]
FAST_FAULTS = st.one_of(st.just([]), st.lists(st.tuples(CALLS, st.sampled_from(ACTIONS)), min_size=1, max_size=3))
FAULTS = st.one_of(FAST_FAULTS, st.lists(st.tuples(CALLS, st.sampled_from(SLOW)), min_size=1, max_size=1))
MAKES = st.sampled_from(["create", "create or replace", "register"])
SWAPS = st.sampled_from(["replace", "color", "roll back"])
MOVES = st.sampled_from(["rename", "drop"])
COLORS = st.sampled_from(["red", "blue"])
PAIRS = st.sampled_from(
    [
        (one, other)
        for one in range(4)
        for other in range(one)
        # A lock does not exclude clients that take none, if the server ignores expectations.
        if {one, other} != {LOCK_ONLY, SWAP_ONLY}
    ]
)


class Machine(RuleBasedStateMachine):
    """Random steps of the model."""

    metastore: MetastoreProcess
    worker: Worker
    counts: dict[str, int]

    @initialize()
    def begin(self) -> None:
        self.model = Model(self.metastore, self.worker, self.counts)
        self.model.begin()
        self.stale: tuple[HiveView, ViewState, str, int] | None = None

    def teardown(self) -> None:
        if hasattr(self, "model"):
            self.model.end()

    @rule(client=CLIENTS, kind=MAKES, name=NAMES, faults=FAULTS)
    def made(self, client: int, kind: str, name: str, faults: Faults) -> None:
        self.model.change(client, self.making(kind, name), faults)

    @rule(client=CLIENTS, kind=SWAPS, pick=PICKS, color=COLORS, faults=FAULTS)
    def swapped(self, client: int, kind: str, pick: int, color: str, faults: Faults) -> None:
        self.model.change(client, Change(kind, self.pick(pick), text=self.model.text(), color=color), faults)

    @rule(client=CLIENTS, kind=MOVES, pick=PICKS, new=NAMES, faults=FAULTS)
    def moved(self, client: int, kind: str, pick: int, new: str, faults: Faults) -> None:
        if (kind, self.pick(pick)) != ("rename", new):
            self.model.change(client, Change(kind, self.pick(pick), new=new), faults)

    @rule(client=CLIENTS, pick=PICKS)
    def remember(self, client: int, pick: int) -> None:
        """Load a view to change it later."""
        name = self.pick(pick)
        if name in self.model.expected:
            view = self.model.clients[client].load_view((self.model.database, name))
            self.stale = (view, self.model.expected[name], name, client)

    @precondition(lambda self: self.stale is not None)
    @rule(faults=FAST_FAULTS)
    def replace_what_was_remembered(self, faults: Faults) -> None:
        """A definition derived from one state of a view never replaces another state."""
        assert self.stale is not None
        view, known, name, client = self.stale
        self.stale = None
        text = self.model.text()
        now = self.model.expected.get(name)
        same = now is not None and (now.identity, now.texts, now.log) == (known.identity, known.texts, known.log)
        expected = {**self.model.expected, name: now.with_text(text)} if now is not None and same else None
        new = self.model.definition(text)
        self.model.step(client, expected, faults, lambda: view.update().replace_version(new).commit())

    @rule(pick=PICKS, clients=PAIRS)
    def both_at_once(self, pick: int, clients: tuple[int, int]) -> None:
        name = self.pick(pick)
        if name in self.model.expected:
            self.model.at_once(clients, name)

    @rule(
        kind=st.one_of(MAKES, SWAPS, MOVES),
        pick=PICKS,
        name=NAMES,
        nth=CALLS,
        carried_out=st.booleans(),
        late=st.booleans(),
    )
    def killed(self, kind: str, pick: int, name: str, nth: int, carried_out: bool, late: bool) -> None:
        """Kill a client's process during a change."""
        if kind in ("create", "create or replace", "register"):
            change = self.making(kind, name)
        else:
            change = Change(kind, self.pick(pick), text=self.model.text(), color="red", new=name)
        if (change.kind, change.name) != ("rename", change.new):
            self.model.killed(change, nth, carried_out=carried_out, late=late)

    @precondition(lambda self: self.counts.get("servers killed", 0) < SERVER_KILLS)
    @rule(
        kinds=st.lists(st.one_of(SWAPS, st.just("drop")), min_size=1, max_size=3),
        first=CLIENTS,
        nth=CALLS,
        carried_out=st.booleans(),
    )
    def server_killed(self, kinds: list[str], first: int, nth: int, carried_out: bool) -> None:
        names = zip(kinds, sorted(self.model.expected), strict=False)
        changes = [
            Interrupted((first + number) % 4, self.swap(kind, name), nth, carried_out)
            for number, (kind, name) in enumerate(names)
        ]
        if changes:
            self.model.server_killed(changes)

    @invariant()
    def every_client_sees_it(self) -> None:
        if hasattr(self, "model"):
            self.model.check_lists()

    def swap(self, kind: str, name: str) -> Change:
        """A change of a view under its name."""
        return Change(kind, name, text=self.model.text(), color="blue")

    def making(self, kind: str, name: str) -> Change:
        """A change that creates a view; a registration needs an earlier view."""
        if kind == "register" and not self.model.dropped:
            kind = "create"
        location = next(iter(self.model.dropped), "")
        return Change(kind, name, text=self.model.text(), location=location if kind == "register" else "")

    def pick(self, number: int) -> str:
        """Return the name of an existing view, except for the largest number."""
        names = sorted(self.model.expected)
        return names[number % len(names)] if names and number < 10 else "abc"[number % 3]


@pytest.fixture
def playground(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MetastoreProcess]:
    """The shared metastore, or one that may be killed."""
    if not SERVER_KILLS:
        yield request.getfixturevalue("metastore")
        return
    with started(tmp_path / "metastore", SERVER, port=free_port()) as running:
        yield running


def test_reported_outcomes_match_the_state_under_faults(playground: MetastoreProcess, tmp_path: Path) -> None:
    counts: dict[str, int] = {}
    with Worker(tmp_path) as worker:
        machine = type("Histories", (Machine,), {"metastore": playground, "worker": worker, "counts": counts})
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=EXAMPLES,
                stateful_step_count=12,
                suppress_health_check=list(HealthCheck),
                derandomize="HIVE_VIEWS_MODEL_EXAMPLES" not in os.environ,
                print_blob=True,
            ),
        )
    print(counts)
    assert counts.get("done", 0) > EXAMPLES


def test_killed_clients_leave_consistent_state(metastore: MetastoreProcess, tmp_path: Path) -> None:
    """Kill the client at the request that changes the row: before it arrives, delayed, and after it."""
    with Worker(tmp_path) as worker:
        model = Model(metastore, worker)
        model.begin()
        model.killed(Change("replace", "a", text=model.text()), 1, carried_out=False, method=ALTER_TABLE)
        model.killed(Change("color", "b", color="red"), 1, carried_out=True, method=ALTER_TABLE)
        model.killed(Change("drop", "b"), 1, carried_out=False, late=True, method=DROP_TABLE)
        assert sorted(model.expected) == ["a"]
        location = next(iter(model.dropped))
        model.killed(Change("register", "c", location=location), 1, carried_out=True, method=CREATE_TABLE)
        assert model.expected["c"].color == "red"
        model.check_lists()
        assert model.counts["killed"] == model.counts["locked out"] == 4
        model.end()
