"""`import compare` with a real HiveServer2 and Spark: the texts of each type, and views of an import."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hive_views.identifiers import ViewName
from hive_views.legacy_import.comparison.checksums import Relation, relations
from hive_views.legacy_import.comparison.engines import HiveServer, connect_hive
from hive_views.legacy_import.legacy_view import LegacyView, Writer
from hive_views.local_metastore.process import MetastoreProcess
from hive_views.sql.text.dialects import Dialect
from tests.estate.old_calls import OldCalls
from tests.integration.cli.conftest import Done, invoke
from tests.integration.hive.compared_types import COLUMNS, DATABASE, FORMATS, ROWS, statements
from tests.integration.hive.server import serving

pytestmark = pytest.mark.timeout(900)

SALES = "sales"
VIEWS = {
    "plain": "select id, name, price from items",
    "renamed (a, b)": "select id, upper(name) from plain",
    "sums": "select name, count(*) as n, sum(price) as s from plain group by name",
    "with_inner": "with q as (select id as n from plain) select n from q -- the end",
    "joined": "select p.id, s.n from plain p join sums s on p.name = s.name",
    "lists": "select id, tags, counts, part from items",
    "top_n": "select id, price from items order by price limit 2",
    "spread": "select stddev(price) as s from items",
    "random": "select id, rand() as r from items",
    "reads_spread": "select s from spread",
}
"""Texts by the names of the views, with column lists."""
OTHER_ROWS = {"top_n": ("id", "price"), "spread": ("s",), "reads_spread": ("s",)}
"""The columns that differ in Spark."""

QUERIES = (("orc", ""), ("orc", "part.h.l"))
"""The tables and relations of which all queries are run; each takes Hive some seconds."""

IMPORT_PAGE = Path(__file__).parents[3] / "docs" / "import.md"

Run = Callable[..., Done]


@pytest.fixture(scope="module")
def address(metastore: MetastoreProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a HiveServer2."""
    with serving(tmp_path_factory.mktemp("server"), metastore.uri) as address:
        yield address


@pytest.fixture(scope="module")
def hive(address: str) -> Iterator[HiveServer]:
    """A session of it, with the tables of all types and the views."""
    with connect_hive(address) as server:
        yield server


@pytest.fixture(scope="module")
def run(metastore: MetastoreProcess) -> Iterator[Run]:
    """Runs a command line through a proxy for the metastore's client in Spark, which is of Hive 2.3."""
    with OldCalls(metastore.port) as old:
        places = {"HIVE_VIEWS_URI": old.uri, "HIVE_VIEWS_WAREHOUSE": metastore.warehouse}
        yield lambda *words: invoke("--json", *words, **places)


def legacy(database: str) -> LegacyView:
    """Return a view in a database, for queries."""
    return LegacyView(
        name=ViewName(database, "v"), writer=Writer.HIVE, dialect=Dialect.HIVE, sql="", database=database, columns=()
    )


def execute(hive: HiveServer, statement: str, database: str = "default") -> None:
    hive.execute(statement, legacy(database))


@pytest.fixture(scope="module")
def spark(run: Run, metastore: MetastoreProcess) -> Iterator[Any]:
    """The session that `import compare` uses, too."""
    from hive_views.spark.runtime import cache_directory, iceberg_session

    with OldCalls(metastore.port) as old:
        session = iceberg_session(old.uri, metastore.warehouse, catalog="hive_views", cache=cache_directory())
        session.conf.set("spark.sql.session.timeZone", "UTC")
        yield session
        session.stop()


@pytest.fixture(scope="module")
def types(hive: HiveServer) -> None:
    for statement in statements():
        execute(hive, statement)


def texts(query: Callable[[str], list[Any]], relation: Relation) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row) for row in query(f"SELECT * FROM ({relation.sql}) t"))


@pytest.mark.parametrize("name", FORMATS)
def test_texts_and_checksums_are_equal_in_hive_and_spark(types: None, hive: HiveServer, spark: Any, name: str) -> None:
    def in_hive(sql: str) -> list[Any]:
        return hive.query(sql, legacy(DATABASE))

    def in_spark(sql: str) -> list[Any]:
        return [tuple(row) for row in spark.sql(sql).collect()]

    table = f"{DATABASE}.{name}s"
    pairs = zip(relations(table, COLUMNS, Dialect.HIVE), relations(table, COLUMNS, Dialect.SPARK), strict=True)
    paths = []
    for left, right in pairs:
        before, after = texts(in_hive, left), texts(in_spark, right)
        assert (before - after, after - before) == (Counter(), Counter()), left.name
        paths.append((left.name, before.total()))
        if (name, left.name) not in QUERIES:
            continue
        for sample in (None, 2):
            assert in_hive(left.checksum_query(sample)) == in_spark(right.checksum_query(sample)), left.name
        buckets = in_hive(left.bucket_query((), 2))
        assert sorted(buckets) == sorted(in_spark(right.bucket_query((), 2)))
        prefixes = [bucket for bucket, *_ in buckets[:3]]
        rows = [
            sorted((row for row in run(side.rows_query(prefixes, 9)) if row[0]), key=str)
            for run, side in ((in_hive, left), (in_spark, right))
        ]
        assert rows[0] == rows[1]
    elements = [("items", 24), ("prices", 16), ("part.h", 16), ("part.h.l", 24), ("moments", 8)]
    assert paths == [("", ROWS), *elements]


def test_views_of_an_import(hive: HiveServer, address: str, run: Run, spark: Any, tmp_path: Path) -> None:
    execute(hive, f"create database {SALES}")
    columns = (
        "id int, name string, price double, tags array<string>, counts map<string,int>, part struct<a:int,b:string>"
    )
    execute(hive, f"create table {SALES}.items ({columns}) stored as orc")
    rows = ("1, 'a', 1.5", "2, 'b', cast(NULL as double)", "3, 'a', 2.5")
    nested = "array('x', 'y'), map('k', 1), named_struct('a', 1, 'b', 'z')"
    execute(hive, f"insert into {SALES}.items {' union all '.join(f'select {row}, {nested}' for row in rows)}")
    for name, text in VIEWS.items():
        execute(hive, f"create view {name} as {text}", SALES)
    plan = str(tmp_path / "plan.json")
    assert run("import", "plan", SALES, "-o", plan).json["counts"] == {"pending": len(VIEWS)}
    assert run("import", "run", plan).json["counts"] == {"converted": len(VIEWS)}

    compare = ("import", "compare", plan, "--hive", address)
    done = run(*compare)
    assert done.code == 1, done
    results = {view["name"].partition(".")[2]: view for view in json.loads(done.out)["views"]}
    assert {name for name, view in results.items() if view["status"] == "different"} == set(OTHER_ROWS)
    assert {name: tuple(results[name]["columns"]) for name in OTHER_ROWS} == OTHER_ROWS
    assert {name for name, view in results.items() if view["status"] == "unstable"} == {"random"}
    assert [(row["only_in"], row["values"]) for row in results["top_n"]["differences"]] == [
        ("legacy", {"id": "3", "price": "2.50000000000e+00"}),
        ("new", {"id": "2", "price": None}),
    ]
    equal = {name: view["rows"] for name, view in results.items() if view["status"] == "equal"}
    assert equal == {
        "plain": [3, 3],
        "renamed": [3, 3],
        "sums": [2, 2],
        "with_inner": [3, 3],
        "joined": [3, 3],
        "lists": [3, 3],
    }

    # A second run compares nothing again; other rows are another question.
    file = Path(f"{plan}.journal.compared")
    lines = file.read_text().splitlines()
    assert json.loads(run(*compare).out)["views"] == json.loads(done.out)["views"]
    assert file.read_text().splitlines() == lines
    limited = json.loads(run(*compare, "--where", "id = 1", "--view", f"{SALES}.top_n", "--view", f"{SALES}.lists").out)
    assert [(view["status"], view["rows"]) for view in limited["views"]] == [("equal", [1, 1])] * 2
    # The commands of the page.
    section = IMPORT_PAGE.read_text().partition("## Comparison on your data")[2].partition("```console\n")[2]
    commands = [shlex.split(line) for line in section.partition("```")[0].splitlines()]
    assert len(commands) == 3
    for words in commands:
        assert words[:6] == ["$", "hive-views", "import", "compare", "plan.json", "--hive"]
        assert run(*compare, *words[7:]).code == int("--view" not in words)
    # Without an address the views of Hive are skipped, and a reverted view has no other.
    other = ("-o", str(tmp_path / "other"), "--view", f"{SALES}.lists")
    assert run("import", "compare", plan, *other).json["counts"] == {"skipped": 1}
    run("import", "revert", "--journal", f"{plan}.journal", "--view", f"{SALES}.lists", "--yes")
    assert "not converted" in run(*compare, *other).json["views"][0]["text"]


CONDITIONS = {"id + x = -1": 2, "x = -1": 0, "concat(id, x) IN ('11')": 2}
"""Conditions behind a LATERAL VIEW, and the numbers of rows that Hive returns; it should return 0, 0 and 1."""


def test_hive_ignores_conditions_on_both_sides_of_a_lateral_view(hive: HiveServer, spark: Any) -> None:
    execute(hive, "create database lateral_views")
    execute(hive, "create table t (id int, a array<int>) stored as orc", "lateral_views")
    execute(hive, "insert into t select 1, array(1, 2)", "lateral_views")
    query = "SELECT count(*) FROM lateral_views.t LATERAL VIEW explode(a) e AS x WHERE {0}"
    numbers = {text: hive.query(query.format(text), legacy("lateral_views"))[0][0] for text in CONDITIONS}
    assert numbers == CONDITIONS
    assert [spark.sql(query.format(text)).collect()[0][0] for text in CONDITIONS] == [0, 0, 1]
    execute(hive, "set hive.optimize.ppd=false")
    assert [hive.query(query.format(text), legacy("lateral_views"))[0][0] for text in CONDITIONS] == [0, 0, 1]
    execute(hive, "set hive.optimize.ppd=true")


def test_settings_in_the_address_apply(address: str, hive: HiveServer) -> None:
    """Vectorized, Hive 4.1.0 returns 1970-01-01 for trunc of a date."""
    execute(hive, "create database truncated")
    execute(hive, "create table t (d date) stored as orc", "truncated")
    execute(hive, "insert into t select cast('2024-02-29' as date)", "truncated")
    query = "SELECT max(m) FROM (SELECT trunc(d, 'MM') AS m FROM truncated.t) t"
    assert hive.query(query, legacy("truncated")) == [("1970-01-01",)]
    with connect_hive(f"{address}?hive.vectorized.execution.enabled=false") as other:
        assert other.query(query, legacy("truncated")) == [("2024-02-01",)]


def test_server_that_cannot_be_reached(run: Run, tmp_path: Path) -> None:
    from hive_views.errors import QueryEngineError

    with pytest.raises(QueryEngineError, match=r"127\.0\.0\.1:1: "), connect_hive("hive2://127.0.0.1:1"):
        pass
