"""What commands return: frozen values, whose fields are the keys of their JSON.

Fields may be added in later versions; none is renamed or removed. A field without a value is null, never left out.
Times are given twice where a program may compute with them: milliseconds from the epoch, and ISO 8601 in UTC.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class ListedView:
    """A view in a list."""

    view: str
    """`database.name`."""
    database: str
    """Its database."""
    name: str
    """Its name in the database."""


@dataclass(frozen=True)
class ViewList:
    """What `list` returns."""

    views: tuple[ListedView, ...]
    """The views, sorted."""


@dataclass(frozen=True)
class Column:
    """A column of a version."""

    id: int
    """Its field id."""
    name: str
    """Its name."""
    type: str
    """Its Iceberg type, e.g. `long`, `decimal(10, 2)`, `struct<a: int, b: list<string>>`."""
    required: bool
    """Whether it is declared never null."""
    comment: str | None
    """Its comment."""


@dataclass(frozen=True)
class Representation:
    """One way in which a version expresses its definition."""

    type: str
    """`sql`, or the kind of a representation that this package does not know."""
    dialect: str | None
    """The SQL dialect; null where `type` is not `sql`."""
    sql: str | None
    """The text; null where `type` is not `sql`."""
    generated: bool
    """Whether the text was derived from an authored one (and may be derived again)."""


@dataclass(frozen=True)
class Version:
    """A version of a view."""

    version_id: int
    """Its id."""
    current: bool
    """Whether readers get this version."""
    timestamp_ms: int
    """When it was created."""
    time: str
    """The same, in ISO 8601."""
    operation: str
    """`create` or `replace`."""
    engine: str | None
    """Who wrote it, e.g. `spark 4.0.1`."""
    default_catalog: str | None
    """The catalog that names without one mean; null is the view's own."""
    default_namespace: tuple[str, ...]
    """The database that unqualified names mean."""
    original_text: str | None
    """The author's text, as this version says."""
    expanded_text: str | None
    """The text for Hive and plain Spark, as this version says."""
    representations: tuple[Representation, ...]
    """Its texts."""
    columns: tuple[Column, ...]
    """Its columns."""
    summary: dict[str, str]
    """Its summary."""


@dataclass(frozen=True)
class HistoryEntry:
    """One change of which version is current."""

    version_id: int
    """The version that was made current."""
    timestamp_ms: int
    """When."""
    time: str
    """The same, in ISO 8601."""
    operation: str | None
    """`create`, `replace`, or `rollback` where the version had been current before; null for an expired version."""
    engine: str | None
    """Who wrote that version."""
    current: bool
    """Whether this is the entry that counts now."""
    expired: bool
    """Whether the metadata no longer holds the version."""


@dataclass(frozen=True)
class ViewHistory:
    """What `history` returns."""

    view: str
    """`database.name`."""
    current_version_id: int
    """The version that readers get."""
    entries: tuple[HistoryEntry, ...]
    """The version log, oldest first."""


@dataclass(frozen=True)
class Drift:
    """Where the metastore's row disagrees with the metadata file."""

    field: str
    """`original-text`, `expanded-text` or `columns`."""
    row: object
    """What the row says: a text, or columns as pairs of name and Hive type."""
    file: object
    """What follows from the metadata file."""


@dataclass(frozen=True)
class Row:
    """What the metastore's row shows to Hive and plain Spark."""

    original_text: str | None
    """viewOriginalText."""
    expanded_text: str | None
    """viewExpandedText."""
    parameters: dict[str, str]
    """All its parameters, those of other programs included."""


@dataclass(frozen=True)
class ViewDetails:
    """What `show` returns."""

    view: str
    """`database.name`."""
    database: str
    """Its database."""
    name: str
    """Its name in the database."""
    uuid: str
    """Its identity, for good."""
    comment: str | None
    """Its property `comment`."""
    owner: str | None
    """The row's owner."""
    create_time: str
    """When the row was created, in ISO 8601."""
    location: str
    """Its base location."""
    metadata_location: str
    """The current metadata file."""
    previous_metadata_location: str | None
    """The metadata file before."""
    current_version_id: int
    """The version that readers get."""
    version_ids: tuple[int, ...]
    """All versions that the metadata holds."""
    version: Version
    """The version that was asked for, the current one by default."""
    row: Row
    """The metastore's row."""
    drift: tuple[Drift, ...]
    """Where the row disagrees with the metadata file; empty where it does not."""
    properties: dict[str, str]
    """Its view properties."""
    history: tuple[HistoryEntry, ...]
    """The version log, oldest first."""


@dataclass(frozen=True)
class VersionHead:
    """One side of a comparison."""

    version_id: int
    """The version."""
    time: str
    """When it was created, in ISO 8601."""
    default_catalog: str | None
    """The catalog that names without one mean."""
    default_namespace: tuple[str, ...]
    """The database that unqualified names mean."""


@dataclass(frozen=True)
class TextDifference:
    """How a text differs between two versions."""

    text: str
    """The dialect, or `typed` for an author's text that no dialect holds."""
    change: str
    """`same`, `changed`, `added` or `removed`."""
    diff: str
    """A unified diff; empty where nothing changed."""


@dataclass(frozen=True)
class ColumnDifference:
    """How a column differs between two versions."""

    name: str
    """Its name."""
    change: str
    """`added`, `removed`, `changed` (type, comment or nullability) or `moved` (position alone)."""
    old: Column | None
    """What it was; null for an added one."""
    new: Column | None
    """What it is; null for a removed one."""


@dataclass(frozen=True)
class ViewDiff:
    """What `diff` returns."""

    view: str
    """`database.name`."""
    old: VersionHead
    """The version that is compared from."""
    new: VersionHead
    """The version that is compared to."""
    texts: tuple[TextDifference, ...]
    """Each text of either version."""
    columns: tuple[ColumnDifference, ...]
    """The columns that differ."""


@dataclass(frozen=True)
class Written:
    """What the commands return that change a view."""

    view: str
    """`database.name`, as it now is."""
    outcome: str
    """`created`, `replaced`, `renamed`, `rolled back`, `changed`, `registered`, `adopted`, `repaired`, `unchanged`."""
    version_id: int
    """The version that readers get."""
    uuid: str
    """Its identity."""
    metadata_location: str
    """The current metadata file."""
    previous_metadata_location: str | None
    """The metadata file before."""
    renamed_from: str | None = None
    """Its name before it was renamed."""


@dataclass(frozen=True)
class DroppedView:
    """A view that was dropped because it depends on another."""

    view: str
    """`database.name`."""
    kind: str
    """`view`, or `hive-view` for one of Hive's own."""
    metadata_location: str | None
    """Its last metadata file: what `register` needs to bring it back. Null where it was purged, or is Hive's own."""
    text: str | None = None
    """The text of a view of Hive's own, which no file holds once it is dropped; else null."""


@dataclass(frozen=True)
class Dropped:
    """What `drop` returns."""

    view: str
    """`database.name`."""
    outcome: str
    """`dropped`, or `absent` where there was none and that was fine; `would be dropped` or `would be refused` of a dry
    run."""
    purged: bool
    """Whether its metadata files were deleted as well."""
    metadata_location: str | None = field(default=None)
    """Its last metadata file: what `register` needs to bring it back. Null where it was purged, or absent."""
    others: tuple[DroppedView, ...] = ()
    """The views that were (or would be) dropped with it, in this order; empty without --cascade."""
    dependents: tuple[str, ...] = ()
    """The views that depend on it; empty where they were not looked for: without --cascade or --dry-run."""
