"""The recorded copy of the estate, with its metastore."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.testing
from typer.main import get_command

from hive_views.local_metastore.process import MetastoreProcess
from tests.estate import copy, rows
from tests.estate.build import NOISE_DATABASE, OBJECTS
from tests.integration.cli.conftest import Done, invoke
from tests.integration.metastore.rpc import connect


@dataclass(frozen=True)
class Estate:
    """A copy of the estate that is loaded."""

    metastore: MetastoreProcess

    def cli(self, *words: str, stdin: str | None = None) -> Done:
        """Run a command line on it, in this process."""
        return invoke(*words, stdin=stdin, **self.environment)

    @property
    def environment(self) -> dict[str, str]:
        """The environment of command lines."""
        return {
            "HIVE_VIEWS_URI": self.metastore.uri,
            "HIVE_VIEWS_WAREHOUSE": copy.WAREHOUSE,
            "COLUMNS": "200",
        }

    @property
    def properties(self) -> dict[str, str]:
        """The properties of a catalog on it."""
        return {"uri": self.metastore.uri, "warehouse": copy.WAREHOUSE}

    def rows(self) -> dict[str, rows.Row]:
        """All rows of the metastore, of the noise a sample."""
        with connect(self.metastore.port, 300) as client:
            return rows.read_all(client, NOISE_DATABASE)


def objects() -> dict[str, rows.Row]:
    """The recorded rows of tables and views, without those of the noise, by `database.name`."""
    lines = [rows.loads(line) for line in OBJECTS.read_text(encoding="utf-8").splitlines()]
    return {
        item["name"]: item["row"]
        for item in lines
        if not item["name"].endswith(".") and "/" not in item["name"] and not item["name"].startswith(NOISE_DATABASE)
    }


def databases() -> list[str]:
    """The recorded databases."""
    lines = [rows.loads(line) for line in OBJECTS.read_text(encoding="utf-8").splitlines()]
    return [item["name"].removesuffix(".") for item in lines if item["name"].endswith(".")]


@pytest.fixture(scope="package", autouse=True)
def commands_are_built_once() -> Iterator[None]:
    """Typer builds all commands for each command line that a test runs, which takes longer than most of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.testing, "_get_command", cache(get_command))
        yield


@pytest.fixture(scope="module")
def estate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Estate]:
    """A copy that the tests of a module share; a module that changes it names other objects in each test."""
    with copy.loaded(tmp_path_factory.mktemp("estate")) as metastore:
        yield Estate(metastore)


@pytest.fixture(scope="session")
def temporary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory for files that commands write."""
    return tmp_path_factory.mktemp("files")


def json_of(value: Any) -> Any:
    """A value as its JSON document."""
    return rows.loads(rows.dumps(value))
