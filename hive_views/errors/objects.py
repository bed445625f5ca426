"""What is, or is not, in the catalog."""

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
    """No view of that name; `detail` says what was tried, or what stands there instead."""

    def __init__(self, identifier: str, detail: str = "") -> None:
        super().__init__(f"View does not exist: {identifier}" + (f" ({detail})" if detail else ""))
        self.identifier = identifier
        self.detail = detail


class NotAnIcebergViewError(NoSuchViewError):
    """The name is taken by a row of the metastore that is no Iceberg view: a Hive view, a Hive table."""

    def __init__(self, identifier: str, table_type: str | None, format_type: str | None) -> None:
        HiveViewsError.__init__(
            self,
            f"Not an iceberg view: {identifier} (table_type={format_type}, tableType={table_type}). "
            "Choose another name",
        )
        self.identifier = identifier
        self.table_type = table_type
        self.format_type = format_type
        self.detail = "not an iceberg view"


class MissingPointerError(NotAnIcebergViewError):
    """The row says that it is an Iceberg view, and has lost the parameter that points to its metadata file."""

    def __init__(self, identifier: str) -> None:
        HiveViewsError.__init__(
            self,
            f"The Iceberg view {identifier} points to no metadata file (its row has no metadata_location). Drop it and "
            "register one of its metadata files",
        )
        self.identifier = identifier
        self.table_type = "VIRTUAL_VIEW"
        self.format_type = "ICEBERG-VIEW"
        self.detail = "no metadata_location"


class NoSuchTableError(HiveViewsError, iceberg.NoSuchTableError):
    """No table of that name; `detail` says what stands there instead."""

    def __init__(self, identifier: str, detail: str = "") -> None:
        super().__init__(f"Table does not exist: {identifier}" + (f" ({detail})" if detail else ""))
        self.identifier = identifier
        self.detail = detail


class ViewAlreadyExistsError(HiveViewsError, iceberg.ViewAlreadyExistsError):
    """A view of that name exists already."""

    def __init__(self, identifier: str, message: str = "View already exists: {}") -> None:
        super().__init__(message.format(identifier))
        self.identifier = identifier


class TableAlreadyExistsError(HiveViewsError, iceberg.TableAlreadyExistsError):
    """A table of that name exists already."""

    def __init__(self, identifier: str, message: str = "Table with same name already exists: {}") -> None:
        super().__init__(message.format(identifier))
        self.identifier = identifier


class SharedFilesError(HiveViewsError, iceberg.ValidationError):
    """No files of a table are deleted: another name in the metastore, `other`, has the same."""

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
    """A database of that name exists already."""

    def __init__(self, namespace: str) -> None:
        super().__init__(f"Namespace already exists: {namespace}")
        self.namespace = namespace


class NamespaceNotEmptyError(HiveViewsError, iceberg.NamespaceNotEmptyError):
    """The database still holds tables or views."""

    def __init__(self, namespace: str) -> None:
        super().__init__(f"Namespace is not empty: {namespace}. Drop its tables and views first")
        self.namespace = namespace


class DependentsError(HiveViewsError):
    """A change that is refused because views depend on what it would take away; `dependents` names all of them."""

    def __init__(self, identifier: str, action: str, dependents: Sequence[str]) -> None:
        super().__init__(
            f"Cannot {action} {identifier}: {len(dependents)} view(s) depend on it: {', '.join(dependents)}. "
            "Drop them first, or let CASCADE do it"
        )
        self.identifier = identifier
        self.action = action
        self.dependents = tuple(dependents)


class UnidentifiedError(HiveViewsError):
    """An Iceberg table or view whose UUID cannot be read, because its metadata file cannot."""

    def __init__(self, identifier: str, reason: str) -> None:
        super().__init__(f"Cannot tell the UUID of {identifier}: {reason}")
        self.identifier = identifier
        self.reason = reason
