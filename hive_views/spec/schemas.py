"""Schemas as the JSON objects of a metadata file: validation, comparison, and conversion to PyIceberg's `Schema`.

Metadata stores them as JSON objects because PyIceberg's `Schema` drops unknown keys and rejects unknown types (such as
`variant`). The required keys are those of Java's SchemaParser.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError
from pyiceberg.exceptions import ValidationError as IcebergValidationError
from pyiceberg.schema import Schema

from hive_views.errors import InvalidMetadataError


def check_schema(schema: object, location: str, path: str) -> None:
    """Check that a schema has the keys that Java requires, with values of their types. Type names are not checked."""
    if type(schema) is not dict:
        raise InvalidMetadataError(location, path, f"it must be an object, not {shorten(schema)}")
    if schema.get("type") != "struct":
        raise _invalid_key(schema, "type", "the string 'struct'", location, path)
    if not is_id(schema.get("schema-id")):
        raise _invalid_key(schema, "schema-id", "an integer (32 bits)", location, path)
    identifiers = schema.get("identifier-field-ids")
    if identifiers is not None and not (type(identifiers) is list and all(map(is_id, identifiers))):
        raise _invalid_key(schema, "identifier-field-ids", "a list of integers (32 bits)", location, path)
    _check_fields(schema, location, path)


def is_id(value: object) -> bool:
    """Return whether a JSON value is a 32-bit integer, as Java's ids; true and "1" are not."""
    return type(value) is int and -(2**31) <= value < 2**31


def shorten(value: object) -> str:
    """Return the repr of a value for a message, at most 60 characters long."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def is_same_schema(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether two schemas have the same columns, like Java's `Schema.sameSchema`.

    Compares id, name, type, comment, defaults and `required` of the columns, but neither unknown keys nor schema ids.
    """
    return (
        len(one["fields"]) == len(other["fields"])
        and frozenset(one.get("identifier-field-ids") or ()) == frozenset(other.get("identifier-field-ids") or ())
        and all(left == right for left, right in zip(_fields(one), _fields(other), strict=True))
    )


def schema_to_pyiceberg(schema: dict[str, Any], location: str, path: str) -> Schema:
    """Convert a JSON object to PyIceberg's schema."""
    try:
        return Schema(**schema)
    except _CONVERSION_ERRORS as error:
        unknown = next(_unknown_types(schema, path), None)
        if unknown is None:
            raise InvalidMetadataError(location, path, f"PyIceberg does not accept the schema: {error}") from error
        path, kind = unknown
        raise InvalidMetadataError(
            location,
            path,
            f"PyIceberg does not have the type {shorten(kind)}. `raw_schema` returns the schema unconverted",
        ) from error


def schema_from_pyiceberg(schema: Schema) -> dict[str, Any]:
    """Convert PyIceberg's schema to a JSON object."""
    document = json.loads(schema.model_dump_json())
    identifiers = document.pop("identifier-field-ids", None)
    return {
        "type": "struct",
        "schema-id": document.pop("schema-id"),
        **({"identifier-field-ids": identifiers} if identifiers else {}),
        **document,
    }


def _invalid_key(parent: dict[str, Any], key: str, expected: str, location: str, path: str) -> InvalidMetadataError:
    actual = f"not {shorten(parent[key])}" if key in parent else "it is missing"
    return InvalidMetadataError(location, f"{path}.{key}", f"it must be {expected}; {actual}")


def _check_fields(struct: dict[str, Any], location: str, path: str) -> None:
    fields = struct.get("fields")
    if type(fields) is not list:
        raise _invalid_key(struct, "fields", "a list", location, path)
    for index, field in enumerate(fields):
        if type(field) is not dict:
            raise InvalidMetadataError(
                location, f"{path}.fields[{index}]", f"it must be an object, not {shorten(field)}"
            )
        if not is_id(field.get("id")):
            raise _invalid_key(field, "id", "an integer (32 bits)", location, f"{path}.fields[{index}]")
        if type(field.get("name")) is not str:
            raise _invalid_key(field, "name", "a string", location, f"{path}.fields[{index}]")
        if type(field.get("required")) is not bool:
            raise _invalid_key(field, "required", "true or false", location, f"{path}.fields[{index}]")
        if type(field.get("doc", "")) is not str and field["doc"] is not None:
            raise _invalid_key(field, "doc", "a string", location, f"{path}.fields[{index}]")
        if type(field.get("type")) is not str:
            _check_type(field, "type", location, f"{path}.fields[{index}]")


def _check_type(parent: dict[str, Any], key: str, location: str, path: str) -> None:
    kind = parent.get(key)
    if type(kind) is str:
        return
    if type(kind) is not dict or type(kind.get("type")) is not str:
        raise _invalid_key(parent, key, "a type: its name, or an object that has a type", location, path)
    path = f"{path}.{key}"
    if kind["type"] == "struct":
        _check_fields(kind, location, path)
    for child in _CHILDREN.get(kind["type"], ()):
        if not is_id(kind.get(f"{child}-id")):
            raise _invalid_key(kind, f"{child}-id", "an integer (32 bits)", location, path)
        if child != "key" and type(kind.get(f"{child}-required")) is not bool:
            raise _invalid_key(kind, f"{child}-required", "true or false", location, path)
        _check_type(kind, child, location, path)


_CONVERSION_ERRORS = (
    ValidationError,
    IcebergValidationError,
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)
"""What PyIceberg raises on types and default values that it does not support."""

_CHILDREN = {"list": ("element",), "map": ("key", "value")}
"""The children of lists and maps; a map's keys are always required."""


def _fields(struct: dict[str, Any]) -> Iterator[tuple[object, ...]]:
    for field in struct["fields"]:
        yield (
            field["id"],
            field["name"],
            field["required"],
            _type(field["type"]),
            field.get("doc"),
            _value(field.get("initial-default")),
            _value(field.get("write-default")),
        )


def _type(kind: Any) -> object:
    if type(kind) is str:
        return kind.replace(" ", "")  # Java writes decimal(10, 2), others decimal(10,2)
    if kind["type"] == "struct":
        return "struct", tuple(_fields(kind))
    if kind["type"] in _CHILDREN:
        return kind["type"], tuple(
            (kind[f"{child}-id"], kind.get(f"{child}-required"), _type(kind[child]))
            for child in _CHILDREN[kind["type"]]
        )
    return _value(kind)


def _value(value: object) -> object:
    # As text, because 1 == 1.0 == True in Python.
    return None if value is None else json.dumps(value, sort_keys=True)


def _unknown_types(struct: dict[str, Any], path: str) -> Iterator[tuple[str, object]]:
    """Yield the types that PyIceberg does not have, each with its path."""
    for index, field in enumerate(struct["fields"]):
        yield from _unknown_type(field["type"], f"{path}.fields[{index}].type")


def _unknown_type(kind: Any, path: str) -> Iterator[tuple[str, object]]:
    if type(kind) is dict and kind["type"] == "struct":
        yield from _unknown_types(kind, path)
    elif type(kind) is dict and kind["type"] in _CHILDREN:
        for child in _CHILDREN[kind["type"]]:
            yield from _unknown_type(kind[child], f"{path}.{child}")
    elif type(kind) is dict:
        yield path, kind
    else:
        try:
            Schema(fields=[{"id": 1, "name": "x", "required": False, "type": kind}])
        except _CONVERSION_ERRORS:
            yield path, kind
