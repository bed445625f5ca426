"""Views that an import converted have, in Spark with Iceberg, their author's rows, or a finding that says otherwise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.estate import copy
from tests.estate.answers import check
from tests.estate.author_rows import same_rows
from tests.estate.build import MAX_ROWS, NOISE_DATABASE, STATEMENTS
from tests.estate.conftest import Estate, databases
from tests.estate.old_calls import OldCalls
from tests.estate.programs import PROGRAMS, RefusedError, Run, Site
from tests.estate.rows import stable

pytestmark = pytest.mark.extended

WITHOUT_FINDING = {
    "hive_views.all_types": "a timestamp with nanoseconds, which Spark cuts to microseconds",
    "spark_views.settings": "a quotient by zero under spark.sql.ansi.enabled=false, which Iceberg's catalog ignores",
    "spark_views.sql_function": "its SQL function cannot be called in any session with this metastore's old client",
}
"""Views without the author's rows and without a finding, with the reason.

docs/limits.md states the first, and docs/spark.md the second.
"""


def authors() -> dict[str, dict[str, Any]]:
    """Return what came of the definitions of views, by name."""
    lines = STATEMENTS.read_text(encoding="utf-8").splitlines()
    return {item["name"]: item for item in map(json.loads, lines) if item["kind"].startswith("view")}


def recorded_writer(author: dict[str, Any] | None) -> str | None:
    """Return which kind of row the program of a definition wrote."""
    return author["program"].removesuffix("_iceberg") if author else None


def outcome(run: Run, view: dict[str, Any], author: dict[str, Any] | None) -> str:
    """Return what Spark reads of a converted view, compared with its author's rows."""
    database, _, table = view["target"].partition(".")
    try:
        rows = run(PROGRAMS["spark_iceberg"].select.format(database=database, table=table))
    except RefusedError as error:
        return f"unreadable: {str(error).splitlines()[0][:160]}"
    if recorded_writer(author) not in (None, view["writer"].split()[0]):
        return "another program has replaced it since"
    if author is None or author["rows"] is None:
        return "its author read no rows" if author and author["unreadable"] else "no rows of its author"
    if len(author["rows"]) == MAX_ROWS:
        return "more rows than are recorded"
    return "same rows" if same_rows(author["program"], author["rows"], rows) else "other rows"


def test_converted_views_have_their_authors_rows_or_a_finding(estate: Estate, temporary: Path) -> None:
    names = [name for name in databases() if name != NOISE_DATABASE]
    plan, journal = str(temporary / "rows.json"), str(temporary / "rows.jsonl")
    assert estate.cli("import", "plan", *names, "-o", plan).code in (0, 1)
    run = estate.cli("--json", "import", "run", plan, "--journal", journal)
    assert run.code in (0, 1), run
    converted = [view for view in json.loads(run.out)["views"] if view["status"] == "converted"]
    recorded = authors()
    answers = {}
    with OldCalls(estate.metastore.port) as old:
        site = Site(temporary / "programs", copy.WAREHOUSE, estate.metastore.uri, old.uri)
        with PROGRAMS["spark_iceberg"].start(site) as spark:  # type: ignore[attr-defined]
            for view in converted:
                findings = sorted(item for item in view["engines"] if item.startswith("spark:"))
                found = outcome(spark, view, recorded.get(view["name"]))
                answers[view["name"]] = stable({"outcome": found, "findings": findings})
    assert {name for name, answer in answers.items() if not is_explained(answer)} == set(WITHOUT_FINDING)
    check("author_rows", answers)


def is_explained(answer: dict[str, Any]) -> bool:
    """Return whether a view has its author's rows, or a finding about Spark."""
    return not answer["outcome"].startswith(("unreadable", "other rows")) or bool(answer["findings"])
