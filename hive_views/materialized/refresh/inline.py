"""A definition as one text over tables alone: the views that it reads are put into it, as they are now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hive_views.errors import InvalidMetadataError, RefreshError
from hive_views.identifiers import ViewName
from hive_views.materialized.freshness.sources import Sources
from hive_views.spec.metadata import ViewMetadata
from hive_views.spec.version_texts import HIVE, sql_texts
from hive_views.sql.analysis.incremental import IncrementalQuery, NotIncrementalError, TableLeaf
from hive_views.sql.rewriting.quoting import quote_identifier, quote_name

if TYPE_CHECKING:
    from hive_views.catalog.catalog import HiveViewCatalog

_MOST_VIEWS = 500


@dataclass(frozen=True)
class Text:
    """A view's text for an engine."""

    sql: str
    """The query."""
    dialect: str
    """How it is read: `spark` or `hive`."""
    database: str
    """What names without a database mean."""
    columns: tuple[str, ...] | None
    """The view's columns, where the query's own may have other names; None where they are the same."""
    catalog: str | None = None
    """The catalog of names without one; None is the view's own."""


def text_of(name: ViewName, metadata: ViewMetadata) -> Text:
    """The text of a view that Spark can run: the expanded one, else Spark's own."""
    version = metadata.current_version()
    texts = sql_texts(version)
    namespace = version.default_namespace
    database = namespace[0].lower() if len(namespace) == 1 else name.database
    if HIVE in texts and (HIVE in version.generated_dialects or "spark" not in texts):
        # A generated text is a Spark author's, with Spark's functions.
        dialect = "spark" if HIVE in version.generated_dialects and "spark" in texts else HIVE
        return Text(texts[HIVE], dialect, database, None, version.default_catalog)
    if "spark" in texts:
        try:
            columns = tuple(field.name for field in metadata.current_schema().fields)
        except InvalidMetadataError as error:
            raise RefreshError(str(name), str(error)) from error
        return Text(texts["spark"], "spark", database, columns, version.default_catalog)
    raise RefreshError(str(name), f"{name} has texts for {', '.join(texts) or 'no dialect'}, and none that Spark reads")


def catalogs_of(catalog: HiveViewCatalog) -> frozenset[str]:
    """The names under which a text may mean a catalog: its own, and that of Spark's session catalog."""
    return frozenset({catalog.name.lower(), catalog._config.session_catalog.lower()})


def inline(name: ViewName, metadata: ViewMetadata, sources: Sources, catalogs: frozenset[str]) -> IncrementalQuery:
    """A definition's text with the views that it reads in place of their names."""
    budget = [_MOST_VIEWS]
    sql, dialect = _inlined(name, text_of(name, metadata), sources, budget, (name,), catalogs)
    return _leaves(name, sql, dialect, name.database)


def _inlined(
    name: ViewName,
    text: Text,
    sources: Sources,
    budget: list[int],
    path: tuple[ViewName, ...],
    catalogs: frozenset[str],
) -> tuple[str, str]:
    budget[0] -= 1
    if budget[0] < 0:
        raise RefreshError(str(path[0]), f"its definition reads views more than {_MOST_VIEWS} times")
    leaves = _leaves(name, text.sql, text.dialect, text.database)
    dialects = {text.dialect}
    if text.catalog is not None and text.catalog.lower() not in catalogs and leaves.leaves:
        raise RefreshError(str(path[0]), _elsewhere(path[-1], text.catalog))

    def replacement(_: int, leaf: TableLeaf) -> str:
        child = ViewName(*leaf.name)
        if leaf.catalog is not None and leaf.catalog.lower() not in catalogs:
            raise RefreshError(str(path[0]), _elsewhere(path[-1], leaf.catalog))
        if child in path:
            raise RefreshError(str(path[0]), f"{child} reads itself")
        if child in sources.views:
            inner = text_of(child, sources.views[child])
        elif child in sources.hive_views:
            expanded = sources.hive_views[child].texts.expanded or ""
            inner = Text(expanded, HIVE, child.database, None)
        else:
            return quote_name(leaf.name)
        sql, dialect = _inlined(child, inner, sources, budget, (*path, child), catalogs)
        dialects.add(dialect)
        return f"({sql})" if inner.columns is None else _renamed(sql, inner.columns)

    return leaves.render(replacement), "spark" if "spark" in dialects else HIVE


def _elsewhere(view: ViewName, catalog: str) -> str:
    return (
        f"the text of {view} reads the catalog {catalog}, which is not known to be this one: "
        f"open this catalog under that name, or define {view} without it"
    )


def _renamed(sql: str, columns: tuple[str, ...]) -> str:
    quoted = ", ".join(map(quote_identifier, columns))
    return f"(SELECT * FROM ({sql}) AS `hive_views_inner` ({quoted}))"


def _leaves(name: ViewName, sql: str, dialect: str, database: str) -> IncrementalQuery:
    try:
        return IncrementalQuery(sql, dialect, database)
    except NotIncrementalError as error:
        raise RefreshError(str(name), str(error)) from error
