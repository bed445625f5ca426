"""Types of Spark's expressions, and how wrong calls are rejected."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import hive_views.sql.engines
from hive_views.errors import SqlError
from hive_views.sql.types.spark_inference import number_type
from hive_views.sql.types.written_types import written_schema, written_type
from hive_views.sql.writing.declared_types import declared_columns
from hive_views.sql.writing.expand import UnknownTypeError, expand, typed_columns
from tests.engine_tables.comparison import ANSI, inferred, outcome
from tests.engine_tables.enumeration import COLUMNS, OPERAND_COLUMNS
from tests.unit.sql.tables import Tables

FIXTURES = Path(__file__).parents[1] / "fixtures"
KEPT = [json.loads(line) for line in (FIXTURES / "spark_types.jsonl").read_text("utf-8").splitlines()]
"""Expressions that were kept out of the sample that the tables were learned from, with Spark 4.1.4's types."""
TABLES = Tables(
    {
        "t": {
            "i": "int",
            "b": "bigint",
            "s": "string",
            "d": "decimal(10,2)",
            "f": "float",
            "ts": "timestamp",
            "dt": "date",
            "a": "array<int>",
            "m": "map<string,int>",
            "date": "int",
            "row": "int",
        }
    }
)


def type_of(expression: str, setting: str | None = None, dialect: str = "spark") -> str | None:
    return inferred(expression, TABLES, dialect, {ANSI: setting} if setting else None)


@pytest.mark.parametrize(("position", "setting"), [(1, "true"), (2, "false")])
def test_types_of_kept_expressions_are_those_of_spark(position: int, setting: str) -> None:
    tables = Tables({"t": COLUMNS})
    outcomes = {case[0]: outcome(inferred(case[0], tables, "spark", {ANSI: setting}), case[position]) for case in KEPT}
    counts = Counter(outcomes.values())

    assert [sql for sql, kind in outcomes.items() if kind == "different"] == []
    assert counts["unknown"] <= 0.02 * (counts["unknown"] + counts["equal"])


@pytest.mark.parametrize(("position", "setting"), [(1, "true"), (2, "false")])
def test_operands_that_spark_refuses_have_no_type(position: int, setting: str) -> None:
    """The fixture has operators, casts and choices with operands of all types, with Spark 4.1.4's types."""
    rows = [json.loads(line) for line in (FIXTURES / "spark_operands.jsonl").read_text("utf-8").splitlines()]
    tables = Tables({"t": OPERAND_COLUMNS})
    outcomes = {row[0]: outcome(inferred(row[0], tables, "spark", {ANSI: setting}), row[position]) for row in rows}
    counts = Counter(outcomes.values())

    assert [sql for sql, kind in outcomes.items() if kind == "different"] == []
    # Arrays and intervals with other units or digits, and uncommon values of decode().
    assert counts["we accept"] <= 0.01 * counts["both refuse"]
    assert counts["unknown"] <= 0.005 * counts["equal"]


def test_units_of_intervals_are_those_of_spark() -> None:
    """The fixture has the types that Spark 4.1.4 gives to all functions of intervals with one or two units."""
    rows = [json.loads(line) for line in (FIXTURES / "spark_intervals.jsonl").read_text("utf-8").splitlines()]
    types = {sql: inferred(sql, TABLES, "spark", {ANSI: "true"}) for sql, _ in rows}
    assert types == dict(rows)


def test_number_of_arguments_of_any_supported_version_is_accepted() -> None:
    """Spark 4.3.0 has max_by(x, y, k), Spark 4.1.4 has not."""
    assert type_of("max_by(i, s)") == "int"
    assert expand("SELECT max_by(i, s, 3) AS c FROM t", TABLES, database="d", dialect="spark").columns[0].type is None


def test_tables_are_compact_and_not_read_by_an_import() -> None:
    data = Path(hive_views.sql.engines.__file__).parent / "data"
    script = (
        "import hive_views, hive_views.sql.writing.expand\n"
        "from hive_views.sql.engines.tables import engine_table\n"
        "from hive_views.sql.engines import answers\n"
        "assert engine_table.cache_info().currsize == answers._document.cache_info().currsize == 0"
    )

    sizes = {file.name: file.stat().st_size for file in data.iterdir()}
    assert sizes.pop("answers.json") <= 1_000_000
    assert sum(sizes.values()) <= 500_000
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("uniform(10.5, 2.25)", "decimal(3,2)"),
        ("uniform(2.25, 10.5)", "decimal(3,1)"),
        ("uniform(100.5, 1.125)", "decimal(4,3)"),
        ("uniform(1.1, 100.25)", "decimal(5,2)"),
        ("uniform(11.5, 1.1)", "decimal(3,1)"),
        # The first argument begins with a call of which sqlglot keeps no position.
        ("if(transform(array(1), e -> e)[0] > 2, 'a', 'b')", "string"),
        ("if(transform(array(1), e -> e)[0] > 2, transform(array(1.5), e -> e)[0], 1)", "decimal(11,1)"),
        ("i || s", "string"),
        ("i DIV b", "bigint"),
        ("transform(a, x -> x + b)", "array<bigint>"),
        ("aggregate(a, 0L, (s, x) -> s + x, s -> concat(s, 'x'))", "string"),
        ("from_json(s, 'a INT, `b c` array<string>')", "struct<a:int,`b c`:array<string>>"),
        ("date_trunc('month', dt)", "timestamp"),
        ("last_day(dt)", "date"),
        ("width_bucket(i, 1, 10, 5)", "bigint"),
        ("-2147483648", "int"),
        ("- 2147483649", "bigint"),
        ("extract(second FROM ts)", "decimal(8,6)"),
        ("extract(day FROM ts - ts)", "int"),
        ("array_union(a, array(1L))", "array<bigint>"),
        ("array_append(a, 1L)", "array<bigint>"),
        ("map_from_arrays(array('a'), array(1.5))", "map<string,decimal(2,1)>"),
        ("round(d, 1)", "decimal(10,1)"),
        ("round(d, -1)", "decimal(9,0)"),
        ("sum(d) / count(*)", "decimal(38,20)"),
        ("position('a' IN s)", "int"),
        ("substring(s FROM 1 FOR 2)", "string"),
        ("CAST(NULL AS map<string, struct<A: int>>)", "map<string,struct<A:int>>"),
    ],
)
def test_types_of_expressions(expression: str, kind: str) -> None:
    """Measured on Spark 4.1.4."""
    assert type_of(expression) == kind


@pytest.mark.parametrize(
    ("expression", "on", "off"), [("f + i", "double", "float"), ("coalesce(i, s)", "bigint", "string")]
)
def test_ansi_setting_determines_type(expression: str, on: str, off: str) -> None:
    """Measured on Spark 4.1.4."""
    assert [type_of(expression, setting) for setting in ("true", "false", None)] == [on, off, on]


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("SELECT d FROM t UNION ALL SELECT d / 2 FROM t", "decimal(14,6)"),
        ("SELECT i FROM t UNION SELECT d FROM t", "decimal(12,2)"),
        ("SELECT sum(x) FROM (SELECT d x FROM t UNION ALL SELECT b FROM t)", "decimal(32,2)"),
        ("SELECT x FROM VALUES (1), (2.5) AS v(x)", "decimal(11,1)"),
    ],
)
def test_types_of_several_rows_or_branches(query: str, kind: str) -> None:
    """Measured on Spark 4.1.4."""
    assert expand(query, TABLES, database="d", dialect="spark").columns[0].type == kind


@pytest.mark.parametrize(
    "call", ["day()", "month(dt, 1)", "stack()", "substr(s)", "coalesce()", "abs(1, 2)", "nvl(s)", "datediff(dt)"]
)
def test_wrong_number_of_arguments_is_rejected(call: str) -> None:
    with pytest.raises(SqlError) as error:
        expand(f"SELECT {call} AS c FROM t", TABLES, database="d", dialect="spark")

    assert error.value.line == 1


def test_error_names_all_columns_of_unknown_type() -> None:
    expansion = expand("SELECT d.f(i) x, i, d.g(s) y FROM t", TABLES, database="d", dialect="spark")

    with pytest.raises(UnknownTypeError, match="types of columns x, y are not known") as error:
        typed_columns(expansion)
    assert (error.value.name, error.value.column) == ("x", 8)


@pytest.mark.parametrize(
    ("expression", "hive", "declared"),
    [
        ("coalesce(d, 1)", "decimal(10,2)", "decimal(12,2)"),
        ("width_bucket(i, 1, 10, 5)", "int", "bigint"),
        ("d + 1", "decimal(11,2)", "decimal(11,2)"),
        ("i", "int", "int"),
    ],
)
def test_column_of_hive_is_declared_so_that_spark_can_read_it(expression: str, hive: str, declared: str) -> None:
    """Hive 4.1.0 gives the first type; Spark 4.1.4 casts to the declared type only what fits into it."""
    expansion = expand(f"SELECT {expression} AS c FROM t", TABLES, database="d", dialect="hive")

    assert expansion.columns[0].type == hive
    assert declared_columns(expansion, TABLES, database="d")[0].type == declared


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("1", "int"),
        ("2147483648", "bigint"),
        ("-9223372036854775808", "bigint"),
        ("9223372036854775808", "decimal(19,0)"),
        ("1e3", "double"),
        ("1.50", "decimal(3,2)"),
        ("0.01", "decimal(2,2)"),
        (".5", "decimal(1,1)"),
        ("12BD", "decimal(2,0)"),
        ("1.5E1BD", "decimal(2,0)"),
        ("3Y", "tinyint"),
        ("3.0F", "float"),
    ],
)
def test_types_of_numbers(written: str, kind: str) -> None:
    """Measured on Spark 4.1.4."""
    assert number_type(written) == kind


def test_written_types_are_read() -> None:
    assert written_type("array<struct<a: INTEGER, `b`: decimal>>") == "array<struct<a:int,b:decimal(10,0)>>"
    assert written_schema("a INT NOT NULL COMMENT 'x', b map<string, bigint>") == "struct<a:int,b:map<string,bigint>>"
    assert [written_type(text) for text in ("", "array<int", "nope", "int int")] == [None] * 4


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("+ s", "double"),
        ("(+ (s))", "double"),
        ("+ + s", "double"),
        ("+ m['a'] ", "int"),
        ("+ concat(s, s)", "double"),
        ("+ CASE WHEN i > 0 THEN s ELSE 'a' END", "double"),
        ("+ first_value(s) OVER (ORDER BY i)", "double"),
        ("+ s || 'a'", "string"),
        ("+ s::int", "int"),
        ("array(+ s)[0]", "double"),
        ("i + + s", "double"),
        ("+ s = '1'", "boolean"),
        ("+ s IN ('1')", "boolean"),
        ("+ i BETWEEN 1 AND 2", "boolean"),
        ("+ NULL", "double"),
        ("+ i", "int"),
        ("i - + s", "double"),
        ("i + -(+ s)", "double"),
        # An operator, behind what may look like no operand.
        *((f"{operand} + s", "bigint") for operand in ("1L", "i::int", "CASE WHEN true THEN i END", "t.date", "row")),
        *((f"{operand} + NULL", "bigint") for operand in ("1L", "b::bigint", "CASE WHEN true THEN b END")),
        ("+ s + s", "double"),
        ("+ (i > 1)", None),
        ("+ dt", None),
    ],
)
def test_plus_makes_a_number_of_a_text(expression: str, kind: str | None) -> None:
    """The types are those of Spark 4.1.4 in ANSI mode."""
    assert type_of(expression, "true") == kind


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("date'2020-01-01'::string", "string"),
        ("timestamp '2020-01-01 10:11:12'::date", "date"),
        ("timestamp_ntz'2020-01-01 10:11:12'::date", "date"),
        ("coalesce(timestamp'2020-01-01 10:11:12'::date, dt)", "date"),
        ("if(i > 1, date'2020-01-01'::string, 'x')", "string"),
        ("date'2020-01-01'::string::date", "date"),
        ("array((i, s))", None),
        ("max((i, s))", None),
        ("struct((i, s))", None),
        ("coalesce((i, s), NULL)", None),
        ("map(1, CAST(NULL AS interval day))", None),
    ],
)
def test_casts_of_typed_literals_and_tuples(expression: str, kind: str | None) -> None:
    """The cast is that of the whole literal; a tuple is a struct, whose type is not inferred."""
    assert type_of(expression, "true") == kind
