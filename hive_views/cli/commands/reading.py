"""The commands list, show, history and diff: plain functions, their results, and the text printed for them.

The fields of a result are the keys of its JSON document, which docs/cli.md describes. Fields may be added in later
versions; none is renamed or removed. A field without a value is null, never left out. Times are given in milliseconds
from the epoch, as ISO 8601 in UTC, or both.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from difflib import unified_diff
from typing import TYPE_CHECKING, Annotated

import typer

from hive_views.cli.binding import Command, bind
from hive_views.cli.columns import type_text
from hive_views.cli.connection import complete_view
from hive_views.cli.output import bar, print_line, print_table, shown
from hive_views.config import ENGINES
from hive_views.errors import (
    MetastoreRefusedError,
    NoSuchNamespaceError,
    NoSuchVersionError,
    NotAnIcebergViewError,
)
from hive_views.text_enum import TextEnum

if TYPE_CHECKING:
    from rich.text import Text

    from hive_views.catalog.catalog import HiveViewCatalog
    from hive_views.catalog.views import HiveView
    from hive_views.dependencies.table_findings import EngineFinding
    from hive_views.metastore.drift import Difference
    from hive_views.metastore.rows.row import Row
    from hive_views.spec.metadata import ViewMetadata, ViewVersion
    from hive_views.sql.analysis.validity import ViewProblem

ViewArgument = Annotated[
    str,
    typer.Argument(metavar="NAME", help="The view, as database.name.", autocompletion=complete_view),
]
"""A view's name on the command line."""

TYPED = "typed"
"""The name of the typed text in a diff, if no dialect has that text."""

VIEW = "view"
"""The kind of an Iceberg view."""
METRIC_VIEW = "metric-view"
"""The kind of a view that Spark created WITH METRICS."""
HIVE_MATERIALIZED, TRINO_MATERIALIZED = "hive-materialized-view", "trino-materialized-view"
"""The kinds of materialized views of other programs."""
INDEX_TABLE = "hive-index-table"
"""The kind of a table with an index of Hive before 3."""

_INDENT = "  "


@dataclass(frozen=True)
class ViewListEntry:
    """A view in a list."""

    view: str
    database: str
    name: str
    kind: str = VIEW
    """`unknown` if the metastore refuses to return the row."""
    owner: str | None = None
    comment: str | None = None
    problem: str | None = None
    """Why the row cannot be read."""


@dataclass(frozen=True)
class ViewList:
    """The result of `list`."""

    views: tuple[ViewListEntry, ...]


@dataclass(frozen=True)
class VersionColumn:
    """A column of a version."""

    id: int
    name: str
    type: str
    required: bool
    comment: str | None


@dataclass(frozen=True)
class Representation:
    """A representation of a version's definition."""

    type: str
    dialect: str | None
    sql: str | None
    generated: bool


@dataclass(frozen=True, kw_only=True)
class Version:
    """A version of a view."""

    version_id: int
    current: bool
    timestamp_ms: int
    time: str
    operation: str
    engine: str | None
    default_catalog: str | None
    default_namespace: tuple[str, ...]
    original_text: str | None
    expanded_text: str | None
    representations: tuple[Representation, ...]
    columns: tuple[VersionColumn, ...]
    summary: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class HistoryEntry:
    """An entry of the version log."""

    version_id: int
    timestamp_ms: int
    time: str
    operation: str | None
    engine: str | None
    current: bool
    expired: bool


@dataclass(frozen=True)
class ViewHistory:
    """The result of `history`."""

    view: str
    current_version_id: int
    entries: tuple[HistoryEntry, ...]


@dataclass(frozen=True)
class DisplayedRow:
    """The metastore's row, as Hive and plain Spark read it."""

    original_text: str | None
    expanded_text: str | None
    parameters: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class ViewDetails:
    """The result of `show`."""

    view: str
    database: str
    name: str
    uuid: str
    comment: str | None
    owner: str | None
    create_time: str
    location: str
    metadata_location: str
    previous_metadata_location: str | None
    current_version_id: int
    version_ids: tuple[int, ...]
    version: Version
    row: DisplayedRow
    drift: tuple[Difference, ...]
    validity: str
    problems: tuple[ViewProblem, ...]
    properties: dict[str, str]
    history: tuple[HistoryEntry, ...]
    engines: tuple[EngineFinding, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class PlainViewDetails:
    """The result of `show` for a plain Hive view, which has no metadata file."""

    view: str
    kind: str
    owner: str | None
    create_time: str
    comment: str | None
    columns: tuple[tuple[str, str, str | None], ...]
    row: DisplayedRow
    validity: str
    problems: tuple[ViewProblem, ...]
    import_command: str


@dataclass(frozen=True)
class VersionHead:
    """One side of a comparison."""

    version_id: int
    time: str
    default_catalog: str | None
    default_namespace: tuple[str, ...]


class Change(TextEnum):
    """How a text or a column of two versions differs."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"
    MOVED = "moved"
    SAME = "same"


@dataclass(frozen=True)
class TextDifference:
    """The difference between the texts of two versions."""

    text: str
    change: str
    diff: str


@dataclass(frozen=True)
class ColumnDifference:
    """The difference between a column of two versions."""

    name: str
    change: str
    old: VersionColumn | None
    new: VersionColumn | None


@dataclass(frozen=True)
class ViewDiff:
    """The result of `diff`."""

    view: str
    old: VersionHead
    new: VersionHead
    texts: tuple[TextDifference, ...]
    columns: tuple[ColumnDifference, ...]


def register(app: typer.Typer, *, panel: str) -> None:
    """Add the commands to the command line, under a heading."""
    bind(app, Command("list", list_views, _print_list, panel=panel))
    bind(app, Command("show", show_view, _print_view, panel=panel))
    bind(app, Command("history", view_history, lambda history: _print_entries(history.entries), panel=panel))
    bind(app, Command("diff", diff_versions, _print_diff, panel=panel))


# -- Commands ----------------------------------------------------------------------------------------------------------


def list_views(
    catalog: HiveViewCatalog,
    database: Annotated[str | None, typer.Argument(metavar="[DATABASE]")] = None,
    *,
    long: bool = False,
    all: bool = False,
) -> ViewList:
    """List the Iceberg views of a database, or of all databases.

    Args:
        database: The database; all databases by default.
        long: Print the kind, owner and comment of each as well.
        all: List plain Hive views and tables, too.
    """
    from hive_views.identifiers import parse_namespace

    databases = sorted(name for (name,) in catalog.list_namespaces()) if database is None else []
    entries: list[ViewListEntry] = []
    for name in databases if database is None else [parse_namespace(database, catalog=catalog.name)]:
        try:
            entries += _list_database(catalog, name, is_long=long, is_all=all)
        except NoSuchNamespaceError:
            if database is not None:
                raise  # otherwise it was dropped since it was listed
    return ViewList(tuple(entries))


def _list_database(catalog: HiveViewCatalog, database: str, *, is_long: bool, is_all: bool) -> list[ViewListEntry]:
    views = catalog.list_views((database,))
    if not is_long and not is_all:
        return [ViewListEntry(".".join(name), *name) for name in views]
    from hive_views.identifiers import ViewName
    from hive_views.metastore.queries import read_rows, unreadable_row
    from hive_views.spec.storage_link import is_storage_row

    names = [ViewName(*name) for name in views]
    if is_all:
        names = sorted(ViewName(database, name) for name in catalog.store.client.get_all_tables(database))
    rows = []
    refused: dict[ViewName, str] = {}

    def on_refused(name: ViewName, error: MetastoreRefusedError) -> None:
        refused[name] = unreadable_row(error)

    with bar("reading") as advance:
        for number, row in enumerate(read_rows(catalog.store, names, on_refused=on_refused), 1):
            rows.append(row)
            advance(number, len(names))
    entries = [
        ViewListEntry(
            str(row.name),
            row.name.database,
            row.name.name,
            _kind_of(row),
            row.owner if is_long else None,
            row.parameters.get("comment") if is_long else None,
        )
        for row in rows
        if not (catalog.store.config.hide_storage_tables and is_storage_row(row.parameters))
    ]
    entries += (
        ViewListEntry(str(name), name.database, name.name, "unknown", problem=problem)
        for name, problem in refused.items()
    )
    return sorted(entries, key=lambda entry: (entry.database, entry.name))


def _kind_of(row: Row) -> str:
    """Return the kind of an object as lists show it."""
    from hive_views.metastore import trino_encoding
    from hive_views.metastore.identities import KINDS
    from hive_views.metastore.rows.row import MATERIALIZED_VIEW, RowKind

    if row.kind is RowKind.HIVE_TABLE:
        special = {MATERIALIZED_VIEW: HIVE_MATERIALIZED, "INDEX_TABLE": INDEX_TABLE}
        return special.get(row.table_type or "", KINDS[row.kind].value)
    if row.is_metric_view:
        return METRIC_VIEW
    if row.kind is RowKind.HIVE_VIEW and trino_encoding.is_materialized(row.texts.original or ""):
        return TRINO_MATERIALIZED
    return KINDS[row.kind].value


def show_view(
    catalog: HiveViewCatalog,
    name: ViewArgument,
    *,
    version: Annotated[int | None, typer.Option("--version", metavar="N")] = None,
    engines: Annotated[bool, typer.Option("--engines")] = False,
) -> ViewDetails | PlainViewDetails:
    """Show a view: its texts, columns, properties, locations, validity and history, and external changes of its row.

    A plain Hive view is shown as its row, with the command that imports it.

    Args:
        version: Show the texts and columns of this version instead of the current one.
        engines: Show which engines read the row with the author's rows, and why others do not.
    """
    try:
        view = catalog.load_view(name)
    except NotAnIcebergViewError as error:
        plain = _show_plain_view(catalog, name)
        if plain is None:
            raise error from None
        return plain
    metadata = view.metadata
    database, short_name = view.name()
    checked = catalog.dependencies.check_view(name)
    return ViewDetails(
        view=view_name(view),
        database=database,
        name=short_name,
        uuid=metadata.view_uuid,
        comment=metadata.properties.get("comment"),
        owner=view.owner,
        create_time=iso_time(view.create_time * 1000, timespec="seconds"),
        location=metadata.location,
        metadata_location=view.metadata_location,
        previous_metadata_location=view.previous_metadata_location,
        current_version_id=metadata.current_version_id,
        version_ids=tuple(existing.version_id for existing in metadata.versions),
        version=_load_version(view, metadata.current_version_id if version is None else version),
        row=DisplayedRow(view.original_text, view.expanded_text, view.parameters),
        drift=view.drift,
        validity=checked.validity.value,
        problems=checked.problems,
        properties=dict(metadata.properties),
        history=tuple(_history_entries(metadata)),
        engines=catalog.dependencies.check_engines(name) if engines else None,
    )


def _show_plain_view(catalog: HiveViewCatalog, name: str) -> PlainViewDetails | None:
    """A plain Hive view; None if the name is not that of one."""
    from hive_views.identifiers import ViewName
    from hive_views.metastore.rows.row import RowKind

    row = catalog.store.get_row(ViewName.parse(name, catalog=catalog.name))
    if row is None or row.kind is not RowKind.HIVE_VIEW:
        return None
    checked = catalog.dependencies.check_view(str(row.name))
    return PlainViewDetails(
        view=str(row.name),
        kind=_kind_of(row),
        owner=row.owner,
        create_time=iso_time(row.create_time * 1000, timespec="seconds"),
        comment=row.parameters.get("comment"),
        columns=row.declared_columns,
        row=DisplayedRow(row.texts.original, row.texts.expanded, dict(row.parameters)),
        validity=checked.validity.value,
        problems=checked.problems,
        import_command=f"hive-views import plan --view {shlex.quote(str(row.name))}",
    )


def view_history(catalog: HiveViewCatalog, name: ViewArgument) -> ViewHistory:
    """Show the version log of a view: when each version became current, and which engine wrote it."""
    view = catalog.load_view(name)
    return ViewHistory(view_name(view), view.metadata.current_version_id, tuple(_history_entries(view.metadata)))


def diff_versions(
    catalog: HiveViewCatalog,
    name: ViewArgument,
    old: Annotated[int, typer.Argument(metavar="FROM")],
    new: Annotated[int, typer.Argument(metavar="TO")],
) -> ViewDiff:
    """Compare the texts and columns of two versions of a view. Properties have no versions.

    Args:
        old: The version to compare from.
        new: The version to compare to.
    """
    view = catalog.load_view(name)
    old_version, new_version = _load_version(view, old), _load_version(view, new)
    return ViewDiff(
        view=view_name(view),
        old=_version_head(old_version),
        new=_version_head(new_version),
        texts=tuple(_text_differences(old_version, new_version)),
        columns=tuple(_column_differences(old_version, new_version)),
    )


# -- Results -----------------------------------------------------------------------------------------------------------


def view_name(view: HiveView) -> str:
    """A view's name as a user writes it."""
    return ".".join(view.name())


def iso_time(timestamp_ms: int, *, timespec: str = "milliseconds") -> str:
    """A time in ISO 8601, UTC, such as `2026-01-31T12:00:00.000Z`; the number itself if it is out of range."""
    try:
        time = datetime.fromtimestamp(timestamp_ms / 1000, timezone.utc)
    except (OverflowError, ValueError, OSError):
        return str(timestamp_ms)
    return time.replace(tzinfo=None).isoformat(timespec=timespec) + "Z"


def _load_version(view: HiveView, version_id: int) -> Version:
    from hive_views.spec.metadata import SQLViewRepresentation
    from hive_views.spec.version_texts import row_texts

    metadata, version = view.metadata, view.version(version_id)
    if version is None:
        version_ids = [existing.version_id for existing in metadata.versions]
        raise NoSuchVersionError(view_name(view), str(version_id), version_ids)
    texts = row_texts(version)
    representations = []
    for representation in version.representations:
        if isinstance(representation.root, SQLViewRepresentation):
            dialect = representation.root.dialect
            is_generated = dialect.lower() in version.generated_dialects
            representations.append(Representation("sql", dialect, representation.root.sql, is_generated))
        else:
            representations.append(Representation(representation.root.type, None, None, False))
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
            VersionColumn(field["id"], field["name"], type_text(field["type"]), field["required"], field.get("doc"))
            for field in schema["fields"]
        ),
        summary=dict(version.summary),
    )


def _engine(version: ViewVersion) -> str | None:
    name = version.summary.get("engine-name")
    engine_version = version.summary.get("engine-version")
    return f"{name} {engine_version}" if name and engine_version else name


def _history_entries(metadata: ViewMetadata) -> Iterator[HistoryEntry]:
    last = len(metadata.version_log) - 1
    counts: Counter[int] = Counter()
    for index, entry in enumerate(metadata.version_log):
        version = metadata.version(entry.version_id)
        was_current_before = counts[entry.version_id] > 0
        counts[entry.version_id] += 1
        yield HistoryEntry(
            version_id=entry.version_id,
            timestamp_ms=entry.timestamp_ms,
            time=iso_time(entry.timestamp_ms),
            operation=None if version is None else "rollback" if was_current_before else version.operation,
            engine=None if version is None else _engine(version),
            current=index == last and entry.version_id == metadata.current_version_id,
            expired=version is None,
        )


def _version_head(version: Version) -> VersionHead:
    return VersionHead(version.version_id, version.time, version.default_catalog, version.default_namespace)


def _texts(version: Version) -> dict[str, str]:
    texts: dict[str, str] = {}
    for representation in version.representations:
        if representation.dialect is not None and representation.sql is not None:
            texts.setdefault(representation.dialect.lower(), representation.sql)
    return texts


def _text_differences(old: Version, new: Version) -> Iterator[TextDifference]:
    old_texts, new_texts = _texts(old), _texts(new)
    if any(
        version.original_text not in (None, *texts.values()) for version, texts in ((old, old_texts), (new, new_texts))
    ):
        old_texts = {TYPED: old.original_text or "", **old_texts}
        new_texts = {TYPED: new.original_text or "", **new_texts}
    for text in dict.fromkeys((*old_texts, *new_texts)):
        old_text, new_text = old_texts.get(text), new_texts.get(text)
        if old_text is None:
            change = Change.ADDED
        elif new_text is None:
            change = Change.REMOVED
        else:
            change = Change.SAME if old_text == new_text else Change.CHANGED
        lines = unified_diff(
            (old_text or "").splitlines(),
            (new_text or "").splitlines(),
            f"version {old.version_id} ({text})",
            f"version {new.version_id} ({text})",
            lineterm="",
        )
        yield TextDifference(text, change, "\n".join(lines))


def _column_differences(old: Version, new: Version) -> Iterator[ColumnDifference]:
    old_columns = {column.name.lower(): column for column in old.columns}
    new_columns = {column.name.lower(): column for column in new.columns}
    for key, column in old_columns.items():
        if key not in new_columns:
            yield ColumnDifference(column.name, Change.REMOVED, column, None)
    old_order = [key for key in old_columns if key in new_columns]
    new_order = [key for key in new_columns if key in old_columns]
    for key, column in new_columns.items():
        former = old_columns.get(key)
        if former is None:
            yield ColumnDifference(column.name, Change.ADDED, None, column)
        elif replace(former, id=column.id) != column:
            yield ColumnDifference(column.name, Change.CHANGED, former, column)
        elif old_order.index(key) != new_order.index(key):
            yield ColumnDifference(column.name, Change.MOVED, former, column)


# -- Text output -------------------------------------------------------------------------------------------------------


def _print_list(result: ViewList) -> None:
    """Print one name per line."""
    if any(entry.kind != VIEW or entry.owner or entry.comment for entry in result.views):
        rows = ((entry.view, entry.kind, entry.owner, entry.problem or entry.comment) for entry in result.views)
        print_table(("Name", "Kind", "Owner", "Comment"), rows)
        return
    for listed in result.views:
        print_line(listed.view)


def _print_plain_view(details: PlainViewDetails) -> None:
    print_line(_heading(details.view), "  a plain Hive view, without a metadata file")
    _print_fields({"Comment": details.comment, "Owner": details.owner, "Created": details.create_time})
    _print_section("Columns")
    columns = [
        VersionColumn(number, name, kind, False, comment)
        for number, (name, kind, comment) in enumerate(details.columns)
    ]
    _print_columns(columns)
    for title, text in (("Text as typed", details.row.original_text), ("Expanded text", details.row.expanded_text)):
        _print_section(title)
        print_line(_highlighted_sql(text or ""))
    _print_section("Properties")
    for key, value in sorted(details.row.parameters.items()):
        print_line(f"{_INDENT}{key} = {value}")
    _print_problems(details)
    _print_section("Import")
    print_line(f"{_INDENT}{details.import_command} plans its import as an Iceberg view")


def _print_problems(details: ViewDetails | PlainViewDetails) -> None:
    if details.problems:
        _print_section("Validity", details.validity)
        for problem in details.problems:
            print_line(f"{_INDENT}{problem.text}", style="yellow")


def _print_view(details: ViewDetails | PlainViewDetails) -> None:
    if isinstance(details, PlainViewDetails):
        _print_plain_view(details)
        return
    version = details.version
    count = f"one of {len(details.version_ids)}" if len(details.version_ids) > 1 else "the only one"
    engine = f" by {version.engine}" if version.engine else ""
    status = "current" if version.current else f"not current: version {details.current_version_id} is"
    print_line(_heading(details.view), f"  version {version.version_id} ({status}; {count})")
    _print_fields(
        {
            "Comment": details.comment,
            "Owner": details.owner,
            "Created": details.create_time,
            "This version": f"{version.time}  {version.operation}{engine}",
            "Default namespace": ".".join((version.default_catalog or "(this catalog)", *version.default_namespace)),
            "UUID": details.uuid,
            "Location": details.location,
            "Metadata": details.metadata_location,
            "Before that": details.previous_metadata_location,
        },
    )
    _print_section("Columns")
    _print_columns(version.columns)
    _print_texts(details)
    _print_section("Properties")
    for key, value in sorted(details.properties.items()):
        print_line(f"{_INDENT}{key} = {value}")
    if not details.properties:
        print_line(f"{_INDENT}none", style="dim")
    _print_drift(details)
    _print_problems(details)
    if details.engines is not None:
        _print_section("Engines", "which read the row, compared with its author's")
        for engine in ENGINES:
            findings = [finding for finding in details.engines if finding.engine == engine]
            if all(finding.outcome.is_note for finding in findings):
                exception = ", except for some values" if findings else ""
                print_line(f"{_INDENT}{engine}: the same rows{exception}", style="dim")
            for finding in findings:
                print_line(f"{_INDENT}{finding.text}", style="dim" if finding.outcome.is_note else "yellow")
        _print_settings(version)
    _print_section("History")
    _print_entries(details.history, _INDENT)


def _print_settings(version: Version) -> None:
    """Print the settings of the author, which Spark's catalog of Iceberg does not apply."""
    from hive_views.spec.session_settings import author_settings

    settings = author_settings(version.summary)
    if settings:
        values = ", ".join(f"{key}={value}" for key, value in sorted(settings.items()))
        reason = "applies the settings of its session to the text; its author had"
        print_line(f"{_INDENT}Spark's catalog of Iceberg: {reason} {values}", style="yellow")


_SIGNS: dict[str, tuple[str, str]] = {Change.ADDED: ("+", "green"), Change.REMOVED: ("-", "red")}


def _print_diff(diff: ViewDiff) -> None:
    """Print unified diffs of the texts, then the columns that differ."""
    old, new = diff.old, diff.new
    print_line(_heading(diff.view), f"  version {old.version_id} -> {new.version_id}")
    for label, old_default, new_default in (
        ("Default catalog", old.default_catalog, new.default_catalog),
        ("Default namespace", ".".join(old.default_namespace), ".".join(new.default_namespace)),
    ):
        if old_default != new_default:
            print_line(f"{label}: {shown(old_default) or '(none)'} -> {shown(new_default) or '(none)'}")
    for text in diff.texts:
        _print_section(f"Text: {shown(text.text)} ({text.change})")
        for line in shown(text.diff).split("\n") if text.diff else ():
            style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
            print_line(line, style="bold" if line.startswith(("+++", "---")) else style)
    _print_section("Columns" if diff.columns else "Columns (same)")
    for column in diff.columns:
        sign, style = _SIGNS.get(column.change, ("~", "yellow"))
        if column.change == Change.MOVED:
            text_of_change = f"{column.name} (moved)"
        else:
            sides = (column.old, column.new)
            text_of_change = " -> ".join(_column_text(side) for side in sides if side is not None)
        print_line(f"{sign} {text_of_change}", style=style)
    print_line("\nProperties have no versions and are not compared.", style="dim")


def _print_texts(details: ViewDetails) -> None:
    """Print the typed text, Hive's text and each dialect's; a text that was printed is not printed again."""
    from hive_views.spec.version_texts import ROW_TEXT_RULES

    version = details.version
    original = details.row.original_text if version.current else version.original_text
    expanded = details.row.expanded_text if version.current else version.expanded_text
    origin = "in the metastore's row" if version.current else "of this version"
    rules = version.summary.get(ROW_TEXT_RULES)
    rewritten = f", rewritten ({rules})" if rules else ""
    texts = [
        ("Text as typed", f"viewOriginalText {origin}", original),
        ("Text for Hive and plain Spark", f"viewExpandedText {origin}{rewritten}", expanded),
    ]
    for representation in version.representations:
        title = f"Representation: {representation.dialect or representation.type}"
        if representation.type == "sql":
            remark = "generated" if representation.generated else "authored"
        else:
            remark = "not SQL; kept as it is"
        texts.append((title, remark, representation.sql))
    titles: dict[str, str] = {}
    for title, remark, text in texts:
        _print_section(shown(title), shown(remark))
        if text is None:
            print_line(f"{_INDENT}none", style="dim")
        elif text in titles:
            print_line(f"{_INDENT}the same as: {titles[text]}", style="dim")
        else:
            titles[text] = title[0].lower() + title[1:]
            print_line(_highlighted_sql(text))


def _print_drift(details: ViewDetails) -> None:
    if not details.drift:
        return
    _print_section("Drift", "another program changed the metastore's row; Iceberg readers follow the metadata file")
    for difference in details.drift:
        for label, side in (("row ", difference.row), ("file", difference.file)):
            text = ", ".join(f"{name} {kind}" for name, kind in side) if isinstance(side, list) else side
            print_line(f"{_INDENT}{difference.field}, {label}: {shown(text)}", style="yellow")


def _heading(text: str) -> Text:
    from rich.text import Text

    return Text(shown(text), style="bold")


def _print_section(title: str, remark: str = "") -> None:
    from rich.text import Text

    print_line()
    print_line(Text.assemble((title, "bold"), (f"  ({remark})" if remark else "", "dim")))


def _print_fields(fields: Mapping[str, str | None]) -> None:
    from rich.text import Text

    width = max(len(label) for label in fields)
    for label, text in fields.items():
        if text:
            print_line(Text.assemble((f"{_INDENT}{label:<{width}}  ", "dim"), shown(text)))


def _highlighted_sql(text: str) -> Text:
    from rich.syntax import Syntax
    from rich.text import Text

    highlighted = Syntax("", "sql", theme="ansi_dark", background_color="default").highlight(shown(text))
    highlighted.rstrip()
    return Text("\n").join(Text(_INDENT) + line for line in highlighted.split("\n", allow_blank=True))


def _print_columns(columns: Iterable[VersionColumn]) -> None:
    rows = (
        (number, column.name, f"{column.type}{' not null' if column.required else ''}", column.comment)
        for number, column in enumerate(columns, start=1)
    )
    print_table(("#", "Name", "Type", "Comment"), rows, _INDENT)


def _print_entries(entries: Iterable[HistoryEntry], indent: str = "") -> None:
    rows = (
        (
            entry.version_id,
            entry.time,
            entry.operation,
            entry.engine,
            _heading("current") if entry.current else "expired" if entry.expired else "",
        )
        for entry in entries
    )
    print_table(("Version", "Made current", "By", "Engine", ""), rows, indent)


def _column_text(column: VersionColumn) -> str:
    comment = f" ({column.comment})" if column.comment else ""
    return f"{column.name} {column.type}{' not null' if column.required else ''}{comment}"
