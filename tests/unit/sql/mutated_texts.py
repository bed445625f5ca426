"""Statements of the fixtures with tokens that are dropped, exchanged and repeated, and forms put into each other.

    python -m tests.unit.sql.mutated_texts COUNT [SEED] [CASES.json …]

It lets everything that reads a definition read each statement, and prints the exceptions that are no SqlError, and the
statements that are refused as a defect, each with the first statement that has it. Each file of cases has the form of
`definitions_spark_hive.json`: cases with `dialect`, `database`, `tables` and `text`, and perhaps `conf`.
"""

from __future__ import annotations

import json
import random
import re
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

from hive_views.config import RowTextForms
from hive_views.errors import SqlError
from hive_views.sql.analysis.incremental import IncrementalQuery, NotIncrementalError
from hive_views.sql.analysis.reader_findings import Reader, reader_findings
from hive_views.sql.analysis.references import find_nondeterminism, references
from hive_views.sql.analysis.row_text import row_text
from hive_views.sql.analysis.trino_translation import trino_findings
from hive_views.sql.parsing.ddl import parse_statement
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.parsing.statements import CreateView
from hive_views.sql.resolver.scopes import Schemas
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.text.tokens import Text
from hive_views.sql.types.spark_inference import ANSI
from hive_views.sql.writing.definition import define_view, hive_text
from hive_views.sql.writing.expand import AuthorContext, expand, typed_columns
from tests.unit.sql.hive_fixtures import FIXTURES, FUNCTIONS, Warehouse, load_cases
from tests.unit.sql.random_check import SCHEMAS
from tests.unit.sql.tables import Tables

SETTINGS = (
    {},
    {},
    {ANSI: "true"},
    {"hive.support.quoted.identifiers": "none"},
    {"hive.groupby.position.alias": "true", "hive.cbo.enable": "false"},
    {"spark.sql.parser.quotedRegexColumnNames": "true"},
)
"""Settings of the author, those of other engines included."""

FORMS = {
    "spark": (
        "cast({} as array<string>)[0]", "{}::int", "x::array<string>[0]", "transform(array({}), x -> x + 1)",
        "struct({} as a).a", "{}:a.b", "case when {} then 1 end", "(select max({}) from a)",
        "sum({}) over (order by {})",
        "named_struct('a', {})", "interval 1 day", "interval {} day", "try_divide({}, 2)", "array({}, null)[0]",
        "map('a', {})['a']", "{} in (select {} from a)", "exists (select {} from a)", "extract(year from {})",
        "count(distinct {}) filter (where {})", "* except ({})", "struct(*)", "`(a|b)?+.+`", "decode({}, 1, 2)",
        "percentile_cont(0.5) within group (order by {})", "timestampadd(day, 1, {})", "x'0F'", "-{}", "not {}",
        "{} like 'a%' escape '/'", "{} between 1 and {}", "position('a' in {})", "{} is distinct from 1", "?", ":p",
    ),
    "hive": (
        "cast({} as array<string>)[0]", "`(a|b)?+.+`", "struct({}).col1", "case {} when 1 then 2 end",
        "sum({}) over (order by {} rows 1 preceding)", "array({})[0]", "map('a', {})['a']", "interval '1' day",
        "{} in (select {} from a)", "exists (select 1 from a where {})", "extract(year from {})", "not {}", "-{}",
        "{} between 1 and {}", "my_translate({}, 'a', 'b')", "grouping({})", "{} rlike 'a'", "transform ({})",
    ),
    "trino": (
        "x::array<string>[0]", "cast({} as array(varchar))[1]", "cast({} as row(a integer)).a", "array[{}][1]",
        "map(array['a'], array[{}])['a']", "transform(array[{}], x -> x + 1)", "sum({}) filter (where {})",
        "try(cast({} as integer))", "{} at time zone 'UTC'", "(select max({}) from a)", "row({}, 1)", "if({}, 1)",
        "interval '1' day", "extract(year from {})", "{} in (select {} from a)",
        "listagg({}) within group (order by {})",
        "U&'a'", "position('a' in {})", "case {} when 1 then 2 end", "-{}", "not {}",
    ),
}  # fmt: skip
"""Expressions of each dialect; `{}` is an expression of the statement."""

QUERIES = {
    "spark": (
        "select * from ({}) q", "select * from ({}) q pivot (max(1) for a in (1, 2))", "with q as ({}) select * from q",
        "{} union all {}", "select 1 from ({}) q lateral view explode(array(1)) e as x", "from ({}) |> select *",
        "from ({}) |> aggregate count(*) group by 1", "select * from ({}) unpivot (v for n in (a, b))",
        "select q.* from ({}) q join ({}) r using (a)", "select (select * from ({})) x", "({}) limit 1",
        "select * from a, lateral ({}) q", "select map a using 'cat' as (x) from ({}) q",
        "select transform (*) using 'cat' from ({}) q", "select * from ({}) q tablesample (1 rows)",
    ),
    "hive": (
        "select * from ({}) q", "with q as ({}) select * from q", "{} union all {}", "select `(a)?+.+` from ({}) q",
        "select x from ({}) q lateral view explode(array(1)) e as x", "select * from ({}) q, ({}) r limit 1, 2",
        "select q.* from ({}) q group by q.a grouping sets ((q.a), ())", "select * from ({}) q tablesample (1 rows)",
    ),
    "trino": (
        "select * from ({}) q", "with q as ({}) select * from q", "{} union all {}", "table ({})",
        "select * from ({}) q cross join unnest(array[1]) with ordinality as u(a, b)", "select q.* from ({}) q, ({}) r",
    ),
}  # fmt: skip
"""Queries of each dialect; `{}` is a query."""


@dataclass(frozen=True)
class Case:
    """A query with the tables that it reads, and the settings of its author."""

    sql: str
    dialect: Dialect
    database: str
    schemas: Schemas
    conf: tuple[tuple[str, str], ...] = ()


def corpus(*files: str) -> list[Case]:
    """Return the queries of the fixtures, and the cases of some files."""
    cases = []
    warehouse, shop = Warehouse(), json.loads((FIXTURES / "ordinary_texts.json").read_text("utf-8"))
    for row in load_cases("hive_answers.jsonl")[::8]:
        found = re.search(r"\bas\s+(?=\(*(?:select|with|from|values)\b)(.*)", row["ddl"], re.IGNORECASE | re.DOTALL)
        if found is not None:
            cases.append(Case(found[1], Dialect.HIVE, "sales", warehouse))
    for dialect in Dialect:
        cases += [Case(row["sql"], dialect, "a", SCHEMAS) for row in load_cases(f"hostile_{dialect}.jsonl")]
    cases += [Case(row["sql"], Dialect(row["dialect"]), "a", _LETTERS) for row in load_cases("sqlglot_versions.jsonl")]
    for name in ("spark_forms.jsonl", "letter_case.jsonl", "spark_parses.jsonl"):
        cases += [Case(row["sql"], Dialect.SPARK, "d", _LETTERS) for row in load_cases(name)]
    for kind in ("random_spark.jsonl",):
        cases += [Case(row["sql"], Dialect.SPARK, "a", SCHEMAS) for row in load_cases(kind)]
    tables = Tables({f"{shop['database']}.{name}": columns for name, columns in shop["tables"].items()})
    cases += [Case(row["text"], Dialect(row["author"]), shop["database"], tables) for row in shop["texts"]]
    for file in files:
        cases += map(_case, json.loads(Path(file).read_text("utf-8"))["cases"])
    return cases


def _case(row: dict[str, Any]) -> Case:
    tables = Tables({name: dict(columns) for name, columns in row["tables"].items()})
    conf = tuple((str(key), str(value)) for key, value in dict(row.get("conf") or {}).items())
    return Case(row["text"], Dialect(row["dialect"]), row["database"], tables, conf)


_BOTH = RowTextForms(explicit=True, for_trino=True)
_LETTERS = Tables(
    {
        "t": {"i": "int", "s": "string", "d": "decimal(10,2)", "id": "int", "a": "array<int>", "x": "struct<a:int>"},
        "u": {"i": "int", "s": "string", "id": "int", "y": "string"},
        "c": {"id": "int", "x": "int"},
        "m": {"Id": "int", "userName": "string", "S": "struct<Aa:int,bB:string>"},
    }
)


class Mutations:
    """Changed cases of a corpus, in an order that the seed determines."""

    def __init__(self, cases: Sequence[Case], seed: int) -> None:
        self.random = random.Random(seed)
        self.cases = cases

    def __iter__(self) -> Iterator[Case]:
        while True:
            case = self.random.choice(self.cases)
            for _ in range(self.random.randint(1, 3)):
                case = replace(case, sql=self._changed(case))
            conf = tuple(self.random.choice(SETTINGS).items())
            dialect = case.dialect if self.random.random() < 0.85 else self.random.choice(list(Dialect))
            yield replace(case, conf=case.conf + conf, dialect=dialect)

    def _changed(self, case: Case) -> str:
        choice = self.random.choice
        if self.random.random() < 0.15:
            return choice(QUERIES[case.dialect]).replace("{}", case.sql)
        try:
            tokens = Text(case.sql, case.dialect).tokens
        except SqlError:
            return case.sql
        words = [case.sql[token.start : token.end + 1] for token in tokens]
        if not words:
            return case.sql
        at, other = self.random.randrange(len(words)), self.random.randrange(len(words))
        change = self.random.randrange(6)
        if change == 0:
            del words[at]
        elif change == 1:
            words[at], words[other] = words[other], words[at]
        elif change == 2:
            words.insert(at, words[at])
        elif change == 3:
            words.insert(at, words[other])
        else:
            names = [number for number, word in enumerate(words) if re.fullmatch(r"`?\w+`?|'.*'", word)]
            at = choice(names) if names else at
            words[at] = choice(FORMS[case.dialect]).replace("{}", words[at])
        return " ".join(words)


def read(case: Case, mode: str = "portable") -> None:
    """Define a view of a case and let all analyses read it; raises SqlError if it is refused."""
    conf = dict(case.conf)
    if mode == "text":
        typed_columns(
            expand(
                case.sql, case.schemas, database=case.database, dialect=case.dialect, author=AuthorContext(conf=conf)
            )
        )
        return
    statement = parse_statement(f"create view v as {case.sql}", case.dialect)
    references(parse_query(case.sql, case.dialect))
    find_nondeterminism(parse_query(case.sql, case.dialect))
    assert isinstance(statement, CreateView)
    names = {"functions": FUNCTIONS, "database": case.database}
    definition = define_view(statement, case.schemas, mode=mode, conf=conf, **names)  # type: ignore[arg-type]
    if mode != "portable":
        return
    expansion = definition.expansion
    later = (
        lambda: IncrementalQuery(expansion.expanded, case.dialect, case.database),
        lambda: typed_columns(expansion),
        lambda: hive_text(case.dialect, expansion, case.schemas, **names),  # type: ignore[arg-type]
        lambda: row_text(case.dialect, expansion, case.schemas, **names, forms=_BOTH),  # type: ignore[arg-type]
        lambda: trino_findings(expansion.expanded, case.schemas, dialect=case.dialect, **names),  # type: ignore[arg-type]
        lambda: _findings(case, expansion.expanded),
    )
    for reader in later:
        with suppress(SqlError, NotIncrementalError):
            reader()


def _findings(case: Case, sql: str) -> None:
    if case.dialect is not Dialect.TRINO:
        readers = [Reader(Dialect.SPARK), Reader(Dialect.HIVE)]
        reader_findings(
            sql, case.schemas, database=case.database, author=case.dialect, readers=readers, functions=FUNCTIONS
        )


def problem(case: Case, mode: str = "portable") -> str | None:
    """Return an exception that is no SqlError, or the defect that an error reports; None for any other answer."""
    handler = signal.signal(signal.SIGALRM, _stop)
    signal.alarm(60)
    try:
        read(case, mode)
    except SqlError as error:
        return (
            "defect: " + re.sub(r"[`'\"(].*", "", str(error), flags=re.DOTALL)[:120] if _DEFECT in str(error) else None
        )
    except Exception as error:  # noqa: BLE001 - what is looked for
        frame = next(
            (item for item in reversed(traceback.extract_tb(error.__traceback__)) if "hive_views" in item.filename),
            None,
        )
        where = f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" if frame else ""
        return f"{type(error).__name__} in {where}: {str(error)[:80]}"
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, handler)
    return None


def _stop(number: int, frame: FrameType | None) -> None:
    """End the reading of a statement that takes too long."""
    raise TimeoutError


_DEFECT = "This is a defect of hive_views"


def main() -> None:
    """The command line."""
    count, seed, *files = [*sys.argv[1:], "1"] if len(sys.argv) == 2 else sys.argv[1:]
    found: Counter[str] = Counter()
    for number, case in zip(range(int(count)), Mutations(corpus(*files), int(seed)), strict=False):
        mode = "portable" if number % 2 else "hive-exact" if case.dialect is Dialect.HIVE else "text"
        reason = problem(case, mode)
        if reason is not None:
            key = reason.split(": ")[0]
            found[key] += 1
            if found[key] <= 2:
                print(f"{reason}\n    {case.dialect} {mode} {dict(case.conf)} {case.sql}", flush=True)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
