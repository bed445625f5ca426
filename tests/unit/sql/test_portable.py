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

WAREHOUSE = Warehouse()
R = "`regions`.`region`, `regions`.`manager`, `regions`.`country`"

# dialect, typed text, stored text (None: as typed), expanded text
TEXTS = [
    ("hive", "select * from regions", f"select {R} from regions", f"select {R} from `sales`.`regions`"),
    (
        "hive",
        "select r.*, d.dept from regions r join hr.departments d on r.region = d.region",
        "select `r`.`region`, `r`.`manager`, `r`.`country`, d.dept"
        " from regions r join hr.departments d on r.region = d.region",
        "select `r`.`region`, `r`.`manager`, `r`.`country`, `d`.`dept`"
        " from `sales`.`regions` `r` join `hr`.`departments` `d` on `r`.`region` = `d`.`region`",
    ),
    ("hive", "select count(*) from regions", None, "select count(*) AS `_c0` from `sales`.`regions`"),
    ("hive", "select true, null from regions", None, "select true AS `_c0`, null AS `_c1` from `sales`.`regions`"),
    (
        "hive",
        "select region, count(*) n from regions group by region, manager grouping sets ((region), (manager), ())",
        None,
        "select `regions`.`region`, count(*) `n` from `sales`.`regions` group by `regions`.`region`,"
        " `regions`.`manager` grouping sets ((`regions`.`region`), (`regions`.`manager`), ())",
    ),
    # A column that has neither a name nor any other word with a position in sqlglot's tree
    ("hive", "select null", None, "select null AS `_c0`"),
    ("spark", "select null", None, "select null AS `NULL`"),
    (
        "hive",
        "select timestamp with local time zone '2020-01-01 00:00:00 UTC' from regions",
        None,
        "select timestamp with local time zone '2020-01-01 00:00:00 UTC' AS `_c0` from `sales`.`regions`",
    ),
    ("spark", "select current_user", None, "select current_user AS `current_user()`"),
    ("spark", "select cast(interval 2 day as string)", None, "select cast(interval 2 day as string) AS `_c0`"),
    (
        "spark",
        "select * from (select null) q",
        "select `q`.`null` from (select null AS `NULL`) q",
        "select `q`.`null` from (select null AS `NULL`) `q`",
    ),
    (
        "hive",
        "select * from (select count(*), region from regions group by region) t",
        "select `t`.`_c0`, `t`.`region` from (select count(*) AS `_c0`, region from regions group by region) t",
        "select `t`.`_c0`, `t`.`region` from"
        " (select count(*) AS `_c0`, `regions`.`region` from `sales`.`regions` group by `regions`.`region`) `t`",
    ),
    # Texts that Hive expands wrongly
    (
        "hive",
        "select t.region from (with w as (select region from regions) select region from w) t",
        None,
        "select `t`.`region` from"
        " (with w as (select `regions`.`region` from `sales`.`regions`) select `w`.`region` from w) `t`",
    ),
    (
        "hive",
        "select /*+ MAPJOIN(r) */ r.region from regions r",
        None,
        "select /*+ MAPJOIN(r) */ `r`.`region` from `sales`.`regions` `r`",
    ),
    # The argument of an aggregate is a column of FROM, not the result's column of that name
    (
        "hive",
        "select region, sum(amount) as amount from orders group by region having sum(amount) > 1 order by sum(amount)",
        None,
        "select `orders`.`region`, sum(`orders`.`amount`) as `amount` from `sales`.`orders` group by `orders`.`region`"
        " having sum(`orders`.`amount`) > 1 order by sum(`orders`.`amount`)",
    ),
    # A column of FROM that is no grouping key cannot be named above GROUP BY
    (
        "hive",
        "select ua.os.name from web.clicks join customers group by ua.os.name order by name",
        None,
        "select `clicks`.`ua`.`os`.`name` from `web`.`clicks` join `sales`.`customers`"
        " group by `clicks`.`ua`.`os`.`name` order by name",
    ),
    (
        "hive",
        "select region from regions group by region order by region",
        None,
        "select `regions`.`region` from `sales`.`regions` group by `regions`.`region` order by `regions`.`region`",
    ),
    # Hive's own text keeps a name of the result in DISTRIBUTE BY, too
    (
        "hive",
        "select region from regions distribute by region sort by region",
        None,
        "select `regions`.`region` from `sales`.`regions` distribute by region sort by region",
    ),
    # Hive plans a SORT BY of result columns only, and `sort by regions.region` is none below an alias
    (
        "hive",
        "select region region from regions sort by region",
        None,
        "select `regions`.`region` `region` from `sales`.`regions` sort by region",
    ),
    (
        "hive",
        "select region `from` from regions order by `from`",
        None,
        "select `regions`.`region` `from` from `sales`.`regions` order by `from`",
    ),
    (
        "hive",
        "select upper(region) region from regions order by region",
        None,
        "select upper(`regions`.`region`) `region` from `sales`.`regions` order by region",
    ),
    (
        "hive",
        "select region, grouping(region) g from regions group by region with rollup",
        None,
        "select `regions`.`region`, grouping(`regions`.`region`) `g` from `sales`.`regions`"
        " group by `regions`.`region` with rollup",
    ),
    (
        "hive",
        "select region r from regions union select dept from hr.departments order by r",
        None,
        "select `regions`.`region` `r` from `sales`.`regions` union"
        " select `departments`.`dept` from `hr`.`departments` order by r",
    ),
    (
        "hive",
        "with unused as (select dept from hr.departments) select r.region from regions r group by region",
        None,
        "with unused as (select `departments`.`dept` from `hr`.`departments`)"
        " select `r`.`region` from `sales`.`regions` `r` group by `r`.`region`",
    ),
    (
        "hive",
        "select country, sum(id) s, rank() over (order by sum(id)) from customers group by country",
        None,
        "select `customers`.`country`, sum(`customers`.`id`) `s`, rank() over (order by sum(`customers`.`id`))"
        " AS `rank_window_0` from `sales`.`customers` group by `customers`.`country`",
    ),
    (
        "hive",
        "select * from (select a.*, b.region from regions a join regions b on a.region = b.region) t",
        "select `t`.`region`, `t`.`manager`, `t`.`country`, `t`.`_col3` from (select `a`.`region`, `a`.`manager`,"
        " `a`.`country`, b.region AS `_col3` from regions a join regions b on a.region = b.region) t",
        "select `t`.`region`, `t`.`manager`, `t`.`country`, `t`.`_col3` from (select `a`.`region`, `a`.`manager`,"
        " `a`.`country`, `b`.`region` AS `_col3` from `sales`.`regions` `a` join `sales`.`regions` `b`"
        " on `a`.`region` = `b`.`region`) `t`",
    ),
    # Spark
    (
        "spark",
        "select region, count(1) from regions group by 1 order by 2",
        None,
        "select `regions`.`region`, count(1) AS `_c1` from `sales`.`regions` group by `regions`.`region` order by 2",
    ),
    (
        "spark",
        "select region, upper(region) u, u || 'x' v from regions where exists (select 1 from orders o where"
        " exists (select 1 from hr.departments d where d.region = regions.region and d.dept = o.status))",
        None,
        "select `regions`.`region`, upper(`regions`.`region`) `u`, u || 'x' `v` from `sales`.`regions` where exists"
        " (select 1 from `sales`.`orders` `o` where exists (select 1 from `hr`.`departments` `d` where"
        " `d`.`region` = `regions`.`region` and `d`.`dept` = `o`.`status`))",
    ),
    (
        "spark",
        "select * except (manager) from (select * from regions)",
        "select `region`, `country` from (select `regions`.`region`, `regions`.`manager`, `regions`.`country`"
        " from regions)",
        "select `region`, `country` from (select `regions`.`region`, `regions`.`manager`, `regions`.`country`"
        " from `sales`.`regions`)",
    ),
    (
        "spark",
        "select transform(phones, p -> concat(p, name)) x from sales.customers",
        None,
        "select transform(`customers`.`phones`, p -> concat(p, `customers`.`name`)) `x` from `sales`.`customers`",
    ),
    ("spark", "select region from regions natural join hr.departments", None, None),
    (  # Spark's star of one table has that table's own column
        "spark",
        "select r.* from hr.departments d left join regions r using (region)",
        "select `r`.`region`, `r`.`manager`, `r`.`country` from hr.departments d left join regions r using (region)",
        "select `r`.`region`, `r`.`manager`, `r`.`country` from `hr`.`departments` `d` left join `sales`.`regions` `r`"
        " using (`region`)",
    ),
    # Trino
    (
        "trino",
        'select "region", count(*) from regions group by 1',
        None,
        'select "regions"."region", count(*) AS "_c1" from "sales"."regions" group by "regions"."region"',
    ),
    (
        "trino",
        "select (2) as x, region, -1 as y, count(*) as n from regions group by 1, 2, 3, -2",
        None,
        'select (2) as "x", "regions"."region", -1 as "y", count(*) as "n" from "sales"."regions"'
        ' group by 1, "regions"."region", 3, -2',
    ),
    (
        "trino",
        "select json_value(region, 'lax $.a') as n, count(*) as m from regions group by 1",
        None,
        'select json_value("regions"."region", \'lax $.a\') as "n", count(*) as "m" from "sales"."regions"'
        ' group by json_value("regions"."region", \'lax $.a\')',
    ),
    (
        "trino",
        "select * from customers c cross join unnest(phones) as t(p)",
        'select "c"."id", "c"."name", "c"."email", "c"."country", "c"."addr", "c"."phones", "c"."attrs", "c"."created",'
        ' "t"."p" from customers c cross join unnest(phones) as t(p)',
        'select "c"."id", "c"."name", "c"."email", "c"."country", "c"."addr", "c"."phones", "c"."attrs", "c"."created",'
        ' "t"."p" from "sales"."customers" "c" cross join unnest("c"."phones") as "t"("p")',
    ),
    (
        "trino",
        "select * from (values 1) as v(x) cross join unnest(array[2]) with ordinality as t(p, n)",
        'select "v"."x", "t"."p", "t"."n" from (values 1) as v(x)'
        " cross join unnest(array[2]) with ordinality as t(p, n)",
        'select "v"."x", "t"."p", "t"."n" from (values 1) as "v"("x")'
        ' cross join unnest(array[2]) with ordinality as "t"("p", "n")',
    ),
    ("trino", "with q(a) as (values 1) select a from q", None, 'with q(a) as (values 1) select "q"."a" from q'),
]


for _dialect in ("hive", "spark", "trino"):
    _quote = '"' if _dialect == "trino" else "`"
    TEXTS.append(
        (
            _dialect,
            "select case when (select max(manager) from regions) in ('x') then region end, country from regions",
            None,
            "select case when (select max(`regions`.`manager`) from `sales`.`regions`) in ('x')"
            " then `regions`.`region` end AS `_c0`, `regions`.`country` from `sales`.`regions`".replace("`", _quote),
        )
    )


@pytest.mark.parametrize(("dialect", "typed", "stored", "expanded"), TEXTS, ids=[text[1] for text in TEXTS])
def test_stored_and_expanded_text(dialect: str, typed: str, stored: str | None, expanded: str | None) -> None:
    expansion = expand(typed, WAREHOUSE, database="sales", dialect=dialect, author=AuthorContext(functions=FUNCTIONS))

    assert expansion.original == typed
    assert expansion.stored == (stored or typed)
    assert expansion.expanded == expanded or expanded is None


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
