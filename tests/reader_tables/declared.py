"""The types that Hive declares for views, and Spark computes for their texts: every operator that unifies types.

python -m tests.reader_tables.declared  asks both engines and writes tests/unit/sql/fixtures/declared_types.jsonl:
queries over the table k.u with one column, each with Hive's type and Spark's, which is null if Spark refuses the query.
"""
# ruff: noqa: SIM905 (a long list of words)

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.engine_tables.spark_engine import session
from tests.integration.hive.reader import VERSION, HiveError, HiveReader, running

FIXTURE = Path(__file__).parents[1] / "unit" / "sql" / "fixtures" / "declared_types.jsonl"

COLUMNS = dict(
    item.split(":", 1)
    for item in (
        "ti:tinyint si:smallint i:int l:bigint f:float d:double n:decimal(10,2) n5:decimal(5,5) n18:decimal(18,0) "
        "n20:decimal(20,10) n38:decimal(38,10) n3838:decimal(38,38) s:string v:varchar(8) c:char(4) dt:date "
        "ts:timestamp bo:boolean"
    ).split()
)
TABLE = "k.u"
_NUMBERS = tuple(COLUMNS)[:12]
_OTHERS = tuple(COLUMNS)[12:]
_LITERALS = ("0", "1", "100", "2.5", "0.05", "100000000000", "-1")
_FORMS = (
    *("coalesce({0}, {1})", "nvl({0}, {1})", "if(bo, {0}, {1})", "CASE WHEN bo THEN {0} ELSE {1} END"),
    *("CASE i WHEN 1 THEN {0} WHEN 2 THEN {1} END", "CASE WHEN bo THEN {0} WHEN i > 1 THEN {1} END"),
    *("greatest({0}, {1})", "least({0}, {1})", "array({0}, {1})", "map('a', {0}, 'b', {1})", "nullif({0}, {1})"),
    *("{0} + {1}", "{0} - {1}", "{0} * {1}", "{0} / {1}", "{0} % {1}", "coalesce({0}, i, {1})"),
    "lag({0}, 1, {1}) OVER (ORDER BY i)",
)
_UNARY = ("sum({0})", "avg({0})", "round({0})", "round({0}, 1)", "abs({0})", "-{0}", "floor({0})", "ceil({0})")
_OPERATIONS = ("UNION ALL", "UNION", "INTERSECT", "EXCEPT")
_BATCH = 40


def expressions() -> list[str]:
    """Return the expressions: each form for each pair of numbers, and some for numbers with other types."""
    pairs = [*product(_NUMBERS, (*_NUMBERS, *_LITERALS)), *product(_LITERALS, _NUMBERS)]
    mixed = [*product(_NUMBERS, _OTHERS), *product(_OTHERS, _NUMBERS), *product(_OTHERS, _OTHERS)]
    return [
        *(form.format(*pair) for form in _FORMS for pair in pairs),
        *(form.format(*pair) for form in _FORMS[:4] for pair in mixed),
        *(form.format(one) for form in _UNARY for one in _NUMBERS),
    ]


def set_operations() -> list[str]:
    """Return queries with a set operation of one column on each side."""
    pairs = [*product(_NUMBERS, (*_NUMBERS, *_LITERALS)), *product(_LITERALS, _NUMBERS)]
    pairs += [*product(_NUMBERS, _OTHERS), *product(_OTHERS, (*_NUMBERS, *_OTHERS))]
    chosen = ((name, pair) for name in _OPERATIONS for pair in pairs if name == "UNION ALL" or pair[0] in ("n", "i"))
    return [f"SELECT {one} AS r FROM {TABLE} {name} SELECT {two} FROM {TABLE}" for name, (one, two) in chosen]


def hive_types(hive: HiveReader, items: Sequence[str]) -> dict[str, str | None]:
    """Return the types that Hive declares for the columns of views with these expressions."""
    listed = ", ".join(f"{item} AS r{number}" for number, item in enumerate(items))
    try:
        described = _declared(hive, f"SELECT {listed} FROM {TABLE}")
    except HiveError:
        if len(items) == 1:
            return {items[0]: None}
        middle = len(items) // 2
        return hive_types(hive, items[:middle]) | hive_types(hive, items[middle:])
    return dict(zip(items, described, strict=True))


def _declared(hive: HiveReader, query: str) -> list[str | None]:
    hive.query(f"CREATE OR REPLACE VIEW k.w AS {query}")
    return [line.split("\t")[1].strip() for line in hive.query("DESCRIBE k.w")]


def _declared_alone(hive: HiveReader, query: str) -> str | None:
    try:
        return _declared(hive, query)[0]
    except HiveError:
        return None


def main() -> None:
    """Ask both engines and write the fixture."""
    from tests.conftest import started

    listed, queries = expressions(), set_operations()
    columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    declared: dict[str, str | None] = {}
    with (
        TemporaryDirectory() as name,
        started(Path(name) / "metastore", VERSION) as process,
        running(Path(name) / "hive", process.uri) as hive,
    ):
        hive.query("CREATE DATABASE k")
        hive.query(f"CREATE TABLE {TABLE} ({columns})")
        for start in range(0, len(listed), _BATCH):
            declared |= hive_types(hive, listed[start : start + _BATCH])
        declared = {f"SELECT {item} AS r FROM {TABLE}": kind for item, kind in declared.items()}
        declared |= {query: _declared_alone(hive, query) for query in queries}
    print("Hive has answered", flush=True)
    with session() as spark:
        spark.conf.set("spark.sql.ansi.enabled", "false")
        spark.sql("CREATE DATABASE k")
        spark.sql(f"CREATE TABLE {TABLE} ({columns}) USING PARQUET")
        cases = [(query, kind, _computed(spark, query)) for query, kind in declared.items()]
    FIXTURE.write_text("".join(f"{json.dumps(case)}\n" for case in cases if case[1] is not None), "utf-8")


def _computed(spark: object, query: str) -> str | None:
    try:
        return str(spark.sql(query).schema[0].dataType.simpleString())  # type: ignore[attr-defined]
    except Exception:  # noqa: BLE001 (any error is an answer)
        return None


if __name__ == "__main__":
    main()
