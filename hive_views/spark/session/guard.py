"""Spark must not change our views: what is handed to it unread is looked through first, and refused in doubt.

Spark changes the row of an Iceberg view in its own way: it goes without our checks, and a definition can go with it.
Decision 0031 says what is looked for, and why.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hive_views.errors import InvalidIdentifierError, SqlError
from hive_views.identifiers import ViewName
from hive_views.metastore.queries import database_names
from hive_views.metastore.row_codec import RowKind
from hive_views.spark.session.failures import Source, pointing_into
from hive_views.spark.session.rewrite import Rewritten, substitute
from hive_views.spark.session.settings import PARSER
from hive_views.spark.session.variables import with_values
from hive_views.sql.parsing.lexer import line_and_column
from hive_views.sql.parsing.spark_lexer import spark_tokens
from hive_views.sql.parsing.statement_targets import ExecutedText, StatementTargets, ViewChange, find_targets
from hive_views.sql.rewriting.dialects import string_literal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hive_views.catalog.catalog import HiveViewCatalog
    from hive_views.spark.session.names import Names
    from hive_views.spark.session.reading import Reader

Args = dict[str, Any] | list[Any] | None
"""Values of parameters, as `SparkSession.sql` takes them."""

_ESCAPED, _, _DOUBLE_QUOTED = PARSER
_INSTEAD = "give it to sql() by itself, with its name, or to the Spark session where Spark's own way is meant"


class Guard:
    """Looks through what is handed to Spark.

    Args:
        spark: The user's session.
        catalog: Where the views are.
        names: Resolves names.
        reader: Knows which views Spark does not read as they are meant.
    """

    def __init__(self, spark: SparkSession, catalog: HiveViewCatalog, names: Names, reader: Reader) -> None:
        self._spark = spark
        self._catalog = catalog
        self._names = names
        self._reader = reader

    def own(self, parts: tuple[str, ...], *, temporary: bool = True) -> ViewName | None:
        """The Iceberg view that a name means."""
        target = self._names.resolve(parts, self._names.current())
        if target is None or not self._is_view(target.name):
            return None
        if temporary and len(parts) == 1 and self._names.is_temporary(parts[0]):
            return None
        return target.name

    def check(self, text: str, args: Args) -> tuple[Rewritten, Args]:
        """Refuse a statement in which Spark is, or may be, asked to change one of our views."""
        found = find_targets(text)
        given: tuple[Rewritten, Args] = (Rewritten(text, text), args)
        if found.words[:1] == ("EXPLAIN",) and not found.executed:
            return given  # what it explains is planned, and not run
        if found.is_immediate:
            executed = found.executed[0]
            value = self._value(text, executed, args)
            if not isinstance(value, str):
                return given  # which Spark refuses, whatever it is
            if not executed.is_literal:
                given = self._with_value(text, executed, value, args)
            parts = list(self._parts(with_values(self._spark, value).text, text, executed.start))
        else:
            parts = list(self._parts(text, text, None))
        moves = any(part.targets.changes_namespace for part in parts)
        for part in parts:
            for change in part.targets.changes:
                self._check(change, part, alone=found.is_immediate and len(parts) == 1, moves=moves)
            if part.fixed is not None:
                self._check_read(part)
        return given

    # -- Parts --------------------------------------------------------------------------------------------------------

    def _is_view(self, name: ViewName) -> bool:
        row = self._catalog.store.get_row(name)
        return row is not None and row.kind is RowKind.ICEBERG_VIEW

    def _is_on(self, key: str) -> bool:
        return self._names.setting(key).lower() == "true"

    def _parts(self, text: str, whole: str, fixed: int | None) -> Iterator[_Part]:
        """A text, and those in strings that it has executed."""
        part = _Part(text, find_targets(text), whole, fixed)
        yield part
        for executed in part.targets.executed:
            if not executed.is_literal or (text[executed.start] == '"' and self._is_on(_DOUBLE_QUOTED)):
                raise part.error("What EXECUTE IMMEDIATE runs here is known only while it runs", executed.start)
            value = self._value(text, executed, None)
            if "${" in value:
                raise part.error("The value of a variable in this text is known only while it runs", executed.start)
            yield from self._parts(value, whole, executed.start if fixed is None else fixed)

    def _value(self, text: str, executed: ExecutedText, args: Args) -> Any:
        """What an EXECUTE IMMEDIATE is given to run: Spark knows its variables, and how it reads strings."""
        head = "SELECT ("
        query = f"{head}{text[executed.start : executed.end]})"
        used = args if _parameters(query) else None
        source = Source(text, query, lambda at: executed.start + max(at - len(head), 0))
        with pointing_into(source):
            frame = self._spark.sql(query) if used is None else self._spark.sql(query, used)
            return frame.collect()[0][0]

    def _with_value(self, text: str, executed: ExecutedText, value: str, args: Args) -> tuple[Rewritten, Args]:
        if self._is_on(_ESCAPED) and any(each in value for each in ("\\", "'", "${")):
            line, column = line_and_column(text, executed.start)
            reason = f"{_ESCAPED} is on, and this text has quotes or backslashes in it: {_INSTEAD}"
            raise SqlError(reason, line=line, column=column)
        if isinstance(args, list):
            args = args[_parameters(text[executed.start : executed.end]).count("?") :] or None
        return substitute(text, [(executed.start, executed.end, string_literal(value, "spark"))]), args

    def _check(self, change: ViewChange, part: _Part, *, alone: bool, moves: bool) -> None:
        if change.is_plain_create:
            return
        if change.parts is None:
            raise part.error("Which view is changed here is known only while it runs", change.start)
        known = alone or not moves or len(change.parts) > 2
        # A script may drop a temporary view of that name first.
        found = self.own(change.parts, temporary=alone) if known else self._anywhere(change.parts)
        if found is not None:
            reason = f"{found} is a view of {self._catalog.name}, which Spark must not change"
            behind = "" if known else f"{'.'.join(change.parts)} may be it behind USE; "
            raise part.error(behind + reason, change.start, str(found))

    def _anywhere(self, parts: tuple[str, ...]) -> ViewName | None:
        """A view of ours that a name without a catalog can mean where any catalog and database may be current."""
        homes = parts[:1] if len(parts) == 2 else database_names(self._catalog.store)
        for home in homes:
            try:
                name = ViewName.parse((home, parts[-1]))
            except InvalidIdentifierError:
                continue
            if self._is_view(name):
                return name
        return None

    def _check_read(self, part: _Part) -> None:
        """Refuse a text in a string that reads a view which Spark would read otherwise than it is meant."""
        try:
            self._reader.check_unread(part.text, "EXECUTE IMMEDIATE is handed to Spark as it is")
        except SqlError as error:
            line, column = part.position(0)
            raise SqlError(error.reason, line=line, column=column, name=error.name) from error


@dataclass(frozen=True)
class _Part:
    """A text that Spark is to run: what the user typed, or one in a string in it."""

    text: str
    targets: StatementTargets
    whole: str
    """What the user typed."""
    fixed: int | None
    """Where in that the string stands; None for that itself."""

    def position(self, at: int) -> tuple[int, int]:
        """Line and column in what the user typed of a character of the text."""
        return line_and_column(self.whole, at if self.fixed is None else self.fixed)

    def error(self, reason: str, at: int, name: str | None = None) -> SqlError:
        """A refusal that points there."""
        line, column = self.position(at)
        return SqlError(f"{reason}: {_INSTEAD}", line=line, column=column, name=name)


def _parameters(sql: str) -> list[str]:
    """The marks in a text that begin parameters; other uses of a colon are among them."""
    return [word.text for word in spark_tokens(sql) if word.text in ("?", ":")]
