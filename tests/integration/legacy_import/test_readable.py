"""A view counts as converted only if it can be read back; parameters that collide with Iceberg's do no harm."""

from __future__ import annotations

import pytest

from hive_views.identifiers import ViewName
from hive_views.legacy_import.journal import ImportStatus
from hive_views.legacy_import.legacy_view import Reason
from hive_views.legacy_import.plan import PlanStatus
from hive_views.legacy_import.revert import RevertStatus, revert_run
from hive_views.legacy_import.run import importer_for, run_plan
from hive_views.metastore.row_codec import row_fingerprint
from tests.integration.legacy_import.conftest import entry_of
from tests.integration.legacy_import.rows import hive_view_row

IDS = [("id", "bigint")]

COLLIDING = [
    {"table_type": "anything"},
    {"table_type": "ICEBERG"},
    {"table_type": "TABLE", "metadata_location": "file:/nowhere/v1.metadata.json"},
    {"metadata_location": "file:/nowhere/v1.metadata.json"},
    {"previous_metadata_location": "file:/nowhere/v0.metadata.json"},
    {"uuid": "11111111-1111-1111-1111-111111111111"},
    {"uuid": "no uuid", "current-schema": "{}"},
    {"hive-views.legacy-row": "file:/nowhere/legacy.json", "hive-views.legacy-fingerprint": "0"},
    {"hive-views.materialized": "true", "hive-views.storage-table": "a.b", "hive_views_lineage": "x"},
    {"external.table.purge": "true", "note": "kept"},
]
"""Parameters of legacy rows, from TBLPROPERTIES."""


@pytest.mark.parametrize("parameters", COLLIDING, ids=lambda parameters: "+".join(parameters))
def test_colliding_parameters(parameters, add, sales, plan, catalog, tmp_path):
    text = f"select `orders`.`id` from `{sales}`.`orders`"
    add(hive_view_row(sales, "v", "select id from orders", text, IDS, **parameters))
    before = catalog.store.get_row(ViewName(sales, "v"))
    import_plan = plan()
    assert entry_of(import_plan, "v").status is PlanStatus.READY
    [outcome] = run_plan(import_plan, catalog, tmp_path / "journal").outcomes
    assert outcome.status is ImportStatus.CONVERTED
    view = catalog.load_view((sales, "v"))
    assert view.schema().fields[0].name == "id"
    assert not view.drift
    assert view.metadata_location == outcome.metadata_location
    assert catalog.load_view((sales, "v")).metadata.properties.get("note") == parameters.get("note")
    [reverted] = revert_run(catalog, tmp_path / "journal")
    assert reverted.status is RevertStatus.REVERTED
    assert row_fingerprint(catalog.store.get_row(ViewName(sales, "v"))) == row_fingerprint(before)


def test_view_that_cannot_be_read_back_is_restored(add, sales, plan, catalog):
    text = f"select `orders`.`id` from `{sales}`.`orders`"
    add(hive_view_row(sales, "v", "select id from orders", text, IDS))
    before = catalog.store.get_row(ViewName(sales, "v"))
    import_plan = plan()
    importer = importer_for(import_plan, catalog)
    pending = importer.write_files(importer.compute(entry_of(import_plan, "v")))
    catalog.store.files.delete(pending.converted.location)
    outcome = importer.swap(pending)
    assert (outcome.status, outcome.reason) == (ImportStatus.REFUSED, Reason.UNREADABLE)
    assert "cannot be read back" in outcome.text
    assert "was restored" in outcome.text
    assert row_fingerprint(catalog.store.get_row(ViewName(sales, "v"))) == row_fingerprint(before)
