"""What copies and imports do in a catalog, a Hive Metastore or a REST catalog: load, check and drop views."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import (
    BadRequestError,
    ForbiddenError,
    NoSuchNamespaceError,
    NoSuchViewError,
    RESTError,
    TableAlreadyExistsError,
    UnauthorizedError,
    ViewAlreadyExistsError,
)
from pyiceberg.typedef import Identifier
from pyiceberg.view import View

from hive_views.catalog.catalog import HiveViewCatalog
from hive_views.catalog.views import HiveView
from hive_views.config import URI
from hive_views.errors import CatalogUnavailableError, HiveViewsError, MetastoreUnavailableError
from hive_views.io.metadata_files import MetadataFiles
from hive_views.spec.file_codec import metadata_directory
from hive_views.spec.metadata import ViewMetadata
from hive_views.view_copy.metadata import fingerprint, metadata_of

_REJECTIONS = (
    BadRequestError,
    ForbiddenError,
    NoSuchNamespaceError,
    NotImplementedError,
    TableAlreadyExistsError,
    UnauthorizedError,
    ViewAlreadyExistsError,
)
"""Answers of a REST server after which the change was certainly not made; PyIceberg's own for a missing endpoint."""

CATALOG_ERRORS = (HiveViewsError, RESTError, *_REJECTIONS, OSError, ValueError)
"""The errors of catalogs; PyIceberg's REST catalog raises an OSError for a connection, and a ValueError for an answer
that it cannot parse."""


@contextmanager
def errors_of(*catalogs: Catalog) -> Iterator[None]:
    """Convert the errors of a REST catalog."""
    try:
        yield
    except HiveViewsError:
        raise
    except CATALOG_ERRORS as error:
        names = " or ".join(catalog.name for catalog in catalogs if not isinstance(catalog, HiveViewCatalog))
        raise CatalogUnavailableError(names or None, f"it cannot be read: {error}") from error


def address_of(catalog: Catalog) -> str:
    """What identifies the server of a catalog."""
    if isinstance(catalog, HiveViewCatalog):
        return catalog.store.config.connection.address
    return " ".join(filter(None, (catalog.properties.get(URI), catalog.properties.get("warehouse"))))


def is_rejection(error: Exception) -> bool:
    """Return whether the target certainly did not apply the change that failed."""
    if isinstance(error, HiveViewsError):
        return not error.may_take_effect and not isinstance(error, MetastoreUnavailableError)
    return isinstance(error, _REJECTIONS)


def load_metadata(catalog: Catalog, name: str | Identifier) -> ViewMetadata | None:
    """Return a view's metadata; None if there is no such view."""
    view = load_view(catalog, name)
    return None if view is None else metadata_of(view)


def load_view(catalog: Catalog, name: str | Identifier) -> View | None:
    """Return a view; None if there is no such view."""
    try:
        return catalog.load_view(name)
    except NoSuchViewError:
        return None


def files_of(catalog: Catalog) -> MetadataFiles:
    """Return the metadata files of a catalog."""
    return catalog.store.files if isinstance(catalog, HiveViewCatalog) else MetadataFiles(catalog.properties)


def drop_view(target: Catalog, name: str | Identifier, view: View) -> None:
    """Drop a view; in a metastore only in the loaded state."""
    if isinstance(target, HiveViewCatalog) and isinstance(view, HiveView):
        target.drop_view(name, expected_metadata_location=view.metadata_location)
    else:
        target.drop_view(name)


def is_unchanged(view: View, metadata_location: str, expected: str) -> bool:
    """Return whether a view has an expected fingerprint and metadata file; an equal original has other files."""
    metadata = metadata_of(view)
    if fingerprint(metadata) != expected:
        return False
    if isinstance(view, HiveView):
        # What another program changed in the row is in no file.
        return view.metadata_location == metadata_location and not view.drift
    # PyIceberg does not return the location of the metadata file that a REST server reads.
    return metadata_directory(metadata) == metadata_location.rpartition("/")[0]


def namespace_location(catalog: Catalog, namespace: Identifier) -> str | None:
    """Return the base location of a namespace of a REST catalog, without a trailing slash; None if it has none."""
    return catalog.load_namespace_properties(namespace).get("location", "").rstrip("/") or None
