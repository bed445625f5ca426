"""Counts the requests to a metastore."""

from __future__ import annotations

from typing import Any

import pytest

from hive_views.metastore.transport.client import MetastoreClient


def count_calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list to which each request to a metastore adds its method."""
    calls: list[str] = []
    exchange = MetastoreClient._exchange

    def counted(client: MetastoreClient, method: str, *arguments: Any, **options: Any) -> Any:
        calls.append(method)
        return exchange(client, method, *arguments, **options)

    monkeypatch.setattr(MetastoreClient, "_exchange", counted)
    return calls
