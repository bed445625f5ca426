"""Names of fields in structs that rows do not quote."""

from __future__ import annotations

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, NestedField, StructType

from hive_views import HiveViewCatalog
from hive_views.errors import EngineRequirementError, UnreadableColumnWarning

NAMES = ("my-f", "a b", "a.b", "a:b", "a,b", "a<b", "a>b", "a(b", "a`b", "1", "é", "select", "Ab", "`")
READ_BY_SPARK = {name for name in NAMES if not {*":,<`"} & {*name}}
READ_BY_HIVE = {"a b", "a.b", "1", "é", "select", "Ab"}


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


@pytest.mark.filterwarnings("ignore::hive_views.errors.UnreadableColumnWarning")
@pytest.mark.parametrize("name", NAMES)
def test_views_read_fields_of_any_name(name: str, catalog: HiveViewCatalog, database: str) -> None:
    struct = StructType(NestedField(2, name, IntegerType()), NestedField(3, "z", IntegerType()))
    catalog.create_table((database, "t"), Schema(NestedField(1, "s", struct)))
    field = quoted(name)
    for view, query in (
        ("made", f"SELECT named_struct('{name}', 1, 'z', 2) AS s"),
        ("star", f"SELECT * FROM {database}.made"),
        ("field", f"SELECT made.s.{field} AS f FROM {database}.made"),
        ("of_table", f"SELECT s, s.{field} + 1 AS f FROM {database}.t"),
        ("in_array", f"SELECT array(s) AS a, array(s).{field} AS f FROM {database}.t"),
    ):
        catalog.execute(f"CREATE VIEW {database}.{view} AS {query}")
        assert catalog.check_view((database, view)).problems == ()
    for view in ("made", "star"):
        [column] = catalog.load_view((database, view)).schema().fields
        assert isinstance(column.field_type, StructType)
        assert [field.name for field in column.field_type.fields] == [name, "z"]
    for view, column_name in (("field", "f"), ("of_table", "f")):
        kind = catalog.load_view((database, view)).schema().find_field(column_name).field_type
        assert isinstance(kind, IntegerType)


@pytest.mark.parametrize("name", NAMES)
def test_engines_that_cannot_read_a_name_are_reported(name: str, catalog: HiveViewCatalog, database: str) -> None:
    query = f"CREATE VIEW {database}.v AS SELECT named_struct('{name}', 1) AS s"
    if name in READ_BY_SPARK:
        catalog.execute(query)
    else:
        with pytest.warns(UnreadableColumnWarning, match=f"{database}.v: spark: refused: the type of column s"):
            catalog.execute(query)
    found = {item.engine for item in catalog.check_engines((database, "v")) if " in its name" in item.construct}
    assert ("spark" in found, "hive" in found) == (name not in READ_BY_SPARK, name not in READ_BY_HIVE)
    required = query.replace(".v AS", ".w TBLPROPERTIES ('hive-views.require-engines' = 'spark') AS")
    if name not in READ_BY_SPARK:
        with pytest.raises(EngineRequirementError, match="the type of column s"):
            catalog.execute(required)
