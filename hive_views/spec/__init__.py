"""The Iceberg view format: metadata as values, changes to them, and metadata files as bytes. No I/O, no clock."""

from hive_views.spec.changes import AddVersion, Change, SetCurrentVersion, SetLocation, SetProperties
from hive_views.spec.metadata import (
    SQLViewRepresentation,
    UnknownViewRepresentation,
    ViewHistoryEntry,
    ViewMetadata,
    ViewRepresentation,
    ViewVersion,
)

__all__ = [
    "AddVersion",
    "Change",
    "SQLViewRepresentation",
    "SetCurrentVersion",
    "SetLocation",
    "SetProperties",
    "UnknownViewRepresentation",
    "ViewHistoryEntry",
    "ViewMetadata",
    "ViewRepresentation",
    "ViewVersion",
]
