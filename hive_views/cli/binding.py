"""Commands from plain functions: parameters become options, the docstring becomes the help, the result is printed.

A function that takes a `catalog` gets the one that the global options name. What it returns is a frozen dataclass:
`--json` prints its fields as they are, otherwise the function's own renderer shows it to people. So each command can be
used from Python as well, and there is one place where its parameters, its help and its JSON are written down.
"""

from __future__ import annotations

import copy
import inspect
import re
import sys
from collections.abc import Callable
from contextlib import closing
from types import SimpleNamespace
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from hive_views.cli.connection import Connection
from hive_views.cli.exit_codes import ExitCode
from hive_views.cli.output import print_json, shown
from hive_views.errors import UsageError

T = TypeVar("T")

CATALOG = "catalog"
TELL = "tell"
"""The parameters that are given the catalog, and what shows parts of the result: no options."""

_AS_JSON = Annotated[bool, typer.Option("--json", help="Print one JSON document in place of text.")]
_YES = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def bind(
    app: typer.Typer,
    name: str,
    function: Callable[..., T],
    render: Callable[[T], None],
    *,
    question: Callable[..., str] | None = None,
    code: Callable[[T], ExitCode] | None = None,
    tell: Callable[[Any], None] | None = None,
    panel: str | None = None,
) -> None:
    """Make a function a command.

    Args:
        app: Where to add it.
        name: The command's name.
        function: A function with typed parameters and a Google-style docstring. Parameters `catalog` and `tell` are
            filled in.
        render: Shows its result to people, on stdout.
        question: Called with the function's arguments; what it returns is asked before the function is called, and
            `--yes` answers it. An empty text asks nothing. Without a terminal to ask on, `--yes` is required.
        code: The exit code that a result means; always 0 by default.
        tell: What a parameter `tell` is given, unless JSON is asked for: shows parts of the result as they are made.
        panel: The heading of the list of commands that it stands under.
    """
    signature = inspect.signature(function)
    hints = _hints(function)
    summary, helps = read_docstring(inspect.getdoc(function) or "")

    def command(context: typer.Context, as_json: bool, yes: bool = False, **arguments: Any) -> None:
        connection = context.ensure_object(Connection)
        as_json = as_json or connection.as_json
        if TELL in signature.parameters:
            arguments[TELL] = None if as_json else tell
        asked = "" if question is None or yes else question(**arguments)
        if asked:
            _ask(asked)
        if CATALOG in signature.parameters:
            with closing(connection.catalog()) as catalog:
                result = function(catalog, **arguments)
        else:
            result = function(**arguments)
        if as_json:
            print_json(result)
        else:
            render(result)
        if code is not None and code(result) != ExitCode.OK:
            raise typer.Exit(code(result))

    parameters = [
        parameter.replace(annotation=_documented(key, hints[key], helps[key]), kind=inspect.Parameter.KEYWORD_ONLY)
        for key, parameter in signature.parameters.items()
        if key in hints
    ]
    own = [("context", typer.Context, inspect.Parameter.empty), ("as_json", _AS_JSON, False)]
    if question is not None:
        own.append(("yes", _YES, False))
    parameters += [
        inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
        for key, annotation, default in own
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    first_sentence = re.split(r"\.\s", summary)[0].rstrip(".")
    app.command(name, help=summary, short_help=first_sentence, rich_help_panel=panel)(command)


def _hints(function: Callable[..., object]) -> dict[str, Any]:
    """The types of the parameters that become options; the others' are imported for type checkers alone."""
    own = {key: hint for key, hint in function.__annotations__.items() if key not in (CATALOG, TELL, "return")}
    holder = SimpleNamespace(__annotations__=own)
    return get_type_hints(holder, globalns=function.__globals__, include_extras=True)


def read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Take a Google-style docstring apart.

    Args:
        text: The docstring, as `inspect.getdoc` gives it.

    Returns:
        What stands before the first section, and the text of each argument by its name.
    """
    summary, *sections = re.split(r"^(Args|Returns|Raises|Yields):\n", text, flags=re.MULTILINE)
    helps: dict[str, str] = {}
    for heading, body in zip(sections[::2], sections[1::2], strict=True):
        if heading != "Args":
            continue
        for name, described in re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", body, flags=re.MULTILINE):
            helps[name] = _plain_help(described)
    return "\n\n".join(_plain_help(paragraph) for paragraph in summary.strip().split("\n\n")), helps


def _plain_help(text: str) -> str:
    # Help texts are rich markup, where a bracket would begin a tag.
    return " ".join(text.split()).replace("[", r"\[")


def _documented(name: str, annotation: Any, text: str) -> Any:
    """The annotation with the docstring's text as the help of its option or argument."""
    if annotation is bool:
        # Named, so that Typer makes no `--no-…` of it.
        return Annotated[bool, typer.Option(f"--{name.replace('_', '-')}", help=text)]
    kind = getattr(annotation, "__origin__", annotation) if hasattr(annotation, "__metadata__") else annotation
    # A copy: functions share annotations, each with a text of its own.
    option = copy.copy(next(iter(getattr(annotation, "__metadata__", ())), typer.Option()))
    option.help = text
    return Annotated[kind, option]


def _ask(question: str) -> None:
    if not sys.stdin.isatty() or not sys.stderr.isatty():
        raise UsageError("--yes", f"there is no terminal to ask on: {question} Add --yes if so")
    # On stderr, so that stdout holds the result alone; Typer's own `confirm` writes a blank to stdout even so.
    print(f"{shown(question)} [y/N]: ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise typer.Abort
