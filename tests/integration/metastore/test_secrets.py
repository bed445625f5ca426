"""The secrets of Kerberos, tokens, proxy users and SPNEGO, searched in all that programs show and leave."""

from __future__ import annotations

import base64
import json
import logging
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from hive_views import HiveViewCatalog
from hive_views.doctor import examine
from hive_views.errors import HiveViewsError
from hive_views.legacy_import import plan_import, run_plan
from hive_views.local_metastore.process import MetastoreProcess
from hive_views.local_metastore.standalone import StandaloneMetastore, free_port
from hive_views.metastore.transport.digest_md5 import parse_token
from tests.conftest import CACHE
from tests.integration.legacy_import.rows import hive_view_row, table_row
from tests.integration.metastore import kerberos
from tests.integration.metastore.http_server import Gateway, HttpMetastore, Verdict
from tests.integration.metastore.test_security import kdc, use
from tests.integration.metastore.test_spnego import Negotiating

__all__ = ["kdc"]

SERVICE, BOB = "batch", "bob"


@dataclass(frozen=True)
class Way:
    """A way to authenticate."""

    name: str
    metastore: MetastoreProcess
    properties: Mapping[str, str]
    """Without secrets, so that a command line may have them."""
    secrets: Callable[[HiveViewCatalog], set[bytes]]
    """The secrets that a catalog used."""


@pytest.fixture(scope="module")
def keytab(kdc: kerberos.Kdc) -> Path:
    return kdc.keytab(SERVICE)


@pytest.fixture(scope="module")
def kerberized(tmp_path_factory: pytest.TempPathFactory, kdc: kerberos.Kdc) -> Iterator[StandaloneMetastore]:
    proxy = {f"hadoop_proxyuser_{SERVICE}_{kind}": "*" for kind in ("hosts", "users")}
    with kerberos.kerberized(tmp_path_factory.mktemp("server"), kdc, "hive", port=free_port(), **proxy) as running:
        yield running


@pytest.fixture(scope="module")
def http_metastore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpMetastore]:
    with HttpMetastore(tmp_path_factory.mktemp("http"), cache=CACHE) as running:
        yield running


def forms(secret: bytes) -> set[bytes]:
    """The texts in which a secret may appear."""
    return {secret, secret.hex().encode(), base64.b64encode(secret), base64.urlsafe_b64encode(secret)}


def key_of(keytab: Path) -> set[bytes]:
    """The key of the last entry: the entry ends with it, and with the number of its version."""
    return forms(keytab.read_bytes()[-36:-4])


def token_forms(token: str) -> set[bytes]:
    return {token.encode(), *forms(parse_token(token)[1])}


@pytest.fixture(params=["kerberos", "token", "proxy user", "spnego"])
def way(request: pytest.FixtureRequest, kdc: kerberos.Kdc, keytab: Path, tmp_path: Path) -> Iterator[Way]:
    by_keytab = {
        "hive-views.authentication": "kerberos",
        "hive-views.keytab-file": str(keytab),
        "hive-views.keytab-principal": f"{SERVICE}@{kerberos.REALM}",
    }
    if request.param == "spnego":
        metastore = request.getfixturevalue("http_metastore")
        check, sent = Negotiating(kdc.keytab("HTTP/localhost")), set()

        def judge(authorization: str | None) -> Verdict:
            sent.add((authorization or "").partition(" ")[2].encode())
            return check(authorization)

        with Gateway(metastore.port, judge) as gateway:
            properties = {**by_keytab, "uri": gateway.uri}
            yield Way(request.param, metastore, properties, lambda _: {token for token in sent if token})
        return
    metastore = request.getfixturevalue("kerberized")
    address = {"uri": f"thrift://localhost:{metastore.port}"}
    if request.param == "kerberos":
        yield Way(request.param, metastore, {**by_keytab, **address}, lambda _: key_of(keytab))
        return
    if request.param == "proxy user":
        properties = {**by_keytab, **address, "hive-views.proxy-user": BOB}

        def tokens(catalog: HiveViewCatalog) -> set[bytes]:
            used = catalog.store.client._pool.tokens
            assert used is not None
            return key_of(keytab) | {form for token in used._tokens.values() for form in token_forms(token)}

        yield Way(request.param, metastore, properties, tokens)
        return
    with HiveViewCatalog("first", **address, **by_keytab) as catalog:
        delegated = catalog.store.client.delegation_token()
    assert delegated is not None
    file = tmp_path / "token"
    file.write_text(f"{delegated[1]}\n")
    properties = {**address, "hive-views.authentication": "token", "hive-views.token-file": str(file)}
    yield Way(request.param, metastore, properties, lambda _: token_forms(delegated[1]))


def test_secrets_appear_nowhere(way: Way, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    database = f"secrets_{way.name.replace(' ', '_')}"
    seen: dict[str, bytes] = {}
    with caplog.at_level(logging.DEBUG), use(way.metastore, database, **way.properties) as catalog:
        client = catalog.store.client
        client.create_table(table_row(database, "orders", [("id", "bigint")]))
        text = f"select `orders`.`id` from `{database}`.`orders`"
        client.create_table(hive_view_row(database, "legacy", "select id from orders", text, [("id", "bigint")]))
        run_plan(plan_import(catalog, databases=[database]), catalog, tmp_path / "journal")
        seen["findings"] = json.dumps([str(finding) for finding in examine(catalog).findings]).encode()
        seen["rows"] = "".join(
            str(row) for row in client.get_tables(database, client.get_all_tables(database))
        ).encode()
        seen["names"] = (repr(catalog) + repr(catalog.store) + repr(catalog.store.config)).encode()
        seen["errors"] = "".join(failures(catalog, way, database)).encode()
        seen["command lines"], seen["output"] = run_command(way, database)
        secrets = way.secrets(catalog)
    seen["log"] = caplog.text.encode()
    seen["log of the metastore"] = Path(way.metastore.log_path).read_bytes()
    written = [*tmp_path.rglob("*"), *Path(way.metastore.warehouse.removeprefix("file:")).rglob("*")]
    given = set(way.properties.values())
    for file in written:
        if file.is_file() and str(file) not in given:
            seen[str(file)] = file.read_bytes()
    # What is no secret is found.
    for place in ("rows", "errors", "output"):
        assert database.encode() in seen[place]
    assert way.properties["uri"].encode() in seen["command lines"]
    assert secrets
    assert min(map(len, secrets)) >= 16
    assert b"journal" in "".join(seen).encode() and b"metadata.json" in "".join(seen).encode()
    assert [(place, secret) for place, content in seen.items() for secret in secrets if secret in content] == []


def failures(catalog: HiveViewCatalog, way: Way, database: str) -> Iterator[str]:
    """The tracebacks of failing operations, also of connections."""

    def wrong_host() -> None:
        HiveViewCatalog("x", **{**way.properties, "uri": f"thrift://localhost:{free_port()}"}).list_namespaces()

    def no_tls() -> None:
        uri = way.properties["uri"].replace("http:", "https:")
        HiveViewCatalog("x", **{**way.properties, "uri": uri, "hive-views.tls": "true"}).list_namespaces()

    for operation in (
        lambda: catalog.load_view(f"{database}.none"),
        lambda: catalog.execute(f"CREATE VIEW {database}.v AS SELECT 1 AS a"),
        lambda: catalog.create_namespace(database),
        wrong_host,
        no_tls,
    ):
        with pytest.raises(HiveViewsError) as raised:
            operation()
        yield "".join(traceback.format_exception(raised.value))


def run_command(way: Way, database: str) -> tuple[bytes, bytes]:
    """The command lines and environments of all processes during a command of the tool, and its output."""
    properties = [part for pair in way.properties.items() for part in ("--property", "=".join(pair))]
    properties += ["--uri", way.properties["uri"]]
    lines, output = b"", b""
    for words in (["doctor"], ["list", database], ["show", f"{database}.none"]):
        command = [sys.executable, "-m", "hive_views", "--json", *properties, *words]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
            while process.poll() is None:
                for directory in Path("/proc").glob("[0-9]*"):
                    lines += read(directory / "cmdline")
                lines += read(Path(f"/proc/{process.pid}/environ"))
                try:
                    output += process.communicate(timeout=0.5)[0]
                except subprocess.TimeoutExpired:
                    continue
        assert process.returncode in {"doctor": (0, 1), "list": (0,), "show": (3,)}[words[0]], output
    assert b"hive-views.authentication" in lines
    return lines, output


def read(path: Path) -> bytes:
    """The content of a file of a process, which may have ended."""
    try:
        return path.read_bytes()
    except OSError:
        return b""
