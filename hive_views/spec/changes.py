"""Changes to a view's metadata as values, and the one function that applies them.

A commit that another writer was faster than applies its changes again, to the newer base. The rules are those of
Iceberg's `ViewMetadata.Builder`; where they leave something open:

- **Ids.** A new version gets the highest id of the versions *and of the version log*, plus one: an id that the log
  still names never means something else. A new schema gets the highest id plus one, from 0. Ids and timestamps that a
  caller's version and schema carry are passed over; the time of the change is the version's timestamp.
- **Reuse.** A version equal to one that is there is not added again; that one becomes current. Equal are schema,
  default catalog, default namespace, unknown keys, the summary but for `operation` (which follows from the history),
  and the representations in their order. A representation's own defaults count by their effect, because Java drops
  them, and a draft's file has them there alone. `field-aliases` and `field-comments` count only where the new version
  gives them: Java drops those too, and the schema says the same; what an author gives is never lost.
- **Dialects.** A version with a generated text (`GENERATED_DIALECTS`) gives the view the property
  `replace.drop-dialect.allowed=true`, unless it has that property: without it Spark's CREATE OR REPLACE VIEW, which
  knows one dialect only, is refused. A generated text may be lost; an authored one only if the change says so.
- **Order.** Properties, expiry and the check for lost dialects look at the state after all changes, whatever order they
  are in.
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
from hive_views.spec import json_codec as documents
from hive_views.spec import schemas
from hive_views.spec.metadata import (
    INT_MAX,
    SQLViewRepresentation,
    ViewHistoryEntry,
    ViewMetadata,
    ViewRepresentation,
    ViewVersion,
)
from hive_views.spec.staleness_policy import agreed
from hive_views.spec.storage_link import restored

VERSION_HISTORY_SIZE = "version.history.num-entries"
VERSION_HISTORY_SIZE_DEFAULT = 10
"""View property (Iceberg's ViewProperties): how many versions are kept."""

DROP_DIALECT_ALLOWED = "replace.drop-dialect.allowed"
DROP_DIALECT_ALLOWED_DEFAULT = False
"""View property (Iceberg's ViewProperties): whether the current version may change to one without a dialect of it."""


@dataclass(frozen=True)
class AddVersion:
    """Make a definition the current version; it is added unless the metadata holds an equal one."""

    schema: Schema | Mapping[str, Any]
    """Its columns. A mapping is the JSON object of a schema, for types that PyIceberg does not know."""
    version: iceberg.ViewVersion
    """Its texts and defaults: PyIceberg's class, or ours, whose texts may carry aliases and comments of columns."""
    may_lose_dialects: bool = False
    """Whether it may have no text for a dialect that an author wrote one for."""


@dataclass(frozen=True)
class SetProperties:
    """Set and remove view properties; others stay as they are."""

    updates: Mapping[str, str] = field(default_factory=dict)
    """Properties to set."""
    removals: frozenset[str] = frozenset()
    """Keys to remove; one that is not there is no error."""

    def __post_init__(self) -> None:
        """Refuse what cannot be stored, and what says two things."""
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
    """Put the view's next metadata files elsewhere."""

    location: str
    """URI of the new base location."""


@dataclass(frozen=True)
class SetCurrentVersion:
    """Make a version that the metadata holds the current one: a rollback, or its opposite."""

    version_id: int
    """Its id."""
    may_lose_dialects: bool = False
    """Whether it may have no text for a dialect that an author wrote one for."""


Change: TypeAlias = AddVersion | SetProperties | SetLocation | SetCurrentVersion
"""Anything that `apply` applies."""


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
    """Make the metadata of a new view.

    Args:
        identifier: The view's name, for messages.
        uuid: The view's UUID, for good.
        location: URI of its base location.
        schema: Its columns; see `AddVersion`.
        version: Its definition; it gets the id 1.
        properties: Its properties.
        now_ms: The time, in milliseconds from the epoch.

    Returns:
        The metadata.

    Raises:
        InvalidViewError: If the definition cannot be stored: no text, no schema, no default namespace …
        InvalidPropertyError: If a property cannot be stored, or has a value that it must not have.
    """
    build = _Build(identifier, now_ms, None)
    for change in (SetProperties(properties), SetLocation(location), AddVersion(schema, version)):
        build.add(change)
    return build.finish(uuid)


def apply(base: ViewMetadata, changes: Iterable[Change], *, identifier: str, now_ms: int) -> ViewMetadata:
    """Apply changes to metadata, all together.

    Args:
        base: The metadata as it stands.
        changes: What is to change; the last one wins where two contradict each other.
        identifier: The view's name, for messages.
        now_ms: The time, in milliseconds from the epoch.

    Returns:
        The new metadata; `base` itself if nothing is different.

    Raises:
        InvalidViewError: If a definition or location cannot be stored.
        DialectLossError: If the current version would change to one without a dialect of it, which neither the change
            nor the property `replace.drop-dialect.allowed` of the new metadata allows.
        NoSuchVersionError: If a version is to be made current that the metadata does not hold.
        InvalidPropertyError: If a property of the new metadata has a value that it must not have.
    """
    build = _Build(identifier, now_ms, base)
    for change in changes:
        build.add(change)
    return build.finish(base.view_uuid)


def version_at(metadata: ViewMetadata, timestamp_ms: int) -> ViewVersion | None:
    """Find the version that was current at a time.

    Args:
        metadata: A view's metadata.
        timestamp_ms: The time, in milliseconds from the epoch.

    Returns:
        The version of the last log entry up to that time; None where the log begins later or the version has expired.
    """
    past = [entry.version_id for entry in metadata.version_log if entry.timestamp_ms <= timestamp_ms]
    return metadata.version(past[-1]) if past else None


class _Build:
    """The state that changes are applied to."""

    def __init__(self, identifier: str, now_ms: int, base: ViewMetadata | None) -> None:
        self._identifier = identifier
        self._now_ms = now_ms
        self._base = base
        self._location = base.location if base else ""
        self._properties = dict(base.properties) if base else {}
        self._schemas = list(base.raw_schemas) if base else []
        # What a writer that does not know the field dropped is put back (see `storage_link`).
        self._versions = [restored(version) for version in base.versions] if base else []
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

    def finish(self, uuid: str) -> ViewMetadata:
        base = self._base
        self._properties = agreed(base.properties if base else {}, self._properties)
        if (
            base is not None
            and not self._added
            and (self._current_id, self._location, self._properties)
            == (base.current_version_id, base.location, base.properties)
            and all(kept is known for kept, known in zip(self._versions, base.versions, strict=True))
        ):
            return base
        self._check_dialects()
        if self._added and self._current().generated_dialects:
            # For the sake of other writers, and after the check: it must not let this very change lose a text.
            self._properties.setdefault(DROP_DIALECT_ALLOWED, "true")
        log = list(base.version_log) if base else []
        if base is None or self._current_id != base.current_version_id:
            # A clock that was set back must not make the log say that a later change came first.
            now = max(self._now_ms, log[-1].timestamp_ms) if log else self._now_ms
            log.append(ViewHistoryEntry(timestamp_ms=now, version_id=self._current_id))
        kept = max(_history_size(self._properties), len(self._added | {self._current_id}))
        if len(self._versions) > kept:
            self._versions = _expire(self._versions, kept, self._current_id)
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
            raise self._invalid(": ".join(documents.first_problem(error))) from None
        except InvalidMetadataError as error:
            raise self._invalid(error.reason) from None

    def _invalid(self, reason: str) -> InvalidViewError:
        return InvalidViewError(self._identifier, reason)

    def _check_dialects(self) -> None:
        if self._base is None:
            return
        previous, new = self._base.current_version(), self._current()
        # A view with a generated text has the property for the sake of other writers, whose replace drops that text. Of
        # ourselves it asks nothing: an authored text is lost only if the change itself says so.
        generated = previous.generated_dialects
        allowed = self._properties.get(DROP_DIALECT_ALLOWED, str(DROP_DIALECT_ALLOWED_DEFAULT)).lower() == "true"
        if self._may_lose_dialects or (allowed and not generated):
            return
        if not set(previous.dialects) - generated <= set(new.dialects):
            raise DialectLossError(self._identifier, previous.dialects, new.dialects)

    def _add_version(self, change: AddVersion) -> int:
        schema = self._schema(change.schema)
        same_schema = next((known for known in self._schemas if schemas.same(known, schema)), None)
        if same_schema is not None:
            schema = same_schema
        else:
            highest = max((known["schema-id"] for known in self._schemas), default=-1)
            schema = {**schema, "schema-id": self._next_id("schema", highest, least=0)}
        version = self._version(change.version, schema)
        same = [known for known in self._versions if _same_version(known, version)]
        if same:
            return (
                self._current_id if any(known.version_id == self._current_id for known in same) else same[0].version_id
            )
        if same_schema is None:
            self._schemas.append(schema)
        self._versions.append(version)
        self._added.add(version.version_id)
        return version.version_id

    def _schema(self, schema: object) -> dict[str, Any]:
        """The JSON object of a caller's schema, with an id that means nothing yet."""
        if isinstance(schema, Schema):
            document = self._stored(schemas.from_pyiceberg(schema))
        elif isinstance(schema, Mapping):
            document = self._stored({"type": "struct", **schema, "schema-id": 0})
            try:
                schemas.check(document, self._location, "schema")
            except InvalidMetadataError as error:
                raise self._invalid(error.reason) from None
        else:
            raise self._invalid("it has no schema: give its columns as a pyiceberg Schema")
        if not document["fields"]:
            raise self._invalid("its schema has no columns: a query gives at least one")
        return document

    def _version(self, version: object, schema: dict[str, Any]) -> ViewVersion:
        """A caller's version as it will be written, under the next id."""
        if not isinstance(version, iceberg.ViewVersion):
            raise self._invalid("it has no definition: give a ViewVersion")
        if getattr(version, "default_namespace", None) is None:
            raise self._invalid("it has no default namespace: name the database that unqualified names mean")
        used = [known.version_id for known in self._versions]
        used += [entry.version_id for entry in self._base.version_log] if self._base else []
        defaults = {"default-catalog": version.default_catalog, "default-namespace": list(version.default_namespace)}
        document = {
            **(version.model_extra or {}),
            **{key: value for key, value in defaults.items() if value is not None},
            "version-id": self._next_id("version", max(used, default=0), least=1),
            "timestamp-ms": self._now_ms,
            "schema-id": schema["schema-id"],
            "summary": {**version.summary, "operation": "replace" if self._base else "create"},
            "representations": [
                self._representation(representation.root, defaults, len(schema["fields"]))
                for representation in version.representations
            ],
        }
        try:
            made = ViewVersion.model_validate(self._stored(document), by_alias=True, by_name=False)
        except ValidationError as error:
            raise self._invalid(": ".join(documents.first_problem(error))) from None
        if not made.sql_representations:
            raise self._invalid("it has no query: give a SQL text for at least one dialect")
        written = [text.dialect.lower() for text in made.sql_representations]
        for dialect in made.dialects:
            if written.count(dialect) > 1:
                raise self._invalid(f"Cannot add multiple queries for dialect {dialect}")
        return made

    def _representation(self, representation: Any, defaults: Mapping[str, Any], columns: int) -> dict[str, Any]:
        document = documents.representation_document(representation)
        if not isinstance(representation, iceberg.SQLViewRepresentation):
            return document
        if not representation.sql.strip() or not representation.dialect:
            raise self._invalid("each of its texts needs a query and the name of its dialect")
        for key in ("field-aliases", "field-comments"):
            if document.get(key) is None:
                document.pop(key, None)
            elif len(document[key]) != columns:
                raise self._invalid(f"its {key} name {len(document[key])} columns; its schema has {columns}")
        for key, default in defaults.items():
            if document.get(key) not in (None, default):
                raise self._invalid(
                    f"the {key} of its {representation.dialect} text is {document[key]}, the version's is {default}; "
                    "today's format has one for all texts"
                )
            document.pop(key, None)
            if default:
                document[key] = default
        return document

    def _next_id(self, what: str, highest: int, *, least: int) -> int:
        if highest >= INT_MAX:
            raise self._invalid(f"its {what} ids are used up: the highest is {highest}")
        return max(highest + 1, least)

    def _stored(self, document: dict[str, Any]) -> dict[str, Any]:
        """A copy of what a caller gave, as it will come back from a file."""
        try:
            copy = json.loads(json.dumps(document, ensure_ascii=False, allow_nan=False).encode())
        except (TypeError, ValueError, RecursionError) as error:
            raise self._invalid(f"it holds a value that JSON in UTF-8 cannot: {error}") from error
        # A version and a schema each stand in a list in the document.
        if documents.nests_deeper(copy, documents.MAX_DEPTH - 2):
            raise self._invalid(f"it nests values deeper than {documents.MAX_DEPTH} levels")
        return dict(copy)


def _is_storable(value: object) -> bool:
    return isinstance(value, str) and not _SURROGATE.search(value)


_SURROGATE = re.compile("[\ud800-\udfff]")


def _history_size(properties: Mapping[str, str]) -> int:
    value = properties.get(VERSION_HISTORY_SIZE)
    if value is None:
        return VERSION_HISTORY_SIZE_DEFAULT
    if not re.fullmatch(r"\+?[0-9]{1,10}", value) or not 0 < int(value) <= INT_MAX:
        raise InvalidPropertyError(
            VERSION_HISTORY_SIZE, value, "it must be a positive integer: how many versions to keep"
        )
    return int(value)


def _expire(versions: Sequence[ViewVersion], kept: int, current_id: int) -> list[ViewVersion]:
    """The current version and those with the highest ids, in their order."""
    others = sorted((version.version_id for version in versions if version.version_id != current_id), reverse=True)
    retained = {current_id, *others[: kept - 1]}
    return [version for version in versions if version.version_id in retained]


def _trim(log: Iterable[ViewHistoryEntry], retained: set[int]) -> list[ViewHistoryEntry]:
    """The log behind its last entry for a version that is not retained."""
    trimmed: list[ViewHistoryEntry] = []
    for entry in log:
        if entry.version_id in retained:
            trimmed.append(entry)
        else:
            trimmed.clear()
    return trimmed


def _same_version(known: ViewVersion, new: ViewVersion) -> bool:
    """Whether a version that is there says all that a new one says; see the module's text."""
    return (
        (known.schema_id, known.default_catalog, known.default_namespace)
        == (new.schema_id, new.default_catalog, new.default_namespace)
        and {**known.summary, "operation": ""} == {**new.summary, "operation": ""}
        and _same_json(known.model_extra, new.model_extra)
        and len(known.representations) == len(new.representations)
        and all(
            _same_representation(mine, theirs, known, new)
            for mine, theirs in zip(known.representations, new.representations, strict=True)
        )
    )


def _same_representation(
    mine: ViewRepresentation, theirs: ViewRepresentation, known: ViewVersion, new: ViewVersion
) -> bool:
    one, other = mine.root, theirs.root
    if not isinstance(one, SQLViewRepresentation) or not isinstance(other, SQLViewRepresentation):
        return one.type == other.type and _same_json(one.model_extra, other.model_extra)
    return (
        (one.sql, one.dialect, *_defaults(one, known)) == (other.sql, other.dialect, *_defaults(other, new))
        and other.field_aliases in (None, one.field_aliases)
        and other.field_comments in (None, one.field_comments)
        and _same_json(one.model_extra, other.model_extra)
    )


def _defaults(text: SQLViewRepresentation, version: ViewVersion) -> tuple[str | None, tuple[str, ...]]:
    catalog = version.default_catalog if text.default_catalog is None else text.default_catalog
    return catalog, version.default_namespace if text.default_namespace is None else text.default_namespace


def _same_json(one: dict[str, Any] | None, other: dict[str, Any] | None) -> bool:
    # As text, because Python takes 1, 1.0 and True for the same.
    return json.dumps(one or {}, sort_keys=True) == json.dumps(other or {}, sort_keys=True)
