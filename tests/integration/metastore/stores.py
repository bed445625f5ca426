"""Metastore stores without a catalog, for tests of `commit` and `load_view`."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from hive_views.config import CatalogConfig
from hive_views.identifiers import ViewName
from hive_views.io.metadata_files import MetadataFiles
from hive_views.metastore.commit.view_commit import commit
from hive_views.metastore.store import LoadedView, MetastoreStore
from hive_views.metastore.transport.client import MetastoreClient
from hive_views.spec.changes import Change, apply, create
from hive_views.spec.metadata import ViewMetadata
from tests.integration.catalog.samples import SCHEMA, version


@contextmanager
def open_store(properties: Mapping[str, str], **more: str) -> Iterator[MetastoreStore]:
    """Open a store with these catalog properties."""
    config = CatalogConfig.from_properties({**properties, **more})
    with MetastoreClient(config.connection) as client:
        yield MetastoreStore(client, MetadataFiles({}), config)


def new_metadata(location: str, sql: str = "select 1, 'one'", **properties: str) -> ViewMetadata:
    """Return the metadata of a new view at a location."""
    return create(
        identifier="d.v",
        uuid=str(uuid.uuid4()),
        location=location,
        schema=SCHEMA,
        version=version("d", ("spark", sql)),
        properties=properties,
        now_ms=1000,
    )


def changed(store: MetastoreStore, base: LoadedView, *changes: Change) -> LoadedView:
    """Commit changes to a view once, without a retry."""
    name: ViewName = base.row.name
    return commit(store, name, base, apply(base.metadata, changes, now_ms=2000, identifier=str(name)))
