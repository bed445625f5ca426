"""Writing the table of answers: each answer belongs to the one construct of its expression that is not known yet."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from hive_views.sql.analysis.constructs import LITERALS_DECIDE
from hive_views.sql.analysis.outcomes import Outcome
from hive_views.sql.analysis.reader_rules import EQUAL, RULES
from hive_views.sql.engines.answers import Direction
from hive_views.sql.text.dialects import Dialect
from tests.reader_tables.comparing import Verdict, compare, example, with_rare_values
from tests.reader_tables.engines import Answer
from tests.reader_tables.questions import Described

PATH = Path(__file__).parents[2] / "hive_views" / "sql" / "engines" / "data" / "answers.json"

_SEVERITY = (None, Outcome.SOME_VALUES, Outcome.MAY_FAIL, Outcome.UNVERIFIED, Outcome.REFUSED, Outcome.OTHER_ROWS)
_LITERAL = re.compile(r"'|(?<!\w)\d|\b(?:true|NULL)\b")
_CLASS = re.compile(r"'|number of FLOAT|small integer|\bn\b")
"""A class of literals (`hive_views.sql.analysis.literals`), or a literal itself."""
_SIZE_OF_TYPE = re.compile(r"\b(?:decimal|varchar|char)\([\d, ]+\)", re.IGNORECASE)
"""The digits of `decimal(10,2)` are no literal."""
_CONDITION = re.compile(r"\[([A-Z_.]+)\]")
_HIVE_CODES = re.compile(r"^FAILED: \w+ (?:\[Error \d+\]: )?(?:[Ll]ine \d+:\d+ )?")
_MOST_ERROR = 80
_MOST_EXAMPLE = 120
_MOST_ROUNDS = 8


@dataclass(frozen=True)
class Comparison:
    """An engine that reads the texts of another one."""

    direction: Direction
    author: Dialect
    authors: tuple[str, ...]
    """The ways in which the author's engine ran an expression."""
    reader: Dialect
    readers: tuple[str, ...]
    """The ways in which the reader ran it."""


_HIVE, _SPARK = ("hive", "hive-vectorized", "hive-vectorized-alone"), ("spark", "spark-ansi")
WAYS = (*_HIVE, *_SPARK)
COMPARISONS = (
    Comparison(Direction.SPARK_READS_HIVE, Dialect.HIVE, _HIVE, Dialect.SPARK, ("spark",)),
    Comparison(Direction.SPARK_READS_HIVE_IN_ANSI_MODE, Dialect.HIVE, _HIVE, Dialect.SPARK, ("spark-ansi",)),
    Comparison(Direction.HIVE_READS_SPARK, Dialect.SPARK, _SPARK, Dialect.HIVE, _HIVE),
)


@dataclass(frozen=True)
class Question:
    """An expression or a query, its constructs as a text of the author, and what the reader does with it."""

    text: str
    signatures: frozenset[str]
    verdict: Verdict
    is_vectorized: bool = False
    """Whether only vectorized execution of the author's engine returns other rows."""


@dataclass(frozen=True)
class Entry:
    """What a reader does with a construct."""

    outcome: Outcome | None
    count: int
    """The expressions from which that is known."""
    reason: str | None = None


def questions_of(
    comparison: Comparison,
    descriptions: Mapping[str, Described],
    answers: Mapping[str, Mapping[str, Answer]],
) -> Iterator[Question]:
    """Yield what was measured in a direction; nothing that the author's engine refuses."""
    for text, described in descriptions.items():
        author = [answers[way][text] for way in comparison.authors if text in answers[way]]
        reader = [answers[way][text] for way in comparison.readers if text in answers[way]]
        verdict = compare(author, reader, described.types) if author and reader else None
        if verdict is not None:
            verdict = with_rare_values(verdict, text, described.types[-1], has_key=described.has_key)
            usual = compare(author[:1], reader, described.types)
            is_vectorized = verdict.outcome is not None and usual is not None and usual.outcome is None
            yield Question(text, described.signatures[comparison.author], verdict, is_vectorized)


def entries(
    comparison: Comparison, questions: Iterable[Question], before: Mapping[str, Entry] | None = None
) -> tuple[dict[str, Entry], list[str]]:
    """Return what is known of each construct, and the differences that none explains.

    An answer is evidence of a construct if every other construct of its expression is equal: by a pattern of
    `reader_rules`, or in the table itself.

    Args:
        comparison: The author's engine and the reader.
        questions: What was measured.
        before: What was known before, to which this is added: the worse answer of both counts.
    """
    every = list(questions)
    before = before or {}
    pattern = re.compile("|".join(f"(?:{pattern})" for pattern in EQUAL))
    by_pattern = {item for question in every for item in question.signatures if pattern.fullmatch(item)}
    by_pattern |= {item for item, entry in before.items() if entry.outcome is None}
    by_pattern -= {item for item, entry in before.items() if entry.outcome is not None}
    evidence: dict[str, list[Question]] = {}
    outcomes: dict[str, Outcome | None] = {}
    for _ in range(_MOST_ROUNDS):
        equal = {item for item in by_pattern if outcomes.get(item) is None}
        evidence = _evidence(every, equal, equal | {item for item, outcome in outcomes.items() if outcome is None})
        found = {item: _outcome(listed) for item, listed in evidence.items()}
        if found == outcomes:
            break
        outcomes = found
    equal |= {item for item, outcome in outcomes.items() if outcome is None}
    variable = {_name_and_count(item) for item, listed in evidence.items() if any(map(_has_columns_only, listed))}
    table = {
        item: _entry(comparison, listed)
        for item, listed in evidence.items()
        if outcomes[item] is not None or _is_measured(item, listed, variable)
    }
    left = _unexplained(every, equal)
    doubtful = {item for question in left for item in question.signatures if item not in by_pattern}
    known = {item: entry for item, entry in table.items() if entry.outcome is not None or item not in doubtful}
    known |= {item: entry for item, entry in before.items() if not _is_worse(known.get(item), entry)}
    return known, [f"{question.verdict.outcome}, but each construct is equal: {question.text}" for question in left]


def _is_worse(entry: Entry | None, before: Entry) -> bool:
    return entry is not None and _SEVERITY.index(entry.outcome) > _SEVERITY.index(before.outcome)


def _is_measured(signature: str, listed: Iterable[Question], variable: Container[tuple[str, int]]) -> bool:
    """Return whether equal answers were measured with the values of columns, where the construct takes columns.

    A few literals say little; but some arguments have to be literals, and some literals are a part of the signature.
    """
    if " literal as " in signature:
        return False
    is_literal = (
        "constant" in signature
        or "not 0" in signature
        or signature.startswith("over(")
        or "interval" in signature
        or _CLASS.search(signature) is not None
        or signature.partition("(")[0] in (*LITERALS_DECIDE, "map")
        or "void" in signature
    )
    return is_literal or _name_and_count(signature) not in variable or any(map(_has_columns_only, listed))


def _name_and_count(signature: str) -> tuple[str, int]:
    name, _, types = signature.partition("(")
    return name, types.count(",")


def _has_columns_only(question: Question) -> bool:
    return _LITERAL.search(_SIZE_OF_TYPE.sub("", question.text)) is None


def _evidence(
    questions: Iterable[Question], by_pattern: Container[str], equal: Container[str]
) -> dict[str, list[Question]]:
    """Return the questions that tell about a construct, since all others in them are equal."""
    evidence: defaultdict[str, list[Question]] = defaultdict(list)
    for question in questions:
        for known in ((), by_pattern, equal):
            others = [item for item in question.signatures if item not in known]
            if len(others) == 1:
                evidence[others[0]].append(question)
                break
        else:
            if question.verdict.outcome is None and not others:  # they are equal, and so are they together
                for item in question.signatures:
                    if item not in by_pattern:
                        evidence[item].append(question)
    return evidence


def _outcome(listed: Iterable[Question]) -> Outcome | None:
    return max((question.verdict.outcome for question in listed), key=_SEVERITY.index)


def _unexplained(questions: Iterable[Question], equal: Container[str]) -> list[Question]:
    """Return the questions with a difference that no construct explains."""
    return [
        question
        for question in questions
        if question.verdict.outcome is not None and all(item in equal for item in question.signatures)
    ]


def _entry(comparison: Comparison, listed: Sequence[Question]) -> Entry:
    outcome = _outcome(listed)
    alike = [question for question in listed if question.verdict.outcome is outcome]
    values = sorted({value for question in alike for value in question.verdict.values})
    only = f"only for {', '.join(values)}: " if values else ""
    return Entry(outcome, len(listed), None if outcome is None else only + _reason(comparison, alike))


def _reason(comparison: Comparison, alike: Sequence[Question]) -> str:
    names = comparison.author.capitalize(), comparison.reader.capitalize()
    for question in sorted(alike, key=lambda item: (len(item.text), item.text)):
        shown = example(question.text, question.verdict)
        if shown is not None and max(map(len, shown)) < _MOST_EXAMPLE:
            way = "'s vectorized execution" if question.is_vectorized and comparison.author is Dialect.HIVE else ""
            return f"{shown[0]} is {_value(shown[1])} in {names[0]}{way} and {_value(shown[2])} in {names[1]}"
    shortest = min(alike, key=lambda item: (len(item.text), item.text))
    return f"{shortest.text}: {_shown_error(shortest.verdict.error or 'other rows')}"


def _shown_error(error: str) -> str:
    """Return what an engine's error says without its codes and positions; Spark's condition, where it has one."""
    condition = _CONDITION.match(error)
    if condition is not None:
        return condition.group(1)
    if error == "tail of empty array":
        return "an error"  # of the analyzer's bridge, in place of Spark's own about a value
    return _HIVE_CODES.sub("", error)[:_MOST_ERROR].strip()


def _value(printed: str) -> str:
    return printed if printed and printed == printed.strip() else repr(printed)


def read_tables() -> dict[str, dict[str, Entry]]:
    """Return the tables that were written before."""
    document = json.loads(PATH.read_text("utf-8"))
    tables = {}
    for comparison in COMPARISONS:
        table = document[comparison.direction.value]
        equal = {f"{name}{types}": Entry(None, 0) for name, listed in table["equal"].items() for types in listed}
        different = {item: Entry(Outcome(outcome), 0, reason) for item, (outcome, reason) in table["different"].items()}
        tables[comparison.direction.value] = equal | different
    return tables


def recorded_count() -> int:
    """Return the number of expressions of the tables that were written before."""
    return int(json.loads(PATH.read_text("utf-8"))["expressions"])


def document(tables: Mapping[str, Mapping[str, Entry]], versions: Mapping[str, str], count: int) -> str:
    """Return the table as JSON: a line for each construct that is not equal, and one for each name of the others."""
    lines = [f'"versions": {json.dumps(versions)}', f'"expressions": {count}']
    for name, table in tables.items():
        equal: defaultdict[str, list[str]] = defaultdict(list)
        for signature, entry in sorted(table.items()):
            if entry.outcome is None:
                head, bracket, rest = signature.partition("(")
                equal[head].append(bracket + rest)
        different = {
            item: [entry.outcome.value, entry.reason] for item, entry in sorted(table.items()) if entry.outcome
        }
        lines.append(f'{json.dumps(name)}: {{"equal": {_block(equal)}, "different": {_block(different)}}}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _block(items: Mapping[str, object]) -> str:
    compact = partial(json.dumps, ensure_ascii=False, separators=(",", ":"))
    listed = (f"{json.dumps(key)}:{compact(value)}" for key, value in items.items())
    return "{\n" + ",\n".join(listed) + "\n}"


def contradictions(comparison: Comparison, table: Mapping[str, Entry]) -> Iterator[str]:
    """Yield where the patterns of `reader_rules` say something else than the table."""
    equal = re.compile("|".join(f"(?:{pattern})" for pattern in EQUAL))
    rules = [
        (re.compile(rule.signature), rule)
        for rule in RULES
        if rule.author in (None, comparison.author) and rule.reader == comparison.reader
    ]
    for signature, entry in sorted(table.items()):
        rule = next((rule for pattern, rule in rules if pattern.fullmatch(signature)), None)
        said = rule.outcome.value if rule is not None else "equal" if equal.fullmatch(signature) else None
        measured = "equal" if entry.outcome is None else entry.outcome.value
        if said is not None and said != measured:
            yield f"{signature}: {said} by the rules, {measured} in {entry.count} expressions; {entry.reason or ''}"
