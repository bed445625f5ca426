"""Tables of the estate in Markdown: its kinds, what programs refused, and the exit codes of each command by kind."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.estate.answers import DIRECTORY
from tests.estate.build import MANIFEST, STATEMENTS


def lines() -> Iterator[str]:
    """The lines of the report."""
    outcomes = [json.loads(line) for line in STATEMENTS.read_text(encoding="utf-8").splitlines()]
    manifest = json.loads(MANIFEST.read_text(encoding="utf-8"))
    yield f"Built on {manifest['date']} in {manifest['seconds']} s: {manifest['rows']}"
    yield ""
    yield "| program | version | definitions | refused | views with their author's rows | without |"
    yield "|---|---|---|---|---|---|"
    for program, version in manifest["programs"].items():
        own = [item for item in outcomes if item["program"] == program]
        refused = sum(item["status"] == "refused" for item in own)
        views = [item for item in own if item["kind"].split()[0] in ("view", "materialized")]
        read = sum(item["rows"] is not None for item in views)
        unread = sum(item["unreadable"] is not None for item in views)
        yield f"| {program} | {version} | {len(own)} | {refused} | {read} | {unread} |"
    yield ""
    yield "| kind | definitions |"
    yield "|---|---|"
    for kind, count in manifest["kinds"].items():
        yield f"| {kind} | {count} |"
    yield ""
    yield "Refused by the program:"
    for item in outcomes:
        if item["status"] == "refused":
            yield f"- `{item['name']}` ({item['kind']}): {item['refused'][0][1][:160]}"
    yield ""
    yield from _commands({item["name"]: item for item in outcomes})


def _commands(outcomes: dict[str, Any]) -> Iterator[str]:
    """Exit codes of the commands over one object, by the program and the first word of the kind."""
    answers = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(DIRECTORY.glob("*.json"))}
    over_objects = {name: found for name, found in answers.items() if name.startswith(("object_", "change_"))}
    names = {name for found in over_objects.values() for name in found}
    groups = {name: f"{item['program']} {item['kind'].split()[0]}" for name, item in outcomes.items() if name in names}
    columns = sorted(set(groups.values()))
    yield f"| command | {' | '.join(columns)} |"
    yield f"|---|{'---|' * len(columns)}"
    for command, found in over_objects.items():
        cells = []
        for column in columns:
            codes = Counter(answer["code"] for name, answer in found.items() if groups.get(name) == column)
            cells.append(", ".join(f"{code}: {count}" for code, count in sorted(codes.items())))
        yield f"| {command} | {' | '.join(cells)} |"
