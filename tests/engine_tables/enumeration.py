"""Enumeration: calls and operators with arguments that are not in the learned sample, with Spark's types."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from tests.engine_tables.arguments import CONSTANTS, KEPT_TYPES, SIMPLE, Written, columns_of, literal, written
from tests.engine_tables.asking import FIELDS
from tests.engine_tables.hive_engine import NOT_LEARNED as HIVE_NOT_LEARNED
from tests.engine_tables.hive_engine import SIMPLE as HIVE_SIMPLE
from tests.engine_tables.hive_engine import HiveEngine
from tests.engine_tables.sampling import Sampler, Signature

KINDS_EACH = 6
SEED = 20261128
_TRIES = 30
_KEYWORDS = frozenset({"between", "case", "cast", "in", "when"})
"""Operators that Spark also lists as functions."""
_OF_ONE_ARGUMENT = frozenset({"hour", "minute", "second"})
"""Functions for which Spark 4.1.4 ignores further arguments."""
_EXPENSIVE = frozenset({"window", "session_window"})
"""Functions that multiply the rows of a plan, for some arguments until the memory is full."""
COLUMNS = columns_of((*SIMPLE.values(), *KEPT_TYPES), "k")
HIVE_COLUMNS = columns_of((*HIVE_SIMPLE, *KEPT_TYPES), "k")
HIVE_NOT_CALLED = (
    HIVE_NOT_LEARNED | _KEYWORDS | {"and", "or", "not", "like", "rlike", "regexp", "div", "index", "grouping"}
)
"""Functions that need OVER, and those that Hive's grammar writes as operators."""
OPERATORS = ("+", "-", "*", "/", "%", "DIV", "||", "&", "|", "^")
FORMS = (
    "transform({0}, x -> x)",
    "transform({0}, (x, i) -> named_struct('a', x, 'b', i))",
    "filter({0}, x -> x IS NOT NULL)",
    "array_sort({0}, (l, r) -> 0)",
    "exists({0}, x -> x IS NULL)",
    "forall({0}, x -> x IS NULL)",
    "aggregate({0}, 0, (s, x) -> s + 1)",
    "reduce({0}, 0L, (s, x) -> s + 1, s -> concat(s, 'a'))",
    "zip_with({0}, {0}, (x, y) -> array(x, y))",
    "map_filter({0}, (k, v) -> k IS NOT NULL)",
    "transform_keys({0}, (k, v) -> struct(k))",
    "transform_values({0}, (k, v) -> array(v))",
    "map_zip_with({0}, {0}, (k, a, b) -> coalesce(a, b))",
    "{0}[0]",
    "{0}['a']",
    "arrays_zip({0}, {0})",
    "struct({0}, 1, {0} AS b)",
    "named_struct('A', {0})",
    "element_at({0}, 1)",
    "collect_list({0})",
    "max({0}) OVER (PARTITION BY 1)",
    "lag({0}) OVER (ORDER BY 1)",
    "CASE WHEN true THEN {0} END",
    "-{0}",
    "~{0}",
    "round({0}, 1)",
    "round({0}, -2)",
    "ceil({0}, 2)",
    "percentile_cont(0.5) WITHIN GROUP (ORDER BY {0})",
    "first({0}, true)",
    "{0} + INTERVAL '1' DAY",
    "{0} - INTERVAL 2 HOURS",
    "{0} + INTERVAL 3 MONTHS",
    "trim(BOTH 'x' FROM {0})",
    "substring({0} FROM 1 FOR 2)",
    "CAST({0} AS STRING)",
    "try_cast({0} AS DOUBLE)",
)
PAIRS = (
    "CASE WHEN true THEN {0} ELSE {1} END",
    "coalesce({0}, {1})",
    "if(true, {0}, {1})",
    "nvl({0}, {1})",
    "greatest({0}, {1})",
    "array({0}, {1})",
    "map({0}, {1})",
    "array_union(array({0}), array({1}))",
    "array_append(array({0}), {1})",
    "concat({0}, {1})",
    "nullif({0}, {1})",
    "{0} = {1}",
)


INTERVALS = {
    "iy": "interval year",
    "im": "interval month",
    "iym": "interval year to month",
    "id": "interval day",
    "ihm": "interval hour to minute",
    "ids": "interval day to second",
    "ci": "interval",
    "aiy": "array<interval year>",
    "ads": "array<interval day to second>",
}
OPERAND_COLUMNS = INTERVALS | COLUMNS
"""The columns of `operand_expressions`."""
OF_TWO_OPERANDS = (
    *("{0} = {1}", "{0} <> {1}", "{0} < {1}", "{0} <=> {1}", "{0} IS DISTINCT FROM {1}", "{0} IN ({1})"),
    *("{0} BETWEEN {1} AND {1}", "CASE {0} WHEN {1} THEN 1 END", "{0} LIKE {1}", "{0} AND {1}", "{0} OR {1}"),
    *("{0} + {1}", "{0} - {1}", "{0} * {1}", "{0} / {1}", "{0} % {1}", "{0} DIV {1}", "{0} || {1}", "{0} & {1}"),
    *("if(true, {0}, {1})", "nullif({0}, {1})", "greatest({0}, {1})", "coalesce({0}, {1})", "try_add({0}, {1})"),
    *("decode(1, 1, {0}, {1})", "decode(1, 1, 'a', 2, {0}, {1})", "decode(1, {0}, 1)", "equal_null({0}, {1})"),
    *("lag({0}, 1, {1}) OVER (ORDER BY 1)", "array_contains(array({0}), {1})", "array_position(array({0}), {1})"),
)
_CAST_TARGETS = (
    *("INT", "STRING", "DOUBLE", "DATE", "TIMESTAMP", "BOOLEAN", "BINARY", "DECIMAL(5,2)", "VARIANT", "TIMESTAMP_NTZ"),
    *("INTERVAL DAY", "INTERVAL YEAR TO MONTH", "INTERVAL"),
)
OF_ONE_OPERAND = (
    *("NOT {0}", "{0} IS TRUE", "{0} IS NOT FALSE", "-{0}", "~{0}", "dateadd(DAY, 1, {0})", "datediff(DAY, {0}, {0})"),
    *("timestampdiff(DAY, {0}, {0})", "nth_value({0}, 2) OVER (ORDER BY 1)", "lead({0}) OVER (ORDER BY 1)"),
    *("abs({0})", "sum({0})", "avg({0})", "window({0}, '5 minutes')", "try_cast({0} AS INT)"),
    *(f"CAST({{0}} AS {target})" for target in _CAST_TARGETS),
)


def operand_expressions(count: int, seed: int = SEED) -> list[str]:
    """Return a random part of the forms above with operands of every type, the half of them with intervals."""
    items = ["NULL", "1", "1L", "1.5", "'a'", *OPERAND_COLUMNS]
    single = [form.format(item) for form in OF_ONE_OPERAND for item in items]
    mixed = [form.format(*pair) for form in OF_TWO_OPERANDS for pair in product(items, repeat=2)]
    of_intervals = [
        form.format(*pair)
        for form in OF_TWO_OPERANDS
        for interval in INTERVALS
        for item in items
        for pair in ((interval, item), (item, interval))
    ]
    chosen = random.Random(seed)
    parts = [chosen.sample(part, min(count // 3, len(part))) for part in (single, mixed, of_intervals)]
    return sorted({item for part in parts for item in part})


def expressions(engine: Any, share: float = 1.0, seed: int = SEED) -> dict[str, list[str]]:
    """Return the expressions of each class that may be valid; those of a function do not depend on the others.

    Args:
        engine: The engine.
        share: Of the functions, and of the expressions of the other classes.
        seed: Of the random choices.
    """
    pool = written(COLUMNS)
    literals = [literal(sql, kind) for sql, kind in CONSTANTS.items()]
    items = [*pool, *literals]
    pairs = list(product([item.sql for item in items], repeat=2))
    names = [name for name in engine.functions() if name.isidentifier() and name not in _EXPENSIVE | _KEYWORDS]
    calls = (
        call for name in part_of(sorted(names), share, seed) for call in _calls_of(engine, name, pool, literals, seed)
    )
    result = {"function": list(calls)}
    chosen = random.Random(seed)
    others = {
        "operator": [f"{left} {name} {right}" for name in OPERATORS for left, right in chosen.sample(pairs, 250)],
        "pair": [form.format(*pair) for form in PAIRS for pair in chosen.sample(pairs, 150)],
        "form": [form.format(item.sql) for form in FORMS for item in items],
        "field": [f"extract({field} FROM {item.sql})" for field in FIELDS for item in pool],
    }
    return result | {kind: part_of(listed, share, seed) for kind, listed in others.items()}


def part_of(items: list[str], share: float, seed: int) -> list[str]:
    """Return a random part of items, in their order."""
    if share >= 1:
        return items
    positions = random.Random(seed).sample(range(len(items)), round(share * len(items)))
    return [items[position] for position in sorted(positions)]


def _calls_of(engine: Any, name: str, pool: Sequence[Written], literals: Sequence[Written], seed: int) -> Iterator[str]:
    sampler = Sampler(engine, pool, seed)
    chosen = random.Random(f"{seed} {name}")
    seeds = sampler.seeds(name)
    for count in [count for count in sampler.counts(name) if count <= 4]:
        if name not in _OF_ONE_ARGUMENT or count <= 1:
            for call in dict.fromkeys(_calls(chosen, pool, literals, seeds.get(count, []), count)):
                yield f"{name}({', '.join(item.sql for item in call)})"


def _calls(
    chosen: random.Random, pool: Sequence[Written], literals: Sequence[Written], seeds: Sequence[Signature], count: int
) -> Iterator[Signature]:
    if count == 0:
        yield ()
    if count == 1:
        yield from ((item,) for item in (*pool, *literals))
    elif count:
        yield from (tuple(chosen.choice([*pool, *literals]) for _ in range(count)) for _ in range(_TRIES))
        yield from ((chosen.choice(pool),) * count for _ in range(8))
        for seed in chosen.sample(seeds, min(len(seeds), 4)):
            for position in range(count):
                for _ in range(5):
                    yield (*seed[:position], chosen.choice([*pool, *literals]), *seed[position + 1 :])


def ask(engine: Any, share: float = 1.0, seed: int = SEED, most: int = KINDS_EACH) -> dict[str, dict[str, list[str]]]:
    """Return Spark's types of the expressions of each class, with ANSI and without; `!` for a refused one.

    Args:
        engine: The engine.
        share: Of the functions, and of the expressions of the other classes.
        seed: Of the random choices.
        most: The accepted calls of one function with a number of arguments, and three times the refused ones.
    """
    result: dict[str, dict[str, list[str]]] = {}
    for kind, items in expressions(engine, share, seed).items():
        answers = {}
        for is_ansi in (True, False):
            engine.set_ansi(is_ansi)
            answers[is_ansi] = engine.types(items)
        accepted: Counter[str] = Counter()
        refused: Counter[str] = Counter()
        chosen = []
        order = list(zip(items, answers[True], answers[False], strict=True))
        random.Random(seed).shuffle(order)
        for sql, ansi, legacy in order:
            name = sql.partition("(")[0] + str(sql.count(",")) if kind == "function" else sql
            is_refused = ansi.startswith("!") and legacy.startswith("!")
            group, limit = (refused, max(most // 3, 1)) if is_refused else (accepted, most)
            if kind != "function" or group[name] < limit:
                group[name] += 1
                chosen.append(sql)
        result[kind] = _checked(engine, sorted(chosen))
    return result


def _checked(engine: Any, items: Sequence[str]) -> dict[str, list[str]]:
    """Return Spark's types of expressions after all of its checks."""
    answers = []
    for is_ansi in (True, False):
        engine.set_ansi(is_ansi)
        answers.append(engine.types(items, is_complete=True))
    return {
        sql: ["!" if answer.startswith("!") else answer for answer in both]
        for sql, *both in zip(items, *answers, strict=True)
    }


def ask_hive_calls(engine: HiveEngine, seed: int = SEED, most: int = KINDS_EACH) -> dict[str, str]:
    """Return Hive's types of calls of its functions with arguments that are not in the learned sample."""
    pool = written(HIVE_COLUMNS)
    names = sorted(name for name in engine.functions() if name.isidentifier() and name not in HIVE_NOT_CALLED)
    result: dict[str, str] = {}
    for name in names:
        chosen = random.Random(f"{seed} {name}")
        for count in range(5):
            calls = list(dict.fromkeys(_calls(chosen, pool, [], [], count)))
            answers = zip(calls, engine.calls([(name, call) for call in calls]), strict=True)
            accepted = [(call, answer) for call, answer in answers if not answer.startswith("!")]
            for call, answer in chosen.sample(accepted, min(most, len(accepted))):
                result[f"{name}({', '.join(item.sql for item in call)})"] = answer
    return result


__all__ = ["COLUMNS", "HIVE_COLUMNS", "SEED", "ask", "ask_hive_calls", "expressions", "part_of"]
