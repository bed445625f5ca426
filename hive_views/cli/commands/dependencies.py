"""The commands of `deps`, and `recompile`, `adopt` and `repair`: functions, results and their output as text."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hive_views.cli.binding import Command, bind
from hive_views.cli.columns import parse_type
from hive_views.cli.commands.reading import ViewArgument
from hive_views.cli.commands.writing import Written, print_written, written
from hive_views.cli.output import bar, json_value, print_json, print_line, shown, write_file
from hive_views.errors import HiveViewsError, MetastoreError, NoSuchTableError, NoSuchViewError, UsageError
from hive_views.identifiers import ViewName
from hive_views.text_enum import TextEnum

if TYPE_CHECKING:
    from hive_views.catalog.catalog import HiveViewCatalog
    from hive_views.dependencies.impact import AffectedView
    from hive_views.dependencies.partitions import PartitionDependencies
    from hive_views.dependencies.render import Direction, Picture, TreeLine
    from hive_views.dependencies.table_findings import EngineFinding
    from hive_views.sql.analysis.validity import CheckedView

_HIVE_ONLY_TYPE = re.compile(r"\b(tinyint|smallint|(var)?char)\b")


class GraphFormat(TextEnum):
    """The format of a picture."""

    TREE = "tree"
    DOT = "dot"
    MERMAID = "mermaid"
    HTML = "html"
    JSON = "json"


Databases = Annotated[list[str], typer.Argument(metavar="[DATABASE]...")]
ColumnOption = Annotated[list[str], typer.Option(metavar="NAME:TYPE")]

_STYLES = {
    "valid": "green",
    "outdated": "yellow",
    "unexpanded": "yellow",
    "drifted": "yellow",
    "invalid": "red",
    "missing": "red",
    "blocked": "red",
    "unknown": "magenta",
    "breaks": "red",
    "broken already": "red",
    "changes types": "yellow",
    "stays frozen": "yellow",
}

_ASCII = str.maketrans("├└│─", "|`|-")


def register(app: typer.Typer, *, read_panel: str, change_panel: str) -> None:
    """Add the commands to the application; the panels are headings of its help."""
    group = typer.Typer(help="Show what views depend on, whether they are valid, and what a change would break.")
    bind(group, Command("tree", show_tree, print_trees))
    bind(group, Command("graph", show_graph, print_graph))
    bind(group, Command("impact", show_impact, print_impact, has_failed=lambda report: report.breaks))
    bind(group, Command("check", check, print_check, has_failed=lambda report: not report.ok))
    bind(group, Command("partitions", show_partitions, print_partition_result, has_failed=_has_incomplete_partitions))
    app.add_typer(group, name="deps", rich_help_panel=read_panel)
    bind(
        app,
        Command(
            "recompile",
            recompile,
            print_recompiled,
            panel=change_panel,
            has_failed=lambda report: any(view.error is not None for view in report.views),
            question=lambda database, **_: (
                f"Expand the texts of all views of {database} again, and commit those that change?" if database else ""
            ),
        ),
    )
    bind(app, Command("adopt", adopt, print_written, panel=change_panel))
    bind(
        app,
        Command(
            "repair",
            repair,
            print_written,
            panel=change_panel,
            question=lambda name, **_: (
                f"Overwrite what another program wrote into the row of {name}? `show` shows it, `adopt` keeps it."
            ),
        ),
    )


# -- deps tree --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DependencyTree:
    """One direction of `deps tree`."""

    direction: Direction
    lines: tuple[TreeLine, ...]


@dataclass(frozen=True)
class DependencyTrees:
    """The result of `deps tree`."""

    name: ViewName
    trees: tuple[DependencyTree, ...]


def show_tree(catalog: HiveViewCatalog, name: ViewArgument, *, up: bool = False, down: bool = False) -> DependencyTrees:
    """Show what an object reads, and what reads it, as trees, and whether each view is valid. Both by default.

    Args:
        name: A table or view, as database.name.
        up: Only what it reads, directly and through other views.
        down: Only what reads it.
    """
    from hive_views.dependencies.render import Direction, tree

    root = ViewName.parse(name, catalog=catalog.name)
    directions = [Direction.UP] * up + [Direction.DOWN] * down
    trees = tuple(
        DependencyTree(direction, tree(catalog.dependencies.picture_of(name, direction), [root], direction))
        for direction in directions or Direction
    )
    if all(len(item.lines) == 1 and item.lines[0].is_missing for item in trees):
        raise NoSuchViewError(str(root))
    return DependencyTrees(root, trees)


def print_trees(value: DependencyTrees) -> None:
    """Print the trees, with headings if there are two."""
    headings = {"up": "Reads", "down": "Is read by"}
    for number, tree in enumerate(value.trees):
        if len(value.trees) > 1:
            print_line(f"{chr(10) if number else ''}{headings[tree.direction.value]}", style="bold")
        for line in tree.lines:
            _print_line(line)


def _print_line(line: TreeLine) -> None:
    from rich.text import Text

    from hive_views.dependencies.render import NOTES
    from hive_views.sql.analysis.validity import Validity

    printed = Text(line.branch if _has_line_drawing() else line.branch.translate(_ASCII), style="dim")
    printed.append(shown(line.name), style="not dim")
    standing = line.standing
    if not line.is_missing:
        printed.append(f"  {line.kind}")
    if line.note is not None:
        printed.append(f"  {NOTES[line.note]}")
    elif standing not in (Validity.VALID, Validity.UNCHECKED):
        printed.append(f"  {standing.value}", style=f"not dim {_STYLES.get(standing.value, '')}")
        if line.reasons and standing is not Validity.MISSING:
            printed.append(f": {shown(line.reasons[0])}", style="not dim")
    print_line(printed)


# -- deps graph -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GraphNode:
    """A table or view of a graph."""

    name: str
    kind: str
    uuid: str | None
    standing: str
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class GraphEdge:
    """A view reads an object."""

    view: str
    reads: str
    state: str


@dataclass(frozen=True, kw_only=True)
class DependencyGraph:
    """The result of `deps graph`."""

    format: str
    output: str | None
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    cycles: tuple[tuple[str, ...], ...]
    picture: str | None


def show_graph(
    catalog: HiveViewCatalog,
    databases: Databases = [],  # noqa: B006 -- never changed; Typer takes the default's type for the argument's
    *,
    format: Annotated[str, typer.Option("--format", "-f", metavar="|".join(GraphFormat))] = GraphFormat.TREE,
    output: Annotated[str | None, typer.Option("--output", "-o", metavar="FILE")] = None,
    unchecked: bool = False,
    without_columns: bool = False,
) -> DependencyGraph:
    """Draw what the views of databases read: as a tree, as DOT or Mermaid text, as an HTML page, as JSON.

    Args:
        databases: The databases; all by default.
        format: The picture's format. A page needs --output.
        output: The file to write the picture to; - is standard output.
        unchecked: Do not check whether each view is valid, which takes most of the time.
        without_columns: Do not resolve the lineage of columns, which a page draws.
    """
    if format not in {*GraphFormat}:
        raise UsageError("--format", f"{format!r} is none of {', '.join(GraphFormat)}")
    if format == GraphFormat.HTML and output is None:
        raise UsageError("--output", "name the page's file, e.g. --output views.html (- is standard output)")
    for database in databases:
        catalog.load_namespace_properties(database)  # a missing database would be drawn as an empty picture
    with bar("checking") as advance:
        picture = catalog.dependencies.picture(
            *databases,
            check=not unchecked,
            with_columns=format == GraphFormat.HTML and not without_columns,
            progress=advance,
        )
    graph = DependencyGraph(
        format=format,
        output=output if output != "-" else None,
        nodes=tuple(
            GraphNode(str(name), box.kind_text, picture.graph.nodes[name].uuid, box.standing.value, box.reasons)
            for name, box in picture.boxes.items()
        ),
        edges=tuple(GraphEdge(str(edge.view), str(edge.target), edge.state.value) for edge in picture.arrows()),
        cycles=tuple(tuple(map(str, group)) for group in picture.graph.cycles()),
        picture=None,
    )
    drawing = json.dumps(json_value(graph), indent=2) + "\n" if format == GraphFormat.JSON else _draw(picture, format)
    if output is None or output == "-":
        return dataclasses.replace(graph, picture=None if format == GraphFormat.JSON else drawing)
    write_file(output, drawing, "--output")
    return graph


def _draw(picture: Picture, format: str) -> str:
    from hive_views.dependencies.render import dot, html, mermaid, tree, tree_text

    if format == GraphFormat.TREE:
        return tree_text(tree(picture))
    return {GraphFormat.DOT: dot, GraphFormat.MERMAID: mermaid, GraphFormat.HTML: html}[GraphFormat(format)](picture)


def print_graph(value: DependencyGraph) -> None:
    """Print the picture, or where it was written."""
    if value.output is not None:
        cycles = f", {len(value.cycles)} cycles" if value.cycles else ""
        print_line(f"{value.output}: {len(value.nodes)} objects, {len(value.edges)} edges{cycles}")
    elif value.picture is None:
        print_json(value)
    else:
        sys.stdout.write(value.picture if _has_line_drawing() else value.picture.translate(_ASCII))


# -- deps impact ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ImpactReport:
    """The result of `deps impact`."""

    name: ViewName
    columns: tuple[tuple[str, str], ...] | None
    breaks: bool
    views: tuple[AffectedView, ...]


def show_impact(
    catalog: HiveViewCatalog,
    name: ViewArgument,
    *,
    drop: bool = False,
    column: Annotated[list[str], typer.Option("--column", "-c", metavar="NAME:TYPE")] = [],  # noqa: B006
    add_column: ColumnOption = [],  # noqa: B006
    change_column: ColumnOption = [],  # noqa: B006
    drop_column: Annotated[list[str], typer.Option(metavar="NAME")] = [],  # noqa: B006
) -> ImpactReport:
    """Show what a change to a table or view would do to every view that depends on it. Nothing is changed.

    Exits with 1 if a view would break.

    Args:
        name: A table or view, as database.name.
        drop: It would be dropped or renamed. This is the default.
        column: A column that it would have: name all of them, in order.
        add_column: A column that would be added after the others.
        change_column: A column that would have this type.
        drop_column: A column that would be removed.
    """
    edits = bool(add_column or change_column or drop_column)
    if drop + bool(column) + edits > 1:
        raise UsageError("--drop", "name one change at a time: --drop, or every --column, or columns to add and drop")
    from hive_views.dependencies.impact import Effect

    columns = [_column(value, "--column") for value in column] or None
    if edits:
        columns = _edited_columns(catalog, name, add_column, change_column, drop_column)
    views = catalog.dependencies.impact(name, columns)
    return ImpactReport(
        ViewName.parse(name, catalog=catalog.name),
        None if columns is None else tuple(columns),
        any(view.effect is Effect.BREAKS for view in views),
        views,
    )


def print_impact(value: ImpactReport) -> None:
    """Print a line for each view, and how many would break."""
    from hive_views.dependencies.impact import Effect

    for view in value.views:
        _print_state(view.view, view.effect.value, view.reason, view.line, view.column)
    broken = sum(view.effect is Effect.BREAKS for view in value.views)
    change = "changed" if value.columns is not None else "dropped"
    print_line(f"{_count(broken, 'view')} of {len(value.views)} would break if {value.name} was {change}")


def _edited_columns(
    catalog: HiveViewCatalog, name: str, added: Sequence[str], changed: Sequence[str], dropped: Sequence[str]
) -> list[tuple[str, str]]:
    """Return the columns that an object would have after some edits."""
    columns = dict(catalog.columns(name))
    if not columns:
        raise NoSuchTableError(str(ViewName.parse(name, catalog=catalog.name)))
    for option, values in (("--change-column", changed), ("--drop-column", dropped)):
        for column in (value.partition(":")[0].strip().lower() for value in values):
            if column not in columns:
                raise UsageError(option, f"{name} has no column {column} (it has {', '.join(columns)})")
    for column, kind in (_column(value, "--change-column") for value in changed):
        columns[column] = kind
    for value in dropped:
        columns.pop(value.strip().lower(), None)
    for column, kind in (_column(value, "--add-column") for value in added):
        if column in columns:
            raise UsageError("--add-column", f"{name} has a column {column} already")
        columns[column] = kind
    return list(columns.items())


def _column(value: str, option: str) -> tuple[str, str]:
    """Parse `name:type`, with a type of Hive or Iceberg, to a name and a Hive type."""
    from hive_views.sql.types.names import hive_name

    name, separator, kind = (part.strip().lower() for part in value.partition(":"))
    if not name or not separator or not kind:
        raise UsageError(option, f"{value!r} is not of the form name:type")
    iceberg = parse_type(kind, value)
    # A Hive type that Iceberg does not have is not converted.
    return name, kind if _HIVE_ONLY_TYPE.search(kind) else hive_name(json.loads(iceberg.model_dump_json()))


# -- deps check -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CheckReport:
    """The result of `deps check`."""

    ok: bool
    counts: dict[str, int]
    views: tuple[CheckedView, ...]
    engines: dict[str, tuple[EngineFinding, ...]] | None = None


def check(
    catalog: HiveViewCatalog,
    name: Annotated[str | None, typer.Argument(metavar="[DATABASE|VIEW]")] = None,
    *,
    strict: bool = False,
    engines: bool = False,
    workers: Annotated[int, typer.Option(metavar="N", min=1, max=64)] = 4,
) -> CheckReport:
    """Check whether views can be read and still mean what their authors typed: one, a database's, or all.

    A view that reads something that cannot be read is blocked. Exits with 1 if a view is invalid or blocked.

    Args:
        name: A database, or a view as database.name; all databases by default.
        strict: Exit with 1 unless every view is valid.
        engines: List also why plain Spark, Hive or Trino do not read a view with its author's rows.
        workers: Threads that read metadata files.
    """
    views: tuple[CheckedView, ...]
    if name is not None and "." in name:
        views = (catalog.dependencies.check_view(name),)
    else:
        if name is not None:
            catalog.load_namespace_properties(name)  # a missing database would be reported as one without views
        with bar("checking") as advance:
            views = catalog.dependencies.check_views(
                *([] if name is None else [name]), workers=workers, progress=advance
            )
    from hive_views.sql.analysis.validity import Validity

    counts = Counter(view.validity.value for view in views)
    failed = sum(view.validity is not Validity.VALID if strict else view.validity.is_unreadable for view in views)
    findings = None
    if engines:
        from hive_views.dependencies.engines import EngineChecker

        checker = EngineChecker(catalog.store)
        findings = {str(view.view): checker.check_name(view.view) for view in views}
    return CheckReport(failed == 0, {key: counts[key] for key in sorted(counts)}, views, findings)


def print_check(value: CheckReport) -> None:
    """Print the problems of each view, then how many views have each validity."""
    for view in value.views:
        for problem in view.problems:
            _print_state(view.view, problem.validity.value, problem.reason, problem.line, problem.column)
    for name, findings in (value.engines or {}).items():
        for finding in findings:
            print_line(f"{name}  {finding.text}")
    counts = ", ".join(f"{count} {validity}" for validity, count in value.counts.items()) or "none"
    print_line(f"{_count(len(value.views), 'view')}: {counts}")


# -- recompile, adopt, repair -----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class RecompiledView:
    """The result of `recompile` for one view."""

    view: str
    outcome: str
    version_id: int | None
    added: tuple[str, ...]
    removed: tuple[str, ...]
    retyped: tuple[str, ...]
    error: str | None


@dataclass(frozen=True)
class RecompileReport:
    """The result of `recompile`."""

    views: tuple[RecompiledView, ...]


def recompile(
    catalog: HiveViewCatalog,
    views: Annotated[list[str], typer.Argument(metavar="[VIEW]...")] = [],  # noqa: B006
    *,
    database: Annotated[str | None, typer.Option(metavar="NAME")] = None,
) -> RecompileReport:
    """Expand the typed texts of views again: a star includes new columns, types follow their tables.

    A view gets a new version only if something changed. A view that cannot be recompiled stays as it is, and the others
    are recompiled; the exit code is 1 then.

    Args:
        views: The views, as database.name.
        database: All Iceberg views of this database, each after what it reads.
    """
    if bool(views) == (database is not None):
        raise UsageError("--database", "give the names of views, or --database NAME for all views of a database")
    names: Sequence[str] = views
    if database is not None:
        iceberg_views = {".".join(name) for name in catalog.list_views(database)}
        names = [str(name) for name in catalog.dependencies.graph(database).order() if str(name) in iceberg_views]
    return RecompileReport(tuple(_recompile_view(catalog, name) for name in names))


def _recompile_view(catalog: HiveViewCatalog, name: str) -> RecompiledView:
    try:
        result = catalog.recompile_view(name)
    except MetastoreError:
        raise
    except HiveViewsError as error:
        view = str(ViewName.parse(name, catalog=catalog.name))
        return RecompiledView(
            view=view, outcome="failed", version_id=None, added=(), removed=(), retyped=(), error=str(error)
        )
    return RecompiledView(
        view=str(result.loaded.row.name),
        outcome="recompiled" if result.changed else "unchanged",
        version_id=result.loaded.metadata.current_version_id,
        added=result.added,
        removed=result.removed,
        retyped=result.retyped,
        error=None,
    )


def print_recompiled(value: RecompileReport) -> None:
    """Print a line for each view."""
    for view in value.views:
        if view.error is not None:
            print_line(f"{view.view}: failed: {view.error}", style="red")
            continue
        changes = "".join(
            f"; {sign} {', '.join(map(shown, columns))}"
            for sign, columns in (("+", view.added), ("-", view.removed), ("~", view.retyped))
            if columns
        )
        print_line(f"{view.view}: {view.outcome}, version {view.version_id} is current{changes}")


def adopt(catalog: HiveViewCatalog, name: ViewArgument) -> Written:
    """Make what another program wrote into a view's row its new version; the previous one stays in the history."""
    before = catalog.load_view(name)
    after = catalog.adopt_view(name)
    return written(after, "adopted" if before.metadata_location != after.metadata_location else "unchanged")


def repair(catalog: HiveViewCatalog, name: ViewArgument) -> Written:
    """Rewrite a view's row from its metadata file. What another program wrote into the row is lost."""
    before = catalog.load_view(name)
    after = catalog.repair_view(name)
    return written(after, "repaired" if before.metadata_location != after.metadata_location else "unchanged")


# -- Output -----------------------------------------------------------------------------------------------------------


def _print_state(view: ViewName, state: str, reason: str, line: int | None, column: int | None) -> None:
    from rich.text import Text

    position = f" (line {line}:{column})" if line is not None else ""
    printed = Text.assemble(shown(view), "  ", (state, _STYLES.get(state, "")))
    print_line(printed.append(f": {shown(reason)}{position}" if reason or position else ""))


def _has_line_drawing() -> bool:
    """Whether stdout can encode the lines of a tree."""
    return (sys.stdout.encoding or "").lower().startswith("utf")


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


Name = Annotated[str, typer.Argument(metavar="NAME")]
Values = Annotated[list[str], typer.Argument(metavar="[COLUMN=VALUE]...")]


def show_partitions(
    catalog: HiveViewCatalog,
    name: Name,
    values: Values = [],  # noqa: B006 -- never changed; Typer takes the default's type for the argument's
    *,
    stale: bool = False,
) -> PartitionDependencies | dict[str, Any]:
    """Show which partitions of tables a view's partition needs, which are missing, and when each was last written.

    Args:
        name: A view, as database.name; with --stale also a database.
        values: The view's partition, as ds=2026-01-01; the whole view by default.
        stale: Show the partitions that were added to the view and need something that has changed since then.
    """
    if stale:
        if values:
            raise UsageError("COLUMN=VALUE", "--stale examines all partitions: leave the values out")
        marked = catalog.partitions.marked(name)
        return {"name": name, "marked": len(marked), "partitions": [item for item in marked if item.stale is not False]}
    partition = {}
    for text in values:
        column, sign, value = text.partition("=")
        if not column or not sign:
            raise UsageError("COLUMN=VALUE", f"{text!r} is no column and value: write ds=2026-01-01")
        partition[column] = value
    return catalog.partitions.dependencies(name, partition)


def print_partition_result(value: PartitionDependencies | dict[str, Any]) -> None:
    """Print the stale partitions, or what one partition needs."""
    if not isinstance(value, dict):
        print_partitions(value)
        return
    for item in value["partitions"]:
        name = "/".join(f"{column}={text}" for column, text in item.partition)
        state = "stale" if item.stale else "unknown"
        print_line(f"{item.view} {name}  {state}: {item.reason}")
    number = sum(item.stale is True for item in value["partitions"])
    print_line(f"{number} of {value['marked']} partitions are stale")


def print_partitions(value: PartitionDependencies) -> None:
    """Print the tables with their partitions, then whether the partition is complete."""
    from hive_views.dependencies.table_partitions import Trust

    for table in value.tables:
        restricted = ", ".join(f"{column} = {equal}" for column, equal in table.restricted)
        scope = restricted or ("all partitions" if table.partition_columns else "no partitions")
        name = " ".join(filter(None, (str(table.table), table.state)))
        print_line(f"{name}  {scope if table.exists else 'missing'}", style="bold")
        for part in table.partitions:
            note = " (row created)" if part.trust is Trust.CREATION else ""
            written = json_value(part.written) or "unknown"
            print_line(f"  {part.name or 'the table'}  {written}{note}")
        for spec in table.missing:
            name = "/".join(f"{column}={text}" for column, text in spec)
            print_line(f"  {name}  missing", style="red")
        for reason in table.reasons:
            print_line(f"  {reason}", style="yellow")
    verdict = {True: "complete", False: "incomplete", None: "unknown"}[value.complete]
    print_line(f"{verdict}: {value.why}")
    fresh_as_of, last_written = (json_value(time) or "unknown" for time in (value.fresh_as_of, value.last_written))
    print_line(f"fresh as of {fresh_as_of}, last written {last_written}")
    if value.marked_at is not None:
        state = {True: "stale", False: "not stale", None: "unknown whether stale"}[value.stale]
        print_line(f"marked at {json_value(value.marked_at)}, {state}: {value.stale_reason}")


def _has_incomplete_partitions(value: PartitionDependencies | dict[str, Any]) -> bool:
    """Whether something is missing or stale."""
    if isinstance(value, dict):
        return any(item.stale is True for item in value["partitions"])
    return value.complete is False
