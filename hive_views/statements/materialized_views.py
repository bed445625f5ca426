"""SQL statements about materialized views: what `hive_views.statements.views` leaves to this room."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hive_views.errors import InvalidPropertyError, NoSuchViewError, NotMaterializedError, ViewAlreadyExistsError
from hive_views.materialized.layouts.layouts import Layout
from hive_views.materialized.loading import MaterializedView
from hive_views.materialized.properties import MAX_STALENESS_MS
from hive_views.materialized.redefine import set_properties
from hive_views.materialized.refresh.refresh import Mode
from hive_views.spec.changes import SetProperties
from hive_views.sql.parsing import statements as sql
from hive_views.statements.describe import COMMENT
from hive_views.statements.views import Result, Run, dropped, like_pattern, refused, statement_properties

if TYPE_CHECKING:
    from hive_views.catalog.views import HiveView
    from hive_views.dependencies.view_builder import ViewDefinition
    from hive_views.identifiers import ViewName

LAYOUT = "hive-views.layout"
"""TBLPROPERTIES key of CREATE MATERIALIZED VIEW: `registered`, `attached` or `table`. It is not kept as a property."""


def create(run: Run) -> Result:
    """CREATE [OR REPLACE] MATERIALIZED VIEW; it has no rows until it is refreshed."""
    statement: sql.CreateMaterializedView = run.statement
    _refuse_clauses(statement)
    properties = statement_properties(statement, statement.properties)
    if statement.dialect == "trino":
        for key in _OF_TRINO_TABLES & properties.keys():
            raise refused(
                statement,
                f"WITH ({key} = …) is about Trino's own storage: leave it out. PARTITIONED ON (column, …) divides rows",
            )
    if statement.comment is not None:
        properties[COMMENT] = statement.comment
    if statement.grace_period is not None:
        properties[MAX_STALENESS_MS] = _grace_period(statement)
    asked = properties.pop(LAYOUT, None)
    layout = (asked or Layout.REGISTERED.value).lower()
    if layout not in (Layout.REGISTERED.value, Layout.ATTACHED.value, Layout.TABLE.value):
        raise refused(statement, f"{LAYOUT} is registered, attached or table, not {layout!r}")
    name = run.name()
    there = _existing(run, name)
    if there is not None and statement.if_not_exists:
        return Result("unchanged", name.identifier, view=_view(run, there))
    query = sql.CreateView(
        statement.text, statement.dialect, statement.name, statement.query, columns=statement.columns
    )
    made = replace(run, statement=query).define(name)
    if there is not None and statement.or_replace:
        if statement.partitioned_on is not None:
            raise refused(statement, "A materialized view with other partitions is no replacement: drop it first")
        if asked is not None and layout != there.layout.value:
            raise refused(statement, f"Its layout is {there.layout.value}, and stays so: drop it first")
        return _replaced(run, there, made, properties)
    try:
        created = run.catalog.materialized.create(
            name.identifier,
            made,
            layout=layout,
            partitioned_by=statement.partitioned_on or (),
            properties=properties,
            location=statement.location,
        )
    except ViewAlreadyExistsError:
        if not statement.if_not_exists:
            raise
        return Result("unchanged", name.identifier)
    return Result("created", name.identifier, view=_view(run, created))


def alter_as(run: Run) -> Result:
    """ALTER MATERIALIZED VIEW … AS query: another definition, without rows until the next refresh."""
    name = run.name()
    there = run.catalog.materialized.load(name.identifier)
    return _replaced(run, there, run.define(name), {})


def _replaced(run: Run, there: MaterializedView, made: ViewDefinition, properties: dict[str, str]) -> Result:
    name = there.name
    try:
        changed = run.catalog.materialized.replace(name.identifier, made, properties=properties)
    except InvalidPropertyError as error:
        raise refused(run.statement, str(error)) from error
    return Result("replaced" if changed else "unchanged", name.identifier, view=_view(run, there))


def refresh(run: Run) -> Result:
    """REFRESH MATERIALIZED VIEW … [FULL | INCREMENTAL] [CASCADE], ALTER MATERIALIZED VIEW … REBUILD."""
    statement: sql.RefreshMaterializedView = run.statement
    if run.engine is None:
        raise refused(statement, "A refresh needs Spark: run it in a ViewSession, or by hive-views mv refresh")
    mode = Mode.FULL if statement.full else Mode.INCREMENTAL if statement.incremental else Mode.AUTO
    name = run.name()
    reports = run.catalog.materialized.refresh(name.identifier, run.engine, mode=mode, cascade=statement.cascade)
    rows = tuple(
        (str(report.name), report.action, report.why, None if report.written is None else str(report.written))
        for report in reports
    )
    kind = "unchanged" if all(report.action == "unchanged" for report in reports) else "refreshed"
    return Result(kind, name.identifier, ("view", "action", "why", "rows_written"), rows)


def drop(run: Run) -> Result:
    """DROP MATERIALIZED VIEW [IF EXISTS] … [RESTRICT | CASCADE]: the view and its stored rows."""
    statement: sql.Drop = run.statement
    name = run.name()
    if statement.if_exists and run.catalog.store.get_row(name) is None:
        return Result("absent", name.identifier)
    behavior = statement.behavior
    cascade = behavior == "cascade"
    done = run.catalog.materialized.drop(name.identifier, restrict=behavior == "restrict", cascade=cascade)
    return dropped(name, done if cascade else None)


def show(run: Run) -> Result:
    """SHOW MATERIALIZED VIEWS [IN database] [LIKE pattern], each with its freshness."""
    statement: sql.ShowViews = run.statement
    database = (statement.database or run.database).lower()
    pattern = like_pattern(statement.pattern, statement.dialect)
    rows = tuple(
        (
            database,
            item.name.name,
            item.layout.value,
            item.freshness.verdict.value,
            "; ".join(map(str, item.freshness.reasons)) or None,
        )
        for item in run.catalog.materialized.listing(database)
        if pattern is None or pattern.fullmatch(item.name.name)
    )
    return Result("rows", None, ("database", "view", "layout", "freshness", "why"), rows)


def rewrite(run: Run) -> Result:
    """ALTER MATERIALIZED VIEW … DISABLE REWRITE: no other query is ever rewritten to read it, so it is so already."""
    statement: sql.AlterMaterializedViewRewrite = run.statement
    if statement.enabled:
        raise refused(statement, "ENABLE REWRITE: queries that do not name the view are not rewritten to read it")
    return Result("unchanged", run.catalog.materialized.load(run.name().identifier).name.identifier)


def set_(run: Run) -> Result:
    """ALTER MATERIALIZED VIEW … SET TBLPROPERTIES, in every layout."""
    statement: sql.AlterViewSetProperties = run.statement
    there = run.catalog.materialized.load(run.name().identifier)
    return _changed(run, there, SetProperties(statement_properties(statement, statement.properties)))


def unset(run: Run) -> Result:
    """ALTER MATERIALIZED VIEW … UNSET TBLPROPERTIES [IF EXISTS], in every layout."""
    statement: sql.AlterViewUnsetProperties = run.statement
    there = run.catalog.materialized.load(run.name().identifier)
    missing = [key for key in statement.keys if key not in there.properties]
    if missing and not statement.if_exists:
        shown = ", ".join(repr(key) for key in missing)
        raise refused(statement, f"{statement.name} has no property {shown}: remove it by UNSET … IF EXISTS")
    return _changed(run, there, SetProperties(removals=frozenset(statement.keys)))


def _changed(run: Run, there: MaterializedView, changed: SetProperties) -> Result:
    try:
        done = set_properties(run.catalog, there, changed)
    except InvalidPropertyError as error:
        raise refused(run.statement, str(error)) from error
    return Result("changed" if done else "unchanged", there.name.identifier, view=_view(run, there))


def check(run: Run) -> None:
    """Refuse ALTER MATERIALIZED VIEW for what is none, or is a table to every reader."""
    view = run.catalog.materialized.load(run.name().identifier)
    if view.layout is Layout.TABLE:
        raise refused(run.statement, f"{view.name} is a table with a view attached: do it by ALTER TABLE")


def _grace_period(statement: sql.CreateMaterializedView) -> str:
    """Milliseconds of GRACE PERIOD, which is an interval literal."""
    text = statement.grace_period or ""
    found = _INTERVAL.fullmatch(text)
    if found is None:
        raise refused(statement, f"GRACE PERIOD {text}: write INTERVAL 'n' SECOND, MINUTE, HOUR or DAY")
    return str(int(found[1]) * _MILLISECONDS[found[2].lower()])


_OF_TRINO_TABLES = {
    "format", "format_version", "location", "orc_bloom_filter_columns", "partitioning", "sorted_by", "storage_schema",
}  # fmt: skip
"""Properties of Trino's Iceberg connector for a materialized view, which would do nothing as view properties."""

_MILLISECONDS = {"second": 1_000, "minute": 60_000, "hour": 3_600_000, "day": 86_400_000}
_INTERVAL = re.compile(r"INTERVAL\s+'\s*(\d+)\s*'\s+(SECOND|MINUTE|HOUR|DAY)", re.IGNORECASE | re.ASCII)


def _existing(run: Run, name: ViewName) -> MaterializedView | None:
    try:
        return run.catalog.materialized.load(name.identifier)
    except NotMaterializedError:
        return None  # the creation stumbles over it
    except NoSuchViewError:
        return None


def _view(run: Run, view: MaterializedView) -> HiveView | None:
    return None if view.layout is Layout.TABLE else run.catalog.load_view(view.name.identifier)


def _refuse_clauses(statement: sql.CreateMaterializedView) -> None:
    for asked, what in (
        (statement.rewrite is True, "ENABLE REWRITE: queries that do not name the view are not rewritten to read it"),
        (bool(statement.clustered_on or statement.distributed_on or statement.sorted_on), "CLUSTERED, DISTRIBUTED and "
         "SORTED ON: set write.distribution-mode and a sort order of the storage table"),
        (statement.stored_as is not None, "STORED AS: rows are stored in an Iceberg table. Leave it out"),
        (statement.row_format is not None, "ROW FORMAT: rows are stored in an Iceberg table. Leave it out"),
        ((statement.stored_by or "iceberg").strip("'\"").lower() != "iceberg", "STORED BY: only ICEBERG is possible"),
    ):  # fmt: skip
        if asked:
            raise refused(statement, what)


HANDLERS: dict[type[sql.Statement], Callable[[Any], Result]] = {
    sql.CreateMaterializedView: create,
    sql.AlterViewAs: alter_as,
    sql.AlterViewSetProperties: set_,
    sql.AlterViewUnsetProperties: unset,
    sql.RefreshMaterializedView: refresh,
    sql.AlterMaterializedViewRewrite: rewrite,
    sql.Drop: drop,
    sql.ShowViews: show,
}
"""By statement; DROP, SHOW and ALTER only for materialized views."""
