"""No short text takes unlimited time: texts beyond the limits of a resolution are refused with the figure."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from hive_views.errors import QueryTooLargeError
from hive_views.sql.resolver.budget import LIMITS
from hive_views.sql.writing.expand import expand, typed_columns
from tests.unit.sql.large_texts import TABLES, TEXTS, chain
from tests.unit.sql.tables import Tables

CPU_SECONDS = 30 * len(TEXTS)
"""The bound of all texts together; without limits a single one takes hours or all memory."""


def _limit_process() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))


@pytest.mark.extended
@pytest.mark.parametrize("dialect", ["spark", "hive", "trino"])
def test_every_text_is_resolved_or_refused(dialect: str) -> None:
    root = Path(__file__).parents[3]
    process = subprocess.run(
        [sys.executable, "-m", "tests.unit.sql.large_texts", dialect],
        capture_output=True,
        text=True,
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        preexec_fn=_limit_process,
        check=False,
    )
    outcomes = dict(line.split(" | ", 1) for line in process.stdout.splitlines())

    assert process.returncode == 0, f"no end after {list(outcomes)[-1:]}: {process.stderr[-500:]}"
    assert list(outcomes) == list(TEXTS)
    assert outcomes["stars"].startswith("QueryTooLargeError: ")


@pytest.mark.parametrize(
    ("text", "quantity", "shown"),
    [
        (chain("SELECT x.*, y.* FROM @ x, @ y")(27), "columns", "columns, the limit is 10"),
        (TEXTS["nested recursive"], "queries", "nested queries, the limit is 2,"),
        (TEXTS["struct of structs"], "type", "characters in the type of column s, the limit is 1,000,000"),
        (TEXTS["struct of lateral views"], "type", "characters in the type of column col, the limit is 1,000,000"),
        (TEXTS["names of a long alias"], "characters", "characters of names, the limit is 64,000,000"),
    ],
)
def test_error_states_figure_limit_and_remedy(text: str, quantity: str, shown: str) -> None:
    with pytest.raises(QueryTooLargeError, match="List the columns that are needed") as caught:
        typed_columns(expand(text, TABLES, database="d", dialect="hive" if "LATERAL VIEW" in text else "spark"))

    assert caught.value.quantity == quantity
    assert caught.value.figure > caught.value.limit
    assert shown in str(caught.value)
    assert f"{caught.value.figure:,}" in str(caught.value)


def test_stars_over_wide_tables_are_read() -> None:
    tables = Tables({f"w{n}": {f"c{position}": "int" for position in range(5000)} for n in range(2)})
    text = chain("SELECT * FROM @", "SELECT * FROM @", "SELECT * FROM w0")(30)
    assert len(expand(text, tables, database="d", dialect="spark").names) == 5000

    joined = "WITH c AS (SELECT x.*, y.c1 AS d1 FROM w0 x JOIN w1 y ON x.c0 = y.c0) SELECT * FROM c"
    assert len(expand(joined, tables, database="d", dialect="spark").names) == 5001


def test_long_texts_of_many_queries_are_read() -> None:
    text = " UNION ALL ".join(["SELECT a, b FROM t WHERE a IN (SELECT k FROM u)"] * 2_000)
    assert len(text) > LIMITS.queries
    assert expand(text, TABLES, database="d", dialect="spark").names == ("a", "b")
