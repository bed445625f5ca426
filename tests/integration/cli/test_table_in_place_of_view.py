"""A table where a command expects a view: the same error and exit code everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import typer.main

from hive_views import HiveViewCatalog
from hive_views.cli.app import app
from hive_views.errors import NotAViewError
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from tests.integration.catalog.samples import SCHEMA
from tests.integration.cli.conftest import Cli
from tests.integration.legacy_import.rows import hive_view_row, table_row

COLUMNS = [("id", "int")]
QUERY = ("--sql", "SELECT 1 AS one")
MATERIALIZED = "NotMaterializedError"

COMMANDS: dict[str, tuple[int, str, tuple[str, ...]]] = {
    "show": (3, "NotAViewError", ()),
    "history": (3, "NotAViewError", ()),
    "diff": (3, "NotAViewError", ("1", "2")),
    "replace": (3, "NotAViewError", QUERY),
    "rollback": (3, "NotAViewError", ("--to-version", "1")),
    "rename": (3, "NotAViewError", ("{}_new",)),
    "set": (3, "NotAViewError", ("a=b",)),
    "unset": (3, "NotAViewError", ("a",)),
    "drop": (3, "NotAViewError", ("--yes", "--if-exists")),
    "adopt": (3, "NotAViewError", ()),
    "repair": (3, "NotAViewError", ("--yes",)),
    "deps check": (3, "NotAViewError", ()),
    "deps partitions": (3, "NotAViewError", ()),
    "import plan --view": (3, "NotAViewError", ()),
    "mv refresh": (3, MATERIALIZED, ()),
    "mv status": (3, MATERIALIZED, ()),
    "mv refreshes": (3, MATERIALIZED, ()),
    "mv rows": (3, MATERIALIZED, ()),
    "mv explain": (3, MATERIALIZED, ()),
    "mv expire": (3, MATERIALIZED, ("--yes",)),
    "mv orphans": (3, MATERIALIZED, ()),
    "mv replace": (3, MATERIALIZED, QUERY),
    "mv set": (3, MATERIALIZED, ("--property", "a=b")),
    "mv plain": (3, MATERIALIZED, ()),
    "mv back": (3, "NotAViewError", ()),
    "mv drop": (3, MATERIALIZED, ("--yes",)),
    "mv copy": (3, MATERIALIZED, ("{}_new",)),
    # What creates a view reports that the name is taken.
    "create": (4, "TableAlreadyExistsError", QUERY),
    "create --or-replace": (4, "TableAlreadyExistsError", QUERY),
    "create --if-not-exists": (4, "TableAlreadyExistsError", QUERY),
    "mv create": (4, "TableAlreadyExistsError", QUERY),
}
"""Exit code, error and further words of each command, whose argument is the table."""

OTHER_COMMANDS = {
    "deps tree": "it takes tables",
    "deps impact": "it takes tables",
    "recompile": "it reports an error for each view",
    "register": "it reads a file first",
}

STATEMENTS = {
    "DROP VIEW {}": (3, "NotAViewError"),
    "DROP VIEW IF EXISTS {}": (3, "NotAViewError"),
    "ALTER VIEW {} SET TBLPROPERTIES ('a'='b')": (3, "NotAViewError"),
    "ALTER VIEW {} RENAME TO {}_new": (3, "NotAViewError"),
    "ALTER VIEW {} AS SELECT 1 AS one": (3, "NotAViewError"),
    "SHOW CREATE VIEW {}": (3, "NotAViewError"),
    "DESCRIBE {}": (3, "NotAViewError"),
    "DROP MATERIALIZED VIEW {}": (3, MATERIALIZED),
    "CREATE VIEW {} AS SELECT 1 AS one": (4, "TableAlreadyExistsError"),
    "CREATE OR REPLACE VIEW {} AS SELECT 1 AS one": (4, "TableAlreadyExistsError"),
    "CREATE VIEW IF NOT EXISTS {} AS SELECT 1 AS one": (4, "TableAlreadyExistsError"),
    "CREATE MATERIALIZED VIEW {} AS SELECT 1 AS one": (4, "TableAlreadyExistsError"),
}

TABLES = ("of_iceberg", "of_hive")


@pytest.fixture(scope="module")
def commands_with_a_view() -> set[str]:
    """All commands with an argument that can name a view."""
    metavars = {"NAME", "OLD", "DATABASE.NAME", "[DATABASE.NAME]", "[VIEW]...", "[DATABASE|VIEW]"}

    def walk(command: Any, path: str) -> Iterator[str]:
        for name, inner in getattr(command, "commands", {}).items():
            yield from walk(inner, f"{path} {name}".strip())
        if any(item.param_type_name == "argument" and item.metavar in metavars for item in command.params):
            yield path

    return set(walk(typer.main.get_command(app), ""))


@pytest.fixture
def tables(catalog: HiveViewCatalog, raw: Client, database: str) -> tuple[str, ...]:
    """A table of Iceberg and one of Hive."""
    catalog.create_table((database, "of_iceberg"), SCHEMA)
    raw.create_table(table_row(database, "of_hive", COLUMNS))
    return tuple(f"{database}.{name}" for name in TABLES)


def test_every_command_that_takes_a_view_is_listed(commands_with_a_view: set[str]) -> None:
    listed = {command.partition(" --")[0] for command in COMMANDS} | {*OTHER_COMMANDS}
    assert listed - {"import plan"} == commands_with_a_view


def test_commands_with_a_table(cli: Cli, tables: tuple[str, ...]) -> None:
    answers = {}
    for command, (_, _, words) in COMMANDS.items():
        for table in tables:
            done = cli("--json", *command.split(), table, *(word.replace("{}", table) for word in words))
            answers[command, table] = (done.code, done.error["type"], table in done.error["error"])
    assert answers == {
        (command, table): (code, error, True) for command, (code, error, _) in COMMANDS.items() for table in tables
    }


def test_statements_with_a_table(cli: Cli, tables: tuple[str, ...]) -> None:
    answers = {}
    for statement in STATEMENTS:
        for table in tables:
            done = cli("--json", "sql", statement.replace("{}", table))
            answers[statement, table] = (done.code, done.error["type"])
    assert answers == {(statement, table): answer for statement, answer in STATEMENTS.items() for table in tables}


def test_calls_with_a_table(catalog: HiveViewCatalog, tables: tuple[str, ...]) -> None:
    for table in tables:
        for call in (
            catalog.load_view,
            catalog.dependencies.check_view,
            catalog.dependencies.check_engines,
            catalog.dependencies.column_lineage,
            catalog.partitions.list,
            catalog.partitions.dependencies,
        ):
            with pytest.raises(NotAViewError, match=f"^View does not exist: {table} .* It is a table") as caught:
                call(table)
            assert caught.value.identifier == table


def test_other_kinds_of_views_are_no_tables(cli: Cli, raw: Client, database: str) -> None:
    """A view and a materialized view of Hive have an advice of their own, and exit code 4."""
    raw.create_table(table_row(database, "t", COLUMNS))
    raw.create_table(hive_view_row(database, "v", "select id from t", "select id from t", COLUMNS))
    row = table_row(database, "mv", COLUMNS)
    row.tableType = "MATERIALIZED_VIEW"
    raw.create_table(row)
    for name in ("v", "mv"):
        done = cli("--json", "history", f"{database}.{name}")
        assert (done.code, done.error["type"]) == (4, "NotAnIcebergViewError")
        assert f"hive-views import plan --view {database}.{name}" in done.error["error"]
