"""How a command ends: its exit code, and what it says about an error.

The codes are a contract (docs/cli.md lists them, a test compares): scripts decide by them what to do next.
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
    """Exit codes, each with its meaning."""

    meaning: str

    def __new__(cls, value: int, meaning: str) -> ExitCode:
        """Make a code that carries its meaning."""
        member = int.__new__(cls, value)
        member._value_ = value
        member.meaning = meaning
        return member

    OK = (0, "The command did what it was asked to do.")
    FAILED = (
        1,
        "The command failed, or `doctor`, `deps check` or `deps impact` found a problem; "
        "nothing was changed unless the text says so.",
    )
    USAGE = (2, "Wrong usage: an option, a name, a property or a definition that cannot be used. Nothing was changed.")
    NOT_FOUND = (3, "No such view, version, database or table.")
    CONFLICT = (
        4,
        "The name is taken, views depend on it, the view would lose a dialect, or somebody else changed or locked it "
        "meanwhile. "
        "Nothing was changed.",
    )
    UNKNOWN = (5, "The metastore did not say whether the change took place. Look at the view before trying again.")
    UNREACHABLE = (6, "No metastore could be reached, or it gave no answer to a question. Nothing was changed.")
    INTERNAL = (70, "A defect of this program; its traceback is on stderr. Please report it.")
    HANGUP = (129, "The terminal went away (SIGHUP); locks and temporary rows were removed first.")
    INTERRUPTED = (130, "Interrupted (Ctrl-C); locks and temporary rows were removed first.")
    TERMINATED = (143, "Ended from outside (SIGTERM); locks and temporary rows were removed first.")


CODES: dict[type[errors.HiveViewsError], ExitCode] = {
    errors.UsageError: ExitCode.USAGE,
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
    errors.MetastoreUnavailableError: ExitCode.UNREACHABLE,
    errors.MetastoreConnectionLostError: ExitCode.UNREACHABLE,
    errors.HiveViewsError: ExitCode.FAILED,
}
"""The code of an error: that of its class, or of the nearest class above it."""


def exit_code(error: errors.HiveViewsError) -> ExitCode:
    """The exit code of an error.

    Args:
        error: Any error of this package.

    Returns:
        Its code.
    """
    return next(CODES[kind] for kind in type(error).__mro__ if kind in CODES)


def describe(error: BaseException) -> dict[str, Any]:
    """An error as the JSON object that `--json` prints on stderr.

    Args:
        error: Any exception.

    Returns:
        `error` (the text), `type` (the class) and `operands` (what the error is about).
    """
    operands = vars(error) if isinstance(error, errors.HiveViewsError) else {}
    return {
        "error": str(error),
        "type": type(error).__name__,
        "operands": {key: _plain(value) for key, value in operands.items() if not key.startswith("_")},
    }


def report(error: errors.HiveViewsError, *, as_json: bool) -> ExitCode:
    """Tell the user about an error, on stderr.

    Args:
        error: What happened.
        as_json: Print a JSON object in one line in place of a sentence.

    Returns:
        The exit code.
    """
    say(f"Error: {error}", describe(error), as_json=as_json)
    return exit_code(error)


def report_defect(error: Exception, *, as_json: bool) -> ExitCode:
    """Show the traceback of an exception that nobody expected, on stderr; with `as_json` a JSON object follows it.

    Args:
        error: What happened.
        as_json: Print a JSON object in one line after it.

    Returns:
        The exit code.
    """
    print(shown("".join(traceback.format_exception(error))), end="", file=sys.stderr, flush=True)
    if as_json:
        say("", describe(error), as_json=True)
    return ExitCode.INTERNAL


def say(text: str, document: dict[str, Any], *, as_json: bool) -> None:
    """Print a diagnosis on stderr: a sentence, or a JSON object in one line.

    Args:
        text: The sentence.
        document: The object.
        as_json: Which of them.
    """
    # What a metastore says of itself stands in errors, too: it must not steer the terminal.
    said = escape_json(json.dumps(document, ensure_ascii=False)) if as_json else shown(text)
    print(said, file=sys.stderr, flush=True)


class ShownFormatter(logging.Formatter):
    """Log records as they can be shown: what others wrote stands in them."""

    def format(self, record: logging.LogRecord) -> str:
        """One record, as text."""
        return shown(super().format(record))


def _plain(value: object) -> object:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return str(value)
