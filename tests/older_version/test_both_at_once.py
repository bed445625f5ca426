"""Two processes of each version commit to the same views at the same time: nothing that was acknowledged is lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.older_version.conftest import Properties
from tests.older_version.versions import REPOSITORY, Worker

COUNTERS = 4
UNLOCKED = {"iceberg.engine.hive.lock-enabled": "false"}


@pytest.fixture(params=[(True, 1000), (False, 200)], ids=["with locks", "without locks"])
def writers(
    request: pytest.FixtureRequest, old_tree: Path, properties: Properties
) -> Iterator[tuple[list[Worker], int, str, bool]]:
    """Two processes of each version, the number of commits, a name for the database, and whether they use locks."""
    has_locks, commits = request.param
    options = properties if has_locks else {**properties, **UNLOCKED}
    with ExitStack() as stack:
        trees = (old_tree, old_tree, REPOSITORY, REPOSITORY)
        yield (
            [stack.enter_context(Worker(tree, options)) for tree in trees],
            commits,
            f"both_{has_locks}".lower(),
            has_locks,
        )


def test_every_acknowledged_commit_is_in_the_history(
    old: Worker, new: Worker, writers: tuple[list[Worker], int, str, bool]
) -> None:
    workers, commits, database, has_locks = writers
    new.call("create_database", name=database)
    counters = [f"{database}.counter_{number}" for number in range(COUNTERS)]
    for name in counters:
        options = {"version.history.num-entries": str(commits)}
        old.call("create", name=name, sql="SELECT 0 AS n", properties=options)
    for name in ("properties", "left"):
        new.call("create", name=f"{database}.{name}", sql="SELECT 1 AS one")
    for number, worker in enumerate(workers):
        worker.start("commits", database=database, writer=f"w{number}", commits=commits // len(workers))
    results = [worker.result() for worker in workers]
    acknowledged: dict[str, list[Any]] = {}
    for result in results:
        for kind, items in result["acknowledged"].items():
            acknowledged.setdefault(kind, []).extend(items)
    assert sum(map(len, acknowledged.values())) == commits
    assert min(result["conflicts"] for result in results) > 0
    names = old.call("list", database=database)
    views = old.call("describe", names=names)
    assert new.call("describe", names=names) == views
    assert [view["drift"] for view in views.values()] == [[]] * len(views)
    # Each number was acknowledged once, and the versions have all of them, in order.
    for name in counters:
        writers_of = sorted((number, key) for counter, number, key in acknowledged["counters"] if counter == name)
        assert [number for number, _ in writers_of] == list(range(1, len(writers_of) + 1))
        texts = [dict(version[2])["spark"] for version in views[name]["versions"]]
        assert texts == ["SELECT 0 AS n", *(f"SELECT {number} AS n, '{key}' AS writer" for number, key in writers_of)]
        assert [entry[1] for entry in views[name]["history"]] == list(range(1, len(writers_of) + 2))
    # Each property is there, on the renamed view as well, which has one name.
    [side] = {name for name in (f"{database}.left", f"{database}.right") if name in names}
    for name, kind in ((f"{database}.properties", "properties"), (side, "renamed")):
        assert {key for key in views[name]["parameters"] if key.startswith("w")} == set(acknowledged[kind])
    if has_locks:  # without locks, two clients that rename it to the same name at once are both told that it has it
        moves = Counter(acknowledged["renames"])
        assert moves[f"{database}.right"] - moves[f"{database}.left"] == int(side.endswith("right"))
    # Each view was created by one writer.
    created = dict(acknowledged["created"])
    assert len(created) == len(acknowledged["created"])
    assert {name: views[name]["parameters"]["writer"] for name in created} == created
    assert {name for name in names if "created_" in name} == created.keys()
