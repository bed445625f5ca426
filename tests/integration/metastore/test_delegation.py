"""Acting for other users (doAs) on a Kerberos metastore: a real KDC and Hive Metastore 4.0.1."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from hive_views import HiveViewCatalog
from hive_views.errors import MetastoreAuthenticationError, MetastoreUnavailableError
from hive_views.local_metastore.standalone import StandaloneMetastore, free_port
from tests.integration.metastore import kerberos

BATCH, BOB, MAY_NOT = "batch", "bob", "carl"
PROXY = {f"hadoop_proxyuser_{BATCH}_{kind}": "*" for kind in ("hosts", "users")}


@pytest.fixture(scope="module")
def kdc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kerberos.Kdc]:
    absent = kerberos.missing()
    if absent:
        pytest.skip(f"no Kerberos here: {absent} is missing")
    with kerberos.running_kdc(tmp_path_factory.mktemp("kdc")) as running:
        yield running


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, kdc: kerberos.Kdc) -> Iterator[StandaloneMetastore]:
    """A metastore on which `BATCH` may act for anyone."""
    with kerberos.kerberized(tmp_path_factory.mktemp("server"), kdc, "hive", port=free_port(), **PROXY) as running:
        yield running


@pytest.fixture(scope="module")
def keytabs(kdc: kerberos.Kdc) -> dict[str, str]:
    return {user: str(kdc.keytab(user)) for user in (BATCH, MAY_NOT)}


def catalog_of(server: StandaloneMetastore, keytabs: dict[str, str], user: str, **more: str) -> HiveViewCatalog:
    properties = {
        "uri": f"thrift://localhost:{server.port}",
        "warehouse": server.warehouse,
        "hive-views.authentication": "kerberos",
        "hive-views.keytab-file": keytabs[user],
        "hive-views.keytab-principal": f"{user}@{kerberos.REALM}",
        **more,
    }
    return HiveViewCatalog("delegated", **properties)


def owner(catalog: HiveViewCatalog, database: str, view: str) -> str | None:
    row = catalog.store.client.get_table(database, view)
    assert row is not None
    return str(row.owner)


def test_views_belong_to_the_user_for_whom_another_acts(server: StandaloneMetastore, keytabs: dict[str, str]) -> None:
    with catalog_of(server, keytabs, BATCH) as own, catalog_of(server, keytabs, BATCH, **as_user(BOB)) as acting:
        own.create_namespace("shared")
        own.execute("CREATE VIEW shared.of_batch AS SELECT 1 AS a")
        acting.execute("CREATE VIEW shared.of_bob AS SELECT 1 AS a")
        acting.execute("CREATE OR REPLACE VIEW shared.of_bob AS SELECT 2 AS a")
        owners = {view: owner(own, "shared", view) for view in ("of_batch", "of_bob")}
        assert owners == {"of_batch": BATCH, "of_bob": BOB}
        with ThreadPoolExecutor(8) as threads:
            assert set(threads.map(lambda _: len(acting.list_views("shared")), range(32))) == {2}


def as_user(user: str) -> dict[str, str]:
    return {"hive-views.proxy-user": user}


def test_user_who_may_not_act_for_others_is_told(server: StandaloneMetastore, keytabs: dict[str, str]) -> None:
    with catalog_of(server, keytabs, MAY_NOT, **as_user(BOB)) as catalog:
        with pytest.raises(MetastoreAuthenticationError) as raised:
            catalog.list_namespaces()
        assert raised.value.step == f"get a delegation token for {BOB}"
        assert f"hadoop.proxyuser.{MAY_NOT}.hosts" in str(raised.value)


def test_token_that_a_restarted_metastore_has_forgotten_is_replaced(
    server: StandaloneMetastore, keytabs: dict[str, str]
) -> None:
    with catalog_of(server, keytabs, BATCH, **as_user(BOB)) as catalog:
        catalog.create_namespace("restarted")
        server.stop()
        with pytest.raises(MetastoreUnavailableError):
            catalog.list_namespaces()
        server.start()
        catalog.execute("CREATE VIEW restarted.v AS SELECT 1 AS a")
        assert owner(catalog, "restarted", "v") == BOB
