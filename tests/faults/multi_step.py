"""Operations of several steps: what an interruption leaves, and how they are completed.

Each object is as before or as after the whole operation; the state between is only which of them are changed already.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from hive_views import HiveViewCatalog
from hive_views.errors import (
    HiveViewsError,
    InvalidViewError,
    NoSuchTableError,
    NoSuchViewError,
    NotMaterializedError,
    TableAlreadyExistsError,
    ViewAlreadyExistsError,
)
from hive_views.legacy_import.journal import ImportStatus, RevertStatus
from hive_views.legacy_import.plan import plan_import, read_plan, write_plan
from hive_views.legacy_import.revert import revert_run
from hive_views.legacy_import.run import run_plan
from tests.faults.database_content import DatabaseContent, Labels
from tests.faults.operations import Begin, Operation, World
from tests.integration.catalog.samples import SCHEMA, path, version
from tests.integration.legacy_import.rows import hive_view_row, table_row
from tests.integration.materialized.conftest import SALES, rows
from tests.integration.materialized.duck_engine import DuckEngine
from tests.integration.metastore.rpc import connect

QUERY = "SELECT id, amount FROM sales WHERE amount > 7"
LAYOUTS = ("registered", "attached", "table")
PROPERTIES = {"team": "bi", "write.parquet.compression-codec": "gzip"}
"""A property of the view, and one of its storage table."""

Step = Callable[[HiveViewCatalog, World], object]
Prepare = Callable[[World], None]


# -- What readers see --------------------------------------------------------------------------------------------------


def read_objects(world: World, labels: Labels) -> DatabaseContent:
    """Return a description of each object, by name; fails if a file of one is missing."""
    objects: DatabaseContent = {}
    for name in sorted(world.observer.names()):
        # A repetition gives its storage table another name while the one of the interrupted operation exists.
        shown = f"{name.partition('__storage')[0]}__storage" if "__storage" in name else name
        assert shown not in objects, f"a second storage table: {name}"
        objects[shown] = _describe(world, name)
    return objects


def _describe(world: World, name: str) -> str:
    catalog, identifier = world.direct, (world.database, name)
    row = world.observer.row(name)
    assert row is not None, f"{name} is listed and cannot be read"
    kind = row["parameters"].get("table_type", row["tableType"]).upper()
    description = [kind, row["viewOriginalText"]]
    if kind == "ICEBERG-VIEW":
        view_of_row = world.observer.view(name)
        description += [view_of_row.queries, *map(view_of_row.properties.get, PROPERTIES)]
    elif kind == "ICEBERG":
        table = catalog.load_table(identifier)
        description += [table.scan().to_arrow().num_rows, *map(table.properties.get, PROPERTIES)]
    if kind.startswith("ICEBERG"):
        with suppress(NotMaterializedError):
            view = catalog.materialized.load(identifier)
            assert view.storage is not None, view.problem
            state = catalog.materialized.load(identifier).reading()
            stored = sorted(map(str, view.storage.scan().to_arrow().to_pylist()))
            description += [view.layout.value, view.version.sql_representations[0].sql, stored, state.from_storage]
    return str(description).replace(world.database, "DATABASE")


# -- Materialized views ------------------------------------------------------------------------------------------------


def _sales(world: World) -> None:
    sales = world.direct.create_table((world.database, "sales"), SALES)
    sales.append(rows((1, "a", 10), (2, "b", 20), (3, "a", 5)))


def _create(layout: str) -> Step:
    return lambda catalog, world: catalog.materialized.create((world.database, "mv"), QUERY, layout=layout)


def _materialized(layout: str) -> Prepare:
    def prepare(world: World) -> None:
        _sales(world)
        _create(layout)(world.direct, world)
        world.direct.materialized.load((world.database, "mv")).refresh(DuckEngine(world.direct))

    return prepare


def _materialized_with_dependent(layout: str) -> Prepare:
    def prepare(world: World) -> None:
        _materialized(layout)(world)
        world.direct.execute(f"CREATE VIEW {world.database}.reader AS SELECT id FROM {world.database}.mv")

    return prepare


def _detached(layout: str) -> Prepare:
    def prepare(world: World) -> None:
        _materialized(layout)(world)
        world.direct.materialized.load((world.database, "mv")).to_plain_view()

    return prepare


def _plain(world: World) -> None:
    _sales(world)
    world.direct.execute(f"CREATE VIEW {world.database}.mv AS SELECT id, amount FROM {world.database}.sales")


def _replace(catalog: HiveViewCatalog, world: World) -> object:
    return catalog.materialized.load((world.database, "mv")).replace("SELECT id FROM sales", properties=PROPERTIES)


def _set_properties(catalog: HiveViewCatalog, world: World) -> object:
    return catalog.materialized.load((world.database, "mv")).set_properties(PROPERTIES)


def _drop_materialized(*, cascade: bool = False) -> Step:
    return lambda catalog, world: catalog.materialized.load((world.database, "mv")).drop(
        behavior="cascade" if cascade else ""
    )


# -- Drops -------------------------------------------------------------------------------------------------------------


def _chain(world: World) -> None:
    for name, source in (("a", "1 AS x"), ("b", "x FROM a"), ("c", "x FROM b")):
        query = source.replace("FROM ", f"FROM {world.database}.")
        world.direct.execute(f"CREATE VIEW {world.database}.{name} AS SELECT {query}")


def _cascade(*, purge: bool) -> Step:
    return lambda catalog, world: catalog.drop_view((world.database, "a"), behavior="cascade", purge_files=purge)


def _view(world: World) -> None:
    view = world.direct.create_view((world.database, "v"), SCHEMA, version(world.database))
    view.update().set_properties(color="red").commit()


# -- Imports -----------------------------------------------------------------------------------------------------------

LEGACY = ("base", "middle", "top")


def _plan_file(world: World) -> Path:
    return path(world.location).parent / f"{world.database}.plan"


def _journal(world: World) -> Path:
    return _plan_file(world).with_suffix(".journal")


def _legacy_views(world: World) -> None:
    columns = [("id", "bigint")]
    with connect(world.port) as raw:
        raw.create_table(table_row(world.database, "orders", columns))
        for name, source in zip(LEGACY, ("orders", *LEGACY), strict=False):
            text = f"select `{source}`.`id` from `{world.database}`.`{source}`"
            raw.create_table(hive_view_row(world.database, name, f"select id from {source}", text, columns))
    _plan_file(world).write_text(write_plan(plan_import(world.direct, databases=[world.database])))


def _run_import(catalog: HiveViewCatalog, world: World) -> None:
    # With one call at a time the steps of the views follow each other.
    result = run_plan(read_plan(_plan_file(world).read_text()), catalog, _journal(world), most_calls=1)
    assert {outcome.status for outcome in result.outcomes} == {ImportStatus.CONVERTED}, result


def _imported_views(world: World) -> None:
    _legacy_views(world)
    _run_import(world.direct, world)


def revert(catalog: HiveViewCatalog, world: World, *, force: bool = False) -> None:
    """Revert the import."""
    outcomes = revert_run(catalog, _journal(world), force=force)
    assert {outcome.status for outcome in outcomes} <= {RevertStatus.REVERTED, RevertStatus.ALREADY}, outcomes


# -- The operations ----------------------------------------------------------------------------------------------------


def _operation(name: str, prepare: Prepare, run: Step, done: tuple[type[HiveViewsError], ...] = ()) -> Operation:
    """An operation; its repetition raises one of the errors `done` if nothing is left to do."""

    def begin_and_run(catalog: HiveViewCatalog, world: World, begin: Begin) -> object:
        begin()
        return run(catalog, world)

    def complete(catalog: HiveViewCatalog, world: World) -> None:
        with suppress(*done):
            run(catalog, world)
        catalog.materialized.remove_abandoned(world.database, older_than_ms=0)

    return Operation(name, prepare, begin_and_run, complete, read_objects)


MULTI_STEP_OPERATIONS = (
    *(
        _operation(f"mv create, {layout}", _sales, _create(layout), (ViewAlreadyExistsError, TableAlreadyExistsError))
        for layout in LAYOUTS
    ),
    *(
        _operation(f"mv drop, {layout}", _materialized(layout), _drop_materialized(), (NoSuchViewError,))
        for layout in LAYOUTS
    ),
    _operation(
        "mv drop cascade",
        _materialized_with_dependent("registered"),
        _drop_materialized(cascade=True),
        (NoSuchViewError,),
    ),
    *(_operation(f"mv replace, {layout}", _materialized(layout), _replace) for layout in LAYOUTS),
    _operation("mv set", _materialized("registered"), _set_properties),
    *(
        _operation(
            f"mv plain, {layout}",
            _materialized(layout),
            lambda catalog, world: catalog.materialized.load((world.database, "mv")).to_plain_view(),
            (NotMaterializedError,),
        )
        for layout in LAYOUTS[:2]
    ),
    *(
        _operation(
            f"mv back, {kind}",
            prepare,
            lambda catalog, world: catalog.materialized.from_plain_view((world.database, "mv")),
            (InvalidViewError,),
        )
        for kind, prepare in (
            ("new storage", _plain),
            ("registered", _detached("registered")),
            ("attached", _detached("attached")),
        )
    ),
    _operation("cascade", _chain, _cascade(purge=False), (NoSuchViewError,)),
    _operation("purging cascade", _chain, _cascade(purge=True), (NoSuchViewError,)),
    _operation(
        "purge",
        _view,
        lambda catalog, world: catalog.drop_view((world.database, "v"), purge_files=True),
        (NoSuchViewError,),
    ),
    _operation(
        "purge of a table",
        _sales,
        lambda catalog, world: catalog.purge_table((world.database, "sales")),
        (NoSuchTableError,),
    ),
)
"""Operations that raise errors."""

IMPORT_OPERATIONS = (
    _operation("import", _legacy_views, _run_import),
    _operation("revert of an import", _imported_views, revert),
)
"""Operations that return the outcome of each view."""

KEEPS_DEFINITIONS = {"cascade"}
"""Drops that keep the metadata files of what they drop."""
