"""A real KDC for tests (MIT's, from Debian's package krb5-kdc), on loopback, with its own realm."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hive_views.local_metastore.process import is_listening
from hive_views.local_metastore.standalone import StandaloneMetastore, free_port
from tests.faults.observer import until

CACHE = Path(__file__).parents[3] / ".cache"
REALM = "HIVE-VIEWS.TEST"
PATH = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/lib/krb5-kdc"))


def missing() -> str | None:
    """Return what is not installed; None if everything is."""
    for name in ("krb5kdc", "kdb5_util", "kadmin.local", "kinit"):
        if not shutil.which(name, path=PATH):
            return f"{name} (Debian: krb5-kdc, krb5-admin-server, krb5-user)"
    try:
        import gssapi  # noqa: F401
    except ImportError:
        return "the package gssapi (pip install 'hive_views[kerberos]')"
    return None


@contextmanager
def kerberized(
    directory: Path,
    kdc: Kdc,
    service: str,
    *,
    version: str = "4.0.1",
    protection: str = "authentication",
    port: int = 0,
    **properties: str,
) -> Iterator[StandaloneMetastore]:
    """Start a metastore that requires Kerberos; more of its properties with `_` in place of dots."""
    site = {
        "metastore.sasl.enabled": "true",
        "metastore.kerberos.principal": f"{service}/localhost@{REALM}",
        "hadoop.security.authentication": "kerberos",
        "hadoop.rpc.protection": protection,
        **{key.replace("_", "."): value for key, value in properties.items()},
    }
    options = (f"-Djava.security.krb5.conf={kdc.config}",)
    keytab = kdc.directory / f"{service}-localhost.keytab"
    site["metastore.kerberos.keytab.file"] = str(keytab if keytab.exists() else kdc.keytab(f"{service}/localhost"))
    with StandaloneMetastore(
        directory, version=version, port=port, cache=CACHE, properties=site, options=options
    ) as running:
        yield running


@contextmanager
def running_kdc(directory: Path) -> Iterator[Kdc]:
    """Start a KDC, whose tickets the libraries of this process use."""
    directory.mkdir(exist_ok=True)
    with Kdc(directory).running() as running, pytest.MonkeyPatch.context() as patch:
        for key, value in running.environment.items():
            patch.setenv(key, value)
        yield running


class Kdc:
    """A running KDC with its configuration files."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port = free_port()
        self.config = directory / "krb5.conf"
        self.config.write_text(
            f"""[libdefaults]
  default_realm = {REALM}
  dns_lookup_kdc = false
  dns_lookup_realm = false
  dns_canonicalize_hostname = false
  rdns = false
  udp_preference_limit = 1
[realms]
  {REALM} = {{
    kdc = 127.0.0.1:{self.port}
  }}
[domain_realm]
  localhost = {REALM}
"""
        )
        profile = directory / "kdc.conf"
        profile.write_text(
            f"""[kdcdefaults]
  kdc_listen = 127.0.0.1:{self.port}
  kdc_tcp_listen = 127.0.0.1:{self.port}
[realms]
  {REALM} = {{
    database_name = {directory}/principal
    key_stash_file = {directory}/stash
    acl_file = {directory}/acl
    max_renewable_life = 7d
  }}
[logging]
  kdc = FILE:{directory}/kdc.log
"""
        )
        self.environment = {"KRB5_CONFIG": str(self.config), "KRB5CCNAME": f"FILE:{directory}/tickets"}
        self._private = {**os.environ, **self.environment, "KRB5_KDC_PROFILE": str(profile), "PATH": PATH}

    def run(self, *command: str, text: str | None = None) -> None:
        """Run a Kerberos command."""
        done = subprocess.run(
            command, env=self._private, capture_output=True, text=True, input=text, timeout=60, check=False
        )
        assert done.returncode == 0, (command, done.stdout, done.stderr)

    def keytab(self, principal: str) -> Path:
        """Create a principal and its keytab."""
        path = self.directory / f"{principal.replace('/', '-')}.keytab"
        self.run("kadmin.local", "-q", f"addprinc -randkey {principal}@{REALM}")
        self.run("kadmin.local", "-q", f"ktadd -k {path} {principal}@{REALM}")
        return path

    def log_in(self, keytab: Path, principal: str, *, lifetime: str = "1h") -> None:
        """Get a ticket into the cache named by `environment`."""
        self.run("kinit", "-k", "-t", str(keytab), "-l", lifetime, f"{principal}@{REALM}")

    def log_out(self) -> None:
        """Destroy the tickets."""
        (self.directory / "tickets").unlink(missing_ok=True)

    @contextmanager
    def running(self) -> Iterator[Kdc]:
        """Create the realm and start the KDC."""
        self.run("kdb5_util", "create", "-s", "-P", "only for this test")
        daemon = shutil.which("krb5kdc", path=PATH)
        assert daemon
        process = subprocess.Popen(
            [daemon, "-n"],
            env=self._private,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        try:
            until(lambda: process.poll() is not None or is_listening(self.port))
            assert process.poll() is None, process.communicate()[1]
            yield self
        finally:
            process.terminate()
            process.communicate(timeout=30)
