from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    GeographyType,
    GeometryType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    UnknownType,
    UUIDType,
)

from hive_views.errors import InvalidMetadataError
from hive_views.spec import schemas
from tests.unit.spec import strategies

EVERY_TYPE = [
    BinaryType(),
    BooleanType(),
    DateType(),
    DecimalType(10, 2),
    DoubleType(),
    FixedType(4),
    FloatType(),
    GeographyType(),
    GeometryType(),
    IntegerType(),
    LongType(),
    StringType(),
    TimeType(),
    TimestampType(),
    TimestampNanoType(),
    TimestamptzType(),
    TimestamptzNanoType(),
    UUIDType(),
    UnknownType(),
    ListType(101, StringType(), element_required=False),
    MapType(102, StringType(), 103, ListType(104, LongType()), value_required=True),
    StructType(NestedField(105, "inner", DecimalType(38, 9), required=True, doc="deep")),
]

BASE: dict[str, Any] = {
    "type": "struct",
    "schema-id": 0,
    "identifier-field-ids": [1, 2],
    "fields": [
        {"id": 1, "name": "a", "required": True, "type": "decimal(10, 2)", "doc": "the a"},
        {
            "id": 2,
            "name": "m",
            "required": False,
            "type": {
                "type": "map",
                "key-id": 3,
                "key": "string",
                "value-id": 4,
                "value": {"type": "struct", "fields": [{"id": 5, "name": "v", "required": False, "type": "variant"}]},
                "value-required": False,
            },
        },
        {
            "id": 6,
            "name": "l",
            "required": False,
            "type": {"type": "list", "element-id": 7, "element": "int", "element-required": True},
        },
    ],
}


def changed(*path: str | int, value: Any) -> dict[str, Any]:
    copied = copy.deepcopy(BASE)
    holder: Any = copied
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    return copied


def test_pyiceberg_types_round_trip() -> None:
    fields = [NestedField(index, f"c{index}", kind, required=False) for index, kind in enumerate(EVERY_TYPE, start=1)]
    schema = Schema(*fields, schema_id=3, identifier_field_ids=[])
    document = schemas.schema_from_pyiceberg(schema)
    schemas.check_schema(document, "file", "schemas[0]")
    assert document["schema-id"] == 3
    assert "identifier-field-ids" not in document
    assert schemas.schema_to_pyiceberg(document, "file", "schemas[0]") == schema


def test_identifier_fields_and_defaults_come_back() -> None:
    schema = Schema(NestedField(1, "a", LongType(), required=True, initial_default=7), identifier_field_ids=[1])
    document = schemas.schema_from_pyiceberg(schema)
    assert document["identifier-field-ids"] == [1]
    assert document["fields"][0]["initial-default"] == 7
    assert schemas.schema_to_pyiceberg(document, "file", "p") == schema


SAME: list[dict[str, Any]] = [
    BASE,
    changed("schema-id", value=9),
    changed("identifier-field-ids", value=[2, 1]),
    changed("fields", 0, "type", value="decimal(10,2)"),
    changed("fields", 0, "x-unknown", value=1),
    changed("fields", 1, "doc", value=None),
    changed("new-key", value={}),
]
DIFFERENT: list[dict[str, Any]] = [
    changed("identifier-field-ids", value=[1]),
    changed("identifier-field-ids", value=None),
    changed("fields", value=BASE["fields"][:2]),
    changed("fields", 0, "id", value=9),
    changed("fields", 0, "name", value="A"),
    changed("fields", 0, "required", value=False),
    changed("fields", 0, "type", value="decimal(10, 3)"),
    changed("fields", 0, "doc", value="another"),
    changed("fields", 0, "doc", value=None),
    changed("fields", 0, "initial-default", value="1.00"),
    changed("fields", 0, "write-default", value=1),
    changed("fields", 1, "type", "value", value="variant"),
    changed("fields", 1, "type", "value-required", value=True),
    changed("fields", 1, "type", "value", "fields", 0, "type", value="string"),
    changed("fields", 2, "type", "element-id", value=8),
    changed("fields", 2, "type", value={"type": "future"}),
]


@pytest.mark.parametrize("other", SAME)
def test_schemas_with_the_same_columns_are_the_same(other: dict[str, Any]) -> None:
    assert schemas.is_same_schema(BASE, other)
    assert schemas.is_same_schema(other, BASE)


@pytest.mark.parametrize("other", DIFFERENT)
def test_schemas_with_different_columns_are_not_equal(other: dict[str, Any]) -> None:
    assert not schemas.is_same_schema(BASE, other)
    assert not schemas.is_same_schema(other, BASE)


def test_default_values_and_unknown_types_are_compared_as_json() -> None:
    one, true = (changed("fields", 0, "write-default", value=value) for value in (1, True))
    assert not schemas.is_same_schema(one, true)
    new, reordered = (
        changed("fields", 0, "type", value=value) for value in ({"type": "f", "a": 1}, {"a": 1, "type": "f"})
    )
    assert schemas.is_same_schema(new, reordered)


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("variant", "s.fields[0].type"),
        ("", "s.fields[0].type"),
        (
            {"type": "list", "element-id": 4, "element": "decimal(x)", "element-required": True},
            "s.fields[0].type.element",
        ),
        (
            {"type": "struct", "fields": [{"id": 3, "name": "n", "required": False, "type": {"type": "new"}}]},
            "s.fields[0].type.fields[0].type",
        ),
    ],
)
def test_type_unknown_to_pyiceberg_is_named_by_error(kind: Any, path: str) -> None:
    document = {"type": "struct", "schema-id": 0, "fields": [{"id": 1, "name": "a", "required": False, "type": kind}]}
    schemas.check_schema(document, "file", "s")
    with pytest.raises(InvalidMetadataError, match="does not have the type") as caught:
        schemas.schema_to_pyiceberg(document, "file", "s")
    assert caught.value.path == path


@strategies.relaxed
@given(strategies.schemas())
def test_any_schema_is_converted_or_refused_with_our_error(document: dict[str, Any]) -> None:
    schemas.check_schema(document, "file", "s")
    assert schemas.is_same_schema(document, copy.deepcopy(document))
    try:
        converted = schemas.schema_to_pyiceberg(document, "file", "s")
    except InvalidMetadataError as error:
        assert error.location == "file"
    else:
        assert [field.name for field in converted.fields] == [field["name"] for field in document["fields"]]


@strategies.relaxed
@given(strategies.json_values)
def test_checking_any_value_raises_our_error_or_nothing(value: object) -> None:
    try:
        schemas.check_schema(value, "file", "s")
    except InvalidMetadataError as error:
        assert error.path.startswith("s")
