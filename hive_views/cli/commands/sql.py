"""`hive-views sql`: statements about views run without Spark, and texts expanded without a metastore."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from hive_views.cli.binding import bind, read_docstring
from hive_views.cli.output import console, print_table, shown
from hive_views.errors import UsageError

if TYPE_CHECKING:
    from hive_views.catalog.catalog import HiveViewCatalog

DIALECTS = ("spark", "hive", "trino")
MODES = ("hive-exact", "portable")


@dataclass(frozen=True)
class SqlResult:
    """What `sql` returns."""

    kind: str
    """`created`, `replaced`, `changed`, `recompiled`, `renamed`, `dropped`, `unchanged`, `absent`, or `rows`."""
    name: str | None
    """The view or table, as `database.name`; null for SHOW VIEWS."""
    version_id: int | None
    """The version that readers get; null where no view is left, or none was meant."""
    columns: tuple[str, ...]
    """The names of the answer's columns; empty for a statement that answers nothing."""
    rows: tuple[tuple[str | None, ...], ...]
    """The answer; for DROP … CASCADE what was dropped, in that order."""


class _Group(TyperGroup):
    """`sql STATEMENT` and `sql expand`: what is no command's name is the statement of `run`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put `run` in front where no command is named."""
        named = args and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if not args or named else ["run", *args])


def register(app: typer.Typer, *, panel: str) -> None:
    """Add the commands to the command line.

    Args:
        app: The application.
        panel: The heading of the list of commands that they stand under.
    """
    group = typer.Typer(
        cls=_Group,
        help='Run a SQL statement about views: hive-views sql "CREATE VIEW …". No Spark is needed.',
        no_args_is_help=True,
    )
    bind(group, "run", run_statement, print_result)
    group.command("expand", help=_SUMMARY, short_help=_SUMMARY.partition(". ")[0])(_expand_command)
    app.add_typer(group, name="sql", rich_help_panel=panel)


def run_statement(
    catalog: HiveViewCatalog,
    statement: Annotated[str, typer.Argument(metavar="STATEMENT")],
    *,
    database: Annotated[str, typer.Option(metavar="NAME")] = "default",
    dialect: Annotated[str, typer.Option(metavar="spark|hive|trino")] = "spark",
) -> SqlResult:
    """Run a SQL statement about views: CREATE, ALTER, DROP, SHOW, DESCRIBE. The word run may be left out.

    Args:
        catalog: Where the views are.
        statement: The statement; - is standard input.
        database: The current database: what names without one mean.
        dialect: How the statement is read, and the dialect of a new view's text.

    Returns:
        What was done, or the answer.

    Raises:
        UsageError: If there is no such dialect.
        SqlError: If the statement cannot be read or done; it points at line and column.
        HiveViewsError: As `HiveViewCatalog.execute` does.
    """
    _choose("--dialect", dialect, DIALECTS)
    done = catalog.execute(sys.stdin.read() if statement == "-" else statement, database=database, dialect=dialect)
    return SqlResult(
        kind=done.kind,
        name=None if done.identifier is None else ".".join(done.identifier),
        version_id=None if done.view is None else done.view.metadata.current_version_id,
        columns=done.columns,
        rows=done.rows,
    )


def print_result(value: SqlResult) -> None:
    """A statement's answer as a table, one text as it is, or a sentence on what was done."""
    out = console()
    if value.kind != "rows":
        version = "" if value.version_id is None else f", version {value.version_id} is current"
        others = [row[0] for row in value.rows if row[0] != value.name]
        also = f" (before it: {', '.join(map(shown, others))})" if others else ""
        out.print(f"{shown(value.name)}: {value.kind}{version}{also}", soft_wrap=True)
        return
    if len(value.columns) == 1:
        for (text,) in value.rows:
            out.print(shown(text), soft_wrap=True)
        return
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(*value.columns, box=SIMPLE_HEAD if out.is_terminal else None, pad_edge=False)
    for row in value.rows:
        table.add_row(*map(shown, row))
    print_table(table)


def expand_lines(
    lines: Iterable[str | bytes], *, mode: str = "hive-exact", dialect: str = "hive"
) -> Iterator[dict[str, Any]]:
    """Expand the CREATE VIEW of each request: which texts and columns are stored for it.

    Args:
        lines: One JSON object each: `ddl`, `database`, `tables`, and where needed `setup`, `base_views`, `conf`,
            `partition_keys`, `functions`, `dialect`. Empty lines are passed over.
        mode: `hive-exact` is to the letter what Hive stores; `portable` what this package stores.
        dialect: How a text is read where its request does not say.

    Yields:
        For each request `original`, `expanded`, `columns`, `partition_keys`, and `error`: null, or why there is nothing
        else. A line that is no request gets such an answer, and the others go on.

    Raises:
        UsageError: If there is no such mode or dialect.
    """
    _choose("--mode", mode, MODES)
    _choose("--dialect", dialect, DIALECTS)
    return (_answer(line, mode, dialect) for line in lines if line.strip())


def _answer(line: str | bytes, mode: str, dialect: str) -> dict[str, Any]:
    from hive_views.sql.rewriting.expand_request import expand_request

    try:
        request = json.loads(line)
        _check(request)
    except (ValueError, RecursionError) as error:
        nothing = dict.fromkeys(("original", "expanded", "columns", "partition_keys"))
        return {**nothing, "error": f"Not a request: {error}"}
    return expand_request(request, mode=mode, dialect=dialect)


def _check(request: Any) -> None:
    """Refuse what is not of a request's form."""
    if not isinstance(request, dict):
        raise ValueError("a request is a JSON object")
    if not isinstance(request.get("ddl"), str):
        raise ValueError("ddl: a text is missing")
    for key in ("database", "dialect", "view"):
        if not isinstance(request.get(key, ""), str | None):
            raise ValueError(f"{key}: not a text")
    if request.get("dialect") not in (None, "", *DIALECTS):
        raise ValueError(f"dialect: {request['dialect']!r} is none of {', '.join(DIALECTS)}")
    for key in ("setup", "conf"):
        if not isinstance(request.get(key, []), list | None):
            raise ValueError(f"{key}: not a list")
    if not all(isinstance(sql, str) for sql in request.get("setup") or ()):
        raise ValueError("setup: not a list of texts")
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in request.get("conf") or ()):
        raise ValueError("conf: not a list of pairs")
    for key in ("tables", "functions"):
        if not isinstance(request.get(key, {}), dict | None):
            raise ValueError(f"{key}: not an object")
    if not isinstance(request.get("base_views", {}), dict | list | None):
        raise ValueError("base_views: not an object")
    if not all(isinstance(kind, str) for kind in (request.get("functions") or {}).values()):
        raise ValueError("functions: not an object of texts")
    for name, described in (request.get("tables") or {}).items():
        parts = [described]
        if isinstance(described, dict):
            parts = [described.get("columns", []), described.get("partition_keys", [])]
            if not isinstance(described.get("bucket_columns", []), list | None):
                raise ValueError(f"tables: the bucket_columns of {name} are no list")
        for columns in parts:
            if not isinstance(columns, list) or not all(isinstance(c, list) and len(c) >= 2 for c in columns):
                raise ValueError(f"tables: the columns of {name} are no list of name and type")


def _choose(option: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise UsageError(option, f"{value!r} is none of {', '.join(choices)}")


_SUMMARY, _HELPS = read_docstring(
    "Expand CREATE VIEW statements, without a metastore. One JSON request a line on standard input gives one JSON "
    "answer a line on standard output.\n\n" + (inspect.getdoc(expand_lines) or "").partition("\n\n")[2]
)


def _expand_command(
    mode: Annotated[str, typer.Option(metavar="hive-exact|portable", help=_HELPS["mode"])] = "hive-exact",
    dialect: Annotated[str, typer.Option(metavar="spark|hive|trino", help=_HELPS["dialect"])] = "hive",
) -> None:
    for answer in expand_lines(sys.stdin.buffer, mode=mode, dialect=dialect):
        print(json.dumps(answer, ensure_ascii=True), flush=True)
