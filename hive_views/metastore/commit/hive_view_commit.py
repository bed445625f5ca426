"""Changes to views of Hive's own, which have no metadata file and no pointer that a change could expect."""

from __future__ import annotations

from hive_views.errors import CommitFailedError, NoSuchViewError
from hive_views.identifiers import ViewName
from hive_views.metastore._thrift.hive_metastore.ttypes import NoSuchObjectException
from hive_views.metastore.commit.protocol import ChangeRequest
from hive_views.metastore.queries import all_views, databases, rows
from hive_views.metastore.row_codec import Row, RowKind
from hive_views.metastore.store import MetastoreStore, rejection_message


def drop_hive_view(store: MetastoreStore, seen: Row) -> None:
    """Drop a plain Hive view, if it still is what was seen."""
    name = seen.name
    request = ChangeRequest(store.client, store.config, name, refusable=False)
    with request.locked():
        row = store.get_row(name)
        if row is None:
            raise NoSuchViewError(str(name))
        if not _is_same(row, seen):
            raise CommitFailedError(
                str(name), "it was changed meanwhile", expected=seen.texts.expanded, found=row.texts.expanded
            )
        request.ensure_locked()

        def is_there() -> bool:
            found = store.get_row(name)
            return found is not None and _is_same(found, seen)

        def again() -> None:
            if not is_there():
                raise NoSuchObjectException(f"{name} is gone")
            store.client.drop_table(name.database, name.name)

        refusal = request.send(lambda: store.client.drop_table(name.database, name.name), again)
        if refusal is None:
            return
        if isinstance(refusal, NoSuchObjectException) and not request.doubtful:
            raise NoSuchViewError(str(name), "dropped meanwhile")
        if request.find_out(is_there):
            raise request.failure("drop_table", refusal)
        found = request.find_out(lambda: _elsewhere(store, seen))
        if found is not None:
            raise request.unknown(f"{request.unanswered or rejection_message(refusal)}; {found} may be it now")
        request.found_done()


def _elsewhere(store: MetastoreStore, seen: Row) -> ViewName | None:
    """The name of a view that may be one which is not found under its own: nothing but its row tells which it is."""
    names = [name for database in databases(store) for name in all_views(store, database)]
    for row in rows(store, names):
        # What stands under its own name by now, and was not made since, is it with another text.
        if _is_same(row, seen) or (row.name == seen.name and row.create_time == seen.create_time):
            return row.name
    return None


def _is_same(row: Row, seen: Row) -> bool:
    return row.kind is RowKind.HIVE_VIEW and row.texts == seen.texts and row.create_time == seen.create_time
