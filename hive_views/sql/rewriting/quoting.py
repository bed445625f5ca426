"""Quoted identifiers: backticks for Hive and Spark, double quotes for Trino and standard SQL."""

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
