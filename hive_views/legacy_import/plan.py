"""The plan of an import: what happens to each legacy view, as frozen data and as JSON. Planning writes nothing.

`plan_import` reads the rows (`scan_row`), orders the views by what they read (`order_views`), and converts each view in
memory (`Planner`) on top of a `PlannedStore`, which shows the metastore as it will be after the import.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer, TypeAdapter
from pyiceberg.catalog import Catalog

from hive_views.catalog.catalog import HiveViewCatalog
from hive_views.dependencies.engines import EngineChecker
from hive_views.dependencies.table_findings import SPARK, EngineFinding
from hive_views.dependencies.unreadable_tables import find_unreadable
from hive_views.errors import (
    CatalogUnavailableError,
    HiveViewsError,
    MetastoreRefusedError,
    MetastoreUnavailableError,
    NoSuchViewError,
    PlanError,
    UsageError,
)
from hive_views.identifiers import ViewName, components
from hive_views.legacy_import.convert import Conversion, check_readable, convert
from hive_views.legacy_import.definition import check_convertible, find_references
from hive_views.legacy_import.legacy_view import ConversionError, Problem, Reason, Writer
from hive_views.legacy_import.options import MOST_CALLS, READERS, ImportOptions, NameText, check_most_calls
from hive_views.legacy_import.planned_store import ScannedView, row_with_view_columns
from hive_views.legacy_import.readers.detection import is_legacy, list_view_names, read_view
from hive_views.legacy_import.targets import (
    REST,
    check_database,
    check_names,
    import_target,
    is_answer,
    store_of_target,
    target_address,
)
from hive_views.metastore.queries import OnRefused, read_rows, unreadable_row
from hive_views.metastore.rows.row import Row
from hive_views.metastore.rows.serialization import row_fingerprint
from hive_views.metastore.store import LoadedView
from hive_views.rendering import html_table
from hive_views.spec.json_text import parse_json
from hive_views.spec.version_texts import HIVE
from hive_views.sql.analysis.outcomes import Outcome
from hive_views.text_enum import TextEnum

logger = logging.getLogger(__name__)

FORMATS = (2, 3)
"""Versions of the plan's JSON format that can be read; others are rejected. A plan is written in the oldest format that
has everything in it, so that older releases read it: 3 adds the option `accept_unreadable` and the reason
`unreadable-table`. A journal contains its plan, and no reason that the plan's format does not have."""

PlanProgress = Callable[[int, int], None]
"""Called with the number of planned views and the number of all views."""


class PlanStatus(TextEnum):
    """What a run does with a view."""

    READY = "ready"
    """It is converted."""
    REFUSED = "refused"
    """It cannot be converted; the problem says why."""
    BLOCKED = "blocked"
    """It reads a view that cannot be converted."""
    REPORTED = "reported"
    """It is a materialized view and the options leave those unchanged."""


_MATERIALIZED = "materialized view"
_Materialized = Annotated[
    bool,
    Field(alias="kind"),
    BeforeValidator(lambda kind: kind == _MATERIALIZED),
    PlainSerializer(lambda materialized: _MATERIALIZED if materialized else "view"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanEntry:
    """One legacy view of a plan."""

    name: NameText
    """The name of the legacy view."""
    target: NameText
    """The name of the Iceberg view; the same name for an import in place."""
    writer: Writer
    """The engine whose row layout it has."""
    dialect: str
    """The SQL dialect of its text."""
    status: Annotated[PlanStatus, Field(alias="verdict")]
    """What a run does with it."""
    level: int = 0
    """0 for a view that reads no other view of the plan; otherwise one more than the highest level of its sources."""
    reads: tuple[NameText, ...] = ()
    """The tables and views that its text names, under their current names."""
    problem: Problem | None = None
    """Why it is not converted."""
    blocked_by: NameText | None = None
    """The view that blocks it and is not itself blocked."""
    changes: tuple[str, ...] = ()
    """Sentences about differences between the legacy view and the new one."""
    columns: tuple[tuple[str, str], ...] = ()
    """Name and Hive type of each column of the new view."""
    old_original: str | None = None
    """The original text of the row; for a Trino view the decoded text."""
    old_text: str | None = None
    """The text that engines run today."""
    new_text: str | None = None
    """The text that Hive and plain Spark will run; for a Trino view the generated `hive` text."""
    materialized: _Materialized = False
    """Whether it is a materialized view."""
    storage: Mapping[str, str] = field(default_factory=dict)
    """For a materialized view: what the row records about its storage."""
    storage_plan: str | None = None
    """For a materialized view that is ready: a `hive_views.legacy_import.storage.StorageAction`."""
    engines: tuple[str, ...] = ()
    """Why engines of the option `readers` will not, or may not, return the author's rows; for example
    `spark: other rows: …`."""
    fingerprint: str = field(kw_only=True)
    """Fingerprint of the row when it was planned. A run refuses a row with a different fingerprint."""

    @property
    def has_findings(self) -> bool:
        """Whether one of `engines` is more than a note (`Outcome.is_note`)."""
        return any(item.split(": ", 2)[1] != Outcome.SOME_VALUES.value for item in self.engines)

    @property
    def in_place(self) -> bool:
        """Whether the Iceberg view has the name of the legacy view."""
        return self.name == self.target

    def to_json(self) -> dict[str, Any]:
        """Return the entry as a JSON object."""
        document: dict[str, Any] = {}
        for key, value in _ENTRY.dump_python(self, mode="json", by_alias=True).items():
            document |= {key: value} if key != "problem" else value or {"reason": None, "text": None}
        return document

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> PlanEntry:
        """Parse what `to_json` returned; raises KeyError, TypeError or ValueError."""
        problem = None if document["reason"] is None else {"reason": document["reason"], "text": document["text"]}
        return _ENTRY.validate_python({**document, "problem": problem})


_ENTRY = TypeAdapter(PlanEntry)
_OPTIONS = TypeAdapter(ImportOptions)
_NEW_OPTIONS = {"readers": READERS, "strict": False, "file_columns": {}}
"""Options that earlier releases do not know, with the values for which a plan does not contain them."""


@dataclass(frozen=True)
class ImportPlan:
    """What an import will do: the entries, each after those of the views that it reads."""

    entries: tuple[PlanEntry, ...]
    """All planned legacy views, of every status."""
    options: ImportOptions = field(default_factory=ImportOptions)
    """The options of the import."""
    cycles: tuple[tuple[ViewName, ...], ...] = ()
    """Groups of views that read each other or themselves."""
    to: str | None = None
    """The addresses of the metastore or REST catalog for the new views; None for the metastore of the legacy views."""

    def _repr_html_(self) -> str:
        """Return the entries as a table, for notebooks."""
        rows = (
            (entry.name, entry.status.value, entry.problem and entry.problem.reason.value) for entry in self.entries
        )
        limited = sum(entry.has_findings for entry in self.ready)
        caption = f"{len(self.ready)} of {len(self.entries)} views are ready"
        if limited:
            caption += f", {limited} of them with findings for {self.options.reader_names}"
        return html_table(caption, rows, ("view", "status", "reason"))

    def check_target(self, to: str | None) -> None:
        """Check that the plan was made for the given target, so that planned copies are not converted in place.

        Args:
            to: What `target_address` returns for the target; None for the metastore of the legacy views.

        Raises:
            PlanError: If the plan is for another target.
        """
        if to != self.to:
            raise PlanError(
                f"the plan is for {_describe_target(self.to)}, and the command names {_describe_target(to)}. Name the "
                "target of the plan, or plan again"
            )

    @cached_property
    def by_name(self) -> dict[ViewName, PlanEntry]:
        """The entries by the names of their legacy views."""
        return {entry.name: entry for entry in self.entries}

    @property
    def ready(self) -> tuple[PlanEntry, ...]:
        """The entries that a run converts, in order."""
        return tuple(entry for entry in self.entries if entry.status is PlanStatus.READY)

    def to_json(self) -> dict[str, Any]:
        """Return the plan as a JSON object."""
        is_new = bool(self.options.accept_unreadable) or any(
            entry.problem is not None and entry.problem.reason is Reason.UNREADABLE_TABLE for entry in self.entries
        )
        options = _OPTIONS.dump_python(self.options, mode="json", by_alias=True)
        for name, value in _NEW_OPTIONS.items():
            if getattr(self.options, name) == value:
                del options[name]
        return {
            "format": FORMATS[-1] if is_new else FORMATS[0],
            "options": options,
            "cycles": [[str(name) for name in cycle] for cycle in self.cycles],
            "to": self.to,
            "entries": [entry.to_json() for entry in self.entries],
        }

    @classmethod
    def from_json(cls, document: object) -> ImportPlan:
        """Parse what `to_json` returned; raises PlanError."""
        try:
            return _plan_from_json(document)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise PlanError(f"this is not a plan of an import: {error!r}") from error


def read_plan(text: str) -> ImportPlan:
    """Parse the JSON text of a plan.

    Raises:
        PlanError: If it is not a complete plan.
    """
    try:
        document = parse_json(text)
    except ValueError as error:
        raise PlanError(f"this is not a complete plan of an import, plan again: {error}") from error
    return ImportPlan.from_json(document)


def write_plan(plan: ImportPlan) -> str:
    """Return the JSON text of a plan; equal plans have equal texts."""
    return json.dumps(plan.to_json(), ensure_ascii=False, indent=1)


def _plan_from_json(document: Any) -> ImportPlan:
    if document["format"] not in FORMATS:
        readable = " and ".join(map(str, FORMATS))
        raise PlanError(f"the plan is of format {document['format']}; this version reads {readable}. Plan again")
    # Plans of earlier releases have no materialized views.
    options = _OPTIONS.validate_python({"materialized": "report", **document["options"]})
    return ImportPlan(
        entries=tuple(map(PlanEntry.from_json, document["entries"])),
        options=options,
        cycles=tuple(tuple(map(ViewName.from_text, cycle)) for cycle in document["cycles"]),
        to=None if document["to"] is None else str(document["to"]),
    )


def _describe_target(to: str | None) -> str:
    if to is None:
        return "the metastore of the legacy views"
    return f"the REST catalog {to.removeprefix(REST)}" if to.startswith(REST) else f"the metastore {to}"


# -- Planning --------------------------------------------------------------------------------------------------------


def scan_row(row: Row, options: ImportOptions) -> ScannedView:
    """Read the row of a legacy view and find the names in its text. Needs no metastore."""
    view = read_view(row)
    names: tuple[ViewName, ...] = ()
    files: tuple[str, ...] = ()
    problem = None
    try:
        # This comes first, so that names are found in the repaired text, and the plan shows that text whatever other
        # problems the view has.
        view = check_convertible(view, options)
    except ConversionError as error:
        problem = error.problem
    try:
        if view.sql:
            named = find_references(view)
            names = tuple(dict.fromkeys(ViewName(*table.resolved(view.database)) for table in named.tables))
            files = named.files
    except ConversionError as error:
        problem = problem or error.problem
    return ScannedView(row, view, names, problem, files)


def plan_import(
    catalog: HiveViewCatalog,
    *,
    databases: Sequence[str] = (),
    names: Sequence[ViewName] = (),
    options: ImportOptions | None = None,
    to: Catalog | None = None,
    most_calls: int = MOST_CALLS,
    progress: PlanProgress | None = None,
) -> ImportPlan:
    """Plan the import of all legacy views of databases, or of single views. Writes nothing.

    Args:
        catalog: The catalog of the legacy views.
        databases: Databases whose legacy views are all planned.
        names: Further views.
        options: Options of the import.
        to: The catalog for the new views, on a metastore or PyIceberg's REST catalog; None for `catalog`.
        most_calls: Maximum number of concurrent metastore calls; planning makes at most two.
        progress: Called after each view.

    Returns:
        The plan. A view that cannot be read or converted has a status with the reason and does not stop the others.

    Raises:
        NoSuchNamespaceError: If a database of the views, or the database of the option `to_database`, does not exist.
        NoSuchViewError: If one of `names` is not a legacy view.
        MetastoreUnavailableError: If the metastore cannot be reached.
        CatalogUnavailableError: If the REST catalog cannot be read.
        MetastoreError: If the metastore cannot list the views.
        UsageError: If `most_calls` is not positive.
    """
    check_most_calls(most_calls)
    options = options or ImportOptions()
    check_names(to, options)
    candidates = list_candidates(catalog, databases, names, options, to)
    refused: dict[ViewName, MetastoreRefusedError] = {}
    rows = read_legacy_rows(catalog, candidates, most_calls=most_calls, on_refused=refused.__setitem__)
    views = (scan_row(row, options) for row in rows)
    plan = plan_views(views, catalog, options, to=to, most_calls=most_calls, progress=progress)
    plan = with_unreadable(plan, {name: unreadable_row(error) for name, error in refused.items()})
    check_all_planned(plan, catalog, names)
    return plan


def read_legacy_rows(
    catalog: HiveViewCatalog, names: Sequence[ViewName], *, most_calls: int, on_refused: OnRefused
) -> Iterator[Row]:
    """Read the rows of the legacy views among some names; for `on_refused` see `read_rows`."""
    rows = read_rows(catalog.store, names, most_calls=most_calls, on_refused=on_refused)
    return (row for row in rows if is_legacy(row))


def with_unreadable(plan: ImportPlan, problems: Mapping[ViewName, str]) -> ImportPlan:
    """Add views whose rows the server refuses to return, with the reasons; what else they are is unknown."""
    entries = (
        PlanEntry(
            name=name,
            target=plan.options.target_of(name),
            writer=Writer.HIVE,
            dialect=HIVE,
            status=PlanStatus.REFUSED,
            problem=Problem(Reason.METASTORE, text),
            fingerprint="",
        )
        for name, text in sorted(problems.items())
    )
    return replace(plan, entries=(*plan.entries, *entries))


def list_candidates(
    catalog: HiveViewCatalog,
    databases: Sequence[str],
    names: Sequence[ViewName],
    options: ImportOptions,
    to: Catalog | None,
) -> list[ViewName]:
    """List the views whose rows a plan has to read, each once; Iceberg views are included.

    Raises UsageError if an option names what does not exist.
    """
    for name in options.accept_unreadable:
        if catalog.store.get_row(name) is None:
            raise UsageError("--accept-unreadable", f"there is no table or view {name}: check its name")
    if options.to_database is not None:
        check_database(to or catalog, options.to_database.lower())
    return list(dict.fromkeys((*list_view_names(catalog.store, databases), *names)))


def check_all_planned(plan: ImportPlan, catalog: HiveViewCatalog, names: Sequence[ViewName]) -> None:
    """Raise NoSuchViewError if a view that the user named is not in the plan, for example because of a typo."""
    planned = {entry.name for entry in plan.entries}
    for name in names:
        if name not in planned:
            row = catalog.store.get_row(name)
            if row is None:
                raise NoSuchViewError(str(name))
            row.require_view()
            raise NoSuchViewError(str(name), "it is an Iceberg view already")


def plan_views(
    views: Iterable[ScannedView],
    catalog: HiveViewCatalog,
    options: ImportOptions,
    *,
    to: Catalog | None = None,
    most_calls: int = 1,
    progress: PlanProgress | None = None,
) -> ImportPlan:
    """Order scanned views and plan each of them; raises MetastoreUnavailableError."""
    order = order_views(views)
    planner = Planner(catalog, to, options)
    for view in order.views.values():
        planner.add(view)
    planner.fetch_sources(order.views.values(), most_calls=most_calls)
    entries: dict[ViewName, PlanEntry] = {}
    names = list(order.views)
    for name in names:
        view = order.views.pop(name)  # removed, to free the memory of its row
        entries[name] = planner.plan(view, order.sources[name], entries, order.cycle_of(name))
        if progress is not None:
            progress(len(entries), len(names))
    return ImportPlan(tuple(entries.values()), options, order.cycles, target_address(to))


@dataclass(frozen=True)
class PlanOrder:
    """The order in which views are planned."""

    views: dict[ViewName, ScannedView]
    """The views, each after the views that it reads."""
    sources: Mapping[ViewName, tuple[ViewName, ...]]
    """For each view, the views of the plan that it reads."""
    cycles: tuple[tuple[ViewName, ...], ...]
    """Groups of views that read each other or themselves."""

    @property
    def read_views(self) -> frozenset[ViewName]:
        """The views that other views of the plan read."""
        return frozenset(source for sources in self.sources.values() for source in sources)

    def cycle_of(self, name: ViewName) -> tuple[ViewName, ...] | None:
        """Return the cycle that contains a view."""
        return next((cycle for cycle in self.cycles if name in cycle), None)


def order_views(views: Iterable[ScannedView]) -> PlanOrder:
    """Sort scanned views topologically."""
    by_name = {view.name: view for view in views}
    sources = {name: tuple(source for source in view.reads if source in by_name) for name, view in by_name.items()}
    groups = components(sources)
    cycles = tuple(group for group in groups if len(group) > 1 or group[0] in sources[group[0]])
    return PlanOrder({name: by_name[name] for group in groups for name in group}, sources, cycles)


class Planner:
    """Plans views one after another; each is resolved against the planned views that it reads."""

    def __init__(
        self,
        catalog: HiveViewCatalog,
        to: Catalog | None,
        options: ImportOptions,
        fetched: dict[ViewName, Row | None] | None = None,
    ) -> None:
        check_names(to, options)
        self._options = options
        self._is_same_catalog = to is None
        self._targets: dict[ViewName, ViewName] = {}
        self._target_names: set[ViewName] = set()
        self._store = store_of_target(catalog, to, self._target_names, fetched)
        self._target = import_target(catalog, to, self._store)
        self._conversion = Conversion(self._target, options, self._targets, self._target_names, self._is_same_catalog)
        self._engines = EngineChecker(self._store)

    def add(self, view: ScannedView) -> None:
        """Add a view that this planner will plan, or that such a view reads."""
        self._targets[view.name] = self._options.target_of(view.name)
        self._target_names.add(self._targets[view.name])
        if self._is_same_catalog:
            self._store.legacy[view.name] = view

    def fetch_sources(self, views: Iterable[ScannedView], *, most_calls: int) -> None:
        """Read the rows of the tables that views read in batches, and examine their files."""
        names = {name for view in views for name in view.reads}
        self._store.fetch(names, most_calls=most_calls)
        rows = (self._store.fetched.get(name) for name in names)
        self._engines.examine_files(row for row in rows if row is not None)

    def add_planned(self, target: ViewName, loaded: LoadedView) -> None:
        """Add a view that another planner planned; its `planned` returned it."""
        self._store.put(target, loaded)

    def planned(self, target: ViewName) -> LoadedView | None:
        """Return the future Iceberg view of a target name; None unless `plan` returned a ready entry for it."""
        row = self._store.planned.get(target)
        return None if row is None else LoadedView(row, self._store.files.read(row.metadata_location or ""))

    def plan(
        self,
        scanned: ScannedView,
        sources: Sequence[ViewName],
        entries: Mapping[ViewName, PlanEntry],
        cycle: tuple[ViewName, ...] | None,
    ) -> PlanEntry:
        """Plan one view; `entries` has the entries of its sources, except within a cycle."""
        row, view = scanned.row, scanned.view
        is_trino = view.writer is Writer.TRINO
        entry = PlanEntry(
            name=scanned.name,
            target=self._targets[scanned.name],
            writer=view.writer,
            dialect=view.dialect.value,
            status=PlanStatus.REFUSED,
            fingerprint=row_fingerprint(row),
            level=max((entries[source].level + 1 for source in sources if source in entries), default=0),
            reads=scanned.reads,
            old_original=view.sql if is_trino else row.texts.original,
            old_text=view.sql if is_trino else row.texts.expanded,
            storage=view.storage,
            materialized=view.materialized,
        )
        if scanned.problem is not None:
            return _refused(entry, scanned.problem)
        if cycle is not None:
            path = " -> ".join(map(str, (*cycle, cycle[0])))
            return _refused(entry, Problem(Reason.CYCLE, f"it reads itself: {path}"))
        for source in sources:
            if entries[source].status is not PlanStatus.READY:
                blocker = entries[source].blocked_by or source
                return replace(
                    entry,
                    status=PlanStatus.BLOCKED,
                    blocked_by=blocker,
                    problem=Problem(Reason.BLOCKED, f"it reads {source}, and {blocker} cannot be converted"),
                )
        try:
            converted = convert(self._conversion, row, view, entry.target)
            unreadable = find_unreadable(self._store, converted.definition.reads)
            accepted = check_readable(scanned.name, unreadable, self._options)
            accepted = accepted if self._target.is_metastore else ()
            new_row = row_with_view_columns(converted.row, view) if entry.in_place else converted.row
            self._store.put(entry.target, LoadedView(new_row, converted.metadata))
            findings = self._findings_of(new_row)
            rejected = [item.text for item in findings if not item.outcome.is_note]
            if self._options.strict and rejected:
                self._store.remove(entry.target)
                raise ConversionError(Reason.ENGINES, _describe_findings(rejected))
        except ConversionError as error:
            return _refused(entry, error.problem)
        except MetastoreUnavailableError:
            raise
        except CatalogUnavailableError as error:
            if not is_answer(error):
                raise
            return _refused(entry, Problem(Reason.UNSUPPORTED, str(error)))
        except HiveViewsError as error:
            return _refused(entry, Problem(Reason.UNSUPPORTED, str(error)))
        if entry.in_place:
            self._store.legacy.pop(scanned.name, None)
        return replace(
            entry,
            status=PlanStatus.READY,
            new_text=converted.text,
            columns=converted.columns,
            changes=tuple(dict.fromkeys((*converted.changes, *accepted))),
            storage_plan=None if converted.storage is None else converted.storage.action.value,
            engines=tuple(item.text for item in findings),
        )

    def _findings_of(self, row: Row) -> tuple[EngineFinding, ...]:
        """Return the findings for the readers; only Spark reads views of a REST catalog by the text of the row."""
        readers = [item for item in self._options.readers if self._target.is_metastore or item == SPARK]
        return tuple(item for item in self._engines.check(row) if item.engine in readers)


def _describe_findings(findings: Sequence[str]) -> str:
    """Return why a strict plan refuses a view."""
    more = f"; and {len(findings) - 1} more" if len(findings) > 1 else ""
    return f"{findings[0]}{more}. Leave --strict out to convert it with this finding"


def _refused(entry: PlanEntry, problem: Problem) -> PlanEntry:
    status = PlanStatus.REPORTED if problem.reason is Reason.MATERIALIZED else PlanStatus.REFUSED
    return replace(entry, status=status, problem=problem)
