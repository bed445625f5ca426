"""What a row and its metadata file tell about a change whose answer is not to be trusted: did it take place?"""

from __future__ import annotations

from collections.abc import Sequence

from hive_views.errors import MetadataFileError
from hive_views.io.metadata_files import MetadataFiles
from hive_views.metastore.row_codec import Row, RowKind
from hive_views.spec.metadata import ViewHistoryEntry, ViewMetadata, ViewVersion


def took_place(
    files: MetadataFiles, before: Row, base: ViewMetadata, location: str, metadata: ViewMetadata, now: Row
) -> bool | None:
    """Whether a commit took place, as the row shows it now: its pointer is ours, or others have built on ours."""
    if location in (now.metadata_location, now.previous_metadata_location):
        return True
    if now.metadata_location == before.metadata_location:
        return False
    if now.kind is not RowKind.ICEBERG_VIEW or now.metadata_location is None:
        return None
    try:
        if contains(files.read(now.metadata_location), base, metadata):
            return True
    except MetadataFileError:
        return None
    # Others replaced the very state that we meant to replace, so ours never stood in between.
    return False if now.previous_metadata_location == before.metadata_location else None


def contains(later: ViewMetadata, base: ViewMetadata, metadata: ViewMetadata) -> bool:
    """Whether a later state of a view proves that a commit is part of its history.

    Only a commit that made a version current leaves a trace there: an entry of the log, behind all that the log held
    before. And each part of the commit must still be there to be seen, so that nobody is told of a success who would
    not find what he changed.
    """
    if metadata.version_log == base.version_log or later.view_uuid != metadata.view_uuid:
        return False
    version = later.version(metadata.current_version_id)
    if version is None or _definition(version) != _definition(metadata.current_version()):
        return False
    changed = {
        key
        for key in base.properties.keys() | metadata.properties.keys()
        if base.properties.get(key) != metadata.properties.get(key)
    }
    return (
        _continues(later, metadata.version_log)
        and all(later.properties.get(key) == metadata.properties.get(key) for key in changed)
        and (metadata.location == base.location or later.location == metadata.location)
    )


def _definition(version: ViewVersion) -> tuple[object, ...]:
    """What each writer keeps of a version that is not its own: Java drops what it does not know."""
    texts = [(text.dialect.lower(), text.sql) for text in version.sql_representations]
    return version.version_id, version.timestamp_ms, version.schema_id, texts


def _continues(later: ViewMetadata, log: Sequence[ViewHistoryEntry]) -> bool:
    """Whether a state's log begins with another log, or with what is left of that after its oldest part expired."""
    actual = [(entry.timestamp_ms, entry.version_id) for entry in later.version_log]
    wanted = [(entry.timestamp_ms, entry.version_id) for entry in log]
    return any(
        actual[: len(wanted) - start] == wanted[start:] and (start == 0 or later.version(wanted[start - 1][1]) is None)
        for start in range(len(wanted))
    )
