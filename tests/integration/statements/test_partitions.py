"""Views PARTITIONED ON columns and their partitions, with the rules of HIVE-1941."""

from __future__ import annotations

import copy

import pytest

from hive_views.errors import InvalidViewError, NotAnIcebergViewError, SqlError
from hive_views.metastore._thrift.hive_metastore.ttypes import FieldSchema, Partition
from tests.integration.catalog.samples import hive_row


@pytest.fixture
def by_day(run, shop) -> str:
    """A view with two partitions."""
    run("CREATE VIEW by_day PARTITIONED ON (day) AS SELECT id, day FROM orders")
    run("ALTER VIEW by_day ADD PARTITION (day='2026-01-01') PARTITION (day='2026-01-02')")
    return f"{shop}.by_day"


def keys(raw, name: str) -> list[tuple[str, str]]:
    table = raw.get_table(*name.split("."))
    return [(field.name, field.type) for field in table.partitionKeys]


def shown(run, name: str = "by_day") -> list[str]:
    return [row[0] for row in run(f"SHOW PARTITIONS {name}").rows]


def test_partition_columns_are_stored_as_partition_keys(catalog, raw, by_day):
    table = raw.get_table(*by_day.split("."))
    assert [field.name for field in table.sd.cols] == ["id"]
    assert keys(raw, by_day) == [("day", "date")]
    view = catalog.load_view(by_day)
    assert view.drift == ()
    assert [field.name for field in view.schema().fields] == ["id", "day"]


def test_registered_file_restores_partition_columns(catalog, raw, by_day, shop):
    location = catalog.load_view(by_day).metadata_location
    catalog.drop_view(by_day)
    catalog.register_view(f"{shop}.again", location)
    assert keys(raw, f"{shop}.again") == [("day", "date")]


def test_show_create_recreates_view(run, raw, by_day, shop):
    text = run("SHOW CREATE VIEW by_day").rows[0][0]
    assert "PARTITIONED ON (`day`)" in text
    run(text.replace("`by_day`", "`duplicate`"))
    assert keys(raw, f"{shop}.duplicate") == [("day", "date")]
    assert ("Partitioned On", "day", None) in run("DESCRIBE EXTENDED by_day").rows


def test_partitions_are_listed_in_order_and_by_value(run, by_day):
    assert shown(run) == ["day=2026-01-01", "day=2026-01-02"]
    assert run("SHOW PARTITIONS by_day PARTITION (day = '2026-01-02')").rows == (("day=2026-01-02",),)
    assert run("SHOW PARTITIONS by_day PARTITION (day = '2026-01-03')").rows == ()


def test_values_are_stored_as_hive_stores_them(run, shop):
    run("CREATE VIEW odd PARTITIONED ON (page, seconds) AS SELECT at, page, seconds FROM visits")
    added = run("ALTER VIEW odd ADD PARTITION (page = 'a/b=c', seconds = 007)").rows
    assert added == (("page=a%2Fb%3Dc/seconds=7",),)
    assert run("ALTER VIEW odd ADD IF NOT EXISTS PARTITION (seconds = '7', page = 'a/b=c')").kind == "unchanged"
    assert run("ALTER VIEW odd DROP PARTITION (page = 'a/b=c')").rows == added


def test_partition_has_no_directory(raw, by_day):
    database, name = by_day.split(".")
    table = raw.get_table(database, name)
    for partition in raw.get_partitions(database, name, -1):
        assert partition.sd.location == table.sd.location


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("ALTER VIEW by_day ADD PARTITION (day='2026-01-01')", "has the partition day=2026-01-01 already"),
        ("ALTER VIEW by_day ADD PARTITION (day='2026-01-09') PARTITION (day='2026-01-02')", "already"),
        ("ALTER VIEW by_day ADD PARTITION (day='tomorrow')", "no value for the partition column day date"),
        ("ALTER VIEW by_day ADD PARTITION (day)", "no value for the partition column day"),
        ("ALTER VIEW by_day ADD PARTITION (id=1)", "id is none of its partition columns: day"),
        ("ALTER VIEW by_day ADD PARTITION (day='2026-01-03', day='2026-01-03')", "given twice"),
        ("ALTER VIEW by_day ADD PARTITION (day='2026-01-03') LOCATION '/x'", "no LOCATION"),
        ("ALTER VIEW by_day DROP PARTITION (day='2026-01-03')", "has no partition day=2026-01-03"),
        ("ALTER VIEW plain ADD PARTITION (day='2026-01-03')", "has no partition columns"),
        ("SHOW PARTITIONS plain", "has no partition columns"),
        ("ALTER VIEW by_day AS SELECT id + 1 AS id, day FROM orders", "has partitions"),
        ("ALTER VIEW by_day AS SELECT day, id FROM orders", "must be the last columns"),
        ("CREATE VIEW v PARTITIONED ON (id) AS SELECT id, day FROM orders", "do not match PARTITIONED ON"),
        ("CREATE VIEW v PARTITIONED ON (id) AS SELECT id FROM orders", "At least one non-partitioning column"),
    ],
)
def test_invalid_partition_statement_is_rejected(run, by_day, sql, reason):
    run("CREATE VIEW plain AS SELECT id, day FROM orders")
    with pytest.raises(SqlError, match=reason):
        run(sql)
    assert shown(run) == ["day=2026-01-01", "day=2026-01-02"]


@pytest.mark.parametrize("spec", ["day=2026-01-03", ["day"], [("day",)], [{"day": "2026-01-03", "id": "1"}]])
def test_what_is_no_partition_is_rejected(catalog, by_day, spec):
    for method in (catalog.partitions.add, catalog.partitions.drop, catalog.partitions.list):
        with pytest.raises(InvalidViewError, match="is no partition: name values by column"):
            method(by_day, spec)


def test_drop_missing_partition_with_if_exists_does_nothing(run, by_day):
    assert run("ALTER VIEW by_day DROP IF EXISTS PARTITION (day='2026-01-03')").kind == "absent"
    assert run("ALTER VIEW by_day DROP PARTITION (day='2026-01-01')").rows == (("day=2026-01-01",),)
    assert shown(run) == ["day=2026-01-02"]


def test_new_definition_keeps_partitions(catalog, run, raw, by_day):
    run("CREATE OR REPLACE VIEW by_day PARTITIONED ON (day) AS SELECT customer_id, day FROM orders")
    catalog.load_view(by_day).update().set_properties(owner="bi").commit()
    assert shown(run) == ["day=2026-01-01", "day=2026-01-02"]
    assert keys(raw, by_day) == [("day", "date")]


def test_rename_keeps_partitions(catalog, run, by_day, other_database):
    catalog.rename_view(by_day, f"{other_database}.moved")
    assert shown(run, f"{other_database}.moved") == ["day=2026-01-01", "day=2026-01-02"]
    run(f"ALTER VIEW {other_database}.moved DROP PARTITION (day='2026-01-01')")
    assert shown(run, f"{other_database}.moved") == ["day=2026-01-02"]


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE OR REPLACE VIEW by_day AS SELECT id, day FROM orders",
        "CREATE OR REPLACE VIEW by_day PARTITIONED ON (customer_id) AS SELECT id, customer_id FROM orders",
        "CREATE OR REPLACE VIEW by_day PARTITIONED ON (day) AS SELECT id, CAST(day AS STRING) AS day FROM orders",
    ],
)
def test_partition_columns_cannot_change_with_existing_partitions(catalog, run, raw, by_day, sql):
    before = catalog.load_view(by_day).metadata_location
    with pytest.raises(InvalidViewError, match=r"has 2 partitions \(day=2026-01-01, day=2026-01-02\) by day date"):
        run(sql)
    assert catalog.load_view(by_day).metadata_location == before
    run("ALTER VIEW by_day DROP PARTITION (day='2026-01-01') PARTITION (day='2026-01-02')")
    run(sql)
    assert keys(raw, by_day) != [("day", "date")]
    assert catalog.load_view(by_day).drift == ()


def test_rollback_restores_columns(catalog, run, raw, by_day):
    first = catalog.load_view(by_day).current_version().version_id
    run("ALTER VIEW by_day DROP PARTITION (day='2026-01-01') PARTITION (day='2026-01-02')")
    run("CREATE OR REPLACE VIEW by_day AS SELECT id, day FROM orders")
    assert keys(raw, by_day) == []
    catalog.load_view(by_day).update().rollback(version_id=first).commit()
    assert keys(raw, by_day) == [("day", "date")]


def test_alter_as_and_recompile_keep_the_columns(run, raw, by_day):
    run("ALTER VIEW by_day DROP PARTITION (day='2026-01-01') PARTITION (day='2026-01-02')")
    run("ALTER VIEW by_day AS SELECT customer_id, day FROM orders")
    run("ALTER VIEW by_day RECOMPILE")
    assert keys(raw, by_day) == [("day", "date")]


def test_dropping_view_drops_its_partitions(catalog, run, by_day):
    catalog.drop_view(by_day, purge_files=True)
    run("CREATE VIEW by_day PARTITIONED ON (day) AS SELECT id, day FROM orders")
    assert shown(run) == []


def test_hive_view_partitions_are_listed_but_not_changed(run, raw, shop):
    row = hive_row(shop, "legacy", "VIRTUAL_VIEW")
    row.sd = copy.copy(row.sd)
    row.sd.cols, row.sd.location = [FieldSchema("page", "string", None)], None
    row.partitionKeys = [FieldSchema("ds", "string", None)]
    raw.create_table(row)
    raw.add_partition(Partition(["2026-01-01"], shop, "legacy", 0, 0, None, {}))
    assert shown(run, "legacy") == ["ds=2026-01-01"]
    with pytest.raises(NotAnIcebergViewError):
        run("ALTER VIEW legacy DROP PARTITION (ds='2026-01-01')")
