"""The tutorial and the how-to guides: files are saved as their titles say, and commands print what the pages show.

Blocks of the language `sh` and files that no command names (a crontab) are the only ones that are not run.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from hive_views import HiveViewCatalog
from hive_views.legacy_import import export_rows
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.local_metastore.process import MetastoreProcess
from hive_views.local_metastore.standalone import free_port
from tests.conftest import CACHE
from tests.integration.cli.test_page import commands, pattern, plain
from tests.integration.metastore.rest_server import RestMetastore
from tests.integration.metastore.test_http import jwks_uri, token
from tests.integration.metastore.two_catalogs import two_catalogs
from tests.integration.view_copy.conftest import metastore_over_rest, rest_server

__all__ = ["jwks_uri", "metastore_over_rest", "rest_server"]

DOCS = Path(__file__).parents[3] / "docs"
BLOCK = re.compile(r'^ *```(\w+)(?: title="([^"]+)")?\n(.*?)^ *```', re.MULTILINE | re.DOTALL)
GUIDES = sorted((DOCS / "how-to").glob("*.md"))


class Shell:
    """Runs the blocks of a page in a directory, with variables that live from command to command.

    Args:
        directory: Where files are saved and commands run.
        replacements: What addresses in the page stand for.
    """

    def __init__(self, directory: Path, replacements: dict[str, str], environment: dict[str, str]) -> None:
        self._directory = directory
        self._replacements = replacements
        self._variables = directory / ".variables"
        self._variables.touch()
        binaries = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        inherited = {key: value for key, value in os.environ.items() if not key.startswith(("HIVE_VIEWS", "PYICEBERG"))}
        self._environment = {
            **inherited,
            "PATH": binaries,
            "PYTHONPATH": str(DOCS.parent),
            "COLUMNS": "200",
            "SPARK_LOCAL_IP": "127.0.0.1",
            "XDG_CACHE_HOME": str(directory / "cache"),
            **environment,
        }
        (directory / "cache").mkdir()
        (directory / "cache" / "hive-views").symlink_to(CACHE.resolve())
        (directory / ".cache").symlink_to(CACHE.resolve())

    def run_page(self, page: Path) -> None:
        """Save the files of a page and run its commands, in order."""
        text = page.read_text(encoding="utf-8")
        for found, replacement in self._replacements.items():
            text = text.replace(found, replacement)
        for language, title, content in BLOCK.findall(text):
            indent = re.match(r" *", content)
            block = re.sub(rf"^{indent[0] if indent else ''}", "", content, flags=re.MULTILINE)
            if title:
                (self._directory / title).write_text(block, encoding="utf-8")
            elif language == "console":
                for command, expected in commands(block):
                    self._check(command, expected)
            else:
                assert language == "sh", f"a block of {page.name} is neither a file nor commands: {block[:80]}"

    def _check(self, command: str, expected: str) -> None:
        script = (
            f"set -a; . {self._variables}; set +a; {command}\nstatus=$?; export -p > {self._variables}; exit $status"
        )
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self._directory,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=300,
        )
        printed = plain(done.stdout + (f"[exit code {done.returncode}]\n" if done.returncode else ""))
        # A line with nothing but an ellipsis stands for any number of lines.
        expected_pattern = re.sub(r"^\.\*$", r"[\\s\\S]*", pattern(expected), flags=re.MULTILINE)
        assert re.fullmatch(expected_pattern, printed), f"$ {command}\n{printed}\n-- expected:\n{expected}"


@pytest.fixture
def sales(metastore: EmbeddedMetastore, alone: None) -> Iterator[HiveViewCatalog]:
    """The database of the guides: a table and two views."""
    yield create_sales(metastore)


@pytest.fixture
def hive_4(tmp_path_factory: pytest.TempPathFactory, jwks_uri: str) -> Iterator[str]:
    """The address of a metastore of Hive 4.2 over REST, with the same database; it requires a token."""
    properties = {"metastore.authentication.jwt.jwks.url": jwks_uri}
    with RestMetastore(tmp_path_factory.mktemp("hive"), ("jwt",), properties) as running:
        create_sales(running)
        yield running.rest_uri("jwt")


@pytest.fixture
def hive_3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MetastoreProcess]:
    """A metastore with two catalogs, which are empty."""
    with two_catalogs(tmp_path_factory.mktemp("catalogs")) as running:
        yield running


def create_sales(metastore: MetastoreProcess) -> HiveViewCatalog:
    catalog = HiveViewCatalog("prod", uri=metastore.uri, warehouse=metastore.warehouse)
    catalog.create_namespace("sales", {"location": f"{metastore.warehouse}/sales_{uuid4().hex[:8]}.db"})
    pyarrow = pytest.importorskip("pyarrow")
    rows = pyarrow.table({"id": [1, 2], "customer": ["ann", "bob"], "total": [20, 150]})
    catalog.create_table("sales.orders", schema=rows.schema).append(rows)
    catalog.execute("CREATE VIEW sales.large_orders AS SELECT * FROM sales.orders WHERE total > 100")
    catalog.execute(
        "CREATE VIEW sales.orders_by_customer AS SELECT customer, count(*) AS n FROM sales.orders GROUP BY customer"
    )
    return catalog


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_guide(
    page: Path, sales: HiveViewCatalog, metastore: EmbeddedMetastore, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if page.stem == "migrate":
        assert [exported.problem for exported in export_rows(sales, ["sales"])] == [None, None]
    places = {"thrift://metastore.example.com:9083": metastore.uri, "s3://lake/warehouse": metastore.warehouse}
    environment = {"HIVE_VIEWS_URI": metastore.uri, "HIVE_VIEWS_WAREHOUSE": metastore.warehouse}
    if page.stem == "metastore-catalogs":
        several: MetastoreProcess = request.getfixturevalue("hive_3")
        places = {"thrift://metastore.example.com:9083": several.uri, "s3://lake/warehouse": several.warehouse}
    if page.stem == "rest-catalog":
        places["https://rest.example.com"] = request.getfixturevalue("rest_server")
        places["https://views.example.com"] = request.getfixturevalue("metastore_over_rest")
        places["https://hive.example.com/iceberg"] = request.getfixturevalue("hive_4")
        environment["HIVE_TOKEN"] = token()
    Shell(tmp_path, places, {} if page.stem == "connect" else environment).run_page(page)


def test_tutorial(tmp_path: Path) -> None:
    try:
        Shell(tmp_path, {"19083": str(free_port())}, {}).run_page(DOCS / "tutorial.md")
    finally:
        subprocess.run(
            [sys.executable, "-m", "hive_views", "metastore", "stop", "--directory", str(tmp_path / "metastore")],
            capture_output=True,
            check=False,
            timeout=60,
        )
