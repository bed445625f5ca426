"""After an upgrade, or at any other time: does the database have what views need, and are its rows in order?"""

from __future__ import annotations

from dataclasses import dataclass

from hive_views.io.metadata_files import MetadataFiles
from hive_views.schema_upgrade.detection import detect
from hive_views.schema_upgrade.plan_model import Step
from hive_views.schema_upgrade.planner import plan
from hive_views.schema_upgrade.row_changes import Doubt, doubtful_rows
from hive_views.schema_upgrade.session import Session
from hive_views.schema_upgrade.view_checks import ViewCheck, check_views


@dataclass(frozen=True)
class Verification:
    """What was found."""

    place: str
    """The database."""
    version: str
    """The schema version that was found."""
    target: str
    """The version whose views are wanted."""
    lacking: tuple[Step, ...]
    """Steps that are still to be done; empty where the schema has all that views need."""
    untyped: int
    """Rows of TBLS without a type."""
    doubts: tuple[Doubt, ...]
    """Rows whose type cannot be decided, or contradicts the rest of the row."""
    truncated: tuple[tuple[int, str, int], ...]
    """TBL_ID, column and length of view texts whose end is missing, as far as one can tell."""
    suspicious: tuple[tuple[int, str, str], ...]
    """TBL_ID, column and reason of view texts that look damaged, e.g. by characters that became `?`."""
    views: int
    """How many views there are."""
    broken: tuple[ViewCheck, ...]
    """Views that are not valid."""

    @property
    def complete(self) -> bool:
        """Whether the database has all that views need. Doubtful rows and broken views are for people to decide."""
        return not self.lacking


def verify(session: Session, target: str | None = None, *, files: MetadataFiles | None = None) -> Verification:
    """Look at everything again.

    Args:
        session: The database.
        target: The version of Hive whose views are wanted; see `hive_views.schema_upgrade.planner.plan`.
        files: Reads Iceberg views' metadata files, to compare rows with them; None leaves that out.

    Returns:
        What was found.

    Raises:
        UsageError: If the target cannot be.
        DatabaseError: If the database fails.
    """
    schema = detect(session)
    found = plan(schema, target)
    ready = all(schema.column("TBLS", name) for name in ("TBL_TYPE", "VIEW_ORIGINAL_TEXT", "VIEW_EXPANDED_TEXT"))
    count, broken = check_views(session, schema, files) if ready else (0, [])
    return Verification(
        session.address.place,
        schema.version,
        found.target,
        found.steps,
        schema.rows.untyped,
        tuple(doubtful_rows(session)) if ready else (),
        schema.rows.truncated,
        schema.rows.suspicious,
        count,
        tuple(broken),
    )
