"""Operations of this package on objects that Trino created, and of Trino on imported and own views.

After each operation Trino lists both catalogs, and the objects that remain return their rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import NoSuchTableError
from pyspark.sql import SparkSession
from trino.exceptions import TrinoQueryError

from hive_views import HiveViewCatalog
from hive_views.catalog.views import ViewUpdate
from hive_views.doctor.environment import check_views
from hive_views.doctor.report import Level
from hive_views.errors import (
    DialectLossError,
    NoSuchViewError,
    NotAnIcebergViewError,
    NotMaterializedError,
    SqlError,
)
from hive_views.identifiers import ViewName
from hive_views.legacy_import import ImportOptions, ImportStatus, RevertStatus, plan_import, revert_views, run_plan
from hive_views.legacy_import.options import TrinoRowMode
from hive_views.materialized import MaterializedViews
from hive_views.materialized.maintenance.garbage_collection import Garbage
from hive_views.metastore.rows.row import RowKind
from hive_views.metastore.rows.serialization import encode_row
from hive_views.metastore.trino_encoding import FLAG, VIEW_COMMENT, is_encoded
from hive_views.spark import SparkEngine
from hive_views.sql.analysis.validity import Validity
from hive_views.view_copy import CopiedView, CopyStatus, copy_views
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
    "marked": [(1, "a"), (2, "b")],
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
    plan = plan_import(catalog, databases=[database], options=ImportOptions(trino_rows=TrinoRowMode(mode)))
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


@dataclass(frozen=True)
class Session:
    """What operations work on."""

    catalog: HiveViewCatalog
    database: str
    engine: SparkEngine
    rest: RestCatalog
    """Another catalog, for copies."""
    directory: Path
    """A directory of the test's own."""

    @property
    def materialized(self) -> MaterializedViews:
        return self.catalog.materialized

    def name(self, view: str) -> tuple[str, str]:
        return self.database, view

    def edit(self, view: str) -> ViewUpdate:
        return self.catalog.load_view(self.name(view)).update()

    def rename(self, view: str, new_name: str) -> object:
        return self.catalog.rename_view(self.name(view), self.name(new_name))

    def execute(self, statement: str) -> object:
        return self.catalog.execute(statement.format(self.database), database=self.database)

    def register(self, view: str, source: str) -> object:
        location = self.catalog.load_view(self.name(source)).metadata_location
        return self.catalog.register_view(self.name(view), location)

    def copy(self, view: str) -> list[CopiedView]:
        return copy_views(self.catalog, self.rest, [f"{self.database}.{view}"], journal=self.directory / "copy.jsonl")


def read_only(session: Session) -> None:
    """Commands that write nothing: they find no problem, also where a row is Trino's alone."""
    catalog, database, views = session.catalog, session.database, session.materialized
    before = row_bytes(catalog, database)
    assert {item.view.name: item.problems for item in catalog.dependencies.check_views(database)} == dict.fromkeys(
        before, ()
    )
    assert {finding.level for finding in check_views(catalog, database)} == {Level.OK}
    assert {item.name.name for item in views.listing(database)} == set(MATERIALIZED)
    verdicts = {name: views.freshness(session.name(name)).is_fresh for name in MATERIALIZED}
    assert verdicts == {"stored": True, "parts": False, "failing": False}
    for name in before:
        catalog.dependencies.check_engines(session.name(name))
    assert views.remove_abandoned(database, older_than_ms=0, definitions=True) == Garbage()
    assert row_bytes(catalog, database) == before


def copy(session: Session) -> None:
    (copied,) = session.copy("definer")
    assert copied.status is CopyStatus.COPIED
    session.catalog.drop_view(session.name("definer"))
    location = f"file:{session.directory}/copies"
    names = [f"{session.database}.definer"]
    (back,) = copy_views(
        session.rest, session.catalog, names, journal=session.directory / "copy.jsonl", location=location
    )
    assert back.status is CopyStatus.COPIED


def recompile(session: Session) -> None:
    with pytest.raises(SqlError, match="only an engine that has it can recompile it"):
        session.catalog.recompile_view(session.name("definer"))


def redefine(session: Session) -> None:
    with pytest.raises(DialectLossError):
        session.materialized.load(session.name("parts")).replace("SELECT id, name FROM i")


Operation = Callable[[Session], object]
OPERATIONS: dict[str, tuple[str, Operation]] = {
    "read": ("definer", read_only),
    "set a property": ("definer", lambda s: s.edit("definer").set_properties(a="b").commit()),
    "remove a property": ("definer", lambda s: s.edit("definer").remove_properties("a").commit()),
    "set the comment": ("definer", lambda s: s.edit("definer").set_comment("new").commit()),
    "repair": ("definer", lambda s: s.catalog.repair_view(s.name("definer"))),
    "adopt": ("definer", lambda s: s.catalog.adopt_view(s.name("definer"))),
    "recompile": ("definer", recompile),
    "replace": (
        "definer",
        lambda s: s.catalog.replace_view_from_sql(s.name("definer"), "SELECT id FROM h WHERE id = 2"),
    ),
    "roll back": ("definer", lambda s: s.edit("definer").rollback(version_id=1).commit()),
    "set the location": ("over", lambda s: s.edit("over").set_location(f"file:{s.directory}/moved").commit()),
    "create a partitioned view": (
        "marked",
        lambda s: s.execute("CREATE VIEW {0}.marked PARTITIONED ON (name) AS SELECT id, name FROM h"),
    ),
    "mark a partition": ("marked", lambda s: s.catalog.partitions.add(s.name("marked"), {"name": "a"})),
    "create another": ("own", lambda s: s.execute("CREATE VIEW {0}.own AS SELECT id FROM h")),
    "register": ("invoker", lambda s: s.register("registered", "invoker")),
    "rename": ("own", lambda s: s.rename("over", "renamed")),
    "rename back": ("over", lambda s: s.rename("renamed", "over")),
    "refresh": ("stored", lambda s: s.materialized.load(s.name("stored")).refresh(s.engine, mode="full")),
    "refresh by partition": ("parts", lambda s: s.materialized.load(s.name("parts")).refresh(s.engine)),
    "set a setting": ("stored", lambda s: s.materialized.load(s.name("stored")).set_properties({"a": "b"})),
    "expire": ("stored", lambda s: s.materialized.load(s.name("stored")).expire(older_than_ms=0)),
    "rename a materialized view": ("parts", lambda s: s.rename("failing", "renamed")),
    "repair a materialized view": ("stored", lambda s: s.catalog.repair_view(s.name("stored"))),
    "adopt a materialized view": ("stored", lambda s: s.catalog.adopt_view(s.name("stored"))),
    "make it a view": ("stored", lambda s: s.materialized.load(s.name("stored")).to_plain_view()),
    "make it a materialized view": ("stored", lambda s: s.materialized.from_plain_view(s.name("stored"))),
    "remove orphans": ("stored", lambda s: s.materialized.load(s.name("stored")).remove_orphans(older_than_ms=0)),
    "redefine": ("parts", redefine),
    "drop a materialized view": ("stored", lambda s: s.materialized.load(s.name("parts")).drop()),
    "drop": ("invoker", lambda s: s.catalog.drop_view(s.name("over"))),
    "copy": ("definer", copy),
}
"""Each operation in this order on one database, with a view whose rows are compared afterwards."""


@pytest.fixture
def session(catalog: HiveViewCatalog, objects: str, engine: SparkEngine, rest: RestCatalog, tmp_path: Path) -> Session:
    return Session(catalog, objects, engine, rest, tmp_path)


@pytest.mark.parametrize("mode", ["keep", "release"])
def test_listings_and_rows_after_each_operation(trino: TrinoServer, session: Session, readers: Readers, mode: str):
    database = session.database
    convert(session.catalog, database, session.directory / "journal", mode)
    assert_listings_work(trino, database)
    assert {name: readers.rows(database, name) for name in (*VIEWS, *MATERIALIZED)} == {
        name: ROWS[name] for name in (*VIEWS, *MATERIALIZED)
    }
    for label, (name, operation) in OPERATIONS.items():
        operation(session)
        try:
            assert_listings_work(trino, database)
            assert readers.rows(database, name) == ROWS[name]
        except TrinoQueryError as error:
            raise AssertionError(f"after {label}: {error}") from error


BEFORE_IMPORT: dict[str, Operation] = {
    f"{label} {view}": partial(operation, view)
    for view in ("definer", "stored")
    for label, operation in {
        "load": lambda view, s: s.catalog.load_view(s.name(view)),
        "repair": lambda view, s: s.catalog.repair_view(s.name(view)),
        "adopt": lambda view, s: s.catalog.adopt_view(s.name(view)),
        "recompile": lambda view, s: s.catalog.recompile_view(s.name(view)),
        "rename": lambda view, s: s.rename(view, "renamed"),
        "drop": lambda view, s: s.catalog.drop_view(s.name(view)),
        "create": lambda view, s: s.execute(f"CREATE VIEW IF NOT EXISTS {{0}}.{view} AS SELECT id FROM h"),
        "replace": lambda view, s: s.execute(f"CREATE OR REPLACE VIEW {{0}}.{view} AS SELECT id FROM h"),
        "register": lambda view, s: s.register(view, "own"),
        "rename another to": lambda view, s: s.rename("own", view),
        "refresh": lambda view, s: s.materialized.load(s.name(view)).refresh(s.engine),
        "expire": lambda view, s: s.materialized.load(s.name(view)).expire(older_than_ms=0),
        "remove orphans of": lambda view, s: s.materialized.load(s.name(view)).remove_orphans(older_than_ms=0),
        "set a setting of": lambda view, s: s.materialized.load(s.name(view)).set_properties({"a": "b"}),
        "make a view of": lambda view, s: s.materialized.load(s.name(view)).to_plain_view(),
        "make a materialized view of": lambda view, s: s.materialized.from_plain_view(s.name(view)),
        "drop as a materialized view": lambda view, s: s.materialized.load(s.name(view)).drop(),
        "drop as a table": lambda view, s: s.catalog.drop_table(s.name(view)),
    }.items()
}
"""Operations on views of Trino that were not imported; all are refused."""


def test_operations_before_an_import_are_refused(trino: TrinoServer, session: Session, readers: Readers):
    database = session.database
    read_only(session)
    session.execute("CREATE VIEW {0}.own AS SELECT id FROM h")
    before = row_bytes(session.catalog, database)
    for label, operation in BEFORE_IMPORT.items():
        with pytest.raises((NoSuchViewError, NoSuchTableError, NotAnIcebergViewError)):
            operation(session)
        assert row_bytes(session.catalog, database) == before, label
    assert [item.status for item in session.copy("stored")] == [CopyStatus.REFUSED]
    with pytest.raises(NotMaterializedError, match=r"a materialized view of Trino.*plans its import"):
        session.materialized.load(session.name("stored"))
    assert_listings_work(trino, database)
    for name in (*VIEWS, "stored", "parts", "own"):
        assert readers.rows(database, name) == ROWS[name]


FROM_ICEBERG: dict[str, tuple[str, str]] = {
    "set a property": ("invoker", "ALTER VIEW prod.{0}.invoker SET TBLPROPERTIES ('a' = 'b')"),
    "set a property of a view with a comment": ("definer", "ALTER VIEW prod.{0}.definer SET TBLPROPERTIES ('a' = 'b')"),
    "set a property of a materialized view": ("stored", "ALTER VIEW prod.{0}.stored SET TBLPROPERTIES ('a' = 'b')"),
    "rename": ("renamed", "ALTER VIEW prod.{0}.failing RENAME TO prod.{0}.renamed"),
    "replace": ("parts", "CREATE OR REPLACE VIEW prod.{0}.parts AS SELECT id, name FROM {0}.h"),
}
"""Statements of Iceberg's Spark catalog on imported views."""


@pytest.mark.parametrize("mode", ["keep", "release"])
def test_commits_of_iceberg_spark_catalog(
    trino: TrinoServer, session: Session, readers: Readers, spark: SparkSession, mode: str
):
    """They leave Trino's flag in a kept row: it is reported, and repair removes it. Released rows stay as they are."""
    catalog, database = session.catalog, session.database
    convert(catalog, database, session.directory / "journal", mode)
    for label, (name, statement) in FROM_ICEBERG.items():
        spark.sql(statement.format(database))
        row = catalog.store.get_row(ViewName(database, name))
        assert row is not None
        is_contradictory = mode == "keep" and label != "rename"
        assert (FLAG in row.parameters and not is_encoded(row.texts.original)) is is_contradictory
        problems = [item.reason for item in catalog.dependencies.check_view((database, name)).problems]
        reported = [item.message for item in check_views(catalog, database) if item.subject.endswith(f".{name}")]
        if is_contradictory:
            assert FLAG in problems[0] and any(FLAG in message for message in reported)
            # With a comment of its own the row is no view to Trino; otherwise no view can be listed.
            match = "does not exist" if row.parameters.get("comment") != VIEW_COMMENT else "View data missing prefix"
            with pytest.raises(TrinoQueryError, match=match):
                trino.query(f"SELECT * FROM hive.{database}.{name}")
            if "missing" in match:
                with pytest.raises(TrinoQueryError, match=match):
                    assert_listings_work(trino, database)
            catalog.repair_view((database, name))
        if label == "replace":
            assert catalog.dependencies.check_view((database, name)).validity is Validity.UNEXPANDED, (
                "Iceberg expands no text"
            )
            catalog.recompile_view((database, name))
        assert catalog.dependencies.check_view((database, name)).problems == ()
        assert_listings_work(trino, database)
        assert readers.rows(database, name) == {"renamed": ROWS["failing"], "parts": [(1, "a"), (2, "b")]}.get(
            name, ROWS.get(name)
        )


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
    catalog.materialized.load((objects, "stored")).refresh(engine)
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
            options = ImportOptions(trino_rows=TrinoRowMode(mode))
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
    assert FLAG in catalog.dependencies.check_view((objects, "definer")).problems[0].reason
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
