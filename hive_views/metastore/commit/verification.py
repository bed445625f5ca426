"""Verification: whether a commit was applied, from the row and its metadata file, when the answer cannot be trusted."""

from __future__ import annotations

from collections.abc import Sequence

from hive_views.errors import MetadataFileError
from hive_views.io.metadata_files import MetadataFiles
from hive_views.metastore.rows.row import Row, RowKind
from hive_views.metastore.store import LoadedView
from hive_views.spec.metadata import ViewHistoryEntry, ViewMetadata, ViewVersion


def is_commit_applied(files: MetadataFiles, base: LoadedView, new: LoadedView, row: Row) -> bool | None:
    """Return whether the commit from `base` to `new` is part of the current row's history; None if undetermined."""
    if new.row.metadata_location in (row.metadata_location, row.previous_metadata_location):
        return True
    if row.metadata_location == base.row.metadata_location:
        return False
    if row.kind is not RowKind.ICEBERG_VIEW or row.metadata_location is None:
        return None
    try:
        later = files.read(row.metadata_location)
    except MetadataFileError:
        return None
    follows_base = row.previous_metadata_location == base.row.metadata_location
    if includes_commit(later, base.metadata, new.metadata):
        return not (follows_base and _has_same_state(later, new.metadata))
    # Another commit replaced the same base, so this commit was not applied.
    return False if follows_base else None


def includes_commit(later: ViewMetadata, base: ViewMetadata, new: ViewMetadata) -> bool:
    """Return whether a later state proves that the commit from `base` to `new` is part of its history.

    This can be proved only for a commit that made a version current: by its entry in the version log, after all entries
    of the base. All other parts of the commit must be present too, so that a success is never reported for a change
    that the caller would not find.
    """
    if new.version_log == base.version_log or later.view_uuid != new.view_uuid:
        return False
    version = later.version(new.current_version_id)
    if version is None or _definition(version) != _definition(new.current_version()):
        return False
    changed_keys = {
        key
        for key in base.properties.keys() | new.properties.keys()
        if base.properties.get(key) != new.properties.get(key)
    }
    return (
        _continues(later, new.version_log)
        and all(later.properties.get(key) == new.properties.get(key) for key in changed_keys)
        and (new.location == base.location or later.location == new.location)
    )


def _has_same_state(later: ViewMetadata, new: ViewMetadata) -> bool:
    """Return whether a later state adds nothing: another client made the same change, in the same millisecond."""
    return (later.version_log, later.properties) == (new.version_log, new.properties)


def _definition(version: ViewVersion) -> tuple[object, ...]:
    """Return the parts of a version that all writers preserve: Java drops fields that it does not know."""
    texts = [(text.dialect.lower(), text.sql) for text in version.sql_representations]
    return version.version_id, version.timestamp_ms, version.schema_id, texts


def _continues(later: ViewMetadata, log: Sequence[ViewHistoryEntry]) -> bool:
    """Return whether the log of a later state begins with `log`, or with its rest after the oldest entries expired."""
    actual = [(entry.timestamp_ms, entry.version_id) for entry in later.version_log]
    expected = [(entry.timestamp_ms, entry.version_id) for entry in log]
    return any(
        actual[: len(expected) - start] == expected[start:]
        and (start == 0 or later.version(expected[start - 1][1]) is None)
        for start in range(len(expected))
    )
