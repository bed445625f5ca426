"""Preparing a refresh: checks the view and its sources, and plans how to compute the rows. Nothing is written."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hive_views.errors import RefreshError
from hive_views.identifiers import ViewName
from hive_views.materialized.freshness.verdict import conflicting_settings
from hive_views.materialized.layouts.layout import STAGED_WRITES
from hive_views.materialized.properties import REPEATABLE
from hive_views.materialized.redefine import new_storage_columns
from hive_views.materialized.refresh.inline import catalog_names, for_maintenance, inline
from hive_views.materialized.refresh.partition_changes import changed_partitions
from hive_views.materialized.refresh.plan import Mode, PlanInput, RefreshPlan, plan_refresh
from hive_views.materialized.refresh.stage import Engine, merges_in_place, staging_request
from hive_views.spec.session_settings import can_change_results, differing_settings
from hive_views.spec.staleness_policy import is_true
from hive_views.spec.storage_link import STORAGE_OF
from hive_views.sql.analysis.references import find_nondeterminism, without_datetime_words

if TYPE_CHECKING:
    from pyiceberg.schema import Schema

    from hive_views.materialized.freshness.checker import FreshnessChecker
    from hive_views.materialized.freshness.sources import Sources
    from hive_views.materialized.freshness.verdict import Freshness, RecordedRefresh
    from hive_views.materialized.layouts.loading import MaterializedView
    from hive_views.materialized.table_operations import TableOperations
    from hive_views.metastore.store import MetastoreStore
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

    @property
    def is_unchanged(self) -> bool:
        """Whether a refresh would compute the stored rows again."""
        return self.freshness.is_fresh and not differing_settings(self.recorded.settings, self.settings)


@dataclass(frozen=True)
class PreparedRefresh:
    """How a refresh will compute the rows."""

    columns: Schema | None
    """The new columns of the storage table, if they change."""
    schema: Schema
    """Its columns after the refresh."""
    leaves: IncrementalQuery
    """The definition over tables alone."""
    maintained: IncrementalQuery
    """The same for plans that do not compute everything."""
    functions: tuple[str, ...]
    """The nondeterministic functions of the definition."""
    plans: Iterable[RefreshPlan]
    """The plans in the order of preference."""


def observe(view: MaterializedView, checker: FreshnessChecker, engine: Engine | None = None) -> Observation:
    """Check a materialized view and its sources. Without an engine, the settings of the last refresh are assumed."""
    if view.storage is None:
        raise RefreshError(str(view.name), view.problem or "its storage cannot be read")
    _check_storage(view, view.storage.metadata.properties)
    sources, freshness = checker.check(view)
    recorded = view.last_refresh()
    settings = dict(recorded.settings)
    if engine is not None:
        defined = {key for each in sources.observed.settings.values() for key in each if can_change_results(key)}
        settings = dict(engine.settings(defined | recorded.settings.keys()))
    _check_sources(view, sources, settings)
    return Observation(sources, freshness, recorded, settings)


def prepare(
    store: MetastoreStore,
    tables: TableOperations,
    view: MaterializedView,
    observation: Observation,
    engine: Engine | None = None,
    mode: Mode = Mode.AUTO,
) -> PreparedRefresh:
    """Plan a refresh. Nothing is written."""
    assert view.storage is not None, "`observe` checks that the storage table can be read"
    sources, recorded = observation.sources, observation.recorded
    columns = new_storage_columns(view)
    schema = view.storage.schema() if columns is None else columns
    leaves = inline(view.name, view.metadata, sources, catalog_names(store, tables.name))
    _check_leaves(view, sources, leaves)
    functions = find_nondeterminism(leaves.sql, leaves.dialect)
    full_plan = RefreshPlan("full", "it was requested")
    if without_datetime_words(functions) != functions:
        if engine is None:  # as the last refresh decided
            casts: bool | None = recorded.state is None or functions == recorded.unrepeatable
        else:
            target = view.storage_name or view.name
            request = staging_request(target, view, recorded, sources, leaves, full_plan, schema, {}, uuid.uuid4().hex)
            casts = engine.casts_relative_times(request)
        if casts is False:
            functions = without_datetime_words(functions)
    maintained = for_maintenance(leaves, view.name, sources)
    plans: Iterable[RefreshPlan] = (full_plan,)
    if mode is not Mode.FULL:
        given = PlanInput(
            recorded,
            observation.freshness,
            sources.tables,
            maintained,
            schema,
            not functions or is_true(view.properties, REPEATABLE),
            observation.settings,
            engine is None or engine.can_replace_keys,
            merges_in_place(view),
        )

        def partitions(leaf: int, since: int, keys: Mapping[int, str]) -> str:
            assert view.storage is not None, "`observe` checks that the storage table can be read"
            location = sources.locations[ViewName(*maintained.leaves[leaf].name)]
            source = store.files.read_table_metadata(location)
            return changed_partitions(view.storage, source, store.files.io(location), since, keys)

        plans = plan_refresh(given, partitions)
    return PreparedRefresh(columns, schema, leaves, maintained, functions, plans)


def _check_storage(view: MaterializedView, properties: Mapping[str, str]) -> None:
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


def _check_sources(view: MaterializedView, sources: Sources, settings: Mapping[str, str]) -> None:
    """Reject missing or unreadable sources, and settings under which the rows would not be the definition's."""
    missing = [*sources.observed.missing, *sources.observed.unreadable]
    if missing:
        raise RefreshError(str(view.name), f"these sources are missing or unreadable: {', '.join(map(str, missing))}")
    for name, key, wanted in conflicting_settings(sources.observed, settings):
        raise RefreshError(
            str(view.name),
            f"{name} was defined under {key}={wanted}, and this refresh runs under {key}={settings[key]}: its rows "
            f"would not be the definition's. Refresh it in a session with SET {key}={wanted}; if the views that it "
            "reads differ in this setting, leave it unrefreshed: queries then read the definition",
        )


def _check_leaves(view: MaterializedView, sources: Sources, leaves: IncrementalQuery) -> None:
    """Reject a text with the old name of a renamed table: freshness finds it by UUID, but the text cannot be run."""
    for leaf in leaves.leaves:
        name = ViewName(*leaf.name)
        if name not in sources.tables and name not in sources.hive_tables:
            raise RefreshError(str(view.name), f"its text reads {name}, which was renamed")
