"""The generated lists of docs/hive.md; HIVE_VIEWS_WRITE_DOCS=1 writes them."""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

from hive_views.sql.analysis.outcomes import Outcome
from hive_views.sql.analysis.reader_rules import RULES, ReaderRule
from hive_views.sql.engines.answers import Direction
from hive_views.sql.text.dialects import Dialect

PAGE = Path(__file__).parents[4] / "docs" / "hive.md"
ANSWERS = json.loads(files("hive_views.sql.engines").joinpath("data/answers.json").read_text("utf-8"))
USUAL = frozenset({"int", "bigint", "double", "decimal", "string", "date", "timestamp"})
ORDER = (Outcome.OTHER_ROWS, Outcome.REFUSED, Outcome.MAY_FAIL, Outcome.UNVERIFIED, Outcome.SOME_VALUES)
DIRECTIONS = {"Spark reads Hive": Direction.SPARK_READS_HIVE, "Hive reads Spark": Direction.HIVE_READS_SPARK}
_SIGNATURE = re.compile(r"([^()]+)\(([^()]*)\)")


def _readers(rules: list[ReaderRule]) -> str:
    """Return for which readers the rules hold."""
    readers = {rule.reader for rule in rules}
    if readers == {Dialect.HIVE, Dialect.SPARK}:
        return "both"
    (reader,) = readers
    return "Spark in ANSI mode" if all(rule.ansi for rule in rules) else reader.capitalize()


def rules() -> Iterator[str]:
    yield "| outcome | reader | construct |\n|---|---|---|"
    by_reason: defaultdict[tuple[Outcome, str], list[ReaderRule]] = defaultdict(list)
    for rule in RULES:
        if rule.author != rule.reader:
            by_reason[rule.outcome, rule.reason].append(rule)
    for (outcome, reason), listed in sorted(by_reason.items(), key=lambda item: ORDER.index(item[0][0])):
        yield f"| {outcome.value} | {_readers(listed)} | {reason.replace('|', '&#124;')} |"


def functions() -> Iterator[str]:
    yield "| direction | outcome | functions and operators |\n|---|---|---|"
    for title, direction in DIRECTIONS.items():
        names: defaultdict[str, set[str]] = defaultdict(set)
        for signature, (outcome, _) in ANSWERS[direction.value]["different"].items():
            match = _SIGNATURE.fullmatch(signature)
            if match is not None and set(match.group(2).split(",")) <= USUAL:
                names[outcome].add(match.group(1))
        for outcome in (Outcome.OTHER_ROWS, Outcome.REFUSED, Outcome.MAY_FAIL):
            listed = ", ".join(f"`{name}`".replace("|", "&#124;") for name in sorted(names[outcome.value]))
            if listed:
                yield f"| {title} | {outcome.value} | {listed} |"


@pytest.mark.parametrize(("name", "lines"), [("rules", rules), ("functions", functions)])
def test_page_has_the_list(name: str, lines: object) -> None:
    assert callable(lines)
    block = f"<!-- hive:{name} -->\n" + "".join(f"{line}\n" for line in lines()) + "<!-- hive:end -->"
    pattern = re.compile(rf"<!-- hive:{name} -->\n.*?<!-- hive:end -->", re.DOTALL)
    text = PAGE.read_text("utf-8")
    if "HIVE_VIEWS_WRITE_DOCS" in os.environ:
        PAGE.write_text(pattern.sub(lambda _: block, text), "utf-8")
        return
    assert pattern.findall(text) == [block]
