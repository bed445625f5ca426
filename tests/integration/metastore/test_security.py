"""TLS, Kerberos, delegation tokens, user and password, with a real Hive Metastore 4.0.1, KDC and LDAP directory."""

from __future__ import annotations

import base64
import logging
import os
import re
import shutil
import socket
import ssl
import subprocess
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from hive_views import HiveViewCatalog
from hive_views.config import CatalogConfig, LockConfig
from hive_views.doctor.report import Level
from hive_views.doctor.server import check_reachable
from hive_views.errors import (
    CommitStateUnknownError,
    HiveViewsError,
    InvalidPropertyError,
    MetastoreAuthenticationError,
    MetastoreError,
    NoSuchViewError,
)
from hive_views.identifiers import ViewName
from hive_views.local_metastore.directory import MetastoreDirectory
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.local_metastore.embedded_server import serve_at
from hive_views.local_metastore.jvm import Launch
from hive_views.local_metastore.process import MetastoreProcess, is_listening
from hive_views.local_metastore.standalone import StandaloneMetastore, free_port
from hive_views.metastore.locking.lock import hold_lock
from tests.integration.catalog.samples import SCHEMA
from tests.integration.metastore import directory, kerberos
from tests.proxy import CuttingProxy

CACHE = Path(__file__).parents[3] / ".cache"
USER, PASSWORD = "ann", "s3cret-of-ann"
OTHER_USER, OTHER_PASSWORD = "bob", "s3cret-of-bob"
WRONG = "wr0ng-of-ann"
SERVICES = {"authentication": "hive", "integrity": "signed", "privacy": "sealed"}
"""The service of each `hadoop.rpc.protection`."""

TOKEN = base64.urlsafe_b64encode(b"\x01i\x01p\x00\x00").decode()
"""A delegation token that no server knows."""


def openssl(directory: Path, *words: str) -> None:
    done = subprocess.run(["openssl", *words], cwd=directory, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate for localhost, as PEM and as a Java key store."""
    if not shutil.which("openssl"):
        pytest.skip("openssl is not installed")
    directory = tmp_path_factory.mktemp("certificates")
    name = ("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost")
    for each in ("server", "other"):
        key = ("-newkey", "rsa:2048", "-nodes", "-keyout", f"{each}.key", "-out", f"{each}.pem")
        openssl(directory, "req", "-x509", *key, "-days", "2", *name)
    store = ("-inkey", "server.key", "-in", "server.pem", "-out", "server.p12", "-passout", f"pass:{PASSWORD}")
    openssl(directory, "pkcs12", "-export", *store)
    return directory


@pytest.fixture(scope="module")
def people() -> Iterator[directory.Directory | None]:
    """A directory with two users, one of them in the permitted group; None if it cannot be started."""
    if directory.missing():
        yield None
        return
    with directory.directory({USER: PASSWORD, OTHER_USER: OTHER_PASSWORD}, (USER,)) as running:
        yield running


@pytest.fixture
def ldap(people: directory.Directory | None) -> directory.Directory:
    if people is None:
        pytest.skip(f"no LDAP directory here: {directory.missing()}")
    return people


def who_may(people: directory.Directory | None) -> dict[str, str]:
    """Users in the directory, or else in the metastore's configuration; the same to a client."""
    if people is None:
        return {
            "metastore.authentication": "CONFIG",
            "metastore.authentication.config.username": USER,
            "metastore.authentication.config.password": PASSWORD,
        }
    return {
        "metastore.authentication": "LDAP",
        "metastore.authentication.ldap.url": people.url,
        "metastore.authentication.ldap.userDNPattern": f"uid=%s,{directory.PEOPLE}",
        "metastore.authentication.ldap.groupDNPattern": f"cn=%s,{directory.GROUPS}",
        "metastore.authentication.ldap.groupFilter": directory.GROUP,
    }


@pytest.fixture(scope="module")
def guarded(
    tmp_path_factory: pytest.TempPathFactory, certificates: Path, people: directory.Directory | None
) -> Iterator[StandaloneMetastore]:
    """A metastore with TLS that requires user and password."""
    properties = {
        "metastore.use.SSL": "true",
        "metastore.keystore.path": str(certificates / "server.p12"),
        "metastore.keystore.password": PASSWORD,
        "metastore.keystore.type": "PKCS12",
        "metastore.execute.setugi": "false",
        **who_may(people),
    }
    with StandaloneMetastore(tmp_path_factory.mktemp("guarded"), cache=CACHE, properties=properties) as running:
        yield running


@pytest.fixture(scope="module")
def kdc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kerberos.Kdc]:
    absent = kerberos.missing()
    if absent:
        pytest.skip(f"no Kerberos here: {absent} is missing")
    with kerberos.running_kdc(tmp_path_factory.mktemp("kdc")) as running:
        yield running


@pytest.fixture(scope="module", params=["authentication", "integrity", "privacy"])
def kerberized(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, kdc: kerberos.Kdc
) -> Iterator[StandaloneMetastore]:
    """A metastore that requires Kerberos, without protection of messages, with signatures, and with encryption."""
    service = SERVICES[request.param]
    with kerberos.kerberized(tmp_path_factory.mktemp("kerberized"), kdc, service, protection=request.param) as running:
        kdc.log_in(kdc.keytab(f"{USER}-{service}"), f"{USER}-{service}")
        yield running


def uri(metastore: MetastoreProcess) -> str:
    """Return the URI with the host's name, as in certificates and principals."""
    return f"thrift://localhost:{metastore.port}"


def use(metastore: MetastoreProcess, database: str, **properties: str) -> HiveViewCatalog:
    """Create, replace, list and drop views; the catalog stays open."""
    catalog = HiveViewCatalog("secured", **{"uri": uri(metastore), "warehouse": metastore.warehouse, **properties})
    catalog.create_namespace(database)
    # A request of more than 64 KiB, the longest frame that the Java side encrypts.
    text, remark = "ü" * 15_000, "x" * 25_000
    catalog.execute(f"CREATE VIEW {database}.v AS SELECT 1 AS a")
    catalog.execute(
        f"CREATE OR REPLACE VIEW {database}.v TBLPROPERTIES ('text'='{text}') AS SELECT 2 AS b /* {remark} */"
    )
    catalog.execute(f"CREATE VIEW {database}.w AS SELECT 1 AS a")
    assert sorted(catalog.list_views(database)) == [(database, "v"), (database, "w")]
    view = catalog.load_view(f"{database}.v")
    assert view.metadata.properties["text"] == text
    assert len(view.history()) == 2
    catalog.drop_view(f"{database}.w")
    return catalog


def owners(catalog: HiveViewCatalog, database: str) -> set[str | None]:
    """Return the owners of a new view and a new table, and the user of a lock."""
    catalog.execute(f"CREATE VIEW {database}.owned AS SELECT 1 AS a")
    catalog.create_table((database, "owned_table"), SCHEMA)
    name = ViewName(database, "owned")
    with hold_lock(catalog.store.client, LockConfig(), name):
        [lock] = catalog.store.client.show_locks(*name.identifier)
    rows = [catalog.store.client.get_table(database, table) for table in ("owned", "owned_table")]
    catalog.drop_view(name.identifier)
    catalog.drop_table((database, "owned_table"))
    return {lock.user, *(row and row.owner for row in rows)}


def service_properties(request: pytest.FixtureRequest) -> dict[str, str]:
    """The properties of a catalog for `kerberized`."""
    service = SERVICES[request.node.callspec.params["kerberized"]]
    return {"hive.kerberos-authentication": "true", "hive.kerberos-service-name": service}


def refused(catalog_uri: str, **properties: str) -> MetastoreAuthenticationError:
    catalog = HiveViewCatalog("refused", **{"uri": catalog_uri, "hive-views.connect-timeout-ms": "30000", **properties})
    with pytest.raises(MetastoreAuthenticationError) as raised:
        catalog.list_namespaces()
    shown = str(raised.value) + repr(catalog) + "".join(traceback.format_exception(raised.value))
    presented = [properties[key] for key in ("hive-views.token", "hive-views.password") if key in properties]
    assert not [secret for secret in (PASSWORD, OTHER_PASSWORD, WRONG, *presented) if secret in shown]
    return raised.value


def credentials(tmp_path: Path, **more: str) -> dict[str, str]:
    secret = tmp_path / "password"
    secret.write_text(PASSWORD + "\n")
    return {
        "hive-views.authentication": "plain",
        "hive-views.user": USER,
        "hive-views.password-file": str(secret),
        **more,
    }


def test_tls_with_user_and_password(guarded: StandaloneMetastore, certificates: Path, tmp_path: Path) -> None:
    tls = {"hive-views.tls": "true", "hive-views.tls-ca-file": str(certificates / "server.pem")}
    catalog = use(guarded, "tls", **credentials(tmp_path), **tls)
    assert owners(catalog, "tls") == {USER}


CUTS = 8
"""In how many parts the bytes of a commit are divided, in each direction."""


def check_cuts(metastore: MetastoreProcess, **secured: str) -> None:
    """Cut connections in the middle of commits; every reported outcome is true.

    The proxy cannot see messages, so it cuts after a number of bytes.
    """
    database, name = "cut", ("cut", "v")
    outcomes: dict[str, str] = {}
    with CuttingProxy(metastore.port) as proxy:
        properties = {"uri": f"thrift://localhost:{proxy.port}", "warehouse": metastore.warehouse, **secured}
        with HiveViewCatalog("secured", **properties) as catalog:
            catalog.create_namespace(database)
            catalog.execute("CREATE VIEW cut.v TBLPROPERTIES ('version.history.num-entries'='1000') AS SELECT 0 AS a")

            def commit(number: int) -> None:
                text = f"SELECT {number} AS a"
                try:
                    catalog.execute(f"CREATE OR REPLACE VIEW cut.v AS {text}")
                    outcomes[text] = "done"
                except CommitStateUnknownError:
                    outcomes[text] = "unknown"
                except HiveViewsError:
                    outcomes[text] = "failed"

            before = dict(proxy.counts)
            commit(1)
            sizes = {key: proxy.counts[key] - before[key] for key in before}
            for requests in (True, False):
                for part in range(CUTS):
                    proxy.cut_after(sizes[requests] * part // CUTS, requests=requests)
                    commit(len(outcomes) + 1)
    with HiveViewCatalog("secured", **{**properties, "uri": uri(metastore)}) as direct:
        view = direct.load_view(name)
        texts = [version.sql_representations[0].sql for version in view.metadata.versions]
        assert len(texts) == len(set(texts)) == len(view.history())
        for text, outcome in outcomes.items():
            assert outcome == "unknown" or (text in texts) is (outcome == "done"), (text, outcome)
        direct.drop_view(name)
        direct.drop_namespace(database)
    assert proxy.cuts == 2 * CUTS
    assert list(outcomes.values()).count("done") > CUTS


def test_tls_connection_cut_in_the_middle(guarded: StandaloneMetastore, certificates: Path, tmp_path: Path) -> None:
    tls = {"hive-views.tls": "true", "hive-views.tls-ca-file": str(certificates / "server.pem")}
    check_cuts(guarded, **credentials(tmp_path), **tls)


def test_secrets_appear_in_no_log_or_process_list(
    guarded: StandaloneMetastore, certificates: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tls = {"hive-views.tls": "true", "hive-views.tls-ca-file": str(certificates / "server.pem")}
    with caplog.at_level(logging.DEBUG):
        catalog = HiveViewCatalog("quiet", uri=uri(guarded), **credentials(tmp_path), **tls)
        assert catalog.list_namespaces()
        with pytest.raises(NoSuchViewError) as raised:
            catalog.load_view("default.none")
    seen = [caplog.text, repr(catalog), repr(catalog.store), *traceback.format_exception(raised.value)]
    assert PASSWORD not in "".join(seen)
    # The server's configuration has the same password, and that of its key store.
    for name in ("cmdline", "environ"):
        for pid in (guarded.pid, os.getpid()):
            assert PASSWORD.encode() not in Path(f"/proc/{pid}/{name}").read_bytes()
    assert PASSWORD not in Path(guarded.log_path).read_text()


@contextmanager
def mutual_tls(certificates: Path) -> Iterator[tuple[str, list[str]]]:
    """A server that requires a client certificate (OpenSSL's; Hive's servers do not): its address, and what it gets."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(certificates / "other.pem"))
    context.load_cert_chain(certificates / "server.pem", certificates / "server.key")
    context.verify_mode = ssl.CERT_REQUIRED
    given: list[str] = []

    def serve() -> None:
        peer, _ = listener.accept()
        listener.close()  # further connections are refused at once
        with suppress(OSError), peer, context.wrap_socket(peer, server_side=True) as secured:
            given.append(ssl.DER_cert_to_PEM_cert(secured.getpeercert(binary_form=True) or b""))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Thread(target=serve, daemon=True)
        server.start()
        yield f"thrift://localhost:{listener.getsockname()[1]}", given
        server.join(30)


def client_certificate(certificates: Path, key: str, **more: str) -> dict[str, str]:
    return {
        "hive-views.tls": "true",
        "hive-views.tls-ca-file": str(certificates / "server.pem"),
        "hive-views.tls-certificate-file": str(certificates / "other.pem"),
        "hive-views.tls-key-file": str(certificates / key),
        **more,
    }


@pytest.mark.parametrize("shown", [True, False], ids=["shown", "not shown"])
def test_client_certificate(certificates: Path, shown: bool) -> None:
    """The server gets the certificate, and rejects others."""
    properties = client_certificate(certificates, "other.key")
    if not shown:
        del properties["hive-views.tls-certificate-file"], properties["hive-views.tls-key-file"]
    with mutual_tls(certificates) as (at, given), pytest.raises(MetastoreError):
        HiveViewCatalog("mutual", uri=at, **properties).list_namespaces()
    own = (certificates / "other.pem").read_text()
    assert [text.split() for text in given] == ([own.split()] if shown else [])


@pytest.fixture(scope="module")
def locked_key(certificates: Path) -> str:
    """The name of a client's key with a passphrase."""
    openssl(certificates, "rsa", "-aes256", "-in", "other.key", "-out", "locked.key", "-passout", f"pass:{PASSWORD}")
    return "locked.key"


def test_client_key_with_a_passphrase(certificates: Path, locked_key: str, tmp_path: Path) -> None:
    (tmp_path / "passphrase").write_text(PASSWORD + "\n")
    more = {"hive-views.tls-key-password-file": str(tmp_path / "passphrase")}
    with mutual_tls(certificates) as (at, given), pytest.raises(MetastoreError):
        HiveViewCatalog("mutual", uri=at, **client_certificate(certificates, locked_key, **more)).list_namespaces()
    assert len(given) == 1


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({}, r"it has a passphrase\. hive-views\.tls-key-password-file names a file with it"),
        ({"hive-views.tls-key-password": WRONG}, "the passphrase of .* does not decrypt it"),
    ],
    ids=["none", "wrong"],
)
def test_missing_passphrase_is_an_error(certificates: Path, locked_key: str, more: dict[str, str], reason: str) -> None:
    """OpenSSL does not wait for one at the terminal."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        at = f"thrift://localhost:{listener.getsockname()[1]}"
        error = refused(at, **client_certificate(certificates, locked_key, **more))
    assert error.step == "read hive-views.tls-key-file"
    assert re.search(rf"{locked_key}: {reason}", str(error))


def test_invalid_certificate_files(certificates: Path, tmp_path: Path) -> None:
    rubbish = tmp_path / "rubbish.pem"
    rubbish.write_text("-----BEGIN CERTIFICATE-----\nno\n-----END CERTIFICATE-----\n")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        at = f"thrift://localhost:{listener.getsockname()[1]}"
        for key in ("ca", "certificate"):
            for file in (rubbish, tmp_path / "none.pem", certificates / "server.p12"):
                error = refused(at, **{"hive-views.tls": "true", f"hive-views.tls-{key}-file": str(file)})
                assert error.step == f"read hive-views.tls-{key}-file"
                assert str(file) in str(error)


class EmbeddedWithTls(EmbeddedMetastore):
    """A metastore of 2.3.10 with Hive's own TLS socket, as with `hive.metastore.use.SSL`, on the loopback address only.

    Args:
        directory: See `EmbeddedMetastore`.
        key_store: The file with its key; it is read with `PASSWORD`.
    """

    def __init__(self, directory: Path, key_store: Path) -> None:
        super().__init__(directory)
        self._key_store = key_store

    def _prepare(self) -> Launch:
        def serve(gateway: Any, directory: MetastoreDirectory, port: int, deadline: float) -> int:
            utilities = gateway.jvm.org.apache.hadoop.hive.common.auth.HiveAuthUtils
            old_versions = gateway.jvm.java.util.ArrayList()
            arguments = (port or free_port(), str(self._key_store), PASSWORD, old_versions)
            return serve_at(gateway, directory, utilities.getServerSSLSocket("localhost", *arguments))

        return replace(super()._prepare(), serve=serve)

    def _is_ready(self, port: int, timeout_s: float) -> bool:
        return is_listening(port, timeout_s)


def test_tls_on_hive_2(certificates: Path, tmp_path: Path) -> None:
    tls = {"hive-views.tls": "true", "hive-views.tls-ca-file": str(certificates / "server.pem")}
    with EmbeddedWithTls(tmp_path / "metastore", certificates / "server.p12") as running:
        catalog = use(running, "tls", **tls, ugi=USER)
        assert owners(catalog, "tls") == {USER}
        check_cuts(running, **tls)
        other = {**tls, "hive-views.tls-ca-file": str(certificates / "other.pem")}
        assert refused(uri(running), **other).step == "check the metastore's certificate"
        by_number = f"thrift://127.0.0.1:{running.port}"
        assert refused(by_number, **tls).step == "check the metastore's certificate"
        with HiveViewCatalog("plain", uri=uri(running)) as catalog, pytest.raises(MetastoreError) as raised:
            catalog.list_namespaces()
        assert "expects TLS: set hive-views.tls=true" in str(raised.value)


def test_untrusted_certificate(guarded: StandaloneMetastore, certificates: Path, tmp_path: Path) -> None:
    tls = {"hive-views.tls": "true", "hive-views.tls-ca-file": str(certificates / "other.pem")}
    error = refused(uri(guarded), **credentials(tmp_path), **tls)
    assert error.step == "check the metastore's certificate"
    assert "hive-views.tls-ca-file" in str(error)


def test_renewed_certificates_are_reloaded(guarded: StandaloneMetastore, certificates: Path, tmp_path: Path) -> None:
    trusted = tmp_path / "trusted.pem"
    tls = {"hive-views.tls": "true", "hive-views.tls-ca-file": str(trusted)}
    shutil.copy(certificates / "other.pem", trusted)
    assert refused(uri(guarded), **credentials(tmp_path), **tls).step == "check the metastore's certificate"
    shutil.copy(certificates / "server.pem", trusted)
    assert HiveViewCatalog("renewed", uri=uri(guarded), **credentials(tmp_path), **tls).list_namespaces()


def test_certificate_of_another_host(guarded: StandaloneMetastore, certificates: Path, tmp_path: Path) -> None:
    tls = {"hive-views.tls": "true", "hive-views.tls-ca-file": str(certificates / "server.pem")}
    by_number = f"thrift://127.0.0.1:{guarded.port}"
    error = refused(by_number, **credentials(tmp_path), **tls)
    assert error.step == "check the metastore's certificate"
    named = {**credentials(tmp_path), **tls, "hive-views.tls-host": "localhost"}
    assert HiveViewCatalog("named", uri=by_number, **named).list_namespaces()


def test_wrong_password(guarded: StandaloneMetastore, certificates: Path, tmp_path: Path) -> None:
    tls = {"hive-views.tls": "true", "hive-views.tls-ca-file": str(certificates / "server.pem")}
    error = refused(uri(guarded), **credentials(tmp_path), **tls, **{"hive-views.password": WRONG})
    assert error.step == "authenticate (PLAIN)"
    assert "the metastore refused" in str(error)


@pytest.mark.parametrize(
    ("user", "password"),
    [(USER, WRONG), (OTHER_USER, OTHER_PASSWORD), ("unknown", PASSWORD), (f"{USER})(uid=*", PASSWORD)],
    ids=["wrong password", "not in the group", "unknown user", "a name that is a filter"],
)
def test_unknown_user(
    guarded: StandaloneMetastore, ldap: directory.Directory, certificates: Path, user: str, password: str
) -> None:
    tls = {"hive-views.tls": "true", "hive-views.tls-ca-file": str(certificates / "server.pem")}
    secret = {"hive-views.authentication": "plain", "hive-views.user": user, "hive-views.password": password}
    error = refused(uri(guarded), **secret, **tls)
    assert error.step == "authenticate (PLAIN)"
    assert "the metastore refused" in str(error)
    log = Path(guarded.log_path).read_text()
    assert not [each for each in (PASSWORD, OTHER_PASSWORD, WRONG) if each in log]


def test_unreachable_ldap_directory(
    guarded: StandaloneMetastore, ldap: directory.Directory, certificates: Path, tmp_path: Path
) -> None:
    """The directory is stopped, then silent; authenticated connections continue, and later logins succeed."""
    tls = {"hive-views.tls": "true", "hive-views.tls-ca-file": str(certificates / "server.pem")}
    before = HiveViewCatalog("before", uri=uri(guarded), **credentials(tmp_path), **tls)
    assert before.list_namespaces()
    ldap.stop()
    try:
        error = refused(uri(guarded), **credentials(tmp_path), **tls)
        assert error.step == "authenticate (PLAIN)"
        assert before.list_namespaces()
        with socket.create_server(("127.0.0.1", ldap.port)):
            error = refused(uri(guarded), **credentials(tmp_path), **tls, **{"hive-views.connect-timeout-ms": "3000"})
        # On a busy machine TLS alone may take that long.
        assert error.step in ("authenticate (PLAIN)", "agree on TLS")
        assert f"{error.step}: the metastore can be reached, and did not answer within 3000 ms" in str(error)
    finally:
        ldap.start()
    assert HiveViewCatalog("after", uri=uri(guarded), **credentials(tmp_path), **tls).list_namespaces()


def test_client_without_required_security(guarded: StandaloneMetastore, certificates: Path, tmp_path: Path) -> None:
    """Each error names the property, and `doctor` finds what is missing by trying."""
    tls = {"hive-views.tls": "true", "hive-views.tls-ca-file": str(certificates / "server.pem")}
    for properties, reason, advice in (
        ({}, "expects TLS: set hive-views.tls=true", "hive-views.tls=true and hive-views.authentication=plain"),
        ({"ugi": "ann"}, "expects TLS: set hive-views.tls=true", "hive-views.tls=true and hive-views.authentication="),
        (tls, "Perhaps it expects Kerberos, a token or a password", "Set hive-views.authentication=plain: "),
        (credentials(tmp_path), "expects TLS first: set hive-views.tls=true", "Set hive-views.tls=true: "),
        ({**tls, "hive-views.authentication": "token", "hive-views.token": TOKEN}, "expects another", "=plain: "),
    ):
        given = {"uri": uri(guarded), "hive-views.call-timeout-ms": "30000", **properties}
        with HiveViewCatalog("open", **given) as catalog, pytest.raises(MetastoreError, match=reason):
            catalog.list_namespaces()
        finding = check_reachable(CatalogConfig.from_properties(given), given["uri"], alone=True)
        assert finding.level is Level.PROBLEM
        assert advice in str(finding.advice)


def test_client_without_required_kerberos(kerberized: StandaloneMetastore, tmp_path: Path) -> None:
    for properties, reason in (({}, "Perhaps it expects"), (credentials(tmp_path), "expects another")):
        given = {"uri": uri(kerberized), **properties}
        with HiveViewCatalog("open", **given) as catalog, pytest.raises(MetastoreError, match=reason):
            catalog.list_namespaces()
        finding = check_reachable(CatalogConfig.from_properties(given), given["uri"], alone=True)
        assert "Set hive-views.authentication=kerberos or token: " in str(finding.advice)


def test_tls_with_plain_metastore(metastore: EmbeddedMetastore) -> None:
    error = refused(metastore.uri, **{"hive-views.tls": "true", "hive-views.connect-timeout-ms": "5000"})
    assert error.step == "agree on TLS"


def test_sasl_with_metastore_without_sasl(metastore: EmbeddedMetastore, tmp_path: Path) -> None:
    error = refused(metastore.uri, **credentials(tmp_path))
    assert error.step == "authenticate (PLAIN)"
    assert "hive.metastore.sasl.enabled" in str(error)


def test_kerberos_connection_cut_in_the_middle(kerberized: StandaloneMetastore, request: pytest.FixtureRequest) -> None:
    check_cuts(kerberized, **service_properties(request))


def test_token_connection_cut_in_the_middle(kerberized: StandaloneMetastore, request: pytest.FixtureRequest) -> None:
    with HiveViewCatalog("kerberos", uri=uri(kerberized), **service_properties(request)) as catalog:
        delegated = catalog.store.client.delegation_token()
    assert delegated is not None
    check_cuts(kerberized, **{"hive-views.authentication": "token", "hive-views.token": delegated[1]})


def test_kerberos_and_a_token(
    kerberized: StandaloneMetastore, kdc: kerberos.Kdc, request: pytest.FixtureRequest
) -> None:
    service = service_properties(request)
    user = f"{USER}-{service['hive.kerberos-service-name']}"
    catalog = use(kerberized, "kerberos", **service)
    assert owners(catalog, "kerberos") == {user}
    rules = {"hadoop.security.auth_to_local": "RULE:[1:$1](ann-.*)s/-.*// DEFAULT"}
    with HiveViewCatalog("rules", uri=uri(kerberized), warehouse=kerberized.warehouse, **service, **rules) as ruled:
        assert owners(ruled, "kerberos") == {USER}
    delegated = catalog.store.client.delegation_token()
    assert delegated is not None
    token = delegated[1]
    kdc.log_out()
    error = refused(uri(kerberized), **service)
    assert error.step == f"get a ticket for {service['hive.kerberos-service-name']}/localhost"
    assert "kinit" in str(error)
    by_token = {"hive-views.authentication": "token", "hive-views.token": token}
    with use(kerberized, "by_token", **by_token) as tokened:
        assert tokened.list_views("kerberos") == [("kerberos", "v")]
        assert owners(tokened, "kerberos") == {user}
    other = token[:60] + ("B" if token[60] == "A" else "A") + token[61:]
    error = refused(uri(kerberized), **{**by_token, "hive-views.token": other})  # the delegation token is searched for
    assert other not in str(error)


def test_kerberos_with_keytab_and_service_principal(
    kerberized: StandaloneMetastore, kdc: kerberos.Kdc, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """No ticket of `kinit`, and a URI whose host is not that of the metastore's principal."""
    service = service_properties(request)["hive.kerberos-service-name"]
    kdc.log_out()
    keytab = kdc.keytab(f"batch-{service}")
    properties = {
        "hive-views.authentication": "kerberos",
        "hive-views.keytab-file": str(keytab),
        "hive-views.keytab-principal": f"batch-{service}@{kerberos.REALM}",
    }
    at_alias = f"thrift://127.0.0.1:{kerberized.port}"
    by_host = {"hive.metastore.kerberos.principal": f"{service}/_HOST@{kerberos.REALM}"}
    by_name = {"hive.metastore.kerberos.principal": f"{service}/localhost@{kerberos.REALM}"}
    catalog = use(kerberized, "keytab", **properties, **by_host)
    assert owners(catalog, "keytab") == {f"batch-{service}"}
    with HiveViewCatalog("alias", uri=at_alias, **properties, **by_name) as alias:
        assert alias.list_views("keytab") == [("keytab", "v")]
    error = refused(at_alias, **properties, **by_host)
    assert error.step == f"get a ticket for {service}/127.0.0.1@{kerberos.REALM}"
    error = refused(uri(kerberized), **{**properties, **by_host, "hive-views.keytab-principal": "nobody"})
    assert error.step == "get a ticket for nobody with its keytab"
    for keys in ({"hive-views.keytab-file"}, {"hive-views.keytab-principal"}):
        with pytest.raises(InvalidPropertyError, match="needs it"):
            CatalogConfig.from_properties(
                {"uri": at_alias, **{key: value for key, value in properties.items() if key not in keys}}
            )
    with pytest.raises(InvalidPropertyError, match="cannot be read"):
        CatalogConfig.from_properties(
            {"uri": at_alias, **properties, "hive-views.keytab-file": str(tmp_path / "missing")}
        )


def test_expired_ticket_says_so(
    kerberized: StandaloneMetastore, kdc: kerberos.Kdc, request: pytest.FixtureRequest
) -> None:
    service = service_properties(request)["hive.kerberos-service-name"]
    kdc.log_in(kdc.keytab(f"short-{service}"), f"short-{service}", lifetime="2s")
    time.sleep(3)
    error = refused(uri(kerberized), **service_properties(request))
    assert "the ticket has expired" in str(error)
    assert "hive-views.keytab-file" in str(error)


def test_invalid_security_properties() -> None:
    at = {"uri": "thrift://localhost:1"}
    with pytest.raises(InvalidPropertyError, match=r"has no effect without hive-views\.tls=true"):
        HiveViewCatalog("x", **at, **{"hive-views.tls-ca-file": "ca.pem"})
    with pytest.raises(InvalidPropertyError, match="HIVE_VIEWS_PASSWORD"):
        HiveViewCatalog("x", **at, **{"hive-views.authentication": "plain"})
    with pytest.raises(InvalidPropertyError, match="must be one of none, kerberos, token, plain"):
        HiveViewCatalog("x", **at, **{"hive-views.authentication": "magic"})
    assert "HIVE_VIEWS_PASSWORD" not in os.environ
