"""Dependents on the newest Hive, which returns the texts of plain Hive views without their other fields."""

# ruff: noqa: F401 -- tests and their fixtures are collected where they are imported

from tests.integration.dependencies.conftest import hive_table, hive_view, view
from tests.integration.dependencies.test_graph import (
    shop,
    test_dependents_are_found_with_filters_as_by_reading_all_rows,
)
