"""Operations of several steps: the metastore dies between two of them.

An error whose exit code states that nothing was changed must be true. Otherwise it names what was done, the operation
can be repeated or completed, and the objects that it left can be removed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from hive_views import HiveViewCatalog
from hive_views.cli.exit_codes import ExitCode, exit_code
from hive_views.errors import HiveViewsError
from hive_views.spec.storage_link import STORAGE_OF
from tests.faults.conftest import Behind
from tests.faults.observer import Observer
from tests.faults.operations import CHANGES
from tests.faults.reporting import ALL_CASES
from tests.integration.catalog.samples import SCHEMA, version
from tests.integration.materialized.conftest import SALES
from tests.proxy import ANY, DropRequest, ThriftProxy

QUERY = "SELECT id, amount FROM sales"
STATES_NO_CHANGE = {ExitCode.USAGE, ExitCode.NOT_FOUND, ExitCode.CONFLICT, ExitCode.UNREACHABLE}
IMPATIENT = {"hive-views.settle-timeout-ms": "0", "iceberg.hive.lock-timeout-ms": "500"}

Step = Callable[[HiveViewCatalog, str], object]


@dataclass(frozen=True)
class Operation:
    """An operation of several steps."""

    name: str
    prepare: Step
    run: Step

    def __str__(self) -> str:
        return self.name


def _sales(catalog: HiveViewCatalog, database: str) -> None:
    catalog.create_table((database, "sales"), SALES)


def _materialized(layout: str) -> Step:
    def create(catalog: HiveViewCatalog, database: str) -> None:
        _sales(catalog, database)
        _create(layout)(catalog, database)

    return create


def _create(layout: str) -> Step:
    return lambda catalog, database: catalog.materialized.create((database, "mv"), QUERY, layout=layout)


def _drop(catalog: HiveViewCatalog, database: str) -> object:
    return catalog.materialized.drop((database, "mv"))


def _chain(catalog: HiveViewCatalog, database: str) -> None:
    for name, source in (("a", "1 AS x"), ("b", "x FROM a"), ("c", "x FROM b")):
        catalog.execute(f"CREATE VIEW {database}.{name} AS SELECT {source.replace('FROM ', f'FROM {database}.')}")


def _plain(catalog: HiveViewCatalog, database: str) -> None:
    _sales(catalog, database)
    catalog.execute(f"CREATE VIEW {database}.mv AS SELECT id, amount FROM {database}.sales")


OPERATIONS = (
    *(Operation(f"mv create, {layout}", _sales, _create(layout)) for layout in ("registered", "attached", "table")),
    *(Operation(f"mv drop, {layout}", _materialized(layout), _drop) for layout in ("registered", "attached", "table")),
    *(
        Operation(
            f"mv replace, {layout}",
            _materialized(layout),
            lambda catalog, database: catalog.materialized.replace((database, "mv"), "SELECT id FROM sales"),
        )
        for layout in ("registered", "attached")
    ),
    *(
        Operation(
            f"mv plain, {layout}",
            _materialized(layout),
            lambda catalog, database: catalog.materialized.to_plain_view((database, "mv")),
        )
        for layout in ("registered", "attached")
    ),
    Operation("mv back", _plain, lambda catalog, database: catalog.materialized.from_plain_view((database, "mv"))),
    Operation("cascade", _chain, lambda catalog, database: catalog.drop_view((database, "a"), cascade=True)),
    Operation(
        "purging cascade",
        _chain,
        lambda catalog, database: catalog.drop_view((database, "a"), cascade=True, purge_files=True),
    ),
    Operation(
        "purge",
        lambda catalog, database: catalog.create_view((database, "v"), SCHEMA, version(database)),
        lambda catalog, database: catalog.drop_view((database, "v"), purge_files=True),
    ),
    Operation("purge of a table", _sales, lambda catalog, database: catalog.purge_table((database, "sales"))),
)


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_error_between_two_steps(
    operation: Operation,
    catalog: HiveViewCatalog,
    database: str,
    proxy: ThriftProxy,
    behind: Behind,
    observer: Observer,
    subtests: pytest.Subtests,
) -> None:
    def content() -> dict[str, object]:
        return {name: observer.row(name) for name in observer.names()}

    def clean_up() -> None:
        proxy.clear()
        for lock in observer.locks():
            catalog.store.client.unlock(lock.lockid)
        catalog.materialized.remove_abandoned(database, older_than_ms=0)
        for name in observer.names():
            catalog.store.client.drop_table(database, name)

    operation.prepare(catalog, database)
    proxy.clear()
    operation.run(behind(), database)
    methods = proxy.methods
    clean_up()
    changes = [index for index, method in enumerate(methods) if method in CHANGES]
    # Between two changes of rows the metastore's state is the same; by default it dies before and after each of them.
    boundaries = {index + after for index in changes for after in (0, 1)} & set(range(len(methods)))
    for index in range(changes[0], len(methods)) if ALL_CASES else sorted(boundaries):
        operation.prepare(catalog, database)
        before = content()
        proxy.clear()
        proxy.on(ANY, DropRequest(), nth=index + 1, onwards=True)
        with subtests.test(f"{index} {methods[index]}"):
            try:
                operation.run(behind(**IMPATIENT), database)
            except HiveViewsError as error:
                if exit_code(error) in STATES_NO_CHANGE:
                    assert content() == before, f"{type(error).__name__}: {error}"
                elif exit_code(error) is ExitCode.FAILED:
                    assert error.completed_steps, f"{type(error).__name__}: {error}"
            proxy.clear()
            catalog.materialized.remove_abandoned(database, older_than_ms=0)
            leftovers = observer.names() - before.keys() - {"mv"}
            assert not [name for name in leftovers if not _belongs_to_view(catalog, database, name)]
        clean_up()


def _belongs_to_view(catalog: HiveViewCatalog, database: str, name: str) -> bool:
    """Whether a storage table is marked as that of the view, also if a failed `mv back` left the view plain."""
    if not catalog.view_exists((database, "mv")):
        return False
    owner = catalog.load_table((database, name)).properties.get(STORAGE_OF)
    return owner == catalog.load_view((database, "mv")).metadata.view_uuid
