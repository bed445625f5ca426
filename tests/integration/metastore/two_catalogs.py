"""A metastore with two catalogs, as estates that came from HDP 3 have it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hive_views.local_metastore.process import MetastoreProcess
from tests.conftest import started
from tests.integration.metastore.java_classes import load_java_classes

RELEASE = "3.1.3"
PROPERTY = "metastore.catalog.default"


@contextmanager
def two_catalogs(directory: Path, default: str = "hive", release: str = RELEASE) -> Iterator[MetastoreProcess]:
    """A metastore with the catalogs `hive` and `spark`, one of which is its own default."""
    with (
        started(directory, release) as running,
        load_java_classes(release) as java,
        java.client(running.port) as client,
    ):
        catalog, creation = java.make("Catalog"), java.make("CreateCatalogRequest")
        catalog.setName("spark")
        catalog.setLocationUri(f"{running.warehouse}/spark")
        creation.setCatalog(catalog)
        client.create_catalog(creation)
    # A server does not answer without the catalog that its configuration names.
    with started(directory, release, properties={PROPERTY: default}) as running:
        yield running
