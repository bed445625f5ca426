"""Columns on the command line, `name:type:comment`, with Iceberg's or Hive's names of types."""

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
    """Parse columns, `name:type` or `name:type:comment`, into a schema of optional fields with consecutive ids."""
    from pyiceberg.schema import Schema, assign_fresh_schema_ids
    from pyiceberg.types import NestedField

    fields = []
    for number, text in enumerate(texts, start=1):
        name, kind, comment = _split(text)
        if not kind:
            raise UsageError(OPTION, f"{text!r} is not of the form name:type or name:type:comment")
        fields.append(
            NestedField(field_id=number, name=name, field_type=parse_type(kind, text), required=False, doc=comment)
        )
    _check_unique([field.name for field in fields])
    return assign_fresh_schema_ids(Schema(*fields))


def query_columns(texts: Sequence[str]) -> dict[str, Any]:
    """Return the arguments of `create_view_from_sql` for `name`, `name:type` or `name:type:comment`.

    The type may be empty.
    """
    if not texts:
        return {}
    names, kinds, comments = zip(*map(_split, texts), strict=True)
    _check_unique(names)
    types = [parse_type(kind, text) if kind else None for kind, text in zip(kinds, texts, strict=True)]
    return {"column_names": names, "column_comments": comments, "column_types": types}


def _check_unique(names: Sequence[str]) -> None:
    lowercase = [name.lower() for name in names]
    for name in names:
        if lowercase.count(name.lower()) > 1:
            raise UsageError(OPTION, f"the name {name} is given twice (case does not count)")


def parse_type(text: str, column: str) -> IcebergType:
    """Parse a type in Iceberg's or Hive's spelling, for a column as the user wrote it; nested ids are provisional."""
    from hive_views.sql.types import hive_types

    try:
        return hive_types.parse_type(text)
    except SqlError as error:
        raise UsageError(OPTION, f"{column!r}: {error.reason}") from None


def type_text(kind: Any) -> str:
    """Return the text of a type in a metadata file (a name or an object), such as `list<struct<a: int>>`."""
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
    """Split at the first colon, and at the next one outside brackets."""
    name, separator, rest = text.partition(":")
    depth = 0
    for index, character in enumerate(rest):
        depth += (character in _OPENING) - (character in _CLOSING)
        if character == ":" and depth == 0:
            kind, comment = rest[:index], rest[index + 1 :]
            break
    else:
        kind, comment = rest, ""
    if not name.strip() or (separator and not kind.strip() and not comment.strip()):
        raise UsageError(OPTION, f"{text!r} is not of the form name:type or name:type:comment")
    return name.strip(), kind.strip(), comment.strip() or None
