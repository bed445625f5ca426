"""Copies of the estate's views to another metastore, and their reversal; the estate stays as it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hive_views import EmbeddedMetastore, HiveViewCatalog
from hive_views.view_copy.metadata import fingerprint, metadata_of
from tests.estate.answers import check, shortened
from tests.estate.build import NOISE_DATABASE
from tests.estate.conftest import Estate, databases
from tests.estate.rows import stable
from tests.estate.test_changes import changed
from tests.integration.cli.conftest import Done

pytestmark = pytest.mark.extended


def recorded(done: Done) -> dict[str, dict[str, Any]]:
    """Return the answer for each view."""
    assert done.code in (0, 1), done
    views = json.loads(done.out)["views"]
    fields = ("status", "notes", "problem")
    return {view["name"]: stable(shortened({key: view[key] for key in fields})) for view in views}


def test_copy_and_revert(estate: Estate, temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [name for name in databases() if name != NOISE_DATABASE]
    journal = str(temporary / "copy.jsonl")
    before = estate.rows()
    with (
        EmbeddedMetastore(temporary / "target") as target,
        HiveViewCatalog("there", uri=target.uri, warehouse=target.warehouse) as there,
        HiveViewCatalog("here", **estate.properties) as here,
    ):
        monkeypatch.setenv("PYICEBERG_CATALOG__THERE__TYPE", "hive")
        monkeypatch.setenv("PYICEBERG_CATALOG__THERE__URI", target.uri)
        monkeypatch.setenv("PYICEBERG_CATALOG__THERE__WAREHOUSE", target.warehouse)
        for name in names:
            there.create_namespace_if_not_exists(name)

        def run(*words: str) -> Done:
            return estate.cli("--json", "copy", *words, "--to-catalog", "there")

        check("copy_plan", recorded(run("plan", *names)))
        assert [view for name in names for view in there.list_views(name)] == []

        copies = recorded(run("run", *names, "--journal", journal))
        check("copy_run", copies)
        copied = {name for name, copy in copies.items() if copy["status"] == "copied"}
        for name in copied:
            if any("stored rows are not copied" in note for note in copies[name]["notes"]):
                continue
            original, copy = here.load_view(name), there.load_view(name)
            assert fingerprint(metadata_of(original)) == fingerprint(metadata_of(copy)), name
        repeated = recorded(run("run", *names, "--journal", journal))
        assert {name for name, copy in repeated.items() if copy["status"] == "copied"} == set()

        reverted = run("revert", "--journal", journal, "--yes")
        assert reverted.code == 0, reverted
        assert [name for name in copied if there.view_exists(name)] == []
    assert changed(before, estate.rows()) == set()
