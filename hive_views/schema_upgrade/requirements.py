"""What views need in a metastore schema, as data for all databases; each entry names its source.

Sources: Hive's upgrade scripts (the issues named), and Hive Views, Metastore Upgrades.
"""

from __future__ import annotations

from dataclasses import dataclass

PARAMETER_LENGTH = 32672
"""Characters that a parameter must be able to hold, at least: an Iceberg schema as JSON, a location. As long as
Derby's longest VARCHAR, which the metastore's filters and compare-and-swap can compare; a CLOB they cannot."""


@dataclass(frozen=True)
class Type:
    """A type without a database: each dialect says what it is there.

    Kinds: `bigint`, `int`, `varchar` and `char` with a length, `view_text`, `parameter`, `long_text`, `flag`.
    """

    kind: str
    length: int = 0


@dataclass(frozen=True)
class NeededColumn:
    """A column that a table must have."""

    name: str
    type: Type
    nullable: bool = True
    default: str | None = None
    """`0` or `false`; None is no default."""


@dataclass(frozen=True)
class Addition:
    """A column that a version of Hive added to a table."""

    table: str
    column: NeededColumn
    since: str
    """The first schema version that has it."""
    source: str
    """Hive's issue."""
    reason: str
    """Why views need it."""


@dataclass(frozen=True)
class Widening:
    """A column that must be able to hold more than it once could."""

    table: str
    column: str
    type: Type
    since: str | None
    """The schema version from which on Hive has it so; None where views need it under any version."""
    script: str
    """The schema version whose script of Hive's does the same."""
    source: str
    reason: str


@dataclass(frozen=True)
class ForeignKey:
    """A reference to another table."""

    name: str
    column: str
    table: str


@dataclass(frozen=True)
class NeededTable:
    """A table that must be there."""

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
    """The version from which on PostgreSQL has its names in upper case; before, they were not quoted."""


@dataclass(frozen=True)
class NeededIndex:
    """An index without which a look-up reads a whole table."""

    name: str
    table: str
    columns: tuple[str, ...]
    reason: str
    unique: bool = False


BIGINT, INT, FLAG = Type("bigint"), Type("int"), Type("flag")


def _varchar(length: int) -> Type:
    return Type("varchar", length)


ADDITIONS = (
    Addition(
        "TBLS",
        NeededColumn("VIEW_ORIGINAL_TEXT", Type("view_text")),
        "0.6.0",
        "HIVE-972",
        "holds the text of a view as its author typed it",
    ),
    Addition(
        "TBLS",
        NeededColumn("VIEW_EXPANDED_TEXT", Type("view_text")),
        "0.6.0",
        "HIVE-972",
        "holds the text of a view as it is run: every table and column complete",
    ),
    Addition(
        "TBLS",
        NeededColumn("TBL_TYPE", _varchar(128)),
        "0.6.0",
        "HIVE-1068",
        "tells views from tables, and managed tables from external ones",
    ),
    Addition(
        "TBLS",
        NeededColumn("IS_REWRITE_ENABLED", FLAG, nullable=False, default="false"),
        "2.2.0",
        "HIVE-14496",
        "says whether queries may be rewritten to a materialized view; the metastore reads it with every row",
    ),
    Addition(
        "TBLS",
        NeededColumn("OWNER_TYPE", _varchar(10)),
        "3.0.0",
        "HIVE-19372",
        "says whether the owner is a user or a role; the metastore reads it with every row",
    ),
    Addition(
        "TBLS",
        NeededColumn("WRITE_ID", BIGINT, default="0"),
        "4.0.0-alpha-1",
        "HIVE-19416",
        "the row's last write id; the metastore reads it with every row",
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
        "says which program holds a lock: hive_views finds its own lock by it when an answer was lost",
    ),
    Addition(
        "HIVE_LOCKS",
        NeededColumn("HL_BLOCKEDBY_EXT_ID", BIGINT),
        "2.0.0",
        "HIVE-11965",
        "says which lock a waiting one waits for",
    ),
    Addition(
        "HIVE_LOCKS",
        NeededColumn("HL_BLOCKEDBY_INT_ID", BIGINT),
        "2.0.0",
        "HIVE-11965",
        "says which part of a lock a waiting one waits for",
    ),
    Addition(
        "MV_CREATION_METADATA",
        NeededColumn("MATERIALIZATION_TIME", BIGINT, nullable=False, default="0"),
        "3.1.0",
        "HIVE-20006",
        "says how old a materialized view's rows are",
    ),
    Addition(
        "MV_TABLES_USED",
        NeededColumn("INSERTED_COUNT", BIGINT, nullable=False, default="0"),
        "4.0.0-alpha-1",
        "HIVE-25656",
        "counts what a source table gained since the last rebuild",
    ),
    Addition(
        "MV_TABLES_USED",
        NeededColumn("UPDATED_COUNT", BIGINT, nullable=False, default="0"),
        "4.0.0-alpha-1",
        "HIVE-25656",
        "counts what was changed in a source table since the last rebuild",
    ),
    Addition(
        "MV_TABLES_USED",
        NeededColumn("DELETED_COUNT", BIGINT, nullable=False, default="0"),
        "4.0.0-alpha-1",
        "HIVE-25656",
        "counts what a source table lost since the last rebuild",
    ),
)
"""Columns that views, materialized views and their locks need, in the order in which they are added."""

WIDENINGS = (
    Widening(
        "TBLS",
        "VIEW_ORIGINAL_TEXT",
        Type("view_text"),
        None,
        "0.6.0",
        "Hive Views",
        "a long view text is cut, or refused, by a narrower column",
    ),
    Widening(
        "TBLS",
        "VIEW_EXPANDED_TEXT",
        Type("view_text"),
        None,
        "0.6.0",
        "Hive Views",
        "a long view text is cut, or refused, by a narrower column",
    ),
    Widening(
        "TBLS", "TBL_NAME", _varchar(256), "2.2.0", "2.2.0", "HIVE-12274", "a view's name may have 256 characters"
    ),
    Widening(
        "TABLE_PARAMS",
        "PARAM_VALUE",
        Type("parameter"),
        None,
        "2.2.0",
        "HIVE-12274",
        "holds metadata_location and the schema as JSON, of any number of columns; the metastore compares it when a "
        "commit swaps the pointer",
    ),
    Widening(
        "HIVE_LOCKS",
        "HL_TABLE",
        _varchar(256),
        "4.0.0-alpha-1",
        "4.0.0-alpha-1",
        "HIVE-21075",
        "a lock on a view names it in full",
    ),
)
"""Columns that must hold more."""

TABLES = (
    NeededTable(
        "HIVE_LOCKS",
        (
            NeededColumn("HL_LOCK_EXT_ID", BIGINT, nullable=False),
            NeededColumn("HL_LOCK_INT_ID", BIGINT, nullable=False),
            NeededColumn("HL_TXNID", BIGINT),
            NeededColumn("HL_DB", _varchar(128), nullable=False),
            NeededColumn("HL_TABLE", _varchar(256)),
            NeededColumn("HL_PARTITION", _varchar(767)),
            NeededColumn("HL_LOCK_STATE", Type("char", 1), nullable=False),
            NeededColumn("HL_LOCK_TYPE", Type("char", 1), nullable=False),
            NeededColumn("HL_LAST_HEARTBEAT", BIGINT, nullable=False),
            NeededColumn("HL_ACQUIRED_AT", BIGINT),
            NeededColumn("HL_USER", _varchar(128), nullable=False),
            NeededColumn("HL_HOST", _varchar(128), nullable=False),
        ),
        ("HL_LOCK_EXT_ID", "HL_LOCK_INT_ID"),
        "0.13.0",
        "HIVE-5317",
        "holds the metastore's locks, under which a view is committed",
        renamed_in="4.0.0-alpha-1",
    ),
    NeededTable(
        "NEXT_LOCK_ID",
        (NeededColumn("NL_NEXT", BIGINT, nullable=False),),
        (),
        "0.13.0",
        "HIVE-5317",
        "counts the metastore's locks",
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
        "keeps two metastores from deciding about locks at once",
        renamed_in="4.0.0-alpha-1",
    ),
    NeededTable(
        "MV_CREATION_METADATA",
        (
            NeededColumn("MV_CREATION_METADATA_ID", BIGINT, nullable=False),
            NeededColumn("CAT_NAME", _varchar(256), nullable=False),
            NeededColumn("DB_NAME", _varchar(128), nullable=False),
            NeededColumn("TBL_NAME", _varchar(256), nullable=False),
            NeededColumn("TXN_LIST", Type("long_text")),
        ),
        ("MV_CREATION_METADATA_ID",),
        "3.0.0",
        "HIVE-14498",
        "says from which states of its tables a materialized view was made",
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
        "says which tables a materialized view reads",
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
        "keeps two rebuilds of one materialized view apart",
        renamed_in="4.0.0-alpha-1",
    ),
)
"""Tables that views, materialized views and their locks need."""

INDEXES = (
    NeededIndex(
        "TBLS_N49",
        "TBLS",
        ("DB_ID",),
        "lists and filters the names of one database without reading all tables",
    ),
    NeededIndex(
        "TABLE_PARAMS_N49",
        "TABLE_PARAMS",
        ("TBL_ID",),
        "finds a row's parameters: the pointer, the kind, the dependencies",
    ),
    NeededIndex(
        "HIVE_VIEWS_PARAMS",
        "TABLE_PARAMS",
        ("PARAM_KEY", "TBL_ID"),
        "the name filter looks for rows by a parameter that only views have; Hive has no index for it",
    ),
)
"""Indexes that the name filter needs."""

CHARSET_COLUMNS = (
    ("TBLS", "VIEW_ORIGINAL_TEXT", None),
    ("TBLS", "VIEW_EXPANDED_TEXT", None),
    ("TABLE_PARAMS", "PARAM_VALUE", "2.2.0"),
)
"""Columns of texts that latin1 damages; the third says from which schema version on it is safe to change the column,
because a later script of Hive's would set it back to latin1, and so damage what it holds."""
