"""Which errors of the metastore prove that it did not carry out a change, and never will.

An error that a Thrift method declares is not a proof by itself: Hive 4.2.0 returns a MetaException when its connection
to PostgreSQL breaks during a COMMIT that the database carries out later, and an InvalidOperationException ("No
savepoint with that name") when it loses its database. Two kinds of errors are a proof: errors from a check that the
server makes before its transaction, such as a denial (`denials`), and errors about a value that the database can never
store, because each attempt fails in the same way. An error about a missing object is not a proof if it reports a
failure of the server's database (`is_failed_lookup`): an earlier attempt of the same request may have sent its COMMIT.

The texts of checks that a site has added are unknown (`may_be_check`). A change that a server refuses with
such a text is followed by a request that only checks can answer in this way (`comes_from_check`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from hive_views.errors import CommitStateUnknownError, MetastoreError, MetastoreRefusedError, PermissionDeniedError
from hive_views.metastore._thrift.hive_metastore.ttypes import (
    AlreadyExistsException,
    InvalidObjectException,
    InvalidOperationException,
    MetaException,
    NoSuchObjectException,
)
from hive_views.metastore.denials import denied_user, is_denial, names_database_failure
from hive_views.metastore.store import CAS_REJECTED, DECLARED_REJECTIONS, Rejection, rejection_message
from hive_views.metastore.transport.client import MetastoreClient
from hive_views.metastore.transport.failures import is_failed_lookup
from hive_views.metastore.transport.methods import UnknownMethodError

_ALWAYS_PROOF = (AlreadyExistsException, InvalidObjectException, NoSuchObjectException)
"""Declared errors that only checks raise."""

INCOMPATIBLE_COLUMNS = "The following columns have types incompatible with the existing columns"
"""The beginning of the message about changed column types of a table (2.3 to 4.1)."""

UNREADABLE_COLUMNS = r"java\.lang\.IllegalArgumentException: Error: .*\bexpected at the (position|end)\b"
"""The message about a column type that the server cannot parse, which it does for each change of a table: a field named
`my-f` or `a:b` of a struct (2.3.10; 3.1.3 and 4.2.0 accept them)."""

_INVALID_OPERATIONS = (
    r"new table .+ already exists",  # a rename; 2.3.10, 3.1.3, 4.0.1, 4.2.0
    r".* table not found$",  # 2.3.10, 3.1.3, 4.0.1, 4.2.0
    r"Alter table in REMOTE database is not allowed$",  # also if the database does not exist; 4.0.1, 4.2.0
    # A rename into an unknown database; 2.3.10, 3.1.3 ("Database … doesn't exist."), 4.0.1 ("Object database … does not
    # exist."), 4.2.0 ("database hive.…").
    r"Unable to change partition or table\..*\bdatabase\b",
    r".* is not a valid object name$",  # 2.3.10, 4.2.0
    INCOMPATIBLE_COLUMNS,  # 2.3.10, 4.2.0
    r"Database .+ is not empty",  # 2.3.10, 4.2.0
)

_META_EXCEPTIONS = (
    re.escape(CAS_REJECTED),  # compare-and-swap; 2.3.10, 4.0.1, 4.2.0
    UNREADABLE_COLUMNS,
    # HiveMetaStoreAuthorizer with SQL standard based authorization, in front of the transaction; 4.2.0.
    r"Error getting object from metastore for Object \[",
    # A CachedStore; 4.2.0.
    r"java\.lang\.UnsupportedOperationException: This Store doesn't support updating table parameter",
    r"The table must be (bucketed and )?stored using an ACID compliant format",  # transactional=true; 2.3.10, 4.2.0
    r"Failed to create external path ",  # the directory of a database; 4.2.0
    r"Unable to create database path ",  # 2.3.10, 3.1.3
    r".* is not a directory or unable to create one$",  # the directory of a table; 2.3.10, 3.1.3, 4.2.0
    r"Can not drop default database",  # 2.3.10, 4.1.0
    # DataNucleus compares lengths before it sends a statement; 2.3.10, 4.2.0.
    r'(\w+: )?Attempt to store value ".*" in column ".*" that has maximum length of \d+',
    r".*failed : .*A truncation error was encountered trying to shrink",  # Derby; 2.3.10
    r".*ERROR: value too long for type character varying\(",  # PostgreSQL; 4.2.0
    r".*Could not send query: query size is >= to max_allowed_packet",  # MariaDB; 4.2.0
)

_OPERATIONS: Mapping[str, str] = {
    "create_table": "create",
    "alter_table": "change",
    "drop_table": "drop",
    "create_database": "create",
    "alter_database": "change",
    "drop_database": "drop",
    "add_partition": "add a partition to",
    "drop_partition": "drop a partition of",
}
"""What each request does to the object that an error names."""

_PROVING_MESSAGES: Mapping[type[Exception], str] = {
    InvalidOperationException: f"(?si:{'|'.join(_INVALID_OPERATIONS)})",
    MetaException: f"(?s:{'|'.join(_META_EXCEPTIONS)})",
}


def proves_unchanged(error: BaseException) -> bool:
    """Return whether an error from the server proves that the request was not and will not be carried out."""
    if is_denial(error):
        return True
    if is_failed_lookup(error):
        return False
    # A method that the server does not have is not carried out.
    if isinstance(error, _ALWAYS_PROOF) or isinstance(error.__cause__, UnknownMethodError):
        return True
    pattern = _PROVING_MESSAGES.get(type(error))  # type: ignore[arg-type]
    return pattern is not None and re.match(pattern, getattr(error, "message", None) or "") is not None


def may_be_check(rejection: Rejection) -> bool:
    """Return whether a rejection without proof may come from a check, and not from a failure of the server's database.

    Exceptions of listeners, of all types, arrive as MetaException (measured on 2.3.10, 3.1.3 and 4.2.0).
    """
    message = getattr(rejection, "message", None) or ""
    is_unproven = isinstance(rejection, MetaException) and not proves_unchanged(rejection)
    return is_unproven and message != "" and not names_database_failure(message)


def comes_from_check(rejection: Rejection, invalid: Callable[[], None]) -> bool:
    """Return whether a check of the server, in front of its transaction, rejected a request.

    `invalid` sends an invalid request (`invalid_requests`). The same answer to it comes from a check. A repetition of
    the request would not show that: while a COMMIT is delayed, Hive 4.2.0 fails each time with "One or more instances
    could not be made persistent".
    """
    if not may_be_check(rejection):
        return False
    try:
        invalid()
    except DECLARED_REJECTIONS as answer:
        return bool(answer == rejection)
    except MetastoreError:
        return False
    return False


def denial_error(
    client: MetastoreClient, method: str, name: str, denial: Rejection, operation: str | None = None
) -> PermissionDeniedError:
    """Return the error for a denied change that was not carried out; `operation` is by default that of the method."""
    user = denied_user(denial) or client.authenticated_user()
    return PermissionDeniedError(method, name, operation or _OPERATIONS[method], rejection_message(denial), user=user)


def rejection_error(
    client: MetastoreClient,
    method: str,
    name: str,
    rejection: Rejection,
    is_unchanged: Callable[[], bool],
    invalid: Callable[[], None],
) -> MetastoreRefusedError | CommitStateUnknownError:
    """Return the error for a change of a database or partition that the server did not confirm.

    `is_unchanged` reads whether the object has the state from before the change; it is called after a refusal by a
    check. `invalid` is for `comes_from_check`.
    """
    text = rejection_message(rejection)
    is_denied = is_denial(rejection)
    if is_denied or comes_from_check(rejection, invalid):
        try:
            if is_unchanged():
                refused = MetastoreRefusedError(method, f"{name} was not changed: {text}")
                return denial_error(client, method, name, rejection) if is_denied else refused
            reason = f"{method} was denied ({text}), but {name} is not in its previous state"
        except MetastoreError as error:
            reason = f"{method} was denied ({text}); then: {error}"
        return CommitStateUnknownError(name, None, reason)
    if proves_unchanged(rejection):
        return MetastoreRefusedError(method, f"{name}: {text}")
    return CommitStateUnknownError(
        name, None, f"{method} failed ({text}), and the metastore's database may still carry it out"
    )


def are_columns_incompatible(error: BaseException) -> bool:
    """Return whether the server rejected a change of a table because its columns have other types than before."""
    return isinstance(error, InvalidOperationException) and (error.message or "").startswith(INCOMPATIBLE_COLUMNS)


def are_columns_unreadable(error: BaseException) -> bool:
    """Return whether the server rejected a change of a table because it cannot parse the type of a column."""
    return isinstance(error, MetaException) and bool(re.match(UNREADABLE_COLUMNS, error.message or "", re.DOTALL))


def is_cas_rejection(error: BaseException) -> bool:
    """Return whether the server rejected a compare-and-swap: the row had another value than expected."""
    return isinstance(error, MetaException) and (error.message or "").startswith(CAS_REJECTED)
