"""Names that could be read in several ways: keys of USING, dotted names, outer names in subqueries, EXCEPT."""

from __future__ import annotations

import pytest

from hive_views.errors import SqlError
from hive_views.sql.writing.expand import expand
from tests.unit.sql.text_cases import TextCase, each_case, read_tables

TABLES = read_tables("colliding_names.txt")


def expanded(dialect: str, sql: str) -> str:
    """The expanded text without quotes, the database and `AS`, or the error after `!`."""
    try:
        text = expand(sql, TABLES, database="db", dialect=dialect).expanded
    except SqlError as error:
        return f"! {error}"
    return text.replace("`", "").replace('"', "").replace("db.", "")


def check_text(dialect: str, sql: str, text: str) -> None:
    check_case(TextCase(dialect, sql, expanded=text))


def check_case(case: TextCase) -> None:
    actual = expanded(case.dialect, case.sql)
    if case.error is not None:
        assert actual.startswith("! line 1:") and case.error in actual, actual
    else:
        assert actual == case.expanded


# Dialect, FROM clause, name of the key, expanded FROM clause, expanded name. Measured on Spark 4.1.4; the rules of
# Trino are those of its documentation: a key has no table.
KEYS = [
    ("spark", "t1 join t2 using (k)", "t1.k", "t1 join t2 using (k)"),
    ("spark", "t1 left join t2 using (k)", "t1.k", "t1 left join t2 using (k)"),
    ("spark", "t1 right join t2 using (k)", "t2.k", "t1 right join t2 using (k)"),
    ("spark", "t1 full join t2 using (k)", "coalesce(t1.k, t2.k)", "t1 full join t2 on t1.k = t2.k"),
    (
        "spark",
        "t1 left join t2 using (k) left join t4 using (k)",
        "t1.k",
        "t1 left join t2 using (k) left join t4 on t1.k = t4.k",
    ),
    (
        "spark",
        "t1 left join t2 using (k) join t4 using (k)",
        "t1.k",
        "t1 left join t2 using (k) join t4 on t1.k = t4.k",
    ),
    (
        "spark",
        "t1 right join t2 using (k) left join t4 using (k)",
        "t2.k",
        "t1 right join t2 using (k) left join t4 on t2.k = t4.k",
    ),
    (
        "spark",
        "t1 left join t2 using (k) right join t4 using (k)",
        "t4.k",
        "t1 left join t2 using (k) right join t4 on t1.k = t4.k",
    ),
    (
        "spark",
        "t1 full join t2 using (k) left join t4 using (k)",
        "coalesce(t1.k, t2.k)",
        "t1 full join t2 on t1.k = t2.k left join t4 on coalesce(t1.k, t2.k) = t4.k",
    ),
    (
        "spark",
        "t1 left join t2 using (k) full join t4 using (k)",
        "coalesce(t1.k, t4.k)",
        "t1 left join t2 using (k) full join t4 on t1.k = t4.k",
    ),
    (
        "spark",
        "t4 join (t1 left join t2 using (k)) using (k)",
        "t4.k",
        "t4 join (t1 left join t2 using (k)) on t4.k = t1.k",
    ),
    (
        "spark",
        "t1 left join t2 using (k) left semi join t4 using (k)",
        "t1.k",
        "t1 left join t2 using (k) left semi join t4 on t1.k = t4.k",
    ),
    (
        "spark",
        "t1 join t3 using (j, k) left join t4 using (k)",
        "t1.k",
        "t1 join t3 using (j, k) left join t4 on t1.k = t4.k",
    ),
    ("spark", "t1 left join t2 using (k) cross join city", "t1.k", "t1 left join t2 using (k) cross join city"),
    (
        "spark",
        "t1 left join t2 using (k) lateral view explode(array(1)) x as e",
        "t1.k",
        "t1 left join t2 using (k) lateral view explode(array(1)) x as e",
    ),
    ("spark", "t1 natural left join t2", "t1.k", "t1 natural left join t2"),
    ("spark", "t1 natural full join t2", "k", "t1 natural full join t2"),
    (
        "spark",
        "t1 full join t2 using (k) natural left join t4",
        "k",
        "t1 full join t2 using (k) natural left join t4",
    ),
    (
        "spark",
        "t1 full join t2 using (k) left join (select k, 1 x from t4) using (k)",
        "k",
        "t1 full join t2 using (k) left join (select t4.k, 1 x from t4) using (k)",
    ),
    ("trino", "t1 left join t2 using (k)", "t1.k", "t1 left join t2 on t1.k = t2.k"),
    ("trino", "t1 right join t2 using (k)", "t2.k", "t1 right join t2 on t1.k = t2.k"),
    ("trino", "t1 full join t2 using (k)", "coalesce(t1.k, t2.k)", "t1 full join t2 on t1.k = t2.k"),
    (
        "trino",
        "t1 left join t2 using (k) left join t4 using (k)",
        "t1.k",
        "t1 left join t2 on t1.k = t2.k left join t4 on t1.k = t4.k",
    ),
]


@pytest.mark.parametrize(("dialect", "source", "key", "written"), KEYS, ids=[f"{case[0]} {case[1]}" for case in KEYS])
def test_using_key_belongs_to_joined_result(dialect: str, source: str, key: str, written: str) -> None:
    named = key if key.count(".") == 1 else f"{key} AS k"
    check_text(dialect, f"select k from {source}", f"select {named} from {written}")
    if "lateral" not in source:
        check_text(dialect, f"select 1 x from {source} where k > 1", f"select 1 x from {written} where {key} > 1")
        check_text(
            dialect,
            f"select max(k) m from {source} group by k having k > 1",
            f"select max({key}) m from {written} group by {key} having {key} > 1",
        )
    check_text(
        dialect,
        f"with q as (select k from {source}) select k from q",
        f"with q as (select {named} from {written}) select q.k from q",
    )


@each_case("colliding_names.txt")
def test_names_that_collide(case: TextCase) -> None:
    check_case(case)


def test_stored_trino_text_names_using_key_without_table() -> None:
    expansion = expand("select * from t1 left join t2 using (k)", TABLES, database="db", dialect="trino")
    assert expansion.stored == 'select "k", "t1"."v1", "t1"."j", "t2"."v2" from t1 left join t2 using (k)'


def test_hive_exact_keeps_using_and_its_last_table() -> None:
    sql = "select * from t1 left join t2 using (k) left join t4 using (k)"
    expansion = expand(sql, TABLES, database="db", mode="hive-exact")
    assert "`t2`.`k`" in expansion.expanded
    assert expansion.expanded.endswith("left join `db`.`t2` using (`k`) left join `db`.`t4` using (`k`)")
