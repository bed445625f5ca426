"""Rows of Hive's driver and of plain Spark for the same texts over the same files, compared with the findings."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField
from pyspark.sql import SparkSession

from hive_views import HiveViewCatalog
from tests.integration.hive.reader import HiveError, HiveReader

COLUMNS = (
    "id INT, name STRING, live BOOLEAN, qty INT, big BIGINT, price DECIMAL(10,2), ratio DOUBLE, small FLOAT, day DATE"
)
ROWS = (
    "(1, 'ann', true, 3, 10, 10.50, CAST(0.5 AS DOUBLE), CAST(0.1 AS FLOAT), DATE '2024-01-31')",
    "(2, 'Bob', false, 0, -7, -0.05, CAST(-2.5 AS DOUBLE), CAST(1.5 AS FLOAT), DATE '2000-02-29')",
    "(3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
    "(4, 'eve', true, -4, 3, 200.00, CAST('NaN' AS DOUBLE), CAST(2 AS FLOAT), DATE '2023-12-31')",
)

CASES = {
    # -- No finding
    "SELECT id, name, price FROM r.t WHERE price > 0 OR NOT live": None,
    "SELECT name, count(*) AS n, sum(price) AS s, max(day) AS d FROM r.t GROUP BY name": None,
    "SELECT a.id, b.name FROM r.t a LEFT JOIN r.t b ON a.id = b.qty": None,
    "SELECT id, coalesce(price, 0) AS p, CASE WHEN qty > 0 THEN 'some' ELSE 'none' END AS c FROM r.t": None,
    "SELECT id, upper(name) AS u, substr(name, 1, 2) AS s, concat(name, '-', qty) AS c FROM r.t": None,
    "SELECT id, year(day) AS y, date_add(day, 30) AS d, date_format(day, 'yyyy-MM') AS f FROM r.t": None,
    "SELECT id FROM r.t UNION SELECT qty FROM r.t": None,
    "SELECT id, qty / 2 AS h, price * 3 AS p, avg(qty) OVER (PARTITION BY live) AS a FROM r.t": None,
    "SELECT id FROM r.t x WHERE NOT EXISTS (SELECT 1 FROM r.t y WHERE y.qty = x.id)": None,
    "SELECT id, DATE '2024-02-29' AS d, CAST(100 AS TINYINT) AS n, substr(name, 2) AS s FROM r.t": None,
    "SELECT id, name || (price + price) AS s, name RLIKE '^[A-Z]' AS l FROM r.t": None,
    "SELECT a.id, b.id AS o FROM r.t a LEFT JOIN r.t b ON b.id = a.id AND b.qty = 3": None,
    "SELECT id, CAST(year(day) * 100 + month(day) AS INT) AS m, nullif(qty, 0) AS q FROM r.t": None,
    "SELECT name, round(100.0 * sum(qty) / count(*), 2) AS p FROM r.t GROUP BY name": None,
    # -- Other rows
    "SELECT id, name FROM r.t ORDER BY name LIMIT 2": "other rows",
    "SELECT id, rank() OVER (ORDER BY price DESC) AS r FROM r.t": "other rows",
    "SELECT stddev(qty) AS s FROM r.t": "other rows",
    "SELECT id, greatest(qty, 1) AS g FROM r.t": "other rows",
    "SELECT id FROM r.t WHERE live = 'true'": "other rows",
    "SELECT id, CAST(live AS STRING) AS s FROM r.t": "other rows",
    "SELECT id, CAST(pmod(big, -3) AS BIGINT) AS p FROM r.t": "other rows",
    "SELECT id, hash(name) AS h FROM r.t": "other rows",
    "SELECT id, CAST(add_months(day, 1) AS DATE) AS d FROM r.t": "other rows",
    "SELECT id FROM r.t WHERE qty / qty IS NULL": "other rows",
    "SELECT id, CAST('2024-02' AS DATE) AS d FROM r.t": "other rows",
    "SELECT id, substr(name, -5, 4) AS s FROM r.t": "other rows",
    "SELECT id, CAST(name || price + price AS STRING) AS s FROM r.t": "other rows",
    "SELECT id, name RLIKE '' AS l FROM r.t": "other rows",
    "SELECT a.id, b.o FROM r.t a LEFT JOIN (SELECT id AS o FROM r.t WHERE qty = 3) b ON b.o = a.id": "other rows",
    "SELECT id FROM r.t WHERE qty = 3 UNION SELECT id FROM r.t": "other rows",
    "SELECT id, CAST(CAST(qty AS DECIMAL(12,8)) AS STRING) AS s FROM r.t": "other rows",
    # -- Refused
    "SELECT x FROM (SELECT id FROM r.t) s (x)": "refused",
    "SELECT CAST(id AS LONG) AS l FROM r.t": "refused",
    "SELECT /*+ REPARTITION(2) */ id FROM r.t": "refused",
    "SELECT id FROM r.t WHERE big = '10'": "refused",
    "SELECT id FROM r.t WHERE CAST(big AS TIMESTAMP) IS NULL": "refused",
    "SELECT id, length(qty) AS s FROM r.t": "refused",
}
"""Texts of Spark, and the outcome in Hive that a finding names; None for texts without a finding."""


@pytest.fixture(scope="module")
def spark(hive: HiveReader, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Plain Spark on the Parquet files of a table that Hive wrote."""
    directory = tmp_path_factory.mktemp("reader_rules")
    location = directory / "t"
    hive.query("CREATE DATABASE r")
    hive.query(f"CREATE EXTERNAL TABLE r.t ({COLUMNS}) STORED AS PARQUET LOCATION '{location.as_uri()}'")
    hive.query(f"INSERT INTO r.t SELECT inline(array({', '.join(f'struct{row}' for row in ROWS)}))")
    session = _session(directory)
    session.sql("CREATE DATABASE r")
    session.sql(f"CREATE TABLE r.t ({COLUMNS}) USING PARQUET LOCATION '{location}'")
    yield session
    session.stop()


def _session(directory: Path) -> SparkSession:
    builder = SparkSession.builder.master("local[1]").config("spark.sql.session.timeZone", "UTC")
    builder = builder.config("spark.sql.warehouse.dir", str(directory / "warehouse"))
    builder = builder.config("spark.sql.shuffle.partitions", "1").config("spark.sql.ansi.enabled", "false")
    return builder.config("spark.ui.enabled", "false").getOrCreate()


def printed(value: Any) -> Any:
    """Return a value as it can be compared with what Hive prints."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    return Decimal(str(value)) if isinstance(value, (int, float, Decimal)) else str(value)


def compared(text: str, like: Any) -> Any:
    return Decimal(text) if isinstance(like, Decimal) and text != "NULL" else text


@pytest.mark.parametrize("query", CASES)
def test_hive_does_what_the_findings_about_a_text_of_spark_say(
    hive: HiveReader, spark: SparkSession, catalog: HiveViewCatalog, query: str
):
    name = f"r.view_{list(CASES).index(query)}"
    catalog.execute(f"CREATE VIEW {name} AS {query}", database="r", dialect="spark")
    findings = {item.outcome.value for item in catalog.dependencies.check_engines(name) if item.engine == "hive"}
    expected = [tuple(map(printed, row)) for row in spark.sql(query).collect()] if CASES[query] != "refused" else []
    try:
        rows = [row.split("\t") for row in hive.query(f"SELECT * FROM {name}")]
    except HiveError:
        assert CASES[query] == "refused"
        assert "refused" in findings
        return
    likes = [next((row[at] for row in expected if row[at] != "NULL"), "") for at in range(len(expected[0]))]
    answered = [tuple(compared(text, like) for text, like in zip(row, likes, strict=True)) for row in rows]
    outcome = None if sorted(map(str, answered)) == sorted(map(str, expected)) else "other rows"
    assert outcome == CASES[query]
    assert findings == (set() if outcome is None else findings | {outcome})


def test_hive_refuses_an_iceberg_table(hive: HiveReader, catalog: HiveViewCatalog, spark: SparkSession):
    catalog.create_table("r.lake", Schema(NestedField(1, "id", LongType(), required=False)))
    catalog.execute("CREATE VIEW r.of_lake AS SELECT id FROM r.lake", database="r")
    (finding,) = (item for item in catalog.dependencies.check_engines("r.of_lake") if item.engine == "hive")
    assert (finding.outcome.value, finding.table) == ("refused", "r.lake")
    with pytest.raises(HiveError):
        hive.query("SELECT * FROM r.of_lake")
