"""The contents of a view metadata file as frozen values.

The attributes have the same names as in PyIceberg (`pyiceberg.view.metadata`), and versions, log entries and
representations are instances of PyIceberg's classes. Unlike PyIceberg's classes, these preserve unknown keys at any
level (pydantic's `model_extra`), unknown types of representation, and unknown column types: a catalog rewrites files of
other engines, so a key that it dropped would be lost.

Values are frozen, and their lists and dicts must not be changed either; `hive_views.spec.changes` creates new values.
"""

# Without `from __future__ import annotations`, which would make pydantic evaluate each annotation from its text.

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
from hive_views.spec.schemas import check_schema, schema_to_pyiceberg, shorten

INT_MAX = 2**31 - 1
"""The largest id: in Java ids are of type int."""

GENERATED_DIALECTS = "hive-views.generated-dialects"
"""Summary key: comma-separated dialects whose text was generated from an authored one."""

Id = Annotated[int, Field(ge=-(2**31), le=INT_MAX)]
Milliseconds = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
Namespace = Annotated[tuple[str, ...], Field(strict=False, fail_fast=True)]
"""A JSON array of strings, as a tuple (as in PyIceberg)."""


def _kebab_case(name: str) -> str:
    return name.replace("_", "-")


_LOSSLESS = ConfigDict(extra="allow", strict=True, alias_generator=_kebab_case)
"""Unknown keys are preserved, and values are not coerced: "1" and true are not integers."""


class SQLViewRepresentation(iceberg.SQLViewRepresentation):
    """The text of a view in one SQL dialect.

    The optional fields belong to the earlier draft of the specification (Iceberg View Spec, SQL representation). In
    today's format the defaults are in the version, and names and comments in the schema; its readers ignore these.
    """

    model_config = _LOSSLESS

    default_catalog: str | None = None
    """Catalog of references without one. A draft file may have it only here."""
    default_namespace: Namespace | None = None
    """Namespace of references that are a single identifier. A draft file may have it only here."""
    field_aliases: Annotated[list[str], Field(fail_fast=True)] | None = None
    """Column names in the author's column list; None if there was none."""
    field_comments: Annotated[list[str | None], Field(fail_fast=True)] | None = None
    """Column comments in the author's column list, None for a column without one."""


def _not_sql(kind: str) -> str:
    if kind.lower() == "sql":
        raise ValueError("a representation of type sql is a SQLViewRepresentation")
    return kind


class UnknownViewRepresentation(IcebergBaseModel):
    """A representation of an unknown type; all its keys are preserved (`model_extra`).

    Iceberg's Java library reads such a file, but cannot write it (ViewRepresentationParser).
    """

    model_config = _LOSSLESS

    type: Annotated[str, AfterValidator(_not_sql)]
    """The type of the representation; anything but `sql`."""

    @property
    def dialect(self) -> str:
        """Empty. PyIceberg's `View.sql_for` reads the dialect of every representation."""
        return ""


def _representation_kind(value: Any) -> str:
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return "sql" if kind == "sql" else "unknown"


class ViewRepresentation(iceberg.ViewRepresentation):
    """A representation of a view's definition."""

    model_config = ConfigDict(strict=True)

    root: Annotated[  # type: ignore[assignment]  # PyIceberg has only SQL representations
        Annotated[SQLViewRepresentation, Tag("sql")] | Annotated[UnknownViewRepresentation, Tag("unknown")],
        Discriminator(_representation_kind),
    ]
    """The representation."""


class ViewVersion(iceberg.ViewVersion):
    """A version of a view's definition; versions are immutable."""

    model_config = _LOSSLESS

    version_id: Id
    """ID for the version."""
    schema_id: Id
    """ID of the schema for the view version."""
    timestamp_ms: Milliseconds
    """When the version was created, in milliseconds from the epoch."""
    summary: dict[str, str]
    """A string to string map of summary metadata about the version."""
    representations: Annotated[list[ViewRepresentation], Field(fail_fast=True)]  # type: ignore[assignment]  # elements are subclasses
    """The representations of the definition, at least one."""
    default_catalog: str | None = None
    """Catalog of references without one; None is the catalog in which the view is stored."""
    default_namespace: Namespace
    """Namespace of references that are a single identifier; empty if a draft file has none."""

    @property
    def operation(self) -> str:
        """`create` or `replace`: from the summary, else derived from the id (as Java's ViewVersion)."""
        return self.summary.get("operation") or ("create" if self.version_id == 1 else "replace")

    @property
    def sql_representations(self) -> list[SQLViewRepresentation]:
        """The SQL representations, in order."""
        roots = (representation.root for representation in self.representations)
        return [root for root in roots if isinstance(root, SQLViewRepresentation)]

    @property
    def dialects(self) -> list[str]:
        """The distinct dialects of the SQL representations in lower case, in order."""
        return list(dict.fromkeys(text.dialect.lower() for text in self.sql_representations))

    @property
    def generated_dialects(self) -> frozenset[str]:
        """The dialects, in lower case, whose text was generated; see `GENERATED_DIALECTS`."""
        names = self.summary.get(GENERATED_DIALECTS, "").split(",")
        return frozenset(name.strip().lower() for name in names if name.strip())


class ViewHistoryEntry(iceberg.ViewHistoryEntry):
    """An entry of the version log: a change of the current version."""

    model_config = _LOSSLESS

    timestamp_ms: Milliseconds
    """When the version became current, in milliseconds from the epoch."""
    version_id: Id
    """ID of the version, which may have expired since."""


class ViewMetadata(IcebergBaseModel):
    """The contents of a view metadata file.

    A value is always consistent: ids are unique and references resolve, except those of version log entries, which
    outlive their versions. An inconsistent value raises InvalidMetadataError at construction; a field of another type
    raises pydantic's ValidationError.
    """

    model_config = _LOSSLESS

    view_uuid: str
    """A UUID that identifies the view; it never changes."""
    format_version: Annotated[int, Field(ge=1, le=1)]
    """Version of the view format; must be 1."""
    location: Annotated[str, Field(min_length=1)]
    """The view's base location; used to create metadata file locations."""
    raw_schemas: list[dict[str, Any]] = Field(validation_alias="schemas", serialization_alias="schemas")
    """The known schemas as the JSON objects of the file."""
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
        # For error messages: the location of the file if one is being read, otherwise that of the view.
        location: str = (info.context or {}).get("location", self.location)
        if not _UUID.fullmatch(self.view_uuid):
            raise InvalidMetadataError(location, "view-uuid", f"it must be a UUID, not {shorten(self.view_uuid)}")
        for index, schema in enumerate(self.raw_schemas):
            check_schema(schema, location, f"schemas[{index}]")
        schema_ids = _unique_ids((schema["schema-id"] for schema in self.raw_schemas), location, "schemas", "schema-id")
        version_ids = _unique_ids((version.version_id for version in self.versions), location, "versions", "version-id")
        if not version_ids:
            raise InvalidMetadataError(location, "versions", "it must have at least one version")
        for index, version in enumerate(self.versions):
            if version.schema_id not in schema_ids:
                raise _dangling(version.schema_id, schema_ids, "schema", location, f"versions[{index}].schema-id")
        if self.current_version_id not in version_ids:
            raise _dangling(self.current_version_id, version_ids, "version", location, "current-version-id")
        return self

    def version(self, version_id: int) -> ViewVersion | None:
        """Return a version by its id; None if it does not exist or has expired."""
        return next((version for version in self.versions if version.version_id == version_id), None)

    def current_version(self) -> ViewVersion:
        """Return the current version."""
        return next(version for version in self.versions if version.version_id == self.current_version_id)

    @property
    def current_schema_id(self) -> int:
        """ID of the current version's schema.

        It is also written as the draft's key `current-schema-id`. If that key of a file differs, the version's schema
        is used, as by readers of today's format.
        """
        return self.current_version().schema_id

    def raw_schema(self, schema_id: int) -> dict[str, Any] | None:
        """Return a schema as the JSON object of the file, not a copy; None if the metadata does not have it."""
        return next((schema for schema in self.raw_schemas if schema["schema-id"] == schema_id), None)

    def schema(self, schema_id: int) -> Schema | None:  # type: ignore[override]  # shadows BaseModel's deprecated method
        """Return a schema by its id."""
        schema = self._converted_schemas.get(schema_id)
        if schema is None:
            for index, raw in enumerate(self.raw_schemas):
                if raw["schema-id"] == schema_id:
                    schema = schema_to_pyiceberg(raw, self.location, f"schemas[{index}]")
                    self._converted_schemas[schema_id] = schema
        return schema

    def current_schema(self) -> Schema:
        """Return the schema of the current version; raises like `schema`."""
        schema = self.schema(self.current_schema_id)
        assert schema is not None, "_check validates every schema-id"
        return schema

    @property
    def schemas(self) -> list[Schema]:
        """All known schemas; raises like `schema`."""
        schemas = (self.schema(raw["schema-id"]) for raw in self.raw_schemas)
        return [schema for schema in schemas if schema is not None]

    @cached_property
    def _converted_schemas(self) -> dict[int, Schema]:
        return {}

    def irregularities(self) -> tuple[str, ...]:
        """List violations of the format that Iceberg's Java library accepts, and that are therefore accepted here."""
        problems = []
        for index, version in enumerate(self.versions):
            dialects: set[str] = set()
            for position, representation in enumerate(version.representations):
                path = f"versions[{index}].representations[{position}]"
                root = representation.root
                if isinstance(root, UnknownViewRepresentation):
                    problems.append(f"{path}.type: {root.type!r} is unknown; Java cannot write such a file")
                    continue
                dialect = root.dialect.lower()
                if dialect in dialects:
                    problems.append(f"{path}.dialect: another text for {dialect!r}; a version may have only one")
                dialects.add(dialect)
                if root.default_namespace not in (None, version.default_namespace):
                    problems.append(f"{path}.default-namespace: it differs from the version's, which readers use today")
                if root.default_catalog not in (None, version.default_catalog):
                    problems.append(f"{path}.default-catalog: it differs from the version's, which readers use today")
        return tuple(problems)

    def to_pyiceberg(self) -> iceberg.ViewMetadata:
        """Convert to PyIceberg's class, without unknown keys and representations; raises like `schema`."""
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


def _unique_ids(ids: Iterable[int], location: str, list_name: str, key: str) -> set[int]:
    unique: set[int] = set()
    for index, number in enumerate(ids):
        if number in unique:
            raise InvalidMetadataError(location, f"{list_name}[{index}].{key}", f"the id {number} is not unique")
        unique.add(number)
    return unique


def _dangling(number: int, ids: set[int], kind: str, location: str, path: str) -> InvalidMetadataError:
    return InvalidMetadataError(location, path, f"there is no {kind} {number}; the file has {sorted(ids)}")


def _pyiceberg_version(version: ViewVersion) -> dict[str, Any]:
    return {
        "version-id": version.version_id,
        "schema-id": version.schema_id,
        "timestamp-ms": version.timestamp_ms,
        "summary": version.summary,
        "representations": [
            {"type": "sql", "sql": text.sql, "dialect": text.dialect} for text in version.sql_representations
        ],
        "default-catalog": version.default_catalog,
        "default-namespace": version.default_namespace,
    }
