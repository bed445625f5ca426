"""Commands from plain functions: parameters, docstrings and results."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from hive_views.cli.binding import bind, read_docstring
from hive_views.cli.commands import doctor as diagnosis
from hive_views.cli.commands import reading, writing
from hive_views.cli.exit_codes import ExitCode
from tests.integration.cli.conftest import invoke

COMMANDS = [
    ("list", reading.list_views),
    ("show", reading.show_view),
    ("history", reading.view_history),
    ("diff", reading.diff_versions),
    ("create", writing.create_view),
    ("replace", writing.replace_view),
    ("rollback", writing.rollback_view),
    ("rename", writing.rename_view),
    ("drop", writing.drop_view),
    ("set", writing.set_properties),
    ("unset", writing.unset_properties),
    ("register", writing.register_view),
    ("doctor", diagnosis.doctor),
]


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
    tell: Callable[[str], None] | None = None,
) -> Sum:
    """Add two numbers. They may be negative [sic].

    The second paragraph.

    Args:
        first: The first one,
            which is needed.
        second: The second one: with a colon.
        loudly: Say so.
        tell: No option.

    Returns:
        Their sum.
    """
    if tell is not None:
        tell("adding")
    return Sum(first + second, "LOUD" if loudly else "quiet")


def run(*words: str) -> tuple[int, str]:
    app = typer.Typer()
    app.callback()(lambda: None)
    bind(
        app,
        "add",
        add,
        lambda value: print(value.shown),
        tell=print,
        code=lambda value: ExitCode.FAILED if value.total < 0 else ExitCode.OK,
    )
    result = CliRunner().invoke(app, ["add", *words])
    return result.exit_code, result.stdout


def test_function_receives_options() -> None:
    assert run("1") == (0, "adding\nquiet\n")
    assert run("1", "--second", "5", "--loudly", "--json") == (0, '{\n  "total": 6,\n  "shown": "LOUD"\n}\n')
    assert run("--second", "1", "--", "-3") == (1, "adding\nquiet\n")
    assert run()[0] == 2
    assert run("1", "--no-loudly")[0] == 2
    assert run("1", "--tell", "x")[0] == 2


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
        "tell": "No option.",
    }


@pytest.mark.parametrize(("name", "function"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_every_option_has_a_help_text(name: str, function: Callable[..., Any]) -> None:
    done = invoke(name, "--help", TERMINAL_WIDTH="200", COLUMNS="200")
    assert (done.code, done.err) == (0, "")
    _, helps = read_docstring(inspect.getdoc(function) or "")
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in ("catalog", "tell"):
            continue
        assert helps[parameter.name]
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            option = {"sql": "--sql"}.get(parameter.name, f"--{parameter.name.replace('_', '-')}")
            assert option in done.out
    assert "--json" in done.out


def test_help_lists_each_command_once() -> None:
    text = invoke("--help", TERMINAL_WIDTH="120").out
    for name, _ in [*COMMANDS, ("metastore", None)]:
        assert text.count(f"│ {name} ") == 1


def test_shared_options_have_separate_help_texts() -> None:
    create, replace = invoke("create", "--help").out, invoke("replace", "--help").out
    assert "Without any, an existing column list stays" in " ".join(replace.replace("│", " ").split())
    assert "Without any, an existing column list stays" not in " ".join(create.replace("│", " ").split())
