"""Recorded answers of commands: one JSON file for each command, compared without what differs between builds.

`HIVE_VIEWS_RECORD_ANSWERS=1` records the answers of a run in place of a comparison.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any

from tests.estate import rows
from tests.estate.copy import HERE
from tests.integration.cli.conftest import Done

DIRECTORY = HERE / "answers"
RECORDS = os.environ.get("HIVE_VIEWS_RECORD_ANSWERS") == "1"

MAX_TEXT = 160
MAX_ITEMS = 12
MORE_REQUESTS = 1.1
"""How many times the recorded requests a command may send: which rows share a request depends on threads."""

_CHECKS_OF_MACHINE = ("java", "pyspark", "reachable")
"""Findings of `doctor` with paths and times of the machine that runs it."""
_DURATIONS = ("seconds", "writing", "swapping")
"""Fields that are measured times."""
_DURATION = re.compile(r"\b\d+(\.\d+)? ?(ms|s|seconds)\b")
_ADDRESS = re.compile(r"127\.0\.0\.1:\d{4,5}")


def answer_of(done: Done, requests: int, fields: tuple[str, ...] = ()) -> dict[str, Any]:
    """The answer of a command with `--json` as it is recorded; of its document only some fields, if they are given."""
    answer: dict[str, Any] = {"code": int(done.code), "requests": requests}
    if done.out.strip():
        document = json.loads(done.out)
        if fields and isinstance(document, dict):
            document = {field: document[field] for field in fields if field in document}
        answer["answer"] = shortened(document)
    diagnostics = [_diagnostic(line) for line in done.err.splitlines() if line.strip()]
    if diagnostics:
        answer["diagnostics"] = shortened(diagnostics)
    return dict(rows.stable(answer))


def _diagnostic(line: str) -> Any:
    try:
        document = json.loads(line)
    except ValueError:
        return line
    return {key: document[key] for key in ("error", "warning", "type") if key in document}


def shortened(value: Any) -> Any:
    """A document with long texts and lists cut, so that it can be read and compared."""
    if isinstance(value, dict):
        return {key: shortened(item) for key, item in value.items() if key not in _DURATIONS}
    if isinstance(value, list):
        value = [item for item in value if not (isinstance(item, dict) and item.get("check") in _CHECKS_OF_MACHINE)]
        items = [shortened(item) for item in value[:MAX_ITEMS]]
        return items if len(value) <= MAX_ITEMS else [*items, f"… {len(value)} items"]
    if isinstance(value, str):
        text = _ADDRESS.sub("127.0.0.1:<port>", _DURATION.sub("<time>", value))
        return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}… {len(text)} characters"
    return value


def check(name: str, answers: dict[str, Any]) -> None:
    """Compare answers with the recorded ones of a name; the number of requests, where given, is an upper bound."""
    path = DIRECTORY / f"{name}.json"
    if RECORDS:
        DIRECTORY.mkdir(exist_ok=True)
        assert str(HERE.parents[1]) not in json.dumps([*answers.values()]), "an answer has a path of this machine"
        lines = (f"{json.dumps(key)}: {rows.dumps(answer)}" for key, answer in sorted(answers.items()))
        path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
        return
    recorded = json.loads(path.read_text(encoding="utf-8"))
    assert answers.keys() == recorded.keys()
    differences = {}
    for key, answer in answers.items():
        old = recorded[key]
        if _without_requests(answer) != _without_requests(old):
            differences[key] = {"was": old, "is": answer}
        elif answer.get("requests", 0) > old.get("requests", 0) * MORE_REQUESTS:
            differences[key] = {"requests were": old["requests"], "are": answer["requests"]}
    assert not differences, json.dumps(differences, ensure_ascii=False, indent=1)[:20_000]


def _without_requests(answer: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in answer.items() if key != "requests"}
