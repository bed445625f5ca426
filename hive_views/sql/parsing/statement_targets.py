"""What a statement asks Spark to do to views, told from its words alone: for statements that are not read otherwise.

It must see too much rather than too little, in any text: what Spark is not to do is refused by what is found here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from hive_views.sql.parsing.lexer import unquote_identifier
from hive_views.sql.parsing.spark_lexer import Word, words

_VERBS = frozenset({"CREATE", "REPLACE", "ALTER", "DROP", "MATERIALIZED"})
"""Words in front of VIEW where a view is made, changed or dropped that is no temporary one."""
_HEAD = 60
"""Words that are enough for the head of any statement about one view."""


@dataclass(frozen=True)
class Change:
    """A view that is made, changed or dropped."""

    parts: tuple[str, ...] | None
    """Its name as it is written, without quotes; None where an expression, a parameter or nothing stands there."""
    start: int
    """Where that begins, in characters."""
    makes: bool = False
    """Whether it is CREATE without OR REPLACE, which leaves a view alone that is there already."""


@dataclass(frozen=True)
class Executed:
    """The text that an EXECUTE IMMEDIATE runs."""

    start: int
    """Where the expression begins that gives it, in characters."""
    end: int
    """Behind that."""
    strings: bool
    """Whether nothing but strings stands there."""


@dataclass(frozen=True)
class Asked:
    """What a text asks for."""

    words: tuple[str, ...]
    """The words that it begins with, in capitals; empty for what is no word."""
    changes: tuple[Change, ...]
    """The views that it changes."""
    executed: tuple[Executed, ...]
    """What it has executed."""
    moves: bool
    """Whether it can make another catalog or database current."""

    @property
    def is_ours_alone(self) -> bool:
        """Whether Spark has no say in it: it makes a view that is no temporary one, or is about a materialized one."""
        head = list(self.words)
        if head[:1] == ["CREATE"]:
            del head[:1]
            if head[:2] == ["OR", "REPLACE"]:
                del head[:2]
            return head[:1] == ["VIEW"] or head[:2] == ["MATERIALIZED", "VIEW"]
        return (
            head[:1] in (["ALTER"], ["DROP"], ["REFRESH"], ["SHOW"])
            and head[1:2] == ["MATERIALIZED"]
            and head[2:3] in (["VIEW"], ["VIEWS"])
        )

    @property
    def is_immediate(self) -> bool:
        """Whether it is one EXECUTE IMMEDIATE."""
        return self.words[:2] == ("EXECUTE", "IMMEDIATE")


def asked(sql: str, *, head: bool = False) -> Asked:
    """What a text asks for."""
    listed = list(islice(words(sql), _HEAD)) if head else list(words(sql))
    keywords = [word.keyword for word in listed]
    changes = []
    executed = []
    moves = False
    for index, keyword in enumerate(keywords):
        before = keywords[index - 1] if index else ""
        if keyword == "VIEW" and before in _VERBS:
            if head and not all(each in _VERBS or each == "OR" for each in keywords[:index]):
                continue  # behind the head are names in a query, which may be called anything
            makes = before == "CREATE" or (before == "MATERIALIZED" and keywords[index - 2 : index - 1] == ["CREATE"])
            changes.append(_change(sql, listed, keywords, index + 1, makes=makes))
        elif keyword == "IMMEDIATE" and before == "EXECUTE":
            executed.append(_executed(sql, listed, keywords, index + 1))
        elif keyword == "USE" or (keyword == "CATALOG" and before == "SET"):
            moves = True
    return Asked(tuple(keywords[:6]), tuple(changes), tuple(executed), moves)


def _change(sql: str, listed: Sequence[Word], keywords: Sequence[str], index: int, *, makes: bool) -> Change:
    for words_ in (["IF", "NOT", "EXISTS"], ["IF", "EXISTS"]):
        if list(keywords[index : index + len(words_)]) == words_:
            index += len(words_)
            break
    start = listed[index].start if index < len(listed) else len(sql)
    parts = []
    while index < len(listed):
        word = listed[index]
        following = listed[index + 1].text if index + 1 < len(listed) else ""
        if word.kind not in ("word", "quoted") or (word.keyword == "IDENTIFIER" and following == "("):
            return Change(None, start, makes)
        parts.append(unquote_identifier(word.text))
        if following != ".":
            return Change(tuple(parts), start, makes)
        index += 2
    return Change(None, start, makes)


def _executed(sql: str, listed: Sequence[Word], keywords: Sequence[str], index: int) -> Executed:
    first = index
    depth = 0
    while index < len(listed):
        mark = listed[index].text
        if not depth and (mark == ";" or keywords[index] in ("INTO", "USING")):
            break
        depth += (mark in ("(", "[")) - (mark in (")", "]"))
        index += 1
    if first == index:
        return Executed(len(sql), len(sql), strings=False)
    strings = all(word.kind == "string" for word in listed[first:index])
    return Executed(listed[first].start, listed[index - 1].end, strings)
