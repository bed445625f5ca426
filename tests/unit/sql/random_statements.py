"""Random statements over tables, columns, fields, aliases and databases that share six names.

Used by `random_check`, which compares them in a real engine. Most statements are valid; some are not, so that refusals
are compared, too.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

WORDS = ("a", "b", "c", "k", "s", "t")
FIELDS = {"a": "i", "b": "i", "k": "s"}
TYPES = {
    "i": "int",
    "s": "string",
    "d": "decimal(10,2)",
    "t": "struct<a:int,b:int,k:string>",
    "l": "array<int>",
    "m": "map<string,int>",
    "r": "array<struct<a:int,b:int,k:string>>",
    "date": "date",
    "ts": "timestamp",
    "nested": "struct<a:struct<b:int,k:int>,n:struct<n:int>,l:array<struct<a:int,b:int>>>",
    "structs": "map<string,struct<a:int,b:string>>",
    "lists": "array<array<int>>",
}
"""The Hive type of each kind of column."""

TABLES: dict[str, dict[str, str]] = {
    "a.a": {"a": "i", "b": "i", "k": "i", "s": "t"},
    "a.b": {"k": "i", "a": "s", "b": "t", "c": "l"},
    "a.c": {"k": "i", "b": "i", "t": "m", "d": "d"},
    "a.k": {"a": "i", "k": "t", "c": "i", "s": "s"},
    "a.t": {"s": "i", "t": "r", "k": "i"},
    "b.a": {"a": "i", "c": "s", "k": "i"},
    "s.t": {"a": "i", "b": "l", "t": "t"},
}
"""The kind of each column by table; the current database is `a`."""

FURTHER_TABLES: dict[str, dict[str, str]] = {
    "a.ev": {
        "day": "date", "year": "i", "month": "i", "ts": "ts", "date": "date",
        "key": "s", "value": "d", "hour": "i", "user": "s", "timestamp": "ts",
    },
    "a.w": {"w": "i", "x": "i", "col": "i", "pos": "i", "id": "i", "col1": "i", "k": "i"},
    "a.n": {"n": "nested", "a": "i", "m": "structs", "l": "lists"},
    "s.s": {"s": "t", "k": "i", "a": "i"},
}  # fmt: skip
"""Tables of the statements that are written by hand."""

DEFAULTS = {
    "i": "1",
    "s": "'x'",
    "d": "1.5",
    "t": "named_struct('a', 1, 'b', 2, 'k', 'x')",
    "l": "array(1, 2)",
    "m": "map('x', 1)",
    "r": "array(named_struct('a', 1, 'b', 2, 'k', 'x'))",
}
"""A value of each kind, where no column has the kind."""

Columns = list[tuple[str, str]]
"""Name and kind of each column of a query."""


@dataclass
class Source:
    """A table of FROM: its alias, its columns, and its database where the text can name it."""

    alias: str
    columns: Columns
    database: str | None = None


@dataclass
class Block:
    """The names that the expressions of one SELECT can use."""

    sources: list[Source] = field(default_factory=list)
    merged: set[str] = field(default_factory=set)
    outer: Block | None = None
    lambdas: tuple[str, ...] = ()


class Generator:
    """Generates the statements of one seed.

    Args:
        seed: The seed.
        dialect: `spark` or `hive`.
    """

    def __init__(self, seed: int, dialect: str) -> None:
        self.random = random.Random(seed)
        self.spark = dialect == "spark"
        self.ctes: list[dict[str, Columns]] = []
        self.budget = 0

    def spend(self, probability: float) -> bool:
        """Return True with a probability, as long as the statement is small enough."""
        if self.budget <= 0 or not self.chance(probability):
            return False
        self.budget -= 1
        return True

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def word(self) -> str:
        """A name, sometimes in upper case or quotes."""
        return self.random.choice(WORDS)

    def written(self, name: str) -> str:
        roll = self.random.random()
        return name.upper() if roll < 0.04 else f"`{name}`" if roll < 0.08 else name

    # -- FROM --------------------------------------------------------------------------------------------------------

    def table(self, taken: Sequence[str]) -> tuple[str, Source]:
        """A table or common table expression."""
        visible = {name: columns for scope in self.ctes for name, columns in scope.items()}
        if visible and self.chance(0.6):
            name = self.random.choice(list(visible))
            text, columns, database = self.written(name), list(visible[name]), None
        else:
            full = self.random.choice(list(TABLES))
            database, name = full.split(".")
            columns = list(TABLES[full].items())
            if database == "a" and name in visible:
                text = full
            elif database == "a" and self.chance(0.7):
                text = self.written(name)
            else:
                text = full
        alias = name
        if alias in taken or self.chance(0.35):
            alias = self.pick(*[word for word in (*WORDS, "x", "y", "z") if word not in taken])
            text += f" {self.pick('', 'as ')}{self.written(alias)}"
            database = None
            if self.spark and self.chance(0.12):
                columns = [(self.column_name(position), kind) for position, (_, kind) in enumerate(columns)]
                text += f"({', '.join(name for name, _ in columns)})"
        return text, Source(alias, columns, database)

    def column_name(self, position: int) -> str:
        """A name for the column at a position: mostly one of the six words."""
        return WORDS[(position + self.random.randrange(2)) % 6] if self.chance(0.8) else f"n{position}"

    def source(self, depth: int, taken: Sequence[str], outer: Block | None = None) -> tuple[str, Source]:
        """One element of FROM."""
        roll = self.random.random()
        free = [word for word in (*WORDS, "x", "y") if word not in taken]
        if depth > 0 and self.spend(0.3):
            inner = self.piped if self.spark and self.chance(0.25) else self.query
            text, columns = inner(depth - 1, None, unique=True)
            alias = self.pick(*free)
            text = f"({text}) {self.pick('', 'as ')}{alias}"
            if self.spark and self.chance(0.1):
                columns = [(self.column_name(position), kind) for position, (_, kind) in enumerate(columns)]
                text += f"({', '.join(name for name, _ in columns)})"
            return text, Source(alias, columns)
        if self.spark and roll < 0.08:
            alias = self.pick(*free)
            first, second = self.random.sample(WORDS, 2)
            return self.random.choice(
                [
                    (f"range(3) {alias}", Source(alias, [("id", "i")])),
                    (f"range(1, 4) as {alias}({first})", Source(alias, [(first, "i")])),
                    (f"values (1, 'x'), (null, 'y') {alias}", Source(alias, [("col1", "i"), ("col2", "s")])),
                    (f"values (1, 'x'), (2, null) as {alias}({first}, {second})",
                     Source(alias, [(first, "i"), (second, "s")])),
                    (f"explode(array(1, 2)) {alias}", Source(alias, [("col", "i")])),
                    (f"explode(array(1, 2)) as {alias}({first})", Source(alias, [(first, "i")])),
                    (f"inline(array(struct(1 as a, 2 as b))) {alias}", Source(alias, [("a", "i"), ("b", "i")])),
                ]
            )  # fmt: skip
        return self.table(taken)

    def pivoted(self, columns: Columns) -> tuple[str, Columns, Columns] | None:
        """A PIVOT or UNPIVOT, the columns that stay, and the new ones; None where the columns do not fit."""
        numbers = [name for name, kind in columns if kind == "i"]
        if len(numbers) < 2 or any(kind in "m" for _, kind in columns):
            return None
        if self.chance(0.4):
            chosen = self.random.sample(numbers, self.random.randint(1, 2))
            name, value = self.random.sample((*WORDS, "n", "v"), 2)
            items = ", ".join(self.written(item) + self.pick("", "", f" as {self.word()}") for item in chosen)
            text = f"unpivot {self.pick('', 'include nulls ')}({value} for {name} in ({items}))"
            return text, [item for item in columns if item[0] not in chosen], [(name, "s"), (value, "i")]
        key, value = self.random.sample(numbers, 2)
        names = self.random.sample((*WORDS, "p", "q"), 2)
        values = [f"{number} as {name}" if self.chance(0.6) else str(number) for number, name in enumerate(names, 1)]
        shown = [item.rpartition(" ")[2] for item in values]
        calls = [f"{self.pick('max', 'sum', 'min')}({self.written(value)})"]
        new: Columns = [(name if name.isalpha() else f"`{name}`", "i") for name in shown]
        if self.chance(0.3):
            calls = [f"max({value}) m", "count(*)"]
            new = [(f"`{name}_{call}`", "i") for name in shown for call in ("m", "count(1)")]
        text = f"pivot ({', '.join(calls)} for {self.written(key)} in ({', '.join(values)}))"
        return text, [item for item in columns if item[0] not in (key, value)], new

    def from_clause(self, depth: int, outer: Block | None) -> tuple[str, Block]:
        """A FROM clause and what it makes visible."""
        block = Block(outer=outer)
        text, first = self.source(depth, (), outer)
        block.sources.append(first)
        names = [name for name, _ in first.columns]
        pivot = (
            self.pivoted(first.columns) if self.spark and len(set(names)) == len(names) and self.spend(0.12) else None
        )
        if pivot is not None:
            text = f"{text} {pivot[0]}"
            block.sources = [Source(first.alias, pivot[1]), Source("", pivot[2])]
            if pivot[0].startswith("unpivot") and self.chance(0.3):
                alias = self.pick(*WORDS)
                text += f" {self.pick('', 'as ')}{alias}"
                block.sources = [Source(alias, pivot[1] + pivot[2])]
        while self.spend(0.4):
            text = self.join(text, block, depth)
        while self.spend(0.12):
            if self.spark or len(block.sources) == 1 or " lateral view " in text:
                text = self.lateral_view(text, block)
        return text, block

    def join(self, text: str, block: Block, depth: int) -> str:
        taken = [source.alias for source in block.sources]
        if self.spark and self.spend(0.12):
            query, columns = self.query(0, block, unique=True)
            alias = self.pick(*[word for word in (*WORDS, "x", "y") if word not in taken])
            if columns:
                block.sources.append(Source(alias, columns))
                return f"{text}{self.pick(',', ' left join', ' join')} lateral ({query}) {alias}"
            return text
        right, source = self.source(depth, taken)
        kind = self.pick("join", "join", "inner join", "left join", "left outer join", "right join", "full join",
                         "cross join", ",", "left semi join", "left anti join")  # fmt: skip
        if kind == "left anti join" and not self.spark:
            kind = "left semi join"
        if kind in ("cross join", ","):
            block.sources.append(source)
            return f"{text}{kind} {right}" if kind == "," else f"{text} {kind} {right}"
        both = Block([*block.sources, source], set(block.merged), block.outer)
        shared = sorted(
            {name for item in block.sources for name, kind_ in item.columns if kind_ == "i"}
            & {name for name, kind_ in source.columns if kind_ == "i"}
        )
        if self.spark and self.chance(0.08):
            method = self.pick("natural join", "natural left join", "natural right join", "natural full join")
            block.merged |= {name for name, _ in source.columns}
            block.sources.append(source)
            return f"{text} {method} {right}"
        if shared and self.chance(0.4):
            names = self.random.sample(shared, self.random.randint(1, min(2, len(shared))))
            tail = f"using ({', '.join(self.written(name) for name in names)})"
            if "semi" not in kind and "anti" not in kind:
                block.merged |= set(names)
                block.sources.append(source)
            return f"{text} {kind} {right} {tail}"
        tail = f"on {self.join_condition(both, source)}"
        if "semi" not in kind and "anti" not in kind:
            block.sources.append(source)
        return f"{text} {kind} {right} {tail}"

    def join_condition(self, both: Block, source: Source) -> str:
        left = self.column(Block(both.sources[:-1], both.merged), "i")
        right = self.column(Block([source]), "i")
        text = f"{left} = {right}" if left and right else "1 = 1"
        return f"{text} and {self.comparison(both)}" if self.chance(0.2) else text

    def lateral_view(self, text: str, block: Block) -> str:
        taken = [source.alias for source in block.sources]
        alias = self.pick(*[word for word in (*WORDS, "x", "y") if word not in taken])
        outer = "outer " if self.chance(0.2) else ""
        array, map_, rows = self.column(block, "l"), self.column(block, "m"), self.column(block, "r")
        first, second, third = self.random.sample(WORDS, 3)
        choices: list[tuple[str, Columns]] = [("explode(array(1, 2))", [(first, "i")])]
        if array:
            choices += [(f"explode({array})", [(first, "i")]), (f"posexplode({array})", [(first, "i"), (second, "i")])]
        if map_:
            choices.append((f"explode({map_})", [(first, "s"), (second, "i")]))
        if rows:
            choices.append((f"inline({rows})", [(first, "i"), (second, "i"), (third, "s")]))
            choices.append((f"explode({rows})", [(first, "t")]))
        function, columns = self.random.choice(choices)
        block.sources.append(Source(alias, columns))
        return f"{text} lateral view {outer}{function} {alias} as {', '.join(name for name, _ in columns)}"

    # -- Expressions -------------------------------------------------------------------------------------------------

    def column(self, block: Block, kinds: str) -> str | None:
        """A reference to a column or a field of one of some kinds."""
        choices: list[tuple[Source, str, str]] = []
        for source in block.sources:
            for name, kind in source.columns:
                if kind in kinds:
                    choices.append((source, name, ""))
                if kind == "t":
                    choices += [(source, name, part) for part, inner in FIELDS.items() if inner in kinds]
        if not choices:
            return self.column(block.outer, kinds) if block.outer is not None else None
        source, name, part = self.random.choice(choices)
        suffix = f".{self.written(part)}" if part else ""
        count = sum(name == other for item in block.sources for other, _ in item.columns)
        if name in block.merged:
            count = 1
        roll = self.random.random()
        if not source.alias or name.startswith("`"):
            return name + suffix
        if roll < (0.6 if count == 1 else 0.04):
            return self.written(name) + suffix
        if self.spark and source.database and roll > 0.93:
            return f"{source.database}.{source.alias}.{name}{suffix}"
        return f"{self.written(source.alias)}.{self.written(name)}{suffix}"

    def any_column(self, block: Block, kinds: str) -> str:
        """A column of this SELECT or sometimes of one around it; a constant where there is none."""
        searched = block
        while searched.outer is not None and self.chance(0.35):
            searched = searched.outer
        found = self.column(searched, kinds)
        return found or DEFAULTS[kinds[0]]

    def value(self, block: Block, kind: str, depth: int) -> str:
        """An expression of a kind."""
        roll = self.random.random()
        if block.lambdas and kind == "i" and roll < 0.5:
            return self.pick(*block.lambdas)
        if depth <= 0 or roll < 0.5 or kind in "tmr":
            return self.any_column(block, kind)

        def inner(of: str) -> str:
            return self.value(block, of, depth - 1)

        if kind == "i":
            choices = [
                lambda: f"{inner('i')} {self.pick('+', '-', '*')} {inner('i')}",
                lambda: f"coalesce({inner('i')}, {inner('i')})",
                lambda: f"case when {self.condition(block, depth - 1)} then {inner('i')} else {inner('i')} end",
                lambda: f"case {inner('i')} when 1 then {inner('i')} end",
                lambda: f"cast({inner('s')} as int)",
                lambda: f"size({self.any_column(block, 'l')})",
                lambda: f"{self.any_column(block, 'l')}[0]",
                lambda: f"{self.any_column(block, 'm')}['x']",
                lambda: f"({inner('i')})",
                lambda: f"if({self.condition(block, depth - 1)}, {inner('i')}, {inner('i')})",
                lambda: f"length({inner('s')})",
                lambda: f"- {inner('i')}",
                lambda: f"{self.any_column(block, 'r')}[0].a",
            ]
            if self.spark:
                choices += [lambda: self.lambda_value(block), lambda: f"struct({inner('i')} as a).a"]
                if self.spend(0.3):
                    return self.scalar(block)
        elif kind == "s":
            choices = [
                lambda: f"concat({inner('s')}, '-')",
                lambda: f"upper({inner('s')})",
                lambda: f"cast({inner('i')} as string)",
                lambda: f"{inner('s')} || {inner('s')}",
                lambda: f"nvl({inner('s')}, 'z')",
                lambda: f"substr({inner('s')}, 1, 1)",
            ]
        elif kind == "d":
            choices = [
                lambda: f"{inner('d')} {self.pick('+', '*', '-', '/')} {inner('i')}",
                lambda: f"coalesce({inner('d')}, {inner('i')})",
                lambda: f"cast({inner('i')} as decimal(7,3))",
            ]
        else:
            choices = [lambda: f"array({inner('i')}, {inner('i')})"]
        return self.random.choice(choices)()

    def lambda_value(self, block: Block) -> str:
        name = self.word()
        nested = Block(block.sources, block.merged, block.outer, (*block.lambdas, name))
        body = self.value(nested, "i", 1)
        array = self.any_column(block, "l")
        return self.random.choice(
            [
                f"transform({array}, {name} -> {body})[0]",
                f"size(filter({array}, {name} -> {self.comparison(nested)}))",
                f"aggregate({array}, 0, (acc, {name}) -> acc + {body})",
                f"if(exists({array}, {name} -> {self.comparison(nested)}), 1, 2)",
            ]
        )

    def scalar(self, block: Block) -> str:
        """A scalar subquery with one row."""
        text, inner = self.from_clause(0, block)
        return (
            f"(select {self.pick('max', 'min', 'sum')}({self.value(inner, 'i', 1)}) from {text}{self.where(inner, 1)})"
        )

    def comparison(self, block: Block) -> str:
        left = self.value(block, "i", 1)
        return f"{left} {self.pick('=', '>', '<', '<>', '<=>', '>=')} {self.value(block, 'i', 1)}"

    def condition(self, block: Block, depth: int) -> str:
        roll = self.random.random()
        if depth > 0 and self.spend(0.25):
            return self.subquery_condition(block)
        if depth > 0 and roll < 0.3:
            return f"({self.condition(block, depth - 1)} {self.pick('and', 'or')} {self.comparison(block)})"
        if roll < 0.4:
            return f"{self.value(block, 's', 1)} like 'x%'"
        if roll < 0.5:
            return f"{self.any_column(block, 'istlm')} is {self.pick('', 'not ')}null"
        if roll < 0.6:
            return f"{self.value(block, 'i', 1)} {self.pick('in (1, 2)', 'between 1 and 2', 'not in (3)')}"
        return self.comparison(block)

    def subquery_condition(self, block: Block) -> str:
        not_ = self.pick("", "", "not ")
        if self.chance(0.5):
            text, inner = self.from_clause(1 if self.chance(0.2) else 0, block)
            item = self.pick("1", "*", self.any_column(inner, "i"))
            link = f"{self.any_column(Block(inner.sources, inner.merged), 'i')} = {self.any_column(block, 'i')}"
            tail = f" and {self.condition(inner, 1)}" if self.chance(0.3) else ""
            return f"{not_}exists (select {item} from {text} where {link}{tail})"
        text, inner = self.from_clause(0, block)
        where = self.where(inner, 1) if self.chance(0.5) else ""
        return f"{self.any_column(block, 'i')} {not_}in (select {self.any_column(Block(inner.sources, inner.merged), 'i')} from {text}{where})"  # noqa: E501

    def where(self, block: Block, depth: int) -> str:
        return f" where {self.condition(block, depth)}" if self.chance(0.4) else ""

    # -- Queries -----------------------------------------------------------------------------------------------------

    def query(self, depth: int, outer: Block | None, *, unique: bool = False) -> tuple[str, Columns]:
        """A query and its columns; `unique` asks for different names."""
        with_ = ""
        if depth > 0 and self.spend(0.15):
            scope: dict[str, Columns] = {}
            self.ctes.append(scope)
            parts = []
            for name in self.random.sample(WORDS, self.random.randint(1, 2)):
                text, columns = self.query(depth - 1, None, unique=True)
                names = ""
                if self.chance(0.2):
                    columns = [(f"{WORDS[position % 6]}{'' if position < 6 else position}", kind)
                               for position, (_, kind) in enumerate(columns)]  # fmt: skip
                    names = f"({', '.join(name for name, _ in columns)})"
                parts.append(f"{name}{names} as ({text})")
                scope[name] = columns
            with_ = f"with {', '.join(parts)} "
        produce = self.set_operation if self.spend(0.12) else self.select
        text, columns = produce(depth, outer, unique)
        if with_:
            self.ctes.pop()
        return with_ + text, columns

    def piped(self, depth: int, outer: Block | None, *, unique: bool = False) -> tuple[str, Columns]:
        """A query with pipe operators and its columns."""
        text, block = self.from_clause(depth, outer)
        text = f"from {text}"
        if self.chance(0.3):
            items, columns, tail = self.items(block, True, None)
            text = f"select {', '.join(items)} {text}{self.where(block, 0)}{tail}"
            block = Block([Source("", columns)], outer=outer)
        for _ in range(self.random.randint(1, 4)):
            operator, block = self.operator(block, depth)
            text += f" |> {operator}"
        columns = [column for source in block.sources for column in source.columns]
        names = [name for name, _ in columns]
        if unique and len(set(names)) < len(names):
            items, columns, tail = self.items(block, True, "ii")
            text += f" |> select {', '.join(items)}{tail}"
        return text, columns

    def operator(self, block: Block, depth: int) -> tuple[str, Block]:
        """A pipe operator, and what the next one can name."""
        columns = [column for source in block.sources for column in source.columns]
        names = [name for name, _ in columns]
        own = Block(block.sources, block.merged, block.outer)
        roll = self.random.random()
        if roll < 0.2 or not columns:
            return f"where {self.condition(block, depth)}", own
        if roll < 0.32:
            kind = self.pick("i", "i", "s")
            name = self.pick(*WORDS, "z")
            text = f"extend {self.value(block, kind, 1)} {self.pick('', 'as ')}{name}"
            return text, Block([*block.sources, Source("", [(name, kind)])], block.merged, block.outer)
        if roll < 0.46:
            name, kind = self.random.choice(columns)
            kind = kind if kind in "isd" else "i"
            rest = [
                Source(item.alias, [column for column in item.columns if column[0] != name]) for item in block.sources
            ]
            text = f"set {self.written(name) if name.isalnum() else name} = {self.value(block, kind, 1)}"
            return text, Block([*rest, Source("", [(name, kind)])], block.merged - {name}, block.outer)
        if roll < 0.54 and len(columns) > 1:
            name = self.random.choice(names)
            rest = [
                Source(item.alias, [column for column in item.columns if column[0] != name]) for item in block.sources
            ]
            return f"drop {name}", Block(rest, block.merged - {name}, block.outer)
        if roll < 0.60 and len(set(names)) == len(names):
            alias = self.word()
            return f"as {alias}", Block([Source(alias, columns)], outer=block.outer)
        if roll < 0.72:
            items, columns, tail = self.items(block, True, None)
            return f"select {', '.join(items)}{tail}", Block([Source("", columns)], outer=block.outer)
        if roll < 0.80:
            key = self.value(block, "i", self.random.choice([0, 0, 1]))
            call = f"{self.pick('max', 'sum')}({self.value(block, 'i', 1)}) as {self.pick('m', 'a')}"
            text = f"aggregate {call}, count(*) as n group by {key} as {self.pick('k', 'g')}"
            return text, Block([Source("", [(text.rpartition(" ")[2], "i"), ("n", "i")])], outer=block.outer)
        if roll < 0.88 and self.budget > 0:
            before = len(block.sources)
            text = self.join("", block, 0).strip()
            is_operator = not text.startswith((",", "lateral")) and bool(text)
            if is_operator:
                return text, block
            del block.sources[before:]
        if roll < 0.95 and len(set(names)) == len(names):
            pivot = self.pivoted(columns)
            if pivot is not None:
                return pivot[0], Block([Source("", pivot[1] + pivot[2])], outer=block.outer)
        if self.chance(0.5):
            return f"order by {self.any_column(block, 'is')}", own
        kinds = "".join(kind for _, kind in columns)
        if set(kinds) <= set("isd") and self.chance(0.7):
            right, _ = self.select(0, None, False, kinds=kinds)
            return f"{self.pick('union all', 'except', 'union')} {self.pick(right, f'({right})')}", Block(
                [Source("", columns)], outer=block.outer
            )
        return "tablesample (100 percent)", own

    def set_operation(self, depth: int, outer: Block | None, unique: bool) -> tuple[str, Columns]:
        text, columns = self.select(depth, outer, True, kinds=self.pick("i", "is", "iis", "di"))
        kinds = "".join(kind for _, kind in columns)
        for _ in range(self.random.choice([1, 1, 2])):
            right, _ = self.select(0, outer, False, kinds=kinds)
            operator = self.pick("union all", "union", "intersect", "except", "union distinct")
            text = f"{text} {operator} {f'({right})' if self.chance(0.2) else right}"
        if self.chance(0.3):
            text += f" order by {self.pick(columns[0][0], '1')}"
        return text, columns

    def select(self, depth: int, outer: Block | None, unique: bool, kinds: str | None = None) -> tuple[str, Columns]:
        """One SELECT and its columns."""
        source, block = self.from_clause(depth, outer)
        where = self.where(block, depth)
        if kinds is None and self.chance(0.3):
            items, columns, tail = self.grouped(block, unique)
        else:
            items, columns, tail = self.items(block, unique, kinds)
        distinct = "distinct " if self.chance(0.1) else ""
        if kinds is None:
            tail += self.order(block, columns, "group by" in tail)
        return f"select {distinct}{', '.join(items)} from {source}{where}{tail}", columns

    def alias(self, taken: Columns) -> str:
        names = [word for word in WORDS if word not in [name for name, _ in taken]]
        return self.pick(*names) if names and self.chance(0.8) else f"e{len(taken)}"

    def items(self, block: Block, unique: bool, kinds: str | None) -> tuple[list[str], Columns, str]:
        texts: list[str] = []
        columns: Columns = []
        names = [name for source in block.sources for name, _ in source.columns]
        if kinds is None and self.chance(0.2) and (not unique or len(set(names)) == len(names)) and not block.merged:
            text, columns = "*", [column for source in block.sources for column in source.columns]
            if self.spark and self.chance(0.25) and len(columns) > 1:
                left_out, kind = self.random.choice(columns)
                if names.count(left_out) == 1 and kind == "t" and self.chance(0.6):
                    text = f"* except ({left_out}.{self.pick(*FIELDS)})"
                elif names.count(left_out) == 1:
                    text, columns = f"* except ({left_out})", [item for item in columns if item[0] != left_out]
            return [text], columns, ""
        if kinds is None and self.chance(0.12):
            chosen = self.random.choice(block.sources)
            return [f"{chosen.alias}.*"], list(chosen.columns), ""
        expected = (
            list(kinds)
            if kinds is not None
            else [self.pick("i", "i", "s", "t", "l", "d", "i") for _ in range(self.random.randint(1, 4))]
        )
        window = ""
        for kind in expected:
            scope = block
            if self.spark and columns and self.chance(0.1):
                scope = Block([*block.sources, Source("", [])], block.merged, block.outer)
            text = self.value(scope, kind, 2)
            if kind == "i" and self.chance(0.1):
                over, window = self.window(block)
                text = f"{self.pick('sum', 'max', 'count')}({self.any_column(block, 'i')}) over {over}"
                if self.chance(0.3):
                    text = f"rank() over {over}"
            implicit = self.implicit_name(block, kind) if self.spark and kind in "is" and self.chance(0.15) else None
            if implicit is not None and implicit[1] not in [name for name, _ in columns]:
                text, name = implicit
            elif self.chance(0.6) or (unique and not text.isidentifier()) or text in [name for name, _ in columns]:
                name = self.alias(columns)
                text += f" {self.pick('', 'as ')}{self.written(name)}"
            else:
                name = (
                    text.rpartition(".")[2].strip("`").lower()
                    if text.replace(".", "").replace("`", "").isidentifier()
                    else ""
                )
            texts.append(text)
            if name or not unique:
                columns.append((name, kind))
        return texts, [(name, kind) for name, kind in columns if name], window

    def implicit_name(self, block: Block, kind: str) -> tuple[str, str]:
        """An expression without alias that Spark names after a column or a value, and this name."""
        column = self.any_column(block, "id" if kind == "s" else "sd")
        type_ = "string" if kind == "s" else "int"
        if self.chance(0.25):
            word = self.word() if kind == "s" else self.pick("1", "2")
            return (f"'{word}'" if kind == "s" else word), word
        text = self.random.choice(
            [
                f"cast({column} as {type_})",
                f"{column}::{type_}",
                f"{type_}({column})",
                f"try_cast(({column}) as {type_})",
            ]
        )
        return text, column.rpartition(".")[2].strip("`").lower()

    def window(self, block: Block) -> tuple[str, str]:
        """The OVER of a window function, and the WINDOW clause that it needs."""
        partition = f"partition by {self.any_column(block, 'is')}"
        order = f"order by {self.any_column(block, 'is')}{self.pick('', ' desc')}"
        definition = self.pick(f"({partition} {order})", f"({partition})", f"({order})")
        if self.chance(0.3):
            name = self.word()
            return name, f" window {name} as {definition}"
        return definition, ""

    def grouped(self, block: Block, unique: bool) -> tuple[list[str], Columns, str]:
        texts: list[str] = []
        columns: Columns = []
        keys: list[str] = []
        for _ in range(self.random.randint(0, 2)):
            kind = self.pick("i", "i", "s")
            key = self.value(block, kind, self.random.choice([0, 0, 1]))
            if key in keys or key.isdigit() or key.startswith("'"):
                continue
            shown = key
            name = (
                key.rpartition(".")[2].strip("`").lower()
                if key.replace(".", "").replace("`", "").isidentifier()
                else ""
            )
            if not name or self.chance(0.4) or name in [other for other, _ in columns]:
                name = self.alias(columns)
                shown += f" {self.pick('', 'as ')}{name}"
            keys.append(key)
            if self.chance(0.85):
                texts.append(shown)
                columns.append((name, kind))
        for _ in range(self.random.randint(1 if not texts else 0, 2)):
            name = self.alias(columns)
            call = self.random.choice(
                [f"max({self.value(block, 'i', 1)})", "count(*)", f"sum({self.value(block, 'i', 1)})",
                 f"count(distinct {self.any_column(block, 'is')})", f"sum({self.any_column(block, 'd')})",
                 f"min({self.any_column(block, 'i')}) + 1"]
            )  # fmt: skip
            texts.append(f"{call} {self.pick('', 'as ')}{name}")
            columns.append((name, "i"))
        if not keys:
            return texts, columns, ""
        group = ", ".join(keys)
        roll = self.random.random()
        if roll < 0.1:
            group += self.pick(" with rollup", " with cube")
        elif roll < 0.16:
            group += f" grouping sets (({keys[0]}), ())"
        elif self.spark and roll < 0.22:
            group = f"{self.pick('rollup', 'cube')} ({group})"
        elif self.spark and roll < 0.32:
            group = ", ".join(str(position) for position in range(1, len(texts) + 1) if position <= len(keys))
        elif self.spark and roll < 0.40:
            group = ", ".join(name for name, _ in columns[: len(keys)]) or group
        tail = f" group by {group}"
        if self.chance(0.3):
            aggregate = f"max({self.value(block, 'i', 1)})"
            left = self.pick("count(*)", aggregate, columns[-1][0], keys[0])
            tail += f" having {left} > 1"
        return texts, columns, tail

    def order(self, block: Block, columns: Columns, is_grouped: bool) -> str:
        if not self.chance(0.25) or not columns:
            return ""
        names = [name for name, kind in columns if kind in "isd"]
        choices = [self.random.choice(names)] if names else []
        if not is_grouped:
            choices.append(self.any_column(block, "is"))
            choices.append(self.value(block, "i", 1))
        if names and self.spark:
            choices.append("1")
        if not choices:
            return ""
        clause = self.pick("order by", "order by", "order by", "sort by", "cluster by", "distribute by")
        return f" {clause} {self.pick(*choices)}" + (
            self.pick("", " desc") if clause in ("order by", "sort by") else ""
        )

    def statement(self) -> str:
        """A query."""
        self.ctes = []
        self.budget = self.random.randint(0, 6)
        if self.spark and self.chance(0.2):
            return self.piped(1, None)[0]
        return self.query(2, None)[0]
