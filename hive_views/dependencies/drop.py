"""DROP with RESTRICT and CASCADE, which were planned for Hive's views but not implemented (HIVE-1073, HIVE-1074).

CASCADE drops dependents first, each only if it is unchanged since it was read, so an interrupted cascade leaves only
views that can be read. Other programs may create views at any time, so dependents are searched for before each drop,
under the lock on the object (with CASCADE only those whose lineage is recorded), and once more at the end.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial

from hive_views.dependencies.graph import Dependent, DependentFinder, TransitiveDependents
from hive_views.dependencies.lineage import Lineage, LineageReader
from hive_views.errors import (
    CommitFailedError,
    DependentsError,
    HiveViewsError,
    InvalidPropertyError,
    InvalidViewError,
    NoSuchTableError,
    NoSuchViewError,
)
from hive_views.identifiers import ViewName
from hive_views.io.table_files import is_collected
from hive_views.metastore.commit.hive_view_commit import drop_hive_view
from hive_views.metastore.commit.table_commit import drop_iceberg_table
from hive_views.metastore.commit.view_commit import drop
from hive_views.metastore.hive_table_text import check_droppable, create_statement
from hive_views.metastore.identities import KINDS
from hive_views.metastore.queries import load_view
from hive_views.metastore.rows.row import Row, RowKind
from hive_views.metastore.shared_files import FileOwner, find_rows_sharing_files, purge_view_files
from hive_views.metastore.store import LoadedView, MetastoreStore
from hive_views.spec.lineage_codec import ObjectKind

logger = logging.getLogger(__name__)

_MAX_ROUNDS = 20
_MAX_SHOWN = 10


class DropBehavior(Enum):
    """How a drop treats dependents; the values are SQL's keywords."""

    NONE = ""
    """Ignore dependents, as Hive does; they can no longer be read."""
    RESTRICT = "restrict"
    """Drop nothing if there are dependents."""
    CASCADE = "cascade"
    """Drop the dependents too."""

    @staticmethod
    def of(behavior: DropBehavior | str, *, strict: bool) -> DropBehavior:
        """Return the behavior of a drop; in strict mode RESTRICT in place of NONE."""
        try:
            chosen = DropBehavior(behavior)
        except ValueError:
            raise InvalidPropertyError("behavior", str(behavior), "it must be restrict, cascade or empty") from None
        return DropBehavior.RESTRICT if chosen is DropBehavior.NONE and strict else chosen


@dataclass(frozen=True, kw_only=True)
class DropStep:
    """An object that will be dropped, or was dropped."""

    name: ViewName
    """Its name."""
    kind: ObjectKind
    """The kind of object."""
    reads: tuple[ViewName, ...] = ()
    """The objects that it reads and that are dropped after it; empty for the object that the caller named."""
    metadata_location: str | None = None
    """The metadata file. In a plan: the file that was current when the object was read; a view is dropped only if it
    still is. In a report: the file from which `register_view` or `register_table` restores the object; None if it was
    purged."""
    text: str | None = None
    """The text of a plain Hive view, which no file contains. For a Hive table, whose files a drop keeps, the statement
    that creates it again over these files (without partitions, which MSCK REPAIR TABLE finds), if it can be derived."""
    remaining_files: tuple[str, ...] = ()
    """In a report: the files that a purge could not delete, and directories that it could not search."""


@dataclass(frozen=True)
class DropPlan:
    """What a drop will do."""

    name: ViewName
    """The object that the caller named."""
    behavior: DropBehavior
    """How the drop treats dependents."""
    steps: tuple[DropStep, ...]
    """The objects that will be dropped, in this order; empty if the drop will be rejected."""
    dependents: tuple[ViewName, ...]
    """All dependents of the object, nearest first."""
    unknown: tuple[Lineage, ...] = ()
    """Views whose sources are not all known: they may depend on the object too, and are not dropped."""

    @property
    def is_rejected(self) -> bool:
        """Whether RESTRICT prevents the drop."""
        return self.behavior is DropBehavior.RESTRICT and bool(self.dependents)

    @property
    def left_dangling(self) -> tuple[ViewName, ...]:
        """The views that will remain but can no longer be read."""
        return self.dependents if self.behavior is DropBehavior.NONE else ()


@dataclass(frozen=True)
class DropReport:
    """What a drop did."""

    steps: tuple[DropStep, ...]
    """The dropped objects, in this order; dependents that were created during the drop follow the named object."""
    left_dangling: tuple[ViewName, ...] = ()
    """Dependents that were created during the drop and remain; always empty with `DropBehavior.NONE`."""
    unknown: tuple[Lineage, ...] = ()
    """Views whose sources are not all known: they may have read the object, and remain."""

    @property
    def dropped(self) -> tuple[ViewName, ...]:
        """The names of the dropped objects, in this order."""
        return tuple(step.name for step in self.steps)


def plan_drop(reader: LineageReader, name: ViewName, behavior: DropBehavior) -> DropPlan:
    """Return what a drop would do, without changing anything."""
    row = reader.store.get_row(name)
    if row is None:
        raise NoSuchViewError(str(name))
    check_droppable(row)
    dependents = DependentFinder(reader).find_all(name)
    own_step = DropStep(name=name, kind=KINDS[row.kind], metadata_location=row.metadata_location, text=text_of_row(row))
    steps: tuple[DropStep, ...] = (own_step,)
    if behavior is DropBehavior.CASCADE:
        steps = (*_cascade_steps(dependents), own_step)
    elif behavior is DropBehavior.RESTRICT and dependents.views:
        steps = ()
    return DropPlan(name, behavior, steps, dependents.views, dependents.unknown)


def drop_object(
    reader: LineageReader,
    name: ViewName,
    behavior: DropBehavior,
    remove: Callable[[Callable[[], None]], DropStep],
    *,
    purge_files: bool = False,
    finder: DependentFinder | None = None,
) -> DropReport:
    """Drop a table or view, and with CASCADE its dependents before it.

    `remove` drops the object. Before the drop it calls its argument, which searches for dependents, under the lock on
    the object if locks are used. The commit of a definition takes a shared lock on its sources, so this search finds a
    concurrent definition, or that commit is rejected. A `finder` of an earlier search reuses the rows that it has read.
    """
    if behavior is DropBehavior.NONE:
        return DropReport((remove(lambda: None),))
    finder = DependentFinder(reader) if finder is None else finder

    def check() -> None:
        if behavior is DropBehavior.CASCADE:
            _reject_new_dependents(reader, finder, name)
        else:
            finder.refresh()
            reject_dependents(finder, name)

    if reader.store.get_row(name) is None:
        raise NoSuchViewError(str(name))
    steps: list[DropStep] = []
    remaining: list[Dependent] = []
    try:
        if behavior is DropBehavior.CASCADE:
            _drop_with_dependents(reader, finder, name, partial(remove, check), purge_files, steps)
            _drop_dangling(reader, finder, purge_files, steps)
        else:
            steps.append(remove(check))
            finder.refresh([name])
            remaining = finder.find_dangling([name]).get(name, [])
    except HiveViewsError as error:
        # The message of other exceptions, such as an interruption, is not shown; for them the steps are logged below.
        error.add_completed_steps(*map(_describe_step, steps))
        raise
    except BaseException:
        if steps:
            logger.warning("The drop of %s failed. Before that: %s", name, "; ".join(map(_describe_step, steps)))
        raise
    unknown = tuple(lineage for lineage in finder.unknown() if lineage.view not in {step.name for step in steps})
    if unknown:
        reasons = "; ".join(f"{lineage.view}, because {lineage.problem}" for lineage in unknown[:_MAX_SHOWN])
        logger.warning("%s was dropped; %d view(s) may have read it: %s", name, len(unknown), reasons)
    left_dangling = tuple(dependent.name for dependent in remaining)
    if left_dangling:
        logger.warning(
            "%s was dropped; these views that read it were created meanwhile: %s",
            name,
            ", ".join(map(str, left_dangling)),
        )
    return DropReport(tuple(steps), left_dangling, unknown)


def reject_dependents(finder: DependentFinder, *names: ViewName) -> None:
    """Reject a drop of objects that have dependents; the error names the first object."""
    for name in names:
        views = finder.find_all(name).views
        if views:
            raise DependentsError(str(names[0]), "drop", [str(view) for view in views])


def drop_view(
    store: MetastoreStore,
    name: ViewName,
    *,
    expected: str | None = None,
    purge_files: bool = False,
    check: Callable[[], None] = lambda: None,
) -> DropStep:
    """Drop one Iceberg view regardless of dependents; `purge_files` deletes files that no other name uses.

    `check` is called under the lock on the view and may reject the drop.
    """
    loaded = load_view(store, name) if purge_files else None
    if loaded is None or not is_collected(loaded.metadata.properties):
        expected = expected or (loaded.row.metadata_location if loaded is not None else None)
        row = drop(store, name, expected, check=check)
        return DropStep(name=name, kind=ObjectKind.VIEW, metadata_location=row.metadata_location)
    reject_shared_files(store, loaded)
    row = drop(store, name, expected or loaded.row.metadata_location, check=check)
    # Another view may have been registered from the files since the check.
    kept, remaining_files = purge_view_files(store, view_owner(loaded), loaded.metadata)
    location = row.metadata_location if kept is not None or row.metadata_location in remaining_files else None
    return DropStep(
        name=row.name, kind=ObjectKind.VIEW, metadata_location=location, remaining_files=tuple(remaining_files)
    )


def reject_shared_files(store: MetastoreStore, loaded: LoadedView) -> None:
    """Reject the deletion of a view's files if another name in the metastore uses them."""
    if not is_collected(loaded.metadata.properties):
        return  # `gc.enabled=false` keeps the files
    shared = find_rows_sharing_files(store, view_owner(loaded))
    if shared:
        raise InvalidViewError(
            str(loaded.row.name),
            f"its files are also those of {shared[0]}, which was registered from one: drop it without purging",
        )


def view_owner(loaded: LoadedView) -> FileOwner:
    """Return a view as the owner of its metadata files."""
    locations = (loaded.row.metadata_location, loaded.row.previous_metadata_location)
    return FileOwner(loaded.metadata.view_uuid, tuple(filter(None, locations)), loaded.row.name)


class _NewDependentsError(CommitFailedError):
    """Dependents of an object were created after the search for its dependents."""


def _reject_new_dependents(
    reader: LineageReader, finder: DependentFinder, name: ViewName, ignored: Iterable[ViewName] = ()
) -> None:
    """Reject the drop of an object if it has new dependents with a recorded lineage; called under its lock."""
    recorded = DependentFinder(reader, databases=finder.databases, recorded_only=True)
    created = [str(item.name) for item in recorded.find_direct(name) if item.name not in ignored]
    if created:
        raise _NewDependentsError(str(name), f"views over it were created meanwhile: {', '.join(created[:_MAX_SHOWN])}")


def _drop_with_dependents(
    reader: LineageReader,
    finder: DependentFinder,
    name: ViewName,
    remove: Callable[[], DropStep],
    purge_files: bool,
    steps: list[DropStep],
) -> None:
    """Drop an object after its dependents; repeat this while new dependents are created."""
    for _ in range(_MAX_ROUNDS):
        finder.refresh(step.name for step in steps)
        _drop_dependents(reader, finder, name, purge_files, steps)
        try:
            steps.append(remove())
        except _NewDependentsError as error:
            logger.info("%s is not dropped yet: %s", name, error)
        else:
            return
    raise _new_dependents_in_all_rounds(name)


def _drop_dangling(reader: LineageReader, finder: DependentFinder, purge_files: bool, steps: list[DropStep]) -> None:
    """Drop the views that read a dropped object whose name is unused; other programs may have created some."""
    for _ in range(_MAX_ROUNDS):
        finder.refresh(step.name for step in steps)
        dangling = finder.find_dangling([step.name for step in steps])
        if not dangling:
            return
        for name in dangling:
            _drop_dependents(reader, finder, name, purge_files, steps)
    raise _new_dependents_in_all_rounds(steps[-1].name)


def _new_dependents_in_all_rounds(name: ViewName) -> CommitFailedError:
    return CommitFailedError(str(name), f"new dependents were created during {_MAX_ROUNDS} rounds of the cascade")


def _drop_dependents(
    reader: LineageReader, finder: DependentFinder, name: ViewName, purge_files: bool, steps: list[DropStep]
) -> None:
    """Drop everything that depends on an object, in rounds until there are no dependents."""
    for _ in range(_MAX_ROUNDS):
        dependents = finder.find_all(name)
        if not dependents.views:
            return
        cycles = {view: group for group in dependents.groups() for view in group}
        for dependent in _ordered(dependents):
            # Views that other programs create over this one are found in the next round. Members of a cycle cannot be
            # read anyway, so they may be dropped in any order.
            check = partial(_reject_new_dependents, reader, finder, dependent.name, cycles[dependent.name])
            try:
                step = _drop_dependent(reader.store, dependent.row, purge_files, check)
            except (CommitFailedError, NoSuchTableError, NoSuchViewError) as error:
                # The view was changed, renamed or dropped and may not depend on the object now, or has new dependents.
                logger.info("%s changed while it was to be dropped: %s", dependent.name, error)
                break
            steps.append(replace(step, reads=_sources(dependents, dependent.name)))
        else:
            return
        finder.refresh(dependents.views)
    raise _new_dependents_in_all_rounds(name)


def _drop_dependent(store: MetastoreStore, row: Row, purge_files: bool, check: Callable[[], None]) -> DropStep:
    if row.kind is RowKind.HIVE_VIEW:
        drop_hive_view(store, row, check=check)
        return DropStep(name=row.name, kind=ObjectKind.HIVE_VIEW, text=text_of_row(row))
    if row.kind is RowKind.ICEBERG_TABLE:
        dropped = drop_iceberg_table(store, row, check=check)
        return DropStep(name=row.name, kind=ObjectKind.TABLE, metadata_location=dropped.metadata_location)
    try:
        return drop_view(store, row.name, expected=row.metadata_location, purge_files=purge_files, check=check)
    except InvalidViewError as error:
        logger.warning("%s is dropped without its files: %s", row.name, error.reason)
        return drop_view(store, row.name, expected=row.metadata_location, check=check)


def text_of_row(row: Row) -> str | None:
    """Return the text that a drop would lose: a plain Hive view's, or the statement that creates a Hive table again."""
    if row.kind is RowKind.HIVE_TABLE:
        return create_statement(row)
    return (row.texts.expanded or row.texts.original) if row.kind is RowKind.HIVE_VIEW else None


def _describe_step(step: DropStep) -> str:
    return f"{step.name} was dropped ({step.metadata_location or step.text or 'no file is left'})"


def _cascade_steps(dependents: TransitiveDependents) -> tuple[DropStep, ...]:
    return tuple(
        DropStep(
            name=dependent.name,
            kind=KINDS[dependent.row.kind],
            reads=_sources(dependents, dependent.name),
            metadata_location=dependent.row.metadata_location,
            text=text_of_row(dependent.row),
        )
        for dependent in _ordered(dependents)
    )


def _sources(dependents: TransitiveDependents, name: ViewName) -> tuple[ViewName, ...]:
    """Return which of the dropped objects a dependent reads."""
    return tuple(sorted({source for view, source in dependents.edges if view == name}))


def _ordered(dependents: TransitiveDependents) -> list[Dependent]:
    """Return the dependents, each before what it reads."""
    by_name = {dependent.name: dependent for dependent in dependents}
    return [by_name[name] for name in dependents.order()]
