"""Concurrent writers on a real metastore: no lost or repeated change, and exactly one winner."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from hive_views import HiveViewCatalog
from hive_views.errors import (
    CommitFailedError,
    CommitStateUnknownError,
    MetastoreRefusedError,
    NoSuchViewError,
    ViewAlreadyExistsError,
)
from hive_views.local_metastore.embedded import EmbeddedMetastore
from tests.faults.conftest import LOCK_FREE, Behind
from tests.faults.observer import Observer
from tests.faults.race_worker import PATIENCE, Contest, compete, query
from tests.integration.catalog.samples import SCHEMA, version

LOCKING = {"iceberg.hive.lock-check-max-wait-ms": "200"}
FIRST = "select 0 as id, 'first' as data"


@pytest.fixture(scope="module")
def metastore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedMetastore]:
    """A metastore whose Derby database detects deadlocks after one second instead of twenty."""
    directory = tmp_path_factory.mktemp("races")
    (directory / "derby.properties").write_text("derby.locks.deadlockTimeout=1\nderby.locks.waitTimeout=10\n")
    with EmbeddedMetastore(directory) as running:
        yield running


@pytest.fixture(params=["with locks", "without locks"])
def rivals(request: pytest.FixtureRequest, open_catalog: Behind) -> HiveViewCatalog:
    """The catalog that all threads share."""
    return open_catalog(LOCK_FREE if request.param == "without locks" else LOCKING)


def at_once(changes: Sequence[Callable[[], object]]) -> list[Future[object]]:
    """Execute changes at the same time, each in its own thread, and return their results."""
    gate = threading.Barrier(len(changes))

    def run(change: Callable[[], object]) -> object:
        gate.wait()
        return change()

    with ThreadPoolExecutor(len(changes)) as pool:
        return [pool.submit(run, change) for change in changes]


def ends(futures: Sequence[Future[object]], rivals: HiveViewCatalog) -> list[type[BaseException] | None]:
    """The kind of error of each, None for a success. Only refusals are expected in a race.

    Without locks of ours the server's own transactions get in each other's way (deadlocks of its database, rows that
    vanish under its hands), and it says so; what it says is as true as any other refusal.
    """
    refusals: tuple[type[Exception], ...] = (CommitFailedError, NoSuchViewError, ViewAlreadyExistsError)
    if not locks(rivals):
        refusals = (*refusals, MetastoreRefusedError, CommitStateUnknownError)
    errors = [future.exception() for future in futures]
    for error in errors:
        if error is not None and not isinstance(error, refusals):
            raise error
    return [None if error is None else type(error) for error in errors]


def check_one_wins(futures: Sequence[Future[object]], rivals: HiveViewCatalog, *refusals: type[BaseException]) -> int:
    """Check that exactly one succeeded and the others were rejected correctly; return its index."""
    kinds = ends(futures, rivals)
    assert kinds.count(None) == 1
    assert set(kinds) <= {None, *refusals, *(() if locks(rivals) else (MetastoreRefusedError, CommitStateUnknownError))}
    return kinds.index(None)


def locks(catalog: HiveViewCatalog) -> bool:
    """Whether the client takes the metastore's lock."""
    return catalog.properties.get("iceberg.engine.hive.lock-enabled") != "false"


def create(catalog: HiveViewCatalog, database: str, name: str = "v") -> None:
    catalog.create_view((database, name), SCHEMA, version(database, ("spark", FIRST)), properties=PATIENCE)
    history = {"version.history.num-entries": "1000"}
    catalog.load_view((database, name)).update().set_properties(history).commit()


def check_contest(observer: Observer, acknowledged: list[list[dict[str, int]]], commits: int) -> None:
    """Check that the view has exactly the acknowledged commits, with their version ids."""
    view = observer.view("v")
    assert all(len(each) == commits for each in acknowledged)
    assert view.commits == 2 + commits * len(acknowledged)
    lines = [(process, each["number"], each["version"]) for process, own in enumerate(acknowledged) for each in own]
    texts = {query(process, number): version_id for process, number, version_id in lines if number % 2 == 0}
    assert view.version_ids == view.log == list(range(1, len(texts) + 2))
    assert {text: number for number, text in enumerate(view.queries, 1)} == {FIRST: 1, **texts}
    expected = {f"p{process}-{number}" for process, number, _ in lines if number % 2}
    assert {key for key in view.properties if key.startswith("p") and "-" in key} == expected
    assert expected <= view.row["parameters"].keys()
    assert len(observer.files()) == view.commits, "a refused commit left its file, or an acknowledged one lost it"
    assert observer.locks() == []


def test_concurrent_threads_lose_no_commit(
    rivals: HiveViewCatalog, database: str, observer: Observer, properties: dict[str, str]
) -> None:
    create(rivals, database)
    settings = {**properties, **{key: str(value) for key, value in rivals.properties.items()}}
    contests = [Contest(settings, database, "v", process, 3, "") for process in range(8)]
    results = at_once([lambda contest=contest: compete(contest) for contest in contests])  # type: ignore[misc]
    check_contest(observer, [future.result() for future in results], 3)  # type: ignore[misc]


@pytest.mark.parametrize("more", [LOCKING, LOCK_FREE], ids=["with locks", "without locks"])
def test_concurrent_processes_lose_no_commit(
    more: dict[str, str],
    catalog: HiveViewCatalog,
    database: str,
    observer: Observer,
    properties: dict[str, str],
    tmp_path: Path,
) -> None:
    create(catalog, database)
    start = tmp_path / "start"
    running = []
    for process in range(4):
        contest = Contest({**properties, **more}, database, "v", process, 4, str(start))
        command = [sys.executable, "-m", "tests.faults.race_worker", contest.dump()]
        running.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    try:
        for each in running:
            assert each.stdout is not None
            assert each.stdout.readline() == "ready\n"
        start.touch()
        acknowledged = [[json.loads(line) for line in each.communicate()[0].splitlines()] for each in running]
    finally:
        for each in running:
            each.kill()
    check_contest(observer, acknowledged, 4)


def test_concurrent_creates(rivals: HiveViewCatalog, database: str, observer: Observer) -> None:
    for name in ("a", "b", "c"):
        files = observer.files()
        results = at_once([lambda name=name: rivals.create_view((database, name), SCHEMA, version(database))] * 8)  # type: ignore[misc]
        check_one_wins(results, rivals, ViewAlreadyExistsError)
        (new,) = observer.files() - files
        assert observer.view(name).pointer.endswith(new.name)
    assert observer.locks() == []


def test_concurrent_registrations(rivals: HiveViewCatalog, database: str, observer: Observer) -> None:
    """Registration of one file under one name: one client wins, and the file stays."""
    view = rivals.create_view((database, "v"), SCHEMA, version(database))
    rivals.drop_view((database, "v"))
    results = at_once([lambda: rivals.register_view((database, "v"), view.metadata_location)] * 6)
    check_one_wins(results, rivals, ViewAlreadyExistsError)
    assert len(observer.files()) == 1
    assert observer.view("v").pointer == view.metadata_location


def test_concurrent_drops(rivals: HiveViewCatalog, database: str, observer: Observer) -> None:
    create(rivals, database)
    results = at_once([lambda: rivals.drop_view((database, "v"))] * 6)
    if locks(rivals):
        check_one_wins(results, rivals, NoSuchViewError)
    else:
        assert None in ends(results, rivals)  # the server confirms the drop to several clients
    assert observer.names() == set()
    assert observer.locks() == []


def test_concurrent_rename_and_replace(rivals: HiveViewCatalog, database: str, observer: Observer) -> None:
    create(rivals, database)
    names = ["v", "w"]
    written = kept = 0
    for number in range(5):
        source, target = names
        texts = version(database, ("spark", query(0, number)))
        renamed, replaced = at_once(
            [
                lambda source=source, target=target: rivals.rename_view((database, source), (database, target)),  # type: ignore[misc]
                lambda source=source, texts=texts: rivals.replace_view((database, source), SCHEMA, texts),  # type: ignore[misc]
            ]
        )
        ended = dict(zip(("renamed", "replaced"), ends([renamed, replaced], rivals), strict=True))
        assert None in ended.values(), "each kept the other from what it wanted"
        written += ended["replaced"] is None
        kept += ended["replaced"] is CommitStateUnknownError  # its file stays, committed or not
        if ended["renamed"] is None:
            names.reverse()
        assert observer.names() == {names[0]}
        view = observer.view(names[0])
        assert (query(0, number) in view.queries) == (ended["replaced"] is None)
        assert view.commits == 2 + written
        assert len(observer.files()) == 2 + written + kept
    assert observer.locks() == []


def test_concurrent_drop_and_replace(rivals: HiveViewCatalog, database: str, observer: Observer) -> None:
    for _ in range(3):
        create(rivals, database)
        before = observer.files()
        dropped, replaced = at_once(
            [
                lambda: rivals.drop_view((database, "v")),
                lambda: rivals.replace_view((database, "v"), SCHEMA, version(database, ("spark", query(0, 1)))),
            ]
        )
        assert observer.names() == ({"v"} if ends([dropped], rivals) != [None] else set())
        (outcome,) = ends([replaced], rivals)
        if outcome is not CommitStateUnknownError:  # an unknown outcome keeps its file, committed or not
            assert len(observer.files() - before) == (outcome is None)
        if observer.names():
            rivals.drop_view((database, "v"))
    assert observer.locks() == []


def test_concurrent_create_or_replace(rivals: HiveViewCatalog, database: str, observer: Observer) -> None:
    """All succeed in any order, and all are in the history."""

    def storm(process: int) -> list[int]:
        version_ids = []
        for number in range(2):
            texts = version(database, ("spark", query(process, number)))
            settings = {**PATIENCE, "version.history.num-entries": "1000"}
            view = rivals.create_or_replace_view((database, "v"), SCHEMA, texts, properties=settings)
            version_ids.append(view.metadata.current_version_id)
        return version_ids

    results = at_once([lambda process=process: storm(process) for process in range(6)])  # type: ignore[misc]
    view = observer.view("v")
    numbers = {
        query(process, number): version_id
        for process, future in enumerate(results)
        for number, version_id in enumerate(future.result())  # type: ignore[arg-type, var-annotated]
    }
    assert {text: number for number, text in enumerate(view.queries, 1)} == numbers
    assert view.log == list(range(1, 13))
    assert len(observer.files()) == view.commits == 12


def test_concurrent_create_or_replace_and_drop(rivals: HiveViewCatalog, database: str, observer: Observer) -> None:
    """In any order the final view is complete; rejected changes leave no files, unknown outcomes keep theirs."""
    done = threading.Event()
    drops = 0
    unknown_outcomes = 0

    def drop() -> None:
        nonlocal drops
        while not done.is_set():
            try:
                rivals.drop_view((database, "v"))
                drops += 1
            except NoSuchViewError:
                continue
            except (CommitFailedError, MetastoreRefusedError, CommitStateUnknownError):
                if locks(rivals):
                    raise  # without locks, the view was replaced between the read and the drop

    def storm(process: int) -> list[str | None]:
        nonlocal unknown_outcomes
        locations: list[str | None] = []
        for number in range(3):
            texts = version(database, ("spark", query(process, number)))
            try:
                view = rivals.create_or_replace_view((database, "v"), SCHEMA, texts, properties=PATIENCE)
                locations.append(view.metadata_location)
            except CommitFailedError:
                locations.append(None)  # dropped and created again in between
            except (MetastoreRefusedError, CommitStateUnknownError):
                if locks(rivals):
                    raise
                unknown_outcomes += 1
        return locations

    dropper = threading.Thread(target=drop)
    dropper.start()
    try:
        results = at_once([lambda process=process: storm(process) for process in range(4)])  # type: ignore[misc]
        locations = [location for future in results for location in future.result() if location]  # type: ignore[attr-defined]
    finally:
        done.set()
        dropper.join()
    assert locations
    assert drops
    files = {path.name for path in observer.files()}
    committed_files = {location.rpartition("/")[2] for location in locations}
    assert committed_files <= files
    assert len(files - committed_files) <= unknown_outcomes
    for name in observer.names():
        assert observer.view(name).pointer in locations
    assert observer.locks() == []


def test_concurrent_renames_to_one_name(rivals: HiveViewCatalog, database: str, observer: Observer) -> None:
    sources = ["a", "b", "c", "d"]
    for source in sources:
        create(rivals, database, source)
    uuids = {source: observer.view(source).metadata["view-uuid"] for source in sources}
    results = at_once(
        [lambda source=source: rivals.rename_view((database, source), (database, "x")) for source in sources]  # type: ignore[misc]
    )
    winner = sources[check_one_wins(results, rivals, ViewAlreadyExistsError)]
    assert observer.names() == {"x", *sources} - {winner}
    for source in sources:
        assert observer.view("x" if source == winner else source).metadata["view-uuid"] == uuids[source]
    assert observer.locks() == []


def test_concurrent_renames_of_one_view(rivals: HiveViewCatalog, database: str, observer: Observer) -> None:
    create(rivals, database)
    targets = ["a", "b", "c", "d"]
    results = at_once(
        [lambda target=target: rivals.rename_view((database, "v"), (database, target)) for target in targets]  # type: ignore[misc]
    )
    winner = targets[check_one_wins(results, rivals, NoSuchViewError, CommitFailedError)]
    assert observer.names() == {winner}
    assert observer.locks() == []
