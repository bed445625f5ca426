"""Refreshing a materialized view: sources are pinned first, so the state that is written is the state that was read.

An engine writes the rows as a snapshot that nobody sees. Publishing makes it current in one swap, if the storage still
is where the refresh found it; rows and state come together. So a refresh that is killed leaves the old rows and, at
most, a snapshot that nobody sees; of two refreshes at once, one wins.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from pyiceberg.serializers import FromInputFile
from pyiceberg.types import DecimalType, DoubleType, FloatType, LongType

from hive_views.errors import RefreshConflictError, RefreshError
from hive_views.identifiers import ViewName
from hive_views.materialized.freshness.sources import Sources
from hive_views.materialized.freshness.verdict import Freshness, changed_tables, other_settings
from hive_views.materialized.layouts.layouts import Layout, encode_summary
from hive_views.materialized.layouts.storage_tables import STAGED_WRITES
from hive_views.materialized.loading import MaterializedView
from hive_views.materialized.properties import REPEATABLE, TIME_TRAVEL
from hive_views.materialized.redefine import columns_to_be
from hive_views.materialized.refresh.inline import catalogs_of, inline
from hive_views.materialized.refresh.partition_changes import changed_partitions
from hive_views.materialized.refresh.publish import give_up, publish, target
from hive_views.materialized.refresh.stage import Action, Engine, Input, Work
from hive_views.materialized.state.refresh_state import (
    NO_SNAPSHOT,
    OTHER_STATES,
    REFRESH_ID,
    REFRESH_STATE,
    SESSION_SETTINGS,
    UNREPEATABLE,
    VIEW_UUID,
    RefreshState,
    SourceState,
    encode,
)
from hive_views.materialized.state.sequence_numbers import SequenceIds, encode_beside, encode_only, prepare_lineage
from hive_views.spec.session_settings import is_same_setting
from hive_views.spec.staleness_policy import is_true
from hive_views.spec.storage_link import STORAGE_OF
from hive_views.sql.analysis.determinism import find_nondeterminism
from hive_views.sql.analysis.incremental import (
    Aggregate,
    IncrementalQuery,
    NotIncrementalError,
    RowSelection,
    TableLeaf,
)
from hive_views.sql.rewriting.quoting import quote_identifier

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot

    from hive_views.catalog.catalog import HiveViewCatalog
    from hive_views.io.metadata_files import MetadataFiles


class Mode(Enum):
    """How rows are computed."""

    AUTO = "auto"
    """From what was added where that is enough, else anew; not at all where the stored rows are fresh."""
    FULL = "full"
    """Anew, fresh or not."""
    INCREMENTAL = "incremental"
    """From what was added; an error where that is not enough."""


@dataclass(frozen=True)
class RefreshReport:
    """What a refresh did."""

    name: ViewName
    """The materialized view."""
    action: str
    """`unchanged`, `full`, `incremental` or `partitions`."""
    why: str
    """Why it was done so."""
    snapshot_id: int | None
    """The storage's snapshot that readers get now."""
    rows: int | None
    """How many rows it has, where the engine says."""
    written: int | None
    """How many rows were written, where the engine says."""
    seconds: float
    """How long it took."""


@dataclass(frozen=True)
class Plan:
    """How the rows will be computed."""

    action: str
    """`full`, `incremental` or `partitions`."""
    why: str
    """Why so."""
    ways: tuple[Mapping[int, RowSelection], ...] = ()
    """For `incremental`: which rows of each leaf each query reads."""
    aggregate: Aggregate | None = None
    """For `incremental`: how the new rows are merged with the stored ones; None adds them."""
    where: str | None = None
    """For `partitions`: which."""


def plan(
    view: MaterializedView,
    sources: Sources,
    freshness: Freshness,
    leaves: IncrementalQuery,
    repeatable: bool,
    schema: Schema,
    files: MetadataFiles,
    settings: Mapping[str, str] | None = None,
) -> Plan:
    """Decide how to compute rows that are not fresh."""
    known_rows = view.recorded()
    state = known_rows.state
    changed = changed_tables(freshness)
    if not freshness.reasons and _computed_otherwise(view, settings or {}):
        return Plan("full", f"its rows were computed with {shown_settings(known_rows.settings)}")
    if state is None or not freshness.reasons or changed is None:
        against = [str(reason) for reason in freshness.reasons]
        return Plan("full", "; ".join(against) or "it was asked for")
    if not repeatable:
        return Plan("full", "its definition may give other rows each time")
    if known_rows.settings and known_rows.settings != dict(settings or {}):
        return Plan("full", f"its rows were computed with {shown_settings(known_rows.settings)}")
    if not state.is_told_apart:
        return Plan("full", "more than one of its sources has the same UUID")
    grown, other = set(), []
    for name in changed:
        facts = sources.tables.get(name)
        known = None if facts is None else state.of(name, facts.uuid)
        if facts is None or known is None:
            return Plan("full", f"the earlier state of {name} is not known")
        if not facts.only_grew_since(known.id):
            other.append(name)
        grown.add(name)
    for leaf in leaves.leaves:
        facts = sources.tables.get(ViewName(*leaf.name))
        known = None if facts is None else state.of(ViewName(*leaf.name), facts.uuid)
        if facts is None or known is None:
            return Plan("full", f"the earlier state of {ViewName(*leaf.name)} is not known")
        if not (facts.has_schema_of(facts.snapshot_id) and facts.has_schema_of(known.id)):
            return Plan("full", f"{ViewName(*leaf.name)} has other columns than it had")
    if other:
        why = f"rows of {', '.join(map(str, other))} were changed or deleted"
        return _by_partitions(view, sources, leaves, changed, why, files)
    numbers = [number for number, leaf in enumerate(leaves.leaves) if ViewName(*leaf.name) in grown]
    try:
        aggregate = leaves.aggregate(_precisions(schema), _floats(schema))
        ways = leaves.added(numbers, grouped=aggregate is not None)
    except NotIncrementalError as error:
        why = f"its definition cannot be kept up by what was added: {error}"
        return _by_partitions(view, sources, leaves, changed, why, files)
    return Plan("incremental", f"rows were added to {', '.join(map(str, sorted(grown)))}", ways, aggregate)


def _computed_otherwise(view: MaterializedView, settings: Mapping[str, str]) -> bool:
    """Whether the stored rows, fresh as they may be, were computed under settings in which the engine's differ."""
    known = view.recorded().settings
    return any(key in known and not is_same_setting(key, known[key], value) for key, value in settings.items())


def shown_settings(settings: Mapping[str, str]) -> str:
    """Settings for people."""
    return ", ".join(f"{key}={value}" for key, value in sorted(settings.items()))


def _by_partitions(
    view: MaterializedView,
    sources: Sources,
    leaves: IncrementalQuery,
    changed: tuple[ViewName, ...],
    why: str,
    files: MetadataFiles,
) -> Plan:
    """Compute only some partitions anew, where one table changed and it can be told which they are."""
    numbers = [number for number, leaf in enumerate(leaves.leaves) if ViewName(*leaf.name) in changed]
    state = view.recorded().state
    if len(changed) != 1 or len(numbers) != 1 or state is None or view.storage is None:
        return Plan("full", why)
    known = state.of(changed[0], sources.tables[changed[0]].uuid)
    assert known is not None, "the caller has looked"
    since = known.id
    location = sources.locations[changed[0]]
    try:
        io = files.io(location)
        metadata = FromInputFile.table_metadata(io.new_input(location))
        where = changed_partitions(leaves, numbers[0], view.storage, metadata, io, since)
    except NotIncrementalError as error:
        return Plan("full", f"{why}; partitions: {error}")
    return Plan("partitions", f"{why}, where {where}", where=where)


def state_of(view: MaterializedView, sources: Sources, started_ms: int) -> RefreshState:
    """The state that a refresh reads."""
    return RefreshState(
        view.metadata.current_version_id,
        tuple(
            SourceState(item.kind, item.name, item.uuid, item.id, schema_id=item.schema_id, definition=item.definition)
            for item in sources.observed.sources
        ),
        started_ms,
        sources.observed.definition,
    )


def refresh(
    catalog: HiveViewCatalog,
    view: MaterializedView,
    look: Callable[[MaterializedView], tuple[Sources, Freshness]],
    engine: Engine,
    mode: Mode = Mode.AUTO,
    tell: Callable[[str], None] | None = None,
) -> RefreshReport:
    """Refresh one materialized view, and none that it reads."""
    begun = time.monotonic()
    if view.storage is None:
        raise RefreshError(str(view.name), view.problem or "its storage cannot be read")
    _check_storage(view, view.storage.metadata.properties)
    started_ms = int(time.time() * 1000)
    sources, freshness = look(view)
    observed = sources.observed
    if observed.gone or observed.unknown:
        missing = ", ".join(map(str, [*observed.gone, *observed.unknown]))
        raise RefreshError(str(view.name), f"it reads what is gone or cannot be read: {missing}")
    settings = dict(engine.settings())
    _check_settings(view, sources, settings)
    tell = tell or _nobody
    if freshness.is_fresh and mode is not Mode.FULL and not _computed_otherwise(view, settings):
        tell(f"{view.name}: unchanged: its rows are fresh")
        return _report(view, "unchanged", "its rows are fresh", view.storage.metadata.current_snapshot_id, None, begun)
    columns = columns_to_be(view)
    schema = view.storage.schema() if columns is None else columns
    leaves = inline(view.name, view.metadata, sources, catalogs_of(catalog))
    _check_pinned(view, sources, leaves)
    found = find_nondeterminism(leaves.query)
    repeatable = not found or is_true(view.properties, REPEATABLE)
    planned = (
        Plan("full", "it was asked for")
        if mode is Mode.FULL
        else plan(view, sources, freshness, leaves, repeatable, schema, catalog.store.files, settings)
    )
    if mode is Mode.INCREMENTAL and planned.action == "full":
        raise RefreshError(str(view.name), f"it cannot be refreshed incrementally: {planned.why}")
    tell(f"{view.name}: {planned.action} refresh: {planned.why}")
    state = state_of(view, sources, started_ms)
    refresh_id = uuid.uuid4().hex
    ids = SequenceIds.of(view.properties)
    if ids is SequenceIds.ONLY:
        state = replace(state, sources=tuple(replace(source, uuid=None) for source in state.sources))
    summary, properties = _summary(catalog, view, sources, state, ids, found, refresh_id)
    if settings:
        summary[SESSION_SETTINGS] = json.dumps(settings, separators=(",", ":"), sort_keys=True)
    with target(catalog, view, refresh_id, columns) as name:
        work = _work(name, view, sources, leaves, planned, schema, summary, refresh_id)
        staged_id = engine.stage(work)
        tell(f"{view.name}: rows computed in {time.monotonic() - begun:.1f} s; making them the current ones")
        staged = catalog.load_table(name.identifier)
        moved = _moved(catalog, sources, work)
        snapshot = _written(staged.metadata, staged_id, refresh_id)
        if snapshot is None:
            raise RefreshError(str(view.name), "the engine wrote no snapshot")
        if snapshot.parent_snapshot_id != view.storage.metadata.current_snapshot_id:
            give_up(catalog, view, staged, snapshot, apart=columns is not None)
            raise RefreshConflictError(str(view.name), "another refresh was faster. Refresh it again if it is stale")
        if moved:
            give_up(catalog, view, staged, snapshot, apart=columns is not None)
            raise RefreshError(str(view.name), f"{', '.join(moved)} changed while it was read; refresh it again")
        keep = is_true(view.properties, TIME_TRAVEL)
        publish(catalog, view, staged, snapshot, state, keep, properties, columns)
    counts = {} if snapshot.summary is None else snapshot.summary.additional_properties
    report = _report(view, planned.action, planned.why, snapshot.snapshot_id, counts, begun)
    tell(f"{view.name}: {report.written} row(s) written in {report.seconds:.1f} s")
    return report


def _written(metadata: TableMetadata, snapshot_id: int | None, refresh_id: str) -> Snapshot | None:
    """The snapshot that the engine made."""
    if snapshot_id is not None:
        return metadata.snapshot_by_id(snapshot_id)
    for snapshot in reversed(metadata.snapshots):
        if snapshot.summary is not None and snapshot.summary.additional_properties.get(REFRESH_ID) == refresh_id:
            return snapshot
    return None


def _nobody(_: str) -> None:
    """Is told, and does not care."""


def _moved(catalog: HiveViewCatalog, sources: Sources, work: Work) -> list[str]:
    """The tables that were read without naming a snapshot, and are not what they were."""
    found = []
    for item in work.inputs:
        row = catalog.store.get_row(item.table) if item.live else None
        if item.live and (row is None or row.metadata_location != sources.locations[item.table]):
            found.append(str(item.table))
    return found


def _check_storage(view: MaterializedView, properties: Mapping[str, str]) -> None:
    """Refuse to write to a table that somebody put in the storage's place, or whose writes are seen at once."""
    name = view.storage_name or "its storage"
    owner = properties.get(STORAGE_OF)
    if owner is not None and owner.lower() != view.metadata.view_uuid.lower():
        raise RefreshError(
            str(view.name),
            f"{name} is the storage of another view, {owner}. Drop this view and create it again: it then gets one of "
            "its own",
        )
    if not is_true(properties, STAGED_WRITES):
        raise RefreshError(
            str(view.name),
            f"{name} has not the property {STAGED_WRITES} = true, with which every storage is created: somebody took "
            "it away, or put another table in the place. If it is the storage, set the property by ALTER TABLE; if "
            "not, rename that table, drop this view and create it again",
        )


def _check_pinned(view: MaterializedView, sources: Sources, leaves: IncrementalQuery) -> None:
    """Refuse a text that names what has another name now: its rows are still judged by UUID, but none can be read."""
    for leaf in leaves.leaves:
        name = ViewName(*leaf.name)
        if name not in sources.tables and name not in sources.hive_tables:
            raise RefreshError(str(view.name), f"its text reads {name}, which has another name now")


def _check_settings(view: MaterializedView, sources: Sources, settings: Mapping[str, str]) -> None:
    """Refuse settings under which the rows would not be those of a view's definition, which has its own."""
    for name, key, wanted in other_settings(sources.observed, settings):
        raise RefreshError(
            str(view.name),
            f"{name} was defined under {key}={wanted}, and this refresh runs under {key}={settings[key]}: its rows "
            f"would not be the definition's. Refresh it in a session with SET {key}={wanted}; where the views that it "
            "reads differ in this, leave it unrefreshed: then the definition is read",
        )


def _report(
    view: MaterializedView, action: str, why: str, snapshot: int | None, counts: Mapping[str, str] | None, begun: float
) -> RefreshReport:
    known = counts or {}
    rows, written = (known.get(key) for key in ("total-records", "added-records"))
    return RefreshReport(
        view.name,
        action,
        why,
        snapshot,
        None if rows is None else int(rows),
        int(written or 0) if counts is not None else None,
        time.monotonic() - begun,
    )


def _summary(
    catalog: HiveViewCatalog,
    view: MaterializedView,
    sources: Sources,
    state: RefreshState,
    ids: SequenceIds,
    found: tuple[str, ...],
    refresh_id: str,
) -> tuple[dict[str, str], dict[str, str]]:
    """What the snapshot's summary holds, and properties that the storage gets with it."""
    entries = {
        VIEW_UUID: view.metadata.view_uuid.lower(),
        REFRESH_ID: refresh_id,
        UNREPEATABLE: ",".join(found),
    }
    others = {str(name): text for name, text in sorted(sources.observed.others.items())}
    if others:
        entries[OTHER_STATES] = json.dumps(others, separators=(",", ":"))
    if view.layout is Layout.TABLE:
        entries |= encode_summary(state)
    elif view.layout is Layout.REGISTERED and ids is not SequenceIds.ONLY:
        entries[REFRESH_STATE] = encode(state)
    if ids is SequenceIds.NONE:
        return entries, {}
    children = sorted({*(source.name for source in state.sources), *sources.observed.others})
    numbers, properties = prepare_lineage(catalog, view, children)
    by_number = encode_only if ids is SequenceIds.ONLY else encode_beside
    return entries | by_number(state, numbers), properties


# -- The engine's work ------------------------------------------------------------------------------------------------


def _work(
    name: ViewName,
    view: MaterializedView,
    sources: Sources,
    leaves: IncrementalQuery,
    planned: Plan,
    schema: Schema,
    summary: Mapping[str, str],
    refresh_id: str,
) -> Work:
    inputs = _Inputs(view, sources)
    columns = tuple(field.name for field in schema.fields)
    ways = (
        planned.ways
        if planned.action == "incremental"
        else (dict.fromkeys(range(len(leaves.leaves)), RowSelection.NOW),)
    )
    queries = tuple(leaves.render(lambda number, leaf, way=way: inputs.of(leaf, way[number])) for way in ways)  # type: ignore[misc]
    action = Action.OVERWRITE
    if planned.action == "incremental":
        action = Action.APPEND
        if planned.aggregate is not None:
            action = Action.OVERWRITE
            queries = (_merged(inputs.stored(name), planned.aggregate, queries, schema),)
    if planned.where is not None:
        action = Action.PARTITIONS
        listed = ", ".join(map(quote_identifier, columns))
        queries = tuple(f"SELECT {listed} FROM ({query}) AS q ({listed}) WHERE {planned.where}" for query in queries)
    return Work(name, action, queries, inputs.all(), columns, summary, refresh_id, schema, planned.where)


class _Inputs:
    """The inputs of a refresh, each once."""

    def __init__(self, view: MaterializedView, sources: Sources) -> None:
        self._sources = sources
        self._view = view.name
        state = view.recorded().state
        self._before = state
        self._storage = view.storage
        self._known: dict[tuple[ViewName, RowSelection], Input] = {}

    def all(self) -> tuple[Input, ...]:
        return tuple(self._known.values())

    def of(self, leaf: TableLeaf, part: RowSelection) -> str:
        name = ViewName(*leaf.name)
        facts = self._sources.tables.get(name)
        if facts is None:
            if name not in self._sources.hive_tables:
                raise RefreshError(str(self._view), f"{name} is not among the sources that were pinned")
            return self._add(Input("", name, RowSelection.NOW, NO_SNAPSHOT, iceberg=False))
        known = None if self._before is None else self._before.of(name, facts.uuid)
        since = NO_SNAPSHOT if known is None else known.id
        if part is RowSelection.BEFORE:
            return self._add(Input("", name, part, since))
        live = part is RowSelection.NOW and not facts.has_schema_of(facts.snapshot_id)
        if live:
            return self._add(Input("", name, part, facts.snapshot_id, live=True))
        return self._add(Input("", name, part, facts.snapshot_id, since if part is RowSelection.ADDED else None))

    def stored(self, name: ViewName) -> str:
        assert self._storage is not None, "a refresh begins with a storage that can be read"
        current = self._storage.metadata.current_snapshot_id
        return self._add(Input("", name, RowSelection.NOW, NO_SNAPSHOT if current is None else current))

    def _add(self, wanted: Input) -> str:
        key = (wanted.table, wanted.part)
        if key not in self._known:
            alias = f"hive_views_input_{len(self._known)}"
            self._known[key] = replace(wanted, alias=alias)
        return quote_identifier(self._known[key].alias)


def _merged(stored: str, aggregate: Aggregate, queries: tuple[str, ...], schema: Schema) -> str:
    """Stored rows and partial results of the new ones, grouped once more."""
    quoted = [quote_identifier(field.name) for field in schema.fields]
    listed = ", ".join(quoted)
    parts = [f"SELECT {listed} FROM {stored} AS s"]
    parts += [f"SELECT {listed} FROM ({query}) AS a ({listed})" for query in queries]
    items, keys = [], []
    for column, field, function in zip(quoted, schema.fields, aggregate.merge, strict=True):
        if function is None:
            items.append(column)
            keys.append(column)
            continue
        kind = field.field_type
        merged = f"{function}({column})"
        if isinstance(kind, DecimalType):
            merged = f"CAST({merged} AS DECIMAL({kind.precision}, {kind.scale}))"
        elif isinstance(kind, LongType):
            merged = f"CAST({merged} AS BIGINT)"
        items.append(f"{merged} AS {column}")
    group = f" GROUP BY {', '.join(keys)}" if keys else ""
    return f"SELECT {', '.join(items)} FROM ({' UNION ALL '.join(parts)}) AS m{group}"


def _precisions(schema: Schema) -> list[int | None]:
    kinds = [field.field_type for field in schema.fields]
    return [kind.precision if isinstance(kind, DecimalType) else None for kind in kinds]


def _floats(schema: Schema) -> list[bool]:
    return [isinstance(field.field_type, (FloatType, DoubleType)) for field in schema.fields]
