"""The tables that an upgrade creates in the metastore's database: the journal and the backup."""

from __future__ import annotations

from hive_views.schema_upgrade.dialects.base import Dialect
from hive_views.schema_upgrade.requirements import NeededColumn, NeededTable, Type, TypeKind
from hive_views.text_enum import TextEnum


class StepState(TextEnum):
    """The state of a step in the journal."""

    BEGUN = "begun"
    DONE = "done"
    UNDONE = "undone"


_SHORT = Type(TypeKind.VARCHAR, 32)

JOURNAL = NeededTable(
    "HIVE_VIEWS_UPGRADE",
    (
        NeededColumn("PLAN_ID", _SHORT, nullable=False),
        NeededColumn("STEP", Type(TypeKind.VARCHAR, 200), nullable=False),
        NeededColumn("STATE", _SHORT, nullable=False),
        NeededColumn("WRITTEN_AT", _SHORT, nullable=False),
        NeededColumn("UNDO_CHECK", Type(TypeKind.OWN_TEXT)),
        NeededColumn("UNDO", Type(TypeKind.OWN_TEXT)),
    ),
    ("PLAN_ID", "STEP"),
    "",
    "",
    "records which steps of which plan were started and completed, and how they are undone",
)
"""One row per step of a plan; STATE is `begun`, `done` or `undone`. For a column whose type was changed, UNDO_CHECK is
its earlier declaration as JSON."""

VERSION_STEP = "version"
"""The STEP of the journal row that holds, in UNDO_CHECK, the schema version to which a plan was applied."""

BACKUP = NeededTable(
    "HIVE_VIEWS_BACKUP",
    (
        NeededColumn("PLAN_ID", _SHORT, nullable=False),
        NeededColumn("STEP", Type(TypeKind.VARCHAR, 200), nullable=False),
        NeededColumn("TABLE_NAME", Type(TypeKind.VARCHAR, 128), nullable=False),
        NeededColumn("FIELD", Type(TypeKind.VARCHAR, 128), nullable=False),
        NeededColumn("FIRST_ID", Type(TypeKind.BIGINT), nullable=False),
        NeededColumn("ROW_IDS", Type(TypeKind.OWN_TEXT), nullable=False),
        NeededColumn("OLD_VALUE", Type(TypeKind.OWN_TEXT)),
        NeededColumn("NEW_VALUE", Type(TypeKind.OWN_TEXT)),
        NeededColumn("WRITTEN_AT", _SHORT, nullable=False),
    ),
    # Logical replication and Galera require a key. Backup tables of older versions of hive_views have none.
    ("PLAN_ID", "STEP", "FIELD", "FIRST_ID", "WRITTEN_AT"),
    "",
    "",
    "holds the previous values of changed rows",
)
"""One row for all rows of a batch that changed from one value to another; ROW_IDS is `17` or `1-5,9,12-14`."""


def statements(dialect: Dialect) -> dict[str, str]:
    """Return the CREATE TABLE statements of both tables."""
    own = type(dialect)()
    # Set on the instance: only these tables have columns of this type.
    own.types = {**dialect.types, TypeKind.OWN_TEXT: dialect.own_text}
    return {table.name: own.create_table(table)[0] for table in (JOURNAL, BACKUP)}


def pack(ids: list[int]) -> str:
    """Row IDs as text with ranges."""
    parts: list[str] = []
    start = previous = None
    for row_id in [*ids, None]:
        if start is not None and previous is not None and row_id != previous + 1:
            parts.append(str(start) if start == previous else f"{start}-{previous}")
            start = None
        if start is None:
            start = row_id
        previous = row_id
    return ",".join(parts)


def unpack(text: str, limit: int) -> list[int]:
    """Return the row IDs of a text, at most `limit`.

    The inverse of `pack`. Raises ValueError if the text is not valid.
    """
    ids: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        numbers = range(int(first), int(last or first) + 1)
        if not 0 < len(numbers) <= limit - len(ids):
            raise ValueError(f"{part} is not a range of row IDs")
        ids += numbers
    return ids
