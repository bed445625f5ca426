"""Changes to a view's metadata as values, and the functions that apply them.

After a conflict, a commit applies its changes again to the newer base. The rules are those of Iceberg's
`ViewMetadata.Builder`, and in addition:

- **Ids.** The id of a new version is the highest id of the versions *and of the version log* plus one, so an id in the
  log never gets another meaning. The id of a new schema is the highest id plus one, from 0. Ids and timestamps in the
  caller's version and schema are ignored; the version's timestamp is the time of the change.
- **Reuse.** If the metadata has an equal version, that version becomes current, and none is added. Versions are equal
  if schema, default catalog, default namespace, unknown keys, the summary except `operation` (which follows from the
  history), and the representations in their order are equal. The defaults in a representation are compared by their
  effect, because Java drops them, and draft files may have defaults only there. `field-aliases` and `field-comments`
  are compared only if the new version has them: Java drops those too, and the schema has the same information.
- **Dialects.** A version with a generated text (`GENERATED_DIALECTS`) sets the view property
  `replace.drop-dialect.allowed=true`, unless it is set already: otherwise Spark's CREATE OR REPLACE VIEW, which writes
  one dialect only, would fail. A generated text may be dropped; an authored text only if the change allows it.
- **Order.** Properties, expiry and the check for lost dialects use the state after all changes, whatever their order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pydantic import ValidationError
from pyiceberg.schema import Schema
from pyiceberg.view import metadata as iceberg

from hive_views.errors import (
    DialectLossError,
    InvalidMetadataError,
    InvalidPropertyError,
    InvalidViewError,
    NoSuchVersionError,
)
from hive_views.spec.json_codec import MAX_DEPTH, describe_error, nests_deeper, representation_document
from hive_views.spec.metadata import (
    INT_MAX,
    SQLViewRepresentation,
    ViewHistoryEntry,
    ViewMetadata,
    ViewRepresentation,
    ViewVersion,
)
from hive_views.spec.schemas import check_schema, is_same_schema, schema_from_pyiceberg
from hive_views.spec.staleness_policy import synchronize_properties
from hive_views.spec.storage_link import restore_link

VERSION_HISTORY_SIZE = "version.history.num-entries"
VERSION_HISTORY_SIZE_DEFAULT = 10
"""View property (Iceberg's ViewProperties): the number of versions to keep."""

DROP_DIALECT_ALLOWED = "replace.drop-dialect.allowed"
DROP_DIALECT_ALLOWED_DEFAULT = False
"""View property (Iceberg's ViewProperties): whether a new current version may lack a dialect of the previous one."""


@dataclass(frozen=True)
class AddVersion:
    """Make a definition the current version; add a version unless the metadata has an equal one."""

    schema: Schema | Mapping[str, Any]
    """The columns. A mapping is the JSON object of a schema, for types that PyIceberg does not have."""
    version: iceberg.ViewVersion
    """The texts and defaults: PyIceberg's class, or `hive_views.spec.metadata.ViewVersion`, which may have a column
    list."""
    may_lose_dialects: bool = False
    """Whether the version may lack an authored dialect of the current one."""


@dataclass(frozen=True)
class SetProperties:
    """Set and remove view properties; other properties are not changed."""

    updates: Mapping[str, str] = field(default_factory=dict)
    """Properties to set."""
    removals: frozenset[str] = frozenset()
    """Keys to remove; missing keys are ignored."""

    def __post_init__(self) -> None:
        """Reject values that cannot be stored, and keys that are both set and removed."""
        removals: object = self.removals
        if isinstance(removals, str):
            raise InvalidPropertyError(
                self.removals, None, "give the keys to remove as a collection, not as one string"
            )
        object.__setattr__(self, "updates", dict(self.updates))
        object.__setattr__(self, "removals", frozenset(self.removals))
        for key, value in [*self.updates.items(), *((key, "") for key in self.removals)]:
            if not _is_storable(key) or not _is_storable(value):
                raise InvalidPropertyError(key, value, "key and value must be strings of Unicode characters")
        for key in self.removals & self.updates.keys():
            raise InvalidPropertyError(key, self.updates[key], "Cannot remove and update the same key")


@dataclass(frozen=True)
class SetLocation:
    """Change the base location, which determines where new metadata files are written."""

    location: str
    """The URI of the new base location."""


@dataclass(frozen=True)
class SetCurrentVersion:
    """Make an existing version the current one, e.g. for a rollback."""

    version_id: int
    """The version's id."""
    may_lose_dialects: bool = False
    """Whether the version may lack an authored dialect of the current one."""


Change: TypeAlias = AddVersion | SetProperties | SetLocation | SetCurrentVersion
"""A change that `apply` accepts."""


def create(
    *,
    identifier: str,
    uuid: str,
    location: str,
    schema: Schema | Mapping[str, Any],
    version: iceberg.ViewVersion,
    properties: Mapping[str, str],
    now_ms: int,
) -> ViewMetadata:
    """Create the metadata of a new view; `identifier` is its name, for messages."""
    builder = _MetadataBuilder(identifier, now_ms, None)
    for change in (SetProperties(properties), SetLocation(location), AddVersion(schema, version)):
        builder.add(change)
    return builder.build(uuid)


def apply(base: ViewMetadata, changes: Iterable[Change], *, identifier: str, now_ms: int) -> ViewMetadata:
    """Apply changes to metadata together; returns `base` itself if nothing changed."""
    builder = _MetadataBuilder(identifier, now_ms, base)
    for change in changes:
        builder.add(change)
    return builder.build(base.view_uuid)


def version_at(metadata: ViewMetadata, timestamp_ms: int) -> ViewVersion | None:
    """Return the version that was current at a given time; None if the log starts later, or the version has expired."""
    version_ids = [entry.version_id for entry in metadata.version_log if entry.timestamp_ms <= timestamp_ms]
    return metadata.version(version_ids[-1]) if version_ids else None


class _MetadataBuilder:
    """Applies changes to metadata; see the docstring of the module for the rules."""

    def __init__(self, identifier: str, now_ms: int, base: ViewMetadata | None) -> None:
        self._identifier = identifier
        self._now_ms = now_ms
        self._base = base
        self._location = base.location if base else ""
        self._properties = dict(base.properties) if base else {}
        self._schemas = list(base.raw_schemas) if base else []
        # Restores the field that writers without support for materialized views dropped (see `storage_link`).
        self._versions = [restore_link(version) for version in base.versions] if base else []
        self._added: set[int] = set()
        self._current_id = base.current_version_id if base else 0
        self._may_lose_dialects = False

    def add(self, change: Change) -> None:
        if isinstance(change, SetProperties):
            self._properties.update(change.updates)
            for key in change.removals:
                self._properties.pop(key, None)
        elif isinstance(change, SetLocation):
            if not _is_storable(change.location) or not change.location:
                raise self._invalid(f"its location must be a URI, not {change.location!r}")
            self._location = change.location
        elif isinstance(change, SetCurrentVersion):
            available = [version.version_id for version in self._versions]
            if change.version_id not in available:
                raise NoSuchVersionError(self._identifier, str(change.version_id), available)
            self._may_lose_dialects |= change.may_lose_dialects
            self._current_id = change.version_id
        else:
            self._may_lose_dialects |= change.may_lose_dialects
            self._current_id = self._add_version(change)

    def build(self, uuid: str) -> ViewMetadata:
        base = self._base
        self._properties = synchronize_properties(base.properties if base else {}, self._properties)
        if (
            base is not None
            and not self._added
            and (self._current_id, self._location, self._properties)
            == (base.current_version_id, base.location, base.properties)
            and all(new is old for new, old in zip(self._versions, base.versions, strict=True))
        ):
            return base
        self._check_dialects()
        if self._added and self._current().generated_dialects:
            # For other writers. Set after the check, so that it does not allow this change to drop a text.
            self._properties.setdefault(DROP_DIALECT_ALLOWED, "true")
        log = list(base.version_log) if base else []
        if base is None or self._current_id != base.current_version_id:
            # The log stays ordered if the clock was set back.
            timestamp_ms = max(self._now_ms, log[-1].timestamp_ms) if log else self._now_ms
            log.append(ViewHistoryEntry(timestamp_ms=timestamp_ms, version_id=self._current_id))
        max_versions = max(_history_size(self._properties), len(self._added | {self._current_id}))
        if len(self._versions) > max_versions:
            self._versions = _expire(self._versions, max_versions, self._current_id)
            log = _trim(log, {version.version_id for version in self._versions})
        return self._metadata(
            {
                "view-uuid": uuid,
                "format-version": 1,
                "location": self._location,
                "schemas": self._schemas,
                "current-version-id": self._current_id,
                "versions": self._versions,
                "version-log": log,
                "properties": self._properties,
                **((base.model_extra or {}) if base else {}),
            }
        )

    def _current(self) -> ViewVersion:
        return next(version for version in self._versions if version.version_id == self._current_id)

    def _metadata(self, document: dict[str, Any]) -> ViewMetadata:
        try:
            return ViewMetadata.model_validate(document, by_alias=True, by_name=False)
        except ValidationError as error:
            raise self._invalid(": ".join(describe_error(error))) from None
        except InvalidMetadataError as error:
            raise self._invalid(error.reason) from None

    def _invalid(self, reason: str) -> InvalidViewError:
        return InvalidViewError(self._identifier, reason)

    def _check_dialects(self) -> None:
        if self._base is None:
            return
        previous, new = self._base.current_version(), self._current()
        # In a view with a generated text the property is meant for other writers, whose replacements drop that text.
        # This package drops an authored text only if the change itself allows it.
        generated = previous.generated_dialects
        allowed = self._properties.get(DROP_DIALECT_ALLOWED, str(DROP_DIALECT_ALLOWED_DEFAULT)).lower() == "true"
        if self._may_lose_dialects or (allowed and not generated):
            return
        if not set(previous.dialects) - generated <= set(new.dialects):
            raise DialectLossError(
                self._identifier,
                previous.dialects,
                new.dialects,
                generated=generated,
                is_allowed_by_property=not generated,
            )

    def _add_version(self, change: AddVersion) -> int:
        schema = self._schema(change.schema)
        same_schema = next((existing for existing in self._schemas if is_same_schema(existing, schema)), None)
        if same_schema is not None:
            schema = same_schema
        else:
            highest = max((existing["schema-id"] for existing in self._schemas), default=-1)
            schema = {**schema, "schema-id": self._next_id("schema", highest, least=0)}
        version = self._version(change.version, schema)
        equal_ids = [existing.version_id for existing in self._versions if _is_equal_version(existing, version)]
        if equal_ids:
            return self._current_id if self._current_id in equal_ids else equal_ids[0]
        if same_schema is None:
            self._schemas.append(schema)
        self._versions.append(version)
        self._added.add(version.version_id)
        return version.version_id

    def _schema(self, schema: object) -> dict[str, Any]:
        """Return the JSON object of a caller's schema, with a provisional id."""
        if isinstance(schema, Schema):
            document = self._stored(schema_from_pyiceberg(schema))
        elif isinstance(schema, Mapping):
            document = self._stored({"type": "struct", **schema, "schema-id": 0})
            try:
                check_schema(document, self._location, "schema")
            except InvalidMetadataError as error:
                raise self._invalid(error.reason) from None
        else:
            raise self._invalid("it has no schema: pass its columns as a pyiceberg Schema")
        if not document["fields"]:
            raise self._invalid("its schema has no columns, but a query returns at least one")
        return document

    def _version(self, version: object, schema: dict[str, Any]) -> ViewVersion:
        """Return a caller's version as it will be written, with the next id."""
        if not isinstance(version, iceberg.ViewVersion):
            raise self._invalid("it has no definition: pass a ViewVersion")
        if getattr(version, "default_namespace", None) is None:
            raise self._invalid("it has no default namespace: set the database for unqualified names")
        used_ids = [existing.version_id for existing in self._versions]
        used_ids += [entry.version_id for entry in self._base.version_log] if self._base else []
        defaults = {"default-catalog": version.default_catalog, "default-namespace": list(version.default_namespace)}
        document = {
            **(version.model_extra or {}),
            **{key: value for key, value in defaults.items() if value is not None},
            "version-id": self._next_id("version", max(used_ids, default=0), least=1),
            "timestamp-ms": self._now_ms,
            "schema-id": schema["schema-id"],
            "summary": {**version.summary, "operation": "replace" if self._base else "create"},
            "representations": [
                self._representation(representation.root, defaults, len(schema["fields"]))
                for representation in version.representations
            ],
        }
        try:
            new_version = ViewVersion.model_validate(self._stored(document), by_alias=True, by_name=False)
        except ValidationError as error:
            raise self._invalid(": ".join(describe_error(error))) from None
        if not new_version.sql_representations:
            raise self._invalid("it has no query: pass a SQL text for at least one dialect")
        dialects = [text.dialect.lower() for text in new_version.sql_representations]
        for dialect in new_version.dialects:
            if dialects.count(dialect) > 1:
                raise self._invalid(f"Cannot add multiple queries for dialect {dialect}")
        return new_version

    def _representation(self, representation: Any, defaults: Mapping[str, Any], columns: int) -> dict[str, Any]:
        document = representation_document(representation)
        if not isinstance(representation, iceberg.SQLViewRepresentation):
            return document
        if not representation.sql.strip() or not representation.dialect:
            raise self._invalid("each of its texts needs a query and the name of its dialect")
        for key in ("field-aliases", "field-comments"):
            if document.get(key) is None:
                document.pop(key, None)
            elif len(document[key]) != columns:
                raise self._invalid(f"its {key} have {len(document[key])} entries; its schema has {columns} columns")
        for key, default in defaults.items():
            if document.get(key) not in (None, default):
                raise self._invalid(
                    f"the {key} of its {representation.dialect} text is {document[key]}, the version's is {default}; "
                    "the format has one for all texts"
                )
            document.pop(key, None)
            if default:
                document[key] = default
        return document

    def _next_id(self, kind: str, highest: int, *, least: int) -> int:
        if highest >= INT_MAX:
            raise self._invalid(f"its {kind} ids are used up: the highest is {highest}")
        return max(highest + 1, least)

    def _stored(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return a copy of a caller's document, as it will be read from a file."""
        try:
            copy = json.loads(json.dumps(document, ensure_ascii=False, allow_nan=False).encode())
        except (TypeError, ValueError, RecursionError) as error:
            raise self._invalid(f"it has a value that JSON in UTF-8 cannot represent: {error}") from error
        # In the document, versions and schemas are two levels deep.
        if nests_deeper(copy, MAX_DEPTH - 2):
            raise self._invalid(f"it nests values deeper than {MAX_DEPTH} levels")
        return dict(copy)


def _is_storable(value: object) -> bool:
    return isinstance(value, str) and not re.search("[\ud800-\udfff]", value)


def _history_size(properties: Mapping[str, str]) -> int:
    value = properties.get(VERSION_HISTORY_SIZE)
    if value is None:
        return VERSION_HISTORY_SIZE_DEFAULT
    if not re.fullmatch(r"\+?[0-9]{1,10}", value) or not 0 < int(value) <= INT_MAX:
        raise InvalidPropertyError(
            VERSION_HISTORY_SIZE, value, "it must be a positive integer: the number of versions to keep"
        )
    return int(value)


def _expire(versions: Sequence[ViewVersion], max_versions: int, current_id: int) -> list[ViewVersion]:
    """Keep the current version and those with the highest ids, in their order."""
    other_ids = sorted((version.version_id for version in versions if version.version_id != current_id), reverse=True)
    retained = {current_id, *other_ids[: max_versions - 1]}
    return [version for version in versions if version.version_id in retained]


def _trim(log: Iterable[ViewHistoryEntry], retained: set[int]) -> list[ViewHistoryEntry]:
    """Return the part of the log after the last entry for a version that is not retained."""
    trimmed: list[ViewHistoryEntry] = []
    for entry in log:
        if entry.version_id in retained:
            trimmed.append(entry)
        else:
            trimmed.clear()
    return trimmed


def _is_equal_version(existing: ViewVersion, new: ViewVersion) -> bool:
    """Return whether an existing version equals a new one; see **Reuse** in the docstring of the module."""
    return (
        (existing.schema_id, existing.default_catalog, existing.default_namespace)
        == (new.schema_id, new.default_catalog, new.default_namespace)
        and {**existing.summary, "operation": ""} == {**new.summary, "operation": ""}
        and _is_equal_json(existing.model_extra, new.model_extra)
        and len(existing.representations) == len(new.representations)
        and all(
            _is_equal_representation(existing_representation, new_representation, existing, new)
            for existing_representation, new_representation in zip(
                existing.representations, new.representations, strict=True
            )
        )
    )


def _is_equal_representation(
    existing: ViewRepresentation, new: ViewRepresentation, existing_version: ViewVersion, new_version: ViewVersion
) -> bool:
    left, right = existing.root, new.root
    if not isinstance(left, SQLViewRepresentation) or not isinstance(right, SQLViewRepresentation):
        return left.type == right.type and _is_equal_json(left.model_extra, right.model_extra)
    return (
        (left.sql, left.dialect, *_effective_defaults(left, existing_version))
        == (right.sql, right.dialect, *_effective_defaults(right, new_version))
        and right.field_aliases in (None, left.field_aliases)
        and right.field_comments in (None, left.field_comments)
        and _is_equal_json(left.model_extra, right.model_extra)
    )


def _effective_defaults(text: SQLViewRepresentation, version: ViewVersion) -> tuple[str | None, tuple[str, ...]]:
    catalog = version.default_catalog if text.default_catalog is None else text.default_catalog
    return catalog, version.default_namespace if text.default_namespace is None else text.default_namespace


def _is_equal_json(left: dict[str, Any] | None, right: dict[str, Any] | None) -> bool:
    # As text, because 1 == 1.0 == True in Python.
    return json.dumps(left or {}, sort_keys=True) == json.dumps(right or {}, sort_keys=True)
