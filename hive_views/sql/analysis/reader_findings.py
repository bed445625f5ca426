"""Checks whether Hive or Spark returns the rows of a text that was written for the other one.

Only what was measured to be equal is equal (`hive_views.sql.analysis.reader_rules`). Everything else is a finding.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

from hive_views.sql.analysis.constructs import constructs
from hive_views.sql.analysis.outcomes import Outcome
from hive_views.sql.analysis.reader_rules import EQUAL, HIVE, RULES, SPARK, ReaderRule
from hive_views.sql.parsing.lexer import line_and_column
from hive_views.sql.resolver.resolver import Resolution


@dataclass(frozen=True)
class ReaderFinding:
    """A construct of a text that a reader may answer differently than the author's engine."""

    outcome: Outcome
    """What happens."""
    construct: str
    """The construct, as shown to users."""
    line: int | None = field(default=None, compare=False)
    """Line of its first occurrence in the text, from 1."""
    column: int | None = field(default=None, compare=False)
    """Character in that line, from 1."""


def reader_findings(resolution: Resolution, author: str, reader: str) -> tuple[ReaderFinding, ...]:
    """Return one finding for each cause, in the order of the text.

    Args:
        resolution: The text in the author's dialect, with the types of the author's engine.
        author: The engine that the text was written for, `hive` or `spark`.
        reader: The engine that reads it, `hive` or `spark`.
    """
    found: dict[tuple[Outcome, str], int] = {}
    for construct in sorted(constructs(resolution), key=lambda item: item.start):
        answer = _answer(author, reader, construct.signature)
        if answer is not None:
            found.setdefault(answer, construct.start)
    sql = resolution.text.sql
    return tuple(
        ReaderFinding(outcome, reason, *line_and_column(sql, start)) for (outcome, reason), start in found.items()
    )


@cache
def _rules(author: str, reader: str) -> tuple[tuple[re.Pattern[str], ReaderRule], ...]:
    return tuple(
        (re.compile(rule.signature), rule)
        for rule in RULES
        if rule.author in (None, author) and rule.reader == reader and (rule.author == reader or author != reader)
    )


@cache
def _equal() -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{signature})" for signature in EQUAL))


def _answer(author: str, reader: str, signature: str) -> tuple[Outcome, str] | None:
    """Return what a reader does with a construct, and why; None if it returns the author's rows."""
    for pattern, rule in _rules(author, reader):
        if pattern.fullmatch(signature):
            return rule.outcome, rule.reason
    if author == reader or _equal().fullmatch(signature):
        return None
    return Outcome.UNVERIFIED, f"{signature} was not compared with {author.capitalize()}'s"


def measured_engines() -> Iterator[str]:
    """Yield the engines between which texts were compared."""
    yield from (HIVE, SPARK)
