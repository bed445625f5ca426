"""The operations of the fault matrix: everything that a catalog does to views, tables and materialized views."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass

from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from hive_views import HiveViewCatalog
from hive_views.materialized.refresh.request import StagingRequest
from hive_views.metastore._thrift.hive_metastore.ttypes import EnvironmentContext
from hive_views.spec.changes import create
from tests.faults import view_changes
from tests.faults.database_content import DatabaseContent, Labels, read_content
from tests.faults.observer import Observer
from tests.faults.view_changes import ALTER_TABLE, CREATE_TABLE, DROP_TABLE, FIRST, NEW, THIRD, VIEW, ViewChange
from tests.integration.catalog.samples import SCHEMA, version
from tests.integration.materialized.conftest import SALES, rows
from tests.integration.materialized.duck_engine import DuckEngine
from tests.integration.metastore.rpc import connect

CHANGES = {CREATE_TABLE, ALTER_TABLE, DROP_TABLE}
"""The requests that change rows."""
OTHER_CHANGES = {"create_database", "alter_database", "drop_database", "add_partition", "drop_partition"}
"""The requests that change databases and partitions."""

NUMBERS = Schema(NestedField(1, "n", LongType()))
TABLE, OTHER_TABLE, MATERIALIZED = "t", "u", "mv"


@dataclass(frozen=True)
class World:
    """The database of one case, with two connections that no fault affects."""

    database: str
    location: str
    """The location of the database, as a URI."""
    observer: Observer
    direct: HiveViewCatalog
    port: int
    """The port of the metastore, for raw clients."""


Begin = Callable[[], None]
"""Called at the point of an operation from which on faults apply."""


@dataclass(frozen=True)
class Operation:
    """One operation of a user."""

    name: str
    prepare: Callable[[World], None]
    """Creates the objects that the operation needs, in an empty database."""
    run: Callable[[HiveViewCatalog, World, Begin], object]
    """Executes the operation."""
    continue_with: Callable[[HiveViewCatalog, World], object]
    """A subsequent operation after a success."""
    read: Callable[[World, Labels], DatabaseContent]
    """Returns what other clients see."""
    counts_files: bool = True
    """Whether every new metadata file must be referenced."""

    def __str__(self) -> str:
        return self.name


def _read_database(world: World, labels: Labels) -> DatabaseContent:
    return read_content(world.observer, world.location, labels)


def _prepare_view(world: World) -> None:
    view_changes.prepare(world.direct, world.database)


def _color(name: str) -> Callable[[HiveViewCatalog, World], object]:
    return lambda catalog, world: (
        catalog.load_view((world.database, name)).update().set_properties(shape="round").commit()
    )


# -- Views ------------------------------------------------------------------------------------------------------------


def _of(change: ViewChange) -> Operation:
    def continue_with(catalog: HiveViewCatalog, world: World) -> object:
        if change is view_changes.DROP:
            return catalog.create_view((world.database, VIEW), SCHEMA, version(world.database))
        return _color(NEW if change in (view_changes.CREATE, view_changes.RENAME) else VIEW)(catalog, world)

    def run(catalog: HiveViewCatalog, world: World, begin: Begin) -> object:
        begin()
        return change.run(catalog, world.database)

    return Operation(change.name, _prepare_view, run, continue_with, _read_database)


def _create_or_replace(name: str) -> Operation:
    def run(catalog: HiveViewCatalog, world: World, begin: Begin) -> object:
        begin()
        texts = version(world.database, ("spark", THIRD))
        return catalog.create_or_replace_view((world.database, name), SCHEMA, texts)

    which = "replaces" if name == VIEW else "creates"
    return Operation(f"create or replace, which {which}", _prepare_view, run, _color(name), _read_database)


def _registered(world: World) -> str:
    return f"{world.location}/{NEW}/metadata/00000-registered.metadata.json"


def _prepare_file(world: World) -> None:
    _prepare_view(world)
    metadata = create(
        identifier=f"{world.database}.{NEW}",
        uuid=str(uuid.uuid4()),
        location=f"{world.location}/{NEW}",
        schema=SCHEMA,
        version=version(world.database, ("spark", FIRST)),
        properties={"color": "red"},
        now_ms=1_000_000,
    )
    world.direct.store.files.write(_registered(world), metadata)


def _register(catalog: HiveViewCatalog, world: World, begin: Begin) -> object:
    begin()
    return catalog.register_view((world.database, NEW), _registered(world))


def _prepare_drift(world: World) -> None:
    """Change the row like Hive's ALTER VIEW AS: other texts, the same metadata location."""
    _prepare_view(world)
    with connect(world.port) as client:
        row = client.get_table(world.database, VIEW)
        row.viewOriginalText = "select 7 as id, 'seven' as data"
        row.viewExpandedText = "select 7 as `id`, 'seven' as `data`"
        client.alter_table_with_environment_context(world.database, VIEW, row, EnvironmentContext({}))


def _adopt(catalog: HiveViewCatalog, world: World, begin: Begin) -> object:
    begin()
    return catalog.adopt_view((world.database, VIEW), analyzer=lambda *_: SCHEMA)


def _repair(catalog: HiveViewCatalog, world: World, begin: Begin) -> object:
    begin()
    return catalog.repair_view((world.database, VIEW))


# -- Tables -----------------------------------------------------------------------------------------------------------


def _make_table(catalog: HiveViewCatalog, world: World, name: str = TABLE) -> object:
    return catalog.create_table((world.database, name), NUMBERS, properties={"color": "red"})


def _create_table(catalog: HiveViewCatalog, world: World, begin: Begin) -> object:
    begin()
    return _make_table(catalog, world)


def _commit_table(catalog: HiveViewCatalog, world: World, begin: Begin) -> object:
    table = catalog.load_table((world.database, TABLE))
    begin()
    with table.transaction() as transaction:
        transaction.set_properties(color="blue")
    return table


def _rename_table(catalog: HiveViewCatalog, world: World, begin: Begin) -> object:
    begin()
    return catalog.rename_table((world.database, TABLE), (world.database, OTHER_TABLE))


def _drop_table(catalog: HiveViewCatalog, world: World, begin: Begin) -> object:
    begin()
    return catalog.drop_table((world.database, TABLE))


def _shape_table(name: str) -> Callable[[HiveViewCatalog, World], object]:
    def run(catalog: HiveViewCatalog, world: World) -> object:
        with catalog.load_table((world.database, name)).transaction() as transaction:
            transaction.set_properties(shape="round")
        return None

    return run


def _prepare_table(world: World) -> None:
    _make_table(world.direct, world)


# -- Materialized views -----------------------------------------------------------------------------------------------


class _MarkingEngine(DuckEngine):
    """An engine that reports when the rows are staged, before they are published."""

    def __init__(self, catalog: HiveViewCatalog, begin: Begin) -> None:
        super().__init__(catalog)
        self._begin = begin

    def stage(self, work: StagingRequest) -> int:
        staged = super().stage(work)
        self._begin()
        return staged


def _refresh(layout: str, *, stages: bool = False) -> Operation:
    """The publication of a refresh; with `stages` all of it."""

    def prepare(world: World) -> None:
        sales = world.direct.create_table((world.database, "sales"), SALES)
        world.direct.materialized.create(
            (world.database, MATERIALIZED), "SELECT id, amount FROM sales WHERE amount > 7", layout=layout
        )
        sales.append(rows((1, "a", 10), (2, "b", 20), (3, "a", 5)))

    def run(catalog: HiveViewCatalog, world: World, begin: Begin) -> object:
        if stages:
            begin()
        engine = _MarkingEngine(catalog, (lambda: None) if stages else begin)
        return catalog.materialized.load((world.database, MATERIALIZED)).refresh(engine)

    def continue_with(catalog: HiveViewCatalog, world: World) -> object:
        catalog.load_table((world.database, "sales")).append(rows((4, "c", 40)))
        return catalog.materialized.load((world.database, MATERIALIZED)).refresh(DuckEngine(catalog))

    def read(world: World, labels: Labels) -> DatabaseContent:
        """Return what readers get; unpublished data files do not count."""
        view = world.direct.materialized.load((world.database, MATERIALIZED))
        assert view.storage is not None
        seen = world.direct.materialized.load((world.database, MATERIALIZED)).reading()
        found = sorted(map(str, view.storage.scan().to_arrow().to_pylist()))
        texts = [item.sql for item in view.version.sql_representations]
        shown = str((found, texts, seen.from_storage, view.metadata.view_uuid))
        return {MATERIALIZED: labels.applied_to(shown.replace(world.database, "DATABASE"))}

    name = f"{'whole ' if stages else ''}refresh, {layout}"
    return Operation(name, prepare, run, continue_with, read, counts_files=False)


OPERATIONS = (
    *map(_of, (*view_changes.VIEW_CHANGES,)),
    _create_or_replace(VIEW),
    _create_or_replace(NEW),
    Operation("register", _prepare_file, _register, _color(NEW), _read_database),
    Operation("adopt", _prepare_drift, _adopt, _color(VIEW), _read_database),
    Operation("repair", _prepare_drift, _repair, _color(VIEW), _read_database),
    Operation(
        "create table", lambda world: None, _create_table, _shape_table(TABLE), _read_database, counts_files=False
    ),
    Operation("change table", _prepare_table, _commit_table, _shape_table(TABLE), _read_database, counts_files=False),
    Operation(
        "rename table", _prepare_table, _rename_table, _shape_table(OTHER_TABLE), _read_database, counts_files=False
    ),
    Operation("drop table", _prepare_table, _drop_table, _make_table, _read_database, counts_files=False),
    _refresh("registered"),
    _refresh("attached"),
    _refresh("table"),
    _refresh("registered", stages=True),
    _refresh("attached", stages=True),
)

SAMPLE = tuple(
    operation for operation in OPERATIONS if operation.name in ("replace", "drop", "change table", "refresh, attached")
)
"""One operation of each kind, for slow faults."""


# -- Databases and partitions -----------------------------------------------------------------------------------------


def _other(world: World) -> str:
    return f"{world.database}_other"


def _read_other_database(world: World, labels: Labels) -> DatabaseContent:
    if (_other(world),) not in world.direct.list_namespaces():
        return {}
    return {"other": str(world.direct.load_namespace_properties(_other(world)).get("color"))}


def _create_other_database(catalog: HiveViewCatalog, world: World, begin: Begin) -> object:
    begin()
    catalog.create_namespace(_other(world), {"color": "red"})
    return None


def _update_other_database(catalog: HiveViewCatalog, world: World, begin: Begin) -> object:
    begin()
    return catalog.update_namespace_properties(_other(world), updates={"color": "blue"})


def _drop_other_database(catalog: HiveViewCatalog, world: World, begin: Begin) -> object:
    begin()
    catalog.drop_namespace(_other(world))
    return None


def _color_other_database(catalog: HiveViewCatalog, world: World) -> object:
    return catalog.update_namespace_properties(_other(world), updates={"color": "green"})


def _make_other_database(world: World) -> None:
    world.direct.create_namespace(_other(world), {"color": "red"})


NAMESPACE_OPERATIONS = (
    Operation(
        "create database", lambda world: None, _create_other_database, _color_other_database, _read_other_database
    ),
    Operation(
        "change database", _make_other_database, _update_other_database, _color_other_database, _read_other_database
    ),
    Operation(
        "drop database",
        _make_other_database,
        _drop_other_database,
        lambda catalog, world: catalog.create_namespace(_other(world), {"color": "red"}),
        _read_other_database,
    ),
)


def _prepare_partitioned_view(world: World) -> None:
    world.direct.create_table((world.database, TABLE), NUMBERS)
    world.direct.execute(
        f"CREATE VIEW {world.database}.{VIEW} PARTITIONED ON (n) AS SELECT 1 AS x, n FROM {world.database}.{TABLE}"
    )


def _prepare_partition(world: World) -> None:
    _prepare_partitioned_view(world)
    _change_partition("ADD", 1)(world.direct, world, lambda: None)


def _change_partition(action: str, value: int) -> Callable[[HiveViewCatalog, World, Begin], object]:
    def run(catalog: HiveViewCatalog, world: World, begin: Begin) -> object:
        begin()
        return catalog.execute(f"ALTER VIEW {world.database}.{VIEW} {action} PARTITION (n = {value})")

    return run


def _read_partitions(world: World, labels: Labels) -> DatabaseContent:
    with connect(world.port) as client:
        return {"partitions": str(sorted(client.get_partition_names(world.database, VIEW, -1)))}


PARTITION_OPERATIONS = tuple(
    Operation(
        f"{action.lower()} partition",
        prepare,
        _change_partition(action, 1),
        lambda catalog, world: _change_partition("ADD", 2)(catalog, world, lambda: None),
        _read_partitions,
    )
    for action, prepare in (("ADD", _prepare_partitioned_view), ("DROP", _prepare_partition))
)
