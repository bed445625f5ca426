"""The metadata of a view as it moves from one catalog to another."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from pyiceberg.view import View

from hive_views.catalog.views import HiveView
from hive_views.materialized.layouts.attached import DETACHED_METADATA
from hive_views.materialized.layouts.layout import DETACHED
from hive_views.materialized.loading import is_materialized
from hive_views.spec.file_codec import METADATA_PATH
from hive_views.spec.json_codec import read_document, version_document, write_document
from hive_views.spec.metadata import ViewMetadata
from hive_views.spec.staleness_policy import METADATA
from hive_views.spec.storage_link import STORAGE_TABLE_COPY, with_link

_STORAGE_PROPERTIES = (METADATA, DETACHED_METADATA, DETACHED, STORAGE_TABLE_COPY)
"""View properties that name stored rows in the source's warehouse."""


def metadata_of(view: View) -> ViewMetadata:
    """Return the metadata of a loaded view of any catalog; PyIceberg's class has no unknown keys."""
    if isinstance(view, HiveView):
        return view.metadata
    return read_document(json.loads(view.metadata.model_dump_json(by_alias=True)), view.metadata.location)


def copy_metadata(metadata: ViewMetadata, location: str) -> tuple[ViewMetadata, tuple[str, ...]]:
    """Return the metadata of a copy at another location, with notes about what it leaves out.

    A copy has no reference to files of the source: two views that wrote to one storage table or directory would delete
    each other's files.
    """
    notes = []
    left_out = {*_STORAGE_PROPERTIES, METADATA_PATH} & metadata.properties.keys()
    if is_materialized(metadata):
        notes.append("its stored rows are not copied: the copy is a plain view (`mv back` makes it materialized)")
    if METADATA_PATH in left_out:
        notes.append(f"the property {METADATA_PATH} is not copied")
    document: dict[str, Any] = {
        **write_document(metadata),
        "location": location,
        "properties": {key: value for key, value in metadata.properties.items() if key not in left_out},
        "versions": [version_document(with_link(version, None)) for version in metadata.versions],
    }
    return read_document(document, location), tuple(notes)


def fingerprint(metadata: ViewMetadata) -> str:
    """Equal for views with equal UUIDs, versions, history, columns and properties, wherever their files are."""
    document = metadata.to_pyiceberg().model_copy(update={"location": ""}).model_dump(mode="json", by_alias=True)
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def unknown_keys(metadata: ViewMetadata) -> tuple[str, ...]:
    """Return the keys that Iceberg's format does not have, which other catalogs may drop."""
    extras = [metadata.model_extra, *(version.model_extra for version in metadata.versions)]
    return tuple(sorted({key for extra in extras for key in extra or {}}))
