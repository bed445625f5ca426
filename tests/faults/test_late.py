"""Requests delivered after their client timed out (Iceberg #14096) must not undo later changes."""

from __future__ import annotations

import pytest

from hive_views import HiveViewCatalog
from hive_views.errors import CommitStateUnknownError, LockTimeoutError
from tests.faults.conftest import Behind, Scene
from tests.faults.view_changes import (
    ALTER_TABLE,
    DROP,
    DROP_TABLE,
    NEW,
    PROPERTIES,
    RENAME,
    REPLACE,
    SWAPS,
    VIEW,
    VIEW_CHANGES,
    ViewChange,
    same_file,
)
from tests.integration.catalog.samples import SCHEMA, version
from tests.proxy import EVERY, Hold


@pytest.mark.parametrize("change", VIEW_CHANGES, ids=str)
def test_late_request_after_repeated_request_succeeded(change: ViewChange, scene: Scene) -> None:
    late = scene.proxy.on(change.method, Hold(close=True))
    scene.run(change)
    scene.check(change)
    late.release()
    scene.check(change)
    assert len(scene.new_files()) == change.writes_file


@pytest.mark.parametrize("change", SWAPS, ids=str)
def test_late_request_after_later_commits(change: ViewChange, catalog: HiveViewCatalog, scene: Scene) -> None:
    """The scenario of the issue: the retry succeeds, others commit, the first request arrives."""
    late = scene.proxy.on(change.method, Hold(close=True))
    scene.run(change)
    for color in ("green", "black"):
        catalog.load_view((scene.database, VIEW)).update().set_properties(color=color).commit()
    after = scene.view(VIEW)
    late.release()
    assert scene.view(VIEW) == after
    assert after.properties["color"] == "black"


@pytest.mark.parametrize("change", [*SWAPS, RENAME], ids=str)
def test_late_request_after_unknown_outcome(change: ViewChange, scene: Scene) -> None:
    """The late request is applied if the view is unchanged; its metadata file was kept for this case."""
    late = scene.proxy.on(change.method, Hold(close=True))
    scene.proxy.on(change.method, Hold(close=True), nth=EVERY)
    with pytest.raises(CommitStateUnknownError) as raised:
        scene.run(change, **{"hive-views.settle-timeout-ms": "0"})
    assert not scene.is_applied(change)
    files = scene.new_files()
    assert len(files) == change.writes_file
    location = raised.value.metadata_location
    assert same_file(location, files[0]) if files else location is None
    late.release()
    scene.check(change)


def test_late_request_after_unknown_outcome_and_other_commit(catalog: HiveViewCatalog, scene: Scene) -> None:
    holds = [Hold(close=True), Hold(close=True)]
    for nth, hold in enumerate(holds, 1):
        scene.proxy.on(ALTER_TABLE, hold, nth=nth)
    with pytest.raises(CommitStateUnknownError):
        scene.run(REPLACE, **{"hive-views.settle-timeout-ms": "0"})
    PROPERTIES.run(catalog, scene.database)
    scene.check(PROPERTIES)
    for hold in holds:
        hold.release()
    scene.check(PROPERTIES)


def test_late_drop_does_not_drop_recreated_view(catalog: HiveViewCatalog, open_catalog: Behind, scene: Scene) -> None:
    """A drop names no particular view, so the lock protects the name as long as a request may be pending."""
    late = scene.proxy.on(DROP_TABLE, Hold(close=True))
    scene.run(DROP)
    scene.check(DROP)
    impatient = open_catalog({"iceberg.hive.lock-timeout-ms": "300"})
    with pytest.raises(LockTimeoutError):
        impatient.create_view((scene.database, VIEW), SCHEMA, version(scene.database))
    late.release()
    (lock,) = scene.locks()
    # The server does this after its hive.txn.timeout.
    catalog.store.client.unlock(lock.lockid)
    catalog.create_view((scene.database, VIEW), SCHEMA, version(scene.database))
    assert scene.view(VIEW).metadata["view-uuid"] != scene.before.view.metadata["view-uuid"]


def test_late_rename_does_not_move_new_view_of_old_name(catalog: HiveViewCatalog, scene: Scene) -> None:
    late = scene.proxy.on(ALTER_TABLE, Hold(close=True))
    scene.run(RENAME)
    catalog.drop_view((scene.database, NEW))
    catalog.create_view((scene.database, VIEW), SCHEMA, version(scene.database))
    after = scene.view(VIEW)
    late.release()
    assert scene.names() == {VIEW}
    assert scene.view(VIEW) == after
