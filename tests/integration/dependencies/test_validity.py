"""Validity of views after changes of tables, impact of changes, RECOMPILE, and drift."""

from __future__ import annotations

import json

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, LongType, NestedField, StringType, StructType

from hive_views.dependencies.impact import Effect
from hive_views.dependencies.render import Direction
from hive_views.errors import DependentsError, DialectLossError, InvalidViewError, SqlError
from hive_views.identifiers import ViewName
from hive_views.metastore._thrift.hive_metastore.ttypes import EnvironmentContext, FieldSchema
from hive_views.spec.version_texts import define
from hive_views.sql.analysis.validity import Validity
from tests.integration.catalog.samples import hive_row, path, version
from tests.integration.dependencies.conftest import longs
from tests.integration.dependencies.test_graph import COLUMNS


def alter(raw, database, name, change):
    row = raw.get_table(database, name)
    change(row)
    raw.alter_table_with_environment_context(database, name, row, EnvironmentContext({}))


def columns(*pairs):
    def change(row):
        row.sd.cols = [FieldSchema(name=name, type=kind, comment=None) for name, kind in pairs]

    return change


@pytest.fixture
def shop(catalog, database, hive_table, hive_view, view):
    """orders(id, total) <- star, named, over(star), old (plain Hive); untouched reads another table."""
    hive_table("orders")
    hive_table("refunds")
    view("star", "SELECT *\nFROM orders")
    view("named", "SELECT id FROM orders\nWHERE total > 3")
    view("over", "SELECT id, total FROM star")
    view("computed", "SELECT id + total AS s FROM orders")
    view("untouched", "SELECT id FROM refunds")
    hive_view("old", f"select `o`.`id`, `o`.`total` from `{database}`.`orders` `o`")
    return catalog


def checked_views(catalog, database):
    return {finding.view.name: finding for finding in catalog.dependencies.check_views(database)}


def validity(catalog, database):
    return {name: check.validity.value for name, check in checked_views(catalog, database).items()}


def test_unchanged_views_are_valid(shop, database):
    assert set(validity(shop, database).values()) == {"valid"}
    assert len(checked_views(shop, database)) == 6


def test_dropped_table_invalidates_its_readers(shop, raw, database):
    raw.drop_table(database, "orders", False)
    checked = checked_views(shop, database)
    assert {name for name, item in checked.items() if item.validity is Validity.INVALID} == {
        "star",
        "named",
        "computed",
        "old",
    }
    (problem,) = checked["star"].problems
    assert "orders" in problem.reason
    assert (problem.line, problem.column) == (2, 6)  # in the typed text
    assert checked["untouched"].problems == ()


@pytest.fixture
def chain(catalog, database, other_database, hive_table, hive_view, view):
    """base <- a <- b <- c <- d (plain Hive), and outside.e in another database over c; `fine` reads another table."""
    hive_table("base")
    hive_table("refunds")
    view("a", "SELECT id FROM base")
    view("b", "SELECT id FROM a")
    view("c", "SELECT id FROM b")
    hive_view("d", f"select `c`.`id` from `{database}`.`c`", "id")
    view(f"{other_database}.e", f"SELECT id FROM {database}.c")
    view("fine", "SELECT id FROM refunds")
    return catalog


BLOCKED = {"a": "invalid", "b": "blocked", "c": "blocked", "d": "blocked", "fine": "valid"}


@pytest.mark.parametrize("successor", [None, "table with other columns", "view that reads the chain"])
def test_views_over_invalid_view_are_blocked_at_any_distance(
    chain, raw, database, other_database, hive_table, hive_view, successor
):
    raw.drop_table(database, "base", False)
    if successor == "table with other columns":
        hive_table("base", "other")
    elif successor == "view that reads the chain":
        hive_view("base", f"select `c`.`id` from `{database}`.`c`", "id")
    results = validity(chain, database)
    if successor == "view that reads the chain":
        cycle = dict.fromkeys(("a", "b", "c", "base"), "invalid")
        assert results == {**cycle, "d": "blocked", "fine": "valid"}
        causes = {"a", "b", "base", "c"}
    else:
        assert results == BLOCKED
        causes = {"a"}
    (problem,) = checked_views(chain, database)["d"].problems
    assert set(problem.blocked_by) <= {ViewName(database, cause) for cause in causes}
    # A view of another database, alone, with its database, and in pictures.
    outside = f"{other_database}.e"
    alone = chain.dependencies.check_view(outside)
    (of_database,) = chain.dependencies.check_views(other_database)
    assert alone == of_database and alone.validity is Validity.BLOCKED
    assert f"it reads {database}.c, which is" in alone.problems[0].reason
    for picture in (
        chain.dependencies.picture(),
        chain.dependencies.picture(other_database),
        chain.dependencies.picture_of(outside, Direction.UP),
    ):
        box = picture.boxes[ViewName.parse(outside)]
        assert (box.standing, box.reasons) == (Validity.BLOCKED, (alone.problems[0].reason,))
    picture = chain.dependencies.picture(database)
    assert {name.name: box.standing.value for name, box in picture.boxes.items() if name.name in results} == results


def test_dropped_column_invalidates_views_that_name_it(shop, raw, database):
    alter(raw, database, "orders", columns(("id", "bigint")))
    assert validity(shop, database) == {
        "star": "invalid",
        "named": "invalid",
        "computed": "invalid",
        "old": "invalid",
        "over": "blocked",
        "untouched": "valid",
    }
    problem = checked_views(shop, database)["named"].problems[0]
    assert (problem.line, "total" in problem.reason) == (2, True)


def test_new_column_makes_star_view_outdated(shop, raw, database):
    alter(raw, database, "orders", columns(("id", "bigint"), ("total", "bigint"), ("note", "string")))
    assert validity(shop, database)["star"] == "outdated"
    assert validity(shop, database)["named"] == "valid"


def test_dialect_specific_literals_are_no_change(catalog, database, hive_table, view):
    hive_table("orders")
    view("quoted", "SELECT id -- goes on \\\n , total\nFROM orders WHERE 'it''s' <> '${a}'")
    definition = catalog.author(f"{database}.trino", 'select "id" from orders', dialect="trino", database=database)
    catalog.create_view(f"{database}.trino", definition.schema, definition.version)
    assert validity(catalog, database) == {"quoted": "valid", "trino": "valid"}
    assert catalog.load_view(f"{database}.quoted").expanded_text.count("\n") == 1


def test_changed_column_type_is_invalid(shop, raw, database):
    alter(raw, database, "orders", columns(("id", "string"), ("total", "bigint")))
    finding = shop.dependencies.check_view(f"{database}.star")
    assert finding.validity is Validity.INVALID
    assert "bigint" in finding.problems[0].reason
    assert "string" in finding.problems[0].reason
    # The types of computed columns depend on the engine, and are not compared.
    assert shop.dependencies.check_view(f"{database}.untouched").validity is Validity.VALID


@pytest.mark.parametrize(
    ("kind", "stored"), [("smallint", IntegerType()), ("varchar(20)", StringType()), ("char(3)", StringType())]
)
def test_hive_only_types_are_no_change(catalog, raw, database, kind, stored):
    row = hive_row(database, "odd", "MANAGED_TABLE")
    columns(("id", kind))(row)
    raw.create_table(row)
    schema = Schema(NestedField(1, "id", stored))
    catalog.create_view(f"{database}.top", schema, version(database, ("spark", "select id from odd")))
    assert catalog.dependencies.check_view(f"{database}.top").validity is Validity.UNEXPANDED


def test_functions_without_a_database_are_assumed_to_exist(catalog, database, hive_table, hive_view):
    """`tests/integration/catalog/test_functions.py` has those with one."""
    hive_table("orders")
    columns = "plus_one(`o`.`id`) as `id`, scrambled(`o`.`total`) as `total`"
    hive_view("old", f"select {columns} from `{database}`.`orders` `o`")
    definition = version(database, ("spark", "select system.plus_one(id) as id, total from orders"))
    catalog.create_view(f"{database}.top", COLUMNS, definition)
    assert validity(catalog, database) == {"old": "valid", "top": "unexpanded"}


def test_missing_metadata_file_is_invalid(shop, database):
    location = shop.load_view(f"{database}.named").metadata_location
    shop.store.files.delete(location)
    assert checked_views(shop, database)["named"].validity is Validity.INVALID
    assert "does not exist" in checked_views(shop, database)["named"].problems[0].reason


def test_views_over_table_without_metadata_file_are_blocked(catalog, database, view):
    table = catalog.create_table(f"{database}.orders", Schema(NestedField(1, "id", LongType())))
    view("one", "SELECT id FROM orders")
    view("two", "SELECT id FROM one")
    path(table.metadata_location).unlink()
    checked = {item.view.name: item for item in catalog.dependencies.check_views(database)}
    assert {name: item.validity.value for name, item in checked.items()} == {"one": "blocked", "two": "blocked"}
    for item in checked.values():
        assert f"{database}.orders, which is invalid: its metadata file " in item.problems[0].reason
    boxes = catalog.dependencies.picture(database).boxes
    assert {name.name: box.standing.value for name, box in boxes.items()} == {
        **dict.fromkeys(["one", "two"], "blocked"),
        "orders": "invalid",
    }


def test_unsupported_dialect_is_unknown(catalog, database):
    catalog.create_view(f"{database}.top", COLUMNS, version(database, ("presto", "select 1, 2")))
    assert catalog.dependencies.check_view(f"{database}.top").validity is Validity.UNKNOWN


def test_view_over_unknown_view_is_unknown(catalog, database, view):
    catalog.create_view(f"{database}.foreign", COLUMNS, version(database, ("presto", "select 1, 2")))
    view("over", "SELECT id FROM foreign")
    view("above", "SELECT id FROM over")
    assert validity(catalog, database) == dict.fromkeys(("foreign", "over", "above"), "unknown")
    assert checked_views(catalog, database)["above"].problems[0].reason == (
        f"it reads {database}.over, which cannot be checked completely"
    )
    assert {box.standing.value for box in catalog.dependencies.picture(database).boxes.values()} == {"unknown"}


# -- Drift --------------------------------------------------------------------------------------------------------


def alter_view_as(raw, database, name, text, *pairs):
    """Change a row as ALTER VIEW AS of Hive and plain Spark does: texts and columns, but not the pointer."""

    def change(row):
        row.viewOriginalText = row.viewExpandedText = text
        columns(*pairs)(row)

    alter(raw, database, name, change)


def test_drifted_row_is_repaired(shop, raw, database):
    before = shop.load_view(f"{database}.named")
    alter_view_as(raw, database, "named", f"select `r`.`total` from `{database}`.`refunds` `r`", ("total", "bigint"))
    assert shop.dependencies.check_view(f"{database}.named").validity is not Validity.VALID
    assert Validity.DRIFTED in {
        problem.validity for problem in shop.dependencies.check_view(f"{database}.named").problems
    }
    repaired = shop.repair_view(f"{database}.named")
    assert repaired.drift == ()
    assert repaired.expanded_text == before.expanded_text
    assert repaired.metadata.versions == before.metadata.versions
    assert shop.dependencies.check_view(f"{database}.named").validity is Validity.VALID
    assert shop.repair_view(f"{database}.named").metadata_location == repaired.metadata_location


def test_drifted_row_is_adopted(shop, raw, database):
    text = f"select `r`.`total` from `{database}`.`refunds` `r`"
    alter_view_as(raw, database, "named", text, ("total", "bigint"))
    adopted = shop.adopt_view(f"{database}.named", analyzer=longs(shop, text, database))
    assert adopted.drift == ()
    assert adopted.original_text == text
    assert [field.name for field in adopted.schema().fields] == ["total"]
    assert [entry.version_id for entry in adopted.history()] == [1, 2]
    assert [name.name for name in shop.dependencies.dependents(f"{database}.refunds", namespaces=[database]).views] == [
        "named",
        "untouched",
    ]


def test_adopt_keeps_names_and_comments_of_row(shop, raw, database):
    """Plain Spark stores the column list before AS only in the row's columns."""

    def change(row):
        row.viewOriginalText = row.viewExpandedText = "SELECT total, id FROM orders"
        row.parameters["view.catalogAndNamespace.part.1"] = database
        row.sd.cols = [FieldSchema("x", "bigint", "the x"), FieldSchema("y", "bigint", None)]

    alter(raw, database, "named", change)
    adopted = shop.adopt_view(f"{database}.named")
    assert [(field.name, field.doc) for field in adopted.schema().fields] == [("x", "the x"), ("y", None)]
    assert adopted.original_text == "SELECT total, id FROM orders"
    assert adopted.drift == ()
    assert shop.dependencies.check_view(f"{database}.named").validity is Validity.VALID


def test_adopt_keeps_comments_that_the_row_has_in_part(shop, raw, database):
    columns_of_view = f"(a COMMENT '{'ä' * 300}', b COMMENT 'c')"
    shop.execute(f"CREATE VIEW {database}.long {columns_of_view} AS SELECT id, total FROM {database}.orders")
    stored = raw.get_table(database, "long")
    assert [len(field.comment) for field in stored.sd.cols] == [256, 1]
    view = shop.load_view(f"{database}.long")
    assert ([field.doc for field in view.schema().fields], view.drift) == (["ä" * 300, "c"], ())

    def change(row):
        row.viewOriginalText = row.viewExpandedText = f"SELECT id, 1 AS b FROM {database}.orders"
        row.sd.cols = [FieldSchema("a", "bigint", stored.sd.cols[0].comment), FieldSchema("b", "int", "other")]

    alter(raw, database, "long", change)
    adopted = shop.adopt_view(f"{database}.long")
    assert [field.doc for field in adopted.schema().fields] == ["ä" * 300, "other"]


def test_adopt_records_the_settings_of_plain_spark(shop, raw, database):
    settings = {"spark.sql.ansi.enabled": "false", "spark.sql.session.timeZone": "Asia/Tokyo"}

    def change(row):
        row.viewOriginalText = row.viewExpandedText = f"SELECT total AS id FROM {database}.orders"
        row.parameters["view.catalogAndNamespace.part.1"] = database
        row.parameters |= {f"view.sqlConfig.{key}": value for key, value in settings.items()}

    alter(raw, database, "named", change)
    assert [item.field for item in shop.load_view(f"{database}.named").drift] == ["expanded-text", "original-text"]
    adopted = shop.adopt_view(f"{database}.named")
    summary = adopted.current_version().summary
    assert {key: summary[f"hive-views.conf.{key}"] for key in settings} == settings
    assert adopted.drift == ()


def test_settings_of_another_version_are_removed_by_repair_and_adopt(shop, raw, database):
    def change(row):
        row.parameters["view.sqlConfig.spark.sql.ansi.enabled"] = "false"

    for mend in (shop.repair_view, shop.adopt_view):
        alter(raw, database, "named", change)
        assert [item.field for item in shop.load_view(f"{database}.named").drift] == ["setting spark.sql.ansi.enabled"]
        assert shop.dependencies.check_view(f"{database}.named").validity is Validity.DRIFTED
        assert mend(f"{database}.named").drift == ()
        assert "view.sqlConfig.spark.sql.ansi.enabled" not in raw.get_table(database, "named").parameters


def test_adopt_keeps_column_renamed_in_row(shop, raw, database):
    alter(raw, database, "named", columns(("number", "bigint")))
    adopted = shop.adopt_view(f"{database}.named")
    assert [field.name for field in adopted.schema().fields] == ["number"]
    assert (adopted.original_text, adopted.drift) == ("SELECT id FROM orders\nWHERE total > 3", ())


def test_adopt_rejects_row_with_other_columns_than_text(shop, raw, database):
    """Plain Spark stored a star when the table had one column less."""
    before = shop.load_view(f"{database}.named").metadata_location
    alter_view_as(raw, database, "named", f"SELECT * FROM {database}.orders", ("id", "bigint"))
    with pytest.raises(InvalidViewError, match="its text now gives 2"):
        shop.adopt_view(f"{database}.named")
    assert shop.load_view(f"{database}.named").metadata_location == before


# -- RECOMPILE ----------------------------------------------------------------------------------------------------


def test_recompile_of_unchanged_view_commits_nothing(shop, database):
    before = shop.load_view(f"{database}.star")
    done = shop.recompile_view(f"{database}.star", analyzer=longs(shop, "", database))
    assert not done.changed
    assert shop.load_view(f"{database}.star").metadata_location == before.metadata_location


def test_recompile_adds_new_columns(shop, raw, database):
    alter(raw, database, "orders", columns(("fee", "bigint"), ("id", "bigint"), ("total", "bigint")))
    done = shop.recompile_view(f"{database}.star", analyzer=longs(shop, "", database))
    assert (done.changed, done.added, done.removed, done.retyped) == (True, ("fee",), (), ())
    star = shop.load_view(f"{database}.star")
    assert [field.name for field in star.schema().fields] == ["fee", "id", "total"]
    assert star.original_text == "SELECT *\nFROM orders"
    assert [entry.version_id for entry in star.history()] == [1, 2]
    assert shop.dependencies.check_view(f"{database}.star").validity is Validity.VALID


def test_recompile_of_unresolvable_view_changes_nothing(shop, raw, database):
    before = shop.load_view(f"{database}.named").metadata_location
    raw.drop_table(database, "orders", False)
    with pytest.raises(SqlError, match="orders"):
        shop.recompile_view(f"{database}.named", analyzer=longs(shop, "", database))
    assert shop.load_view(f"{database}.named").metadata_location == before


def test_recompile_records_uuid_of_recreated_table(shop, raw, database, hive_table):
    raw.drop_table(database, "orders", False)
    hive_table("orders", hive_views_uuid="11111111-2222-4333-8444-555555555555")
    done = shop.recompile_view(f"{database}.named", analyzer=longs(shop, "", database))
    assert done.changed
    assert shop.dependencies.lineage(f"{database}.named").by_uuid()[f"{database}.orders"].startswith("1111")


def by_schema(catalog, database, name, sql, *columns, **more):
    """Create a view as Spark or `hive-views create` do: column names and comments are only in its schema."""
    schema = Schema(*(NestedField(number, column, LongType(), doc=doc) for number, (column, doc) in enumerate(columns)))
    definition = define(sql, dialect="spark", default_namespace=(database,), **more)
    return catalog.create_view(f"{database}.{name}", schema, definition)


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT * FROM orders", ["x", "y"]),
        ("SELECT * FROM orders", ["total", "id"]),
        ("SELECT *, id + total FROM orders", ["x", "total", "s"]),
    ],
)
def test_recompile_does_not_rename_columns_by_star(shop, database, sql, names):
    before = by_schema(shop, database, "v", sql, *((name, None) for name in names))
    with pytest.raises(InvalidViewError, match="cannot be matched with those of its text"):
        shop.recompile_view(f"{database}.v")
    assert shop.load_view(f"{database}.v") == before


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT CAST(id AS bigint), total FROM orders", ["_c0", "total"]),
        ("SELECT * FROM (SELECT CAST(id AS bigint), total FROM orders) q", ["_c0", "total"]),
        ("SELECT * FROM (SELECT CAST(id AS bigint), id FROM orders) q", ["_c0", "id"]),
        ("SELECT CAST(id AS bigint), id FROM orders", ["_c0", "id"]),
        ("SELECT *, bigint(1) x, 2L FROM orders", ["id", "total", "x", "_c3"]),
    ],
)
def test_recompile_keeps_names_that_earlier_releases_gave(shop, database, sql, names):
    by_schema(shop, database, "v", sql, *((name, None) for name in names))
    shop.recompile_view(f"{database}.v", analyzer=longs(shop, "", database))
    assert [field.name for field in shop.load_view(f"{database}.v").schema().fields] == names


def test_recompile_after_a_new_column_keeps_such_a_name(shop, database, hive_table):
    by_schema(shop, database, "v", "SELECT *, 2L FROM orders", *((name, None) for name in ("id", "_c1")))
    shop.recompile_view(f"{database}.v", analyzer=longs(shop, "", database))
    assert [field.name for field in shop.load_view(f"{database}.v").schema().fields] == ["id", "total", "_c1"]


def test_recompile_keeps_spelling_and_comments(shop, database):
    by_schema(
        shop,
        database,
        "v",
        "SELECT id AS CustomerId, o.* FROM orders o",
        ("CustomerId", "who"),
        ("Id", "no"),
        ("TOTAL", None),
    )
    done = shop.recompile_view(f"{database}.v")
    assert (done.changed, done.added, done.removed, done.retyped) == (True, (), (), ())
    fields = [(field.name, field.doc) for field in shop.load_view(f"{database}.v").schema().fields]
    assert fields == [("CustomerId", "who"), ("Id", "no"), ("TOTAL", None)]
    assert not shop.recompile_view(f"{database}.v").changed


def test_recompile_keeps_nested_fields(shop, raw, database):
    """Ids, spelling and comments of nested fields do not make another type."""
    alter(
        raw,
        database,
        "orders",
        columns(("id", "bigint"), ("total", "bigint"), ("place", "struct<street:string,zip:int>")),
    )
    address = StructType(NestedField(7, "Street", StringType(), doc="and number"), NestedField(9, "Zip", IntegerType()))
    schema = Schema(NestedField(4, "id", LongType()), NestedField(5, "place", address))
    definition = define("SELECT id, place FROM orders", dialect="spark", default_namespace=(database,))
    shop.create_view(f"{database}.v", schema, definition)
    assert shop.recompile_view(f"{database}.v").retyped == ()
    kept = shop.load_view(f"{database}.v").schema().find_field("place").field_type
    assert [(field.name, field.doc) for field in kept.fields] == [("Street", "and number"), ("Zip", None)]


@pytest.mark.parametrize(
    ("sql", "default", "shown"),
    [
        ("SELECT id FROM elsewhere.{d}.orders", None, "elsewhere.{d}.orders"),
        ("SELECT id FROM orders", "elsewhere", "elsewhere.orders"),
    ],
)
def test_recompile_rejects_tables_of_other_catalogs(shop, database, sql, default, shown):
    before = by_schema(shop, database, "v", sql.format(d=database), ("id", None), default_catalog=default)
    with pytest.raises(SqlError, match="in another catalog") as caught:
        shop.recompile_view(f"{database}.v")
    assert (caught.value.name, caught.value.line, caught.value.column) == (shown.format(d=database), 1, 16)
    assert shop.load_view(f"{database}.v") == before


@pytest.mark.parametrize("allowed", ["true", "false"])
def test_recompile_rejects_loss_of_dialect(shop, database, allowed):
    definition = version(database, ("spark", "SELECT id FROM orders"), ("trino", "SELECT id FROM orders"))
    properties = {"replace.drop-dialect.allowed": allowed}
    schema = Schema(NestedField(1, "id", LongType()))
    before = shop.create_view(f"{database}.v", schema, definition, properties=properties)
    with pytest.raises(DialectLossError):
        shop.recompile_view(f"{database}.v")
    assert shop.load_view(f"{database}.v") == before


# -- Impact -------------------------------------------------------------------------------------------------------


def effects(catalog, identifier, new=None):
    return {item.view.name: item.effect for item in catalog.dependencies.impact(identifier, new)}


def test_impact_of_drop(shop, database):
    affected = {item.view.name: item for item in shop.dependencies.impact(f"{database}.orders")}
    assert {item.effect for item in affected.values()} == {Effect.BREAKS}
    assert set(affected) == {"star", "named", "over", "computed", "old"}
    assert "star" in affected["over"].reason
    assert (affected["named"].line, affected["named"].column) == (1, 16)


def test_impact_of_dropped_column(shop, database):
    assert effects(shop, f"{database}.orders", [("id", "bigint")]) == {
        "star": Effect.BREAKS,
        "named": Effect.BREAKS,
        "computed": Effect.BREAKS,
        "old": Effect.BREAKS,
        "over": Effect.BREAKS,
    }


def test_impact_of_new_column(shop, database):
    assert effects(shop, f"{database}.orders", [("id", "bigint"), ("total", "bigint"), ("note", "string")]) == {
        "star": Effect.FROZEN,
        "named": Effect.NONE,
        "computed": Effect.NONE,
        "old": Effect.NONE,
        "over": Effect.NONE,
    }


def test_impact_of_changed_type(shop, database):
    affected = {
        item.view.name: item
        for item in shop.dependencies.impact(f"{database}.orders", [("id", "bigint"), ("total", "double")])
    }
    assert affected["star"].types == (("total", "bigint", "double"),)
    assert affected["over"].types == (("total", "bigint", "double"),)  # passed on by a star
    assert affected["computed"].types == (("s", "bigint", "double"),)
    assert affected["named"].effect is Effect.NONE


def test_impact_changes_nothing(shop, raw, database):
    before = [raw.get_table(database, name) for name in sorted(raw.get_all_tables(database))]
    shop.dependencies.impact(f"{database}.orders")
    shop.dependencies.check_views(database)
    assert [raw.get_table(database, name) for name in sorted(raw.get_all_tables(database))] == before


# -- Strict mode --------------------------------------------------------------------------------------------------


@pytest.fixture
def strict(shop, open_catalog):
    return open_catalog({"hive-views.dependency-mode": "strict"})


def test_strict_mode_rejects_rename_with_dependents(strict, shop, database):
    with pytest.raises(DependentsError) as caught:
        strict.rename_view(f"{database}.star", f"{database}.other")
    assert caught.value.dependents == (f"{database}.over",)
    shop.rename_view(f"{database}.star", f"{database}.other")


def test_strict_mode_rejects_columns_that_break_dependents(strict, shop, database, view):
    with pytest.raises(DependentsError):
        view("star", "SELECT id FROM orders", replace=True, in_catalog=strict)
    assert len(shop.load_view(f"{database}.star").history()) == 1
    view("star", "SELECT id, total, id AS more FROM orders", replace=True, in_catalog=strict)
    with pytest.raises(DependentsError):
        loaded = strict.load_view(f"{database}.star")
        definition = strict.author(f"{database}.star", "SELECT total FROM orders", analyzer=longs(strict, "", database))
        loaded.update().replace_version(definition.version, definition.schema).commit()
    view("star", "SELECT id FROM orders", replace=True)
    assert validity(shop, database)["over"] == "invalid"


def test_strict_mode_rejects_table_rename_with_dependents(strict, catalog, database, view):
    catalog.create_table(f"{database}.sums", COLUMNS)
    view("top", "SELECT id FROM sums")
    with pytest.raises(DependentsError):
        strict.rename_table(f"{database}.sums", f"{database}.other")
    strict.drop_view(f"{database}.top")
    strict.rename_table(f"{database}.sums", f"{database}.other")
    assert catalog.table_exists(f"{database}.other")


SPARK = {"spark.sql.create.version": "4.1.4"}


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT id FROM csv.`file:/data/x`", "reads the files csv.`file:/data/x`"),
        ("SELECT count(*) AS id FROM prod.{d}.orders.snapshots", "it reads metadata of the table"),
        ("SELECT _metadata.file_size AS id FROM {d}.orders", "it reads Spark's column _metadata"),
        ("SELECT id FROM {d}.orders WHERE CAST(NULL AS VOID) IS NULL", "Cannot read the text"),
    ],
)
def test_views_of_what_only_spark_can_resolve_are_unknown(catalog, database, hive_table, hive_view, sql, reason):
    hive_table("orders")
    hive_view("v", sql.format(d=database), "id", **SPARK)
    checked = catalog.dependencies.check_view(f"{database}.v")
    assert checked.validity is Validity.UNKNOWN
    assert reason in checked.problems[0].reason
    missing = [node for node in catalog.dependencies.graph(database).nodes.values() if node.kind.value == "missing"]
    assert missing == [] or "snapshots" in sql


def test_views_over_tables_whose_columns_only_spark_records_are_valid(catalog, raw, database, hive_view):
    fields = [{"name": "Id", "type": "long", "nullable": True, "metadata": {}}]
    fields.append({"name": "nt", "type": "timestamp_ntz", "nullable": True, "metadata": {}})
    schema = json.dumps({"type": "struct", "fields": fields})
    parameters = {"spark.sql.sources.provider": "parquet", "spark.sql.sources.schema": schema}
    row = hive_row(database, "placeholder", "MANAGED_TABLE", **parameters)
    columns(("col", "array<string>"))(row)
    raw.create_table(row)
    hive_view("v", f"SELECT id, hour(nt) AS h FROM {database}.placeholder", "id", "h", **SPARK)
    assert catalog.columns(f"{database}.placeholder") == (("id", "bigint"), ("nt", "timestamp_ntz"))
    assert catalog.dependencies.check_view(f"{database}.v").problems == ()
