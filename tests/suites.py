"""Assignment of tests to the short suite (`make test`) or the extended suite (`make test-all`), and to processes.

A test is extended if its module is in `EXTENDED` or it is marked with `@pytest.mark.extended`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = Path(__file__).parent

EXTENDED = (
    "faults/test_cluster.py",
    "faults/test_database_commits.py",
    "faults/test_fault_matrix.py",
    "faults/test_lagging_servers.py",
    "faults/test_late.py",
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
    "integration/hive",
    "integration/legacy_import/test_other_target.py",
    "integration/legacy_import/test_kill.py",
    "integration/legacy_import/test_materialized.py",
    "integration/legacy_import/test_terminal.py",
    "integration/materialized/test_abandoned.py",
    "integration/materialized/test_histories.py",
    "integration/materialized/test_killed.py",
    "integration/materialized/test_nested_histories.py",
    "integration/materialized/test_shared.py",
    "integration/metastore/test_embedded.py",
    "integration/metastore/test_heartbeats.py",
    "integration/metastore/test_http.py",
    "integration/metastore/test_security.py",
    "integration/metastore/test_standalone.py",
    "integration/newest",
    "integration/schema_upgrade",
    "integration/spark/test_connect_client.py",
    "integration/spark/test_import_check.py",
    "integration/spark/test_import_command.py",
    "integration/spark/test_import_job.py",
    "integration/spark/test_key_histories.py",
    "integration/spark/test_killed_driver.py",
    "integration/spark/test_legacy_import.py",
    "integration/spark/test_freshness.py",
    "integration/spark/test_refresh_histories.py",
    "integration/spark/test_refresh_recovery.py",
    "integration/spark/test_session_kinds.py",
    "integration/spark/test_session_texts.py",
    "integration/spark/test_settings_matrix.py",
    "integration/spark/test_statement_forms.py",
    "integration/spark/test_time_travel.py",
    "integration/trino",
    "integration/view_copy",
    "soak",
    "unit/sql/test_growth.py",
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

SECOND_PROCESS = (
    "conformance",
    "faults",
    "soak",
    "integration/catalog",
    "integration/dependencies",
    "integration/metastore",
    "integration/newest",
)
"""Tests of the second process; all other tests run in the third process."""


def _is_in(path: str, paths: tuple[str, ...]) -> bool:
    return any(path == directory or path.startswith(f"{directory}/") for directory in paths)


def process_of(node_id: str) -> str:
    """The xdist scope of a test: tests of one scope run in one process and share its servers and sessions."""
    path = node_id.split("::")[0].removeprefix("tests/")
    if _is_in(path, SPARK):
        return "spark"
    return "second" if _is_in(path, SECOND_PROCESS) else "third"


def mark_extended(items: list[pytest.Item]) -> None:
    """Add the marker `extended` to the tests of the modules in `EXTENDED`."""
    for path in EXTENDED:
        if not (TESTS / path).exists():
            raise pytest.UsageError(f"tests/suites.py names {path}, which does not exist")
    for item in items:
        if item.path.is_relative_to(TESTS) and _is_in(item.path.relative_to(TESTS).as_posix(), EXTENDED):
            item.add_marker(pytest.mark.extended)


def missing_packages_summary(reasons: list[str]) -> str | None:
    """A line with the number of tests skipped for missing system packages; None if there are none."""
    missing = [reason for reason in reasons if any(word in reason for word in _MISSING)]
    if not missing:
        return None
    names = sorted({word for word in _MISSING for reason in missing if word in reason})
    return f"{len(missing)} tests skipped, system packages missing ({', '.join(names)}): run `make system-packages`"


_MISSING = ("chromium", "graphviz", "openssl", "Kerberos", "LDAP", "PostgreSQL", "MariaDB", "mariadb", "gssapi")
