"""Versions of Spark: unsupported ones are rejected before anything else is done, newer ones cause a warning."""

from __future__ import annotations

from collections.abc import Callable
from configparser import ConfigParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hive_views import HiveViewCatalog
from hive_views.errors import INSTALL_SPARK, UntestedSparkWarning
from hive_views.spark import (
    NoIcebergRuntimeError,
    SparkEngine,
    SparkImport,
    UnsupportedSparkError,
    ViewSession,
    plain_session,
)
from hive_views.spark.copy_check import compare_copies
from hive_views.spark.legacy_import.verified_run import check_session_metastore
from hive_views.spark.runtime import iceberg_coordinates
from hive_views.spark.versions import (
    ICEBERG_VARIABLE,
    SPARK_LINES,
    check_spark_version,
    iceberg_release,
    is_tested,
    scala_version,
)

CATALOG = HiveViewCatalog("prod", uri="thrift://127.0.0.1:1")
SPARK: Any = SimpleNamespace(version="3.4.4")
"""A session of which only the version may be read."""
NO_PLAN: Any = None
"""A plan that must not be read."""


@pytest.mark.parametrize(
    "version", ["3.5.9", "3.5.1-amzn-0", "4.0.0", "4.1.4", "4.0.1-amzn-0", "4.1.0.dev1", "4.2.1", "4.3.0"]
)
@pytest.mark.filterwarnings("error")
def test_supported_version_is_accepted(version: str) -> None:
    check_spark_version(version)


@pytest.mark.parametrize("version", ["3.4.4", "2.4", "?", "", "5.0.0", "40.1", "4", "4.x", "-3.5"])
def test_unsupported_version_names_the_supported_ones(version: str) -> None:
    with pytest.raises(
        UnsupportedSparkError, match=r"is not supported; this release runs on Spark 3\.5, 4\.0, 4\.1, 4\.2, 4\.3"
    ) as raised:
        check_spark_version(version)
    assert raised.value.spark_version == version


def test_newer_minor_version_warns_once() -> None:
    with pytest.warns(UntestedSparkWarning, match=r"Spark 4\.97 is newer than the tested versions 3\.5, ") as issued:
        check_spark_version("4.97.0")
        check_spark_version("4.97.1", is_classic=False)
    assert len(issued) == 1
    assert not is_tested("4.97.0")


def test_iceberg_runtime_of_each_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ICEBERG_VARIABLE, raising=False)
    for line, properties in SPARK_LINES.items():
        if properties.iceberg:
            assert iceberg_release(f"{line}.1") == properties.iceberg[0]
        else:
            with pytest.raises(
                NoIcebergRuntimeError, match=rf"with Spark {line}\.1, .* Install Spark 3\.5, 4\.0, 4\.1 "
            ):
                iceberg_release(f"{line}.1")


@pytest.mark.parametrize("version", ["3.5.9", "4.1.4", "4.3.0"])
def test_variable_names_the_release_of_iceberg(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ICEBERG_VARIABLE, "1.13.0")
    assert iceberg_release(version) == "1.13.0"
    assert scala_version(version) == ("2.12" if version.startswith("3.") else "2.13")


def test_command_that_installs_spark_is_that_of_the_extra() -> None:
    setup = ConfigParser()
    setup.read(Path(__file__).parents[3] / "setup.cfg")
    assert setup["options.extras_require"]["spark"].split()[0] == INSTALL_SPARK.split("'")[1]


USES: tuple[Callable[[Any, Any], object], ...] = (
    *(ViewSession, SparkEngine, SparkImport),
    lambda session, _: compare_copies(session, "one", "two", ["d.v"]),
    lambda session, catalog: check_session_metastore(session, catalog, NO_PLAN),
)


@pytest.mark.parametrize("use", USES)
def test_connect_of_spark_3_is_rejected(use: Any) -> None:
    session: Any = SimpleNamespace(version="3.5.9")
    with pytest.raises(UnsupportedSparkError, match=r"Spark Connect of Spark 3\.5\.9 is not supported: use a classic"):
        use(session, CATALOG)


@pytest.mark.parametrize("create", USES)
def test_session_of_unsupported_version_is_rejected(create: Any) -> None:
    with pytest.raises(UnsupportedSparkError):
        create(SPARK, CATALOG)


def test_unsupported_installation_starts_no_session(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The metadata of an installed PySpark decides."""
    metadata = tmp_path / "pyspark-3.4.4.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: pyspark\nVersion: 3.4.4\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UnsupportedSparkError):
        plain_session("thrift://127.0.0.1:1", "")
    with pytest.raises(UnsupportedSparkError):
        iceberg_coordinates()
