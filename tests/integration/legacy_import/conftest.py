"""Fixtures for legacy views on a real metastore."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hive_views import HiveViewCatalog
from hive_views.identifiers import ViewName
from hive_views.legacy_import.options import ImportOptions
from hive_views.legacy_import.plan import ImportPlan, PlanEntry, plan_import
from hive_views.legacy_import.run import Importer, PendingImport
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.metastore._thrift.hive_metastore.ttypes import Table
from hive_views.metastore.rows.serialization import encode_row
from tests.integration.catalog.samples import files_below
from tests.integration.legacy_import.rows import table_row

Add = Callable[..., str]
Planner = Callable[..., ImportPlan]


@pytest.fixture(scope="session")
def short(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedMetastore]:
    """Another metastore that drops the lock of a dead process after seconds.

    It may be killed, and started again: it keeps its port.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with EmbeddedMetastore(tmp_path_factory.mktemp("short"), port=port, txn_timeout_s=4) as running:
        yield running


@pytest.fixture
def add(raw) -> Callable[[Table], str]:
    """A function that creates a row and returns its full name."""

    def put(row: Table) -> str:
        raw.create_table(row)
        return f"{row.dbName}.{row.tableName}"

    return put


@pytest.fixture
def sales(add, database) -> str:
    """The database with two Hive tables: orders and customers."""
    add(
        table_row(
            database,
            "orders",
            [("id", "bigint"), ("cust", "int"), ("amount", "decimal(10,2)"), ("note", "varchar(20)")],
        )
    )
    add(table_row(database, "customers", [("id", "int"), ("name", "string"), ("since", "timestamp")]))
    return database


@pytest.fixture
def plan(catalog: HiveViewCatalog, database: str) -> Planner:
    """A function that plans the import of the test's database."""

    def make(**options: object) -> ImportPlan:
        return plan_import(catalog, databases=[database], options=ImportOptions(**options))  # type: ignore[arg-type]

    return make


@pytest.fixture
def everything(catalog: HiveViewCatalog, metastore, database: str) -> Callable[[], dict[str, bytes]]:
    """The bytes of all rows of the test's database, and the names and bytes of all files below its directory."""

    def snapshot() -> dict[str, bytes]:
        contents = {}
        for name in catalog.store.client.get_all_tables(database):
            row = catalog.store.get_row(ViewName(database, name))
            assert row is not None
            contents[f"row {name}"] = encode_row(row)
        for file in files_below(f"{metastore.warehouse}/{database}.db"):
            contents[f"file {file}"] = file.read_bytes()
        return contents

    return snapshot


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """A path for a journal."""
    return tmp_path / "journal.jsonl"


def entry_of(plan: ImportPlan, name: str) -> PlanEntry:
    """Return the entry of a view by its name without the database."""
    return next(entry for entry in plan.entries if entry.name.name == name)


def computed(importer: Importer, entry: PlanEntry) -> PendingImport:
    """Return the computed import of a view that is to be swapped."""
    pending = importer.compute(entry)
    assert isinstance(pending, PendingImport)
    return pending


def written(importer: Importer, pending: PendingImport, *, is_shared: bool = False) -> PendingImport:
    """Return an import whose files are written."""
    result = importer.write_files(pending, is_shared=is_shared)
    assert isinstance(result, PendingImport)
    return result
