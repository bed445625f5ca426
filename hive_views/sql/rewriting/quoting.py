"""Quoted identifiers and string literals.

Identifiers take backticks in Hive and Spark, double quotes in Trino; `hive_views.sql.parsing.lexer.IDENTIFIER_QUOTES`
has the quote of each dialect.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache


@lru_cache(maxsize=16384)
def quote_identifier(name: str, quote: str = "`") -> str:
    """Quote an identifier; quotes inside it are doubled."""
    return f"{quote}{name.replace(quote, quote * 2)}{quote}"


@lru_cache(maxsize=16384)
def quote_qualified(table: str, column: str, quote: str = "`") -> str:
    """Quote `table.column`."""
    return f"{quote_identifier(table, quote)}.{quote_identifier(column, quote)}"


def quote_name(parts: Iterable[str], quote: str = "`") -> str:
    """Quote the parts of a qualified name such as `catalog.database.table`."""
    return ".".join(quote_identifier(part, quote) for part in parts)


def string_literal(value: str, dialect: str) -> str:
    """Write a string literal: with backslashes for Hive and Spark, with doubled quotes for Trino.

    A backslash after the dollar sign of `${` keeps Hive and Spark from substituting a variable; the value is the same.
    """
    if dialect == "trino":
        return "'" + value.replace("'", "''") + "'"
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'").replace("${", "$\\{") + "'"
