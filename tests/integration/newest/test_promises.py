"""The catalog's promises on the newest Hive: the same tests as on the embedded metastore, a choice of them.

The combinations `metastore-*` of `make test-versions` run all of them on every release.
"""

# ruff: noqa: F401 -- tests and their fixtures are collected where they are imported

from tests.conformance.test_hive_view_catalog import (
    test_drop_view_should_drop_metadata_file_if_gc_enabled,
    test_hive_view_and_iceberg_view_with_same_name,
    test_list_view_with_hive_view,
)
from tests.conformance.test_hive_view_commits import (
    faulty,
    test_no_lock_thrift_exception_concurrent_commit,
    test_thrift_exception_concurrent_commit,
    test_thrift_exception_success_on_commit,
    test_view_query_is_updated_on_commit,
    view,
)
from tests.conformance.test_view_catalog_create import (
    test_basic_create_view,
    test_complete_create_view,
    test_create_table_that_already_exists_as_view,
    test_create_view_conflict,
    test_create_view_that_already_exists,
    test_create_view_that_already_exists_as_table,
    test_register_view,
)
from tests.conformance.test_view_catalog_rename import (
    test_list_views,
    test_list_views_and_tables,
    test_rename_view,
    test_rename_view_target_already_exists_as_table,
    test_rename_view_target_already_exists_as_view,
    test_rename_view_using_different_namespace,
)
from tests.conformance.test_view_catalog_replace import (
    test_create_or_replace_view,
    test_replace_view_conflict,
    test_replace_view_version,
    test_replace_view_version_conflict,
    test_update_view_location,
)
from tests.integration.catalog.test_foreign_rows import test_row_without_pointer_can_be_dropped
from tests.integration.catalog.test_other_clients import (
    has_get_table,
    test_hmsclient_alter_preserves_view,
    test_hmsclient_reads_and_lists_view,
    written,
)
