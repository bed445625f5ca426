"""Conversion between the JSON document of a metadata file and `ViewMetadata`.

Reads today's format, and the earlier draft of the specification (Iceberg View Spec), which is converted to today's
form. Writes one document that readers of both formats accept, with the required keys of both. Values are not coerced,
and unknown keys are preserved.

| the draft's form | becomes |
|---|---|
| no `view-uuid` | a UUID derived from `location` (version 5), the same at every read |
| a version without `schema-id` | the version's is `current-schema-id` |
| `default-namespace`, `default-catalog` in representations only | the version's, from its first SQL text that has one |
| no `default-namespace` anywhere (only in a draft file) | the version's is empty |

Other keys of the draft are not moved.
"""

from __future__ import annotations

import json
import re
import uuid
from typing import Any

from pydantic import BaseModel, ValidationError
from pyiceberg.view import metadata as iceberg

from hive_views.errors import InvalidMetadataError
from hive_views.spec.metadata import ViewMetadata
from hive_views.spec.schemas import is_id, shorten

MAX_DEPTH = 200
"""The maximum nesting depth of a document, in objects and lists; each nested struct adds three levels."""


def read_document(document: object, location: str) -> ViewMetadata:
    """Convert a JSON document to metadata."""
    if type(document) is not dict:
        raise InvalidMetadataError(location, "", f"it must be a JSON object, not {shorten(document)}")
    converted = dict(document)
    current_schema_id = converted.pop("current-schema-id", None)
    if "current-schema-id" in document and not is_id(current_schema_id):
        raise InvalidMetadataError(
            location, "current-schema-id", f"it must be an integer (32 bits), not {shorten(current_schema_id)}"
        )
    is_draft = "view-uuid" not in converted
    if is_draft:
        converted["view-uuid"] = _derived_uuid(converted.get("location"), location)
    if "properties" in converted:
        _check_strings(converted["properties"], location, "properties")
    versions = converted.get("versions")
    if type(versions) is list:
        converted["versions"] = [
            _convert_version(version, current_schema_id, is_draft, location, f"versions[{index}]")
            for index, version in enumerate(versions)
        ]
    try:
        metadata = ViewMetadata.model_validate(converted, by_alias=True, by_name=False, context={"location": location})
    except ValidationError as error:
        raise InvalidMetadataError(location, *describe_error(error)) from None
    if current_schema_id is not None and metadata.raw_schema(current_schema_id) is None:
        schema_ids = sorted(schema["schema-id"] for schema in metadata.raw_schemas)
        raise InvalidMetadataError(
            location, "current-schema-id", f"there is no schema {current_schema_id}; the file has {schema_ids}"
        )
    return metadata


def write_document(metadata: ViewMetadata) -> dict[str, Any]:
    """Convert metadata to a JSON document."""
    return {
        "view-uuid": metadata.view_uuid,
        "format-version": metadata.format_version,
        "location": metadata.location,
        "properties": metadata.properties,
        "schemas": metadata.raw_schemas,
        "current-schema-id": metadata.current_schema_id,
        "current-version-id": metadata.current_version_id,
        "versions": [version_document(version) for version in metadata.versions],
        "version-log": [
            {"timestamp-ms": entry.timestamp_ms, "version-id": entry.version_id, **(entry.model_extra or {})}
            for entry in metadata.version_log
        ],
        **(metadata.model_extra or {}),
    }


def version_document(version: iceberg.ViewVersion) -> dict[str, Any]:
    """Convert a version to a JSON object."""
    return {
        "version-id": version.version_id,
        "timestamp-ms": version.timestamp_ms,
        "schema-id": version.schema_id,
        "summary": version.summary,
        **({"default-catalog": version.default_catalog} if "default_catalog" in version.model_fields_set else {}),
        "default-namespace": list(version.default_namespace),
        "representations": [representation_document(representation.root) for representation in version.representations],
        **(version.model_extra or {}),
    }


def representation_document(representation: BaseModel) -> dict[str, Any]:
    """Convert a representation to a JSON object."""
    document: dict[str, Any] = {}
    for name, field in type(representation).model_fields.items():
        if name in representation.model_fields_set:
            value = getattr(representation, name)
            document[field.alias or name] = list(value) if type(value) is tuple else value
    document.update(representation.model_extra or {})
    return document


def nests_deeper(value: object, levels: int) -> bool:
    """Return whether a JSON value nests objects and lists deeper than the given number of levels."""
    inner: list[Any] = [value] if type(value) in (dict, list) else []
    for _ in range(levels):
        if not inner:
            return False
        children = (child for parent in inner for child in (parent.values() if type(parent) is dict else parent))
        inner = [child for child in children if type(child) in (dict, list)]
    return bool(inner)


def describe_error(error: ValidationError) -> tuple[str, str]:
    """Return the path and the message of pydantic's first validation error."""
    problem = error.errors(include_url=False, include_context=False)[0]
    if problem["type"] == "missing":
        return _path(problem["loc"]), "it is missing"
    return _path(problem["loc"]), f"{problem['msg']}, not {shorten(problem['input'])}"


def _derived_uuid(view_location: object, location: str) -> str:
    if type(view_location) is not str:
        raise InvalidMetadataError(location, "location", f"it must be a string, not {shorten(view_location)}")
    return str(uuid.uuid5(uuid.NAMESPACE_URL, view_location.encode("utf-8", "replace").decode()))


def _convert_version(version: Any, current_schema_id: int | None, is_draft: bool, location: str, path: str) -> Any:
    if type(version) is not dict:
        return version  # the model rejects it
    converted = dict(version)
    if "schema-id" not in version and current_schema_id is not None:
        converted["schema-id"] = current_schema_id
    if "summary" in version:
        _check_strings(version["summary"], location, f"{path}.summary")
    representations = version.get("representations")
    if type(representations) is not list:
        return converted
    converted["representations"] = representations = list(map(_convert_representation, representations))
    if "default-namespace" not in version:
        texts = [text for text in representations if type(text) is dict and text.get("type") == "sql"]
        for key in ("default-namespace", "default-catalog"):
            default = next((text[key] for text in texts if text.get(key) is not None), None)
            if default is not None:
                converted.setdefault(key, default)
        if is_draft:
            converted.setdefault("default-namespace", [])
    return converted


def _convert_representation(representation: Any) -> Any:
    # Java accepts the type in any case, and writes it in lower case (ViewRepresentationParser).
    kind = representation.get("type") if type(representation) is dict else None
    if type(kind) is str and kind != "sql" and kind.lower() == "sql":
        return {**representation, "type": "sql"}
    return representation


def _check_strings(value: object, location: str, path: str) -> None:
    # Checked before pydantic does, which would create an error for each of possibly many invalid entries.
    if type(value) is not dict:
        raise InvalidMetadataError(location, path, f"it must be an object of strings, not {shorten(value)}")
    for key, entry in value.items():
        if type(entry) is not str:
            raise InvalidMetadataError(location, path + _step(key), f"it must be a string, not {shorten(entry)}")


_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def _step(key: int | str) -> str:
    if type(key) is int:
        return f"[{key}]"
    return f".{key}" if _PLAIN_KEY.fullmatch(str(key)) else f"[{json.dumps(key)}]"


def _path(steps: tuple[int | str, ...]) -> str:
    # After the index of a representation pydantic adds the tag of its union, which is not a key of the document.
    keys = [step for index, step in enumerate(steps) if index < 2 or steps[index - 2] != "representations"]
    return "".join(map(_step, keys)).removeprefix(".")
