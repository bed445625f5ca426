"""The stack of docker/compose.yaml: views are shared by this machine and Spark in a container."""

from __future__ import annotations

import json
from uuid import uuid4

import pyarrow
import pytest

from hive_views import HiveViewCatalog
from tests.integration.docker.containers import DOCKER, PORT


def run_in_spark(stack, *command):
    """Run a program in the container `spark`; returns its output, and fails with its errors."""
    from subprocess import CalledProcessError

    try:
        output, _, _ = stack.exec_in_container(list(command), "spark")
    except CalledProcessError as error:
        pytest.fail(f"{command}: {error.stderr.decode(errors='replace')[:3000]}")
    return output


def test_spark_reads_view(engine, warehouse, monkeypatch):
    from testcontainers.compose import DockerCompose

    monkeypatch.setenv("COMPOSE_PROJECT_NAME", f"hive-views-test-{uuid4().hex[:8]}")
    monkeypatch.setenv("HIVE_VIEWS_DOCKER_WAREHOUSE", str(warehouse))
    monkeypatch.setenv("HIVE_VIEWS_DOCKER_PORT", "0")
    with DockerCompose(DOCKER, compose_file_name="compose.yaml", pull=False, wait=True) as stack:
        port = stack.get_service_port("metastore", PORT)
        with HiveViewCatalog("prod", uri=f"thrift://127.0.0.1:{port}", warehouse=warehouse.as_uri()) as catalog:
            catalog.create_namespace("s")
            rows = pyarrow.table({"product": ["tea", "salt", "tea"], "amount": [5, 1, 2]})
            catalog.create_table("s.orders", rows.schema).append(rows)
            catalog.execute("CREATE VIEW s.big AS SELECT product, amount FROM s.orders WHERE amount > 1")
            statements = (
                "CREATE VIEW prod.s.sums AS SELECT product, sum(amount) AS amount FROM prod.s.big GROUP BY product;"
                "SELECT * FROM prod.s.big ORDER BY amount; SELECT * FROM prod.s.sums"
            )
            output = run_in_spark(stack, "spark-sql", "-e", statements)
            assert output.split("\n") == ["tea\t2", "tea\t5", "tea\t7", ""]
            assert catalog.list_views("s") == [("s", "big"), ("s", "sums")]
            assert "sum(amount)" in catalog.load_view("s.sums").sql_for("spark").sql
            listed = run_in_spark(stack, "hive-views", "--json", "list", "s")
            assert [item["view"] for item in json.loads(listed)["views"]] == ["s.big", "s.sums"]
