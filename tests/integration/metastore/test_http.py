"""Thrift over HTTP, with real metastores of Hive 4: without authentication, JSON Web Tokens with TLS, a gateway."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

from hive_views import HiveViewCatalog
from hive_views.errors import MetastoreAuthenticationError, MetastoreError
from tests.conftest import CACHE
from tests.faults.observer import until
from tests.integration.metastore.http_server import Gateway, HttpMetastore, basic
from tests.integration.metastore.test_security import PASSWORD, USER, certificates, owners, refused, use
from tests.metastore_calls import recorded_connections

__all__ = ["certificates"]

KEY = RSAKey.generate_key(2048, parameters={"kid": "test", "use": "sig", "alg": "RS256"})
OTHER_KEY = RSAKey.generate_key(2048, parameters={"kid": "test", "use": "sig", "alg": "RS256"})


def token(key: RSAKey = KEY, *, valid_s: int = 3600) -> str:
    return jwt.encode({"alg": "RS256", "kid": "test"}, {"sub": USER, "exp": int(time.time()) + valid_s}, key)


@pytest.fixture(scope="module", params=["4.0.1", "4.2.0"])
def http_metastore(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpMetastore]:
    with HttpMetastore(tmp_path_factory.mktemp("http"), cache=CACHE, version=request.param) as running:
        yield running


@pytest.fixture(scope="module")
def jwks_uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URI of the public keys, served on loopback."""
    directory = tmp_path_factory.mktemp("keys")
    (directory / "keys.json").write_text(json.dumps(KeySet([KEY]).as_dict(private=False)))
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(directory))) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/keys.json"
        server.shutdown()


@pytest.fixture(scope="module")
def jwt_metastore(
    tmp_path_factory: pytest.TempPathFactory, certificates: Path, jwks_uri: str
) -> Iterator[HttpMetastore]:
    """A metastore over HTTPS that requires a JSON Web Token."""
    properties = {
        "metastore.use.SSL": "true",
        "metastore.keystore.path": str(certificates / "server.p12"),
        "metastore.keystore.password": PASSWORD,
        "metastore.keystore.type": "PKCS12",
        "metastore.keymanagerfactory.algorithm": "SunX509",
        "metastore.authentication": "JWT",
        "metastore.authentication.jwt.jwks.url": jwks_uri,
    }
    with HttpMetastore(tmp_path_factory.mktemp("jwt"), cache=CACHE, properties=properties) as running:
        yield running


@pytest.fixture
def gateway(http_metastore: HttpMetastore) -> Iterator[Gateway]:
    with Gateway(http_metastore.port, basic(USER, PASSWORD)) as running:
        yield running


def secured(metastore: HttpMetastore, certificates: Path) -> dict[str, str]:
    """Properties for the metastore over HTTPS, without the token."""
    return {
        "uri": f"https://localhost:{metastore.port}/metastore",
        "hive-views.tls-ca-file": str(certificates / "server.pem"),
        "hive-views.authentication": "jwt",
    }


def behind(gateway: Gateway) -> dict[str, str]:
    """Properties for the metastore behind the gateway."""
    return {
        "uri": gateway.uri,
        "hive-views.authentication": "plain",
        "hive-views.user": USER,
        "hive-views.password": PASSWORD,
    }


def test_views_over_http(http_metastore: HttpMetastore) -> None:
    catalog = use(http_metastore, "http", uri=http_metastore.uri, ugi=USER)
    assert catalog.load_view("http.v").metadata.properties["text"]
    assert owners(catalog, "http") == {USER}
    with recorded_connections() as connections:
        assert catalog.list_namespaces()
    assert connections == [], "the connection is kept"
    assert use(http_metastore, "short_uri", uri=http_metastore.uri.removesuffix("/metastore"))


def test_token_over_https(jwt_metastore: HttpMetastore, certificates: Path, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(token())
    catalog = use(
        jwt_metastore, "https", **secured(jwt_metastore, certificates), **{"hive-views.token-file": str(file)}
    )
    assert owners(catalog, "https") == {USER}


def test_renewed_token_is_read_again(jwt_metastore: HttpMetastore, certificates: Path, tmp_path: Path) -> None:
    """The connection is kept while another program writes a new token to the file."""
    file = tmp_path / "token"
    file.write_text(token(valid_s=8))
    properties = {**secured(jwt_metastore, certificates), "hive-views.token-file": str(file)}
    with HiveViewCatalog("renewed", warehouse=jwt_metastore.warehouse, **properties) as catalog:
        catalog.list_namespaces()
        with recorded_connections() as connections:
            assert catalog.list_namespaces()
        assert connections == [], "the connection is kept"
        until(lambda: is_refused(catalog))
        file.write_text(token())
        assert catalog.list_namespaces()
        file.unlink()
        with pytest.raises(MetastoreAuthenticationError):
            catalog.list_namespaces()  # with the token that was read first


def is_refused(catalog: HiveViewCatalog) -> bool:
    try:
        catalog.list_namespaces()
    except MetastoreAuthenticationError:
        return True
    return False


def test_password_at_a_gateway(http_metastore: HttpMetastore, gateway: Gateway) -> None:
    catalog = use(http_metastore, "gateway", **behind(gateway))
    assert owners(catalog, "gateway") == {USER}
    error = refused(gateway.uri, **{**behind(gateway), "hive-views.password": "wr0ng-of-ann"})
    assert error.step == "authenticate (Basic)"
    assert "401 Unauthorized (who are you?)" in str(error)


@pytest.mark.parametrize(
    "presented",
    [token(OTHER_KEY), token(valid_s=-3600), "no token", None],
    ids=["another key", "expired", "not a token", "none"],
)
def test_rejected_token(jwt_metastore: HttpMetastore, certificates: Path, presented: str | None) -> None:
    properties = secured(jwt_metastore, certificates)
    if presented is None:
        del properties["hive-views.authentication"]
    else:
        properties["hive-views.token"] = presented
    error = refused(properties.pop("uri"), **properties)
    assert error.step == ("authenticate (user name)" if presented is None else "authenticate (JWT)")
    assert "401 Unauthorized" in str(error)


def test_token_that_expires_between_requests(gateway: Gateway, http_metastore: HttpMetastore) -> None:
    """A rejected request is certain not to be executed: the view is unchanged, and its new metadata file is deleted."""
    catalog = use(http_metastore, "expiry", **behind(gateway))
    metadata_files = set(Path(http_metastore.warehouse.removeprefix("file:")).rglob("*.metadata.json"))
    gateway.faults["alter_table_with_environment_context"] = "refused"
    with pytest.raises(MetastoreAuthenticationError):
        catalog.load_view("expiry.v").update().set_properties(a="1").commit()
    assert "a" not in catalog.load_view("expiry.v").metadata.properties
    assert set(Path(http_metastore.warehouse.removeprefix("file:")).rglob("*.metadata.json")) == metadata_files
    catalog.drop_view("expiry.v")
    catalog.drop_namespace("expiry")


@pytest.mark.parametrize("fault", ["reply lost", "failed", "cut"])
def test_commit_without_reply_is_resolved(gateway: Gateway, http_metastore: HttpMetastore, fault: str) -> None:
    database = f"lost_{fault.replace(' ', '_')}"
    catalog = use(http_metastore, database, **behind(gateway))
    gateway.calls.clear()
    gateway.faults["alter_table_with_environment_context"] = fault
    catalog.load_view(f"{database}.v").update().set_properties(a="1").commit()
    assert gateway.calls.count("alter_table_with_environment_context") == 2
    assert catalog.load_view(f"{database}.v").metadata.properties["a"] == "1"
    gateway.faults["get_table_req"] = fault
    assert catalog.load_view(f"{database}.v").metadata.properties["a"] == "1"


def test_wrong_address(http_metastore: HttpMetastore, jwt_metastore: HttpMetastore) -> None:
    for uri, message in (
        (http_metastore.uri.replace("metastore", "none"), "Check the path of the uri: Hive's default is /metastore"),
        (http_metastore.uri.replace("http:", "https:"), "Perhaps the metastore speaks no TLS at this port"),
        (f"http://localhost:{jwt_metastore.port}", "Perhaps it expects TLS"),
    ):
        with pytest.raises(MetastoreError, match=message):
            HiveViewCatalog("wrong", uri=uri).list_namespaces()
