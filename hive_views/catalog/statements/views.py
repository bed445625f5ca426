"""Handlers of SQL statements about views, tables and partitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hive_views.catalog.statements.context import (
    Result,
    ResultKind,
    StatementContext,
    check_keys_exist,
    drop_result,
    name_filter,
    properties_of,
    unsupported,
)
from hive_views.catalog.statements.describe import COMMENT, create_statement, describe
from hive_views.dependencies.drop import DropBehavior
from hive_views.errors import (
    InvalidViewError,
    NoSuchTableError,
    NoSuchViewError,
    NotAViewError,
    ViewAlreadyExistsError,
)
from hive_views.identifiers import ViewName
from hive_views.metastore.partitions import reject_partitions
from hive_views.metastore.rows.row import RowKind
from hive_views.spec.staleness_policy import METADATA
from hive_views.spec.storage_link import STORAGE_TABLE_COPY
from hive_views.sql.parsing import statements as sql

if TYPE_CHECKING:
    from hive_views.catalog.view_catalog import ViewCatalog
    from hive_views.catalog.views import HiveView

_KEPT_SCHEMA_MODE = "compensation"
"""Spark's default: a view keeps the names and types of its columns. Its SHOW CREATE TABLE prints it."""

# -- CREATE and ALTER --------------------------------------------------------------------------------------------------


def _create(context: StatementContext) -> Result:
    statement: sql.CreateView = context.statement
    for is_present, message in (
        (statement.temporary, "TEMPORARY: a metastore has no sessions that own views. Leave it out"),
        (statement.security is not None, "SECURITY: an Iceberg view does not store it. Leave it out"),
        (
            statement.schema_mode not in (None, _KEPT_SCHEMA_MODE),
            "WITH SCHEMA: an Iceberg view keeps its columns, as with COMPENSATION. Leave it out",
        ),
    ):
        if is_present:
            raise unsupported(statement, message)
    properties = properties_of(statement, statement.properties)
    if statement.comment is not None:
        if properties.get(COMMENT, statement.comment) != statement.comment:
            raise unsupported(statement, "COMMENT and the property 'comment' differ, but are the same thing. Give one")
        properties[COMMENT] = statement.comment
    name = context.resolve_name()
    if statement.if_not_exists and (existing := _load_existing(context.catalog, name)) is not None:
        return Result(ResultKind.UNCHANGED, name.identifier, view=existing)
    before = _load_existing(context.catalog, name) if statement.or_replace else None
    existing_properties = {} if before is None else before.properties
    definition = context.define_view(name, {**existing_properties, **properties})
    if statement.or_replace:
        view = context.catalog.create_or_replace_view(
            name.identifier, definition.schema, definition.version, properties=properties
        )
        return _commit_result(ResultKind.CREATED if before is None else ResultKind.REPLACED, before, view)
    try:
        view = context.catalog.create_view(
            name.identifier, definition.schema, definition.version, properties=properties
        )
    except ViewAlreadyExistsError:
        if not statement.if_not_exists:
            raise
        # It was created concurrently.
        return Result(ResultKind.UNCHANGED, name.identifier, view=context.catalog.load_view(name.identifier))
    return Result(ResultKind.CREATED, name.identifier, view=view)


def _load_existing(catalog: ViewCatalog, name: ViewName) -> HiveView | None:
    """Load an Iceberg view; None if there is none, or a table has the name, which the creation then reports."""
    try:
        return catalog.load_view(name.identifier)
    except NoSuchViewError as error:
        if type(error) not in (NoSuchViewError, NotAViewError):
            raise
        return None


def _commit_result(kind: ResultKind, before: HiveView | None, view: HiveView) -> Result:
    is_unchanged = before is not None and before.metadata_location == view.metadata_location
    return Result(ResultKind.UNCHANGED if is_unchanged else kind, ViewName(*view.name()).identifier, view=view)


def _alter_as(context: StatementContext) -> Result:
    name = context.resolve_name()
    before = context.catalog.load_view(name.identifier)
    definition = context.define_view(name, before.properties)
    try:
        reject_partitions(context.catalog.store, name)
    except InvalidViewError as error:
        raise unsupported(context.statement, error.reason) from error
    return _commit_result(
        ResultKind.REPLACED, before, before.update().replace_version(definition.version, definition.schema).commit()
    )


def _set(context: StatementContext) -> Result:
    statement: sql.AlterViewSetProperties = context.statement
    before = context.catalog.load_view(context.resolve_name().identifier)
    view = before.update().set_properties(properties_of(statement, statement.properties)).commit()
    return _commit_result(ResultKind.CHANGED, before, view)


def _unset(context: StatementContext) -> Result:
    statement: sql.AlterViewUnsetProperties = context.statement
    before = context.catalog.load_view(context.resolve_name().identifier)
    check_keys_exist(statement, before.metadata.properties)
    return _commit_result(ResultKind.CHANGED, before, before.update().remove_properties(*statement.keys).commit())


def _rename(context: StatementContext) -> Result:
    statement: sql.AlterViewRename = context.statement
    source = context.resolve_name()
    target = context.resolve_name(statement.new_name, source.database)
    try:
        view = context.catalog.rename_view(source.identifier, target.identifier)
    except NoSuchViewError as error:
        if not statement.if_exists or not _is_absence(error):
            raise
        return Result(ResultKind.ABSENT, source.identifier)
    return Result(ResultKind.RENAMED, target.identifier, view=view)


def _recompile(context: StatementContext) -> Result:
    name = context.resolve_name()
    recompiled = context.catalog.recompile_view(name.identifier, analyzer=context.analyzer)
    view = context.catalog.load_view(name.identifier)
    return Result(ResultKind.RECOMPILED if recompiled.changed else ResultKind.UNCHANGED, name.identifier, view=view)


def _add_partitions(context: StatementContext) -> Result:
    statement: sql.AlterViewAddPartitions = context.statement
    name = context.resolve_name()
    try:
        added = context.catalog.partitions.add(
            name.identifier, *statement.partitions, if_not_exists=statement.if_not_exists
        )
    except InvalidViewError as error:
        raise unsupported(statement, str(error)) from error
    rows = tuple((partition,) for partition in added)
    return Result(
        ResultKind.CHANGED if added else ResultKind.UNCHANGED, name.identifier, ("partition",) if rows else (), rows
    )


def _drop_partitions(context: StatementContext) -> Result:
    statement: sql.AlterViewDropPartitions = context.statement
    name = context.resolve_name()
    try:
        dropped = context.catalog.partitions.drop(name.identifier, *statement.partitions, if_exists=statement.if_exists)
    except InvalidViewError as error:
        raise unsupported(statement, str(error)) from error
    rows = tuple((partition,) for partition in dropped)
    return Result(
        ResultKind.CHANGED if dropped else ResultKind.ABSENT, name.identifier, ("partition",) if rows else (), rows
    )


def _is_absence(error: NoSuchViewError) -> bool:
    """Return whether nothing has the name. IF EXISTS does not hide that a plain Hive view or a table has it."""
    return type(error) is NoSuchViewError and not error.detail


# -- DROP --------------------------------------------------------------------------------------------------------------


def _drop(context: StatementContext) -> Result:
    statement: sql.Drop = context.statement
    if statement.purge:
        raise unsupported(
            statement, "PURGE is not supported: drop the table without PURGE, or with the engine that wrote it"
        )
    name = context.resolve_name()
    row = context.catalog.store.get_row(name)
    if statement.if_exists and row is None:
        return Result(ResultKind.ABSENT, name.identifier)
    if statement.kind == "table" and row is not None and row.kind is RowKind.HIVE_TABLE:
        raise NoSuchTableError(str(name), "it is a Hive table: drop it with Hive or Spark, which also delete its data")
    drop = context.catalog.drop_view if statement.kind == "view" else context.catalog.drop_table
    behavior = DropBehavior(statement.behavior or "")
    try:
        report = drop(name.identifier, behavior=behavior)
    except NoSuchViewError as error:
        if not statement.if_exists or not _is_absence(error) or context.catalog.store.get_row(name) is not None:
            raise
        return Result(ResultKind.ABSENT, name.identifier)  # dropped concurrently
    return drop_result(name, report if behavior is DropBehavior.CASCADE else None)


# -- SHOW and DESCRIBE -------------------------------------------------------------------------------------------------


def _show_views(context: StatementContext) -> Result:
    statement: sql.ShowViews = context.statement
    database = (statement.database or context.database).lower()
    is_shown = name_filter(statement.pattern, statement.dialect)
    rows = tuple((database, name) for _, name in context.catalog.list_views((database,)) if is_shown(name))
    return Result(ResultKind.ROWS, None, ("database", "view"), rows)


def _show_partitions(context: StatementContext) -> Result:
    statement: sql.ShowPartitions = context.statement
    name = context.resolve_name()
    try:
        names = context.catalog.partitions.list(name.identifier, statement.partition)
    except InvalidViewError as error:
        raise unsupported(statement, str(error)) from error
    return Result(ResultKind.ROWS, name.identifier, ("partition",), tuple((partition,) for partition in names))


def _show_create(context: StatementContext) -> Result:
    statement: sql.ShowCreate = context.statement
    name = context.resolve_name()
    # Hive has only SHOW CREATE TABLE, for tables and views.
    if statement.kind != "view" and not (statement.kind == "table" and context.catalog.view_exists(name.identifier)):
        raise unsupported(statement, f"SHOW CREATE {statement.kind.upper()} is not supported, only SHOW CREATE VIEW")
    view = context.catalog.load_view(name.identifier)
    if STORAGE_TABLE_COPY in view.metadata.properties or METADATA in view.metadata.properties:
        from hive_views.catalog.statements.materialized_views import (
            show_create,  # imports all of hive_views.materialized
        )

        return show_create(context)
    text = create_statement(context.catalog.store, name, view.metadata, view.metadata.properties)
    return Result(ResultKind.ROWS, name.identifier, ("statement",), ((text,),), view)


def _describe(context: StatementContext) -> Result:
    statement: sql.Describe = context.statement
    name = context.resolve_name()
    view = context.catalog.load_view(name.identifier)
    detailed = statement.extended or statement.formatted
    rows = describe(view, detailed=detailed)
    return Result(ResultKind.ROWS, name.identifier, ("name", "type", "comment"), rows, view)


HANDLERS: dict[type[sql.Statement], Callable[[StatementContext], Result]] = {
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
