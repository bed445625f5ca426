"""Errors about objects of the catalog that exist, or do not."""

from __future__ import annotations

from collections.abc import Sequence

from pyiceberg import exceptions as iceberg

from hive_views.errors.tree import HiveViewsError


class NoSuchNamespaceError(HiveViewsError, iceberg.NoSuchNamespaceError):
    """The database does not exist in the metastore."""

    def __init__(self, namespace: str) -> None:
        super().__init__(f"Namespace does not exist: {namespace}")
        self.namespace = namespace


class NoSuchViewError(HiveViewsError, iceberg.NoSuchViewError):
    """No view has the name; `detail` names the requested operation, or the object that has the name."""

    def __init__(self, identifier: str, detail: str = "") -> None:
        super().__init__(f"View does not exist: {identifier}" + (f" ({detail})" if detail else ""))
        self.identifier = identifier
        self.detail = detail


class NotAnIcebergViewError(NoSuchViewError):
    """The name belongs to an object that is not an Iceberg view, e.g. a Hive view or table."""

    def __init__(self, identifier: str, table_type: str | None, format_type: str | None) -> None:
        what_to_do = "Choose another name"
        if table_type == "VIRTUAL_VIEW" and not format_type:
            what_to_do = f"It is a plain Hive view: `hive-views import plan --view {identifier}` plans its import"
        HiveViewsError.__init__(
            self,
            f"Not an iceberg view: {identifier} (table_type={format_type}, tableType={table_type}). {what_to_do}",
        )
        self.identifier = identifier
        self.table_type = table_type
        self.format_type = format_type
        self.detail = "not an iceberg view"


class MissingPointerError(NotAnIcebergViewError):
    """The row of an Iceberg view has no metadata_location parameter."""

    def __init__(self, identifier: str) -> None:
        HiveViewsError.__init__(
            self,
            f"The Iceberg view {identifier} has no metadata file (its row has no metadata_location). Drop it and "
            "register one of its metadata files",
        )
        self.identifier = identifier
        self.table_type = "VIRTUAL_VIEW"
        self.format_type = "ICEBERG-VIEW"
        self.detail = "no metadata_location"


class NoSuchTableError(HiveViewsError, iceberg.NoSuchTableError):
    """No table has the name; `detail` names the object that has it."""

    def __init__(self, identifier: str, detail: str = "") -> None:
        super().__init__(f"Table does not exist: {identifier}" + (f" ({detail})" if detail else ""))
        self.identifier = identifier
        self.detail = detail


class ViewAlreadyExistsError(HiveViewsError, iceberg.ViewAlreadyExistsError):
    """A view with the name exists already."""

    def __init__(self, identifier: str, message: str = "View already exists: {}") -> None:
        super().__init__(message.format(identifier))
        self.identifier = identifier


class TableAlreadyExistsError(HiveViewsError, iceberg.TableAlreadyExistsError):
    """A table with the name exists already."""

    def __init__(self, identifier: str, message: str = "Table with same name already exists: {}") -> None:
        super().__init__(message.format(identifier))
        self.identifier = identifier


class SharedFilesError(HiveViewsError, iceberg.ValidationError):
    """The files of a table are not deleted, because the table `other` in the metastore has the same files."""

    def __init__(
        self,
        identifier: str,
        other: str,
        what: str = "purge",
        advice: str = "Drop it without purging (drop_table)",
    ) -> None:
        super().__init__(
            f"Cannot {what} {identifier}: its files are also those of {other}, which was registered from one. {advice}"
        )
        self.identifier = identifier
        self.other = other


class NamespaceAlreadyExistsError(HiveViewsError, iceberg.NamespaceAlreadyExistsError):
    """A database with the name exists already."""

    def __init__(self, namespace: str) -> None:
        super().__init__(f"Namespace already exists: {namespace}")
        self.namespace = namespace


class NamespaceNotEmptyError(HiveViewsError, iceberg.NamespaceNotEmptyError):
    """The database contains tables or views."""

    def __init__(self, namespace: str) -> None:
        super().__init__(f"Namespace is not empty: {namespace}. Drop its tables and views first")
        self.namespace = namespace


class DependentsError(HiveViewsError):
    """A change that would break views; `dependents` names all of them."""

    def __init__(self, identifier: str, action: str, dependents: Sequence[str]) -> None:
        super().__init__(
            f"Cannot {action} {identifier}: {len(dependents)} view(s) depend on it: {', '.join(dependents)}. "
            "Drop them first, or use CASCADE"
        )
        self.identifier = identifier
        self.action = action
        self.dependents = tuple(dependents)


class UnidentifiedError(HiveViewsError):
    """An Iceberg table or view whose UUID cannot be read, because its metadata file cannot be read."""

    def __init__(self, identifier: str, reason: str) -> None:
        super().__init__(f"Cannot tell the UUID of {identifier}: {reason}")
        self.identifier = identifier
        self.reason = reason
