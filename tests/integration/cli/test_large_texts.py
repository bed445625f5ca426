"""A view of another program whose text is too large to resolve never ends or hangs a command over its database."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from hive_views import HiveViewCatalog
from hive_views.errors import QueryTooLargeError
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.metastore._thrift.hive_metastore.ttypes import FieldSchema
from tests.integration.catalog.samples import hive_row
from tests.integration.cli.test_dependencies import create_shop
from tests.integration.metastore.rpc import connect
from tests.unit.sql.large_texts import chain, nest

SECONDS = 90
"""The bound of one command, generous for a busy machine; without limits the commands take hours or all memory."""
STARS = chain("SELECT x.*, y.* FROM @ x, @ y")(27)
TEXTS = {
    "stars": STARS,
    "structs": chain("SELECT struct(s AS x, s AS y) s FROM @", "SELECT s AS n FROM @", "SELECT 1 s")(60),
    "limits": nest("SELECT 1 n LIMIT (", "SELECT 1 n", ")")(40),
}


@pytest.fixture
def database_with_large_texts(metastore: EmbeddedMetastore, database: str) -> str:
    """A database with views of this catalog, Hive views with large texts, and one Hive view without."""
    create_shop(metastore, database)
    with connect(metastore.port) as client:
        for name, text in {**TEXTS, "small": f"SELECT `orders`.`id` FROM `{database}`.`orders`"}.items():
            row = hive_row(database, name, "VIRTUAL_VIEW")
            row.sd.cols = [FieldSchema(name="id" if name == "small" else "n", type="bigint", comment=None)]
            row.viewOriginalText = row.viewExpandedText = text
            client.create_table(row)
    return database


def run(metastore: EmbeddedMetastore, *words: str) -> subprocess.CompletedProcess[str]:
    variables = {"HIVE_VIEWS_URI": metastore.uri, "HIVE_VIEWS_WAREHOUSE": metastore.warehouse, "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, "-m", "hive_views", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
        env={**os.environ, **variables},
    )


def test_import_plan_lists_the_views_with_the_reason(
    metastore: EmbeddedMetastore, database_with_large_texts: str
) -> None:
    done = run(metastore, "--json", "import", "plan", database_with_large_texts)
    document = json.loads(done.stdout)
    problems = {view["name"].partition(".")[2]: view["text"] for view in document["views"]}

    assert problems.pop("small") is None
    assert "columns, the limit is 10" in problems["stars"]
    assert problems["structs"] is None  # a type that is too long is unknown, so that of the row is taken
    assert "nested too deeply: more than 9" in problems["limits"]


def test_check_lists_the_views_with_the_reason(metastore: EmbeddedMetastore, database_with_large_texts: str) -> None:
    done = run(metastore, "--json", "deps", "check", database_with_large_texts)

    assert done.returncode in (0, 1), done
    assert "columns, the limit is 10" in done.stdout
    assert f"{database_with_large_texts}.big" in done.stdout


@pytest.mark.extended
@pytest.mark.parametrize(
    "words",
    [
        ("deps", "graph", "{database}"),
        ("deps", "tree", "{database}.stars"),
        ("deps", "tree", "{database}.structs"),
        ("deps", "impact", "{database}.orders", "--drop"),
        ("list", "{database}"),
        ("list", "{database}", "--kind", "all"),
        ("show", "{database}.stars"),
        ("show", "{database}.stars", "--engines"),
        ("show", "{database}.structs", "--engines"),
        ("mv", "status", "--all"),
        ("doctor",),
    ],
    ids=" ".join,
)
def test_command_ends(metastore: EmbeddedMetastore, database_with_large_texts: str, words: tuple[str, ...]) -> None:
    done = run(metastore, *(word.format(database=database_with_large_texts) for word in words))

    assert "Traceback" not in done.stderr, done


def test_create_view_is_refused(metastore: EmbeddedMetastore, database: str) -> None:
    with (
        HiveViewCatalog("prod", uri=metastore.uri, warehouse=metastore.warehouse) as catalog,
        pytest.raises(QueryTooLargeError, match="columns, the limit is 10"),
    ):
        catalog.execute(f"CREATE VIEW {database}.v AS {STARS}")
