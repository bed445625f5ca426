"""Iceberg's ViewCatalogTests: names, lists and texts. Each test is named after Java's; see docs/conformance.md."""

from __future__ import annotations

import pytest
from pyiceberg.exceptions import NamespaceNotEmptyError

from hive_views import HiveViewCatalog
from hive_views.catalog.views import HiveView
from hive_views.errors import (
    InvalidIdentifierError,
    NoSuchNamespaceError,
    NoSuchViewError,
    SqlError,
    TableAlreadyExistsError,
    ViewAlreadyExistsError,
)
from tests.integration.catalog.samples import QUERY, SCHEMA, version


def test_rename_view(catalog: HiveViewCatalog, database: str) -> None:
    check_rename(catalog, f"{database}.view", f"{database}.renamed_view")


def test_rename_view_using_different_namespace(catalog: HiveViewCatalog, database: str, other_database: str) -> None:
    check_rename(catalog, f"{database}.view", f"{other_database}.renamed_view")


def check_rename(catalog: HiveViewCatalog, old: str, new: str) -> None:
    original = catalog.create_view(old, SCHEMA, version("ns"))
    renamed = catalog.rename_view(old, new)
    assert not catalog.view_exists(old)
    assert catalog.view_exists(new)
    for view in (renamed, catalog.load_view(new)):
        assert ".".join(view.name()) == new
        assert view.metadata == original.metadata
        assert view.metadata_location == original.metadata_location
    with pytest.raises(NoSuchViewError):
        catalog.drop_view(old)
    catalog.drop_view(new)
    assert not catalog.view_exists(new)


def test_rename_view_namespace_missing(catalog: HiveViewCatalog, database: str) -> None:
    view = catalog.create_view(f"{database}.view", SCHEMA, version(database))
    with pytest.raises(NoSuchNamespaceError, match="Namespace does not exist: non_existing"):
        catalog.rename_view(f"{database}.view", "non_existing.renamed_view")
    assert catalog.load_view(f"{database}.view") == view


def test_rename_view_source_missing(catalog: HiveViewCatalog, database: str) -> None:
    with pytest.raises(NoSuchViewError, match=rf"View does not exist: {database}.non_existing"):
        catalog.rename_view(f"{database}.non_existing", f"{database}.renamed_view")


def test_rename_view_target_already_exists_as_view(catalog: HiveViewCatalog, database: str) -> None:
    one, two = f"{database}.view_one", f"{database}.view_two"
    views = [catalog.create_view(name, SCHEMA, version(database)) for name in (one, two)]
    with pytest.raises(ViewAlreadyExistsError, match=rf"Cannot rename {one} to {two}. View already exists"):
        catalog.rename_view(one, two)
    assert [catalog.load_view(name) for name in (one, two)] == views


def test_rename_view_target_already_exists_as_table(catalog: HiveViewCatalog, database: str) -> None:
    view, table = f"{database}.view", f"{database}.table"
    catalog.create_table(table, SCHEMA)
    catalog.create_view(view, SCHEMA, version(database))
    with pytest.raises(TableAlreadyExistsError, match=rf"Cannot rename {view} to {table}. Table already exists"):
        catalog.rename_view(view, table)
    assert catalog.view_exists(view)
    assert catalog.table_exists(table)


def test_rename_table_target_already_exists_as_view(catalog: HiveViewCatalog, database: str) -> None:
    view, table = f"{database}.view", f"{database}.table"
    catalog.create_table(table, SCHEMA)
    catalog.create_view(view, SCHEMA, version(database))
    with pytest.raises(ViewAlreadyExistsError, match=rf"Cannot rename {table} to {view}. View already exists"):
        catalog.rename_table(table, view)
    assert catalog.view_exists(view)
    assert catalog.table_exists(table)


def test_list_views(catalog: HiveViewCatalog, database: str, other_database: str) -> None:
    one, two, three = (database, "view1"), (other_database, "view2"), (other_database, "view3")

    def listed() -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
        return catalog.list_views(database), catalog.list_views((other_database,))

    assert listed() == ([], [])
    catalog.create_view(one, SCHEMA, version(database))
    assert listed() == ([one], [])
    catalog.create_view(three, SCHEMA, version(database))
    assert listed() == ([one], [three])
    catalog.create_view(two, SCHEMA, version(database))
    assert listed() == ([one], [two, three])
    catalog.drop_view(two)
    assert listed() == ([one], [three])
    catalog.drop_view(three)
    assert listed() == ([one], [])
    catalog.drop_view(one)
    assert listed() == ([], [])


@pytest.mark.parametrize("namespace", ["", (), ("",)])
def test_list_views_in_empty_namespace(catalog: HiveViewCatalog, namespace: str | tuple[str, ...]) -> None:
    # Java skips this one for Hive, whose views are always in a database.
    with pytest.raises(InvalidIdentifierError, match="exactly one level"):
        catalog.list_views(namespace)


def test_list_views_and_tables(catalog: HiveViewCatalog, database: str) -> None:
    table, view = (database, "table"), (database, "view")

    def listed() -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
        return catalog.list_tables(database), catalog.list_views(database)

    assert listed() == ([], [])
    catalog.create_table(table, SCHEMA)
    assert listed() == ([table], [])
    catalog.create_view(view, SCHEMA, version(database))
    assert listed() == ([table], [view])
    catalog.drop_table(table)
    assert listed() == ([], [view])
    catalog.drop_view(view)
    assert listed() == ([], [])


def test_drop_non_empty_namespace(catalog: HiveViewCatalog) -> None:
    namespace = "conformance_drop_non_empty"
    catalog.create_namespace(namespace)
    catalog.create_table(f"{namespace}.table", SCHEMA)
    catalog.create_view(f"{namespace}.view", SCHEMA, version(namespace))
    with pytest.raises(NamespaceNotEmptyError):
        catalog.drop_namespace(namespace)
    catalog.drop_table(f"{namespace}.table")
    with pytest.raises(NamespaceNotEmptyError):
        catalog.drop_namespace(namespace)
    catalog.drop_view(f"{namespace}.view")
    catalog.drop_namespace(namespace)
    assert not catalog.namespace_exists(namespace)


@pytest.fixture
def two_dialects(catalog: HiveViewCatalog, database: str) -> HiveView:
    """A view with a spark and a trino text."""
    both = version(database, ("spark", QUERY), ("trino", f"{QUERY} using X"), default_catalog=catalog.name)
    return catalog.create_view(f"{database}.view", SCHEMA, both)


def test_sql_for_multiple_dialects(two_dialects: HiveView) -> None:
    assert sql(two_dialects, "spark") == QUERY
    assert sql(two_dialects, "trino") == f"{QUERY} using X"
    # Java gives the first text for a dialect that there is none for; PyIceberg gives None, and so do we unless asked.
    assert sql(two_dialects, "unknown-dialect") is None
    assert sql(two_dialects, "unknown-dialect", fallback=True) == QUERY
    assert sql(two_dialects, "trino", fallback=True) == f"{QUERY} using X"


def test_sql_for_case_insensitive(two_dialects: HiveView) -> None:
    assert sql(two_dialects, "SPARK") == QUERY
    assert sql(two_dialects, "TRINO") == f"{QUERY} using X"


def sql(view: HiveView, dialect: str, *, fallback: bool = False) -> str | None:
    representation = view.sql_for(dialect, fallback=fallback)
    return None if representation is None else representation.sql


@pytest.mark.parametrize("dialect", [None, ""])
def test_sql_for_invalid_arguments(two_dialects: HiveView, dialect: str | None) -> None:
    with pytest.raises(SqlError, match="Invalid dialect"):
        two_dialects.sql_for(dialect)  # type: ignore[arg-type]
