"""The schema that Spark records in a row whose own columns are a placeholder."""

from __future__ import annotations

import json

import pytest

from hive_views.metastore.spark_schema import PLACEHOLDER, columns_of

FIELDS = [
    {"name": "Id", "type": "integer", "nullable": True, "metadata": {"comment": "the id"}},
    {"name": "nt", "type": "timestamp_ntz", "nullable": True, "metadata": {}},
    {
        "name": "l",
        "type": {"type": "array", "elementType": "long", "containsNull": True},
        "nullable": True,
        "metadata": {},
    },
]
SCHEMA = json.dumps({"type": "struct", "fields": FIELDS})
COLUMNS = (("id", "int", "the id"), ("nt", "timestamp_ntz", None), ("l", "array<bigint>", None))
COL = ((*PLACEHOLDER, None),)
PART = (*COL, ("p", "string", None))

CASES = {
    "one parameter": ({"spark.sql.sources.schema": SCHEMA}, COL, COLUMNS),
    "parts": (
        {
            "spark.sql.sources.schema.numParts": "2",
            "spark.sql.sources.schema.part.0": SCHEMA[:50],
            "spark.sql.sources.schema.part.1": SCHEMA[50:],
        },
        COL,
        COLUMNS,
    ),
    "partition columns follow the placeholder": ({"spark.sql.sources.schema": SCHEMA}, PART, COLUMNS),
    "columns of the row": ({"spark.sql.sources.schema": SCHEMA}, (("id", "int", None),), None),
    "no schema": ({}, COL, None),
    "no schema of a format": ({"spark.sql.sources.provider": "delta"}, COL, ()),
    "an empty schema": (
        {"spark.sql.sources.provider": "delta", "spark.sql.sources.schema": '{"type": "struct", "fields": []}'},
        PART,
        (),
    ),
    "no JSON of a format": ({"spark.sql.sources.provider": "json", "spark.sql.sources.schema": "{"}, COL, ()),
    "no columns": ({"spark.sql.sources.schema": SCHEMA}, (), None),
    "a part is missing": ({"spark.sql.sources.schema.numParts": "1"}, COL, None),
    "no JSON": ({"spark.sql.sources.schema": "{"}, COL, None),
    "another document": ({"spark.sql.sources.schema": "[]"}, COL, None),
}


@pytest.mark.parametrize(("parameters", "columns", "expected"), CASES.values(), ids=CASES.keys())
def test_columns_of_a_placeholder(parameters: dict[str, str], columns: tuple, expected: tuple | None) -> None:  # type: ignore[type-arg]
    assert columns_of(parameters, columns) == expected
