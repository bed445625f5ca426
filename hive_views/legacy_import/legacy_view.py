"""A legacy view as its reader returns it: the text and everything else that its row records."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from hive_views.errors import HiveViewsError
from hive_views.identifiers import ViewName
from hive_views.legacy_import.options import MojibakeMode
from hive_views.metastore.rows.row import Row
from hive_views.sql.text.dialects import Dialect
from hive_views.text_enum import TextEnum

_CONTINUATION = "\u0080-\u00bf" + "".join(bytes([code]).decode("cp1252", "ignore") for code in range(0x80, 0xA0))
_LEAD = re.compile(f"[\u00c2-\u00f4][{_CONTINUATION}]")
_MAX_ROUNDS = 3
"""How many times a text may have been decoded wrongly, one time after another."""


def decode_mojibake(text: str) -> str | None:
    """Return the original of a text that is UTF-8 decoded as Latin-1 or Windows-1252; None if it does not look so."""
    decoded = None
    for _ in range(_MAX_ROUNDS):
        once = _decode_once(text)
        if once is None:
            break
        decoded = text = once
    return decoded


def repair_columns(view: LegacyView, mode: MojibakeMode) -> LegacyView:
    """Repair mojibake in comments and columns, or add a note about it.

    Mojibake in them is no reason to refuse a view with an intact text, which contains the names of the columns.
    """
    if mode == MojibakeMode.KEEP:
        return view
    columns, repairs = [], []
    for column in view.columns:
        # The columns in the row of a partitioned view are not changed.
        texts = {} if view.partitioned else {"name": column.name, "type": column.type}
        texts["comment"] = column.comment or ""
        repaired = {key: decoded for key, text in texts.items() if (decoded := decode_mojibake(text)) is not None}
        repairs += [f"{key} of column {column.name}: {text}" for key, text in repaired.items()]
        columns.append(replace(column, **repaired))
    comment = decode_mojibake(view.comment or "")
    if comment is not None:
        repairs.append(f"comment: {comment}")
    if not repairs:
        return view
    summary = "; ".join(repairs)[:300]
    if mode == MojibakeMode.REFUSE:
        note = f"looks like UTF-8 that a latin1 database damaged, and stays so without --mangled repair: {summary}"
        return view if note in view.notes else replace(view, notes=(*view.notes, note))
    note = f"damage by a latin1 database is repaired: {summary}"
    return replace(view, columns=tuple(columns), comment=comment or view.comment, notes=(*view.notes, note))


def _decode_once(text: str) -> str | None:
    if not _LEAD.search(text):
        return None
    for codec in ("latin-1", "cp1252"):
        try:
            decoded = text.encode(codec).decode("utf-8")
        except UnicodeError:
            continue
        if decoded != text:
            return decoded
    return None


class Writer(TextEnum):
    """The engine whose layout the row of a view has."""

    HIVE = "hive"
    SPARK = "spark"
    TRINO = "trino"
    """Trino and Presto, and Athena, which writes the same text."""


class Reason(TextEnum):
    """Why a view is not converted."""

    NO_TEXT = "no-text"
    UNREADABLE = "unreadable-text"
    MOJIBAKE = "mangled-text"
    UNKNOWN_FUNCTION = "unknown-function"
    MISSING_TABLE = "missing-table"
    UNRESOLVED = "unresolved"
    CYCLE = "cycle"
    OTHER_CATALOG = "other-catalog"
    TYPE = "unsupported-type"
    NOT_PORTABLE = "not-portable"
    ENGINES = "required-engines"
    UNREADABLE_TABLE = "unreadable-table"
    NAME_TAKEN = "name-taken"
    CANNOT_RENAME = "cannot-rename"
    UNSUPPORTED = "unsupported"
    BLOCKED = "blocked"
    MATERIALIZED = "materialized"
    CHANGED = "changed"
    METASTORE = "metastore"


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a view is not converted, for programs and for people."""

    reason: Reason
    """The kind of problem."""
    text: str
    """A sentence that names the cause."""


class ConversionError(HiveViewsError):
    """A legacy view cannot be converted. Plans and runs turn it into the status of the view."""

    def __init__(self, reason: Reason, text: str) -> None:
        super().__init__(text)
        self.problem = Problem(reason, text)


@dataclass(frozen=True)
class LegacyColumn:
    """A column as the legacy view declares it."""

    name: str
    """Its name, in the author's case where the row records it."""
    type: str
    """Its type as a Hive type text."""
    comment: str | None = None
    """Its comment."""


@dataclass(frozen=True, kw_only=True)
class LegacyView:
    """A legacy view, read from its row and not yet resolved against any table."""

    name: ViewName
    """Its name."""
    writer: Writer
    """The engine whose row layout it has."""
    dialect: Dialect
    """The SQL dialect of `sql`: `hive`, `spark` or `trino`."""
    sql: str
    """The text that the writer's engine runs."""
    database: str
    """The database that unqualified names of `sql` refer to."""
    columns: tuple[LegacyColumn, ...]
    """The view's columns, partition columns last."""
    original: str | None = None
    """The text that the author typed, if it differs from `sql`; for display only."""
    catalog: str | None = None
    """The catalog that unqualified names of `sql` refer to, if the row records it."""
    query_columns: tuple[str, ...] | None = None
    """The columns of the query, if the row records them."""
    comment: str | None = None
    """The view's comment."""
    owner: str | None = None
    """The owner that the text names, besides the row's owner."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Settings of Spark under which the text is evaluated, e.g. `spark.sql.ansi.enabled`."""
    schema_mode: str = ""
    """Spark's WITH SCHEMA mode, e.g. `COMPENSATION`; empty if the row records none."""
    run_as_invoker: bool | None = None
    """Whether it runs with the privileges of its reader; None if the writer does not record that."""
    partitioned: bool = False
    """Whether it has partition columns."""
    materialized: bool = False
    """Whether it is a materialized view."""
    storage: Mapping[str, str] = field(default_factory=dict)
    """For a materialized view: what the row records about its storage and refresh."""
    repairs: tuple[str, ...] = ()
    """Sentences about what was repaired in the text."""
    notes: tuple[str, ...] = ()
    """Further sentences for the plan."""
    repaired_sql: str | None = None
    """`sql` with mojibake decoded, if it looks like UTF-8 that a latin1 database damaged; None otherwise."""
    problem: Problem | None = None
    """Why it cannot be converted, as far as the row alone shows."""


def declared_columns(row: Row) -> tuple[LegacyColumn, ...]:
    """Return the columns of a row, partition columns last."""
    return tuple(LegacyColumn(*column) for column in row.columns)
