"""The arguments with which functions are called to learn their result types, and those that are kept for tests."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from hive_views.sql.types.call_types import Argument, kind_of

SIMPLE = {
    "v": "void",
    "b": "boolean",
    "i1": "tinyint",
    "i2": "smallint",
    "i4": "int",
    "i8": "bigint",
    "f": "float",
    "d": "double",
    "s": "string",
    "x": "binary",
    "t": "date",
    "ts": "timestamp",
    "tn": "timestamp_ntz",
    "ym": "interval year to month",
    "ds": "interval day to second",
    "ci": "interval",
    "va": "variant",
    "dy": "interval day",
}
CONSTANTS = {
    "true": "boolean",
    "1Y": "tinyint",
    "1S": "smallint",
    "1": "int",
    "2": "int",
    "1L": "bigint",
    "1.0F": "float",
    "0.5D": "double",
    "0.5": "decimal(1,1)",
    "'a'": "string",
    "'1'": "string",
    "'2020-01-01'": "string",
    "X'41'": "binary",
    "DATE'2020-01-01'": "date",
    "TIMESTAMP'2020-01-01 00:00:00'": "timestamp",
    "-1": "int",
    "array(0.5D, 0.25D)": "array<double>",
    "array(0.5, 0.25)": "array<decimal(2,2)>",
    "map('a', 'b')": "map<string,string>",
    "'HH:mm'": "string",
    "'999.99'": "string",
    "'MONTH'": "string",
    "'UTF-8'": "string",
    "'5 minutes'": "string",
}
"""Constants, for arguments that must be constant."""
DECIMALS = ("decimal(10,2)", "decimal(38,18)", "decimal(5,5)", "decimal(20,0)", "decimal(38,0)", "decimal(7,1)")
NESTED = (
    "array<void>",
    *(f"array<{kind}>" for kind in SIMPLE.values() if kind not in ("void", "interval")),
    *(f"array<{kind}>" for kind in DECIMALS[:3]),
    "array<array<int>>",
    "array<array<string>>",
    "array<map<string,int>>",
    "array<struct<a:int,b:string>>",
    "array<struct<k:string,v:array<double>>>",
    "map<string,int>",
    "map<int,array<string>>",
    "map<string,string>",
    "map<bigint,decimal(10,2)>",
    "struct<a:int,b:string>",
    "struct<start:timestamp,end:timestamp>",
)
LEARNED_TYPES = (*SIMPLE.values(), *DECIMALS, *NESTED)
KEPT_DECIMALS = ("decimal(12,3)", "decimal(1,0)", "decimal(18,2)", "decimal(38,38)", "decimal(30,10)", "decimal(3,3)")
KEPT_TYPES = (
    *KEPT_DECIMALS,
    *(f"array<{kind}>" for kind in KEPT_DECIMALS[:3]),
    "array<array<bigint>>",
    "array<array<date>>",
    "array<map<int,double>>",
    "array<struct<x:date,y:bigint>>",
    "map<date,double>",
    "map<string,array<int>>",
    "map<int,struct<q:int>>",
    "struct<x:double,y:array<int>,z:string>",
    "struct<p:decimal(4,1)>",
)
"""Types that are not in the learned sample."""


@dataclass(frozen=True, slots=True)
class Written:
    """An argument as it is written, with its type."""

    sql: str
    argument: Argument

    @property
    def kind(self) -> str:
        return kind_of(self.argument.type)


def columns_of(types: Iterable[str], prefix: str) -> dict[str, str]:
    """Return a column for each type but VOID, which only the literal has."""
    return {f"{prefix}{number}": kind for number, kind in enumerate(types) if kind != "void"}


def written(columns: dict[str, str]) -> list[Written]:
    """Return the columns as arguments, and NULL."""
    return [Written("NULL", Argument("void")), *(Written(name, Argument(kind)) for name, kind in columns.items())]


def literal(sql: str, kind: str) -> Written:
    """Return an expression that was written as an example; its literal where it is one."""
    value = None
    if re.fullmatch(r"-?\d+[LSY]?", sql):
        # Spark takes the digits of a literal, but of a TINYINT those of the type.
        return Written(sql, Argument(kind, sql.rstrip("LSY"), is_number=not sql.endswith("Y")))
    if re.fullmatch(r"-?[\d.]+", sql):
        value = sql
    elif re.fullmatch(r"'[^'\\]*'", sql):
        value = sql[1:-1]
    return Written(sql, Argument(kind, value))


def split_call(example: str) -> tuple[str, list[str]] | None:
    """Return the name and the arguments of an example that is one call; None for another."""
    match = re.match(r"([A-Za-z_]\w*)\s*\(", example)
    if match is None:
        return None
    parts, depth, start, quote = [], 0, match.end(), ""
    for index in range(match.end(), len(example)):
        character = example[index]
        if quote:
            quote = "" if character == quote and example[index - 1] != "\\" else quote
        elif character in "'\"`":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}" and depth:
            depth -= 1
        elif character == "," and not depth:
            parts.append(example[start:index].strip())
            start = index + 1
        elif character == ")":
            parts.append(example[start:index].strip())
            return match.group(1), [part for part in parts if part]
    return None
