"""The versions of Spark and of Iceberg's Spark runtime that the tests run on."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType
from typing import TYPE_CHECKING

from hive_views.errors import INSTALL_SPARK, HiveViewsError, UntestedSparkWarning
from hive_views.spark.jvm import is_classic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ICEBERG_VARIABLE = "HIVE_VIEWS_ICEBERG_VERSION"
"""The environment variable with the release of Iceberg's runtime that sessions of this package use."""


@dataclass(frozen=True, kw_only=True)
class SparkLine:
    """A minor version of Spark on which the tests run."""

    scala: str
    """The Scala version of PySpark's jars."""
    iceberg: tuple[str, ...] = ()
    """The tested releases of Iceberg's runtime for this version, the default first; empty if Maven Central has none."""
    has_connect: bool = True
    """Whether a `ViewSession` runs on its Spark Connect."""
    rewrites_queries: bool = False
    """Whether queries on tables can read stored rows. Plans of Spark 4.0 and 3.5 lack the snapshots of the tables."""


SPARK_LINES: Mapping[str, SparkLine] = MappingProxyType(
    {
        "3.5": SparkLine(scala="2.12", iceberg=("1.12.0", "1.11.0"), has_connect=False),
        "4.0": SparkLine(scala="2.13", iceberg=("1.11.0",)),
        "4.1": SparkLine(scala="2.13", iceberg=("1.12.0", "1.11.0"), rewrites_queries=True),
        "4.2": SparkLine(scala="2.13"),
        "4.3": SparkLine(scala="2.13"),
    }
)
"""The tested minor versions of Spark, oldest first (Maven Central and PyPI, 2026-11-28)."""

_NEWEST_SCALA = "2.13"
_OLDEST = (3, 5)
_NEXT_MAJOR = 5
"""The first major version that is rejected: the step from 3 to 4 changed what a text means."""


class UnsupportedSparkError(HiveViewsError):
    """This release does not run on the installed Spark, `spark_version`."""

    def __init__(self, spark_version: str, *, is_classic: bool = True) -> None:
        super().__init__(
            f"Spark {spark_version} is not supported; this release runs on Spark {', '.join(SPARK_LINES)}. Install "
            f"one of them ({INSTALL_SPARK}), or use the catalog and the command line without Spark"
            if is_classic
            else f"Spark Connect of Spark {spark_version} is not supported: use a classic session, or Spark 4"
        )
        self.spark_version = spark_version


class MissingSparkError(HiveViewsError):
    """PySpark is not installed."""

    def __init__(self) -> None:
        super().__init__(f"PySpark is missing, which starts sessions: {INSTALL_SPARK}")


class NoIcebergRuntimeError(HiveViewsError):
    """There is no Iceberg runtime for the installed Spark, `spark_version`, among those that this release knows."""

    def __init__(self, spark_version: str) -> None:
        lines = ", ".join(line for line, properties in SPARK_LINES.items() if properties.iceberg)
        super().__init__(
            f"No Iceberg runtime is tested with Spark {spark_version}, which Iceberg's tables and refreshes of "
            f"materialized views need. Install Spark {lines} ({INSTALL_SPARK}); name a release for this Spark in "
            f"{ICEBERG_VARIABLE}, if there is one; or read views over Hive tables in a `plain_session`"
        )
        self.spark_version = spark_version


def installed_spark() -> str:
    """Return the version of the installed PySpark.

    Raises:
        MissingSparkError: If it is not installed.
    """
    try:
        return version("pyspark")
    except PackageNotFoundError:
        raise MissingSparkError from None


def check_spark_version(spark_version: str, *, is_classic: bool = True) -> None:
    """Reject a Spark, classic or Connect, on which this release does not run; warn once of one that is newer.

    Raises:
        UnsupportedSparkError: If the version is older than the oldest tested one, or of the next major version.
    """
    line = spark_line(spark_version)
    number = _number(line)
    if number is None or number < _OLDEST or number[0] >= _NEXT_MAJOR:
        raise UnsupportedSparkError(spark_version)
    properties = SPARK_LINES.get(line)
    if properties is None:
        _warn_untested(line)
    elif not is_classic and not properties.has_connect:
        raise UnsupportedSparkError(spark_version, is_classic=False)


def check_session_version(session: SparkSession) -> None:
    """Reject a session, classic or Connect, of a Spark on which this release does not run.

    Raises:
        UnsupportedSparkError: If `check_spark_version` rejects its version.
    """
    check_spark_version(session.version, is_classic=is_classic(session))


def spark_line(spark_version: str) -> str:
    """Return major and minor version; vendors append a suffix to the patch version (`4.0.1-amzn-0`)."""
    return ".".join(spark_version.split(".")[:2])


def is_tested(spark_version: str) -> bool:
    """Return whether the tests run on this minor version."""
    return spark_line(spark_version) in SPARK_LINES


def iceberg_release(spark_version: str) -> str:
    """Return the release of Iceberg's runtime for a Spark; the environment variable overrides the default.

    Raises:
        UnsupportedSparkError: If the version of Spark is not supported.
        NoIcebergRuntimeError: If no runtime is tested with it, and the variable does not name one.
    """
    check_spark_version(spark_version)
    chosen = os.environ.get(ICEBERG_VARIABLE)
    if chosen:
        return chosen
    properties = SPARK_LINES.get(spark_line(spark_version))
    if properties is None or not properties.iceberg:
        raise NoIcebergRuntimeError(spark_version)
    return properties.iceberg[0]


def scala_version(spark_version: str) -> str:
    """Return the Scala version of a Spark's jars."""
    properties = SPARK_LINES.get(spark_line(spark_version))
    return _NEWEST_SCALA if properties is None else properties.scala


def _number(line: str) -> tuple[int, int] | None:
    match = re.fullmatch(r"(\d{1,4})\.(\d{1,4})", line)
    return None if match is None else (int(match[1]), int(match[2]))


@cache
def _warn_untested(line: str) -> None:
    warnings.warn(UntestedSparkWarning(line, tuple(SPARK_LINES)), stacklevel=4)
