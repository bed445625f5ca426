"""The type inference of each dialect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hive_views.sql.parsing.parser import ParsedQuery
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.types.hive_inference import HiveTypeInference
from hive_views.sql.types.inference import BoundColumn, TypeInference
from hive_views.sql.types.spark_inference import SparkTypeInference
from hive_views.sql.types.spark_refusals import Compared, Merged, Refusal, SparkRefusals


def type_inference(
    query: ParsedQuery,
    bindings: Mapping[int, BoundColumn],
    fields: Mapping[int, list[str]],
    subqueries: dict[int, Any],
    conf: Mapping[str, str],
) -> TypeInference:
    """Return the type inference for a query, by the rules of the dialect of its text."""
    if query.text.dialect is Dialect.SPARK:
        return SparkTypeInference(query, bindings, fields, subqueries, conf)
    kind = HiveTypeInference if query.text.dialect is Dialect.HIVE else TypeInference
    return kind(query, bindings, fields, subqueries)


def first_refusal(types: TypeInference, compared: Iterable[Compared], merged: Iterable[Merged]) -> Refusal | None:
    """Return the first expression of a resolved query that its author's engine is known to refuse; only of Spark.

    Args:
        types: The type inference of the query.
        compared: The columns that joins with USING and NATURAL compare.
        merged: The columns of DISTINCT and set operations.
    """
    return SparkRefusals.of(types).first(compared, merged) if isinstance(types, SparkTypeInference) else None
