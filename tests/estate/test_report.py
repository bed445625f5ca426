"""docs/estate.md is what the record and the recorded answers say."""

from __future__ import annotations

from tests.estate import report


def test_page_is_current() -> None:
    assert report.PAGE.read_text(encoding="utf-8").splitlines() == "\n".join(report.lines()).splitlines()
