"""Column types of a query, from Spark's analyzer; the query is not run."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from pyiceberg.schema import Schema
from pyiceberg.types import (
    DecimalType,
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StringType,
    StructType,
)

from hive_views.errors import SqlError
from hive_views.sql.types.hive_types import parse_type
from hive_views.sql.types.names import ICEBERG_NAMES_OF_SPARK, spark_name_of_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession
    from pyspark.sql.types import DataType
    from pyspark.sql.types import StructType as SparkStructType

    from hive_views.metastore.queries import RowCache


def schema_of(spark: SparkSession, query: str) -> Schema:
    """Return the columns of a query, as Spark analyzes it.

    Args:
        spark: The session.
        query: The query, in Spark SQL.

    Returns:
        An Iceberg schema; all columns are optional.

    Raises:
        SqlError: If a column has a type that Iceberg does not have.
    """
    return iceberg_schema(spark.sql(query).schema)


@dataclass(frozen=True)
class SparkAnalyzer:
    """Analyzes the query of a definition, and knows the columns of the files that it reads as tables."""

    analyze: Callable[[str, RowCache | None], Schema]
    """Returns the columns of a query, and takes the rows of its sources that were read already."""
    schema_of_files: Callable[[str, str], SparkStructType]
    """Returns the columns of files by their format and path."""
    spark_version: str
    """The version of Spark that analyzes."""

    def __call__(self, query: str, /) -> Schema:
        """Return the columns of a query."""
        return self.analyze(query, None)

    def analyze_with(self, query: str, rows: RowCache) -> Schema:
        """Return the columns of a query; `rows` are those of its sources that were read for the same definition."""
        return self.analyze(query, rows)

    def file_columns(self, file_format: str, path: str) -> tuple[tuple[str, str], ...]:
        """Return name and type of the columns of files."""
        return typed_columns(self.schema_of_files(file_format, path))


def typed_columns(columns: SparkStructType) -> tuple[tuple[str, str], ...]:
    """Return name and type of Spark's columns."""
    return tuple((column.name, spark_name_of_json(column.dataType.jsonValue())) for column in columns)


def iceberg_schema(columns: SparkStructType) -> Schema:
    """Convert Spark's columns to an Iceberg schema."""
    ids = count(1)
    numbered = [(next(ids), column) for column in columns.fields]
    return Schema(
        *(
            NestedField(
                field_id=number,
                name=column.name,
                field_type=_convert(column.dataType, column.name, ids),
                required=False,
                doc=column.metadata.get("comment"),
            )
            for number, column in numbered
        )
    )


def _convert(kind: DataType, column: str, ids: Iterator[int]) -> IcebergType:
    name = kind.typeName()
    if name == "decimal":
        return DecimalType(kind.precision, kind.scale)
    if name == "array":
        element = next(ids)
        return ListType(element, _convert(kind.elementType, column, ids), element_required=False)
    if name == "map":
        key, value = next(ids), next(ids)
        return MapType(
            key,
            _convert(kind.keyType, column, ids),
            value,
            _convert(kind.valueType, column, ids),
            value_required=False,
        )
    if name == "struct":
        return StructType(
            *(
                NestedField(next(ids), field.name, _convert(field.dataType, column, ids), required=False)
                for field in kind.fields
            )
        )
    simple = kind.simpleString()
    if simple.startswith(("varchar(", "char(")):
        return StringType()
    if simple not in ICEBERG_NAMES_OF_SPARK:
        raise SqlError(
            f"column {column!r}: Iceberg has no type for Spark's {simple}; cast it in the query", name=column
        )
    return parse_type(ICEBERG_NAMES_OF_SPARK[simple])
