"""Hive's names of Iceberg's types (Iceberg Java: TestHiveSchemaUtil)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.schema import Schema
from pyiceberg.types import (
    DecimalType,
    FixedType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestamptzType,
)

from hive_views.errors import InvalidViewError
from hive_views.metastore.rows.types import hive_columns
from hive_views.spec.schemas import schema_from_pyiceberg
from hive_views.sql.types.names import hive_name

PRIMITIVES = {
    "boolean": "boolean",
    "int": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "date": "date",
    "time": "string",
    "timestamp": "timestamp",
    "timestamptz": "timestamp with local time zone",
    "string": "string",
    "uuid": "string",
    "binary": "binary",
    "fixed[16]": "binary",
    "decimal(10, 2)": "decimal(10,2)",
    "decimal(38,0)": "decimal(38,0)",
    "variant": "unknown",
}


@pytest.mark.parametrize(("iceberg", "hive"), PRIMITIVES.items())
def test_hive_type_of_primitive(iceberg: str, hive: str) -> None:
    assert hive_name(iceberg) == hive


def test_hive_type_of_primitive_for_hive_2() -> None:
    assert hive_name("timestamptz", hive2_compatible=True) == "timestamp"
    assert hive_name("timestamp", hive2_compatible=True) == "timestamp"


@pytest.mark.parametrize(
    "iceberg", ["timestamp_ns", "timestamptz_ns", "geometry", "geography(srid:4326)", "unknown", "x"]
)
def test_type_missing_in_hive(iceberg: str) -> None:
    for kind in (iceberg, {"type": "list", "element-id": 1, "element": iceberg, "element-required": False}):
        with pytest.raises(KeyError) as caught:
            hive_name(kind)
        assert caught.value.args == (iceberg,)


def test_hive_type_of_nested() -> None:
    nested = StructType(
        NestedField(2, "a", ListType(3, DecimalType(9, 3))),
        NestedField(4, "M", MapType(5, StringType(), 6, StructType(NestedField(7, "x y", FixedType(3))))),
        NestedField(8, "größe", TimestamptzType()),
    )
    schema = Schema(NestedField(1, "s", nested, doc="dök"), NestedField(9, "id", LongType(), required=True))
    assert hive_columns(schema_from_pyiceberg(schema), "d.v") == [
        (
            "s",
            "struct<a:array<decimal(9,3)>,M:map<string,struct<x y:binary>>,größe:timestamp with local time zone>",
            "dök",
        ),
        ("id", "bigint", None),
    ]
    assert hive_columns(schema_from_pyiceberg(schema), "d.v", hive2_compatible=True)[0][1].endswith("größe:timestamp>")


@pytest.mark.parametrize(
    ("names", "reason"),
    [(["a", "b", "A"], "columns 'a' and 'A'"), (["straße", "STRASSE"], None), (["Ü", "ü"], "columns 'Ü' and 'ü'")],
)
def test_column_names_differing_only_in_case(names: list[str], reason: str | None) -> None:
    fields = [{"id": index, "name": name, "required": False, "type": "int"} for index, name in enumerate(names)]
    schema = {"type": "struct", "schema-id": 0, "fields": fields}
    if reason is None:
        assert [column for column, _, _ in hive_columns(schema, "d.v")] == names
        return
    with pytest.raises(InvalidViewError, match=reason) as caught:
        hive_columns(schema, "d.v")
    assert caught.value.identifier == "d.v"


def test_error_names_the_column() -> None:
    odd = {"type": "list", "element-id": 3, "element": "timestamp_ns", "element-required": True}
    fields = [
        {"id": 1, "name": "a", "required": False, "type": "int"},
        {"id": 2, "name": "at", "required": False, "type": odd},
    ]
    with pytest.raises(InvalidViewError, match="column 'at': Hive has no type for Iceberg's timestamp_ns; cast it"):
        hive_columns({"type": "struct", "schema-id": 0, "fields": fields}, "d.v")


def types(depth: int = 3) -> st.SearchStrategy[tuple[Any, str]]:
    """Generate Iceberg types as JSON with Hive's names."""
    primitive = st.sampled_from(sorted(PRIMITIVES.items()))
    if depth == 0:
        return primitive
    inner = types(depth - 1)
    names = st.text("abcXYZ_", min_size=1, max_size=4)
    lists = inner.map(
        lambda item: (
            {"type": "list", "element-id": 1, "element": item[0], "element-required": False},
            f"array<{item[1]}>",
        )
    )
    maps = st.tuples(inner, inner).map(
        lambda pair: (
            {
                "type": "map",
                "key-id": 1,
                "key": pair[0][0],
                "value-id": 2,
                "value": pair[1][0],
                "value-required": False,
            },
            f"map<{pair[0][1]},{pair[1][1]}>",
        )
    )
    structs = st.lists(st.tuples(names, inner), min_size=1, max_size=3, unique_by=lambda item: item[0]).map(
        lambda items: (
            {
                "type": "struct",
                "fields": [
                    {"id": index, "name": name, "required": False, "type": kind[0]}
                    for index, (name, kind) in enumerate(items)
                ],
            },
            f"struct<{','.join(f'{name}:{kind[1]}' for name, kind in items)}>",
        )
    )
    return primitive | lists | maps | structs


@given(types())
def test_missing_types_within_nested_types(pair: tuple[Any, str]) -> None:
    iceberg, hive = pair
    assert hive_name(iceberg) == hive
