"""A tool, not a test: lets a real Hive create views, and writes the texts that it stores as fixtures.

The oracle is a program that reads one JSON request a line and runs it in Hive (see `requests` below). Usage:

    python tests/unit/sql/hive_oracle.py ORACLE WAREHOUSE CASES ANSWERS

ORACLE is the command that starts Hive (for example `path/to/run.sh 4.1.0`), WAREHOUSE the JSON file whose `setup` makes
the tables, CASES a file with one JSON case a line and ANSWERS the file to write. A case is
`{"ddl": …, "view": "sales.v1", "database": "sales", "setup": [sql …], "conf": [[key, value] …]}`, all but `ddl` and
`view` optional; an answer is the case plus `original, expanded, columns, partition_keys, type` or, if Hive rejects it,
`error`.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

Case = dict[str, Any]

DEFAULTS = {
    "hive.support.quoted.identifiers": "column",
    "hive.groupby.position.alias": "false",
    "hive.groupby.orderby.position.alias": "false",
    "hive.cbo.enable": "true",
    "hive.exec.drop.ignorenonexistent": "true",
}


def requests(setup: Iterable[str], cases: Iterable[Case]) -> Iterator[dict[str, Any]]:
    """Yield the oracle's requests for some cases; `want` marks those whose replies are used."""
    for sql in setup:
        yield {"sql": sql, "want": "setup"}
    for number, case in enumerate(cases):
        yield {"sql": f"use {case.get('database', 'sales')}"}
        for sql in case.get("setup", ()):
            yield {"sql": sql, "want": "setup"}
        for key, value in case.get("conf", ()):
            yield {"set": [key, value]}
        yield {"sql": case["ddl"], "want": "ddl", "id": number}
        for key, _ in case.get("conf", ()):
            yield {"set": [key, DEFAULTS[key]]}
        yield {"table": case["view"], "want": "view", "id": number}
        for kind in ("view", "materialized view"):
            yield {"sql": f"drop {kind} if exists {'.'.join(f'`{part}`' for part in case['view'].split('.', 1))}"}


def answers(cases: list[Case], replies: Iterable[dict[str, Any]]) -> list[Case]:
    """Return the cases with Hive's answers."""
    result = [dict(case) for case in cases]
    for reply in replies:
        if reply.get("want") == "setup" and not reply["ok"]:
            print("set-up statement failed:", reply["error"][:300], file=sys.stderr)
        elif reply.get("want") == "ddl" and not reply["ok"]:
            result[reply["id"]]["error"] = reply["error"]
        elif reply.get("want") == "view" and "error" not in result[reply["id"]]:
            keys = ("original", "expanded", "columns", "partition_keys", "type")
            result[reply["id"]].update({key: reply[key] for key in keys if key in reply})
    return result


def run(oracle: str, warehouse: Path, cases: list[Case]) -> list[Case]:
    """Run the cases in Hive over the warehouse's tables, and return the answers."""
    setup = json.loads(warehouse.read_text())["setup"]
    lines = "".join(json.dumps(request) + "\n" for request in requests(setup, cases))
    process = subprocess.run(shlex.split(oracle), input=lines, capture_output=True, text=True, check=True)
    return answers(cases, (json.loads(line) for line in process.stdout.splitlines() if line.startswith("{")))


def main() -> None:
    """The command line."""
    oracle, warehouse, cases, target = sys.argv[1:]
    case_list = [json.loads(line) for line in Path(cases).read_text().splitlines()]
    answered = run(oracle, Path(warehouse), case_list)
    Path(target).write_text("".join(json.dumps(answer, ensure_ascii=False) + "\n" for answer in answered))


if __name__ == "__main__":
    main()
