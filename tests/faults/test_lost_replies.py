"""A lost request or reply with a reachable metastore: every change succeeds exactly once."""

from __future__ import annotations

import pytest

from hive_views.errors import CommitStateUnknownError
from hive_views.metastore._thrift.hive_metastore.ttypes import MetaException
from hive_views.metastore.capabilities import is_cas_verified
from tests.faults.conftest import LOCK_FREE, Scene
from tests.faults.scripted import Answer, ScriptedServer
from tests.faults.view_changes import (
    CREATE,
    CREATE_TABLE,
    DROP,
    KINDS,
    NEW,
    READ_ROW,
    RENAME,
    REPLACE,
    VIEW,
    VIEW_CHANGES,
    ViewChange,
)
from tests.proxy import Action, BlackHole, CutReply, DropReply, DropRequest, Duplicate

CALL_TIMEOUT = {"hive-views.call-timeout-ms": "1500"}
"""The time-out of calls that must run into it; long enough for answers of a busy metastore."""

BROKEN: dict[str, Action] = {
    "request lost": DropRequest(),
    "reply lost": DropReply(),
    "reply cut in half": CutReply(),
    "request reset": DropRequest(reset=True),
    "reply reset": DropReply(reset=True),
    "reply cut after three bytes": CutReply(keep=3),
}
SILENT: dict[str, Action] = {"request swallowed": BlackHole(), "reply swallowed": DropReply(silent=True)}

# The number of requests; `test_fault_matrix` covers the other operations.
CASES = [
    *((REPLACE, fault) for fault in (*BROKEN, *SILENT)),
    *((change, fault) for change in (CREATE, RENAME, DROP) for fault in list(BROKEN)[:2]),
]


@pytest.mark.parametrize(("change", "fault"), CASES, ids=str)
def test_lost_reply_is_settled_after_one_fault(change: ViewChange, fault: str, scene: Scene) -> None:
    faulty = scene.behind(**(CALL_TIMEOUT if fault in SILENT else {}))
    action = {**BROKEN, **SILENT}[fault]
    scene.proxy.on(change.method, action)
    change.run(faulty, scene.database)
    scene.check(change)
    assert len(scene.new_files()) == change.writes_file
    sent = [call for call in scene.proxy.calls if call.method == change.method]
    assert [call.action for call in sent[:1]] == [action]
    # A drop cannot say what it expects, so it is not sent again where the row is gone; and as long as its first
    # request may still come, the name stays locked.
    assert len(sent) == (1 if change is DROP and sent[0].delivered else 2)
    kept = change is DROP and not sent[0].delivered
    assert len(scene.locks()) == kept


@pytest.mark.parametrize("change", KINDS, ids=str)
def test_lost_reply_is_settled_after_several_faults(change: ViewChange, scene: Scene) -> None:
    """The request, the reply and the request again are lost, and each read of the row fails once."""
    faulty = scene.behind()
    scene.proxy.on(change.method, DropRequest())
    scene.proxy.on(change.method, DropReply(), nth=2)
    scene.proxy.on(change.method, DropRequest(), nth=3)
    for nth in (1, 3, 5, 7):
        scene.proxy.on("get_table_req", DropReply(), nth=nth)
    change.run(faulty, scene.database)
    scene.check(change)
    assert len(scene.new_files()) == change.writes_file


@pytest.mark.parametrize("method", ["lock", "unlock", "get_table_req", "show_locks"])
@pytest.mark.parametrize("action", [DropRequest(), DropReply(), Duplicate()], ids=["request", "reply", "twice"])
def test_faults_of_reads_and_locks_around_the_request(method: str, action: Action, scene: Scene) -> None:
    faulty = scene.behind()
    scene.proxy.on(method, action)
    if method == "show_locks":
        scene.proxy.on("lock", DropReply())
    REPLACE.run(faulty, scene.database)
    scene.check(REPLACE)
    assert len(scene.new_files()) == 1
    assert scene.locks() == []


@pytest.mark.parametrize("change", VIEW_CHANGES, ids=str)
def test_lost_reply_is_settled_without_locks(change: ViewChange, scene: Scene) -> None:
    """CAS alone settles a lost reply as well."""
    free = scene.behind(**LOCK_FREE)
    assert is_cas_verified(free.store.client, scene.database)
    scene.proxy.on(change.method, DropReply())
    change.run(free, scene.database)
    scene.check(change)
    assert len(scene.new_files()) == change.writes_file
    assert "lock" not in scene.proxy.methods


@pytest.mark.parametrize("change", [REPLACE, CREATE, RENAME], ids=str)
def test_rejection_is_resolved_after_read_outage(change: ViewChange, scene: Scene, scripted: ScriptedServer) -> None:
    """The change was applied but rejected, and two reads of the row fail."""
    down = MetaException("the database is down")
    scripted.on(change.method, Answer(down, carried_out=True))
    faulty = scene.behind(uri=scripted.uri)
    reads = {CREATE: 1, RENAME: 3}.get(change, 2)
    for nth in (1, 2):
        scripted.on(READ_ROW, Answer(down), nth=reads + nth)
    change.run(faulty, scene.database)
    scene.check(change)
    assert len(scene.new_files()) == change.writes_file


def test_registration_retried_by_server(scene: Scene) -> None:
    """The lock excluded others, so the existing view is the one just registered."""
    faulty = scene.behind()
    faulty.drop_view((scene.database, VIEW))
    scene.proxy.on(CREATE_TABLE, Duplicate())
    faulty.register_view((scene.database, NEW), scene.before.view.pointer)
    assert scene.view(NEW).metadata == scene.before.view.metadata
    assert scene.locks() == []


@pytest.mark.swaps
def test_registration_without_lock_retried_by_server(scene: Scene) -> None:
    """Without a lock another client may have registered the same file."""
    faulty = scene.behind(**LOCK_FREE)
    faulty.drop_view((scene.database, VIEW))
    scene.proxy.on(CREATE_TABLE, Duplicate())
    with pytest.raises(CommitStateUnknownError, match="metadata location is"):
        faulty.register_view((scene.database, NEW), scene.before.view.pointer)
    assert scene.view(NEW).metadata == scene.before.view.metadata
