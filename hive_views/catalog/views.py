"""`HiveView`, a loaded view, and `ViewUpdate`, changes to it.

`HiveView` is a PyIceberg `View` with additional information from the metastore row, the history, and `update()`. It is
the state that was loaded; `refresh()` and every commit return a new one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyiceberg.schema import Schema
from pyiceberg.view import View

from hive_views.config import reject_misspelled_keys
from hive_views.dependencies.view_changes import commit_changes
from hive_views.errors import InvalidPropertyError, NoSuchVersionError, SqlError
from hive_views.metastore.commit.view_properties import check_location, check_view_properties
from hive_views.metastore.drift import Difference, find_drift, find_unrecorded_text
from hive_views.metastore.queries import load_view
from hive_views.metastore.store import LoadedView, MetastoreStore
from hive_views.spec.changes import AddVersion, Change, SetCurrentVersion, SetLocation, SetProperties, version_at
from hive_views.spec.metadata import SQLViewRepresentation, ViewHistoryEntry, ViewMetadata, ViewVersion
from hive_views.spec.version_texts import sql_texts

if TYPE_CHECKING:
    from pyiceberg.typedef import Identifier
    from pyiceberg.view.metadata import ViewVersion as IcebergViewVersion


class HiveView(View):
    """An Iceberg view in a Hive Metastore, in the state in which it was loaded."""

    metadata: ViewMetadata  # type: ignore[assignment]  # has PyIceberg's attributes and unknown ones

    def __init__(self, loaded: LoadedView, store: MetastoreStore) -> None:
        self._loaded = loaded
        self._store = store
        self._identifier: Identifier = loaded.row.name.identifier
        self.metadata = loaded.metadata

    def __repr__(self) -> str:
        return f"HiveView({'.'.join(self._identifier)}, version {self.metadata.current_version_id})"

    def _repr_html_(self) -> str:
        """Return the view as a table, for notebooks."""
        from hive_views.rendering import html_table

        rows: list[tuple[str, object]] = [
            ("columns", ", ".join(f"{field.name} {field.field_type}" for field in self.schema().fields)),
            ("text", self.original_text),
            ("expanded text", self.expanded_text),
            ("version", f"{self.metadata.current_version_id} of {len(self.metadata.versions)}"),
            ("metadata file", self.metadata_location),
            *((f"external edit of {difference.field}", difference.row) for difference in self.drift),
        ]
        return html_table(f"view {'.'.join(self._identifier)}", rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HiveView) and self.name() == other.name() and self.metadata == other.metadata

    __hash__ = None  # type: ignore[assignment]  # as PyIceberg's View, which defines __eq__ alone

    # -- PyIceberg's View -------------------------------------------------------------------------------------------

    def schema(self) -> Schema:
        """Return the schema of the current version."""
        return self.metadata.current_schema()

    def schemas(self) -> dict[int, Schema]:
        """Return all schemas of the metadata by id."""
        return {schema.schema_id: schema for schema in self.metadata.schemas}

    def current_version(self) -> ViewVersion:
        """Return the current version."""
        return self.metadata.current_version()

    @property
    def versions(self) -> list[ViewVersion]:  # type: ignore[override]  # elements are subclasses; list is invariant
        """All versions of the metadata; older ones may have expired."""
        return list(self.metadata.versions)

    def version(self, version_id: int) -> ViewVersion | None:
        """Return a version by its id; None if the metadata does not have it (any more)."""
        return self.metadata.version(version_id)

    def history(self) -> list[ViewHistoryEntry]:  # type: ignore[override]
        """Return the changes of the current version, oldest first; a version that was rolled back to occurs twice."""
        return list(self.metadata.version_log)

    def sql_for(self, dialect: str, *, fallback: bool = False) -> SQLViewRepresentation | None:
        """Return the text of the current version for a dialect.

        Args:
            dialect: E.g. `spark`, `hive`, `trino`; case-insensitive.
            fallback: Return the first text if there is none for the dialect, as Iceberg's Java library does. An engine
                that runs a text of another dialect may return other rows without an error.

        Returns:
            The representation; None if there is none.

        Raises:
            SqlError: If the dialect is empty.
        """
        if not dialect:
            raise SqlError("Invalid dialect: name one, e.g. 'spark'")
        texts = self.current_version().sql_representations
        matching = (text for text in texts if text.dialect.casefold() == dialect.casefold())
        return next(matching, texts[0] if fallback and texts else None)

    # -- From the metastore row ---------------------------------------------------------------------------------------

    @property
    def metadata_location(self) -> str:
        """URI of the metadata file that was current when the view was loaded."""
        return self._loaded.row.metadata_location or ""

    @property
    def previous_metadata_location(self) -> str | None:
        """URI of the metadata file before the last commit; None for a new view."""
        return self._loaded.row.previous_metadata_location

    @property
    def original_text(self) -> str | None:
        """The author's text from the row (viewOriginalText)."""
        return self._loaded.row.texts.original

    @property
    def expanded_text(self) -> str | None:
        """The text that Hive and plain Spark run, from the row (viewExpandedText)."""
        return self._loaded.row.texts.expanded

    @property
    def owner(self) -> str | None:
        """The owner of the row."""
        return self._loaded.row.owner

    @property
    def create_time(self) -> int:
        """The creation time of the row, in seconds from the epoch."""
        return self._loaded.row.create_time

    @property
    def parameters(self) -> dict[str, str]:
        """All parameters of the row, also those that other programs set."""
        return dict(self._loaded.row.parameters)

    @property
    def dialects(self) -> tuple[str, ...]:
        """The dialects of the current version's texts, in lower case."""
        return tuple(sql_texts(self.current_version()))

    @property
    def drift(self) -> tuple[Difference, ...]:
        """Differences between row and metadata file, e.g. because plain Spark or Hive changed the row."""
        return find_drift(self._loaded.row, self.metadata, self._store.config)

    @property
    def unrecorded_text(self) -> str | None:
        """The text that plain Spark or Hive wrote into the row if no version has it; None otherwise."""
        return find_unrecorded_text(self._loaded.row, self.metadata)

    def version_at(self, timestamp_ms: int) -> ViewVersion:
        """Return the version that was current at a time.

        Args:
            timestamp_ms: Milliseconds from the epoch.

        Raises:
            NoSuchVersionError: If the version log starts later, or the version has expired.
        """
        return _require_version(self._loaded, version_at(self.metadata, timestamp_ms), f"at {timestamp_ms} ms")

    def refresh(self) -> HiveView:
        """Load the view again.

        Raises:
            NoSuchViewError: If it was dropped.
        """
        return HiveView(load_view(self._store, self._loaded.row.name), self._store)

    def update(self) -> ViewUpdate:
        """Start an update: chain changes, then call `commit()`."""
        return ViewUpdate(self._loaded, self._store)


class ViewUpdate:
    """Changes to one view that are committed together.

    After a conflict, changes of properties and of the location are retried on the newer state. A new version or a
    rollback is retried only if the view's current version is still the one that was loaded; otherwise `commit` fails
    (docs/decisions/0003-report-conflicting-definitions.md).
    """

    def __init__(self, loaded: LoadedView, store: MetastoreStore) -> None:
        self._loaded = loaded
        self._store = store
        self._changes: list[Change] = []
        self._updated: set[str] = set()
        self._removed: set[str] = set()

    def replace_version(
        self, version: IcebergViewVersion, schema: Schema | None = None, *, may_lose_dialects: bool = False
    ) -> ViewUpdate:
        """Replace the definition.

        Args:
            version: The new texts and defaults, e.g. from `hive_views.define`. The commit assigns id and timestamp.
            schema: The new columns; None keeps the current ones.
            may_lose_dialects: Allow the new version to have no text for a dialect that the current one has.
        """
        metadata = self._loaded.metadata
        columns = metadata.raw_schema(metadata.current_schema_id) or {} if schema is None else schema
        self._changes.append(AddVersion(columns, version, may_lose_dialects))
        return self

    def set_properties(self, properties: Mapping[str, str] | None = None, **more: str) -> ViewUpdate:
        """Set view properties; other properties are not changed.

        Args:
            properties: Keys and values.
            more: Properties whose keys are Python identifiers.

        Raises:
            InvalidPropertyError: If a property cannot be stored, has an invalid value, or is also removed.
        """
        from hive_views.materialized.properties import SETTINGS

        updates = {**(properties or {}), **more}
        check_view_properties(updates)
        reject_misspelled_keys(updates, SETTINGS)
        for key in self._removed & updates.keys():
            raise _conflicting_property(key, updates[key])
        self._updated.update(updates)
        self._changes.append(SetProperties(updates))
        return self

    def remove_properties(self, *keys: str) -> ViewUpdate:
        """Remove view properties; missing keys are ignored.

        Args:
            keys: The keys.

        Raises:
            InvalidPropertyError: If a key is not a string, or is also set.
        """
        for key in keys:
            if not isinstance(key, str):
                raise InvalidPropertyError(key, None, "a key must be a string")
            if key in self._updated:
                raise _conflicting_property(key, None)
        self._removed.update(keys)
        self._changes.append(SetProperties(removals=frozenset(keys)))
        return self

    def set_comment(self, comment: str | None) -> ViewUpdate:
        """Set or remove the view's comment (the property `comment`).

        Args:
            comment: The comment; None removes it.
        """
        return self.remove_properties("comment") if comment is None else self.set_properties({"comment": comment})

    def set_location(self, location: str) -> ViewUpdate:
        """Change the base location for new metadata files; existing files are not moved.

        Args:
            location: URI or absolute path of a directory.

        Raises:
            InvalidPropertyError: If it is neither a URI nor an absolute path.
        """
        self._changes.append(SetLocation(check_location(location)))
        return self

    def rollback(
        self, *, version_id: int | None = None, timestamp_ms: int | None = None, may_lose_dialects: bool = False
    ) -> ViewUpdate:
        """Make an earlier version the current one. All versions are kept, and the version log gets an entry.

        Args:
            version_id: The version's id; or give
            timestamp_ms: A time, in milliseconds from the epoch, at which the version was current.
            may_lose_dialects: Allow the version to have no text for a dialect that the current one has.

        Raises:
            NoSuchVersionError: If the metadata does not have the version.
            InvalidPropertyError: If neither or both are given.
        """
        if (version_id is None) == (timestamp_ms is None):
            raise InvalidPropertyError("rollback", version_id, "give either a version id or a time")
        metadata = self._loaded.metadata
        if timestamp_ms is not None:
            version = _require_version(self._loaded, version_at(metadata, timestamp_ms), f"at {timestamp_ms} ms")
        else:
            version = _require_version(self._loaded, metadata.version(version_id or 0), str(version_id))
        self._changes.append(SetCurrentVersion(version.version_id, may_lose_dialects))
        return self

    def commit(self) -> HiveView:
        """Commit all changes atomically.

        Raises:
            CommitFailedError: If the definition was changed concurrently, or the retries are exhausted.
            NoSuchViewError: If the view was dropped.
            CyclicViewError, DialectLossError, InvalidViewError: If the new definition is invalid.
            DependentsError: If the new columns would break a dependent view, in strict mode.
            LockError: If the lock could not be acquired.
            CommitStateUnknownError: If the metastore did not reply; the new metadata file is kept.
        """
        return HiveView(commit_changes(self._store, self._loaded, self._changes), self._store)


def _require_version(loaded: LoadedView, version: ViewVersion | None, requested: str) -> ViewVersion:
    if version is None:
        available = [existing.version_id for existing in loaded.metadata.versions]
        raise NoSuchVersionError(str(loaded.row.name), requested, available)
    return version


def _conflicting_property(key: str, value: str | None) -> InvalidPropertyError:
    return InvalidPropertyError(key, value, "Cannot remove and update the same key")
