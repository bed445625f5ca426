"""Conditions of every kind, and the types that Spark 4.1.4 accepts in them."""

from __future__ import annotations

from tests.engine_tables.enumeration import OPERAND_COLUMNS

OPERANDS = {**OPERAND_COLUMNS, "'a'": "string", "NULL": "void", "1": "int"}
"""Columns and literals with their types."""
CONDITIONS = {
    "WHERE": "SELECT 1 AS c FROM t WHERE {0}",
    "HAVING": "SELECT count(*) AS c FROM t HAVING any_value({0})",
    "ON": "SELECT 1 AS c FROM t CROSS JOIN (SELECT 1 AS other) q JOIN (SELECT 1 AS further) r ON {0}",
    "CASE": "SELECT CASE WHEN {0} THEN 1 END AS c FROM t",
    "if": "SELECT if({0}, 1, 2) AS c FROM t",
    "FILTER": "SELECT count(*) FILTER (WHERE {0}) AS c FROM t",
    "AND": "SELECT true AND {0} AS c FROM t",
    "OR": "SELECT {0} OR true AS c FROM t",
    "NOT": "SELECT NOT {0} AS c FROM t",
    "IS TRUE": "SELECT {0} IS TRUE AS c FROM t",
}
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
_ACCEPTED = {
    "if": (("void",), ("void",)),
    **dict.fromkeys(("AND", "OR", "NOT"), (("void", "string"), ("void",))),
    "IS TRUE": (("void", "string"), ("void", "string", *_NUMBERS)),
    "HAVING": (("void", "string", "variant", *_NUMBERS), ("void", "string", "variant", "date", "timestamp", *_NUMBERS)),
}
"""The types beside BOOLEAN, in ANSI mode and without it; no others in the forms that are missing."""


def is_accepted(form: str, kind: str, setting: str) -> bool:
    """Return whether Spark accepts a condition of a type, with a setting of ANSI mode."""
    on, off = _ACCEPTED.get(form, ((), ()))
    return kind.partition("(")[0] in ("boolean", *(on if setting == "true" else off))
