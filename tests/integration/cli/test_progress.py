"""Progress bars of commands that read many views: on stderr, and only if it is a terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import pytest

from hive_views import HiveViewCatalog
from hive_views.local_metastore.embedded import EmbeddedMetastore
from tests.integration.cli.conftest import Cli
from tests.integration.cli.terminal import run_at_terminal

VIEWS = 3


@pytest.fixture
def views(catalog: HiveViewCatalog, database: str) -> list[str]:
    """Some views of the database."""
    names = [f"{database}.v_{number}" for number in range(VIEWS)]
    for name in names:
        catalog.create_view_from_sql(name, "SELECT 1 AS n")
    return names


@pytest.mark.parametrize(
    ("words", "steps"),
    [
        (["list", "--long"], ["reading"]),
        (["list", "--all"], ["reading"]),
        (["list"], []),
        (["deps", "check"], ["checking"]),
        (["doctor", "--no-write", "--database"], ["checking", "reading", "comparing"]),
    ],
    ids=" ".join,
)
def test_terminal_shows_progress(
    words: Sequence[str], steps: Sequence[str], metastore: EmbeddedMetastore, database: str, views: list[str], cli: Cli
) -> None:
    assert cli("--json", *words, database).json  # checks that stderr is empty
    code, out, terminal_output = run_at_terminal(["--json", *words, database], metastore.uri)
    assert code == 0 and json.loads(out)
    for step in steps:
        # The bar, the counts, the rate, and the remaining time.
        assert re.search(rf"{step} [━╸╺ ]+ 3/3 [0-9.]+/s 0:00:00", terminal_output), terminal_output
    assert bool(steps) or terminal_output == ""


def test_findings_about_views_are_printed_on_stdout(
    metastore: EmbeddedMetastore, catalog: HiveViewCatalog, database: str, views: list[str]
) -> None:
    for name in views:
        catalog.store.files.delete(catalog.load_view(name).metadata_location)
    code, out, terminal_output = run_at_terminal(["doctor", "--no-write", "--database", database], metastore.uri)
    assert code == 1
    assert all(f"{name}: " in out for name in views)
    assert not any(name in terminal_output for name in views)
