"""A view as a user holds it, and the changes that can be made to it.

`HiveView` is PyIceberg's `View` with what PyIceberg has nowhere: where it is stored, both texts of the row, the
history, and `update()`. It shows the state that was loaded; `refresh()` and every commit give a new one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyiceberg.schema import Schema
from pyiceberg.view import View

from hive_views.dependencies.view_changes import commit_changes
from hive_views.errors import (
    InvalidPropertyError,
    NoSuchVersionError,
    SqlError,
)
from hive_views.metastore.commit.view_properties import check_location, check_view_properties
from hive_views.metastore.drift import Difference, find_drift
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

    metadata: ViewMetadata  # type: ignore[assignment]  # ours has PyIceberg's attributes and keeps unknown ones

    def __init__(self, loaded: LoadedView, store: MetastoreStore) -> None:
        self._loaded = loaded
        self._store = store
        self._identifier: Identifier = loaded.row.name.identifier
        self.metadata = loaded.metadata

    def __repr__(self) -> str:
        return f"HiveView({'.'.join(self._identifier)}, version {self.metadata.current_version_id})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HiveView) and self.name() == other.name() and self.metadata == other.metadata

    __hash__ = None  # type: ignore[assignment]  # as PyIceberg's View, which defines __eq__ alone

    # -- PyIceberg's View -------------------------------------------------------------------------------------------

    def schema(self) -> Schema:
        """The schema of the current version."""
        return self.metadata.current_schema()

    def schemas(self) -> dict[int, Schema]:
        """All schemas that the metadata holds, by id."""
        return {schema.schema_id: schema for schema in self.metadata.schemas}

    def current_version(self) -> ViewVersion:
        """The version that readers get."""
        return self.metadata.current_version()

    @property
    def versions(self) -> list[ViewVersion]:  # type: ignore[override]  # ours are subclasses; a list is invariant
        """All versions that the metadata holds."""
        return list(self.metadata.versions)

    def version(self, version_id: int) -> ViewVersion | None:
        """A version by its id; None where the metadata does not hold it (any more)."""
        return self.metadata.version(version_id)

    def history(self) -> list[ViewHistoryEntry]:  # type: ignore[override]
        """Which version was made current when, oldest first; a version that was rolled back to occurs twice."""
        return list(self.metadata.version_log)

    def sql_for(self, dialect: str, *, fallback: bool = False) -> SQLViewRepresentation | None:
        """The text of the current version for a dialect.

        Args:
            dialect: E.g. `spark`, `hive`, `trino`; its case does not count.
            fallback: Give the first text where there is none for the dialect, as Iceberg's Java library does. An
                engine that runs a text of another dialect may get other rows without an error.

        Returns:
            The representation; None where there is none.

        Raises:
            SqlError: If no dialect is named.
        """
        if not dialect:
            raise SqlError("Invalid dialect: name one, e.g. 'spark'")
        found = [item.root for item in self.current_version().representations]
        texts = [item for item in found if isinstance(item, SQLViewRepresentation)]
        matching = (item for item in texts if item.dialect.casefold() == dialect.casefold())
        return next(matching, texts[0] if fallback and texts else None)

    # -- What the metastore adds --------------------------------------------------------------------------------------

    @property
    def metadata_location(self) -> str:
        """URI of the metadata file that was current when the view was loaded."""
        return self._loaded.row.metadata_location or ""

    @property
    def previous_metadata_location(self) -> str | None:
        """URI of the metadata file before the last commit; None for a view that was never changed."""
        return self._loaded.row.previous_metadata_location

    @property
    def original_text(self) -> str | None:
        """The author's text, as the metastore's row shows it (viewOriginalText)."""
        return self._loaded.row.texts.original

    @property
    def expanded_text(self) -> str | None:
        """The text that Hive and plain Spark run, as the metastore's row shows it (viewExpandedText)."""
        return self._loaded.row.texts.expanded

    @property
    def owner(self) -> str | None:
        """The row's owner."""
        return self._loaded.row.owner

    @property
    def create_time(self) -> int:
        """When the row was created, in seconds from the epoch."""
        return self._loaded.row.create_time

    @property
    def parameters(self) -> dict[str, str]:
        """All parameters of the row, those of other programs included."""
        return dict(self._loaded.row.parameters)

    @property
    def dialects(self) -> tuple[str, ...]:
        """The dialects that the current version has a text for, in lower case."""
        return tuple(sql_texts(self.current_version()))

    @property
    def drift(self) -> tuple[Difference, ...]:
        """Where the row disagrees with the metadata file, because plain Spark or Hive changed it; empty if nowhere."""
        return find_drift(self._loaded.row, self.metadata, self._store.config)

    def version_at(self, timestamp_ms: int) -> ViewVersion:
        """The version that was current at a time.

        Args:
            timestamp_ms: Milliseconds from the epoch.

        Returns:
            The version.

        Raises:
            NoSuchVersionError: If the view's log does not reach back to that time.
        """
        version = version_at(self.metadata, timestamp_ms)
        if version is None:
            raise NoSuchVersionError(
                ".".join(self._identifier),
                f"at {timestamp_ms} ms",
                [item.version_id for item in self.metadata.versions],
            )
        return version

    def refresh(self) -> HiveView:
        """Load the view again.

        Returns:
            Its state now.

        Raises:
            NoSuchViewError: If it is gone.
        """
        return HiveView(load_view(self._store, self._loaded.row.name), self._store)

    def update(self) -> ViewUpdate:
        """Begin a change: chain what is to change, then `commit()`."""
        return ViewUpdate(self._loaded, self._store)


class ViewUpdate:
    """Changes to one view that are committed together, or not at all.

    A commit that meets somebody else's is built again on the newer state where that cannot hide anything: properties
    and the location. A new version or a rollback is repeated only while the view's current version still is the one
    that the caller saw; otherwise it fails, and the caller decides.
    """

    def __init__(self, loaded: LoadedView, store: MetastoreStore) -> None:
        self._loaded = loaded
        self._store = store
        self._changes: list[Change] = []
        self._any_version = False
        self._updated: set[str] = set()
        self._removed: set[str] = set()

    def replace_version(
        self, version: IcebergViewVersion, schema: Schema | None = None, *, may_lose_dialects: bool = False
    ) -> ViewUpdate:
        """Make a new definition the current one.

        Args:
            version: Its texts and defaults; its id and timestamp are given at the commit.
            schema: Its columns; None keeps the current ones.
            may_lose_dialects: Whether it may have no text for a dialect that an author wrote one for.

        Returns:
            This update.
        """
        metadata = self._loaded.metadata
        columns = metadata.raw_schema(metadata.current_schema_id) or {} if schema is None else schema
        self._changes.append(AddVersion(columns, version, may_lose_dialects))
        return self

    def set_properties(self, properties: Mapping[str, str] | None = None, **more: str) -> ViewUpdate:
        """Set view properties; others stay as they are.

        Args:
            properties: Keys and values.
            more: The same, for keys that are Python names.

        Returns:
            This update.

        Raises:
            InvalidPropertyError: As `check_view_properties` does, and if a key is also to be removed.
        """
        updates = {**(properties or {}), **more}
        check_view_properties(updates)
        for key in self._removed & updates.keys():
            raise _both(key, updates[key])
        self._updated.update(updates)
        self._changes.append(SetProperties(updates))
        return self

    def remove_properties(self, *keys: str) -> ViewUpdate:
        """Remove view properties; a key that is not there is no error.

        Args:
            keys: Their keys.

        Returns:
            This update.

        Raises:
            InvalidPropertyError: If a key is not a string, or is also to be set.
        """
        for key in keys:
            if not isinstance(key, str):
                raise InvalidPropertyError(key, None, "a key must be a string")
            if key in self._updated:
                raise _both(key, None)
        self._removed.update(keys)
        self._changes.append(SetProperties(removals=frozenset(keys)))
        return self

    def set_comment(self, comment: str | None) -> ViewUpdate:
        """Set or remove the view's comment (its property `comment`).

        Args:
            comment: The text; None removes it.

        Returns:
            This update.
        """
        return self.remove_properties("comment") if comment is None else self.set_properties({"comment": comment})

    def set_location(self, location: str) -> ViewUpdate:
        """Put the view's next metadata files elsewhere; those written before stay where they are.

        Args:
            location: URI of a directory.

        Returns:
            This update.

        Raises:
            InvalidPropertyError: If it is neither a URI nor an absolute path.
        """
        self._changes.append(SetLocation(check_location(location)))
        return self

    def rollback(
        self, *, version_id: int | None = None, timestamp_ms: int | None = None, may_lose_dialects: bool = False
    ) -> ViewUpdate:
        """Make an earlier version the current one again. No version is lost: the log gets one more entry.

        Args:
            version_id: The version, or
            timestamp_ms: a time, in milliseconds from the epoch: the version that was current then.
            may_lose_dialects: Whether it may have no text for a dialect that an author wrote one for since.

        Returns:
            This update.

        Raises:
            NoSuchVersionError: If the view's metadata does not hold it.
            InvalidPropertyError: If neither or both are given.
        """
        if (version_id is None) == (timestamp_ms is None):
            raise InvalidPropertyError("rollback", version_id, "give either a version id or a time")
        metadata = self._loaded.metadata
        if timestamp_ms is not None:
            found = version_at(metadata, timestamp_ms)
            wanted = f"at {timestamp_ms} ms"
        else:
            found = metadata.version(version_id or 0)
            wanted = str(version_id)
        if found is None:
            raise NoSuchVersionError(
                str(self._loaded.row.name), wanted, [version.version_id for version in metadata.versions]
            )
        self._changes.append(SetCurrentVersion(found.version_id, may_lose_dialects))
        return self

    def commit(self) -> HiveView:
        """Make the changes, all at once.

        Returns:
            The view as it now is.

        Raises:
            CommitFailedError: If somebody else changed the definition meanwhile, or kept changing the view.
            NoSuchViewError: If the view is gone.
            CommitStateUnknownError: If the metastore did not say whether it took place.
            HiveViewsError: As `hive_views.metastore.commit.view_commit.commit` says.
        """
        return HiveView(
            commit_changes(self._store, self._loaded, self._changes, any_version=self._any_version), self._store
        )


def _both(key: str, value: str | None) -> InvalidPropertyError:
    return InvalidPropertyError(key, value, "Cannot remove and update the same key")
