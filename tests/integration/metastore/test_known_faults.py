"""Known faults of servers and databases: the doctor reports them, and the catalog avoids them."""

from __future__ import annotations

import pytest

from hive_views import HiveViewCatalog
from hive_views.doctor import Level, examine
from hive_views.errors import LockError
from hive_views.metastore.capabilities import honors_cas
from tests.conftest import SERVER, CatalogFactory
from tests.integration.catalog.samples import SCHEMA, version

RELEASE, _, DATABASE = SERVER.partition("/")

WARNINGS = {
    # HIVE-26882 is not in 3.x.
    "compare-and-swap": RELEASE.startswith("3."),
    "lock-concurrency": RELEASE in ("4.0.1", "4.1.0") and not DATABASE,
    # Hive's schema uses latin1 there.
    "characters": DATABASE == "mysql",
}


def test_doctor_reports_known_server_faults(catalog: HiveViewCatalog, database: str) -> None:
    report = examine(catalog, database=database)
    warnings = {finding.check for finding in report.findings if finding.level not in (Level.OK, Level.SKIPPED)}
    assert warnings == {check for check, expected in WARNINGS.items() if expected}


def test_commit_without_lock_is_rejected_without_cas(open_catalog: CatalogFactory, database: str) -> None:
    free = open_catalog({"iceberg.engine.hive.lock-enabled": "false"})
    assert honors_cas(free.store.client) is not WARNINGS["compare-and-swap"]
    if WARNINGS["compare-and-swap"]:
        with pytest.raises(LockError, match="ignores compare-and-swap"):
            free.create_view(f"{database}.v", SCHEMA, version(database))
    else:
        free.create_view(f"{database}.v", SCHEMA, version(database))
        assert free.list_views(database) == [(database, "v")]
