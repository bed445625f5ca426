"""The catalog on metastores of several releases and databases in containers."""

from __future__ import annotations

import re

import pytest
from pyiceberg.exceptions import NoSuchViewError

from hive_views import HiveViewCatalog
from hive_views.errors import ViewAlreadyExistsError
from tests.integration.docker.containers import DOCKER


@pytest.mark.parametrize(
    ("version", "kind"), [("4.0.1", "postgresql"), ("3.1.3", "mariadb"), ("2.3.10", "derby")], ids=str
)
def test_metastore_runs_in_container(version, kind, start, warehouse):
    metastore = start(version, kind)
    with HiveViewCatalog("docker", uri=metastore.uri, warehouse=warehouse.as_uri()) as catalog:
        catalog.create_namespace("s")
        catalog.execute("CREATE VIEW s.v AS SELECT 1 AS a")
        with pytest.raises(ViewAlreadyExistsError):
            catalog.execute("CREATE VIEW s.v AS SELECT 3 AS c")
        catalog.execute("CREATE OR REPLACE VIEW s.v AS SELECT 2 AS b")
        catalog.rename_view("s.v", "s.w")
        catalog.execute("CREATE VIEW s.gone AS SELECT 'kept no longer' AS a")
        catalog.drop_view("s.gone")
        before = catalog.load_view("s.w").metadata
    assert [field.name for field in before.schema(before.current_version().schema_id).fields] == ["b"]
    assert len(before.versions) == 2
    assert str(warehouse) in before.location

    # No process has the password among its arguments or runs as root.
    processes = metastore.docker_container.top(ps_args="-eo pid,uid,args")["Processes"]
    assert any("GatewayServer" in arguments for *_, arguments in processes)
    assert metastore.password not in str(processes)
    assert {uid for _, uid, _ in processes} == {"1000"}
    _, readable_files = metastore.docker_container.exec_run(
        ["find", "/data", "-name", "hive-site.xml", "-perm", "/007"]
    )
    assert readable_files == b""

    # `docker stop` ends the metastore gracefully, and its data remains.
    metastore.docker_container.stop(timeout=60)
    metastore.docker_container.reload()
    assert metastore.docker_container.attrs["State"]["ExitCode"] == 0
    metastore.docker_container.start()
    metastore.wait()
    with HiveViewCatalog("docker", uri=metastore.uri, warehouse=warehouse.as_uri()) as catalog:
        assert catalog.load_view("s.w").metadata == before
        assert catalog.list_views("s") == [("s", "w")]
        with pytest.raises(NoSuchViewError):
            catalog.load_view("s.gone")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"HIVE_VIEWS_DATABASE": "oracle"}, "'oracle'; it must be derby, postgresql, mariadb or mysql"),
        ({"HIVE_VIEWS_DATABASE": "postgresql"}, "no password: set HIVE_VIEWS_DATABASE_PASSWORD_FILE"),
        (
            {"HIVE_VIEWS_DATABASE": "mariadb", "HIVE_VIEWS_DATABASE_PASSWORD_FILE": "/nowhere"},
            "HIVE_VIEWS_DATABASE_PASSWORD_FILE cannot be read",
        ),
        (
            {
                "HIVE_VIEWS_DATABASE": "postgresql",
                "HIVE_VIEWS_DATABASE_PASSWORD": "x",
                "HIVE_VIEWS_METASTORE_VERSION": "2.3.10",
            },
            "it runs on Derby only",
        ),
        ({"HIVE_VIEWS_METASTORE_VERSION": "1.2.1"}, "is not supported. Choose one of"),
    ],
)
def test_unsupported_settings_are_rejected(settings, message, engine):
    container = engine.containers.run("hive-views", environment=settings, detach=True)
    try:
        assert container.wait(timeout=120)["StatusCode"] == 1
        output = container.logs().decode()
    finally:
        container.remove(force=True, v=True)
    assert message in output
    assert "Traceback" not in output


def test_ports_are_published_on_loopback_only():
    published = re.findall(r"^ +ports: (.*)$", (DOCKER / "compose.yaml").read_text(), re.MULTILINE)
    assert published
    assert all(ports.startswith('["127.0.0.1:') for ports in published)
