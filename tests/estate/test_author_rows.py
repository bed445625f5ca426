"""Views that an import converted have, in Spark with Iceberg, their author's rows, or a finding that says otherwise."""

from __future__ import annotations

import json
import re
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
    "spark_views.sql_function": "its SQL function cannot be called in any session with this metastore's old client",
}
"""Views without the author's rows and without a finding, with the reason, which docs/limits.md states."""

EXPLANATIONS = {
    "hive_views.all_types": "other rows for some values: it reads hive_tables.all_types, an ORC or Parquet table with",
    "hive_views.case_types": "refused: column b is decimal(2,1), and Spark computes decimal(11,1)",
    "hive_views.char_types": "other rows: cast(int as char): ",
    "hive_views.functions": "other rows: hash, soundex, ascii",
    "hive_views.interval_math": "not verified: current_date()",
    "hive_views.on_avro_url_gone": "refused: it reads hive_tables.avro_url_gone, an Avro table whose schema file",
    "hive_views.on_files_gone_later": "refused: it reads iceberg_tables.files_gone_later, an Iceberg table that cannot",
    "hive_views.on_hudi_later": "a table of a data source that is not Spark's own",
    "hive_views.on_hudi_realtime": "a table of a data source that is not Spark's own",
    "hive_views.on_iceberg_without_file": "refused: it reads hive_tables.iceberg_without_file, an Iceberg table that",
    "hive_views.on_location_gone": "refused: it reads hive_tables.location_gone, a table whose directory",
    "hive_views.on_orc_other_names": "other rows: it reads hive_tables.orc_other_names, an ORC table with files of",
    "hive_views.on_part_formats": "refused: it reads hive_tables.part_formats, a table with partitions of other",
    "hive_views.on_part_null": "may fail: it reads hive_tables.part_null, a table with NULL in its partition column",
    "hive_views.on_part_null_boolean": "other rows: it reads hive_tables.part_null_boolean, a table with NULL in its",
    "hive_views.on_part_null_char": "other rows: it reads hive_tables.part_null_char, a table with NULL in its",
    "hive_views.on_part_null_text": "other rows: it reads hive_tables.part_null_text, a table with NULL in its",
    "hive_views.on_retyped_parquet": "refused: it reads hive_tables.retyped_parquet, a Parquet table with files of",
    "hive_views.on_serde_of_hcatalog": "a table whose SerDe or input format is no class of Hive's packages",
    "hive_views.on_subdirectories": "refused: it reads hive_tables.subdirectories, a table whose directory contains",
    "hive_views.on_text_values": "a text table with columns of type TIMESTAMP, DATE or DECIMAL",
    "hive_views.over_evolved": "an ORC table that ALTER TABLE changed: if a column was renamed, it is NULL in Spark",
    "hive_views.qualified": "refused: QUALIFY",
    "hive_views.union_types": "refused: column v is decimal(2,1), and Spark computes decimal(11,1)",
    "hive_views.virtual": "refused: a virtual column",
    "hive_views.windowed": "may fail: a WINDOW clause, which Iceberg's catalog cannot read",
    "spark_views.settings": "may fail: written with spark.sql.ansi.enabled=false",
}
"""Part of the finding that explains why a view does not have its author's rows in Spark."""


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
    if author is not None and author["kind"] == "view sample":
        return "a random sample"
    try:
        rows = run(PROGRAMS["spark_iceberg"].select.format(database=database, table=table))
    except RefusedError as error:
        # Which of several files fails first differs from run to run.
        message = re.sub(r"\bfile file:\S+", "a file", str(error).splitlines()[0])
        return f"unreadable: {message[:160]}"
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
    check("author_rows", answers)
    differing = {name: answer for name, answer in answers.items() if differs(answer)}
    unexplained = {
        name: answer
        for name, answer in differing.items()
        if name not in EXPLANATIONS or not any(EXPLANATIONS[name] in item for item in answer["findings"])
    }
    assert unexplained.keys() == WITHOUT_FINDING.keys(), unexplained
    assert [name for name in unexplained if answers[name]["findings"]] == []
    assert EXPLANATIONS.keys() == differing.keys() - WITHOUT_FINDING.keys()


def differs(answer: dict[str, Any]) -> bool:
    """Return whether Spark cannot read a view, or returns other rows than its author's engine."""
    return str(answer["outcome"]).startswith(("unreadable", "other rows"))
