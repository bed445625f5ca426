"""What the text of a server's error says: a denial, perhaps another check, or a failure."""

from __future__ import annotations

import pytest

from hive_views.metastore._thrift.hive_metastore.ttypes import InvalidOperationException, MetaException
from hive_views.metastore.denials import denied_user, is_denial
from hive_views.metastore.rejections import are_columns_unreadable, may_be_check, proves_unchanged

DENIALS = {
    'java.security.AccessControlException: Permission denied: user=alice, path="file:/w/d.db":root:root:drwxr-xr-x': (
        "alice"
    ),
    "java.io.IOException: Permission Denied: User alice can't delete file:/w/d.db/v because sticky bit is set": "alice",
    "Table metadata not deleted since file:/w/d.db is not writable by alice": "alice",
    "No privilege 'Create' found for outputs { database:d, table:new}": None,
    "Permission denied: Principal [name=alice, type=USER] does not have following privileges for operation DROPTABLE "
    "[[OBJECT OWNERSHIP] on Object [type=TABLE_OR_VIEW, name=hive.d.v]]": "alice",
    "Permission denied: user [alice] does not have [DROP] privilege on [d/v]": "alice",
    "java.lang.SecurityException: alice may not do this": None,
    "User alice does not have privileges for ALTERTABLE": None,
    "alice is not authorized to change d.v": None,
}
"""The user whom each names."""

FAILURES = (
    "One or more instances could not be made persistent",  # 4.2.0 while PostgreSQL delays a COMMIT
    "javax.jdo.JDOFatalDataStoreException: Commit of the transaction failed",
    'Put request failed : INSERT INTO "TBLS" ("TBL_ID") VALUES (?)',
    'Update of object "MTable" using statement "UPDATE TBLS SET …" failed : ERROR: permission denied for table TBLS',
    "Communications link failure during commit(). Transaction resolution unknown.",
    "org.apache.hadoop.hive.metastore.api.MetaException: Unable to connect: Access denied for user 'hive'@'localhost'",
    "HikariPool-1 - Connection is not available, request timed out after 30000ms.",
    "java.lang.NullPointerException",
    "the database is down",
    "An SQLException was thrown: Lock wait timeout exceeded; try restarting transaction",
    "",
)
"""Texts of failures of a server or its database, after which it may still carry out the change."""


@pytest.mark.parametrize("message", DENIALS)
@pytest.mark.parametrize("kind", [MetaException, InvalidOperationException])
def test_denials(message: str, kind: type[Exception]) -> None:
    error = kind(message)
    assert is_denial(error)
    assert denied_user(error) == DENIALS[message]
    assert proves_unchanged(error)
    assert not is_denial(ValueError(message))


@pytest.mark.parametrize("message", FAILURES)
def test_failures_are_no_proof(message: str) -> None:
    error = MetaException(message)
    assert not is_denial(error)
    assert not proves_unchanged(error)
    assert not may_be_check(error)


def test_text_of_unknown_check() -> None:
    error = MetaException("the steward must agree first")
    assert may_be_check(error)
    assert not is_denial(error)
    assert not proves_unchanged(error)
    assert not may_be_check(InvalidOperationException("the steward must agree first"))


@pytest.mark.parametrize("name", ["my-f", "a:b"])
def test_columns_that_hive2_cannot_parse(name: str) -> None:
    message = f"java.lang.IllegalArgumentException: Error: : expected at the position 9 of 'struct<{name}:int>' but '-'"
    assert are_columns_unreadable(MetaException(message))
    assert proves_unchanged(MetaException(message))
