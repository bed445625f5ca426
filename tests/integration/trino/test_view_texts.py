"""View texts as Hive views over Hive tables: the rows of Trino's Hive connector and of plain Spark, for each text.

`trino_483_texts.jsonl` has the outcomes that this test compares, and docs/trino.md their counts.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.types import IntegerType, NestedField
from trino.exceptions import TrinoQueryError

from hive_views import HiveViewCatalog, define
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.metastore._thrift.hive_metastore.ttypes import Database
from hive_views.sql.types.hive_types import parse_type
from hive_views.sql.writing.expand import OutputColumn, expand
from tests.integration.legacy_import.rows import hive_view_row
from tests.integration.metastore.rpc import connect
from tests.integration.spark.plain_reader import PlainReader, PlainSparkError
from tests.integration.trino.server import TrinoServer
from tests.unit.sql.analysis.test_trino_translation import CASES
from tests.unit.sql.analysis.test_trino_translation import TABLES as SCHEMAS

PAGE = Path(__file__).parents[3] / "docs" / "trino.md"
DATABASE = "h"
FOR_TRINO = {"hive-views.row-text-for-trino": "true"}

TABLES = (
    "CREATE TABLE hive.h.orders (id bigint, customer varchar, total decimal(10,2), placed timestamp(3), day date, "
    "qty integer, price double, ok boolean, note varchar) WITH (format = 'PARQUET')",
    "INSERT INTO hive.h.orders VALUES "
    "(1, 'ann', 10.50, TIMESTAMP '2024-01-01 10:00:00', DATE '2024-01-01', 1, 1.5e0, true, 'n-a'), "
    "(2, 'ann', 120.00, TIMESTAMP '2024-02-03 23:59:59.123', DATE '2024-02-03', 2, 2.25e0, false, 'n-b'), "
    "(3, 'bob', 75.25, TIMESTAMP '2024-03-05 00:00:00', DATE '2024-03-05', 3, -3.75e0, true, NULL), "
    "(4, 'zoe', 200.00, TIMESTAMP '2024-02-29 12:30:00', DATE '2024-02-29', 4, 1e10, true, 'nz'), "
    "(5, 'bob', NULL, TIMESTAMP '2023-12-31 10:00:00', DATE '2023-12-31', 5, NULL, false, ' pad ')",
    "CREATE TABLE hive.h.customers (name varchar, city varchar, tags array(varchar), attrs map(varchar, integer), "
    "addr row(street varchar, zip integer)) WITH (format = 'PARQUET')",
    "INSERT INTO hive.h.customers VALUES "
    "('ann', 'rome', ARRAY['a', 'b'], MAP(ARRAY['x', 'y'], ARRAY[1, 2]), ROW('via', 10)), "
    "('bob', 'oslo', ARRAY['c'], MAP(ARRAY['z'], ARRAY[3]), ROW('gate', 20)), "
    "('kim', NULL, ARRAY[], MAP(), NULL)",
    "CREATE TABLE hive.h.events (order_id bigint, kind varchar, ds varchar) "
    "WITH (format = 'PARQUET', partitioned_by = ARRAY['ds'])",
    "INSERT INTO hive.h.events VALUES (1, 'paid', '2024-01-01'), (1, 'sent', '2024-01-02'), (3, 'paid', '2024-01-01')",
)


@dataclass(frozen=True)
class Reading:
    """What an engine returns for a view, compared with Spark's rows of the author's text."""

    outcome: str
    reason: str = ""


def canonical(rows: Iterable[Iterable[Any]]) -> list[str]:
    return sorted(json.dumps(list(row), default=str, ensure_ascii=False) for row in rows)


def compare(read: Callable[[], Iterable[Iterable[Any]]], expected: list[str]) -> Reading:
    try:
        rows = read()
    except (TrinoQueryError, PlainSparkError) as error:
        return Reading("refused", str(error).splitlines()[0][:200])
    return Reading("equal") if canonical(rows) == expected else Reading("other rows", str(canonical(rows))[:200])


@pytest.fixture(scope="module")
def plain(metastore: EmbeddedMetastore, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlainReader]:
    with PlainReader(metastore.uri, metastore.warehouse, tmp_path_factory.mktemp("plain") / "spark.log") as reader:
        reader.sql("SET spark.sql.ansi.enabled=false")
        reader.sql("SET spark.sql.session.timeZone=UTC")
        yield reader


@pytest.fixture(scope="module")
def readings(
    metastore: EmbeddedMetastore, trino: TrinoServer, plain: PlainReader
) -> Iterator[dict[tuple[str, str], Reading]]:
    """Readings by the name of a text and its reader: `spark`, `trino`, or `trino, as expanded`."""
    result = {}
    with (
        connect(metastore.port) as client,
        HiveViewCatalog("prod", uri=metastore.uri, warehouse=metastore.warehouse, **FOR_TRINO) as catalog,
    ):
        client.create_database(Database(name=DATABASE, locationUri=f"{metastore.warehouse}/{DATABASE}.db"))
        for statement in TABLES:
            trino.query(statement)
        plain.sql(f"USE {DATABASE}")
        for number, case in enumerate(CASES):
            name, expected = case["name"], canonical(plain.sql(case.get("text", case["expanded"])))
            if "text" in case:
                columns = f" ({', '.join(case['columns'])})" if "columns" in case else ""
                statement = f"CREATE VIEW {name}{columns} AS {case['text']}"
                view = catalog.execute(statement, database=DATABASE, analyzer=partial(schema_of, plain)).view
                assert view.expanded_text == case.get("rewritten", case["expanded"])
                result[name, "spark"] = compare(partial(plain.sql, f"SELECT * FROM h.{name}"), expected)
                result[name, "trino"] = compare(partial(trino.query, f"SELECT * FROM hive.h.{name}"), expected)
                result[name, "trino, as expanded"] = result[name, "trino"]
            if "text" not in case or "rewritten" in case:
                fields = [(item.name, item.type or "string") for item in columns_of(case["expanded"])]
                row = hive_view_row(DATABASE, f"expanded_{number}", case["expanded"], case["expanded"], fields)
                client.create_table(row)
                read = partial(trino.query, f"SELECT * FROM hive.h.expanded_{number}")
                result[name, "trino, as expanded"] = compare(read, expected)
        yield result
        client.drop_database(DATABASE, True, True)


def schema_of(plain: PlainReader, sql: str) -> Schema:
    """The columns of a query with the types that Spark gives them."""
    columns = [(name, kind) for name, kind, _ in plain.sql(f"DESCRIBE QUERY {sql}")]
    types = [parse_type("timestamptz" if kind == "timestamp" else kind) for _, kind in columns]
    fields = [
        NestedField(number, name, kind, required=False)
        for number, ((name, _), kind) in enumerate(zip(columns, types, strict=True), 1)
    ]
    return assign_fresh_schema_ids(Schema(*fields))


def columns_of(sql: str) -> tuple[OutputColumn, ...]:
    return expand(sql, SCHEMAS, database=DATABASE).columns


def test_outcomes_are_the_recorded_ones(readings: dict[tuple[str, str], Reading]):
    recorded = {(case["name"], "trino, as expanded"): case["outcome"] for case in CASES}
    for case in CASES:
        if "text" in case:
            recorded[case["name"], "spark"] = "equal"
            recorded[case["name"], "trino"] = case.get("rewritten_outcome", case["outcome"])
    replaced = {"equal but for the last digit": "other rows"}
    replaced |= dict.fromkeys(("equal but for NULL", "equal but for short strings"), "equal")
    expected = {key: replaced.get(outcome, outcome) for key, outcome in recorded.items()}
    assert {key: reading for key, reading in readings.items() if reading.outcome != expected[key]} == {}


def test_page_has_the_counts(readings: dict[tuple[str, str], Reading]):
    texts = [case["name"] for case in CASES if "text" in case]
    counts = {
        reader: Counter(readings[name, reader].outcome for name in texts)
        for reader in ("spark", "trino, as expanded", "trino")
    }
    page = PAGE.read_text(encoding="utf-8")
    for outcome in ("equal", "other rows", "refused"):
        numbers = [str(counts[reader][outcome]) for reader in counts]
        print(outcome, numbers)
        (line,) = [line for line in page.splitlines() if line.startswith(f"| {outcome} |")]
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert [cells[index] for index in (1, 3, 4)] == numbers


def test_trino_reads_the_row_and_no_representation_of_its_dialect(
    trino: TrinoServer, catalog: HiveViewCatalog, database: str
):
    texts = {"spark": "SELECT 1 AS x", "trino": "SELECT 2 AS x"}
    version, other = (define(sql, dialect=dialect, default_namespace=(database,)) for dialect, sql in texts.items())
    version = version.model_copy(update={"representations": [*version.representations, *other.representations]})
    schema = Schema(NestedField(1, "x", IntegerType(), required=False))
    view = catalog.create_view((database, "v"), schema, version)
    assert view.dialects == ("spark", "trino")
    assert trino.query(f"SELECT x FROM hive.{database}.v") == [(1,)]
    with pytest.raises(TrinoQueryError, match="Not an Iceberg table"):
        trino.query(f"SELECT x FROM iceberg.{database}.v")
