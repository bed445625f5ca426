"""Metadata documents and values that the tests of the view format share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField
from pyiceberg.view import metadata as iceberg

from hive_views.spec.changes import AddVersion, Change, SetProperties, apply, create
from hive_views.spec.json_codec import read_document
from hive_views.spec.metadata import SQLViewRepresentation, ViewMetadata, ViewRepresentation, ViewVersion

GOLDEN = Path(__file__).parent / "golden"
UUID = "fa6506c3-7681-40c8-86dc-e36561f83385"
NOW = 1_700_000_000_000
NAME = "sales.top"


def golden(name: str) -> Any:
    """The document of a golden file."""
    return json.loads((GOLDEN / name).read_text())


def document(**changed: Any) -> dict[str, Any]:
    """A small valid document of today's format; keyword arguments replace top-level keys ('_' for '-')."""
    return {
        "view-uuid": UUID,
        "format-version": 1,
        "location": "s3://bucket/sales.db/top",
        "properties": {"comment": "the best"},
        "schemas": [
            {
                "type": "struct",
                "schema-id": 0,
                "fields": [
                    {"id": 1, "name": "x", "required": True, "type": "long"},
                    {"id": 2, "name": "y", "required": False, "type": "string", "doc": "why"},
                ],
            }
        ],
        "current-version-id": 1,
        "versions": [
            {
                "version-id": 1,
                "timestamp-ms": 1000,
                "schema-id": 0,
                "summary": {"engine-name": "spark"},
                "default-catalog": "prod",
                "default-namespace": ["sales"],
                "representations": [{"type": "sql", "sql": "select x, y from t", "dialect": "spark"}],
            }
        ],
        "version-log": [{"timestamp-ms": 1000, "version-id": 1}],
        **{key.replace("_", "-"): value for key, value in changed.items()},
    }


def metadata(**changed: Any) -> ViewMetadata:
    """The metadata of `document(**changed)`."""
    return read_document(document(**changed), "file:/top.metadata.json")


def text(sql: str, dialect: str = "spark", **more: Any) -> ViewRepresentation:
    """A SQL representation."""
    return ViewRepresentation(SQLViewRepresentation(type="sql", sql=sql, dialect=dialect, **more))


def version(*texts: ViewRepresentation | str, **more: Any) -> ViewVersion:
    """A version as a caller passes it; a string is a text for Spark."""
    given: dict[str, Any] = {
        "version_id": 1,
        "schema_id": 0,
        "timestamp_ms": 0,
        "summary": {"user": "some-user"},
        "representations": [text(item) if isinstance(item, str) else item for item in texts],
        "default_catalog": "prod",
        "default_namespace": ("default",),
    }
    return ViewVersion(**{**given, **more})


def iceberg_version(sql: str, dialect: str = "spark", **more: Any) -> iceberg.ViewVersion:
    """A version of PyIceberg's own class."""
    representation = iceberg.ViewRepresentation(iceberg.SQLViewRepresentation(type="sql", sql=sql, dialect=dialect))
    given = {"schema_id": 0, "representations": [representation], "default_namespace": ("default",), "timestamp_ms": 5}
    return iceberg.ViewVersion(**{**given, **more})


def schema(*names: str, schema_id: int = 0) -> Schema:
    """A schema of columns of type long; without names it has one column, x."""
    fields = [
        NestedField(index, name, LongType(), required=True) for index, name in enumerate(names or ("x",), start=1)
    ]
    return Schema(*fields, schema_id=schema_id)


def created(*definitions: ViewVersion, properties: dict[str, str] | None = None) -> ViewMetadata:
    """The metadata of a new view with the given definition, or `select 1`."""
    (definition,) = definitions or (version("select 1"),)
    return create(
        identifier=NAME,
        uuid=UUID,
        location="file:/top",
        schema=schema(),
        version=definition,
        properties=properties or {},
        now_ms=NOW,
    )


# -- Changes ----------------------------------------------------------------------------------------------------------

LATER = NOW + 5000


def changed(base: ViewMetadata, *changes: Change, now_ms: int = LATER) -> ViewMetadata:
    """Apply changes to the metadata of a view called `NAME`."""
    return apply(base, changes, identifier=NAME, now_ms=now_ms)


def add(*texts: ViewRepresentation | str, columns: Schema | None = None, **more: Any) -> AddVersion:
    """Add `version(*texts, **more)`, with the column x unless others are given."""
    return AddVersion(columns or schema(), version(*texts, **more))


def keep(entries: int) -> SetProperties:
    """Set how many versions are kept."""
    return SetProperties({"version.history.num-entries": str(entries)})


def ids(value: ViewMetadata) -> list[int]:
    """The ids of the versions."""
    return [item.version_id for item in value.versions]


def log(value: ViewMetadata) -> list[int]:
    """The version ids of the log."""
    return [entry.version_id for entry in value.version_log]
