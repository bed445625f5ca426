"""Exit codes, and the diagnostics that commands print on stderr.

The codes are a contract with scripts: docs/cli.md lists them, and a test compares the list.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from enum import IntEnum
from typing import Any

from hive_views import errors
from hive_views.cli.output import shown
from hive_views.rendering.escaping import escape_json


class ExitCode(IntEnum):
    """Exit codes and their meanings."""

    meaning: str

    def __new__(cls, value: int, meaning: str) -> ExitCode:
        """Create a member with its meaning."""
        member = int.__new__(cls, value)
        member._value_ = value
        member.meaning = meaning
        return member

    OK = (0, "The command succeeded.")
    FAILED = (
        1,
        "The command failed, or `doctor`, `deps check` or `deps impact` found a problem, `mv status` found rows that "
        "are not fresh, `mv refresh` refreshed only some of several views, or `drop --purge` could not delete all "
        "files of the dropped view; nothing was changed unless the message states otherwise.",
    )
    USAGE = (2, "Wrong usage: an option, a name, a property or a definition that cannot be used. Nothing was changed.")
    NOT_FOUND = (3, "No such view, version, database or table, or the name of a view is that of a table.")
    CONFLICT = (
        4,
        "The name is taken, views depend on it, the view would lose a dialect, or another client changed or locked it. "
        "Nothing was changed.",
    )
    UNKNOWN = (5, "The metastore did not reply whether the change was applied. Check the view before you try again.")
    UNREACHABLE = (
        6,
        "No metastore or other catalog could be reached, or it did not answer a read. Nothing was changed.",
    )
    DENIED = (7, "The metastore denied the change, or a read, to the user. Nothing was changed.")
    INTERNAL = (70, "A defect of this program; its traceback is on stderr. Please report it.")
    HANGUP = (129, "The terminal was closed (SIGHUP); locks and temporary rows were removed first.")
    INTERRUPTED = (130, "Interrupted (Ctrl-C); locks and temporary rows were removed first.")
    TERMINATED = (143, "Terminated (SIGTERM); locks and temporary rows were removed first.")


CODES: dict[type[errors.HiveViewsError], ExitCode] = {
    errors.UsageError: ExitCode.USAGE,
    errors.CatalogConfigurationError: ExitCode.USAGE,
    errors.InvalidIdentifierError: ExitCode.USAGE,
    errors.InvalidPropertyError: ExitCode.USAGE,
    errors.InvalidViewError: ExitCode.USAGE,
    errors.SqlError: ExitCode.USAGE,
    errors.InvalidPlanError: ExitCode.USAGE,
    errors.NoSuchVersionError: ExitCode.NOT_FOUND,
    errors.NoSuchRefreshError: ExitCode.NOT_FOUND,
    errors.NoSuchNamespaceError: ExitCode.NOT_FOUND,
    errors.NoSuchViewError: ExitCode.NOT_FOUND,
    errors.NoSuchTableError: ExitCode.NOT_FOUND,
    errors.NotAViewError: ExitCode.NOT_FOUND,
    errors.DialectLossError: ExitCode.CONFLICT,
    errors.DependentsError: ExitCode.CONFLICT,
    errors.NotAnIcebergViewError: ExitCode.CONFLICT,
    errors.ViewAlreadyExistsError: ExitCode.CONFLICT,
    errors.TableAlreadyExistsError: ExitCode.CONFLICT,
    errors.NamespaceAlreadyExistsError: ExitCode.CONFLICT,
    errors.NamespaceNotEmptyError: ExitCode.CONFLICT,
    errors.CommitFailedError: ExitCode.CONFLICT,
    errors.LockTimeoutError: ExitCode.CONFLICT,
    errors.PlanChangedError: ExitCode.CONFLICT,
    errors.MetastoreRunningError: ExitCode.CONFLICT,
    errors.CommitStateUnknownError: ExitCode.UNKNOWN,
    errors.CatalogUnavailableError: ExitCode.UNREACHABLE,
    errors.MetastoreUnavailableError: ExitCode.UNREACHABLE,
    errors.MetastoreConnectionLostError: ExitCode.UNREACHABLE,
    errors.PermissionDeniedError: ExitCode.DENIED,
    errors.HiveViewsError: ExitCode.FAILED,
}
"""The code of an error is that of its class, or of the nearest base class listed."""


def exit_code(error: errors.HiveViewsError) -> ExitCode:
    """Return the exit code of an error.

    That of a partly completed operation does not state that nothing was changed.
    """
    code = next(CODES[kind] for kind in type(error).__mro__ if kind in CODES)
    if isinstance(error, errors.MetastoreConnectionLostError) and error.may_take_effect:
        return ExitCode.UNKNOWN
    return ExitCode.FAILED if error.completed_steps and code is not ExitCode.UNKNOWN else code


def error_document(error: BaseException) -> dict[str, Any]:
    """Return the JSON object that `--json` prints on stderr: the message, the class and the attributes of an error."""
    operands = vars(error) if isinstance(error, errors.HiveViewsError) else {}
    return {
        "error": str(error),
        "type": type(error).__name__,
        "operands": {key: value for key, value in operands.items() if key[0] != "_" and key != "may_take_effect"},
    }


def report_error(error: errors.HiveViewsError, *, as_json: bool) -> ExitCode:
    """Print an error on stderr, and return its exit code."""
    print_diagnostic(f"Error: {error}", error_document(error), as_json=as_json)
    return exit_code(error)


def report_defect(error: Exception, *, as_json: bool) -> ExitCode:
    """Print the traceback of an unexpected exception on stderr, with `as_json` followed by a JSON object."""
    print(shown("".join(traceback.format_exception(error))), end="", file=sys.stderr, flush=True)
    if as_json:
        print_diagnostic("", error_document(error), as_json=True)
    return ExitCode.INTERNAL


def print_diagnostic(text: str, document: dict[str, Any], *, as_json: bool) -> None:
    """Print a diagnostic on stderr: the text, or with `as_json` the document in one line."""
    # Errors may quote texts of a metastore, which must not control the terminal.
    line = escape_json(json.dumps(document, ensure_ascii=False, default=str)) if as_json else shown(text)
    print(line, file=sys.stderr, flush=True)


def print_message(message: str, kind: str, *, as_json: bool) -> None:
    """Print a message about no particular error of this package on stderr; `kind` is its type in JSON."""
    print_diagnostic(message, {"error": message, "type": kind, "operands": {}}, as_json=as_json)


class EscapingFormatter(logging.Formatter):
    """Formats log records with control characters escaped."""

    def format(self, record: logging.LogRecord) -> str:
        """Format one record."""
        return shown(super().format(record))
