"""Operations of several steps: the metastore dies between two of them.

An error whose exit code states that nothing was changed must be true. Otherwise it names what was done, the operation
can be repeated or completed, and the objects that it left can be removed.
"""

from __future__ import annotations

import pytest

from hive_views import HiveViewCatalog
from hive_views.cli.exit_codes import ExitCode, exit_code
from hive_views.errors import HiveViewsError
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.spec.storage_link import STORAGE_OF
from tests.faults.conftest import Behind
from tests.faults.multi_step import MULTI_STEP_OPERATIONS
from tests.faults.observer import Observer
from tests.faults.operations import CHANGES, Operation, World
from tests.faults.reporting import ALL_CASES
from tests.proxy import ANY, DropRequest, ThriftProxy

STATES_NO_CHANGE = {ExitCode.USAGE, ExitCode.NOT_FOUND, ExitCode.CONFLICT, ExitCode.UNREACHABLE, ExitCode.DENIED}
IMPATIENT = {"hive-views.settle-timeout-ms": "0", "iceberg.hive.lock-timeout-ms": "500"}


@pytest.mark.parametrize("operation", MULTI_STEP_OPERATIONS, ids=str)
def test_error_between_two_steps(
    operation: Operation,
    catalog: HiveViewCatalog,
    database: str,
    proxy: ThriftProxy,
    behind: Behind,
    observer: Observer,
    metastore: EmbeddedMetastore,
    subtests: pytest.Subtests,
) -> None:
    location = f"{metastore.warehouse}/{database}.db"
    world = World(database, location, observer, catalog, metastore.port)

    def run(client: HiveViewCatalog) -> None:
        operation.run(client, world, lambda: None)

    def content() -> dict[str, object]:
        return {name: observer.row(name) for name in observer.names()}

    def clean_up() -> None:
        proxy.clear()
        for lock in observer.locks():
            catalog.store.client.unlock(lock.lockid)
        catalog.materialized.remove_abandoned(database, older_than_ms=0)
        for name in observer.names():
            catalog.store.client.drop_table(database, name)

    operation.prepare(world)
    proxy.clear()
    run(behind())
    methods = proxy.methods
    clean_up()
    changes = [index for index, method in enumerate(methods) if method in CHANGES]
    # Between two changes of rows the metastore's state is the same. By default, the metastore dies before and after
    # every second change.
    boundaries = {index + after for index in changes[::2] for after in (0, 1)} & set(range(len(methods)))
    for index in range(changes[0], len(methods)) if ALL_CASES else sorted(boundaries):
        operation.prepare(world)
        before = content()
        proxy.clear()
        proxy.on(ANY, DropRequest(), nth=index + 1, onwards=True)
        with subtests.test(f"{index} {methods[index]}"):
            try:
                run(behind(**IMPATIENT))
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
