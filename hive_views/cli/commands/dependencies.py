"""`deps` and `recompile`, `adopt`, `repair`. Plain functions, for Python as for the command line."""

from __future__ import annotations

import dataclasses
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hive_views.cli.columns import parse_type
from hive_views.cli.commands.dependency_values import (
    AffectedView,
    CheckReport,
    DependencyGraph,
    DependencyTree,
    DependencyTrees,
    FoundProblem,
    GraphEdge,
    GraphNode,
    ImpactReport,
    RecompiledView,
    RecompileReport,
    TreeNode,
)
from hive_views.cli.commands.dependency_values import (
    CheckedView as CheckedViewJson,
)
from hive_views.cli.commands.reading import ViewArgument
from hive_views.cli.commands.writing import written
from hive_views.cli.exit_codes import ExitCode
from hive_views.cli.values import Written
from hive_views.errors import HiveViewsError, MetastoreError, NoSuchTableError, NoSuchViewError, UsageError

if TYPE_CHECKING:
    from hive_views.catalog.catalog import HiveViewCatalog
    from hive_views.dependencies.render import Picture, TreeLine
    from hive_views.dependencies.validity import CheckedView

_HIVE_ALONE = re.compile(r"\b(tinyint|smallint|(var)?char)\b")

FORMATS = ("tree", "dot", "mermaid", "html", "json")

Databases = Annotated[list[str], typer.Argument(metavar="[DATABASE]...")]
ColumnOption = Annotated[list[str], typer.Option(metavar="NAME:TYPE")]


def show_tree(catalog: HiveViewCatalog, name: ViewArgument, *, up: bool = False, down: bool = False) -> DependencyTrees:
    """Show what an object reads, and what reads it, as trees; each view with how it stands. Both by default.

    Args:
        catalog: Where it is.
        name: A table or view, as database.name.
        up: Only what it reads, directly and through other views.
        down: Only what reads it.

    Returns:
        The trees.

    Raises:
        NoSuchViewError: If nothing has the name, and nothing reads it.
        HiveViewsError: As `HiveViewCatalog.picture_of` says.
    """
    from hive_views.dependencies.render import Direction, tree
    from hive_views.identifiers import ViewName

    wanted = [Direction.UP] if up else []
    wanted += [Direction.DOWN] if down else []
    trees = []
    root = ViewName.parse(name, catalog=catalog.name)
    for direction in wanted or list(Direction):
        picture = catalog.picture_of(name, direction)
        trees.append(DependencyTree(direction.value, _lines(tree(picture, [root], direction))))
    if all(len(item.lines) == 1 and item.lines[0].kind == "missing" for item in trees):
        raise NoSuchViewError(str(root))
    return DependencyTrees(str(root), tuple(trees))


def show_graph(
    catalog: HiveViewCatalog,
    databases: Databases = [],  # noqa: B006 -- never changed; Typer takes the default's type for the argument's
    *,
    format: Annotated[str, typer.Option("--format", "-f", metavar="|".join(FORMATS))] = "tree",
    output: Annotated[str | None, typer.Option("--output", "-o", metavar="FILE")] = None,
    unchecked: bool = False,
) -> DependencyGraph:
    """Draw what the views of databases read: as a tree, as DOT or Mermaid text, as an HTML page, as JSON.

    Args:
        catalog: Where they are.
        databases: The databases; all by default.
        format: The picture's format. A page needs --output.
        output: The file to write the picture to; - is standard output.
        unchecked: Do not look how each view stands, which takes longest.

    Returns:
        The graph and its picture.

    Raises:
        UsageError: If there is no such format, or the file cannot be written.
        NoSuchNamespaceError: If there is no such database.
        HiveViewsError: As `HiveViewCatalog.picture` says.
    """
    if format not in FORMATS:
        raise UsageError("--format", f"{format!r} is none of {', '.join(FORMATS)}")
    if format == "html" and output is None:
        raise UsageError("--output", "name the page's file, e.g. --output views.html (- is standard output)")
    for database in databases:
        catalog.load_namespace_properties(database)  # what is not there would be drawn as nothing
    picture = catalog.picture(*databases, check=not unchecked)
    value = _graph(picture, format, output if output != "-" else None)
    text = json.dumps(dataclasses.asdict(value), indent=2) + "\n" if format == "json" else _drawn(picture, format)
    if output is None or output == "-":
        return dataclasses.replace(value, picture=None if format == "json" else text)
    try:
        Path(output).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError("--output", f"{output} cannot be written: {error}") from error
    return value


def tell_impact(
    catalog: HiveViewCatalog,
    name: ViewArgument,
    *,
    drop: bool = False,
    column: Annotated[list[str], typer.Option("--column", "-c", metavar="NAME:TYPE")] = [],  # noqa: B006
    add_column: ColumnOption = [],  # noqa: B006
    change_column: ColumnOption = [],  # noqa: B006
    drop_column: Annotated[list[str], typer.Option(metavar="NAME")] = [],  # noqa: B006
) -> ImpactReport:
    """Tell what a change to a table or view would do to every view that depends on it. Nothing is changed.

    Args:
        catalog: Where it is.
        name: A table or view, as database.name.
        drop: It would be dropped, or renamed; what is told without any option.
        column: A column that it would have: name all of them, in order.
        add_column: A column that it would have behind its others.
        change_column: A column that would have this type.
        drop_column: A column that would be gone.

    Returns:
        What becomes of each dependent. The exit code is 1 if one would break.

    Raises:
        UsageError: If options contradict each other, or name columns that are not there.
        NoSuchTableError: If columns are added, changed or dropped, and nothing has the name.
        HiveViewsError: As `HiveViewCatalog.impact` says.
    """
    edits = bool(add_column or change_column or drop_column)
    if drop + bool(column) + edits > 1:
        raise UsageError("--drop", "tell one change at a time: --drop, or every --column, or columns to add and drop")
    columns = [_column(text, "--column") for text in column] or None
    if edits:
        columns = _edited(catalog, name, add_column, change_column, drop_column)
    affected = tuple(
        AffectedView(str(item.view), item.effect.value, item.reason, item.line, item.column, item.types)
        for item in catalog.impact(name, columns)
    )
    breaks = any(item.effect == "breaks" for item in affected)
    return ImpactReport(_plain(catalog, name), None if columns is None else tuple(columns), breaks, affected)


def impact_code(value: ImpactReport) -> ExitCode:
    """The exit code that an impact means."""
    return ExitCode.FAILED if value.breaks else ExitCode.OK


def check(
    catalog: HiveViewCatalog,
    name: Annotated[str | None, typer.Argument(metavar="[DATABASE|VIEW]")] = None,
    *,
    strict: bool = False,
    workers: Annotated[int, typer.Option(metavar="N", min=1, max=64)] = 4,
) -> CheckReport:
    """Check whether views can be read, and still say what their authors typed: one, a database's, or all.

    Args:
        catalog: Where they are.
        name: A database, or a view as database.name; all databases by default.
        strict: Exit with 1 not for invalid views alone, but for every one that is not valid.
        workers: Threads that read metadata files.

    Returns:
        What was found. The exit code is 1 if a view is invalid.

    Raises:
        NoSuchViewError, NoSuchNamespaceError: If there is no such view or database.
        HiveViewsError: As `HiveViewCatalog.check_views` says.
    """
    found: Iterable[CheckedView]
    if name is not None and "." in name:
        found = [catalog.check_view(name)]
    else:
        if name is not None:
            catalog.load_namespace_properties(name)  # a sweep finds nothing in a database that is not there
        found = catalog.check_views(*([] if name is None else [name]), workers=workers)
    views = tuple(
        CheckedViewJson(
            str(item.view),
            item.validity.value,
            tuple(FoundProblem(each.validity.value, each.reason, each.line, each.column) for each in item.problems),
        )
        for item in found
    )
    counts = Counter(view.validity for view in views)
    bad = sum(counts.values()) - counts["valid"] if strict else counts["invalid"]
    return CheckReport(bad == 0, {key: counts[key] for key in sorted(counts)}, views)


def check_code(value: CheckReport) -> ExitCode:
    """The exit code that a check means."""
    return ExitCode.OK if value.ok else ExitCode.FAILED


def recompile(
    catalog: HiveViewCatalog,
    views: Annotated[list[str], typer.Argument(metavar="[VIEW]...")] = [],  # noqa: B006
    *,
    database: Annotated[str | None, typer.Option(metavar="NAME")] = None,
) -> RecompileReport:
    """Expand what the authors of views typed again: a star takes in new columns, types follow their tables.

    A view gets a new version only if something changed.

    Args:
        catalog: Where they are.
        views: The views, as database.name.
        database: All Iceberg views of this database, each behind what it reads.

    Returns:
        What was done to each. One that cannot be recompiled stays as it is, and the others go on; the exit code is 1.

    Raises:
        UsageError: If neither or both are given.
        NoSuchNamespaceError: If there is no such database.
        MetastoreError: If the metastore fails; what was done stays done.
    """
    if bool(views) == (database is not None):
        raise UsageError("--database", "name views, or --database for all of one")
    names: Sequence[str] = views
    if database is not None:
        there = {".".join(name) for name in catalog.list_views(database)}
        names = [str(name) for name in catalog.graph(database).order() if str(name) in there]
    return RecompileReport(tuple(_recompiled(catalog, name) for name in names))


def recompile_code(value: RecompileReport) -> ExitCode:
    """The exit code that a recompilation means."""
    return ExitCode.FAILED if any(view.error is not None for view in value.views) else ExitCode.OK


def adopt(catalog: HiveViewCatalog, name: ViewArgument) -> Written:
    """Make what another program wrote into a view's row the view's new version; the one before stays in its history.

    Args:
        catalog: Where it is.
        name: The view, as database.name.

    Returns:
        What was done.

    Raises:
        NoSuchViewError: If there is no such view.
        SqlError: If the row's text cannot be resolved.
        HiveViewsError: As `HiveViewCatalog.adopt_view` says.
    """
    before = catalog.load_view(name)
    after = catalog.adopt_view(name)
    return written(after, "adopted" if before.metadata_location != after.metadata_location else "unchanged")


def repair(catalog: HiveViewCatalog, name: ViewArgument) -> Written:
    """Write a view's row again from its metadata file. What another program wrote into the row is lost.

    Args:
        catalog: Where it is.
        name: The view, as database.name.

    Returns:
        What was done.

    Raises:
        NoSuchViewError: If there is no such view.
        HiveViewsError: As `HiveViewCatalog.repair_view` says.
    """
    before = catalog.load_view(name)
    after = catalog.repair_view(name)
    return written(after, "repaired" if before.metadata_location != after.metadata_location else "unchanged")


def question_before_repair(name: str, **_: object) -> str:
    """What is asked before a row is overwritten."""
    return f"Overwrite what another program wrote into the row of {name}? `show` shows it, `adopt` keeps it."


def _recompiled(catalog: HiveViewCatalog, name: str) -> RecompiledView:
    try:
        done = catalog.recompile_view(name)
    except MetastoreError:
        raise
    except HiveViewsError as error:
        return RecompiledView(_plain(catalog, name), "failed", None, (), (), (), str(error))
    return RecompiledView(
        str(done.loaded.row.name),
        "recompiled" if done.changed else "unchanged",
        done.loaded.metadata.current_version_id,
        done.added,
        done.removed,
        done.retyped,
        None,
    )


def _edited(
    catalog: HiveViewCatalog, name: str, added: Sequence[str], changed: Sequence[str], dropped: Sequence[str]
) -> list[tuple[str, str]]:
    """The columns that an object would have."""
    now = dict(catalog.columns(name))
    if not now:
        raise NoSuchTableError(_plain(catalog, name))
    for option, texts in (("--change-column", changed), ("--drop-column", dropped)):
        for column in (text.partition(":")[0].strip().lower() for text in texts):
            if column not in now:
                raise UsageError(option, f"{name} has no column {column} (it has {', '.join(now)})")
    for column, kind in (_column(text, "--change-column") for text in changed):
        now[column] = kind
    for text in dropped:
        now.pop(text.strip().lower(), None)
    for column, kind in (_column(text, "--add-column") for text in added):
        if column in now:
            raise UsageError("--add-column", f"{name} has a column {column} already")
        now[column] = kind
    return list(now.items())


def _column(text: str, option: str) -> tuple[str, str]:
    """Name and Hive type of `name:type`, with Hive's or Iceberg's names of types."""
    from hive_views.metastore.row_codec import hive_type

    name, separator, kind = (part.strip().lower() for part in text.partition(":"))
    if not name or not separator or not kind:
        raise UsageError(option, f"{text!r} is not of the form name:type")
    iceberg = parse_type(kind, text)
    # Hive's types that Iceberg has not are told as they are written.
    return name, kind if _HIVE_ALONE.search(kind) else hive_type(json.loads(iceberg.model_dump_json()))


def _plain(catalog: HiveViewCatalog, name: str) -> str:
    from hive_views.identifiers import ViewName

    return str(ViewName.parse(name, catalog=catalog.name))


def _graph(picture: Picture, format: str, output: str | None) -> DependencyGraph:
    nodes = tuple(
        GraphNode(str(name), box.kind_text, picture.graph.nodes[name].uuid, box.standing.value, box.reasons)
        for name, box in picture.boxes.items()
    )
    edges = tuple(GraphEdge(str(edge.view), str(edge.target), edge.state.value) for edge in picture.arrows())
    cycles = tuple(tuple(map(str, group)) for group in picture.graph.cycles())
    return DependencyGraph(format, output, nodes, edges, cycles, None)


def _drawn(picture: Picture, format: str) -> str:
    from hive_views.dependencies.render import dot, html, mermaid, tree, tree_text

    if format == "tree":
        return tree_text(tree(picture))
    return {"dot": dot, "mermaid": mermaid, "html": html}[format](picture)


def _lines(lines: Iterable[TreeLine]) -> tuple[TreeNode, ...]:
    return tuple(
        TreeNode(
            str(line.name),
            line.kind,
            line.standing.value,
            line.reasons,
            line.depth,
            line.note,
            line.branch,
        )
        for line in lines
    )
