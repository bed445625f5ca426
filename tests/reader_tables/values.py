"""The table over which expressions are compared: for each type 16 values, and each pair of them in two columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class Hive(Protocol):
    """What runs a statement of Hive."""

    def query(self, sql: str) -> list[str]:
        """Return the rows of a statement, with tabs between the columns."""


@dataclass(frozen=True)
class Kind:
    """A type with its values, as both engines write them in SQL."""

    prefix: str
    """The name of its column."""
    type: str
    values: tuple[str, ...]
    """16 values, in the order in which examples are chosen: usual ones first, then NULL, then what rarely occurs."""


def _kind(prefix: str, kind: str, *values: str) -> Kind:
    repeated = (values * 16)[:16]
    return Kind(prefix, kind, repeated)


_INTEGERS = ("1", "2", "3", "0", "-1", "-7", "10", "NULL", "30")


def _cast(kind: str, *values: str) -> tuple[str, ...]:
    return tuple(f"CAST({value} AS {kind})" for value in values)


KINDS = (
    _kind("bo", "boolean", *_cast("boolean", "true", "false", "NULL")),
    _kind("ti", "tinyint", *_cast("tinyint", *_INTEGERS, "100", "127", "-128")),
    _kind("si", "smallint", *_cast("smallint", *_INTEGERS, "300", "32767", "-32768")),
    _kind("i", "int", *_cast("int", *_INTEGERS, "365", "1700000000", "2147483647", "-2147483648")),
    _kind(
        *("l", "bigint"),
        *_cast("bigint", *_INTEGERS, "1700000000", "4294967296", "9223372036854775807", "-9223372036854775807"),
    ),
    _kind("f", "float", *_cast("float", "1.5", "2", "0", "-2.5", "0.1", "NULL", "3.3", "'NaN'", "'Infinity'")),
    _kind(
        *("d", "double"),
        *_cast("double", "1", "2.5", "0", "-1.5", "0.1", "-7", "100", "123456.789", "1e-10", "1e300", "NULL"),
        *_cast("double", "-0.5", "3", "'NaN'", "'Infinity'", "'-Infinity'"),
    ),
    _kind(
        *("n", "decimal(10,2)"),
        *_cast("decimal(10,2)", "1.5", "2", "0", "-2.25", "0.05", "-7.77", "100", "NULL", "99999999.99", "0.01"),
    ),
    _kind(
        *("m", "decimal(20,6)"),
        *_cast("decimal(20,6)", "1.5", "2", "0", "-2.123456", "0.000001", "7", "12345678901234.5", "NULL"),
    ),
    _kind(
        *("s", "string"),
        *("'abc'", "'ABC dEf'", "''", "' x '", "NULL", "'12'", "'-3.5'", "'2024-02-29'", "'2024-02-29 12:34:56'"),
        *("'a,b;c-d.e'", "'true'", "'Zoë ß 王'", "'{\"a\":1}'", "'aXbXc'", "'1e3'", "'2024-13-41'"),
    ),
    _kind(
        *("v", "varchar(12)"),
        *_cast("varchar(12)", "'abc'", "'ABC dEf'", "''", "' x '", "NULL", "'12'", "'2024-02-29'", "'a,b'", "'Zoë'"),
    ),
    _kind("c", "char(5)", *_cast("char(5)", "'abc'", "'ABCDE'", "''", "' x '", "NULL", "'12'", "'Zoë'")),
    _kind(
        *("dt", "date"),
        *_cast("date", "'2024-02-29'", "'2023-12-31'", "'1970-01-01'", "'2024-01-01'", "NULL", "'2001-05-06'"),
        *_cast("date", "'1969-12-31'", "'2024-03-31'", "'1900-01-01'", "'9999-12-31'"),
    ),
    _kind(
        *("ts", "timestamp"),
        *_cast("timestamp", "'2024-02-29 12:34:56'", "'2023-12-31 23:59:59.999'", "'1970-01-01 00:00:00'"),
        *_cast("timestamp", "'2024-01-01 00:00:00'", "NULL", "'2001-05-06 07:08:09.123456'"),
        *_cast("timestamp", "'1969-12-31 23:59:58.5'", "'1900-01-01 01:00:00'", "'9999-12-31 00:00:00'"),
    ),
    _kind("bi", "binary", *_cast("binary", "'abc'", "'A'", "''", "NULL", "'Zoë'")),
    _kind("ai", "array<int>", "array(1, 2)", "array(3, 1, 1)", "array(2, CAST(NULL AS int))", "NULL", "array(10)"),
    _kind(
        "at", "array<string>", "array('a', 'b')", "array('abc', 'A', 'a')", "array('x', CAST(NULL AS string))", "NULL"
    ),
    _kind("mp", "map<string,int>", "map('a', 1)", "map('b', 2, 'abc', 3)", "map('x', CAST(NULL AS int))", "NULL"),
    _kind("st", "struct<a:int,b:string>", "named_struct('a', 1, 'b', 'x')", "named_struct('a', 2, 'b', 'abc')", "NULL"),
)

COUNT = 16
FIRST, SECOND, THIRD = "", "2", "3"
"""The suffixes of three columns of each type; the rows have each pair of values in the first two."""
COLUMNS = {f"{kind.prefix}{suffix}": kind for suffix in (FIRST, SECOND, THIRD) for kind in KINDS}
TABLE = "k.t"
KEY = "id"
"""The column that identifies a row: 16 times the number of the first value, plus that of the second."""


def schema() -> dict[str, str]:
    """Return the types of the table's columns."""
    return {KEY: "int", "g": "int", **{name: kind.type for name, kind in COLUMNS.items()}}


def position(name: str, row: int) -> int:
    """Return which of its values a column has in a row."""
    first, second = divmod(row, COUNT)
    suffix = name.removeprefix(COLUMNS[name].prefix)
    return {FIRST: first, SECOND: second, THIRD: (first * 5 + second * 7) % COUNT}[suffix]


def create(hive: Hive, location: str) -> None:
    """Create the table in Hive and write its rows."""
    hive.query("CREATE DATABASE k")
    columns = ", ".join(f"{kind.prefix} {kind.type}" for kind in KINDS)
    hive.query(f"CREATE TABLE k.e (number INT, {columns}) STORED AS ORC")
    rows = (
        f"SELECT {row} AS number, {', '.join(f'{_typed(kind, row)} AS {kind.prefix}' for kind in KINDS)}"
        for row in range(COUNT)
    )
    hive.query(f"INSERT INTO k.e {' UNION ALL '.join(rows)}")
    columns = ", ".join(f"{name} {kind}" for name, kind in schema().items())
    hive.query(f"CREATE EXTERNAL TABLE {TABLE} ({columns}) STORED AS PARQUET LOCATION '{location}'")
    names = {FIRST: "a", SECOND: "b", THIRD: "c"}
    selected = ", ".join(f"{names[name.removeprefix(kind.prefix)]}.{kind.prefix}" for name, kind in COLUMNS.items())
    hive.query(
        f"INSERT INTO {TABLE} SELECT a.number * {COUNT} + b.number, (a.number + b.number * b.number) % 7, {selected} "
        f"FROM k.e a CROSS JOIN k.e b JOIN k.e c ON c.number = (a.number * 5 + b.number * 7) % {COUNT}"
    )


def _typed(kind: Kind, row: int) -> str:
    value = kind.values[row]
    return value if value != "NULL" else f"if(false, {kind.values[0]}, NULL)"
