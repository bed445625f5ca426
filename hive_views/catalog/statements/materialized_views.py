"""Handlers of SQL statements about materialized views."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
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
from hive_views.catalog.statements.describe import COMMENT, create_statement
from hive_views.config import REWRITE_QUERIES
from hive_views.dependencies.drop import DropBehavior
from hive_views.errors import InvalidPropertyError, NoSuchViewError, ViewAlreadyExistsError, after_steps
from hive_views.materialized.layouts.layout import Layout
from hive_views.materialized.properties import MAX_STALENESS_MS, user_properties
from hive_views.materialized.refresh.actions import Action, Mode
from hive_views.materialized.storage_layout import partitions_of, sorting_of
from hive_views.materialized.view import MaterializedView
from hive_views.spec.changes import SetProperties
from hive_views.sql.parsing import statements as sql
from hive_views.sql.text.dialects import Dialect

if TYPE_CHECKING:
    from hive_views.catalog.views import HiveView
    from hive_views.dependencies.view_builder import ViewDefinition
    from hive_views.identifiers import ViewName
    from hive_views.metastore.store import MetastoreStore

LAYOUT = "hive-views.layout"
"""TBLPROPERTIES key of CREATE MATERIALIZED VIEW: `registered`, `attached` or `table`. Not stored as a property."""

_ENABLE_REWRITE = (
    f"ENABLE REWRITE is not supported for a single view: the catalog property {REWRITE_QUERIES} of a session rewrites "
    f"its queries to all views. UNSET TBLPROPERTIES ('{REWRITE_QUERIES}') undoes DISABLE REWRITE"
)


def create(context: StatementContext) -> Result:
    """CREATE [OR REPLACE] MATERIALIZED VIEW; the view has no rows before its first refresh."""
    statement: sql.CreateMaterializedView = context.statement
    _check_clauses(statement)
    properties = properties_of(statement, statement.properties)
    if statement.dialect is Dialect.TRINO:
        for key in _TRINO_TABLE_PROPERTIES & properties.keys():
            raise unsupported(
                statement,
                f"WITH ({key} = …) applies to Trino's own storage only. Leave it out, or use PARTITIONED ON",
            )
    if statement.comment is not None:
        properties[COMMENT] = statement.comment
    if statement.grace_period is not None:
        properties[MAX_STALENESS_MS] = _grace_period(statement)
    if statement.rewrite is False:
        properties[REWRITE_QUERIES] = "false"
    requested_layout = properties.pop(LAYOUT, None)
    layout = (requested_layout or Layout.REGISTERED.value).lower()
    if layout not in (Layout.REGISTERED.value, Layout.ATTACHED.value, Layout.TABLE.value):
        raise unsupported(statement, f"{LAYOUT} must be registered, attached or table, not {layout!r}")
    name = context.resolve_name()
    existing = _load_existing(context, name)
    storage_properties = properties_of(statement, statement.storage_properties)
    if existing is not None and statement.if_not_exists:
        return Result(ResultKind.UNCHANGED, name.identifier, view=_load_view(context, existing))
    query = sql.CreateView(
        statement.text, statement.dialect, statement.name, statement.query, columns=statement.columns
    )
    definition = replace(context, statement=query).define_view(name, None)
    if existing is not None and statement.or_replace:
        for is_present, clause, advice in (
            (statement.partitioned_on is not None, "PARTITIONED ON", "drop the view first"),
            (statement.sorted_by, "SORTED BY", "use ALTER TABLE … WRITE ORDERED BY of Iceberg"),
            (storage_properties, "STORAGE PROPERTIES", "use ALTER TABLE on the storage table"),
        ):
            if is_present:
                raise unsupported(statement, f"{clause} cannot be changed by OR REPLACE: {advice}")
        if requested_layout is not None and layout != existing.layout.value:
            raise unsupported(
                statement, f"The layout cannot be changed from {existing.layout.value} to {layout}: drop the view first"
            )
        return _replace(context, existing, definition, properties)
    try:
        created = context.catalog.materialized.create(
            name.identifier,
            definition,
            layout=layout,
            partitioned_by=statement.partitioned_on or (),
            sorted_by=statement.sorted_by,
            properties=properties,
            storage_properties=storage_properties,
            location=statement.location,
        )
    except ViewAlreadyExistsError:
        if not statement.if_not_exists:
            raise
        return Result(ResultKind.UNCHANGED, name.identifier)
    with after_steps(f"the materialized view {name} was created"):
        return Result(ResultKind.CREATED, name.identifier, view=_load_view(context, created))


def alter_as(context: StatementContext) -> Result:
    """ALTER MATERIALIZED VIEW … AS query: a new definition, without rows until the next refresh."""
    name = context.resolve_name()
    view = context.catalog.materialized.load(name.identifier)
    return _replace(context, view, context.define_view(name, None), {})


def _replace(
    context: StatementContext, view: MaterializedView, definition: ViewDefinition, properties: dict[str, str]
) -> Result:
    name = view.name
    try:
        changed = view.replace(definition, properties=properties)
    except InvalidPropertyError as error:
        raise unsupported(context.statement, str(error)) from error
    with after_steps(*([f"the definition of {name} was replaced"] if changed else [])):
        return Result(
            ResultKind.REPLACED if changed else ResultKind.UNCHANGED, name.identifier, view=_load_view(context, view)
        )


def refresh(context: StatementContext) -> Result:
    """REFRESH MATERIALIZED VIEW … [FULL | INCREMENTAL] [CASCADE], ALTER MATERIALIZED VIEW … REBUILD."""
    statement: sql.RefreshMaterializedView = context.statement
    if context.engine is None:
        raise unsupported(statement, "A refresh needs Spark: run it in a ViewSession, or with hive-views mv refresh")
    mode = Mode.FULL if statement.full else Mode.INCREMENTAL if statement.incremental else Mode.AUTO
    name = context.resolve_name()
    view = context.catalog.materialized.load(name.identifier)
    reports = view.refresh(context.engine, mode=mode, cascade=statement.cascade)
    rows = tuple(
        (str(report.name), report.action.value, report.why, None if report.written is None else str(report.written))
        for report in reports
    )
    kind = (
        ResultKind.UNCHANGED if all(report.action is Action.UNCHANGED for report in reports) else ResultKind.REFRESHED
    )
    return Result(kind, name.identifier, ("view", "action", "why", "rows_written"), rows)


def explain_refresh(context: StatementContext) -> Result:
    """EXPLAIN REFRESH MATERIALIZED VIEW: how a refresh would compute the rows, a line a row."""
    name = context.resolve_name()
    explanation = context.catalog.materialized.load(name.identifier).explain(context.engine)
    return Result(ResultKind.ROWS, name.identifier, ("plan",), tuple((line,) for line in explanation.lines()))


def drop(context: StatementContext) -> Result:
    """DROP MATERIALIZED VIEW [IF EXISTS] … [RESTRICT | CASCADE]: the view and its stored rows."""
    statement: sql.Drop = context.statement
    name = context.resolve_name()
    if statement.if_exists and context.catalog.store.get_row(name) is None:
        return Result(ResultKind.ABSENT, name.identifier)
    behavior = DropBehavior(statement.behavior or "")
    report = context.catalog.materialized.load(name.identifier).drop(behavior=behavior)
    return drop_result(name, report if behavior is DropBehavior.CASCADE else None)


def show(context: StatementContext) -> Result:
    """SHOW MATERIALIZED VIEWS [IN database] [LIKE pattern], each with its freshness."""
    statement: sql.ShowViews = context.statement
    database = (statement.database or context.database).lower()
    is_shown = name_filter(statement.pattern, statement.dialect)
    rows = tuple(
        (
            database,
            listed.name.name,
            listed.layout.value,
            listed.freshness.verdict.value,
            "; ".join(map(str, listed.freshness.reasons)) or None,
        )
        for listed in context.catalog.materialized.listing(database)
        if is_shown(listed.name.name)
    )
    return Result(ResultKind.ROWS, None, ("database", "view", "layout", "freshness", "why"), rows)


def show_create(context: StatementContext) -> Result:
    """SHOW CREATE MATERIALIZED VIEW: the statement that creates the view again, in any layout."""
    view = context.catalog.materialized.load(context.resolve_name().identifier)
    text = create_materialized_statement(context.catalog.store, view)
    return Result(ResultKind.ROWS, view.name.identifier, ("statement",), ((text,),), _load_view(context, view))


def create_materialized_statement(store: MetastoreStore, view: MaterializedView) -> str:
    """Return the CREATE MATERIALIZED VIEW statement that creates a view again."""
    properties, storage_properties = user_properties(view.layout, view.metadata, view.storage)
    if view.layout is not Layout.REGISTERED:
        properties = {LAYOUT: view.layout.value, **properties}
    storage = view.storage
    return create_statement(
        store,
        view.name,
        view.metadata,
        properties,
        partitioned_by=() if storage is None else partitions_of(storage),
        sorted_by=() if storage is None else sorting_of(storage),
        storage_properties=storage_properties,
    )


def rewrite(context: StatementContext) -> Result:
    """ALTER MATERIALIZED VIEW … DISABLE REWRITE: queries that do not name the view never read its rows."""
    statement: sql.AlterMaterializedViewRewrite = context.statement
    if statement.enabled:
        raise unsupported(statement, _ENABLE_REWRITE)
    view = context.catalog.materialized.load(context.resolve_name().identifier)
    return _change_properties(context, view, SetProperties({REWRITE_QUERIES: "false"}))


def set_view_properties(context: StatementContext) -> Result:
    """ALTER MATERIALIZED VIEW … SET TBLPROPERTIES, in every layout."""
    statement: sql.AlterViewSetProperties = context.statement
    view = context.catalog.materialized.load(context.resolve_name().identifier)
    return _change_properties(context, view, SetProperties(properties_of(statement, statement.properties)))


def unset_view_properties(context: StatementContext) -> Result:
    """ALTER MATERIALIZED VIEW … UNSET TBLPROPERTIES [IF EXISTS], in every layout."""
    statement: sql.AlterViewUnsetProperties = context.statement
    view = context.catalog.materialized.load(context.resolve_name().identifier)
    check_keys_exist(statement, view.properties)
    return _change_properties(context, view, SetProperties(removals=frozenset(statement.keys)))


def _change_properties(context: StatementContext, view: MaterializedView, change: SetProperties) -> Result:
    try:
        is_changed = view.set_properties(change.updates, removals=change.removals)
    except InvalidPropertyError as error:
        raise unsupported(context.statement, str(error)) from error
    return Result(
        ResultKind.CHANGED if is_changed else ResultKind.UNCHANGED, view.name.identifier, view=_load_view(context, view)
    )


def require_view_layout(context: StatementContext) -> None:
    """Reject ALTER MATERIALIZED VIEW of layout `table`: a table to every reader, with a view attached."""
    view = context.catalog.materialized.load(context.resolve_name().identifier)
    if view.layout is Layout.TABLE:
        raise unsupported(context.statement, f"{view.name} is a table with a view attached: use ALTER TABLE")


def _grace_period(statement: sql.CreateMaterializedView) -> str:
    """Return the interval literal of GRACE PERIOD in milliseconds, as text."""
    text = statement.grace_period or ""
    match = _INTERVAL.fullmatch(text)
    if match is None:
        raise unsupported(statement, f"GRACE PERIOD {text}: write INTERVAL 'n' SECOND, MINUTE, HOUR or DAY")
    return str(int(match[1]) * _MILLISECONDS[match[2].lower()])


_TRINO_TABLE_PROPERTIES = {
    "format", "format_version", "location", "orc_bloom_filter_columns", "partitioning", "sorted_by", "storage_schema",
}  # fmt: skip
"""Properties of a materialized view in Trino's Iceberg connector that have no effect as view properties."""

_MILLISECONDS = {"second": 1_000, "minute": 60_000, "hour": 3_600_000, "day": 86_400_000}
_INTERVAL = re.compile(r"INTERVAL\s+'\s*(\d+)\s*'\s+(SECOND|MINUTE|HOUR|DAY)", re.IGNORECASE | re.ASCII)


def _load_existing(context: StatementContext, name: ViewName) -> MaterializedView | None:
    """Load a materialized view; None if there is none, or another object has the name, which the creation reports."""
    try:
        return context.catalog.materialized.load(name.identifier)
    except NoSuchViewError:
        return None


def _load_view(context: StatementContext, view: MaterializedView) -> HiveView | None:
    return None if view.layout is Layout.TABLE else context.catalog.load_view(view.name.identifier)


def _check_clauses(statement: sql.CreateMaterializedView) -> None:
    for is_present, message in (
        (statement.rewrite is True, _ENABLE_REWRITE),
        (bool(statement.clustered_on or statement.distributed_on or statement.sorted_on), "CLUSTERED, DISTRIBUTED and "
         "SORTED ON are not supported: use SORTED BY, and write.distribution-mode of the storage table"),
        (statement.stored_as is not None, "STORED AS: rows are stored in an Iceberg table. Leave it out"),
        (statement.row_format is not None, "ROW FORMAT: rows are stored in an Iceberg table. Leave it out"),
        ((statement.stored_by or "iceberg").strip("'\"").lower() != "iceberg", "STORED BY: only ICEBERG is supported"),
    ):  # fmt: skip
        if is_present:
            raise unsupported(statement, message)


HANDLERS: dict[type[sql.Statement], Callable[[StatementContext], Result]] = {
    sql.CreateMaterializedView: create,
    sql.AlterViewAs: alter_as,
    sql.AlterViewSetProperties: set_view_properties,
    sql.AlterViewUnsetProperties: unset_view_properties,
    sql.RefreshMaterializedView: refresh,
    sql.ExplainRefresh: explain_refresh,
    sql.AlterMaterializedViewRewrite: rewrite,
    sql.Drop: drop,
    sql.ShowViews: show,
    sql.ShowCreate: show_create,
}
"""By class of statement; DROP, SHOW and ALTER only if they name MATERIALIZED VIEW."""
