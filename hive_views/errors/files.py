"""Metadata files."""

from __future__ import annotations

from hive_views.errors.tree import HiveViewsError


class MetadataFileError(HiveViewsError):
    """A metadata file of a view or a table that cannot be used."""

    def __init__(self, location: str, reason: str) -> None:
        super().__init__(f"Cannot read the metadata file {location}: {reason}")
        self.location = location
        self.reason = reason


class MetadataFileNotFoundError(MetadataFileError):
    """The metastore names a metadata file that is not there."""

    def __init__(self, location: str) -> None:
        super().__init__(
            location,
            "it does not exist. If it was moved or deleted, restore it or register another one of the view's "
            "metadata files (register_view)",
        )


class RefusedLocationError(MetadataFileError):
    """A metadata file at a place that this catalog does not trust; it was not touched. `scheme` is that of its URI."""

    def __init__(self, location: str, scheme: str, reason: str) -> None:
        super().__init__(location, reason)
        self.scheme = scheme


class InvalidMetadataError(MetadataFileError):
    """A metadata file that breaks the format; `path` says where in the document, e.g. `versions[1].schema-id`."""

    def __init__(self, location: str, path: str, reason: str) -> None:
        super().__init__(location, f"{path}: {reason}" if path else reason)
        self.path = path


class MetadataWriteError(HiveViewsError):
    """A metadata file that could not be written; nothing was changed in the metastore."""

    def __init__(self, location: str, reason: str) -> None:
        super().__init__(f"Cannot write the view metadata file {location}: {reason}. The metastore was not changed")
        self.location = location
        self.reason = reason
