"""TLS of connections to a metastore; its certificate and host name are always verified."""

from __future__ import annotations

import socket
import ssl
from functools import lru_cache
from pathlib import Path

from hive_views.config import TLS_CERTIFICATE_FILE, TLS_KEY_FILE, TLS_KEY_PASSWORD_FILE, TlsConfig
from hive_views.metastore.transport.failures import SecurityFailure


def secure(sock: socket.socket, config: TlsConfig, host: str, timeout: float) -> ssl.SSLSocket:
    """Start TLS on a connected socket."""
    context = _context(
        config, tuple(map(_modification_time, (config.ca_file, config.certificate_file, config.key_file)))
    )
    sock.settimeout(timeout)
    try:
        return context.wrap_socket(sock, server_hostname=config.host or host)
    except ssl.SSLCertVerificationError as error:
        raise SecurityFailure(
            "check the metastore's certificate",
            f"{error.verify_message}. hive-views.tls-ca-file names the trusted certificates, "
            "hive-views.tls-host the name that the certificate must have",
        ) from error
    except TimeoutError:
        raise
    except (ssl.SSLError, OSError) as error:
        raise SecurityFailure(
            "agree on TLS",
            f"{getattr(error, 'reason', None) or error}. Perhaps the metastore speaks no TLS at this port",
        ) from error


def _modification_time(path: str | None) -> int | None:
    """Return the modification time of a file, so that a cached context is not used after the file was renewed."""
    try:
        return None if path is None else Path(path).stat().st_mtime_ns
    except OSError:
        return None


@lru_cache(maxsize=16)
def _context(config: TlsConfig, _modification_times: tuple[int | None, ...]) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=config.ca_file)
    except (OSError, ssl.SSLError) as error:
        raise SecurityFailure("read hive-views.tls-ca-file", f"{config.ca_file}: {error}") from error
    if config.certificate_file:
        _load_certificate(context, config, config.certificate_file)
    return context


def _load_certificate(context: ssl.SSLContext, config: TlsConfig, certificate_file: str) -> None:
    key_file = config.key_file or certificate_file
    requests: list[str] = []

    def passphrase() -> str:
        """Return the key's passphrase; without this function OpenSSL waits for it at the terminal."""
        requests.append(key_file)
        return "" if config.key_password is None else config.key_password.current()

    try:
        context.load_cert_chain(certificate_file, config.key_file, passphrase)
    except (OSError, ssl.SSLError) as error:
        if requests and config.key_password is None:
            raise SecurityFailure(
                f"read {TLS_KEY_FILE}", f"{key_file}: it has a passphrase. {TLS_KEY_PASSWORD_FILE} names a file with it"
            ) from None
        if requests:
            raise SecurityFailure(
                f"read {TLS_KEY_FILE}", f"{key_file}: the passphrase of {TLS_KEY_PASSWORD_FILE} does not decrypt it"
            ) from None
        raise SecurityFailure(f"read {TLS_CERTIFICATE_FILE}", f"{certificate_file}: {error}") from error
