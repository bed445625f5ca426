"""Requirements of views on a metastore schema, as data for all databases.

Each entry names its source: the Hive issue whose upgrade script made the change, or the chapter "Metastore Upgrades" of
the proposal "Hive Views".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hive_views.text_enum import TextEnum

PARAMETER_LENGTH = 32672
"""The minimum capacity of a parameter value in characters; it holds an Iceberg schema as JSON, or a location. This is
the maximum length of VARCHAR on Derby: filters and compare-and-swap of the metastore cannot compare a CLOB."""


class TypeKind(TextEnum):
    """A kind of types that each dialect has a type for."""

    BIGINT = "bigint"
    INT = "int"
    VARCHAR = "varchar"
    """With a length."""
    CHAR = "char"
    """With a length."""
    VIEW_TEXT = "view_text"
    PARAMETER = "parameter"
    LONG_TEXT = "long_text"
    FLAG = "flag"
    OWN_TEXT = "own_text"
    """Long texts in the journal and the backup."""


@dataclass(frozen=True)
class Type:
    """A type that each dialect maps to a type of its database."""

    kind: TypeKind
    length: int = 0


@dataclass(frozen=True)
class NeededColumn:
    """A column that a table must have."""

    name: str
    type: Type
    nullable: bool = True
    default: str | None = None
    """`0` or `false`; None for no default. The metastore reads a column with a default as a primitive, and fails on a
    row that holds NULL in it."""
    required_on: tuple[str, ...] = ()
    """Databases on which Hive's scripts declare it NOT NULL, although it is nullable on the others."""
    required_since: str | None = None
    """The first schema version in which it is NOT NULL; None if `nullable` holds for all versions."""


@dataclass(frozen=True)
class Addition:
    """A column that a version of Hive added to a table."""

    table: str
    column: NeededColumn
    since: str
    """The first schema version with the column."""
    source: str
    """The Hive issue."""
    reason: str
    """Why views need it."""

    @property
    def id(self) -> str:
        """The ID of the step that adds it."""
        return f"{self.table}.{self.column.name}"


@dataclass(frozen=True)
class Widening:
    """A column that must have a larger type."""

    table: str
    column: str
    type: Type
    since: str | None
    """The first schema version with the larger type; None if views need it in every version."""
    source: str
    reason: str

    @property
    def id(self) -> str:
        """The ID of the step that widens it."""
        return f"{self.table}.{self.column} wide"


@dataclass(frozen=True)
class Recoding:
    """A text column that latin1 damages on MySQL and MariaDB."""

    table: str
    column: str
    unchanged_before: str | None = None
    """Before this version a later script of Hive changes the column back to latin1, which damages its values."""
    since = None

    @property
    def id(self) -> str:
        """The ID of the step that changes the character set."""
        return f"{self.table}.{self.column} utf8mb4"


@dataclass(frozen=True)
class ForeignKey:
    """A reference to another table."""

    name: str
    column: str
    table: str


@dataclass(frozen=True)
class NeededTable:
    """A required table."""

    name: str
    columns: tuple[NeededColumn, ...]
    primary_key: tuple[str, ...]
    since: str
    source: str
    reason: str
    key_name: str | None = None
    """The name of the primary key; None leaves it to the database."""
    foreign_keys: tuple[ForeignKey, ...] = ()
    first_value: int | None = None
    """The value of its one row, for a table that holds a counter."""
    renamed_in: str | None = None
    """The first version with upper-case names on PostgreSQL; earlier scripts did not quote the names."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Options at the end of CREATE TABLE, by database."""

    @property
    def id(self) -> str:
        """The ID of the step that creates it."""
        return self.name

    @property
    def table(self) -> str:
        """Its name, as other requirements name their table."""
        return self.name


@dataclass(frozen=True)
class NeededIndex:
    """An index without which a lookup scans a whole table."""

    name: str
    table: str
    columns: tuple[str, ...]
    reason: str
    unique: bool = False
    since: str | None = None
    """The first schema version with the table; None for all versions."""
    is_hives: bool = True
    """Whether Hive's scripts create it as well."""

    @property
    def id(self) -> str:
        """The ID of the step that creates it."""
        return f"{self.table} index {self.name}"


BIGINT, INT, FLAG = Type(TypeKind.BIGINT), Type(TypeKind.INT), Type(TypeKind.FLAG)


def _varchar(length: int) -> Type:
    return Type(TypeKind.VARCHAR, length)


ADDITIONS = (
    Addition(
        "TBLS",
        NeededColumn("VIEW_ORIGINAL_TEXT", Type(TypeKind.VIEW_TEXT)),
        "0.6.0",
        "HIVE-972",
        "holds the text of a view as its author typed it",
    ),
    Addition(
        "TBLS",
        NeededColumn("VIEW_EXPANDED_TEXT", Type(TypeKind.VIEW_TEXT)),
        "0.6.0",
        "HIVE-972",
        "holds the text of a view with qualified tables and columns, which readers execute",
    ),
    Addition(
        "TBLS",
        NeededColumn("TBL_TYPE", _varchar(128)),
        "0.6.0",
        "HIVE-1068",
        "distinguishes views, managed tables and external tables",
    ),
    Addition(
        "TBLS",
        NeededColumn("IS_REWRITE_ENABLED", FLAG, nullable=False, default="false"),
        "2.2.0",
        "HIVE-14496",
        "indicates whether queries may be rewritten to a materialized view; the metastore reads it with every row",
    ),
    Addition(
        "TBLS",
        NeededColumn("OWNER_TYPE", _varchar(10)),
        "3.0.0",
        "HIVE-19372",
        "indicates whether the owner is a user or a role; the metastore reads it with every row",
    ),
    Addition(
        "TBLS",
        # Hive 4.0.1 fails on each row with NULL; SQL Server sets a new nullable column to NULL in existing rows.
        NeededColumn("WRITE_ID", BIGINT, default="0", required_on=("oracle", "sqlserver")),
        "4.0.0-alpha-1",
        "HIVE-19416",
        "holds the last write ID of the row; the metastore reads it with every row",
    ),
    Addition(
        "HIVE_LOCKS",
        NeededColumn("HL_HEARTBEAT_COUNT", INT),
        "2.0.0",
        "HIVE-11444",
        "counts the heartbeats of a lock",
    ),
    Addition(
        "HIVE_LOCKS",
        NeededColumn("HL_AGENT_INFO", _varchar(128)),
        "2.0.0",
        "HIVE-11965",
        "identifies the program that holds a lock; hive_views uses it to find its lock after a lost reply",
    ),
    Addition(
        "HIVE_LOCKS",
        NeededColumn("HL_BLOCKEDBY_EXT_ID", BIGINT),
        "2.0.0",
        "HIVE-11965",
        "identifies the lock that a waiting lock waits for",
    ),
    Addition(
        "HIVE_LOCKS",
        NeededColumn("HL_BLOCKEDBY_INT_ID", BIGINT),
        "2.0.0",
        "HIVE-11965",
        "identifies the component of the lock that a waiting lock waits for",
    ),
    Addition(
        "MV_CREATION_METADATA",
        NeededColumn("MATERIALIZATION_TIME", BIGINT, nullable=False, default="0"),
        "3.1.0",
        "HIVE-20006",
        "holds the time of the last rebuild of a materialized view",
    ),
    Addition(
        "MV_TABLES_USED",
        NeededColumn("INSERTED_COUNT", BIGINT, nullable=False, default="0"),
        "4.0.0-alpha-1",
        "HIVE-25656",
        "counts rows inserted into a source table since the last rebuild",
    ),
    Addition(
        "MV_TABLES_USED",
        NeededColumn("UPDATED_COUNT", BIGINT, nullable=False, default="0"),
        "4.0.0-alpha-1",
        "HIVE-25656",
        "counts rows updated in a source table since the last rebuild",
    ),
    Addition(
        "MV_TABLES_USED",
        NeededColumn("DELETED_COUNT", BIGINT, nullable=False, default="0"),
        "4.0.0-alpha-1",
        "HIVE-25656",
        "counts rows deleted from a source table since the last rebuild",
    ),
)
"""Columns that views, materialized views and their locks need, in the order in which they are added."""


WIDENINGS: tuple[Widening, ...] = (
    Widening(
        "TBLS",
        "VIEW_ORIGINAL_TEXT",
        Type(TypeKind.VIEW_TEXT),
        None,
        "Hive Views",
        "a narrower column truncates or rejects long view texts",
    ),
    Widening(
        "TBLS",
        "VIEW_EXPANDED_TEXT",
        Type(TypeKind.VIEW_TEXT),
        None,
        "Hive Views",
        "a narrower column truncates or rejects long view texts",
    ),
    Widening("TBLS", "TBL_NAME", _varchar(256), "2.2.0", "HIVE-12274", "the name of a view may have 256 characters"),
    Widening(
        "TABLE_PARAMS",
        "PARAM_VALUE",
        Type(TypeKind.PARAMETER),
        None,
        "HIVE-12274",
        "holds metadata_location and the schema as JSON, which has no maximum length; the metastore compares it in the "
        "compare-and-swap of a commit",
    ),
    Widening(
        "HIVE_LOCKS",
        "HL_TABLE",
        _varchar(256),
        "4.0.0-alpha-1",
        "HIVE-21075",
        "holds the full name of a locked view",
    ),
    *(
        Widening(each.table, each.column.name, each.column.type, each.since, each.source, each.reason)
        for each in ADDITIONS
        if each.column.type.kind is TypeKind.VARCHAR
    ),
)
"""Columns that must have a larger type."""

TABLES = (
    NeededTable(
        "HIVE_LOCKS",
        (
            NeededColumn("HL_LOCK_EXT_ID", BIGINT, nullable=False),
            NeededColumn("HL_LOCK_INT_ID", BIGINT, nullable=False),
            NeededColumn("HL_TXNID", BIGINT, required_since="3.0.0"),
            NeededColumn("HL_DB", _varchar(128), nullable=False),
            NeededColumn("HL_TABLE", _varchar(256)),
            NeededColumn("HL_PARTITION", _varchar(767)),
            NeededColumn("HL_LOCK_STATE", Type(TypeKind.CHAR, 1), nullable=False),
            NeededColumn("HL_LOCK_TYPE", Type(TypeKind.CHAR, 1), nullable=False),
            NeededColumn("HL_LAST_HEARTBEAT", BIGINT, nullable=False),
            NeededColumn("HL_ACQUIRED_AT", BIGINT),
            NeededColumn("HL_USER", _varchar(128), nullable=False),
            NeededColumn("HL_HOST", _varchar(128), nullable=False),
        ),
        ("HL_LOCK_EXT_ID", "HL_LOCK_INT_ID"),
        "0.13.0",
        "HIVE-5317",
        "holds the locks of the metastore, which view commits acquire",
        renamed_in="4.0.0-alpha-1",
        options={"oracle": " ROWDEPENDENCIES"},
    ),
    NeededTable(
        "NEXT_LOCK_ID",
        (NeededColumn("NL_NEXT", BIGINT, nullable=False),),
        (),
        "0.13.0",
        "HIVE-5317",
        "holds the next lock ID",
        first_value=1,
        renamed_in="4.0.0-alpha-1",
    ),
    NeededTable(
        "AUX_TABLE",
        (
            NeededColumn("MT_KEY1", _varchar(128), nullable=False),
            NeededColumn("MT_KEY2", BIGINT, nullable=False),
            NeededColumn("MT_COMMENT", _varchar(255)),
        ),
        ("MT_KEY1", "MT_KEY2"),
        "2.0.0",
        "HIVE-12832",
        "serializes lock decisions of several metastores",
        renamed_in="4.0.0-alpha-1",
    ),
    NeededTable(
        "MV_CREATION_METADATA",
        (
            NeededColumn("MV_CREATION_METADATA_ID", BIGINT, nullable=False),
            NeededColumn("CAT_NAME", _varchar(256), nullable=False),
            NeededColumn("DB_NAME", _varchar(128), nullable=False),
            NeededColumn("TBL_NAME", _varchar(256), nullable=False),
            NeededColumn("TXN_LIST", Type(TypeKind.LONG_TEXT)),
        ),
        ("MV_CREATION_METADATA_ID",),
        "3.0.0",
        "HIVE-14498",
        "holds the transactions that the rows of a materialized view were computed from",
        key_name="MV_CREATION_METADATA_PK",
    ),
    NeededTable(
        "MV_TABLES_USED",
        (
            NeededColumn("MV_CREATION_METADATA_ID", BIGINT, nullable=False),
            NeededColumn("TBL_ID", BIGINT, nullable=False),
        ),
        (),
        "3.0.0",
        "HIVE-14498",
        "lists the tables that a materialized view reads",
        foreign_keys=(
            ForeignKey("MV_TABLES_USED_FK1", "MV_CREATION_METADATA_ID", "MV_CREATION_METADATA"),
            ForeignKey("MV_TABLES_USED_FK2", "TBL_ID", "TBLS"),
        ),
    ),
    NeededTable(
        "MATERIALIZATION_REBUILD_LOCKS",
        (
            NeededColumn("MRL_TXN_ID", BIGINT, nullable=False),
            NeededColumn("MRL_DB_NAME", _varchar(128), nullable=False),
            NeededColumn("MRL_TBL_NAME", _varchar(256), nullable=False),
            NeededColumn("MRL_LAST_HEARTBEAT", BIGINT, nullable=False),
        ),
        ("MRL_TXN_ID",),
        "3.1.0",
        "HIVE-20006",
        "serializes rebuilds of a materialized view",
        renamed_in="4.0.0-alpha-1",
    ),
)
"""Tables that views, materialized views and their locks need."""

INDEXES = (
    NeededIndex(
        "TBLS_N49",
        "TBLS",
        ("DB_ID",),
        "lists and filters the names of a database without scanning all tables",
    ),
    NeededIndex(
        "TABLE_PARAMS_N49",
        "TABLE_PARAMS",
        ("TBL_ID",),
        "finds the parameters of a row: metadata location, type, lineage",
    ),
    NeededIndex(
        "HIVE_VIEWS_PARAMS",
        "TABLE_PARAMS",
        ("PARAM_KEY", "TBL_ID"),
        "finds rows by a parameter that only views have; Hive creates no index for it",
        is_hives=False,
    ),
    NeededIndex(
        "HL_TXNID_INDEX",
        "HIVE_LOCKS",
        ("HL_TXNID",),
        "finds the locks of a transaction",
        since="0.13.0",
    ),
    NeededIndex(
        "MV_UNIQUE_TABLE",
        "MV_CREATION_METADATA",
        ("TBL_NAME", "DB_NAME"),
        "finds the creation metadata of a materialized view",
        since="3.0.0",
    ),
)
"""Indexes that filters and lookups need."""

PRIMITIVES = {
    "TBLS": ("CREATE_TIME", "LAST_ACCESS_TIME", "RETENTION"),
    "SDS": ("NUM_BUCKETS", "IS_COMPRESSED", "IS_STOREDASSUBDIRECTORIES"),
    "SORT_COLS": ("ORDER",),
    "PARTITIONS": ("CREATE_TIME", "LAST_ACCESS_TIME", "WRITE_ID"),
    "KEY_CONSTRAINTS": ("POSITION", "CONSTRAINT_TYPE", "ENABLE_VALIDATE_RELY"),
    "TBL_PRIVS": ("CREATE_TIME", "GRANT_OPTION"),
    "TBL_COL_PRIVS": ("CREATE_TIME", "GRANT_OPTION"),
    "PART_PRIVS": ("CREATE_TIME", "GRANT_OPTION"),
    "PART_COL_PRIVS": ("CREATE_TIME", "GRANT_OPTION"),
    "MV_CREATION_METADATA": ("MATERIALIZATION_TIME",),
    "MV_TABLES_USED": ("INSERTED_COUNT", "UPDATED_COUNT", "DELETED_COUNT"),
}
"""Columns of tables, views and partitions that the metastore's classes read as `int`, `long` or `boolean`, which cannot
be NULL, besides TBLS.WRITE_ID and TBLS.IS_REWRITE_ENABLED, which a plan fills in. A row with NULL cannot be read. The
list was compared with all model classes and package.jdo of Hive 4.2.0, which allows NULL in the times of DBS and CTLGS
and in SERDES.SERDE_TYPE."""

RECODINGS = (
    Recoding("TBLS", "VIEW_ORIGINAL_TEXT"),
    Recoding("TBLS", "VIEW_EXPANDED_TEXT"),
    Recoding("TABLE_PARAMS", "PARAM_VALUE", "2.2.0"),
)
"""Text columns that must hold all characters."""

Requirement = NeededTable | Addition | Widening | Recoding | NeededIndex

_ALL: tuple[Requirement, ...] = (*TABLES, *ADDITIONS, *WIDENINGS, *RECODINGS, *INDEXES)
REQUIREMENTS = {each.id: each for each in _ALL}
"""The requirement that each schema step meets, by the ID of the step."""


def filled_column(name: str) -> NeededColumn:
    """Return the column of TBLS in which a plan replaces invalid values by the default."""
    return next(each.column for each in ADDITIONS if each.id == f"TBLS.{name}")
