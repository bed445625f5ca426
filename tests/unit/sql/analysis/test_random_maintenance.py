"""Random queries over random tables in DuckDB: rows without affected keys stay, and added rows are computed exactly.

HIVE_VIEWS_RANDOM_QUERIES sets how many queries; the seed of a query is its number.
"""

from __future__ import annotations

import contextlib
import functools
import os
import random
from collections import Counter
from collections.abc import Mapping

import duckdb
import pytest
import sqlglot

from hive_views.sql.analysis.incremental import IncrementalQuery, NotIncrementalError
from hive_views.sql.analysis.key_columns import KeyColumn, key_columns
from hive_views.sql.analysis.with_clauses import without_with
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.text.dialects import Dialect
from tests.unit.sql.analysis.test_affected_keys import CASES, COLUMNS

FIRST = int(os.environ.get("HIVE_VIEWS_FIRST_QUERY", "0"))
QUERIES = int(os.environ.get("HIVE_VIEWS_RANDOM_QUERIES", "100"))
TABLES = {"t": ("a", "b", "c"), "u": ("a", "y", "z"), "w": ("k", "m")}
Rows = list[tuple[int | None, ...]]


class Generator:
    """Random queries in Spark's dialect; all columns are integers, so that types play no role."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.count = 0

    def pick(self, *choices: str) -> str:
        return self.chance.choice(choices)

    def source(self, depth: int) -> tuple[str, str, list[str]]:
        """A part of FROM, its name and its columns."""
        self.count += 1
        name = f"s{self.count}"
        if depth > 0 and self.chance.random() < 0.3:
            columns = self.chance.randint(1, 3)
            return f"({self.query(depth - 1, columns)}) AS {name}", name, [f"c{at}" for at in range(columns)]
        table = self.pick(*TABLES)
        return f"{table} AS {name}", name, list(TABLES[table])

    def condition(self, left: list[str], right: list[str]) -> str:
        operator = self.pick("=", "=", "=", "<=>", "<")
        extra = f" AND {self.pick(*left)} > {self.pick('0', *right)}" if self.chance.random() < 0.3 else ""
        return f"{self.pick(*left)} {operator} {self.pick(*right)}{extra}"

    def predicate(self, columns: list[str], depth: int) -> str:
        kind = self.pick("compare", "compare", "equal", "in", "not in", "exists", "not exists", "scalar")
        table = self.pick(*TABLES)
        self.count += 1
        name = f"e{self.count}"
        own = [f"{name}.{column}" for column in TABLES[table]]
        if kind == "compare":
            return f"({self.pick(*columns)} > 0 OR {self.pick(*columns)} IS NULL)"
        if kind == "equal":
            return f"{self.pick(*columns)} = {self.pick(*columns)}"
        if kind in ("in", "not in"):
            query = self.query(0, 1) if self.chance.random() < 0.4 else f"SELECT {own[0]} FROM {table} AS {name}"
            return f"{self.pick(*columns)} {kind.upper()} ({query})"
        correlated = f"{self.pick(*own)} {self.pick('=', '=', '<=>')} {self.pick(*columns)}"
        if self.chance.random() < 0.3:
            correlated += f" AND {self.pick(*own)} > 1"
        if kind == "scalar":
            return f"(SELECT max({self.pick(*own)}) FROM {table} AS {name} WHERE {correlated}) > 1"
        return f"{kind.upper()} (SELECT 1 FROM {table} AS {name} WHERE {correlated})"

    def query(self, depth: int, width: int) -> str:
        """A query with the columns c0, c1, …"""
        if depth > 0 and self.chance.random() < 0.2:
            operator = self.pick("UNION ALL", "UNION ALL", "UNION", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL")
            return f"{self.query(depth - 1, width)} {operator} {self.query(depth - 1, width)}"
        if depth > 0 and self.chance.random() < 0.2:
            self.count += 1
            name, columns = f"q{self.count}", self.chance.randint(1, 3)
            inner = self.query(depth - 1, columns)
            items = ", ".join(f"{self.pick(*(f'c{n}' for n in range(columns)))} AS c{at}" for at in range(width))
            return f"SELECT * FROM (WITH {name} AS ({inner}) SELECT {items} FROM {name}) AS x{self.count}"
        text, name, columns = self.source(depth)
        visible = [f"{name}.{column}" for column in columns]
        pairs: list[str] = []
        for _ in range(self.chance.choice((0, 0, 1, 1, 2))):
            other, other_name, other_columns = self.source(depth)
            right = [f"{other_name}.{column}" for column in other_columns]
            kind = self.pick("JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")
            condition = self.condition(visible, right)
            if kind == "FULL JOIN":
                left_column, right_column = self.pick(*visible), self.pick(*right)
                condition = f"{left_column} = {right_column}"
                pairs.append(f"coalesce({left_column}, {right_column})")
                if self.chance.random() < 0.3:
                    pairs += [left_column, right_column]
            text += f" {kind} {other} ON {condition}"
            visible += right if "SEMI" not in kind and "ANTI" not in kind else []
        where = " AND ".join(self.predicate(visible, depth) for _ in range(self.chance.choice((0, 0, 0, 1, 1, 2))))
        choices = [*visible, *pairs, *pairs]
        chosen = [self.pick(*choices) for _ in range(width)]
        end = f" WHERE {where}" if where else ""
        shape = self.pick("plain", "plain", "plain", "distinct", "group", "group", "window", "scalar")
        if shape == "group":
            keys = self.chance.randint(0 if depth < 0 else 1, width)
            aggregates = [self.pick("count(*)", f"sum({column})", f"max({column})", f"min({column})",
                                    f"count(DISTINCT {column})") for column in chosen[keys:]]  # fmt: skip
            named = [f"{item} AS c{at}" for at, item in enumerate([*chosen[:keys], *aggregates])]
            by = self.pick(
                ", ".join(chosen[:keys]),
                ", ".join(str(at + 1) for at in range(keys)),
                ", ".join(f"c{at}" for at in range(keys)),
            )
            having = " HAVING count(*) > 1" if self.chance.random() < 0.2 else ""
            return f"SELECT {', '.join(named)} FROM {text}{end} GROUP BY {by}{having}"
        if shape == "window" and width > 1:
            partition = ", ".join({chosen[0], *chosen[: self.chance.randint(1, 2)]})
            function = self.pick(f"rank() OVER (PARTITION BY {partition} ORDER BY {chosen[-1]})",
                                 f"sum({chosen[-1]}) OVER (PARTITION BY {partition})")  # fmt: skip
            chosen[-1] = function
        if shape == "scalar":
            self.count += 1
            table, inner = self.pick(*TABLES), f"e{self.count}"
            column = f"{inner}.{self.pick(*TABLES[table])}"
            chosen[-1] = f"(SELECT max({column}) FROM {table} AS {inner} WHERE {column} = {self.pick(*visible)})"
        distinct = "DISTINCT " if shape == "distinct" else ""
        return f"SELECT {distinct}{', '.join(f'{item} AS c{at}' for at, item in enumerate(chosen))} FROM {text}{end}"


def some_rows(chance: random.Random, width: int, count: int) -> Rows:
    return [tuple(chance.choice((None, 0, 1, 2, 3)) for _ in range(width)) for _ in range(count)]


class Database:
    """The tables in DuckDB, in several states."""

    def __init__(self) -> None:
        self.connection = duckdb.connect(config={"threads": 1})

    def put(self, tables: Mapping[str, Rows], columns: Mapping[str, tuple[str, ...]], suffix: str = "") -> None:
        statements = []
        for name, rows in tables.items():
            listed = ", ".join(f'"{column}" BIGINT' for column in columns[name])
            statements.append(f"CREATE OR REPLACE TEMP TABLE {name}{suffix} ({listed})")
            if rows:
                values = ", ".join(str(row).replace("None", "NULL").replace(",)", ")") for row in rows)
                statements.append(f"INSERT INTO {name}{suffix} VALUES {values}")
        self.connection.execute("; ".join(statements))

    def rows(self, sql: str) -> Counter[tuple[object, ...]]:
        return Counter(self.connection.execute(translated(sql)).fetchall())


@functools.lru_cache(1000)
def translated(sql: str) -> str:
    [text] = sqlglot.transpile(sql, read="spark", write="duckdb")
    return text


def changed_state(chance: random.Random, rows: Rows, width: int, *, only_adds: bool) -> Rows:
    kept = list(rows)
    if not only_adds:
        chance.shuffle(kept)
        kept = kept[: chance.randint(0, len(kept))]
    return kept + some_rows(chance, width, chance.randint(0, 2))


def value_of(row: tuple[object, ...], key: tuple[int, ...]) -> object:
    return next((row[at] for at in key if row[at] is not None), None)


def check(
    database: Database, sql: str, columns: Mapping[str, tuple[str, ...]], changed: str, seed: int, states: int
) -> Counter[str]:
    """Compare the rows of a query before and after changes of one table; returns what the analysis allows."""
    query = IncrementalQuery(
        without_with(parse_query(sql, Dialect.SPARK)),
        "spark",
        "db",
        {("db", name): names for name, names in columns.items()},
    )
    leaves = [at for at, leaf in enumerate(query.leaves) if leaf.name[1] == changed]
    common: set[tuple[int, ...]] = set()
    keys: list[dict[tuple[int, ...], KeyColumn]] = []
    selections = None
    with contextlib.suppress(NotIncrementalError):
        keys = [key_columns(query, leaf, len(query.tree.selects)) for leaf in leaves]
        common = set.intersection(*map(set, keys)) if keys else set()
    with contextlib.suppress(NotIncrementalError):
        selections = query.added(leaves)
    counts = Counter({"keys": bool(common), "incremental": selections is not None})
    chance = random.Random(-seed - 1)
    for number in range(states if leaves and (common or selections is not None) else 0):
        before = {name: some_rows(chance, len(names), chance.randint(0, 7)) for name, names in columns.items()}
        only_adds = number % 2 == 0
        rows = changed_state(chance, before[changed], len(columns[changed]), only_adds=only_adds)
        after = {**before, changed: rows}
        context = f"{seed}: {changed}: {sql}\n{before}\n{after}"
        database.put(before, columns)
        old = database.rows(sql)
        assert database.rows(query.sql) == old, f"{query.sql}: {context}"
        database.put({changed: rows}, columns)
        new = database.rows(sql)
        minus, plus = Counter(before[changed]), Counter(rows)
        changed_rows = [*(minus - plus), *(plus - minus)]
        for key in common:
            affected = {row[columns[changed].index(each[key].column)] for each in keys for row in changed_rows}
            kept = [
                Counter({row: count for row, count in state.items() if value_of(row, key) not in affected})
                for state in (old, new)
            ]
            assert kept[0] == kept[1], f"key {key}: {context}\n{kept}"
        if only_adds and selections is not None:
            empty: Mapping[str, Rows] = {name: [] for name in columns}
            added = {**empty, changed: list((plus - minus).elements())}
            for part, state in (("now", after), ("before", before), ("none", empty), ("added", added)):
                database.put(state, columns, f"_{part}")
            total = Counter(old)
            for selection in selections:
                text = query.render(lambda at, leaf, given=selection: f"{leaf.name[1]}_{given[at].value}")  # type: ignore[misc]
                total += database.rows(text)
            assert total == new, f"{context}\n{total}\n{new}"
    return counts


@pytest.mark.extended
@pytest.mark.timeout(3600)
def test_random_queries():
    database, counts = Database(), Counter[str]()
    for seed in range(FIRST, FIRST + QUERIES):
        generator = Generator(seed)
        sql = generator.query(2, generator.chance.randint(1, 3))
        database.put({name: [] for name in TABLES}, TABLES)
        try:
            database.rows(sql)
        except duckdb.Error:
            counts["invalid"] += 1  # GROUP BY c0 is a column of a source, for example
            continue
        counts += check(database, sql, TABLES, generator.chance.choice(list(TABLES)), seed, 8)
    print(dict(counts))
    assert counts["keys"] > QUERIES // 10 and counts["incremental"]


def test_documented_keys_are_correct_on_random_data():
    """Check the queries whose keys `test_affected_keys` states, if DuckDB has their functions."""
    database, checked = Database(), 0
    columns = {name: names for (_, name), names in COLUMNS.items()}
    for seed, (sql, of_t, of_u) in enumerate(CASES):
        for changed, keys in (("t", of_t), ("u", of_u)):
            database.put({name: [] for name in columns}, columns)
            try:
                database.rows(sql)
            except (duckdb.Error, sqlglot.errors.SqlglotError):
                continue
            if keys is not None:
                check(database, sql, columns, changed, seed, 12)
                checked += 1
    assert checked > 60
