"""Hive's own views: two texts, of which the expanded one is what Hive runs.

Hive's lexer takes the backticks off the original text's names (facts: the original is cut from the token stream), and
a name in it means what it meant in a database that nobody recorded. So the expanded text is the source; the original
one is what the author typed only if it can be shown to mean the same.
"""

from __future__ import annotations

from hive_views.legacy_import.model import LegacyColumn, LegacyView, Reason, Refusal, Writer
from hive_views.legacy_import.mojibake import demangled
from hive_views.metastore.row_codec import MATERIALIZED_VIEW, Row
from hive_views.spec.session_settings import ANSI

_MV_PARAMETERS = ("metadata_location", "rewriting.time.window", "transactional", "table_type")


def read(row: Row) -> LegacyView:
    """Read the row of a Hive view, or of a Hive materialized view."""
    text = row.texts.expanded or row.texts.original
    original = row.texts.original if row.texts.original != text else None
    materialized = row.table_type == MATERIALIZED_VIEW
    problem = None if text else Refusal(Reason.NO_TEXT, f"the row of {row.name} has no view text")
    repaired: tuple[str, ...] = ()
    if text and not row.texts.expanded:
        repaired = ("the row has no expanded text; the original one is read in its place",)
    return LegacyView(
        name=row.name,
        writer=Writer.HIVE,
        dialect="hive",
        sql=text or "",
        database=row.name.database,
        columns=columns_of(row),
        original=original,
        comment=row.parameters.get("comment"),
        settings={ANSI: "false"},  # Hive's casts give NULL where they fail
        partitioned=bool(row.table.partitionKeys),
        materialized=materialized,
        storage=_storage(row) if materialized else {},
        repaired=repaired,
        mangled=demangled(text or ""),
        problem=problem,
    )


def columns_of(row: Row) -> tuple[LegacyColumn, ...]:
    """The columns of a row."""
    return tuple(LegacyColumn(*column) for column in row.columns)


def _storage(row: Row) -> dict[str, str]:
    descriptor = row.table.sd
    found = {key: row.parameters[key] for key in _MV_PARAMETERS if key in row.parameters}
    if descriptor is not None and descriptor.location:
        found["location"] = descriptor.location
    found["rewrite"] = "enabled" if row.table.rewriteEnabled else "disabled"
    return found
