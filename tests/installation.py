"""Checks an installed wheel without extras: `make test-dist` runs this in an environment with nothing else in it."""

import json
import subprocess
import sys
from pathlib import Path

import hive_views
from hive_views import HiveViewCatalog
from hive_views.errors import INSTALL_SPARK, MetastoreUnavailableError
from hive_views.spark import MissingSparkError, iceberg_session

PACKAGE = Path(hive_views.__file__).parent
COMMAND = Path(sys.executable).with_name("hive-views")
REQUEST = {
    "ddl": "CREATE VIEW v AS SELECT * FROM orders WHERE total > 100",
    "database": "sales",
    "tables": {"sales.orders": [["id", "bigint"], ["total", "decimal(10,2)"]]},
}
DATA_FILES = (
    "py.typed",
    "dependencies/render/*.html",
    "dependencies/render/*.js",
    "dependencies/render/*.css",
    "legacy_import/report/*.html",
    "legacy_import/report/*.js",
    "legacy_import/report/*.css",
    "spark/log4j2.properties",
)


def run(*words: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run the installed command."""
    return subprocess.run([COMMAND, *words], input=stdin, capture_output=True, text=True, timeout=120, check=False)


def main() -> None:
    """Check what a user meets first; the first failure ends with a traceback."""
    assert PACKAGE.is_relative_to(sys.prefix), f"{PACKAGE} is not the installed package"
    for pattern in DATA_FILES:
        assert list(PACKAGE.glob(pattern)), f"{pattern} is not in the wheel"
    assert run("--version").stdout.split() == ["hive-views", hive_views.__version__]
    assert "Exit codes" in run("--help").stdout
    expanded = run("sql", "expand", stdin=json.dumps(REQUEST))
    assert expanded.returncode == 0, expanded
    assert "`orders`.`id`, `orders`.`total`" in json.loads(expanded.stdout)["expanded"], expanded.stdout
    unreachable = run("--uri", "thrift://127.0.0.1:1", "list")
    assert unreachable.returncode == 6 and "Traceback" not in unreachable.stderr, unreachable
    no_spark = run("metastore", "start")
    assert no_spark.returncode != 0 and INSTALL_SPARK in no_spark.stderr, no_spark
    try:
        iceberg_session("thrift://127.0.0.1:1", "")
    except MissingSparkError as error:
        assert INSTALL_SPARK in str(error), error
    else:
        raise AssertionError("a session was started")
    try:
        HiveViewCatalog("test", uri="thrift://127.0.0.1:1").list_namespaces()
    except MetastoreUnavailableError:
        print(f"hive_views {hive_views.__version__} is installed completely")


if __name__ == "__main__":
    main()
