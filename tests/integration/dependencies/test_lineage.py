"""Recorded lineage: UUIDs, renames, commits of other writers, and transitive lineage."""

from __future__ import annotations

import json
import uuid

import pytest
from pyiceberg.catalog.hive import HiveCatalog
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from hive_views.dependencies.lineage import DependencyState, LineageOrigin, LineageReader
from hive_views.identifiers import ViewName
from hive_views.metastore._thrift.hive_metastore.ttypes import EnvironmentContext
from hive_views.metastore.rows.row import HIVE_UUID
from hive_views.spec.lineage_codec import LINEAGE, ROW_LINEAGE, ROW_LINEAGE_OF, ObjectKind
from tests.integration.catalog.samples import hive_row, version

ICEBERG = Schema(NestedField(1, "id", LongType()), NestedField(2, "total", LongType()))


def read(catalog, database, name):
    row = catalog.store.get_row(ViewName(database, name))
    return LineageReader(catalog.store).read(row)


def rename(raw, database, old, new):
    row = raw.get_table(database, old)
    row.tableName = new
    raw.alter_table_with_environment_context(database, old, row, EnvironmentContext({}))


def test_summary_records_type_and_uuid_of_direct_dependencies(catalog, raw, database, hive_table, view):
    hive_table("orders")
    catalog.create_table(f"{database}.sums", ICEBERG)
    top = view("top", "SELECT * FROM orders")
    over = view("over", "SELECT o.id, t.total FROM orders o JOIN top t ON o.id = t.id")
    lineage = json.loads(over.current_version().summary[LINEAGE])
    assert lineage == {
        f"{database}.orders": {
            "type": "hive-table",
            "uuid": raw.get_table(database, "orders").parameters[HIVE_UUID],
        },
        f"{database}.top": {"type": "view", "uuid": top.metadata.view_uuid},
    }
    sums = view("flat", "SELECT id FROM sums")
    entry = json.loads(sums.current_version().summary[LINEAGE])[f"{database}.sums"]
    assert entry == {"type": "table", "uuid": str(catalog.load_table(f"{database}.sums").metadata.table_uuid)}


def test_mark_changes_nothing_else_in_hive_row(raw, database, hive_table, view):
    hive_table("orders", numRows="12", COLUMN_STATS_ACCURATE='{"BASIC_STATS":"true"}', note="kept")
    before = raw.get_table(database, "orders")
    view("top", "SELECT * FROM orders")
    after = raw.get_table(database, "orders")
    mark = after.parameters.pop(HIVE_UUID)
    assert uuid.UUID(mark)
    assert after == before


def test_mark_is_written_once(catalog, raw, database, hive_table, view):
    hive_table("orders")
    view("one", "SELECT id FROM orders")
    first = raw.get_table(database, "orders")
    rename(raw, database, "orders", "orders2")
    view("two", "SELECT id FROM orders2")
    assert raw.get_table(database, "orders2").parameters[HIVE_UUID] == first.parameters[HIVE_UUID]
    two = read(catalog, database, "two").dependencies[0]
    assert (two.uuid, two.by_name) == (first.parameters[HIVE_UUID], False)


def test_unmarked_table_is_recorded_by_name(open_catalog, catalog, raw, database, hive_table, view):
    hive_table("orders")
    view("top", "SELECT id FROM orders", in_catalog=open_catalog({"hive-views.mark-hive-tables": "false"}))
    assert HIVE_UUID not in raw.get_table(database, "orders").parameters
    (child,) = read(catalog, database, "top").dependencies
    assert child.by_name
    # A later mark by another writer is the same UUID.
    view("other", "SELECT id FROM orders")
    assert raw.get_table(database, "orders").parameters[HIVE_UUID] == child.uuid


def test_same_text_over_same_tables_is_same_version(hive_table, view):
    hive_table("orders")
    view("top", "SELECT id FROM orders")
    view("top", "SELECT total FROM orders", replace=True)
    again = view("top", "SELECT id FROM orders", replace=True)
    assert again.metadata.current_version_id == 1
    assert [entry.version_id for entry in again.history()] == [1, 2, 1]


def test_row_lineage_follows_every_commit(catalog, database, hive_table, view):
    hive_table("orders")
    hive_table("refunds")
    top = view("top", "SELECT id FROM orders")
    top = view("top", "SELECT id FROM refunds", replace=True)
    assert [child.name.name for child in read(catalog, database, "top").dependencies] == ["refunds"]
    top = top.update().rollback(version_id=1).commit()
    top = top.update().set_properties(note="x").commit()
    lineage = read(catalog, database, "top")
    assert [child.name.name for child in lineage.dependencies] == ["orders"]
    assert lineage.origin is LineageOrigin.ROW
    assert read(catalog, database, "top").view == ViewName(database, "top")
    renamed = catalog.rename_view(top.name(), (database, "best"))
    assert read(catalog, database, "best").origin is LineageOrigin.ROW
    assert renamed.parameters[ROW_LINEAGE_OF] in renamed.metadata_location


def foreign_commit(catalog, raw, identifier, change):
    """Change a row as Iceberg's Java catalog does: new file, new pointer, unknown parameters kept."""
    loaded = catalog.load_view(identifier)
    metadata = change(loaded.metadata)
    location = f"{metadata.location}/metadata/00007-{uuid.uuid4()}.gz.metadata.json"
    catalog.store.files.write(location, metadata)
    row = raw.get_table(*loaded.name())
    row.parameters["previous_metadata_location"] = row.parameters["metadata_location"]
    row.parameters["metadata_location"] = location
    raw.alter_table_with_environment_context(*loaded.name(), row, EnvironmentContext({}))


def test_version_lineage_is_read_after_java_commit(catalog, raw, database, hive_table, view):
    hive_table("orders")
    hive_table("refunds")
    view("top", "SELECT id FROM orders")
    view("top", "SELECT id FROM refunds", replace=True)

    def back(metadata):
        return metadata.model_copy(update={"current_version_id": 1})

    foreign_commit(catalog, raw, f"{database}.top", back)
    assert "refunds" in raw.get_table(database, "top").parameters[ROW_LINEAGE]
    lineage = read(catalog, database, "top")
    assert lineage.origin is LineageOrigin.VERSION
    assert [child.name.name for child in lineage.dependencies] == ["orders"]


def test_missing_lineage_is_rebuilt_from_text(catalog, database, hive_table):
    hive_table("orders")
    text = "WITH w AS (SELECT * FROM orders) SELECT w.id, g.total FROM w JOIN gone g ON w.id = g.id"
    catalog.create_view(f"{database}.top", ICEBERG, version(database, ("spark", text)))
    lineage = read(catalog, database, "top")
    assert lineage.origin is LineageOrigin.TEXT
    assert [(child.name.name, child.kind) for child in lineage.dependencies] == [("orders", ObjectKind.HIVE_TABLE)]
    assert lineage.missing == (ViewName(database, "gone"),)


def test_rebuilt_lineage_writes_nothing(catalog, raw, database, hive_table):
    hive_table("orders")
    catalog.create_view(f"{database}.top", ICEBERG, version(database, ("spark", "select * from orders")))
    before = raw.get_table(database, "orders")
    catalog.dependencies.lineage(f"{database}.top")
    catalog.dependencies.dependents(f"{database}.orders")
    catalog.dependencies.graph(database)
    assert raw.get_table(database, "orders") == before


@pytest.mark.parametrize(
    ("text", "parameter", "origin"),
    [
        ("select `orders`.`id`, `orders`.`total` from `{0}`.`orders`", None, LineageOrigin.TEXT),
        ("SELECT * FROM orders", "view.catalogAndNamespace.part.1", LineageOrigin.TEXT),
        ("SELECT * FROM orders", "view.default.database", LineageOrigin.TEXT),
        ("SELECT * FROM IDENTIFIER('{0}.or' || 'ders')", None, LineageOrigin.TEXT),
        ("SELECT o.* FROM {0}.orders o, LATERAL {0}.f(o.id)", None, LineageOrigin.NONE),
    ],
)
def test_hive_view_dependencies_come_from_its_text(
    catalog, database, other_database, hive_table, hive_view, text, parameter, origin
):
    """Hive writes qualified names; plain Spark the typed text and, in a parameter, its current database."""
    hive_table("orders", in_database=other_database)
    hive_view("old", text.format(other_database), **({parameter: other_database} if parameter else {}))
    lineage = read(catalog, database, "old")
    assert ([str(child.name) for child in lineage.dependencies], lineage.origin) == (
        [f"{other_database}.orders"],
        origin,
    )
    dependents = catalog.dependencies.dependents(f"{other_database}.orders")
    assert [str(name) for name in dependents.views] == [f"{database}.old"]
    assert [item.view.name for item in dependents.unknown] == (["old"] if origin is LineageOrigin.NONE else [])


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("SELECT * FROM prod.{0}.history", "history"),
        ("SELECT * FROM {0}.orders.history", "orders"),
        ("SELECT * FROM {0}.orders.branch_b", "orders"),
        ("SELECT * FROM spark_catalog.{0}.tag_t", "tag_t"),
        ("SELECT * FROM prod.{0}.tag_t", "tag_t"),
        ("SELECT * FROM {0}.orders.snapshot_id_5", "orders"),
    ],
)
def test_both_readings_of_three_part_names_are_considered(catalog, database, hive_table, hive_view, text, source):
    """`a.b.history` is a table of a catalog `a`, or the history of an Iceberg table `a.b`."""
    for name in ("orders", "history", "tag_t"):
        hive_table(name)
    hive_view("v", text.format(database), **{"view.catalogAndNamespace.part.1": database})
    lineage = read(catalog, database, "v")
    assert ([child.name.name for child in lineage.dependencies], lineage.missing) == ([source], ())
    assert [str(name) for name in catalog.dependencies.dependents(f"{database}.{source}").views] == [f"{database}.v"]
    assert [edge.target.name for edge in catalog.dependencies.graph(database).edges] == [source]
    assert catalog.dependencies.graph(database).nodes.keys() == {ViewName(database, source), ViewName(database, "v")}
    assert catalog.dependencies.check_view(f"{database}.v").validity.value == (
        "unknown" if source == "orders" else "valid"
    )
    assert catalog.partitions.dependencies(f"{database}.v").complete is None
    (affected,) = catalog.dependencies.impact(f"{database}.{source}")
    assert affected.effect.value == ("unknown" if source == "orders" else "breaks")


def test_cascade_keeps_view_whose_text_may_mean_another_object(
    catalog, database, other_database, hive_table, hive_view
):
    """The database is also the name of a table: the text means one or the other."""
    hive_table("history")
    hive_table(database, in_database=other_database)
    hive_view("v", f"SELECT * FROM {other_database}.{database}.history")
    for name in (f"{other_database}.{database}", f"{database}.history"):
        assert catalog.dependencies.dependents(name).views == ()
        (unknown,) = catalog.dependencies.dependents(name).unknown
        assert (unknown.view, "may mean" in unknown.problem) == (ViewName(database, "v"), True)
        assert catalog.dependencies.plan_drop(name, behavior="cascade").steps[0].name == ViewName.parse(name)


def test_view_of_trino_over_metadata_of_table(catalog, database, hive_table):
    hive_table("orders")
    definition = version(database, ("trino", f'SELECT * FROM {database}."orders$partitions"'))
    catalog.create_view(f"{database}.v", ICEBERG, definition)
    assert [name.name for name in catalog.dependencies.dependents(f"{database}.orders").views] == ["v"]


def test_unparsable_text_is_reported_as_problem(catalog, database):
    catalog.create_view(f"{database}.top", ICEBERG, version(database, ("presto", "select 1 as id, 2 as total")))
    lineage = read(catalog, database, "top")
    assert lineage.origin is LineageOrigin.NONE
    assert "dialect" in lineage.problem


def test_transitive_lineage_follows_views(catalog, database, hive_table, view):
    hive_table("orders")
    hive_table("refunds")
    bottom = view("bottom", "SELECT id, total FROM orders")
    middle = view("middle", "SELECT b.id, r.total FROM bottom b JOIN refunds r ON b.id = r.id")
    view("top", "SELECT m.id FROM middle m JOIN bottom b ON m.id = b.id")
    deep = catalog.dependencies.lineage(f"{database}.top")
    assert [(item.dependency.name.name, item.depth) for item in deep.dependencies] == [
        ("bottom", 1),
        ("middle", 1),
        ("orders", 2),
        ("refunds", 2),
    ]
    assert {item.state for item in deep.dependencies} == {DependencyState.SAME}
    assert deep.by_uuid()[f"{database}.bottom"] == bottom.metadata.view_uuid
    assert deep.by_uuid()[f"{database}.middle"] == middle.metadata.view_uuid
    assert deep.by_sequence() == {
        f"{database}.{name}": number for number, name in enumerate(["bottom", "middle", "orders", "refunds"], start=1)
    }
    parents = {item.dependency.name.name: [parent.name for parent in item.readers] for item in deep.dependencies}
    assert parents["bottom"] == ["top", "middle"]


def test_transitive_lineage_visits_shared_views_once(catalog, database, hive_table, view):
    hive_table("t0")
    for level in range(1, 13):
        view(f"t{level}", f"SELECT a.id, b.total FROM t{level - 1} a JOIN t{level - 1} b ON a.id = b.id")
    assert len(catalog.dependencies.lineage(f"{database}.t12").dependencies) == 12


@pytest.mark.parametrize(
    ("what", "state"), [("rename", DependencyState.RENAMED), ("replace", DependencyState.REPLACED)]
)
def test_state_of_renamed_or_replaced_dependency(catalog, raw, database, hive_table, view, what, state):
    hive_table("orders")
    view("top", "SELECT id FROM orders")
    old = raw.get_table(database, "orders").parameters[HIVE_UUID]
    rename(raw, database, "orders", "moved")
    if what == "replace":
        hive_table("orders", **{HIVE_UUID: str(uuid.uuid4())})
    (item,) = catalog.dependencies.lineage(f"{database}.top").dependencies
    assert item.state is state
    assert item.dependency.name.name == ("moved" if what == "rename" else "orders")
    assert (item.dependency.uuid == old) is (what == "rename")


def test_rename_of_iceberg_table_without_row_uuid_is_followed(catalog, metastore, raw, database, view):
    """PyIceberg writes no UUID into a table's row, so the server's filter cannot find it."""
    plain = HiveCatalog("plain", uri=metastore.uri)
    plain.create_table(f"{database}.orders", Schema(NestedField(1, "id", LongType())))
    assert "uuid" not in raw.get_table(database, "orders").parameters
    view("top", "SELECT id FROM orders")
    uuid = str(catalog.load_table(f"{database}.orders").metadata.table_uuid)
    plain.rename_table(f"{database}.orders", f"{database}.moved")
    (item,) = catalog.dependencies.lineage(f"{database}.top").dependencies
    assert (item.state, item.dependency.name.name, item.dependency.uuid) == (DependencyState.RENAMED, "moved", uuid)
    (edge,) = catalog.dependencies.graph(database).edges
    assert (edge.state, edge.target.name) == (DependencyState.RENAMED, "moved")
    assert [name.name for name in catalog.dependencies.dependents(f"{database}.moved").views] == ["top"]
    catalog.drop_table(f"{database}.moved")
    (item,) = catalog.dependencies.lineage(f"{database}.top").dependencies
    assert item.state is DependencyState.MISSING


def test_unknown_name_in_text_is_missing(catalog, database, hive_table, hive_view, view):
    """Missing names of a text without recorded UUIDs are part of the transitive lineage."""
    hive_table("orders")
    hive_view("old", f"select `o`.`id` from `{database}`.`orders` `o` cross join `{database}`.`gone` `g`", "id")
    view("top", "SELECT id FROM old")
    deep = catalog.dependencies.lineage(f"{database}.top")
    assert [(item.dependency.name.name, item.state, item.depth) for item in deep.dependencies] == [
        ("old", DependencyState.SAME, 1),
        ("gone", DependencyState.MISSING, 2),
        ("orders", DependencyState.SAME, 2),
    ]
    assert [(item.dependency.name.name, item.readers[0].name) for item in deep.missing] == [("gone", "old")]
    assert deep.by_uuid().keys() == {f"{database}.old", f"{database}.orders"}
    assert deep.by_sequence() == {f"{database}.old": 1, f"{database}.orders": 2}


def test_dependency_without_metadata_file_has_unknown_state(catalog, raw, database, hive_view):
    raw.create_table(
        hive_row(database, "lost", "EXTERNAL_TABLE", table_type="ICEBERG", metadata_location="file:/nowhere/1.json")
    )
    hive_view("top", f"select `one` from `{database}`.`lost`")
    deep = catalog.dependencies.lineage(f"{database}.top")
    assert [(item.dependency.name.name, item.state) for item in deep.dependencies] == [
        ("lost", DependencyState.UNKNOWN)
    ]
    assert (deep.missing, deep.by_uuid()) == ((), {})
    (edge,) = catalog.dependencies.graph(database).edges
    assert (edge.state, edge.target.name) == (DependencyState.UNKNOWN, "lost")
    assert "cannot be identified" in " ".join(
        catalog.dependencies.picture(database).boxes[ViewName(database, "top")].reasons
    )


def test_dropped_dependency_is_missing(catalog, raw, database, hive_table, view):
    hive_table("orders")
    view("top", "SELECT id FROM orders")
    raw.drop_table(database, "orders", False)
    (item,) = catalog.dependencies.lineage(f"{database}.top").dependencies
    assert item.state is DependencyState.MISSING
    assert catalog.dependencies.lineage(f"{database}.top").by_uuid() == {}
