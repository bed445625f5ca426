"""Commands from plain functions: parameters, docstrings and results."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
import typer
import typer.main
from typer.testing import CliRunner

from hive_views.cli.app import app
from hive_views.cli.binding import Command, bind, read_docstring
from hive_views.cli.exit_codes import ExitCode
from tests.integration.cli.conftest import invoke

COMMANDS = (
    "list", "show", "history", "diff", "create", "replace", "rollback", "rename", "drop", "set", "unset", "register",
    "doctor", "metastore",
)  # fmt: skip


@dataclass(frozen=True)
class Sum:
    """A result."""

    total: int
    shown: str


def add(
    first: Annotated[int, typer.Argument()],
    *,
    second: int = 2,
    loudly: bool = False,
    emit: Callable[[str], None] | None = None,
) -> Sum:
    """Add two numbers. They may be negative [sic].

    The second paragraph.

    Args:
        first: The first one,
            which is needed.
        second: The second one: with a colon.
        loudly: Say so.
        emit: No option.

    Returns:
        Their sum.
    """
    if emit is not None:
        emit("adding")
    return Sum(first + second, "LOUD" if loudly else "quiet")


def run(*words: str) -> tuple[int, str]:
    app = typer.Typer()
    app.callback()(lambda: None)
    bind(
        app,
        Command(
            "add",
            add,
            lambda value: print(value.shown),
            emit=print,
            code=lambda value: ExitCode.FAILED if value.total < 0 else ExitCode.OK,
        ),
    )
    result = CliRunner().invoke(app, ["add", *words])
    return result.exit_code, result.stdout


def test_function_receives_options() -> None:
    assert run("1") == (0, "adding\nquiet\n")
    assert run("1", "--second", "5", "--loudly", "--json") == (0, '{\n  "total": 6,\n  "shown": "LOUD"\n}\n')
    assert run("--second", "1", "--", "-3") == (1, "adding\nquiet\n")
    assert run()[0] == 2
    assert run("1", "--no-loudly")[0] == 2
    assert run("1", "--emit", "x")[0] == 2


def test_docstring_is_the_help() -> None:
    code, text = run("--help")
    flat = " ".join(text.replace("│", " ").split())
    assert code == 0
    assert "Add two numbers. They may be negative [sic]. The second paragraph." in flat
    assert "The first one, which is needed." in flat
    assert "The second one: with a colon." in flat
    assert "No option." not in flat


def test_read_docstring() -> None:
    summary, helps = read_docstring(inspect.getdoc(add) or "")
    assert summary == r"Add two numbers. They may be negative \[sic]." + "\n\nThe second paragraph."
    assert helps == {
        "first": "The first one, which is needed.",
        "second": "The second one: with a colon.",
        "loudly": "Say so.",
        "emit": "No option.",
    }


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """All commands of the application, by their words."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


@pytest.mark.parametrize(("words", "command"), list(commands(typer.main.get_command(app))))
def test_every_option_has_a_help_text(words: str, command: Any) -> None:
    assert command.help, words
    assert [parameter.name for parameter in command.params if not parameter.help] == []
    assert words == "sql expand" or "--json" in {option for parameter in command.params for option in parameter.opts}


def test_help_lists_each_command_once() -> None:
    text = invoke("--help", TERMINAL_WIDTH="120").out
    for name in COMMANDS:
        assert text.count(f"│ {name} ") == 1


def test_shared_options_have_separate_help_texts() -> None:
    create, replace = invoke("create", "--help").out, invoke("replace", "--help").out
    assert "Without any, an existing column list stays" in " ".join(replace.replace("│", " ").split())
    assert "Without any, an existing column list stays" not in " ".join(create.replace("│", " ").split())


def commands_below(group: Any) -> Iterator[Any]:
    for command in group.commands.values():
        yield from commands_below(command) if hasattr(command, "commands") else [command]


def test_arguments_with_several_values_have_no_default():
    """Click before 8.3 rejects the whole command line otherwise."""
    arguments = [
        parameter
        for command in commands_below(typer.main.get_command(app))
        for parameter in command.params
        if parameter.param_type_name == "argument" and parameter.nargs == -1
    ]
    assert len(arguments) > 5
    assert {argument.default for argument in arguments} == {None}
