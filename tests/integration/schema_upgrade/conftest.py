"""Real databases, started once per run; tests are skipped if a database is not installed."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from hive_views.schema_upgrade.derby_session import derby_jvm
from tests.integration.schema_upgrade import servers
from tests.integration.schema_upgrade.databases import Databases, DerbyDatabases, SqlDatabases

WHOLE = os.environ.get("HIVE_VIEWS_WHOLE_UPGRADE") == "1"
"""Whether all combinations are tested (`make test-upgrade`) or a selection."""

KINDS = ("mariadb", "postgresql", "derby")

once = pytest.mark.parametrize("databases", KINDS if WHOLE else ["postgresql"], indirect=True)
"""Marks tests of rules that do not depend on the kind of database: in the selection they run on one kind."""

on_servers = pytest.mark.parametrize("databases", ["mariadb", "postgresql"], indirect=True)
"""Marks tests with several sessions, which Derby does not have."""


@pytest.fixture(scope="session")
def mariadb() -> Iterator[SqlDatabases]:
    with servers.mariadb() as server:
        yield SqlDatabases(server)


@pytest.fixture(scope="session")
def postgresql() -> Iterator[SqlDatabases]:
    with servers.postgresql() as server:
        yield SqlDatabases(server)


@pytest.fixture(scope="session")
def derby(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DerbyDatabases]:
    with derby_jvm("the tests") as jvm:
        yield DerbyDatabases(tmp_path_factory.mktemp("derby"), jvm)


@pytest.fixture(params=KINDS)
def databases(request: pytest.FixtureRequest) -> Databases:
    """Databases of each kind."""
    databases: Databases = request.getfixturevalue(request.param)
    return databases
