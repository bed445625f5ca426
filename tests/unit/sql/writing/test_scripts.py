"""Exported statements: clients that split a script in their own ways find exactly the statements that were written."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_views.errors import SqlError
from hive_views.sql.writing.scripts import script_comment, script_statement


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT 1", "SELECT 1"),
        ("SELECT ';'", "SELECT ';'"),
        ("SELECT 'a\nb'", "SELECT 'a\\nb'"),
        ("SELECT 'a\\\nb'", "SELECT 'a\\nb'"),
        ("SELECT 'a\\\\\nb'", "SELECT 'a\\\\\\nb'"),
        ("SELECT 'x\r;\nDROP DATABASE prod CASCADE;\n'", "SELECT 'x\\r;\\nDROP DATABASE prod CASCADE;\\n'"),
        ("""SELECT "it's", 'say "x"'""", """SELECT "it\\'s", 'say \\"x\\"'"""),
        ("SELECT 1 -- one\n, 2", "SELECT 1 -- one\n, 2"),
        ("SELECT 1 -- it's one;\n, 2", "SELECT 1  \n, 2"),
        ("SELECT 1 -- \\\n, 2", "SELECT 1  \n, 2"),
        ("SELECT /*+ MAPJOIN(a) */ 1", "SELECT /*+ MAPJOIN(a) */ 1"),
        ("SELECT /* ; */ 1", "SELECT   1"),
        ("SELECT `a b`, r'x'", "SELECT `a b`, r'x'"),
        ("SELECT 1;\nDROP DATABASE prod CASCADE", None),
        ("SELECT 1;", None),
        ("SELECT 'a", None),
        ('SELECT "a', None),
        ("SELECT `a", None),
        ("SELECT 1 /* a", None),
        ("SELECT `a;b`", None),
        ("SELECT \\''", None),
        ("SELECT `it's`", None),
        ("SELECT `a``b`", None),
        ("SELECT `a\nb`", None),
        ("SELECT r'\\'; DROP DATABASE prod CASCADE; --'", None),
        ("SELECT R'a\nb'", None),
        ("SELECT r'\"'", None),
    ],
)
def test_script_statement(sql: str, expected: str | None) -> None:
    if expected is not None:
        assert script_statement(sql) == expected
        return
    with pytest.raises(SqlError, match="cannot be part of a script"):
        script_statement(sql)


def split_as_hive_cli(script: str) -> list[str]:
    """Split a script like `CliDriver.processReader` and `CliDriver.splitSemiColon` of Hive 2.3."""
    script = "".join(f"{line}\n" for line in re.split(r"\r\n?|\n", script) if not line.startswith("--"))
    statements, begin = [], 0
    inside = {"'": False, '"': False}
    is_escaped = False
    for index, character in enumerate(script):
        if character in inside and not is_escaped:
            inside[character] = not inside[character]
        elif character == ";" and not any(inside.values()):
            statements.append(script[begin:index])
            begin = index + 1
        is_escaped = character == "\\" and not is_escaped
    return [text for text in (*statements, script[begin:]) if text.strip()]


def split_as_spark_sql(script: str) -> list[str]:
    """Split a script like `SparkSQLCLIDriver.splitSemiColon` of Spark 3.5, which knows comments and both quotes."""
    statements, begin, index, depth = [], 0, 0, 0
    quote, in_line_comment = "", False
    while index < len(script):
        pair, character = script[index : index + 2], script[index]
        if in_line_comment:
            in_line_comment = character != "\n"
        elif depth:
            if pair in ("/*", "*/"):
                depth += 1 if pair == "/*" else -1
                index += 1
        elif quote:
            if character == "\\":
                index += 1
            elif character == quote:
                quote = ""
        elif character in "'\"`":
            quote = character
        elif pair == "--":
            in_line_comment = True
        elif pair == "/*":
            depth, index = 1, index + 1
        elif character == ";":
            statements.append(script[begin:index])
            begin = index + 1
        index += 1
    return [text for text in (*statements, script[begin:]) if text.strip()]


PIECES = st.lists(
    st.sampled_from(
        [
            "'",
            '"',
            "`",
            "\\",
            ";",
            "\n",
            "\r",
            "--",
            "/*",
            "*/",
            "#",
            "!",
            "r'",
            "a",
            " ",
            "DROP DATABASE p",
            "''",
            "\u2028",
        ]
    ),
    max_size=14,
).map("".join)


@given(st.lists(PIECES, min_size=1, max_size=4), PIECES)
def test_clients_find_one_statement_per_view(bodies: list[str], comment: str) -> None:
    statements = []
    for body in bodies:
        try:
            statements.append(script_statement(f"CREATE VIEW v AS SELECT {body} x"))
        except SqlError:
            continue
    script = "".join(f"{script_comment(comment)}\n{statement}\n;\n\n" for statement in statements)
    for split in (split_as_hive_cli, split_as_spark_sql):
        parts = split(script)
        assert len(parts) == len(statements), split.__name__
        assert all("CREATE VIEW v AS SELECT" in part for part in parts)
