"""Reverts of copies, and their places, without a server."""

from __future__ import annotations

import json

import pytest
from pyiceberg.exceptions import NoSuchViewError
from pyiceberg.view import View

from hive_views.errors import InvalidPropertyError, JournalError
from hive_views.spec.json_codec import read_document
from hive_views.view_copy import revert_copies
from hive_views.view_copy.copy import _append_to_journal, _JournalEntry, _location, _read_journal, _separate
from hive_views.view_copy.metadata import fingerprint
from tests.unit.spec.examples import NAME, document

ORIGINAL, COPY = "s3://bucket/sales.db/top", "s3://other/sales/top"


class Catalog:
    """A catalog of one view."""

    def __init__(self, location: str) -> None:
        self.view: View | None = View(NAME, read_document(document(location=location), "x").to_pyiceberg())

    def load_view(self, name: str) -> View:
        if self.view is None:
            raise NoSuchViewError(name)
        return self.view

    def drop_view(self, name: str) -> None:
        self.view = None


@pytest.mark.parametrize(("location", "outcome"), [(COPY, "dropped"), (ORIGINAL, "changed")])
def test_original_is_not_dropped_as_its_copy(tmp_path, location, outcome):
    journal = tmp_path / "copy.jsonl"
    lines = [
        {"view": NAME, "metadata_location": f"{base}/metadata/00000-{number}.metadata.json"}
        for number, base in enumerate((COPY, "s3://late/top"))
    ]
    expected = fingerprint(read_document(document(location=COPY), "x"))
    journal.write_text(
        "".join(json.dumps({**line, "fingerprint": expected}) + "\n" for line in lines) + '{"view": "torn'
    )
    catalog = Catalog(location)
    assert [view.outcome for view in revert_copies(catalog, journal)] == [outcome]
    assert (catalog.view is None) == (outcome == "dropped")


def test_copy_has_a_directory_of_its_own():
    assert _separate(COPY, ORIGINAL) == COPY
    for same in (ORIGINAL, f"{ORIGINAL}/", ORIGINAL.replace("s3:", "s3a:")):
        assert _separate(same, ORIGINAL).rstrip("/") not in (ORIGINAL, same.rstrip("/"))


def test_append_removes_an_incomplete_line(tmp_path):
    journal = tmp_path / "copy.jsonl"
    first, second = (_JournalEntry(NAME, f"s3://b/{number}", "f") for number in "12")
    _append_to_journal(journal, first)
    journal.write_bytes(journal.read_bytes() + b'{"view": "torn')
    _append_to_journal(journal, second)
    assert _read_journal(journal) == [first, second]


@pytest.mark.parametrize("content", ["a report of 1000 pages", "[1]\n", '{"views": []}', "{"])
def test_other_file_is_not_overwritten_by_journal(tmp_path, content):
    file = tmp_path / "report"
    file.write_text(content)
    entry = _JournalEntry(NAME, "s3://b/1", "f")
    if content == "{":  # the first bytes of a journal
        _append_to_journal(file, entry)
        assert _read_journal(file) == [entry]
        return
    with pytest.raises(JournalError, match="it is not a journal of copies"):
        _append_to_journal(file, entry)
    assert file.read_text() == content


@pytest.mark.parametrize("line", ["[1]", '{"view": "a.b"}', "[" * 100_000])
def test_damaged_journal_is_rejected(tmp_path, line):
    (tmp_path / "journal").write_text(f"{line}\n")
    with pytest.raises(JournalError, match="it cannot be read"):
        _read_journal(tmp_path / "journal")


@pytest.mark.parametrize("location", ["relative", "./copies", "C"])
def test_relative_location_is_rejected(location):
    with pytest.raises(InvalidPropertyError, match="absolute path"):
        _location(Catalog(COPY), NAME, location)
