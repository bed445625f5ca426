"""Planning, copying and reverting.

A copy is a metadata file of its own in the target's warehouse, with the view's UUID and all its versions, that is
registered in the target catalog. Each copy is in a journal before it is made, is read back, and can be reverted.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import (
    NoSuchNamespaceError,
    NoSuchViewError,
    RESTError,
)

from hive_views.catalog.catalog import HiveViewCatalog
from hive_views.catalog.views import HiveView
from hive_views.config import URI
from hive_views.dependencies.lineage import dependency_names
from hive_views.errors import (
    CommitFailedError,
    HiveViewsError,
    InvalidPropertyError,
    MetastoreConnectionLostError,
    MetastoreUnavailableError,
)
from hive_views.identifiers import ViewName
from hive_views.metastore.commit.view_properties import new_view_location
from hive_views.metastore.names import check_new_table
from hive_views.spec.file_codec import new_location
from hive_views.spec.metadata import ViewMetadata
from hive_views.text_enum import TextEnum
from hive_views.view_copy.catalogs import (
    CATALOG_ERRORS,
    address_of,
    drop_view,
    errors_of,
    files_of,
    is_rejection,
    is_unchanged,
    load_metadata,
    load_view,
    namespace_location,
)
from hive_views.view_copy.journal import CopyJournal, JournalEntry, read_journal
from hive_views.view_copy.metadata import copy_metadata, fingerprint, metadata_of, unknown_keys

CopyProgress = Callable[[int, int, str], None]
"""Called after each view with the number of finished views, of all views, and what is done with them."""


class CopyStatus(Enum):
    """The state of one view of a copy."""

    READY = "ready"
    """It can be copied."""
    COPIED = "copied"
    """It was copied, and the copy was read back."""
    PRESENT = "present"
    """The target has an equal view with the same UUID already."""
    REFUSED = "refused"
    """The target cannot have it; `problem` has the reason. Nothing was written."""
    FAILED = "failed"
    """The target rejected it."""
    UNKNOWN = "unknown"
    """The target did not answer, or the copy could not be read back; a repetition determines whether it exists."""


@dataclass(frozen=True)
class CopiedView:
    """One view of a copy, planned or done."""

    name: str
    """Its name in both catalogs."""
    status: CopyStatus
    """Its state."""
    notes: tuple[str, ...] = ()
    """What the copy lacks, or what it needs in the target."""
    problem: str | None = None
    """Why it was not copied."""
    metadata_location: str | None = None
    """The metadata file of the copy."""


class RevertOutcome(TextEnum):
    """What a revert did with one copy."""

    DROPPED = "dropped"
    ABSENT = "absent"
    """The target has no such view."""
    CHANGED = "changed"
    """It is not the copy any more, and was kept."""
    FAILED = "failed"
    """It could not be read or dropped."""
    UNKNOWN = "unknown"
    """The target did not answer the drop."""


@dataclass(frozen=True)
class RevertedView:
    """One copy of a journal after a revert."""

    name: str
    """The view."""
    outcome: RevertOutcome
    """`dropped`; `absent` if the target has no such view; `changed` if it is not the copy any more and was kept;
    `failed` if it could not be read or dropped; `unknown` if the target did not answer the drop."""
    metadata_location: str
    """The metadata file of the copy. Metastores keep it; a REST server may delete it with the view."""
    problem: str | None = None
    """The error of a view that was not dropped; of an absent one, that the journal is of another catalog."""


@dataclass(frozen=True)
class _Prepared:
    view: CopiedView
    metadata: ViewMetadata | None = None


def plan_copy(
    source: Catalog,
    target: Catalog,
    names: Iterable[str],
    *,
    location: str | None = None,
    progress: CopyProgress = lambda *_: None,
) -> list[CopiedView]:
    """Determine what a copy would do. Writes nothing.

    Args:
        source: The catalog of the views: a `HiveViewCatalog`, or PyIceberg's REST catalog.
        target: The catalog for the copies, likewise; a REST server must support the registration of views.
        names: The views, as `namespace.name`.
        location: The directory for the copies' files, as a URI; None puts them below the namespace's location.
        progress: Called after each view.

    Returns:
        The views in the given order, with the status `ready`, `present` or `refused`.

    Raises:
        InvalidPropertyError: If both catalogs are on the same metastore.
        CatalogUnavailableError: If a REST catalog cannot be read.
        HiveViewsError: If a metastore cannot be read.
    """
    names = list(dict.fromkeys(names))
    return list(_planned(source, target, names, location, _present(names), progress))


def copy_views(
    source: Catalog,
    target: Catalog,
    names: Iterable[str],
    *,
    journal: str | os.PathLike[str],
    location: str | None = None,
    progress: CopyProgress = lambda *_: None,
) -> list[CopiedView]:
    """Copy views; a repetition copies only those that are missing in the target.

    Args:
        source: As for `plan_copy`.
        target: As for `plan_copy`.
        names: As for `plan_copy`.
        journal: The file that records the copies, for `revert_copies`; an existing one is extended.
        location: As for `plan_copy`.
        progress: Called after the plan of each view, and after its copy.

    Returns:
        The views in the given order. A view that the plan did not refuse is read again before it is copied.

    Raises:
        InvalidPropertyError: If both catalogs are on the same metastore.
        JournalError: If the journal cannot be written, or another run is writing it.
        CatalogUnavailableError: If a REST catalog cannot be read. `completed_steps` names the views that were copied
            before; they are also in the journal.
        HiveViewsError: If a metastore cannot be read; likewise.
    """
    names = list(dict.fromkeys(names))
    present = _present(names)
    planned = list(_planned(source, target, names, location, present, progress))
    copied: list[CopiedView] = []
    with CopyJournal(Path(journal)) as log:
        for view in planned:
            if view.status is CopyStatus.READY:
                try:
                    with errors_of(source, target):
                        prepared = _prepare_one(source, target, view.name, location, present)
                    view = prepared.view
                    if prepared.metadata is not None:
                        view = _copy(target, view, prepared.metadata, log)
                except HiveViewsError as error:
                    done = (each.name for each in copied if each.status is CopyStatus.COPIED)
                    error.add_completed_steps(*(f"{name} was copied" for name in done))
                    raise
            copied.append(view)
            progress(len(copied), len(planned), "copying")
    return copied


def revert_copies(
    target: Catalog, journal: str | os.PathLike[str], *, progress: CopyProgress = lambda *_: None
) -> list[RevertedView]:
    """Drop the copies of a journal, newest first, unless they were changed.

    A view that is equal to a copy but has other files is kept: it may be the original. A metastore drops a copy only in
    the state that was checked. The drop of a REST catalog has no condition: it also drops a change that was made after
    the check, which is the request before the drop.

    Args:
        target: The catalog with the copies.
        journal: The file that `copy_views` wrote.
        progress: Called after each view.

    Returns:
        The views of the journal. A repetition continues with those that failed or are unknown.

    Raises:
        JournalError: If the journal cannot be read.
    """
    entries: dict[str, list[JournalEntry]] = {}
    for entry in read_journal(Path(journal)):
        entries.setdefault(entry.view, []).append(entry)
    reverted: list[RevertedView] = []
    for name, copies in reversed(entries.items()):
        reverted.append(_revert(target, name, copies))
        progress(len(reverted), len(entries), "reverting")
    return reverted


def _revert(target: Catalog, name: str, copies: list[JournalEntry]) -> RevertedView:
    """Drop the copy of a name."""
    is_sent = False
    problem = None
    try:
        view = load_view(target, name)
        if view is None:
            outcome, problem = RevertOutcome.ABSENT, _other_target(target, copies[-1])
        elif not any(is_unchanged(view, entry.metadata_location, entry.fingerprint) for entry in copies):
            outcome = RevertOutcome.CHANGED
        else:
            is_sent = True
            drop_view(target, name, view)
            outcome = RevertOutcome.DROPPED
    except CommitFailedError as error:
        outcome, problem = RevertOutcome.CHANGED, str(error)
    except (NoSuchViewError, NoSuchNamespaceError):
        outcome, problem = RevertOutcome.ABSENT, _other_target(target, copies[-1])
    except CATALOG_ERRORS as error:
        is_unknown = is_sent and not is_rejection(error)
        outcome, problem = RevertOutcome.UNKNOWN if is_unknown else RevertOutcome.FAILED, str(error)
    return RevertedView(name, outcome, copies[-1].metadata_location, problem)


def _other_target(target: Catalog, entry: JournalEntry) -> str | None:
    """Return a sentence if the journal was written for another catalog."""
    address = address_of(target)
    if entry.target is None or entry.target == address:
        return None
    return f"the copy was made in the catalog at {entry.target}, and this one is at {address}"


def _planned(
    source: Catalog,
    target: Catalog,
    names: list[str],
    location: str | None,
    present: dict[str, bool],
    progress: CopyProgress,
) -> Iterator[CopiedView]:
    """Read the views and check what the target can hold."""
    uris = [catalog.properties.get(URI) for catalog in (source, target) if isinstance(catalog, HiveViewCatalog)]
    if len(uris) == 2 and uris[0] == uris[1]:
        raise InvalidPropertyError(URI, uris[0], "both catalogs are on this metastore, where a UUID names one view")
    for number, name in enumerate(names, 1):
        with errors_of(source, target):
            yield _prepare_one(source, target, name, location, present).view
        progress(number, len(names), "planning")


def _present(names: Iterable[str]) -> dict[str, bool]:
    """Which names the target has or will have: those of the copy itself; others are looked up when they are read."""
    return dict.fromkeys(map(str.lower, names), True)


def _prepare_one(
    source: Catalog, target: Catalog, name: str, location: str | None, present: dict[str, bool]
) -> _Prepared:
    def refused(problem: str) -> _Prepared:
        return _Prepared(CopiedView(name, CopyStatus.REFUSED, problem=problem))

    try:
        view = load_view(source, name)
        if view is None:
            return refused("the source has no such view")
        if isinstance(view, HiveView) and view.unrecorded_text is not None:
            return refused(
                "another program changed the text of its row, and no version has this text: make it a version with "
                "`adopt`, or write the current version's text back with `repair`"
            )
        original = metadata_of(view)
    except (MetastoreUnavailableError, MetastoreConnectionLostError):
        raise
    except (HiveViewsError, RESTError, ValueError) as error:
        return refused(f"it cannot be read in the source: {error}")
    namespace = tuple(name.split(".")[:-1])
    try:
        if isinstance(target, HiveViewCatalog):
            check_new_table(target.store.client, ViewName.parse(name, catalog=target.name))
        if not target.namespace_exists(namespace):
            return refused(f"the target has no namespace {'.'.join(namespace)}: create it first")
        metadata, notes = copy_metadata(
            original, separate_location(copy_location(target, name, location), original.location)
        )
        existing = load_metadata(target, name)
        if existing is not None and fingerprint(existing) == fingerprint(metadata):
            return _Prepared(CopiedView(name, CopyStatus.PRESENT))
        if existing is not None or target.table_exists(name):
            return refused("the target has another view or table of this name")
    except (MetastoreUnavailableError, MetastoreConnectionLostError):
        raise
    except HiveViewsError as error:
        return refused(str(error))
    if isinstance(view, HiveView) and (drift := view.drift):
        changed = ", ".join(difference.field for difference in drift)
        notes = (*notes, f"its row has other values, which are not copied: {changed}")
    notes = (*notes, *_reading_notes(target, name, metadata, present))
    if not isinstance(target, HiveViewCatalog) and (keys := unknown_keys(metadata)):
        notes = (*notes, f"the server may drop these keys with the next change: {', '.join(keys)}")
    return _Prepared(CopiedView(name, CopyStatus.READY, notes), metadata)


def _reading_notes(target: Catalog, name: str, metadata: ViewMetadata, present: dict[str, bool]) -> Iterator[str]:
    """What readers of the copy need; `present` is extended."""
    version = metadata.current_version()
    if version.default_catalog:
        yield f"its names are resolved in the reader's catalog {version.default_catalog}"
    for source in dependency_names(version, name.split(".")[-2]) or ():
        source_name = f"{source.database}.{source.name}"
        if source_name not in present:
            present[source_name] = target.table_exists(source_name) or target.view_exists(source_name)
        if not present[source_name]:
            yield f"it reads {source_name}, which the target does not have"
    if isinstance(target, HiveViewCatalog) and name != name.lower():
        yield f"its name becomes {name.lower()}"
    if isinstance(target, HiveViewCatalog) and "hive" not in version.dialects:
        yield "it has no text of the dialect hive: plain Spark and Hive read it after `recompile`"


def _copy(target: Catalog, view: CopiedView, metadata: ViewMetadata, journal: CopyJournal) -> CopiedView:
    """Write the metadata file, register it and read the copy back."""
    files = files_of(target)
    location = new_location(metadata, None, str(uuid.uuid4()))
    journal.append(JournalEntry(view.name, location, fingerprint(metadata), address_of(target)))
    files.write(location, metadata)
    copied = replace(view, status=CopyStatus.COPIED, metadata_location=location)
    try:
        target.register_view(view.name, location)
    except CATALOG_ERRORS as error:
        if not is_rejection(error):
            return replace(copied, status=CopyStatus.UNKNOWN, problem=str(error))
        # The file stays: the journal lists it, and a file without a row does no harm.
        return replace(copied, status=CopyStatus.FAILED, problem=str(error))
    try:
        registered = load_metadata(target, view.name)
    except CATALOG_ERRORS as error:
        return replace(copied, status=CopyStatus.UNKNOWN, problem=f"it was copied, and cannot be read back: {error}")
    if registered is None or fingerprint(registered) != fingerprint(metadata):
        return replace(
            copied, status=CopyStatus.FAILED, problem="the target returns another definition than was copied"
        )
    return copied


def copy_location(target: Catalog, name: str, location: str | None) -> str:
    """Return the base location of a copy."""
    *namespace, view = name.split(".")
    if location is not None:
        if not re.match("/|[A-Za-z][A-Za-z0-9+.-]*:/", location):
            raise InvalidPropertyError(
                "location", location, "write a URI, such as s3://bucket/copies, or an absolute path"
            )
        return f"{location.rstrip('/')}/{'/'.join(namespace)}/{view}"
    if isinstance(target, HiveViewCatalog):
        return new_view_location(target.store, ViewName.parse(name, catalog=target.name), None)
    base = namespace_location(target, tuple(namespace))
    if base is None:
        raise InvalidPropertyError(
            "location", None, f"the namespace {'.'.join(namespace)} has no location, so name a directory for the copies"
        )
    return f"{base}/{view}"


def separate_location(location: str, original: str) -> str:
    """Return a base location other than the original's, for catalogs with one warehouse."""
    paths = {re.sub("^[a-z0-9]+:/*", "/", each).rstrip("/") for each in (location, original)}
    return f"{location.rstrip('/')}-{uuid.uuid4().hex}" if len(paths) == 1 else location
