"""All that a catalog does to a view, a table or a materialized view, each as one value for the fault matrix."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass

from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from hive_views import HiveViewCatalog
from hive_views.materialized.refresh.stage import Work
from hive_views.metastore._thrift.hive_metastore.ttypes import EnvironmentContext
from hive_views.spec.changes import create
from tests.faults import operations
from tests.faults.observer import Observer
from tests.faults.operations import ALTER_TABLE, CREATE_TABLE, DROP_TABLE, FIRST, NEW, THIRD, VIEW, Operation
from tests.faults.picture import Labels, Picture, picture
from tests.integration.catalog.samples import SCHEMA, version
from tests.integration.materialized.conftest import SALES, rows
from tests.integration.materialized.duck_engine import DuckEngine
from tests.integration.metastore.rpc import connect

CHANGES = {CREATE_TABLE, ALTER_TABLE, DROP_TABLE}
"""The requests that change rows."""

NUMBERS = Schema(NestedField(1, "n", LongType()))
TABLE, OTHER_TABLE, MATERIALIZED = "t", "u", "mv"


@dataclass(frozen=True)
class World:
    """A database of a case's own, and two ways to it that no fault is on."""

    database: str
    location: str
    """The database's, as a URI."""
    observer: Observer
    direct: HiveViewCatalog
    port: int
    """The metastore's own, for bare clients."""


Begin = Callable[[], None]
"""Called where a deed comes to the part that faults are for."""


@dataclass(frozen=True)
class Deed:
    """One thing that a user does."""

    name: str
    prepare: Callable[[World], None]
    """Makes what it is done to, in an empty database."""
    run: Callable[[HiveViewCatalog, World, Begin], object]
    """Does it."""
    more: Callable[[HiveViewCatalog, World], object]
    """What a user does next, once it is done."""
    look: Callable[[World, Labels], Picture]
    """What others see of it."""
    counts_files: bool = True
    """Whether each metadata file is ours, so that none may be there in vain."""

    def __str__(self) -> str:
        return self.name


def _everything(world: World, labels: Labels) -> Picture:
    return picture(world.observer, world.location, labels)


def _prepare_view(world: World) -> None:
    operations.prepare(world.direct, world.database)


def _color(name: str) -> Callable[[HiveViewCatalog, World], object]:
    return lambda catalog, world: (
        catalog.load_view((world.database, name)).update().set_properties(shape="round").commit()
    )


# -- Views ------------------------------------------------------------------------------------------------------------


def _of(operation: Operation) -> Deed:
    def more(catalog: HiveViewCatalog, world: World) -> object:
        if operation is operations.DROP:
            return catalog.create_view((world.database, VIEW), SCHEMA, version(world.database))
        return _color(NEW if operation in (operations.CREATE, operations.RENAME) else VIEW)(catalog, world)

    def run(catalog: HiveViewCatalog, world: World, begin: Begin) -> object:
        begin()
        return operation.run(catalog, world.database)

    return Deed(operation.name, _prepare_view, run, more, _everything)


def _create_or_replace(name: str) -> Deed:
    def run(catalog: HiveViewCatalog, world: World, begin: Begin) -> object:
        begin()
        texts = version(world.database, ("spark", THIRD))
        return catalog.create_or_replace_view((world.database, name), SCHEMA, texts)

    which = "replaces" if name == VIEW else "creates"
    return Deed(f"create or replace, which {which}", _prepare_view, run, _color(name), _everything)


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
    """As Hive's ALTER VIEW AS does it: other texts, the same pointer."""
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
    """Says when the rows are written and what is left is to make them the ones that readers get."""

    def __init__(self, catalog: HiveViewCatalog, begin: Begin) -> None:
        super().__init__(catalog)
        self._begin = begin

    def stage(self, work: Work) -> int:
        staged = super().stage(work)
        self._begin()
        return staged


def _refresh(layout: str) -> Deed:
    def prepare(world: World) -> None:
        sales = world.direct.create_table((world.database, "sales"), SALES)
        world.direct.materialized.create(
            (world.database, MATERIALIZED), "SELECT id, amount FROM sales WHERE amount > 7", layout=layout
        )
        sales.append(rows((1, "a", 10), (2, "b", 20), (3, "a", 5)))

    def run(catalog: HiveViewCatalog, world: World, begin: Begin) -> object:
        engine = _MarkingEngine(catalog, begin)
        return catalog.materialized.refresh((world.database, MATERIALIZED), engine)

    def more(catalog: HiveViewCatalog, world: World) -> object:
        catalog.load_table((world.database, "sales")).append(rows((4, "c", 40)))
        return catalog.materialized.refresh((world.database, MATERIALIZED), DuckEngine(catalog))

    def look(world: World, labels: Labels) -> Picture:
        """What readers get. What is written and not published is nobody's business."""
        view = world.direct.materialized.load((world.database, MATERIALIZED))
        assert view.storage is not None
        seen = world.direct.materialized.reading((world.database, MATERIALIZED))
        found = sorted(map(str, view.storage.scan().to_arrow().to_pylist()))
        texts = [item.sql for item in view.version.sql_representations]
        shown = str((found, texts, seen.from_storage, view.metadata.view_uuid))
        return {MATERIALIZED: labels.applied_to(shown.replace(world.database, "DATABASE"))}

    return Deed(f"refresh, {layout}", prepare, run, more, look, counts_files=False)


DEEDS = (
    *map(_of, (*operations.OPERATIONS,)),
    _create_or_replace(VIEW),
    _create_or_replace(NEW),
    Deed("register", _prepare_file, _register, _color(NEW), _everything),
    Deed("adopt", _prepare_drift, _adopt, _color(VIEW), _everything),
    Deed("repair", _prepare_drift, _repair, _color(VIEW), _everything),
    Deed("create table", lambda world: None, _create_table, _shape_table(TABLE), _everything, counts_files=False),
    Deed("change table", _prepare_table, _commit_table, _shape_table(TABLE), _everything, counts_files=False),
    Deed("rename table", _prepare_table, _rename_table, _shape_table(OTHER_TABLE), _everything, counts_files=False),
    Deed("drop table", _prepare_table, _drop_table, _make_table, _everything, counts_files=False),
    _refresh("registered"),
    _refresh("attached"),
    _refresh("table"),
)

SOME = tuple(deed for deed in DEEDS if deed.name in ("replace", "drop", "change table", "refresh, attached"))
"""One of each kind, for faults that take long."""
