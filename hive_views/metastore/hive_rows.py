"""Changes to views of Hive's own, which have no metadata file and no pointer that a change could expect."""

from __future__ import annotations

from hive_views.errors import CommitFailedError, NoSuchViewError
from hive_views.metastore._thrift.hive_metastore.ttypes import NoSuchObjectException
from hive_views.metastore.change_request import ChangeRequest
from hive_views.metastore.commit import Store
from hive_views.metastore.flat_model import Row, RowKind


def drop_hive_view(store: Store, seen: Row) -> None:
    """Drop a plain Hive view, if it still is what was seen.

    Args:
        store: Metastore, files and properties.
        seen: Its row as it was read.

    Raises:
        CommitFailedError: If its text was changed, or another object has its name.
        NoSuchViewError: If it is gone.
        LockError, MetastoreUnavailableError, MetastoreRefusedError, CommitStateUnknownError: As in
            `hive_views.metastore.commit.drop`.
    """
    name = seen.name
    request = ChangeRequest(store.client, store.config, name, refusable=False)
    with request.locked():
        row = store.row(name)
        if row is None:
            raise NoSuchViewError(str(name))
        if row.kind is not RowKind.HIVE_VIEW or row.texts != seen.texts or row.create_time != seen.create_time:
            raise CommitFailedError(
                str(name), "it was changed meanwhile", expected=seen.texts.expanded, found=row.texts.expanded
            )
        request.ensure_locked()
        refusal = request.send(lambda: store.client.drop_table(name.database, name.name))
        if refusal is None:
            return
        there = store.row(name)
        if there is None:
            if isinstance(refusal, NoSuchObjectException) and not request.doubtful:
                raise NoSuchViewError(str(name), "dropped meanwhile")
            return
        raise request.failure("drop_table", refusal)
