"""The way out: Iceberg views as plain Hive views, or as a script of CREATE VIEW statements in dependency order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hive_views.catalog.catalog import HiveViewCatalog
from hive_views.errors import HiveViewsError
from hive_views.identifiers import ViewName
from hive_views.legacy_import.row_conversion import LEGACY_FINGERPRINT, LEGACY_ROW
from hive_views.metastore.commit.hive_view_commit import swap_row
from hive_views.metastore.queries import load_view, view_names
from hive_views.metastore.row_codec import EXTERNAL, RowKind, column_definitions, plain_hive_row
from hive_views.metastore.store import LoadedView, MetastoreStore
from hive_views.spec.changes import DROP_DIALECT_ALLOWED
from hive_views.spec.version_texts import HIVE, sql_texts
from hive_views.sql.rewriting.dialects import NO_SUBSTITUTION
from hive_views.sql.rewriting.quoting import quote_identifier, quote_name, string_literal

_OWN = ("hive-views.", "hive_views_", "view.", "spark.sql.")
_OWN_KEYS = frozenset({EXTERNAL, DROP_DIALECT_ALLOWED, LEGACY_ROW, LEGACY_FINGERPRINT})
_COMMENT = "comment"


@dataclass(frozen=True)
class Exported:
    """One view of an export."""

    name: ViewName
    """The view."""
    statement: str | None
    """Its CREATE VIEW; None where it was not exported."""
    problem: str | None = None
    """Why not."""
    metadata_location: str | None = None
    """The metadata file that it had; `register_view` makes the Iceberg view again from it."""


def export_script(
    catalog: HiveViewCatalog, databases: Sequence[str] = (), names: Sequence[ViewName] = ()
) -> tuple[Exported, ...]:
    """CREATE VIEW statements of Iceberg views, each behind those that it reads.

    The statements hold the expanded text, so they mean the same under any current database, and the view's columns
    by name. Hive and Spark both run them.

    Args:
        catalog: Where the views are.
        databases: All views of these, and
        names: these views.

    Returns:
        One entry a view, in the order in which the statements have to be run; one that has no text for Hive and plain
        Spark has a problem in place of a statement.

    Raises:
        NoSuchNamespaceError: If a database does not exist.
    """
    found = []
    for name in _ordered(catalog, databases, names):
        try:
            loaded = load_view(catalog.store, name)
            found.append(Exported(name, _statement(catalog.store, loaded), None, loaded.row.metadata_location))
        except HiveViewsError as error:
            found.append(Exported(name, None, str(error)))
    return tuple(found)


def script_text(exported: Sequence[Exported]) -> str:
    """A script that people can run by hand, statement by statement.

    Args:
        exported: What `export_script` gave.

    Returns:
        The statements, each ended by a semicolon; what could not be exported as comments. In front, where a name or a
        comment holds `${name}`, what keeps Hive and Spark from putting a value there; strings need none of that.
    """
    parts = []
    if any("${" in (item.statement or "") for item in exported):
        parts.append(
            "\n".join(["-- All in ${ } is meant to the letter.", *(f"{each};" for each in NO_SUBSTITUTION.values())])
        )
    for item in exported:
        if item.statement is None:
            problem = " ".join((item.problem or "").split())
            parts.append(f"-- {item.name} is not exported: {problem}")
        else:
            parts.append(f"{item.statement}\n;")
    return "\n\n".join(parts) + "\n"


def export_rows(
    catalog: HiveViewCatalog, databases: Sequence[str] = (), names: Sequence[ViewName] = ()
) -> tuple[Exported, ...]:
    """Turn Iceberg views into plain Hive views, in place: what Iceberg's readers need is taken from their rows.

    Metadata files stay, so `register_view` can bring a view back after it was dropped.

    Args:
        catalog: Where the views are.
        databases: All views of these, and
        names: these views.

    Returns:
        One entry a view.

    Raises:
        NoSuchNamespaceError: If a database does not exist.
    """
    found = []
    # From the top down: a view that is still Iceberg's may read a plain one no more than before.
    for name in reversed(_ordered(catalog, databases, names)):
        try:
            loaded = load_view(catalog.store, name)
            statement = _statement(catalog.store, loaded)
            swap_row(catalog.store, loaded.row, plain_hive_row(loaded.row, is_dropped=_is_own))
            found.append(Exported(name, statement, None, loaded.row.metadata_location))
        except HiveViewsError as error:
            found.append(Exported(name, None, str(error)))
    return tuple(found)


def _ordered(catalog: HiveViewCatalog, databases: Sequence[str], names: Sequence[ViewName]) -> list[ViewName]:
    store = catalog.store
    wanted = {*names, *(name for database in databases for name in view_names(store, database))}
    graph = catalog.graph(*sorted({name.database for name in wanted})) if wanted else None
    order = list(graph.order()) if graph is not None else []
    return [*(name for name in order if name in wanted), *sorted(wanted - set(order))]


def _is_own(key: str) -> bool:
    return key in _OWN_KEYS or key.startswith(_OWN)


class _NoTextError(HiveViewsError):
    """A view without a text for Hive and plain Spark."""


def _statement(store: MetastoreStore, loaded: LoadedView) -> str:
    name, metadata = loaded.row.name, loaded.metadata
    if loaded.row.kind is not RowKind.ICEBERG_VIEW:
        raise _NoTextError(f"{name} is no Iceberg view")
    text = sql_texts(metadata.current_version()).get(HIVE)
    if text is None:
        raise _NoTextError(f"{name} has no text that Hive and plain Spark can run")
    listed = []
    for column, _, comment in column_definitions(name, metadata, store.config):
        listed.append(quote_identifier(column) + (f" COMMENT {string_literal(comment, HIVE)}" if comment else ""))
    lines = []
    if loaded.row.table.partitionKeys:
        keys = ", ".join(quote_identifier(key.name) for key in loaded.row.table.partitionKeys)
        lines.append(
            f"-- Its partitions are not here. Hive takes PARTITIONED ON ({keys}) in front of AS, Spark does not."
        )
    lines += [f"CREATE VIEW {quote_name((name.database, name.name))} (\n  " + ",\n  ".join(listed) + ")"]
    properties = {key: value for key, value in metadata.properties.items() if not _is_own(key)}
    comment = properties.pop(_COMMENT, None)
    if comment is not None:
        lines.append(f"COMMENT {string_literal(comment, HIVE)}")
    if properties:
        pairs = (
            f"{string_literal(key, HIVE)} = {string_literal(value, HIVE)}" for key, value in sorted(properties.items())
        )
        lines.append("TBLPROPERTIES (\n  " + ",\n  ".join(pairs) + ")")
    return "\n".join([*lines, f"AS {text}"])
