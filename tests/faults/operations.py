"""The changes that a catalog makes, each as one value: how it is made, by which request, and how one sees it."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hive_views import HiveViewCatalog
from hive_views.catalog.views import ViewUpdate
from hive_views.identifiers import ViewName
from hive_views.metastore.commit.view_commit import commit
from hive_views.spec.changes import AddVersion, apply, create
from tests.faults.observer import Observer, Seen
from tests.integration.catalog.samples import SCHEMA, path, version

CREATE_TABLE = "create_table"
ALTER_TABLE = "alter_table_with_environment_context"
DROP_TABLE = "drop_table"
READ_ROW = "get_table_req"

VIEW = "v"
"""The view that is there before."""
NEW = "w"
"""The name that is free before."""

FIRST, SECOND, THIRD = "select 1, 'one'", "select 2, 'two'", "select 3, 'three'"


def prepare(catalog: HiveViewCatalog, database: str) -> None:
    """A view with two versions and a property; made by one commit, because most tests here begin with it."""
    name = ViewName(database, VIEW)
    store = catalog.store
    first = create(
        identifier=str(name),
        uuid=str(uuid.uuid4()),
        location=f"{store.client.get_database(database).locationUri}/{VIEW}",
        schema=SCHEMA,
        version=version(database, ("spark", FIRST)),
        properties={"color": "red"},
        now_ms=1_000_000,
    )
    second = AddVersion(SCHEMA, version(database, ("spark", SECOND)))
    commit(store, name, None, apply(first, [second], identifier=str(name), now_ms=2_000_000))


@dataclass(frozen=True)
class State:
    """A database as it was before a change."""

    view: Seen
    files: frozenset[Path]


def look(observer: Observer) -> State:
    """The database as `prepare` left it, or as it is now."""
    return State(observer.view(VIEW), frozenset(observer.files()))


@dataclass(frozen=True)
class Operation:
    """One change."""

    name: str
    method: str
    """The one request that changes anything."""
    run: Callable[[HiveViewCatalog, str], object]
    """Makes the change."""
    check: Callable[[Observer, State], None]
    """Asserts that it was made, exactly once, with the right files."""

    @property
    def writes_file(self) -> bool:
        """Whether it writes a metadata file."""
        return self.method != DROP_TABLE and self.name != "rename"

    def is_done(self, observer: Observer, before: State) -> bool:
        """Whether it was made; if so, it was made as it should."""
        untouched = observer.names() == {VIEW} and observer.row(VIEW) == before.view.row
        if not untouched:
            self.check(observer, before)
        return not untouched

    def __str__(self) -> str:
        return self.name


def _update(catalog: HiveViewCatalog, database: str) -> ViewUpdate:
    return catalog.load_view((database, VIEW)).update()


def _move(catalog: HiveViewCatalog, database: str) -> object:
    view = catalog.load_view((database, VIEW))
    return view.update().set_location(f"{view.metadata.location}_moved").commit()


def _new_files(observer: Observer, before: State) -> set[Path]:
    files = observer.files()
    assert files >= before.files, "a file is gone"
    return files - before.files


def _created(observer: Observer, before: State) -> None:
    view = observer.view(NEW)
    assert (view.version_ids, view.log, view.queries, view.commits) == ([1], [1], [THIRD], 1)
    assert view.row["viewOriginalText"] == THIRD
    assert view.row["parameters"]["uuid"] == view.metadata["view-uuid"]
    assert observer.view(VIEW) == before.view


def _swapped(observer: Observer, before: State) -> Seen:
    """What holds after each commit to the view: one more of them, built on the one before."""
    view = observer.view(VIEW)
    assert view.commits == before.view.commits + 1
    assert view.row["parameters"]["previous_metadata_location"] == before.view.pointer
    assert view.metadata["view-uuid"] == before.view.metadata["view-uuid"]
    assert view.row["createTime"] == before.view.row["createTime"]
    assert observer.names() == {VIEW}
    return view


def _replaced(observer: Observer, before: State) -> None:
    view = _swapped(observer, before)
    assert (view.version_ids, view.log, view.queries) == ([1, 2, 3], [1, 2, 3], [FIRST, SECOND, THIRD])
    assert (view.row["viewOriginalText"], view.row["viewExpandedText"]) == (THIRD, THIRD)
    assert view.properties == before.view.properties


def _recolored(observer: Observer, before: State) -> None:
    view = _swapped(observer, before)
    assert view.properties == {"color": "blue"}
    assert view.row["parameters"]["color"] == "blue"
    assert view.log == before.view.log


def _rolled_back(observer: Observer, before: State) -> None:
    view = _swapped(observer, before)
    assert (view.version_ids, view.log) == ([1, 2], [1, 2, 1])
    assert (view.row["viewOriginalText"], view.row["viewExpandedText"]) == (FIRST, FIRST)


def _moved(observer: Observer, before: State) -> None:
    view = _swapped(observer, before)
    assert view.metadata["location"] == view.row["sd"]["location"] == before.view.metadata["location"] + "_moved"
    assert view.pointer.startswith(view.metadata["location"])


def _renamed(observer: Observer, before: State) -> None:
    assert observer.names() == {NEW}
    assert observer.view(NEW).row == {**before.view.row, "tableName": NEW}
    assert not _new_files(observer, before)


def _dropped(observer: Observer, before: State) -> None:
    assert observer.names() == set()
    assert not _new_files(observer, before)


CREATE = Operation(
    "create",
    CREATE_TABLE,
    lambda catalog, database: catalog.create_view((database, NEW), SCHEMA, version(database, ("spark", THIRD))),
    _created,
)
REPLACE = Operation(
    "replace",
    ALTER_TABLE,
    lambda catalog, database: _update(catalog, database).replace_version(version(database, ("spark", THIRD))).commit(),
    _replaced,
)
PROPERTIES = Operation(
    "properties",
    ALTER_TABLE,
    lambda catalog, database: _update(catalog, database).set_properties(color="blue").commit(),
    _recolored,
)
ROLLBACK = Operation(
    "rollback",
    ALTER_TABLE,
    lambda catalog, database: _update(catalog, database).rollback(version_id=1).commit(),
    _rolled_back,
)
LOCATION = Operation("location", ALTER_TABLE, _move, _moved)
RENAME = Operation(
    "rename",
    ALTER_TABLE,
    lambda catalog, database: catalog.rename_view((database, VIEW), (database, NEW)),
    _renamed,
)
DROP = Operation("drop", DROP_TABLE, lambda catalog, database: catalog.drop_view((database, VIEW)), _dropped)

SWAPS = (REPLACE, PROPERTIES, ROLLBACK, LOCATION)
OPERATIONS = (CREATE, *SWAPS, RENAME, DROP)
KINDS = (CREATE, REPLACE, RENAME, DROP)
"""One of each kind, where the swaps do not differ from each other."""


def new_files(observer: Observer, before: State) -> list[str]:
    """The URIs of the files that are there now and were not before."""
    return sorted(found.as_uri() for found in _new_files(observer, before))


def same_file(location: str | None, uri: str) -> bool:
    """Whether two URIs name the same local file, however many slashes they begin with."""
    return location is not None and path(location) == path(uri)
