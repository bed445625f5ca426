"""Acting for other users (doAs) on metastores with Kerberos and a real KDC."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from hive_views import HiveViewCatalog
from hive_views.errors import MetastoreAuthenticationError, MetastoreUnavailableError
from hive_views.local_metastore.standalone import StandaloneMetastore, free_port
from tests.integration.metastore import kerberos

BATCH, BOB, MAY_NOT = "batch", "bob", "carl"
PROXY = {f"hadoop_proxyuser_{BATCH}_{kind}": "*" for kind in ("hosts", "users")}
BY_GROUP = {
    f"hadoop_proxyuser_{BATCH}_hosts": "*",
    f"hadoop_proxyuser_{BATCH}_groups": "analysts",
    "hadoop_user_group_static_mapping_overrides": f"{BOB}=analysts;{MAY_NOT}=;{BATCH}=",
}
LIFETIME_S = 8
SHORT = {"metastore_cluster_delegation_token_renew-interval": f"{LIFETIME_S}s"}


@pytest.fixture(scope="module")
def kdc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kerberos.Kdc]:
    absent = kerberos.missing()
    if absent:
        pytest.skip(f"no Kerberos here: {absent} is missing")
    with kerberos.running_kdc(tmp_path_factory.mktemp("kdc")) as running:
        yield running


@dataclass(frozen=True)
class Estate:
    """How a metastore lets `BATCH` act for others."""

    version: str
    protection: str
    properties: Mapping[str, str]
    ends_tokens: bool = True
    """Whether it refuses a token that was not renewed; 4.1.0 accepted one after this interval."""

    def __str__(self) -> str:
        return f"{self.version} {self.protection}{' groups' if self.properties is BY_GROUP else ''}"


ESTATES = (
    Estate("4.0.1", "authentication", PROXY),
    Estate("4.1.0", "privacy", BY_GROUP, ends_tokens=False),
    Estate("3.1.3", "privacy", PROXY),
)


@pytest.fixture(scope="module", params=ESTATES, ids=str)
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, kdc: kerberos.Kdc
) -> Iterator[StandaloneMetastore]:
    """A metastore on which `BATCH` may act for `BOB`."""
    estate = request.param
    with kerberos.kerberized(
        tmp_path_factory.mktemp("server"),
        kdc,
        "hive",
        version=estate.version,
        protection=estate.protection,
        port=free_port(),
        **estate.properties,
        **SHORT,
    ) as running:
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


def test_expired_token_is_replaced(
    server: StandaloneMetastore, keytabs: dict[str, str], request: pytest.FixtureRequest
) -> None:
    """New connections get a new token; one that was handed to another machine is refused."""
    if not request.node.callspec.params["server"].ends_tokens:
        pytest.skip("this metastore does not end tokens in time")
    with catalog_of(server, keytabs, BATCH, **as_user(BOB)) as acting:
        acting.list_namespaces()
        delegated = acting.store.client.delegation_token()
        assert delegated is not None
        token = {"hive-views.authentication": "token", "hive-views.token": delegated[1]}
        with HiveViewCatalog("elsewhere", uri=delegated[0], warehouse=server.warehouse, **token) as elsewhere:
            elsewhere.create_namespace("elsewhere")
            elsewhere.execute("CREATE VIEW elsewhere.v AS SELECT 1 AS a")
            assert owner(elsewhere, "elsewhere", "v") == BOB
        time.sleep(LIFETIME_S + 1)
        with (
            HiveViewCatalog("elsewhere", uri=delegated[0], **token) as elsewhere,
            pytest.raises(MetastoreAuthenticationError) as raised,
        ):
            elsewhere.list_namespaces()
        assert delegated[1] not in str(raised.value)
        with ThreadPoolExecutor(8) as threads:
            assert set(threads.map(lambda _: acting.view_exists("elsewhere.v"), range(32))) == {True}
        later = acting.store.client.delegation_token()
        assert later is not None
        assert later[1] != delegated[1]


def test_user_outside_the_group_is_refused(
    server: StandaloneMetastore, keytabs: dict[str, str], request: pytest.FixtureRequest
) -> None:
    if request.node.callspec.params["server"].properties is not BY_GROUP:
        pytest.skip("this metastore names users")
    with catalog_of(server, keytabs, BATCH, **as_user(MAY_NOT)) as catalog:
        with pytest.raises(MetastoreAuthenticationError) as raised:
            catalog.list_namespaces()
        assert raised.value.step == f"get a delegation token for {MAY_NOT}"


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
