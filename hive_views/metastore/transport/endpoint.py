"""What a server speaks at an address that refuses the configured connection: TLS, and which mechanisms of SASL."""

from __future__ import annotations

import socket
from contextlib import suppress
from dataclasses import dataclass

from hive_views.config import AUTHENTICATION, TLS, ConnectionConfig, split_uri
from hive_views.metastore.transport.connection import connect
from hive_views.metastore.transport.sasl import offers

MECHANISMS = {"GSSAPI": "kerberos", "DIGEST-MD5": "token", "PLAIN": "plain"}
"""Mechanisms of SASL, with the value of `hive-views.authentication` that uses them."""


@dataclass(frozen=True)
class Endpoint:
    """What a server speaks."""

    tls: bool
    mechanisms: tuple[str, ...]
    """The mechanisms of `MECHANISMS` that it offers."""

    def advice(self, config: ConnectionConfig) -> str | None:
        """Return the properties that a connection to it needs, if they differ from the configured ones."""
        needed = []
        if self.tls and config.tls is None:
            needed.append(f"{TLS}=true")
        offered = [MECHANISMS[name] for name in self.mechanisms]
        if offered and (config.credentials is None or config.credentials.kind not in offered):
            needed.append(f"{AUTHENTICATION}={' or '.join(offered)}")
        return f"Set {' and '.join(needed)}: the server expects it" if needed else None


def examine_endpoint(uri: str, config: ConnectionConfig) -> Endpoint:
    """Connect in several ways, without credentials; a server that answers in none of them speaks nothing."""
    tls = _speaks_tls(uri, config)
    return Endpoint(tls, tuple(name for name in MECHANISMS if _offers(uri, config, tls, name)))


def _speaks_tls(uri: str, config: ConnectionConfig) -> bool:
    with suppress(OSError), _open(uri, config, tls=True):
        return True
    return False


def _offers(uri: str, config: ConnectionConfig, tls: bool, mechanism: str) -> bool:
    with suppress(OSError), _open(uri, config, tls=tls) as sock:
        return offers(sock, mechanism, _timeout(config))
    return False


def _open(uri: str, config: ConnectionConfig, *, tls: bool) -> socket.socket:
    _, host, port, _ = split_uri(uri)
    sock = connect(host, int(port), _timeout(config))
    if not tls:
        return sock
    # Nothing secret is sent, so the certificate is not checked: it is one of the things that may be wrong.
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        return context.wrap_socket(sock, server_hostname=host)
    except BaseException:
        sock.close()
        raise


def _timeout(config: ConnectionConfig) -> float:
    return config.connect_timeout_ms / 1000
