"""What Spark's analyzer says of many definitions, quickly: one analysis of each text, and no query around it.

A `ViewSession` makes a temporary view for each view that records settings, and analyzes that and the query. Here the
text itself is analyzed in the second session, whose settings and current database are set once for all views that have
the same. It says "yes" or nothing: what it does not take, the session is asked about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from hive_views.definition import HIVE, sql_texts
from hive_views.errors import HiveViewsError
from hive_views.identifiers import ViewName
from hive_views.spark.analyzer import iceberg_schema
from hive_views.spark.failures import failures
from hive_views.spark.names import Context
from hive_views.spark.reading import upcast
from hive_views.spark.settings import RECORDED, recorded

if TYPE_CHECKING:
    from pyiceberg.schema import Schema

    from hive_views.spark.session import ViewSession

_Settings = frozenset[tuple[str, str]]


def analyzed(
    views: ViewSession, names: Iterable[ViewName], place: Callable[[ViewName], ViewName]
) -> dict[ViewName, tuple[str, ...]]:
    """The columns of views whose definition Spark's analyzer takes.

    Args:
        views: A session on their catalog.
        names: What they are known by here.
        place: Where each stands in the catalog.

    Returns:
        The columns' names in lower case; a view that is not there has to be looked at more closely.
    """
    reader, helper = views._reader, views._helper
    groups: dict[tuple[Context, _Settings], list[tuple[ViewName, str, Schema]]] = {}
    for name in names:
        try:
            view = views.catalog.load_view(place(name).identifier)
            version = view.current_version()
            texts = sql_texts(version)
        except HiveViewsError:
            continue
        text = texts.get("spark", texts.get(HIVE))
        if text is None:
            continue
        wanted = recorded(version.summary)
        settings = frozenset((key, wanted.get(key, views._names.setting(key))) for key in RECORDED)
        key = reader._home_of(version, place(name)), settings
        groups.setdefault(key, []).append((name, text, view.schemas()[version.schema_id]))
    found: dict[ViewName, tuple[str, ...]] = {}
    caught: tuple[type[Exception], ...] = (HiveViewsError, *failures())
    for (context, settings), items in groups.items():
        try:
            with helper.under(context, dict(settings)) as (session, _):
                for name, text, declared in items:
                    try:
                        given = iceberg_schema(session.sql(text).schema)
                    except caught:
                        continue
                    if _fits(given, declared):
                        found[name] = tuple(field.name.lower() for field in declared.fields)
        except caught:
            continue  # there is no such database, say: the session tells which view has the fault
    return found


def _fits(given: Schema, declared: Schema) -> bool:
    """Whether the query gives what the view declares, by position, as it is or in a narrower type."""
    if len(given.fields) != len(declared.fields):
        return False
    return all(
        str(one.field_type) == str(other.field_type) or upcast(one.field_type, other.field_type) is not None
        for one, other in zip(given.fields, declared.fields, strict=True)
    )
