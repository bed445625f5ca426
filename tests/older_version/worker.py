"""A process of either version: `python worker.py PROPERTIES`, with the version's tree as PYTHONPATH.

It reads calls from standard input, `{"operation": …, …}`, and answers each with a line: `{"result": …}` or
`{"error": class, "text": …}`. It uses only what both versions have.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType

import hive_views
from hive_views import HiveViewCatalog, define
from hive_views.errors import (
    CommitFailedError,
    HiveViewsError,
    NoSuchViewError,
    ViewAlreadyExistsError,
)
from hive_views.identifiers import ViewName
from hive_views.legacy_import.plan import plan_import, read_plan, write_plan
from hive_views.legacy_import.revert import revert_run
from hive_views.legacy_import.run import run_plan
from tests.integration.legacy_import.corpus import hive_views as hive_view_rows
from tests.integration.legacy_import.corpus import trino_views, warehouse
from tests.integration.legacy_import.rows import hive_view_row, table_row
from tests.integration.materialized.duck_engine import DuckEngine, query

try:
    from hive_views.metastore.rows.serialization import encode_row
except ImportError:
    from hive_views.metastore.row_codec import encode_row  # type: ignore[import-not-found, no-redef]  # the older version

CATALOG: HiveViewCatalog


def main() -> None:
    """Run the calls."""
    global CATALOG
    with HiveViewCatalog("prod", **json.loads(sys.argv[1])) as CATALOG:
        for line in sys.stdin:
            call = json.loads(line)
            print(json.dumps(_answer(globals()[f"on_{call.pop('operation')}"], call)), flush=True)


def _answer(function: Callable[..., Any], arguments: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"result": function(**arguments)}
    except (HiveViewsError, ValueError) as error:
        return {"error": type(error).__name__, "text": str(error)}


def on_origin() -> str:
    """Return the directory of the package."""
    return str(Path(hive_views.__file__).parent.parent)


# -- Tables ------------------------------------------------------------------------------------------------------------


def on_hive_table(
    name: str, columns: list[list[str]], partitions: list[str], parameters: dict[str, str] | None = None
) -> None:
    """Create a Hive table, partitioned by text columns."""
    database, _, table = name.partition(".")
    row = table_row(database, table, [tuple(column) for column in columns], **(parameters or {}))
    row.partitionKeys = table_row(database, table, [(key, "string") for key in partitions]).sd.cols
    CATALOG.store.client.create_table(row)


def on_warehouse(hive: int, trino: int) -> list[str]:
    """Create the tables of the corpus and every n-th of its legacy views of Hive and Trino; return their names."""
    for row in warehouse():
        if not CATALOG.namespace_exists(row.dbName):
            CATALOG.create_namespace(row.dbName)
        CATALOG.store.client.create_table(row)
    views = [row for _, row in hive_view_rows()][::hive] + [row for _, _, row in trino_views()][::trino]
    for row in views:
        CATALOG.store.client.create_table(row)
    return [f"{row.dbName}.{row.tableName}" for row in views]


def on_hive_view(name: str, text: str, columns: list[list[str]]) -> None:
    """Create a view as Hive does."""
    database, _, view = name.partition(".")
    CATALOG.store.client.create_table(hive_view_row(database, view, text, text, [tuple(column) for column in columns]))


def on_iceberg_table(name: str, columns: list[str], partition: str | None = None) -> None:
    """Create an Iceberg table; columns whose names start with `n` are numbers, others texts."""
    types = [LongType() if column.startswith("n") else StringType() for column in columns]
    fields = [NestedField(at + 1, column, types[at]) for at, column in enumerate(columns)]
    spec = PartitionSpec()
    if partition is not None:
        spec = PartitionSpec(PartitionField(columns.index(partition) + 1, 1000, IdentityTransform(), partition))
    CATALOG.create_table(name, Schema(*fields), partition_spec=spec)


def on_append(name: str, rows: list[list[Any]]) -> None:
    """Append rows to an Iceberg table."""
    table = CATALOG.load_table(name)
    schema = table.schema().as_arrow()
    columns = {field: [row[at] for row in rows] for at, field in enumerate(schema.names)}
    table.append(pa.table(columns, schema=schema))


# -- Views -------------------------------------------------------------------------------------------------------------


def on_create_database(name: str) -> None:
    """Create a database."""
    CATALOG.create_namespace(name)


def on_execute(sql: str, database: str, dialect: str) -> None:
    """Run a statement."""
    CATALOG.execute(sql, database=database, dialect=dialect)


def on_create(name: str, sql: str, **options: Any) -> None:
    """Create a view of a query."""
    CATALOG.create_view_from_sql(name, sql, **options)


def on_create_raw(name: str, texts: dict[str, str], columns: list[str]) -> None:
    """Create a view of texts that are stored as they are, as other programs define views."""
    fields = [NestedField(at + 1, column, LongType()) for at, column in enumerate(columns)]
    version = define(next(iter(texts.values())), dialect=next(iter(texts)), default_namespace=[name.partition(".")[0]])
    representations = version.representations
    others = [define(text, dialect=dialect, default_namespace=["x"]) for dialect, text in list(texts.items())[1:]]
    version = version.model_copy(
        update={"representations": representations + [item for other in others for item in other.representations]}
    )
    CATALOG.create_view(name, Schema(*fields), version)


def on_replace(name: str, sql: str, **options: Any) -> None:
    """Replace the query of a view."""
    CATALOG.replace_view_from_sql(name, sql, **options)


def on_replace_summary(name: str, mark: str) -> None:
    """Add a version with the texts and columns of the current one, and another summary."""
    view = CATALOG.load_view(name)
    current = view.current_version()
    version = current.model_copy(update={"summary": {**current.summary, "mark": mark}})
    CATALOG.replace_view(name, view.schema(), version)


def on_set_properties(name: str, properties: dict[str, str]) -> None:
    """Set properties of a view."""
    CATALOG.load_view(name).update().set_properties(properties).commit()


def on_rollback(name: str, version: int) -> None:
    """Make a version of a view the current one."""
    CATALOG.load_view(name).update().rollback(version_id=version, may_lose_dialects=True).commit()


def on_rename(name: str, new_name: str) -> None:
    """Rename a view."""
    CATALOG.rename_view(name, new_name)


def on_drop(name: str, purge: bool) -> None:
    """Drop a view."""
    CATALOG.drop_view(name, purge_files=purge)


def on_recompile(name: str) -> list[Any]:
    """Recompile a view; return whether it changed, and the added, removed and retyped columns."""
    result = CATALOG.recompile_view(name)
    return [result.changed, list(result.added), list(result.removed), list(result.retyped)]


def on_repair(name: str) -> None:
    """Write the row of a view from its metadata file."""
    CATALOG.repair_view(name)


def on_list(database: str) -> list[str]:
    """Return the names of the Iceberg views of a database."""
    return sorted(".".join(name) for name in CATALOG.list_views(database))


def on_describe(names: list[str]) -> dict[str, Any]:
    """Return all that the catalog shows of views."""
    return {name: _describe(name) for name in names}


def _describe(name: str) -> dict[str, Any]:
    view = CATALOG.load_view(name)
    return {
        "location": view.metadata_location,
        "previous": view.previous_metadata_location,
        "columns": [[f.name, str(f.field_type), f.doc] for f in view.schema().fields],
        "versions": [[version.version_id, version.timestamp_ms, _texts(version)] for version in view.versions],
        "history": [[entry.timestamp_ms, entry.version_id] for entry in view.history()],
        "current": view.current_version().version_id,
        "summary": view.current_version().summary,
        "typed": view.original_text,
        "expanded": view.expanded_text,
        "owner": view.owner,
        "parameters": view.parameters,
        "drift": [str(item) for item in view.drift],
    }


def _texts(version: Any) -> list[list[str]]:
    return sorted([item.root.dialect, item.root.sql] for item in version.representations)


def on_check(database: str) -> dict[str, Any]:
    """Return the problems of each view of a database (`deps check`)."""
    return {
        str(item.view): [[problem.validity.value, problem.text] for problem in item.problems]
        for item in getattr(CATALOG, "dependencies", CATALOG).check_views(database)
    }


def on_partitions(name: str) -> list[Any]:
    """Return the partitions of a view, and whether each one is stale."""
    marked = CATALOG.partitions.marked if hasattr(CATALOG, "partitions") else getattr(CATALOG, "marked_partitions")  # noqa: B009
    return [[list(item.partition), item.stale] for item in marked(name)]


def on_rows(names: list[str]) -> dict[str, str]:
    """Return the rows of names as text, byte for byte."""
    rows = {name: CATALOG.store.get_row(ViewName.from_text(name)) for name in names}
    return {name: encode_row(row).hex() for name, row in rows.items() if row is not None}


# -- Materialized views ------------------------------------------------------------------------------------------------


def on_create_materialized(name: str, sql: str, **options: Any) -> None:
    """Create a materialized view."""
    CATALOG.materialized.create(name, sql, **options)


def _of_materialized(name: str, method: str) -> Callable[..., Any]:
    """Return a method of a materialized view; in the older version those of the catalog take its name."""
    of_catalog = getattr(CATALOG.materialized, method, None)
    if of_catalog is None:
        return getattr(CATALOG.materialized.load(name), method)
    return partial(of_catalog, name)


def on_replace_materialized(name: str, sql: str) -> None:
    """Replace the query of a materialized view."""
    _of_materialized(name, "replace")(sql)


def on_refresh(name: str) -> str:
    """Refresh a materialized view; return how."""
    [report] = _of_materialized(name, "refresh")(DuckEngine(CATALOG, can_replace_keys=True))
    return report.action


def on_freshness(name: str) -> list[Any]:
    """Return the verdict about the stored rows, the reasons, and how earlier refreshes computed them."""
    freshness = CATALOG.materialized.freshness(name)
    return [freshness.verdict.value, [item.action for item in _of_materialized(name, "refreshes")()]]


def on_stored(name: str) -> list[list[Any]]:
    """Return the stored rows of a materialized view, sorted."""
    rows = CATALOG.materialized.load(name).storage.scan().to_arrow().to_pylist()
    return sorted((list(row.values()) for row in rows), key=repr)


def on_query(sql: str, tables: dict[str, str]) -> list[list[Any]]:
    """Return the rows of a query over tables as they are now, sorted."""
    return [list(row) for row in query(CATALOG, sql, tables)]


def on_drop_materialized(name: str) -> None:
    """Drop a materialized view."""
    _of_materialized(name, "drop")()


# -- Imports -----------------------------------------------------------------------------------------------------------


def on_plan(plan: str, databases: list[str]) -> dict[str, str]:
    """Plan an import and write the plan; return the status of each view."""
    planned = plan_import(CATALOG, databases=databases)
    Path(plan).write_text(write_plan(planned))
    return {str(entry.name): entry.status.value for entry in planned.entries}


def on_run(plan: str, journal: str, kill_after: int | None = None) -> dict[str, Any]:
    """Run a plan; kill this process after some outcomes."""

    def progress(done: int, total: int, outcome: object) -> None:
        if done == kill_after:
            os.kill(os.getpid(), signal.SIGKILL)

    result = run_plan(read_plan(Path(plan).read_text()), CATALOG, Path(journal), progress=progress)
    return {str(outcome.name): [outcome.status.value, outcome.text] for outcome in result.outcomes}


def on_revert(journal: str) -> dict[str, Any]:
    """Revert a run."""
    return {str(item.name): [item.status.value, item.text] for item in revert_run(CATALOG, Path(journal))}


# -- Many commits ------------------------------------------------------------------------------------------------------

COUNTERS = 4
SIDES = ("left", "right")
"""The names between which a view is renamed."""


def on_commits(database: str, writer: str, commits: int) -> dict[str, Any]:
    """Commit until a number of commits was acknowledged; return what was acknowledged, and the number of conflicts.

    The query of a counter has a number that each commit increases by one (compare-and-swap). The view `properties` gets
    a property of its own at each commit, and so does the view that is renamed between `left` and `right`. Each
    `created_…` is created by the first writer.
    """
    choices = random.Random(writer)
    acknowledged: dict[str, list[Any]] = {kind: [] for kind in _COMMITS}
    conflicts = 0
    for number in range(commits):
        while True:
            kind = choices.choices(tuple(_COMMITS), (5, 3, 3, 2, 1))[0]
            try:
                acknowledged[kind].append(_COMMITS[kind](database, f"{writer}_{number}", choices))
                break
            except _CONFLICTS:
                conflicts += 1
    return {"acknowledged": acknowledged, "conflicts": conflicts}


def _increase(database: str, key: str, choices: random.Random) -> list[Any]:
    name = f"{database}.counter_{choices.randrange(COUNTERS)}"
    view = CATALOG.load_view(name)
    # Not from the row, which a server may read while another commit replaces it, and return with texts of two commits.
    number = int(view.sql_for("spark").sql.split()[1].rstrip(",")) + 1
    # Definitions of two writers differ, since the older version takes an equal one of the same millisecond for its own.
    definition = CATALOG.author(name, f"SELECT {number} AS n, '{key}' AS writer")
    view.update().replace_version(definition.version, definition.schema).commit()
    return [name, number, key]


def _set_property(database: str, key: str, _: random.Random) -> str:
    CATALOG.load_view(f"{database}.properties").update().set_properties({key: key}).commit()
    return key


def _set_property_of_renamed(database: str, key: str, _: random.Random) -> str:
    CATALOG.load_view(_current_name(database)).update().set_properties({key: key}).commit()
    return key


def _rename(database: str, key: str, _: random.Random) -> str:
    name = _current_name(database)
    new_name = next(f"{database}.{side}" for side in SIDES if not name.endswith(side))
    CATALOG.rename_view(name, new_name)
    return new_name


def _current_name(database: str) -> str:
    names = [f"{database}.{side}" for side in SIDES]
    return next((name for name in names if CATALOG.view_exists(name)), names[0])


def _create(database: str, key: str, _: random.Random) -> list[str]:
    name = f"{database}.created_{len(CATALOG.list_views(database))}"
    CATALOG.create_view_from_sql(name, "SELECT 1 AS one", properties={"writer": key})
    return [name, key]


_CONFLICTS = (CommitFailedError, NoSuchViewError, ViewAlreadyExistsError)
_COMMITS = {
    "counters": _increase,
    "properties": _set_property,
    "renamed": _set_property_of_renamed,
    "renames": _rename,
    "created": _create,
}


if __name__ == "__main__":
    main()
