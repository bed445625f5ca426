"""The metastore, its metadata files and the configuration of a catalog as one object: `MetastoreStore`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from hive_views.config import CatalogConfig
from hive_views.errors import MetastoreRefusedError, NoSuchViewError
from hive_views.identifiers import ViewName
from hive_views.io.metadata_files import MetadataFiles
from hive_views.metastore._thrift.hive_metastore.ttypes import (
    AlreadyExistsException,
    InvalidObjectException,
    InvalidOperationException,
    MetaException,
    NoSuchObjectException,
)
from hive_views.metastore.rows.row import Row, read_row
from hive_views.metastore.transport.client import MetastoreClient
from hive_views.spec.metadata import ViewMetadata

CAS_REJECTED = "The table has been modified"
"""The beginning of the server's message when it rejects a compare-and-swap; the rest differs between releases."""

DECLARED_REJECTIONS = (
    AlreadyExistsException,
    InvalidObjectException,
    InvalidOperationException,
    MetaException,
    NoSuchObjectException,
)
"""The errors that the metastore's Thrift methods declare."""

Rejection = (
    AlreadyExistsException
    | InvalidObjectException
    | InvalidOperationException
    | MetaException
    | NoSuchObjectException
    | MetastoreRefusedError
)
"""An answer with which the server refuses a request: a declared error, or an internal error."""

_MAX_MESSAGE_LENGTH = 500


@dataclass(frozen=True, eq=False)
class MetastoreStore:
    """A metastore client with the metadata files and the configuration of its catalog."""

    client: MetastoreClient
    """The metastore."""
    files: MetadataFiles
    """Access to metadata files."""
    config: CatalogConfig
    """The catalog's properties."""

    def get_row(self, name: ViewName) -> Row | None:
        """Return the row of a table or view of any kind, or None if there is none."""
        table = self.client.get_table(name.database, name.name)
        return None if table is None else read_row(table)

    def has_function(self, database: str, name: str) -> bool:
        """Return whether a database has a permanent function, of Hive (a class) or of Spark (a SQL text)."""
        return self.client.has_function(database, name)

    def get_view_row(self, name: ViewName) -> Row:
        """Return the row of an Iceberg view or a plain Hive view; raises NoSuchViewError if there is none."""
        row = self.get_row(name)
        if row is None:
            raise NoSuchViewError(str(name))
        return row.require_view()


class LoadedView(NamedTuple):
    """A view at one point in time: its row, and the content of the metadata file to which the row points."""

    row: Row
    """The row."""
    metadata: ViewMetadata
    """The content of the file at `row.metadata_location`."""


def rejection_message(rejection: Rejection) -> str:
    """Return a server's message shortened for an error message, because servers may quote whole view texts."""
    if isinstance(rejection, MetastoreRefusedError):
        text = str(rejection)
    else:
        text = str(rejection.message or type(rejection).__name__)
    return text if len(text) <= _MAX_MESSAGE_LENGTH else f"{text[:_MAX_MESSAGE_LENGTH]} …"
