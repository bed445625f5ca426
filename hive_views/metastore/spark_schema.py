"""The schema that Spark records in the parameters of a row.

Spark writes the columns' case and types into `spark.sql.sources.schema`, split into `….part.N` up to Spark 3.1. If a
type is one that Hive lacks, such as TIMESTAMP_NTZ or VARIANT, the row's own columns are only a placeholder. Source:
Spark's HiveExternalCatalog.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hive_views.spec.json_text import parse_json
from hive_views.sql.types.names import spark_name_of_json

SCHEMA = "spark.sql.sources.schema"
"""The parameter with the schema in Spark's JSON form."""
PLACEHOLDER = ("col", "array<string>")
"""The column of a row whose columns have types that Hive lacks (HiveExternalCatalog.EMPTY_DATA_SCHEMA)."""

PROVIDER = "spark.sql.sources.provider"
"""The parameter with the format of a table that Spark created."""

Column = tuple[str, str, str | None]
"""Name, Hive type and comment."""


def columns_of(parameters: Mapping[str, str], columns: tuple[Column, ...]) -> tuple[Column, ...] | None:
    """Return the columns that Spark recorded; None if the row's columns are no placeholder, or nothing is recorded.

    Empty for a table whose columns are only in its files, such as one of Delta Lake.
    """
    # The partition columns of a table follow the placeholder, and are in the schema as well.
    if not columns or columns[0][:2] != PLACEHOLDER:
        return None
    try:
        fields = schema_fields(parameters)
    except ValueError:
        fields = None
    if fields is None:
        return () if PROVIDER in parameters else None
    return tuple(
        (field["name"].lower(), spark_name_of_json(field["type"]), field.get("metadata", {}).get("comment"))
        for field in fields
    )


def recorded_names(parameters: Mapping[str, str], columns: tuple[Column, ...]) -> tuple[str, ...]:
    """Return the names of columns in upper and lower case, which Spark takes from its schema if it has the columns."""
    names = tuple(name for name, _, _ in columns)
    try:
        recorded = tuple(str(field["name"]) for field in schema_fields(parameters) or ())
    except ValueError:
        return names
    return recorded if sorted(map(str.lower, recorded)) == sorted(map(str.lower, names)) else names


def schema_fields(parameters: Mapping[str, str]) -> list[dict[str, Any]] | None:
    """Return the fields of the schema in Spark's JSON form; None if it is not recorded; raises ValueError."""
    text = parameters.get(SCHEMA)
    if text is None:
        parts = read_list(parameters, f"{SCHEMA}.numParts", f"{SCHEMA}.part.")
        text = None if parts is None else "".join(parts)
    if text is None:
        return None
    try:
        fields = parse_json(text)["fields"]
        for field in fields:
            spark_name_of_json(field["type"]), field["name"], field.get("metadata", {}).items()
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{SCHEMA} is not a schema of Spark: {error!r}") from None
    return list(fields)


def read_list(parameters: Mapping[str, str], count_key: str, prefix: str) -> tuple[str, ...] | None:
    """Return the values of numbered parameters; None if there is no number of them; raises ValueError."""
    if count_key not in parameters:
        return None
    try:
        return tuple(parameters[f"{prefix}{number}"] for number in range(int(parameters[count_key])))
    except KeyError as error:
        raise ValueError(f"{error.args[0]} is missing") from None
