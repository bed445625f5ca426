"""Dropping with RESTRICT and CASCADE, which Hive's views were designed with and never got (HIVE-1073, HIVE-1074).

CASCADE drops dependents first, each only if it still is what the plan saw. So whenever it is stopped, what is left
reads only what is there. A metastore has no lock for "nobody may create a view over this": dependents that are created
meanwhile are looked for before each drop and once more at the end.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from hive_views.dependencies.graph import Dependent, DependentFinder, TransitiveDependents
from hive_views.dependencies.lineage import Lineage, LineageReader
from hive_views.errors import CommitFailedError, DependentsError, InvalidViewError, NoSuchViewError
from hive_views.identifiers import ViewName
from hive_views.io.deletion import delete_view_files
from hive_views.io.table_files import is_collected
from hive_views.metastore.commit.hive_view_commit import drop_hive_view
from hive_views.metastore.commit.view_commit import drop
from hive_views.metastore.identities import KINDS
from hive_views.metastore.queries import load_view
from hive_views.metastore.row_codec import Row, RowKind
from hive_views.metastore.shared_files import FileOwner, find_reason_to_keep_files, find_rows_sharing_files
from hive_views.metastore.store import LoadedView, MetastoreStore
from hive_views.spec.lineage_codec import ObjectKind

logger = logging.getLogger(__name__)

_MOST_ROUNDS = 20


class DropBehavior(Enum):
    """What happens to dependents, by SQL's keyword."""

    NONE = ""
    """Nothing: they are left dangling, as Hive does."""
    RESTRICT = "restrict"
    """Nothing is dropped where there are any."""
    CASCADE = "cascade"
    """They are dropped too."""


@dataclass(frozen=True)
class DropStep:
    """One object that will be dropped, or was."""

    name: ViewName
    """Its name."""
    kind: ObjectKind
    """What it is, or was."""
    reads: tuple[ViewName, ...] = ()
    """What it reads of the objects that go behind it; empty for the object that the caller named."""
    metadata_location: str | None = None
    """An Iceberg view's metadata file. In a plan: the state in which it was seen; in another one it is not dropped. In
    a report: the file by which `register_view` brings it back; None where it was purged."""
    text: str | None = None
    """A view of Hive's own: its text, which no file holds once it is dropped."""


@dataclass(frozen=True)
class DropPlan:
    """What a drop will do."""

    name: ViewName
    """The object that the caller named."""
    behavior: DropBehavior
    """What happens to dependents."""
    steps: tuple[DropStep, ...]
    """What will be dropped, in this order; nothing where it is refused."""
    dependents: tuple[ViewName, ...]
    """Everything that depends on the object, nearest first."""
    unknown: tuple[Lineage, ...] = ()
    """Views whose text cannot be read: they may depend on it as well, and are left alone."""

    @property
    def refused(self) -> bool:
        """Whether RESTRICT forbids it."""
        return self.behavior is DropBehavior.RESTRICT and bool(self.dependents)

    @property
    def left_dangling(self) -> tuple[ViewName, ...]:
        """The views that will stay and cannot be read any more."""
        return self.dependents if self.behavior is DropBehavior.NONE else ()


@dataclass(frozen=True)
class DropReport:
    """What a drop did."""

    steps: tuple[DropStep, ...]
    """What was dropped, in this order. Behind the object that the caller named: what was created over it meanwhile."""
    left_dangling: tuple[ViewName, ...] = ()
    """DependentFinder that somebody created while the object was dropped. With no keyword none are looked for."""

    @property
    def dropped(self) -> tuple[ViewName, ...]:
        """The names of what was dropped, in this order."""
        return tuple(step.name for step in self.steps)


def plan_drop(
    reader: LineageReader, name: ViewName, behavior: DropBehavior, *, databases: Sequence[str] | None = None
) -> DropPlan:
    """What a drop would do; nothing is changed."""
    row = reader.store.get_row(name)
    if row is None:
        raise NoSuchViewError(str(name))
    impact = DependentFinder(reader, databases=databases).all_of(name)
    own = DropStep(name, KINDS[row.kind], metadata_location=row.metadata_location)
    steps: tuple[DropStep, ...] = (own,)
    if behavior is DropBehavior.CASCADE:
        steps = (*_steps(impact), own)
    elif behavior is DropBehavior.RESTRICT and impact.views:
        steps = ()
    return DropPlan(name, behavior, steps, impact.views, impact.unknown)


def drop_object(
    reader: LineageReader,
    name: ViewName,
    behavior: DropBehavior,
    remove: Callable[[], DropStep],
    *,
    databases: Sequence[str] | None = None,
    purge_files: bool = False,
) -> DropReport:
    """Drop a table or view, and by CASCADE everything that depends on it, dependents first."""
    if behavior is DropBehavior.NONE:
        return DropReport((remove(),))
    plan = plan_drop(reader, name, behavior, databases=databases)
    if plan.refused:
        raise DependentsError(str(name), "drop", [str(item) for item in plan.dependents])
    dropped: list[DropStep] = []
    try:
        if behavior is DropBehavior.CASCADE:
            _drop_dependents(reader, name, databases, purge_files, dropped)
        own = remove()
    except BaseException:
        _tell(name, dropped)
        raise
    late: list[DropStep] = []
    try:
        if behavior is DropBehavior.CASCADE:
            _drop_dependents(reader, name, databases, purge_files, late)
        left = tuple(dependent.name for dependent in DependentFinder(reader, databases=databases).of(name))
    except BaseException:
        _tell(name, [*dropped, own, *late])
        raise
    if left:
        logger.warning(
            "%s was dropped; these views over it were created meanwhile: %s", name, ", ".join(map(str, left))
        )
    return DropReport((*dropped, own, *late), left)


def drop_view(
    store: MetastoreStore, name: ViewName, *, expected: str | None = None, purge_files: bool = False
) -> DropStep:
    """Drop one Iceberg view, whatever depends on it."""
    if not purge_files:
        return DropStep(name, ObjectKind.VIEW, metadata_location=drop(store, name, expected).metadata_location)
    loaded = load_view(store, name)
    expected = expected or loaded.row.metadata_location
    if not is_collected(loaded.metadata.properties):
        return DropStep(name, ObjectKind.VIEW, metadata_location=drop(store, name, expected).metadata_location)
    reject_shared_files(store, loaded)
    return drop_with_files(store, loaded, expected)


def reject_shared_files(store: MetastoreStore, loaded: LoadedView) -> None:
    """Refuse to delete a view's files where another name in the metastore needs them."""
    if not is_collected(loaded.metadata.properties):
        return  # they stay anyway
    shared = find_rows_sharing_files(store, view_owner(loaded))
    if shared:
        raise InvalidViewError(
            str(loaded.row.name),
            f"its files are also those of {shared[0]}, which was registered from one: drop it without purging",
        )


def view_owner(loaded: LoadedView) -> FileOwner:
    """A view as one whose files others may have."""
    known = (loaded.row.metadata_location, loaded.row.previous_metadata_location)
    return FileOwner(loaded.metadata.view_uuid, tuple(filter(None, known)), loaded.row.name)


def drop_with_files(store: MetastoreStore, loaded: LoadedView, expected: str | None) -> DropStep:
    """Drop a view, and delete its metadata files, if no other name has got them by then: else they stay."""
    row = drop(store, loaded.row.name, expected)
    kept = find_reason_to_keep_files(store, view_owner(loaded))
    if kept is not None:
        logger.warning("The files of %s are left, because %s", row.name, kept)
        return DropStep(row.name, ObjectKind.VIEW, metadata_location=row.metadata_location)
    delete_view_files(store.files, (row.metadata_location, row.previous_metadata_location), loaded.metadata)
    return DropStep(row.name, ObjectKind.VIEW)


def _drop_dependents(
    reader: LineageReader,
    name: ViewName,
    databases: Sequence[str] | None,
    purge_files: bool,
    dropped: list[DropStep],
) -> None:
    """Drop all that depends on an object, and look again until nothing does."""
    for _ in range(_MOST_ROUNDS):
        impact = DependentFinder(reader, databases=databases).all_of(name)
        if not impact.views:
            return
        circles = {name: group for group in impact.groups() for name in group}
        for dependent in _ordered(impact):
            # Somebody may have created a view over this one since. What other programs write is seen next round. Views
            # that read each other cannot be read as it is: none of them has to go before the others.
            late = DependentFinder(reader, databases=databases, recorded_only=True).of(dependent.name)
            if any(item.name not in circles[dependent.name] for item in late):
                break
            try:
                step = _drop_dependent(reader.store, dependent.row, purge_files)
            except (CommitFailedError, NoSuchViewError) as error:
                # It was changed, renamed or dropped: it may not depend on anything here any more.
                logger.info("%s changed while it was to be dropped: %s", dependent.name, error)
                break
            reads = tuple(sorted({child for view, child in impact.edges if view == dependent.name}))
            dropped.append(replace(step, reads=reads))
        else:
            return
    raise CommitFailedError(str(name), f"new dependents kept appearing for {_MOST_ROUNDS} rounds; it was not dropped")


def _drop_dependent(store: MetastoreStore, row: Row, purge_files: bool) -> DropStep:
    if row.kind is RowKind.HIVE_VIEW:
        drop_hive_view(store, row)
        return DropStep(row.name, ObjectKind.HIVE_VIEW, text=_text(row))
    try:
        return drop_view(store, row.name, expected=row.metadata_location, purge_files=purge_files)
    except InvalidViewError as error:
        logger.warning("%s is dropped without its files: %s", row.name, error.reason)
        return drop_view(store, row.name, expected=row.metadata_location)


def _text(row: Row) -> str | None:
    return (row.texts.expanded or row.texts.original) if row.kind is RowKind.HIVE_VIEW else None


def _tell(name: ViewName, dropped: Sequence[DropStep]) -> None:
    """Log what a drop that failed has dropped: the error is about the rest."""
    if dropped:
        shown = ", ".join(
            f"{step.name} ({step.metadata_location or step.text or 'no file is left'})" for step in dropped
        )
        logger.warning("The drop of %s failed half way. Dropped before: %s", name, shown)


def _steps(impact: TransitiveDependents) -> tuple[DropStep, ...]:
    gone = {*impact.views, impact.name}
    reads = {
        name: tuple(sorted({child for view, child in impact.edges if view == name} & gone)) for name in impact.views
    }
    return tuple(
        DropStep(item.name, KINDS[item.row.kind], reads[item.name], item.row.metadata_location, _text(item.row))
        for item in _ordered(impact)
    )


def _ordered(impact: TransitiveDependents) -> list[Dependent]:
    """The dependents, each before what it reads."""
    by_name = {dependent.name: dependent for dependent in impact}
    return [by_name[name] for name in impact.order()]
