"""The readers of rows: layouts of each writer and version, and broken rows."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from hive_views.identifiers import ViewName
from hive_views.legacy_import.legacy_view import LegacyColumn, Reason, Writer, decode_mojibake, repair_columns
from hive_views.legacy_import.options import ImportOptions
from hive_views.legacy_import.plan import scan_row
from hive_views.legacy_import.readers.detection import is_legacy, read_hive_view, read_view
from hive_views.metastore._thrift.hive_metastore.ttypes import Table
from hive_views.metastore.rows.row import read_row
from hive_views.metastore.rows.serialization import decode_row, encode_row, row_fingerprint
from hive_views.sql.types.names import hive_name_of_trino
from tests.integration.legacy_import.rows import fields, hive_view_row, trino_view_row

SCHEMA = json.dumps(
    {
        "type": "struct",
        "fields": [
            {"name": "ID", "type": "long", "nullable": True, "metadata": {"comment": "the id"}},
            {"name": "tags", "type": {"type": "array", "elementType": "string", "containsNull": True}, "metadata": {}},
        ],
    }
)
COLUMNS = [("id", "bigint"), ("tags", "array<string>")]
LAYOUTS = {
    "4.1": (
        {
            "spark.sql.create.version": "4.1.4",
            "spark.sql.sources.schema": SCHEMA,
            "view.catalogAndNamespace.numParts": "2",
            "view.catalogAndNamespace.part.0": "spark_catalog",
            "view.catalogAndNamespace.part.1": "Sales",
            "view.query.out.numCols": "2",
            "view.query.out.col.0": "ID",
            "view.query.out.col.1": "labels",
            "view.referredTempViewNames": "[]",
            "view.sqlConfig.spark.sql.ansi.enabled": "false",
        },
        ("sales", "spark_catalog", ("ID", "labels"), {"spark.sql.ansi.enabled": "false"}),
    ),
    "3.0": (
        {
            "spark.sql.create.version": "3.0.3",
            "spark.sql.sources.schema.numParts": "2",
            "spark.sql.sources.schema.part.0": SCHEMA[:60],
            "spark.sql.sources.schema.part.1": SCHEMA[60:],
            "view.catalogAndNamespace.numParts": "2",
            "view.catalogAndNamespace.part.0": "spark_catalog",
            "view.catalogAndNamespace.part.1": "sales",
            "view.query.out.numCols": "2",
            "view.query.out.col.0": "ID",
            "view.query.out.col.1": "tags",
        },
        ("sales", "spark_catalog", ("ID", "tags"), {"spark.sql.ansi.enabled": "false"}),
    ),
    "2.4": (
        {
            "spark.sql.create.version": "2.4.8",
            "spark.sql.sources.schema.numParts": "1",
            "spark.sql.sources.schema.part.0": SCHEMA,
            "view.default.database": "sales",
            "view.query.out.numCols": "2",
            "view.query.out.col.0": "ID",
            "view.query.out.col.1": "tags",
        },
        ("sales", None, ("ID", "tags"), {"spark.sql.ansi.enabled": "false"}),
    ),
    "2.1": ({"spark.sql.sources.schema": SCHEMA}, ("d", None, None, {"spark.sql.ansi.enabled": "false"})),
}


@pytest.mark.parametrize("version", LAYOUTS)
def test_spark_layouts_are_read(version):
    parameters, (database, catalog, output, settings) = LAYOUTS[version]
    view = read_view(read_row(hive_view_row("d", "v", "select 1", "select 1", COLUMNS, **parameters)))
    assert (view.writer, view.dialect, view.problem) == (Writer.SPARK, "spark", None)
    assert (view.database, view.catalog, view.query_columns, view.settings) == (database, catalog, output, settings)
    assert view.columns == (LegacyColumn("ID", "bigint", "the id"), LegacyColumn("tags", "array<string>"))


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ({"view.query.out.numCols": "3"}, Reason.UNREADABLE),
        ({"view.query.out.numCols": "many"}, Reason.UNREADABLE),
        ({"spark.sql.sources.schema": "{"}, Reason.UNREADABLE),
        ({"spark.sql.sources.schema": "[]"}, Reason.UNREADABLE),
        ({"view.referredTempViewNames": '["tmp"]'}, Reason.UNSUPPORTED),
        ({"view.catalogAndNamespace.numParts": "3", "view.catalogAndNamespace.part.2": "x"}, Reason.OTHER_CATALOG),
    ],
)
def test_broken_spark_parameters_are_unreadable(broken, reason):
    parameters = {**LAYOUTS["4.1"][0], **broken}
    view = read_view(read_row(hive_view_row("d", "v", "select 1", "select 1", COLUMNS, **parameters)))
    assert view.problem is not None
    assert view.problem.reason is reason


def test_row_columns_win_after_a_change_by_hive():
    parameters = LAYOUTS["4.1"][0]
    view = read_view(read_row(hive_view_row("d", "v", "select 1", "select 1", [("other", "int")], **parameters)))
    assert view.columns == (LegacyColumn("other", "int"),)


def test_hive_view_is_read_from_its_expanded_text():
    view = read_view(
        read_row(
            hive_view_row(
                "d", "v", 'select key+1 as tes"t from t', 'select `t`.`key`+1 as `tes"t` from `d`.`t`', COLUMNS
            )
        )
    )
    assert view.sql == 'select `t`.`key`+1 as `tes"t` from `d`.`t`'
    assert view.original == 'select key+1 as tes"t from t'


@pytest.mark.parametrize(("original", "expanded", "sql"), [("select 1", None, "select 1"), (None, None, "")])
def test_hive_view_without_expanded_text_uses_the_original(original, expanded, sql):
    view = read_view(read_row(hive_view_row("d", "v", original, expanded, COLUMNS)))
    assert view.sql == sql
    assert (view.problem is not None) == (not sql)


def test_partition_columns_are_the_last_columns():
    row = hive_view_row("d", "v", "select 1", "select 1", COLUMNS)
    row.partitionKeys = fields([("ds", "string", "day")])
    view = read_view(read_row(row))
    assert view.columns[-1] == LegacyColumn("ds", "string", "day")
    assert view.partitioned


def test_trino_encoding_is_read():
    row = trino_view_row(
        "d",
        "v",
        'SELECT "a"',
        [("a", "row(x bigint, y varchar(3))", "col")],
        comment="real",
        schema="S",
        runAsInvoker=True,
    )
    view = read_view(read_row(row))
    assert (view.writer, view.sql, view.database, view.catalog) == (Writer.TRINO, 'SELECT "a"', "s", "hive")
    assert (view.comment, view.owner, view.run_as_invoker) == ("real", "analyst", True)
    assert view.columns == (LegacyColumn("a", "struct<x:bigint,y:string>", "col"),)


def test_athena_view_without_flag_is_a_trino_view():
    view = read_view(read_row(trino_view_row("d", "v", "SELECT 1 x", [("x", "integer")], athena=True)))
    assert (view.writer, view.sql, view.catalog) == (Writer.TRINO, "SELECT 1 x", "awsdatacatalog")


@pytest.mark.parametrize(
    "text",
    ["/* Presto View: !!! */", "/* Presto View: e30= */", "/* Presto View: W10= */", "select 1", "/* Presto View"],
)
def test_broken_trino_encoding_is_unreadable(text):
    row = hive_view_row("d", "v", text, "/* Presto View */", [("dummy", "string")], presto_view="true")
    view = read_view(read_row(row))
    assert view.problem is not None
    assert view.problem.reason is Reason.UNREADABLE


def test_materialized_views_are_read():
    mv = hive_view_row("d", "mv", "select 1", "select 1", COLUMNS)
    mv.tableType, mv.rewriteEnabled, mv.sd.location = "MATERIALIZED_VIEW", True, "file:/mv"
    row = read_row(mv)
    assert is_legacy(row)
    view = read_view(row)
    assert view.materialized
    assert view.storage == {"location": "file:/mv", "rewrite": "enabled"}
    trino = read_view(
        read_row(trino_view_row("d", "m", "SELECT 1", [("x", "integer")], materialized=True, gracePeriod=5))
    )
    assert trino.materialized
    assert trino.storage == {"gracePeriod": "5"}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("bigint", "bigint"),
        ("varchar(3)", "string"),
        ("char(3)", "string"),
        ("real", "float"),
        ("decimal(10, 2)", "decimal(10,2)"),
        ("timestamp(3)", "timestamp_ntz"),
        ("timestamp(6) with time zone", "timestamp with local time zone"),
        ('array(row(a integer, "b" map(varchar, double)))', "array<struct<a:int,b:map<string,double>>>"),
        ('row("a b" integer, "c:""d" real)', 'struct<`a b`:int,`c:"d`:float>'),
    ],
)
def test_trino_types_become_hive_types(kind, expected):
    assert hive_name_of_trino(kind) == expected


@pytest.mark.parametrize("kind", ["json", "timestamp(9)", "interval day to second", "row(bigint)", "hyperloglog"])
def test_types_of_trino_without_hive_type_are_rejected(kind):
    with pytest.raises(ValueError, match=r"."):
        hive_name_of_trino(kind)


@pytest.mark.parametrize("text", ["größe", "naïve café", "日本語", "€ 5", "Ω and ß"])
@pytest.mark.parametrize("times", [1, 2])
def test_mojibake_is_decoded(text, times):
    mangled = text
    for _ in range(times):
        mangled = mangled.encode().decode("latin-1")
    assert decode_mojibake(f"select '{mangled}'") == f"select '{text}'"


@pytest.mark.parametrize("text", ["select 'größe'", "select 'Âge'", "select 1", "select 'Ã'", "select '日本'"])
def test_intact_text_is_not_mojibake(text):
    assert decode_mojibake(text) is None


def test_row_survives_encoding():
    row = read_row(hive_view_row("d", "v", "select 'ä'", "select 'ä'", COLUMNS, key="wert ü"))
    assert decode_row(encode_row(row)) == row
    assert decode_row(encode_row(row)).name == ViewName("d", "v")


@pytest.mark.parametrize("data", [b"", b"\x00", b"no thrift at all"])
def test_other_bytes_are_not_decoded(data):
    with pytest.raises(ValueError, match="not a row"):
        decode_row(data)


@pytest.mark.parametrize(
    ("change", "counts"),
    [
        (lambda row: row.parameters.update(x="y"), True),
        (lambda row: setattr(row, "owner", "other"), True),
        (lambda row: setattr(row, "viewOriginalText", "x"), True),
        (lambda row: setattr(row.sd.cols[0], "comment", "x"), True),
        (lambda row: row.parameters.update(transient_lastDdlTime="5"), False),
        (lambda row: row.parameters.update(hive_views_uuid="5"), False),
    ],
)
def test_fingerprint_changes_with_relevant_fields(change, counts):
    row: Table = hive_view_row("d", "v", "select 1", "select 1", COLUMNS, transient_lastDdlTime="4")
    before = row_fingerprint(read_row(row))
    change(row)
    assert (row_fingerprint(read_row(row)) != before) is counts


@pytest.mark.parametrize(
    ("how", "text", "reason", "named"),
    [
        ("repair", "select 1 from `größe`.`maß`", None, ("größe", "maß")),
        ("refuse", "select 'größe' from", Reason.MOJIBAKE, None),  # the repair is shown first, whatever else is wrong
        ("repair", "select 'größe' from", Reason.UNREADABLE, None),
        ("refuse", "select 1 from `größe`.`t`", Reason.MOJIBAKE, ("größe".encode().decode("latin-1").lower(), "t")),
    ],
)
def test_scan_reads_names_from_repaired_text(how, text, reason, named):
    row = hive_view_row("d", "v", "x", text.encode().decode("latin-1"), [("c", "int")])
    definition = scan_row(read_row(row), ImportOptions(mojibake=how))
    assert (definition.problem.reason if definition.problem else None) is reason
    assert definition.reads == (() if named is None else (ViewName(*named),))


@pytest.mark.parametrize(
    ("how", "partitioned"), [("repair", False), ("repair", True), ("refuse", False), ("keep", False)]
)
def test_columns_are_repaired_with_the_text(how, partitioned):
    whole, damaged = "größe", "größe".encode().decode("latin-1")
    given = read_hive_view(
        read_row(hive_view_row("d", "v", "x", "select 1", [(damaged, f"struct<{damaged}:int>", damaged)]))
    )
    view = repair_columns(replace(given, partitioned=partitioned), how)
    assert repair_columns(view, how) == view
    (column,) = view.columns
    names = (
        (whole, f"struct<{whole}:int>") if how == "repair" and not partitioned else (damaged, f"struct<{damaged}:int>")
    )
    assert (column.name, column.type, column.comment) == (*names, whole if how == "repair" else damaged)
    assert len(view.notes) == (how != "keep")
