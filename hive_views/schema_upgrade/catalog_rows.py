"""The rows of views and tables, read from the metastore's database: for checks without a running metastore."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hive_views.identifiers import ViewName
from hive_views.schema_upgrade.schema import Schema
from hive_views.schema_upgrade.session import Session, in_list
from hive_views.sql.resolver.scopes import TableSchema

_BATCH = 500

DEFAULT_CATALOG = "hive"
"""The catalog of all databases before 3.0, and of most since."""

_TEXT_TYPES = ("VIRTUAL_VIEW", "MATERIALIZED_VIEW")


@dataclass(frozen=True)
class ViewRow:
    """A view, as its rows say."""

    tbl_id: int
    """Its TBL_ID."""
    database: str
    name: str
    original: str | None
    expanded: str | None
    columns: tuple[tuple[str, str], ...]
    """Name and Hive type of each, partition columns last."""
    parameters: dict[str, str]
    catalog: str = DEFAULT_CATALOG
    """The catalog that its database is in; Hive has several from 3.0 on."""

    @property
    def identifier(self) -> str:
        """`database.view`, with the catalog in front where it is not Hive's own."""
        return ("" if self.catalog == DEFAULT_CATALOG else f"{self.catalog}.") + f"{self.database}.{self.name}"


class DatabaseSchemas:
    """The columns of one catalog's tables from the metastore's database, asked for table by table, each once."""

    def __init__(self, session: Session, schema: Schema, catalog: str = DEFAULT_CATALOG) -> None:
        self._session = session
        self._schema = schema
        self._catalog = catalog
        self._seen: dict[ViewName, TableSchema | None] = {}

    def table(self, database: str, name: str) -> TableSchema | None:
        """The columns of a table or view; see `hive_views.sql.resolver.scopes.Schemas`."""
        key = ViewName(database, name)
        if key not in self._seen:
            self._seen[key] = self._read(key)
        return self._seen[key]

    def _read(self, name: ViewName) -> TableSchema | None:
        quote = self._session.dialect.quote
        values = {"database": name.database, "name": name.name}
        chosen = ""
        if self._schema.column("DBS", "CTLG_NAME"):
            values["catalog"] = self._catalog
            chosen = f" AND d.{quote('CTLG_NAME')} = :catalog"
        rows = self._session.query(
            f"SELECT t.{quote('TBL_ID')}, t.{quote('SD_ID')}, t.{quote('TBL_TYPE')} FROM {quote('TBLS')} t "
            f"JOIN {quote('DBS')} d ON d.{quote('DB_ID')} = t.{quote('DB_ID')} "
            f"WHERE d.{quote('NAME')} = :database AND t.{quote('TBL_NAME')} = :name{chosen} "
            f"ORDER BY t.{quote('TBL_ID')}",
            values,
        )
        if not rows:
            return None
        tbl_id, storage, kind = rows[0]
        columns = _columns(self._session, self._schema, {int(tbl_id): storage})[int(tbl_id)]
        shown = {"VIRTUAL_VIEW": "view", "MATERIALIZED_VIEW": "materialized"}.get(kind or "", "table")
        return TableSchema(tuple(columns), shown)


def views(session: Session, schema: Schema) -> Iterator[ViewRow]:
    """All views, in batches by TBL_ID."""
    quote = session.dialect.quote
    key, texts = quote("TBL_ID"), [quote(name) for name in ("VIEW_ORIGINAL_TEXT", "VIEW_EXPANDED_TEXT")]
    listed = ", ".join(f"'{kind}'" for kind in _TEXT_TYPES)
    catalog = f"d.{quote('CTLG_NAME')}" if schema.column("DBS", "CTLG_NAME") else f"'{DEFAULT_CATALOG}'"
    after = -1
    while True:
        rows = session.query(
            f"SELECT t.{key}, d.{quote('NAME')}, t.{quote('TBL_NAME')}, t.{quote('SD_ID')}, t.{texts[0]}, "
            f"t.{texts[1]}, {catalog} FROM {quote('TBLS')} t "
            f"JOIN {quote('DBS')} d ON d.{quote('DB_ID')} = t.{quote('DB_ID')} "
            f"WHERE t.{key} > :after AND (t.{texts[0]} IS NOT NULL OR t.{texts[1]} IS NOT NULL "
            f"OR t.{quote('TBL_TYPE')} IN ({listed})) ORDER BY t.{key} {session.dialect.limit(_BATCH)}",
            {"after": after},
        )
        if not rows:
            return
        storage = {int(row[0]): row[3] for row in rows}
        columns = _columns(session, schema, storage)
        parameters = _parameters(session, list(storage))
        for tbl_id, database, name, _, original, expanded, held_in in rows:
            number = int(tbl_id)
            yield ViewRow(
                number, database, name, original, expanded, tuple(columns[number]), parameters[number], held_in
            )
        after = int(rows[-1][0])
        if len(rows) < _BATCH:
            return


def _columns(session: Session, schema: Schema, storage: dict[int, Any]) -> dict[int, list[tuple[str, str]]]:
    """Columns by TBL_ID: COLUMNS_V2 from 0.8 on, COLUMNS before; partition columns behind them."""
    quote = session.dialect.quote
    columns: dict[int, list[tuple[str, str]]] = defaultdict(list)
    of_storage: dict[int, list[int]] = defaultdict(list)
    for tbl_id, sd_id in storage.items():
        if sd_id is not None:
            of_storage[int(sd_id)].append(tbl_id)
    name, kind, place = quote("COLUMN_NAME"), quote("TYPE_NAME"), quote("INTEGER_IDX")
    if of_storage:
        listed = in_list(list(of_storage))
        if schema.table("COLUMNS_V2"):
            sql = (
                f"SELECT s.{quote('SD_ID')}, c.{name}, c.{kind} FROM {quote('COLUMNS_V2')} c "
                f"JOIN {quote('SDS')} s ON s.{quote('CD_ID')} = c.{quote('CD_ID')} "
                f"WHERE s.{quote('SD_ID')} IN ({listed}) ORDER BY s.{quote('SD_ID')}, c.{place}"
            )
        else:
            sql = (
                f"SELECT {quote('SD_ID')}, {name}, {kind} FROM {quote('COLUMNS')} "
                f"WHERE {quote('SD_ID')} IN ({listed}) ORDER BY {quote('SD_ID')}, {place}"
            )
        for sd_id, column, hive_type in session.query(sql):
            for tbl_id in of_storage[int(sd_id)]:
                columns[tbl_id].append((str(column).lower(), str(hive_type)))
    partitions = session.query(
        f"SELECT {quote('TBL_ID')}, {quote('PKEY_NAME')}, {quote('PKEY_TYPE')} FROM {quote('PARTITION_KEYS')} "
        f"WHERE {quote('TBL_ID')} IN ({in_list(list(storage))}) ORDER BY {quote('TBL_ID')}, {place}"
    )
    for tbl_id, column, hive_type in partitions:
        columns[int(tbl_id)].append((str(column).lower(), str(hive_type)))
    return columns


def _parameters(session: Session, ids: list[int]) -> dict[int, dict[str, str]]:
    quote = session.dialect.quote
    found: dict[int, dict[str, str]] = defaultdict(dict)
    rows = session.query(
        f"SELECT {quote('TBL_ID')}, {quote('PARAM_KEY')}, {quote('PARAM_VALUE')} FROM {quote('TABLE_PARAMS')} "
        f"WHERE {quote('TBL_ID')} IN ({in_list(ids)})"
    )
    for tbl_id, key, value in rows:
        found[int(tbl_id)][key] = value or ""
    return found
