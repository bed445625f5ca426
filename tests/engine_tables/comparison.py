"""Comparison: the inferred types of expressions beside the types that the engine gave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from hive_views.errors import SqlError
from hive_views.sql.engines.tables import engine_table
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.types.names import row_type
from hive_views.sql.writing.expand import AuthorContext, expand
from tests.engine_tables.arguments import written
from tests.engine_tables.enumeration import COLUMNS, HIVE_COLUMNS, SEED, ask, ask_hive_calls, part_of
from tests.engine_tables.hive_engine import VERSION, HiveEngine
from tests.engine_tables.sampling import Sampler
from tests.engine_tables.spark_engine import SparkEngine
from tests.engine_tables.writing import takes_more
from tests.unit.sql.tables import Tables

ANSI = "spark.sql.ansi.enabled"
SETTINGS = ("true", "false")
_OPERATORS_AND_KEYWORDS = frozenset({"case", "cast", "||", "!=", "<>"})
"""What Spark lists as functions though it has no entry in the registry."""


def inferred(sql: str, tables: Tables, dialect: Dialect, conf: Mapping[str, str] | None = None) -> str | None:
    """Return the inferred type of an expression; None where it is unknown or the text is refused."""
    try:
        query = f"SELECT {sql} AS c FROM t"
        return (
            expand(query, tables, database="d", dialect=dialect, author=AuthorContext(conf=dict(conf or {})))
            .columns[0]
            .type
        )
    except SqlError:
        return None


def outcome(kind: str | None, answer: str) -> str:
    """Return how an inferred type and the engine's answer compare."""
    if answer == "!":
        return "both refuse" if kind is None else "we accept"
    if kind is None:
        return "unknown"
    read = row_type(answer)  # Spark does not quote the names of fields
    return "equal" if kind.lower() == (answer if read is None else read.text).lower() else "different"


@dataclass
class Comparison:
    """The tables of types beside an engine.

    Attributes:
        engine: The name of the engine.
        version: Its version.
        counts: The number of expressions by setting of ANSI and by outcome.
        different: Expressions with the inferred type and the engine's, by the function or the operator.
        unknown: Expressions without an inferred type, in the same form.
        prefers_integral: Whether a decimal with too many digits loses digits of its fraction first.
        counts_of: The numbers of arguments of functions that differ from those of the table; -1 for more.
        absent: The functions of the table that the engine does not have.
        added: The functions of the engine that the table does not have.
    """

    engine: str
    version: str
    counts: dict[str, Counter[str]] = field(default_factory=dict)
    different: dict[str, list[str]] = field(default_factory=dict)
    unknown: dict[str, list[str]] = field(default_factory=dict)
    prefers_integral: bool = True
    counts_of: dict[str, list[int]] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)

    def add(
        self, tables: Tables, sql: str, answer: str, dialect: Dialect = Dialect.SPARK, setting: str | None = None
    ) -> None:
        """Compare the inferred type of an expression with the engine's."""
        kind = inferred(sql, tables, dialect, {ANSI: setting} if setting else None)
        given = outcome(kind, answer)
        self.counts.setdefault(setting or "", Counter())[given] += 1
        groups = {"different": self.different, "unknown": self.unknown}.get(given)
        name = sql.partition("(")[0]
        if groups is not None and name not in self.added:
            line = f"{sql}{f' ANSI {setting}' if setting else ''}: {kind} here, {answer} there"
            groups.setdefault(name if name.isidentifier() else "operators", []).append(line)

    def as_json(self) -> dict[str, Any]:
        """Return what differs, as `spark_versions.json` has it: for each function, one example."""
        different = {name: found[0] for name, found in sorted(self.different.items())}
        return {
            "version": self.version,
            "absent": self.absent,
            "added": self.added,
            "counts": self.counts_of,
            "prefers_integral": self.prefers_integral,
            "different": different,
        }

    def lines(self, examples: int = 3) -> Iterator[str]:
        """Yield the comparison as text."""
        name = f"{self.engine} {self.version}"
        for setting, counts in self.counts.items():
            yield f"{name}{f', ANSI {setting}' if setting else ''}: {dict(sorted(counts.items()))}"
        yield f"not in {name}: {' '.join(self.absent) or 'none'}"
        yield f"only in {name}: {' '.join(self.added) or 'none'}"
        yield f"other numbers of arguments: {self.counts_of or 'none'}"
        for title, groups in (("different", self.different), ("unknown", self.unknown)):
            for function, found in sorted(groups.items()):
                yield f"{title} {function} ({len(found)}): {'; '.join(found[:examples])}"


def compare(engine: SparkEngine, share: float = 1.0, seed: int = SEED, most: int = 6) -> Comparison:
    """Return how the table of Spark compares with an installed Spark.

    Args:
        engine: The engine.
        share: Of the functions, and of the other expressions.
        seed: Of the random choices.
        most: The accepted calls of one function with a number of arguments.
    """
    result = compare_functions(engine, share, seed)
    tables = Tables({"t": COLUMNS})
    for items in ask(engine, share, seed, most).values():
        for sql, answers in items.items():
            for setting, answer in zip(SETTINGS, answers, strict=True):
                result.add(tables, sql, answer, setting=setting)
    return result


def compare_functions(engine: SparkEngine, share: float = 1.0, seed: int = SEED) -> Comparison:
    """Return which functions an installed Spark has, and which of a part take other numbers of arguments."""
    functions = set(engine.functions()) - _OPERATORS_AND_KEYWORDS
    table = engine_table("spark", "ansi")
    learned = set(table.names) - _OPERATORS_AND_KEYWORDS
    added, absent = sorted(functions - learned), sorted(learned - functions)
    result = Comparison("Spark", engine.version, absent=absent, added=added)
    wide, tight = (
        next(name for name, kind in COLUMNS.items() if kind == f"decimal({size})") for size in ("18,2", "38,38")
    )
    result.prefers_integral = engine.types([f"coalesce({wide}, {tight})"]) == ["decimal(38,22)"]
    sampler = Sampler(engine, written(COLUMNS))
    for name in part_of(sorted(functions), share, seed):
        counts, own = sampler.counts(name), table.counts(name)
        given = sorted(count for count in counts if count <= 8), takes_more(name, counts)
        if own is None or (given[0] and given != (sorted(own[0]), own[1])):
            result.counts_of[name] = [*given[0], *([-1] if given[1] else [])]
    return result


def compare_hive(engine: HiveEngine) -> Comparison:
    """Return how the table of Hive compares with the classes of its functions."""
    result = Comparison("Hive", VERSION)
    tables = Tables({"t": HIVE_COLUMNS})
    for sql, answer in ask_hive_calls(engine).items():
        result.add(tables, sql, answer, Dialect.HIVE)
    return result
