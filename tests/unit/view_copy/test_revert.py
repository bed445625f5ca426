"""Reverts of copies, and their places, without a server."""

from __future__ import annotations

import json
import resource
import signal
from typing import Any

import pytest
from pyiceberg.exceptions import NoSuchViewError
from pyiceberg.view import View

from hive_views.errors import InvalidPropertyError, JournalError
from hive_views.spec.json_codec import read_document
from hive_views.view_copy import revert_copies
from hive_views.view_copy.copy import copy_location, separate_location
from hive_views.view_copy.journal import CopyJournal, JournalEntry, read_journal
from hive_views.view_copy.metadata import fingerprint
from tests.unit.spec.examples import NAME, document

ORIGINAL, COPY = "s3://bucket/sales.db/top", "s3://other/sales/top"


class Catalog:
    """A catalog of one view."""

    def __init__(self, location: str) -> None:
        self.view: View | None = View(
            tuple(NAME.split(".")), read_document(document(location=location), "x").to_pyiceberg()
        )

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
    catalog: Any = Catalog(location)
    reports: list[tuple[int, int, str]] = []
    reverted = revert_copies(catalog, journal, progress=lambda *report: reports.append(report))
    assert [view.outcome for view in reverted] == [outcome]
    assert reports == [(1, 1, "reverting")]
    assert (catalog.view is None) == (outcome == "dropped")


def test_copy_has_a_directory_of_its_own():
    assert separate_location(COPY, ORIGINAL) == COPY
    for same in (ORIGINAL, f"{ORIGINAL}/", ORIGINAL.replace("s3:", "s3a:")):
        assert separate_location(same, ORIGINAL).rstrip("/") not in (ORIGINAL, same.rstrip("/"))


def append(path, *entries):
    with CopyJournal(path) as journal:
        for entry in entries:
            journal.append(entry)


def test_append_removes_an_incomplete_line(tmp_path):
    path = tmp_path / "copy.jsonl"
    first, second, third = (JournalEntry(NAME, f"s3://b/{number}", "f", "http://host") for number in "123")
    append(path, first)
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_bytes(path.read_bytes() + b'{"view": "torn')
    append(path, second, third)
    assert read_journal(path) == [first, second, third]


def test_journal_has_one_writer(tmp_path):
    entry = JournalEntry(NAME, "s3://b/1", "f")
    with CopyJournal(tmp_path / "copy.jsonl") as journal:
        journal.append(entry)
        with pytest.raises(JournalError, match="another run is writing it"):
            append(tmp_path / "copy.jsonl", entry)
    append(tmp_path / "copy.jsonl", entry)
    assert read_journal(tmp_path / "copy.jsonl") == [entry, entry]


def test_line_that_does_not_fit_on_the_disk_is_an_error(tmp_path):
    path, soft = tmp_path / "copy.jsonl", resource.getrlimit(resource.RLIMIT_FSIZE)
    entry = JournalEntry(NAME, "s3://b/1", "f")
    append(path, entry)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 10, soft[1]))
    try:
        with pytest.raises(JournalError, match="it cannot be written"):
            append(path, entry)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, soft)
        signal.signal(signal.SIGXFSZ, before)
    assert read_journal(path) == [entry]
    append(path, entry)
    assert read_journal(path) == [entry, entry]


@pytest.mark.parametrize("content", ["a report of 1000 pages", "[1]\n", '{"views": []}', "{"])
def test_other_file_is_not_overwritten_by_journal(tmp_path, content):
    file = tmp_path / "report"
    file.write_text(content)
    entry = JournalEntry(NAME, "s3://b/1", "f")
    if content == "{":  # the first bytes of a journal
        append(file, entry)
        assert read_journal(file) == [entry]
        return
    with pytest.raises(JournalError, match="it is not a journal of copies"):
        append(file, entry)
    assert file.read_text() == content


@pytest.mark.parametrize("line", ["[1]", '{"view": "a.b"}', "[" * 100_000])
def test_damaged_journal_is_rejected(tmp_path, line):
    (tmp_path / "journal").write_text(f"{line}\n")
    with pytest.raises(JournalError, match="it cannot be read"):
        read_journal(tmp_path / "journal")


@pytest.mark.parametrize("location", ["relative", "./copies", "C"])
def test_relative_location_is_rejected(location):
    catalog: Any = Catalog(COPY)
    with pytest.raises(InvalidPropertyError, match="absolute path"):
        copy_location(catalog, NAME, location)
