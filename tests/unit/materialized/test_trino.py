"""Trino's rows and summaries."""

from __future__ import annotations

import base64
import json

import pytest

from hive_views.errors import InvalidRefreshStateError
from hive_views.identifiers import ViewName
from hive_views.materialized import trino
from hive_views.materialized.freshness.verdict import Cause, Verdict

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
    assert trino.definition(text({**DOCUMENT, "gracePeriod": None})).grace_ms is None


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
    assert refresh.others and refresh.unrepeatable == ("dependsOnNonDeterministicFunctions",)
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
