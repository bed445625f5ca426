"""Compares random statements with a real engine: the author's text against the texts that are stored for it.

    python -m tests.unit.sql.random_check spark COUNT [SEED]
    python -m tests.unit.sql.random_check hive COUNT [SEED]       (ORACLE is the command that starts Hive)

It prints the number of statements of each outcome, after every 500 statements and at the end. Statements whose outcome
is in `FAILURES` are reduced: tokens are removed as long as the outcome stays the same. The tests of
`test_random_statements.py` run the short form, and the reduced statements of `fixtures/random_spark.jsonl` again.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hive_views.errors import SqlError
from hive_views.spark.session.plans import AnalyzedQuery, check_equal
from hive_views.sql.parsing.spark_grammar import check_spark_text
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.text.tokens import tokenizer_of
from hive_views.sql.types.spark_inference import ANSI
from hive_views.sql.writing.coral import apply_rules
from hive_views.sql.writing.expand import AuthorContext, Expansion, expand
from tests.unit.sql.random_statements import FURTHER_TABLES, TABLES, TYPES, Generator
from tests.unit.sql.tables import Tables

FAILURES = (
    "crash",
    "we refuse",
    "unreadable",
    "guard rejects",
    "other schema",
    "other rows",
    "other type",
    "other text",
)
"""The outcomes that are reported: everything but `equal`, `both refuse`, `we accept`, `no answer` and `recursive`.

Hive gives no answer to some statements. It is not asked about `recursive` ones, whose common table expressions name
themselves: it overflows, after minutes for some.
"""


ALL_TABLES = {**TABLES, **FURTHER_TABLES}
SCHEMAS = Tables(
    {name: {column: TYPES[kind] for column, kind in columns.items()} for name, columns in ALL_TABLES.items()}
)


@dataclass(frozen=True)
class Outcome:
    """How the texts of a statement compare: the class, and what was observed."""

    kind: str
    detail: str = ""

    @property
    def signature(self) -> str:
        """The class and the detail without names and numbers, for the reduction of a statement."""
        return f"{self.kind} {re.sub(r'`[^`]*`|[0-9]+|(?<![A-Za-z_])[a-zA-Z](?![A-Za-z_])|[.,]', '', self.detail)[:60]}"


def expansion_of(
    sql: str, dialect: str, mode: str = "portable", conf: Mapping[str, str] | None = None
) -> Expansion | Outcome:
    """Expand a statement; an outcome where it is refused."""
    try:
        if Dialect.of(dialect) is Dialect.SPARK:
            check_spark_text(sql)
        return expand(sql, SCHEMAS, database="a", dialect=dialect, mode=mode, author=AuthorContext(conf=conf))
    except SqlError as error:
        return Outcome("we refuse", str(error))
    except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
        return Outcome("crash", f"{type(error).__name__}: {error}")


# -- Spark -------------------------------------------------------------------------------------------------------------

ROWS = {
    "i": ("1", "2", "2", "3", "null", "1"),
    "s": ("'x'", "'xy'", "null", "'x'", "'1'", "'z'"),
    "d": ("1.50", "null", "2.25", "10.00", "1.50", "2.25"),
    "t": ("(1, 2, 'x')", "(2, 2, 'y')", "(null, 1, 'x')", "(3, null, null)", "null", "(1, 1, 'xy')"),
    "l": ("(1, 2)", "(2)", "(3, null)", "null", "(1)", "(2, 3)"),
    "m": ("('x', 1)", "('y', 2)", "('x', 3)", "null", "('x', null)", "('z', 1)"),
    "r": ("(1, 2, 'x')", "(2, 1, 'y')", "(3, 3, 'x')", "(1, null, 'z')", "(2, 2, null)", "(1, 1, 'x')"),
    "date": ("date'2020-01-31'", "null", "date'2021-05-06'", "date'2020-01-31'", "date'2019-12-31'"),
    "ts": ("timestamp'2020-01-31 10:11:12'", "null", "timestamp'2021-05-06 00:00:00'"),
    "nested": (
        "struct(struct(1, 2), struct(3), array(struct(1, 2)))",
        "null",
        "struct(struct(5, null), null, array())",
    ),
    "structs": ("map('a', struct(1, 'x'))", "null", "map('b', struct(2, 'y'))", "map('a', null)"),
    "lists": ("array(array(1, 2), array(3))", "null", "array(array(5))", "array(null)", "array()"),
}
"""Values of each kind, with NULLs and duplicates."""

_CONSTRUCTORS = {
    "t": "cast(named_struct('a', {0[0]}, 'b', {0[1]}, 'k', {0[2]}) as {1})",
    "r": "cast(array(named_struct('a', {0[0]}, 'b', {0[1]}, 'k', {0[2]})) as {1})",
}


def _literal(kind: str, position: int) -> str:
    text, type_ = ROWS[kind][position % len(ROWS[kind])], TYPES[kind]
    if text != "null" and kind in _CONSTRUCTORS:
        return _CONSTRUCTORS[kind].format(text[1:-1].split(", "), type_)
    if text != "null" and kind in ("l", "m"):
        text = ("array" if kind == "l" else "map") + text
    return f"cast({text} as {type_})"


SESSION = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    ANSI: "false",
    "spark.sql.catalogImplementation": "in-memory",
}
"""Settings for many small queries: nothing is compiled."""


class SparkCheck:
    """Compares statements in one Spark session.

    Args:
        spark: The session; its catalog gets the databases of `TABLES`.
    """

    def __init__(self, spark: Any, dialect: str = "spark") -> None:
        self.dialect = dialect
        self.home, self.elsewhere = spark.newSession(), spark.newSession()
        for session in (self.home, self.elsewhere):
            session.conf.set(ANSI, SESSION[ANSI])
            session.conf.set("spark.sql.crossJoin.enabled", "true")
        for name, columns in ALL_TABLES.items():
            self.home.sql(f"create database if not exists {name.split('.')[0]}")
            rows = [
                ", ".join(
                    f"{_literal(kind, row + 2 * position + len(name))} as {column}"
                    for position, (column, kind) in enumerate(columns.items())
                )
                for row in range(5)
            ]
            self.home.sql(f"create or replace view {name} as {' union all '.join(f'select {row}' for row in rows)}")
        self.home.sql("use a")
        self.elsewhere.sql("create database if not exists elsewhere")
        self.elsewhere.sql("use elsewhere")

    def check(self, sql: str) -> Outcome:
        """Compare one statement."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        expansion = expansion_of(sql, self.dialect, conf={ANSI: SESSION[ANSI]})
        try:
            typed = self.home.sql(sql)
            names = [name.lower() for name in typed.columns]
        except (PySparkException, Py4JError) as error:
            if isinstance(expansion, Expansion):
                return Outcome("we accept", _message(error))
            return expansion if expansion.kind == "crash" else Outcome("both refuse", expansion.detail)
        if isinstance(expansion, Outcome):
            return Outcome("both refuse") if len(set(names)) < len(names) else expansion
        if len(set(names)) < len(names):
            return Outcome("we accept", "duplicate names")
        rewritten = apply_rules(expansion.expanded, SCHEMAS, database="a", dialect=self.dialect).sql
        texts = ((self.elsewhere, expansion.expanded), (self.home, expansion.stored), (self.elsewhere, rewritten))
        for session, text in dict.fromkeys(texts):
            if text != sql:
                outcome = self._compare(typed, session, text, is_rewritten=text == rewritten != expansion.expanded)
                if outcome is not None:
                    return outcome
        return self._compare_columns(sql, typed, expansion)

    def _compare_columns(self, sql: str, typed: Any, expansion: Expansion) -> Outcome:
        """Compare the names and types that a view would have with those of the author's text."""
        columns = [(name.lower(), _type((name, kind))) for name, kind in typed.dtypes]
        for (name, theirs), ours in zip(columns, expansion.columns, strict=True):
            if ours.name != name and not _is_generated(ours.name, name, sql):
                return Outcome("other schema", f"column {name} is declared as {ours.name}")
            kind = _type((ours.name, (ours.type or theirs).replace("`", "")))
            if kind != theirs and "more fields" not in theirs:
                return Outcome("other type", f"{theirs} is declared as {ours.type}")
        return Outcome("equal")

    def _compare(self, typed: Any, session: Any, text: str, *, is_rewritten: bool) -> Outcome | None:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            frame = session.sql(text)
            columns = frame.dtypes
        except (PySparkException, Py4JError) as error:
            return Outcome("unreadable", f"{_message(error)} in {text}")
        if [kind for _, kind in columns] != [kind for _, kind in typed.dtypes]:
            return Outcome("other schema", f"{columns} instead of {typed.dtypes} in {text}")
        for (ours, _), (theirs, _) in zip(columns, typed.dtypes, strict=True):
            if ours.lower() != theirs.lower() and not _is_generated(ours, theirs, text):
                return Outcome("other schema", f"{ours} instead of {theirs} in {text}")
        try:
            check_equal(AnalyzedQuery.of(typed), AnalyzedQuery.of(frame))
        except SqlError as error:
            if not is_rewritten:  # the rules of `coral` may join other tables for the same rows
                return Outcome("guard rejects", f"{error} in {text}")
        if typed.sameSemantics(frame):
            return None
        try:
            expected = sorted(map(str, typed.collect()))
        except (PySparkException, Py4JError):
            return None  # neither text can be run
        try:
            actual = sorted(map(str, frame.toDF(*typed.columns).collect()))
        except (PySparkException, Py4JError) as error:
            return Outcome("other rows", f"{_message(error)} in {text}")
        return None if actual == expected else Outcome("other rows", text)


def _is_generated(ours: str, theirs: str, sql: str) -> bool:
    """Return whether a name stands for one that Spark generates from an expression, which is no plain word.

    Spark calls `int('x')` x and `string(1)` 1, and refuses a view with such a column
    (CREATE_PERMANENT_VIEW_WITHOUT_ALIAS).
    """
    return ours.startswith("_c") and (
        re.fullmatch(r"\w+", theirs) is None or re.search(rf"\('?{theirs}'?\)", sql) is not None
    )


def _message(error: Exception) -> str:
    return str(error).split("SQLSTATE")[0].splitlines()[0]


def _type(field_: tuple[str, str]) -> str:
    return field_[1].replace("timestamp_ntz", "timestamp")


def spark_session(**settings: str) -> Any:
    """Start Spark for a run of this program."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").appName("random statements")
    for key, value in {**SESSION, **settings}.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    return session


# -- Hive --------------------------------------------------------------------------------------------------------------


class HiveCheck:
    """Compares statements in a real Hive: `hive-exact` with the texts that it stores, and portable texts as views.

    Args:
        oracle: The command that starts Hive; it reads one JSON request a line (see `hive_oracle`).
        timeout: The seconds after which a Hive that does not answer is killed and started again.
    """

    def __init__(self, oracle: str, timeout: float = 20) -> None:
        self.oracle, self.timeout = oracle, timeout
        self._start()

    def _start(self) -> None:
        self.process = subprocess.Popen(
            shlex.split(self.oracle),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.database = "default"
        for database in ("a", "b", "s", "elsewhere"):
            self._request({"sql": f"create database if not exists {database}"}, timeout=180)
        for name, columns in ALL_TABLES.items():
            definitions = ", ".join(f"`{column}` {TYPES[kind]}" for column, kind in columns.items())
            answer = self._request({"sql": f"create table {name} ({definitions})"}, timeout=60)
            assert answer["ok"], answer

    def close(self) -> None:
        """Stop Hive."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(60)

    def _request(self, request: dict[str, Any], timeout: float | None = None) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        timer = threading.Timer(timeout or self.timeout, self._kill)
        timer.start()
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            for line in self.process.stdout:
                if line.startswith("{"):
                    answer: dict[str, Any] = json.loads(line)
                    return answer
        finally:
            timer.cancel()
        raise BrokenPipeError("Hive has ended: see the oracle's log")

    def _kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)

    def _create(self, database: str, view: str, sql: str) -> dict[str, Any]:
        """Create or replace a view and return Hive's description of it; `error` where Hive refuses it."""
        if database != self.database:
            self._request({"sql": f"use {database}"})
            self.database = database
        answer = self._request({"sql": f"create or replace view {database}.{view} as {sql}"})
        return self._request({"table": f"{database}.{view}"}) if answer["ok"] else answer

    def check(self, sql: str) -> Outcome:
        """Compare one statement; Hive is started again where it does not answer."""
        try:
            return self._compare(sql)
        except BrokenPipeError as error:
            self.process.wait(60)
            self._start()
            return Outcome("no answer", str(error))

    def _compare(self, sql: str) -> Outcome:
        exact, portable = expansion_of(sql, "hive", "hive-exact"), expansion_of(sql, "hive")
        if isinstance(exact, Outcome) and "Recursive common table expression" in exact.detail:
            return Outcome("recursive", exact.detail)
        stored = self._create("a", "author", sql)
        if "error" in stored:
            if isinstance(exact, Outcome):
                return exact if exact.kind == "crash" else Outcome("both refuse", exact.detail)
            return Outcome("we accept", stored["error"])
        for expansion in (exact, portable):
            if isinstance(expansion, Outcome):
                return Outcome(expansion.kind, f"{'exact' if expansion is exact else 'portable'}: {expansion.detail}")
        assert isinstance(exact, Expansion)
        assert isinstance(portable, Expansion)
        if exact.expanded != stored["expanded"]:
            return Outcome("other text", f"{exact.expanded} instead of {stored['expanded']}")
        columns = [(column[0], column[1]) for column in stored["columns"]]
        for name, (ours, theirs) in zip(exact.names, zip(exact.columns, columns, strict=True), strict=True):
            if name != theirs[0] or ours.type not in (None, theirs[1]):
                return Outcome("other type", f"{name} {ours.type} instead of {theirs[0]} {theirs[1]}")
        rewritten = apply_rules(portable.expanded, SCHEMAS, database="a", dialect="hive").sql
        for text in dict.fromkeys((portable.expanded, rewritten)):
            again = self._create("elsewhere", "reader", text)
            if "error" in again:
                return Outcome("unreadable", f"{again['error']} in {text}")
            if [(column[0], column[1]) for column in again["columns"]] != columns:
                return Outcome("other schema", f"{again['columns']} instead of {columns} in {text}")
        return Outcome("equal")


# -- Reduction ---------------------------------------------------------------------------------------------------------


def reduce(sql: str, is_same: Callable[[str], bool], attempts: int = 400) -> str:
    """Return a shorter statement with the same outcome: ranges of tokens are removed as long as it stays."""
    words = [sql[token.start : token.end + 1] for token in tokenizer_of("spark").tokenize(sql)]
    size = len(words) // 2
    while size:
        start = 0
        while start + size <= len(words) and attempts:
            rest = words[:start] + words[start + size :]
            if rest.count("(") == rest.count(")"):
                attempts -= 1
                if is_same(" ".join(rest)):
                    words = rest
                    continue
            start += 1
        size = size - 1 if size < 12 else size * 2 // 3
    text = re.sub(r" ?(\.|\[) ?|(\() | (?=[,)\]])", lambda space: space.group(0).strip(), " ".join(words))
    return re.sub(r"(?<=\w) \((?!select|with)", "(", text)


# -- Runs --------------------------------------------------------------------------------------------------------------


def run(
    check: Callable[[str], Outcome], statements: Iterable[str], counts: Counter[str], attempts: int = 300
) -> Iterator[tuple[str, Outcome]]:
    """Compare statements and count their outcomes; yields a reduced statement for each new failure."""
    signatures: set[str] = set()
    for sql in statements:
        outcome = check(sql)
        counts[outcome.kind] += 1
        if counts.total() % 500 == 0:
            print(json.dumps(dict(sorted(counts.items()))), flush=True)
        signature = outcome.signature
        if outcome.kind not in FAILURES or signature in signatures:
            continue
        signatures.add(signature)
        if len(signatures) <= 30:
            shorter = reduce(sql, lambda text, wanted=signature: check(text).signature == wanted, attempts)  # type: ignore[misc]
            sql = shorter if check(shorter).signature == signature else sql
        yield sql, check(sql)


def main() -> None:
    """The command line."""
    dialect, count, *rest = sys.argv[1:]
    generator = Generator(int(rest[0]) if rest else 1, dialect)
    statements = (generator.statement() for _ in range(int(count)))
    check = SparkCheck(spark_session()).check if dialect == "spark" else HiveCheck(os.environ["ORACLE"]).check
    counts: Counter[str] = Counter()
    for sql, outcome in run(check, statements, counts):
        print(f"{outcome.kind}: {sql}\n    {outcome.detail[:400]}", flush=True)
    print(json.dumps(dict(sorted(counts.items()))))


if __name__ == "__main__":
    main()
