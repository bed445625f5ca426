"""Failed refreshes in a property: read back, and ignored if another program wrote something else there."""

from __future__ import annotations

import pytest

from hive_views.materialized.refresh.failures import FAILED_REFRESHES, FailedRefresh, failed_refreshes


def test_recorded_failures_are_read():
    text = '[{"started_ms":5,"seconds":1.5,"error":"disk full"}]'
    assert failed_refreshes({FAILED_REFRESHES: text}) == (FailedRefresh(5, 1.5, "disk full"),)
    assert failed_refreshes({}) == ()


OTHER = ["", "{", "7", "null", "[1]", '{"a":1}', '[{"started_ms":5}]', '[{"started_ms":"x","seconds":1.5,"error":"e"}]']


@pytest.mark.parametrize("text", [*OTHER, "[" * 20_000])
def test_other_content_is_ignored(text: str):
    assert failed_refreshes({FAILED_REFRESHES: text}) == ()
