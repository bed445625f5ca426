"""Exporting Iceberg views as plain Hive views, or as a script of CREATE VIEW statements in dependency order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hive_views.catalog.catalog import HiveViewCatalog
from hive_views.dependencies.lineage import LineageReader
from hive_views.dependencies.validity import check_each
from hive_views.errors import HiveViewsError
from hive_views.identifiers import ViewName
from hive_views.legacy_import.convert import LEGACY_FINGERPRINT, LEGACY_ROW
from hive_views.metastore.commit.hive_view_commit import swap_row
from hive_views.metastore.queries import RowCache, load_view, view_names
from hive_views.metastore.rows.codec import plain_hive_row
from hive_views.metastore.rows.row import EXTERNAL, RowKind
from hive_views.metastore.rows.types import column_definitions
from hive_views.metastore.store import LoadedView, MetastoreStore
from hive_views.spec.changes import DROP_DIALECT_ALLOWED
from hive_views.spec.version_texts import HIVE, sql_texts
from hive_views.sql.analysis.validity import Validity
from hive_views.sql.text.dialects import SYNTAX, Dialect
from hive_views.sql.text.quoting import quote_identifier, quote_name, string_literal
from hive_views.sql.writing.scripts import script_comment, script_statement

_INTERNAL = ("hive-views.", "hive_views_", "view.", "spark.sql.")
_INTERNAL_KEYS = frozenset({EXTERNAL, DROP_DIALECT_ALLOWED, LEGACY_ROW, LEGACY_FINGERPRINT})
_COMMENT = "comment"


@dataclass(frozen=True)
class ExportedView:
    """One view of an export."""

    name: ViewName
    """The view."""
    statement: str | None
    """Its CREATE VIEW statement; None if it was not exported."""
    problem: str | None = None
    """Why it was not exported."""
    metadata_location: str | None = None
    """URI of its metadata file, from which `register_view` creates the Iceberg view again."""


def export_script(
    catalog: HiveViewCatalog, databases: Sequence[str] = (), names: Sequence[ViewName] = ()
) -> tuple[ExportedView, ...]:
    """Export Iceberg views as CREATE VIEW statements, each after those of the views that it reads.

    A statement has the names of the view's columns and the expanded text, which means the same under any current
    database. Hive and Spark can both run it.

    Args:
        catalog: The catalog of the views.
        databases: Databases whose views are all exported.
        names: Further views.

    Returns:
        One entry per view, in the order in which the statements have to be run. If the text for Hive and
        plain Spark is missing, or its meaning depends on the reader, the entry has a problem instead of a statement.

    Raises:
        NoSuchNamespaceError: If a database does not exist.
    """
    return _export(catalog.store, _order_names(catalog, databases, names), lambda loaded: None)


def script_text(exported: Sequence[ExportedView]) -> str:
    """Return an export as a script.

    Args:
        exported: The result of `export_script` or `export_rows`.

    Returns:
        The statements, each ended by a semicolon. Views that could not be exported are comments. If a name or a comment
        contains `${name}`, the script begins with settings that turn off the variable substitution of Hive and Spark.
    """
    parts = []
    if any("${" in (item.statement or "") for item in exported):
        settings = (f"{SYNTAX[dialect].unsubstituted};" for dialect in (Dialect.SPARK, Dialect.HIVE))
        parts.append("\n".join(["-- ${ } is not a variable in these statements.", *settings]))
    for item in exported:
        if item.statement is None:
            parts.append(script_comment(f"{item.name} is not exported: {item.problem}"))
        else:
            parts.append(f"{item.statement}\n;")
    return "\n\n".join(parts) + "\n"


def export_rows(
    catalog: HiveViewCatalog, databases: Sequence[str] = (), names: Sequence[ViewName] = ()
) -> tuple[ExportedView, ...]:
    """Turn Iceberg views into plain Hive views in place, by removing from their rows what only Iceberg readers use.

    Metadata files are kept, so `register_view` can restore a view after the Hive view is dropped.

    Args:
        catalog: The catalog of the views.
        databases: Databases whose views are all exported.
        names: Further views.

    Returns:
        One entry per view, each before those of the views that it reads. A view that was not changed has a problem.

    Raises:
        NoSuchNamespaceError: If a database does not exist.
    """
    store = catalog.store

    def swap(loaded: LoadedView) -> None:
        swap_row(store, loaded.row, plain_hive_row(loaded.row, is_dropped=_is_internal))

    # Dependents are exported before their sources.
    return _export(store, _order_names(catalog, databases, names)[::-1], swap)


def _export(
    store: MetastoreStore, names: Sequence[ViewName], act: Callable[[LoadedView], None]
) -> tuple[ExportedView, ...]:
    """Call `act` for each view in the given order and return its statement, or a problem if this fails."""
    exported = []
    reasons = _unexpanded_reasons(store, names)
    for name in names:
        try:
            if name in reasons:
                raise _NoTextError(reasons[name])
            loaded = load_view(store, name)
            statement = _statement(store, loaded)
            act(loaded)
            exported.append(ExportedView(name, statement, None, loaded.row.metadata_location))
        except HiveViewsError as error:
            exported.append(ExportedView(name, None, str(error)))
    return tuple(exported)


def _order_names(catalog: HiveViewCatalog, databases: Sequence[str], names: Sequence[ViewName]) -> list[ViewName]:
    store = catalog.store
    selected = {*names, *(name for database in databases for name in view_names(store, database))}
    graph = catalog.dependencies.graph(*sorted({name.database for name in selected})) if selected else None
    order = list(graph.order()) if graph is not None else []
    return [*(name for name in order if name in selected), *sorted(selected - set(order))]


def _unexpanded_reasons(store: MetastoreStore, names: Sequence[ViewName]) -> dict[ViewName, str]:
    """Return the views whose text for Hive and plain Spark depends on the reader, with the reasons."""
    checks = check_each(LineageReader(store), names, RowCache(store)).results
    return {
        name: problem.reason
        for name in names
        if name in checks
        for problem in checks[name].problems
        if problem.validity is Validity.UNEXPANDED
    }


def _is_internal(key: str) -> bool:
    return key in _INTERNAL_KEYS or key.startswith(_INTERNAL)


class _NoTextError(HiveViewsError):
    """A view without a text for Hive and plain Spark."""


def _statement(store: MetastoreStore, loaded: LoadedView) -> str:
    name, metadata = loaded.row.name, loaded.metadata
    if loaded.row.kind is not RowKind.ICEBERG_VIEW:
        raise _NoTextError(f"{name} is not an Iceberg view")
    text = sql_texts(metadata.current_version()).get(HIVE)
    if text is None:
        raise _NoTextError(f"{name} has no text that Hive and plain Spark can run")
    columns = []
    for column, _, comment in column_definitions(name, metadata, store.config):
        columns.append(quote_identifier(column) + (f" COMMENT {_literal(comment)}" if comment else ""))
    lines = [f"CREATE VIEW {quote_name((name.database, name.name))} (\n  " + ",\n  ".join(columns) + ")"]
    properties = {key: value for key, value in metadata.properties.items() if not _is_internal(key)}
    comment = properties.pop(_COMMENT, None)
    if comment is not None:
        lines.append(f"COMMENT {_literal(comment)}")
    if properties:
        pairs = (f"{_literal(key)} = {_literal(value)}" for key, value in sorted(properties.items()))
        lines.append("TBLPROPERTIES (\n  " + ",\n  ".join(pairs) + ")")
    statement = script_statement("\n".join([*lines, f"AS {text}"]))
    if not loaded.row.partition_keys:
        return statement
    keys = ", ".join(quote_identifier(key) for key, _ in loaded.row.partition_keys)
    comment = f"Its partitions are not exported. Hive accepts PARTITIONED ON ({keys}) before AS, Spark does not."
    return f"{script_comment(comment)}\n{statement}"


def _literal(value: str) -> str:
    return string_literal(value, Dialect.HIVE)
