"""Views that Trino creates: imported, changed from both sides, read and listed by Trino, and reverted."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField, StringType
from trino.exceptions import TrinoQueryError

from hive_views import HiveViewCatalog, define
from hive_views.config import REQUIRE_ENGINES
from hive_views.identifiers import ViewName
from hive_views.legacy_import import ImportOptions, ImportStatus, RevertStatus, plan_import, revert_views, run_plan
from hive_views.legacy_import.legacy_view import Reason
from hive_views.legacy_import.options import TrinoRowMode
from hive_views.metastore.rows.row import RowKind
from hive_views.metastore.rows.serialization import encode_row
from hive_views.sql.analysis.validity import Validity
from tests.integration.trino.listings import assert_listings_work
from tests.integration.trino.server import TrinoServer


@pytest.fixture
def views(trino: TrinoServer, database: str) -> str:
    """A database with a table of each connector and views over them, all created by Trino."""
    for statement in (
        "CREATE TABLE hive.{0}.h AS SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS t (id, name)",
        "CREATE TABLE iceberg.{0}.i AS SELECT * FROM (VALUES (1, 'a'), (2, 'b'), (3, 'c')) AS t (id, name)",
        "CREATE VIEW hive.{0}.of_h COMMENT 'of h' AS SELECT id FROM hive.{0}.h WHERE name = 'b'",
        "CREATE VIEW iceberg.{0}.of_i SECURITY INVOKER AS SELECT * FROM iceberg.{0}.i",
        "CREATE VIEW iceberg.{0}.of_views AS SELECT a.id FROM hive.{0}.of_h a JOIN iceberg.{0}.of_i b ON a.id = b.id",
    ):
        trino.query(statement.format(database))
    return database


@pytest.fixture
def imported(catalog: HiveViewCatalog, views: str, tmp_path: Path) -> str:
    """The same database, after the import of its views."""
    result = run_plan(plan_import(catalog, databases=[views]), catalog, tmp_path / "journal")
    assert {outcome.status for outcome in result.outcomes} == {ImportStatus.CONVERTED}
    return views


def row_bytes(catalog: HiveViewCatalog, database: str, name: str) -> bytes:
    row = catalog.store.get_row(ViewName(database, name))
    assert row is not None
    return encode_row(row.with_parameters({**row.parameters, "transient_lastDdlTime": ""}))


def test_imported_views_return_the_same_rows(trino: TrinoServer, imported: str):
    assert trino.query(f"SELECT * FROM hive.{imported}.of_h") == [(2,)]
    assert sorted(trino.query(f"SELECT * FROM iceberg.{imported}.of_i")) == [(1, "a"), (2, "b"), (3, "c")]
    assert trino.query(f"SELECT * FROM iceberg.{imported}.of_views") == [(2,)]
    assert_listings_work(trino, imported)


def test_imported_views_are_valid(catalog: HiveViewCatalog, imported: str):
    assert {item.view.name: item.problems for item in catalog.dependencies.check_views(imported)} == {
        "of_h": (),
        "of_i": (),
        "of_views": (),
    }
    for name in ("of_h", "of_i", "of_views"):
        assert catalog.load_view((imported, name)).drift == ()


def test_views_of_trino_are_valid_before_their_import(catalog: HiveViewCatalog, views: str):
    checked = {item.view.name: item for item in catalog.dependencies.check_views(views)}
    assert {name: item.validity for name, item in checked.items()} == dict.fromkeys(checked, Validity.VALID)
    dependents = catalog.dependencies.dependents(f"{views}.h", namespaces=[views])
    assert {dependent.name.name for dependent in dependents} == {"of_h", "of_views"}


def test_replaced_view_is_no_longer_marked_as_a_view_of_trino(
    trino: TrinoServer, catalog: HiveViewCatalog, imported: str
):
    query = f"SELECT name FROM {imported}.h WHERE id = 1"
    version = define(
        query,
        dialect="spark",
        default_namespace=(imported,),
        expanded=f"SELECT `h`.`name` FROM `{imported}`.`h` WHERE `h`.`id` = 1",
    )
    schema = Schema(NestedField(1, "name", StringType(), required=False))
    catalog.load_view((imported, "of_h")).update().replace_version(version, schema, may_lose_dialects=True).commit()
    row = catalog.store.get_row(ViewName(imported, "of_h"))
    assert row is not None and "presto_view" not in row.parameters
    assert_listings_work(trino, imported)
    assert trino.query(f"SELECT * FROM hive.{imported}.of_h") == [("a",)]


def test_comment_by_trino_is_kept_by_later_commits(trino: TrinoServer, catalog: HiveViewCatalog, imported: str):
    trino.query(f"COMMENT ON VIEW hive.{imported}.of_h IS 'by Trino'")
    catalog.load_view((imported, "of_h")).update().set_properties(a="b").commit()
    shown = trino.query(f"SHOW CREATE VIEW hive.{imported}.of_h")[0][0]
    assert "COMMENT 'by Trino'" in shown


def test_rename_and_drop_by_trino(trino: TrinoServer, catalog: HiveViewCatalog, imported: str):
    trino.query(f"ALTER VIEW iceberg.{imported}.of_i RENAME TO iceberg.{imported}.renamed")
    assert catalog.load_view((imported, "renamed")).drift == ()
    trino.query(f"DROP VIEW iceberg.{imported}.renamed")
    assert not catalog.view_exists((imported, "renamed"))
    assert_listings_work(trino, imported)


def test_view_replaced_by_trino_is_its_own_again(trino: TrinoServer, catalog: HiveViewCatalog, imported: str):
    """CREATE OR REPLACE VIEW of Trino writes a new row without the pointer; a new import converts it."""
    trino.query(f"CREATE OR REPLACE VIEW iceberg.{imported}.of_i AS SELECT id FROM iceberg.{imported}.i")
    row = catalog.store.get_row(ViewName(imported, "of_i"))
    assert row is not None and row.kind is RowKind.HIVE_VIEW
    plan = plan_import(catalog, names=[ViewName(imported, "of_i")])
    assert [entry.status.value for entry in plan.entries] == ["ready"]


def test_revert_restores_the_rows(trino: TrinoServer, catalog: HiveViewCatalog, views: str, tmp_path: Path):
    names = ("of_h", "of_i", "of_views")
    before = {name: row_bytes(catalog, views, name) for name in names}
    run_plan(plan_import(catalog, databases=[views]), catalog, tmp_path / "journal")
    outcomes = revert_views(catalog, [ViewName(views, name) for name in names])
    assert {outcome.status for outcome in outcomes} == {RevertStatus.REVERTED}
    assert {name: row_bytes(catalog, views, name) for name in names} == before
    assert_listings_work(trino, views)
    assert trino.query(f"SELECT * FROM iceberg.{views}.of_views") == [(2,)]


def test_renamed_import_is_reverted_under_its_new_name(trino: TrinoServer, catalog: HiveViewCatalog, imported: str):
    catalog.rename_view((imported, "of_h"), (imported, "renamed"))
    (outcome,) = revert_views(catalog, [ViewName(imported, "renamed")])
    assert outcome.status is RevertStatus.REVERTED
    row = catalog.store.get_row(ViewName(imported, "renamed"))
    assert row is not None and row.kind is RowKind.HIVE_VIEW
    assert trino.query(f"SELECT * FROM hive.{imported}.renamed") == [(2,)]
    assert_listings_work(trino, imported)


def test_required_engine_in_plan_and_run(
    trino: TrinoServer, catalog: HiveViewCatalog, open_catalog, views: str, tmp_path: Path
):
    trino.query(f"CREATE TABLE iceberg.{views}.zoned (id integer, at timestamp(6) with time zone)")
    trino.query(f"CREATE VIEW iceberg.{views}.of_zoned AS SELECT id FROM iceberg.{views}.zoned")
    names = [ViewName(views, name) for name in ("of_h", "of_zoned")]
    released, strict = ImportOptions(trino_rows=TrinoRowMode.RELEASE), open_catalog({REQUIRE_ENGINES: "trino"})
    refused = "trino: refused: a timestamp with time zone in zoned"
    plans = {
        "kept": plan_import(strict, names=names),
        "released": plan_import(strict, names=names, options=released),
        "kept for others": plan_import(open_catalog({REQUIRE_ENGINES: "spark,hive"}), names=names),
    }
    problems = {
        label: [None if entry.problem is None else entry.problem.reason for entry in plan.entries]
        for label, plan in plans.items()
    }
    assert problems == {
        "kept": [None, None],
        "released": [None, Reason.ENGINES],
        "kept for others": [Reason.ENGINES, Reason.ENGINES],
    }
    assert refused in str(plans["released"].entries[1].problem)
    # A run checks again, with its own catalog.
    before = row_bytes(catalog, views, "of_zoned")
    lenient = plan_import(catalog, names=names, options=released)
    assert any(refused in finding for finding in lenient.entries[1].engines)
    outcomes = run_plan(lenient, strict, tmp_path / "strict").outcomes
    assert [(item.status, item.reason) for item in outcomes] == [
        (ImportStatus.CONVERTED, None),
        (ImportStatus.REFUSED, Reason.ENGINES.value),
    ]
    assert row_bytes(catalog, views, "of_zoned") == before
    assert run_plan(plan_import(catalog, names=names[1:], options=released), catalog, tmp_path / "lenient").complete
    with pytest.raises(TrinoQueryError, match="timestamp"):
        trino.query(f"SELECT * FROM hive.{views}.of_zoned")
    assert_listings_work(trino, views)


def test_view_over_a_view_of_trino_takes_the_columns_from_its_text(catalog: HiveViewCatalog, views: str):
    view = catalog.execute(f"CREATE VIEW {views}.over AS SELECT * FROM {views}.of_i").view
    assert [(field.name, str(field.field_type)) for field in view.schema().fields] == [
        ("id", "int"),
        ("name", "string"),
    ]
