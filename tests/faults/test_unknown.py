"""Without an answer in time the outcome is reported as unknown, and the error names the new file, which is kept."""

from __future__ import annotations

import pytest

from hive_views import HiveViewCatalog
from hive_views.errors import CommitStateUnknownError
from hive_views.metastore.capabilities import is_cas_verified
from tests.faults.conftest import LOCK_FREE, Scene, WithoutLock
from tests.faults.view_changes import (
    ALTER_TABLE,
    CREATE,
    DROP,
    KINDS,
    NEW,
    READ_ROW,
    RENAME,
    REPLACE,
    SWAPS,
    VIEW,
    VIEW_CHANGES,
    ViewChange,
    same_file,
)
from tests.proxy import EVERY, Action, DropReply, DropRequest, Hold

AT_ONCE = {"hive-views.settle-timeout-ms": "0"}
"""Properties to stop after the second request."""


def check_kept(error: CommitStateUnknownError, change: ViewChange, scene: Scene) -> None:
    """Check that the new file exists and the error names it."""
    files = scene.new_files()
    assert len(files) == change.writes_file
    if files:
        assert same_file(error.metadata_location, files[0])
        assert files[0].removeprefix("file://") in str(error)
    else:
        assert error.metadata_location is None


@pytest.mark.parametrize("change", VIEW_CHANGES, ids=str)
@pytest.mark.parametrize(
    ("action", "done"), [(DropRequest(), False), (DropReply(), True)], ids=["never arrived", "never answered"]
)
def test_unanswered_requests_report_unknown_outcome(
    action: Action, done: bool, change: ViewChange, catalog: HiveViewCatalog, scene: Scene
) -> None:
    faulty = scene.behind(**AT_ONCE)
    scene.proxy.on(change.method, action, nth=EVERY)
    if change is DROP:
        for nth in range(2, 9):
            scene.proxy.on(READ_ROW, DropRequest(), nth=nth)  # otherwise the row would show the outcome
    with pytest.raises(CommitStateUnknownError) as raised:
        change.run(faulty, scene.database)
    assert scene.is_applied(change) is done
    check_kept(raised.value, change, scene)
    assert raised.value.identifier == f"{scene.database}.{NEW if change is CREATE else VIEW}"
    # A late drop cannot be rejected, so the name stays locked; the other operations leave no lock.
    assert len(scene.locks()) == (change is DROP)
    if change is not DROP:
        # As the message advises: load the view, then repeat.
        if not done:
            change.run(catalog, scene.database)
        scene.check(change)


@pytest.mark.parametrize("change", KINDS, ids=str)
def test_metastore_outage_reports_unknown_outcome(change: ViewChange, scene: Scene) -> None:
    """The connection breaks after the request was sent, and the metastore is unreachable beyond the settle time-out."""
    faulty = scene.behind(**AT_ONCE)
    swallowed = scene.proxy.on(change.method, Hold())
    running = scene.aside.submit(change.run, faulty, scene.database)
    swallowed.wait_until_held()
    scene.proxy.refuse()
    scene.proxy.disconnect()
    with pytest.raises(CommitStateUnknownError) as raised:
        running.result()
    assert not scene.is_applied(change)
    check_kept(raised.value, change, scene)


@pytest.mark.parametrize("change", KINDS, ids=str)
def test_metastore_outage_is_survived(change: ViewChange, scene: Scene) -> None:
    swallowed = scene.proxy.on(change.method, Hold())
    running = scene.aside.submit(change.run, scene.behind(), scene.database)
    swallowed.wait_until_held()
    scene.proxy.refuse()
    scene.proxy.disconnect()
    scene.proxy.accept()
    running.result()
    scene.check(change)
    assert len(scene.new_files()) == change.writes_file


@pytest.mark.parametrize("change", [CREATE, *SWAPS, RENAME], ids=str)
def test_rejected_repetition_with_unreadable_row_reports_unknown_outcome(change: ViewChange, scene: Scene) -> None:
    """The second request is rejected, and the row that determines the outcome cannot be read."""
    faulty = scene.behind(**{"hive-views.settle-timeout-ms": "100"})
    reads = {CREATE: 1, RENAME: 3}.get(change, 2)
    scene.proxy.on(change.method, DropReply())
    for nth in range(reads + 1, reads + 30):
        scene.proxy.on(READ_ROW, DropRequest(), nth=nth)
    with pytest.raises(CommitStateUnknownError) as raised:
        change.run(faulty, scene.database)
    assert [call.method for call in scene.proxy.calls if call.method == change.method and call.returned]
    assert scene.is_applied(change)
    check_kept(raised.value, change, scene)
    assert scene.locks() == []


def test_property_change_below_two_commits_reports_unknown_outcome(catalog: HiveViewCatalog, scene: Scene) -> None:
    """A property change leaves no trace in the history, so its outcome cannot be proved."""
    free = scene.behind(**LOCK_FREE)
    assert is_cas_verified(free.store.client, scene.database)
    for action, happened in ((DropReply(), True), (DropRequest(), False)):
        lost = scene.proxy.on(ALTER_TABLE, action)
        update = free.load_view((scene.database, VIEW)).update().set_properties(mine=str(happened))
        with scene.proxy.in_flight(ALTER_TABLE, update.commit, nth=2) as running:
            assert [call.delivered for call in scene.proxy.calls if call.action == lost] == [happened]
            for color in ("green", "black"):
                catalog.load_view((scene.database, VIEW)).update().set_properties(color=color).commit()
        with pytest.raises(CommitStateUnknownError) as raised:
            running.result()
        assert "was changed several times" in str(raised.value)
        assert (scene.view(VIEW).properties.get("mine") == str(happened)) is happened
        scene.proxy.clear()


@pytest.mark.parametrize("change", [REPLACE, CREATE, RENAME], ids=str)
def test_lost_lock_with_undetermined_cas_support_reports_unknown_outcome(
    change: ViewChange, without_lock: WithoutLock, scene: Scene
) -> None:
    """The change was applied, and the probe of the server's methods fails: the file must be kept."""
    for method in ("alter_table_req", "get_catalogs"):
        scene.proxy.on(method, DropRequest(), nth=EVERY)
    held, running = without_lock(change)
    held.release()
    with pytest.raises(CommitStateUnknownError, match="the lock was lost") as raised:
        running.result()
    scene.check(change)
    check_kept(raised.value, change, scene)
