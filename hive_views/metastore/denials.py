"""The errors with which authorizers of a metastore deny a request to a user, before the server changes anything.

An authorizer is a pre-event listener. The server calls it before its transaction, and returns the text of its exception
as a MetaException, whatever the type of the exception (measured on 2.3.10, 3.1.3 and 4.2.0).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hive_views.metastore._thrift.hive_metastore.ttypes import InvalidOperationException, MetaException


@dataclass(frozen=True)
class Denial:
    """A message with which a server denies a request."""

    pattern: str
    """A regular expression for the beginning of the message; its group is the user, if the message has the user."""
    check: str
    """What checks the permission."""
    releases: str
    """The releases of Hive on which it was measured."""


DENIALS = (
    Denial(
        r"java\.security\.AccessControlException: Permission denied: user=([^,]+)",
        "storage based authorization (StorageBasedAuthorizationProvider)",
        "2.3.10, 3.1.3, 4.2.0",
    ),
    Denial(
        r"java\.io\.IOException: Permission Denied: User (\S+) can't delete .* because sticky bit is set",
        "storage based authorization, of a drop",
        "2.3.10, 4.2.0",
    ),
    Denial(
        r"Table metadata not deleted since .* is not writable by (\S+)",
        "hive.metastore.authorization.storage.checks",
        "2.3.10",
    ),
    Denial(
        r"Database not dropped since .* is not writable by (\S+)",
        "hive.metastore.authorization.storage.checks",
        "2.3.10, 4.2.0",
    ),
    Denial(
        r"No privilege '\w+' found for (?:inputs|outputs) \{",
        "grants of Hive (DefaultHiveMetastoreAuthorizationProvider)",
        "2.3.10, 3.1.3, 4.2.0",
    ),
    Denial(
        r"Permission denied: Principal \[name=([^,]+), type=\w+\] does not have following privileges for operation ",
        "SQL standard based authorization (HiveMetaStoreAuthorizer, SQLStdHiveAuthorizerFactory)",
        "4.2.0",
    ),
    Denial(
        r"(?:Failed to retrieve roles for \S+: )?Operation type \w+ not allowed for user:(\S+)",
        "HiveMetaStoreAuthorizer, of requests that only its administrators may send",
        "4.2.0",
    ),
    Denial(r"Permission denied: user \[([^\]]+)\]", "Apache Ranger", "not measured"),
)
"""The denials by a check that precedes the server's transaction. For other authorizers see `_PERMISSIONS`."""

_PERMISSIONS = (
    r"(permission|access) (is )?denied|not authori[sz]ed|unauthori[sz]ed|AccessControlException|SecurityException",
    r"\b(not have|lacks?|no|without|missing|insufficient) (\S+ ){0,3}(privilege|permission)",
)
"""Words with which authorizers that are not in `DENIALS` deny a request, if the text is not about a database."""

_DATABASE_FAILURES = (
    r"\bjavax?\.sql\b|\bSQL|jdo\b|datanucleus|hikari|jdbc|derby|postgres|mysql|mariadb|oracle|FATAL:|ERROR:|ORA-\d",
    r"\bdatabase (is|was|has|server|error|failure|failed)\b|persist|datastore|statement|instances",
    r"transaction|savepoint|commit|roll(ed)?[ -]?back|deadlock|constraint|serializ|database system|request failed",
    r"connect|socket|network|communications|broken pipe|timed? ?-?out|timeout|deadline|interrupt|closed|reset|retry",
    r"\b(no space|disk|quota|memory|resource|i/?o (error|exception)|IOException|NullPointer\w*|IllegalState\w*)\b",
)
"""Words in the errors with which databases, their drivers, DataNucleus and the server's threads fail."""


def is_denial(error: BaseException) -> bool:
    """Return whether the server denied a request because the user lacks the permission for it."""
    if _match(error) is not None:
        return True
    message = _message(error)
    return re.search("|".join(_PERMISSIONS), message, re.IGNORECASE) is not None and not names_database_failure(message)


def denied_user(error: BaseException) -> str | None:
    """Return the user whom a denial names, as the server knows the user; None if it names none."""
    match = _match(error)
    return None if match is None else next(filter(None, match.groups()), None)


def names_database_failure(message: str) -> bool:
    """Return whether an error's text may be about a failure of the server's database."""
    return re.search("|".join(_DATABASE_FAILURES), message, re.IGNORECASE) is not None


def _match(error: BaseException) -> re.Match[str] | None:
    message = _message(error)
    return next(filter(None, (re.match(denial.pattern, message, re.DOTALL) for denial in DENIALS)), None)


def _message(error: BaseException) -> str:
    return (error.message or "") if isinstance(error, (MetaException, InvalidOperationException)) else ""
