"""Columns as a user writes them (`name:type:comment`) and reads them: Iceberg's spellings of types, and Hive's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from hive_views.errors import SqlError, UsageError

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.types import IcebergType

OPTION = "--column"

_OPENING, _CLOSING = "<([", ">)]"


def parse_columns(texts: Sequence[str]) -> Schema:
    """Read columns.

    Args:
        texts: `name:type` or `name:type:comment` each. A type may be spelled as in Iceberg (`long`, `list<int>`) or as
            in Hive (`bigint`, `array<int>`, `struct<a:int,b:string>`).

    Returns:
        A schema of optional fields, with ids in their order.

    Raises:
        UsageError: If one cannot be read, or a name is given twice.
    """
    from pyiceberg.schema import Schema, assign_fresh_schema_ids
    from pyiceberg.types import NestedField

    fields = []
    for number, text in enumerate(texts, start=1):
        name, kind, comment = _split(text)
        fields.append(
            NestedField(field_id=number, name=name, field_type=parse_type(kind, text), required=False, doc=comment)
        )
    names = [field.name.lower() for field in fields]
    for field in fields:
        if names.count(field.name.lower()) > 1:
            raise UsageError(OPTION, f"the name {field.name} is given twice (case does not count)")
    return assign_fresh_schema_ids(Schema(*fields))


def parse_type(text: str, column: str) -> IcebergType:
    """Read a type.

    Args:
        text: E.g. `bigint`, `long`, `decimal(10,2)`, `map<string,array<int>>`. `timestamp` has no time zone, as in
            Iceberg and Hive; `timestamptz` and `timestamp with local time zone` have one.
        column: The column as the user wrote it, for the message.

    Returns:
        The Iceberg type; the ids of nested fields mean nothing yet.

    Raises:
        UsageError: If it is no type, or one that Iceberg does not have.
    """
    from hive_views.sql.types import iceberg_types

    try:
        return iceberg_types.parse_type(text)
    except SqlError as error:
        raise UsageError(OPTION, f"{column!r}: {error.reason}") from None


def type_text(kind: Any) -> str:
    """A type as people write it.

    Args:
        kind: A type as a metadata file has it: a name, or an object.

    Returns:
        E.g. `long`, `list<struct<a: int>>`; the name of a kind that is not known.
    """
    if isinstance(kind, str):
        return kind
    if kind["type"] == "list":
        return f"list<{type_text(kind['element'])}>"
    if kind["type"] == "map":
        return f"map<{type_text(kind['key'])}, {type_text(kind['value'])}>"
    if kind["type"] == "struct":
        return f"struct<{', '.join(_struct_fields(kind))}>"
    return str(kind["type"])


def _struct_fields(kind: dict[str, Any]) -> Iterator[str]:
    for field in kind["fields"]:
        yield f"{field['name']}: {type_text(field['type'])}"


def _split(text: str) -> tuple[str, str, str | None]:
    """Name, type and comment: at the first colon, and at the next one outside of brackets."""
    name, separator, rest = text.partition(":")
    depth = 0
    for index, character in enumerate(rest):
        depth += (character in _OPENING) - (character in _CLOSING)
        if character == ":" and depth == 0:
            kind, comment = rest[:index], rest[index + 1 :]
            break
    else:
        kind, comment = rest, ""
    if not separator or not name.strip() or not kind.strip():
        raise UsageError(OPTION, f"{text!r} is not of the form name:type or name:type:comment")
    return name.strip(), kind.strip(), comment.strip() or None
