"""Statements of the view DDL as dataclasses, as `hive_views.sql.parsing.ddl` reads them.

Positions are offsets into the statement's text, in characters.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from hive_views.sql.parsing.parser import ParsedQuery, parse_text
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.text.tokens import Text


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
    dialect: Dialect


@dataclass(frozen=True)
class NamedStatement(Statement):
    """A statement about one object."""

    name: ObjectName


@dataclass(frozen=True)
class DefiningStatement(NamedStatement):
    """A statement that defines the view `name` by a query."""

    query: Query

    @cached_property
    def query_text(self) -> Text:
        """The query's tokens; errors point into the statement."""
        return Text(self.query.sql, self.dialect, whole=self.text, offset=self.query.start)

    @cached_property
    def parsed_query(self) -> ParsedQuery:
        """The query's text and syntax tree; errors point into the statement."""
        return parse_text(self.query_text)


@dataclass(frozen=True)
class _CreateStatement(DefiningStatement):
    or_replace: bool = False
    if_not_exists: bool = False
    columns: tuple[ColumnSpec, ...] | None = None
    comment: str | None = None
    partitioned_on: tuple[str, ...] | None = None
    """Columns in lower case; of a materialized view also transforms of columns, as written."""
    properties: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class CreateView(_CreateStatement):
    """CREATE [OR REPLACE] VIEW."""

    temporary: bool = False
    security: str | None = None
    """Trino's SECURITY: `definer` or `invoker`."""
    schema_mode: str | None = None
    """Spark's WITH SCHEMA: `binding`, `compensation`, `type evolution` or `evolution`."""


@dataclass(frozen=True)
class CreateMaterializedView(_CreateStatement):
    """CREATE [OR REPLACE] MATERIALIZED VIEW."""

    rewrite: bool | None = None
    """True for ENABLE REWRITE, False for DISABLE REWRITE, None without either."""
    clustered_on: tuple[str, ...] = ()
    distributed_on: tuple[str, ...] = ()
    sorted_on: tuple[str, ...] = ()
    """Hive's SORTED ON: columns."""
    sorted_by: tuple[str, ...] = ()
    """SORTED BY: columns, or transforms of columns, each with its direction and the order of NULLs if it has them."""
    stored_as: str | None = None
    stored_by: str | None = None
    row_format: str | None = None
    location: str | None = None
    grace_period: str | None = None
    storage_properties: tuple[tuple[str, str], ...] = ()
    """STORAGE PROPERTIES: the properties of the storage table."""


@dataclass(frozen=True)
class AlterViewAs(DefiningStatement):
    """ALTER VIEW … [AS] query, ALTER MATERIALIZED VIEW … AS query."""

    materialized: bool = False


@dataclass(frozen=True)
class AlterViewSetProperties(NamedStatement):
    """ALTER [MATERIALIZED] VIEW … SET TBLPROPERTIES (Trino: SET PROPERTIES)."""

    properties: tuple[tuple[str, str], ...]
    materialized: bool = False


@dataclass(frozen=True)
class AlterViewUnsetProperties(NamedStatement):
    """ALTER [MATERIALIZED] VIEW … UNSET TBLPROPERTIES [IF EXISTS]."""

    keys: tuple[str, ...]
    if_exists: bool = False
    materialized: bool = False


@dataclass(frozen=True)
class AlterViewRename(NamedStatement):
    """ALTER [MATERIALIZED] VIEW [IF EXISTS] … RENAME TO."""

    new_name: ObjectName
    if_exists: bool = False
    materialized: bool = False


@dataclass(frozen=True)
class AlterViewRecompile(NamedStatement):
    """ALTER VIEW … RECOMPILE: expand the author's text again."""


PartitionSpec = tuple[tuple[str, str | None], ...]


@dataclass(frozen=True)
class AlterViewAddPartitions(NamedStatement):
    """ALTER VIEW … ADD [IF NOT EXISTS] PARTITION (…)."""

    partitions: tuple[PartitionSpec, ...]
    if_not_exists: bool = False


@dataclass(frozen=True)
class AlterViewDropPartitions(NamedStatement):
    """ALTER VIEW … DROP [IF EXISTS] PARTITION (…)."""

    partitions: tuple[PartitionSpec, ...]
    if_exists: bool = False


@dataclass(frozen=True)
class ShowPartitions(NamedStatement):
    """SHOW PARTITIONS name [PARTITION (…)]."""

    partition: PartitionSpec = ()


@dataclass(frozen=True)
class AlterMaterializedViewRewrite(NamedStatement):
    """ALTER MATERIALIZED VIEW … ENABLE | DISABLE REWRITE."""

    enabled: bool


@dataclass(frozen=True)
class RefreshMaterializedView(NamedStatement):
    """REFRESH MATERIALIZED VIEW … [FULL | INCREMENTAL] [CASCADE], or Hive's ALTER MATERIALIZED VIEW … REBUILD."""

    full: bool = False
    incremental: bool = False
    cascade: bool = False
    """Whether the materialized views that this one reads are refreshed first."""


@dataclass(frozen=True)
class ExplainRefresh(NamedStatement):
    """EXPLAIN REFRESH MATERIALIZED VIEW, which changes nothing."""


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
class Describe(NamedStatement):
    """DESCRIBE [EXTENDED | FORMATTED]."""

    extended: bool = False
    formatted: bool = False
