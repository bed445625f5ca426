"""Assignment of tests to the short suite (`make test`) or the extended suite (`make test-all`), and to processes.

A test is extended if its module is in `EXTENDED`, if it needs a browser or a second JVM of Spark, or if it has the
marker `@pytest.mark.extended`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parent

EXTENDED = (
    "estate",
    "faults/test_cluster.py",
    "faults/test_database_commits.py",
    "faults/test_fault_matrix.py",
    "faults/test_lagging_servers.py",
    "faults/test_late.py",
    "faults/test_late_steps.py",
    "faults/test_loss.py",
    "faults/test_model.py",
    "faults/test_outages.py",
    "faults/test_killed_clients.py",
    "faults/test_partial_completion.py",
    "faults/test_races.py",
    "faults/test_version_3.py",
    "integration/cli/test_metastore.py",
    "integration/docker",
    "integration/docs/test_guides.py",
    "integration/hdfs/test_addresses.py",
    "integration/hdfs/test_faults.py",
    "integration/hdfs/test_kerberos.py",
    "integration/hive",
    "integration/legacy_import/test_other_target.py",
    "integration/legacy_import/test_kill.py",
    "integration/legacy_import/test_rest_target.py",
    "integration/legacy_import/test_materialized.py",
    "integration/legacy_import/test_terminal.py",
    "integration/materialized/test_abandoned.py",
    "integration/materialized/test_histories.py",
    "integration/materialized/test_killed.py",
    "integration/materialized/test_nested_histories.py",
    "integration/materialized/test_shared.py",
    "integration/metastore/test_catalogs.py",
    "integration/metastore/test_delegation.py",
    "integration/metastore/test_discovery.py",
    "integration/metastore/test_embedded.py",
    "integration/metastore/test_heartbeats.py",
    "integration/metastore/test_http.py",
    "integration/metastore/test_names.py",
    "integration/metastore/test_secrets.py",
    "integration/metastore/test_security.py",
    "integration/metastore/test_spnego.py",
    "integration/metastore/test_standalone.py",
    "integration/newest",
    "integration/schema_upgrade",
    "integration/spark/test_connect_client.py",
    "integration/spark/test_engine_types.py",
    "integration/spark/test_execute.py",
    "integration/spark/test_grammar.py",
    "integration/spark/test_import_check.py",
    "integration/spark/test_import_compare.py",
    "integration/spark/test_import_command.py",
    "integration/spark/test_import_job.py",
    "integration/spark/test_key_histories.py",
    "integration/spark/test_killed_driver.py",
    "integration/spark/test_legacy_import.py",
    "integration/spark/test_freshness.py",
    "integration/spark/test_refresh_recovery.py",
    "integration/spark/test_plain_spark.py",
    "integration/spark/test_session_kinds.py",
    "integration/spark/test_session_texts.py",
    "integration/spark/test_settings_matrix.py",
    "integration/spark/test_statement_forms.py",
    "integration/spark/test_time_travel.py",
    "integration/transactional",
    "integration/trino",
    "integration/view_copy",
    "older_version",
    "soak",
    "unit/sql/test_plan_comparison.py",
    "unit/sql/test_portable_spark.py",
    "unit/sql/test_random_statements.py",
)
"""Modules and directories of the extended suite; each takes long, and shorter tests cover the same rules."""

SPARK = (
    "integration/spark",
    "unit/sql/test_plan_comparison.py",
    "unit/sql/test_portable_spark.py",
    "unit/sql/test_random_statements.py",
)
"""Tests on Spark, which run in one process with one session."""

EACH_SPARK = (
    # Sessions: statements, settings, reads of tables, time travel, errors, texts that versions read differently.
    "test_session.py::test_create_read_change_and_drop[iceberg]",
    "test_session.py::test_create_read_change_and_drop[connect]",
    "test_session.py::test_time_travel_and_metadata_tables[iceberg]",
    "test_session.py::test_settings_at_creation_apply_to_every_read[iceberg]",
    "test_session.py::test_errors_point_into_the_typed_text[iceberg]",
    "test_refresh.py::test_session_reads_stored_rows_only_if_fresh[table]",
    "test_session_texts.py::test_doubled_quotes_are_rejected_before_spark_4_1",
    "test_key_conditions.py::test_all_keys_are_selected[STRING-True]",
    "test_implicit_names.py::test_view_of_spark_has_the_recorded_names",
    "test_grammar.py::test_texts_that_the_installed_spark_reads_are_allowed",
    "test_grammar.py::test_recorded_versions_read_what_is_recorded",
    "test_letter_case.py::test_rows_and_types_are_those_of_the_author",
    # Refreshes: full, incremental, by partitions, by keys, with the rows of the files that differ.
    "test_refresh.py::test_full_then_incremental_then_full[registered]",
    "test_refresh.py::test_only_the_partitions_that_changed_are_written",
    "test_refresh_values.py::test_one_of_three_equal_rows_is_deleted[merge-on-read]",
    "test_file_comparison.py::test_refresh_by_keys_reads_files_that_differ",
    "test_file_comparison.py::test_only_files_that_differ_are_read[2-changes6-26]",
    "test_file_comparison.py::test_only_files_that_differ_are_read[3-changes6-26]",
    "test_file_comparison.py::test_equality_deletes_apply_to_older_files[2]",
    "test_java_methods.py::test_cache_of_tables_is_available_on_each_version",
    "test_java_methods.py::test_missing_methods_are_those_that_no_class_has",
    # Imports on Spark.
    "test_import_check.py::test_spark_import_checks_columns_by_default",
    "test_import_check.py::test_conversion_that_spark_rejects_is_restored",
)
"""Tests of integration/spark that run on each supported version of Spark at every landing (tests/versions)."""

FIRST = (*SPARK, "faults", "integration/schema_upgrade", "integration/legacy_import")
"""Tests that start first, since they take longest."""


def _is_in(path: str, paths: tuple[str, ...]) -> bool:
    return any(path == directory or path.startswith(f"{directory}/") for directory in paths)


def scope_of(node_id: str) -> str:
    """The xdist scope of a test: tests of one scope run in one process, which takes the next scope afterwards.

    Tests of a directory share servers, and all tests on Spark one session.
    """
    path = node_id.split("::")[0].removeprefix("tests/")
    return "spark" if _is_in(path, SPARK) else path.rpartition("/")[0]


def sort_longest_first(items: list[pytest.Item], turn: int = 0) -> None:
    """Move the tests of `FIRST` to the front, and begin with another module of each rank at each turn.

    A run whose time is limited skips the last tests, which are others at each landing.
    """
    paths = {item: item.nodeid.split("::")[0].removeprefix("tests/") for item in items}
    ranks = {
        path: next((at for at, first in enumerate(FIRST) if _is_in(path, (first,))), len(FIRST))
        for path in dict.fromkeys(paths.values())
    }
    order: dict[str, tuple[int, int]] = {}
    for rank in set(ranks.values()):
        modules = [path for path in ranks if ranks[path] == rank]
        order.update({path: (rank, (at - turn) % len(modules)) for at, path in enumerate(modules)})
    items.sort(key=lambda item: order[paths[item]])


def extended(*cases: object) -> list[Any]:
    """Cases of `pytest.mark.parametrize` that only the extended suite runs."""
    return [pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.extended) for case in cases]


def mark_extended(items: list[pytest.Item]) -> None:
    """Add the marker `extended` to the tests of the modules in `EXTENDED` and to those in a browser."""
    for path in EXTENDED:
        if not (TESTS / path).exists():
            raise pytest.UsageError(f"tests/suites.py names {path}, which does not exist")
    for item in items:
        is_listed = item.path.is_relative_to(TESTS) and _is_in(item.path.relative_to(TESTS).as_posix(), EXTENDED)
        if is_listed or "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.extended)


def mark_each_spark(items: list[pytest.Item]) -> None:
    """Add the marker `each_spark` to the tests of `EACH_SPARK`."""
    for name in EACH_SPARK:
        module, function = name.partition("[")[0].split("::")
        if f"def {function}(" not in (TESTS / "integration/spark" / module).read_text():
            raise pytest.UsageError(f"tests/suites.py names {name}, which does not exist")
    for item in items:
        if item.nodeid.removeprefix("tests/integration/spark/") in EACH_SPARK:
            item.add_marker(pytest.mark.each_spark)


def missing_packages_summary(reasons: list[str]) -> str | None:
    """A line with the number of tests skipped for missing system packages; None if there are none."""
    missing = [reason for reason in reasons if any(word in reason for word in _MISSING)]
    if not missing:
        return None
    names = sorted({word for word in _MISSING for reason in missing if word in reason})
    return f"{len(missing)} tests skipped, system packages missing ({', '.join(names)}): run `make system-packages`"


_MISSING = ("chromium", "graphviz", "openssl", "Kerberos", "LDAP", "PostgreSQL", "MariaDB", "mariadb", "gssapi")
