"""Spark settings that change what a text means, and the texts whose meaning depends on them."""

from __future__ import annotations

from collections.abc import Callable

from hive_views.sql.parsing.spark_lexer import spark_tokens

ESCAPED_LITERALS = "spark.sql.parser.escapedStringLiterals"
DOUBLE_QUOTED_IDENTIFIERS = "spark.sql.ansi.doubleQuotedIdentifiers"

PARSER_SETTINGS = {
    ESCAPED_LITERALS: "\\",
    "spark.sql.parser.quotedRegexColumnNames": "`",
    DOUBLE_QUOTED_IDENTIFIERS: '"',
}
"""Settings, off by default, that change how Spark parses a text, and the character whose meaning each changes."""

CASE_SENSITIVE = "spark.sql.caseSensitive"
"""Whether names that differ in case are different names; off by default."""


def setting_dependence(sql: str, is_on: Callable[[str], bool]) -> tuple[str, int, str] | None:
    """A setting on which the meaning of a text depends, the offset of the part that depends on it, and the reason.

    Args:
        sql: The text.
        is_on: Whether a setting is on for its author.
    """
    for key, mark in PARSER_SETTINGS.items():
        offset = sql.find(mark)
        if offset >= 0 and is_on(key):
            return key, offset, f"this text has a {mark} in it, which other readers of the view interpret differently"
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
