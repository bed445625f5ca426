"""Commands that change a view. Plain functions, for Python as for the command line."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hive_views.cli.columns import parse_columns
from hive_views.cli.commands.reading import ViewArgument, view_name
from hive_views.cli.connection import parse_properties
from hive_views.cli.exit_codes import ExitCode
from hive_views.cli.values import Dropped, DroppedView, Written
from hive_views.errors import (
    MetadataFileError,
    NoSuchViewError,
    NotAnIcebergViewError,
    UsageError,
    ViewAlreadyExistsError,
)

if TYPE_CHECKING:
    from hive_views.catalog.catalog import HiveViewCatalog
    from hive_views.catalog.views import HiveView
    from hive_views.dependencies.drop import DropStep
    from hive_views.spec.metadata import ViewVersion

ENGINE = "hive-views"
"""The `engine-name` in the summary of versions that the command line writes. Without a version of its own, so that the
same definition, written again by another release, is no new version."""

_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

Sql = Annotated[str | None, typer.Option("--sql", metavar="TEXT")]
SqlFile = Annotated[str | None, typer.Option("--file", "-f", metavar="FILE")]
Columns = Annotated[list[str], typer.Option("--column", "-c", metavar="NAME:TYPE[:COMMENT]")]
Properties = Annotated[list[str], typer.Option("--property", "-p", metavar="KEY=VALUE")]
Text = Annotated[str | None, typer.Option(metavar="TEXT")]
File = Annotated[str | None, typer.Option(metavar="FILE")]
Name = Annotated[str | None, typer.Option(metavar="NAME")]


def create_view(
    catalog: HiveViewCatalog,
    name: ViewArgument,
    *,
    sql: Sql = None,
    file: SqlFile = None,
    column: Columns = [],  # noqa: B006 -- never changed; Typer takes the default's type for the option's
    dialect: Annotated[str, typer.Option(metavar="NAME")] = "spark",
    default_namespace: Name = None,
    default_catalog: Name = None,
    expanded: Text = None,
    expanded_file: File = None,
    property: Properties = [],  # noqa: B006
    comment: Text = None,
    location: Annotated[str | None, typer.Option(metavar="URI")] = None,
    if_not_exists: bool = False,
    or_replace: bool = False,
) -> Written:
    """Create a view from a query and its columns.

    Args:
        catalog: Where to create it.
        name: The view, as database.name.
        sql: The query.
        file: A file that holds the query; - is standard input.
        column: A column of the query, in its order; with Iceberg's or Hive's types: int, bigint, decimal(10,2) …
        dialect: The SQL dialect of the query.
        default_namespace: The database that unqualified names of the query mean; by default the view's own.
        default_catalog: The catalog that names without one mean; by default the one that the view is in.
        expanded: The query as Hive and plain Spark shall run it: with every table and column qualified. By default they
            get the query itself.
        expanded_file: A file that holds that text; - is standard input.
        property: A property of the view.
        comment: A comment on the view.
        location: The directory for its metadata files, a URI; by default below its database's.
        if_not_exists: Leave a view alone that has the name already.
        or_replace: Give a view that has the name already this definition.

    Returns:
        What was done.

    Raises:
        UsageError: If options are missing, contradict each other or cannot be read.
        ViewAlreadyExistsError, TableAlreadyExistsError, NotAnIcebergViewError: If the name is taken.
        NoSuchNamespaceError: If there is no such database.
        HiveViewsError: As `HiveViewCatalog.create_view` says.
    """
    if if_not_exists and or_replace:
        raise UsageError("--if-not-exists", "it does not go with --or-replace")
    if not column:
        raise UsageError("--column", "name each column of the query: --column NAME:TYPE[:COMMENT]")
    schema = parse_columns(column)
    namespace = default_namespace or name.rpartition(".")[0].rpartition(".")[2].lower()
    query, expansion = _texts(sql, file, expanded, expanded_file)
    version = _define(query, expansion, dialect, (namespace,), default_catalog or None)
    properties = _properties(property, comment)
    before = _load(catalog, name) if or_replace else None
    if or_replace:
        view = catalog.create_or_replace_view(name, schema, version, location, properties)
        return written(view, "created" if before is None else _outcome("replaced", before, view))
    try:
        return written(catalog.create_view(name, schema, version, location, properties), "created")
    except ViewAlreadyExistsError:
        if not if_not_exists:
            raise
    return written(catalog.load_view(name), "unchanged")


def replace_view(
    catalog: HiveViewCatalog,
    name: ViewArgument,
    *,
    sql: Sql = None,
    file: SqlFile = None,
    column: Columns = [],  # noqa: B006
    dialect: Name = None,
    default_namespace: Name = None,
    default_catalog: Name = None,
    expanded: Text = None,
    expanded_file: File = None,
    property: Properties = [],  # noqa: B006
    comment: Text = None,
) -> Written:
    """Give a view a new query. What is not named stays: columns, dialect, defaults, properties, history.

    Args:
        catalog: Where it is.
        name: The view, as database.name.
        sql: The query.
        file: A file that holds the query; - is standard input.
        column: A column of the query, in its order; without any, the columns stay as they are.
        dialect: The SQL dialect of the query; by default the current author's.
        default_namespace: The database that unqualified names of the query mean; by default the current one.
        default_catalog: The catalog that names without one mean; by default the current one. An empty text means the
            catalog that the view is in.
        expanded: The query as Hive and plain Spark shall run it: with every table and column qualified. By default they
            get the query itself.
        expanded_file: A file that holds that text; - is standard input.
        property: A property of the view, set in the same step.
        comment: A comment on the view, set in the same step.

    Returns:
        What was done.

    Raises:
        UsageError: If options are missing, contradict each other or cannot be read.
        NoSuchViewError: If there is no such view.
        DialectLossError: If a dialect would lose its text.
        CommitFailedError: If somebody else changed its definition meanwhile.
        HiveViewsError: As `ViewUpdate.commit` says.
    """
    schema = parse_columns(column) if column else None
    query, expansion = _texts(sql, file, expanded, expanded_file)
    properties = _properties(property, comment)
    view = catalog.load_view(name)
    current = view.current_version()
    if dialect is None:
        generated = current.generated_dialects
        authored = [each for each in view.dialects if each not in generated]
        if len(authored) > 1:
            raise UsageError("--dialect", f"the view has texts for {', '.join(authored)}: say which one this is")
        dialect = authored[0] if authored else "spark"
    namespace = (default_namespace,) if default_namespace else current.default_namespace
    namespace_catalog = current.default_catalog if default_catalog is None else default_catalog or None
    version = _define(query, expansion, dialect, namespace, namespace_catalog)
    update = view.update().replace_version(version, schema)
    changed = (update.set_properties(properties) if properties else update).commit()
    return written(changed, _outcome("replaced", view, changed))


def rename_view(
    catalog: HiveViewCatalog,
    old: Annotated[str, typer.Argument(metavar="OLD")],
    new: Annotated[str, typer.Argument(metavar="NEW")],
) -> Written:
    """Give a view another name, in the same or another database. Its files and its history stay where they are.

    Args:
        catalog: Where it is.
        old: The view, as database.name.
        new: Its new name, as database.name.

    Returns:
        What was done.

    Raises:
        NoSuchViewError: If there is no such view.
        NoSuchNamespaceError: If the new database does not exist.
        ViewAlreadyExistsError, TableAlreadyExistsError, NotAnIcebergViewError: If the new name is taken.
        HiveViewsError: As `HiveViewCatalog.rename_view` says.
    """
    view = catalog.rename_view(old, new)
    return written(view, "renamed", renamed_from=_plain_name(old))


def rollback_view(
    catalog: HiveViewCatalog,
    name: ViewArgument,
    *,
    to_version: Annotated[int | None, typer.Option(metavar="N")] = None,
    to_time: Annotated[str | None, typer.Option(metavar="TIME")] = None,
) -> Written:
    """Make an earlier version of a view the current one again. Nothing is lost: its history gets one more entry.

    Args:
        catalog: Where it is.
        name: The view, as database.name.
        to_version: The version.
        to_time: A time; the version that was current then. ISO 8601 (UTC unless it names another zone), or milliseconds
            from the epoch.

    Returns:
        What was done.

    Raises:
        UsageError: If neither or both are given, or the time cannot be read.
        NoSuchViewError: If there is no such view.
        NoSuchVersionError: If its metadata does not hold the version.
        HiveViewsError: As `ViewUpdate.commit` says.
    """
    if (to_version is None) == (to_time is None):
        raise UsageError("--to-version", "give either --to-version or --to-time")
    milliseconds = None if to_time is None else parse_time(to_time)
    view = catalog.load_view(name)
    changed = view.update().rollback(version_id=to_version, timestamp_ms=milliseconds).commit()
    return written(changed, _outcome("rolled back", view, changed))


def drop_view(
    catalog: HiveViewCatalog,
    name: ViewArgument,
    *,
    purge: bool = False,
    if_exists: bool = False,
    restrict: bool = False,
    cascade: bool = False,
    dry_run: bool = False,
) -> Dropped:
    """Drop a view. Its metadata files stay, so that `register` can bring it back, unless they are purged.

    Args:
        catalog: Where it is.
        name: The view, as database.name.
        purge: Delete its metadata files as well (unless its property gc.enabled is false).
        if_exists: Do not fail if there is no such view.
        restrict: Drop nothing if views depend on it. Without this and --cascade they are left dangling, as in Hive.
        cascade: Drop every view that depends on it as well, dependents first.
        dry_run: Only tell what would be dropped, and what depends on it.

    Returns:
        What was done.

    Raises:
        UsageError: If it shall both be restricted and cascade.
        NoSuchViewError: If there is no such view.
        NotAnIcebergViewError: If the name belongs to something else.
        DependentsError: If `restrict` forbids it; not of a dry run.
        HiveViewsError: As `HiveViewCatalog.drop_view` says.
    """
    if restrict and cascade:
        raise UsageError("--restrict", "it does not go with --cascade")
    from hive_views.io.table_files import is_collected

    shown = _plain_name(name)
    kept = False
    try:
        view = catalog.load_view(name)
        location: str | None = view.metadata_location
        kept = not is_collected(view.metadata.properties)
    except MetadataFileError as error:
        location = error.location  # its row can be dropped all the same
    except NotAnIcebergViewError:
        raise
    except NoSuchViewError as error:
        if not if_exists or error.detail:
            raise
        return Dropped(shown, "absent", purged=False)
    try:
        if dry_run:
            plan = catalog.plan_drop(name, restrict=restrict, cascade=cascade)
            outcome = "would be refused" if plan.is_rejected else "would be dropped"
            dependents = tuple(map(str, plan.dependents))
            others = _others(shown, plan.steps)
            return Dropped(
                shown, outcome, purged=False, metadata_location=location, others=others, dependents=dependents
            )
        report = catalog.drop_view(name, purge_files=purge, restrict=restrict, cascade=cascade)
    except NotAnIcebergViewError:
        raise
    except NoSuchViewError:
        if not if_exists:
            raise
        return Dropped(shown, "absent", purged=False)
    purged = purge and not kept
    others = _others(shown, report.steps)
    return Dropped(
        shown,
        "dropped",
        purged=purged,
        metadata_location=None if purged else location,
        others=others,
        dependents=tuple(other.view for other in others),
    )


def _others(name: str, steps: Sequence[DropStep]) -> tuple[DroppedView, ...]:
    return tuple(
        DroppedView(str(step.name), step.kind.value, step.metadata_location, step.text)
        for step in steps
        if str(step.name) != name
    )


def drop_code(value: Dropped) -> ExitCode:
    """The exit code that a drop means: that of the refusal for a dry run that foretells one."""
    return ExitCode.CONFLICT if value.outcome == "would be refused" else ExitCode.OK


def register_view(
    catalog: HiveViewCatalog,
    name: ViewArgument,
    metadata_location: Annotated[str, typer.Argument(metavar="METADATA_LOCATION")],
) -> Written:
    """Make a view of an existing metadata file, such as one of a view that was dropped. The file is not changed.

    Args:
        catalog: Where to put it.
        name: The view, as database.name.
        metadata_location: The file's URI.

    Returns:
        What was done.

    Raises:
        ViewAlreadyExistsError, TableAlreadyExistsError, NotAnIcebergViewError: If the name is taken.
        NoSuchNamespaceError: If there is no such database.
        MetadataFileError: If the file is missing or broken.
        HiveViewsError: As `HiveViewCatalog.register_view` says.
    """
    return written(catalog.register_view(name, metadata_location), "registered")


def set_properties(
    catalog: HiveViewCatalog, name: ViewArgument, properties: Annotated[list[str], typer.Argument(metavar="KEY=VALUE")]
) -> Written:
    """Set properties of a view; its others stay.

    Args:
        catalog: Where it is.
        name: The view, as database.name.
        properties: Keys and values, as key=value.

    Returns:
        What was done.

    Raises:
        UsageError: If one is not of that form.
        NoSuchViewError: If there is no such view.
        InvalidPropertyError: If a key or value cannot be stored.
        HiveViewsError: As `ViewUpdate.commit` says.
    """
    updates = parse_properties(properties, "KEY=VALUE")
    view = catalog.load_view(name)
    changed = view.update().set_properties(updates).commit()
    return written(changed, _outcome("changed", view, changed))


def unset_properties(
    catalog: HiveViewCatalog, name: ViewArgument, keys: Annotated[list[str], typer.Argument(metavar="KEY")]
) -> Written:
    """Remove properties of a view; a key that it does not have is no error.

    Args:
        catalog: Where it is.
        name: The view, as database.name.
        keys: Their keys.

    Returns:
        What was done.

    Raises:
        NoSuchViewError: If there is no such view.
        HiveViewsError: As `ViewUpdate.commit` says.
    """
    view = catalog.load_view(name)
    changed = view.update().remove_properties(*keys).commit()
    return written(changed, _outcome("changed", view, changed))


def parse_time(text: str) -> int:
    """Read a time.

    Args:
        text: ISO 8601, in UTC unless it names another zone; or milliseconds from the epoch.

    Returns:
        Milliseconds from the epoch.

    Raises:
        UsageError: If it is neither.
    """
    from pydantic import TypeAdapter, ValidationError

    if text.isascii() and text.isdigit():
        return int(text)
    try:
        # Pydantic takes any number for a time, too.
        time = TypeAdapter(datetime).validate_python(text if _DATE.match(text) else None)
    except ValidationError:
        raise UsageError(
            "--to-time", f"{text!r} is no time: write e.g. 2026-01-31T12:00:00Z, or milliseconds from the epoch"
        ) from None
    zoned = time if time.tzinfo is not None else time.replace(tzinfo=timezone.utc)
    return (zoned - _EPOCH) // timedelta(milliseconds=1)


def question_before_drop(
    name: str, *, purge: bool = False, cascade: bool = False, dry_run: bool = False, **_: object
) -> str:
    """What is asked before a view is dropped; nothing before a dry run."""
    others = " and every view that depends on it (--dry-run tells which)" if cascade else ""
    files = f"{', ' if cascade else ' '}and delete all {'their' if cascade else 'its'} metadata files for good"
    return "" if dry_run else f"Drop view {name}{others}{files if purge else ''}?"


def _define(
    query: str, expanded: str | None, dialect: str, namespace: Sequence[str], default_catalog: str | None
) -> ViewVersion:
    from hive_views.spec.version_texts import define

    return define(
        query,
        dialect=dialect,
        default_namespace=namespace,
        default_catalog=default_catalog,
        expanded=expanded,
        summary={"engine-name": ENGINE},
    )


def _texts(
    sql: str | None, file: str | None, expanded: str | None, expanded_file: str | None
) -> tuple[str, str | None]:
    """The query, and its expansion where one is given."""
    if file == "-" and expanded_file == "-":
        raise UsageError("--expanded-file", "standard input can hold one text only")
    query = _text(sql, file, "--sql", "--file")
    if query is None:
        raise UsageError("--sql", "give the query by --sql TEXT or --file FILE (- is standard input)")
    return query, _text(expanded, expanded_file, "--expanded", "--expanded-file")


def _text(text: str | None, file: str | None, option: str, file_option: str) -> str | None:
    """A query as it is stored: without what ends a statement, which is no part of it."""
    if text is not None and file is not None:
        raise UsageError(option, f"it does not go with {file_option}")
    if file is not None:
        try:
            text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(file_option, f"{file} cannot be read: {error}") from error
    if text is None:
        return None
    query = text.strip()
    while query.endswith(";"):
        query = query[:-1].rstrip()
    if not query:
        raise UsageError(option if file is None else file_option, "the query is empty")
    return query


def _properties(texts: Sequence[str], comment: str | None) -> dict[str, str]:
    return {**parse_properties(texts, "--property"), **({} if comment is None else {"comment": comment})}


def _plain_name(name: str) -> str:
    """`database.name` of a name as a user writes it: perhaps with the catalog in front, in any case."""
    return ".".join(name.lower().split(".")[-2:])


def _load(catalog: HiveViewCatalog, name: str) -> HiveView | None:
    try:
        return catalog.load_view(name)
    except NotAnIcebergViewError:
        raise
    except NoSuchViewError:
        return None


def _outcome(change: str, before: HiveView, after: HiveView) -> str:
    return "unchanged" if before.metadata_location == after.metadata_location else change


def written(view: HiveView, outcome: str, *, renamed_from: str | None = None) -> Written:
    """What a command tells of a view that it changed."""
    return Written(
        view=view_name(view),
        outcome=outcome,
        version_id=view.metadata.current_version_id,
        uuid=view.metadata.view_uuid,
        metadata_location=view.metadata_location,
        previous_metadata_location=view.previous_metadata_location,
        renamed_from=renamed_from,
    )
