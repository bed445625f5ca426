"""The requirements of Iceberg's Java parsers on a view metadata file, independent of this package's reader.

From ViewMetadataParser, ViewVersionParser, ViewRepresentationParser, SQLViewRepresentationParser, SchemaParser,
ViewHistoryEntryParser and JsonUtil of apache/iceberg: `java_problems` gives what they would throw, or what makes a file
unusable or unwritable there.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any


def java_problems(document: dict[str, Any]) -> list[str]:
    """Everything that keeps Java from reading, using or rewriting a file; empty for a good one."""
    return list(_metadata(document))


def _metadata(document: dict[str, Any]) -> Iterator[str]:
    yield from _required(document, {"view-uuid": str, "format-version": int, "location": str})
    yield from _required(document, {"schemas": list, "current-version-id": int, "versions": list, "version-log": list})
    yield from _string_map(document, "properties")
    uuid.UUID(document["view-uuid"])
    if document["format-version"] != 1:
        yield "Unsupported format version"
    for schema in document["schemas"]:
        yield from _required(schema, {"type": str, "schema-id": int, "fields": list})
        for field in schema["fields"]:
            yield from _required(field, {"id": int, "name": str, "required": bool})
            if field.get("type") is None:
                yield "Cannot parse missing field: type"
    for version in document["versions"]:
        yield from _required(version, {"version-id": int, "schema-id": int, "timestamp-ms": int})
        yield from _required(version, {"representations": list, "default-namespace": list})
        yield from _string_map(version, "summary")
        for representation in version["representations"]:
            yield from _required(representation, {"type": str})
            if representation["type"].lower() != "sql":
                yield "Cannot serialize unsupported view representation"
            yield from _required(representation, {"sql": str, "dialect": str})
    for entry in document["version-log"]:
        yield from _required(entry, {"timestamp-ms": int, "version-id": int})
    schema_ids = [schema["schema-id"] for schema in document["schemas"]]
    version_ids = [version["version-id"] for version in document["versions"]]
    if len(set(schema_ids)) < len(schema_ids) or len(set(version_ids)) < len(version_ids):
        yield "Multiple entries with same key"  # ImmutableMap.Builder, in versionsById and schemasById
    if document["current-version-id"] not in version_ids:
        yield "Cannot find current version"
    for version in document["versions"]:
        if version["schema-id"] not in schema_ids:
            yield "Cannot find current schema"


def _required(holder: dict[str, Any], types: dict[str, type]) -> Iterator[str]:
    for key, expected_type in types.items():
        if type(holder.get(key)) is not expected_type:
            yield f"Cannot parse {key}: {holder.get(key)}"
    for key in ("version-id", "schema-id", "current-version-id", "id"):
        if type(holder.get(key)) is int and not -(2**31) <= holder[key] < 2**31:
            yield f"Cannot parse to an integer value: {key}"


def _string_map(holder: dict[str, Any], key: str) -> Iterator[str]:
    if not all(type(value) is str for value in holder[key].values()):
        yield f"Cannot parse to a string value: {key}"
