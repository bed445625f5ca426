"""Enumeration: calls and operators with arguments that are not in the learned sample, with Spark's types.

python -m tests.engine_tables.enumeration FILE        (asks Spark and writes the expressions with their types)
python -m tests.engine_tables.enumeration FILE check  (compares them with the inferred types)
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from tests.engine_tables.arguments import CONSTANTS, KEPT_TYPES, SIMPLE, Written, columns_of, literal, written
from tests.engine_tables.asking import FIELDS, NOT_LEARNED
from tests.engine_tables.sampling import Sampler, Signature

KINDS_EACH = 6
_TRIES = 30
_KEYWORDS = frozenset({"between", "case", "cast", "in", "when"})
"""Operators that Spark also lists as functions."""
_OF_ONE_ARGUMENT = frozenset({"hour", "minute", "second"})
"""Functions for which Spark 4.1.4 ignores further arguments."""
_EXPENSIVE = frozenset({"window", "session_window"})
"""Functions that multiply the rows of a plan, for some arguments until the memory is full."""
COLUMNS = columns_of((*SIMPLE.values(), *KEPT_TYPES), "k")
OPERATORS = ("+", "-", "*", "/", "%", "DIV", "||", "&", "|", "^")
LAMBDAS = (
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


def expressions(engine: Any, seed: int = 20261128) -> dict[str, list[str]]:
    """Return the expressions of each class that may be valid."""
    pool = written(COLUMNS)
    sampler = Sampler(engine, pool, seed)
    chosen = random.Random(seed)
    literals = [literal(sql, kind) for sql, kind in CONSTANTS.items()]
    result: dict[str, list[str]] = {"function": [], "operator": [], "form": [], "pair": [], "field": []}
    functions = [name for name in engine.functions() if name.isidentifier() and name not in _EXPENSIVE | _KEYWORDS]
    counts = sampler.counts(functions)
    for name in functions:
        for count in [count for count in counts.get(name, ()) if count <= 4]:
            if name in _OF_ONE_ARGUMENT and count > 1:
                continue
            seeds = sampler.seeds(name).get(count, [])
            calls = list(dict.fromkeys(_calls(chosen, pool, literals, seeds, count)))
            result["function"] += [f"{name}({', '.join(item.sql for item in call)})" for call in calls]
    pairs = list(product([item.sql for item in (*pool, *literals)], repeat=2))
    for operator in OPERATORS:
        result["operator"] += [f"{left} {operator} {right}" for left, right in chosen.sample(pairs, 250)]
    for form in PAIRS:
        result["pair"] += [form.format(*pair) for pair in chosen.sample(pairs, 150)]
    for form in LAMBDAS:
        result["form"] += [form.format(item.sql) for item in (*pool, *literals)]
    for field in FIELDS:
        result["field"] += [f"extract({field} FROM {item.sql})" for item in pool]
    return result


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


def ask(engine: Any) -> dict[str, dict[str, list[str]]]:
    """Return Spark's types of the expressions of each class, with ANSI and without; at most six of one function."""
    result: dict[str, dict[str, list[str]]] = {}
    for kind, items in expressions(engine).items():
        answers = {}
        for is_ansi in (True, False):
            engine.set_ansi(is_ansi)
            answers[is_ansi] = engine.types(items)
        accepted: Counter[str] = Counter()
        refused: Counter[str] = Counter()
        result[kind] = {}
        order = list(zip(items, answers[True], answers[False], strict=True))
        random.Random(1).shuffle(order)
        for sql, ansi, legacy in order:
            name = sql.partition("(")[0] + str(sql.count(",")) if kind == "function" else sql
            is_refused = ansi.startswith("!") and legacy.startswith("!")
            group, most = (refused, 2) if is_refused else (accepted, KINDS_EACH)
            if kind != "function" or group[name] < most:
                group[name] += 1
                result[kind][sql] = ["!" if answer.startswith("!") else answer for answer in (ansi, legacy)]
    for position, is_ansi in enumerate((True, False)):
        engine.set_ansi(is_ansi)
        for items in result.values():
            for sql, pair in items.items():
                if pair[position] != "!" and not engine.accepts(sql):
                    pair[position] = "!"
    return result


def main() -> None:
    path = Path(sys.argv[1])
    if len(sys.argv) < 3:
        from tests.engine_tables.spark_engine import SparkEngine, session

        with session() as spark:
            path.write_text(json.dumps(ask(SparkEngine(spark, COLUMNS)), indent=0), "utf-8")
        return
    from tests.engine_tables.comparison import compare

    for line in compare(json.loads(path.read_text("utf-8")), COLUMNS):
        print(line)


if __name__ == "__main__":
    main()

__all__ = ["COLUMNS", "NOT_LEARNED", "ask", "expressions"]
