"""What a legacy view says, whoever wrote it: the values that its readers give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from hive_views.identifiers import ViewName


class Writer(str, Enum):
    """Whose layout a row has."""

    HIVE = "hive"
    SPARK = "spark"
    TRINO = "trino"
    """Trino's and Presto's, and Athena's, which writes the same text."""


class Reason(str, Enum):
    """Why a view is not converted."""

    NO_TEXT = "no-text"
    UNREADABLE = "unreadable-text"
    MANGLED = "mangled-text"
    UNKNOWN_FUNCTION = "unknown-function"
    MISSING_TABLE = "missing-table"
    UNRESOLVED = "unresolved"
    CYCLE = "cycle"
    OTHER_CATALOG = "other-catalog"
    TYPE = "unsupported-type"
    NOT_PORTABLE = "not-portable"
    NAME_TAKEN = "name-taken"
    CANNOT_RENAME = "cannot-rename"
    UNSUPPORTED = "unsupported"
    BLOCKED = "blocked"
    MATERIALIZED = "materialized"
    CHANGED = "changed"
    METASTORE = "metastore"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a view is not converted, for programs and for people."""

    reason: Reason
    """The kind of reason."""
    text: str
    """A sentence that names what is in the way."""


@dataclass(frozen=True)
class LegacyColumn:
    """A column as the legacy view declares it."""

    name: str
    """Its name, as its author wrote it where that is known."""
    type: str
    """Its type as a Hive type text."""
    comment: str | None = None
    """Its comment."""


@dataclass(frozen=True)
class LegacyView:
    """A legacy view, read and not yet resolved against any table."""

    name: ViewName
    """Where it stands."""
    writer: Writer
    """Whose layout its row has."""
    dialect: str
    """The language of `sql`: `hive`, `spark` or `trino`."""
    sql: str
    """The text that says what the view means: what its readers run."""
    database: str
    """The database that unqualified names of `sql` mean."""
    columns: tuple[LegacyColumn, ...]
    """The view's columns, partition columns last."""
    original: str | None = None
    """What the author typed, where it is another text than `sql`; display only."""
    catalog: str | None = None
    """The catalog that unqualified names of `sql` mean, where the writer says so."""
    query_columns: tuple[str, ...] | None = None
    """The columns of the query, where the writer recorded them."""
    comment: str | None = None
    """The view's comment."""
    owner: str | None = None
    """Its owner, where it is not the row's."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Settings of Spark under which the text is read, e.g. `spark.sql.ansi.enabled`."""
    run_as_invoker: bool | None = None
    """Whether it runs with its reader's rights; None where the writer does not say."""
    partitioned: bool = False
    """Whether it has partition columns."""
    materialized: bool = False
    """Whether it is a materialized view."""
    storage: Mapping[str, str] = field(default_factory=dict)
    """For a materialized view: what its writer says of its storage and refresh."""
    repaired: tuple[str, ...] = ()
    """What a reader mended in the text, in words."""
    told: tuple[str, ...] = ()
    """What else there is to be told of it, in words."""
    mangled: str | None = None
    """`sql` as it was before a database with a latin1 schema damaged it, if it looks as if; None otherwise."""
    problem: Refusal | None = None
    """Why it cannot be converted, as far as the row alone says so."""
