"""Generate the tables of the engines: `python -m tests.engine_tables [spark] [hive]`.

Spark takes half an hour, Hive five minutes. The files are written to `hive_views/sql/engines/data`; the calls that no
signature explains are printed.
"""

from __future__ import annotations

import sys
from pathlib import Path

import hive_views.sql.engines
from tests.engine_tables.asking import ask_hive, ask_spark
from tests.engine_tables.spark_engine import session
from tests.engine_tables.writing import Document

DATA = Path(hive_views.sql.engines.__file__).parent / "data"


def main(engines: list[str]) -> None:
    for engine in engines or ["spark", "hive"]:
        if engine == "hive":
            answers = {"hive": ask_hive()}
        else:
            with session() as spark:
                answers = {"ansi": ask_spark(spark, True), "legacy": ask_spark(spark, False)}
        document = Document(engine, next(iter(answers.values())).version)
        for rules, given in answers.items():
            document.add(rules, given)
        (DATA / f"{engine}.json").write_text(document.text(), "utf-8")
        print(*document.unexplained, sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
