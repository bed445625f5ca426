"""Errors of metadata files."""

from __future__ import annotations

from hive_views.errors.tree import HiveViewsError


class MetadataFileError(HiveViewsError):
    """A metadata file of a view or table that cannot be used."""

    def __init__(self, location: str, reason: str) -> None:
        super().__init__(f"Cannot read the metadata file {location}: {reason}")
        self.location = location
        self.reason = reason


class MetadataFileNotFoundError(MetadataFileError):
    """A metadata file that does not exist, although the metastore refers to it."""

    def __init__(self, location: str) -> None:
        super().__init__(
            location,
            "it does not exist. If it was moved or deleted, restore it, or register another metadata file of the view "
            "(register_view)",
        )


class RefusedLocationError(MetadataFileError):
    """A metadata file at a location that the catalog does not allow; it was not opened. `scheme` is its URI's."""

    def __init__(self, location: str, scheme: str, reason: str) -> None:
        super().__init__(location, reason)
        self.scheme = scheme


class InvalidMetadataError(MetadataFileError):
    """A metadata file that violates the format; `path` is the position, e.g. `versions[1].schema-id`."""

    def __init__(self, location: str, path: str, reason: str) -> None:
        super().__init__(location, f"{path}: {reason}" if path else reason)
        self.path = path


class MetadataWriteError(HiveViewsError):
    """A metadata file that could not be written; the metastore was not changed."""

    def __init__(self, location: str, reason: str) -> None:
        super().__init__(f"Cannot write the view metadata file {location}: {reason}. The metastore was not changed")
        self.location = location
        self.reason = reason
