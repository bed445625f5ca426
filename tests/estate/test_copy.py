"""The recorded copy and the files that describe it belong together."""

from __future__ import annotations

import json

from tests.estate import copy, definitions, rows
from tests.estate.build import FOREIGN, MANIFEST, NOISE, NOISE_DATABASE, OBJECTS, STATEMENTS
from tests.estate.conftest import Estate
from tests.estate.programs import PROGRAMS

MAX_BYTES = 20_000_000
MAX_REFUSED = 0.25
"""The share of definitions that programs may refuse: more shows that a program did not work."""


def lines(path: object) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]  # type: ignore[attr-defined]


def test_archive_is_small() -> None:
    assert copy.ARCHIVE.stat().st_size < MAX_BYTES


def test_loaded_rows_are_the_recorded_ones(estate: Estate) -> None:
    all_rows = estate.rows()
    noise = [name for name in all_rows if name.startswith(f"{NOISE_DATABASE}.") and not name.endswith(".")]
    assert len(noise) == NOISE
    recorded = {str(item["name"]): item["row"] for item in lines(OBJECTS)}
    assert recorded.keys() == {name for name in all_rows if name not in noise or name.endswith(("_0000", "_0001"))}
    for name, row in recorded.items():
        if all_rows[name]:
            assert rows.stable(all_rows[name]) == row, name


def test_each_definition_is_recorded_with_what_became_of_it() -> None:
    texts = definitions.placeholders(copy.WAREHOUSE, copy.FILES)
    expected = [item.name for program in PROGRAMS for item in definitions.load(program, texts)]
    outcomes = lines(STATEMENTS)
    assert [item["name"] for item in outcomes if item["program"] != FOREIGN] == expected
    names = [str(item["name"]) for item in outcomes]
    assert len(set(names)) == len(names)
    refused = [item for item in outcomes if item["status"] == "refused"]
    assert all(item["refused"] for item in refused)
    for program in PROGRAMS:
        own = [item for item in outcomes if item["program"] == program]
        share = sum(item["status"] == "refused" for item in own) / len(own)
        assert share < MAX_REFUSED, program


def test_authors_rows_of_views_are_recorded() -> None:
    for item in (item for item in lines(STATEMENTS) if item["program"] != FOREIGN):
        reads = bool(PROGRAMS[str(item["program"])].select)
        is_view = reads and str(item["kind"]).split()[0] in ("view", "materialized")
        if is_view and item["status"] == "created":
            assert item["rows"] is not None or item["unreadable"], item["name"]


def test_manifest_counts_the_definitions() -> None:
    manifest = json.loads(MANIFEST.read_text(encoding="utf-8"))
    assert manifest["definitions"] == len(lines(STATEMENTS)) == sum(manifest["kinds"].values())
