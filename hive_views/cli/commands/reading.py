"""Commands that only look: list, show, history, diff. Plain functions, for Python as for the command line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timezone
from difflib import unified_diff
from typing import TYPE_CHECKING, Annotated

import typer

from hive_views.cli.columns import type_text
from hive_views.cli.values import (
    Column,
    ColumnDifference,
    Drift,
    HistoryEntry,
    ListedView,
    Representation,
    Row,
    TextDifference,
    Version,
    VersionHead,
    ViewDetails,
    ViewDiff,
    ViewHistory,
    ViewList,
)
from hive_views.errors import NoSuchNamespaceError, NoSuchVersionError

if TYPE_CHECKING:
    from hive_views.catalog.catalog import HiveViewCatalog
    from hive_views.catalog.views import HiveView
    from hive_views.spec.metadata import ViewMetadata, ViewVersion

ViewArgument = Annotated[str, typer.Argument(metavar="NAME")]
"""A view's name on the command line."""

TYPED = "typed"
"""What a difference of the author's text is called where no dialect holds that text."""


def list_views(
    catalog: HiveViewCatalog, database: Annotated[str | None, typer.Argument(metavar="[DATABASE]")] = None
) -> ViewList:
    """List the Iceberg views of a database, or of all databases.

    Args:
        catalog: Where to look.
        database: The database; all of them by default.

    Returns:
        The views, sorted by database and name.

    Raises:
        NoSuchNamespaceError: If there is no such database.
    """
    if database is not None:
        names = catalog.list_views(database)
    else:
        names = []
        for (each,) in sorted(catalog.list_namespaces()):
            try:
                names += catalog.list_views(each)
            except NoSuchNamespaceError:
                continue  # dropped since it was listed
    return ViewList(tuple(ListedView(".".join(name), name[0], name[1]) for name in names))


def show_view(
    catalog: HiveViewCatalog,
    name: ViewArgument,
    *,
    version: Annotated[int | None, typer.Option("--version", metavar="N")] = None,
) -> ViewDetails:
    """Show a view: texts, columns, properties, where it is stored, its history, and where others changed its row.

    Args:
        catalog: Where it is.
        name: The view, as database.name.
        version: Show the texts and columns of this version in place of the current one.

    Returns:
        All that is known of it.

    Raises:
        NoSuchViewError: If there is no such view.
        NoSuchVersionError: If its metadata does not hold that version.
    """
    view = catalog.load_view(name)
    metadata = view.metadata
    database, short = view.name()
    return ViewDetails(
        view=view_name(view),
        database=database,
        name=short,
        uuid=metadata.view_uuid,
        comment=metadata.properties.get("comment"),
        owner=view.owner,
        create_time=iso_time(view.create_time * 1000, timespec="seconds"),
        location=metadata.location,
        metadata_location=view.metadata_location,
        previous_metadata_location=view.previous_metadata_location,
        current_version_id=metadata.current_version_id,
        version_ids=tuple(item.version_id for item in metadata.versions),
        version=_version(metadata, _held(view, metadata.current_version_id if version is None else version)),
        row=Row(view.original_text, view.expanded_text, view.parameters),
        drift=tuple(Drift(item.field, item.row, item.file) for item in view.drift),
        properties=dict(metadata.properties),
        history=tuple(_entries(metadata)),
    )


def view_history(catalog: HiveViewCatalog, name: ViewArgument) -> ViewHistory:
    """Show which version of a view was made current when, by what, and by which engine.

    Args:
        catalog: Where it is.
        name: The view, as database.name.

    Returns:
        Its version log, oldest first.

    Raises:
        NoSuchViewError: If there is no such view.
    """
    view = catalog.load_view(name)
    return ViewHistory(view_name(view), view.metadata.current_version_id, tuple(_entries(view.metadata)))


def diff_versions(
    catalog: HiveViewCatalog,
    name: ViewArgument,
    old: Annotated[int, typer.Argument(metavar="FROM")],
    new: Annotated[int, typer.Argument(metavar="TO")],
) -> ViewDiff:
    """Compare two versions of a view: each text, and the columns. Properties have no versions.

    Args:
        catalog: Where it is.
        name: The view, as database.name.
        old: The version to compare from.
        new: The version to compare to.

    Returns:
        What differs.

    Raises:
        NoSuchViewError: If there is no such view.
        NoSuchVersionError: If its metadata does not hold one of the versions.
    """
    view = catalog.load_view(name)
    sides = _version(view.metadata, _held(view, old)), _version(view.metadata, _held(view, new))
    return ViewDiff(
        view=view_name(view),
        old=_head(sides[0]),
        new=_head(sides[1]),
        texts=tuple(_text_differences(*sides)),
        columns=tuple(_column_differences(*sides)),
    )


def view_name(view: HiveView) -> str:
    """A view's name as a user writes it."""
    return ".".join(view.name())


def iso_time(milliseconds: int, *, timespec: str = "milliseconds") -> str:
    """A time in ISO 8601, UTC.

    Args:
        milliseconds: From the epoch.
        timespec: Its precision, as `datetime.isoformat` names it.

    Returns:
        E.g. `2026-01-31T12:00:00.000Z`; the number itself where it is beyond the calendar.
    """
    try:
        time = datetime.fromtimestamp(milliseconds / 1000, timezone.utc)
    except (OverflowError, ValueError, OSError):
        return str(milliseconds)
    return time.replace(tzinfo=None).isoformat(timespec=timespec) + "Z"


def _held(view: HiveView, version_id: int) -> ViewVersion:
    version = view.version(version_id)
    if version is None:
        raise NoSuchVersionError(view_name(view), str(version_id), [item.version_id for item in view.metadata.versions])
    return version


def _version(metadata: ViewMetadata, version: ViewVersion) -> Version:
    from hive_views.spec.metadata import SQLViewRepresentation
    from hive_views.spec.version_texts import row_texts

    generated = version.generated_dialects
    texts = row_texts(version)
    representations = []
    for item in version.representations:
        if isinstance(item.root, SQLViewRepresentation):
            dialect = item.root.dialect
            made = dialect.lower() in generated
            representations.append(Representation("sql", dialect, item.root.sql, made))
        else:
            representations.append(Representation(item.root.type, None, None, False))
    schema = metadata.raw_schema(version.schema_id) or {"fields": []}
    return Version(
        version_id=version.version_id,
        current=version.version_id == metadata.current_version_id,
        timestamp_ms=version.timestamp_ms,
        time=iso_time(version.timestamp_ms),
        operation=version.operation,
        engine=_engine(version),
        default_catalog=version.default_catalog,
        default_namespace=tuple(version.default_namespace),
        original_text=texts.original,
        expanded_text=texts.expanded,
        representations=tuple(representations),
        columns=tuple(
            Column(field["id"], field["name"], type_text(field["type"]), field["required"], field.get("doc"))
            for field in schema["fields"]
        ),
        summary=dict(version.summary),
    )


def _engine(version: ViewVersion) -> str | None:
    name = version.summary.get("engine-name")
    engine_version = version.summary.get("engine-version")
    return f"{name} {engine_version}" if name and engine_version else name


def _entries(metadata: ViewMetadata) -> Iterator[HistoryEntry]:
    last = len(metadata.version_log) - 1
    seen: Counter[int] = Counter()
    for index, entry in enumerate(metadata.version_log):
        version = metadata.version(entry.version_id)
        repeated = seen[entry.version_id] > 0
        seen[entry.version_id] += 1
        yield HistoryEntry(
            version_id=entry.version_id,
            timestamp_ms=entry.timestamp_ms,
            time=iso_time(entry.timestamp_ms),
            operation=None if version is None else "rollback" if repeated else version.operation,
            engine=None if version is None else _engine(version),
            current=index == last and entry.version_id == metadata.current_version_id,
            expired=version is None,
        )


def _head(version: Version) -> VersionHead:
    return VersionHead(version.version_id, version.time, version.default_catalog, version.default_namespace)


def _texts(version: Version) -> dict[str, str]:
    texts: dict[str, str] = {}
    for item in version.representations:
        if item.dialect is not None and item.sql is not None:
            texts.setdefault(item.dialect.lower(), item.sql)
    return texts


def _text_differences(old: Version, new: Version) -> Iterator[TextDifference]:
    before, after = _texts(old), _texts(new)
    if any(side.original_text not in (None, *texts.values()) for side, texts in ((old, before), (new, after))):
        before = {TYPED: old.original_text or "", **before}
        after = {TYPED: new.original_text or "", **after}
    for text in dict.fromkeys((*before, *after)):
        one, other = before.get(text), after.get(text)
        change = "added" if one is None else "removed" if other is None else "same" if one == other else "changed"
        lines = unified_diff(
            (one or "").splitlines(),
            (other or "").splitlines(),
            f"version {old.version_id} ({text})",
            f"version {new.version_id} ({text})",
            lineterm="",
        )
        yield TextDifference(text, change, "\n".join(lines))


def _column_differences(old: Version, new: Version) -> Iterator[ColumnDifference]:
    before = {column.name.lower(): (place, column) for place, column in enumerate(old.columns)}
    after = {column.name.lower(): (place, column) for place, column in enumerate(new.columns)}
    for key, (_, column) in before.items():
        if key not in after:
            yield ColumnDifference(column.name, "removed", column, None)
    kept_before = [key for key in before if key in after]
    kept_after = [key for key in after if key in before]
    for key, (_, column) in after.items():
        if key not in before:
            yield ColumnDifference(column.name, "added", None, column)
            continue
        former = before[key][1]
        if (former.name, former.type, former.required, former.comment) != (
            column.name,
            column.type,
            column.required,
            column.comment,
        ):
            yield ColumnDifference(column.name, "changed", former, column)
        elif kept_before.index(key) != kept_after.index(key):
            yield ColumnDifference(column.name, "moved", former, column)
