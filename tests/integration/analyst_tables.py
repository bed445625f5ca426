"""The tables of `analyst_tables.json`, created by Trino or Hive: TPC-H, a part of TPC-DS, and an online shop."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tests.unit.sql.analysis.test_analyst_texts import DATABASE, TABLES

_TRINO_TYPES = {"string": "varchar", "int": "integer", "float": "real", "binary": "varbinary"}
_NESTED = re.compile(r"(array|map|struct)<(.*)>")


def trino_statements() -> Iterator[str]:
    """Yield the statements that create and fill the tables through Trino's Hive connector."""
    for name, table in TABLES.items():
        types = table["columns"]
        columns = ", ".join(f"{column} {_trino_type(kind)}" for column, kind in types.items())
        yield f"CREATE TABLE hive.{DATABASE}.{name} ({columns}) WITH (format = 'PARQUET')"
        rows = [", ".join(map(_trino_value, row, types.values())) for row in table["rows"]]
        yield f"INSERT INTO hive.{DATABASE}.{name} VALUES {', '.join(f'({row})' for row in rows)}"


def hive_statements() -> Iterator[str]:
    """Yield the statements that create and fill the tables in Hive."""
    yield f"CREATE DATABASE {DATABASE}"
    for name, table in TABLES.items():
        types = table["columns"]
        columns = ", ".join(f"`{column}` {kind}" for column, kind in types.items())
        yield f"CREATE EXTERNAL TABLE {DATABASE}.{name} ({columns}) STORED AS PARQUET"
        rows = [", ".join(map(_hive_value, row, types.values())) for row in table["rows"]]
        yield f"INSERT INTO {DATABASE}.{name} SELECT inline(array({', '.join(f'struct({row})' for row in rows)}))"


def _elements(kind: str) -> tuple[str, list[str]]:
    """Return the kind of a nested type and the types of its parts; the kind is empty for other types."""
    nested = _NESTED.fullmatch(kind)
    return ("", []) if nested is None else (nested[1], [part.rpartition(":")[2] for part in nested[2].split(",")])


def _trino_type(kind: str) -> str:
    nested, parts = _elements(kind)
    if nested == "struct":
        names = re.findall(r"(\w+):", kind)
        return f"row({', '.join(f'{name} {_trino_type(part)}' for name, part in zip(names, parts, strict=True))})"
    if nested:
        return f"{nested}({', '.join(map(_trino_type, parts))})"
    return "timestamp(3)" if kind == "timestamp" else _TRINO_TYPES.get(kind, kind)


def _trino_value(value: Any, kind: str) -> str:
    nested, parts = _elements(kind)
    if value is None:
        return "NULL"
    if nested == "array":
        return f"ARRAY[{', '.join(_trino_value(item, parts[0]) for item in value)}]"
    if nested == "map":
        keys, values = (
            ", ".join(_trino_value(item, part) for item in items)
            for items, part in zip((value, value.values()), parts, strict=True)
        )
        return f"MAP(ARRAY[{keys}], ARRAY[{values}])" if value else "MAP()"
    if nested == "struct":
        return f"ROW({', '.join(map(_trino_value, value, parts))})"
    if kind == "binary":
        return f"X'{value}'"
    return f"CAST({_literal(value)} AS {_trino_type(kind)})"


def _hive_value(value: Any, kind: str) -> str:
    nested, parts = _elements(kind)
    if nested == "array":
        text = f"array({', '.join(_hive_value(item, parts[0]) for item in value or [None])})"
    elif nested == "map":
        items = (value or {"": None}).items()
        text = (
            f"map({', '.join(f'{_hive_value(key, parts[0])}, {_hive_value(item, parts[1])}' for key, item in items)})"
        )
    elif nested == "struct":
        names, values = re.findall(r"(\w+):", kind), value or [None] * len(parts)
        fields = (f"'{name}', {_hive_value(*field)}" for name, *field in zip(names, values, parts, strict=True))
        text = f"named_struct({', '.join(fields)})"
    else:
        # Hive joins 'it''s' to `its`.
        literal = _literal(value).replace("''", "\\'") if value else _literal(value)
        return f"unhex('{value}')" if kind == "binary" and value else f"CAST({literal} AS {kind})"
    return text if value else f"if(false, {text}, NULL)"  # Hive has no typed literals of NULL and empty values


def _literal(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return str(value if value is not None else "NULL").lower()
    return str(value) if isinstance(value, (int, float)) else "'" + value.replace("'", "''") + "'"
