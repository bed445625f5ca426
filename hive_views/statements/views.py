"""SQL statements about views, done by the catalog: no Spark and no Hive is needed.

A statement is either done or refused by an error that points into it. What cannot be done is never passed over.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hive_views.catalog.views import HiveView
from hive_views.dependencies.view_builder import Analyzer, ViewDefinition, build_definition_of_statement
from hive_views.errors import (
    HiveViewsError,
    InvalidIdentifierError,
    InvalidViewError,
    MetadataFileError,
    NoSuchTableError,
    NoSuchViewError,
    SqlError,
    ViewAlreadyExistsError,
)
from hive_views.identifiers import ViewName, parse_namespace
from hive_views.metastore.partitions import partition_keys
from hive_views.metastore.row_codec import RowKind
from hive_views.sql.analysis.references import references
from hive_views.sql.parsing import statements as sql
from hive_views.sql.parsing.ddl import parse_statement
from hive_views.sql.parsing.lexer import line_and_column
from hive_views.statements.describe import COMMENT, create_statement, describe

if TYPE_CHECKING:
    from hive_views.catalog.catalog import HiveViewCatalog
    from hive_views.dependencies.drop import DropReport
    from hive_views.materialized.refresh.stage import Engine

Row = tuple[str | None, ...]
"""One row of an answer."""


@dataclass(frozen=True)
class Result:
    """What a statement did, or what it answers."""

    kind: str
    """`created`, `replaced`, `changed`, `recompiled`, `renamed`, `dropped`, `refreshed`; `unchanged` where all was so
    already; `absent` where IF EXISTS found nothing; `rows` for SHOW and DESCRIBE."""
    identifier: tuple[str, str] | None = None
    """The view or table (or, dropped, what was named), as it now is; None for SHOW VIEWS."""
    columns: tuple[str, ...] = ()
    """The names of the answer's columns; none for a statement that answers nothing."""
    rows: tuple[Row, ...] = ()
    """The answer. For DROP … CASCADE: what was dropped, in that order."""
    view: HiveView | None = None
    """The view, where there is one."""


def execute(
    catalog: HiveViewCatalog,
    text: str,
    *,
    database: str = "default",
    dialect: str = "spark",
    analyzer: Analyzer | None = None,
) -> Result:
    """Run one statement."""
    if dialect not in _DIALECTS:
        raise SqlError(f"Unknown dialect {dialect!r}: choose one of {', '.join(_DIALECTS)}")
    return execute_statement(catalog, parse_statement(text, dialect), database=database, analyzer=analyzer)


def execute_statement(
    catalog: HiveViewCatalog,
    statement: sql.Statement,
    *,
    database: str = "default",
    analyzer: Analyzer | None = None,
    summary: Mapping[str, str] | None = None,
    engine: Engine | None = None,
) -> Result:
    """Run a statement that was read already."""
    current = parse_namespace(database, catalog=catalog.name)
    run = Run(catalog, statement, current, analyzer, summary or {}, engine)
    try:
        return _done(run)
    except HiveViewsError as error:
        if error.line is None:
            point_into(statement, current, error)
        raise


def _done(run: Run) -> Result:
    kind = type(run.statement)
    if kind not in _HANDLERS or _is_materialized(run.statement):
        from hive_views.statements.materialized_views import HANDLERS, check

        if kind in HANDLERS:
            return HANDLERS[kind](run)
        check(run)
    return _HANDLERS[kind](run)


def point_into(statement: sql.Statement, database: str, error: HiveViewsError) -> None:
    """Let an error of the catalog point at the name of what it is about, where that stands in the statement."""
    identifier, namespace = getattr(error, "identifier", None), getattr(error, "namespace", None)
    written = [getattr(statement, part, None) for part in ("name", "new_name")]
    names = [(name.parts, name.start) for name in written if isinstance(name, sql.ObjectName)]
    if isinstance(statement, sql.DefiningStatement):
        try:
            tables = references(statement.parsed_query).tables
        except SqlError:  # what it cannot read is told by whoever reads it
            tables = ()
        names += [(table.parts, statement.query.start + table.start) for table in tables]
    for parts, start in names:
        place = (parts[-2] if len(parts) > 1 else database).lower()
        alone = isinstance(error, MetadataFileError) and len(names) == 1
        if alone or namespace == place or identifier == f"{place}.{parts[-1].lower()}":
            error.point_at(*line_and_column(statement.text, start))
            return


def _is_materialized(statement: Any) -> bool:
    return getattr(statement, "materialized", False) or getattr(statement, "kind", None) == "materialized view"


_DIALECTS = ("spark", "hive", "trino")


@dataclass(frozen=True)
class Run:
    """One statement, and what it is run with."""

    catalog: HiveViewCatalog
    statement: Any  # each handler knows the class that it is called for
    database: str
    analyzer: Analyzer | None
    summary: Mapping[str, str]
    engine: Engine | None = None

    def name(self, written: sql.ObjectName | None = None, database: str | None = None) -> ViewName:
        """The object that a name means."""
        written = written or self.statement.name
        parts = written.parts if len(written.parts) > 1 else (database or self.database, *written.parts)
        try:
            return ViewName.parse(parts, catalog=self.catalog.name)
        except InvalidIdentifierError as error:
            line, column = line_and_column(self.statement.text, written.start)
            reason = f"{written}: {error.reason}"
            if len(parts) == 3:
                reason = f"{written}: this catalog is {self.catalog.name}, not {parts[0]}"
            raise SqlError(reason, line=line, column=column, name=str(written)) from None

    def define(self, name: ViewName) -> ViewDefinition:
        """Columns and texts of the statement's query."""
        self._check_catalogs()
        store = self.catalog.store
        return build_definition_of_statement(
            store, name, self.statement, database=self.database, analyzer=self.analyzer, summary=self.summary
        )

    def _check_catalogs(self) -> None:
        query: sql.Query = self.statement.query
        own = {self.catalog.name, self.catalog._config.session_catalog}
        for table in references(self.statement.parsed_query).tables:
            if table.catalog is not None and table.catalog not in own:
                line, column = line_and_column(self.statement.text, query.start + table.start)
                shown = ".".join(table.parts)
                reason = f"{shown} is in another catalog: a view of {self.catalog.name} reads this metastore's tables"
                raise SqlError(reason, line=line, column=column, name=shown)


def refused(statement: sql.Statement, reason: str) -> SqlError:
    """An error about a statement as a whole; it points at its name."""
    written = getattr(statement, "name", None)
    start = written.start if isinstance(written, sql.ObjectName) else 0
    line, column = line_and_column(statement.text, start)
    return SqlError(reason, line=line, column=column, name=None if written is None else str(written))


# -- CREATE and ALTER --------------------------------------------------------------------------------------------------


def _create(run: Run) -> Result:
    statement: sql.CreateView = run.statement
    for asked, what in (
        (statement.temporary, "A temporary view: it lives in a session, and a metastore has none. Leave TEMPORARY out"),
        (statement.security is not None, "SECURITY: an Iceberg view does not keep it. Leave it out"),
        (statement.schema_mode is not None, "WITH SCHEMA: an Iceberg view does not keep it. Leave it out"),
    ):
        if asked:
            raise refused(statement, what)
    properties = statement_properties(statement, statement.properties)
    if statement.comment is not None:
        if properties.get(COMMENT, statement.comment) != statement.comment:
            raise refused(statement, "COMMENT and the property 'comment' are the same thing, and say different things")
        properties[COMMENT] = statement.comment
    name = run.name()
    if statement.if_not_exists and (there := _existing(run.catalog, name)) is not None:
        return Result("unchanged", name.identifier, view=there)
    before = _existing(run.catalog, name) if statement.or_replace else None
    made = run.define(name)
    if statement.or_replace:
        view = run.catalog.create_or_replace_view(name.identifier, made.schema, made.version, properties=properties)
        return _written("created" if before is None else "replaced", before, view)
    try:
        view = run.catalog.create_view(name.identifier, made.schema, made.version, properties=properties)
    except ViewAlreadyExistsError:
        if not statement.if_not_exists:
            raise
        # Created by somebody else since.
        return Result("unchanged", name.identifier, view=run.catalog.load_view(name.identifier))
    return Result("created", name.identifier, view=view)


def _existing(catalog: HiveViewCatalog, name: ViewName) -> HiveView | None:
    """The Iceberg view of a name; None where there is none, or a table that the creation will stumble over."""
    try:
        return catalog.load_view(name.identifier)
    except NoSuchViewError as error:
        if type(error) is not NoSuchViewError:
            raise
        return None


def statement_properties(statement: sql.Statement, pairs: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """The properties of a statement."""
    keys = [key for key, _ in pairs]
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice is not None:
        raise refused(statement, f"The property {twice!r} is given twice")
    return dict(pairs)


def _written(kind: str, before: HiveView | None, view: HiveView) -> Result:
    same = before is not None and before.metadata_location == view.metadata_location
    return Result("unchanged" if same else kind, ViewName(*view.name()).identifier, view=view)


def _alter_as(run: Run) -> Result:
    name = run.name()
    before = run.catalog.load_view(name.identifier)
    made = run.define(name)
    row = run.catalog.store.get_row(name)
    if row is not None and partition_keys(row) and run.catalog.list_partitions(name.identifier):
        raise refused(
            run.statement,
            f"{name} has partitions, which its owner added for the old definition. Drop them first, by ALTER VIEW … "
            "DROP PARTITION; or say by CREATE OR REPLACE VIEW … PARTITIONED ON that they stay",
        )
    return _written("replaced", before, before.update().replace_version(made.version, made.schema).commit())


def _set(run: Run) -> Result:
    statement: sql.AlterViewSetProperties = run.statement
    before = run.catalog.load_view(run.name().identifier)
    view = before.update().set_properties(statement_properties(statement, statement.properties)).commit()
    return _written("changed", before, view)


def _unset(run: Run) -> Result:
    statement: sql.AlterViewUnsetProperties = run.statement
    before = run.catalog.load_view(run.name().identifier)
    missing = [key for key in statement.keys if key not in before.metadata.properties]
    if missing and not statement.if_exists:
        shown = ", ".join(repr(key) for key in missing)
        raise refused(statement, f"{statement.name} has no property {shown}: remove it by UNSET … IF EXISTS")
    return _written("changed", before, before.update().remove_properties(*statement.keys).commit())


def _rename(run: Run) -> Result:
    statement: sql.AlterViewRename = run.statement
    source = run.name()
    target = run.name(statement.new_name, source.database)
    try:
        view = run.catalog.rename_view(source.identifier, target.identifier)
    except NoSuchViewError as error:
        if not statement.if_exists or not _is_absence(error):
            raise
        return Result("absent", source.identifier)
    return Result("renamed", target.identifier, view=view)


def _recompile(run: Run) -> Result:
    name = run.name()
    done = run.catalog.recompile_view(name.identifier, analyzer=run.analyzer)
    view = run.catalog.load_view(name.identifier)
    return Result("recompiled" if done.changed else "unchanged", name.identifier, view=view)


def _add_partitions(run: Run) -> Result:
    statement: sql.AlterViewAddPartitions = run.statement
    name = run.name()
    try:
        added = run.catalog.add_partitions(
            name.identifier, *statement.partitions, if_not_exists=statement.if_not_exists
        )
    except InvalidViewError as error:
        raise refused(statement, str(error)) from error
    rows = tuple((partition,) for partition in added)
    return Result("changed" if added else "unchanged", name.identifier, ("partition",) if rows else (), rows)


def _drop_partitions(run: Run) -> Result:
    statement: sql.AlterViewDropPartitions = run.statement
    name = run.name()
    try:
        dropped = run.catalog.drop_partitions(name.identifier, *statement.partitions, if_exists=statement.if_exists)
    except InvalidViewError as error:
        raise refused(statement, str(error)) from error
    rows = tuple((partition,) for partition in dropped)
    return Result("changed" if dropped else "absent", name.identifier, ("partition",) if rows else (), rows)


def _is_absence(error: NoSuchViewError) -> bool:
    """Whether nothing at all has the name: a plain Hive view or a table is not what IF EXISTS asks about."""
    return type(error) is NoSuchViewError and not error.detail


# -- DROP --------------------------------------------------------------------------------------------------------------


def _drop(run: Run) -> Result:
    statement: sql.Drop = run.statement
    if statement.purge:
        raise refused(statement, "PURGE is not possible: drop the table without it, or by the engine that wrote it")
    name = run.name()
    row = run.catalog.store.get_row(name)
    if statement.if_exists and row is None:
        return Result("absent", name.identifier)
    if statement.kind == "table" and row is not None and row.kind is RowKind.HIVE_TABLE:
        raise NoSuchTableError(str(name), "a table of Hive's own: drop it by Hive or Spark, which delete its data too")
    drop = run.catalog.drop_view if statement.kind == "view" else run.catalog.drop_table
    cascade = statement.behavior == "cascade"
    try:
        done = drop(name.identifier, restrict=statement.behavior == "restrict", cascade=cascade)
    except NoSuchViewError as error:
        if not statement.if_exists or not _is_absence(error) or run.catalog.store.get_row(name) is not None:
            raise
        return Result("absent", name.identifier)  # dropped by somebody else since
    return dropped(name, done if cascade else None)


def dropped(name: ViewName, report: DropReport | None) -> Result:
    """The result of a drop; of CASCADE with what was dropped, in that order."""
    rows = () if report is None else tuple((str(item),) for item in report.dropped)
    return Result("dropped", name.identifier, columns=("dropped",) if rows else (), rows=rows)


# -- SHOW and DESCRIBE -------------------------------------------------------------------------------------------------


def _show_views(run: Run) -> Result:
    statement: sql.ShowViews = run.statement
    database = (statement.database or run.database).lower()
    pattern = like_pattern(statement.pattern, statement.dialect)
    found = [name for _, name in run.catalog.list_views((database,)) if pattern is None or pattern.fullmatch(name)]
    return Result("rows", None, ("database", "view"), tuple((database, name) for name in found))


def like_pattern(text: str | None, dialect: str) -> re.Pattern[str] | None:
    """A pattern of SHOW … LIKE: `*` and `|` in Spark, besides `%` and `_` in Hive, `%` and `_` alone in Trino."""
    if text is None:
        return None
    any_text = {"spark": "*", "hive": "*%", "trino": "%"}[dialect]
    one = "" if dialect == "spark" else "_"
    pieces = []
    for character in text.strip():
        if character in any_text:
            pieces.append(".*")
        elif character in one:
            pieces.append(".")
        elif character == "|" and dialect != "trino":
            pieces.append("|")
        else:
            pieces.append(re.escape(character))
    return re.compile("".join(pieces), re.IGNORECASE | re.DOTALL)


def _show_partitions(run: Run) -> Result:
    statement: sql.ShowPartitions = run.statement
    name = run.name()
    try:
        names = run.catalog.list_partitions(name.identifier, statement.partition)
    except InvalidViewError as error:
        raise refused(statement, str(error)) from error
    return Result("rows", name.identifier, ("partition",), tuple((partition,) for partition in names))


def _show_create(run: Run) -> Result:
    statement: sql.ShowCreate = run.statement
    name = run.name()
    # Hive has only the one spelling for tables and views.
    if statement.kind != "view" and not (statement.kind == "table" and run.catalog.view_exists(name.identifier)):
        raise refused(statement, f"SHOW CREATE {statement.kind.upper()} is not possible: only views are shown")
    view = run.catalog.load_view(name.identifier)
    text = create_statement(run.catalog.store, view)
    return Result("rows", name.identifier, ("statement",), ((text,),), view)


def _describe(run: Run) -> Result:
    statement: sql.Describe = run.statement
    name = run.name()
    view = run.catalog.load_view(name.identifier)
    detailed = statement.extended or statement.formatted
    rows = describe(view, detailed=detailed)
    return Result("rows", name.identifier, ("name", "type", "comment"), rows, view)


_HANDLERS: dict[type[sql.Statement], Callable[[Run], Result]] = {
    sql.CreateView: _create,
    sql.AlterViewAs: _alter_as,
    sql.AlterViewSetProperties: _set,
    sql.AlterViewUnsetProperties: _unset,
    sql.AlterViewRename: _rename,
    sql.AlterViewRecompile: _recompile,
    sql.AlterViewAddPartitions: _add_partitions,
    sql.AlterViewDropPartitions: _drop_partitions,
    sql.Drop: _drop,
    sql.ShowViews: _show_views,
    sql.ShowPartitions: _show_partitions,
    sql.ShowCreate: _show_create,
    sql.Describe: _describe,
}
