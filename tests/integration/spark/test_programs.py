"""The Thrift server with beeline, dbt and Airflow, with the files and commands of docs/how-to/spark-programs.md.

dbt and Airflow have environments of their own (make test-programs).

The other programs of that page are run by tests/integration/docs/test_guides.py.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hive_views import HiveViewCatalog
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.local_metastore.standalone import free_port
from hive_views.spark.runtime import fetch_runtime
from tests.integration.docs.test_guides import BLOCK, DOCS
from tests.integration.spark.conftest import CACHE
from tests.integration.spark.spark_versions import HAS_ICEBERG, needs_iceberg

pytestmark = [pytest.mark.extended, pytest.mark.timeout(600)]
ENVIRONMENTS = DOCS.parent / "build" / "programs"
SPARK_SUBMIT = Path(sys.executable).parent / "spark-submit"


def python_of(program: str) -> Path:
    """The Python of a program's environment."""
    python = ENVIRONMENTS / program / "bin" / "python"
    if not python.exists():
        pytest.skip("make test-programs installs dbt and Airflow")
    return python


@pytest.fixture
def sales(metastore: EmbeddedMetastore, database: str, tmp_path: Path) -> Iterator[HiveViewCatalog]:
    """A catalog with a view in `database`, and the files of the page, for that database, in a directory."""
    pages = ("spark-programs.md", "nightly-refresh.md")
    text = "".join((DOCS / "how-to" / page).read_text(encoding="utf-8") for page in pages)
    text = text.replace("thrift://metastore.example.com:9083", metastore.uri)
    text = text.replace("s3://lake/warehouse", metastore.warehouse)
    for _, title, content in BLOCK.findall(text):
        if title:
            (tmp_path / title).write_text(content.replace("sales", database), encoding="utf-8")
    with HiveViewCatalog("prod", uri=metastore.uri, warehouse=metastore.warehouse) as catalog:
        catalog.execute(f"CREATE VIEW {database}.orders AS SELECT 1 AS id, 'ann' AS customer, 20 AS total")
        yield catalog


def run(directory: Path, *command: str | Path, **environment: str) -> str:
    """Run a program; its output."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=directory,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    return done.stdout


def run_dbt(python: Path, directory: Path, command: str) -> None:
    run(
        directory,
        *(SPARK_SUBMIT, "--properties-file", "lake.conf", "--jars", fetch_runtime(CACHE), "run_dbt.py", command),
        PYSPARK_PYTHON=str(python),
        PYTHONPATH=str(DOCS.parent),
        DBT_SEND_ANONYMOUS_USAGE_STATS="false",
    )


@pytest.fixture
def cheap(sales: HiveViewCatalog, database: str, tmp_path: Path) -> str:
    """A view with a comment of a column, and the page's settings for what is installed."""
    sales.execute(
        f"CREATE VIEW {database}.cheap (id COMMENT 'the key', price) AS SELECT id, total FROM {database}.orders"
    )
    if not HAS_ICEBERG:
        settings = (tmp_path / "lake.conf").read_text().splitlines()
        (tmp_path / "lake.conf").write_text("\n".join(line for line in settings if "iceberg" not in line.lower()))
    return f"{database}.cheap"


CATALOGS = ("prod", "spark_catalog") if HAS_ICEBERG else ("spark_catalog",)
"""Spark's catalogs with the views."""


def program_environment() -> dict[str, str]:
    """The variables of the page's commands."""
    return {
        "PATH": f"{SPARK_SUBMIT.parent}{os.pathsep}{os.environ['PATH']}",
        "ICEBERG": str(fetch_runtime(CACHE)) if HAS_ICEBERG else "",
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


def payments(catalog: HiveViewCatalog, database: str, *customers: str) -> None:
    """Append to the Iceberg table `payments`, which is created if it does not exist."""
    pyarrow = pytest.importorskip("pyarrow")
    rows = pyarrow.table({"customer": customers})
    if not catalog.table_exists((database, "payments")):
        catalog.create_table((database, "payments"), rows.schema)
    catalog.load_table((database, "payments")).append(rows)


def stored(catalog: HiveViewCatalog, database: str, name: str) -> list[tuple[object, ...]]:
    """The stored rows of a materialized view, which have to be fresh."""
    table = catalog.materialized.load((database, name)).scan().to_arrow()
    return sorted(tuple(row.values()) for row in table.to_pylist())


@needs_iceberg
def test_dbt_refreshes_materialized_views(sales: HiveViewCatalog, database: str, tmp_path: Path) -> None:
    """The hooks of docs/how-to/nightly-refresh.md, in two runs; the second one is incremental."""
    python = python_of("dbt")
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "cheap.sql").write_text(f"select id, total from {database}.orders\n", encoding="utf-8")
    payments(sales, database, "ann", "bob", "ann")
    run_dbt(python, tmp_path, "run")
    assert stored(sales, database, "by_customer") == [("ann", 2), ("bob", 1)]
    payments(sales, database, "bob", "eve")
    run_dbt(python, tmp_path, "run")
    assert stored(sales, database, "by_customer") == [("ann", 2), ("bob", 2), ("eve", 1)]
    assert sales.materialized.load((database, "by_customer")).refreshes()[-1].action == "incremental"


@needs_iceberg
def test_dbt_builds_its_models_as_views(sales: HiveViewCatalog, database: str, tmp_path: Path) -> None:
    python = python_of("dbt")
    models = tmp_path / "models"
    models.mkdir()
    (tmp_path / "dbt_project.yml").write_text(
        "name: shop\nprofile: shop\nversion: '1.0.0'\nmodels: {+materialized: view}\n", encoding="utf-8"
    )
    (models / "cheap.sql").write_text(f"select id, total from {database}.orders where total < 100\n", encoding="utf-8")
    (models / "cheapest.sql").write_text("select min(total) as total from {{ ref('cheap') }}\n", encoding="utf-8")
    (models / "models.yml").write_text(
        "models: [{name: cheap, columns: [{name: id, data_tests: [not_null, unique]}]}]\n", encoding="utf-8"
    )
    for command in ("run", "run", "test"):
        run_dbt(python, tmp_path, command)
    assert set(sales.list_views(database)) == {(database, name) for name in ("cheap", "cheapest", "orders")}
    view = sales.load_view((database, "cheapest"))
    assert "min(total)" in (view.original_text or "")
    assert f"`{database}`.`cheap`" in (view.expanded_text or "")


def test_spark_sql_reads_views(cheap: str, tmp_path: Path) -> None:
    page = (DOCS / "how-to" / "spark-programs.md").read_text(encoding="utf-8")
    [command] = re.findall(r"^\$ (spark-sql .*)$", page, re.MULTILINE)
    text = "; ".join(f"SELECT * FROM {catalog}.{cheap}; DESCRIBE {catalog}.{cheap}" for catalog in CATALOGS)
    command = re.sub("'SELECT.*'", f'"{text}"', command)
    lines = run(tmp_path, "bash", "-c", command, **program_environment()).splitlines()
    printed = ["\t".join(map(str.rstrip, line.split("\t"))).rstrip() for line in lines]  # DESCRIBE pads its columns
    assert printed == [line for _ in CATALOGS for line in ("1\t20", "id\tint\tthe key", "price\tint")]


def test_thrift_server_returns_views_to_beeline(cheap: str, tmp_path: Path) -> None:
    page = (DOCS / "how-to" / "spark-programs.md").read_text(encoding="utf-8")
    [commands] = [block for _, _, block in BLOCK.findall(page) if "HiveThriftServer2" in block]
    port = free_port()
    start, query = re.split(r"(?<!\\)\n", commands.replace("10000", str(port)).strip())
    environment = program_environment()
    statements = [
        text for catalog in CATALOGS for text in (f"SELECT * FROM {catalog}.{cheap}", f"DESCRIBE {catalog}.{cheap}")
    ]
    log = tmp_path / "server.log"
    with log.open("w") as output:
        server = subprocess.Popen(
            ["bash", "-c", f"exec {start}"],
            cwd=tmp_path,
            env={**os.environ, **environment},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_until_listening(server, port, log)
        printed = run(tmp_path, "bash", "-c", re.sub("'SELECT.*'", f"'{';'.join(statements)}'", query), **environment)
    finally:
        server.terminate()
        server.wait(60)
    lines = [line.rpartition("> ")[2] for line in printed.splitlines() if "\t" in line]  # after beeline's prompt
    described = ["id\tprice", "1\t20", "col_name\tdata_type\tcomment", "id\tint\tthe key"]
    # Iceberg's catalog has an empty comment where the session catalog has none.
    comments = {"prod": "", "spark_catalog": "NULL"}
    assert lines == [line for catalog in CATALOGS for line in (*described, f"price\tint\t{comments[catalog]}")]


def wait_until_listening(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Wait until a server accepts connections."""
    deadline = time.monotonic() + 300
    while server.poll() is None and time.monotonic() < deadline:
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.5)
    raise AssertionError(log.read_text()[-5000:])


@needs_iceberg
def test_airflow_submits_the_program(sales: HiveViewCatalog, database: str, tmp_path: Path) -> None:
    python = python_of("airflow")
    (tmp_path / "run_task.py").write_text(
        "import sys\nfrom build_views_dag import dag\n[task] = dag.tasks\ntask.jars = sys.argv[1]\ntask.execute({})\n"
    )
    run(
        tmp_path,
        *(python, "run_task.py", fetch_runtime(CACHE)),
        PATH=f"{SPARK_SUBMIT.parent}{os.pathsep}{os.environ['PATH']}",
        AIRFLOW_HOME=str(tmp_path / "airflow"),
        AIRFLOW_CONN_SPARK_DEFAULT='{"conn_type": "spark", "host": "local[1]"}',
        PYSPARK_PYTHON=sys.executable,
    )
    assert sales.load_view((database, "totals")).current_version().version_id == 1


@needs_iceberg
def test_airflow_refreshes_materialized_views(sales: HiveViewCatalog, database: str, tmp_path: Path) -> None:
    """The task of docs/how-to/nightly-refresh.md, twice: the second time nothing changed."""
    python = python_of("airflow")
    payments(sales, database, "ann", "bob", "ann")
    query = f"SELECT customer, count(*) AS n FROM {database}.payments GROUP BY customer"
    sales.materialized.create((database, "by_customer"), query)
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "hive-views").symlink_to(CACHE.resolve())
    (tmp_path / "run_task.py").write_text("from refresh_views import dag\n[task] = dag.tasks\ntask.execute({})\n")
    for _ in range(2):
        run(
            tmp_path,
            *(python, "run_task.py"),
            PATH=f"{SPARK_SUBMIT.parent}{os.pathsep}{os.environ['PATH']}",
            AIRFLOW_HOME=str(tmp_path / "airflow"),
            PYICEBERG_CATALOG__PROD__URI=sales.properties["uri"],
            PYICEBERG_CATALOG__PROD__WAREHOUSE=sales.properties["warehouse"],
            XDG_CACHE_HOME=str(tmp_path / "cache"),
        )
    assert stored(sales, database, "by_customer") == [("ann", 2), ("bob", 1)]
    assert len(sales.materialized.load((database, "by_customer")).refreshes()) == 1
