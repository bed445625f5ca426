"""The `storage-table` field of a version of a materialized view, and its copy in the summary.

Source: the proposed specification of materialized views (Iceberg PR 11041): each version has an optional
`storage-table`, the identifier of a table. Iceberg's Java library drops the unknown field when it rewrites a view, but
preserves the summary, which therefore has a copy.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from hive_views.spec.json_text import compact_json, parse_json
from hive_views.spec.metadata import ViewVersion
from hive_views.spec.staleness_policy import METADATA

STORAGE_TABLE = "storage-table"
"""Key of the field in a version."""

STORAGE_TABLE_COPY = "hive-views.storage-table"
"""Summary key and view property: a copy of the field."""

STORAGE_OF = "hive-views.storage-of"
"""Property of a storage table: the UUID of its materialized view."""

STORAGE_SUFFIX = "__storage"
"""The end of a storage table's name; a unique suffix may follow."""


STAGING_MARK = "__refresh_"
"""Part of the names of staging tables, to which a refresh writes rows before it publishes them."""

_STAGING_NAME = re.compile(f"{STAGING_MARK}[0-9a-f]{{32}}$")


def is_staging_name(name: str) -> bool:
    """Return whether a table's name is that of a staging table."""
    return _STAGING_NAME.search(name) is not None


def definition_location(parameters: Mapping[str, str]) -> str | None:
    """Return the metadata file of the definition that a table with these parameters names; None if it names none.

    Source: Iceberg Materialized View Concept, Design 2.
    """
    try:
        document = parse_json(parameters.get(METADATA, ""))
    except ValueError:
        return None
    location = document.get("associated-view-location") if isinstance(document, dict) else None
    return location if isinstance(location, str) else None


def is_storage_row(parameters: Mapping[str, str]) -> bool:
    """Return whether a row with these parameters is a storage table that is not a materialized view itself."""
    return STORAGE_OF in parameters and METADATA not in parameters


class StorageLink(NamedTuple):
    """The identifier of a storage table."""

    namespace: tuple[str, ...]
    """The namespace: the database."""
    name: str
    """The table's name."""
    catalog: str | None = None
    """The catalog; None means the catalog of the materialized view."""

    def to_json(self) -> dict[str, Any]:
        """Return the identifier as a JSON object."""
        identifier: dict[str, Any] = {"namespace": list(self.namespace), "name": self.name}
        return identifier if self.catalog is None else {"catalog": self.catalog, **identifier}

    def encode(self) -> str:
        """Return the identifier as text, for summaries and properties."""
        return compact_json(self.to_json())

    @staticmethod
    def decode(value: object) -> StorageLink | None:
        """Decode a JSON object or its text; None if it is invalid."""
        if isinstance(value, str):
            try:
                value = parse_json(value)
            except ValueError:
                return None
        if not isinstance(value, dict):
            return None
        namespace, name, catalog = value.get("namespace"), value.get("name"), value.get("catalog")
        if not isinstance(namespace, list) or not namespace or not all(isinstance(part, str) for part in namespace):
            return None
        if not isinstance(name, str) or not isinstance(catalog, str | None):
            return None
        return StorageLink(tuple(namespace), name, catalog)


def link_of(version: ViewVersion) -> StorageLink | None:
    """Return the storage table of a version; None if it has none."""
    link = StorageLink.decode((version.model_extra or {}).get(STORAGE_TABLE))
    return link or StorageLink.decode(version.summary.get(STORAGE_TABLE_COPY))


def with_link(version: ViewVersion, link: StorageLink | None) -> ViewVersion:
    """Return a copy of a version with another storage table, or without one if `link` is None."""
    summary = {key: value for key, value in version.summary.items() if key != STORAGE_TABLE_COPY}
    extra = {key: value for key, value in (version.model_extra or {}).items() if key != STORAGE_TABLE}
    if link is not None:
        summary[STORAGE_TABLE_COPY] = link.encode()
        extra[STORAGE_TABLE] = link.to_json()
    fields = {name: getattr(version, name) for name in type(version).model_fields if name in version.model_fields_set}
    return ViewVersion.model_validate({**fields, **extra, "summary": summary}, by_name=True, by_alias=False)


def restore_link(version: ViewVersion) -> ViewVersion:
    """Return a version with the field restored from its copy, if another writer dropped the field."""
    if STORAGE_TABLE_COPY not in version.summary or STORAGE_TABLE in (version.model_extra or {}):
        return version
    link = StorageLink.decode(version.summary[STORAGE_TABLE_COPY])
    return version if link is None else with_link(version, link)
