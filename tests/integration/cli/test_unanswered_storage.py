"""Commands over objects on storage that never answers: their time does not grow with the number of objects."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from time import perf_counter

import pytest

from hive_views import HiveViewCatalog
from tests.integration.cli.conftest import Cli
from tests.integration.legacy_import.rows import hive_view_row, table_row

OBJECTS = 6
TIMEOUT_S = 1
MAX_SECONDS = 25.0
"""One request takes PyArrow's client 4 s with its own retries, and each of two buckets gets at most two requests."""


@pytest.fixture
def silent() -> Iterator[tuple[str, ...]]:
    """Options of the command line for an S3 server that never answers."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(100)
        properties = {
            "s3.endpoint": f"http://127.0.0.1:{server.getsockname()[1]}",
            "s3.access-key-id": "a",
            "s3.secret-access-key": "b",
            "s3.region": "us-east-1",
            "s3.connect-timeout": str(TIMEOUT_S),
            "s3.request-timeout": str(TIMEOUT_S),
        }
        yield tuple(word for key, value in properties.items() for word in ("--property", f"{key}={value}"))


@pytest.fixture
def home(catalog: HiveViewCatalog, database: str) -> str:
    """A database with Iceberg views and tables on several buckets, and plain views over the tables."""
    client = catalog.store.client
    columns = [("id", "int")]
    for number in range(OBJECTS):
        for kind, name in (("ICEBERG-VIEW", "view"), ("ICEBERG", "table")):
            location = f"s3://bucket{number}/{name}/metadata/0.metadata.json"
            parameters = {"table_type": kind, "metadata_location": location}
            if kind == "ICEBERG":
                client.create_table(table_row(database, f"table_{number}", columns, **parameters))
            else:
                text = "SELECT 1 AS id"
                client.create_table(hive_view_row(database, f"view_{number}", text, text, columns, **parameters))
        text = f"SELECT `table_{number}`.`id` FROM `{database}`.`table_{number}`"
        client.create_table(hive_view_row(database, f"over_{number}", text, text, columns))
    return database


@pytest.mark.parametrize(
    "words",
    [
        "deps check {}",
        "deps graph {}",
        "mv status --database {}",
        "mv list {}",
        "import plan {}",
        "list {} --long --all",
        "doctor --database {} --no-write",
        "show {}.view_0",
    ],
)
def test_time_of_a_command_is_bounded(cli: Cli, home: str, silent: tuple[str, ...], words: str) -> None:
    started = perf_counter()
    done = cli("--json", *silent, *words.replace("{}", home).split())
    seconds = perf_counter() - started
    assert done.code in (0, 1, 3), done
    assert seconds < MAX_SECONDS, (words, seconds)


def test_each_object_has_its_reason(cli: Cli, home: str, silent: tuple[str, ...]) -> None:
    answer = cli("--json", *silent, "deps", "check", home)
    for number in range(OBJECTS):
        assert f"Cannot read the metadata file s3://bucket{number}/view" in answer.out
    assert "did not answer" in answer.out
