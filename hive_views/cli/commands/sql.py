"""The commands sql, which runs statements about views without Spark, and sql expand, which needs no metastore."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from hive_views.cli.binding import Command, bind, read_docstring
from hive_views.cli.output import print_line, print_script, print_table, shown
from hive_views.errors import UsageError
from hive_views.spec.json_text import parse_json

if TYPE_CHECKING:
    from hive_views.catalog.catalog import HiveViewCatalog

DIALECTS = ("spark", "hive", "trino")
MODES = ("hive-exact", "portable")


@dataclass(frozen=True)
class SqlResult:
    """The result of `sql`."""

    kind: str
    name: str | None
    version_id: int | None
    columns: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]


class _Group(TyperGroup):
    """The group of `sql STATEMENT` and `sql expand`: other words are the statement of `run`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert `run` if no command is named."""
        names_command = args and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if not args or names_command else ["run", *args])


def register(app: typer.Typer, *, panel: str) -> None:
    """Add the commands to the command line, under a heading."""
    group = typer.Typer(
        cls=_Group,
        help='Run a SQL statement about views: hive-views sql "CREATE VIEW …". No Spark is needed.',
        no_args_is_help=True,
    )
    bind(group, Command("run", run_statement, print_result))
    group.command("expand", help=_SUMMARY, short_help=_SUMMARY.partition(". ")[0])(_expand_command)
    app.add_typer(group, name="sql", rich_help_panel=panel)


def run_statement(
    catalog: HiveViewCatalog,
    statement: Annotated[str, typer.Argument(metavar="STATEMENT")],
    *,
    database: Annotated[str, typer.Option(metavar="NAME")] = "default",
    dialect: Annotated[str, typer.Option(metavar="spark|hive|trino")] = "spark",
) -> SqlResult:
    """Run a SQL statement about views: CREATE, ALTER, DROP, SHOW, DESCRIBE. The word run may be omitted.

    Args:
        statement: The statement; - is standard input.
        database: The current database, for names without one.
        dialect: The dialect of the statement, and of a new view's text.
    """
    _check_choice("--dialect", dialect, DIALECTS)
    result = catalog.execute(sys.stdin.read() if statement == "-" else statement, database=database, dialect=dialect)
    return SqlResult(
        kind=result.kind,
        name=None if result.identifier is None else ".".join(result.identifier),
        version_id=None if result.view is None else result.view.metadata.current_version_id,
        columns=result.columns,
        rows=result.rows,
    )


def print_result(result: SqlResult) -> None:
    """Print the rows as a table, a single column without one, or what was done in one line."""
    from hive_views.catalog.statements import ResultKind

    if result.kind != ResultKind.ROWS:
        version = "" if result.version_id is None else f", version {result.version_id} is current"
        others = [row[0] for row in result.rows if row[0] != result.name]
        also = f" (before it: {', '.join(map(shown, others))})" if others else ""
        print_line(f"{shown(result.name)}: {result.kind}{version}{also}")
        return
    if len(result.columns) == 1:
        for (text,) in result.rows:
            print_script(f"{text}\n")
        return
    print_table(result.columns, result.rows)


def expand_lines(
    lines: Iterable[str | bytes], *, mode: str = "hive-exact", dialect: str = "hive"
) -> Iterator[dict[str, Any]]:
    """Expand the CREATE VIEW statement of each request into the texts and columns that are stored.

    Args:
        lines: One JSON object each: `ddl`, `database`, `tables`, and optionally `setup`, `base_views`, `conf`,
            `partition_keys`, `functions`, `dialect`. Empty lines are skipped.
        mode: `hive-exact` gives exactly what Hive stores; `portable` what this package stores.
        dialect: The dialect of requests that do not name one.

    Yields:
        For each request `original`, `expanded`, `columns`, `partition_keys`, and `error`: null, or why the others are
        null. An invalid request has an error, too, and does not end the iteration.
    """
    _check_choice("--mode", mode, MODES)
    _check_choice("--dialect", dialect, DIALECTS)
    return (_answer(line, mode, dialect) for line in lines if line.strip())


def _answer(line: str | bytes, mode: str, dialect: str) -> dict[str, Any]:
    from hive_views.sql.text.dialects import Dialect
    from hive_views.sql.writing.expand_request import expand_request

    try:
        request = parse_json(line)
        _check(request)
    except ValueError as error:
        empty = dict.fromkeys(("original", "expanded", "columns", "partition_keys"))
        return {**empty, "error": f"Not a request: {error}"}
    return expand_request(request, mode=mode, dialect=Dialect.of(dialect))


_TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    **dict.fromkeys(("database", "dialect", "view"), ((str,), "a text")),
    **dict.fromkeys(("setup", "conf"), ((list,), "a list")),
    **dict.fromkeys(("tables", "functions"), ((dict,), "an object")),
    "base_views": ((dict, list), "an object"),
}
"""The types of the optional fields of a request."""


def _check(request: Any) -> None:
    """Raise ValueError if a value is not a request."""
    if not isinstance(request, dict):
        raise ValueError("a request is a JSON object")
    if not isinstance(request.get("ddl"), str):
        raise ValueError("ddl: a text is missing")
    for key, (kinds, description) in _TYPES.items():
        if not isinstance(request.get(key), (*kinds, type(None))):
            raise ValueError(f"{key}: not {description}")
    if request.get("dialect") not in (None, "", *DIALECTS):
        raise ValueError(f"dialect: {request['dialect']!r} is none of {', '.join(DIALECTS)}")
    if not all(isinstance(sql, str) for sql in request.get("setup") or ()):
        raise ValueError("setup: not a list of texts")
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in request.get("conf") or ()):
        raise ValueError("conf: not a list of pairs")
    if not all(isinstance(kind, str) for kind in (request.get("functions") or {}).values()):
        raise ValueError("functions: not an object of texts")
    for name, table in (request.get("tables") or {}).items():
        column_lists = [table]
        if isinstance(table, dict):
            column_lists = [table.get("columns", []), table.get("partition_keys", [])]
            if not isinstance(table.get("bucket_columns", []), list | None):
                raise ValueError(f"tables: the bucket_columns of {name} are no list")
        for columns in column_lists:
            if not isinstance(columns, list) or not all(isinstance(c, list) and len(c) >= 2 for c in columns):
                raise ValueError(f"tables: the columns of {name} are no list of name and type")


def _check_choice(option: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise UsageError(option, f"{value!r} is none of {', '.join(choices)}")


_SUMMARY, _HELPS = read_docstring(
    "Expand CREATE VIEW statements, without a metastore. Reads one JSON request per line from standard input, and "
    "prints one JSON answer per line.\n\n" + (inspect.getdoc(expand_lines) or "").partition("\n\n")[2]
)


def _expand_command(
    mode: Annotated[str, typer.Option(metavar="hive-exact|portable", help=_HELPS["mode"])] = "hive-exact",
    dialect: Annotated[str, typer.Option(metavar="spark|hive|trino", help=_HELPS["dialect"])] = "hive",
) -> None:
    for answer in expand_lines(sys.stdin.buffer, mode=mode, dialect=dialect):
        print(json.dumps(answer, ensure_ascii=True), flush=True)
