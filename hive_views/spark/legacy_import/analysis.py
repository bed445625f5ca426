"""Fast analysis of many definitions by Spark: each text is analyzed once, without a query that reads the view.

A `ViewSession` creates a temporary view for each view that records settings, and analyzes it and the query. Here each
text is analyzed in the helper session, whose settings and current database are set once for all views that share them.
The result covers only views whose text returns the declared columns; others must be read with the `ViewSession`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hive_views.errors import HiveViewsError
from hive_views.identifiers import ViewName
from hive_views.spark.analyzer import iceberg_schema
from hive_views.spark.session.names import NameContext
from hive_views.spark.sessions import spark_exceptions
from hive_views.spec.session_settings import recorded_settings
from hive_views.spec.version_texts import HIVE, sql_texts

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyspark.sql.types import StructType

    from hive_views.spark.session.session import ViewSession

_Settings = frozenset[tuple[str, str]]


def analyze_definitions(session: ViewSession, targets: Mapping[ViewName, ViewName]) -> dict[ViewName, StructType]:
    """Return the columns of the views whose text returns exactly the columns that the view declares.

    `targets` maps the names of the legacy views to those of the new views; the result has some of its keys.
    """
    reader, helper = session._queries, session._helper
    groups: dict[tuple[NameContext, _Settings], list[tuple[ViewName, str, Schema]]] = {}
    for name, target in targets.items():
        try:
            view = session.view_catalog.load_view(target.identifier)
            version = view.current_version()
            texts = sql_texts(version)
        except HiveViewsError:
            continue
        text = texts.get("spark", texts.get(HIVE))
        if text is None:
            continue
        settings = frozenset(recorded_settings(version.summary).items())
        key = reader.reads.context_of(version, target), settings
        groups.setdefault(key, []).append((name, text, view.schemas()[version.schema_id]))
    schemas: dict[ViewName, StructType] = {}
    errors: tuple[type[Exception], ...] = (HiveViewsError, *spark_exceptions())
    for (context, settings), views in groups.items():
        try:
            with helper.configured(context, dict(settings)) as (spark, _):
                for name, text, declared in views:
                    try:
                        schema = spark.sql(text).schema
                        is_same = _has_same_columns(iceberg_schema(schema), declared)
                    except errors:
                        continue
                    if is_same:
                        schemas[name] = schema
        except errors:
            continue  # e.g. the database does not exist: the `ViewSession` reports which view fails
    return schemas


def _has_same_columns(schema: Schema, declared: Schema) -> bool:
    """Return whether the query's columns have the declared names and types, so that readers need no alias or cast."""
    return [(field.name.lower(), str(field.field_type)) for field in schema.fields] == [
        (field.name.lower(), str(field.field_type)) for field in declared.fields
    ]
