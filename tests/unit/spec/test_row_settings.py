"""The settings of a version as row parameters that plain Spark applies."""

from __future__ import annotations

import pytest

from hive_views.spec.session_settings import encode, is_row_setting, row_settings, settings_of_row

SETTINGS = {"spark.sql.ansi.enabled": "false", "spark.sql.session.timeZone": "Asia/Tokyo"}


def test_row_has_the_settings_that_can_change_rows() -> None:
    summary = {"engine-name": "Spark", **encode(SETTINGS)}
    assert row_settings(summary) == {f"view.sqlConfig.{key}": value for key, value in SETTINGS.items()}
    assert settings_of_row({"comment": "c", **row_settings(summary)}) == SETTINGS


@pytest.mark.parametrize(
    "key",
    [
        "spark.sql.parser.escapedStringLiterals",
        "spark.sql.ansi.doubleQuotedIdentifiers",
        "spark.sql.shuffle.partitions",
        "spark.sql.artifact.isolation.enabled",
    ],
)
def test_row_has_no_settings_that_change_the_reading_of_texts_or_no_rows(key: str) -> None:
    assert row_settings(encode({key: "true"})) == {}
    assert not is_row_setting(f"view.sqlConfig.{key}")


def test_parameter_of_spark_that_is_no_setting() -> None:
    assert not is_row_setting("view.catalogAndNamespace.numParts")
    assert is_row_setting("view.sqlConfig.spark.sql.ansi.enabled")
