"""A real LDAP directory for tests: UnboundID's in-memory server in its own JVM, on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from hive_views.errors import ArtifactFetchError
from hive_views.local_metastore.gateway import LOOPBACK
from hive_views.local_metastore.jvm import find_jars, find_java
from hive_views.local_metastore.maven import Artifact, fetch
from hive_views.local_metastore.standalone import free_port
from tests.conftest import CACHE

BASE = "dc=hive-views,dc=test"
PEOPLE, GROUPS = f"ou=people,{BASE}", f"ou=groups,{BASE}"
GROUP = "analysts"

_UNBOUNDID = Artifact("com.unboundid", "unboundid-ldapsdk", "7.0.2")


def missing() -> str | None:
    """Return why no directory can be started; None if it can."""
    try:
        fetch((_UNBOUNDID,), CACHE)
    except ArtifactFetchError as error:
        return str(error).partition("\n")[0]
    return None


class Directory:
    """A running directory.

    Args:
        gateway: The way to the JVM that it runs in.
        passwords: Those of its people.
        members: Who of them is in the group.
    """

    def __init__(self, gateway: JavaGateway, passwords: dict[str, str], members: tuple[str, ...]) -> None:
        jvm: Any = gateway.jvm
        sdk, text = jvm.com.unboundid.ldap.listener, jvm.java.lang.String

        def array(kind: Any, *items: Any) -> Any:
            created = gateway.new_array(kind, len(items))
            for index, item in enumerate(items):
                created[index] = item
            return created

        # A chosen port is kept across restarts.
        self.port = free_port()
        loopback = jvm.java.net.InetAddress.getByName(LOOPBACK)
        listener = sdk.InMemoryListenerConfig.createLDAPConfig("first", loopback, self.port, None)
        config = sdk.InMemoryDirectoryServerConfig(array(text, BASE))
        config.setListenerConfigs(array(sdk.InMemoryListenerConfig, listener))
        self._server = sdk.InMemoryDirectoryServer(config)
        for entry in _entries(passwords, members):
            self._server.add(array(text, *entry))
        self.start()

    @property
    def url(self) -> str:
        """The URL of the directory."""
        return f"ldap://{LOOPBACK}:{self.port}"

    def stop(self) -> None:
        """Stop listening, so that connections are refused."""
        self._server.shutDown(True)

    def start(self) -> None:
        """Listen again, on the same port."""
        self._server.startListening()


def _entries(passwords: dict[str, str], members: tuple[str, ...]) -> Iterator[list[str]]:
    """Return the entries of the directory, as lines of LDIF."""
    yield [f"dn: {BASE}", "objectClass: top", "objectClass: domain", "dc: hive-views"]
    for unit in (PEOPLE, GROUPS):
        name = unit.partition(",")[0].removeprefix("ou=")
        yield [f"dn: {unit}", "objectClass: top", "objectClass: organizationalUnit", f"ou: {name}"]
    for user, password in passwords.items():
        kinds = [f"objectClass: {kind}" for kind in ("top", "person", "organizationalPerson", "inetOrgPerson")]
        names = [f"uid: {user}", f"cn: {user}", f"sn: {user}"]
        yield [f"dn: uid={user},{PEOPLE}", *kinds, *names, f"userPassword: {password}"]
    people = [f"member: uid={user},{PEOPLE}" for user in members]
    yield [f"dn: cn={GROUP},{GROUPS}", "objectClass: top", "objectClass: groupOfNames", f"cn: {GROUP}", *people]


@contextmanager
def directory(passwords: dict[str, str], members: tuple[str, ...]) -> Iterator[Directory]:
    """Run a directory for the body of a `with` statement."""
    jars = find_jars("the tests")
    (sdk,) = fetch((_UNBOUNDID,), CACHE)
    (py4j,) = jars.glob("py4j-*.jar")
    port, token, process = launch_gateway(
        jarpath=str(py4j),
        classpath=str(sdk),
        javaopts=["-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"],
        die_on_exit=True,
        enable_auth=True,
        java_path=find_java("the tests"),
        return_proc=True,
    )
    parameters = GatewayParameters(port=port, auth_token=token, auto_convert=False)
    gateway = JavaGateway(gateway_parameters=parameters)
    try:
        yield Directory(gateway, passwords, members)
    finally:
        gateway.shutdown()
        process.stdin.close()
        process.wait(60)
