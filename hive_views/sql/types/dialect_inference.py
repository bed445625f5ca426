"""The type inference of each dialect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hive_views.sql.parsing.node_ranges import Range
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.text.tokens import Text
from hive_views.sql.types.hive_inference import HiveTypeInference
from hive_views.sql.types.inference import BoundColumn, TypeInference
from hive_views.sql.types.spark_inference import SparkTypeInference


def type_inference(
    text: Text,
    bindings: Mapping[int, BoundColumn],
    fields: Mapping[int, list[str]],
    subqueries: dict[int, Any],
    ranges: Mapping[int, Range],
    conf: Mapping[str, str],
) -> TypeInference:
    """Return the type inference for a query, by the rules of the dialect of its text."""
    if text.dialect is Dialect.SPARK:
        return SparkTypeInference(text, bindings, fields, subqueries, ranges, conf)
    kind = HiveTypeInference if text.dialect is Dialect.HIVE else TypeInference
    return kind(text, bindings, fields, subqueries, ranges)
