"""Preparing a refresh: checks the view and its sources, and plans how to compute the rows. Nothing is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hive_views.dependencies.table_findings import spark_findings
from hive_views.errors import HiveViewsError, RefreshError
from hive_views.identifiers import ViewName
from hive_views.materialized.checks.inline import StoredSource, catalog_names, for_maintenance, inline
from hive_views.materialized.freshness.verdict import conflicting_settings
from hive_views.materialized.layouts.layout import STAGED_WRITES
from hive_views.materialized.loading import load_materialized
from hive_views.materialized.properties import (
    READ_STORED_ROWS,
    REPEATABLE,
    max_compared_percent,
    max_keys_time_percent,
)
from hive_views.materialized.redefine import new_storage_columns
from hive_views.materialized.refresh.actions import Mode
from hive_views.materialized.refresh.costs import measured_refreshes
from hive_views.materialized.refresh.partition_changes import PartitionSelection, changed_partitions
from hive_views.materialized.refresh.plan import Full, PlanInput, RefreshPlan, plan_refresh, table_rows
from hive_views.materialized.refresh.request import Inputs, StagingTarget, merges_in_place, staging_request
from hive_views.spec.session_settings import can_change_results, differing_settings
from hive_views.spec.staleness_policy import is_true
from hive_views.spec.storage_link import STORAGE_OF
from hive_views.sql.analysis.references import find_nondeterminism, without_datetime_words
from hive_views.sql.parsing.parser import parse_query

if TYPE_CHECKING:
    from pyiceberg.schema import Schema

    from hive_views.materialized.checks.sources import Sources
    from hive_views.materialized.freshness.verdict import Freshness, RecordedRefresh
    from hive_views.materialized.loading import LoadedMaterializedView
    from hive_views.materialized.refresh.scope import RefreshScope
    from hive_views.metastore.queries import RowCache
    from hive_views.sql.analysis.incremental import IncrementalQuery


@dataclass(frozen=True)
class Observation:
    """What a refresh finds before it plans."""

    sources: Sources
    """The sources in their current state."""
    freshness: Freshness
    """How fresh the stored rows are."""
    recorded: RecordedRefresh
    """The refresh that wrote them."""
    settings: Mapping[str, str]
    """The engine's settings; without an engine those of the last refresh."""
    rows: RowCache
    """The rows of the metastore in which this was found."""

    @property
    def is_unchanged(self) -> bool:
        """Whether a refresh would compute the stored rows again."""
        return self.freshness.is_fresh and not differing_settings(self.recorded.settings, self.settings)


@dataclass(frozen=True, kw_only=True)
class PreparedRefresh:
    """How a refresh will compute the rows."""

    columns: Schema | None
    """The new columns of the storage table, if they change."""
    schema: Schema
    """Its columns after the refresh."""
    leaves: IncrementalQuery
    """The definition over tables alone."""
    over_stored_rows: IncrementalQuery
    """The same over tables and `storages`."""
    storages: tuple[StoredSource, ...]
    """The materialized views whose stored rows a full refresh reads."""
    maintained: IncrementalQuery
    """The definition over tables alone, for plans that do not compute everything."""
    functions: tuple[str, ...]
    """The nondeterministic functions of the definition."""
    table_rows: int | None
    """The number of rows of the tables that the definition reads; None if it is not known."""
    plans: Iterable[RefreshPlan]
    """The plans in the order of preference."""

    def query_of(self, plan: RefreshPlan) -> IncrementalQuery:
        """Return the definition in the form that a plan computes."""
        if not isinstance(plan, Full):
            return self.maintained
        return self.over_stored_rows if plan.reads_stored_rows else self.leaves


def observe(scope: RefreshScope) -> Observation:
    """Check a materialized view and its sources. Without an engine, the settings of the last refresh are assumed."""
    view, checker, engine = scope.view, scope.checker, scope.engine
    _check_storage(view, view.readable_storage().metadata.properties)
    rows = checker.rows(view.name)
    sources, freshness = checker.check(view, rows)
    recorded = view.last_refresh()
    settings = dict(recorded.settings)
    if engine is not None:
        defined = {key for each in sources.observed.settings.values() for key in each if can_change_results(key)}
        settings = dict(engine.settings(defined | recorded.settings.keys()))
    _check_sources(view, sources, settings)
    return Observation(sources, freshness, recorded, settings, rows)


def prepare(scope: RefreshScope, observation: Observation, mode: Mode = Mode.AUTO) -> PreparedRefresh:
    """Plan a refresh. Nothing is written."""
    store, view, engine = scope.store, scope.view, scope.engine
    storage = view.readable_storage()
    sources, recorded = observation.sources, observation.recorded
    columns = new_storage_columns(view)
    schema = storage.schema() if columns is None else columns
    catalogs = catalog_names(store, scope.tables.name)
    leaves = inline(view.name, view.metadata, sources, catalogs)
    _check_leaves(view, sources, leaves)
    functions = _unrepeatable_functions(scope, observation, leaves, schema)
    maintained = for_maintenance(leaves, view.name, sources)
    plans: Iterable[RefreshPlan] = (Full(why="it was requested"),)
    if mode is not Mode.FULL:
        given = PlanInput(
            recorded=recorded,
            freshness=observation.freshness,
            tables=sources.tables,
            leaves=maintained,
            schema=schema,
            is_repeatable=not functions or is_true(view.properties, REPEATABLE),
            settings=observation.settings,
            can_replace_keys=engine is None or engine.can_replace_keys,
            can_compare_files=engine is None or engine.can_compare_files,
            merges_in_place=merges_in_place(view),
            max_compared_percent=max_compared_percent(view.properties) if mode is Mode.AUTO else None,
            max_keys_time_percent=max_keys_time_percent(view.properties) if mode is Mode.AUTO else None,
            earlier=tuple(measured_refreshes(storage.metadata, sources.observed.definition or "")),
        )

        def partitions(leaf: int, since: int, keys: Mapping[int, str]) -> PartitionSelection:
            location = sources.tables[ViewName(*maintained.leaves[leaf].name)].location
            source = store.files.read_table_metadata(location)
            return changed_partitions(storage, source, store.files.io(location), since, keys)

        plans = plan_refresh(given, partitions)
    storages: tuple[StoredSource, ...] = ()
    if mode is Mode.AUTO and is_true(view.properties, READ_STORED_ROWS):
        storages = tuple(_fresh_storages(scope, observation))
    over_stored_rows = inline(view.name, view.metadata, sources, catalogs, storages) if storages else leaves
    if storages:
        tables_read = {ViewName(*leaf.name) for leaf in over_stored_rows.leaves}
        storages = tuple(storage for storage in storages if storage.table in tables_read)
        plans = _with_stored_rows(plans, storages)
    rows = table_rows(leaves, sources.tables)
    return PreparedRefresh(
        columns=columns,
        schema=schema,
        leaves=leaves,
        over_stored_rows=over_stored_rows,
        storages=storages,
        maintained=maintained,
        functions=functions,
        table_rows=rows,
        plans=plans,
    )


def _unrepeatable_functions(
    scope: RefreshScope, observation: Observation, leaves: IncrementalQuery, schema: Schema
) -> tuple[str, ...]:
    """Return the nondeterministic functions of a definition; words such as `now` only if the engine casts them."""
    recorded = observation.recorded
    functions = find_nondeterminism(parse_query(leaves.sql, leaves.dialect))
    if without_datetime_words(functions) == functions:
        return functions
    if scope.engine is None:  # as the last refresh decided
        casts: bool | None = recorded.state is None or functions == recorded.unrepeatable
    else:
        inputs = Inputs(scope.view, recorded, observation.sources)
        plan = Full(why="it was requested")
        request = staging_request(StagingTarget.unwritten(scope.view), inputs, leaves, plan, schema)
        casts = scope.engine.casts_relative_times(request)
    return without_datetime_words(functions) if casts is False else functions


def _fresh_storages(scope: RefreshScope, observation: Observation) -> Iterator[StoredSource]:
    """The materialized views among the sources whose stored rows are those of their definitions in the observed state.

    They must have been computed under the engine's settings.
    """
    checker = scope.checker
    for name in observation.sources.views:
        rows = observation.rows.shared()
        try:
            source = load_materialized(scope.store, scope.tables, name, checker.metadata_cache, rows)
            sources, freshness = checker.check(source, rows)
        except HiveViewsError:  # a plain view (NotMaterializedError), or one that cannot be read
            continue
        recorded = source.last_refresh().settings
        has_same_settings = bool(recorded) == bool(observation.settings) and not differing_settings(
            recorded, observation.settings
        )
        is_same_state = all(item in observation.sources.observed.sources for item in sources.observed.sources)
        is_usable = freshness.is_fresh and has_same_settings and is_same_state
        if is_usable and source.snapshot is not None and source.storage_name is not None:
            yield StoredSource(name, source.storage_name, source.snapshot.snapshot_id)


def _with_stored_rows(plans: Iterable[RefreshPlan], storages: Sequence[StoredSource]) -> Iterator[RefreshPlan]:
    """Yield the plans, with one over stored rows before each that computes everything from the tables."""
    for plan in plans:
        if isinstance(plan, Full):
            names = ", ".join(str(storage.view) for storage in storages)
            yield replace(plan, why=f"{plan.why}; from the stored rows of {names}", reads_stored_rows=True)
        yield plan


def _check_storage(view: LoadedMaterializedView, properties: Mapping[str, str]) -> None:
    """Reject a table that is not the view's storage table, or whose writes are visible at once."""
    name = view.storage_name or "its storage"
    owner = properties.get(STORAGE_OF)
    if owner is None or owner.lower() != view.metadata.view_uuid.lower():
        # Any program can write the view's property that names the storage.
        reason = f"is not marked as its storage ({STORAGE_OF})" if owner is None else f"belongs to the view {owner}"
        raise RefreshError(
            str(view.name), f"{name} {reason}. Drop this view and create it again to give it a storage of its own"
        )
    if not is_true(properties, STAGED_WRITES):
        raise RefreshError(
            str(view.name),
            f"{name} does not have the property {STAGED_WRITES} = true, with which every storage is created: it was "
            "removed, or another table was put in its place. If the table is the storage, set the property by ALTER "
            "TABLE; otherwise rename that table, drop this view and create it again",
        )


def _check_sources(view: LoadedMaterializedView, sources: Sources, settings: Mapping[str, str]) -> None:
    """Reject missing or unreadable sources, and settings under which the rows would not be the definition's."""
    missing = [*sources.observed.missing, *sources.observed.unreadable]
    if missing:
        raise RefreshError(str(view.name), f"these sources are missing or unreadable: {', '.join(map(str, missing))}")
    findings = spark_findings(sources.hive_tables.values())
    if findings:
        raise RefreshError(str(view.name), "; ".join(item.construct for item in findings))
    for name, key, wanted in conflicting_settings(sources.observed, settings):
        raise RefreshError(
            str(view.name),
            f"{name} was defined under {key}={wanted}, and this refresh runs under {key}={settings[key]}: its rows "
            f"would not be the definition's. Refresh it in a session with SET {key}={wanted}; if the views that it "
            "reads differ in this setting, leave it unrefreshed: queries then read the definition",
        )


def _check_leaves(view: LoadedMaterializedView, sources: Sources, leaves: IncrementalQuery) -> None:
    """Reject a text with the old name of a renamed table: freshness finds it by UUID, but the text cannot be run."""
    for leaf in leaves.leaves:
        name = ViewName(*leaf.name)
        if name not in sources.tables and name not in sources.hive_tables:
            raise RefreshError(str(view.name), f"its text reads {name}, which was renamed")
