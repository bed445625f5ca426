"""The field of a view version that makes its view a materialized one, and how it survives writers that drop it.

Source: the open specification of materialized views (Iceberg PR 11041): an optional `storage-table` in each version,
an identifier of a table. Iceberg's Java library does not know the field and drops it whenever it rewrites a view, so
the version's summary holds it once more, which Java keeps.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from hive_views.spec.metadata import ViewVersion

STORAGE_TABLE = "storage-table"
"""Key of a version."""

STORAGE_TABLE_COPY = "hive-views.storage-table"
"""Summary key, and view property: the same JSON object."""

STORAGE_OF = "hive-views.storage-of"
"""Property of a materialized view's storage table: the UUID of the view."""


@dataclass(frozen=True)
class StorageLink:
    """The identifier of a storage table."""

    namespace: tuple[str, ...]
    """Its namespace: the database."""
    name: str
    """Its name."""
    catalog: str | None = None
    """Its catalog; None is the materialized view's."""

    def document(self) -> dict[str, Any]:
        """The identifier as JSON."""
        found: dict[str, Any] = {"namespace": list(self.namespace), "name": self.name}
        return found if self.catalog is None else {"catalog": self.catalog, **found}

    def encode(self) -> str:
        """The identifier as the text that summaries and properties hold."""
        return json.dumps(self.document(), separators=(",", ":"))

    @staticmethod
    def of(value: object) -> StorageLink | None:
        """Read an identifier."""
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
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
    """The storage table of a version."""
    link = StorageLink.of((version.model_extra or {}).get(STORAGE_TABLE))
    return link or StorageLink.of(version.summary.get(STORAGE_TABLE_COPY))


def with_link(version: ViewVersion, link: StorageLink | None) -> ViewVersion:
    """A version with another storage table."""
    summary = {key: value for key, value in version.summary.items() if key != STORAGE_TABLE_COPY}
    extra = {key: value for key, value in (version.model_extra or {}).items() if key != STORAGE_TABLE}
    if link is not None:
        summary[STORAGE_TABLE_COPY] = link.encode()
        extra[STORAGE_TABLE] = link.document()
    known = {name: getattr(version, name) for name in type(version).model_fields if name in version.model_fields_set}
    return ViewVersion.model_validate({**known, **extra, "summary": summary}, by_name=True, by_alias=False)


def restored(version: ViewVersion) -> ViewVersion:
    """A version whose field another writer dropped, with the field."""
    if STORAGE_TABLE_COPY not in version.summary or STORAGE_TABLE in (version.model_extra or {}):
        return version
    link = StorageLink.of(version.summary[STORAGE_TABLE_COPY])
    return version if link is None else with_link(version, link)
