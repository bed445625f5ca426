"""Statements of the view DDL as dataclasses, as `hive_views.sql.parsing.ddl` reads them.

Positions are offsets into the statement's text, in characters.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from hive_views.sql.parsing.parser import ParsedQuery, parse_query


@dataclass(frozen=True)
class ObjectName:
    """A name as written, without quotes: `view`, `database.view` or `catalog.database.view`."""

    parts: tuple[str, ...]
    start: int = field(compare=False, default=0)
    """Where the name begins."""

    @property
    def name(self) -> str:
        """The last part in lower case."""
        return self.parts[-1].lower()

    def database(self, current: str) -> str:
        """Return the database in lower case: the one in the name, or the current database."""
        return self.parts[-2].lower() if len(self.parts) > 1 else current.lower()

    def __str__(self) -> str:
        return ".".join(self.parts)


@dataclass(frozen=True)
class ColumnSpec:
    """A column of a column list, with its comment."""

    name: str
    comment: str | None = None
    start: int = field(compare=False, default=0)


@dataclass(frozen=True)
class Query:
    """The query inside a statement: its text, and where it begins."""

    sql: str
    start: int = field(compare=False, default=0)


@dataclass(frozen=True)
class Statement:
    """A statement: its text, and the dialect that it was read in."""

    text: str = field(repr=False)
    dialect: str


@dataclass(frozen=True)
class DefiningStatement(Statement):
    """A statement that defines the view `name` by a query."""

    name: ObjectName
    query: Query

    @cached_property
    def parsed_query(self) -> ParsedQuery:
        """The query's text and syntax tree; errors point into the statement."""
        return parse_query(self.query.sql, self.dialect, whole=self.text, offset=self.query.start)


@dataclass(frozen=True)
class CreateView(DefiningStatement):
    """CREATE [OR REPLACE] VIEW."""

    or_replace: bool = False
    if_not_exists: bool = False
    columns: tuple[ColumnSpec, ...] | None = None
    comment: str | None = None
    partitioned_on: tuple[str, ...] | None = None
    properties: tuple[tuple[str, str], ...] = ()
    temporary: bool = False
    security: str | None = None
    """Trino's SECURITY: `definer` or `invoker`."""
    schema_mode: str | None = None
    """Spark's WITH SCHEMA: `binding`, `compensation`, `type evolution` or `evolution`."""


@dataclass(frozen=True)
class CreateMaterializedView(DefiningStatement):
    """CREATE [OR REPLACE] MATERIALIZED VIEW."""

    or_replace: bool = False
    if_not_exists: bool = False
    columns: tuple[ColumnSpec, ...] | None = None
    comment: str | None = None
    rewrite: bool | None = None
    """True for ENABLE REWRITE, False for DISABLE REWRITE, None without either."""
    partitioned_on: tuple[str, ...] | None = None
    clustered_on: tuple[str, ...] = ()
    distributed_on: tuple[str, ...] = ()
    sorted_on: tuple[str, ...] = ()
    stored_as: str | None = None
    stored_by: str | None = None
    row_format: str | None = None
    location: str | None = None
    grace_period: str | None = None
    properties: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class AlterViewAs(DefiningStatement):
    """ALTER VIEW … [AS] query, ALTER MATERIALIZED VIEW … AS query."""

    materialized: bool = False


@dataclass(frozen=True)
class AlterViewSetProperties(Statement):
    """ALTER [MATERIALIZED] VIEW … SET TBLPROPERTIES (Trino: SET PROPERTIES)."""

    name: ObjectName
    properties: tuple[tuple[str, str], ...]
    materialized: bool = False


@dataclass(frozen=True)
class AlterViewUnsetProperties(Statement):
    """ALTER [MATERIALIZED] VIEW … UNSET TBLPROPERTIES [IF EXISTS]."""

    name: ObjectName
    keys: tuple[str, ...]
    if_exists: bool = False
    materialized: bool = False


@dataclass(frozen=True)
class AlterViewRename(Statement):
    """ALTER [MATERIALIZED] VIEW [IF EXISTS] … RENAME TO."""

    name: ObjectName
    new_name: ObjectName
    if_exists: bool = False
    materialized: bool = False


@dataclass(frozen=True)
class AlterViewRecompile(Statement):
    """ALTER VIEW … RECOMPILE: expand the author's text again."""

    name: ObjectName


PartitionSpec = tuple[tuple[str, str | None], ...]


@dataclass(frozen=True)
class AlterViewAddPartitions(Statement):
    """ALTER VIEW … ADD [IF NOT EXISTS] PARTITION (…)."""

    name: ObjectName
    partitions: tuple[PartitionSpec, ...]
    if_not_exists: bool = False


@dataclass(frozen=True)
class AlterViewDropPartitions(Statement):
    """ALTER VIEW … DROP [IF EXISTS] PARTITION (…)."""

    name: ObjectName
    partitions: tuple[PartitionSpec, ...]
    if_exists: bool = False


@dataclass(frozen=True)
class ShowPartitions(Statement):
    """SHOW PARTITIONS name [PARTITION (…)]."""

    name: ObjectName
    partition: PartitionSpec = ()


@dataclass(frozen=True)
class AlterMaterializedViewRewrite(Statement):
    """ALTER MATERIALIZED VIEW … ENABLE | DISABLE REWRITE."""

    name: ObjectName
    enabled: bool


@dataclass(frozen=True)
class RefreshMaterializedView(Statement):
    """REFRESH MATERIALIZED VIEW … [FULL | INCREMENTAL] [CASCADE], or Hive's ALTER MATERIALIZED VIEW … REBUILD."""

    name: ObjectName
    full: bool = False
    incremental: bool = False
    cascade: bool = False
    """Whether the materialized views that it reads are refreshed first."""


@dataclass(frozen=True)
class Drop(Statement):
    """DROP VIEW | TABLE | MATERIALIZED VIEW [IF EXISTS] … [RESTRICT | CASCADE] [PURGE]."""

    kind: str
    """`view`, `table` or `materialized view`."""
    name: ObjectName
    if_exists: bool = False
    behavior: str | None = None
    """`restrict`, `cascade`, or None without either."""
    purge: bool = False


@dataclass(frozen=True)
class ShowViews(Statement):
    """SHOW [MATERIALIZED] VIEWS [IN | FROM database] [[LIKE] 'pattern']."""

    database: str | None = None
    pattern: str | None = None
    materialized: bool = False


@dataclass(frozen=True)
class ShowCreate(Statement):
    """SHOW CREATE VIEW | TABLE | MATERIALIZED VIEW."""

    kind: str
    name: ObjectName


@dataclass(frozen=True)
class Describe(Statement):
    """DESCRIBE [EXTENDED | FORMATTED]."""

    name: ObjectName
    extended: bool = False
    formatted: bool = False
