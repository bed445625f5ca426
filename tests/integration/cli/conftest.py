"""Fixtures that run the command line in this process, on a real metastore."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from typer.testing import CliRunner

from hive_views.cli.app import app
from hive_views.local_metastore.embedded import EmbeddedMetastore
from tests.integration.metastore.rpc import connect


@dataclass(frozen=True)
class Done:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The JSON document on stdout; the command must have succeeded with an empty stderr."""
        assert (self.code, self.err) == (0, ""), self
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, Any]:
        """The JSON object of the error on stderr; stdout must be empty."""
        assert self.out == "", self
        document: dict[str, Any] = json.loads(self.err.splitlines()[-1])
        return document


Cli = Callable[..., Done]


def invoke(*words: str, stdin: str | None = None, **environment: str | None) -> Done:
    """Run a command line in this process; a defect's traceback is shown where it would be hidden."""
    result = CliRunner().invoke(app, list(words), input=stdin, env=environment, catch_exceptions=False)
    return Done(result.exit_code, result.stdout, result.stderr)


@pytest.fixture
def cli(metastore: EmbeddedMetastore) -> Cli:
    """Runs a command line on the shared metastore."""

    def run(*words: str, stdin: str | None = None, **environment: str | None) -> Done:
        places = {"HIVE_VIEWS_URI": metastore.uri, "HIVE_VIEWS_WAREHOUSE": metastore.warehouse, "COLUMNS": "200"}
        return invoke(*words, stdin=stdin, **{**places, **environment})

    return run


@pytest.fixture
def top(cli: Cli, database: str) -> str:
    """A view of two versions, the second of which is current."""
    name = f"{database}.top"
    columns = ("-c", "id:bigint:the number", "-c", "n:string")
    first = cli(
        "create", name, "--raw", "--sql", "SELECT id, n FROM t", *columns, "--comment", "numbers", "-p", "team=bi"
    )
    assert first.code == 0, first
    second = cli(
        "replace", name, "--raw", "--sql", "SELECT id, n, 1 AS one\nFROM t", *columns, "-c", "one:int", "--expanded",
        "SELECT `t`.`id`, `t`.`n`, 1 AS `one` FROM `d`.`t`",
    )  # fmt: skip
    assert second.code == 0, second
    return name


def make_hive_view(metastore: EmbeddedMetastore, view: str, name: str) -> None:
    """A plain Hive view next to an Iceberg one."""
    database, short = view.split(".")
    with connect(metastore.port) as client:
        row = client.get_table(database, short)
        row.tableName = name
        row.parameters = {}
        client.create_table(row)
