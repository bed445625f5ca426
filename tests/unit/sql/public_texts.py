"""Compares the queries of Spark's own SQL tests with the texts that are stored for them.

    python -m tests.unit.sql.public_texts [PART_OF_A_FILE_NAME]

The queries are those of `sql-tests/inputs` in Spark's jar of tests, which is downloaded; they are no part of this
repository. The statements between them (tables, views, settings) are run. The program prints each query whose outcome
is not `equal`, `both refuse` or `we accept`, and the number of queries of each outcome.
"""

from __future__ import annotations

import re
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hive_views.errors import SqlError
from hive_views.local_metastore.maven import fetch
from hive_views.sql.parsing.spark_grammar import check_spark_text
from hive_views.sql.resolver.scopes import TableSchema
from hive_views.sql.text.spark_lexer import spark_tokens
from hive_views.sql.types.names import spark_name_of_json
from hive_views.sql.types.spark_inference import ANSI
from hive_views.sql.writing.expand import AuthorContext, Expansion, expand
from tests.unit.sql.random_check import SESSION, Outcome, SparkCheck, spark_session
from tests.unit.sql.test_tpc_texts import TESTS_OF_SPARK

INPUTS = "sql-tests/inputs/"
LEFT_OUT = re.compile(
    r"/udf/|/udtf/|scripting|identifier-clause|execute-immediate|collation|session-variable|sql-udf|sql-on-files"
    r"|view-schema|columnresolution|change-column|query_regex"
)
"""Files whose queries depend on functions, variables, settings and databases of a session, or on changed tables."""
_QUERIES = frozenset({"SELECT", "WITH", "VALUES", "TABLE", "FROM"})
_TEMPORARY = re.compile(r"create\s+(or\s+replace\s+)?(global\s+)?temp(orary)?\s+view", re.IGNORECASE)
_DELIMITER = re.compile(r"--QUERY-DELIMITER-(?:START|END)")
_COMMENT = re.compile(r"^--(?!QUERY-DELIMITER)[^\n]*$|^\s*/\*[\s\S]*?\*/", re.MULTILINE)
_SETTING = re.compile(r"^--SET (.*)$", re.MULTILINE)
_HIDDEN = frozenset({"equal", "both refuse", "we accept", "duplicate names"})


class SessionTables:
    """The tables and views of a session as a `Schemas` source."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def table(self, database: str, name: str) -> TableSchema | None:
        """Return the columns that Spark gives; None if it has no such table."""
        from pyspark.errors import PySparkException

        try:
            fields = self._session.table(f"`{database}`.`{name}`").schema
        except PySparkException:
            return None
        spellings = {field.name.lower(): field.name for field in fields}
        kinds = tuple((field.name.lower(), spark_name_of_json(field.dataType.jsonValue())) for field in fields)
        return TableSchema(kinds, spellings=lambda: spellings)


def statements(text: str) -> Iterator[str]:
    """Yield the statements of a file; semicolons between two marks are parts of a statement."""
    for number, part in enumerate(_DELIMITER.split(_COMMENT.sub("", text))):
        ends = [] if number % 2 else [token.start for token in spark_tokens(part) if token.text == ";"]
        for start, end in zip([-1, *ends], [*ends, len(part)], strict=True):
            statement = part[start + 1 : end].strip().rstrip(";")
            if statement:
                yield statement


class PublicCheck(SparkCheck):
    """Compares the queries of one file, whose tables are in a database of their own."""

    def __init__(self, spark: Any, database: str, settings: dict[str, str]) -> None:
        self.dialect = "spark"
        self.database = database
        self.home, self.elsewhere = spark.newSession(), spark.newSession()
        for session, current in ((self.home, database), (self.elsewhere, "elsewhere")):
            session.sql(f"create database if not exists {current}")
            session.sql(f"use {current}")
            for key, value in settings.items():
                session.conf.set(key, value)

    def run(self, statement: str) -> None:
        """Run a statement that is no query; temporary views become permanent, so that other sessions read them."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        for text in dict.fromkeys((_TEMPORARY.sub("CREATE OR REPLACE VIEW", statement, count=1), statement)):
            try:
                self.home.sql(text)
                if text.upper().startswith("SET "):
                    self.elsewhere.sql(text)
            except (PySparkException, Py4JError):
                continue
            return

    def expansion(self, query: str) -> Expansion | Outcome:
        """Expand a query, as a definition does."""
        try:
            check_spark_text(query)
            conf = {ANSI: self.home.conf.get(ANSI)}
            tables = SessionTables(self.home)
            author = AuthorContext(conf=conf)
            expansion = expand(query, tables, database=self.database, dialect="spark", author=author)
            refused = expansion.resolution.refusal()
            if refused is not None:
                raise refused
            return expansion
        except SqlError as error:
            return Outcome("we refuse", str(error))

    def check(self, sql: str) -> Outcome:
        """Compare one query."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        expansion = self.expansion(sql)
        try:
            typed = self.home.sql(sql)
            names = [name.lower() for name in typed.columns]
        except (PySparkException, Py4JError):
            return Outcome("we accept" if isinstance(expansion, Expansion) else "both refuse")
        if len(set(names)) < len(names):
            return Outcome("duplicate names")
        if isinstance(expansion, Outcome):
            return expansion
        for session, text in dict.fromkeys(((self.elsewhere, expansion.expanded), (self.home, expansion.stored))):
            try:
                outcome = self._compare(typed, session, text, is_rewritten=False) if text != sql else None
            except TypeError:
                return Outcome("rows that Python cannot hold")  # a map whose keys are arrays
            if outcome is not None:
                return outcome
        return self._compare_columns(sql, typed, expansion)


def main() -> None:
    """The command line."""
    part = sys.argv[1] if len(sys.argv) > 1 else ""
    SESSION[ANSI] = "true"
    spark = spark_session()
    (path,) = fetch([TESTS_OF_SPARK], Path(__file__).parents[3] / ".cache")
    counts: Counter[str] = Counter()
    with zipfile.ZipFile(path) as jar:
        names = [name for name in jar.namelist() if INPUTS in name and name.endswith(".sql")]
        for number, name in enumerate(name for name in names if part in name and not LEFT_OUT.search(name)):
            text = jar.read(name).decode()
            pairs = (item.partition("=") for line in _SETTING.findall(text) for item in line.split(","))
            settings = {key.strip(): value.strip() for key, _, value in pairs if value}
            check = PublicCheck(spark, f"f{number}", {ANSI: str("nonansi" not in name).lower(), **settings})
            for statement in statements(text):
                if statement.lstrip("( \n").split(None, 1)[0].upper() not in _QUERIES:
                    check.run(statement)
                    continue
                outcome = check.check(statement)
                counts[outcome.kind] += 1
                if counts.total() % 1000 == 0:
                    print(dict(sorted(counts.items())), counts.total(), flush=True)
                if outcome.kind not in _HIDDEN:
                    shown = " ".join(statement.split())[:300]
                    print(
                        f"{outcome.kind}: {name.partition(INPUTS)[2]}: {shown}\n    {outcome.detail[:300]}", flush=True
                    )
    print(dict(sorted(counts.items())), counts.total())


if __name__ == "__main__":
    main()
