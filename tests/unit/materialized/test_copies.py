"""Which definitions are copies of another materialized view."""

from __future__ import annotations

import uuid

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import IcebergType, LongType, NestedField, StringType, StructType

from hive_views.config import CatalogConfig
from hive_views.errors import InvalidPropertyError
from hive_views.identifiers import ViewName
from hive_views.materialized.copies import is_copy
from hive_views.materialized.layouts.layout import Layout
from hive_views.materialized.loading import LoadedMaterializedView
from hive_views.materialized.properties import COPIES, check_settings
from hive_views.metastore.rows.codec import new_row
from hive_views.metastore.rows.row import read_row
from hive_views.spec.changes import create
from hive_views.spec.version_texts import define

CONFIG = CatalogConfig.from_properties({"uri": "thrift://127.0.0.1:1"})
CATALOGS = frozenset({"prod", "spark_catalog"})
COLUMNS: dict[str, IcebergType] = {"id": LongType(), "shop": StringType(), "amount": LongType()}


def view(name: str, sql: str, columns: dict[str, IcebergType] = COLUMNS) -> LoadedMaterializedView:
    view_name = ViewName("db", name)
    fields = (NestedField(number, column, kind) for number, (column, kind) in enumerate(columns.items(), 1))
    metadata = create(
        identifier=str(view_name),
        uuid=str(uuid.uuid4()),
        location=f"file:/db/{name}",
        schema=Schema(*fields),
        version=define(sql, dialect="spark", default_namespace=["db"]),
        properties={},
        now_ms=1000,
    )
    row = read_row(new_row(view_name, metadata, f"file:/db/{name}/metadata/0.metadata.json", CONFIG, now_s=0))
    return LoadedMaterializedView(
        name=view_name, layout=Layout.REGISTERED, row=row, metadata=metadata, storage_name=None, storage=None
    )


MV = view("mv", "SELECT id, shop, amount FROM sales")


@pytest.mark.parametrize(
    "definition",
    [
        "SELECT id, shop, amount FROM mv",
        "SELECT `ID`, m.shop, amount AS amount FROM prod.db.mv AS m",
        "SELECT id, shop, amount FROM SPARK_CATALOG.db.mv",
    ],
)
def test_all_rows_and_columns_are_a_copy(definition: str) -> None:
    assert is_copy(view("copy", definition), MV, CATALOGS)


@pytest.mark.parametrize(
    "definition",
    [
        "SELECT id, shop, amount FROM mv WHERE id > 1",
        "SELECT DISTINCT id, shop, amount FROM mv",
        "SELECT id + 1 AS id, shop, amount FROM mv",
        "SELECT id, 'x' AS shop, amount FROM mv",
        "SELECT amount AS id, shop, id AS amount FROM mv",
        "SELECT id, shop, amount FROM mv LIMIT 2",
        "SELECT id, shop, amount FROM mv UNION ALL SELECT id, shop, amount FROM mv",
        "SELECT a.id, a.shop, a.amount FROM mv AS a JOIN mv AS b ON a.id = b.id",
        "SELECT id, shop, amount FROM sales",
        "SELECT mv.id, mv.shop, mv.amount FROM mv, sales",
        "SELECT id, shop, amount FROM mv GROUP BY id, shop, amount",
        "SELECT id, shop, amount FROM (SELECT id, shop, amount FROM mv WHERE id < 3) AS mv",
        "WITH mv AS (SELECT id, shop, amount FROM sales WHERE id = 1) SELECT id, shop, amount FROM mv",
        "SELECT id, shop, amount FROM mv TABLESAMPLE (100 PERCENT)",
        "SELECT id, shop, amount FROM other.db.mv",
        "SELECT id, shop, amount FROM mv AS m (amount, shop, id)",
        "SELECT id, shop, amount FROM mv UNPIVOT (amount FOR kind IN (a, b))",
    ],
)
def test_other_rows_or_columns_are_no_copy(definition: str) -> None:
    assert not is_copy(view("copy", definition), MV, CATALOGS)


@pytest.mark.parametrize(
    ("definition", "is_equal"),
    [
        ("SELECT s, a FROM mv", True),
        ("SELECT mv.s, db.mv.a FROM db.mv", True),
        ("SELECT s.s, s.a FROM mv AS s", True),
        ("SELECT s, s.a FROM mv", False),
        ("SELECT s, s.a AS a FROM db.mv AS mv", False),
        ("SELECT mv.s, `mv`.`s`.a AS a FROM db.mv", False),
        ("SELECT s.s, s.s.a FROM mv AS s", False),
    ],
)
def test_field_of_a_struct_with_the_name_of_a_column_is_no_copy(definition: str, is_equal: bool) -> None:
    columns = {"s": StructType(NestedField(3, "a", LongType(), required=False)), "a": LongType()}
    original = view("mv", "SELECT s, a FROM sales", columns)
    assert is_copy(view("copy", definition, columns), original, CATALOGS) == is_equal


def test_view_with_other_columns_or_the_same_name_is_no_copy() -> None:
    text = "SELECT id, shop, amount FROM mv"
    assert not is_copy(view("copy", text, {**COLUMNS, "id": StringType()}), MV, CATALOGS)
    assert not is_copy(view("mv", text), MV, CATALOGS)


def test_invalid_names_of_copies_are_rejected() -> None:
    with pytest.raises(InvalidPropertyError, match="names with commas between"):
        check_settings({COPIES: "a.b.c.d"})
