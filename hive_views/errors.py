"""Every error this package raises, in one tree.

An error carries what it is about as attributes (its *operands*), so that a program never has to parse a message, and
its message says what happened and what to do next. Where PyIceberg has an error for the same situation, ours is also
an instance of PyIceberg's, so code written against `pyiceberg.exceptions` goes on working.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyiceberg import exceptions as iceberg


class HiveViewsError(Exception):
    """The root of all errors of this package.

    `line` and `column` count from 1 and say where in a statement stands what the error is about; both are None where
    there was no statement, or where it does not name that.
    """

    line: int | None = None
    column: int | None = None

    def point_at(self, line: int, column: int) -> None:
        """Say where in a statement it stands, unless that is known: in the attributes, and before the message.

        Args:
            line: From 1.
            column: From 1.
        """
        if self.line is None:
            self.line, self.column = line, column
            self.args = (f"line {line}:{column} {self}",)


class DamagedRowWarning(UserWarning):
    """The metastore's database changed the row that it was given (latin1, cut comments); the metadata file is whole."""


# -- What the caller passed in ---------------------------------------------------------------------------------------


class InvalidIdentifierError(HiveViewsError, ValueError):
    """A name that the metastore could not hold, or that is not `database.name`."""

    def __init__(self, identifier: object, reason: str) -> None:
        super().__init__(f"Invalid identifier: {identifier!r}: {reason}")
        self.identifier = identifier
        self.reason = reason


class InvalidPropertyError(HiveViewsError, ValueError):
    """A property whose key or value cannot be used."""

    def __init__(self, key: object, value: object, reason: str) -> None:
        super().__init__(f"Invalid property {key!r} = {value!r}: {reason}")
        self.key = key
        self.value = value
        self.reason = reason


class UsageError(HiveViewsError, ValueError):
    """An argument of a command that cannot be read, or that does not go with another one."""

    def __init__(self, argument: str, reason: str) -> None:
        super().__init__(f"{argument}: {reason}")
        self.argument = argument
        self.reason = reason


class InvalidViewError(HiveViewsError, iceberg.ValidationError, ValueError):
    """A view definition that cannot be stored: no query, no schema, a type that Hive cannot hold."""

    def __init__(self, identifier: str, reason: str) -> None:
        super().__init__(f"Invalid view {identifier}: {reason}")
        self.identifier = identifier
        self.reason = reason


class DialectLossError(InvalidViewError):
    """A replace that would lose the text of a dialect (the view property `replace.drop-dialect.allowed`)."""

    def __init__(self, identifier: str, previous: Sequence[str], new: Sequence[str]) -> None:
        super().__init__(
            identifier,
            "Cannot replace view due to loss of view dialects (replace.drop-dialect.allowed=false): "
            f"previous dialects: {list(previous)}, new dialects: {list(new)}. Give a text for each of them, "
            "or allow the loss (may_lose_dialects=True)",
        )
        self.previous = tuple(previous)
        self.new = tuple(new)


class CyclicViewError(InvalidViewError):
    """A definition or a name by which a view would read itself, directly or through other views."""

    def __init__(self, identifier: str, cycle: Sequence[str]) -> None:
        super().__init__(identifier, f"it would read itself: {' -> '.join(cycle)}")
        self.cycle = tuple(cycle)


class NoSuchVersionError(HiveViewsError, ValueError):
    """A version (by id, or by time) that the view's metadata does not hold."""

    def __init__(self, identifier: str, wanted: str, available: Sequence[int]) -> None:
        super().__init__(
            f"View {identifier} has no version {wanted}; its metadata holds {list(available)} "
            "(older ones expire by version.history.num-entries)"
        )
        self.identifier = identifier
        self.wanted = wanted
        self.available = tuple(available)


class SqlError(HiveViewsError, ValueError):
    """A SQL text that cannot be read, or that names something that is not there.

    `line` and `column` count from 1 and point into the text that the caller gave; both are None where the error is
    about the text as a whole.
    """

    def __init__(self, reason: str, *, line: int | None = None, column: int | None = None, name: str | None = None):
        where = f"line {line}:{column} " if line is not None else ""
        super().__init__(f"{where}{reason}")
        self.reason = reason
        self.line = line
        self.column = column
        self.name = name


class SparkSqlError(SqlError):
    """Spark refused a text, or failed while it ran.

    `condition` is Spark's error class and `sql_state` its SQLSTATE, None where Spark gives none. `line` and `column`
    point into the text that the caller gave; where the fault is in the definition of a view, `view` is its identifier
    and they point into the definition.
    """

    def __init__(
        self,
        reason: str,
        *,
        condition: str | None = None,
        sql_state: str | None = None,
        line: int | None = None,
        column: int | None = None,
        view: str | None = None,
    ):
        shown = f"[{condition}] {reason}" if condition else reason
        super().__init__(shown, line=line, column=column, name=view)
        if view is not None:
            self.args = (f"In the definition of view {view}: {self.args[0]}",)
        self.condition = condition
        self.sql_state = sql_state
        self.view = view


class ViewDriftWarning(UserWarning):
    """A view's row disagrees with its metadata file, which is what was read (see `HiveView.drift`)."""


# -- What is, or is not, in the catalog -------------------------------------------------------------------------------


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
    """A table is not purged: another name in the metastore, `other`, has the same files."""

    def __init__(self, identifier: str, other: str) -> None:
        super().__init__(
            f"Cannot purge {identifier}: its files are also those of {other}, which was registered from one. Drop it "
            "without purging (drop_table)"
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


class NotMaterializedError(NoSuchViewError):
    """The name belongs to a plain view or table, which has no storage to refresh or to read."""

    def __init__(self, identifier: str, detail: str) -> None:
        HiveViewsError.__init__(self, f"Not a materialized view: {identifier} ({detail})")
        self.identifier = identifier
        self.detail = detail


class InvalidRefreshStateError(HiveViewsError, ValueError):
    """What is recorded about a materialized view's storage or refreshes breaks the format; `path` says where.

    `identifier` is the materialized view, once that is known.
    """

    identifier: str | None = None

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"Invalid materialized view metadata: {path}: {reason}")
        self.path = path
        self.reason = reason

    def of(self, identifier: str) -> InvalidRefreshStateError:
        """Say whose it is, unless that is known.

        Args:
            identifier: The materialized view.

        Returns:
            This error.
        """
        if self.identifier is None:
            self.identifier = identifier
            self.args = (f"{identifier}: {self}",)
        return self


class UnsupportedMaterializedViewError(InvalidRefreshStateError):
    """A materialized view of a later format than this package knows: it is neither read nor written."""

    def __init__(self, path: str, found: int, supported: int) -> None:
        HiveViewsError.__init__(
            self,
            f"{path}: format-version {found} is later than {supported}, the latest that this release knows. Use a "
            "later release of hive_views",
        )
        self.path = f"{path}.format-version"
        self.reason = f"format-version {found} is not supported"
        self.found = found
        self.supported = supported


class NoSuchRefreshError(HiveViewsError, ValueError):
    """Stored rows (by snapshot, tag or time) that a materialized view's storage does not hold."""

    def __init__(self, identifier: str, wanted: str, available: Sequence[int]) -> None:
        shown = ", ".join(map(str, available)) or "none yet"
        super().__init__(
            f"The storage of {identifier} has no rows of {wanted}; it holds these snapshots: {shown} (older ones "
            f"expire). catalog.materialized.refreshes({identifier!r}) says what each is"
        )
        self.identifier = identifier
        self.wanted = wanted
        self.available = tuple(available)


class RefreshError(HiveViewsError):
    """A materialized view that could not be refreshed; what readers get is unchanged."""

    def __init__(self, identifier: str, reason: str) -> None:
        super().__init__(f"Cannot refresh {identifier}: {reason}. Its stored rows are what they were")
        self.identifier = identifier
        self.reason = reason


# -- Metadata files ---------------------------------------------------------------------------------------------------


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


# -- Commits ----------------------------------------------------------------------------------------------------------


class CommitFailedError(HiveViewsError, iceberg.CommitFailedException):
    """The commit was refused; nothing was changed. Load the view again and repeat the change."""

    def __init__(self, identifier: str, reason: str, *, expected: str | None = None, found: str | None = None) -> None:
        super().__init__(f"Cannot commit to {identifier}: {reason}")
        self.identifier = identifier
        self.reason = reason
        self.expected = expected
        self.found = found


class RefreshConflictError(CommitFailedError):
    """Another refresh of the same materialized view was faster; its rows are there, and ours were given up."""


class DefinitionChangedError(CommitFailedError):
    """Somebody else gave the view another definition meanwhile, or dropped it and created it again."""


class UnrecordedTextError(CommitFailedError):
    """The row holds a text of another program that no version of the view holds: the commit would lose it.

    Plain Spark's and Hive's ALTER VIEW … AS change the row and not the metadata file. `text` is the row's.
    """

    def __init__(self, identifier: str, text: str) -> None:
        super().__init__(
            identifier,
            "another program gave its row a text that is in no version (see view.drift); a commit would lose "
            "it. Make it a version with catalog.adopt_view, or discard it with catalog.repair_view",
        )
        self.text = text


class CommitStateUnknownError(HiveViewsError, iceberg.CommitStateUnknownException):
    """The metastore did not say whether the commit took place. Nothing was deleted.

    Load the view and compare its `metadata_location` with `metadata_location` here before trying again: trying
    blindly may apply the change twice, and deleting the file may destroy the view.
    """

    def __init__(self, identifier: str, metadata_location: str | None, reason: str) -> None:
        kept = f" The new metadata file {metadata_location} was kept." if metadata_location else ""
        super().__init__(
            f"Cannot tell whether the change to {identifier} was committed: {reason}.{kept} "
            "Load it again before you repeat the change"
        )
        self.identifier = identifier
        self.metadata_location = metadata_location
        self.reason = reason


class LockError(HiveViewsError):
    """The metastore's lock could not be taken, or was lost; `lock_id` is None where none was given."""

    def __init__(self, identifier: str, reason: str, *, lock_id: int | None = None) -> None:
        super().__init__(f"Lock on {identifier}: {reason}")
        self.identifier = identifier
        self.reason = reason
        self.lock_id = lock_id


class LockTimeoutError(LockError):
    """Somebody else held the lock all the time that we were willing to wait."""


# -- The metastore ----------------------------------------------------------------------------------------------------


class MetastoreError(HiveViewsError):
    """The metastore, or the way to it, failed. `method` is the Thrift method that was called."""

    def __init__(self, method: str, reason: str, *, uri: str | None = None) -> None:
        super().__init__(f"{method}{f' at {uri}' if uri else ''}: {reason}")
        self.method = method
        self.reason = reason
        self.uri = uri


class MetastoreUnavailableError(MetastoreError):
    """No metastore could be reached. The request was not sent: nothing happened there."""


class MetastoreAuthenticationError(MetastoreUnavailableError):
    """The metastore can be reached, and TLS or authentication failed; `step` says where. Nothing happened there."""

    def __init__(self, method: str, reason: str, step: str, *, uri: str | None = None) -> None:
        super().__init__(method, reason, uri=uri)
        self.step = step


class MetastoreConnectionLostError(MetastoreError):
    """The connection broke after the request was sent: it may or may not have been carried out."""


class MetastoreTimeoutError(MetastoreConnectionLostError):
    """No answer in time: the request may still be carried out later."""


class MetastoreRefusedError(MetastoreError):
    """The server answered that it failed (MetaException and the like), or that it does not know the method."""


class EmbeddedMetastoreError(HiveViewsError):
    """The embedded metastore could not be started or stopped; the message says what to install or where its log is."""

    def __init__(self, directory: str, reason: str) -> None:
        super().__init__(f"Embedded metastore in {directory}: {reason}")
        self.directory = directory
        self.reason = reason


class ArtifactFetchError(HiveViewsError):
    """Files of a Maven repository could not be fetched; `coordinates` and `repository` say what from where."""

    def __init__(self, coordinates: str, repository: str, reason: str) -> None:
        super().__init__(
            f"Cannot fetch {coordinates} from {repository} (the environment variable DEFAULT_ARTIFACT_REPOSITORY "
            f"names a mirror): {reason}"
        )
        self.coordinates = coordinates
        self.repository = repository
        self.reason = reason


# -- Upgrades of a metastore's database -------------------------------------------------------------------------------


class UpgradeError(HiveViewsError):
    """An upgrade of a metastore's database that cannot be planned, applied or taken back; `place` is the database."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}" if place else reason)
        self.place = place
        self.reason = reason


class DatabaseError(UpgradeError):
    """The database could not be reached, or refused a statement. `statement` is its SQL, without values."""

    def __init__(self, place: str, reason: str, *, statement: str | None = None) -> None:
        super().__init__(place, f"{reason} [{statement}]" if statement else reason)
        self.reason = reason
        self.statement = statement


class NotAMetastoreError(UpgradeError):
    """The database holds no metastore: there is no table TBLS where it was looked for."""


class MetastoreRunningError(UpgradeError):
    """Other programs are connected to the database; `sessions` says which."""

    def __init__(self, place: str, sessions: Sequence[str]) -> None:
        super().__init__(
            place,
            f"{len(sessions)} other session(s) use it: {'; '.join(sessions)}. Stop the metastore that they belong to, "
            "or say that it may run meanwhile (--while-running): then changes of the schema wait for it, and it for "
            "them",
        )
        self.sessions = tuple(sessions)


class PlanChangedError(UpgradeError):
    """The database is not as it was when the plan was made; nothing was changed. Plan again."""

    def __init__(self, place: str, differences: Sequence[str]) -> None:
        super().__init__(place, f"it changed since the plan was made: {'; '.join(differences)}. Plan again")
        self.differences = tuple(differences)


class InvalidPlanError(UpgradeError):
    """A plan that cannot be read, or is for another database."""

    def __init__(self, reason: str) -> None:
        super().__init__("", f"The plan cannot be used: {reason}")
        self.reason = reason


# -- The import of legacy views ---------------------------------------------------------------------------------------


class PlanError(HiveViewsError, ValueError):
    """A text that should be the plan of an import and is none, or one that does not fit what it is used for."""


class JournalError(HiveViewsError):
    """The journal of an import cannot be used: another run is writing it, or it is of another plan, or is broken."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"The journal {path}: {reason}")
        self.path = path
        self.reason = reason


class RevertError(HiveViewsError):
    """A view that cannot be given its legacy row back; nothing was changed."""

    def __init__(self, identifier: str, reason: str) -> None:
        super().__init__(f"Cannot revert {identifier}: {reason}")
        self.identifier = identifier
        self.reason = reason
