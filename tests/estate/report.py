"""The page docs/estate.md: the kinds of the estate, what programs refused, and what commands and the import answer."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tests.estate.answers import DIRECTORY
from tests.estate.build import FOREIGN, MANIFEST, STATEMENTS
from tests.estate.copy import HERE

PAGE = HERE.parents[1] / "docs" / "estate.md"
TIMES = HERE / "times.json"
"""Measured times, in seconds, with the date and the machine."""

_INTRODUCTION = """# The estate of the tests

`tests/estate` runs every command over a recorded metastore with every kind of object that Hive, Spark, Iceberg's Java
catalog, PyIceberg, Trino and this package create, and compares the answers with recorded ones. `make estate` builds it
with these programs. This page is written by `python -m tests.estate report`.
"""

Answers = Mapping[str, Any]


def lines() -> Iterator[str]:
    """The lines of the page."""
    outcomes = [json.loads(line) for line in STATEMENTS.read_text(encoding="utf-8").splitlines()]
    manifest = _document(MANIFEST)
    yield from _INTRODUCTION.splitlines()
    yield ""
    yield from _programs(outcomes, manifest)
    yield from _kinds(outcomes)
    yield from _refused(outcomes)
    yield from _commands({item["name"]: f"{item['program']}: {item['kind']}" for item in outcomes})
    yield from _import()
    yield from _author_rows()
    yield from _times()


def _programs(outcomes: Sequence[Answers], manifest: Answers) -> Iterator[str]:
    counts = manifest["rows"]
    yield from ("## Programs", "")
    yield (
        f"{counts['objects']} tables and views, of which 5,000 are plain ones, in {counts['databases']} databases, and "
        f"{counts['partitions']} partitions; recorded on {manifest['date']} on a metastore of Hive "
        f"{manifest['metastore']}."
    )
    yield ""
    versions = {**manifest["programs"], FOREIGN: "rows like those of programs that are not here"}
    columns = ("program", "version", "definitions", "refused by it", "views with their author's rows", "without")
    yield from _table(columns, (_program(name, version, outcomes) for name, version in versions.items()))


def _program(name: str, version: str, outcomes: Sequence[Answers]) -> tuple[object, ...]:
    own = [item for item in outcomes if item["program"] == name]
    views = [item for item in own if item["kind"].split()[0] in ("view", "materialized")]
    return (
        name,
        version,
        len(own),
        sum(item["status"] == "refused" for item in own),
        sum(item["rows"] is not None for item in views),
        sum(item["rows"] is None for item in views),
    )


def _kinds(outcomes: Sequence[Answers]) -> Iterator[str]:
    yield from ("## Kinds of objects", "")
    kinds = defaultdict(list)
    for item in outcomes:
        kinds[f"{item['program']}: {item['kind']}"].append(item)
    cells = (
        (
            kind,
            len(items),
            sum(item["status"] == "refused" for item in items),
            sum(bool(item["rows"]) for item in items),
        )
        for kind, items in sorted(kinds.items())
    )
    yield from _table(("kind", "definitions", "refused by the program", "with rows"), cells)


def _refused(outcomes: Sequence[Answers]) -> Iterator[str]:
    yield from ("## What the programs refused", "")
    refused = (item for item in outcomes if item["status"] == "refused")
    cells = ((f"`{item['name']}`", item["comment"], _cell(item["refused"][0][1])) for item in refused)
    yield from _table(("object", "what it would be", "reason"), cells)


def _commands(kinds: Mapping[str, str]) -> Iterator[str]:
    """Exit codes of the commands over one object, by kind."""
    yield from ("## Commands by kind of object", "")
    yield "[Exit codes](cli.md#exit-codes), with the number of objects in parentheses if their codes differ."
    yield "A command that is slow or changes objects ran over one object of each shape of row."
    yield ""
    answers = {path.stem: _document(path) for path in sorted(DIRECTORY.glob("*.json"))}
    commands = {name: found for name, found in answers.items() if name.startswith(("object_", "change_"))}
    found: dict[str, dict[str, Counter[int]]] = defaultdict(lambda: defaultdict(Counter))
    for command, answered in commands.items():
        for name, answer in answered.items():
            if name in kinds:
                found[kinds[name]][command][answer["code"]] += 1
    for group, title in (("object_", "read"), ("change_", "change")):
        names = [name for name in commands if name.startswith(group)]
        columns = ("kind", *(f"`{name.removeprefix(group).replace('_', ' ')}`" for name in names))
        yield f"Commands that {title}:"
        yield ""
        rows = ((kind, *(_codes(codes[name]) for name in names)) for kind, codes in sorted(found.items()))
        yield from _table(columns, (row for row in rows if any(row[1:])))


def _codes(codes: Counter[int]) -> str:
    if len(codes) == 1:
        return str(next(iter(codes)))
    return ", ".join(f"{code} ({count})" for code, count in sorted(codes.items()))


def _import() -> Iterator[str]:
    yield from ("## Import", "")
    plan, run = _document(DIRECTORY / "import_plan.json"), _document(DIRECTORY / "import_run.json")
    converted = [item for item in run.values() if item["status"] == "converted"]
    with_finding = sum(any(text.startswith("spark:") for text in item["engines"]) for item in converted)
    yield (
        f"`import plan` and `import run` without Spark over {len(plan)} legacy views: {len(converted)} converted, of "
        f"which {with_finding} have a finding or a note about Spark. `import revert` restores every row."
    )
    yield ""
    counts = Counter((item["writer"], item["status"], item["reason"] or "") for item in run.values())
    cells = ((*key, count) for key, count in sorted(counts.items()))
    yield from _table(("written by", "status", "reason", "views"), cells)


def _author_rows() -> Iterator[str]:
    yield from ("## Rows of converted views in Spark with Iceberg", "")
    answers = _document(DIRECTORY / "author_rows.json")
    counts: Counter[str] = Counter()
    explained: Counter[str] = Counter()
    for answer in answers.values():
        outcome = answer["outcome"].partition(":")[0]
        counts[outcome] += 1
        explained[outcome] += bool(answer["findings"])
    yield "Compared with the rows that the author's engine returned when the estate was built."
    yield ""
    cells = ((outcome, count, explained[outcome]) for outcome, count in sorted(counts.items()))
    yield from _table(("outcome", "views", "with a finding or a note about Spark"), cells)
    yield "Views that Spark cannot read, or reads with other rows:"
    yield ""
    differing = (
        (f"`{name}`", _cell(answer["outcome"]), _cell("; ".join(answer["findings"]) or "none: see [Limits](limits.md)"))
        for name, answer in answers.items()
        if answer["outcome"].startswith(("unreadable", "other rows"))
    )
    yield from _table(("view", "outcome", "findings"), differing)


def _times() -> Iterator[str]:
    yield from ("## Times", "")
    times = _document(TIMES)
    yield f"Measured on {times['date']}, {times['machine']}."
    yield ""
    yield from _table(("what", "seconds"), times["seconds"].items())


def _document(path: Any) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _cell(text: str) -> str:
    """A text as a cell of a table."""
    text = text if len(text) <= 240 else f"{text[:240]}…"
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split())


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"
    for row in rows:
        yield f"| {' | '.join(map(str, row))} |"
    yield ""
