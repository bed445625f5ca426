"""The commands that change a view: plain functions, their results, and the text printed for them.

The fields of a result are the keys of its JSON document; see `hive_views.cli.commands.reading`.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hive_views.cli.binding import Command, bind
from hive_views.cli.columns import parse_columns, query_columns
from hive_views.cli.commands.reading import ViewArgument, view_name
from hive_views.cli.connection import parse_properties
from hive_views.cli.exit_codes import ExitCode
from hive_views.cli.output import print_line, shown
from hive_views.errors import (
    MetadataFileError,
    NoSuchTableError,
    NoSuchViewError,
    NotAViewError,
    UsageError,
    ViewAlreadyExistsError,
)
from hive_views.sql.text.dialects import Dialect
from hive_views.text_enum import TextEnum

if TYPE_CHECKING:
    from hive_views.catalog.catalog import HiveViewCatalog
    from hive_views.catalog.views import HiveView
    from hive_views.dependencies.drop import DropStep
    from hive_views.dependencies.view_query import Analyzer
    from hive_views.identifiers import ViewName
    from hive_views.metastore.rows.row import Row
    from hive_views.spec.metadata import ViewVersion

ENGINE = "hive-views"
"""The `engine-name` in the summary of versions that the command line writes. There is no `engine-version`, so that the
same definition, written again by another release, is not a new version."""

_SUMMARY = {"engine-name": ENGINE}

_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

Sql = Annotated[str | None, typer.Option("--sql", metavar="TEXT")]
SqlFile = Annotated[str | None, typer.Option("--file", "-f", metavar="FILE")]
Columns = Annotated[list[str], typer.Option("--column", "-c", metavar="NAME[:TYPE[:COMMENT]]")]
Properties = Annotated[list[str], typer.Option("--property", "-p", metavar="KEY=VALUE")]
Text = Annotated[str | None, typer.Option(metavar="TEXT")]
File = Annotated[str | None, typer.Option(metavar="FILE")]
Name = Annotated[str | None, typer.Option(metavar="NAME")]
Verify = Annotated[bool, typer.Option("--verify")]


class Outcome(TextEnum):
    """What a command did with a view."""

    CREATED = "created"
    REPLACED = "replaced"
    CHANGED = "changed"
    ROLLED_BACK = "rolled back"
    UNCHANGED = "unchanged"
    DROPPED = "dropped"
    ABSENT = "absent"
    WOULD_BE_DROPPED = "would be dropped"
    WOULD_BE_REFUSED = "would be refused"


@dataclass(frozen=True, kw_only=True)
class Written:
    """The result of the commands that change a view."""

    view: str
    outcome: str
    version_id: int
    uuid: str
    metadata_location: str
    previous_metadata_location: str | None
    renamed_from: str | None = None
    raw: bool = False


@dataclass(frozen=True)
class DroppedView:
    """A view that was dropped because it depends on another."""

    view: str
    kind: str
    metadata_location: str | None
    text: str | None = None


@dataclass(frozen=True, kw_only=True)
class Dropped:
    """The result of `drop`."""

    view: str | None
    outcome: str
    purged: bool
    metadata_location: str | None = None
    others: tuple[DroppedView, ...] = ()
    dependents: tuple[str, ...] = ()
    remaining_files: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    table: str | None = None
    text: str | None = None


def register(app: typer.Typer, *, panel: str) -> None:
    """Add the commands to the command line, under a heading."""
    bind(app, Command("create", create_view, print_written, panel=panel))
    bind(app, Command("replace", replace_view, print_written, panel=panel))
    bind(app, Command("rollback", rollback_view, print_written, panel=panel))
    bind(app, Command("rename", rename_view, print_written, panel=panel))
    bind(app, Command("set", set_properties, print_written, panel=panel))
    bind(app, Command("unset", unset_properties, print_written, panel=panel))
    bind(app, Command("register", register_view, print_written, panel=panel))
    bind(app, Command("drop", drop_view, _print_dropped, panel=panel, question=_drop_question, code=_drop_exit_code))


# -- Commands ----------------------------------------------------------------------------------------------------------


def create_view(
    catalog: HiveViewCatalog,
    name: ViewArgument,
    *,
    sql: Sql = None,
    file: SqlFile = None,
    column: Columns = [],  # noqa: B006 -- never changed; Typer derives the option's type from the default
    dialect: Annotated[str, typer.Option(metavar="NAME")] = "spark",
    default_namespace: Name = None,
    property: Properties = [],  # noqa: B006
    comment: Text = None,
    location: Annotated[str | None, typer.Option(metavar="URI")] = None,
    if_not_exists: bool = False,
    or_replace: bool = False,
    raw: bool = False,
    default_catalog: Name = None,
    expanded: Text = None,
    expanded_file: File = None,
    verify: Verify = False,
) -> Written:
    """Create a view from a query: its names are resolved, its stars replaced, and its columns inferred.

    Args:
        sql: The query.
        file: A file that contains the query; - is standard input.
        column: A name for a column of the query, in order, with an optional comment; either all columns are named or
            none. A type is compared with the inferred one: int, bigint, decimal(10,2) …
        dialect: The SQL dialect of the query: spark, hive or trino; with --raw any.
        default_namespace: The database of unqualified names in the query; by default the view's own.
        property: A property of the view.
        comment: A comment on the view.
        location: The directory of the metadata files, a URI; by default below the database's location.
        if_not_exists: Do nothing if the view exists.
        or_replace: Replace the definition if the view exists.
        raw: Store the query as it is, without reading it. Each column needs --column NAME:TYPE. Hive and plain Spark
            resolve unqualified names in their own current database, and a star returns other columns later.
        default_catalog: With --raw: the catalog of names without one; by default the view's own.
        expanded: With --raw: the query for Hive and plain Spark, with every table and column qualified. By default they
            get the query itself.
        expanded_file: With --raw: a file that contains that text; - is standard input.
        verify: Start Spark, which determines the columns, and reject the query if Spark rejects it or reads other
            tables or columns in its expanded text. Only for dialect spark.
    """
    if if_not_exists and or_replace:
        raise UsageError("--if-not-exists", "cannot be combined with --or-replace")
    _check_raw_options(raw, default_catalog, expanded, expanded_file, verify=verify)
    query, expansion = _query_texts(sql, file, expanded, expanded_file)
    properties = _view_properties(property, comment)
    before = _load_if_exists(catalog, name) if if_not_exists or or_replace else None
    if before is not None and if_not_exists:
        return written(before, "unchanged")
    commit: Callable[[], HiveView]
    if raw:
        if not column:
            raise UsageError("--column", "name each column of the query: --column NAME:TYPE[:COMMENT]")
        namespace = default_namespace or name.rpartition(".")[0].rpartition(".")[2].lower()
        version = _define(query, expansion, dialect, (namespace,), default_catalog or None)
        create = catalog.create_or_replace_view if or_replace else catalog.create_view
        commit = partial(create, name, parse_columns(column), version, location, properties)
    else:
        commit = partial(
            catalog.create_view_from_sql,
            name,
            query,
            dialect=dialect,
            database=default_namespace,
            location=location,
            properties=properties,
            or_replace=or_replace,
            analyzer=_verifying_analyzer(catalog, name, query, dialect, default_namespace) if verify else None,
            summary=_SUMMARY,
            **query_columns(column),
        )
    try:
        view = commit()
    except ViewAlreadyExistsError:
        if not if_not_exists:
            raise
        return written(catalog.load_view(name), "unchanged")  # created concurrently
    return written(view, Outcome.CREATED if before is None else _outcome(Outcome.REPLACED, before, view), raw=raw)


def replace_view(
    catalog: HiveViewCatalog,
    name: ViewArgument,
    *,
    sql: Sql = None,
    file: SqlFile = None,
    column: Columns = [],  # noqa: B006
    dialect: Name = None,
    default_namespace: Name = None,
    property: Properties = [],  # noqa: B006
    comment: Text = None,
    raw: bool = False,
    default_catalog: Name = None,
    expanded: Text = None,
    expanded_file: File = None,
    verify: Verify = False,
) -> Written:
    """Give a view a new query. What is not given stays: column names and comments, dialect, properties, history.

    The names of the query are resolved, its stars replaced, and its columns inferred.

    Args:
        sql: The query.
        file: A file that contains the query; - is standard input.
        column: A name for a column of the query, in order, with an optional comment. Without any, an existing column
            list stays; otherwise the query names the columns. A type is compared with the inferred one.
        dialect: The SQL dialect of the query; by default that of the current definition.
        default_namespace: The database of unqualified names in the query; by default the current one.
        property: A property of the view, set in the same commit.
        comment: A comment on the view, set in the same commit.
        raw: Store the query as it is, without reading it; see create. Without --column the columns stay as they are.
        default_catalog: With --raw: the catalog of names without one; by default the current one. An empty text means
            the catalog of the view.
        expanded: With --raw: the query for Hive and plain Spark, with every table and column qualified. By default they
            get the query itself.
        expanded_file: With --raw: a file that contains that text; - is standard input.
        verify: Start Spark, which determines the columns, and reject the query if Spark rejects it or reads other
            tables or columns in its expanded text. Only for dialect spark.
    """
    _check_raw_options(raw, default_catalog, expanded, expanded_file, verify=verify)
    query, expansion = _query_texts(sql, file, expanded, expanded_file)
    properties = _view_properties(property, comment)
    view = catalog.load_view(name)
    current = view.current_version()
    if dialect is None:
        authored = [existing for existing in view.dialects if existing not in current.generated_dialects]
        if len(authored) > 1:
            raise UsageError("--dialect", f"the view has texts for {', '.join(authored)}: name the one to replace")
        dialect = authored[0] if authored else "spark"
    if raw:
        schema = parse_columns(column) if column else None
        namespace = (default_namespace,) if default_namespace else current.default_namespace
        namespace_catalog = current.default_catalog if default_catalog is None else default_catalog or None
        version = _define(query, expansion, dialect, namespace, namespace_catalog)
        update = view.update().replace_version(version, schema)
        changed = (update.set_properties(properties) if properties else update).commit()
    else:
        from hive_views.dependencies.view_text import text_of_version

        database = default_namespace or text_of_version(_parsed_name(catalog, name), current).database
        changed = catalog.replace_view_from_sql(
            name,
            query,
            dialect=dialect,
            database=database,
            properties=properties,
            analyzer=_verifying_analyzer(catalog, name, query, dialect, database) if verify else None,
            summary=_SUMMARY,
            **query_columns(column),
        )
    return written(changed, _outcome(Outcome.REPLACED, view, changed), raw=raw)


def rename_view(
    catalog: HiveViewCatalog,
    old: Annotated[str, typer.Argument(metavar="OLD")],
    new: Annotated[str, typer.Argument(metavar="NEW")],
) -> Written:
    """Rename a view, in the same or to another database. Its files stay where they are, and its history is kept.

    Args:
        old: The view, as database.name.
        new: Its new name, as database.name.
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
    """Make an earlier version of a view current again. No version is lost: the history gets a new entry.

    Args:
        to_version: The version.
        to_time: The version that was current at this time: ISO 8601 (UTC unless it names another zone), or milliseconds
            from the epoch.
    """
    if (to_version is None) == (to_time is None):
        raise UsageError("--to-version", "give either --to-version or --to-time")
    timestamp_ms = None if to_time is None else parse_time(to_time)
    view = catalog.load_view(name)
    changed = view.update().rollback(version_id=to_version, timestamp_ms=timestamp_ms).commit()
    return written(changed, _outcome(Outcome.ROLLED_BACK, view, changed))


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
    """Drop a view. Its metadata files are kept, so that `register` can restore it, unless they are purged.

    With --restrict or --cascade also an Iceberg or Hive table, whose files are kept.

    Args:
        name: The view, or with --restrict or --cascade a table, as database.name.
        purge: Delete its metadata files as well (unless its property gc.enabled is false).
        if_exists: Do not fail if there is no such view.
        restrict: Drop nothing if views depend on it. Without this and --cascade they are left dangling, as in Hive.
        cascade: Drop every view that depends on it as well, dependents first.
        dry_run: Only print what would be dropped, and what depends on it.
    """
    if restrict and cascade:
        raise UsageError("--restrict", "cannot be combined with --cascade")
    behavior = "restrict" if restrict else "cascade" if cascade else ""
    plain_name = _plain_name(name)
    # Without a keyword a name that turns out to be a table's is probably a mistake.
    row = _table_row(catalog, name) if behavior else None
    names: dict[str, Any] = {"view": plain_name} if row is None else {"view": None, "table": plain_name}
    try:
        if row is not None:
            if purge:
                raise UsageError("--purge", f"{plain_name} is a table, whose files this command keeps")
            location = row.metadata_location
        else:
            location = _view_location(catalog, name)
        if dry_run:
            plan = catalog.dependencies.plan_drop(name, behavior=behavior)
            return Dropped(
                **names,
                outcome=Outcome.WOULD_BE_REFUSED if plan.is_rejected else Outcome.WOULD_BE_DROPPED,
                purged=False,
                metadata_location=location,
                others=_other_views(plain_name, plan.steps),
                dependents=tuple(map(str, plan.dependents)),
                unknown=tuple(str(lineage.view) for lineage in plan.unknown),
            )
        if row is not None:
            report = catalog.drop_table(plain_name, behavior=behavior)
        else:
            report = catalog.drop_view(name, purge_files=purge, behavior=behavior)
    except (NoSuchViewError, NoSuchTableError) as error:
        if not if_exists or (isinstance(error, NoSuchViewError) and error.detail):
            raise
        return Dropped(**names, outcome=Outcome.ABSENT, purged=False)
    # The view may have been changed since it was loaded, while the drop waited for its lock.
    own_step = next(step for step in report.steps if str(step.name) == plain_name)
    others = _other_views(plain_name, report.steps)
    return Dropped(
        **names,
        outcome=Outcome.DROPPED,
        purged=purge and own_step.metadata_location is None and not own_step.remaining_files,
        metadata_location=own_step.metadata_location,
        remaining_files=own_step.remaining_files,
        others=others,
        dependents=tuple(other.view for other in others),
        unknown=tuple(str(lineage.view) for lineage in report.unknown),
        text=own_step.text,
    )


def _view_location(catalog: HiveViewCatalog, name: str) -> str | None:
    try:
        return catalog.load_view(name).metadata_location
    except MetadataFileError as error:
        return error.location  # its row can be dropped all the same


def _table_row(catalog: HiveViewCatalog, name: str) -> Row | None:
    """Return the row of a table; None for a view and if nothing has the name."""
    from hive_views.identifiers import ViewName

    row = catalog.store.get_row(ViewName.parse(name, catalog=catalog.name))
    return None if row is None or row.kind.is_view else row


def register_view(
    catalog: HiveViewCatalog,
    name: ViewArgument,
    metadata_location: Annotated[str, typer.Argument(metavar="METADATA_LOCATION")],
) -> Written:
    """Create a view from an existing metadata file, such as that of a dropped view. The file is not changed.

    Args:
        metadata_location: The file's URI.
    """
    return written(catalog.register_view(name, metadata_location), "registered")


def set_properties(
    catalog: HiveViewCatalog, name: ViewArgument, properties: Annotated[list[str], typer.Argument(metavar="KEY=VALUE")]
) -> Written:
    """Set properties of a view; its other properties are kept.

    Args:
        properties: Keys and values, as key=value.
    """
    updates = parse_properties(properties, "KEY=VALUE")
    view = catalog.load_view(name)
    changed = view.update().set_properties(updates).commit()
    return written(changed, _outcome(Outcome.CHANGED, view, changed))


def unset_properties(
    catalog: HiveViewCatalog, name: ViewArgument, keys: Annotated[list[str], typer.Argument(metavar="KEY")]
) -> Written:
    """Remove properties of a view; keys that it does not have are ignored.

    Args:
        keys: The keys.
    """
    view = catalog.load_view(name)
    changed = view.update().remove_properties(*keys).commit()
    return written(changed, _outcome(Outcome.CHANGED, view, changed))


# -- Arguments ---------------------------------------------------------------------------------------------------------


def parse_time(text: str) -> int:
    """Parse a time in ISO 8601 (UTC unless it names another zone), or milliseconds from the epoch, to the latter."""
    from pydantic import TypeAdapter, ValidationError

    if text.isascii() and text.isdigit():
        return int(text)
    try:
        # Without the check pydantic would accept any number as a time.
        time = TypeAdapter(datetime).validate_python(text if _DATE.match(text) else None)
    except ValidationError:
        raise UsageError(
            "--to-time", f"{text!r} is not a time: write e.g. 2026-01-31T12:00:00Z, or milliseconds from the epoch"
        ) from None
    zoned_time = time if time.tzinfo is not None else time.replace(tzinfo=timezone.utc)
    return (zoned_time - _EPOCH) // timedelta(milliseconds=1)


def _drop_question(
    catalog: HiveViewCatalog,
    name: str,
    *,
    purge: bool = False,
    restrict: bool = False,
    cascade: bool = False,
    dry_run: bool = False,
    **_: object,
) -> str:
    """The question before a view or table is dropped; empty for a dry run."""
    if dry_run:
        return ""
    dependents = " and every view that depends on it (--dry-run lists them)" if cascade else ""
    row = _table_row(catalog, name) if restrict or cascade else None
    if row is not None:
        lost = "" if row.metadata_location else "; the metastore forgets its columns and partitions"
        return f"Drop table {name}{dependents}? Its files are kept{lost}."
    files = f"{', ' if cascade else ' '}and permanently delete all {'their' if cascade else 'its'} metadata files"
    return f"Drop view {name}{dependents}{files if purge else ''}?"


def _drop_exit_code(dropped: Dropped) -> ExitCode:
    """The exit code of `drop`; a dry run that predicts a refusal has the refusal's."""
    if dropped.outcome == Outcome.WOULD_BE_REFUSED:
        return ExitCode.CONFLICT
    return ExitCode.FAILED if dropped.remaining_files else ExitCode.OK


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
        summary=_SUMMARY,
    )


def _check_raw_options(
    raw: bool, default_catalog: str | None, expanded: str | None, expanded_file: str | None, *, verify: bool
) -> None:
    if raw and verify:
        raise UsageError("--verify", "cannot be combined with --raw, which stores a query as it is")
    options = {"--default-catalog": default_catalog, "--expanded": expanded, "--expanded-file": expanded_file}
    for option, value in options.items():
        if value is not None and not raw:
            raise UsageError(
                option, "it belongs to --raw, which stores a query as it is; without it, it is derived from the query"
            )


def _verifying_analyzer(
    catalog: HiveViewCatalog, name: str, query: str, dialect: str, database: str | None
) -> Analyzer:
    """The analyzer that compares what Spark reads in the typed and the expanded query."""
    if dialect != Dialect.SPARK:
        raise UsageError("--verify", f"Spark analyzes the query, whose dialect is {dialect} and not spark")
    from hive_views.spark.command import analyze_in_spark

    return partial(analyze_in_spark, catalog, query, database or _parsed_name(catalog, name).database)


def _parsed_name(catalog: HiveViewCatalog, name: str) -> ViewName:
    from hive_views.identifiers import ViewName

    return ViewName.parse(name, catalog=catalog.name)


def _query_texts(
    sql: str | None, file: str | None, expanded: str | None, expanded_file: str | None
) -> tuple[str, str | None]:
    """The query, and its expansion if one is given."""
    if file == "-" and expanded_file == "-":
        raise UsageError("--expanded-file", "standard input can contain only one of the texts")
    return read_query(sql, file), _query_text(expanded, expanded_file, "--expanded", "--expanded-file")


def read_query(sql: str | None, file: str | None) -> str:
    """The query of a view, from an option or a file."""
    query = _query_text(sql, file, "--sql", "--file")
    if query is None:
        raise UsageError("--sql", "give the query by --sql TEXT or --file FILE (- is standard input)")
    return query


def _query_text(text: str | None, file: str | None, option: str, file_option: str) -> str | None:
    """A query without the semicolons that end it."""
    if text is not None and file is not None:
        raise UsageError(option, f"cannot be combined with {file_option}")
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


def _view_properties(texts: Sequence[str], comment: str | None) -> dict[str, str]:
    return {**parse_properties(texts, "--property"), **({} if comment is None else {"comment": comment})}


# -- Results and their text --------------------------------------------------------------------------------------------


def written(view: HiveView, outcome: str, *, renamed_from: str | None = None, raw: bool = False) -> Written:
    """The result of a command that changed a view."""
    return Written(
        view=view_name(view),
        outcome=outcome,
        version_id=view.metadata.current_version_id,
        uuid=view.metadata.view_uuid,
        metadata_location=view.metadata_location,
        previous_metadata_location=view.previous_metadata_location,
        renamed_from=renamed_from,
        raw=raw,
    )


def print_written(result: Written) -> None:
    """Print what was done, in one line."""
    old_name = f"{result.renamed_from} -> " if result.renamed_from else ""
    print_line(f"{old_name}{result.view}: {result.outcome}, version {result.version_id} is current")
    if result.raw:
        remark = "Stored as it is: neither its names nor its columns were checked. `hive-views deps check` checks it"
        print_line(f"{remark} ({result.view}).", style="yellow")


def _plain_name(name: str) -> str:
    """`database.name` in lower case, for a name that may include the catalog."""
    return ".".join(name.lower().split(".")[-2:])


def _load_if_exists(catalog: HiveViewCatalog, name: str) -> HiveView | None:
    try:
        return catalog.load_view(name)
    except NoSuchViewError as error:
        # A table with the name is reported by the creation, as a name that is taken.
        if type(error) not in (NoSuchViewError, NotAViewError):
            raise
        return None


def _outcome(change: Outcome, before: HiveView, after: HiveView) -> Outcome:
    return Outcome.UNCHANGED if before.metadata_location == after.metadata_location else change


def _other_views(name: str, steps: Sequence[DropStep]) -> tuple[DroppedView, ...]:
    return tuple(
        DroppedView(str(step.name), step.kind.value, step.metadata_location, step.text)
        for step in steps
        if str(step.name) != name
    )


def _print_dropped(result: Dropped) -> None:
    """Print what was done to each view, and how to restore it."""
    from hive_views.spec.lineage_codec import ObjectKind

    is_dry_run = result.outcome.startswith("would")
    for other in result.others:
        remark = "" if other.kind == ObjectKind.VIEW.value else f" ({other.kind}: it cannot be brought back)"
        print_line(f"{other.view}: {result.outcome if is_dry_run else Outcome.DROPPED}{remark}")
    purged = ", its metadata files deleted" if result.purged else ""
    print_line(f"{result.view or result.table}: {result.outcome}{purged}")
    if result.remaining_files:
        locations = ", ".join(map(shown, result.remaining_files))
        print_line(f"These metadata files could not be deleted: {locations}", style="yellow")
    if result.unknown:
        label = "May depend on it too, since their sources are not all known"
        print_line(f"{label}: {', '.join(map(shown, result.unknown))}", style="yellow")
    if is_dry_run:
        dropped_views = {other.view for other in result.others}
        remaining = [name for name in result.dependents if name not in dropped_views]
        if remaining:
            label = "These views depend on it" if result.outcome == Outcome.WOULD_BE_REFUSED else "Left dangling"
            print_line(f"{label}: {', '.join(map(shown, remaining))}", style="yellow")
        return
    # Views are restored before the views that depend on them.
    restorable = [(result.view, result.metadata_location)]
    restorable += [(other.view, other.metadata_location) for other in reversed(result.others)]
    if result.table is not None and result.metadata_location is not None:
        arguments = f"{shown(result.table)!r}, {shown(result.metadata_location)!r}"
        print_line(f"To bring it back, in Python: catalog.register_table({arguments})", style="dim")
    elif result.table is not None and result.outcome == Outcome.DROPPED:
        statement = f"Hive creates it again over its files by: {result.text}"
        print_line(
            statement if result.text else "Its row does not imply a statement that creates it again", style="dim"
        )
    for name, location in restorable:
        if name and location:
            command = f"hive-views register {shlex.quote(shown(name))} {shlex.quote(shown(location))}"
            print_line(f"To bring it back: {command}", style="dim")
    for other in result.others:
        if other.text is not None:
            print_line(f"The text of {other.view} was: {other.text}", style="dim")
