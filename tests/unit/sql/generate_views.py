"""A tool, not a test: generates view statements over the oracle's warehouse, as cases for `hive_oracle.py`.

    python tests/unit/sql/generate_views.py SEED COUNT > cases.jsonl

The statements come from a small grammar: most are valid, some are not (a column of another table, an alias that Hive
does not resolve there). Hive's answers are the fixtures.
"""

# ruff: noqa: E501 (a grammar reads best with one production a line)

from __future__ import annotations

import json
import random
import sys

TABLES: dict[str, list[tuple[str, str]]] = {
    "customers": [("id", "n"), ("name", "s"), ("email", "s"), ("country", "s"), ("addr", "st"), ("phones", "a"), ("attrs", "m"), ("created", "t")],
    "orders": [("order_id", "n"), ("cust_id", "n"), ("amount", "d"), ("status", "s"), ("items", "as"), ("note", "s"), ("placed", "t"), ("ds", "s"), ("region", "s")],
    "products": [("sku", "s"), ("title", "s"), ("category", "s"), ("price", "d"), ("tags", "a")],
    "regions": [("region", "s"), ("manager", "s"), ("country", "s")],
    "returns": [("order_id", "n"), ("sku", "s"), ("reason", "s"), ("returned", "dt")],
    "hr.employees": [("emp_id", "n"), ("name", "s"), ("mgr_id", "n"), ("dept", "s"), ("salary", "f"), ("hired", "dt")],
    "hr.departments": [("dept", "s"), ("title", "s"), ("region", "s")],
    "odd": [("order id", "n"), ("größe", "n"), ("select", "s"), ("1st_col", "n"), ("a-b", "n"), ("camelcase", "s")],
    "v_base": [("id", "n"), ("cname", "s"), ("country", "s")],
}  # fmt: skip


class Generator:
    """Generates statements from one seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.counter = 0

    def chance(self, probability: float) -> bool:
        """Return True with a probability."""
        return self.random.random() < probability

    def word(self, text: str) -> str:
        """Return a keyword in lower or upper case."""
        return text.upper() if self.chance(0.2) else text

    def name(self, name: str) -> str:
        """Return a name, quoted where it has to be and sometimes elsewhere."""
        plain = name.replace("_", "a").isalnum() and name.isascii() and name not in ("select", "date")
        if not plain or self.chance(0.08):
            return f"`{name}`"
        return name.capitalize() if self.chance(0.08) else name

    # -- FROM --------------------------------------------------------------------------------------------------------

    def source(self, depth: int) -> tuple[str, str, list[tuple[str, str]]]:
        """A table or derived table: its text, its alias and its columns (name, kind)."""
        self.counter += 1
        if depth > 0 and self.chance(0.25):
            alias = f"s{self.counter}"
            text, columns = self.query(depth - 1, derived=True)
            return f"({text}) {self.word('as') + ' ' if self.chance(0.3) else ''}{alias}", alias, columns
        table = self.random.choice(list(TABLES))
        short = table.rpartition(".")[2]
        written = table if self.chance(0.7) or "." in table else f"sales.{table}"
        if self.chance(0.5):
            alias = f"{short[0]}{self.counter}"
            return f"{written} {self.word('as') + ' ' if self.chance(0.2) else ''}{alias}", alias, TABLES[table]
        return written, short, TABLES[table]

    def joined(self, depth: int) -> tuple[str, list[tuple[str, list[tuple[str, str]]]]]:
        """A FROM clause: its text, and its aliases with their columns."""
        text, alias, columns = self.source(depth)
        sources = [(alias, columns)]
        for _ in range(self.random.choice([0, 0, 0, 1, 1, 2])):
            right, right_alias, right_columns = self.source(depth)
            if right_alias in [alias for alias, _ in sources]:
                continue
            kind = self.random.choice(
                [
                    "join",
                    "inner join",
                    "left join",
                    "left outer join",
                    "right join",
                    "full outer join",
                    "cross join",
                    "left semi join",
                ]
            )
            pairs = [
                (f"{self.name(left_alias)}.{self.name(a)}", f"{self.name(right_alias)}.{self.name(b)}")
                for left_alias, left_columns in sources
                for a, ka in left_columns
                for b, kb in right_columns
                if ka == kb and ka in ("n", "s")
            ]
            if kind == "cross join" or not pairs:
                text += f" cross join {right}"
            else:
                left_key, right_key = self.random.choice(pairs)
                shared = {a for a, _ in sources[-1][1]} & {b for b, _ in right_columns}
                if shared and len(sources) == 1 and self.chance(0.25) and kind != "left semi join":
                    text += f" {kind} {right} using ({self.name(self.random.choice(sorted(shared)))})"
                else:
                    text += f" {kind} {right} {self.word('on')} {left_key} = {right_key}"
            if kind != "left semi join" or not pairs:
                sources.append((right_alias, right_columns))
        if len(sources) == 1 and self.chance(0.2):
            arrays = [(name, kind) for name, kind in columns if kind in ("a", "m", "as")]
            if arrays:
                name, kind = self.random.choice(arrays)
                produced = {"a": [("x1", "s")], "m": [("k1", "s"), ("w1", "s")], "as": [("it1", "st")]}[kind]
                outer = "outer " if self.chance(0.15) else ""
                names = ", ".join(column for column, _ in produced)
                text += f" lateral view {outer}explode({self.name(name)}) l{self.counter} as {names}"
                sources.append((f"l{self.counter}", produced))
        return text, sources

    # -- Expressions -------------------------------------------------------------------------------------------------

    def column(
        self, sources: list[tuple[str, list[tuple[str, str]]]], kinds: str | None = None
    ) -> tuple[str, str, str]:
        """A column reference: its text, its kind and its name."""
        choices = [
            (alias, name, kind)
            for alias, columns in sources
            for name, kind in columns
            if kinds is None or kind in kinds.split()
        ]
        if not choices:
            return "1", "n", ""
        alias, name, kind = self.random.choice(choices)
        unique = sum(name == other_name for _, columns in sources for other_name, _ in columns) == 1
        qualified = self.chance(0.4) or (not unique and self.chance(0.95))
        return (f"{self.name(alias)}." if qualified else "") + self.name(name), kind, name

    def expression(self, sources: list[tuple[str, list[tuple[str, str]]]], depth: int = 2) -> tuple[str, str, str]:
        """An expression: its text, its kind, and the name that its column would have (or none)."""
        roll = self.random.random()
        if depth == 0 or roll < 0.45:
            return self.column(sources)
        if roll < 0.55:
            left, kind, _ = self.column(sources, "n d f")
            right = self.random.choice(["1", "2.5", self.column(sources, "n d f")[0]])
            return f"{left} {self.random.choice('+-*/%')} {right}", "n" if kind == "n" else kind, ""
        if roll < 0.68:
            inner = self.column(sources, "s")[0]
            function = self.random.choice(
                [
                    "upper({0})",
                    "length({0})",
                    "concat({0}, 'x')",
                    "coalesce({0}, 'n')",
                    "substr({0}, 1, 2)",
                    "trim({0})",
                    "my_translate({0}, 'a', 'b')",
                    "nvl({0}, '')",
                    "{0} || '-'",
                    "regexp_replace({0}, 'a', 'b')",
                ]
            )
            return function.format(inner), "n" if function.startswith("length") else "s", ""
        if roll < 0.76:
            inner, kind, name = self.column(sources, "n s d")
            target = self.random.choice(["string", "bigint", "int", "double", "decimal(12,2)", "varchar(5)"])
            return f"cast({inner} as {target})", {"string": "s", "varchar(5)": "s"}.get(target, "n"), ""
        if roll < 0.84:
            condition = self.condition(sources, 0)
            first, kind, _ = self.column(sources, "s")
            return f"case when {condition} then {first} else 'z' end", "s", ""
        if roll < 0.9:
            inner = self.column(sources, "st")[0]
            if inner != "1":
                return f"{inner}.{self.random.choice(['city', 'geo.lat', 'street', 'sku'])}", "s", ""
            return "'c'", "s", ""
        if roll < 0.95:
            inner = self.column(sources, "a m")[0]
            return (f"{inner}[0]" if inner != "1" else "1", "s", "")
        inner, kind, name = self.column(sources)
        return f"({inner})", kind, name

    def condition(self, sources: list[tuple[str, list[tuple[str, str]]]], depth: int) -> str:
        """A condition."""
        roll = self.random.random()
        if roll < 0.35:
            return f"{self.column(sources, 'n d f')[0]} {self.random.choice(['>', '<', '=', '<>', '>='])} {self.random.choice(['3', '10.5'])}"
        if roll < 0.55:
            return f"{self.column(sources, 's')[0]} {self.random.choice(['= ', 'like ', 'rlike ', '<=> '])}'x%'"
        if roll < 0.65:
            return f"{self.column(sources)[0]} is {self.random.choice(['', 'not '])}null"
        if roll < 0.75:
            return (
                f"{self.column(sources, 'n')[0]} {self.random.choice(['in (1, 2)', 'between 1 and 5', 'not in (7)'])}"
            )
        if depth > 0 and roll < 0.9:
            table = self.random.choice(["orders", "customers", "regions", "hr.employees"])
            inner = f"q{self.counter}"
            keys = [name for name, kind in TABLES[table] if kind == "n"] or ["region"]
            outer = self.column(sources, "n" if keys != ["region"] else "s")[0]
            if self.chance(0.5):
                return f"{outer} {'not ' if self.chance(0.3) else ''}in (select {self.name(self.random.choice(keys))} from {table})"
            where = f"{inner}.{keys[0]} = {outer}"
            return f"{'not ' if self.chance(0.3) else ''}exists (select 1 from {table} {inner} where {where})"
        if depth > 0:
            return f"({self.condition(sources, depth - 1)} {self.random.choice(['and', 'or'])} {self.condition(sources, depth - 1)})"
        return f"not {self.column(sources, 's')[0]} = 'q'"

    # -- Queries -----------------------------------------------------------------------------------------------------

    def items(
        self, sources: list[tuple[str, list[tuple[str, str]]]], derived: bool
    ) -> tuple[list[str], list[tuple[str, str]]]:
        """A SELECT list and its columns."""
        if self.chance(0.15):
            return ["*"], [column for _, columns in sources for column in columns]
        if self.chance(0.1):
            alias, columns = self.random.choice(sources)
            return [f"{self.name(alias)}.*"], list(columns)
        texts: list[str] = []
        columns = []
        for position in range(self.random.randint(1, 4)):
            text, kind, name = self.expression(sources)
            if (derived and not name) or name in [column for column, _ in columns] or self.chance(0.35):
                name = f"c{position}"
                text += f" {self.word('as') + ' ' if self.chance(0.6) else ''}{self.name(name)}"
            texts.append(text)
            columns.append((name or f"_c{position}", kind))
        if self.chance(0.1):
            partition, order = self.column(sources, "s n")[0], self.column(sources, "n s d")[0]
            function = self.random.choice(
                ["row_number()", "rank()", f"sum({self.column(sources, 'n d f')[0]})", "count(*)"]
            )
            texts.append(f"{function} over (partition by {partition} order by {order}) w")
            columns.append(("w", "n"))
        return texts, columns

    def grouped(self, sources: list[tuple[str, list[tuple[str, str]]]]) -> tuple[str, str, list[tuple[str, str]]]:
        """A SELECT list with aggregates, its GROUP BY, and its columns."""
        keys = [
            self.column(sources, "s n") if self.chance(0.7) else self.expression(sources, 1)
            for _ in range(self.random.randint(0, 2))
        ]
        texts, columns = [], []
        for text, kind, name in keys:
            if name and name not in [column for column, _ in columns] and self.chance(0.7):
                texts.append(text)
                columns.append((name, kind))
            else:
                alias = f"g{len(columns)}"
                texts.append(f"{text} {alias}")
                columns.append((alias, kind))
        for function in self.random.sample(
            ["count(*)", "max({})", "sum({})", "count(distinct {})", "min({})", "avg({})", "my_max({})"],
            self.random.randint(1, 2),
        ):
            alias = f"a{len(columns)}"
            texts.append(f"{function.format(self.column(sources, 'n d f')[0])} {alias}")
            columns.append((alias, "n"))
        tail = ""
        if keys:
            tail = f" {self.word('group by')} " + ", ".join(text for text, _, _ in keys)
            if self.chance(0.1):
                tail += self.random.choice([" with rollup", " with cube"])
            if self.chance(0.25):
                tail += f" having {self.random.choice(['count(*) > 1', f'{columns[-1][0]} > 3', f'max({self.column(sources, chr(110))[0]}) > 2'])}"
        return ", ".join(texts), tail, columns

    def query(self, depth: int, derived: bool = False) -> tuple[str, list[tuple[str, str]]]:
        """A SELECT or a set operation, and its columns."""
        text, columns = self.select(depth, derived)
        if self.chance(0.1) and not any(
            word in text for word in (" order by", " sort by", " limit", " distribute", " cluster")
        ):
            operator = self.random.choice(["union all", "union", "union distinct", "intersect", "except"])
            table = self.random.choice([name for name in TABLES if name != "odd"])
            names = [name for name, _ in TABLES[table]]
            text += f" {operator} select {', '.join(self.random.choice(names) if kind == 's' else 'null' for _, kind in columns)} from {table}"
            if self.chance(0.3) and columns:
                text += f" order by {self.name(columns[0][0])}"
        return text, columns

    def select(self, depth: int, derived: bool) -> tuple[str, list[tuple[str, str]]]:
        """One SELECT, and its columns."""
        clause, sources = self.joined(depth)
        where = f" {self.word('where')} {self.condition(sources, 1)}" if self.chance(0.45) else ""
        if self.chance(0.22):
            items, tail, columns = self.grouped(sources)
        else:
            texts, columns = self.items(sources, derived)
            items, tail = ", ".join(texts), ""
        distinct = f"{self.word('distinct')} " if self.chance(0.08) else ""
        order = ""
        if self.chance(0.3):
            names = [self.name(name) for name, kind in columns if kind not in ("a", "m", "st", "as")]
            target = self.random.choice(names) if names and self.chance(0.6) else self.column(sources, "s n")[0]
            order = f" {self.word('order by')} {target}{self.random.choice(['', ' desc', ' asc'])}"
            order += f" limit {self.random.randint(1, 9)}" if self.chance(0.4) else ""
        elif self.chance(0.05):
            order = f" {self.random.choice(['sort by', 'distribute by', 'cluster by'])} {self.name(columns[0][0])}"
        spaces = "\n" if self.chance(0.1) else " "
        return (
            f"{self.word('select')} {distinct}{items}{spaces}{self.word('from')} {clause}{where}{tail}{order}",
            columns,
        )

    def statement(self, number: int) -> dict[str, str]:
        """A CREATE VIEW."""
        view = f"g{number:04}"
        text, columns = self.query(2)
        if self.chance(0.1):
            table = self.random.choice(list(TABLES))
            text = (
                f"with w1 as ({text}) select * from w1"
                if self.chance(0.6)
                else f"with {table.rpartition('.')[2]}1 as ({text}) select x.* from {table.rpartition('.')[2]}1 x"
            )
        column_list = ""
        if self.chance(0.08) and columns and "*" not in text:
            column_list = " (" + ", ".join(f"n{position}" for position in range(len(columns))) + ")"
        return {"construct": "generated", "view": f"sales.{view}", "ddl": f"create view {view}{column_list} as {text}"}


def main() -> None:
    """The command line."""
    generator = Generator(int(sys.argv[1]))
    for number in range(int(sys.argv[2])):
        print(json.dumps(generator.statement(number), ensure_ascii=False))


if __name__ == "__main__":
    main()
