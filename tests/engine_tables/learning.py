"""Learning: the fewest signatures that give the result types of all sampled calls of a function.

A signature is a set of kinds of types for each argument and a result: a type, or the name of a formula. The first one
that has the kinds of a call, and whose formula gives a type, determines the type.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from hive_views.sql.types import hive_types
from hive_views.sql.types.call_types import Argument, Call, Merging, evaluate, kind_of
from tests.engine_tables.sampling import REFUSED

_DIGITS = {"1": (3, 0), "2": (5, 0), "4": (10, 0), "8": (20, 0)}
Kinds = tuple[str, ...]
Literals = tuple[str | None, ...]
Observation = tuple[tuple[Argument, ...], str]


@dataclass(frozen=True)
class Rule:
    """A signature: the kinds of each argument, and the result."""

    kinds: tuple[frozenset[str], ...]
    term: str


_MOST_OBSERVATIONS = 8
"""The answers that are explained, of those with the same literals."""
_MOST_OF_KINDS = 60
"""The answers that are explained, of those with the same kinds of types."""
_KINDS_OF_SEVERAL = frozenset({"aa", "am", "ar"})
"""Kinds of types of which some fit each other and others do not."""
_OF_ONE = (
    *("argument", "element", "key", "value", "array", "array_of_element", "keys", "values", "entries", "flattened"),
    *(
        "map_of_entries",
        "decimal_sum",
        "decimal_average",
        "decimal_average_bounded",
        "decimal_whole",
        "decimal_ceiling",
        "decimal_ceiling_carry",
    ),
    *("decimal_rounded", "rounded_up", "number_format", "histogram", "top_items", "top_state"),
    "merged_with_int",
)
_OF_TWO = (
    *("merged_pair", "merged_pair_strictly", "arrays_merged", "appended", "map_of_arrays"),
    *("decimal_added", "decimal_multiplied", "decimal_divided", "decimal_remainder", "decimal_bound"),
)
_OF_ALL = ("merged", "merged_strictly", "array_merged")


def terms(count: int, results: Sequence[str]) -> list[str]:
    """Return the results that a signature may have: formulas first, then the types that were answered."""
    candidates = [f"={name} {position}" for name in _OF_ONE for position in range(count)]
    candidates += ["=map_of_pairs", "=choices"] if count >= 2 else []
    candidates += [f"={name} {first} {second}" for name in _OF_TWO for first, second in combinations(range(count), 2)]
    candidates += [f"={name} {first}" for name in _OF_ALL for first in range(min(count, 3))]
    return [*results, *candidates]


class Learner:
    """Learns the signatures of one function with one number of arguments."""

    def __init__(self, observations: Sequence[Observation], merging: Mapping[str, Merging]) -> None:
        self._cells: dict[Kinds, list[Observation]] = defaultdict(list)
        numbers: Counter[tuple[Kinds, Literals]] = Counter()
        self._refused: set[Kinds] = set()
        for arguments, result in observations:
            kinds = tuple(kind_of(argument.type) for argument in arguments)
            if result == REFUSED:
                if sum(kind in _KINDS_OF_SEVERAL for kind in kinds) < 2:
                    self._refused.add(kinds)
                continue
            literals = tuple(argument.literal for argument in arguments)
            has_parts = any(kind[0] in "apmr" for kind in kinds)
            numbers[kinds, literals] += 1
            most = _MOST_OBSERVATIONS if has_parts else 3
            if numbers[kinds, literals] <= most and len(self._cells[kinds]) < _MOST_OF_KINDS:
                self._cells[kinds].append((arguments, result))
        self._refused -= self._cells.keys()
        self._merging = merging

    def rules(self) -> list[Rule]:
        """Return the signatures in the order in which they are tried."""
        self.unexplained: set[Kinds] = set()
        rules: list[Rule] = []
        remaining = set(self._cells)
        for is_thorough in (False, True):
            if remaining:
                rules += self._explain(remaining, self._candidates(remaining, is_thorough))
        self.unexplained = remaining
        return rules

    def _candidates(self, remaining: set[Kinds], is_thorough: bool) -> list[str]:
        """Return the results that may explain cells: all of them, or those that explain one of a sample."""
        observations = [observation for kinds in sorted(remaining) for observation in self._cells[kinds]]
        results = list(dict.fromkeys(result for _, result in observations))
        candidates = terms(len(observations[0][0]), results)
        if is_thorough:
            return candidates
        probed = random.Random(1).sample(observations, min(len(observations), 40))
        return [term for term in candidates if any(self._value(term, given) == kind for given, kind in probed)]

    def _explain(self, remaining: set[Kinds], candidates: Sequence[str]) -> list[Rule]:
        """Return signatures for cells, and remove these from the set; the term that explains most comes first."""
        compared = {term: self._compare(term, remaining) for term in candidates}
        rules: list[Rule] = []
        while remaining and compared:
            term = max(compared, key=lambda term: len(compared[term][0] & remaining))
            fitting, wrong = compared[term]
            needed = fitting & remaining
            if not needed:
                break
            rules += [Rule(box, term) for box in _merged_boxes(_boxes(needed, wrong & remaining | self._refused))]
            remaining -= needed
        return rules

    def _compare(self, term: str, cells: set[Kinds]) -> tuple[set[Kinds], set[Kinds]]:
        """Return the cells in which a term gives every answer, and those in which it gives a wrong one."""
        fitting, wrong = set(), set()
        for kinds in cells:
            observations = self._cells[kinds]
            outcomes = {_outcome(self._value(term, arguments), result) for arguments, result in observations}
            if outcomes == {True}:
                fitting.add(kinds)
            elif False in outcomes:
                wrong.add(kinds)
        return fitting, wrong

    def _value(self, term: str, arguments: Sequence[Argument]) -> str | None:
        return evaluate(term, Call(arguments, self._merging["wide"], self._merging["strict"], self._merging["tight"]))


def _outcome(value: str | None, result: str) -> bool | None:
    return None if value is None else value == result


Box = tuple[frozenset[str], ...]


def _boxes(needed: set[Kinds], bad: set[Kinds]) -> list[Box]:
    """Return boxes that contain all needed cells and none of the bad ones."""
    box: Box = tuple(frozenset(column) for column in zip(*needed, strict=True)) if needed else ()
    if needed == {()}:
        return [()]
    inside = [kinds for kinds in bad if all(kind in part for kind, part in zip(kinds, box, strict=True))]
    if not inside:
        return [box]
    best: tuple[float, int, str] | None = None
    for position, part in enumerate(box):
        if len(part) < 2:
            continue
        for kind in sorted(part):
            bads = sum(kinds[position] == kind for kinds in inside)
            goods = sum(kinds[position] == kind for kinds in needed)
            score = abs(bads / len(inside) - goods / len(needed))
            if best is None or score > best[0]:
                best = score, position, kind
    if best is None:
        raise ValueError(f"no box without {inside[:3]}")
    _, position, kind = best
    own = {kinds for kinds in needed if kinds[position] == kind}
    return [*_boxes(own, set(inside)), *_boxes(needed - own, set(inside))]


def _merged_boxes(boxes: list[Box]) -> list[Box]:
    """Merge boxes that differ at one position only."""
    merged = True
    while merged:
        merged = False
        for first, second in combinations(boxes, 2):
            different = [at for at, (one, two) in enumerate(zip(first, second, strict=True)) if one != two]
            if len(different) <= 1:
                boxes = [box for box in boxes if box is not first and box is not second]
                at = different[0] if different else 0
                boxes.append((*first[:at], first[at] | second[at], *first[at + 1 :]) if first else first)
                merged = True
                break
    return boxes


def merging_of(answers: Mapping[tuple[str, str], str], *, strings_first: bool) -> Merging:
    """Return the rules for common types from the answers for pairs of types."""
    digits = {}
    for (left, right), answer in answers.items():
        size = hive_types.decimal(answer)
        if left in hive_types.INTEGERS and right == "decimal(5,5)" and size is not None:
            digits[kind_of(left)] = (size[0] - 5, 0)
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for pair, answer in answers.items():
        if not answer.startswith("!"):
            found[kind_of(pair[0]), kind_of(pair[1])].add(kind_of(answer))
    rows: dict[str, dict[str, str]] = defaultdict(dict)
    for (first, second), codes in found.items():
        if len(codes) == 1 and "v" not in (first, second):
            rows[first][second] = codes.pop()
    candidates = [Merging(dict(rows), digits or _DIGITS, prefers, strings_first) for prefers in (True, False)]
    return max(candidates, key=lambda merging: _agreement(merging, answers))


def _agreement(merging: Merging, answers: Mapping[tuple[str, str], str]) -> int:
    return sum(merging.pair(*pair) == answer for pair, answer in answers.items() if not answer.startswith("!"))
