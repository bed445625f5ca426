"""Kerberos over HTTP (SPNEGO): a gateway that checks it with a real KDC, in front of metastores of Hive 4."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hive_views import HiveViewCatalog
from hive_views.errors import MetastoreAuthenticationError, MetastoreConnectionLostError
from tests.conftest import CACHE
from tests.integration.metastore import kerberos
from tests.integration.metastore.http_server import Gateway, HttpMetastore, Verdict
from tests.integration.metastore.test_security import USER, kdc, owners, refused, use

__all__ = ["kdc"]

KERBEROS = {"hive-views.authentication": "kerberos"}
ALTER = "alter_table_with_environment_context"


class Negotiating:
    """The check of a gateway: a Kerberos token in each request, and one in its response.

    Args:
        keytab: The key of the gateway's principal.
    """

    def __init__(self, keytab: Path) -> None:
        import gssapi

        self._gssapi: Any = gssapi
        self._credentials = gssapi.Credentials(usage="accept", store={"keytab": str(keytab)})
        self.shows_token = True
        """Whether responses have a token."""
        self.refused_tokens: list[str] = []

    def __call__(self, authorization: str | None) -> Verdict:
        scheme, _, token = (authorization or "").partition(" ")
        if scheme != "Negotiate":
            return Verdict(None, {"WWW-Authenticate": "Negotiate"})
        context = self._gssapi.SecurityContext(creds=self._credentials, usage="accept")
        try:
            reply = base64.b64encode(context.step(base64.b64decode(token))).decode()
            assert context.complete  # raises an error that `step` has kept
        except self._gssapi.exceptions.GSSError:
            self.refused_tokens.append(token)
            return Verdict(None, {"WWW-Authenticate": "Negotiate"})
        headers = {"WWW-Authenticate": f"Negotiate {reply}"} if self.shows_token else {}
        return Verdict(str(context.initiator_name).partition("@")[0], headers)


@pytest.fixture(scope="module", params=["4.0.1", "4.2.0"])
def http_metastore(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpMetastore]:
    with HttpMetastore(tmp_path_factory.mktemp("http"), cache=CACHE, version=request.param) as running:
        yield running


@pytest.fixture(scope="module")
def keytab(kdc: kerberos.Kdc) -> Path:
    return kdc.keytab("HTTP/localhost")


@pytest.fixture(scope="module")
def other_keytab(kdc: kerberos.Kdc) -> Path:
    return kdc.keytab("HTTP/other")


@pytest.fixture(scope="module")
def user_keytab(kdc: kerberos.Kdc) -> Path:
    return kdc.keytab(USER)


@pytest.fixture
def check(keytab: Path) -> Negotiating:
    return Negotiating(keytab)


@pytest.fixture
def gateway(
    http_metastore: HttpMetastore, check: Negotiating, kdc: kerberos.Kdc, user_keytab: Path
) -> Iterator[Gateway]:
    """The gateway, and a ticket of `USER`."""
    kdc.log_in(user_keytab, USER)
    with Gateway(http_metastore.port, check) as running:
        yield running


def test_views_behind_a_gateway(gateway: Gateway, check: Negotiating, http_metastore: HttpMetastore) -> None:
    """Each request on the kept connection has a token of its own, and the rows belong to the ticket's user."""
    with use(http_metastore, "spnego", uri=gateway.uri, **KERBEROS) as catalog:
        assert owners(catalog, "spnego") == {USER}
        assert catalog.load_view("spnego.v").metadata.properties["text"]
    assert len(gateway.calls) > 30
    assert gateway.connections == 1
    assert not check.refused_tokens


def test_keytab_and_principal_of_the_gateway(
    gateway: Gateway, kdc: kerberos.Kdc, user_keytab: Path, http_metastore: HttpMetastore
) -> None:
    """No ticket of `kinit`, and a URI whose host is not that of the gateway's principal."""
    kdc.log_out()
    properties = {
        "hive-views.keytab-file": str(user_keytab),
        "hive-views.keytab-principal": f"{USER}@{kerberos.REALM}",
        "hive.metastore.kerberos.principal": f"HTTP/localhost@{kerberos.REALM}",
        "uri": gateway.uri.replace("localhost", "127.0.0.1"),
    }
    with use(http_metastore, "spnego_keytab", **KERBEROS, **properties) as catalog:
        assert owners(catalog, "spnego_keytab") == {USER}


def test_missing_ticket(gateway: Gateway, kdc: kerberos.Kdc) -> None:
    kdc.log_out()
    error = refused(gateway.uri, **KERBEROS)
    assert error.step == "get a ticket for HTTP/localhost"
    assert "kinit" in str(error)
    assert not gateway.calls


def test_ticket_that_expires_between_requests(
    gateway: Gateway, kdc: kerberos.Kdc, user_keytab: Path, http_metastore: HttpMetastore
) -> None:
    """The request is not sent: the view is unchanged, and no metadata file is left. A new ticket is used at once."""
    with use(http_metastore, "spnego_expiry", uri=gateway.uri, **KERBEROS) as catalog:
        files = metadata_files(http_metastore)
        update = catalog.load_view("spnego_expiry.v").update().set_properties(a="1")
        kdc.log_in(user_keytab, USER, lifetime="2s")
        time.sleep(3)
        calls = len(gateway.calls)
        with pytest.raises(MetastoreAuthenticationError, match="the ticket has expired") as raised:
            update.commit()
        assert raised.value.step == "get a ticket for HTTP/localhost"
        assert len(gateway.calls) == calls
        assert metadata_files(http_metastore) == files
        kdc.log_in(user_keytab, USER)
        assert "a" not in catalog.load_view("spnego_expiry.v").metadata.properties
        catalog.load_view("spnego_expiry.v").update().set_properties(a="1").commit()


def metadata_files(metastore: HttpMetastore) -> set[Path]:
    return set(Path(metastore.warehouse.removeprefix("file:")).rglob("*.metadata.json"))


def test_wrong_service_principal(gateway: Gateway, check: Negotiating, other_keytab: Path) -> None:
    """A principal that the KDC does not have, and one whose key the gateway does not have."""
    error = refused(gateway.uri, **KERBEROS, **{"hive.kerberos-service-name": "none"})
    assert error.step == "get a ticket for none/localhost"
    assert not gateway.calls
    principal = {"hive.metastore.kerberos.principal": f"HTTP/other@{kerberos.REALM}"}
    error = refused(gateway.uri, **KERBEROS, **principal)
    assert error.step == "authenticate (Negotiate)"
    assert "401 Unauthorized (who are you?). It expects Negotiate" in str(error)
    assert len(check.refused_tokens) == 1


def test_gateway_that_expects_something_else(
    http_metastore: HttpMetastore, kdc: kerberos.Kdc, user_keytab: Path
) -> None:
    kdc.log_in(user_keytab, USER)
    with Gateway(http_metastore.port, lambda _: Verdict(None, {"WWW-Authenticate": 'Basic realm="x"'})) as gateway:
        error = refused(gateway.uri, **KERBEROS)
    assert error.step == "authenticate (Negotiate)"
    assert "401 Unauthorized (who are you?). It expects Basic" in str(error)


def test_client_without_kerberos(gateway: Gateway) -> None:
    error = refused(gateway.uri)
    assert error.step == "authenticate (user name)"
    assert "It expects Negotiate" in str(error)


def test_commit_that_the_gateway_refuses(gateway: Gateway, http_metastore: HttpMetastore) -> None:
    with use(http_metastore, "spnego_refused", uri=gateway.uri, **KERBEROS) as catalog:
        files = metadata_files(http_metastore)
        gateway.faults[ALTER] = "refused"
        with pytest.raises(MetastoreAuthenticationError):
            catalog.load_view("spnego_refused.v").update().set_properties(a="1").commit()
        assert metadata_files(http_metastore) == files


def test_commit_without_reply_is_resolved(gateway: Gateway, check: Negotiating, http_metastore: HttpMetastore) -> None:
    """The repeated request has another token: a gateway refuses one that it had."""
    with use(http_metastore, "spnego_lost", uri=gateway.uri, **KERBEROS) as catalog:
        gateway.calls.clear()
        gateway.faults[ALTER] = "reply lost"
        catalog.load_view("spnego_lost.v").update().set_properties(a="1").commit()
        assert gateway.calls.count(ALTER) == 2
        assert catalog.load_view("spnego_lost.v").metadata.properties["a"] == "1"
    assert not check.refused_tokens


def test_gateway_without_a_token_in_responses(
    gateway: Gateway, check: Negotiating, http_metastore: HttpMetastore
) -> None:
    check.shows_token = False
    with use(http_metastore, "spnego_silent", uri=gateway.uri, **KERBEROS) as catalog:
        assert catalog.list_views("spnego_silent")


def test_wrong_token_of_the_gateway(gateway: Gateway, http_metastore: HttpMetastore) -> None:
    """An answer with the token of another request is not trusted: it counts as lost, and the request is repeated."""
    with use(http_metastore, "spnego_other", uri=gateway.uri, **KERBEROS) as catalog:
        gateway.calls.clear()
        gateway.faults["get_all_databases"] = gateway.faults[ALTER] = "other headers"
        assert catalog.list_namespaces()
        assert gateway.calls == ["get_all_databases"] * 2
        catalog.load_view("spnego_other.v").update().set_properties(a="1").commit()
        assert gateway.calls.count(ALTER) == 2
        assert catalog.load_view("spnego_other.v").metadata.properties["a"] == "1"


def test_gateway_whose_token_is_always_wrong(
    http_metastore: HttpMetastore, kdc: kerberos.Kdc, user_keytab: Path, check: Negotiating
) -> None:
    kdc.log_in(user_keytab, USER)

    def judge(authorization: str | None) -> Verdict:
        verdict = check(authorization)
        return Verdict(verdict.user, {"WWW-Authenticate": verdict.headers["WWW-Authenticate"][:-8] + "AAAAAAA="})

    with (
        Gateway(http_metastore.port, judge) as gateway,
        HiveViewCatalog("wrong", uri=gateway.uri, **KERBEROS) as catalog,
        pytest.raises(MetastoreConnectionLostError, match="check HTTP/localhost: its token is not from the server"),
    ):
        catalog.list_namespaces()
