"""Trino's rows and summaries."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from hive_views.errors import InvalidRefreshStateError
from hive_views.identifiers import ViewName
from hive_views.materialized import trino
from hive_views.materialized.freshness.verdict import Cause, Verdict

ROWS = json.loads((Path(__file__).parents[1] / "legacy_import/golden/trino_483_rows.json").read_text())["rows"]
"""Rows that Trino 483 wrote, by `database.name`."""

DOCUMENT = {
    "originalSql": "SELECT 1 AS one",
    "catalog": "iceberg",
    "schema": "db",
    "columns": [{"name": "one", "type": "integer"}],
    "gracePeriod": "10.00m",
    "comment": "c",
    "path": [],
}


def text(document: object) -> str:
    return f"/* Presto Materialized View: {base64.b64encode(json.dumps(document).encode()).decode()} */"


def test_trino_definition_is_decoded():
    definition = trino.definition(text(DOCUMENT))
    assert (definition.sql, definition.catalog, definition.schema) == ("SELECT 1 AS one", "iceberg", "db")
    assert (definition.columns, definition.grace_ms, definition.comment) == (
        (("one", "integer"),), 600_000.0, "c")  # fmt: skip


@pytest.mark.parametrize(
    ("period", "milliseconds"),
    [(None, None), (3600.0, 3_600_000), (0.0, 0), (90, 90_000), (0.25, 250), ("10.00m", 600_000), ("1.50h", 5_400_000)],
)
def test_grace_period_is_a_number_of_seconds_or_a_duration(period, milliseconds):
    assert trino.definition(text({**DOCUMENT, "gracePeriod": period})).grace_ms == milliseconds


@pytest.mark.parametrize("period", ["1 fortnight", -5, True, [], {}])
def test_invalid_grace_period_is_rejected(period):
    with pytest.raises(InvalidRefreshStateError, match="gracePeriod"):
        trino.definition(text({**DOCUMENT, "gracePeriod": period}))


@pytest.mark.parametrize("name", sorted(name for name in ROWS if name.startswith("tm.")))
def test_materialized_view_written_by_trino_483_is_decoded(name):
    row = ROWS[name]
    definition = trino.definition(row["viewOriginalText"])
    decoded = row["decoded"]
    seconds = decoded.get("gracePeriod")
    assert definition.sql == decoded["originalSql"]
    assert definition.columns == tuple((column["name"], column["type"]) for column in decoded["columns"])
    assert definition.grace_ms == (None if seconds is None else seconds * 1000)
    assert definition.comment == decoded.get("comment")


@pytest.mark.parametrize("broken", [None, "", "SELECT 1", "/* Presto Materialized View: !! */", text([]), text({})])
def test_invalid_definition_is_rejected(broken):
    with pytest.raises(InvalidRefreshStateError):
        trino.definition(broken)


def test_trino_refresh_summary_is_parsed():
    refresh = trino.refresh_of(
        {
            "dependsOnTables": "db.t=5,db.u=,UNKNOWN",
            "dependsOnNonDeterministicFunctions": "true",
            "trino-query-start-time": "2024-05-01T10:00:00.123456789Z",
        }
    )
    assert refresh is not None
    assert refresh.tables == {ViewName("db", "t"): 5, ViewName("db", "u"): None}
    assert refresh.has_other_tables and refresh.unrepeatable == ("dependsOnNonDeterministicFunctions",)
    assert refresh.started_ms == 1714557600123
    assert trino.refresh_of({}) is None
    for broken in ("db.t", "t=5", "db.t=x"):
        with pytest.raises(InvalidRefreshStateError):
            trino.refresh_of({"dependsOnTables": broken})


T = ViewName("db", "t")


@pytest.mark.parametrize(
    ("summary", "current", "gone", "grace", "verdict"),
    [
        ({"dependsOnTables": "db.t=5"}, {T: 5}, (), 0, Verdict.FRESH),
        ({"dependsOnTables": "db.t=5"}, {T: 6}, (), 0, Verdict.STALE),
        ({"dependsOnTables": "db.t=5"}, {T: 6}, (), None, Verdict.WITHIN_GRACE),
        ({"dependsOnTables": "db.t=5"}, {}, (T,), 0, Verdict.STALE),
        ({"dependsOnTables": "db.t=5,UNKNOWN"}, {T: 5}, (), 0, Verdict.UNKNOWN),
        ({"dependsOnTables": "db.t=5", "dependsOnTableFunctions": "true"}, {T: 5}, (), 0, Verdict.UNKNOWN),
        ({"dependsOnTables": ""}, {}, (), 0, Verdict.STALE),
        ({}, {}, (), None, Verdict.STALE),
    ],
)
def test_trino_freshness_verdict(summary, current, gone, grace, verdict):
    freshness = trino.decide(trino.refresh_of(summary), current, missing=gone, now_ms=1000, grace_ms=grace)
    assert freshness.verdict is verdict
    if not summary:
        assert freshness.reasons[0].cause is Cause.NEVER_REFRESHED
