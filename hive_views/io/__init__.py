"""File access: metadata files, table files, locations, listings, deletion."""

from hive_views.io.metadata_files import MetadataFiles

__all__ = ["MetadataFiles"]
