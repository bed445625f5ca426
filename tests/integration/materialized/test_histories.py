"""Random histories of sources: stored rows that are called fresh are the definition's, and a refresh makes them so.

Every history runs over all three layouts at once. `make histories` runs 500 of them (HIVE_VIEWS_HISTORIES=500).
"""

from __future__ import annotations

import os
import uuid
from collections import Counter

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.types import LongType

from hive_views import HiveViewCatalog
from hive_views.errors import RefreshError
from hive_views.materialized.freshness.verdict import Verdict
from hive_views.materialized.properties import MAX_KEYS_TIME_PERCENT, MERGE_FROM_ROWS
from hive_views.materialized.state.sequence_numbers import SEQUENCE_IDS
from hive_views.spec.storage_link import link_of, with_link
from tests.integration.materialized.conftest import LAYOUTS, SALES, SHOPS, drop_database, history_settings, rows
from tests.integration.materialized.duck_engine import DuckEngine, bag, compact, translated

HISTORIES = int(os.environ.get("HIVE_VIEWS_HISTORIES", "4"))

QUERIES = (
    "SELECT s.id, s.amount FROM sales s WHERE s.amount > 3",
    "SELECT s.id, s.amount, h.city FROM sales s JOIN shops h ON s.shop = h.shop",
    "SELECT id, amount FROM sales UNION ALL SELECT id, amount + 1 AS amount FROM big",
    "SELECT shop, count(*) AS n, sum(amount) AS total, min(id) AS first FROM sales GROUP BY shop",
    "SELECT h.city, count(s.id) AS n, max(s.amount) AS most FROM big s JOIN shops h ON s.shop = h.shop GROUP BY h.city",
    "SELECT s.id, h.city FROM sales s LEFT JOIN shops h ON s.shop = h.shop",
    "SELECT count(*) AS n, sum(amount) AS total FROM big",
    "SELECT a.id AS one, b.id AS other FROM sales a JOIN sales b ON a.shop = b.shop AND a.id < b.id",
    "SELECT DISTINCT shop FROM sales",
    "SELECT CAST(mean(amount) AS DOUBLE) AS m, count(DISTINCT shop) AS n FROM big",
    "SELECT shop, amount, count(amount) AS n, count(*) AS m FROM sales GROUP BY shop, amount",
    "SELECT s.id, h.shop, h.city FROM sales s RIGHT JOIN shops h ON s.shop = h.shop",
    "SELECT coalesce(s.shop, h.shop) AS shop, s.amount, h.city FROM sales s FULL JOIN shops h ON s.shop = h.shop",
    "SELECT s.id, s.shop, h.shop AS other, h.city FROM sales s FULL JOIN shops h ON s.shop = h.shop",
    "WITH n AS (SELECT shop AS k, count(*) AS c FROM big GROUP BY shop) SELECT n.k, n.c FROM n WHERE n.c > 1",
    "SELECT id, shop FROM sales WHERE shop IN (SELECT h.shop FROM shops h WHERE h.city = 'Rome')",
    "SELECT id, shop FROM sales s WHERE NOT EXISTS (SELECT 1 FROM shops h WHERE h.shop = s.shop)",
    "SELECT id, shop FROM sales WHERE shop NOT IN (SELECT h.shop FROM shops h)",
    "SELECT shop, amount, rank() OVER (PARTITION BY shop ORDER BY amount) AS r FROM sales",
    "SELECT shop FROM sales EXCEPT SELECT shop FROM shops",
    "SELECT shop AS k, count(*) AS n, sum(amount) AS total FROM sales GROUP BY k",
)
CHANGED = "SELECT s.id, s.amount FROM sales s WHERE s.amount > 7"

shops = st.sampled_from(("a", "b", "c", None))
sale = st.tuples(st.integers(1, 5), shops, st.integers(0, 12) | st.none())
place = st.tuples(shops, st.sampled_from(("Rome", "Oslo")))
change = st.one_of(
    st.tuples(st.just("sell"), st.lists(sale, min_size=1, max_size=3)),
    st.tuples(st.just("open"), st.lists(place, min_size=1, max_size=2)),
    st.tuples(st.just("delete"), st.integers(1, 5)),
    st.tuples(st.just("overwrite"), st.lists(sale, max_size=2)),
    st.tuples(st.just("compact"), st.sampled_from(("sales", "shops"))),
    st.tuples(st.just("replace view"), st.integers(0, 9)),
    st.tuples(st.just("rename"), st.sampled_from(("sales", "shops", "big"))),
    st.tuples(st.just("rename back"), st.none()),
    st.tuples(st.just("replace table"), st.lists(sale, max_size=2)),
    st.tuples(st.just("roll back"), st.none()),
    st.tuples(st.just("roll view back"), st.none()),
    st.tuples(st.just("expire"), st.none()),
    st.tuples(st.just("drop and add column"), st.none()),
    st.tuples(st.just("new definition"), st.none()),
    st.tuples(st.just("write to storage"), st.none()),
    st.tuples(st.just("compact storage"), st.none()),
    st.tuples(st.just("plain and back"), st.none()),
)
refresh = st.just(("refresh", None))
history = st.lists(st.one_of(change, change, refresh), min_size=3, max_size=9)
growth = st.lists(
    st.one_of(
        st.tuples(st.just("sell"), st.lists(sale, min_size=1, max_size=3)),
        st.tuples(st.just("open"), st.lists(place, min_size=1, max_size=2)),
        st.tuples(st.just("compact"), st.sampled_from(("sales", "shops"))),
        refresh,
    ),
    min_size=3,
    max_size=8,
)
ids = st.sampled_from(("false", "only"))
"""`hive-views.sequence-ids`: whether the refresh state is by UUIDs or by sequence numbers alone."""
seen: Counter[str] = Counter()


class World:
    """A database, its three materialized views of one query, and what that query gives now."""

    def __init__(self, catalog: HiveViewCatalog, query: str, numbered: str = "false") -> None:
        self.catalog = catalog
        self.database = f"history_{uuid.uuid4().hex[:12]}"
        self.query = dict.fromkeys(LAYOUTS, query)
        self.engine = DuckEngine(catalog, can_replace_keys=True)
        self.names = {"sales": "sales", "shops": "shops", "big": "big"}
        self.aside: str | None = None
        self.threshold = 4
        catalog.create_namespace(self.database)
        catalog.create_table((self.database, "sales"), SALES).append(rows((1, "a", 5), (2, "b", 9)))
        catalog.create_table((self.database, "shops"), SHOPS).append(rows(("a", "Rome"), schema=SHOPS))
        self.define_big(self.threshold)
        for layout in LAYOUTS:
            # Two of three layouts write only the groups that change.
            properties = {
                SEQUENCE_IDS: numbered,
                MERGE_FROM_ROWS: "1000" if layout == "table" else "0",
                MAX_KEYS_TIME_PERCENT: "1000000",
            }
            catalog.materialized.create((self.database, f"by_{layout}"), query, layout=layout, properties=properties)

    # -- What can happen ----------------------------------------------------------------------------------------------

    def apply(self, event: tuple) -> None:
        kind, value = event
        getattr(self, kind.replace(" ", "_"))(value)

    def table(self, name: str):
        return self.catalog.load_table((self.database, self.names[name]))

    def sell(self, values: list[tuple]) -> None:
        self.table("sales").append(rows(*values))

    def open(self, values: list[tuple]) -> None:
        self.table("shops").append(rows(*values, schema=SHOPS))

    def delete(self, number: int) -> None:
        self.table("sales").delete(f"id = {number}")

    def overwrite(self, values: list[tuple]) -> None:
        self.table("sales").overwrite(rows(*values) if values else SALES.as_arrow().empty_table())

    def compact(self, name: str) -> None:
        compact(self.table(name))

    def define_big(self, threshold: int) -> None:
        created = self.catalog.author(
            (self.database, "big"), f"SELECT id, shop, amount FROM {self.database}.sales WHERE amount > {threshold}"
        )
        self.catalog.create_or_replace_view((self.database, self.names["big"]), created.schema, created.version)
        self.threshold = threshold

    def replace_view(self, threshold: int) -> None:
        if self.names["sales"] == "sales":
            self.define_big(threshold)

    def rename(self, name: str) -> None:
        if self.aside is not None:
            return
        move = self.catalog.rename_view if name == "big" else self.catalog.rename_table
        move((self.database, name), (self.database, f"{name}_2"))
        self.names[name], self.aside = f"{name}_2", name

    def rename_back(self, _: None) -> None:
        if self.aside is None:
            return
        name = self.aside
        move = self.catalog.rename_view if name == "big" else self.catalog.rename_table
        move((self.database, f"{name}_2"), (self.database, name))
        self.names[name], self.aside = name, None

    def replace_table(self, values: list[tuple]) -> None:
        if self.aside is None:
            self.catalog.drop_table((self.database, "sales"))
            created = self.catalog.create_table((self.database, "sales"), SALES)
            if values:
                created.append(rows(*values))

    def roll_back(self, _: None) -> None:
        table = self.table("sales")
        entries = [entry.snapshot_id for entry in table.metadata.snapshot_log]
        if len(entries) > 1 and table.metadata.snapshot_by_id(entries[-2]) is not None:
            table.manage_snapshots().set_current_snapshot(snapshot_id=entries[-2]).commit()

    def roll_view_back(self, _: None) -> None:
        """To the version before, which is the only one that stays: the next one may get the number of one that went."""
        view = self.catalog.load_view((self.database, self.names["big"]))
        ids = [version.version_id for version in view.versions]
        if len(ids) > 1 and self.aside is None:
            update = view.update().set_properties({"version.history.num-entries": "1"})
            earlier = max(number for number in ids if number != view.current_version().version_id)
            update.rollback(version_id=earlier).commit()
            text = self.catalog.load_view((self.database, "big")).sql_for("spark").sql
            self.threshold = int(text.rpartition(">")[2])
            view = self.catalog.load_view((self.database, "big"))
            view.update().set_properties({"version.history.num-entries": "10"}).commit()

    def expire(self, _: None) -> None:
        metadata = self.table("sales").metadata
        old = [item.snapshot_id for item in metadata.snapshots if item.snapshot_id != metadata.current_snapshot_id]
        if old:
            self.table("sales").maintenance.expire_snapshots().by_ids(old).commit()

    def drop_and_add_column(self, _: None) -> None:
        table = self.table("sales")
        with table.update_schema(allow_incompatible_changes=True) as update:
            update.delete_column("amount")
        with self.table("sales").update_schema() as update:
            update.add_column("amount", LongType())

    def new_definition(self, _: None) -> None:
        for layout in ("registered", "attached"):
            name = (self.database, f"by_{layout}")
            view = self.catalog.load_view(name)
            if view.schema().column_names != ["id", "amount"] or self.names["sales"] != "sales":
                continue
            created = self.catalog.author(name, CHANGED)
            version = with_link(created.version, link_of(view.current_version()))
            view.update().replace_version(version, view.schema()).commit()
            self.query[layout] = CHANGED

    def write_to_storage(self, _: None) -> None:
        for layout in LAYOUTS:
            storage = self.storage(layout)
            storage.append(storage.scan().to_arrow())

    def compact_storage(self, _: None) -> None:
        for layout in LAYOUTS:
            if self.storage(layout).metadata.current_snapshot_id is not None:
                compact(self.storage(layout))

    def plain_and_back(self, _: None) -> None:
        for layout in ("registered", "attached"):
            name = (self.database, f"by_{layout}")
            self.catalog.materialized.load(name).to_plain_view()
            self.catalog.materialized.from_plain_view(name)

    def refresh(self, _: None) -> None:
        for layout in LAYOUTS:
            name = (self.database, f"by_{layout}")
            try:
                explained = self.catalog.materialized.load(name).explain(self.engine).action
                report = self.catalog.materialized.load(name).refresh(self.engine)[-1]
            except RefreshError:
                # Its text names what has another name now; nothing else is an excuse.
                assert self.aside is not None
                seen["refused"] += 1
                continue
            seen[report.action] += 1
            assert report.action == explained
            if self.aside is None:
                assert self.stored(layout) == self.rows(layout), report
                assert self.freshness(layout).is_fresh, (report, str(self.freshness(layout)))

    # -- What must hold ------------------------------------------------------------------------------------------------

    def storage(self, layout: str):
        return self.catalog.materialized.load((self.database, f"by_{layout}")).storage

    def freshness(self, layout: str):
        return self.catalog.materialized.freshness((self.database, f"by_{layout}"))

    def stored(self, layout: str) -> list[tuple]:
        return bag([tuple(row.values()) for row in self.storage(layout).scan().to_arrow().to_pylist()])

    def rows(self, layout: str) -> list[tuple]:
        """What the definition gives, over the objects that it means."""
        connection = duckdb.connect(config={"threads": 1})
        for name in ("sales", "shops"):
            stored: pa.Table = self.table(name).scan().to_arrow()
            connection.register(name, stored)
        connection.execute(f"CREATE VIEW big AS SELECT id, shop, amount FROM sales WHERE amount > {self.threshold}")
        return bag(connection.sql(translated(self.query[layout])).fetchall())

    def check(self) -> None:
        for layout in LAYOUTS:
            freshness = self.freshness(layout)
            seen[freshness.verdict.value] += 1
            if freshness.verdict is Verdict.FRESH:
                assert self.stored(layout) == self.rows(layout), layout


def run(catalog: HiveViewCatalog, query: str, events: list[tuple], numbered: str) -> None:
    world = World(catalog, query, numbered)
    try:
        for event in [("refresh", None), *events, ("refresh", None)]:
            world.apply(event)
            world.check()
    finally:
        drop_database(catalog, world.database)


@history_settings(HISTORIES)
@given(query=st.sampled_from(QUERIES), events=history, numbered=ids)
@pytest.mark.timeout(7200)
def test_never_fresh_when_rows_differ(shared: HiveViewCatalog, query: str, events: list[tuple], numbered: str):
    run(shared, query, events, numbered)


@history_settings(HISTORIES)
@given(query=st.sampled_from(QUERIES), events=growth, numbered=ids)
@pytest.mark.timeout(7200)
def test_incremental_equals_full_if_sources_only_grow(
    shared: HiveViewCatalog, query: str, events: list[tuple], numbered: str
):
    run(shared, query, events, numbered)


def test_histories_cover_all_cases():
    """Runs behind the two above: a history that never refreshes incrementally would prove nothing."""
    for what in ("incremental", "keys", "full", "fresh", "stale"):
        assert seen[what], dict(seen)
