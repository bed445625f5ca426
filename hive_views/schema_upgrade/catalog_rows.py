"""Views and tables read from the metastore's database, for checks without a running metastore."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hive_views.identifiers import ViewName
from hive_views.schema_upgrade import view_texts
from hive_views.schema_upgrade.schema import Schema
from hive_views.schema_upgrade.session import Session, in_list
from hive_views.sql.resolver.scopes import TableSchema

_NAMES = 500
"""Maximum number of table names in one query."""

_CACHED = 2_000
"""Number of tables whose columns stay in memory between two batches of views."""

_NAME = r"[^\s`.,()='\"]+"
# The lookbehind lets a match begin only at the first character of a name, so the search takes linear time.
_QUALIFIED = re.compile(rf"(?<![^\s`.,()='\"])({_NAME})`?\s*\.\s*`?({_NAME})")

DEFAULT_CATALOG = "hive"
"""The only catalog before Hive 3.0, and the default catalog since."""

_TEXT_TYPES = ("VIRTUAL_VIEW", "MATERIALIZED_VIEW")


@dataclass(frozen=True, kw_only=True)
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
    """Columns of the tables of one catalog, read from the metastore's database and cached."""

    def __init__(self, session: Session, schema: Schema, catalog: str = DEFAULT_CATALOG) -> None:
        self._session = session
        self._schema = schema
        self._catalog = catalog
        self._cache: dict[ViewName, TableSchema | None] = {}
        self._databases: set[str] | None = None

    def table(self, database: str, name: str) -> TableSchema | None:
        """Return the columns of a table or view; see `hive_views.sql.resolver.scopes.Schemas`."""
        key = ViewName(database, name)
        if key not in self._cache:
            self._read(key.database, [key.name])
        return self._cache[key]

    def is_view(self, table: ViewName) -> bool:
        """Return whether a name is that of a view or materialized view."""
        columns = self.table(table.database, table.name)
        return columns is not None and columns.kind != "table"

    def prefetch(self, texts: Iterable[str]) -> None:
        """Read, in a few queries, the tables that texts may refer to: all pairs of names joined by a dot."""
        if self._databases is None:
            rows = self._session.query(self._session.dialect.sql("SELECT [NAME] FROM [DBS]"))
            self._databases = {str(row[0]) for row in rows}
        if len(self._cache) > _CACHED:
            self._cache.clear()
        by_database: dict[str, set[str]] = defaultdict(set)
        for text in texts:
            for database, name in _QUALIFIED.findall(text.lower()):
                if database in self._databases and ViewName(database, name) not in self._cache:
                    by_database[database].add(name)
        for database, names in by_database.items():
            listed = sorted(names)
            for start in range(0, len(listed), _NAMES):
                self._read(database, listed[start : start + _NAMES])

    def _read(self, database: str, names: Sequence[str]) -> None:
        """Read the columns of tables into the cache, with None for a table that does not exist."""
        values: dict[str, str] = {"database": database, **{f"name{n}": name for n, name in enumerate(names)}}
        catalog_condition = ""
        if self._schema.column("DBS", "CTLG_NAME"):
            values["catalog"] = self._catalog
            catalog_condition = " AND d.[CTLG_NAME] = :catalog"
        listed = ", ".join(f":name{n}" for n in range(len(names)))
        sql = self._session.dialect.sql(
            "SELECT t.[TBL_ID], t.[SD_ID], t.[TBL_TYPE], t.[TBL_NAME] "
            "FROM [TBLS] t JOIN [DBS] d ON d.[DB_ID] = t.[DB_ID] "
            f"WHERE d.[NAME] = :database AND t.[TBL_NAME] IN ({listed}){catalog_condition} ORDER BY t.[TBL_ID] DESC"
        )
        rows = self._session.query(sql, values)
        columns = _columns(self._session, self._schema, {int(row[0]): row[1] for row in rows}) if rows else {}
        self._cache |= dict.fromkeys(ViewName(database, name) for name in names)
        for tbl_id, _, table_type, name in rows:
            object_kind = {"VIRTUAL_VIEW": "view", "MATERIALIZED_VIEW": "materialized"}.get(table_type or "", "table")
            self._cache[ViewName(database, name)] = TableSchema(tuple(columns[int(tbl_id)]), object_kind)


def view_batches(session: Session, schema: Schema) -> Iterator[list[ViewRow]]:
    """Yield all views, in batches by TBL_ID that fit into memory."""
    sql = session.dialect.sql
    view_types = ", ".join(f"'{kind}'" for kind in _TEXT_TYPES)
    catalog = "d.[CTLG_NAME]" if schema.column("DBS", "CTLG_NAME") else f"'{DEFAULT_CATALOG}'"
    is_view = f"[VIEW_ORIGINAL_TEXT] IS NOT NULL OR [VIEW_EXPANDED_TEXT] IS NOT NULL OR [TBL_TYPE] IN ({view_types})"
    for ids in view_texts.id_batches(session, is_view):
        rows = session.query(
            sql(
                "SELECT t.[TBL_ID], d.[NAME], t.[TBL_NAME], t.[SD_ID], t.[VIEW_ORIGINAL_TEXT], t.[VIEW_EXPANDED_TEXT], "
                f"{catalog} FROM [TBLS] t JOIN [DBS] d ON d.[DB_ID] = t.[DB_ID] "
                f"WHERE t.[TBL_ID] IN ({in_list(ids)}) ORDER BY t.[TBL_ID]"
            )
        )
        if not rows:
            continue
        sd_ids = {int(row[0]): row[3] for row in rows}
        columns = _columns(session, schema, sd_ids)
        parameters = _parameters(session, list(sd_ids))
        yield [
            ViewRow(
                tbl_id=int(tbl_id),
                database=database,
                name=name,
                original=original,
                expanded=expanded,
                columns=tuple(columns[int(tbl_id)]),
                parameters=parameters[int(tbl_id)],
                catalog=catalog_name,
            )
            for tbl_id, database, name, _, original, expanded, catalog_name in rows
        ]


def _columns(session: Session, schema: Schema, sd_ids: dict[int, Any]) -> dict[int, list[tuple[str, str]]]:
    """Columns by TBL_ID, partition columns last, from COLUMNS_V2 (0.8 and later) or COLUMNS."""
    sql = session.dialect.sql
    columns: dict[int, list[tuple[str, str]]] = defaultdict(list)
    tbl_ids: dict[int, list[int]] = defaultdict(list)
    for tbl_id, sd_id in sd_ids.items():
        if sd_id is not None:
            tbl_ids[int(sd_id)].append(tbl_id)
    if tbl_ids:
        has_descriptors = schema.table("COLUMNS_V2") is not None
        source = "[COLUMNS_V2] c JOIN [SDS] s ON s.[CD_ID] = c.[CD_ID]" if has_descriptors else "[COLUMNS] s"
        listed = sql(
            f"SELECT s.[SD_ID], [COLUMN_NAME], [TYPE_NAME] FROM {source} "
            f"WHERE s.[SD_ID] IN ({in_list(list(tbl_ids))}) ORDER BY s.[SD_ID], [INTEGER_IDX]"
        )
        for sd_id, column, hive_type in session.query(listed):
            for tbl_id in tbl_ids[int(sd_id)]:
                columns[tbl_id].append((str(column).lower(), str(hive_type)))
    partitions = session.query(
        sql(
            "SELECT [TBL_ID], [PKEY_NAME], [PKEY_TYPE] FROM [PARTITION_KEYS] "
            f"WHERE [TBL_ID] IN ({in_list(list(sd_ids))}) ORDER BY [TBL_ID], [INTEGER_IDX]"
        )
    )
    for tbl_id, column, hive_type in partitions:
        columns[int(tbl_id)].append((str(column).lower(), str(hive_type)))
    return columns


def _parameters(session: Session, ids: list[int]) -> dict[int, dict[str, str]]:
    parameters: dict[int, dict[str, str]] = defaultdict(dict)
    sql = f"SELECT [TBL_ID], [PARAM_KEY], [PARAM_VALUE] FROM [TABLE_PARAMS] WHERE [TBL_ID] IN ({in_list(ids)})"
    for tbl_id, key, value in session.query(session.dialect.sql(sql)):
        parameters[int(tbl_id)][key] = value or ""
    return parameters
