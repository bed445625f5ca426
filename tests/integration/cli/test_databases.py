"""Databases on the command line and in SQL."""

from __future__ import annotations

import pytest

from hive_views import HiveViewCatalog
from hive_views.errors import SqlError
from tests.integration.cli.conftest import Cli


def test_database_is_created_listed_and_dropped(cli: Cli, catalog: HiveViewCatalog, database: str) -> None:
    name = f"{database}_new"
    created = cli("database", "create", name.upper(), "--comment", "a shop", "-p", "team=bi", "--json").json
    assert created == {"database": name, "outcome": "created"}
    assert {"comment": "a shop", "team": "bi"}.items() <= catalog.load_namespace_properties(name).items()
    assert cli("database", "create", name).code == 4
    assert cli("database", "create", name, "--if-not-exists").out == f"{name}: unchanged\n"
    assert name in cli("database", "list").out.splitlines()
    assert cli("database", "drop", name).code == 2  # no terminal for the question
    assert cli("database", "drop", name, "--yes").out == f"{name}: dropped\n"
    assert cli("database", "drop", name, "--yes").code == 3
    assert cli("database", "drop", name, "--yes", "--if-exists").out == f"{name}: absent\n"


def test_database_with_views_is_not_dropped(cli: Cli, catalog: HiveViewCatalog, database: str) -> None:
    catalog.create_view_from_sql(f"{database}.v", "SELECT 1 AS one")
    assert cli("database", "drop", database, "--yes").code == 4
    with pytest.raises(SqlError, match="CASCADE would drop tables"):
        catalog.execute(f"DROP DATABASE {database} CASCADE")
    assert catalog.view_exists(f"{database}.v")


@pytest.mark.parametrize(
    ("dialect", "clauses", "expected"),
    [
        ("spark", "COMMENT 'x' WITH DBPROPERTIES ('a' = 'b')", {"comment": "x", "a": "b"}),
        ("hive", "COMMENT 'x' LOCATION 'file:/tmp/{0}'", {"comment": "x", "location": "file:/tmp/{0}"}),
        ("trino", "WITH (location = 'file:/tmp/{0}')", {"location": "file:/tmp/{0}"}),
    ],
)
def test_database_statements(
    catalog: HiveViewCatalog, database: str, dialect: str, clauses: str, expected: dict[str, str]
) -> None:
    name = f"{database}_sql"
    kind = "SCHEMA" if dialect == "trino" else "DATABASE"
    statement = f"CREATE {kind} IF NOT EXISTS {name} {clauses.format(name)}"
    assert [catalog.execute(statement, dialect=dialect).kind for _ in range(2)] == ["created", "unchanged"]
    properties = {key: value.format(name) for key, value in expected.items()}
    assert properties.items() <= catalog.load_namespace_properties(name).items()
    assert catalog.execute(f"SHOW {kind}S LIKE '{name}'", dialect=dialect).rows == ((name,),)
    drop = f"DROP {kind} IF EXISTS {name}"
    assert [catalog.execute(drop, dialect=dialect).kind for _ in range(2)] == ["dropped", "absent"]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("CREATE DATABASE a.b", "line 1:17 a.b is not the name of a database"),
        ("CREATE DATABASE a COMMENT 'x' COMMENT 'y'", "'comment' is given twice"),
        ("CREATE DATABASE a NONSENSE", "Expected COMMENT, LOCATION or WITH DBPROPERTIES"),
        ("SHOW DATABASES nonsense", "Expected a string"),
    ],
)
def test_wrong_database_statement_is_located(catalog: HiveViewCatalog, statement: str, message: str) -> None:
    with pytest.raises(SqlError, match=message):
        catalog.execute(statement)


def test_drop_of_the_default_database_is_refused(cli: Cli) -> None:
    done = cli("database", "drop", "default", "--yes")
    assert (done.code, "Can not drop default database" in done.err) == (1, True), done
    assert "default" in cli("database", "list").out
