"""The estate on a server with Hive 4's translation of tables, which changes no table or view (see docs/servers.md)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.estate import copy
from tests.estate.build import NOISE_DATABASE, OBJECTS
from tests.estate.rows import loads, read_all, stable
from tests.integration.metastore.rpc import connect

TRANSLATION = {"metastore.metadata.transformer.class": "org.apache.hadoop.hive.metastore.MetastoreDefaultTransformer"}


@pytest.mark.extended
def test_rows_are_the_same_for_a_client_without_capabilities(tmp_path: Path) -> None:
    with copy.loaded(tmp_path / "estate", TRANSLATION) as metastore, connect(metastore.port, 300) as client:
        rows = read_all(client, NOISE_DATABASE)
    lines = [loads(line) for line in OBJECTS.read_text(encoding="utf-8").splitlines()]
    recorded = {item["name"]: item["row"] for item in lines}
    assert len(recorded) > 600
    differing = {
        name: {key: (row.get(key), read.get(key)) for key in row.keys() | read.keys() if row.get(key) != read.get(key)}
        for name, row in recorded.items()
        if rows[name] and (read := stable(rows[name])) != row
    }
    # Its directory has another name than the default one.
    assert differing.keys() == {"spark_tables."}
    assert differing["spark_tables."].keys() == {"locationUri"}
