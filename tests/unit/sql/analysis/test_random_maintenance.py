"""Random queries over random tables in DuckDB: rows without affected keys stay, and added rows are computed exactly.

HIVE_VIEWS_RANDOM_QUERIES sets how many queries; the seed of a query is its number.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator, Mapping

import duckdb
import pytest
import sqlglot

from hive_views.sql.analysis.incremental import IncrementalQuery, NotIncrementalError, RowSelection
from hive_views.sql.analysis.key_columns import key_columns
from hive_views.sql.analysis.with_clauses import without_with

QUERIES = int(os.environ.get("HIVE_VIEWS_RANDOM_QUERIES", "100"))
TABLES = {"t": ("a", "b", "c"), "u": ("a", "y", "z"), "w": ("k", "m")}
COLUMNS = {("db", name): columns for name, columns in TABLES.items()}
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
        self.connection = duckdb.connect()

    def put(self, name: str, columns: tuple[str, ...], rows: Rows) -> None:
        listed = ", ".join(f'"{column}" BIGINT' for column in columns)
        self.connection.execute(f"CREATE OR REPLACE TABLE {name} ({listed})")
        if rows:
            self.connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(columns))})", rows)

    def rows(self, sql: str) -> Counter[tuple[object, ...]]:
        [text] = sqlglot.transpile(sql, read="spark", write="duckdb")
        return Counter(self.connection.execute(text).fetchall())


def states(chance: random.Random, changed: str) -> tuple[Mapping[str, Rows], Mapping[str, Rows], bool]:
    before = {name: some_rows(chance, len(columns), chance.randint(0, 7)) for name, columns in TABLES.items()}
    only_adds = chance.random() < 0.4
    rows = list(before[changed])
    if not only_adds:
        chance.shuffle(rows)
        rows = rows[: chance.randint(0, len(rows))]
    rows = rows + some_rows(chance, len(TABLES[changed]), chance.randint(0, 2))
    return before, {**before, changed: rows}, only_adds


def cases() -> Iterator[tuple[int, str]]:
    for seed in range(QUERIES):
        generator = Generator(seed)
        yield seed, generator.query(2, generator.chance.randint(1, 3))


def value_of(row: tuple[object, ...], key: tuple[int, ...]) -> object:
    return next((row[at] for at in key if row[at] is not None), None)


@pytest.mark.timeout(3600)
def test_only_rows_with_affected_keys_change():
    database, counts = Database(), Counter[str]()
    for seed, sql in cases():
        chance = random.Random(-seed - 1)
        changed = chance.choice(list(TABLES))
        for name, columns in TABLES.items():
            database.put(name, columns, [])
        try:
            database.rows(sql)
        except duckdb.Error:
            counts["invalid"] += 1  # GROUP BY c0 is a column of a source, for example
            continue
        query = IncrementalQuery(without_with(sql, "spark"), "spark", "db", COLUMNS)
        leaves = [at for at, leaf in enumerate(query.leaves) if leaf.name[1] == changed]
        width = len(query.tree.selects)
        if not leaves:
            continue
        try:
            keys = [key_columns(query, leaf, width) for leaf in leaves]
            common = set.intersection(*map(set, keys))
        except NotIncrementalError:
            common = set()
        selections = None
        try:
            selections = query.added(leaves)
        except NotIncrementalError:
            counts["not incremental"] += 1
        counts["keys" if common else "no keys"] += 1
        if not common and selections is None:
            continue
        for _ in range(4):
            before, after, only_adds = states(chance, changed)
            for name, columns in TABLES.items():
                database.put(name, columns, before[name])
            old = database.rows(sql)
            assert database.rows(query.sql) == old, f"{seed}: {sql}\n{query.sql}"
            database.put(changed, TABLES[changed], after[changed])
            new = database.rows(sql)
            minus, plus = Counter(before[changed]), Counter(after[changed])
            changed_rows = [*(minus - plus), *(plus - minus)]
            for key in common:
                affected = {row[TABLES[changed].index(each[key].column)] for each in keys for row in changed_rows}
                kept = [Counter({row: n for row, n in rows.items() if value_of(row, key) not in affected})
                        for rows in (old, new)]  # fmt: skip
                assert kept[0] == kept[1], f"{seed}: key {key} of {changed}: {sql}\n{before}\n{after}\n{kept}"
            if only_adds and selections is not None:
                counts["incremental"] += 1
                parts = {
                    RowSelection.NOW: after, RowSelection.BEFORE: before, RowSelection.NONE: {},
                    RowSelection.ADDED: {changed: list((plus - minus).elements())},
                }  # fmt: skip
                for part, rows in parts.items():
                    for name, columns in TABLES.items():
                        database.put(f"{name}_{part.value}", columns, rows.get(name, []))
                total = Counter(old)
                for selection in selections:
                    total += database.rows(
                        query.render(lambda at, leaf, given=selection: f"{leaf.name[1]}_{given[at].value}")
                    )
                assert total == new, f"{seed}: {changed}: {sql}\n{before}\n{after}\n{total}\n{new}"
    print(dict(counts))
    assert counts["keys"] > QUERIES // 10 and counts["incremental"]
