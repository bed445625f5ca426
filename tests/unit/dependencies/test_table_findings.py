"""Findings about the tables that a view reads, by the parameters and formats of their rows."""

from __future__ import annotations

import pytest

from hive_views.dependencies.table_findings import table_findings
from hive_views.metastore.row_codec import read_row
from tests.integration.transactional.tables import ACID, HANDLER, INSERT_ONLY, ORC, PARQUET, TEXT, table

PROVIDER = {"spark.sql.sources.provider": "orc"}


@pytest.mark.parametrize(
    ("formats", "parameters", "outcomes"),
    [
        (ORC, {}, []),
        (ORC, PROVIDER, []),
        (ORC, ACID, ["other rows"]),
        (ORC, {"TRANSACTIONAL": "TRUE"}, ["other rows"]),
        (ORC, {"transactional": "false"}, []),
        (PARQUET, INSERT_ONLY, ["other rows"]),
        (TEXT, INSERT_ONLY, ["refused"]),
        (TEXT, HANDLER, ["refused"]),
        # A table that Spark created, and that Hive has made transactional since.
        (ORC, ACID | PROVIDER, ["other rows"]),
        (ORC, INSERT_ONLY | PROVIDER, ["other rows"]),
        (TEXT, INSERT_ONLY | {"spark.sql.sources.provider": "csv"}, ["other rows"]),
        (TEXT, HANDLER | {"spark.sql.sources.provider": "jdbc"}, []),
    ],
)
def test_outcomes_in_spark(formats: tuple[str, str, str], parameters: dict[str, str], outcomes: list[str]) -> None:
    findings = table_findings(read_row(table("d", "t", formats, parameters)))
    assert [item.outcome.value for item in findings if item.engine == "spark"] == outcomes
    assert {item.table for item in findings} <= {"d.t"}
