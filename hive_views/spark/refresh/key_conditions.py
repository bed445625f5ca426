"""Conditions that select the rows of a set of keys by constants: Spark applies them before it joins and shuffles rows.

A join with the keys reads and shuffles the whole table. By the smallest and the largest key, Iceberg skips data files
and row groups. By an array with a byte for each hash value of a key, Spark drops most of the other rows where it reads
them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hive_views.sql.text.quoting import quote_identifier

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LITERALS = {
    "tinyint": "concat({value}, 'Y')",
    "smallint": "concat({value}, 'S')",
    "int": "CAST({value} AS STRING)",
    "bigint": "concat({value}, 'L')",
    "date": "concat('date_from_unix_date(', unix_date({value}), ')')",
    "timestamp": "concat('timestamp_micros(', unix_micros({value}), 'L)')",
    "string": "concat('CAST(X', chr(39), hex({value}), chr(39), ' AS STRING)')",
}
"""Spark SQL that writes a value as a constant, by type. Strings are those with the default collation.

`chr(39)` is a quote: before 4.1, Spark has no doubled quotes in literals, and a setting turns escapes off."""

_HASHED = ("boolean", "binary", "decimal", "timestamp_ntz", *_LITERALS)
"""The types whose equal values have equal hash values."""

_SLOTS_PER_KEY = 16
_MIN_SLOTS, _MAX_SLOTS = 1 << 16, 1 << 20
"""The constant is written as hexadecimal text of twice this length."""


@dataclass(frozen=True)
class KeyCondition:
    """What the values of one key have in common."""

    has_null: bool
    """Whether NULL is one of them."""
    smallest: str | None
    """The smallest value as a constant of Spark SQL; None if there is none."""
    largest: str | None
    """The largest value."""
    slots: bytes
    """At the hash value of each key, modulo the length, is a 1; empty if there are too many keys."""

    def on(self, value: str) -> str:
        """The condition that an expression may have one of the values: true for all of them, and for some others."""
        parts = []
        if self.smallest is not None:
            bounds = f"{value} >= {self.smallest} AND {value} <= {self.largest}"
            parts.append(f"({bounds} OR {value} IS NULL)" if self.has_null else bounds)
        if self.slots:
            slot = f"pmod(hash({value}), {len(self.slots)}) + 1"
            parts.append(f"substr(X'{self.slots.hex()}', {slot}, 1) = X'01'")
        return " AND ".join(parts) or "true"


def key_conditions(keys: DataFrame) -> tuple[int, list[KeyCondition]]:
    """Count a set of keys, and describe each of its columns.

    Args:
        keys: One row for each key. It is read more than once, so it should be stored.
    """
    columns = [(quote_identifier(name), kind) for name, kind in keys.dtypes]
    items = ["count(*) AS keys"]
    for number, (name, kind) in enumerate(columns):
        items.append(f"count({name}) AS present_{number}")
        for function in ("min", "max"):
            literal = _LITERALS.get(kind, "NULL").format(value=f"{function}({name})")
            items.append(f"{literal} AS {function}_{number}")
    [totals] = keys.selectExpr(*items).collect()
    count = int(totals["keys"])
    length = min(max(1 << (count * _SLOTS_PER_KEY).bit_length(), _MIN_SLOTS), _MAX_SLOTS)
    has_slots = 0 < count <= length // 2
    conditions = []
    for number, (name, kind) in enumerate(columns):
        slots = bytearray()
        if has_slots and kind.split("(")[0] in _HASHED:
            slots = bytearray(length)
            for row in keys.selectExpr(f"pmod(hash({name}), {length}) AS slot").distinct().collect():
                slots[row["slot"]] = 1
        has_null = totals[f"present_{number}"] < count
        conditions.append(KeyCondition(has_null, totals[f"min_{number}"], totals[f"max_{number}"], bytes(slots)))
    return count, conditions
