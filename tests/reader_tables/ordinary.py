"""Views as analysts write them, in Hive and Spark over the same Parquet files.

python -m tests.reader_tables.ordinary [COLLECTION …]  runs the texts of `COLLECTION_hive.sql` and
`COLLECTION_spark.sql` (ordinary, unseen, further), or continues that, and writes
tests/unit/sql/fixtures/COLLECTION_texts.json.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyspark

from tests.engine_tables.spark_engine import session
from tests.integration.hive.reader import VERSION, HiveReader, running
from tests.integration.trino.server import VERSION as TRINO_VERSION
from tests.reader_tables import ordinary_trino
from tests.reader_tables.comparing import Verdict, compare
from tests.reader_tables.engines import Answer, AnswerJournal, hive_rows, recorded_answers, spark_rows

HERE = Path(__file__).parent
FIXTURES = HERE.parent / "unit" / "sql" / "fixtures"
COLLECTIONS = ("ordinary", "unseen", "further")
"""Those of `unseen` were written without sight of the rules, the table of answers and the ordinary ones, those of
`further` with knowledge of the findings about the ordinary ones. Trino read the unseen ones, too."""
DATABASE = "shop"

TABLES: Mapping[str, Mapping[str, str]] = {
    "orders": {
        "id": "int",
        "cust_id": "int",
        "region": "string",
        "sku": "string",
        "qty": "int",
        "price": "decimal(10,2)",
        "amount": "double",
        "discount": "float",
        "paid": "boolean",
        "order_date": "date",
        "created_at": "timestamp",
        "note": "string",
        "units": "bigint",
        "code": "char(4)",
        "status": "varchar(10)",
        "tags": "array<string>",
        "attrs": "map<string,string>",
        "ship": "struct<city:string,zip:string>",
    },
    "customers": {
        "id": "int",
        "name": "string",
        "email": "string",
        "tier": "string",
        "credit": "decimal(12,4)",
        "joined": "date",
        "country": "string",
        "referrer": "int",
        "birth": "string",
    },
    "products": {
        "sku": "string",
        "title": "string",
        "category": "string",
        "list_price": "decimal(8,2)",
        "weight": "double",
        "active": "boolean",
        "stock": "int",
    },
    "events": {
        "user_id": "bigint",
        "kind": "string",
        "ts": "timestamp",
        "day": "string",
        "score": "double",
        "props": "map<string,int>",
        "items": "array<struct<sku:string,qty:int>>",
    },
    "staff": {
        "id": "int",
        "name": "string",
        "dept": "string",
        "manager_id": "int",
        "salary": "decimal(10,2)",
        "hired": "date",
        "rating": "double",
    },
}

_N, _M = "array('new', 'big')", "map('color', 'red')"
_ADDRESS = "named_struct('city', 'Köln', 'zip', '50667')"
_NO_ADDRESS = "named_struct('city', CAST(NULL AS string), 'zip', '')"
_NO_TAGS = "if(false, array('x'), NULL)"
_NO_ATTRS = "if(false, map('a', 'b'), NULL)"

# fmt: off
ROWS: Mapping[str, Sequence[Sequence[str]]] = {
    "orders": (
        ("1", "1", "'north'", "'A12-7'", "3", "19.99", "59.97", "0.1", "true", "'2024-02-29'", "'2024-02-29 12:34:56'",
         "'a gift'", "1700000000", "'A1'", "'open'", _N, _M, _ADDRESS),
        ("2", "1", "'north'", "'A12-7'", "1", "0.05", "0.05", "0.25", "false", "'2024-01-31'", "'2024-02-01 00:00:00'",
         "'  rush  '", "5", "'B'", "'closed'", "array('old')", "map('size', 'L', 'color', 'blue')", _ADDRESS),
        ("3", "2", "'south'", "'B7'", "-2", "-10.50", "-21", "0", "true", "'2023-12-31'", "'2023-12-31 23:59:59.999'",
         "''", "-7", "'A1'", "'open'", "array('new', 'new', 'old')", _NO_ATTRS, _NO_ADDRESS),
        ("4", "2", "'south'", "'B7'", "0", "100.00", "0", "0.5", "NULL", "'2000-02-29'", "'1969-12-31 23:59:58'",
         "NULL", "0", "'C33'", "'new'", _NO_TAGS, _M, _ADDRESS),
        ("5", "3", "NULL", "'Z-9-1'", "12", "1234567.89", "1234567.891", "NULL", "false", "NULL", "NULL",
         "'grün & Gift'", "999999", "NULL", "NULL", "array()", "map()", "NULL"),
        ("6", "NULL", "''", "NULL", "NULL", "NULL", "NULL", "0.1", "true", "'1970-01-01'", "'2001-05-06 07:08:09.5'",
         "'{\"a\": 1}'", "NULL", "'A1'", "'Open'", "array('x', CAST(NULL AS string))",
         "map('color', CAST(NULL AS string))",
         _NO_ADDRESS),
        ("7", "3", "'east'", "'12'", "12", "2.50", "2.5", "0.1", "false", "'2024-02-28'", "'2024-01-01 09:00:00'",
         "'http://x.de/a?b=1'", "9223372036854775807", "'D   '", "'open '", _N, _M, _ADDRESS),
        ("8", "99", "'east'", "' 7 '", "1", "0.10", "0.125", "0", "true", "'1999-12-31'", "'2024-03-31 02:30:00'",
         "'Zoë'", "42", "'e'", "'closed'", "array('old')", _M, _ADDRESS),
        ("9", "4", "'north'", "'A12-7'", "7", "19.99", "CAST('NaN' AS double)", "0.3", "true", "'2024-12-31'",
         "'2024-12-30 18:00:00'", "'gift gift'", "100", "'A1'", "'open'", "array('big')", _M, _ADDRESS),
        ("10", "4", "'north'", "'C1'", "5", "3.33", "-0.005", "0.15", "true", "'2024-07-15'", "'2024-07-15 00:00:00'",
         "'x'", "7", "'A1'", "'new'", "array('new')", "map('a', '1', 'b', '2')", _ADDRESS),
    ),
    "customers": (
        ("1", "'Ann'", "'ann@shop.com'", "'gold'", "1500.1250", "'2020-02-29'", "'DE'", "NULL", "'1990-01-01'"),
        ("2", "'Bob'", "'bob@x@y.com'", "'silver'", "-0.0500", "'2019-12-31'", "'FR'", "1", "'1985-13-40'"),
        ("3", "'Zoë'", "NULL", "NULL", "NULL", "NULL", "'DE'", "1", "'2000-02-29'"),
        ("4", "'eve'", "'eve'", "'gold'", "99999999.9999", "'2024-12-31'", "NULL", "2", "'1990-1-5'"),
        ("5", "NULL", "''", "''", "0.0000", "'1999-01-01'", "'FR'", "NULL", "''"),
        ("6", "'Ann'", "'Ann@SHOP.com'", "'basic'", "10.5000", "'2021-06-15'", "'DE'", "3", "NULL"),
    ),
    "products": (
        ("'A12-7'", "'Chair, red'", "'furniture'", "19.99", "4.5", "true", "10"),
        ("'B7'", "'ball'", "'toys'", "2.50", "0.125", "true", "0"),
        ("'C1'", "'Dåse'", "'toys'", "0.99", "-1.5", "false", "-3"),
        ("'Z-9-1'", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL"),
        ("'12'", "''", "''", "100000.00", "CAST('NaN' AS double)", "true", "7"),
    ),
    "events": (
        ("1", "'click'", "'2024-02-29 12:00:00'", "'2024-02-29'", "0.5", "map('depth', 3, 'x', 1)",
         "array(named_struct('sku', 'A12-7', 'qty', 2), named_struct('sku', 'B7', 'qty', 1))"),
        ("1", "'view'", "'2024-01-31 23:59:59.999'", "'2024-01-31'", "1.25", "map('depth', 2)",
         "array(named_struct('sku', 'B7', 'qty', CAST(NULL AS int)))"),
        ("1", "'view'", "'2024-01-31 23:59:59.999'", "'2024-1-31'", "-2.5", "map('x', CAST(NULL AS int))",
         "if(false, array(named_struct('sku', 'B7', 'qty', 1)), NULL)"),
        ("2", "'click'", "'2023-12-31 09:30:00'", "'2023-12-31'", "CAST('NaN' AS double)", "map('depth', 5)",
         "array(named_struct('sku', 'C1', 'qty', 0))"),
        ("3", "NULL", "NULL", "'no day'", "NULL", "if(false, map('a', 1), NULL)",
         "array(named_struct('sku', CAST(NULL AS string), 'qty', 4))"),
        ("-5", "'click'", "'1969-12-31 23:59:59'", "''", "2.5", "map()", "array()"),
        ("NULL", "'buy'", "'2024-03-01 17:59:59'", "NULL", "100", "map('depth', 1)", "array()"),
    ),
    "staff": (
        ("1", "'Mia'", "'ops'", "NULL", "9000.00", "'2010-01-01'", "4.5"),
        ("2", "'Bob'", "'ops'", "1", "3500.55", "'2020-02-29'", "3.5"),
        ("3", "'Özil'", "'ops'", "1", "3500.55", "'2019-12-31'", "NULL"),
        ("4", "'Tom'", "'it'", "1", "NULL", "'2021-08-31'", "2.25"),
        ("5", "'Sue'", "'it'", "4", "4100.00", "NULL", "-1.25"),
        ("6", "NULL", "NULL", "2", "-1.00", "'1999-12-31'", "3.5"),
    ),
}
# fmt: on


def create(hive: HiveReader, directory: Path) -> None:
    """Create the tables in Hive, and write their rows as Parquet files."""
    hive.query(f"CREATE DATABASE {DATABASE}")
    for table, columns in TABLES.items():
        listed = ", ".join(f"{name} {kind}" for name, kind in columns.items())
        location = (directory / table).as_uri()
        hive.query(f"CREATE EXTERNAL TABLE {DATABASE}.{table} ({listed}) STORED AS PARQUET LOCATION '{location}'")
        selects = (
            f"SELECT {', '.join(_typed(value, kind) for value, kind in zip(row, columns.values(), strict=True))}"
            for row in ROWS[table]
        )
        hive.query(f"INSERT INTO {DATABASE}.{table} SELECT * FROM ({' UNION ALL '.join(selects)}) r")
    hive.query(f"USE {DATABASE}")


def _typed(value: str, kind: str) -> str:
    if kind.startswith("struct") and value == "NULL":
        return f"if(false, {_ADDRESS}, NULL)"
    if kind.startswith(("array<string>", "map<string,string>")) and value in ("array()", "map()"):
        return "split('', 'x')" if kind[0] == "a" else "str_to_map('a:1')"
    if value in ("array()", "map()"):
        return "if(false, array(named_struct('sku', 'B7', 'qty', 1)), NULL)" if value[0] == "a" else "map('y', 0)"
    return value if "<" in kind else f"CAST({value} AS {kind})"


@contextmanager
def engines(directory: Path, settings: Mapping[str, str] | None = None) -> Iterator[tuple[HiveReader, Any]]:
    """Start Hive's driver, with settings, and Spark over the files of the tables.

    The files are written with Hive's usual settings: vectorized execution writes other values for some literals.
    """
    from tests.conftest import started

    with started(directory / "metastore", VERSION) as process:
        with running(directory / "writer", process.uri) as writer:
            create(writer, directory)
        with running(directory / "hive", process.uri, settings) as hive, session() as spark:
            hive.query(f"USE {DATABASE}")
            spark.sql(f"CREATE DATABASE {DATABASE}")
            for table, columns in TABLES.items():
                listed = ", ".join(f"{name} {kind}" for name, kind in columns.items())
                location = (directory / table).as_uri()
                spark.sql(f"CREATE TABLE {DATABASE}.{table} ({listed}) USING PARQUET LOCATION '{location}'")
            spark.sql(f"USE {DATABASE}")
            yield hive, spark


WAYS = ("hive", "hive-vectorized", "spark", "spark-ansi")


def _journal(way: str) -> str:
    return f"ordinary-{hashlib.sha256(repr((TABLES, ROWS)).encode()).hexdigest()[:8]}-{way}"


def authors_texts(collection: str) -> dict[str, list[str]]:
    """Return the texts of a collection by their author's engine."""
    return {
        author: (HERE / f"{collection}_{author}.sql").read_text("utf-8").splitlines() for author in ("hive", "spark")
    }


def measure(collection: str) -> None:
    """Run all texts in the engines, and record the types of their columns in Spark."""
    from tests.reader_tables.__main__ import VECTORIZED

    texts = [text for listed in authors_texts(collection).values() for text in listed]
    if not _is_recorded(texts, "spark", "spark-ansi", "types", "hive"):
        with TemporaryDirectory() as directory, engines(Path(directory)) as (hive, spark):
            for ansi, name in ((False, "spark"), (True, "spark-ansi")):
                AnswerJournal(_journal(name), spark_rows(spark, ansi=ansi)).answer_texts(texts)
            types = AnswerJournal(_journal("types"), lambda text: [[kind] for kind in _types(spark, text)])
            types.answer_texts(texts, is_ordered=True)
            AnswerJournal(_journal("hive"), hive_rows(hive)).answer_texts(texts)
    if not _is_recorded(texts, "hive-vectorized"):
        with TemporaryDirectory() as directory, engines(Path(directory), VECTORIZED) as (hive, _):
            AnswerJournal(_journal("hive-vectorized"), hive_rows(hive)).answer_texts(texts)
    of_spark = authors_texts(collection)["spark"]
    if collection == "unseen" and not _is_recorded(of_spark, "trino"):
        ordinary_trino.measure(of_spark, DATABASE, _journal("trino"))


def _is_recorded(texts: Sequence[str], *ways: str) -> bool:
    return all(set(texts) <= recorded_answers(_journal(way)).keys() for way in ways)


def _types(spark: Any, text: str) -> list[str]:
    return [field.dataType.simpleString() for field in spark.sql(text).schema.fields]


def write(collection: str) -> None:
    """Write what each reader does with each text, with an example of a difference."""
    answers = {way: recorded_answers(_journal(way)) for way in (*WAYS, "trino", "types")}
    lines = []
    for author, texts in authors_texts(collection).items():
        own = {"hive": WAYS[:2], "spark": WAYS[2:]}[author]
        for text in texts:
            columns = answers["types"][text]
            by_author = [answers[way][text] for way in own]
            found = {
                reader: _outcome(by_author, [answers[way][text] for way in ways], columns)
                for reader, ways in _READERS[author].items()
                if text in answers[ways[0]]
            }
            lines.append(json.dumps({"text": text, "author": author, **found}, ensure_ascii=False))
    head = {
        "versions": {"hive": VERSION, "spark": pyspark.__version__, "trino": TRINO_VERSION},
        "date": datetime.now(timezone.utc).date().isoformat(),
        "database": DATABASE,
        "tables": TABLES,
    }
    texts_line = ",\n".join(lines)
    (FIXTURES / f"{collection}_texts.json").write_text(
        f'{json.dumps(head, ensure_ascii=False)[:-1]},\n"texts": [\n{texts_line}\n]}}\n', encoding="utf-8"
    )


_READERS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "hive": {"spark": ("spark",), "spark-ansi": ("spark-ansi",)},
    "spark": {"hive": WAYS[:2], "trino": ("trino",)},
}
"""The ways in which each author's readers run a text."""


def _outcome(author: Sequence[Answer], reader: Sequence[Answer], types: Sequence[str]) -> list[str]:
    """Return what the reader does, and how it differs; `invalid` if the author's engine refuses the text."""
    if all(isinstance(answer, str) for answer in author):
        return ["invalid", str(author[0])[:150]]
    if isinstance(reader[0], str) and ordinary_trino.NOT_DEFINED in reader[0]:
        return ["not defined", str(reader[0])[1:150]]
    widths = {line.count("\t") for answer in (*author, *reader) if not isinstance(answer, str) for line in answer}
    if len(widths) > 1:
        return ["other rows", "another number of columns"]
    kinds = ("string", *types)  # with a first column, so that rows are compared in the order of their values
    sides = [[_with_first_column(answer) for answer in side] for side in (author, reader)]
    verdict = compare(sides[0], sides[1], kinds)
    assert verdict is not None
    return [verdict.outcome.value if verdict.outcome else "equal", _shown(verdict)]


def _with_first_column(answer: Answer) -> Answer:
    return answer if isinstance(answer, str) else [f"\t{line}" for line in answer]


def _shown(verdict: Verdict) -> str:
    if verdict.differences:
        first = verdict.differences[0]
        return f"{first.author.strip()[:80]} | {first.reader.strip()[:80]}"
    return (verdict.error or "")[:150]


if __name__ == "__main__":
    for name in sys.argv[1:] or COLLECTIONS:
        measure(name)
        write(name)
    sys.exit(0)
