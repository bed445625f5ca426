"""Views made by `catalog.execute` without Spark, read by Spark: their declared types are Spark's own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from hive_views import HiveViewCatalog
from hive_views.spark.analyzer import schema_of
from hive_views.sql.writing.expand import UnknownTypeError

COLUMNS = (
    "id INT, item STRING, price DECIMAL(10, 2), at TIMESTAMP, day DATE, tags ARRAY<STRING>, "
    "more STRUCT<a: INT, t: TIMESTAMP>, counts MAP<STRING, BIGINT>"
)
QUERIES = [
    "SELECT * FROM {t}",
    "SELECT {t}.*, id + 1 AS next FROM {t} WHERE id > 0",
    "SELECT day, max(at) AS last, count(*) AS n, sum(price) AS total, min(item) AS i FROM {t} GROUP BY day",
    "SELECT a.id, b.item, a.at FROM {t} a JOIN {t} b ON a.id = b.id",
    "SELECT id, tag FROM {t} LATERAL VIEW explode(tags) x AS tag",
    "SELECT more.t AS inner_time, more.a AS inner_number, counts['k'] AS k FROM {t}",
    "SELECT current_timestamp() AS now, CAST(id AS BIGINT) AS big, upper(item) AS u, coalesce(at, at) AS c FROM {t}",
    "SELECT id, at, row_number() OVER (PARTITION BY day ORDER BY at) AS r FROM {t}",
    "SELECT at FROM {t} UNION ALL SELECT at FROM {t}",
    "WITH x AS (SELECT id, at FROM {t}) SELECT * FROM x",
]


@pytest.fixture
def tables(spark: SparkSession, database: str) -> Iterator[str]:
    """A Hive table, and an Iceberg table that also has a time without a zone, with one row each."""
    spark.sql(f"CREATE TABLE spark_catalog.{database}.hive_t ({COLUMNS}) STORED AS PARQUET")
    spark.sql(f"CREATE TABLE prod.{database}.iceberg_t ({COLUMNS}, wall TIMESTAMP_NTZ) USING iceberg")
    row = (
        "1, 'a', 1.5, timestamp'2020-01-01 10:00:00', date'2020-01-01', array('x'), "
        "named_struct('a', 1, 't', timestamp'2020-01-01 10:00:00'), map('k', 1L)"
    )
    spark.sql(f"INSERT INTO spark_catalog.{database}.hive_t SELECT {row}")
    spark.sql(f"INSERT INTO prod.{database}.iceberg_t SELECT {row}, timestamp_ntz'2020-01-01 10:00:00'")
    yield database
    for name in (f"spark_catalog.{database}.hive_t", f"prod.{database}.iceberg_t"):
        spark.sql(f"DROP TABLE {name}")
    spark.sql("USE spark_catalog.default")


@pytest.mark.extended
@pytest.mark.parametrize(("home", "table"), [("prod", "iceberg_t"), ("spark_catalog", "hive_t")])
def test_types_by_rules_are_sparks_and_iceberg_reads_the_rows(
    spark: SparkSession, tables: str, properties: dict[str, str], home: str, table: str
) -> None:
    queries = [query.format(t=table) for query in QUERIES]
    if table == "iceberg_t":
        queries.append(f"SELECT wall, max(wall) OVER () AS most, at FROM {table}")
    with HiveViewCatalog("prod", **properties) as catalog:
        for query in queries:
            view = catalog.execute(f"CREATE OR REPLACE VIEW v AS {query}", database=tables).view
            assert view is not None
            spark.sql(f"USE {home}.{tables}")
            exact = schema_of(spark, query)
            declared = [(field.name, str(field.field_type)) for field in view.schema().fields]
            assert declared == [(field.name, str(field.field_type)) for field in exact.fields], query
            direct = [row.asDict(recursive=True) for row in spark.sql(query).drop("now").collect()]
            spark.sql("USE spark_catalog.default")
            assert [
                row.asDict(recursive=True) for row in spark.table(f"prod.{tables}.v").drop("now").collect()
            ] == direct
        catalog.drop_view((tables, "v"))


# ruff: noqa: SIM905 (a long list of words)
EXPRESSIONS = (
    "price*2|price/id|price+1|price*price|price-1.5|avg(price)|avg(id)|id/2|id%2|round(price)|round(price,1)|round(id/2)|"
    "ceil(price)|floor(id*1.5)|year(at)|month(day)|date_add(day,1)|datediff(day,day)|to_date(at)|date_format(at,'y')|"
    "unix_timestamp(at)|from_unixtime(1)|length(item)|size(tags)|concat(item,'x')|concat(tags,tags)|substr(item,1,2)|"
    "reverse(tags)|reverse(item)|nvl(id,0)|if(id>0,1,2)|CASE WHEN id>0 THEN price ELSE id END|count(distinct id)|"
    "stddev(id)|collect_set(item)|pow(id,2)|abs(price)|-id|id+id|cast(id as smallint)+1|coalesce(id,1.5)|"
    "greatest(id,2)|sum(id)|sum(id*1.5)|sum(price*2)|max(tags[0])|item like 'a'|id in (1,2)|day - interval '1' day|"
    "id div 2|item + 1|day - day|at + interval '1' hour|hour(at)|second(at)|split(item,',')|array(1,2)|map('a',1)|"
    "named_struct('a',id)|struct(id)|1.5|1e3|1L|date'2020-01-01'|timestamp'2020-01-01 00:00:00'|current_date()|hex(id)|"
    "instr(item,'a')|"
    "regexp_replace(item,'a','b')|add_months(day,1)|next_day(day,'MO')|trunc(day,'MM')|date_trunc('day',at)|"
    "last_day(day)|months_between(day,day)|percentile_approx(id,0.5)|percentile(id,0.5)|first_value(id)|"
    "lag(id) over (order by id)|rank() over (order by id)|sum(id) over ()|cast(item as date)|map_keys(counts)|"
    "array_contains(tags,'x')|sort_array(tags)|id <=> 1|isnull(id)|nullif(id,1)|pmod(id,2)|sign(id)|exp(id)|"
    "extract(year from at)|cast(price as string)|max(struct(id,item))|factorial(3)|md5(item)|conv('1',2,10)|"
    "str_to_map('a')|encode(item,'utf-8')|unhex('1')|id & 1|levenshtein(item,'a')|crc32(item)|hash(id)|"
    "-item|floor(price)|coalesce(item,'1')|greatest(price,id)|if(true,day,at)"
).split("|")


def test_inferred_types_equal_types_of_spark(spark: SparkSession, tables: str, properties: dict[str, str]) -> None:
    spark.sql(f"USE spark_catalog.{tables}")
    reported, other = 0, []
    with HiveViewCatalog("prod", **properties) as catalog:
        for expression in EXPRESSIONS:
            query = f"SELECT {expression} AS x FROM hive_t"
            try:
                ours = str(catalog.author((tables, "v"), query).schema.fields[0].field_type)
            except UnknownTypeError:
                continue
            reported += 1
            exact = str(schema_of(spark, query).fields[0].field_type)
            if ours != exact:
                other.append((expression, ours, exact))
    assert not other, "\n".join(map(str, other))
    assert reported > 80
