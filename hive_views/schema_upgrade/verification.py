"""Verification of a metastore database: required schema, row types and view texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hive_views.schema_upgrade.detection import detect
from hive_views.schema_upgrade.hive_columns import metastore_problems
from hive_views.schema_upgrade.plan_model import Step
from hive_views.schema_upgrade.planner import plan
from hive_views.schema_upgrade.row_changes import COMMIT, Doubt, Progress, ProgressCallback, doubtful_rows
from hive_views.schema_upgrade.session import Session

if TYPE_CHECKING:
    from hive_views.io.metadata_files import MetadataFiles
    from hive_views.schema_upgrade.view_checks import ViewTextCheck


@dataclass(frozen=True, kw_only=True)
class Verification:
    """The findings of a verification."""

    place: str
    """The database."""
    version: str
    """The current schema version."""
    target: str
    """The version whose views must be supported."""
    lacking: tuple[Step, ...]
    """Steps that are still required; empty if the schema is complete."""
    untyped: int
    """Rows of TBLS without a type."""
    doubts: tuple[Doubt, ...]
    """Rows whose type cannot be determined or contradicts the rest of the row."""
    truncated: tuple[tuple[int, str, int], ...]
    """TBL_ID, column and length of view texts that are probably truncated."""
    null_primitives: tuple[tuple[str, str, int], ...]
    """Table, column and number of rows with NULL in a column that the metastore reads as a primitive."""
    suspicious: tuple[tuple[int, str, str], ...]
    """TBL_ID, column and reason of view texts that look damaged, e.g. characters replaced by `?`."""
    views: int | None
    """The number of views; None if they were not checked."""
    broken: tuple[ViewTextCheck, ...]
    """Views that are not valid."""

    metastore_problems: tuple[str, ...] = ()
    """Why a metastore of the target version would fail even after all steps of a plan, e.g. remaining Hive scripts."""

    @property
    def complete(self) -> bool:
        """Whether a metastore of the target version can serve views, regardless of doubtful rows and broken views."""
        return not (self.lacking or self.null_primitives or self.metastore_problems)


def verify(
    session: Session,
    target: str | None = None,
    *,
    views: bool = True,
    files: MetadataFiles | None = None,
    progress: ProgressCallback = lambda _: None,
) -> Verification:
    """Verify schema, rows and view texts.

    Args:
        session: The database.
        target: The version of Hive whose views must be supported; see `hive_views.schema_upgrade.planner.plan`.
        views: Whether the texts of views are resolved against the tables, which takes most of the time.
        files: Reads the metadata files of Iceberg views, to compare rows with them; None skips that.
        progress: Called after each batch of views.

    Raises:
        NotAMetastoreError: If the database has no tables TBLS and TABLE_PARAMS.
        UsageError: If the target is not a valid version.
        UpgradeError: If the version of the schema is not known.
        DatabaseError: If the database fails.
    """
    schema = detect(session)
    required = plan(schema, target)
    ready = all(schema.column("TBLS", name) for name in ("TBL_TYPE", "VIEW_ORIGINAL_TEXT", "VIEW_EXPANDED_TEXT"))

    count: int | None = 0 if views else None
    broken: list[ViewTextCheck] = []
    if views and ready:
        # Imported here, since the parser of view texts needs much memory, and an upgrade does not use it.
        from hive_views.schema_upgrade.view_checks import check_views

        count, broken = check_views(
            session, schema, files, lambda done: progress(Progress("views", COMMIT, done, schema.rows.texts))
        )
    return Verification(
        place=session.address.place,
        version=schema.version,
        target=required.target,
        lacking=required.steps,
        untyped=schema.rows.untyped,
        doubts=tuple(doubtful_rows(session)) if schema.rows.has_doubtful else (),
        truncated=schema.rows.truncated,
        null_primitives=schema.rows.null_primitives,
        suspicious=schema.rows.suspicious,
        views=count,
        broken=tuple(broken),
        metastore_problems=tuple(metastore_problems(schema, required.target)),
    )
