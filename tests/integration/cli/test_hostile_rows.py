"""No command fails with a traceback, or hangs, because of what another program wrote into a row or a metadata file.

Each case replaces one value: a row parameter, a text of the row, or a value in a metadata file.
HIVE_VIEWS_HOSTILE_CASES sets the number of cases, HIVE_VIEWS_HOSTILE_SEED which ones.
"""

from __future__ import annotations

import copy
import gzip
import json
import os
import random
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from thrift.Thrift import TException

from hive_views import HiveViewCatalog
from hive_views.cli.exit_codes import ExitCode
from hive_views.legacy_import.plan import plan_import
from hive_views.legacy_import.run import run_plan
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from hive_views.metastore._thrift.hive_metastore.ttypes import Table
from tests.integration.catalog.samples import path
from tests.integration.cli.conftest import Cli
from tests.integration.legacy_import.rows import alter, hive_view_row
from tests.integration.materialized.conftest import SALES, rows
from tests.integration.materialized.duck_engine import DuckEngine

CASES = int(os.environ.get("HIVE_VIEWS_HOSTILE_CASES", "25"))
SEED = int(os.environ.get("HIVE_VIEWS_HOSTILE_SEED", "20"))
SECONDS = 60
"""The time limit of a command."""

TEXTS = (
    "",
    " ",
    "x",
    "{}",
    "[]",
    "null",
    "[" * 5_000,
    '{"a":' * 5_000,
    '[{"name": 1, "uuid": {}}]',
    '{"tables": [[]], "version": -1}',
    "9" * 5_000,
    "-1",
    "1e999",
    "\N{RIGHT-TO-LEFT OVERRIDE}\x1b[2J\n; DROP DATABASE prod CASCADE",
    "../../../../etc/passwd",
    "file:/dev/zero",
    "file:/proc/kmsg",
    "s3://",
    "file://host/x",
    "ICEBERG-VIEW",
    "iceberg",
    "00000000-0000-4000-8000-000000000000",
    "/* Presto View: W10= */",
    "/* Presto View: eyJhIjoxfQ== */",
    "SELECT " + "(" * 3_000,
    "a" * 3_900,
)
VALUES = (*TEXTS, None, True, 0, -1, 2**70, 1.5, [], {}, [[]], [{}], {"": ""}, [None])

OF_A_VIEW = (
    ("show", "NAME", "--json"),
    ("history", "NAME"),
    ("deps", "tree", "NAME"),
    ("deps", "impact", "NAME"),
    ("mv", "status", "NAME"),
    ("mv", "explain", "NAME"),
    ("mv", "refreshes", "NAME"),
    ("mv", "orphans", "NAME"),
    ("import", "revert", "--view", "NAME", "--yes"),
    ("drop", "NAME", "--dry-run", "--cascade"),
    ("recompile", "NAME", "--yes"),
    ("set", "NAME", "color=blue"),
)
OF_A_DATABASE = (
    ("list", "DATABASE", "--long", "--all"),
    ("deps", "check", "DATABASE"),
    ("deps", "graph", "DATABASE"),
    ("mv", "list", "DATABASE"),
    ("mv", "abandoned", "DATABASE", "--older-than", "0"),
    ("import", "plan", "DATABASE"),
    ("export", "DATABASE"),
)


@pytest.fixture
def names(catalog: HiveViewCatalog, database: str, raw: Client, tmp_path: Path) -> list[str]:
    """One object of each kind."""
    sales = catalog.create_table((database, "sales"), SALES)
    sales.append(rows((1, "a", 10), (2, "b", 20)))
    raw.create_table(
        hive_view_row(database, "old", "select id from sales", f"select `sales`.`id` from `{database}`.`sales`",
                      [("id", "bigint")])
    )  # fmt: skip
    assert run_plan(plan_import(catalog, databases=[database]), catalog, tmp_path / "journal").complete
    raw.create_table(
        hive_view_row(database, "plain", "select id from sales", f"select `sales`.`id` from `{database}`.`sales`",
                      [("id", "bigint")])
    )  # fmt: skip
    catalog.execute(f"CREATE VIEW {database}.v AS SELECT id, amount FROM {database}.sales")
    for layout in ("registered", "attached", "table"):
        name = (database, f"mv_{layout}")
        catalog.materialized.create(name, "SELECT id, amount FROM sales WHERE amount > 7", layout=layout)
        catalog.materialized.load(name).refresh(DuckEngine(catalog))
    return sorted(raw.get_all_tables(database))


@contextmanager
def limited() -> Iterator[None]:
    """Fail after SECONDS."""

    def fail(*_: object) -> None:
        raise AssertionError(f"not finished after {SECONDS} s")

    previous = signal.signal(signal.SIGALRM, fail)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)


def change_row(row: Table, chance: random.Random) -> str:
    """Replace a parameter or a text of a row; return what was replaced."""
    text = chance.choice(TEXTS)
    key = chance.choice([*sorted(row.parameters), "original text", "expanded text", "location"])
    match key:
        case "original text":
            row.viewOriginalText = text
        case "expanded text":
            row.viewExpandedText = text
        case "location":
            row.sd.location = f"{row.sd.location or 'file:/x'}/{text}"
        case _:
            row.parameters[key] = text
    return f"{key} = {text[:60]!r}"


def change_file(row: Table, chance: random.Random) -> str:
    """Let a row point to a copy of its metadata file in which one value is replaced."""
    location = row.parameters["metadata_location"]
    data = path(location).read_bytes()
    document = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    holder: Any = document
    steps: list[Any] = []
    while True:
        steps.append(chance.choice(list(holder) if isinstance(holder, dict) else range(len(holder))))
        value = holder[steps[-1]]
        if not isinstance(value, (dict, list)) or not value or chance.random() < 0.2:
            break
        holder = value
    holder[steps[-1]] = chance.choice(VALUES)
    copied = f"{location.rpartition('/')[0]}/00009-{uuid4()}.metadata.json"
    path(copied).write_text(json.dumps(document))
    row.parameters["metadata_location"] = copied
    return f"{steps} = {str(holder[steps[-1]])[:60]!r}"


@pytest.mark.extended
@pytest.mark.timeout(3600)
def test_no_command_fails_with_traceback(
    cli: Cli,
    names: list[str],
    database: str,
    raw: Client,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    subtests: pytest.Subtests,
) -> None:
    monkeypatch.chdir(tmp_path)
    before_all = set(tmp_path.iterdir())
    chance = random.Random(SEED)
    for number in range(CASES):
        name = chance.choice(names)
        row = raw.get_table(database, name)
        before = copy.deepcopy(row)
        changes: list[Callable[[Table, random.Random], str]] = [change_row]
        if "metadata_location" in row.parameters:
            changes.append(change_file)
        changed = chance.choice(changes)(row, chance)
        try:
            alter(raw, row)
        except TException:
            continue  # the metastore does not store it
        with subtests.test(f"{SEED} {number}: {name}: {changed}"):
            commands = (*OF_A_VIEW, *OF_A_DATABASE) if CASES > 100 else chance.sample((*OF_A_VIEW, *OF_A_DATABASE), 6)
            for words in commands:
                command = [{"NAME": f"{database}.{name}", "DATABASE": database}.get(word, word) for word in words]
                with limited():
                    done = cli(*command)
                assert done.code != ExitCode.INTERNAL, f"{command}: {done.err}"
        if name in raw.get_all_tables(database):
            raw.drop_table(database, name, False)
        raw.create_table(before)
    assert set(tmp_path.iterdir()) == before_all, "a relative location was written to"
