"""Metastores that are registered in ZooKeeper: real ones, with dead servers of both kinds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hive_views import HiveViewCatalog
from hive_views.catalog.discovery import registered_servers
from hive_views.doctor.examination import examine
from hive_views.errors import InvalidPropertyError, MetastoreAuthenticationError, MetastoreUnavailableError
from hive_views.local_metastore.standalone import StandaloneMetastore, free_port
from hive_views.view_copy.catalogs import address_of
from tests.conftest import CACHE
from tests.faults.observer import until
from tests.integration.metastore.test_security import PASSWORD, certificates
from tests.integration.metastore.zookeeper import Ensemble, ensemble

__all__ = ["certificates"]

MODE = {"metastore.service.discovery.mode": "zookeeper"}


@pytest.fixture(scope="module")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ensemble]:
    with ensemble(tmp_path_factory.mktemp("zookeeper")) as running:
        yield running


@contextmanager
def registered(directory: Path, release: str, zookeeper: Ensemble, node: str) -> Iterator[StandaloneMetastore]:
    """A metastore that registers itself below a node."""
    hosts = ",".join(zookeeper.hosts)
    settings = {
        "metastore.thrift.uris": hosts,
        "metastore.zookeeper.namespace": node,
        # 4.2.0 empties the list of servers when it starts, and registers with localhost at this port.
        "metastore.zookeeper.client.port": zookeeper.hosts[1].rpartition(":")[2],
        **MODE,
    }
    # The archive of 4.0 has a metastore-site.xml with an address, which only an option of the JVM overrides.
    options = (f"-Dmetastore.thrift.uris={hosts}",)
    with StandaloneMetastore(directory, version=release, cache=CACHE, properties=settings, options=options) as running:
        until(lambda: running.uri.removeprefix("thrift://") in registered_servers(hosts, node, 10))
        yield running


def properties(zookeeper: Ensemble, node: str) -> dict[str, str]:
    return {"uri": ",".join(zookeeper.hosts), **MODE, "metastore.zookeeper.namespace": node}


@pytest.mark.parametrize("release", ["4.0.1", "4.2.0"])
def test_registered_metastores_are_used(zookeeper: Ensemble, release: str, tmp_path: Path) -> None:
    """Also while one is dead, and still registered until its session expires."""
    with registered(tmp_path / "one", release, zookeeper, release) as one:
        with HiveViewCatalog("prod", warehouse=one.warehouse, **properties(zookeeper, release)) as catalog:
            assert catalog.properties["uri"] == one.uri
            catalog.create_namespace("found")
            catalog.execute("CREATE VIEW found.v AS SELECT 1 AS a")
            assert examine(catalog, write=False).findings
        with registered(tmp_path / "two", release, zookeeper, release) as two:
            dead = two.uri
            os.kill(two.pid, signal.SIGKILL)
        given = properties(zookeeper, release)
        hive = {"hive.metastore.uris": given["uri"], "spark.hive.metastore.service.discovery.mode": "ZooKeeper"}
        for each in (given, {**hive, "hive.zookeeper.namespace": release}):
            with HiveViewCatalog("prod", **each) as catalog:
                assert set(catalog.properties["uri"].split(",")) == {one.uri, dead}
                assert catalog.list_views("found") == [("found", "v")]
                # Plans and journals name ZooKeeper, since the registered metastores change.
                assert address_of(catalog) == f"zookeeper://{','.join(sorted(zookeeper.hosts))}/{release}"
                # Opened again with its properties, in a worker for example.
                with HiveViewCatalog("prod", **catalog.properties) as same:
                    assert same.list_views("found") == [("found", "v")]


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory, certificates: Path) -> Iterator[Ensemble]:
    """An ensemble that also has ports with TLS, at which it requires the certificate `other`."""
    trusted = certificates / "trusted.p12"
    command = ["keytool", "-importcert", "-noprompt", "-alias", "client", "-file", str(certificates / "other.pem")]
    command += ["-keystore", str(trusted), "-storetype", "PKCS12", "-storepass", PASSWORD]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    tls = (
        "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory\nssl.clientAuth=need\n"
        f"ssl.keyStore.location={certificates / 'server.p12'}\nssl.keyStore.password={PASSWORD}\n"
        f"ssl.trustStore.location={trusted}\nssl.trustStore.password={PASSWORD}\n"
    )
    with ensemble(tmp_path_factory.mktemp("secured"), tls) as running:
        yield running


def test_zookeeper_with_tls(secured: Ensemble, certificates: Path, tmp_path: Path) -> None:
    hosts = ",".join(f"localhost:{port}" for port in secured.secure_ports)
    files = {
        "hive-views.tls-ca-file": str(certificates / "server.pem"),
        "hive-views.tls-certificate-file": str(certificates / "other.pem"),
        "hive-views.tls-key-file": str(certificates / "other.key"),
    }
    given = {**MODE, "uri": hosts, "metastore.zookeeper.namespace": "secured", "hive-views.zookeeper-tls": "true"}
    with registered(tmp_path, "4.0.1", secured, "secured") as running:
        secured.kill(0)
        for _ in range(3):
            with HiveViewCatalog("prod", **given, **files) as catalog:
                assert catalog.properties["uri"] == running.uri
                assert catalog.list_namespaces()
        hive = {**given, "spark.hive.zookeeper.ssl.client.enable": "true"}
        del hive["hive-views.zookeeper-tls"]
        with HiveViewCatalog("prod", **hive, **files) as catalog:
            assert catalog.list_namespaces()
    wrong = {**files, "hive-views.tls-ca-file": str(certificates / "other.pem")}
    with pytest.raises(MetastoreAuthenticationError, match="check the server's certificate: self-signed") as raised:
        HiveViewCatalog("prod", **given, **wrong)
    assert raised.value.step == "check the metastore's certificate"
    by_number = {**given, "uri": hosts.replace("localhost", "127.0.0.1")}
    with pytest.raises(MetastoreAuthenticationError, match="IP address mismatch"):
        HiveViewCatalog("prod", **by_number, **files)
    plain_port = {**given, "uri": secured.hosts[1].replace("127.0.0.1", "localhost")}
    with pytest.raises(MetastoreAuthenticationError, match="Perhaps the server speaks no TLS at this port"):
        HiveViewCatalog("prod", **plain_port, **files)
    without = {key: value for key, value in files.items() if key == "hive-views.tls-ca-file"}
    with pytest.raises(MetastoreAuthenticationError, match="BAD_CERTIFICATE"):
        HiveViewCatalog("prod", **given, **without)
    del given["hive-views.zookeeper-tls"]
    with pytest.raises(MetastoreUnavailableError, match=r"If it expects TLS, set hive-views\.zookeeper-tls=true"):
        HiveViewCatalog("prod", **given, **{"hive-views.connect-timeout-ms": "3000"})


def test_no_registered_metastore_is_an_error(zookeeper: Ensemble) -> None:
    with pytest.raises(MetastoreUnavailableError, match=r"no metastore is registered below /none in ZooKeeper .127"):
        HiveViewCatalog("prod", **properties(zookeeper, "none"))


def test_dead_server_of_zookeeper(zookeeper: Ensemble, tmp_path: Path) -> None:
    with registered(tmp_path, "4.0.1", zookeeper, "alone") as running:
        zookeeper.kill(0)
        for _ in range(5):  # Kazoo starts with a random server
            with HiveViewCatalog("prod", **properties(zookeeper, "alone")) as catalog:
                assert catalog.properties["uri"] == running.uri
                assert catalog.list_namespaces()


def test_unreachable_zookeeper_is_an_error() -> None:
    started = time.monotonic()
    given = {"uri": f"127.0.0.1:{free_port()},localhost:{free_port()}", "hive-views.connect-timeout-ms": "2000", **MODE}
    with pytest.raises(MetastoreUnavailableError, match=r"ZooKeeper \(127.* does not answer within 2 s"):
        HiveViewCatalog("prod", **given)
    assert time.monotonic() - started < 20


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"uri": "zk1:2181/chroot"}, "name the servers of ZooKeeper: host:2181,host:2181"),
        ({"uri": "zk1", "metastore.zookeeper.client.port": "many"}, "whole number"),
        ({"uri": "zk1", "metastore.service.discovery.mode": "consul"}, "it must be zookeeper"),
        ({"uri": "zk1:2181", "metastore.service.discovery.mode": ""}, "set metastore.service.discovery.mode=zookeeper"),
    ],
)
def test_invalid_properties_are_errors(given: dict[str, str], reason: str) -> None:
    with pytest.raises(InvalidPropertyError, match=reason):
        HiveViewCatalog("prod", **{**MODE, **given})


def test_missing_package_is_named() -> None:
    program = (
        "import sys; sys.modules['kazoo'] = None\n"
        "from hive_views import HiveViewCatalog\n"
        "HiveViewCatalog('prod', **{'uri': 'zk1', 'metastore.service.discovery.mode': 'zookeeper'})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert "pip install 'hive_views[zookeeper]'" in done.stderr.splitlines()[-1]
