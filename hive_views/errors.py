"""The errors of this package; all are subclasses of `HiveViewsError`.

The message of an error says what happened and what to do next; its attributes hold the objects that the message names,
so that programs need not parse it. If PyIceberg has an error for the same situation, the error is a subclass of it too,
so code that catches `pyiceberg.exceptions` works unchanged.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from pyiceberg import exceptions as iceberg

INSTALL_SPARK = "pip install 'pyspark[connect]>=3.5,<4.2'"
"""The command that installs a Spark with a runtime of Iceberg, as the extra `spark` does."""


class HiveViewsError(Exception):
    """The base class of all errors of this package.

    `line` and `column` (from 1) are the position in the SQL statement that the error is about; None if it is not about
    a statement, or about all of it.
    """

    line: int | None = None
    column: int | None = None
    may_take_effect: bool = False
    """Whether the change that failed may still be carried out, so that the files it refers to must be kept."""
    completed_steps: tuple[str, ...] = ()
    """What an operation of several steps changed before it failed; empty if the error concerns all of it."""

    def point_at(self, line: int, column: int) -> None:
        """Set the position in the statement, also in the message, unless the error has one.

        Args:
            line: Line, from 1.
            column: Column, from 1.
        """
        if self.line is None:
            self.line, self.column = line, column
            self.args = (f"line {line}:{column} {self}",)

    def add_completed_steps(self, *steps: str) -> None:
        """Record what was changed before the failure, also in the message.

        Args:
            steps: The completed steps, each as a clause, e.g. `the view s.v was dropped`.
        """
        if steps:
            self.completed_steps = (*self.completed_steps, *steps)
            self.args = (f"{self}. Before that: {'; '.join(steps)}",)


@contextmanager
def after_steps(*steps: str) -> Iterator[None]:
    """Add the steps that an operation has completed to the errors that its remaining steps raise."""
    try:
        yield
    except HiveViewsError as error:
        error.add_completed_steps(*steps)
        raise


class DamagedRowWarning(UserWarning):
    """The metastore's database damaged a row (latin1 columns, truncated comments); the metadata file is correct."""


class UnreadableTableWarning(UserWarning):
    """A view reads a table of Hive of which Spark reads other rows, or none."""


class UnreadableColumnWarning(UserWarning):
    """A view has a column with which plain Spark cannot read its row."""


class UnreadableRowWarning(UserWarning):
    """The metastore refuses to return a row, so a listing has only its name, or omits it."""


class SessionSettingsWarning(UserWarning):
    """A view was defined under other settings than those of the session that reads it, which may change its rows."""


class UntestedSparkWarning(UserWarning):
    """The installed Spark, `line`, is newer than those that the tests run on, `tested`; queries are not rewritten."""

    def __init__(self, line: str, tested: tuple[str, ...]) -> None:
        super().__init__(
            f"Spark {line} is newer than the tested versions {', '.join(tested)}. Queries on tables do not read stored "
            "rows of materialized views. Check the rows of a few views, or install a tested version"
        )
        self.line = line
        self.tested = tested


class ViewDriftWarning(UserWarning):
    """A view's row differs from its metadata file; the metadata file was used (see `HiveView.drift`)."""


class InvalidIdentifierError(HiveViewsError, ValueError):
    """A name that the metastore cannot store, or that is not `database.name`."""

    def __init__(self, identifier: object, reason: str) -> None:
        super().__init__(f"Invalid identifier: {identifier!r}: {reason}")
        self.identifier = identifier
        self.reason = reason


class InvalidPropertyError(HiveViewsError, ValueError):
    """A property with an invalid key or value."""

    def __init__(self, key: object, value: object, reason: str) -> None:
        shown_value = "" if value is None else f" = {value!r}"
        super().__init__(f"Invalid property {key!r}{shown_value}: {reason}")
        self.key = key
        self.value = value
        self.reason = reason


class CatalogConfigurationError(HiveViewsError, ValueError):
    """A catalog that PyIceberg's configuration does not have, or a configuration that cannot be read."""

    def __init__(self, name: str | None, reason: str, *, is_missing: bool = False) -> None:
        super().__init__(f"Catalog {name or '(default)'}: {reason}")
        self.name = name
        self.reason = reason
        self.is_missing = is_missing


class CatalogUnavailableError(HiveViewsError):
    """A catalog other than a metastore, such as a REST server, could not be reached, or did not answer a read."""

    def __init__(self, name: str | None, reason: str) -> None:
        super().__init__(f"Catalog {name or '(default)'}: {reason}")
        self.name = name
        self.reason = reason


class UsageError(HiveViewsError, ValueError):
    """A command line argument that is invalid, or conflicts with another one."""

    def __init__(self, argument: str, reason: str) -> None:
        super().__init__(f"{argument}: {reason}")
        self.argument = argument
        self.reason = reason


class InvalidViewError(HiveViewsError, iceberg.ValidationError, ValueError):
    """A view definition that cannot be stored, e.g. without a query, or with a type that Hive does not have."""

    def __init__(self, identifier: str, reason: str) -> None:
        super().__init__(f"Invalid view {identifier}: {reason}")
        self.identifier = identifier
        self.reason = reason


class DialectLossError(InvalidViewError):
    """A replacement that would lose the text of a dialect.

    Args:
        identifier: The view.
        previous: The dialects of its current version.
        new: The dialects of the new version.
        generated: The dialects of the current version whose texts were generated from another one.
        is_allowed_by_property: Whether the view's property `replace.drop-dialect.allowed` could allow it. It cannot
            where the view has generated texts, which the property is about, nor for RECOMPILE.
    """

    def __init__(
        self,
        identifier: str,
        previous: Sequence[str],
        new: Sequence[str],
        *,
        generated: Collection[str] = (),
        is_allowed_by_property: bool = True,
    ) -> None:
        lost = [dialect for dialect in previous if dialect not in new and dialect not in generated]
        advice = "allow the loss (may_lose_dialects=True in Python), or drop the view and create it again"
        note = "replace.drop-dialect.allowed does not apply to this text"
        if is_allowed_by_property:
            advice, note = f"set replace.drop-dialect.allowed=true, {advice}", "replace.drop-dialect.allowed=false"
        super().__init__(
            identifier,
            f"Cannot replace view due to loss of view dialects ({note}): it would lose the text for {', '.join(lost)}; "
            f"previous dialects: {list(previous)}, new dialects: {list(new)}. Give a text for each of them, {advice}",
        )
        self.previous = tuple(previous)
        self.new = tuple(new)
        self.lost = tuple(lost)


class CyclicViewError(InvalidViewError):
    """A definition or name with which a view would read itself, directly or through other views."""

    def __init__(self, identifier: str, cycle: Sequence[str], *, renamed_from: str | None = None) -> None:
        super().__init__(identifier, f"it would read itself: {' -> '.join(cycle)}. Remove one of these references")
        self.cycle = tuple(cycle)
        if renamed_from is not None:
            between, reader = cycle[1:-1], cycle[-2] if len(cycle) > 2 else renamed_from
            through = f" through {' and '.join(between)}" if between else ""
            self.reason = f"{renamed_from} reads {identifier}{through}, so it would read itself under that name"
            self.args = (
                f"Cannot rename {renamed_from} to {identifier}: {self.reason}. Choose another name, or first replace "
                f"the query of {reader} by one that does not read {identifier}",
            )


class EngineRequirementError(InvalidViewError):
    """A definition for which an engine of `hive-views.require-engines` would not return the author's rows.

    `line` and `column` (from 1) are the position in the author's query; None if the construct is not in it.
    """

    def __init__(self, identifier: str, reasons: Sequence[str], *, line: int | None = None, column: int | None = None):
        where = f"line {line}:{column} of its query: " if line is not None else ""
        super().__init__(
            identifier,
            f"{where}{'; '.join(reasons)}. Write the query without it, or change hive-views.require-engines",
        )
        self.reasons = tuple(reasons)
        self.line, self.column = line, column


class UnreadableTableError(InvalidViewError):
    """A materialized view over a table of Hive of which Spark reads other rows, or none."""

    def __init__(self, identifier: str, reasons: Sequence[str]) -> None:
        super().__init__(identifier, f"a refresh would store wrong rows, or fail: {'; '.join(reasons)}")
        self.reasons = tuple(reasons)


class NoSuchVersionError(HiveViewsError, ValueError):
    """A version (by id or time) that is not in the view's metadata."""

    def __init__(self, identifier: str, wanted: str, available: Sequence[int]) -> None:
        super().__init__(
            f"View {identifier} has no version {wanted}; its metadata holds {list(available)} "
            "(older ones expire by version.history.num-entries)"
        )
        self.identifier = identifier
        self.wanted = wanted
        self.available = tuple(available)


class SqlError(HiveViewsError, ValueError):
    """A SQL text that cannot be parsed, or that refers to a missing object.

    `line` and `column` (from 1) are the position in the caller's text; None if it concerns all of it. `name`
    is the object or column in question.
    """

    def __init__(self, reason: str, *, line: int | None = None, column: int | None = None, name: str | None = None):
        where = f"line {line}:{column} " if line is not None else ""
        super().__init__(f"{where}{reason}")
        self.reason = reason
        self.line = line
        self.column = column
        self.name = name


class QueryTooLargeError(SqlError):
    """A text that takes more columns, nested queries, characters or time to resolve than the limit.

    Attributes:
        quantity: `columns`, `queries`, `characters`, `name`, `type` or `seconds`.
        figure: The number at which the resolution ended; the whole text takes at least this many.
        limit: The largest number allowed.
    """

    def __init__(
        self,
        quantity: str,
        unit: str,
        figure: int,
        limit: int,
        *,
        line: int | None = None,
        column: int | None = None,
        name: str | None = None,
    ):
        super().__init__(
            f"The text is too large to resolve: it takes at least {figure:,} {unit}, the limit is {limit:,}. List the "
            "columns that are needed in place of stars, or divide the text into several views",
            line=line,
            column=column,
            name=name,
        )
        self.quantity = quantity
        self.figure = figure
        self.limit = limit


class SparkSqlError(SqlError):
    """A SQL text that Spark rejected, or that failed while it ran.

    `condition` is Spark's error class and `sql_state` the SQLSTATE, None if Spark reports none. `line` and `column` are
    the position in the caller's text; if the error is in the definition of a view, `view` is its identifier and they
    are the position in the definition.
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
    """A metadata file at a location that the catalog does not allow; it was not opened. `scheme` is that of its URI."""

    def __init__(self, location: str, scheme: str, reason: str) -> None:
        super().__init__(location, reason)
        self.scheme = scheme


class InvalidMetadataError(MetadataFileError):
    """A metadata file that violates the format; `path` is the position, e.g. `versions[1].schema-id`."""

    def __init__(self, location: str, path: str, reason: str) -> None:
        super().__init__(location, f"{path}: {reason}" if path else reason)
        self.path = path


class MetadataWriteError(HiveViewsError):
    """A metadata file of a view or table that could not be written; the metastore was not changed."""

    def __init__(self, location: str, reason: str, *, kind: str = "view") -> None:
        super().__init__(f"Cannot write the {kind} metadata file {location}: {reason}. The metastore was not changed")
        self.location = location
        self.reason = reason


class CommitFailedError(HiveViewsError, iceberg.CommitFailedException):
    """The commit was rejected; nothing was changed. Load the view again and repeat the change."""

    def __init__(self, identifier: str, reason: str, *, expected: str | None = None, found: str | None = None) -> None:
        super().__init__(f"Cannot commit to {identifier}: {reason}")
        self.identifier = identifier
        self.reason = reason
        self.expected = expected
        self.found = found


class SourceDroppedError(CommitFailedError):
    """A source of the view was dropped or renamed since the view was defined; nothing was changed."""

    def __init__(self, identifier: str, sources: Sequence[str]) -> None:
        super().__init__(
            identifier,
            f"{', '.join(sources)}, which it reads, was dropped or renamed meanwhile. Define the view again",
        )
        self.sources = tuple(sources)


class UnrecordedTextError(CommitFailedError):
    """Another program wrote a text into the row that is in no version of the view; a commit would lose that text.

    ALTER VIEW … AS in plain Spark and Hive changes the row but not the metadata file. `text` is the text of the row.
    """

    def __init__(self, identifier: str, text: str) -> None:
        super().__init__(
            identifier,
            "another program wrote a text into its row that is in no version (see view.drift); a commit would lose it. "
            "Make it a version with catalog.adopt_view, or discard it with catalog.repair_view",
        )
        self.text = text


class CommitStateUnknownError(HiveViewsError, iceberg.CommitStateUnknownException):
    """The metastore did not reply, or failed without proof that nothing was changed. No file was deleted.

    Before a retry, load the view and compare its `metadata_location` with the one of this error: a retry may apply the
    change twice, and deleting the file may destroy the view.
    """

    may_take_effect = True

    def __init__(self, identifier: str, metadata_location: str | None, reason: str) -> None:
        file_note = f" The new metadata file {metadata_location} was kept." if metadata_location else ""
        super().__init__(
            f"Could not determine whether the change to {identifier} was committed: {reason}.{file_note} "
            "Load it again before you repeat the change"
        )
        self.identifier = identifier
        self.metadata_location = metadata_location
        self.reason = reason


class LockError(HiveViewsError):
    """The metastore's lock could not be acquired, or was lost; `lock_id` is None if there was no lock yet."""

    def __init__(self, identifier: str, reason: str, *, lock_id: int | None = None) -> None:
        super().__init__(f"Lock on {identifier}: {reason}")
        self.identifier = identifier
        self.reason = reason
        self.lock_id = lock_id


class LockTimeoutError(LockError):
    """Another client held the lock until the time limit."""


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
    """The name belongs to an object that is not an Iceberg view: a plain Hive view, or a table (`NotAViewError`)."""

    _problem = "Not an iceberg view"
    _what_to_do = "Name an Iceberg view"

    def __init__(self, identifier: str, table_type: str | None, format_type: str | None) -> None:
        what_to_do = self._what_to_do
        importable = {"VIRTUAL_VIEW": "a plain Hive view", "MATERIALIZED_VIEW": "a materialized view of Hive"}
        if table_type in importable and not format_type:
            import shlex

            command = f"hive-views import plan --view {shlex.quote(identifier)}"
            what_to_do = f"It is {importable[table_type]}: `{command}` plans its import"
        HiveViewsError.__init__(
            self, f"{self._problem}: {identifier} (table_type={format_type}, tableType={table_type}). {what_to_do}"
        )
        self.identifier = identifier
        self.table_type = table_type
        self.format_type = format_type
        self.detail = "not an iceberg view"


class NotAViewError(NotAnIcebergViewError):
    """The name belongs to a table, of Iceberg or Hive, where a view is expected."""

    _problem = "View does not exist"
    _what_to_do = "It is a table: name a view, or use a statement about tables"


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


class UndroppableTableError(HiveViewsError):
    """A Hive table that only Hive can drop, because no statement can create it again; nothing was changed."""

    def __init__(self, identifier: str, reason: str) -> None:
        super().__init__(f"Cannot drop {identifier}: {reason}. Drop it with Hive")
        self.identifier = identifier
        self.reason = reason


class UnidentifiedError(HiveViewsError):
    """An Iceberg table or view whose UUID cannot be read, because its metadata file cannot be read."""

    def __init__(self, identifier: str, reason: str) -> None:
        super().__init__(f"Could not determine the UUID of {identifier}: {reason}")
        self.identifier = identifier
        self.reason = reason


class MetastoreError(HiveViewsError):
    """The metastore or the connection to it failed; `method` is the Thrift method that was called."""

    def __init__(self, method: str, reason: str, *, uri: str | None = None) -> None:
        super().__init__(f"{method}{f' at {uri}' if uri else ''}: {reason}")
        self.method = method
        self.reason = reason
        self.uri = uri


class MetastoreUnavailableError(MetastoreError):
    """No metastore could be reached; the request was not sent."""


class MetastoreAuthenticationError(MetastoreUnavailableError):
    """TLS or authentication failed in `step`; the request was not sent."""

    def __init__(self, method: str, reason: str, step: str, *, uri: str | None = None) -> None:
        super().__init__(method, reason, uri=uri)
        self.step = step


class MetastoreConnectionLostError(MetastoreError):
    """The connection broke after the request was sent, so it is unknown whether it was executed.

    `may_take_effect` is false for a read.
    """

    def __init__(self, method: str, reason: str, *, uri: str | None = None, may_take_effect: bool = False) -> None:
        super().__init__(method, reason, uri=uri)
        self.may_take_effect = may_take_effect


class MetastoreTimeoutError(MetastoreConnectionLostError):
    """No reply within the time limit; a change may still be executed later."""


class MetastoreRefusedError(MetastoreError):
    """The server replied with an error (e.g. MetaException), or does not know the method."""

    rejected_location: str | None = None
    """For a change of a table that was certainly not carried out: the metadata file of the request."""


class PermissionDeniedError(MetastoreRefusedError):
    """The metastore denied a change because the user lacks the permission for it; nothing was changed.

    `identifier` is the object, and `operation` the denied change, e.g. `drop`, or `read`; `reason` is the server's
    message, and `user` the user whom it names, or else the one whom the metastore knows.
    """

    def __init__(self, method: str, identifier: str, operation: str, reason: str, *, user: str | None = None) -> None:
        who = f" as {user}" if user else ""
        super().__init__(
            method,
            f"Permission denied to {operation} {identifier}{who}: {reason}. Nothing was changed. Get the permission, "
            "or connect as a user who has it",
        )
        self.identifier = identifier
        self.operation = operation
        self.reason = reason
        self.user = user


class EmbeddedMetastoreError(HiveViewsError):
    """A local metastore could not be started or stopped; the message names what to install, or the log."""

    def __init__(self, directory: str, reason: str) -> None:
        super().__init__(f"Embedded metastore in {directory}: {reason}")
        self.directory = directory
        self.reason = reason


class ArtifactFetchError(HiveViewsError):
    """Files could not be downloaded from a Maven repository; `coordinates` names the files."""

    def __init__(self, coordinates: str, repository: str, reason: str) -> None:
        super().__init__(
            f"Cannot fetch {coordinates} from {repository} (the environment variable DEFAULT_ARTIFACT_REPOSITORY "
            f"names a mirror): {reason}"
        )
        self.coordinates = coordinates
        self.repository = repository
        self.reason = reason


class PlanError(HiveViewsError, ValueError):
    """An import plan that is invalid, or does not fit the operation."""


class JournalError(HiveViewsError):
    """The journal of an import is in use by another run, belongs to another plan, or is invalid."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"The journal {path}: {reason}")
        self.path = path
        self.reason = reason


class ComparisonError(HiveViewsError):
    """A legacy view cannot be compared with the view that replaced it."""

    def __init__(self, identifier: str, reason: str) -> None:
        super().__init__(f"Cannot compare {identifier}: {reason}")
        self.identifier = identifier
        self.reason = reason


class QueryEngineError(HiveViewsError):
    """An engine cannot be reached, or refused or failed a query."""

    def __init__(self, engine: str, reason: str) -> None:
        super().__init__(f"{engine}: {reason}")
        self.engine = engine
        self.reason = reason


class MissingClientError(HiveViewsError):
    """The client of an engine is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed: pip install 'hive_views[{extra}]'")
        self.package = package
        self.extra = extra


class RevertError(HiveViewsError):
    """A view whose legacy row cannot be restored; nothing was changed."""

    def __init__(self, identifier: str, reason: str) -> None:
        super().__init__(f"Cannot revert {identifier}: {reason}")
        self.identifier = identifier
        self.reason = reason


class NotMaterializedError(NoSuchViewError):
    """The name belongs to a plain view or table, not to a materialized view."""

    def __init__(self, identifier: str, detail: str) -> None:
        HiveViewsError.__init__(self, f"Not a materialized view: {identifier} ({detail})")
        self.identifier = identifier
        self.detail = detail


class InvalidRefreshStateError(HiveViewsError, ValueError):
    """The recorded storage or refresh state of a materialized view violates the format; `path` is the position.

    `identifier` is the materialized view, None if it is not known.
    """

    identifier: str | None = None

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"Invalid materialized view metadata: {path}: {reason}")
        self.path = path
        self.reason = reason

    def of(self, identifier: str) -> InvalidRefreshStateError:
        """Set the materialized view, also in the message, unless the error has one; returns this error."""
        if self.identifier is None:
            self.identifier = identifier
            self.args = (f"{identifier}: {self}",)
        return self


class UnsupportedMaterializedViewError(InvalidRefreshStateError):
    """A materialized view in a later format than this release supports; it is neither read nor written."""

    def __init__(self, path: str, found: int, supported: int) -> None:
        HiveViewsError.__init__(
            self,
            f"{path}: format-version {found} is later than {supported}, the latest that this release supports. Use a "
            "later release of hive_views",
        )
        self.path = f"{path}.format-version"
        self.reason = f"format-version {found} is not supported"
        self.found = found
        self.supported = supported


class NoSuchRefreshError(HiveViewsError, ValueError):
    """A refresh (by snapshot, tag or time) that is not in the storage of a materialized view."""

    def __init__(self, identifier: str, wanted: str, available: Sequence[int]) -> None:
        shown = ", ".join(map(str, available)) or "none yet"
        super().__init__(
            f"The storage of {identifier} has no rows of {wanted}; it has these snapshots: {shown} (older ones "
            f"expire). List them with catalog.materialized.load({identifier!r}).refreshes()"
        )
        self.identifier = identifier
        self.wanted = wanted
        self.available = tuple(available)


class StaleRowsError(HiveViewsError):
    """Stored rows of a materialized view that must not answer a query, usually because they are stale.

    Attributes:
        identifier: The materialized view.
        freshness: The verdict of the freshness check with its reasons, or the settings that differ.
        partitions: The SQL condition for the stale partitions, if the others are fresh; otherwise None.
    """

    def __init__(self, identifier: str, freshness: str, partitions: str | None = None) -> None:
        where = "" if partitions is None else f" where {partitions}"
        super().__init__(
            f"The stored rows of {identifier}{where} do not answer queries: {freshness}. Refresh it, or, if its "
            "definition has not changed since, read them with allow_stale_data=True"
        )
        self.identifier = identifier
        self.freshness = freshness
        self.partitions = partitions


class RefreshError(HiveViewsError):
    """A refresh that failed; the stored rows are unchanged.

    Attributes:
        completed: The views that a refresh with CASCADE had refreshed before the failure, and how.
    """

    completed: tuple[str, ...] = ()

    def __init__(self, identifier: str, reason: str) -> None:
        super().__init__(f"Cannot refresh {identifier}: {reason}. Its stored rows are unchanged")
        self.identifier = identifier
        self.reason = reason


class RefreshConflictError(CommitFailedError):
    """A concurrent refresh of the same materialized view was published first; this one was discarded."""

    completed: tuple[str, ...] = ()


class DefinitionChangedError(CommitFailedError):
    """The view was redefined concurrently, or dropped and created again."""


class UpgradeError(HiveViewsError):
    """An upgrade that cannot be planned, applied or rolled back; `place` is the database."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}" if place else reason)
        self.place = place
        self.reason = reason


class DatabaseError(UpgradeError):
    """The database could not be reached, or rejected a statement. `statement` is the SQL, without values."""

    def __init__(self, place: str, reason: str, *, statement: str | None = None) -> None:
        super().__init__(place, f"{reason} [{statement}]" if statement else reason)
        self.reason = reason
        self.statement = statement


class NotAMetastoreError(UpgradeError):
    """The database has no metastore schema (no table TBLS)."""


class MetastoreRunningError(UpgradeError):
    """Other programs are connected to the database; `sessions` describes them."""

    def __init__(self, place: str, sessions: Sequence[str]) -> None:
        super().__init__(
            place,
            f"{len(sessions)} other session(s) use it: {'; '.join(sessions)}. Stop their metastore, or allow it to run "
            "meanwhile (--while-running): then schema changes wait for its transactions, and it waits for them",
        )
        self.sessions = tuple(sessions)


class BlockedStepsError(UpgradeError):
    """Steps that would fail; nothing was changed. `steps` lists the ID of each step with the reason and remedy."""

    def __init__(self, place: str, steps: Sequence[tuple[str, str]]) -> None:
        by_reason: dict[str, list[str]] = {}
        for step, reason in steps:
            by_reason.setdefault(reason, []).append(step)
        listed = "; ".join(f"{', '.join(names)}: {reason}" for reason, names in by_reason.items())
        super().__init__(
            place,
            f"{len(steps)} step(s) would fail, so nothing was changed: {listed}. Remove the cause, or leave steps out "
            "(--skip STEP)",
        )
        self.steps = tuple(steps)


class RemainingHiveScriptsError(UpgradeError):
    """Hive's upgrade scripts that are still to be run make steps of the plan as well; nothing was changed.

    `scripts` lists the name of each script with the IDs of these steps, `remedy` what to do first.
    """

    def __init__(self, place: str, scripts: Sequence[tuple[str, Sequence[str]]], remedy: str) -> None:
        listed = "; ".join(f"{name}: {', '.join(steps)}" for name, steps in scripts)
        super().__init__(
            place,
            f"{len(scripts)} of Hive's upgrade scripts remain, make steps of the plan as well, and fail if "
            f"they come after it, so nothing was changed: {listed}. Instead, {remedy}",
        )
        self.scripts = tuple((name, tuple(steps)) for name, steps in scripts)
        self.remedy = remedy


class PlanChangedError(UpgradeError):
    """The database changed since the plan was created; nothing was changed by the plan."""

    def __init__(self, place: str, differences: Sequence[str]) -> None:
        super().__init__(place, f"it changed since the plan was created: {'; '.join(differences)}. Plan again")
        self.differences = tuple(differences)


class InvalidPlanError(UpgradeError):
    """A plan that is invalid, or belongs to another database."""

    def __init__(self, reason: str) -> None:
        super().__init__("", f"The plan cannot be used: {reason}")
        self.reason = reason
