"""Rejects statements by which Spark would, or might, change views of the catalog.

Spark changes the row of an Iceberg view without the checks of this package, so that definitions can be lost. Decision
0027 describes which statements are checked, and why.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hive_views.errors import InvalidIdentifierError, SqlError
from hive_views.identifiers import ViewName
from hive_views.metastore.queries import database_names
from hive_views.metastore.rows.row import RowKind
from hive_views.spark.session.settings import substitute_variables
from hive_views.spark.session.source_text import RewrittenText, SourceText, apply_edits, convert_spark_errors
from hive_views.sql.parsing.parser_settings import DOUBLE_QUOTED_IDENTIFIERS, ESCAPED_LITERALS
from hive_views.sql.parsing.statement_targets import ExecutedText, StatementTargets, ViewChange, find_targets
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.text.positions import error_at, line_and_column
from hive_views.sql.text.quoting import string_literal, unquote_identifier
from hive_views.sql.text.spark_lexer import spark_tokens

if TYPE_CHECKING:
    from hive_views.spark.session.query_rewriter import Arguments, QueryRewriter
    from hive_views.spark.session.services import SessionServices

_ADVICE = "pass the statement to sql() by itself, with the view's name, or to the Spark session to run it as Spark does"

_TABLE_REASON = "and not a table. Spark would change rows of the tables that the view reads, or drop the view"
_TABLE_ADVICE = "name the table, use DROP VIEW, or pass the statement to the Spark session to run it as Spark does"
_MAY_CHANGE_TABLES = re.compile(r"\b(DELETE|UPDATE|MERGE|DROP)\b", re.IGNORECASE)


@dataclass(frozen=True)
class _CheckedText:
    """A text that Spark is to run: what the user typed, or the text of an EXECUTE IMMEDIATE in what the user typed."""

    text: str
    targets: StatementTargets
    typed_text: str
    """What the user typed."""
    typed_offset: int | None
    """The offset in the typed text of the EXECUTE IMMEDIATE's text; None for the typed text itself."""

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column, in what the user typed, of a character of the text."""
        return line_and_column(self.typed_text, offset if self.typed_offset is None else self.typed_offset)

    def error(self, reason: str, offset: int, name: str | None = None, advice: str = _ADVICE) -> SqlError:
        """Return an error that points to a character of the text."""
        line, column = self.position(offset)
        return SqlError(f"{reason}: {advice}", line=line, column=column, name=name)


class StatementGuard:
    """Checks statements that are passed on to Spark."""

    def __init__(self, services: SessionServices, queries: QueryRewriter) -> None:
        self._spark = services.spark
        self._catalog = services.catalog
        self._names = services.names
        self._queries = queries

    def find_view(self, parts: tuple[str, ...], *, prefers_temporary: bool = True) -> ViewName | None:
        """Return the Iceberg view that a name means; None if a temporary view takes precedence."""
        resolved = self._names.resolve(parts, self._names.current())
        if resolved is None or not self._is_view(resolved.name):
            return None
        if prefers_temporary and len(parts) == 1 and self._names.is_temporary(parts[0]):
            return None
        return resolved.name

    def check(self, text: str, args: Arguments) -> tuple[RewrittenText, Arguments]:
        """Reject a statement that changes, or may change, a view of the catalog.

        Returns the statement to run and its arguments: the text of an EXECUTE IMMEDIATE is replaced by the text that
        was checked.
        """
        targets = find_targets(text)
        statement: tuple[RewrittenText, Arguments] = (RewrittenText.unchanged(text), args)
        if targets.words[:1] == ("EXPLAIN",) and not targets.executed:
            return statement  # Spark plans the explained statement and does not run it
        if targets.is_immediate:
            executed = targets.executed[0]
            value = self._evaluate(text, executed, args)
            if not isinstance(value, str):
                return statement  # Spark rejects it
            if not executed.is_literal:
                statement = self._with_value(text, executed, value, args)
            texts = list(self._checked_texts(substitute_variables(self._spark, value).text, text, executed.start))
        else:
            texts = list(self._checked_texts(text, text, None))
        changes_namespace = any(checked_text.targets.changes_namespace for checked_text in texts)
        is_single = targets.is_immediate and len(texts) == 1
        for checked_text in texts:
            for change in checked_text.targets.changes:
                self._check_change(change, checked_text, is_single, changes_namespace)
            for change in checked_text.targets.tables:
                self._check_table_change(change, checked_text, is_single, changes_namespace, None)
            if checked_text.typed_offset is not None:
                self._check_reads(checked_text)
        return statement

    def check_tables(self, text: str, args: Arguments) -> None:
        """Reject a statement that drops a view as a table, or changes rows through a view.

        Given a view of Iceberg's catalog, Spark 4.1.4 deletes rows of the table that the view reads, even rows that the
        view does not show. With Iceberg's SparkSessionCatalog (1.11.0), DROP TABLE drops a view.
        """
        if not _MAY_CHANGE_TABLES.search(text):
            return
        targets = find_targets(text)
        if targets.words[:1] == ("EXPLAIN",):
            return
        checked_text = _CheckedText(text, targets, text, None)
        for change in targets.tables:
            if targets.words[0] != "DROP" or change.parts is None:  # the catalog itself reads DROP TABLE with a name
                self._check_table_change(change, checked_text, True, False, args)

    def _check_table_change(
        self,
        change: ViewChange,
        checked_text: _CheckedText,
        is_single: bool,
        changes_namespace: bool,
        args: Arguments,
    ) -> None:
        text = checked_text.text
        if change.parts is None and change.expression is not None:
            start, end = change.expression
            expression = ExecutedText(
                start, end, all(token.kind == "string" for token in spark_tokens(text[start:end]))
            )
            if is_single or expression.is_literal:
                value = self._evaluate(text, expression, args)
                change = replace(change, parts=_name_parts(value) if isinstance(value, str) else ())
        if change.parts != ():
            self._check_change(change, checked_text, is_single, changes_namespace, _TABLE_REASON)

    def _is_view(self, name: ViewName) -> bool:
        row = self._catalog.store.get_row(name)
        return row is not None and row.kind is RowKind.ICEBERG_VIEW

    def _is_on(self, key: str) -> bool:
        return self._names.setting(key).lower() == "true"

    def _checked_texts(self, text: str, typed_text: str, typed_offset: int | None) -> Iterator[_CheckedText]:
        """Yield a text, and the texts in strings that it executes."""
        checked_text = _CheckedText(text, find_targets(text), typed_text, typed_offset)
        yield checked_text
        for executed in checked_text.targets.executed:
            if not executed.is_literal or (text[executed.start] == '"' and self._is_on(DOUBLE_QUOTED_IDENTIFIERS)):
                reason = "The text of this EXECUTE IMMEDIATE is known only when it runs"
                raise checked_text.error(reason, executed.start)
            value = self._evaluate(text, executed, None)
            if "${" in value:
                reason = "The value of a variable in this text is known only when it runs"
                raise checked_text.error(reason, executed.start)
            yield from self._checked_texts(value, typed_text, executed.start if typed_offset is None else typed_offset)

    def _evaluate(self, text: str, executed: ExecutedText, args: Arguments) -> Any:
        """Return the value of an EXECUTE IMMEDIATE's expression, computed by Spark, which knows its variables."""
        head = "SELECT ("
        query = f"{head}{text[executed.start : executed.end]})"
        used_args = args if _parameter_marks(query) else None
        source = SourceText(text, query, lambda offset: executed.start + max(offset - len(head), 0))
        with convert_spark_errors(source):
            frame = self._spark.sql(query) if used_args is None else self._spark.sql(query, used_args)
            return frame.collect()[0][0]

    def _with_value(
        self, text: str, executed: ExecutedText, value: str, args: Arguments
    ) -> tuple[RewrittenText, Arguments]:
        """Return the statement with its expression replaced by the value, and the arguments that remain."""
        if self._is_on(ESCAPED_LITERALS) and any(mark in value for mark in ("\\", "'", "${")):
            reason = f"{ESCAPED_LITERALS} is on, and this text has quotes or backslashes in it: {_ADVICE}"
            raise error_at(text, executed.start, reason)
        if isinstance(args, list):
            args = args[_parameter_marks(text[executed.start : executed.end]).count("?") :] or None
        return apply_edits(text, [(executed.start, executed.end, string_literal(value, Dialect.SPARK))]), args

    def _check_change(
        self,
        change: ViewChange,
        checked_text: _CheckedText,
        is_single: bool,
        changes_namespace: bool,
        reason: str = "which Spark must not change",
    ) -> None:
        if change.is_plain_create:
            return
        if change.parts is None:
            raise checked_text.error("Which view this changes is known only when it runs", change.start)
        is_resolvable = is_single or not changes_namespace or len(change.parts) > 2
        if is_resolvable:
            # A script may drop a temporary view of that name first.
            view = self.find_view(change.parts, prefers_temporary=is_single)
        else:
            view = self._find_anywhere(change.parts)
        if view is not None:
            condition = "" if is_resolvable else f"{'.'.join(change.parts)} may mean it after USE; "
            problem = f"{condition}{view} is a view of {self._catalog.name}, {reason}"
            advice = _TABLE_ADVICE if reason == _TABLE_REASON else _ADVICE
            raise checked_text.error(problem, change.start, str(view), advice)

    def _find_anywhere(self, parts: tuple[str, ...]) -> ViewName | None:
        """Return a view that a name without a catalog can mean, whichever catalog and database are current."""
        candidates = parts[:1] if len(parts) == 2 else database_names(self._catalog.store)
        for database in candidates:
            try:
                name = ViewName.parse((database, parts[-1]))
            except InvalidIdentifierError:
                continue
            if self._is_view(name):
                return name
        return None

    def _check_reads(self, checked_text: _CheckedText) -> None:
        """Reject a text that reads a view that Spark would not read according to its definition."""
        try:
            self._queries.check_unparsed(checked_text.text, "EXECUTE IMMEDIATE is passed to Spark unchanged")
        except SqlError as error:
            line, column = checked_text.position(0)
            raise SqlError(error.reason, line=line, column=column, name=error.name) from error


def _name_parts(name: str) -> tuple[str, ...]:
    """Return the parts of a name; empty if the text is not a name, which Spark rejects."""
    tokens = list(spark_tokens(name))
    return tuple(unquote_identifier(token.text) for token in tokens[::2] if token.kind in ("word", "quoted"))


def _parameter_marks(sql: str) -> list[str]:
    """Return the marks in a text that may begin parameters; colons also have other meanings."""
    return [word.text for word in spark_tokens(sql) if word.text in ("?", ":")]
