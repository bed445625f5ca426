"""Planning an import: rows are read, texts expanded and everything worked out, and nothing is written."""

from __future__ import annotations

import pickle
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from hive_views.catalog.catalog import HiveViewCatalog
from hive_views.dependencies.graph import components
from hive_views.errors import HiveViewsError, InvalidViewError, MetastoreUnavailableError, NoSuchViewError
from hive_views.identifiers import ViewName
from hive_views.io.metadata_files import MetadataFiles
from hive_views.legacy_import.convert import RefusedError, prepared, reads
from hive_views.legacy_import.model import LegacyView, Reason, Refusal, Writer
from hive_views.legacy_import.options import MOST_CALLS, Options, check_most_calls
from hive_views.legacy_import.plan import Entry, Plan, Shared, Verdict
from hive_views.legacy_import.readers.detection import is_legacy, names_in, read_view
from hive_views.legacy_import.row_conversion import Place, convert
from hive_views.metastore.queries import read_rows
from hive_views.metastore.row_codec import Row, RowKind, row_fingerprint, row_with_columns
from hive_views.metastore.store import LoadedView, MetastoreStore
from hive_views.spec.file_codec import parse, serialize
from hive_views.spec.metadata import ViewMetadata

Progress = Callable[[int, int], None]
"""Told how many views are done, of how many."""


class _Packer:
    """Values in little memory: pickled, and compressed by what the first of them was, since views are much alike."""

    def __init__(self) -> None:
        self._like = b""

    def pack(self, value: object) -> bytes:
        """Pack a value of this package."""
        data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        if not self._like:
            self._like = data
        packer = zlib.compressobj(zdict=self._like)
        return packer.compress(data) + packer.flush()

    def unpack(self, data: bytes) -> Any:
        """Give a value back that was packed here."""
        unpacker = zlib.decompressobj(zdict=self._like)
        return pickle.loads(unpacker.decompress(data) + unpacker.flush())


class PlannedFiles(MetadataFiles):
    """Metadata files, and those that a plan would write."""

    def __init__(self, below: MetadataFiles) -> None:
        super().__init__({})
        self._below = below
        self._packer = _Packer()
        self.planned: dict[str, ViewMetadata | bytes] = {}

    def read(self, location: str) -> ViewMetadata:
        """Read a metadata file, or what will be in one; see `MetadataFiles.read`."""
        found = self.planned.get(location)
        if isinstance(found, bytes):
            return parse(self._packer.unpack(found), location)
        return self._below.read(location) if found is None else found

    def pack(self, location: str) -> None:
        """Keep the content of a file that will hardly be read again in a fraction of the memory."""
        found = self.planned.get(location)
        if isinstance(found, ViewMetadata):
            with suppress(InvalidViewError):  # too long for a file: whoever wants to write it is told
                self.planned[location] = self._packer.pack(serialize(found, codec="none"))

    def io(self, location: str):  # type: ignore[no-untyped-def]  # as the base class says
        """See `MetadataFiles.io`."""
        return self._below.io(location)


@dataclass(frozen=True)
class PlannedStore(MetastoreStore):
    """A metastore as it would be after a plan: each row is asked for once, and a plan's views are in it."""

    planned: dict[ViewName, Row | bytes] = field(default_factory=dict)
    """Rows of views that a plan makes, by name; those that will hardly be asked for are packed."""
    seen: dict[ViewName, Row | None] = field(default_factory=dict)
    """Rows that were asked for."""
    legacy: dict[ViewName, Found] = field(default_factory=dict)
    """Views as they stand now, until they are in the plan."""
    _packer: _Packer = field(default_factory=_Packer)

    def get_row(self, name: ViewName) -> Row | None:
        """What would stand under a name; see `MetastoreStore.row`."""
        planned = self.planned.get(name)
        if planned is not None:
            return self._packer.unpack(planned) if isinstance(planned, bytes) else planned
        if name in self.legacy:
            return self.legacy[name].shown
        if name not in self.seen:
            self.seen[name] = super().get_row(name)
        return self.seen[name]

    def pack(self, name: ViewName) -> None:
        """Keep a view of the plan in less memory: those that read it are planned."""
        row = self.planned.get(name)
        if isinstance(row, Row):
            assert isinstance(self.files, PlannedFiles)
            self.files.pack(row.metadata_location or "")
            self.planned[name] = self._packer.pack(row)

    def put(self, name: ViewName, loaded: LoadedView) -> None:
        """Add a view of the plan."""
        assert isinstance(self.files, PlannedFiles)
        self.planned[name] = loaded.row
        self.files.planned[loaded.row.metadata_location or ""] = loaded.metadata


def planned_store(store: MetastoreStore) -> PlannedStore:
    """A store that shows another one and what is put on top of it."""
    return PlannedStore(store.client, PlannedFiles(store.files), store.config)


@dataclass(frozen=True, slots=True)
class Found:
    """A legacy view as it was found: what one look at its row says. Can be pickled, and is small."""

    name: ViewName
    """Where it stands."""
    named: tuple[ViewName, ...]
    """The tables and views that its text names."""
    refusal: Refusal | None
    """Why it cannot be converted, whatever else there is."""
    data: bytes
    """Its row and what that says, packed; see `opened`."""

    @classmethod
    def pack(cls, row: Row, view: LegacyView, named: tuple[ViewName, ...], refusal: Refusal | None) -> Found:
        """Keep a view of which thousands may wait for their turn."""
        return cls(row.name, named, refusal, zlib.compress(pickle.dumps((row, view), pickle.HIGHEST_PROTOCOL)))

    def opened(self) -> tuple[Row, LegacyView]:
        """Its row, and what the row says."""
        row, view = pickle.loads(zlib.decompress(self.data))
        return row, view

    @property
    def shown(self) -> Row:
        """Its row as those that read it see it: with the columns that it has, where those are not the row's."""
        return shown_row(*self.opened())


def shown_row(row: Row, view: LegacyView) -> Row:
    """A view's row as those that read the view see it: with the columns that it has, where those are not the row's.

    Args:
        row: The row.
        view: The legacy view in it, or that it keeps the face of.
    """
    return row if view.writer is not Writer.TRINO else row_with_columns(row, _columns(view))


def _columns(view: LegacyView) -> tuple[tuple[str, str, str | None], ...]:
    return tuple((column.name, column.type, column.comment) for column in view.columns)


def look(row: Row, options: Options) -> Found:
    """Look at one row: the part of planning that needs nothing else.

    Args:
        row: The row of a legacy view.
        options: How to import.

    Returns:
        What it says.
    """
    view = read_view(row)
    named: tuple[ViewName, ...] = ()
    refusal = None
    try:
        # First: a damaged text is offered repaired, whatever else is wrong with it, and names what it names repaired.
        view = prepared(view, options)
    except RefusedError as error:
        refusal = error.refusal
    try:
        if view.sql:
            named = tuple(dict.fromkeys(ViewName(*table.resolved(view.database)) for table in reads(view).tables))
    except RefusedError as error:
        refusal = refusal or error.refusal
    return Found.pack(row, view, named, refusal)


def plan_import(
    catalog: HiveViewCatalog,
    *,
    databases: Sequence[str] = (),
    names: Sequence[ViewName] = (),
    options: Options | None = None,
    to: HiveViewCatalog | None = None,
    most_calls: int = MOST_CALLS,
    progress: Progress | None = None,
) -> Plan:
    """Plan the import of all legacy views of some databases, or of some views.

    Args:
        catalog: Where the legacy views are.
        databases: Their databases.
        names: Views, besides those of the databases.
        options: How to import.
        to: Where the new views go; None is the same catalog.
        most_calls: How many calls the metastore gets at once, at most; more than two are never made.
        progress: Told how far it is.

    Returns:
        The plan; one view that cannot be read or converted never stops the others.

    Raises:
        NoSuchNamespaceError: If a database does not exist, of the views or where they are to go.
        NoSuchViewError: If one of `names` is no legacy view.
        MetastoreUnavailableError: If no metastore can be reached.
        MetastoreError: If it cannot list the views.
        UsageError: If `most_calls` is not positive.
    """
    check_most_calls(most_calls)
    options = options or Options()
    wanted = wanted_views(catalog, databases, names, options, to)
    found = (look(row, options) for row in read_rows(catalog.store, wanted, most_calls=most_calls) if is_legacy(row))
    plan = arrange(found, catalog, options, to=to, progress=progress)
    return with_all(plan, catalog, names)


def wanted_views(
    catalog: HiveViewCatalog,
    databases: Sequence[str],
    names: Sequence[ViewName],
    options: Options,
    to: HiveViewCatalog | None,
) -> list[ViewName]:
    """The views that a plan has to look at, of which some may be Iceberg's already.

    Args:
        catalog: Where they are.
        databases: Their databases.
        names: Views, besides those of the databases.
        options: How to import.
        to: Where the new views go; None is the same catalog.

    Returns:
        Their names, each once.

    Raises:
        NoSuchNamespaceError: If a database does not exist, of the views or where they are to go.
        MetastoreError: If the metastore cannot list the views.
    """
    if options.to_database is not None:
        (to or catalog).store.client.get_database(options.to_database.lower())
    return list(dict.fromkeys((*names_in(catalog.store, databases), *names)))


def with_all(plan: Plan, catalog: HiveViewCatalog, names: Sequence[ViewName]) -> Plan:
    """A plan that has every view which the user named: what is mistyped must not be missing without a word.

    Args:
        plan: The plan.
        catalog: Where the views are.
        names: The views that were named one by one.

    Returns:
        The plan itself.

    Raises:
        NoSuchViewError: If one of them is not there, or is no legacy view.
    """
    planned = {entry.name for entry in plan.entries}
    for name in names:
        if name not in planned:
            row = catalog.store.get_row(name)
            if row is None:
                raise NoSuchViewError(str(name))
            what = "an Iceberg view already" if row.kind is RowKind.ICEBERG_VIEW else "a table, not a view"
            raise NoSuchViewError(str(name), f"it is {what}")
    return plan


def arrange(
    found: Iterable[Found],
    catalog: HiveViewCatalog,
    options: Options,
    *,
    to: HiveViewCatalog | None = None,
    progress: Progress | None = None,
) -> Plan:
    """Put views that were looked at into order, and work out what each becomes.

    Args:
        found: The views.
        catalog: Where they are.
        options: How to import.
        to: Where they go; None is the same catalog.
        progress: Told how far it is.

    Returns:
        The plan.

    Raises:
        MetastoreUnavailableError: If no metastore can be reached.
    """
    order = order_of(found)
    del found
    planner = Planner(catalog, to, options)
    for item in order.found.values():
        planner.add(item)
    done: dict[ViewName, Entry] = {}
    shared = Shared()
    readers = Counter(child for children in order.below.values() for child in children)
    total, waiting = len(order.found), list(reversed(order.found.values()))
    order.found.clear()
    while waiting:
        item = waiting.pop()
        name = item.name
        done[name] = shared.entry(planner.entry(item, order.below[name], done, order.circle(name)))
        readers.subtract(order.below[name])
        for other in (name, *order.below[name]):
            if not readers[other]:
                planner.pack(other)
        if progress is not None:
            progress(len(done), total)
    return Plan(tuple(done.values()), options, order.cycles, target_of(to))


def target_of(to: HiveViewCatalog | None) -> str | None:
    """How a plan names the metastore of a catalog to which new views go.

    Args:
        to: The catalog; None is that of the legacy views.
    """
    return None if to is None else ",".join(sorted(to._config.connection.uris))


@dataclass(frozen=True)
class Order:
    """In which order views are planned."""

    found: dict[ViewName, Found]
    """The views, each behind those that it reads."""
    below: Mapping[ViewName, tuple[ViewName, ...]]
    """Those of them that each reads."""
    cycles: tuple[tuple[ViewName, ...], ...]
    """Views that read each other or themselves."""

    def circle(self, name: ViewName) -> tuple[ViewName, ...] | None:
        """The cycle that a view is in."""
        return next((cycle for cycle in self.cycles if name in cycle), None)


def order_of(found: Iterable[Found]) -> Order:
    """Put views that were looked at into order."""
    by_name = {item.name: item for item in found}
    below = {name: tuple(child for child in item.named if child in by_name) for name, item in by_name.items()}
    groups = components(below)
    cycles = tuple(group for group in groups if len(group) > 1 or group[0] in below[group[0]])
    return Order({name: by_name[name] for group in groups for name in group}, below, cycles)


class Planner:
    """Works out entry by entry, each on top of those before it."""

    def __init__(self, catalog: HiveViewCatalog, to: HiveViewCatalog | None, options: Options) -> None:
        """Nothing is read yet.

        Args:
            catalog: Where the legacy views are.
            to: Where they go; None is the same catalog.
            options: How to import.
        """
        self._options = options
        self._here = to is None
        self._store = planned_store((to or catalog).store)
        self._place = Place(to or catalog, self._store)
        self._targets: dict[ViewName, ViewName] = {}

    def add(self, item: Found) -> None:
        """Make a view known, which `entry` is asked for later, or which such a one reads."""
        self._targets[item.name] = self._options.target(item.name)
        if self._here:
            self._store.legacy[item.name] = item

    def put(self, target: ViewName, loaded: LoadedView) -> None:
        """Make known what a view becomes that was planned elsewhere."""
        self._store.put(target, loaded)

    def pack(self, name: ViewName) -> None:
        """Keep what a view becomes in less memory; it can still be asked for, as its legacy row can."""
        self._store.pack(self._targets[name])
        # Who asks for the row after all gets the metastore's.
        self._store.legacy.pop(name, None)

    @property
    def others(self) -> dict[ViewName, Row | None]:
        """The rows of tables and other views that were asked for, which `know` takes."""
        return {name: row for name, row in self._store.seen.items() if name not in self._targets}

    def know(self, others: Mapping[ViewName, Row | None]) -> None:
        """Do not ask for these rows again."""
        self._store.seen.update(others)

    def planned(self, target: ViewName) -> LoadedView | None:
        """What a view becomes that `entry` said is ready; what `put` takes."""
        row = self._store.get_row(target) if target in self._store.planned else None
        return None if row is None else LoadedView(row, self._store.files.read(row.metadata_location or ""))

    def entry(
        self,
        item: Found,
        children: Sequence[ViewName],
        done: Mapping[ViewName, Entry],
        cycle: tuple[ViewName, ...] | None,
    ) -> Entry:
        """The entry of one view; those of its children are there already, but for members of a cycle."""
        name = item.name
        legacy, view = item.opened()
        entry = Entry(
            name=name,
            target=self._targets[name],
            writer=view.writer,
            dialect=view.dialect,
            verdict=Verdict.REFUSED,
            fingerprint=row_fingerprint(legacy),
            level=max((done[child].level + 1 for child in children if child in done), default=0),
            reads=item.named,
            old_original=view.sql if view.writer is Writer.TRINO else legacy.texts.original,
            old_text=view.sql if view.writer is Writer.TRINO else legacy.texts.expanded,
            storage=view.storage,
            materialized=view.materialized,
        )
        if item.refusal is not None:
            return _refused(entry, item.refusal)
        if cycle is not None:
            circle = " -> ".join(map(str, (*cycle, cycle[0])))
            return _refused(entry, Refusal(Reason.CYCLE, f"it reads itself: {circle}"))
        for child in children:
            if done[child].verdict is not Verdict.READY:
                blocker = done[child].blocked_by or child
                return replace(
                    entry,
                    verdict=Verdict.BLOCKED,
                    blocked_by=blocker,
                    refusal=Refusal(Reason.BLOCKED, f"it reads {child}, and {blocker} cannot be converted"),
                )
        try:
            made = convert(
                self._place,
                legacy,
                view,
                entry.target,
                self._options,
                self._targets,
                here=self._here,
            )
        except RefusedError as error:
            return _refused(entry, error.refusal)
        except MetastoreUnavailableError:
            raise
        except HiveViewsError as error:
            return _refused(entry, Refusal(Reason.UNSUPPORTED, str(error)))
        row = shown_row(made.row, view) if entry.in_place else made.row
        self._store.put(entry.target, LoadedView(row, made.metadata))
        return replace(
            entry,
            verdict=Verdict.READY,
            new_text=made.text,
            columns=made.columns,
            changes=made.changes,
            storage_plan=None if made.storage is None else made.storage.action.value,
        )


def _refused(entry: Entry, refusal: Refusal) -> Entry:
    verdict = Verdict.REPORTED if refusal.reason is Reason.MATERIALIZED else Verdict.REFUSED
    return replace(entry, verdict=verdict, refusal=refusal)
