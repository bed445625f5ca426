"""A view counts as converted only if it can be read back; parameters that collide with Iceberg's do no harm."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hive_views.identifiers import ViewName
from hive_views.io.locations import path_of
from hive_views.legacy_import.journal import ImportStatus, RevertStatus
from hive_views.legacy_import.legacy_view import Reason
from hive_views.legacy_import.options import ImportOptions
from hive_views.legacy_import.plan import PlanStatus, plan_import
from hive_views.legacy_import.revert import revert_run, revert_views
from hive_views.legacy_import.run import importer_for, run_plan
from hive_views.metastore.rows.serialization import row_fingerprint
from tests.integration.legacy_import.conftest import computed, entry_of, written
from tests.integration.legacy_import.rows import Columns, hive_view_row

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


def test_colliding_parameters(add, sales, plan, catalog, tmp_path):
    text = f"select `orders`.`id` from `{sales}`.`orders`"
    parameters_of = {ViewName(sales, f"v{number}"): parameters for number, parameters in enumerate(COLLIDING)}
    for name, parameters in parameters_of.items():
        add(hive_view_row(sales, name.name, "select id from orders", text, IDS, **parameters))
    before = {name: catalog.store.get_row(name) for name in parameters_of}
    import_plan = plan()
    assert [entry.status for entry in import_plan.entries] == [PlanStatus.READY] * len(COLLIDING)
    for outcome in run_plan(import_plan, catalog, tmp_path / "journal").outcomes:
        parameters = parameters_of[outcome.name]
        assert outcome.status is ImportStatus.CONVERTED, parameters
        view = catalog.load_view((sales, outcome.name.name))
        assert view.schema().fields[0].name == "id"
        assert not view.drift
        assert view.metadata_location == outcome.metadata_location
        assert view.metadata.properties.get("note") == parameters.get("note")
    reverted = revert_run(catalog, tmp_path / "journal")
    assert [item.status for item in reverted] == [RevertStatus.REVERTED] * len(COLLIDING)
    for name, row in before.items():
        assert row_fingerprint(catalog.store.get_row(name)) == row_fingerprint(row), parameters_of[name]


def test_view_that_cannot_be_read_back_is_restored(add, sales, plan, catalog):
    text = f"select `orders`.`id` from `{sales}`.`orders`"
    add(hive_view_row(sales, "v", "select id from orders", text, IDS))
    before = catalog.store.get_row(ViewName(sales, "v"))
    import_plan = plan()
    importer = importer_for(import_plan, catalog)
    pending = written(importer, computed(importer, entry_of(import_plan, "v")))
    catalog.store.files.delete(pending.converted.location)
    outcome = importer.prove(pending, importer.swap(pending))
    assert (outcome.status, outcome.reason) == (ImportStatus.REFUSED, Reason.UNREADABLE)
    assert "cannot be read back" in outcome.text
    assert "was restored" in outcome.text
    assert row_fingerprint(catalog.store.get_row(ViewName(sales, "v"))) == row_fingerprint(before)


def test_view_that_is_not_read_back_is_not_reported_as_unchanged(add, sales, plan, proxy, open_catalog, catalog):
    text = f"select `orders`.`id` from `{sales}`.`orders`"
    add(hive_view_row(sales, "v", "select id from orders", text, IDS))
    import_plan = plan()
    importer = importer_for(import_plan, open_catalog({"uri": proxy.uri}))
    entry = entry_of(import_plan, "v")
    pending = written(importer, computed(importer, entry))
    swapped = importer.swap(pending)
    proxy.refuse()
    proxy.disconnect()
    outcome = importer.prove(pending, swapped)
    proxy.accept()
    assert outcome.status is ImportStatus.UNKNOWN
    assert outcome.text.startswith("its row was replaced, and the new view could not be read back: ")
    again = importer_for(import_plan, catalog).compute(entry)
    assert (again.status, again.was_converted_before) == (ImportStatus.CONVERTED, True)
    catalog.store.files.delete(again.metadata_location)
    assert importer_for(import_plan, catalog).compute(entry).status is ImportStatus.UNKNOWN


@pytest.mark.parametrize("location", [None, "file:///somewhere/v", "file:/somewhere//v/"])
def test_revert_leaves_no_files(location, add, sales, plan, catalog, tmp_path):
    legacy = hive_view_row(sales, "v", "select id from orders", f"select `orders`.`id` from `{sales}`.`orders`", IDS)
    legacy.sd.location = location
    add(legacy)
    before = catalog.store.get_row(ViewName(sales, "v"))
    [outcome] = run_plan(plan(), catalog, tmp_path / "journal").outcomes
    directory = Path(path_of(outcome.metadata_location or "")).parent
    (directory / "file of another program").write_text("kept")
    [reverted] = revert_run(catalog, tmp_path / "journal")
    assert reverted.status is RevertStatus.REVERTED
    assert [file.name for file in directory.iterdir()] == ["file of another program"]
    # The server's alter_table writes `file:///x` as `file:/x` (2.3.10).
    assert path_of(catalog.store.get_row(ViewName(sales, "v")).location or "") == path_of(before.location or "")
    assert row_fingerprint(catalog.store.get_row(ViewName(sales, "v"))) == row_fingerprint(before)
    [again] = revert_run(catalog, tmp_path / "journal")
    assert again.status is RevertStatus.ALREADY
    (directory / "file of another program").unlink()
    [outcome] = run_plan(plan(), catalog, tmp_path / "second").outcomes
    directory = Path(path_of(outcome.metadata_location or "")).parent
    revert_run(catalog, tmp_path / "second")
    assert not directory.exists()
    assert not directory.parent.exists() or location is not None
    [again] = revert_run(catalog, tmp_path / "second")
    assert again.status is RevertStatus.ALREADY


def test_revert_without_journal_keeps_the_row_of_a_recent_conversion(add, sales, plan, catalog, tmp_path):
    add(hive_view_row(sales, "v", "select id from orders", f"select `orders`.`id` from `{sales}`.`orders`", IDS))
    [outcome] = run_plan(plan(), catalog, tmp_path / "journal").outcomes
    [reverted] = revert_views(catalog, [ViewName(sales, "v")])
    assert reverted.status is RevertStatus.REVERTED
    assert Path(path_of(outcome.backup or "")).exists()


def spark_schema(*columns, **metadata):
    """The parameters in which plain Spark stores a view's columns, all with the same metadata, and context."""
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": metadata} for name, kind in columns]
    return {"spark.sql.sources.schema": json.dumps({"type": "struct", "fields": fields})}


def query_columns(*names):
    """The parameters in which plain Spark stores the columns of a view's query."""
    columns = {f"view.query.out.col.{number}": name for number, name in enumerate(names)}
    return {"view.query.out.numCols": str(len(names)), **columns}


PLACEHOLDER = [("col", "array<string>", "from deserializer")]
"""The columns of a row whose columns have types that Hive lacks."""
CONF = "view.sqlConfig."

SPARK_ROWS: list[tuple[str, Columns, dict[str, str], Reason | None, Any]] = [
    (
        "select timestamp_ntz'2020-01-01' as At, id from orders",
        PLACEHOLDER,
        spark_schema(("At", "timestamp_ntz"), ("id", "long")),
        None,
        (("at", "timestamp"), ("id", "bigint")),
    ),
    ("select 1 as x", PLACEHOLDER, spark_schema(("x", "interval day")), Reason.TYPE, ()),
    ("select id from orders", IDS, {"spark.sql.sources.schema": "[" * 3000}, Reason.UNREADABLE, ()),
    ("select id from orders", IDS, {"view.referredTempViewNames": "[" * 3000}, Reason.UNREADABLE, ()),
    ("select parse_json('1') as x", PLACEHOLDER, spark_schema(("x", "variant")), Reason.TYPE, ()),
    ("select time'10:00:00' as x", PLACEHOLDER, spark_schema(("x", "time(6)")), Reason.TYPE, ()),
    (
        "select 'x' collate utf8_lcase as s",
        [("s", "string")],
        spark_schema(("s", "string"), __COLLATIONS={"s": "spark.UTF8_LCASE"}),
        Reason.TYPE,
        (),
    ),
    ("select 'x' = 'X' as b", [("b", "boolean")], spark_schema(("b", "boolean")), None, (("b", "boolean"),)),
    (
        "select 'x' = 'X' as b",
        [("b", "boolean")],
        {**spark_schema(("b", "boolean")), "collation": "UTF8_LCASE"},
        Reason.UNSUPPORTED,
        (),
    ),
    (
        "select 'x' = 'X' as b",
        [("b", "boolean")],
        {**spark_schema(("b", "boolean")), "collation": "UTF8_BINARY"},
        None,
        (("b", "boolean"),),
    ),
    (
        "select 'a''b' as s",
        [("s", "string")],
        {**spark_schema(("s", "string")), f"{CONF}spark.sql.legacy.consecutiveStringLiterals.enabled": "true"},
        Reason.UNSUPPORTED,
        (),
    ),
    (
        "select '' || 'a' 'b' as s",
        [("s", "string")],
        {**spark_schema(("s", "string")), f"{CONF}spark.sql.legacy.consecutiveStringLiterals.enabled": "true"},
        None,
        (("s", "string"),),
    ),
    ("select id as col from orders", [("col", "bigint")], spark_schema(("col", "long")), None, (("col", "bigint"),)),
    ("select * from range(3)", IDS, spark_schema(("id", "long")), None, (("id", "bigint"),)),
    (
        "select id as _c1, cust as _c0 from orders",
        [("_c1", "bigint"), ("_c0", "int")],
        spark_schema(("_c1", "long"), ("_c0", "integer")),
        None,
        (("_c1", "bigint"), ("_c0", "int")),
    ),
    (
        "select '\\n' as s",
        [("s", "string")],
        {**spark_schema(("s", "string")), f"{CONF}spark.sql.parser.escapedStringLiterals": "true"},
        Reason.UNSUPPORTED,
        (),
    ),
    *(
        (
            "select 'it''s' as s",
            [("s", "string")],
            {**spark_schema(("s", "string")), "spark.sql.create.version": version},
            Reason.UNSUPPORTED,
            (),
        )
        for version in ("3.5.1", "4.0.5")
    ),
    (
        "select 'it''s' as s",
        [("s", "string")],
        {**spark_schema(("s", "string")), "spark.sql.create.version": "4.1.4"},
        None,
        (("s", "string"),),
    ),
    (
        "select 'n' as s",
        [("s", "string")],
        {**spark_schema(("s", "string")), f"{CONF}spark.sql.parser.escapedStringLiterals": "true"},
        None,
        (("s", "string"),),
    ),
    (
        'select "id" as id from orders',
        IDS,
        {**spark_schema(("id", "long")), f"{CONF}spark.sql.ansi.doubleQuotedIdentifiers": "true"},
        Reason.UNSUPPORTED,
        (),
    ),
    # Columns whose type was changed in the table: plain Spark casts them to the declared one.
    ("select id as c from orders", [("c", "int")], spark_schema(("c", "integer")), Reason.TYPE, ()),
    (
        "select * from (select id c from orders where cust > 1 union all select id from orders) q",
        [("c", "int")],
        spark_schema(("c", "integer")),
        Reason.TYPE,
        (),
    ),
    ("select note as c from orders", [("c", "int")], spark_schema(("c", "integer")), Reason.TYPE, ()),
    ("select cust as c from orders", [("c", "bigint")], spark_schema(("c", "long")), None, (("c", "bigint"),)),
    ("select cust as c from orders", [("c", "string")], spark_schema(("c", "string")), None, (("c", "string"),)),
    ("select cust + 1 as c from orders", [("c", "string")], spark_schema(("c", "string")), None, (("c", "string"),)),
    (
        "select cust as c from orders",
        [("c", "bigint")],
        {**spark_schema(("c", "long")), "view.schemaMode": "TYPE EVOLUTION"},
        Reason.TYPE,
        (),
    ),
    (
        "select cust from orders",
        [("old", "int")],
        {**spark_schema(("old", "integer")), "view.schemaMode": "EVOLUTION"},
        Reason.UNRESOLVED,
        (),
    ),
    # A permanent function of the author's database, which the row's readers would look for in theirs.
    (
        "select my_hex(id) as c from orders",
        [("c", "string")],
        spark_schema(("c", "string")),
        Reason.UNKNOWN_FUNCTION,
        (),
    ),
    # Variables, which plain Spark substitutes unless the row records that it must not.
    ("select '${a}' as s", [("s", "string")], spark_schema(("s", "string")), Reason.UNSUPPORTED, ()),
    ("select '$\\{a}' as s -- ${a}", [("s", "string")], spark_schema(("s", "string")), None, (("s", "string"),)),
    (
        "select '${a}' as s",
        [("s", "string")],
        {**spark_schema(("s", "string")), f"{CONF}spark.sql.variable.substitute": "false"},
        None,
        (("s", "string"),),
    ),
    (
        "select id as `c${a}` from orders",
        [("c${a}", "bigint")],
        {**spark_schema(("c${a}", "long")), f"{CONF}spark.sql.variable.substitute": "false"},
        Reason.UNSUPPORTED,
        (),
    ),
    # A star over a table whose columns were renamed or reordered: Spark finds the columns of the view by their names.
    (
        "select * from orders",
        [("id", "bigint"), ("client", "int"), ("amount", "decimal(10,2)"), ("note", "varchar(20)")],
        query_columns("id", "client", "amount", "note"),
        Reason.UNRESOLVED,
        (),
    ),
    (
        "select q.*, upper(note) from (select cust, id, note from orders) q",
        [("a", "bigint"), ("b", "int"), ("c", "string"), ("d", "string")],
        query_columns("id", "cust", "note", "upper(note)"),
        Reason.UNRESOLVED,
        (),
    ),
    (
        "select cust, upper(note) from orders",
        [("c", "int"), ("u", "string")],
        query_columns("cust", "upper(note)"),
        None,
        (("c", "int"), ("u", "string")),
    ),
    (
        "with ORDERS as (select 7L as id) select id from orders",
        IDS,
        {**spark_schema(("id", "long")), f"{CONF}spark.sql.caseSensitive": "true"},
        Reason.UNSUPPORTED,
        (),
    ),
]
"""Text, columns and parameters of a row of plain Spark (4.1.4); the reason against its import, and its new columns."""


def test_rows_of_spark(add, sales, plan, catalog, tmp_path):
    namespace = {"view.catalogAndNamespace.numParts": "2", "view.catalogAndNamespace.part.0": "spark_catalog"}
    namespace["view.catalogAndNamespace.part.1"] = sales
    for number, (text, columns, parameters, _, _) in enumerate(SPARK_ROWS):
        add(hive_view_row(sales, f"v{number}", text, text, columns, **parameters, **namespace))
    import_plan = plan()
    outcomes = {outcome.name.name: outcome for outcome in run_plan(import_plan, catalog, tmp_path / "journal").outcomes}
    for number, (text, _, _, reason, new_columns) in enumerate(SPARK_ROWS):
        name = f"v{number}"
        entry = entry_of(import_plan, name)
        assert (None if entry.problem is None else entry.problem.reason) is reason, (text, entry.problem)
        assert entry.columns == new_columns, text
        assert any("TIMESTAMP_NTZ" in change for change in entry.changes) is ("timestamp_ntz" in text)
        assert outcomes[name].status is (ImportStatus.CONVERTED if reason is None else ImportStatus.REFUSED), text
        if reason is None:
            representations = catalog.load_view((sales, name)).current_version().representations
            assert not [item.root.sql for item in representations if "${" in item.root.sql.partition("--")[0]]


@pytest.mark.parametrize(("mode", "is_noted"), [("EVOLUTION", True), ("TYPE EVOLUTION", True), ("COMPENSATION", False)])
def test_schema_mode_that_is_not_kept_is_reported(mode, is_noted, add, sales, plan):
    text = f"select id from {sales}.orders"
    parameters = {**spark_schema(("id", "long")), "view.schemaMode": mode}
    add(hive_view_row(sales, "v", text, text, IDS, **parameters))
    entry = entry_of(plan(), "v")
    assert entry.status is PlanStatus.READY
    assert any("is not kept" in change for change in entry.changes) is is_noted


def test_changed_column_type_of_a_hive_view_is_noted(add, sales, plan):
    text = f"select `orders`.`id` from `{sales}`.`orders`"
    add(hive_view_row(sales, "v", "select id from orders", text, [("id", "int")]))
    entry = entry_of(plan(), "v")
    note = (
        "column id is declared as int, and its query returns bigint now: Spark cannot read the view, before and after "
        "the import"
    )
    assert (entry.status, entry.changes) == (PlanStatus.READY, (note,))


@pytest.mark.parametrize("is_on", [False, True])
def test_text_that_is_rewritten_for_trino_is_noted(is_on, add, sales, open_catalog):
    text = f"select a.id from {sales}.orders a, {sales}.orders b"
    add(hive_view_row(sales, "v", text, text, IDS, **spark_schema(("id", "long"))))
    catalog = open_catalog({"hive-views.row-text-for-trino": str(is_on).lower()})
    entry = entry_of(plan_import(catalog, databases=[sales], options=ImportOptions()), "v")
    assert entry.status is PlanStatus.READY
    note = "the row's text is rewritten for Trino's Hive connector (join_conditions)"
    assert (note in entry.changes) is is_on


@pytest.mark.parametrize("is_on", [False, True])
def test_text_of_hive_that_says_where_null_is_ordered_is_noted(is_on, add, sales, open_catalog, tmp_path):
    original = f"select id, rank() over (order by id desc) as r from {sales}.orders"
    text = f"select `orders`.`id`, rank() over (order by `orders`.`id` desc) as `r` from `{sales}`.`orders`"
    add(hive_view_row(sales, "v", original, text, [("id", "bigint"), ("r", "int")]))
    catalog = open_catalog({"hive-views.explicit-row-text": str(is_on).lower()})
    import_plan = plan_import(catalog, databases=[sales], options=ImportOptions())
    note = "the row's text says what Hive and Spark take for granted differently (order_of_nulls)"
    assert entry_of(import_plan, "v").changes == ((note,) if is_on else ())
    order_findings = [item for item in entry_of(import_plan, "v").engines if "a window with ORDER BY" in item]
    assert bool(order_findings) is not is_on
    [outcome] = run_plan(import_plan, catalog, tmp_path / "journal").outcomes
    assert outcome.status is ImportStatus.CONVERTED
    view = catalog.load_view((sales, "v"))
    order = "desc NULLS FIRST" if is_on else "desc"
    assert (view.original_text, view.expanded_text) == (original, text.replace("desc", order))
    assert view.drift == ()
    assert catalog.dependencies.check_view((sales, "v")).problems == ()


def test_long_comment_of_a_column_is_cut_in_the_row_and_named(add, sales, plan, catalog, tmp_path):
    text = f"SELECT id FROM {sales}.orders"
    field = {"name": "id", "type": "long", "nullable": True, "metadata": {"comment": "x" * 300}}
    schema = json.dumps({"type": "struct", "fields": [field]})
    parameters = {"spark.sql.sources.schema": schema, "spark.sql.create.version": "4.1.4"}
    parameters |= {"view.query.out.numCols": "1", "view.query.out.col.0": "id"}
    add(hive_view_row(sales, "v", text, text, IDS, **parameters))
    import_plan = plan()
    assert entry_of(import_plan, "v").changes == (
        "the comment of id is cut to 256 characters in the row; the metadata file keeps it whole",
    )
    [outcome] = run_plan(import_plan, catalog, tmp_path / "journal").outcomes
    assert outcome.status is ImportStatus.CONVERTED
    view = catalog.load_view((sales, "v"))
    assert (view.schema().fields[0].doc, view.drift) == ("x" * 300, ())
    assert len(catalog.store.get_row(ViewName(sales, "v")).columns[0][2]) == 256
