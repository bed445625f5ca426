"""Operations of this package on objects that Trino created, and of Trino on imported and own views.

After each operation Trino lists both catalogs, and the objects that remain return their rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from trino.exceptions import TrinoQueryError

from hive_views import HiveViewCatalog
from hive_views.catalog.views import ViewUpdate
from hive_views.doctor.environment import check_views
from hive_views.errors import SqlError
from hive_views.identifiers import ViewName
from hive_views.legacy_import import ImportOptions, ImportStatus, RevertStatus, plan_import, revert_views, run_plan
from hive_views.metastore.row_codec import RowKind, encode_row
from hive_views.metastore.trino_encoding import FLAG, is_encoded
from tests.integration.trino.listings import assert_listings_work
from tests.integration.trino.server import TrinoServer

OBJECTS = (
    "CREATE TABLE hive.{0}.h AS SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS t (id, name)",
    "CREATE TABLE iceberg.{0}.i AS SELECT * FROM (VALUES (1, 'a'), (2, 'b'), (3, 'c')) AS t (id, name)",
    "CREATE VIEW hive.{0}.definer COMMENT 'of h' AS SELECT id FROM hive.{0}.h WHERE name = 'b'",
    "CREATE VIEW iceberg.{0}.invoker SECURITY INVOKER AS SELECT * FROM iceberg.{0}.i",
    "CREATE VIEW iceberg.{0}.over AS SELECT id FROM iceberg.{0}.invoker WHERE id < 3",
    "CREATE MATERIALIZED VIEW iceberg.{0}.stored GRACE PERIOD INTERVAL '1' HOUR COMMENT 'stored rows' "
    "AS SELECT id, name FROM iceberg.{0}.i WHERE id > 1",
    "REFRESH MATERIALIZED VIEW iceberg.{0}.stored",
    "CREATE MATERIALIZED VIEW iceberg.{0}.parts WITH (partitioning = ARRAY['name']) "
    "AS SELECT id, name FROM iceberg.{0}.i",
    "CREATE MATERIALIZED VIEW iceberg.{0}.failing GRACE PERIOD INTERVAL '0' SECOND WHEN STALE FAIL "
    "AS SELECT id FROM iceberg.{0}.i",
)
VIEWS = ("definer", "invoker", "over")
MATERIALIZED = ("stored", "parts", "failing")
ROWS = {
    "definer": [(2,)],
    "invoker": [(1, "a"), (2, "b"), (3, "c")],
    "over": [(1,), (2,)],
    "stored": [(2, "b"), (3, "c")],
    "parts": [(1, "a"), (2, "b"), (3, "c")],
    "failing": [(1,), (2,), (3,)],
    "own": [(1,), (2,)],
}


@pytest.fixture
def objects(trino: TrinoServer, database: str) -> str:
    """A database with tables, views and materialized views of both connectors, all created by Trino."""
    for statement in OBJECTS:
        trino.query(statement.format(database))
    return database


@dataclass(frozen=True)
class Readers:
    """Reads a view as Trino does, by the catalog that has it."""

    trino: TrinoServer
    catalog: HiveViewCatalog

    def rows(self, database: str, name: str) -> list[tuple]:
        row = self.catalog.store.get_row(ViewName(database, name))
        assert row is not None
        connector = "iceberg" if is_encoded(row.texts.original) else "hive"
        return sorted(self.trino.query(f"SELECT * FROM {connector}.{database}.{name}"))


@pytest.fixture
def readers(trino: TrinoServer, catalog: HiveViewCatalog) -> Readers:
    return Readers(trino, catalog)


def convert(catalog: HiveViewCatalog, database: str, journal: Path, mode: str) -> None:
    plan = plan_import(catalog, databases=[database], options=ImportOptions(trino_rows=mode))
    result = run_plan(plan, catalog, journal)
    assert {outcome.name.name: outcome.status for outcome in result.outcomes} == dict.fromkeys(
        (*VIEWS, *MATERIALIZED), ImportStatus.CONVERTED
    )


def row_bytes(catalog: HiveViewCatalog, database: str) -> dict[str, bytes]:
    rows = {name: catalog.store.get_row(ViewName(database, name)) for name in (*VIEWS, *MATERIALIZED)}
    return {
        name: encode_row(row.with_parameters({**row.parameters, "transient_lastDdlTime": ""}))
        for name, row in rows.items()
        if row is not None
    }


def edit(catalog: HiveViewCatalog, database: str) -> ViewUpdate:
    return catalog.load_view((database, "definer")).update()


def recompile(catalog: HiveViewCatalog, database: str) -> None:
    with pytest.raises(SqlError, match="only an engine that has it can recompile it"):
        catalog.recompile_view((database, "definer"))


Operation = Callable[[HiveViewCatalog, str], object]
OPERATIONS: dict[str, tuple[str, Operation]] = {
    "set a property": ("definer", lambda c, d: edit(c, d).set_properties(a="b").commit()),
    "remove a property": ("definer", lambda c, d: edit(c, d).remove_properties("a").commit()),
    "set the comment": ("definer", lambda c, d: edit(c, d).set_comment("new").commit()),
    "repair": ("definer", lambda c, d: c.repair_view((d, "definer"))),
    "adopt": ("definer", lambda c, d: c.adopt_view((d, "definer"))),
    "recompile": ("definer", recompile),
    "create another": ("own", lambda c, d: c.execute(f"CREATE VIEW {d}.own AS SELECT id FROM h", database=d)),
    "rename": ("own", lambda c, d: c.rename_view((d, "over"), (d, "renamed"))),
    "rename back": ("over", lambda c, d: c.rename_view((d, "renamed"), (d, "over"))),
    "drop": ("invoker", lambda c, d: c.drop_view((d, "over"))),
}
"""Each operation in this order on one database, with a view whose rows are compared afterwards."""


@pytest.mark.parametrize("mode", ["keep", "release"])
def test_listings_and_rows_after_each_operation(
    trino: TrinoServer, catalog: HiveViewCatalog, objects: str, readers: Readers, tmp_path: Path, mode: str
):
    convert(catalog, objects, tmp_path / "journal", mode)
    assert_listings_work(trino, objects)
    assert {name: readers.rows(objects, name) for name in (*VIEWS, *MATERIALIZED)} == {
        name: ROWS[name] for name in (*VIEWS, *MATERIALIZED)
    }
    for label, (name, operation) in OPERATIONS.items():
        operation(catalog, objects)
        try:
            assert_listings_work(trino, objects)
            assert readers.rows(objects, name) == ROWS[name]
        except TrinoQueryError as error:
            raise AssertionError(f"after {label}: {error}") from error


@pytest.mark.parametrize("mode", ["keep", "release"])
def test_revert_restores_rows_and_trino_refreshes_again(
    trino: TrinoServer, catalog: HiveViewCatalog, objects: str, tmp_path: Path, mode: str
):
    before = row_bytes(catalog, objects)
    convert(catalog, objects, tmp_path / "journal", mode)
    rows = {name: catalog.store.get_row(ViewName(objects, name)) for name in VIEWS}
    assert {(FLAG in row.parameters, is_encoded(row.texts.original)) for row in rows.values() if row is not None} == {
        (mode == "keep", mode == "keep")
    }
    names = [ViewName(objects, name) for name in (*VIEWS, *MATERIALIZED)]
    assert {outcome.status for outcome in revert_views(catalog, names)} == {RevertStatus.REVERTED}
    assert row_bytes(catalog, objects) == before
    assert_listings_work(trino, objects)
    trino.query(f"INSERT INTO iceberg.{objects}.i VALUES (4, 'd')")
    for name in MATERIALIZED:
        trino.query(f"REFRESH MATERIALIZED VIEW iceberg.{objects}.{name}")
        assert (4,) in [row[:1] for row in trino.query(f"SELECT * FROM iceberg.{objects}.{name}")]


def test_revert_after_a_refresh_here_is_refused_unless_forced(
    trino: TrinoServer, catalog: HiveViewCatalog, objects: str, engine, tmp_path: Path
):
    before = row_bytes(catalog, objects)
    convert(catalog, objects, tmp_path / "journal", "keep")
    trino.query(f"INSERT INTO iceberg.{objects}.i VALUES (4, 'd')")
    catalog.materialized.refresh((objects, "stored"), engine)
    names = [ViewName(objects, "stored")]
    assert [outcome.status for outcome in revert_views(catalog, names)] == [RevertStatus.REFUSED]
    assert [outcome.status for outcome in revert_views(catalog, names, force=True)] == [RevertStatus.REVERTED]
    assert row_bytes(catalog, objects)["stored"] == before["stored"]
    trino.query(f"REFRESH MATERIALIZED VIEW iceberg.{objects}.stored")
    assert sorted(trino.query(f"SELECT id FROM iceberg.{objects}.stored")) == [(2,), (3,), (4,)]
    assert_listings_work(trino, objects)


FROM_TRINO = {
    "rename": ("ALTER VIEW {0} RENAME TO {1}.renamed", None),
    "comment": ("COMMENT ON VIEW {0} IS 'by Trino'", "Hive views are not supported"),
    "replace": ("CREATE OR REPLACE VIEW {0} AS SELECT 1 AS one", "View already exists"),
    "drop": ("DROP VIEW {0}", None),
}
"""Statements of Trino, and its message if it refuses them for views that it reads as Hive's."""


@pytest.mark.parametrize("kind", ["kept", "released", "own"])
def test_operations_of_trino(trino: TrinoServer, catalog: HiveViewCatalog, objects: str, tmp_path: Path, kind: str):
    """Trino changes a view in its encoding like any of its own; other views it only renames and drops."""
    convert(catalog, objects, tmp_path / "journal", "release" if kind == "released" else "keep")
    for operation, (statement, refused) in FROM_TRINO.items():
        name = {"comment": "invoker", "rename": "over"}.get(operation, "definer")
        name = f"own_{operation}" if kind == "own" else name
        schema = f"{'iceberg' if kind == 'kept' and name != 'definer' else 'hive'}.{objects}"
        if kind == "own":
            catalog.execute(f"CREATE VIEW {objects}.{name} AS SELECT id FROM h", database=objects)
        if kind == "kept" or refused is None:
            trino.query(statement.format(f"{schema}.{name}", schema))
        else:
            with pytest.raises(TrinoQueryError, match=refused):
                trino.query(statement.format(f"{schema}.{name}", schema))
        assert_listings_work(trino, objects)
        row = catalog.store.get_row(ViewName(objects, "renamed" if operation == "rename" else name))
        if operation == "drop":
            assert row is None
        elif operation == "replace" and kind == "kept":
            assert row is not None and row.kind is RowKind.HIVE_VIEW, "it is Trino's alone again"
        else:
            assert row is not None and catalog.load_view(str(row.name)).drift == ()


def refusal(trino: TrinoServer, sql: str) -> str | None:
    """Return Trino's message if bob may not run a query, None if he may."""
    try:
        trino.query(sql, user="bob")
    except TrinoQueryError as error:
        return error.message
    return None


def test_rights(trino: TrinoServer, catalog: HiveViewCatalog, objects: str, tmp_path: Path):
    """Own and released views run as the row's owner, also one that was SECURITY INVOKER."""
    d = objects
    catalog.execute(f"CREATE VIEW {d}.readable_own AS SELECT id FROM h", database=d)
    trino.query(f"CREATE VIEW hive.{d}.readable_definer AS SELECT id FROM hive.{d}.h")
    trino.query(f"CREATE VIEW hive.{d}.readable_invoker SECURITY INVOKER AS SELECT id FROM hive.{d}.h")
    assert "Access Denied" in (refusal(trino, f"SELECT * FROM hive.{d}.h") or "")
    names = [ViewName(d, name) for name in ("readable_definer", "readable_invoker")]
    for mode in ("before", "keep", "release"):
        if mode != "before":
            options = ImportOptions(trino_rows=mode)
            run_plan(plan_import(catalog, names=names, options=options), catalog, tmp_path / mode)
        assert refusal(trino, f"SELECT * FROM hive.{d}.readable_definer") is None
        message = refusal(trino, f"SELECT * FROM hive.{d}.readable_invoker")
        if mode == "release":
            assert message is None
            assert "Access Denied" in (refusal(trino, f"SELECT * FROM hive_invoker.{d}.readable_invoker") or "")
        else:
            assert "Access Denied" in (message or "")
        if mode == "keep":
            revert_views(catalog, names)
    assert refusal(trino, f"SELECT * FROM hive.{d}.readable_own") is None
    assert "Access Denied" in (refusal(trino, f"SELECT * FROM hive_invoker.{d}.readable_own") or "")


def test_plain_row_with_the_flag_and_another_text_is_reported_and_its_import_removes_the_flag(
    trino: TrinoServer, catalog: HiveViewCatalog, objects: str, plain, tmp_path: Path
):
    """Plain Spark's ALTER VIEW … AS leaves `presto_view` in the row."""
    for name in ("definer", "invoker"):
        plain.sql(f"ALTER VIEW {objects}.{name} AS SELECT id FROM {objects}.h WHERE id = 2")
    with pytest.raises(TrinoQueryError, match="View data missing prefix"):
        assert_listings_work(trino, objects)
    row = catalog.store.get_row(ViewName(objects, "definer"))
    assert row is not None and row.kind is RowKind.HIVE_VIEW
    assert FLAG in catalog.check_view((objects, "definer")).problems[0].reason
    findings = [
        finding for finding in check_views(catalog, objects) if finding.subject.endswith(("definer", "invoker"))
    ]
    assert all(FLAG in finding.message for finding in findings) and len(findings) == 2
    plan = plan_import(catalog, names=[ViewName(objects, "definer")])
    assert run_plan(plan, catalog, tmp_path / "journal").complete
    plain.sql(f"ALTER VIEW {objects}.invoker UNSET TBLPROPERTIES ('{FLAG}')")
    assert_listings_work(trino, objects)
    for name in ("definer", "invoker"):
        assert trino.query(f"SELECT * FROM hive.{objects}.{name}") == [(2,)]
