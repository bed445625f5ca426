"""Trino reads views of a metastore through a REST catalog over it: it runs their text of the dialect `trino`.

The catalog is Iceberg's server on the shared metastore, or the one in a metastore of Hive 4.2.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from trino.exceptions import TrinoQueryError

from hive_views import HiveViewCatalog, define
from hive_views.sql.analysis.validity import Validity
from tests.conftest import empty_database
from tests.integration.metastore.rest_server import RestMetastore
from tests.integration.metastore.test_http import jwks_uri, token
from tests.integration.trino.server import TrinoServer, running
from tests.integration.view_copy.conftest import metastore_over_rest

__all__ = ["jwks_uri", "metastore_over_rest"]


@pytest.fixture(scope="module")
def hive(jwks_uri, tmp_path_factory) -> Iterator[RestMetastore]:
    """A metastore of Hive 4.2 whose REST catalog requires a token."""
    properties = {"metastore.authentication.jwt.jwks.url": jwks_uri}
    with RestMetastore(tmp_path_factory.mktemp("hive"), ("jwt",), properties) as server:
        yield server


@pytest.fixture(scope="module")
def trino_over_rest(metastore, metastore_over_rest, hive, tmp_path_factory) -> Iterator[TrinoServer]:
    """Trino with the REST catalogs `lake`, on the shared metastore, and `hive_4`."""
    properties = {"connector.name": "iceberg", "iceberg.catalog.type": "rest"}
    catalogs = {
        "lake": {**properties, "iceberg.rest-catalog.uri": metastore_over_rest},
        "hive_4": {
            **properties,
            "iceberg.rest-catalog.uri": hive.rest_uri("jwt"),
            "iceberg.rest-catalog.security": "OAUTH2",
            "iceberg.rest-catalog.oauth2.token": token(),
        },
    }
    with running(tmp_path_factory.mktemp("trino-rest"), metastore.uri, catalogs) as server:
        yield server


@pytest.fixture(params=["lake", "hive_4"])
def name(request: pytest.FixtureRequest) -> str:
    """The name of the catalog in Trino."""
    return request.param


@pytest.fixture
def served(name, metastore, hive):
    """The metastore behind the catalog."""
    return {"lake": metastore, "hive_4": hive}[name]


@pytest.fixture
def database(served) -> Iterator[str]:
    with empty_database(served, "db") as created:
        yield created


@pytest.fixture
def catalog(served) -> Iterator[HiveViewCatalog]:
    with HiveViewCatalog("prod", uri=served.uri, warehouse=served.warehouse) as opened:
        yield opened


def test_view_with_trino_text_is_read(catalog, trino_over_rest, name, database):
    catalog.create_table(f"{database}.orders", schema=pa.schema([("id", pa.int64())])).append(
        pa.table({"id": [1, 2, 3]})
    )
    columns = catalog.create_view_from_sql(f"{database}.plain", f"SELECT id FROM {database}.orders").schema()
    version = define(
        f"SELECT id FROM {name}.{database}.orders WHERE id > 1",
        dialect="trino",
        default_namespace=(database,),
        expanded=f"SELECT `orders`.`id` FROM `{database}`.`orders` WHERE `orders`.`id` > 1",
    )
    catalog.create_view(f"{database}.large", columns, version)
    assert sorted(trino_over_rest.query(f"SELECT id FROM {name}.{database}.large")) == [(2,), (3,)]
    # Unqualified names need a session schema: the version has no default catalog.
    unqualified = define("SELECT id FROM orders", dialect="trino", default_namespace=(database,), expanded="SELECT 1")
    catalog.create_view(f"{database}.unqualified", columns, unqualified)
    with pytest.raises(TrinoQueryError, match="Schema must be specified"):
        trino_over_rest.query(f"SELECT id FROM {name}.{database}.unqualified")
    with pytest.raises(TrinoQueryError):
        trino_over_rest.query(f"SELECT id FROM {name}.{database}.plain")


def test_replacement_by_trino_has_only_its_text(catalog, trino_over_rest, name, database):
    """The property that lets other programs lose generated texts lets Trino lose the author's as well."""
    catalog.create_table(f"{database}.orders", schema=pa.schema([("id", pa.int64())])).append(pa.table({"id": [1, 2]}))
    before = catalog.create_view_from_sql(f"{database}.v", f"SELECT id FROM {database}.orders")
    trino_over_rest.query(
        f"CREATE OR REPLACE VIEW {name}.{database}.v AS SELECT id + 1 AS id FROM {name}.{database}.orders"
    )
    view = catalog.load_view(f"{database}.v")
    assert (before.dialects, view.dialects) == (("spark", "hive"), ("trino",))
    assert view.expanded_text == "SELECT (id + 1) id\nFROM\n  " + f"{name}.{database}.orders\n"
    assert view.drift == ()
    checked = catalog.dependencies.check_view(f"{database}.v")
    assert checked.validity is Validity.UNEXPANDED
    findings = catalog.dependencies.check_engines(f"{database}.v")
    assert [item.text for item in findings] == [
        f"{engine}: refused: the view has no text for Hive and plain Spark" for engine in ("spark", "hive", "trino")
    ]
    restored = view.update().rollback(version_id=1).commit()
    assert (restored.dialects, restored.expanded_text) == (before.dialects, before.expanded_text)
