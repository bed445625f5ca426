"""Layout `registered`: the view's version names a storage table of the catalog."""

from __future__ import annotations

from collections.abc import Callable

from hive_views.identifiers import ViewName
from hive_views.spec.metadata import ViewMetadata
from hive_views.spec.storage_link import STORAGE_TABLE_COPY, StorageLink, link_of

STORAGE_SUFFIX = "__storage"
"""The suffix of storage table names."""

DETACHED = "hive-views.detached-storage-table"
"""Property of a plain view that was a materialized one: the JSON of its storage table, for the conversion back."""

_MAX_NAME_LENGTH = 110
"""Characters of a view's name that its storage table's name keeps: metastores store 128 or 256."""


def storage_link_of(metadata: ViewMetadata) -> StorageLink | None:
    """The storage table that a view's current version names; None if it names none."""
    return link_of(metadata.current_version()) or StorageLink.decode(metadata.properties.get(STORAGE_TABLE_COPY))


def storage_name(view: ViewName, unique_suffix: str, is_free: Callable[[ViewName], bool]) -> ViewName:
    """Name a view's storage table: `<view>__storage`, with a unique suffix if that is taken."""
    plain = ViewName(view.database, f"{view.name[:_MAX_NAME_LENGTH]}{STORAGE_SUFFIX}")
    if len(view.name) <= _MAX_NAME_LENGTH and is_free(plain):
        return plain
    return ViewName(view.database, f"{plain.name}_{unique_suffix[:8]}")
