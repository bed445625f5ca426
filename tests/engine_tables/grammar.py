"""Spark's grammar of queries, from the network of states of its own parser (ANTLR's ATN)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from py4j.java_gateway import get_field
from sqlglot.dialects.spark import Spark as SqlglotSpark
from sqlglot.parser import Parser

from tests.engine_tables.parsing import succeeds

_ROOT = "query"
_ANY_GUARD = -1
_PARAMETERS = frozenset({"parameterMarker", "namedParameterMarker"})
"""Rules for markers of parameters, which a view cannot have."""
_PARAMETER = "QUESTION"
_RESERVED = "strictNonReserved"
"""The rule for keywords that can be names, but not everywhere."""
_ERRORS = "errorCapturingIdentifierExtra"
"""What the grammar allows behind a name to report it as an error."""


class Step(NamedTuple):
    """A step over one of some tokens, or into a rule with a precedence, to a state."""

    guard: int
    types: frozenset[int]
    rule: int
    precedence: int
    target: int


@dataclass(frozen=True)
class State:
    """A state of the reduced network: its steps in the order of the alternatives, and whether its rule can end."""

    steps: tuple[Step, ...]
    ends: bool


class Network:
    """The parser's network of states as its class contains it."""

    def __init__(self, spark: Any) -> None:
        self._antlr = spark._jvm.org.antlr.v4.runtime
        self._spark_parser = spark._jvm.org.apache.spark.sql.catalyst.parser
        parser = self._spark_parser.SqlBaseParser
        self._parser = parser(self._antlr.CommonTokenStream(self._lexer("")))
        network = parser._ATN
        self.rules: list[str] = list(parser.ruleNames)
        self.token_names = [
            parser.VOCABULARY.getSymbolicName(n) for n in range(parser.VOCABULARY.getMaxTokenType() + 1)
        ]
        self._literals = [parser.VOCABULARY.getLiteralName(number) for number in range(len(self.token_names))]
        self._states = get_field(network, "states")
        self.starts = [get_field(state, "stateNumber") for state in get_field(network, "ruleToStartState")]
        self.stops = {get_field(state, "stateNumber") for state in get_field(network, "ruleToStopState")}

    def words(self) -> dict[str, int]:
        """Return the types of the keywords and operators, by asking the lexer for each."""
        candidates = [*(literal[1:-1] for literal in self._literals if literal), *filter(None, self.token_names)]
        answers = {word: list(self._lexer(word).getAllTokens()) for word in (*candidates, *_SYNONYMS)}
        plain = self.token_names.index("IDENTIFIER")
        return {
            word: tokens[0].getType()
            for word, tokens in sorted(answers.items())
            if len(tokens) == 1
            and tokens[0].getType() != plain
            and self.token_names[tokens[0].getType()] != "UNRECOGNIZED"
        }

    def transitions(self, state: int) -> list[Any]:
        """Return the steps from a state."""
        node = self._states.get(state)
        return [node.transition(number) for number in range(node.getNumberOfTransitions())]

    def is_true(self, transition: Any) -> bool:
        """Return what a condition of the grammar is with Spark's default settings."""
        rule, number = get_field(transition, "ruleIndex"), get_field(transition, "predIndex")
        return bool(self._parser.sempred(None, rule, number))

    def _lexer(self, text: str) -> Any:
        stream = self._spark_parser.UpperCaseCharStream(self._antlr.CharStreams.fromString(text))
        lexer = self._spark_parser.SqlBaseLexer(stream)
        lexer.removeErrorListeners()
        return lexer


_SYNONYMS = ("=", "==", "<=", "!>", ">=", "!<", "TEMP", "REGEXP")
"""Spellings of tokens that have several."""
_EPSILON, _RANGE, _RULE, _CONDITION, _ATOM, _ACTION, _SET, _NOT_SET, _WILDCARD, _PRECEDENCE = range(1, 11)


@dataclass
class Reduction:
    """The part of a network below a rule, without steps that need no token."""

    network: Network
    states: dict[int, State] = field(default_factory=dict)
    used: set[int] = field(default_factory=set)
    closures: dict[int, State] = field(default_factory=dict)
    single: dict[int, frozenset[int]] = field(default_factory=dict)

    def reduce(self) -> None:
        """Fill `states` and the rules that are used."""
        single = self.single = self._single_tokens()
        root = self.network.rules.index(_ROOT)
        waiting = [self.network.starts[root]]
        self.used = {root}
        while waiting:
            number = waiting.pop()
            if number in self.states:
                continue
            state = self.states[number] = _with_tokens(self._closure(number), single)
            called = {step.rule for step in state.steps if step.rule >= 0}
            self.used |= called
            waiting += [self.network.starts[rule] for rule in called]
            waiting += [step.target for step in state.steps]

    def _closure(self, number: int) -> State:
        if number not in self.closures:
            steps: dict[Step, None] = {}
            ends = self._follow(number, _ANY_GUARD, steps, set())
            self.closures[number] = State(tuple(steps), ends)
        return self.closures[number]

    def _follow(self, number: int, guard: int, steps: dict[Step, None], seen: set[tuple[int, int]]) -> bool:
        """Add the steps after steps that need no token; return whether the rule can end without one."""
        network = self.network
        if (number, guard) in seen:
            return False
        seen.add((number, guard))
        if number in network.stops:
            assert guard == _ANY_GUARD
            return True
        ends = False
        for step in network.transitions(number):
            kind = step.getSerializationType()
            target = get_field(get_field(step, "target"), "stateNumber")
            if kind in (_EPSILON, _ACTION) or (kind == _CONDITION and network.is_true(step)):
                ends |= self._follow(target, guard, steps, seen)
            elif kind == _PRECEDENCE:
                assert guard == _ANY_GUARD
                ends |= self._follow(target, get_field(step, "precedence"), steps, seen)
            elif kind == _RULE:
                rule = get_field(step, "ruleIndex")
                follow = get_field(get_field(step, "followState"), "stateNumber")
                if network.rules[rule] == _ERRORS:
                    ends |= self._follow(follow, guard, steps, seen)
                elif network.rules[rule] not in _PARAMETERS:
                    steps[Step(guard, frozenset(), rule, get_field(step, "precedence"), follow)] = None
            elif kind != _CONDITION:
                steps[Step(guard, self._token_types(step, kind), -1, 0, target)] = None
        return ends

    def _token_types(self, step: Any, kind: int) -> frozenset[int]:
        if kind == _WILDCARD:
            return frozenset(range(1, len(self.network.token_names)))
        assert kind in (_ATOM, _SET), kind
        return frozenset(map(int, step.label().toList())) - {self.network.token_names.index(_PARAMETER)}

    def _single_tokens(self) -> dict[int, frozenset[int]]:
        """Return the rules that allow exactly one token, with the types of the token."""
        single: dict[int, frozenset[int]] = {}
        count = -1
        while count < len(single):
            count = len(single)
            for rule, start in enumerate(self.network.starts):
                state = _with_tokens(self._closure(start), single)
                if state.ends or not state.steps or any(step.rule >= 0 for step in state.steps):
                    continue
                if all(self._closure(step.target) == State((), True) for step in state.steps):
                    single[rule] = frozenset().union(*(step.types for step in state.steps))
        return single

    def document(self, version: str) -> dict[str, Any]:
        """Return the table: equal states are one, and sets of token types are written once."""
        classes = self._classes()
        order = sorted(self.used)
        sets: dict[frozenset[int], int] = {}
        states: dict[int, list[Any]] = {}
        for number, state in sorted(self.states.items()):
            if classes[number] not in states:
                steps = [
                    (step.guard, -1, sets.setdefault(step.types, len(sets)), classes[step.target])
                    if step.rule < 0
                    else (step.guard, order.index(step.rule), step.precedence, classes[step.target])
                    for step in state.steps
                ]
                states[classes[number]] = [int(state.ends), list(dict.fromkeys(steps))]
        network = self.network
        plain, reserved = network.token_names.index("IDENTIFIER"), self.single[network.rules.index(_RESERVED)]
        return {
            "version": version,
            "root": order.index(network.rules.index(_ROOT)),
            "rules": [classes[network.starts[rule]] for rule in order],
            "sets": [sorted(types) for types in sets],
            "names": [number for types, number in sets.items() if plain in types or types >= reserved],
            "states": [states[number] for number in range(len(states))],
            "types": {name: number for number, name in enumerate(network.token_names) if name in _LITERALS},
            "words": network.words(),
        }

    def _classes(self) -> dict[int, int]:
        """Return a number for each state; states with equal steps have the same."""
        classes = {number: int(state.ends) for number, state in self.states.items()}
        while True:
            numbers: dict[Any, int] = {}
            refined = {}
            for number, state in sorted(self.states.items()):
                steps = dict.fromkeys(step._replace(target=classes[step.target]) for step in state.steps)
                refined[number] = numbers.setdefault((state.ends, tuple(steps)), len(numbers))
            if len(numbers) == len(set(classes.values())):
                return refined
            classes = refined


def _with_tokens(state: State, single: Mapping[int, frozenset[int]]) -> State:
    """Return a state with the tokens of rules that allow one; steps over tokens to one state are one step."""
    merged: dict[Any, Step] = {}
    for step in state.steps:
        if step.rule in single:
            step = Step(step.guard, single[step.rule], -1, 0, step.target)
        key = (step.guard, step.target) if step.rule < 0 else step
        before = merged.get(key)
        merged[key] = step if before is None else before._replace(types=before.types | step.types)
    return State(tuple(merged.values()), state.ends)


_LITERALS = frozenset(
    """
    STRING_LITERAL DOUBLEQUOTED_STRING BIGINT_LITERAL SMALLINT_LITERAL TINYINT_LITERAL INTEGER_VALUE EXPONENT_VALUE
    DECIMAL_VALUE FLOAT_LITERAL DOUBLE_LITERAL BIGDECIMAL_LITERAL IDENTIFIER BACKQUOTED_IDENTIFIER UNRECOGNIZED
    """.split()  # noqa: SIM905 (a long list of words)
)


def grammar_document(spark: Any) -> dict[str, Any]:
    """Return the table of the installed Spark's grammar."""
    reduction = Reduction(Network(spark))
    reduction.reduce()
    names = sorted(word.lower() for word, kind in SqlglotSpark.Tokenizer.KEYWORDS.items() if kind in _TYPES)
    return {
        **reduction.document(spark.version),
        "type_names": [name for name in names if name not in _NESTED_TYPES | _UNCHECKED],
        "simple_types": _simple_types(spark, names),
        "literal_types": _literal_types(spark, names),
    }


_TYPES = Parser.TYPE_TOKENS
_NESTED_TYPES = frozenset({"array", "list", "map", "struct"})
_UNITS = ("year", "month", "day", "hour", "minute", "second")
_SIZES = ("", "(1)", "(1,1)", " without time zone", " with time zone", " with local time zone")
_UNCHECKED = frozenset({"geography", "geometry"})
"""Types whose numbers have a meaning."""
_VALUES = ("2020-01-01", "2020-01-01 00:00:00", "10:00:00", "1 day", "FF")


def _simple_types(spark: Any, names: list[str]) -> list[str]:
    """Return the types without other types in them that Spark's parser accepts, with 1 for each number."""
    parser = spark._jsparkSession.sessionState().sqlParser()
    intervals = [f"interval {first}{last}" for first in _UNITS for last in ("", *(f" to {unit}" for unit in _UNITS))]
    sized = [name + size for name in names if name not in _NESTED_TYPES for size in _SIZES]
    return [name for name in (*sized, *intervals) if succeeds(parser.parseDataType, name)]


def _literal_types(spark: Any, names: list[str]) -> list[str]:
    """Return the types of literals such as `DATE '2020-01-01'`."""
    parser = spark._jsparkSession.sessionState().sqlParser()
    return [
        name
        for name in (*names, "x")
        if any(succeeds(parser.parsePlan, f"SELECT {name} '{value}'") for value in _VALUES)
    ]


def written(document: Mapping[str, Any]) -> str:
    """Return the table as the text of its file, one line for each part."""
    return "{" + ",\n".join(f"{json.dumps(key)}: {text}" for key, text in _parts(document)) + "}\n"


def _parts(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in document.items():
        yield key, json.dumps(value, separators=(",", ":"))
