"""The columns of a view as its row has them: names, Hive types and comments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hive_views.config import CatalogConfig
from hive_views.errors import InvalidViewError
from hive_views.identifiers import ViewName
from hive_views.spec.metadata import ViewMetadata
from hive_views.spec.version_texts import partition_columns
from hive_views.sql.types.names import hive_name

MAX_COMMENT_LENGTH = 256
"""The longest comment of a column that every metastore stores."""


def check_columns(name: ViewName, metadata: ViewMetadata, config: CatalogConfig) -> None:
    """Reject a view whose current columns a row cannot represent, before anything is written."""
    columns = [column.lower() for column, _, _ in column_definitions(name, metadata, config)]
    partition_names = partition_columns(metadata.current_version())
    if partition_names and not are_last(partition_names, columns):
        raise InvalidViewError(
            str(name),
            f"PARTITIONED ON names {', '.join(partition_names)}, which must be its last columns, behind at least one "
            f"other. It has {', '.join(columns)}",
        )


def view_columns(name: ViewName, metadata: ViewMetadata, config: CatalogConfig) -> list[tuple[str, str]]:
    """Return name and Hive type of a view's columns, as in its row."""
    return [(column, kind) for column, kind, _ in column_definitions(name, metadata, config)]


def column_definitions(
    name: ViewName, metadata: ViewMetadata, config: CatalogConfig
) -> list[tuple[str, str, str | None]]:
    """Return name, Hive type and comment of a view's columns, as in its row."""
    columns = hive_columns(current_schema(metadata), str(name), hive2_compatible=config.hive2_compatible)
    return [(column, kind, row_comment(comment)) for column, kind, comment in columns]


def row_comment(comment: str | None) -> str | None:
    """Return a column's comment as a row has it: cut to what each metastore stores; the metadata file keeps all.

    Hive 4.1.0 and 4.2.0 refuse longer ones, and 3.1.3 on MariaDB cuts them without an error. Java's databases count
    characters beyond U+FFFF twice.
    """
    if comment is None or len(encoded := comment.encode("utf-16-le", "surrogatepass")) <= 2 * MAX_COMMENT_LENGTH:
        return comment
    return encoded[: 2 * (MAX_COMMENT_LENGTH - 3)].decode("utf-16-le", "ignore") + "..."


def are_last(names: tuple[str, ...], columns: list[str]) -> bool:
    """Return whether names are the last columns, behind at least one other."""
    return len(names) < len(columns) and columns[len(columns) - len(names) :] == list(names)


def current_schema(metadata: ViewMetadata) -> dict[str, Any]:
    """Return the current schema of a view as JSON."""
    schema = metadata.raw_schema(metadata.current_schema_id)
    assert schema is not None, "every version's schema-id was checked when the metadata was created"
    return schema


def hive_columns(
    schema: Mapping[str, Any], identifier: str, *, hive2_compatible: bool = False
) -> list[tuple[str, str, str | None]]:
    """Return name, Hive type and comment of each column of a schema."""
    columns: list[tuple[str, str, str | None]] = []
    names: dict[str, str] = {}
    for field in schema["fields"]:
        name = field["name"]
        if name.lower() in names:
            raise InvalidViewError(
                identifier,
                f"columns {names[name.lower()]!r} and {name!r}: names in a Hive Metastore are case-insensitive",
            )
        names[name.lower()] = name
        try:
            kind = hive_name(field["type"], hive2_compatible=hive2_compatible, field_name=str)
            columns.append((name, kind, field.get("doc")))
        except KeyError as error:
            raise InvalidViewError(
                identifier, f"column {name!r}: Hive has no type for Iceberg's {error.args[0]}; cast it in the query"
            ) from None
    return columns
