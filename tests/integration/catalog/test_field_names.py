"""Names of fields in structs that rows do not quote."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, NestedField, StructType

from hive_views import HiveViewCatalog
from hive_views.errors import EngineRequirementError, MetastoreRefusedError, UnreadableColumnWarning
from hive_views.local_metastore.embedded import EMBEDDED_VERSION
from tests.conftest import SERVER
from tests.integration.materialized.duck_engine import DuckEngine

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
        assert catalog.dependencies.check_view((database, view)).problems == ()
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
    found = {
        item.engine for item in catalog.dependencies.check_engines((database, "v")) if " in its name" in item.construct
    }
    assert ("spark" in found, "hive" in found) == (name not in READ_BY_SPARK, name not in READ_BY_HIVE)
    required = query.replace(".v AS", ".w TBLPROPERTIES ('hive-views.require-engines' = 'spark') AS")
    if name not in READ_BY_SPARK:
        with pytest.raises(EngineRequirementError, match="the type of column s"):
            catalog.execute(required)


@pytest.mark.parametrize("name", NAMES)
def test_tables_with_fields_of_any_name_are_committed(name: str, catalog: HiveViewCatalog, database: str) -> None:
    """Hive 2.3 parses the types of the row before and after a change of a table, and rejects some names."""
    schema = Schema(NestedField(1, "s", StructType(NestedField(2, name, IntegerType()))))
    catalog.create_table((database, "t"), schema)
    for color in ("blue", "red"):
        with catalog.load_table((database, "t")).transaction() as transaction:
            transaction.set_properties(color=color)
        assert catalog.load_table((database, "t")).properties["color"] == color
    [column] = catalog.store.client.get_table(database, "t").sd.cols
    assert (column.name, column.type) == ("s", f"struct<{name}:int>")


@pytest.mark.parametrize("layout", ["registered", "attached", "table"])
@pytest.mark.parametrize("name", ["my-f", "a:b"])
@pytest.mark.filterwarnings("ignore::hive_views.errors.UnreadableColumnWarning")
def test_materialized_views_with_fields_of_any_name_are_refreshed(
    name: str, layout: str, catalog: HiveViewCatalog, database: str
) -> None:
    table = catalog.create_table((database, "t"), Schema(NestedField(1, "id", IntegerType())))
    query = f"SELECT named_struct('{name}', id) AS s FROM {database}.t"
    catalog.materialized.create((database, "mv"), query, layout=layout)
    for value in (1, 2):
        table.append(pa.table({"id": pa.array([value], pa.int32())}))
        catalog.materialized.load((database, "mv")).refresh(DuckEngine(catalog))
    stored = catalog.materialized.load((database, "mv")).storage.scan().to_arrow().to_pylist()
    assert sorted(row["s"][name] for row in stored) == [1, 2]


def test_rename_of_table_with_unparsable_type_is_certainly_rejected(catalog: HiveViewCatalog, database: str) -> None:
    schema = Schema(NestedField(1, "s", StructType(NestedField(2, "my-f", IntegerType()))))
    catalog.create_table((database, "t"), schema)
    if SERVER.startswith(EMBEDDED_VERSION):
        with pytest.raises(MetastoreRefusedError, match="struct<my-f:int>"):
            catalog.rename_table((database, "t"), (database, "u"))
        assert catalog.list_tables(database) == [(database, "t")]
    else:
        catalog.rename_table((database, "t"), (database, "u"))
        assert catalog.list_tables(database) == [(database, "u")]
