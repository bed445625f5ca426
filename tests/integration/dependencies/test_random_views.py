"""Dependents, graph, RESTRICT, impact and validity of random views, compared with what the generator made them read."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from hive_views import HiveViewCatalog
from hive_views.dependencies.graph import DependentFinder
from hive_views.dependencies.lineage import LineageReader
from hive_views.errors import DependentsError
from hive_views.identifiers import ViewName
from hive_views.metastore._thrift.hive_metastore.ttypes import FieldSchema
from hive_views.spec.version_texts import define
from tests.integration.catalog.samples import hive_row

ROUNDS = int(os.environ.get("HIVE_VIEWS_RANDOM_VIEWS", "2"))
"""How many metastores full of views are made, with a seed each."""
TABLES, VIEWS = ("t", "u", "from"), 24
SCHEMA = Schema(NestedField(1, "id", LongType()))

SPARK_FORMS = [
    "SELECT a.id FROM {0} a {joins}",
    "WITH {shadow} AS (SELECT id FROM {0}) SELECT a.id FROM {shadow} a {joins}",
    "SELECT id FROM (SELECT a.id /* FROM {decoy} */ FROM {0} AS a {joins}) -- JOIN {decoy}",
    "SELECT a.id FROM {0} a {joins} WHERE '{decoy}' <> 'from {decoy}'",
    "SELECT a.id FROM (TABLE {0}) a {joins}",
    "SELECT a.id FROM (VALUES (1L)) AS a(id) WHERE a.id IN (SELECT id FROM {0}) {exists}",
    "SELECT max(id) AS id FROM {0} HAVING count(*) > 1 {exists}",
]
HIVE_FORMS = [SPARK_FORMS[number] for number in (0, 1, 3)]
"""Plain Hive has neither block comments nor the other forms."""


@dataclass
class Warehouse:
    """Databases with tables and views of the same names, and what each view reads directly."""

    databases: list[str]
    reads: dict[ViewName, set[ViewName]] = field(default_factory=dict)

    def dependents(self, name: ViewName) -> set[ViewName]:
        found: set[ViewName] = set()
        level = {name}
        while level:
            level = {view for view, sources in self.reads.items() if sources & level} - found
            found |= level
        return found


def text_of(
    source: random.Random, warehouse: Warehouse, reads: list[ViewName], database: str | None, hive: bool
) -> str:
    """Return a query that reads some objects; those of `database` without their database."""

    def written(name: ViewName) -> str:
        quoted = f"`{name.name}`" if name.name == "from" or source.random() < 0.5 else name.name
        if name.database == database and source.random() < 0.7:
            return quoted
        return f"{name.database if source.random() < 0.5 else f'`{name.database}`'}.{quoted}"

    names = [written(name) for name in reads]
    joins = " ".join(f"CROSS JOIN {name} b{number}" for number, name in enumerate(names[1:]))
    exists = " ".join(f"AND EXISTS (SELECT 1 FROM {name})" for name in names[1:])
    decoy = f"{source.choice(warehouse.databases)}.{source.choice(TABLES)}"
    # A common table expression may have the name of a table that a qualified name reads beside it.
    shadow = "cte" if any("." not in name for name in names) else source.choice("tu")
    form = source.choice(HIVE_FORMS if hive else SPARK_FORMS)
    return form.format(names[0], joins=joins, exists=exists, decoy=decoy, shadow=shadow)


def make_view(catalog: HiveViewCatalog, raw, source: random.Random, warehouse: Warehouse, name: ViewName) -> None:
    objects = [*warehouse.reads, *(ViewName(item, table) for item in warehouse.databases for table in TABLES)]
    reads = source.sample(objects, source.choice([1, 1, 2, 3]))
    current = source.choice(warehouse.databases)
    kind = source.choice(["hive", "spark", "iceberg", "other engine"])
    sql = text_of(source, warehouse, reads, None if kind == "hive" else current, kind == "hive")
    if kind in ("hive", "spark"):
        parameters = {"view.catalogAndNamespace.part.1": current, "spark.sql.create.version": "4.1.0"}
        row = hive_row(name.database, name.name, "VIRTUAL_VIEW", **(parameters if kind == "spark" else {}))
        row.sd.cols = [FieldSchema("id", "bigint", None)]
        row.viewOriginalText = row.viewExpandedText = sql
        raw.create_table(row)
    elif kind == "iceberg":
        catalog.execute(f"CREATE VIEW {name.database}.{name.name} AS {sql}", database=current)
    else:
        definition = define(sql, dialect="spark", default_namespace=(current,))
        catalog.create_view(str(name), SCHEMA, definition)
    warehouse.reads[name] = set(reads)


@pytest.mark.extended
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_dependents_of_random_views(open_catalog, raw, database, other_database, seed):
    catalog = open_catalog(
        {"hive-views.session-catalog-serves-iceberg": "true"}
    )  # views read Iceberg views and Hive tables
    source = random.Random(seed)
    warehouse = Warehouse([database, other_database])
    for name in (ViewName(item, table) for item in warehouse.databases for table in TABLES):
        row = hive_row(name.database, name.name, "MANAGED_TABLE")
        row.sd.cols = [FieldSchema("id", "bigint", None)]
        raw.create_table(row)
    for number in range(VIEWS):
        name = ViewName(warehouse.databases[number % 2], f"v{number // 2}")
        make_view(catalog, raw, source, warehouse, name)
    graph = catalog.dependencies.graph()
    reader = LineageReader(catalog.store)
    for name in [*warehouse.reads, *(ViewName(item, table) for item in warehouse.databases for table in TABLES)]:
        expected = warehouse.dependents(name)
        found = catalog.dependencies.dependents(str(name))
        assert (set(found.views), found.unknown) == (expected, ()), name
        filtered = DependentFinder(reader, databases=warehouse.databases, max_unfiltered=1).find_all(name)
        assert set(filtered.views) == expected, name
        assert set(graph.downstream(name)) == expected, name
        assert {item.view for item in catalog.dependencies.impact(str(name))} == expected, name
        if expected and catalog.view_exists(str(name)):
            with pytest.raises(DependentsError):
                catalog.drop_view(str(name), behavior="restrict")
    lost = ViewName(source.choice(warehouse.databases), source.choice(TABLES))
    raw.drop_table(lost.database, lost.name, False)
    unreadable = {item.view for item in catalog.dependencies.check_views() if item.validity.is_unreadable}
    assert unreadable & warehouse.reads.keys() == warehouse.dependents(lost)
