"""Upgrade plans as data that can be printed, stored, rendered or applied."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from hive_views.errors import InvalidPlanError
from hive_views.schema_upgrade.databases import Database
from hive_views.spec.json_text import parse_json
from hive_views.text_enum import TextEnum

FORMAT = 2
"""The version of a plan's JSON."""


class Kind(TextEnum):
    """The kind of change of a step."""

    ADD_COLUMN = "add-column"
    CREATE_TABLE = "create-table"
    CREATE_INDEX = "create-index"
    WIDEN = "widen"
    RECODE = "recode"
    FIRST_ROW = "first-row"
    FILL = "fill"
    BACK_FILL = "back-fill"
    REPAIR = "repair"
    OWNER = "owner"

    @property
    def is_schema(self) -> bool:
        """Whether the step changes the schema rather than rows."""
        return self in (Kind.ADD_COLUMN, Kind.CREATE_TABLE, Kind.CREATE_INDEX, Kind.WIDEN, Kind.RECODE, Kind.OWNER)


@dataclass(frozen=True)
class Undo:
    """How a step is undone."""

    check: str | None
    """A query for the number of rows that would lose data; None if undoing cannot lose data."""
    statements: tuple[str, ...]
    """The statements that undo the step."""
    declaration: str | None = None
    """For a changed column: its earlier declaration as JSON, from which a rollback computes check and statements."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step of a plan."""

    id: str
    """The name of the step, the same in every plan, such as `TBLS.TBL_TYPE`."""
    kind: Kind
    """The kind of change."""
    table: str
    """The stored name of the table."""
    name: str
    """The name of the column, index or table."""
    reason: str
    """The reason, with its source."""
    statements: tuple[str, ...]
    """The SQL; for row steps a template with `:ids`, `:old` and `:new`, filled in per batch."""
    locks: str
    """The effect on concurrent users of the database."""
    rows: str
    """The effect on rows."""
    undo: Undo | None
    """How the step is undone; None if it is not (see `undo_note`). Row steps are undone from the backup."""
    undo_note: str
    """A description of what can be undone."""
    hive_script: str | None = None
    """Hive's script that makes the same change; it fails if the change is already made."""
    blocked: str | None = None
    """Why the step would fail, with the remedy; None if no obstacle is known."""


def grouped(steps: Sequence[Step], *, by_table: bool) -> list[tuple[Step, ...]]:
    """Return the steps in order, in groups; `by_table` moves those that alter one table to the group of the first."""
    groups: dict[str, list[Step]] = {}
    for step in steps:
        is_alter = by_table and step.kind in (Kind.ADD_COLUMN, Kind.WIDEN, Kind.RECODE)
        groups.setdefault(f"alter {step.table}" if is_alter else f"step {step.id}", []).append(step)
    return [tuple(group) for group in groups.values()]


@dataclass(frozen=True)
class HiveScript:
    """An upgrade script of Hive that is still to be run with Hive's schematool."""

    name: str
    """Its file name."""
    conflicts: tuple[str, ...] = ()
    """IDs of the plan's steps that the script makes as well; if it runs first, they are not needed."""


@dataclass(frozen=True, kw_only=True)
class UpgradePlan:
    """The steps of an upgrade. A plan contains no user and no password."""

    dialect: Database
    """The database."""
    place: str
    """Host, port and database; empty for an assumed schema."""
    fingerprint: str
    """The fingerprint of the schema that the plan was made for."""
    version: str
    """The current schema version."""
    target: str
    """The schema version whose views must be supported."""
    steps: tuple[Step, ...]
    """The steps in order."""
    hive_scripts: tuple[HiveScript, ...] = ()
    """Hive's scripts between the two versions, in order."""
    notes: tuple[str, ...] = ()
    """Conditions to check before the upgrade."""
    id: str = ""
    """A hash of the plan, which is the key of its journal and backup rows."""
    db_schema: str = ""
    """The database schema of the tables; empty on MySQL and MariaDB and for an assumed schema."""

    def step(self, step_id: str) -> Step | None:
        """Return the step with this ID; None if there is none."""
        return next((step for step in self.steps if step.id == step_id), None)


def identified(plan: UpgradePlan) -> UpgradePlan:
    """Return the plan with the ID computed from its content."""
    bare = replace(plan, id="")
    return replace(bare, id=hashlib.sha256(dumps(bare).encode()).hexdigest()[:16])


def dumps(plan: UpgradePlan) -> str:
    """Return a plan as JSON.

    Args:
        plan: The plan.

    Returns:
        The JSON text, which `loads` reads.
    """
    return json.dumps({"format": FORMAT, **asdict(plan)}, indent=2, ensure_ascii=False) + "\n"


def loads(text: str) -> UpgradePlan:
    """Return a plan from its JSON.

    Args:
        text: What `dumps` returned.

    Raises:
        InvalidPlanError: If the text is not a plan, was edited, or has another format version.
    """
    # Imported here, since only stored plans need it.
    from pydantic import TypeAdapter, ValidationError

    try:
        document = parse_json(text)
        if document["format"] != FORMAT:
            raise InvalidPlanError("it was written by another version of hive_views; plan again")
        plan = TypeAdapter(UpgradePlan).validate_python(document)
    except ValidationError as error:
        problem = error.errors()[0]
        field = ".".join(map(str, problem["loc"]))
        raise InvalidPlanError(f"it is not a plan: {field}: {problem['msg']}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidPlanError(f"it is not a plan: {error}") from error
    if plan != identified(plan):
        # `apply` plans again from the database and would ignore most edits.
        raise InvalidPlanError("it was edited since it was written; plan again, or edit the output of render")
    return plan
