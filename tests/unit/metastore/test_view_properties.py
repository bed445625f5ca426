"""Retry properties of a view, which any writer of its metadata file may have set."""

from __future__ import annotations

import time

import pytest

from hive_views.metastore.commit.view_properties import commit_retries

DAY = str(86_400_000)


def test_retries_end_within_the_total_timeout() -> None:
    properties = {
        "commit.retry.num-retries": DAY,
        "commit.retry.min-wait-ms": DAY,
        "commit.retry.max-wait-ms": "9" * 400,
        "commit.retry.total-timeout-ms": "100",
    }
    started = time.monotonic()
    with pytest.raises(KeyError):
        commit_retries(properties, lambda _: True)({}.__getitem__, "none")
    assert time.monotonic() - started < 5
