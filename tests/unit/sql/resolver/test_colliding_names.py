"""Names that could be read in several ways: keys of USING, dotted names, outer names in subqueries, EXCEPT."""

from __future__ import annotations

import pytest

from hive_views.errors import SqlError
from hive_views.sql.writing.expand import expand
from tests.unit.sql.tables import Tables

TABLES = Tables(
    {
        "db.t1": {"v1": "int", "k": "int", "j": "int"},
        "db.t2": {"k": "int", "v2": "int"},
        "db.t3": {"v3": "int", "j": "int", "k": "int"},
        "db.t4": {"k": "int", "v4": "int"},
        "db.people": {"addr": "struct<city:struct<name:string>>", "t1": "struct<v1:int,t1:int>"},
        "db.city": {"name": "string", "id": "int"},
        "db.cust": {"cid": "int", "region": "string", "st": "struct<a:int,b:int>", "a": "int"},
        "db.sites": {"cid": "int", "region": "struct<rid:int>"},
        "db.region": {"rid": "int", "name": "string", "arr": "array<int>"},
        "people.addr": {"city": "int"},
    }
)


def expanded(dialect: str, sql: str) -> str:
    """The expanded text without quotes, the database and `AS`, or the error after `!`."""
    try:
        text = expand(sql, TABLES, database="db", dialect=dialect).expanded
    except SqlError as error:
        return f"! {error}"
    return text.replace("`", "").replace('"', "").replace("db.", "")


def check(dialect: str, sql: str, expected: str) -> None:
    actual = expanded(dialect, sql)
    if expected.startswith("!"):
        assert actual.startswith("! line 1:"), actual
        assert expected[2:] in actual
    else:
        assert actual == expected


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
    check(dialect, f"select k from {source}", f"select {named} from {written}")
    if "lateral" not in source:
        check(dialect, f"select 1 x from {source} where k > 1", f"select 1 x from {written} where {key} > 1")
        check(
            dialect,
            f"select max(k) m from {source} group by k having k > 1",
            f"select max({key}) m from {written} group by {key} having {key} > 1",
        )
    check(
        dialect,
        f"with q as (select k from {source}) select k from q",
        f"with q as (select {named} from {written}) select q.k from q",
    )


STARS = [
    (
        "spark",
        "select t1.*, v2 from t1 left join t2 using (k) left join t4 using (k)",
        "select t1.k, t1.v1, t1.j, t2.v2 from t1 left join t2 using (k) left join t4 on t1.k = t4.k",
    ),
    (
        "spark",
        "select * from t1 left join t2 using (k) left join t4 using (k)",
        "select t1.k, t1.v1, t1.j, t2.v2, t4.v4 from t1 left join t2 using (k) left join t4 on t1.k = t4.k",
    ),
    (
        "spark",
        "select * from t1 left join t2 using (k) right join t4 using (k)",
        "select t4.k, t1.v1, t1.j, t2.v2, t4.v4 from t1 left join t2 using (k) right join t4 on t1.k = t4.k",
    ),
    (
        "spark",
        "select t2.* from t1 left join t2 using (k) left join t4 using (k)",
        "select t2.k, t2.v2 from t1 left join t2 using (k) left join t4 on t1.k = t4.k",
    ),
    (
        "spark",
        "select * from t1 left join t3 using (k, j) left join t4 using (k)",
        "select t1.k, t1.j, t1.v1, t3.v3, t4.v4 from t1 left join t3 using (k, j) left join t4 on t1.k = t4.k",
    ),
    ("spark", "select * from t3 natural join t1", "select t3.j, t3.k, t3.v3, t1.v1 from t3 natural join t1"),
    ("spark", "select * from t2 left join t4 using (k) join city on id = k", None),
    (
        "spark",
        "select * from t2 full join t4 using (k)",
        "select coalesce(t2.k, t4.k) AS k, t2.v2, t4.v4 from t2 full join t4 on t2.k = t4.k",
    ),
    (
        "spark",
        "select * from t2 full join t4 using (k) left join t1 using (k)",
        "select coalesce(t2.k, t4.k) AS k, t2.v2, t4.v4, t1.v1, t1.j from t2 full join t4 on t2.k = t4.k "
        "left join t1 on coalesce(t2.k, t4.k) = t1.k",
    ),
    ("spark", "select t2.* from t2 full join t4 using (k)", "select t2.k, t2.v2 from t2 full join t4 on t2.k = t4.k"),
    (
        "spark",
        "select struct(*) s from t1 left join t2 using (k) left join t4 using (k)",
        "select struct(*) s from t1 left join t2 using (k) left join t4 using (k)",
    ),
    (
        "trino",
        "select * from t1 left join t2 using (k)",
        "select t1.k, t1.v1, t1.j, t2.v2 from t1 left join t2 on t1.k = t2.k",
    ),
    (
        "trino",
        "select t1.*, t2.* from t1 left join t2 using (k)",
        "select t1.v1, t1.j, t2.v2 from t1 left join t2 on t1.k = t2.k",
    ),
    (
        "hive",
        "select * from t1 left join t2 using (k)",
        "select t1.k, t1.v1, t1.j, t2.v2 from t1 left join t2 using (k)",
    ),
]


@pytest.mark.parametrize(("dialect", "sql", "expected"), STARS, ids=[f"{case[0]} {case[1]}" for case in STARS])
def test_star_over_using_lists_columns_of_joined_result(dialect: str, sql: str, expected: str | None) -> None:
    if expected is None:
        expected = (
            "select t2.k, t2.v2, t4.v4, city.name, city.id from t2 left join t4 using (k) join city on city.id = t2.k"
        )
    check(dialect, sql, expected)


def test_stored_trino_text_names_using_key_without_table() -> None:
    expansion = expand("select * from t1 left join t2 using (k)", TABLES, database="db", dialect="trino")
    assert expansion.stored == 'select "k", "t1"."v1", "t1"."j", "t2"."v2" from t1 left join t2 using (k)'


def test_hive_exact_keeps_using_and_its_last_table() -> None:
    sql = "select * from t1 left join t2 using (k) left join t4 using (k)"
    expansion = expand(sql, TABLES, database="db", mode="hive-exact")
    assert "`t2`.`k`" in expansion.expanded
    assert expansion.expanded.endswith("left join `db`.`t2` using (`k`) left join `db`.`t4` using (`k`)")


DOTTED = [
    ("addr.city.name from people join city on true", "people.addr.city.name from people join city on true"),
    ("people.addr.city.name from people", "people.addr.city.name from people"),
    ("db.people.addr.city.name from people", "people.addr.city.name from people"),
    ("db.city.name from people join city on true", "city.name from people join city on true"),
    ("cat.db.city.name from city", "city.name from city"),
    ("cat.db.city.name from dog.db.city", "! 'cat'"),
    ("nodb.city.name from city", "! 'nodb'"),
    ("db.x.name from city x", "! 'db'"),
    ("city.nope from city", "! table city has no such column"),
    ("t1.v1 from people", "people.t1.v1 from people"),
    ("t1.v1 from people, t1", "t1.v1 from people, t1"),
    ("t1.t1 from people, t1", "people.t1.t1 from people, t1"),
    ("db.t1.* from t1", "t1.v1, t1.k, t1.j from t1"),
    ("nodb.t1.* from t1", "! Invalid star 'nodb.t1.*'"),
    ("people.t1.* from people, t1", "people.t1.v1, people.t1.t1 from people, t1"),
    ("t1.t1.* from people, t1", "! Invalid star 't1.t1.*'"),
    ("t1.* from people", "people.t1.v1, people.t1.t1 from people"),
    ("people.* from people", "people.addr, people.t1 from people"),
    ("addr.*, t1.v1 from people", "people.addr.city, people.t1.v1 from people"),
    ("name.* from city", "! Invalid star 'name.*'"),
    ("addr.city from people, people.addr", "addr.city from people, people.addr"),
    ("name.x from city", "! Invalid field 'x'"),
    ("people.addr.city c from people", "people.addr.city c from people"),
    ("people.addr.city c from people, people.addr", "addr.city c from people, people.addr"),
]


@pytest.mark.parametrize(("sql", "expected"), DOTTED, ids=[case[0] for case in DOTTED])
def test_dotted_name_is_read_as_spark_reads_it(sql: str, expected: str) -> None:
    check("spark", f"select {sql}", expected if expected.startswith("!") else f"select {expected}")


OUTER = [
    ("spark", "cust where cid = rid", "cust where cust.cid = rid"),
    ("trino", "cust where cid = rid", "cust where cust.cid = rid"),
    ("trino", "cust where cid = db.region.rid", "! give its table another alias"),
    ("trino", "sites where cid = region.rid", "sites where sites.cid = sites.region.rid"),
    ("hive", "cust where cid = rid", "cust where cust.cid = rid"),
    ("spark", "sites where cid = rid", "sites where sites.cid = rid"),
    ("spark", "sites where cid = region.rid", "sites where sites.cid = sites.region.rid"),
    ("spark", "cust where cid = region.rid", "! Invalid field 'rid'"),
    ("hive", "cust where cid = region.rid", "! give its table another alias"),
    ("spark", "cust where cid = db.region.rid", "! give its table another alias"),
    ("spark", "city where id = rid", "city where city.id = region.rid"),
    ("spark", "cust region where cid = rid", "cust region where region.cid = rid"),
    ("spark", "city region where id = rid", "city region where region.id = region.rid"),
    (
        "spark",
        "city where exists (select 1 from cust where cid = rid and id = 1)",
        "city where exists (select 1 from cust where cust.cid = rid and city.id = 1)",
    ),
]


@pytest.mark.parametrize(("dialect", "sql", "expected"), OUTER, ids=[f"{case[0]} {case[1]}" for case in OUTER])
def test_outer_name_is_not_captured_inside_subquery(dialect: str, sql: str, expected: str) -> None:
    if not expected.startswith("!"):
        expected = f"select region.name from region where exists (select 1 from {expected})"
    check(dialect, f"select name from region where exists (select 1 from {sql})", expected)


LAMBDAS = [
    ("transform(arr, region -> region + rid)", "transform(region.arr, region -> region + rid)"),
    ("transform(arr, x -> x + rid)", "transform(region.arr, x -> x + region.rid)"),
]


@pytest.mark.parametrize(("sql", "expected"), LAMBDAS)
def test_name_is_not_captured_by_lambda_parameter(sql: str, expected: str) -> None:
    check("spark", f"select {sql} x from region", f"select {expected} x from region")


WITHOUT_A = "named_struct('b', cust.st.b) AS st, cust.a"
EXCEPT = [
    ("* except (st.a) from cust", f"cust.cid, cust.region, {WITHOUT_A} from cust"),
    ("* except (cust.st.a, cid) from cust", f"cust.region, {WITHOUT_A} from cust"),
    ("cust.* except (st.a) from cust, region", f"cust.cid, cust.region, {WITHOUT_A} from cust, region"),
    ("* except (st.a, st) from cust", "! EXCEPT omits a column or a field twice"),
    ("* except (st.zz) from cust", "! EXCEPT with the field zz"),
    ("* except (a) from cust", "cust.cid, cust.region, cust.st from cust"),
    ("* except (cust.a) from cust", "cust.cid, cust.region, cust.st from cust"),
    ("* except (nodb.cust.a) from cust", "! EXCEPT"),
    ("* except (nope) from cust", "! EXCEPT (nope)"),
    ("* except (k) from t2 join t4 on t2.k = t4.k", "! Ambiguous column reference 'k'"),
    ("* except (t2.k) from t2 join t4 on t2.k = t4.k", "t2.v2, t4.k, t4.v4 from t2 join t4 on t2.k = t4.k"),
    ("* except (k) from t2 left join t4 using (k)", "t2.v2, t4.v4 from t2 left join t4 using (k)"),
]


@pytest.mark.parametrize(("sql", "expected"), EXCEPT, ids=[case[0] for case in EXCEPT])
def test_star_except_leaves_out_columns_and_fields(sql: str, expected: str) -> None:
    check("spark", f"select {sql}", expected if expected.startswith("!") else f"select {expected}")
