"""Invalid arguments, definitions and SQL texts."""

from __future__ import annotations

from collections.abc import Sequence

from pyiceberg import exceptions as iceberg

from hive_views.errors.tree import HiveViewsError


class InvalidIdentifierError(HiveViewsError, ValueError):
    """A name that the metastore cannot store, or that is not `database.name`."""

    def __init__(self, identifier: object, reason: str) -> None:
        super().__init__(f"Invalid identifier: {identifier!r}: {reason}")
        self.identifier = identifier
        self.reason = reason


class InvalidPropertyError(HiveViewsError, ValueError):
    """A property with an invalid key or value."""

    def __init__(self, key: object, value: object, reason: str) -> None:
        super().__init__(f"Invalid property {key!r} = {value!r}: {reason}")
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
    """A replacement that would lose the text of a dialect (view property `replace.drop-dialect.allowed`)."""

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
    """A definition or name with which a view would read itself, directly or through other views."""

    def __init__(self, identifier: str, cycle: Sequence[str]) -> None:
        super().__init__(identifier, f"it would read itself: {' -> '.join(cycle)}. Remove one of these references")
        self.cycle = tuple(cycle)


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
