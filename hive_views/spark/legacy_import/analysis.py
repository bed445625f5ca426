"""What Spark's analyzer says of many definitions, quickly: one analysis of each text, and no query around it.

A `ViewSession` makes a temporary view for each view that records settings, and analyzes that and the query. Here the
text itself is analyzed in the second session, whose settings and current database are set once for all views that have
the same. It says "yes" or nothing: what it does not take, the session is asked about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from hive_views.errors import HiveViewsError
from hive_views.identifiers import ViewName
from hive_views.spark.analyzer import iceberg_schema
from hive_views.spark.session.names import NameContext
from hive_views.spark.sessions import spark_exceptions
from hive_views.spec.session_settings import RECORDED, recorded
from hive_views.spec.version_texts import HIVE, sql_texts

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyspark.sql.types import StructType

    from hive_views.spark.session.session import ViewSession

_Settings = frozenset[tuple[str, str]]


def analyzed(
    views: ViewSession, names: Iterable[ViewName], place: Callable[[ViewName], ViewName]
) -> dict[ViewName, StructType]:
    """What Spark's analyzer finds in definitions that give just the columns that their views declare."""
    reader, helper = views._queries, views._helper
    groups: dict[tuple[NameContext, _Settings], list[tuple[ViewName, str, Schema]]] = {}
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
        settings = frozenset((key, wanted.get(key, str(views.spark.conf.get(key)))) for key in RECORDED)
        key = reader.context_of(version, place(name)), settings
        groups.setdefault(key, []).append((name, text, view.schemas()[version.schema_id]))
    found: dict[ViewName, StructType] = {}
    caught: tuple[type[Exception], ...] = (HiveViewsError, *spark_exceptions())
    for (context, settings), items in groups.items():
        try:
            with helper.configured(context, dict(settings)) as (session, _):
                for name, text, declared in items:
                    try:
                        given = session.sql(text).schema
                        alike = _alike(iceberg_schema(given), declared)
                    except caught:
                        continue
                    if alike:
                        found[name] = given
        except caught:
            continue  # there is no such database, say: the session tells which view has the fault
    return found


def _alike(given: Schema, declared: Schema) -> bool:
    """Whether the query's columns are those that the view declares: then nothing is renamed or cast for a reader."""
    return [(field.name.lower(), str(field.field_type)) for field in given.fields] == [
        (field.name.lower(), str(field.field_type)) for field in declared.fields
    ]
