"""The entry points of the catalog that read, over each object and every database of the estate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from pyiceberg.exceptions import NoSuchPropertyException, NoSuchTableError, NoSuchViewError

from hive_views import HiveViewCatalog
from hive_views.cli.output import json_value
from hive_views.errors import HiveViewsError
from tests.estate import rows
from tests.estate.answers import check, shortened
from tests.estate.conftest import Estate, databases, objects
from tests.estate.test_commands import representatives
from tests.metastore_calls import recorded_calls

Call = Callable[[HiveViewCatalog, str], Any]

OBJECT_CALLS: Mapping[str, Call] = {
    "load_table": lambda catalog, name: [str(field) for field in catalog.load_table(name).schema().fields],
    "table_exists": lambda catalog, name: catalog.table_exists(name),
    "load_view": lambda catalog, name: [str(field) for field in catalog.load_view(name).schema().fields],
    "view_exists": lambda catalog, name: catalog.view_exists(name),
    "columns": lambda catalog, name: catalog.columns(name),
    "materialized_load": lambda catalog, name: catalog.materialized.load(name).layout.value,
}
FEW = ("materialized_load",)
"""Calls over fewer objects, because they read many rows."""
DATABASE_CALLS: Mapping[str, Call] = {
    "list_tables": lambda catalog, name: catalog.list_tables(name),
    "list_views": lambda catalog, name: catalog.list_views(name),
    "load_namespace_properties": lambda catalog, name: catalog.load_namespace_properties(name),
    "namespace_exists": lambda catalog, name: catalog.namespace_exists(name),
    "list_namespaces": lambda catalog, name: catalog.list_namespaces(name),
}


@pytest.fixture(scope="module")
def shared(estate: Estate) -> Iterator[HiveViewCatalog]:
    before = estate.rows()
    with HiveViewCatalog("prod", **estate.properties) as catalog:
        yield catalog
    after = estate.rows()
    assert {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)} == set()


@pytest.fixture
def calls() -> Iterator[list[str]]:
    with recorded_calls() as calls:
        yield calls


FILE_ERRORS: Mapping[str, tuple[type[Exception], ...]] = {"load_table": (OSError, ValueError, NoSuchPropertyException)}
"""PyIceberg reads the metadata files of tables: its errors about a missing file or location, or an unknown type."""


def ask(method: str, catalog: HiveViewCatalog, name: str, calls: list[str]) -> dict[str, Any]:
    """What a call returns, or the error of this package's tree that it raises."""
    calls.clear()
    call = {**OBJECT_CALLS, **DATABASE_CALLS}[method]
    try:
        answer: dict[str, Any] = {"answer": shortened(rows.loads(rows.dumps(json_value(call(catalog, name)))))}
    except (HiveViewsError, NoSuchTableError, NoSuchViewError, *FILE_ERRORS.get(method, ())) as error:  # type: ignore[misc]
        answer = {"error": shortened(str(error)), "type": type(error).__name__}
    return {**rows.stable(answer), "requests": len(calls)}


@pytest.mark.parametrize("method", OBJECT_CALLS)
def test_method_over_each_object(shared: HiveViewCatalog, calls: list[str], method: str) -> None:
    names = representatives()[::5] if method in FEW else objects()
    check(f"api_{method}", {name: ask(method, shared, name, calls) for name in names})


@pytest.mark.parametrize("method", DATABASE_CALLS)
def test_method_over_each_database(shared: HiveViewCatalog, calls: list[str], method: str) -> None:
    check(f"api_{method}", {name: ask(method, shared, name, calls) for name in databases()})
