"""The layouts, and what the JSON documents of the layouts `attached` and `table` have in common."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from pyiceberg.serializers import ToOutputFile
from pyiceberg.table.locations import load_location_provider
from pyiceberg.table.metadata import TableMetadata

from hive_views.errors import InvalidRefreshStateError, MetadataWriteError, UnsupportedMaterializedViewError
from hive_views.identifiers import ViewName
from hive_views.io.metadata_files import MetadataFiles
from hive_views.materialized.state.refresh_state import parse_name, parse_object, required
from hive_views.spec.metadata import ViewMetadata
from hive_views.spec.staleness_policy import METADATA
from hive_views.spec.storage_link import STORAGE_SUFFIX, STORAGE_TABLE_COPY, StorageLink, link_of

FORMAT_VERSION = 1
"""The only version of the draft; documents of a later version are rejected."""

MERGE_MODE = "write.merge.mode"
"""The table property for how a MERGE writes: the rows that change, or the files that contain them."""

DEFAULT_MERGE_MODE = "merge-on-read"
"""Its value in storage tables, so that a refresh of some rows does not rewrite the files that contain them."""

STAGED_WRITES = "write.wap.enabled"
"""Property of a storage table (Iceberg's TableProperties): Spark may stage a write before it is published."""


class Layout(Enum):
    """Where a materialized view keeps its rows."""

    REGISTERED = "registered"
    """In a table of the catalog, named by the view's version."""
    ATTACHED = "attached"
    """In a table that only the view references."""
    TABLE = "table"
    """The materialized view is a table, and its definition a metadata file that only the table references."""
    TRINO = "trino"
    """Trino's own layout: read, and never written."""


def parse_document(text: str) -> dict[str, Any]:
    """Parse the JSON of a layout property and check its format version."""
    document = parse_object(text, METADATA)
    version = required(document, "format-version", int, METADATA)
    if version > FORMAT_VERSION:
        raise UnsupportedMaterializedViewError(METADATA, version, FORMAT_VERSION)
    if version < FORMAT_VERSION:
        raise InvalidRefreshStateError(f"{METADATA}.format-version", f"it must be {FORMAT_VERSION}, not {version}")
    return document


def unknown_keys(document: Mapping[str, Any], *known_keys: str) -> dict[str, Any]:
    """Return the entries of a document that this package does not know, which are written back unchanged."""
    return {key: value for key, value in document.items() if key not in known_keys}


def parse_identifier(text: str, path: str, database: str | None) -> ViewName:
    """Parse an "identifier in the SQL expression": with or without a database, a catalog and quotes."""
    if not _IDENTIFIER.fullmatch(text):
        raise InvalidRefreshStateError(path, f"{text!r} is not a table name")
    parts = tuple(next(filter(None, groups)) for groups in _PART.findall(text))
    return parse_name(parts[-2:] if len(parts) > 1 or database is None else (database, *parts), path)


_QUOTED_OR_PLAIN = r"""`[^`]+`|"[^"]+"|[^.`"]+"""
_IDENTIFIER = re.compile(rf"(?:{_QUOTED_OR_PLAIN})(?:\.(?:{_QUOTED_OR_PLAIN}))*")
_PART = re.compile(r"""`([^`]+)`|"([^"]+)"|([^.`"]+)""")


def write_table_metadata(files: MetadataFiles, metadata: TableMetadata, number: int) -> str:
    """Write a storage table's metadata to a new file."""
    provider = load_location_provider(metadata.location, metadata.properties)
    location = provider.new_table_metadata_file_location(number)
    try:
        ToOutputFile.table_metadata(metadata, files.io(location).new_output(location), overwrite=False)
    except OSError as error:
        raise MetadataWriteError(location, str(error), kind="table") from error
    return location


DETACHED = "hive-views.detached-storage-table"
"""Property of a plain view that was a materialized one: the JSON of its storage table, for the conversion back."""

_MAX_NAME_LENGTH = 110
"""Characters of a view's name that its storage table's name keeps: metastores store 128 or 256."""


def storage_link_of(metadata: ViewMetadata) -> StorageLink | None:
    """Return the storage table that a view's current version names; None if it names none."""
    return link_of(metadata.current_version()) or StorageLink.decode(metadata.properties.get(STORAGE_TABLE_COPY))


def storage_name(view: ViewName, unique_suffix: str, is_free: Callable[[ViewName], bool]) -> ViewName:
    """Name a view's storage table: `<view>__storage`, with a unique suffix if that is taken."""
    plain = ViewName(view.database, f"{view.name[:_MAX_NAME_LENGTH]}{STORAGE_SUFFIX}")
    if len(view.name) <= _MAX_NAME_LENGTH and is_free(plain):
        return plain
    return ViewName(view.database, f"{plain.name}_{unique_suffix[:8]}")
