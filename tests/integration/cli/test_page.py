"""docs/cli.md: its examples print the output shown, and its tables list every key, check and exit code."""

from __future__ import annotations

import dataclasses
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from hive_views.cli.app import app
from hive_views.cli.commands import databases, dependencies, materialized, reading, writing
from hive_views.cli.commands import metastore as metastore_commands
from hive_views.cli.commands.sql import SqlResult
from hive_views.dependencies.impact import AffectedView
from hive_views.dependencies.render import TreeLine
from hive_views.dependencies.table_findings import EngineFinding
from hive_views.doctor import DoctorReport, Finding
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.metastore._thrift.hive_metastore.ttypes import Database, FieldSchema
from hive_views.metastore.capabilities import TEMPORARY_ROW_PREFIX
from hive_views.metastore.drift import Difference
from hive_views.sql.analysis.validity import CheckedView, ViewProblem
from tests.integration.catalog.samples import hive_row
from tests.integration.cli.conftest import invoke
from tests.integration.metastore.rpc import connect

PAGE = (Path(__file__).parents[3] / "docs" / "cli.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(console|python)\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
DOCUMENTS = {
    **{
        value.__name__: value
        for module in (reading, writing, databases, dependencies, materialized)
        for value in vars(module).values()
        if dataclasses.is_dataclass(value) and value.__module__ == module.__name__
    },
    **{
        value.__name__: value
        for value in (TreeLine, AffectedView, ViewProblem, CheckedView, DoctorReport, Finding, SqlResult, EngineFinding)
    },
    "Drift": Difference,
    "MetastoreStatus": metastore_commands.MetastoreStatus,
}
"""The dataclasses that commands print as JSON, by their headings in the page."""


@pytest.fixture
def sales(metastore: EmbeddedMetastore) -> Iterator[str]:
    """The database and the table of the page."""
    orders = hive_row("sales", "orders", "MANAGED_TABLE")
    columns = (("id", "bigint"), ("total", "decimal(10,2)"))
    orders.sd.cols = [FieldSchema(name=name, type=kind, comment=None) for name, kind in columns]
    with connect(metastore.port) as client:
        client.create_database(Database(name="sales", locationUri=f"{metastore.warehouse}/sales.db"))
        client.create_table(orders)
    yield "sales"
    with connect(metastore.port) as client:
        client.drop_database("sales", True, True)


def commands(block: str) -> Iterator[tuple[str, str]]:
    """The commands of a console block, each with its output."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, printed = part.partition("\n")
        yield command, printed


def run(command: str, uri: str) -> str:
    """The output of a command on both streams, and its exit code if it is not 0."""
    if command.startswith("hive-views ") and "|" not in command and "$" not in command:
        done = invoke(*shlex.split(command)[1:], HIVE_VIEWS_URI=uri, COLUMNS="200")
        code, printed = done.code, done.out + done.err
    else:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        shell = subprocess.run(
            ["bash", "-c", command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=120,
            env={**os.environ, "PATH": path, "HIVE_VIEWS_URI": uri},
        )
        code, printed = shell.returncode, shell.stdout
    return printed + (f"[exit code {code}]\n" if code else "")


def pattern(expected: str) -> str:
    """A regular expression for the output: an ellipsis stands for any text in a line, and blanks are ignored."""
    lines = (re.sub(r"\s+", " ", line.strip()) for line in expected.strip().splitlines())
    return "\n".join(re.escape(line).replace("…", ".*") for line in lines)


def plain(printed: str) -> str:
    return "\n".join(re.sub(r"\s+", " ", line.strip()) for line in printed.strip().splitlines())


@pytest.mark.extended
def test_examples_print_the_output_shown(
    metastore: EmbeddedMetastore, sales: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIVE_VIEWS_URI", metastore.uri)
    assert {language for language, _ in BLOCKS} == {"console", "python"}
    for language, block in BLOCKS:
        if language == "python":
            exec(compile(block, "cli.md", "exec"), {})
            continue
        for command, expected in commands(block):
            printed = plain(run(command, metastore.uri))
            assert re.fullmatch(pattern(expected), printed), f"$ {command}\n{printed}\n-- expected:\n{expected}"
    assert sales == "sales"


@pytest.mark.parametrize("heading", DOCUMENTS)
def test_page_describes_every_key_of_a_document(heading: str) -> None:
    section = PAGE.partition(f"### {heading}\n")[2].partition("\n#")[0]
    described = re.findall(r"^\| `(\w+)` \|", section, flags=re.MULTILINE)
    assert described == [field.name for field in dataclasses.fields(DOCUMENTS[heading])]


def command_names(group: Any, prefix: str = "") -> Iterator[str]:
    for name, command in group.commands.items():
        if not command.hidden and hasattr(command, "commands"):
            yield from command_names(command, f"{prefix}{name} ")
        elif not command.hidden:
            yield f"{prefix}{name}"


@pytest.mark.parametrize("name", sorted(command_names(typer.main.get_command(app))))
def test_page_names_every_command(name: str) -> None:
    words = "sql" if name == "sql run" else name  # `hive-views sql "…"` runs `sql run`
    assert re.search(rf"(`|hive-views ){words}\b", PAGE)


@pytest.mark.parametrize("heading", DOCUMENTS)
def test_page_links_every_document(heading: str) -> None:
    assert f"(#{heading.lower()})" in PAGE


def test_page_describes_every_check_of_the_doctor() -> None:
    folder = Path(__file__).parents[3] / "hive_views" / "doctor"
    source = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    checks = set(re.findall(r'Finding\(\s*"([a-z-]+)"', source)) | {
        f"{name}-size" for name in ("text", "parameter", "comment")
    }
    section = PAGE.partition("| check | result |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| (.*?) \|", section.partition("|---|---|\n")[2], flags=re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`([a-z-]+)`", row)} == checks
    assert f"`{TEMPORARY_ROW_PREFIX}…`" in PAGE
