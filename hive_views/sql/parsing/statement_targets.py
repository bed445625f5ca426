"""The views that a Spark statement changes, found by keywords, for statements that the parser cannot read.

Callers reject statements by what these functions find. So the functions must report too much rather than too little,
for any text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from hive_views.sql.text.quoting import unquote_identifier
from hive_views.sql.text.spark_lexer import SparkToken, spark_tokens

_VERBS = frozenset({"CREATE", "REPLACE", "ALTER", "DROP", "MATERIALIZED"})
"""Words in front of VIEW in a statement that changes a permanent view."""
_TABLE_CHANGES = frozenset({("DROP", "TABLE"), ("DELETE", "FROM"), ("MERGE", "INTO"), ("EVOLUTION", "INTO")})
"""The words in front of a table that a statement drops, or whose rows it changes."""
_HEAD_TOKENS = 60
"""The number of tokens that are read as the head of a statement: enough for any statement about one view."""


@dataclass(frozen=True)
class ViewChange:
    """A view that a statement creates, changes or drops."""

    parts: tuple[str, ...] | None
    """The name as written, without quotes; None for an expression, a parameter or a missing name."""
    start: int
    """Where the name begins, in characters."""
    is_plain_create: bool = False
    """Whether it is CREATE without OR REPLACE, which never changes an existing view."""
    expression: tuple[int, int] | None = None
    """The offsets of the expression in IDENTIFIER(…), if that is the name."""


@dataclass(frozen=True)
class ExecutedText:
    """The expression that EXECUTE IMMEDIATE runs."""

    start: int
    """Where the expression begins, in characters."""
    end: int
    """Where it ends, in characters (exclusive)."""
    is_literal: bool
    """Whether it consists of string literals only."""


@dataclass(frozen=True)
class StatementTargets:
    """What a text changes and executes."""

    words: tuple[str, ...]
    """The first six tokens in upper case; empty strings for tokens that are not words."""
    changes: tuple[ViewChange, ...]
    """The views that it changes."""
    tables: tuple[ViewChange, ...]
    """The names that it drops as tables, or whose rows it deletes or changes; Spark does that through views, too."""
    executed: tuple[ExecutedText, ...]
    """The expressions of its EXECUTE IMMEDIATE statements."""
    changes_namespace: bool
    """Whether it can change the current catalog or database."""

    @property
    def is_catalog_only(self) -> bool:
        """Whether only the catalog can run it: it creates a permanent view or is about a materialized view."""
        head = list(self.words)
        if head[:2] == ["EXPLAIN", "REFRESH"]:
            del head[:1]
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
        """Whether the text is one EXECUTE IMMEDIATE."""
        return self.words[:2] == ("EXECUTE", "IMMEDIATE")


def find_targets(sql: str, *, head: bool = False) -> StatementTargets:
    """Find what a text changes and executes; with `head`, only in the head of one statement."""
    tokens = list(islice(spark_tokens(sql), _HEAD_TOKENS)) if head else list(spark_tokens(sql))
    keywords = [token.keyword for token in tokens]
    changes = []
    tables = []
    executed = []
    changes_namespace = False
    for index, keyword in enumerate(keywords):
        before = keywords[index - 1] if index else ""
        if keyword == "VIEW" and before in _VERBS:
            if head and not all(word in _VERBS or word == "OR" for word in keywords[:index]):
                continue  # names inside the query, which can be any word
            is_create = before == "CREATE" or (
                before == "MATERIALIZED" and keywords[index - 2 : index - 1] == ["CREATE"]
            )
            changes.append(_change(sql, tokens, keywords, index + 1, is_plain_create=is_create))
        elif (before, keyword) in _TABLE_CHANGES or keyword == "UPDATE":
            change = _change(sql, tokens, keywords, index + 1)
            verb = index if keyword == "UPDATE" else index - 1
            is_column = verb > 0 and tokens[verb - 1].text.upper() in ("SELECT", "DISTINCT", ",", ".")
            if not is_column and (change.parts is not None or change.expression is not None):
                tables.append(change)
        elif keyword == "IMMEDIATE" and before == "EXECUTE":
            executed.append(_executed(sql, tokens, keywords, index + 1))
        elif keyword == "USE" or (keyword == "CATALOG" and before == "SET"):
            changes_namespace = True
    return StatementTargets(tuple(keywords[:6]), tuple(changes), tuple(tables), tuple(executed), changes_namespace)


def _change(
    sql: str, tokens: Sequence[SparkToken], keywords: Sequence[str], index: int, *, is_plain_create: bool = False
) -> ViewChange:
    """Read the name that begins at a token, after an optional IF [NOT] EXISTS."""
    for condition in (["IF", "NOT", "EXISTS"], ["IF", "EXISTS"]):
        if list(keywords[index : index + len(condition)]) == condition:
            index += len(condition)
            break
    start = tokens[index].start if index < len(tokens) else len(sql)
    parts: list[str] = []
    while index < len(tokens):
        token = tokens[index]
        following = tokens[index + 1].text if index + 1 < len(tokens) else ""
        if token.keyword == "IDENTIFIER" and following == "(":
            end = _closing_bracket(tokens, index + 1)
            expression = None if end is None or parts else (tokens[index + 1].end, tokens[end].start)
            return ViewChange(None, start, is_plain_create, expression)
        if token.kind not in ("word", "quoted"):
            return ViewChange(None, start, is_plain_create)
        parts.append(unquote_identifier(token.text))
        if following != ".":
            return ViewChange(tuple(parts), start, is_plain_create)
        index += 2
    return ViewChange(None, start, is_plain_create)


def _closing_bracket(tokens: Sequence[SparkToken], index: int) -> int | None:
    """Return the token that closes the bracket at a token; None if it is not closed."""
    depth = 0
    for end in range(index, len(tokens)):
        depth += (tokens[end].text == "(") - (tokens[end].text == ")")
        if not depth:
            return end
    return None


def _executed(sql: str, tokens: Sequence[SparkToken], keywords: Sequence[str], index: int) -> ExecutedText:
    """Read the expression that begins at a token: up to INTO, USING or a semicolon outside of brackets."""
    first = index
    depth = 0
    while index < len(tokens):
        mark = tokens[index].text
        if not depth and (mark == ";" or keywords[index] in ("INTO", "USING")):
            break
        depth += (mark in ("(", "[")) - (mark in (")", "]"))
        index += 1
    if first == index:
        return ExecutedText(len(sql), len(sql), is_literal=False)
    is_literal = all(token.kind == "string" for token in tokens[first:index])
    return ExecutedText(tokens[first].start, tokens[index - 1].end, is_literal)
