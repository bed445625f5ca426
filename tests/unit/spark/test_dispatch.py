"""What a session does with a statement, and its table in docs/spark.md; HIVE_VIEWS_WRITE_DOCS=1 writes the table."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from hive_views.spark.session.dispatch import HANDLING, Handling, first_word, handling_of

PAGE = Path(__file__).parents[3] / "docs" / "spark.md"
COLUMNS = {
    "the catalog runs it if it is about its views": lambda item: item.is_about_views,
    "views in it are replaced": lambda item: item.is_rewritten,
    "statements in it are checked": lambda item: item.may_contain_statements,
    "rejected if it names a view to replace": lambda item: item.names_are_checked,
    "its target is checked": lambda item: item.changes_tables,
}
OTHER = "any other"


def table() -> str:
    groups: dict[tuple[bool, ...], list[str]] = {}
    for words, item in {**HANDLING, (OTHER,): handling_of("GRANT SELECT ON t TO u")}.items():
        text = OTHER if words == (OTHER,) else f"`{' '.join(words)}`" if words != ("",) else "none"
        groups.setdefault(tuple(applies(item) for applies in COLUMNS.values()), []).append(text)
    lines = [f"| first words | {' | '.join(COLUMNS)} |", f"|---|{'---|' * len(COLUMNS)}"]
    for applies, texts in groups.items():
        lines.append(f"| {', '.join(texts)} | {' | '.join('yes' if each else '' for each in applies)} |")
    return "\n".join(re.sub(r"\|  (?=\|)", "| ", line) for line in lines) + "\n"


def test_page_has_the_table() -> None:
    text = PAGE.read_text(encoding="utf-8")
    [written] = re.findall(r"^\| first words \|.*\n(?:\|.*\n)+", text, flags=re.MULTILINE)
    if "HIVE_VIEWS_WRITE_DOCS" in os.environ:
        PAGE.write_text(text.replace(written, table()), encoding="utf-8")
        return
    assert written == table()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select 1", HANDLING["SELECT",]),
        ("/* x */ -- y\n select 1", HANDLING["SELECT",]),
        ("", HANDLING["",]),
        ("set a = 1", HANDLING["SET",]),
        ("set var a = 1", Handling(may_contain_statements=True, names_are_checked=True)),
        ("comment on view v is 'x'", HANDLING["COMMENT", "ON", "VIEW"]),
        ("comment on table t is 'x'", Handling(may_contain_statements=True, names_are_checked=True)),
        ("explain refresh materialized view v", HANDLING["EXPLAIN", "REFRESH"]),
        ("explain select 1", HANDLING["EXPLAIN",]),
        ("begin end", Handling(may_contain_statements=True, names_are_checked=True)),
    ],
)
def test_longest_entry_applies(text: str, expected: Handling) -> None:
    assert handling_of(text) == expected


def test_first_word_is_that_of_the_statement() -> None:
    assert (first_word(" -- x\n Grant a"), first_word("")) == ("GRANT", "")
