"""A plan: what an upgrade would do, as data that can be shown, stored, rendered or applied."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from enum import Enum
from typing import Any

from hive_views.errors import InvalidPlanError

FORMAT = 2
"""The version of a plan's JSON."""


class Kind(str, Enum):
    """What a step does."""

    ADD_COLUMN = "add-column"
    CREATE_TABLE = "create-table"
    CREATE_INDEX = "create-index"
    WIDEN = "widen"
    RECODE = "recode"
    FIRST_ROW = "first-row"
    FILL = "fill"
    BACK_FILL = "back-fill"
    REPAIR = "repair"

    @property
    def is_schema(self) -> bool:
        """Whether it changes the schema, and not rows."""
        return self in (Kind.ADD_COLUMN, Kind.CREATE_TABLE, Kind.CREATE_INDEX, Kind.WIDEN, Kind.RECODE)


@dataclass(frozen=True)
class Undo:
    """How a step is undone."""

    check: str | None
    """A query for the number of rows that undoing would lose something of; None where it cannot lose anything."""
    statements: tuple[str, ...]
    """What undoes it."""


@dataclass(frozen=True)
class Step:
    """One step of a plan."""

    id: str
    """Its name, the same in every plan: `TBLS.TBL_TYPE`."""
    kind: Kind
    """What it does."""
    table: str
    """The table, by its stored name."""
    name: str
    """The column, index or table that it is about."""
    reason: str
    """Why, and where that comes from."""
    statements: tuple[str, ...]
    """Its SQL. A row step's is a template: `:ids`, `:old` and `:new` are filled in batch by batch."""
    locks: str
    """What it means for those who use the database meanwhile."""
    rows: str
    """What it means for rows."""
    undo: Undo | None
    """How it is undone; None where it is not (`undo_note` says why). Row steps are undone from the backup."""
    undo_note: str
    """What can be undone, for people."""
    hive_script: str | None = None
    """The script of Hive's that does the same; it fails where this was done before it, and is done after it."""


@dataclass(frozen=True)
class HiveScript:
    """A script of Hive's own that remains to be run, by Hive's schematool."""

    name: str
    """Its file name."""
    conflicts: tuple[str, ...] = ()
    """Ids of this plan's steps that it does as well: run it first, and they are no longer needed."""


@dataclass(frozen=True)
class Plan:
    """All that an upgrade would do. Nothing in it is secret: there is no user and no password."""

    dialect: str
    """The database: `mariadb`, `mysql`, `postgresql`, `derby`, `oracle`, `sqlserver`."""
    place: str
    """Where it is; empty for a schema that was assumed."""
    fingerprint: str
    """Of the schema that it was made for: `Schema.fingerprint`."""
    version: str
    """The schema version that was found."""
    target: str
    """The schema version whose views are wanted."""
    steps: tuple[Step, ...]
    """What is to be done, in this order."""
    hive_scripts: tuple[HiveScript, ...] = ()
    """Hive's own scripts that remain between the two versions, in their order."""
    notes: tuple[str, ...] = ()
    """What a person should know before."""
    id: str = ""
    """A hash of all this: what the journal and the backup in the database are filed under."""
    db_schema: str = ""
    """The schema in the database that it is for; empty where a database has but one, or none was read."""

    def step(self, step_id: str) -> Step | None:
        """The step of an id; None where there is none."""
        return next((step for step in self.steps if step.id == step_id), None)


def identified(plan: Plan) -> Plan:
    """A plan with the id of its content."""
    bare = replace(plan, id="")
    return replace(bare, id=hashlib.sha256(dumps(bare).encode()).hexdigest()[:16])


def dumps(plan: Plan) -> str:
    """A plan as JSON.

    Args:
        plan: Any plan.

    Returns:
        The text.
    """
    return json.dumps({"format": FORMAT, **asdict(plan)}, indent=2, ensure_ascii=False) + "\n"


def loads(text: str) -> Plan:
    """A plan from its JSON.

    Args:
        text: What `dumps` returned.

    Returns:
        The plan.

    Raises:
        InvalidPlanError: If it is no plan, was changed, or is of another version of this program.
    """
    try:
        document: dict[str, Any] = json.loads(text)
        if document.pop("format") != FORMAT:
            raise InvalidPlanError("it was written by another version of hive_views; plan again")
        steps = tuple(_step(each) for each in document.pop("steps"))
        scripts = tuple(HiveScript(each["name"], tuple(each["conflicts"])) for each in document.pop("hive_scripts"))
        notes = tuple(document.pop("notes"))
        found = Plan(steps=steps, hive_scripts=scripts, notes=notes, **document)
    except (json.JSONDecodeError, AttributeError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, InvalidPlanError):
            raise
        raise InvalidPlanError(f"it is no plan: {error}") from error
    if found != identified(found):
        # Changed by hand it would be half obeyed: what is done is found anew from the database.
        raise InvalidPlanError("it was changed since it was written; plan again, or change what render writes")
    return found


def _step(document: dict[str, Any]) -> Step:
    undo = document.pop("undo")
    return Step(
        kind=Kind(document.pop("kind")),
        statements=tuple(document.pop("statements")),
        undo=Undo(undo["check"], tuple(undo["statements"])) if undo else None,
        **document,
    )
