"""An engine's grammar of queries, as a table, and a recognizer of the texts that it allows.

The table is the network of states from which the engine's own parser was generated (ANTLR's ATN), reduced to the rule
`query`: steps without a token are followed, names are sets of token types, and equal states are one. So no grammar has
to be written for it. `recognizer` decides whether a text is allowed. Which of its words are names needs one reading of
the text: for it, all ways are followed at once, those of the first alternatives first (generalized LL parsing).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

from hive_views.sql.engines.recognizer import END, Recognizer
from hive_views.sql.engines.tables import read_table


class _Call(NamedTuple):
    """A rule that begins at a position: its first state, its precedence, the position."""

    state: int
    precedence: int
    position: int


class _Step(NamedTuple):
    """A step that a token makes possible: over the token to a state, or into a rule and then to a state."""

    guard: int
    """The highest precedence of the rule in which the step is possible; -1 for any."""
    rule: int
    """The first state of the rule; -1 for a step over the token."""
    precedence: int
    """The precedence with which the rule begins."""
    target: int
    is_name: bool
    """Whether the token is read as a name, also if it is a keyword elsewhere."""


_MAX_PLACES_PER_TOKEN = 100
"""The limit of places that are examined for each token, on average; usual texts need 7. A text that needs more is
ambiguous, and counts as allowed."""

_Place = tuple[int, int, _Call]
"""A state, the position of the next token, and the rule that is read."""


@dataclass(frozen=True)
class Recognition:
    """What an engine's grammar allows of a text."""

    position: int
    """The number of tokens that it reads; all of them if it allows the text."""
    is_allowed: bool
    names: frozenset[int] = frozenset()
    """The positions of the tokens that are read as names, in one reading of an allowed text; empty if not asked for."""


@dataclass(frozen=True)
class Grammar:
    """The queries that an engine of one version allows.

    Attributes:
        document: The grammar's table.
        max_sets: The number of kept sets of states after which a process begins anew. 6,642 different texts need 2,100
            (10 MB), and 20,000 with exchanged tokens 2,900 (19 MB).
    """

    document: Mapping[str, Any]
    max_sets: int = 6_000

    @property
    def version(self) -> str:
        """The version of the engine."""
        return str(self.document["version"])

    @cached_property
    def types(self) -> Mapping[str, int]:
        """The token types by the names that the grammar gives them."""
        return dict(self.document["types"])

    @cached_property
    def words(self) -> Mapping[str, int]:
        """The token types of keywords, in upper case, and of operators."""
        return dict(self.document["words"])

    @cached_property
    def type_names(self) -> frozenset[str]:
        """The words with which the types in the table begin: those of this engine and of others."""
        return frozenset(self.document["type_names"])

    @cached_property
    def simple_types(self) -> frozenset[str]:
        """The types of the engine that begin with these words, such as `decimal(1,1)`, with 1 for each number."""
        return frozenset(self.document["simple_types"])

    @cached_property
    def literal_types(self) -> frozenset[str]:
        """The types of literals such as `DATE '2020-01-01'`."""
        return frozenset(self.document["literal_types"])

    def recognize(self, types: Sequence[int], *, with_names: bool = False) -> Recognition:
        """Return how far the grammar allows a text.

        Args:
            types: The types of its tokens.
            with_names: Whether to determine which tokens are names.
        """
        if with_names:
            return _Reading(self, types).result
        recognizer = self._recognizer
        if len(recognizer) > self.max_sets:
            vars(self).pop("_recognizer", None)  # the next text gets a new one; other threads go on with this one
        return Recognition(*recognizer.recognize(types))

    def steps(self, state: int, kind: int) -> tuple[bool, Sequence[_Step]]:
        """Return whether a rule can end in a state in front of a token, and the steps that the token makes possible.

        The steps are in reverse order of the grammar's alternatives: the last is tried first.
        """
        known = self._steps.get((state, kind))
        if known is None:
            ends, steps = self.document["states"][state]
            found = []
            for guard, rule, number, target in steps:
                if rule < 0:
                    types = self._sets[number]
                    if kind in types:
                        found.append(_Step(guard, -1, 0, target, number in self._name_sets))
                    continue
                first = self.document["rules"][rule]
                if kind in self.first[first] or (self._can_be_empty(first) and self.can_continue(target, kind)):
                    found.append(_Step(guard, first, number, target, False))
            found.reverse()
            known = self._steps[state, kind] = bool(ends), found
        return known

    def can_continue(self, state: int, kind: int) -> bool:
        """Return whether a token can follow in a state, in its rule or after it."""
        return kind in self.first[state] or self._can_be_empty(state)

    def _can_be_empty(self, state: int) -> bool:
        return END in self.first[state]

    @cached_property
    def root(self) -> int:
        """The first state of the rule for a query."""
        return int(self.document["rules"][self.document["root"]])

    @cached_property
    def first(self) -> list[set[int]]:
        """The token types that can follow in each state; `END` if its rule can end without a token."""
        states = self.document["states"]
        first = [{END} if ends else set() for ends, _ in states]
        is_changed = True
        while is_changed:
            is_changed = False
            for own, (_, steps) in zip(first, states, strict=True):
                count = len(own)
                for _, rule, number, target in steps:
                    begun = self._sets[number] if rule < 0 else first[self.document["rules"][rule]]
                    own |= begun - {END}
                    if END in begun:
                        own |= first[target]
                is_changed = is_changed or len(own) > count
        return first

    @property
    def kept_sets(self) -> int:
        """The number of sets of states that are kept now."""
        return len(self._recognizer)

    @cached_property
    def _recognizer(self) -> Recognizer:
        return Recognizer(self.document["states"], self.document["rules"], self._sets, self.first, self.root)

    @cached_property
    def _sets(self) -> list[frozenset[int]]:
        return [frozenset(item) for item in self.document["sets"]]

    def is_name(self, kind: int) -> bool:
        """Return whether a token can be read as a name at some position."""
        return any(kind in self._sets[number] for number in self._name_sets)

    @cached_property
    def _name_sets(self) -> frozenset[int]:
        return frozenset(self.document["names"])

    @cached_property
    def _steps(self) -> dict[tuple[int, int], tuple[bool, Sequence[_Step]]]:
        return {}


class _Reading:
    """One text as a grammar reads it: all ways, those of the first alternatives first, as the engine's parser."""

    def __init__(self, grammar: Grammar, types: Sequence[int]) -> None:
        self._grammar = grammar
        self._types = [*types, END]
        self._callers: dict[_Call, list[tuple[int, _Place]]] = {}
        self._ends: dict[_Call, dict[int, _Place]] = {}
        self._known: dict[_Place, tuple[_Place | None, Any]] = {}
        self._open: list[tuple[_Place, _Place | None, Any]] = []
        """What is read next, the last first: a place, the place before it, and the way between them."""
        self._root = _Call(grammar.root, 0, 0)
        self.result = self._read()

    def _read(self) -> Recognition:
        grammar, types, work, known = self._grammar, self._types, self._open, self._known
        self._begin(self._root)
        last = len(types) - 1
        limit = _MAX_PLACES_PER_TOKEN * len(types) + 1000
        furthest = 0
        while work:
            place, before, way = work.pop()
            if isinstance(way, _Call):
                assert before is not None
                self._call(way, place[0], before)
                continue
            if place in known:
                continue
            known[place] = before, way
            if len(known) > limit:
                return Recognition(last, True)
            state, position, call = place
            furthest = max(furthest, position)
            ends, steps = grammar.steps(state, types[position])
            # A rule goes on as long as it can, so that its end is tried last.
            if ends and self._end(place) and call == self._root and position == last:
                return Recognition(last, True, self._names(place))
            for step in steps:
                if -1 < step.guard < call.precedence:
                    continue
                if step.rule < 0:
                    work.append(((step.target, position + 1, call), place, step.is_name))
                else:
                    called = _Call(step.rule, step.precedence, position)
                    work.append(((step.target, position, call), place, called))
        return Recognition(furthest, False)

    def _begin(self, call: _Call) -> None:
        self._callers[call] = []
        self._ends[call] = {}
        self._open.append(((call.state, call.position, call), None, None))

    def _call(self, called: _Call, target: int, caller: _Place) -> None:
        """Read a rule; where it was read from this position before, continue behind it."""
        if called not in self._callers:
            self._begin(called)
        self._callers[called].append((target, caller))
        for position, ended in reversed(self._ends[called].items()):
            self._return(target, position, caller, ended)

    def _end(self, place: _Place) -> bool:
        """Continue behind a rule that ends; return whether it ends here for the first time."""
        _, position, call = place
        if position in self._ends[call]:
            return False
        self._ends[call][position] = place
        for target, caller in self._callers[call]:
            self._return(target, position, caller, place)
        return True

    def _return(self, target: int, position: int, caller: _Place, ended: _Place) -> None:
        if self._grammar.can_continue(target, self._types[position]):
            self._open.append(((target, position, caller[2]), caller, ended))

    def _names(self, last: _Place) -> frozenset[int]:
        """Return the positions of the names on the way to a place."""
        names: set[int] = set()
        ends = [last]
        while ends:
            place: _Place | None = ends.pop()
            while place is not None:
                before, way = self._known[place]
                if isinstance(way, tuple):
                    ends.append(way)
                elif way and before is not None:
                    names.add(before[1])
                place = before
        return frozenset(names)


@cache
def spark_grammar() -> Grammar:
    """Return the grammar of the newest supported version of Spark, which allows what those before it allow."""
    return Grammar(read_table("spark_grammar"))
