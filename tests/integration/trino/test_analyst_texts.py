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
from tests.integration.trino.test_view_texts import FOR_TRINO, PAGE, canonical, compare, plain, schema_of
from tests.unit.sql.analysis.test_analyst_texts import CASES, DATABASE

__all__ = ["plain"]


def test_outcomes_are_the_recorded_ones(metastore: EmbeddedMetastore, trino: TrinoServer, plain: PlainReader):
    readings = {}
    location = {"uri": metastore.uri, "warehouse": metastore.warehouse}
    with (
        connect(metastore.port) as client,
        HiveViewCatalog("prod", **location) as default,
        HiveViewCatalog("prod", **location, **FOR_TRINO) as rewriting,
    ):
        client.create_database(Database(name=DATABASE, locationUri=f"{metastore.warehouse}/{DATABASE}.db"))
        for statement in trino_statements():
            trino.query(statement)
        plain.sql(f"USE {DATABASE}")
        for number, case in enumerate(CASES):
            expected = canonical(plain.sql(case["text"]))
            for catalog, view_name, key in ((default, f"v{number}", "default"), (rewriting, f"w{number}", "row")):
                statement = f"CREATE VIEW {view_name} AS {case['text']}"
                view = catalog.execute(statement, database=DATABASE, analyzer=partial(schema_of, plain)).view
                assert view.expanded_text == case.get(key, case["row"]), case["name"]
                query = f"SELECT * FROM {DATABASE}.{view_name}"
                readings[case["name"], key, "spark"] = compare(partial(plain.sql, query), expected)
                query = f"SELECT * FROM hive.{DATABASE}.{view_name}"
                readings[case["name"], key, "trino"] = compare(partial(trino.query, query), expected)
        client.drop_database(DATABASE, True, True)
    recorded = {(case["name"], "row", "trino"): case["outcome"] for case in CASES}
    recorded |= {(case["name"], "default", "trino"): case.get("default_outcome", case["outcome"]) for case in CASES}
    recorded |= {(case["name"], key, "spark"): "equal" for case in CASES for key in ("row", "default")}
    assert {key: reading for key, reading in readings.items() if reading.outcome != recorded[key]} == {}


def test_page_has_the_counts():
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert f"Of {len(CASES)} queries" in page
    by_default = [case.get("default_outcome", case["outcome"]) for case in CASES]
    for outcomes, when in ((by_default, "by default"), ([case["outcome"] for case in CASES], "rewritten")):
        equal, other, refused = (outcomes.count(outcome) for outcome in ("equal", "other rows", "refused"))
        assert f"{when}, Trino returns equal rows for {equal}, other rows for {other} and refuses {refused}" in page
