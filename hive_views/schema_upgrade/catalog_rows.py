"""Views and tables read from the metastore's database, for checks without a running metastore."""

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
"""The only catalog before Hive 3.0, and the default catalog since."""

_TEXT_TYPES = ("VIRTUAL_VIEW", "MATERIALIZED_VIEW")


@dataclass(frozen=True)
class ViewRow:
    """A view with its columns and parameters."""

    tbl_id: int
    """Its TBL_ID."""
    database: str
    name: str
    original: str | None
    expanded: str | None
    columns: tuple[tuple[str, str], ...]
    """Name and Hive type of each column; partition columns are last."""
    parameters: dict[str, str]
    catalog: str = DEFAULT_CATALOG
    """The catalog of its database; Hive 3.0 and later have several."""

    @property
    def identifier(self) -> str:
        """`database.view`, or `catalog.database.view` if the catalog is not the default catalog."""
        prefix = "" if self.catalog == DEFAULT_CATALOG else f"{self.catalog}."
        return f"{prefix}{self.database}.{self.name}"


class DatabaseSchemas:
    """Columns of the tables of one catalog, read from the metastore's database once per table."""

    def __init__(self, session: Session, schema: Schema, catalog: str = DEFAULT_CATALOG) -> None:
        self._session = session
        self._schema = schema
        self._catalog = catalog
        self._cache: dict[ViewName, TableSchema | None] = {}

    def table(self, database: str, name: str) -> TableSchema | None:
        """The columns of a table or view; see `hive_views.sql.resolver.scopes.Schemas`."""
        key = ViewName(database, name)
        if key not in self._cache:
            self._cache[key] = self._read(key)
        return self._cache[key]

    def _read(self, name: ViewName) -> TableSchema | None:
        quote = self._session.dialect.quote
        values = {"database": name.database, "name": name.name}
        catalog_condition = ""
        if self._schema.column("DBS", "CTLG_NAME"):
            values["catalog"] = self._catalog
            catalog_condition = f" AND d.{quote('CTLG_NAME')} = :catalog"
        rows = self._session.query(
            f"SELECT t.{quote('TBL_ID')}, t.{quote('SD_ID')}, t.{quote('TBL_TYPE')} FROM {quote('TBLS')} t "
            f"JOIN {quote('DBS')} d ON d.{quote('DB_ID')} = t.{quote('DB_ID')} "
            f"WHERE d.{quote('NAME')} = :database AND t.{quote('TBL_NAME')} = :name{catalog_condition} "
            f"ORDER BY t.{quote('TBL_ID')}",
            values,
        )
        if not rows:
            return None
        tbl_id, sd_id, table_type = rows[0]
        columns = _columns(self._session, self._schema, {int(tbl_id): sd_id})[int(tbl_id)]
        object_kind = {"VIRTUAL_VIEW": "view", "MATERIALIZED_VIEW": "materialized"}.get(table_type or "", "table")
        return TableSchema(tuple(columns), object_kind)


def views(session: Session, schema: Schema) -> Iterator[ViewRow]:
    """All views in batches by TBL_ID."""
    quote = session.dialect.quote
    key, original_text, expanded_text = (quote(name) for name in ("TBL_ID", "VIEW_ORIGINAL_TEXT", "VIEW_EXPANDED_TEXT"))
    view_types = ", ".join(f"'{kind}'" for kind in _TEXT_TYPES)
    catalog = f"d.{quote('CTLG_NAME')}" if schema.column("DBS", "CTLG_NAME") else f"'{DEFAULT_CATALOG}'"
    after = -1
    while True:
        rows = session.query(
            f"SELECT t.{key}, d.{quote('NAME')}, t.{quote('TBL_NAME')}, t.{quote('SD_ID')}, t.{original_text}, "
            f"t.{expanded_text}, {catalog} FROM {quote('TBLS')} t "
            f"JOIN {quote('DBS')} d ON d.{quote('DB_ID')} = t.{quote('DB_ID')} "
            f"WHERE t.{key} > :after AND (t.{original_text} IS NOT NULL OR t.{expanded_text} IS NOT NULL "
            f"OR t.{quote('TBL_TYPE')} IN ({view_types})) ORDER BY t.{key} {session.dialect.limit(_BATCH)}",
            {"after": after},
        )
        if not rows:
            return
        sd_ids = {int(row[0]): row[3] for row in rows}
        columns = _columns(session, schema, sd_ids)
        parameters = _parameters(session, list(sd_ids))
        for raw_id, database, name, _, original, expanded, catalog_name in rows:
            tbl_id = int(raw_id)
            yield ViewRow(
                tbl_id, database, name, original, expanded, tuple(columns[tbl_id]), parameters[tbl_id], catalog_name
            )
        after = int(rows[-1][0])
        if len(rows) < _BATCH:
            return


def _columns(session: Session, schema: Schema, sd_ids: dict[int, Any]) -> dict[int, list[tuple[str, str]]]:
    """Columns by TBL_ID, partition columns last, from COLUMNS_V2 (0.8 and later) or COLUMNS."""
    quote = session.dialect.quote
    columns: dict[int, list[tuple[str, str]]] = defaultdict(list)
    tbl_ids: dict[int, list[int]] = defaultdict(list)
    for tbl_id, sd_id in sd_ids.items():
        if sd_id is not None:
            tbl_ids[int(sd_id)].append(tbl_id)
    name, kind, position = quote("COLUMN_NAME"), quote("TYPE_NAME"), quote("INTEGER_IDX")
    if tbl_ids:
        listed = in_list(list(tbl_ids))
        if schema.table("COLUMNS_V2"):
            sql = (
                f"SELECT s.{quote('SD_ID')}, c.{name}, c.{kind} FROM {quote('COLUMNS_V2')} c "
                f"JOIN {quote('SDS')} s ON s.{quote('CD_ID')} = c.{quote('CD_ID')} "
                f"WHERE s.{quote('SD_ID')} IN ({listed}) ORDER BY s.{quote('SD_ID')}, c.{position}"
            )
        else:
            sql = (
                f"SELECT {quote('SD_ID')}, {name}, {kind} FROM {quote('COLUMNS')} "
                f"WHERE {quote('SD_ID')} IN ({listed}) ORDER BY {quote('SD_ID')}, {position}"
            )
        for sd_id, column, hive_type in session.query(sql):
            for tbl_id in tbl_ids[int(sd_id)]:
                columns[tbl_id].append((str(column).lower(), str(hive_type)))
    partitions = session.query(
        f"SELECT {quote('TBL_ID')}, {quote('PKEY_NAME')}, {quote('PKEY_TYPE')} FROM {quote('PARTITION_KEYS')} "
        f"WHERE {quote('TBL_ID')} IN ({in_list(list(sd_ids))}) ORDER BY {quote('TBL_ID')}, {position}"
    )
    for tbl_id, column, hive_type in partitions:
        columns[int(tbl_id)].append((str(column).lower(), str(hive_type)))
    return columns


def _parameters(session: Session, ids: list[int]) -> dict[int, dict[str, str]]:
    quote = session.dialect.quote
    parameters: dict[int, dict[str, str]] = defaultdict(dict)
    rows = session.query(
        f"SELECT {quote('TBL_ID')}, {quote('PARAM_KEY')}, {quote('PARAM_VALUE')} FROM {quote('TABLE_PARAMS')} "
        f"WHERE {quote('TBL_ID')} IN ({in_list(ids)})"
    )
    for tbl_id, key, value in rows:
        parameters[int(tbl_id)][key] = value or ""
    return parameters
