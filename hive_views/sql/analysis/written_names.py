"""How findings name what a text contains: by the author's words, not by the parser's names of nodes."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlglot import exp

from hive_views.sql.parsing.parser import ParsedQuery
from hive_views.sql.text.quoting import unquote_identifier

_LONGEST = 40
_WORDS: Mapping[type, str] = {exp.CurrentDate: "current_date", exp.CurrentTimestamp: "current_timestamp"}
"""Functions without parentheses, which have no position inside the calls for which the parser has nodes of its own."""


def called_name(query: ParsedQuery, node: exp.Expr) -> str | None:
    """Return the name with which a function is called, in lower case; None if a node is not written as a call."""
    token = query.function_token(node)
    if token is None:
        first, last = query.ranges.get(id(node), (0, -1))
        is_call = first == last or (first < last and query.text.match.get(first + 1) == last)
        token = first if is_call and query.text.raw(first).isidentifier() else None
    return None if token is None else unquote_identifier(query.text.raw(token)).lower()


def written_name(query: ParsedQuery, node: exp.Expr) -> str:
    """Return `name()` for a call, and the text of another node, or of the one around it that the text has."""
    name = called_name(query, node) if isinstance(node, exp.Func) else None
    word = _WORDS.get(type(node), "")
    if name is not None or (word and word in query.text.lower):
        return f"{name or word}()"
    around: exp.Expr | None = node
    while around is not None and id(around) not in query.ranges:
        around = around.parent
    written = query.text.sql if around is None else query.text.between(*query.ranges[id(around)])
    words = " ".join(written.split())
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]}…"


def with_written_name(query: ParsedQuery, node: exp.Expr, shown: str) -> str:
    """Return the text of a finding about a node, with the author's name of the function in place of the parser's."""
    if isinstance(node, exp.Func) and shown.endswith("(?)"):
        return written_name(query, node)  # the parser added it
    if shown == node.key.replace("_", " ") != "tuple" and re.search(rf"\b{shown}\b", query.text.lower) is None:
        return written_name(query, node)
    function = node.this if isinstance(node, exp.Window) else node
    if not isinstance(function, exp.Func) or isinstance(function, (exp.Cast, exp.TryCast)):
        return shown
    name = called_name(query, function)
    if name is None:
        return shown
    if shown.startswith("database."):
        token = query.function_token(function) or 0
        return f"{unquote_identifier(query.text.raw(token - 2)).lower()}.{name}"
    keys = "|".join(map(re.escape, {function.key, *map(str.lower, function.sql_names())}))
    return re.sub(rf"\b(?:{keys})\b(?=\(|;|\)$)", name, shown, count=1)
