"""Statements of a script, written so that all clients split the script into the same statements.

Clients split a script in different ways. Hive's CLI recognizes neither backquotes nor comments inside of a statement,
and takes every quote without a backslash for the begin or end of a string, even inside of quotes of the other kind.
Beeline drops lines that begin with `--` or `#`. spark-sql nests bracket comments, continues a line comment after a
backslash, and has raw strings. So a statement has no line break inside of quotes, and no semicolon or quote where a
client would interpret it as a delimiter.
"""

from __future__ import annotations

import re

from hive_views.sql.text.positions import error_at

_TOKEN = re.compile(
    r"""
      (?P<raw_string>   \b[rR](?:'[^']*'|"[^"]*") )
    | (?P<string>       '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" )
    | (?P<identifier>   `(?:[^`]|``)*` )
    | (?P<line_comment> --[^\r\n]* )
    | (?P<comment>      /\*.*?\*/ )
    | (?P<open>         ['"`] | /\* )
    | (?P<semicolon>    ; )
    | (?P<backslash>    \\ )
    """,
    re.VERBOSE | re.DOTALL,
)
_SPLITTING = re.compile(r"""[;'"`\\\r\n]|/\*""")
"""What a client could take for the end of a statement, a quote or a comment."""

_IN_STRINGS = re.compile(r"""\\.|[\r\n'"]""", re.DOTALL)
_ESCAPES = {"\r": r"\r", "\n": r"\n", "'": r"\'", '"': r"\""}
_IN_COMMENTS = str.maketrans({";": ",", "'": "’", '"': "”", "\\": "/", "\0": " "})


def script_statement(sql: str) -> str:
    """Return a statement for Hive and Spark in the form for a script; raises SqlError if there is none.

    Comments that a client could misread are removed; line breaks and quotes in string literals become escapes.
    """

    def rewrite(match: re.Match[str]) -> str:
        kind, text = match.lastgroup, match[0]
        if kind == "string":
            return text[0] + _IN_STRINGS.sub(lambda item: _ESCAPES.get(item[0][-1], item[0]), text[1:-1]) + text[-1]
        if kind in ("comment", "line_comment"):
            return " " if _SPLITTING.search(text[2:]) else text
        problem = {
            "semicolon": "a semicolon ends the statement",
            "backslash": "a backslash outside of a string",
            "open": "a quote or comment is not closed",
            "identifier": "an identifier with a quote, a semicolon or a line break"
            if _SPLITTING.search(text[1:-1])
            else "",
            "raw_string": "a raw string with such a character" if _SPLITTING.search(text[2:-1]) else "",
        }[str(kind)]
        if problem:
            raise error_at(sql, match.start(), f"The text cannot be part of a script: {problem}")
        return text

    return _TOKEN.sub(rewrite, sql)


def script_comment(text: str) -> str:
    """Return a comment line for a script, without characters that a client could take for its end."""
    return f"-- {' '.join(text.split()).translate(_IN_COMMENTS)}"
