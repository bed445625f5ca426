"""Settings and versions of Spark that change how it reads a text."""

from __future__ import annotations

import re
from collections.abc import Callable

from hive_views.sql.text.spark_lexer import spark_tokens

ESCAPED_LITERALS = "spark.sql.parser.escapedStringLiterals"
DOUBLE_QUOTED_IDENTIFIERS = "spark.sql.ansi.doubleQuotedIdentifiers"

PARSER_SETTINGS = {
    ESCAPED_LITERALS: ("\\",),
    "spark.sql.parser.quotedRegexColumnNames": ("`",),
    DOUBLE_QUOTED_IDENTIFIERS: ('"',),
    "spark.sql.legacy.consecutiveStringLiterals.enabled": ("''", '""'),
}
"""Settings, off by default, that change how Spark parses a text, each with the characters whose meaning it changes."""

_VARIABLE = re.compile(r"\$\{\S+?\}", re.ASCII)
CASE_SENSITIVE = "spark.sql.caseSensitive"
"""The setting that makes names that differ only in case different names; off by default."""


def setting_dependence(sql: str, is_on: Callable[[str], bool]) -> tuple[str, int, str] | None:
    """A setting on which the meaning of a text depends, the offset of the part that depends on it, and the reason."""
    for key, marks in PARSER_SETTINGS.items():
        for mark in marks:
            offset = _find_mark(sql, mark)
            if offset >= 0 and is_on(key):
                reason = f"this text has a {mark} in it, which other readers of the view interpret differently"
                return key, offset, reason
    if not is_on(CASE_SENSITIVE):
        return None
    first_uses: dict[str, str] = {}
    for token in spark_tokens(sql):
        if token.kind not in ("word", "quoted"):
            continue
        name = token.text.strip("`")
        first_use = first_uses.setdefault(name.lower(), name)
        if first_use != name:
            reason = f"this text has {first_use} and {name}, which are one name to other readers of the view"
            return CASE_SENSITIVE, token.start, reason
    return None


def find_doubled_quote(sql: str) -> int | None:
    """Return the offset of the first literal with a doubled quote, such as `'it''s'`; see `reads_doubled_quotes`."""
    literals = (token for token in spark_tokens(sql) if token.kind == "string" and token.text[0] in "'\"")
    return next((token.start for token in literals if token.text[0] * 2 in token.text[1:-1]), None)


def reads_doubled_quotes(spark_version: str) -> bool:
    """Return whether a version of Spark reads `'it''s'` as `it's`.

    Those before 4.1 read `its` (2.4.8, 3.5.9 and 4.0.5).
    """
    return [int(number) for number in re.findall(r"\d+", spark_version)[:2]] >= [4, 1]


def find_variable(sql: str) -> str | None:
    """Return the first `${name}` in a Spark text outside comments, which Spark replaces by a value; None for none."""
    variables = (_VARIABLE.search(token.text) for token in spark_tokens(sql) if "${" in token.text)
    return next((variable.group() for variable in variables if variable is not None), None)


def _find_mark(sql: str, mark: str) -> int:
    """Return the offset of characters whose meaning a setting changes; two quotes count only within a string."""
    if len(mark) == 1 or mark not in sql:
        return sql.find(mark)
    doubled = find_doubled_quote(sql)
    return -1 if doubled is None else doubled
