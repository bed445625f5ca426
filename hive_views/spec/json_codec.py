"""A metadata file's JSON document, and the `ViewMetadata` that it stands for.

Read: today's format, and the earlier draft (reference: Iceberg View Spec), whose documents are lifted into today's
form. Written: one document that readers of both accept, today's required keys and the draft's. Nothing is coerced,
nothing is invented, and what is unknown is kept.

| the draft's form | becomes |
|---|---|
| no `view-uuid` | a UUID derived from `location` (version 5), the same at every read |
| a version without `schema-id` | `current-schema-id` |
| `default-namespace`, `default-catalog` in representations only | the version's, from its first SQL text that has one |
| no `default-namespace` anywhere (a draft's file only) | the version's is empty |

Other keys of the draft stay where they are; those of the summary (`operation`, `engineVersion`) are entries like any.
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
from hive_views.spec.schemas import is_id, shown

MAX_DEPTH = 200
"""The most levels of objects and lists inside each other that a document may have; a column in a struct costs three."""


def read(document: object, location: str) -> ViewMetadata:
    """Make metadata of a JSON document."""
    if type(document) is not dict:
        raise InvalidMetadataError(location, "", f"it must hold a JSON object, not {shown(document)}")
    lifted = dict(document)
    current_schema_id = lifted.pop("current-schema-id", None)
    if "current-schema-id" in document and not is_id(current_schema_id):
        raise InvalidMetadataError(
            location, "current-schema-id", f"it must be an integer (32 bits), not {shown(current_schema_id)}"
        )
    is_draft = "view-uuid" not in lifted
    if is_draft:
        lifted["view-uuid"] = _derived_uuid(lifted.get("location"), location)
    if "properties" in lifted:
        _check_strings(lifted["properties"], location, "properties")
    versions = lifted.get("versions")
    if type(versions) is list:
        lifted["versions"] = [
            _lift_version(version, current_schema_id, is_draft, location, f"versions[{index}]")
            for index, version in enumerate(versions)
        ]
    try:
        metadata = ViewMetadata.model_validate(lifted, by_alias=True, by_name=False, context={"location": location})
    except ValidationError as error:
        raise InvalidMetadataError(location, *first_problem(error)) from None
    if current_schema_id is not None and metadata.raw_schema(current_schema_id) is None:
        known = sorted(schema["schema-id"] for schema in metadata.raw_schemas)
        raise InvalidMetadataError(
            location, "current-schema-id", f"there is no schema {current_schema_id}; the file holds {known}"
        )
    return metadata


def write(metadata: ViewMetadata) -> dict[str, Any]:
    """Make the JSON document of metadata."""
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
    """Make the JSON object of a version."""
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
    """Make the JSON object of a representation."""
    document: dict[str, Any] = {}
    for name, field in type(representation).model_fields.items():
        if name in representation.model_fields_set:
            value = getattr(representation, name)
            document[field.alias or name] = list(value) if type(value) is tuple else value
    document.update(representation.model_extra or {})
    return document


def nests_deeper(value: object, levels: int) -> bool:
    """Whether a JSON value holds objects or lists inside each other at more levels than the given ones."""
    inner: list[Any] = [value] if type(value) in (dict, list) else []
    for _ in range(levels):
        if not inner:
            return False
        children = (child for item in inner for child in (item.values() if type(item) is dict else item))
        inner = [child for child in children if type(child) in (dict, list)]
    return bool(inner)


def first_problem(error: ValidationError) -> tuple[str, str]:
    """What pydantic found wrong first."""
    problem = error.errors(include_url=False, include_context=False)[0]
    if problem["type"] == "missing":
        return _path(problem["loc"]), "it is missing"
    return _path(problem["loc"]), f"{problem['msg']}, not {shown(problem['input'])}"


def _derived_uuid(view_location: object, location: str) -> str:
    if type(view_location) is not str:
        raise InvalidMetadataError(location, "location", f"it must be a string, not {shown(view_location)}")
    return str(uuid.uuid5(uuid.NAMESPACE_URL, view_location.encode("utf-8", "replace").decode()))


def _lift_version(version: Any, current_schema_id: int | None, is_draft: bool, location: str, path: str) -> Any:
    if type(version) is not dict:
        return version  # the model refuses it
    lifted = dict(version)
    if "schema-id" not in version and current_schema_id is not None:
        lifted["schema-id"] = current_schema_id
    if "summary" in version:
        _check_strings(version["summary"], location, f"{path}.summary")
    representations = version.get("representations")
    if type(representations) is not list:
        return lifted
    lifted["representations"] = representations = [_lift_representation(item) for item in representations]
    if "default-namespace" not in version:
        texts = [item for item in representations if type(item) is dict and item.get("type") == "sql"]
        for key in ("default-namespace", "default-catalog"):
            given = next((item[key] for item in texts if item.get(key) is not None), None)
            if given is not None:
                lifted.setdefault(key, given)
        if is_draft:
            lifted.setdefault("default-namespace", [])
    return lifted


def _lift_representation(representation: Any) -> Any:
    # Java takes the type in any case and writes it in lower case (ViewRepresentationParser).
    kind = representation.get("type") if type(representation) is dict else None
    if type(kind) is str and kind != "sql" and kind.lower() == "sql":
        return {**representation, "type": "sql"}
    return representation


def _check_strings(value: object, location: str, path: str) -> None:
    # Ahead of pydantic, which would collect an error for each of a million wrong entries.
    if type(value) is not dict:
        raise InvalidMetadataError(location, path, f"it must be an object of strings, not {shown(value)}")
    for key, item in value.items():
        if type(item) is not str:
            raise InvalidMetadataError(location, path + _step(key), f"it must be a string, not {shown(item)}")


_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def _step(key: int | str) -> str:
    if type(key) is int:
        return f"[{key}]"
    return f".{key}" if _PLAIN_KEY.fullmatch(str(key)) else f"[{json.dumps(key)}]"


def _path(steps: tuple[int | str, ...]) -> str:
    # Behind a representation's index pydantic names the kind that it took it for, which is no key of the document.
    named = [step for index, step in enumerate(steps) if index < 2 or steps[index - 2] != "representations"]
    return "".join(map(_step, named)).removeprefix(".")
