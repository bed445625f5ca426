"""Creates commands from plain functions: parameters become options, the docstring the help, and the result is printed.

A parameter `catalog` receives the catalog that the global options name. The result is a dataclass: `--json` prints its
fields, otherwise the renderer that is registered with the function prints text.
"""

from __future__ import annotations

import copy
import inspect
import re
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Annotated, Any, Generic, TypeVar, get_type_hints

import typer

from hive_views.cli.connection import ConnectionOptions
from hive_views.cli.exit_codes import ExitCode
from hive_views.cli.output import print_json, shown
from hive_views.errors import UsageError

T = TypeVar("T")

CATALOG = "catalog"
EMIT = "emit"
"""Parameters that are not options: the catalog, and a callback that prints parts of the result."""

_AS_JSON = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
_YES = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


@dataclass(frozen=True)
class Command(Generic[T]):
    """A function that becomes a command."""

    name: str
    """The command's name."""
    function: Callable[..., T]
    """A function with typed parameters and a Google-style docstring, which describes the options that the parameters'
    types (`Annotated[…, typer.Option(help=…)]`) do not describe."""
    render: Callable[[T], None]
    """Prints the result as text on stdout."""
    question: Callable[..., str] | None = field(default=None, kw_only=True)
    """Returns, for the function's arguments (the catalog too, if it has that parameter), the question to confirm before
    the function is called; empty for none. `--yes` confirms it, and is required without a terminal."""
    code: Callable[[T], ExitCode] | None = field(default=None, kw_only=True)
    """Returns the exit code for a result; 0 by default."""
    has_failed: Callable[[T], bool] | None = field(default=None, kw_only=True)
    """Instead of `code`: whether the exit code is 1."""
    emit: Callable[[Any], None] | None = field(default=None, kw_only=True)
    """The value of a parameter `emit`, which prints parts of the result as they are available; None with `--json`."""
    panel: str | None = field(default=None, kw_only=True)
    """The heading of the command in the list of commands."""


def bind(app: typer.Typer, command: Command[T]) -> None:
    """Add a command to an application."""
    function, question, code = command.function, command.question, command.code
    signature = inspect.signature(function)
    hints = _hints(function)
    asks_with_catalog = question is not None and CATALOG in inspect.signature(question).parameters
    summary, helps = read_docstring(inspect.getdoc(function) or "")

    def run(context: typer.Context, as_json: bool, yes: bool = False, **arguments: Any) -> None:
        connection = context.ensure_object(ConnectionOptions)
        as_json = as_json or connection.as_json
        # Click before 8.3 accepts no default of an argument with several values but None.
        arguments = {
            key: signature.parameters[key].default if value is None else value for key, value in arguments.items()
        }
        if EMIT in signature.parameters:
            arguments[EMIT] = None if as_json else command.emit

        def confirm(*catalog: object) -> None:
            if question is not None and not yes and (text := question(*catalog, **arguments)):
                _confirm(text)

        if not asks_with_catalog:
            confirm()
        if CATALOG in signature.parameters:
            with closing(connection.catalog()) as catalog:
                if asks_with_catalog:
                    confirm(catalog)
                result = function(catalog, **arguments)
        else:
            result = function(**arguments)
        if as_json:
            print_json(result)
        else:
            command.render(result)
        if command.has_failed is not None and command.has_failed(result):
            raise typer.Exit(ExitCode.FAILED)
        if code is not None and code(result) != ExitCode.OK:
            raise typer.Exit(code(result))

    parameters = [
        parameter.replace(
            annotation=_documented(key, hints[key], helps.get(key)),
            default=None if parameter.default == [] else parameter.default,
            kind=inspect.Parameter.KEYWORD_ONLY,
        )
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
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    first_sentence = re.split(r"\.\s", summary)[0].rstrip(".")
    app.command(command.name, help=summary, short_help=first_sentence, rich_help_panel=command.panel)(run)


def _hints(function: Callable[..., object]) -> dict[str, Any]:
    """Return the types of the parameters that become options.

    Those of others may be imported for type checkers only.
    """
    own = {key: hint for key, hint in function.__annotations__.items() if key not in (CATALOG, EMIT, "return")}
    holder = SimpleNamespace(__annotations__=own)
    return get_type_hints(holder, globalns=function.__globals__, include_extras=True)


def read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Split a Google-style docstring into the text before its sections, and the description of each argument."""
    summary, *sections = re.split(r"^(Args|Returns|Raises|Yields):\n", text, flags=re.MULTILINE)
    helps: dict[str, str] = {}
    for heading, body in zip(sections[::2], sections[1::2], strict=True):
        if heading != "Args":
            continue
        for name, described in re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", body, flags=re.MULTILINE):
            helps[name] = _plain_help(described)
    return "\n\n".join(_plain_help(paragraph) for paragraph in summary.strip().split("\n\n")), helps


def _plain_help(text: str) -> str:
    # Help texts are rich markup, in which a bracket begins a tag.
    return " ".join(text.split()).replace("[", r"\[")


def _documented(name: str, annotation: Any, text: str | None) -> Any:
    """Return the annotation with the help text of its option or argument: the function's, else the annotation's own."""
    if annotation is bool:
        # Named, so that Typer does not add `--no-…`.
        return Annotated[bool, typer.Option(f"--{name.replace('_', '-')}", help=text)]
    kind = getattr(annotation, "__origin__", annotation) if hasattr(annotation, "__metadata__") else annotation
    # A copy, since functions share annotations but not their help texts.
    option = copy.copy(next(iter(getattr(annotation, "__metadata__", ())), typer.Option()))
    option.help = text or option.help
    return Annotated[kind, option]


def _confirm(question: str) -> None:
    if not sys.stdin.isatty() or not sys.stderr.isatty():
        raise UsageError("--yes", f"there is no terminal for the question: {question} Add --yes to confirm")
    # On stderr, so that stdout contains only the result; Typer's own `confirm` writes a blank to stdout.
    print(f"{shown(question)} [y/N]: ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise typer.Abort
