"""Queries as analysts write them, as views over Hive tables: the rows of Trino and plain Spark.

`analyst_texts.jsonl` has the outcomes in Trino, with which `tests/unit/sql/analysis` compares the predictions.
"""

from __future__ import annotations

from functools import partial

from hive_views import HiveViewCatalog
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.metastore._thrift.hive_metastore.ttypes import Database
from tests.integration.analyst_tables import trino_statements
from tests.integration.metastore.rpc import connect
from tests.integration.spark.plain_reader import PlainReader
from tests.integration.trino.server import TrinoServer
from tests.integration.trino.test_view_texts import PAGE, canonical, compare, plain, schema_of
from tests.unit.sql.analysis.test_analyst_texts import CASES, DATABASE

__all__ = ["plain"]


def test_outcomes_are_the_recorded_ones(metastore: EmbeddedMetastore, trino: TrinoServer, plain: PlainReader):
    readings = {}
    with (
        connect(metastore.port) as client,
        HiveViewCatalog("prod", uri=metastore.uri, warehouse=metastore.warehouse) as catalog,
    ):
        client.create_database(Database(name=DATABASE, locationUri=f"{metastore.warehouse}/{DATABASE}.db"))
        for statement in trino_statements():
            trino.query(statement)
        plain.sql(f"USE {DATABASE}")
        for number, case in enumerate(CASES):
            statement = f"CREATE VIEW view_{number} AS {case['text']}"
            view = catalog.execute(statement, database=DATABASE, analyzer=partial(schema_of, plain)).view
            assert view.expanded_text == case["row"], case["name"]
            expected = canonical(plain.sql(case["text"]))
            readings[case["name"], "spark"] = compare(
                partial(plain.sql, f"SELECT * FROM {DATABASE}.view_{number}"), expected
            )
            readings[case["name"], "trino"] = compare(
                partial(trino.query, f"SELECT * FROM hive.{DATABASE}.view_{number}"), expected
            )
        client.drop_database(DATABASE, True, True)
    recorded = {(case["name"], "trino"): case["outcome"] for case in CASES}
    recorded |= {(case["name"], "spark"): "equal" for case in CASES}
    assert {key: reading for key, reading in readings.items() if reading.outcome != recorded[key]} == {}


def test_page_has_the_counts():
    page = PAGE.read_text(encoding="utf-8")
    counts = [sum(case["outcome"] == outcome for case in CASES) for outcome in ("equal", "other rows", "refused")]
    equal, other, refused = counts
    assert f"Of {len(CASES)} queries" in page
    assert f"equal rows for {equal}, other rows for {other} and refuses {refused}" in " ".join(page.split())
