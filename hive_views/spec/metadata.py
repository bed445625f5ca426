"""A view's metadata as frozen values: what a view metadata file holds.

The attributes are named as PyIceberg's (`pyiceberg.view.metadata`), and versions, log entries and representations are
instances of PyIceberg's classes. Unlike PyIceberg's, these values keep everything that they were read from: unknown
keys at any level (pydantic's `model_extra`), unknown kinds of representation, and column types that PyIceberg does not
know. A view catalog rewrites the files of other engines, so whatever it dropped would be lost.

Values are frozen, and their lists and dicts must not be changed either: `hive_views.spec.changes` makes new values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Discriminator, Field, Tag, ValidationInfo, model_validator
from pyiceberg.schema import Schema
from pyiceberg.typedef import IcebergBaseModel
from pyiceberg.view import metadata as iceberg
from typing_extensions import Self

from hive_views.errors import InvalidMetadataError
from hive_views.spec import schemas as stored_schemas

INT_MAX = 2**31 - 1
"""The largest id: Java reads ids as int."""

GENERATED_DIALECTS = "hive-views.generated-dialects"
"""Summary key of ours: comma-separated dialects whose text was derived from an authored one, and may be again."""

Id = Annotated[int, Field(ge=-(2**31), le=INT_MAX)]
Milliseconds = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
Namespace = Annotated[tuple[str, ...], Field(strict=False, fail_fast=True)]
"""A JSON array is a tuple here, as in PyIceberg; its elements must be strings all the same."""


def _kebab_case(name: str) -> str:
    return name.replace("_", "-")


_KEEP_ALL = ConfigDict(extra="allow", strict=True, alias_generator=_kebab_case)
"""Unknown keys are kept, and nothing is coerced: "1" and true are no integers."""


class SQLViewRepresentation(iceberg.SQLViewRepresentation):
    """The text of a view in one dialect of SQL.

    The optional fields are the earlier draft's (reference: Iceberg View Spec, SQL representation). Today's format has
    the defaults in the version and the column names and comments in the schema; readers of today pass over these.
    """

    model_config = _KEEP_ALL

    default_catalog: str | None = None
    """Catalog of references without one; a draft's file may have it here alone."""
    default_namespace: Namespace | None = None
    """Namespace of references that are a single identifier; a draft's file may have it here alone."""
    field_aliases: Annotated[list[str], Field(fail_fast=True)] | None = None
    """Column names that the author gave in front of AS; None where the author gave none."""
    field_comments: Annotated[list[str | None], Field(fail_fast=True)] | None = None
    """Column comments that the author gave in front of AS, None for a column without one."""


def _not_sql(kind: str) -> str:
    if kind.lower() == "sql":
        raise ValueError("a representation of type sql is a SQLViewRepresentation")
    return kind


class UnknownViewRepresentation(IcebergBaseModel):
    """A representation of a type that this package does not know; all its keys are kept (`model_extra`).

    Java reads such a file, but refuses to write it (ViewRepresentationParser).
    """

    model_config = _KEEP_ALL

    type: Annotated[str, AfterValidator(_not_sql)]
    """What kind of representation it is; anything but `sql`."""

    @property
    def dialect(self) -> str:
        """Empty: no SQL dialect. PyIceberg's `View.sql_for` asks each representation for one."""
        return ""


def _representation_kind(value: Any) -> str:
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return "sql" if kind == "sql" else "unknown"


class ViewRepresentation(iceberg.ViewRepresentation):
    """One way to express a view's definition."""

    model_config = ConfigDict(strict=True)

    root: Annotated[  # type: ignore[assignment]  # PyIceberg knows SQL representations only
        Annotated[SQLViewRepresentation, Tag("sql")] | Annotated[UnknownViewRepresentation, Tag("unknown")],
        Discriminator(_representation_kind),
    ]
    """The representation itself."""


class ViewVersion(iceberg.ViewVersion):
    """The state of a view at some point in time. Versions are immutable: any other definition is another version."""

    model_config = _KEEP_ALL

    version_id: Id
    """ID for the version."""
    schema_id: Id
    """ID of the schema for the view version."""
    timestamp_ms: Milliseconds
    """When the version was created (milliseconds from the epoch)."""
    summary: dict[str, str]
    """A string to string map of summary metadata about the version."""
    representations: Annotated[list[ViewRepresentation], Field(fail_fast=True)]  # type: ignore[assignment]  # a list of ours
    """The view's definition, expressed in one way or more."""
    default_catalog: str | None = None
    """Catalog of references without one; None is the catalog in which the view is stored."""
    default_namespace: Namespace
    """Namespace of references that are a single identifier; empty where a draft's file names none."""

    @property
    def operation(self) -> str:
        """What made this version, `create` or `replace`: the summary says so, else its id does (Java's ViewVersion)."""
        return self.summary.get("operation") or ("create" if self.version_id == 1 else "replace")

    @property
    def sql_representations(self) -> list[SQLViewRepresentation]:
        """The representations that are SQL texts, in their order."""
        return [item.root for item in self.representations if isinstance(item.root, SQLViewRepresentation)]

    @property
    def dialects(self) -> list[str]:
        """The dialects that the version has a text for: in lower case, in their order, each once."""
        return list(dict.fromkeys(item.dialect.lower() for item in self.sql_representations))

    @property
    def generated_dialects(self) -> frozenset[str]:
        """The dialects, in lower case, whose text was derived from an authored one; see `GENERATED_DIALECTS`."""
        named = self.summary.get(GENERATED_DIALECTS, "")
        return frozenset(part.strip().lower() for part in named.split(",") if part.strip())


class ViewHistoryEntry(iceberg.ViewHistoryEntry):
    """One change of which version is current."""

    model_config = _KEEP_ALL

    timestamp_ms: Milliseconds
    """When the version was made current (milliseconds from the epoch)."""
    version_id: Id
    """ID of the version that was made current. The version itself may have expired since."""


class ViewMetadata(IcebergBaseModel):
    """All that a view metadata file holds.

    A value is always consistent: ids are unique, and each reference names something that is there (but for entries of
    the version log, which outlive their versions). Making one that is not raises InvalidMetadataError; a field of
    another type raises pydantic's ValidationError.
    """

    model_config = _KEEP_ALL

    view_uuid: str
    """A UUID that identifies the view; it never changes."""
    format_version: Annotated[int, Field(ge=1, le=1)]
    """Version of the view format; must be 1."""
    location: Annotated[str, Field(min_length=1)]
    """The view's base location; used to create metadata file locations."""
    raw_schemas: list[dict[str, Any]] = Field(validation_alias="schemas", serialization_alias="schemas")
    """The known schemas as JSON objects, just as the file has them."""
    current_version_id: Id
    """ID of the current version of the view."""
    versions: Annotated[list[ViewVersion], Field(fail_fast=True)]
    """The known versions of the view."""
    version_log: Annotated[list[ViewHistoryEntry], Field(fail_fast=True)]
    """Every change of which version is current, oldest first."""
    properties: dict[str, str] = Field(default_factory=dict)
    """A string to string map of view properties."""

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> Self:
        # A file that is read names itself; the view's own location stands for a value that is made otherwise.
        location: str = (info.context or {}).get("location", self.location)
        if not _UUID.fullmatch(self.view_uuid):
            raise InvalidMetadataError(
                location, "view-uuid", f"it must be a UUID, not {stored_schemas.shown(self.view_uuid)}"
            )
        for index, schema in enumerate(self.raw_schemas):
            stored_schemas.check(schema, location, f"schemas[{index}]")
        known_schemas = _unique_ids(
            (schema["schema-id"] for schema in self.raw_schemas), location, "schemas", "schema-id"
        )
        known_versions = _unique_ids(
            (version.version_id for version in self.versions), location, "versions", "version-id"
        )
        if not known_versions:
            raise InvalidMetadataError(location, "versions", "a view has at least one version")
        for index, version in enumerate(self.versions):
            if version.schema_id not in known_schemas:
                raise _dangling(version.schema_id, known_schemas, "schema", location, f"versions[{index}].schema-id")
        if self.current_version_id not in known_versions:
            raise _dangling(self.current_version_id, known_versions, "version", location, "current-version-id")
        return self

    def version(self, version_id: int) -> ViewVersion | None:
        """Give a version by its id.

        Args:
            version_id: Its id.

        Returns:
            The version; None where the metadata does not hold it (any more).
        """
        return next((version for version in self.versions if version.version_id == version_id), None)

    def current_version(self) -> ViewVersion:
        """The version that readers get."""
        return next(version for version in self.versions if version.version_id == self.current_version_id)

    @property
    def current_schema_id(self) -> int:
        """ID of the current version's schema.

        The draft's key `current-schema-id` is written from it. Where a file's key says otherwise the version counts, as
        it does for today's readers, which do not know the key.
        """
        return self.current_version().schema_id

    def raw_schema(self, schema_id: int) -> dict[str, Any] | None:
        """Give a schema as the JSON object that the file has, whatever types it holds.

        Args:
            schema_id: Its id.

        Returns:
            The object, not a copy; None where the metadata does not hold it.
        """
        return next((schema for schema in self.raw_schemas if schema["schema-id"] == schema_id), None)

    def schema(self, schema_id: int) -> Schema | None:  # type: ignore[override]  # shadows BaseModel's deprecated method
        """Give a schema by its id; it is converted when it is first asked for.

        Args:
            schema_id: Its id.

        Returns:
            The schema; None where the metadata does not hold it.

        Raises:
            InvalidMetadataError: If the schema holds something that PyIceberg cannot represent, such as a type that it
                does not know. `raw_schema` gives such a schema.
        """
        schema = self._converted_schemas.get(schema_id)
        if schema is None:
            for index, raw in enumerate(self.raw_schemas):
                if raw["schema-id"] == schema_id:
                    schema = stored_schemas.to_pyiceberg(raw, self.location, f"schemas[{index}]")
                    self._converted_schemas[schema_id] = schema
        return schema

    def current_schema(self) -> Schema:
        """The schema of the current version.

        Raises:
            InvalidMetadataError: As `schema` does.
        """
        schema = self.schema(self.current_schema_id)
        assert schema is not None, "every version's schema-id was checked when this value was made"
        return schema

    @property
    def schemas(self) -> list[Schema]:
        """All known schemas.

        Raises:
            InvalidMetadataError: As `schema` does, for any of them.
        """
        found = (self.schema(raw["schema-id"]) for raw in self.raw_schemas)
        return [schema for schema in found if schema is not None]

    @cached_property
    def _converted_schemas(self) -> dict[int, Schema]:
        return {}

    def irregularities(self) -> tuple[str, ...]:
        """What the format does not allow but Java reads all the same, so that we read it too.

        Returns:
            A path and a sentence for each; empty for a regular file.
        """
        found = []
        for index, version in enumerate(self.versions):
            seen: set[str] = set()
            for place, item in enumerate(version.representations):
                path = f"versions[{index}].representations[{place}]"
                representation = item.root
                if isinstance(representation, UnknownViewRepresentation):
                    found.append(f"{path}.type: {representation.type!r} is unknown; Java cannot write such a file")
                    continue
                dialect = representation.dialect.lower()
                if dialect in seen:
                    found.append(f"{path}.dialect: another text for {dialect!r}; a version may have only one")
                seen.add(dialect)
                if representation.default_namespace not in (None, version.default_namespace):
                    found.append(f"{path}.default-namespace: it differs from the version's, which today's readers use")
                if representation.default_catalog not in (None, version.default_catalog):
                    found.append(f"{path}.default-catalog: it differs from the version's, which today's readers use")
        return tuple(found)

    def to_pyiceberg(self) -> iceberg.ViewMetadata:
        """Convert to PyIceberg's own value, which has no place for unknown keys and unknown representations.

        Returns:
            PyIceberg's metadata, without them.

        Raises:
            InvalidMetadataError: As `schemas` does.
        """
        return iceberg.ViewMetadata.model_validate(
            {
                "view-uuid": self.view_uuid,
                "format-version": self.format_version,
                "location": self.location,
                "schemas": self.schemas,
                "current-version-id": self.current_version_id,
                "versions": [_pyiceberg_version(version) for version in self.versions],
                "version-log": [
                    {"timestamp-ms": entry.timestamp_ms, "version-id": entry.version_id} for entry in self.version_log
                ],
                "properties": self.properties,
            }
        )


_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE | re.ASCII)


def _unique_ids(ids: Iterable[int], location: str, holder: str, key: str) -> set[int]:
    seen: set[int] = set()
    for index, number in enumerate(ids):
        if number in seen:
            raise InvalidMetadataError(location, f"{holder}[{index}].{key}", f"another one has the id {number} already")
        seen.add(number)
    return seen


def _dangling(number: int, known: set[int], what: str, location: str, path: str) -> InvalidMetadataError:
    return InvalidMetadataError(location, path, f"there is no {what} {number}; the file holds {sorted(known)}")


def _pyiceberg_version(version: ViewVersion) -> dict[str, Any]:
    return {
        "version-id": version.version_id,
        "schema-id": version.schema_id,
        "timestamp-ms": version.timestamp_ms,
        "summary": version.summary,
        "representations": [
            {"type": "sql", "sql": item.sql, "dialect": item.dialect} for item in version.sql_representations
        ],
        "default-catalog": version.default_catalog,
        "default-namespace": version.default_namespace,
    }
