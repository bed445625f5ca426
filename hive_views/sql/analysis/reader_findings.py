"""Checks whether Hive or Spark returns the rows of a text that was written for the other one.

Only what was measured to be equal is equal: by a rule (`hive_views.sql.analysis.reader_rules`) or in the table of
answers (`hive_views.sql.engines.answers`). Everything else is a finding.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from operator import attrgetter

from hive_views.errors import SqlError
from hive_views.sql.analysis.constructs import Construct, constructs
from hive_views.sql.analysis.outcomes import Outcome
from hive_views.sql.analysis.reader_rules import EQUAL, RULES, ReaderRule
from hive_views.sql.analysis.type_differences import type_differences
from hive_views.sql.engines.answers import Direction, answer
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.resolver.resolved import ResolvedQuery
from hive_views.sql.resolver.resolver import resolve
from hive_views.sql.resolver.scopes import Schemas
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.text.positions import line_and_column
from hive_views.sql.types.hive_types import base


@dataclass(frozen=True)
class ReaderFinding:
    """A construct of a text that a reader may answer differently than the author's engine."""

    outcome: Outcome
    """What happens."""
    construct: str
    """The construct, as shown to users."""
    line: int | None = field(default=None, compare=False)
    """Line of its first occurrence in the text, from 1; None if it has no position."""
    column: int | None = field(default=None, compare=False)
    """Character in that line, from 1."""


@dataclass(frozen=True)
class Reader:
    """An engine that reads a text."""

    engine: Dialect
    """`hive` or `spark`."""
    missing: Collection[str] = ()
    """The functions in lower case that it does not have, about which nothing is returned."""
    ansi: bool = True
    """Whether Spark reads the text in ANSI mode."""


def reader_findings(
    sql: str,
    schemas: Schemas,
    *,
    database: str,
    author: Dialect,
    readers: Iterable[Reader],
    functions: Mapping[str, str] | None = None,
) -> dict[Dialect, tuple[ReaderFinding, ...]]:
    """Return, for each reader, one finding for each cause, in the order of the text.

    Args:
        sql: The text in the author's dialect.
        schemas: The tables, with the types of the author's engine.
        database: The current database.
        author: The engine that the text was written for, `hive` or `spark`.
        readers: The engines that read it.
        functions: The registered functions that it calls, with their kinds.

    Raises:
        SqlError: If the text cannot be resolved by the rules of the author's engine.
    """
    resolution = resolve(parse_query(sql, author), schemas, database, functions=functions)
    found = sorted(constructs(resolution), key=lambda item: item.start)
    findings = {}
    for reader in readers:
        examined = (item for item in found if item.signature.partition("(")[0] not in reader.missing)
        own = _findings(sql, examined, author, reader)
        if reader.engine != author:
            try:
                called = {**(functions or {}), **dict.fromkeys(reader.missing, "udf")}
                other = resolve(parse_query(sql, reader.engine), schemas, database, functions=called)
            except SqlError as error:
                reason = f"the text cannot be resolved by the rules of {reader.engine.capitalize()}: {error}"
                own = (*own, ReaderFinding(Outcome.UNVERIFIED, reason))
            else:
                own = (
                    *own,
                    *_type_findings(sql, resolution, other, author, reader.engine),
                    *_column_findings(resolution, other, author, reader.engine),
                )
        findings[reader.engine] = own
    return findings


def _type_findings(
    sql: str, resolution: ResolvedQuery, other: ResolvedQuery, author: Dialect, reader: Dialect
) -> Iterator[ReaderFinding]:
    reasons: dict[str, int] = {}
    for difference in sorted(type_differences(resolution, other), key=attrgetter("start")):
        names = author.capitalize(), reader.capitalize()
        if difference.types is None:
            reason = f"an expression that {names[0]} and {names[1]} read differently"
        else:
            (one, two), (first, second) = difference.types, names
            reason = f"an operand of type {one} in {first} and {two} in {second}: not compared with {first}"
        reasons.setdefault(reason, difference.start)
    for reason, start in reasons.items():
        yield ReaderFinding(Outcome.UNVERIFIED, reason, *line_and_column(sql, start))


_EXACT, _APPROXIMATE = frozenset({"bigint", "decimal"}), frozenset({"double", "float"})
"""Types of numbers that hold more digits than the others."""


def _column_findings(
    resolution: ResolvedQuery, other: ResolvedQuery, author: Dialect, reader: Dialect
) -> Iterator[ReaderFinding]:
    """Yield the columns of which only one engine computes exact numbers: values of more than 15 digits differ."""
    for (name, column), (_, read) in zip(resolution.columns, other.columns, strict=False):
        types = base(column.type or ""), base(read.type or "")
        if any(one in _EXACT and two in _APPROXIMATE for one, two in (types, types[::-1])):
            shown = f"{column.type} in {author.capitalize()} and {read.type} in {reader.capitalize()}"
            yield ReaderFinding(
                Outcome.SOME_VALUES, f"column {name} is {shown}, only for numbers of more than 15 digits"
            )


def _findings(sql: str, found: Iterable[Construct], author: Dialect, reader: Reader) -> tuple[ReaderFinding, ...]:
    answers: dict[tuple[Outcome, str], int] = {}
    for construct in found:
        result = _answer(author, reader, construct)
        if result is not None:
            answers.setdefault(result, construct.start)
    return tuple(
        ReaderFinding(outcome, reason, *line_and_column(sql, start)) for (outcome, reason), start in answers.items()
    )


@cache
def _rules(author: Dialect, reader: Dialect) -> tuple[tuple[re.Pattern[str], ReaderRule], ...]:
    rules = (rule for rule in RULES if rule.author in (None, author) and rule.reader == reader)
    return tuple((re.compile(rule.signature), rule) for rule in rules)


@cache
def _equal() -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{signature})" for signature in EQUAL))


def _answer(author: Dialect, reader: Reader, construct: Construct) -> tuple[Outcome, str] | None:
    """Return what a reader does with a construct, and why; None if it returns the author's rows."""
    signature = construct.signature
    measured = answer(_direction(reader), signature) if author != reader.engine else None
    is_different = measured is not None and measured.outcome not in (None, Outcome.SOME_VALUES.value)
    for pattern, rule in _rules(author, reader.engine):
        holds = (measured is None or not rule.if_not_measured) and (reader.ansi or not rule.ansi)
        if holds and not (rule.outcome.is_note and is_different) and pattern.fullmatch(signature):
            return rule.outcome, rule.reason
    if author == reader.engine:
        return None
    if measured is not None:
        return (
            None if measured.outcome is None else (Outcome(measured.outcome), f"{construct.shown}: {measured.reason}")
        )
    if _equal().fullmatch(signature):
        return None
    return Outcome.UNVERIFIED, f"{construct.shown}: not compared with {author.capitalize()}"


def _direction(reader: Reader) -> Direction:
    if reader.engine is Dialect.HIVE:
        return Direction.HIVE_READS_SPARK
    return Direction.SPARK_READS_HIVE_IN_ANSI_MODE if reader.ansi else Direction.SPARK_READS_HIVE
