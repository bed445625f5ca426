"""The rows that an author's engine printed, compared with those that Spark reads from a converted view.

Hive prints a row as text with tabs between columns; Spark and Trino answer JSON lists (`spark_worker`, `programs`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any


def same_rows(program: str, authors: Sequence[str], read: Sequence[str]) -> bool:
    """Return whether Spark read the rows of an author, in any order; both are as their programs print them."""
    if len(authors) != len(read):
        return False
    left = [author_row(program, row) for row in authors]
    remaining = [json.loads(row) for row in read]
    for row in left:
        match = next((other for other in remaining if _same_row(row, other)), None)
        if match is None:
            return False
        remaining.remove(match)
    return True


def author_row(program: str, row: str) -> list[Any]:
    """Return the values of an author's row: texts for Hive, JSON values for the others."""
    return list(row.split("\t")) if program == "hive" else list(json.loads(row))


def _same_row(left: Sequence[Any], right: Sequence[Any]) -> bool:
    return len(left) == len(right) and all(map(_same, left, right))


def _same(author: Any, read: Any) -> bool:
    if read is None:
        return author in (None, "NULL")
    if isinstance(read, bool) or isinstance(author, bool):
        return str(author).lower() == str(read).lower()
    if isinstance(read, (list, dict)):
        return _same_nested(author, read)
    left, right = _number(author), _number(read)
    if left is not None and right is not None:
        return left == right
    return _text(author) == _text(read)


def _same_nested(author: Any, read: list[Any] | dict[str, Any]) -> bool:
    """Compare arrays, maps and structs; Hive prints them as JSON, and Spark's structs are lists without names."""
    if isinstance(author, str):
        try:
            author = json.loads(author)
        except ValueError:
            return False
    if isinstance(author, dict) and isinstance(read, dict):
        return author.keys() == read.keys() and all(_same(author[key], read[key]) for key in author)
    values = list(author.values()) if isinstance(author, dict) else author
    others = list(read.values()) if isinstance(read, dict) else read
    return isinstance(values, list) and _same_row(values, others)


def _number(value: Any) -> Decimal | None:
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    # Floats are compared as the nearest one that both print.
    return Decimal(repr(float(number))) if isinstance(value, float) else number


def _text(value: Any) -> str:
    text = str(value)
    if text.startswith("bytearray(b"):
        return text[len("bytearray(b'") : -2]
    if text.endswith(".0") and text[:4].isdigit():  # Hive prints a fraction of a second where Spark prints none
        return text[:-2]
    return text.rstrip("0") if text[:4].isdigit() and "." in text and ":" in text else text
