"""Portable texts: the stored text, in which only stars are replaced, and the expanded text of each dialect."""

from __future__ import annotations

import pytest

from hive_views.errors import SqlError
from hive_views.sql.analysis.references import references
from hive_views.sql.parsing.ddl import parse_statement
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.resolver.scopes import TableSchema
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.text.quoting import string_literal
from hive_views.sql.writing.definition import (
    define_view,
    escape_variables,
    hive_text,
    portable_text,
    requote_trino_text,
)
from hive_views.sql.writing.expand import AuthorContext, UnknownTypeError, expand, typed_columns
from tests.unit.sql.hive_fixtures import FUNCTIONS, Warehouse
from tests.unit.sql.text_cases import TextCase, each_case

WAREHOUSE = Warehouse()


@each_case("portable.txt")
def test_stored_and_expanded_text(case: TextCase) -> None:
    expansion = expand(
        case.sql, WAREHOUSE, database="sales", dialect=case.dialect, author=AuthorContext(functions=FUNCTIONS)
    )

    assert expansion.original == case.sql
    assert expansion.stored == (case.stored or case.sql)
    assert expansion.expanded == case.expanded


def test_text_that_does_not_read_back_is_refused() -> None:
    """The second column is renamed, so that `order by c1` would name the first one."""
    query = "select * from (select region c1, manager as C1 from regions order by c1 desc limit 3) t"
    with pytest.raises(SqlError, match="does not read back"):
        define_view(parse_statement(f"create view v as {query}"), WAREHOUSE, database="sales")  # type: ignore[arg-type]


def test_only_tables_of_the_text_are_looked_up() -> None:
    warehouse = Warehouse()

    expansion = expand("with q as (select * from regions) select * from q", warehouse, database="sales")

    assert set(warehouse.requested) == {("sales", "regions")}
    assert expansion.tables == (("sales", "regions"),)


@pytest.mark.parametrize("dialect", ["spark", "trino"])
@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("select r.*, 1 as x, count(*) as n from regions r group by 1, 2, 3, 4", "with a star"),
        ("select region, count(*) as n from regions group by 1, 2", "aggregate"),
        ("select region, rank() over (order by region) as n from regions group by 1, 2", "window function"),
        ("select region from regions group by 2", "does not exist"),
        ("select region from regions order by 2", "does not exist"),
    ],
)
def test_position_without_grouping_column_is_rejected(dialect: str, sql: str, reason: str) -> None:
    with pytest.raises(SqlError, match=reason):
        expand(sql, WAREHOUSE, database="sales", dialect=dialect)


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("select cast(1 as int) x union all select cast(1 as bigint)", "bigint"),
        ("select cast(1 as smallint) x union select cast(1 as tinyint)", "smallint"),
        ("select null x union all select 1", "int"),
        ("select 1 x union all select 1.5D", "double"),
        ("select 'a' x union all select 1", "bigint"),
        ("select 1 x, 'a' y union by name select 'b' y, 2 x", None),
        ("select cast(1 as decimal(5,2)) x union select cast(1 as decimal(10,0))", "decimal(12,2)"),
        ("select x from values (1), (9999999999) as v(x)", "bigint"),
        ("select x from values (2.0), (4.55) as v(x)", "decimal(3,2)"),
        ("select 1.0 x", "decimal(2,1)"),
        ("select 100.00 x", "decimal(5,2)"),
        ("select .05 x", "decimal(2,2)"),
        ("select 5. x", "decimal(1,0)"),
        ("select 0.00 x", "decimal(2,2)"),
        ("select cast(1 as float) * 2 x", "double"),
        ("select cast(1 as float) * cast(2 as float) x", "float"),
        ("select pmod(2, cast(1 as float)) x", "double"),
        ("select coalesce(cast(1 as float), 0) x", "double"),
        ("select sign(2) x", "double"),
        ("select sign(2.5) + 1 x", "double"),
        ("select avg(cast(1 as decimal(38,18))) x", "decimal(38,22)"),
        ("select avg(cast(1 as decimal(10,2))) x", "decimal(14,6)"),
        ("select cast(1 as decimal(7,3)) * -1 x", "decimal(9,3)"),
        ("select cast(1 as decimal(7,3)) / - 10 x", "decimal(10,6)"),
        ("select cast(1 as decimal(7,3)) - (-1) x", "decimal(8,3)"),
        ("select cast(1 as decimal(7,3)) * -1L x", "decimal(9,3)"),
        ("select cast(1 as decimal(7,3)) / -(1) x", "decimal(18,14)"),
        ("select cast(1 as decimal(7,3)) * - - 1 x", "decimal(18,3)"),
        ("select cast(1 as decimal(7,3)) / +1 x", "decimal(18,14)"),
        ("select cast(1 as decimal(7,3)) * +(1) x", "decimal(18,3)"),
        ("select coalesce(cast(1 as decimal(7,3)), -1) x", "decimal(13,3)"),
        ("select try_cast('1' as int) x", "int"),
        ("select datediff(current_date(), now()) x", "int"),
        ("select datediff(day, current_date(), now()) x", "bigint"),
        ("select date_add(current_date(), 1) x", "date"),
        ("select date_add(day, 1, current_date()) x", "timestamp"),
        ("select floor(2.55) x", "decimal(2,0)"),
        ("select floor(2.55, 1) x", "decimal(3,1)"),
        ("select array_position(array(1), 1) x", "bigint"),
        ("select regr_avgx(1.5, 2.5) x", "decimal(6,5)"),
        ("select abs(cast(1 as tinyint)) x", "tinyint"),
        ("select abs(cast(1 as float)) x", "float"),
    ],
)
def test_inferred_type_equals_type_in_spark(sql: str, kind: str | None) -> None:
    """Measured on Spark 4.1.4, with ANSI mode."""
    expansion = expand(sql, WAREHOUSE, database="sales", dialect="spark")
    assert (expansion.columns[0].name, expansion.columns[0].type) == ("x", kind)


def test_error_position_is_in_the_whole_statement() -> None:
    whole = "create view v as\nselect nope from regions"

    with pytest.raises(SqlError) as error:
        expand(parse_query(whole[17:], "hive", whole=whole, offset=17), WAREHOUSE, database="sales")

    assert (error.value.line, error.value.column, error.value.name) == (2, 8, "nope")


def test_unknown_type_raises_error_with_column_name() -> None:
    typed = expand("select region r, count(*) c from regions group by region", WAREHOUSE, database="sales")
    assert [(column.name, column.type) for column in typed_columns(typed)] == [
        ("r", "string"),
        ("c", "bigint"),
    ]

    unknown = expand(
        "select region, my_translate(region, 'a') t from regions",
        WAREHOUSE,
        database="sales",
        author=AuthorContext(functions=FUNCTIONS),
    )
    with pytest.raises(UnknownTypeError) as error:
        typed_columns(unknown)
    assert (error.value.name, error.value.line, error.value.column) == ("t", 1, 16)


def test_references_of_query() -> None:
    sql = "with q as (select my_f(a) from t) select count(*) from q, Db.U join `x y` where a in (select 1 from c.d.e)"

    query_references = references(parse_query(sql, Dialect.HIVE))

    assert [table.parts for table in query_references.tables] == [("t",), ("Db", "U"), ("x y",), ("c", "d", "e")]
    assert [table.resolved("cur") for table in query_references.tables][:2] == [("cur", "t"), ("db", "u")]
    assert [(function.name, function.registered) for function in query_references.functions] == [
        ("my_f", True),
        ("count", False),
    ]


def test_cte_hides_table_only_in_its_scope() -> None:
    sql = "select * from (with t as (select * from t) select * from t) x join t on true"
    query_references = references(parse_query(sql, Dialect.SPARK))

    assert [table.parts for table in query_references.tables] == [("t",)]
    assert [table.start for table in query_references.tables] == [40]


def test_temporary_table_is_rejected() -> None:
    warehouse = Warehouse()
    warehouse.tables["sales", "tt"] = TableSchema((("a", "int"),), "temporary")

    with pytest.raises(SqlError, match="line 1:15 View definition references temporary table sales@tt"):
        expand("select * from tt", warehouse, database="sales")


def test_hive_text_of_spark_query_is_expanded_text() -> None:
    spark = expand("select * from regions", WAREHOUSE, database="sales", dialect="spark")

    assert hive_text("spark", spark, WAREHOUSE, database="sales") == spark.expanded


# Dialect, typed string, string that Spark and Hive read alike; measured on Spark 4.1.4 and Hive 2.3.10's parser.
STRINGS = [
    ("spark", "'it''s'", r"'it\'s'"),
    ("spark", '"q""r"', r'"q\"r"'),
    ("spark", "''''", r"'\''"),
    ("spark", "''", "''"),
    ("spark", r"r'a\nb'", r"'a\\nb'"),
    ("spark", "'a' 'b'", "'a' 'b'"),
    ("spark", r"'\U000000e9 \\U000000e9 \U0001F600'", r"'\u00e9 \\u000000e9 \ud83d\ude00'"),
    ("spark", r"'it\'s'", r"'it\'s'"),
    ("hive", "'it''s'", "'it' 's'"),
    ("hive", "''", "''"),
    ("hive", "'a'\"b\"", "'a'\"b\""),
]


@pytest.mark.parametrize(("dialect", "typed", "expected"), STRINGS, ids=[f"{d} {t}" for d, t, _ in STRINGS])
def test_hive_text_has_string_that_spark_and_hive_read_alike(dialect: str, typed: str, expected: str) -> None:
    expansion = expand(f"select 'ü', {typed} as x, 'z' as y from regions", WAREHOUSE, database="sales", dialect=dialect)
    text = hive_text(dialect, expansion, WAREHOUSE, database="sales")
    assert text is not None
    assert f", {expected} as " in text.lower()
    assert expansion.stored == f"select 'ü', {typed} as x, 'z' as y from regions"


def test_trino_query_has_hive_text_only_if_it_means_the_same_to_hive() -> None:
    plain = expand('select "region" from regions where "region" > \'a\'', WAREHOUSE, database="sales", dialect="trino")

    expected = "select `regions`.`region` from `sales`.`regions` where `regions`.`region` > 'a'"
    assert hive_text("trino", plain, WAREHOUSE, database="sales") == expected
    for sql in (
        "select p from customers cross join unnest(phones) t(p)",
        "select 'it''s' x from regions",
        "select id / 2 x from customers",
        "select cast(1.5 as integer) x from regions",
        "select split(region, '.') x from regions",
        "select region from regions order by region",
        "select date_add('day', 1, created) x from customers",
    ):
        other = expand(sql, WAREHOUSE, database="sales", dialect="trino")
        assert hive_text("trino", other, WAREHOUSE, database="sales") is None
    # Spark substitutes variables and continues a comment after a backslash, Trino does neither.
    unusual = expand("select '${a}' as x -- b \\\n, region from regions", WAREHOUSE, database="sales", dialect="trino")
    expected = "select '$\\{a}' as `x` -- b \\ \n, `regions`.`region` from `sales`.`regions`"
    assert hive_text("trino", unusual, WAREHOUSE, database="sales") == expected


@pytest.mark.parametrize("text", ["select U&'\\0041' from t", "select X'0a' from t", "select 'it''s' from t"])
def test_trino_string_without_hive_equivalent_is_rejected(text: str) -> None:
    with pytest.raises(SqlError):
        requote_trino_text(text)


@pytest.mark.parametrize(
    ("dialect", "typed", "plain"),
    [
        ("spark", r"""select 'it''s', r'\d', "a""b" x""", r"""select 'it\'s', '\\d', "a\"b" x"""),
        ("hive", "select 'it''s'", "select 'it' 's'"),
        ("spark", r"select '${a}', r'\${b}', `${e}`", r"select '$\{a}', '\\$\{b}', `${e}`"),
        ("spark", "select r'a''b''c', 'b'r'a', r'a'r'b'", r"select 'a' 'b\'c', 'b' 'a', 'a' 'b'"),
        ("spark", "select '${c}''${d}'", r"select '$\{c}\'$\{d}'"),
        ("hive", "select '${hiveconf:a} ${b}'", r"select '$\{hiveconf:a} $\{b}'"),
        ("hive", "select '$', '{', '$ {' -- ${c}", "select '$', '{', '$ {' -- ${c}"),
        ("hive", "select a from t limit 2,3", "select a from t limit 3 OFFSET 2"),
        ("spark", "select a!>1, '!>' from t where a !< 2 -- !<", "select a<=1, '!>' from t where a >= 2 -- !<"),
        (
            "hive",
            "select a, 'limit 1,2' from (select a from t LIMIT 0 /* o */ ,\n 5) q limit 4",
            "select a, 'limit 1,2' from (select a from t LIMIT 5 /* o */  OFFSET \n 0) q limit 4",
        ),
    ],
)
def test_portable_text(dialect: str, typed: str, plain: str) -> None:
    assert portable_text(typed, dialect) == plain


def test_raw_string_with_variable_is_separated_from_next_string() -> None:
    text = "select r'${a}''b', 'c'r'${a}'r'd', r'e''f'"
    assert escape_variables(text, "spark") == r"select '$\{a}' 'b', 'c' '$\{a}' r'd', r'e''f'"


@pytest.mark.parametrize(
    ("dialect", "typed", "plain"),
    [
        ("spark", r"select '${a} it''s', r'\${b}', `${c}` -- ${d}", r"select '$\{a} it''s', '\\$\{b}', `${c}` -- ${d}"),
        ("hive", "select '\\\\${a}', 'it''s'", "select '\\\\$\\{a}', 'it''s'"),
        ("trino", "select '${a}'", "select '${a}'"),
        ("spark", "select r'\\d', '$a'", "select r'\\d', '$a'"),
    ],
)
def test_variables_in_strings_are_escaped(dialect: str, typed: str, plain: str) -> None:
    assert escape_variables(typed, dialect) == plain


@pytest.mark.parametrize(("dialect", "expected"), [("spark", r"'it\'s $\{a} \\'"), ("trino", "'it''s ${a} \\'")])
def test_string_literal_is_escaped(dialect: str, expected: str) -> None:
    assert string_literal("it's ${a} \\", dialect) == expected
