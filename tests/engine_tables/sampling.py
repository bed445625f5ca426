"""Sampling: the calls of a function that an engine accepts, with their result types."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Protocol

from hive_views.sql.types.call_types import Argument
from tests.engine_tables.arguments import CONSTANTS, Written, literal

_PALETTE = ("string", "int", "double", "date", "timestamp", "boolean", "binary", "decimal(10,2)", "array<int>")
_PALETTE_NESTED = ("map<string,int>", "array<string>", "array<array<int>>", "bigint")
_MOST_ARGUMENTS = 8
_VARIADIC = 12
REFUSED = "!"
"""The result of a call that the engine refuses, in the samples of functions in `COMPLETE`."""
_A, _B = "{0}", "{1}"
_PAIR = ((_A, _B),)
COMPLETE: Mapping[str, Sequence[tuple[str, ...]]] = {
    **dict.fromkeys(("%", "&", "*", "+", "-", "/", "^", "|", "div", "<<", ">>", ">>>"), _PAIR),
    **dict.fromkeys(("<", "<=", "<=>", "=", "==", ">", ">=", "and", "or", "in", "equal_null", "nullif"), _PAIR),
    **dict.fromkeys(("like", "ilike", "rlike", "regexp", "regexp_like", "concat"), _PAIR),
    **dict.fromkeys(("try_add", "try_subtract", "try_multiply", "try_divide"), _PAIR),
    **dict.fromkeys(("array_append", "array_contains", "array_position", "array_prepend", "array_remove"), _PAIR),
    **dict.fromkeys(("arrays_overlap", "greatest", "least"), _PAIR),
    "between": ((_A, _B, _B),),
    "if": (("true", _A, _B), (_A, "1", "1")),
    "decode": (("1", "1", _A), ("1", "1", _A, _B), (_A, _A, "1"), (_A, _A, "1", "1"), (_A, _B)),
    **dict.fromkeys(("lag", "lead"), ((_A, _B), (_A, "1", _B))),
    "nth_value": ((_A, "1"), (_A, "1L"), (_A, "1S")),
    "uniform": ((_A, _B), (_A, _B, "1"), (_A, _B, "1L"), (_A, _B, "NULL")),
}
"""The argument types of the functions that are queried with all pairs of types, including rejected ones.

The signatures of these functions have no types that the engine refuses.
"""
_WITHOUT_REFUSALS = frozenset({"decode"})
"""Functions of whose results a formula decides whether they have a common type."""
_OF_CONSTANTS = frozenset({"lag", "lead", "nth_value", "uniform"})
"""Functions with arguments that must be constant."""
Signature = tuple[Written, ...]
Accepted = dict[Signature, str]
"""Calls with their result types."""
Samples = dict[int, Accepted]
"""Calls of a function by their number of arguments."""


class Engine(Protocol):
    """What answers the types of calls."""

    def calls(self, calls: Sequence[tuple[str, Signature]]) -> list[str]:
        """Return the type of each call, or `!` and the engine's error."""

    def seeds(self, name: str) -> Iterator[list[Written | None]]:
        """Yield arguments with which a function may be called; None for a column."""


@dataclass
class Sample:
    """The accepted calls of one function with one number of arguments, and the refused ones."""

    accepted: Accepted = field(default_factory=dict)
    refused: set[Signature] = field(default_factory=set)


class Sampler:
    """Asks an engine about the calls of one function.

    Args:
        engine: The engine.
        pool: The arguments.
        seed: The seed of the random calls.
    """

    def __init__(self, engine: Engine, pool: Sequence[Written], seed: int = 1) -> None:
        self._engine = engine
        self._pool = pool
        self._seed = seed
        self._random = random.Random(seed)
        by_type = {item.argument.type: item for item in pool}
        self._palette = [by_type[kind] for kind in _PALETTE if kind in by_type]
        self._constants = [literal(sql, kind) for sql, kind in CONSTANTS.items()]
        self._nested = [by_type[kind] for kind in _PALETTE_NESTED if kind in by_type]

    def counts(self, name: str) -> list[int]:
        """Return the numbers of arguments that a function takes."""
        numbers = [*range(_MOST_ARGUMENTS + 1), _VARIADIC, _VARIADIC + 1]
        null = Written("NULL", Argument("void"))
        answers = self._engine.calls([(name, (null,) * number) for number in numbers])
        return [number for number, answer in zip(numbers, answers, strict=True) if not is_wrong_count(answer)]

    def seeds(self, name: str) -> dict[int, list[Signature]]:
        """Return the calls in the examples of a function's description, by their number of arguments.

        Arguments that name columns of the example are replaced by the columns of the sample, one after the other.
        """
        result: dict[int, list[Signature]] = defaultdict(list)
        for parts in self._engine.seeds(name):
            items = self._pool if parts.count(None) == 1 else self._palette
            for replacement in items if None in parts else (items[0],):
                result[len(parts)].append(tuple(part or replacement for part in parts))
        return {count: list(dict.fromkeys(calls)) for count, calls in result.items()}

    def sample(self, name: str, count: int, seeds: Sequence[Signature]) -> Sample:
        """Return the sampled calls of a function with a number of arguments, the same ones in every order of asking."""
        self._random = random.Random(f"{self._seed} {name} {count}")
        sample = Sample()
        if any(len(form) == count for form in COMPLETE.get(name, ())):
            self._ask(name, sample, self._pairs(name, count))
            if name not in _WITHOUT_REFUSALS:
                sample.accepted |= dict.fromkeys(sample.refused, REFUSED)
            return sample
        self._ask(name, sample, seeds)
        has_example = bool(sample.accepted)
        if count == 0:
            self._ask(name, sample, [()])
        elif count == 1:
            self._ask(name, sample, [(item,) for item in (*self._pool, *self._constants)])
        else:
            self._ask(name, sample, [(item,) * count for item in self._pool])
            if count == 2:
                self._ask(name, sample, product(self._palette + self._nested, repeat=2))
            elif count == 3 and not has_example:
                self._ask(name, sample, product(self._palette[:7], repeat=3))
            elif not has_example:
                self._ask(name, sample, (self._mixed(count) for _ in range(200)))
        if count in (2, 3) and not sample.accepted:
            items = self._palette + self._constants if count == 2 else self._palette[:4] + self._constants[3:12]
            self._ask(name, sample, product(items, repeat=count))
        self._literals(name, sample, [seed for seed in seeds if seed in sample.accepted])
        if count >= 2 and sample.accepted:
            self._vary(name, sample, count)
            self._cross(name, sample, 800 if count == 2 else 150)
        return sample

    def _pairs(self, name: str, count: int) -> Iterator[Signature]:
        """Yield the calls with every pair of types; those of functions with constant arguments have no columns."""
        for form in COMPLETE[name]:
            pool = [_constant(item) for item in self._pool] if name in _OF_CONSTANTS else self._pool
            for pair in product(pool, repeat=2) if len(form) == count else ():
                kinds = {"true": "boolean", "1S": "smallint", "1L": "bigint", "NULL": "void"}
                yield tuple(
                    pair[0] if part == _A else pair[1] if part == _B else literal(part, kinds.get(part, "int"))
                    for part in form
                )

    def _mixed(self, count: int) -> Signature:
        return tuple(self._random.choice(self._palette) for _ in range(count))

    def _literals(self, name: str, sample: Sample, seeds: Sequence[Signature]) -> None:
        """Ask with the literals of the examples beside columns, where an argument must be constant."""
        calls = []
        for seed in seeds[:4]:
            for position in range(len(seed)):
                items = [*self._pool, *self._constants]
                calls += [(*seed[:position], item, *seed[position + 1 :]) for item in items]
        self._ask(name, sample, calls)

    def _vary(self, name: str, sample: Sample, count: int) -> None:
        """Replace each argument of some accepted calls by every other."""
        distinct: dict[object, Signature] = {}
        for call, answer in sample.accepted.items():
            distinct.setdefault((answer, tuple(item.kind for item in call)), call)
        chosen = list(distinct.values())
        self._random.shuffle(chosen)
        for call in chosen[: 5 if count <= 3 else 2]:
            for position, old in enumerate(call):
                items = self._pool if old in self._pool else [*self._pool, *self._constants]
                self._ask(name, sample, ((*call[:position], item, *call[position + 1 :]) for item in items))

    def _cross(self, name: str, sample: Sample, most: int) -> None:
        """Combine the arguments that were accepted at each position."""
        positions = [
            list({call[at]: None for call in sample.accepted}) for at in range(len(next(iter(sample.accepted))))
        ]
        total = 1
        for items in positions:
            total *= len(items)
        if total <= most:
            self._ask(name, sample, product(*positions))
        else:
            self._ask(name, sample, (tuple(map(self._random.choice, positions)) for _ in range(most)))

    def _ask(self, name: str, sample: Sample, calls: Iterable[Sequence[Written]]) -> None:
        asked = dict.fromkeys(tuple(call) for call in calls)
        new = [call for call in asked if call not in sample.accepted and call not in sample.refused]
        answers = self._engine.calls([(name, call) for call in new]) if new else []
        for call, answer in zip(new, answers, strict=True):
            if answer.startswith("!"):
                sample.refused.add(call)
            else:
                sample.accepted[call] = answer


def _constant(item: Written) -> Written:
    """Return a constant of an argument's type."""
    is_null = item.argument.type == "void"
    return item if is_null else Written(f"CAST(NULL AS {item.argument.type})", Argument(item.argument.type))


def is_variadic(counts: Container[int]) -> bool:
    """Return whether a function that takes these numbers of arguments takes any number of them."""
    return _VARIADIC in counts and _VARIADIC + 1 in counts


def is_wrong_count(answer: str) -> bool:
    """Return whether an engine refuses a call because of the number of its arguments."""
    return any(word in answer for word in ("WRONG_NUM_ARGS", "REQUIRES_AT_LEAST", "ROUTINE_NOT_FOUND", "NOT_A_PLAIN"))
