"""Trino reads views of the metastore through a REST catalog over it: it runs their text of the dialect `trino`."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from trino.exceptions import TrinoQueryError

from hive_views import define
from tests.integration.trino.server import TrinoServer, running
from tests.integration.view_copy.conftest import metastore_over_rest

__all__ = ["metastore_over_rest"]


@pytest.fixture(scope="module")
def lake(metastore, metastore_over_rest, tmp_path_factory) -> Iterator[TrinoServer]:
    """Trino with the catalog `lake`, which is the REST catalog."""
    properties = {
        "connector.name": "iceberg",
        "iceberg.catalog.type": "rest",
        "iceberg.rest-catalog.uri": metastore_over_rest,
    }
    with running(tmp_path_factory.mktemp("trino-rest"), metastore.uri, {"lake": properties}) as server:
        yield server


def test_view_with_trino_text_is_read(catalog, lake, database):
    catalog.create_table(f"{database}.orders", schema=pa.schema([("id", pa.int64())])).append(
        pa.table({"id": [1, 2, 3]})
    )
    columns = catalog.create_view_from_sql(f"{database}.plain", f"SELECT id FROM {database}.orders").schema()
    version = define(
        f"SELECT id FROM lake.{database}.orders WHERE id > 1",
        dialect="trino",
        default_namespace=(database,),
        expanded=f"SELECT `orders`.`id` FROM `{database}`.`orders` WHERE `orders`.`id` > 1",
    )
    catalog.create_view(f"{database}.large", columns, version)
    assert sorted(lake.query(f"SELECT id FROM lake.{database}.large")) == [(2,), (3,)]
    # Unqualified names need a session schema: the version has no default catalog.
    unqualified = define("SELECT id FROM orders", dialect="trino", default_namespace=(database,), expanded="SELECT 1")
    catalog.create_view(f"{database}.unqualified", columns, unqualified)
    with pytest.raises(TrinoQueryError, match="Schema must be specified"):
        lake.query(f"SELECT id FROM lake.{database}.unqualified")
    with pytest.raises(TrinoQueryError):
        lake.query(f"SELECT id FROM lake.{database}.plain")
