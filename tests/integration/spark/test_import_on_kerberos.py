"""An import on a cluster whose executors have no ticket: a real KDC, metastores with Kerberos, `local-cluster`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hive_views import HiveViewCatalog
from hive_views.local_metastore.standalone import free_port
from tests.integration.metastore import kerberos
from tests.integration.spark.test_import_job import rows


@pytest.mark.extended
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("version", "protection", "acts_for"),
    [("4.0.1", "authentication", ""), ("4.0.1", "authentication", "bob"), ("3.1.3", "privacy", "bob")],
)
def test_executors_use_tokens(tmp_path: Path, version: str, protection: str, acts_for: str) -> None:
    absent = kerberos.missing()
    if absent:
        pytest.skip(f"no Kerberos here: {absent} is missing")
    proxy = {f"hadoop_proxyuser_batch_{kind}": "*" for kind in ("hosts", "users")}
    with (
        kerberos.running_kdc(tmp_path / "kdc") as kdc,
        kerberos.kerberized(
            tmp_path / "server", kdc, "hive", version=version, protection=protection, port=free_port(), **proxy
        ) as server,
    ):
        keytab = kdc.keytab("batch")
        copy = tmp_path / "copy.keytab"
        copy.write_bytes(keytab.read_bytes())
        address = {"uri": f"thrift://localhost:{server.port}", "warehouse": server.warehouse}
        properties = {
            "hive-views.authentication": "kerberos",
            "hive-views.keytab-file": str(keytab),
            "hive-views.keytab-principal": f"batch@{kerberos.REALM}",
            **({"hive-views.proxy-user": acts_for} if acts_for else {}),
        }
        with HiveViewCatalog("prod", **address, **properties) as catalog:
            catalog.create_namespace("shop")
            for row in rows("shop"):
                catalog.store.client.create_table(row)
            command = [sys.executable, "-m", "tests.integration.spark.cluster_import", *address.values(), "shop"]
            command += [str(tmp_path / "journal"), *(f"{key}={value}" for key, value in properties.items())]
            command[command.index(f"hive-views.keytab-file={keytab}")] = f"hive-views.keytab-file={copy}"
            done = subprocess.run(command, capture_output=True, text=True, timeout=800, check=False)
            assert done.returncode == 0, done.stderr[-30000:]
            converted = int(done.stdout.split()[-1])
            assert converted > 0
            assert len(catalog.list_views("shop")) == converted
