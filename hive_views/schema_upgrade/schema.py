"""The schema of a metastore database as immutable objects."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from hive_views.schema_upgrade import versions
from hive_views.schema_upgrade.databases import Database

VIEW_TABLES = (
    "TBLS",
    "TABLE_PARAMS",
    "COLUMNS_V2",
    "MV_CREATION_METADATA",
    "MV_TABLES_USED",
    "MATERIALIZATION_REBUILD_LOCKS",
    "HIVE_LOCKS",
    "NEXT_LOCK_ID",
    "AUX_TABLE",
)
"""The tables that a plan may change, which its fingerprint covers."""

_DML = ("SELECT", "INSERT", "UPDATE", "DELETE")


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column as described by the database."""

    name: str
    """Its name as stored."""
    type: str
    """The name of its type in lower case, without a length: `varchar`, `mediumtext`, `text`, `long varchar`, `bit`."""
    length: int | None = None
    """Its length in characters; None where the type has none."""
    nullable: bool = True
    default: str | None = None
    """Its default as the database prints it."""
    charset: str | None = None
    """The character set of the column on MySQL and MariaDB; None elsewhere."""
    collation: str | None = None
    """Its collation on MySQL and MariaDB, on PostgreSQL if it is not the default; None elsewhere."""
    comment: str | None = None
    """Its comment on MySQL and MariaDB; None if it has none."""


@dataclass(frozen=True)
class TableRow:
    """The fields of a TBLS row that determine its type."""

    table_type: str | None
    has_original: bool
    """Whether it has a VIEW_ORIGINAL_TEXT; likewise for the expanded text and the storage descriptor."""
    has_expanded: bool
    has_storage: bool
    external: str | None
    """The value of its parameter EXTERNAL; None if it has none."""


@dataclass(frozen=True)
class Index:
    """An index, or a primary key."""

    name: str
    """Its name as stored."""
    columns: tuple[str, ...]
    unique: bool = False
    primary: bool = False
    """Whether it is the primary key."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table."""

    name: str
    """Its name as stored: Hive's lock tables on PostgreSQL were lower case before 4.0."""
    columns: tuple[Column, ...]
    """Its columns in their order."""
    indexes: tuple[Index, ...] = ()
    """Its indexes, the primary key among them, by name."""
    engine: str | None = None
    """The storage engine (`InnoDB`, `MyISAM`) on MySQL and MariaDB; None elsewhere."""
    owner: str | None = None
    """The owner on PostgreSQL; None elsewhere."""
    grants: tuple[tuple[str, str], ...] = ()
    """Pairs of a user and a privilege: SELECT, INSERT, UPDATE or DELETE. On PostgreSQL, users other than the owner; on
    MySQL and MariaDB, users with privileges on single tables, as `'user'@'host'`."""

    is_usable: bool = True
    """Whether the owner of TBLS may read and change its rows, on PostgreSQL; True elsewhere."""

    def column(self, name: str) -> Column | None:
        """Return the column with this name, ignoring case; None if there is none."""
        return next((column for column in self.columns if column.name.upper() == name.upper()), None)

    def has_index_on(self, *columns: str) -> bool:
        """Return whether an index begins with these columns."""
        prefix = [name.upper() for name in columns]
        return any([name.upper() for name in index.columns[: len(prefix)]] == prefix for index in self.indexes)

    @property
    def metastore_grants(self) -> tuple[tuple[str, str], ...]:
        """The entries of `grants` of users with all four privileges, which a metastore's user needs."""
        users: dict[str, set[str]] = {}
        for user, privilege in self.grants:
            users.setdefault(user, set()).add(privilege)
        return tuple(grant for grant in self.grants if len(users[grant[0]]) == len(_DML))

    def allows(self, user: str, privilege: str) -> bool:
        """Return whether a user has a privilege, as far as the schema shows."""
        return user == self.owner or (user, privilege) in self.grants


@dataclass(frozen=True)
class Obstacle:
    """A condition that makes steps fail, or that the user has to check before them."""

    table: str
    """The stored name of the table; empty for all tables."""
    kinds: tuple[str, ...]
    """The kinds of steps."""
    reason: str
    """The condition and its remedy."""
    columns: tuple[str, ...] = ()
    """The columns whose steps fail; empty for all."""
    unless: str = ""
    """Steps with this text in a statement do not fail; empty for none."""
    is_note: bool = False
    """Whether the obstacle is only a note of the plan: the steps can be applied."""


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Counts and findings about rows, at the time of detection."""

    tables: int = 0
    """Rows of TBLS."""
    texts: int = 0
    """Rows of TBLS with a view text."""
    untyped: int = 0
    """Rows of TBLS without a TBL_TYPE."""
    to_type: int = 0
    """Rows whose type an upgrade sets: it is missing and can be determined, or wrongly is MANAGED_TABLE."""
    has_doubtful: bool = False
    """Whether there are rows whose type cannot be determined or contradicts the rest of the row."""
    bad_flags: int = 0
    """Rows whose IS_REWRITE_ENABLED is NULL, or (Derby) neither Y nor N."""
    missing_write_ids: int = 0
    """Rows whose WRITE_ID is NULL."""
    null_primitives: tuple[tuple[str, str, int], ...] = ()
    """Table, column and number of rows with NULL, for other columns that the metastore reads as primitives."""
    is_lock_counter_empty: bool = False
    """Whether NEXT_LOCK_ID, which holds one counter, has no row."""
    longest_parameter: int = 0
    """Characters of the longest PARAM_VALUE of TABLE_PARAMS."""
    mangled: tuple[int, ...] = ()
    """TBL_IDs of views one of whose texts is UTF-8 that was read as latin1."""
    truncated: tuple[tuple[int, str, int], ...] = ()
    """TBL_ID, column and length of texts that fill a length limit of their column, past or present."""
    suspicious: tuple[tuple[int, str, str], ...] = ()
    """TBL_ID, column and reason of texts that look damaged and cannot be repaired."""
    counted: bool = True
    """Whether rows were read; False for an assumed schema."""


@dataclass(frozen=True, kw_only=True)
class Schema:
    """A metastore's schema."""

    dialect: Database
    """The database."""
    tables: tuple[Table, ...]
    """Its tables, by name."""
    server: str = ""
    """Name and version reported by the database server."""
    place: str = ""
    """Host, port and database; never a user or a password."""
    version_rows: tuple[str, ...] = ()
    """SCHEMA_VERSION of each row of VERSION; one row is expected, and no table before 0.12."""
    vendor: str | None = None
    """`cdh` or another vendor for a fork of the schema; None for Apache Hive."""
    vendor_version: str | None = None
    """The vendor's schema version."""
    rows: Rows = field(default=Rows())
    """Findings about rows."""
    db_schema: str = ""
    """The database schema that holds the tables; empty on MySQL and MariaDB."""
    own_tables: frozenset[str] = field(default=frozenset(), compare=False)
    """The names of the journal and the backup, if they exist."""
    obstacles: tuple[Obstacle, ...] = ()
    """Obstacles to steps for the user who read the schema."""

    def table(self, name: str) -> Table | None:
        """Return the table with this name, ignoring case; None if there is none."""
        return next((table for table in self.tables if table.name.upper() == name.upper()), None)

    def column(self, table: str, name: str) -> Column | None:
        """Return the column with this name, ignoring case; None if the table or the column is missing."""
        matching_table = self.table(table)
        return matching_table.column(name) if matching_table else None

    @property
    def version(self) -> str:
        """The schema version, a member of `versions.CHAIN`: from the table VERSION, else inferred."""
        for row in self.version_rows:
            if version := versions.chain_version(row):
                return version
        return self.inferred_version

    @property
    def inferred_version(self) -> str:
        """The newest version up to which all landmarks exist, regardless of the table VERSION."""
        inferred = versions.CHAIN[0]
        for version, (table, column) in LANDMARKS.items():
            landmark = self.column(table, column) if column else self.table(table)
            if landmark is None:
                break
            inferred = version
        return inferred

    @property
    def fingerprint(self) -> str:
        """A hash of everything that a plan depends on: tables, columns, types, indexes, versions; no row counts."""
        relevant: Mapping[str, object] = {
            "dialect": self.dialect,
            "versions": sorted(self.version_rows),
            "vendor": [self.vendor, self.vendor_version],
            "tables": [
                {key: value for key, value in asdict(table).items() if key not in ("owner", "grants", "is_usable")}
                for table in self.tables
                if table.name.upper() in VIEW_TABLES
            ],
        }
        return hashlib.sha256(json.dumps(relevant, sort_keys=True).encode()).hexdigest()[:16]


LANDMARKS: dict[str, tuple[str, str | None]] = {
    "0.6.0": ("DBS", "DB_LOCATION_URI"),
    "0.7.0": ("ROLES", None),
    "0.8.0": ("CDS", None),
    "0.10.0": ("SKEWED_COL_NAMES", None),
    "0.12.0": ("VERSION", None),
    "0.13.0": ("DBS", "OWNER_TYPE"),
    "2.0.0": ("HIVE_LOCKS", "HL_AGENT_INFO"),
    "2.2.0": ("TBLS", "IS_REWRITE_ENABLED"),
    "3.0.0": ("CTLGS", None),
    "3.1.0": ("MATERIALIZATION_REBUILD_LOCKS", None),
    "4.0.0-alpha-1": ("DATACONNECTORS", None),
    "4.2.0": ("CATALOG_PARAMS", None),
}
"""A table or column that each version added."""


def last_landmark(version: str) -> str:
    """Return the newest version with a landmark, up to this version."""
    return [candidate for candidate in (versions.CHAIN[0], *LANDMARKS) if versions.at_least(version, candidate)][-1]
