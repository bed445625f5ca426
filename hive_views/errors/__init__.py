"""Every error this package raises, in one tree.

An error carries what it is about as attributes (its *operands*), so that a program never has to parse a message, and
its message says what happened and what to do next. Where PyIceberg has an error for the same situation, ours is also
an instance of PyIceberg's, so code written against `pyiceberg.exceptions` goes on working.
"""

from hive_views.errors.arguments import (
    CyclicViewError,
    DialectLossError,
    InvalidIdentifierError,
    InvalidPropertyError,
    InvalidViewError,
    NoSuchVersionError,
    SparkSqlError,
    SqlError,
    UsageError,
)
from hive_views.errors.commits import (
    CommitFailedError,
    CommitStateUnknownError,
    LockError,
    LockTimeoutError,
    UnrecordedTextError,
)
from hive_views.errors.files import (
    InvalidMetadataError,
    MetadataFileError,
    MetadataFileNotFoundError,
    MetadataWriteError,
    RefusedLocationError,
)
from hive_views.errors.legacy import (
    JournalError,
    PlanError,
    RevertError,
)
from hive_views.errors.materialized import (
    DefinitionChangedError,
    InvalidRefreshStateError,
    NoSuchRefreshError,
    NotMaterializedError,
    RefreshConflictError,
    RefreshError,
    UnsupportedMaterializedViewError,
)
from hive_views.errors.metastore import (
    ArtifactFetchError,
    EmbeddedMetastoreError,
    MetastoreAuthenticationError,
    MetastoreConnectionLostError,
    MetastoreError,
    MetastoreRefusedError,
    MetastoreTimeoutError,
    MetastoreUnavailableError,
)
from hive_views.errors.objects import (
    DependentsError,
    MissingPointerError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    NoSuchTableError,
    NoSuchViewError,
    NotAnIcebergViewError,
    SharedFilesError,
    TableAlreadyExistsError,
    UnidentifiedError,
    ViewAlreadyExistsError,
)
from hive_views.errors.tree import (
    DamagedRowWarning,
    HiveViewsError,
    ViewDriftWarning,
)
from hive_views.errors.upgrade import (
    DatabaseError,
    InvalidPlanError,
    MetastoreRunningError,
    NotAMetastoreError,
    PlanChangedError,
    UpgradeError,
)

__all__ = [
    "ArtifactFetchError",
    "CommitFailedError",
    "CommitStateUnknownError",
    "CyclicViewError",
    "DamagedRowWarning",
    "DatabaseError",
    "DefinitionChangedError",
    "DependentsError",
    "DialectLossError",
    "EmbeddedMetastoreError",
    "HiveViewsError",
    "InvalidIdentifierError",
    "InvalidMetadataError",
    "InvalidPlanError",
    "InvalidPropertyError",
    "InvalidRefreshStateError",
    "InvalidViewError",
    "JournalError",
    "LockError",
    "LockTimeoutError",
    "MetadataFileError",
    "MetadataFileNotFoundError",
    "MetadataWriteError",
    "MetastoreAuthenticationError",
    "MetastoreConnectionLostError",
    "MetastoreError",
    "MetastoreRefusedError",
    "MetastoreRunningError",
    "MetastoreTimeoutError",
    "MetastoreUnavailableError",
    "MissingPointerError",
    "NamespaceAlreadyExistsError",
    "NamespaceNotEmptyError",
    "NoSuchNamespaceError",
    "NoSuchRefreshError",
    "NoSuchTableError",
    "NoSuchVersionError",
    "NoSuchViewError",
    "NotAMetastoreError",
    "NotAnIcebergViewError",
    "NotMaterializedError",
    "PlanChangedError",
    "PlanError",
    "RefreshConflictError",
    "RefreshError",
    "RefusedLocationError",
    "RevertError",
    "SharedFilesError",
    "SparkSqlError",
    "SqlError",
    "TableAlreadyExistsError",
    "UnidentifiedError",
    "UnrecordedTextError",
    "UnsupportedMaterializedViewError",
    "UpgradeError",
    "UsageError",
    "ViewAlreadyExistsError",
    "ViewDriftWarning",
]
