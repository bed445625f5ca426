"""The changes of a view that a catalog makes: how each is made, by which request, and how to check it."""

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
from tests.faults.observer import ObservedView, Observer
from tests.integration.catalog.samples import SCHEMA, path, version

CREATE_TABLE = "create_table"
ALTER_TABLE = "alter_table_with_environment_context"
DROP_TABLE = "drop_table"
READ_ROW = "get_table_req"

VIEW = "v"
"""The name of the existing view."""
NEW = "w"
"""An unused name."""

FIRST, SECOND, THIRD = "select 1, 'one'", "select 2, 'two'", "select 3, 'three'"


def prepare(catalog: HiveViewCatalog, database: str) -> None:
    """Create a view with two versions and a property, by a single commit to save time."""
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
    """The state of a database before a change."""

    view: ObservedView
    files: frozenset[Path]


def read_state(observer: Observer) -> State:
    """Read the current state of the database."""
    return State(observer.view(VIEW), frozenset(observer.files()))


@dataclass(frozen=True)
class ViewChange:
    """One change of a view."""

    name: str
    method: str
    """The request that changes the row."""
    run: Callable[[HiveViewCatalog, str], object]
    """Executes the change."""
    check: Callable[[Observer, State], None]
    """Asserts that it was applied exactly once, with the right files."""

    @property
    def writes_file(self) -> bool:
        """Whether it writes a metadata file."""
        return self.method != DROP_TABLE and self.name != "rename"

    def is_applied(self, observer: Observer, before: State) -> bool:
        """Return whether it was applied; if so, check how."""
        is_unchanged = observer.names() == {VIEW} and observer.row(VIEW) == before.view.row
        if not is_unchanged:
            self.check(observer, before)
        return not is_unchanged

    def __str__(self) -> str:
        return self.name


def _update(catalog: HiveViewCatalog, database: str) -> ViewUpdate:
    return catalog.load_view((database, VIEW)).update()


def _move(catalog: HiveViewCatalog, database: str) -> object:
    view = catalog.load_view((database, VIEW))
    return view.update().set_location(f"{view.metadata.location}_moved").commit()


def _new_files(observer: Observer, before: State) -> set[Path]:
    files = observer.files()
    assert files >= before.files, "a file was deleted"
    return files - before.files


def _created(observer: Observer, before: State) -> None:
    view = observer.view(NEW)
    assert (view.version_ids, view.log, view.queries, view.commits) == ([1], [1], [THIRD], 1)
    assert view.row["viewOriginalText"] == THIRD
    assert view.row["parameters"]["uuid"] == view.metadata["view-uuid"]
    assert observer.view(VIEW) == before.view


def _swapped(observer: Observer, before: State) -> ObservedView:
    """Check what holds after each commit to the view, and return the view."""
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


CREATE = ViewChange(
    "create",
    CREATE_TABLE,
    lambda catalog, database: catalog.create_view((database, NEW), SCHEMA, version(database, ("spark", THIRD))),
    _created,
)
REPLACE = ViewChange(
    "replace",
    ALTER_TABLE,
    lambda catalog, database: _update(catalog, database).replace_version(version(database, ("spark", THIRD))).commit(),
    _replaced,
)
PROPERTIES = ViewChange(
    "properties",
    ALTER_TABLE,
    lambda catalog, database: _update(catalog, database).set_properties(color="blue").commit(),
    _recolored,
)
ROLLBACK = ViewChange(
    "rollback",
    ALTER_TABLE,
    lambda catalog, database: _update(catalog, database).rollback(version_id=1).commit(),
    _rolled_back,
)
LOCATION = ViewChange("location", ALTER_TABLE, _move, _moved)
RENAME = ViewChange(
    "rename",
    ALTER_TABLE,
    lambda catalog, database: catalog.rename_view((database, VIEW), (database, NEW)),
    _renamed,
)
DROP = ViewChange("drop", DROP_TABLE, lambda catalog, database: catalog.drop_view((database, VIEW)), _dropped)

SWAPS = (REPLACE, PROPERTIES, ROLLBACK, LOCATION)
VIEW_CHANGES = (CREATE, *SWAPS, RENAME, DROP)
KINDS = (CREATE, REPLACE, RENAME, DROP)
"""One change of each kind, for tests in which the swaps do not differ."""


def new_files(observer: Observer, before: State) -> list[str]:
    """Return the URIs of the new files."""
    return sorted(file.as_uri() for file in _new_files(observer, before))


def same_file(location: str | None, uri: str) -> bool:
    """Return whether two URIs mean the same local file, with any number of leading slashes."""
    return location is not None and path(location) == path(uri)
