"""Checks which engines return the rows that a view's author sees: plain Spark, Hive, and Trino's Hive connector.

All three read the expanded text. Only Trino reads metastore rows in its own encoding. Every construct that was not
measured to return the author's rows is a finding. The rules are in `hive_views.sql.analysis`: those of Hive and Spark
in `reader_rules`, those of Trino in `trino_rules`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from operator import attrgetter

from hive_views.config import ENGINES
from hive_views.dependencies.column_findings import column_findings, type_findings
from hive_views.dependencies.table_contents import TableChecker
from hive_views.dependencies.table_findings import HIVE_ENGINE, SPARK, TRINO, EngineFinding
from hive_views.dependencies.view_text import read_view_text, text_of_version
from hive_views.errors import EngineRequirementError, HiveViewsError, SqlError
from hive_views.identifiers import ViewName
from hive_views.metastore.queries import RowCache
from hive_views.metastore.rows.row import Row, RowKind
from hive_views.metastore.rows.types import hive_columns
from hive_views.metastore.store import MetastoreStore
from hive_views.metastore.table_schemas import EngineSchemas, MetastoreSchemas
from hive_views.metastore.trino_encoding import is_encoded
from hive_views.spec.metadata import ViewMetadata
from hive_views.spec.session_settings import ANSI, ROW_PREFIX
from hive_views.sql.analysis.constructs import constructs
from hive_views.sql.analysis.outcomes import Outcome
from hive_views.sql.analysis.reader_findings import Reader, reader_findings
from hive_views.sql.analysis.reader_rules import ANSI_ERRORS
from hive_views.sql.analysis.references import FunctionReference, references
from hive_views.sql.analysis.trino_translation import trino_findings
from hive_views.sql.analysis.view_text import ViewText
from hive_views.sql.engines.builtin_functions import HIVE_FUNCTIONS, SPARK_FUNCTIONS
from hive_views.sql.engines.tables import added_functions
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.resolver.resolved import ResolvedQuery
from hive_views.sql.resolver.resolver import resolve
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.text.positions import line_and_column

_FUNCTIONS: Mapping[Dialect, frozenset[str]] = {Dialect.SPARK: SPARK_FUNCTIONS, Dialect.HIVE: HIVE_FUNCTIONS}
_SYNTAX = frozenset({"cast", "extract"})
"""Calls that the grammar of both engines has, so that they are in neither list of functions."""

_ROW_ANSI = f"{ROW_PREFIX}{ANSI}"
_ENCODED = tuple(
    EngineFinding(engine, Outcome.REFUSED, "the row has Trino's encoding") for engine in (SPARK, HIVE_ENGINE)
)


class EngineChecker:
    """Examines views and their sources, each once; create a new object to see changes."""

    def __init__(self, store: MetastoreStore) -> None:
        self._store = store
        self._tables = TableChecker(store)
        self._findings: dict[ViewName, tuple[EngineFinding, ...]] = {}

    def examine_files(self, tables: Iterable[Row]) -> None:
        """Examine the files of many tables at once, before the views that read them."""
        self._tables.examine_files(tables)

    def check_name(self, name: ViewName) -> tuple[EngineFinding, ...]:
        """Return the findings about a view; raises NoSuchViewError."""
        return self.check(self._store.get_view_row(name))

    def check(self, row: Row) -> tuple[EngineFinding, ...]:
        """Return the findings about the view of a row, and about the views that it reads; none for a table."""
        if not row.kind.is_view:
            return ()
        if row.name not in self._findings:
            self._findings[row.name] = ()  # while its sources are examined: another program may have written a cycle
            self._findings[row.name] = self._check_row(row)
        return self._findings[row.name]

    def _check_row(self, row: Row) -> tuple[EngineFinding, ...]:
        if is_encoded(row.texts.original):
            return _ENCODED
        try:
            text = read_view_text(self._store, row)
            rows = RowCache(self._store)
            return (
                *self.check_text(text, rows),
                *column_findings(row.columns),
                *type_findings(row.columns, _types_in_spark(rows, text, row)),
                *_ansi_findings(rows, text, row),
            )
        except HiveViewsError as error:
            return _for_all(Outcome.UNVERIFIED, str(error))
        except RecursionError:
            return _for_all(Outcome.UNVERIFIED, "it reads a chain of too many views")

    def check_text(self, text: ViewText, rows: RowCache | None = None) -> tuple[EngineFinding, ...]:
        """Return the findings about the texts of a view, which need not be stored yet; `rows` saves requests."""
        rows = RowCache(self._store) if rows is None else rows
        if text.has_hive_text is False:
            return _for_all(Outcome.REFUSED, "the view has no text for Hive and plain Spark")
        expanded = text.typed if text.expanded is None else text.expanded
        dialect = text.dialect.of_row
        try:
            named = references(parse_query(expanded, dialect))
            if named.files:
                reason = f"it reads the files {', '.join(named.files)}, as only Spark does"
                return tuple(EngineFinding(engine, Outcome.REFUSED, reason) for engine in (HIVE_ENGINE, TRINO))
            findings = [*_findings_of_text(rows, expanded, dialect, text, read_by_trino_as=Dialect.HIVE)]
        except SqlError as error:
            return _for_all(Outcome.UNVERIFIED, f"its text cannot be resolved: {error}")
        for source in dict.fromkeys(ViewName(*table.resolved(text.database)) for table in named.tables):
            row = rows.get(source)
            if row is None:
                continue
            if row.kind.is_view and is_encoded(row.texts.original):
                findings.append(EngineFinding(TRINO, Outcome.REFUSED, f"it reads {source}, a view in Trino's encoding"))
            of_source = self.check(row) if row.kind.is_view else self._tables.check(row, text.dialect)
            findings += (item.through(source) for item in of_source)
        return tuple(dict.fromkeys(findings))


def reject_unreadable(
    store: MetastoreStore, name: ViewName, metadata: ViewMetadata, required: Collection[str], *, is_encoded: bool
) -> None:
    """Reject a definition for which a required engine may not return the rows that the author sees.

    `is_encoded` states that the texts in the row remain in Trino's encoding.
    """
    try:
        text = text_of_version(name, metadata.current_version())
    except SqlError as error:
        raise EngineRequirementError(str(name), [error.reason]) from error
    columns = hive_columns(metadata.raw_schema(metadata.current_schema_id) or {"fields": []}, str(name))
    examined = _ENCODED if is_encoded else (*EngineChecker(store).check_text(text), *column_findings(columns))
    findings = [item for item in examined if item.engine in required and not item.outcome.is_note]
    if not findings:
        return
    try:
        typed = _findings_of_text(RowCache(store), text.typed, text.dialect, text, read_by_trino_as=text.dialect)
    except SqlError:
        typed = ()
    located = next((item for item in typed if item in findings), None)
    line, column = (None, None) if located is None else (located.line, located.column)
    raise EngineRequirementError(str(name), [item.text for item in findings], line=line, column=column)


def _for_all(outcome: Outcome, reason: str) -> tuple[EngineFinding, ...]:
    return tuple(EngineFinding(engine, outcome, reason) for engine in ENGINES)


def _findings_of_text(
    rows: RowCache, sql: str, dialect: Dialect, text: ViewText, *, read_by_trino_as: Dialect
) -> tuple[EngineFinding, ...]:
    """Examine one of the texts of a view alone; raises SqlError if it cannot be resolved."""
    called = references(parse_query(sql, dialect)).functions
    functions = {function.name.lower(): "udf" for function in called if function.registered}
    return (
        *_missing_functions(sql, called),
        *_findings_of_readers(rows, sql, dialect, text, functions, called),
        *_findings_of_trino(rows, sql, read_by_trino_as, text.database),
    )


def _types_in_spark(rows: RowCache, text: ViewText, row: Row) -> tuple[str | None, ...]:
    """Return the types that Spark computes for the columns of a row; empty if it cannot resolve the text.

    Also empty for a text of Spark whose row has its author's ANSI mode. Without it, plain Spark reads the row with ANSI
    mode off.
    """
    if text.has_hive_text is False:
        return ()
    if text.dialect is Dialect.SPARK:
        if row.kind is not RowKind.ICEBERG_VIEW or _ROW_ANSI in row.parameters:
            return ()
        text = replace(text, ansi=False)
    resolution = _resolved_by_spark(rows, text, text.typed if text.expanded is None else text.expanded)
    return () if resolution is None else tuple(column.type for _, column in resolution.columns)


def _ansi_findings(rows: RowCache, text: ViewText, row: Row) -> Iterator[EngineFinding]:
    """Yield what Iceberg's catalog may fail on in a text of Spark that was written with ANSI mode off."""
    is_off = row.parameters.get(_ROW_ANSI, "").lower() == "false"
    if not is_off or text.dialect is not Dialect.SPARK:
        return
    sql = text.typed if text.expanded is None else text.expanded
    resolution = _resolved_by_spark(rows, text, sql)
    reasons: dict[str, int] = {}
    for construct in sorted(constructs(resolution), key=attrgetter("start")) if resolution is not None else ():
        for signature, reason in ANSI_ERRORS:
            if re.fullmatch(signature, construct.signature):
                reasons.setdefault(reason, construct.start)
    for reason, start in reasons.items():
        written = f"written with {ANSI}=false, which plain Spark and a ViewSession apply, but not Iceberg's catalog"
        yield EngineFinding(SPARK, Outcome.MAY_FAIL, f"{written}: {reason}", *line_and_column(sql, start))


def _resolved_by_spark(rows: RowCache, text: ViewText, sql: str) -> ResolvedQuery | None:
    """Resolve a text by the rules of Spark; None if that is not possible."""
    try:
        query = parse_query(sql, Dialect.SPARK)
        functions = {function.name.lower(): "udf" for function in references(query).functions if function.registered}
        conf = {ANSI: str(text.ansi).lower()}
        return resolve(query, MetastoreSchemas(rows.store, rows), text.database, functions=functions, conf=conf)
    except SqlError:
        return None


def _missing(called: Iterable[FunctionReference], engine: Dialect) -> Iterator[FunctionReference]:
    """Yield the functions that an engine does not have."""
    # A function qualified with its database exists for every engine that uses Hive's functions.
    names = _FUNCTIONS[engine] | _SYNTAX
    return (item for item in called if not item.qualified and item.name.lower() not in names)


def _missing_functions(sql: str, called: Iterable[FunctionReference]) -> Iterator[EngineFinding]:
    for engine in _FUNCTIONS:
        for function in _missing(called, engine):
            name = function.name.lower()
            since = added_functions().get(name) if engine is Dialect.SPARK else None
            outcome, reason = Outcome.REFUSED, f"it has no function {name}"
            if since is not None:
                outcome, reason = Outcome.UNVERIFIED, f"only Spark {since} and later have the function {name}"
            yield EngineFinding(engine, outcome, reason, *line_and_column(sql, function.start))


def _findings_of_readers(
    rows: RowCache,
    sql: str,
    dialect: Dialect,
    text: ViewText,
    functions: Mapping[str, str],
    called: Iterable[FunctionReference],
) -> Iterator[EngineFinding]:
    """Yield what plain Spark and Hive do with a text; the author's engine returns the author's rows."""
    if text.dialect not in _FUNCTIONS:
        for engine in _FUNCTIONS:
            yield EngineFinding(engine, Outcome.UNVERIFIED, f"texts of {text.dialect} were not compared")
        return
    findings = reader_findings(
        sql,
        EngineSchemas(rows.store, dialect, rows),
        database=text.database,
        author=dialect,
        readers=[
            Reader(engine, {item.name.lower() for item in _missing(called, engine)}, text.ansi) for engine in _FUNCTIONS
        ],
        functions=functions,
    )
    for engine, items in findings.items():
        for item in items:
            yield EngineFinding(engine, item.outcome, item.construct, item.line, item.column)


def _findings_of_trino(rows: RowCache, sql: str, dialect: Dialect, database: str) -> Iterator[EngineFinding]:
    """Yield what Trino's Hive connector does with a text that it reads as one of a dialect."""
    schemas = EngineSchemas(rows.store, TRINO, rows)
    try:
        called = references(parse_query(sql, dialect)).functions
        functions = {function.name.lower(): "udf" for function in called if function.registered}
        findings = trino_findings(sql, schemas, database=database, dialect=dialect, functions=functions)
    except SqlError as error:
        yield EngineFinding(TRINO, Outcome.UNVERIFIED, f"its text cannot be resolved: {error}")
        return
    for item in findings:
        yield EngineFinding(TRINO, item.outcome, item.construct, item.line, item.column)
