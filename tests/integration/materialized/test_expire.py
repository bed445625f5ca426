"""Snapshot expiration deletes files that only expired snapshots need; other rows and their freshness are unchanged."""

from __future__ import annotations

from pathlib import Path

import pytest

from hive_views.errors import InvalidPropertyError, NoSuchRefreshError, RefreshConflictError
from hive_views.materialized.layouts.attached import AttachedStorage
from hive_views.materialized.maintenance.expire import expire
from hive_views.spec.staleness_policy import METADATA
from tests.integration.materialized.conftest import rows
from tests.integration.materialized.duck_engine import compact
from tests.suites import extended


@pytest.mark.parametrize("layout", ["attached", *extended("registered", "table")])
def test_expire_keeps_needed_snapshots_and_files(catalog, market, engine, layout):
    views, name = catalog.materialized, (market, "mv")
    views.create(name, "SELECT id, amount FROM sales", layout=layout, properties={"hive-views.time-travel": "true"})
    created = []
    for number in range(4):
        created.append(views.load(name).refresh(engine, mode="full")[-1].snapshot_id)
        catalog.load_table((market, "sales")).append(rows((10 + number, "a", number)))
    created.append(views.load(name).refresh(engine)[-1].snapshot_id)  # appends to the rows of the fourth
    views.load(name).storage.manage_snapshots().create_tag(created[1], "audit").commit()
    compact(views.load(name).storage)
    storage = views.load(name).storage
    data = Path(storage.metadata.location.removeprefix("file:")) / "data"
    before, files = storage.scan().to_arrow().sort_by("id"), set(data.rglob("*.parquet"))
    assert views.load(name).expire().snapshots == (), "none is five days old"
    assert views.load(name).expire(older_than_ms=0, keep=9).snapshots == ()
    with pytest.raises(InvalidPropertyError):
        views.load(name).expire(older_than_ms=0, keep=0)

    done = views.load(name).expire(older_than_ms=0)
    assert done.snapshots == (created[0], created[2], created[3]) and done.files > 0
    left = views.load(name).storage
    assert left.scan().to_arrow().sort_by("id").equals(before) and views.freshness(name).is_fresh
    assert left.scan(snapshot_id=created[1]).to_arrow().num_rows == 4 and left.scan(snapshot_id=created[4]).to_arrow()
    assert set(data.rglob("*.parquet")) < files
    for gone in done.snapshots:
        with pytest.raises(NoSuchRefreshError):
            views.load(name).stored(version=gone)
    assert [item.snapshot_id for item in views.load(name).refreshes()] == [created[1], created[4]]
    if layout == "attached":
        assert len(AttachedStorage.decode(left.metadata.properties[METADATA]).refreshes) == 2
    assert views.load(name).orphans(older_than_ms=0).files == (), "nothing is left behind"
    catalog.load_table((market, "sales")).append(rows((99, "a", 1)))
    assert views.load(name).refresh(engine)[-1].action == "incremental"
    assert views.load(name).storage.scan().to_arrow().num_rows == 8


@pytest.mark.parametrize("layout", ["registered", "attached"])
def test_expire_conflicts_with_concurrent_tag(catalog, market, engine, layout):
    views, name = catalog.materialized, (market, "mv")
    views.create(name, "SELECT id FROM sales", layout=layout)
    first = views.load(name).refresh(engine, mode="full")[-1].snapshot_id
    views.load(name).refresh(engine, mode="full")
    seen = views.load(name)
    views.load(name).storage.manage_snapshots().create_tag(first, "audit").commit()
    with pytest.raises(RefreshConflictError):
        expire(catalog.store, seen, older_than_ms=0, keep=1)
    assert views.load(name).storage.scan(snapshot_id=first).to_arrow().num_rows == 3
