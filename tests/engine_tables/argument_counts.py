"""The numbers of arguments that Hive's compiler accepts, function by function: a query for each number.

A number is accepted if a call with it compiles. The types come from the table of Hive's signatures, which has those
with up to four arguments; further numbers are tried with the types of the longest signature, repeated.
"""
# ruff: noqa: SIM905 (long lists of words)

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product
from pathlib import Path
from tempfile import TemporaryDirectory

from hive_views.sql.engines.builtin_functions import (
    HIVE_AGGREGATES,
    HIVE_FUNCTIONS,
    HIVE_PARTITIONED_FUNCTIONS,
    HIVE_TABLE_FUNCTIONS,
    HIVE_WINDOW_FUNCTIONS,
)
from hive_views.sql.engines.tables import engine_table
from hive_views.sql.types.call_types import kind_of
from tests.integration.hive.reader import VERSION, HiveError, HiveReader, running

MOST = 8
"""The largest number of arguments that is tried."""
_LEARNED = 4
COLUMNS = dict(
    item.split(":", 1)
    for item in (
        "s:string i:int d:double l:bigint n:decimal(10,2) dt:date ts:timestamp bo:boolean bi:binary v:varchar(10) "
        "c:char(5) ti:tinyint f:float ai:array<int> as_:array<string> mp:map<string,int> st:struct<a:int,b:string> "
        "ad:array<double> an:array<decimal(10,2)>"
    ).split()
)
_LITERALS = {
    "s": "'a'",
    "b": "true",
    "d": "0.5D",
    "p": "0.5",
    "4": "1",
    "8": "1L",
    "a4": "array(1)",
    "as": "array('a')",
}
_SYNTAX = frozenset(
    """
    and between case cast div extract grouping in interval like likeall likeany not or position regexp rlike when
    """.split()
)
"""Functions that are called by other syntax, too, so that the text of a call does not have their arguments."""
_WRITTEN = {
    **dict.fromkeys(("lag", "lead"), ("s", "1", "s")),
    "named_struct": ("'a'", "s", "'b'", "s", "'c'", "s", "'d'", "s"),
    "if": ("bo", "s", "s"),
    "sha2": ("s", "256"),
    "percentile_approx": ("d", "0.5", "100"),
    "regexp_replace": ("s", "'a'", "'b'"),
}
"""Arguments of functions that need literals, or values of other types than the table of signatures has."""
_UNMEASURED = frozenset(name for name in HIVE_FUNCTIONS if name.startswith(("st_", "iceberg_", "ds_")))


def names() -> list[str]:
    """Return the functions that are measured."""
    return sorted(HIVE_FUNCTIONS - HIVE_TABLE_FUNCTIONS - HIVE_PARTITIONED_FUNCTIONS - _SYNTAX - _UNMEASURED)


def accepted_counts(hive: HiveReader, name: str) -> list[int]:
    """Return the numbers of arguments, up to `MOST`, for which a call compiles."""
    return [count for count in range(MOST + 1) if any(_compiles(hive, name, call) for call in _calls(name, count))]


def _calls(name: str, count: int) -> Iterator[Sequence[str]]:
    if count == 0:
        yield ()
        return
    if count <= len(_WRITTEN.get(name, ())):
        yield _WRITTEN[name][:count]
    signatures = engine_table("hive", "hive").signatures(name, min(count, _LEARNED))
    for signature in signatures[:4]:
        kinds = [*signature.kinds, *signature.kinds[-2:] * count][:count]
        options = [_values(kind) for kind in kinds]
        if all(options):
            yield from islice(zip(*options, strict=False), 2)
            yield from islice(product(*options), 2)
    for value in ("s", "i", "ts") if signatures or name not in engine_table("hive", "hive").names else ("s", "i"):
        yield (value,) * count


def _values(kinds: frozenset[str]) -> list[str]:
    """Return columns and literals of some types."""
    columns = [name for name, kind in COLUMNS.items() if kind_of(kind) in kinds]
    return [*columns[:2], *(written for kind, written in _LITERALS.items() if kind in kinds)][:4]


def _compiles(hive: HiveReader, name: str, arguments: Sequence[str]) -> bool:
    call = f"{name}({', '.join(arguments)})"
    is_window = name in HIVE_WINDOW_FUNCTIONS - {"first_value", "last_value"}
    forms = [f"{call} OVER (ORDER BY i)"] if is_window else [call]
    if name in HIVE_AGGREGATES and not is_window and len(arguments) > 1:
        forms.append(f"{name}(DISTINCT {', '.join(arguments)})")
    return any(_is_valid(hive, f"EXPLAIN SELECT {form} AS r FROM k.a") for form in forms)


def _is_valid(hive: HiveReader, query: str) -> bool:
    try:
        hive.query(query)
    except HiveError:
        return False
    return True


def measured_counts() -> dict[str, list[int]]:
    """Return what Hive accepts for each function; without those of which no call compiles."""
    from tests.conftest import started

    columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    with (
        TemporaryDirectory() as directory,
        started(Path(directory) / "metastore", VERSION) as process,
        running(Path(directory) / "hive", process.uri) as hive,
    ):
        hive.query("CREATE DATABASE k")
        hive.query(f"CREATE TABLE k.a ({columns})")
        counts = {name: accepted_counts(hive, name) for name in names()}
    return {name: listed for name, listed in counts.items() if listed}
