"""How far an engine's grammar allows a text: Earley's algorithm over sets of states that are computed once.

The states in which a text can be at a token, among those of rules that began at the same token, are one `_States`. What
a token or an ended rule makes of it is computed when a text first needs it, and kept for all texts, as in an LR parser
("Practical Earley Parsing", Aycock and Horspool, 2002). A token then costs a few lookups, whatever the grammar is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

END = 0
"""The token type after the last token."""


class _Rule(NamedTuple):
    """A rule as it is called: its first state, and its precedence."""

    state: int
    precedence: int


class _Item(NamedTuple):
    """A state in a rule that was called."""

    state: int
    rule: _Rule


class _States:
    """A set of states in which a text is, all of rules that began at one token."""

    __slots__ = ("before", "items", "reached")

    def __init__(self, items: frozenset[_Item]) -> None:
        self.items = items
        self.before: dict[int, _Before] = {}
        """What the states are in front of a token, by its type."""
        self.reached: dict[tuple[int, int], _States | None] = {}
        """The states behind rules that they call, by the number of the set of rules and the type of the next token."""


class _Before:
    """States in front of a token of one type.

    Attributes:
        states: The states.
        live: Those of them in which the token can follow; None if there are none.
        over: The states behind the token.
        ended: The number of the set of rules that end here; -1 if none does.
        calls: The rules that are called here.
        begun: The states in which these rules begin, and the rules that they call.
        merged: The live states together with those behind the rules that end here, and the number of the set of all
            rules that end, by the states in which the rules began.
    """

    __slots__ = ("begun", "calls", "ended", "live", "merged", "over", "states")

    def __init__(self, states: _States, over: _States | None, ended: int, calls: frozenset[_Rule]) -> None:
        self.states = states
        self.over = over
        self.ended = ended
        self.calls = calls
        self.live: _Before | None = None
        self.begun: _Before | None = None
        self.merged: dict[_Before, tuple[_Before | None, int]] = {}


_UNKNOWN = _States(frozenset())


class Recognizer:
    """The sets of states of one grammar, as far as texts needed them."""

    def __init__(
        self,
        states: Sequence[tuple[int, Sequence[tuple[int, int, int, int]]]],
        rules: Sequence[int],
        sets: Sequence[frozenset[int]],
        first: Sequence[set[int]],
        root: int,
    ) -> None:
        """Take the parts of a grammar's table; see `Grammar`."""
        self._steps = states
        self._rules = rules
        self._token_sets = sets
        self._first = first
        self._root = _Rule(root, 0)
        self._states: dict[frozenset[_Item], _States] = {}
        self._sets_of_rules: list[frozenset[_Rule]] = []
        self._numbers: dict[frozenset[_Rule], int] = {}
        self._begun: dict[tuple[frozenset[_Rule], int], _Before | None] = {}

    def __len__(self) -> int:
        """Return the number of sets that are kept."""
        return len(self._states)

    def recognize(self, types: Sequence[int]) -> tuple[int, bool]:
        """Return how many tokens of some types the grammar reads, and whether it allows the text."""
        position = 0
        inner: dict[int, _States] = {}
        """The states at a token by the token at which their rules began."""
        begun_at: list[_Before | None] = []
        waiting_at: list[list[tuple[_Before, int]]] = []
        begun = self._begin(frozenset({self._root}), types[0] if types else END)
        for position, kind in enumerate((*types, END)):
            waiting: list[tuple[_Before, int]] = []
            while inner:
                origin, states = inner.popitem()
                if inner and max(inner) > origin:
                    inner[origin] = states
                    origin = max(inner)
                    states = inner.pop(origin)
                before = states.before.get(kind) or self._in_front(states, kind)
                live = before.live
                if before.ended >= 0:
                    first = begun_at[origin]
                    assert first is not None
                    live, ended = before.merged.get(first) or self._merge(before, first, kind)
                    if kind == END and not origin and self._root in self._sets_of_rules[ended]:
                        return position, True
                    for caller, beginning in waiting_at[origin]:
                        behind = caller.states.reached.get((ended, kind), _UNKNOWN)
                        if behind is _UNKNOWN:
                            behind = self._behind(caller.states, ended, kind)
                        if behind is not None:
                            other = inner.get(beginning)
                            inner[beginning] = behind if other is None else self._of(other.items | behind.items)
                if live is not None:
                    waiting.append((live, origin))
            if len(waiting) == 1:
                begun = waiting[0][0].begun
            elif position:
                begun = self._begin(frozenset().union(*(before.calls for before, _ in waiting)), kind)
            begun_at.append(begun)
            waiting_at.append(waiting)
            for before, origin in waiting:
                if before.over is not None:
                    inner[origin] = before.over
            if begun is not None and begun.over is not None:
                inner[position] = begun.over
            if not inner:
                break
        return position, False

    # -- Sets of states ----------------------------------------------------------------------------------------------

    def _of(self, items: Iterable[_Item]) -> _States:
        """Return the set of some states and of those behind the rules that can be empty."""
        closed = set(items)
        open_items = list(closed)
        while open_items:
            item = open_items.pop()
            for guard, rule, _, target in self._steps[item.state][1]:
                if rule >= 0 and not -1 < guard < item.rule.precedence and END in self._first[self._rules[rule]]:
                    behind = _Item(target, item.rule)
                    if behind not in closed:
                        closed.add(behind)
                        open_items.append(behind)
        key = frozenset(closed)
        states = self._states.get(key)
        if states is None:
            states = self._states[key] = _States(key)
        return states

    def _maybe(self, items: Iterable[_Item]) -> _States | None:
        found = frozenset(items)
        return self._of(found) if found else None

    def _number(self, rules: frozenset[_Rule]) -> int:
        number = self._numbers.get(rules)
        if number is None:
            number = self._numbers[rules] = len(self._sets_of_rules)
            self._sets_of_rules.append(rules)
        return number

    def _begin(self, rules: frozenset[_Rule], kind: int) -> _Before | None:
        """Return the first states of rules, and of the rules that these call in front of a token."""
        key = rules, kind
        if key not in self._begun:
            called = set(rules)
            open_rules = list(rules)
            items: set[_Item] = set()
            while open_rules:
                rule = open_rules.pop()
                begun = self._of([_Item(rule.state, rule)])
                items |= begun.items
                for inner in self._calls(begun.items, kind) - called:
                    called.add(inner)
                    open_rules.append(inner)
            states = self._maybe(item for item in items if self._can_follow(item, kind))
            self._begun[key] = None if states is None else states.before.get(kind) or self._in_front(states, kind)
        return self._begun[key]

    def _calls(self, items: Iterable[_Item], kind: int) -> frozenset[_Rule]:
        """Return the rules that states call in front of a token."""
        return frozenset(
            _Rule(self._rules[rule], number)
            for item in items
            for guard, rule, number, _ in self._steps[item.state][1]
            if rule >= 0 and not -1 < guard < item.rule.precedence and kind in self._first[self._rules[rule]]
        )

    def _can_follow(self, item: _Item, kind: int) -> bool:
        return kind in self._first[item.state]

    def _in_front(self, states: _States, kind: int) -> _Before:
        """Return what states are in front of a token."""
        items = states.items
        over = self._maybe(
            _Item(target, item.rule)
            for item in items
            for guard, rule, number, target in self._steps[item.state][1]
            if rule < 0 and not -1 < guard < item.rule.precedence and kind in self._token_sets[number]
        )
        ended = frozenset(item.rule for item in items if self._steps[item.state][0])
        calls = self._calls(items, kind)
        before = states.before[kind] = _Before(states, over, self._number(ended) if ended else -1, calls)
        before.live = self._live(items, kind)
        before.begun = self._begin(calls, kind)
        return before

    def _live(self, items: Iterable[_Item], kind: int) -> _Before | None:
        """Return the states in which a token can follow, in front of it."""
        live = self._maybe(item for item in items if self._can_follow(item, kind))
        return None if live is None else live.before.get(kind) or self._in_front(live, kind)

    def _behind(self, states: _States, rules: int, kind: int) -> _States | None:
        """Return the states behind rules of a set that states call, as far as a token can follow there."""
        ended = self._sets_of_rules[rules]
        reached = states.reached[rules, kind] = self._maybe(
            _Item(target, item.rule)
            for item in states.items
            for guard, rule, number, target in self._steps[item.state][1]
            if rule >= 0
            and not -1 < guard < item.rule.precedence
            and _Rule(self._rules[rule], number) in ended
            and (kind in self._first[target] or END in self._first[target])
        )
        return reached

    def _merge(self, before: _Before, first: _Before, kind: int) -> tuple[_Before | None, int]:
        """Return the states before a token together with those behind the rules that ended, if they began with them."""
        ended = self._sets_of_rules[before.ended]
        while True:
            behind = self._behind(first.states, self._number(ended), kind)
            items = frozenset() if behind is None else behind.items
            more = ended.union(item.rule for item in items if self._steps[item.state][0])
            if more == ended:
                break
            ended = more
        live = items if before.live is None else items | before.live.states.items
        merged = before.merged[first] = self._live(live, kind), self._number(ended)
        return merged
