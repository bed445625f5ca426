"""Views of the metastore read through a REST catalog over the same metastore: Iceberg's adapter on its HiveCatalog."""

from __future__ import annotations

import pytest
from pyiceberg.catalog import load_catalog

from hive_views import define
from hive_views.view_copy.metadata import fingerprint, metadata_of


@pytest.fixture
def over_rest(metastore_over_rest):
    return load_catalog("rest", type="rest", uri=metastore_over_rest)


def test_pyiceberg_reads_views_of_the_metastore(catalog, over_rest, name, database):
    assert over_rest.list_views(database) == [tuple(name.split("."))]
    view = over_rest.load_view(name)
    assert fingerprint(metadata_of(view)) == fingerprint(catalog.load_view(name).metadata)
    assert [entry.version_id for entry in view.history()] == [1, 2, 1]


def test_text_of_dialect_trino_is_served(catalog, over_rest, database):
    columns = catalog.create_view_from_sql(f"{database}.shape", "SELECT 1 AS id").schema()
    version = define("SELECT 1 AS id", dialect="trino", default_namespace=(database,), expanded="SELECT 1 AS `id`")
    catalog.create_view(f"{database}.v", columns, version)
    texts = {
        text.root.dialect: text.root.sql
        for text in over_rest.load_view(f"{database}.v").current_version().representations
    }
    assert texts["trino"] == "SELECT 1 AS id"
