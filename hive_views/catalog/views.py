"""A view as a user holds it, and the changes that can be made to it.

`HiveView` is PyIceberg's `View` with what PyIceberg has nowhere: where it is stored, both texts of the row, the
history, and `update()`. It shows the state that was loaded; `refresh()` and every commit give a new one.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pyiceberg.schema import Schema
from pyiceberg.view import View
from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential
from tenacity.stop import stop_after_delay

from hive_views.dependencies.graph import refuse_cycle
from hive_views.errors import (
    CommitFailedError,
    DefinitionChangedError,
    InvalidPropertyError,
    NoSuchVersionError,
    SqlError,
    UnrecordedTextError,
)
from hive_views.io.locations import steps_out
from hive_views.metastore.commit.view_commit import commit
from hive_views.metastore.drift import Difference, differences
from hive_views.metastore.loading import load
from hive_views.metastore.row_codec import check_properties
from hive_views.metastore.store import LoadedView, MetastoreStore
from hive_views.spec.changes import AddVersion, Change, SetCurrentVersion, SetLocation, SetProperties, apply, version_at
from hive_views.spec.file_codec import METADATA_PATH
from hive_views.spec.metadata import SQLViewRepresentation, ViewHistoryEntry, ViewMetadata, ViewVersion
from hive_views.spec.version_texts import same_definition, sql_texts

if TYPE_CHECKING:
    from pyiceberg.typedef import Identifier
    from pyiceberg.view.metadata import ViewVersion as IcebergViewVersion

logger = logging.getLogger(__name__)

RETRIES = ("commit.retry.num-retries", 4)
RETRY_MIN_WAIT_MS = ("commit.retry.min-wait-ms", 100)
RETRY_MAX_WAIT_MS = ("commit.retry.max-wait-ms", 60_000)
RETRY_TOTAL_MS = ("commit.retry.total-timeout-ms", 1_800_000)
"""View properties (Iceberg's TableProperties) and their defaults: how a conflicting commit is repeated."""


_ABSOLUTE = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*:)?/+[^/]")


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
        return differences(self._loaded.row, self.metadata, self._store.config)

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
        return HiveView(load(self._store, self._loaded.row.name), self._store)

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
        return HiveView(change(self._store, self._loaded, self._changes, any_version=self._any_version), self._store)


def change(
    store: MetastoreStore, loaded: LoadedView, changes: Sequence[Change], *, any_version: bool = False
) -> LoadedView:
    """Apply changes to a view and commit them, again on the newer state after a conflict that hides nothing.

    Args:
        store: Metastore, files and properties.
        loaded: The state that the caller saw.
        changes: What to change.
        any_version: Build on whatever version is current by then (create-or-replace), rather than only on the one
            that the caller saw.

    Returns:
        The view as it now is.

    Raises:
        CommitFailedError: If the definition was changed meanwhile, or conflicts did not end.
        CyclicViewError: If the view would read itself.
        DependentsError: If its new columns would break a view that reads it, in strict mode.
        HiveViewsError: As `hive_views.metastore.commit.view_commit.commit` says.
    """
    definition = any(isinstance(item, (AddVersion, SetCurrentVersion)) for item in changes)
    name = loaded.row.name
    properties = loaded.metadata.properties
    current: LoadedView | None = loaded

    def attempt_once() -> LoadedView:
        nonlocal current
        if current is None:
            current = load(store, name)
            _check_same(loaded, current, definition and not any_version)
        base, current = current, None
        metadata = apply(base.metadata, changes, now_ms=int(time.time() * 1000), identifier=str(name))
        watch = None
        if definition and metadata.current_version() != base.metadata.current_version():
            watch = refuse_cycle(store, name, metadata.current_version())
            if store.config.strict and metadata.current_schema_id != base.metadata.current_schema_id:
                from hive_views.dependencies.impact import refuse_breaking_definition  # imports sqlglot

                refuse_breaking_definition(store, name, metadata)
        return commit(store, name, base, metadata, watch=watch)

    return Retrying(
        retry=retry_if_exception(_may_repeat),
        stop=stop_after_attempt(1 + _stored_number(properties, RETRIES))
        | stop_after_delay(_stored_number(properties, RETRY_TOTAL_MS) / 1000),
        wait=wait_random_exponential(
            multiplier=_stored_number(properties, RETRY_MIN_WAIT_MS) / 1000,
            max=_stored_number(properties, RETRY_MAX_WAIT_MS) / 1000,
        ),
        reraise=True,
    )(attempt_once)


def _check_same(seen: LoadedView, now: LoadedView, definition: bool) -> None:
    name = str(seen.row.name)
    if now.metadata.view_uuid != seen.metadata.view_uuid:
        raise DefinitionChangedError(
            name,
            "it was dropped and created again meanwhile",
            expected=seen.metadata.view_uuid,
            found=now.metadata.view_uuid,
        )
    if definition and not same_definition(now.metadata.current_version(), seen.metadata.current_version()):
        raise DefinitionChangedError(
            name,
            f"somebody else changed its definition meanwhile (version {now.metadata.current_version_id} is current, "
            f"this change was built on version {seen.metadata.current_version_id}). Load it again and decide",
            expected=seen.row.metadata_location,
            found=now.row.metadata_location,
        )


def _both(key: str, value: str | None) -> InvalidPropertyError:
    return InvalidPropertyError(key, value, "Cannot remove and update the same key")


def _may_repeat(error: BaseException) -> bool:
    return isinstance(error, CommitFailedError) and not isinstance(error, (DefinitionChangedError, UnrecordedTextError))


def check_view_properties(properties: Mapping[str, str]) -> None:
    """Refuse view properties that could not be stored, or that would stop the view's later commits.

    Args:
        properties: View properties that a caller wants to set.

    Raises:
        InvalidPropertyError: If a key or value cannot be stored, a number for `commit.retry.` is none, or
            `write.metadata.path` is neither a URI nor an absolute path.
    """
    check_properties(properties)
    if METADATA_PATH in properties:
        check_location(properties[METADATA_PATH], METADATA_PATH)
    for key, default in (RETRIES, RETRY_MIN_WAIT_MS, RETRY_MAX_WAIT_MS, RETRY_TOTAL_MS):
        _number(properties, (key, default))


def check_location(location: object, key: str = "location") -> str:
    """Refuse a directory that means another one to every process, before it is stored for good.

    Args:
        location: What a caller wants to be a view's base location.
        key: What to call it in the message.

    Returns:
        The URI or absolute path without a slash at its end.

    Raises:
        InvalidPropertyError: If it is neither, or has a `..`.
    """
    if not isinstance(location, str) or not _ABSOLUTE.match(location):
        raise InvalidPropertyError(key, location, "name a directory by its URI (s3://bucket/dir) or absolute path")
    if location.startswith("//") or re.match(r"file://[^/]", location):
        raise InvalidPropertyError(key, location, "a local directory has no host: write file:/dir or /dir")
    if steps_out(location):
        raise InvalidPropertyError(key, location, "'..' leads elsewhere for some readers: name the directory itself")
    if "#" in location or "?" in location:
        raise InvalidPropertyError(key, location, "a '#' or '?' would cut it off where it is read as a URI")
    return location.rstrip("/")


def _stored_number(properties: Mapping[str, str], key: tuple[str, int]) -> int:
    """A number that others may have written: a wrong one must not keep its owner from putting it right."""
    try:
        return _number(properties, key)
    except InvalidPropertyError as error:
        logger.warning("%s. Using %s", error, key[1])
        return key[1]


def _number(properties: Mapping[str, str], key: tuple[str, int]) -> int:
    value = properties.get(key[0], key[1])
    try:
        number = int(value)
    except ValueError:
        raise InvalidPropertyError(key[0], value, "it must be a whole number") from None
    if number < 0:
        raise InvalidPropertyError(key[0], value, "it must not be negative")
    return number
