"""A plan: what an import will do with each view, as frozen data and as JSON. Nothing in it is written anywhere yet."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from typing import Any

from hive_views.errors import PlanError
from hive_views.identifiers import ViewName
from hive_views.legacy_import.model import Reason, Refusal, Writer
from hive_views.legacy_import.options import Options, Rule

FORMAT = 2
"""The number of the JSON form; another one is refused."""

_NO_STORAGE: Mapping[str, str] = {}


class Verdict(str, Enum):
    """What is to be done with a view."""

    READY = "ready"
    """It will be converted."""
    REFUSED = "refused"
    """It cannot be converted; the reason says why."""
    BLOCKED = "blocked"
    """It reads a view that cannot be converted."""
    REPORTED = "reported"
    """It is a materialized view that the user wants left as it is."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One legacy view of a plan."""

    name: ViewName
    """Where it stands."""
    target: ViewName
    """Where the Iceberg view will stand; its own place where it is converted in place."""
    writer: Writer
    """Whose layout its row has."""
    dialect: str
    """The language of its text."""
    verdict: Verdict
    """What is to be done."""
    fingerprint: str
    """Of its row when it was planned; a run refuses a row that has another one."""
    level: int = 0
    """0 for a view that reads no other view of the plan, else one more than the highest of those that it reads."""
    reads: tuple[ViewName, ...] = ()
    """The tables and views that its text names, under their present names."""
    refusal: Refusal | None = None
    """Why it is not converted."""
    blocked_by: ViewName | None = None
    """The view of the plan, not itself blocked, that is in its way."""
    old_original: str | None = None
    """The row's original text; for a view of Trino's the text inside."""
    old_text: str | None = None
    """What its readers run today."""
    new_text: str | None = None
    """What readers of the row will run, or of the `hive` text where the row keeps its own."""
    columns: tuple[tuple[str, str], ...] = ()
    """Name and Hive type of each column that it will have."""
    changes: tuple[str, ...] = ()
    """What will not be as it was, in words."""
    storage: Mapping[str, str] = field(default_factory=dict)
    """For a materialized view: what its writer says of its storage."""
    materialized: bool = False
    """Whether it is a materialized view."""
    storage_plan: str | None = None
    """For a materialized view that is ready: what will be done about its storage; see
    `hive_views.legacy_import.storage.Action`."""

    @property
    def in_place(self) -> bool:
        """Whether name and target are the same."""
        return self.name == self.target


@dataclass(frozen=True)
class Plan:
    """What an import will do: entries, each behind those that it reads."""

    entries: tuple[Entry, ...]
    """All legacy views that were looked at."""
    options: Options = field(default_factory=Options)
    """How they will be imported."""
    cycles: tuple[tuple[ViewName, ...], ...] = ()
    """Views that read each other or themselves."""
    to: str | None = None
    """The metastore to which the new views go, by its addresses; None where they stay in that of the legacy ones."""

    def check_target(self, to: str | None) -> None:
        """Refuse another target than the plan's: its views would be converted in place, or copied, by mistake.

        Args:
            to: The metastore to which new views are to go now; None is that of the legacy ones.

        Raises:
            PlanError: If the plan is for another one.
        """
        if to != self.to:
            raise PlanError(
                f"the plan is for {_target(self.to)}, and this is about {_target(to)}. Name the same target, or plan "
                "again"
            )

    @property
    def ready(self) -> tuple[Entry, ...]:
        """The entries that will be converted, in order."""
        return tuple(entry for entry in self.entries if entry.verdict is Verdict.READY)

    def to_json(self) -> dict[str, Any]:
        """The plan as a JSON object; see `from_json`."""
        return {**self._head(), "entries": [_entry_to_json(entry) for entry in self.entries]}

    def json_pieces(self, *, ensure_ascii: bool, between: str = "") -> Iterator[str]:
        """The text of the plan's JSON, piece by piece: of thousands of views it is long.

        Args:
            ensure_ascii: Whether other characters are escaped.
            between: White space to put between entries.

        Yields:
            Pieces, without a line break but for those of `between`; joined they are what `from_json` reads.
        """
        head = json.dumps(self._head(), ensure_ascii=ensure_ascii)
        yield f'{head[:-1]}, "entries": ['
        for number, entry in enumerate(self.entries):
            yield f"{',' if number else ''}{between}{json.dumps(_entry_to_json(entry), ensure_ascii=ensure_ascii)}"
        yield f"{between}]}}"

    def _head(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "options": {**asdict(self.options), "renames": [str(rule) for rule in self.options.renames]},
            "cycles": [[str(name) for name in cycle] for cycle in self.cycles],
            "to": self.to,
        }

    @classmethod
    def from_json(cls, document: object) -> Plan:
        """Read what `to_json` gave.

        Raises:
            PlanError: If it is no plan, or one of another version.
        """
        try:
            return _plan_from_json(document)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise PlanError(f"this is no plan of an import: {error!r}") from error


class Shared:
    """Makes entries name the same values by the same objects: views of a plan read the same tables, in few columns."""

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}

    def entry(self, entry: Entry) -> Entry:
        """An equal entry, in less memory once others like it were given here."""
        one = self._known.setdefault
        return replace(
            entry,
            name=one(entry.name, entry.name),
            target=one(entry.target, entry.target),
            reads=tuple(one(other, other) for other in entry.reads),
            columns=one(entry.columns, entry.columns),
            changes=one(entry.changes, entry.changes),
            storage=entry.storage or _NO_STORAGE,
            old_original=entry.old_text if entry.old_original == entry.old_text else entry.old_original,
            new_text=entry.old_text if entry.new_text == entry.old_text else entry.new_text,
        )


def read_plan(text: str) -> Plan:
    """Read a plan's JSON.

    Raises:
        PlanError: If it is no plan.
    """
    try:
        return Plan.from_json(json.loads(text, object_hook=plan_hook()))
    except (ValueError, RecursionError) as error:
        if isinstance(error, PlanError):
            raise
        raise PlanError(f"this is no whole plan of an import, plan again: {error}") from error


def plan_hook() -> Callable[[dict[str, Any]], Any]:
    """For `json.loads`: an entry of a plan is an `Entry` as soon as it is read, which takes less memory."""
    shared = Shared()

    def hook(item: dict[str, Any]) -> Any:
        if "fingerprint" not in item or "verdict" not in item:
            return item
        try:
            return shared.entry(entry_from_json(item))
        except (KeyError, TypeError, AttributeError, ValueError):
            return item  # no plan's; `from_json` says so

    return hook


def write_plan(plan: Plan) -> str:
    """A plan's JSON, as text; the same plan gives the same text."""
    return "".join(plan.json_pieces(ensure_ascii=False, between="\n "))


def _entry_to_json(entry: Entry) -> dict[str, Any]:
    refusal = entry.refusal
    return {
        "name": str(entry.name),
        "target": str(entry.target),
        "writer": entry.writer.value,
        "dialect": entry.dialect,
        "verdict": entry.verdict.value,
        "level": entry.level,
        "reads": [str(name) for name in entry.reads],
        "reason": None if refusal is None else refusal.reason.value,
        "text": None if refusal is None else refusal.text,
        "blocked_by": None if entry.blocked_by is None else str(entry.blocked_by),
        "changes": list(entry.changes),
        "columns": [list(column) for column in entry.columns],
        "old_original": entry.old_original,
        "old_text": entry.old_text,
        "new_text": entry.new_text,
        "kind": "materialized view" if entry.materialized else "view",
        "storage": dict(entry.storage),
        "storage_plan": entry.storage_plan,
        "fingerprint": entry.fingerprint,
    }


def entry_from_json(item: Mapping[str, Any]) -> Entry:
    """Read one entry of a plan's JSON.

    Raises:
        KeyError, TypeError, AttributeError, ValueError: If it is none.
    """
    return Entry(
        name=ViewName.from_text(item["name"]),
        target=ViewName.from_text(item["target"]),
        writer=Writer(item["writer"]),
        dialect=item["dialect"],
        verdict=Verdict(item["verdict"]),
        fingerprint=item["fingerprint"],
        level=int(item["level"]),
        reads=tuple(map(ViewName.from_text, item["reads"])),
        refusal=None if item["reason"] is None else Refusal(Reason(item["reason"]), item["text"]),
        blocked_by=None if item["blocked_by"] is None else ViewName.from_text(item["blocked_by"]),
        old_original=item["old_original"],
        old_text=item["old_text"],
        new_text=item["new_text"],
        columns=tuple((name, kind) for name, kind in item["columns"]),
        changes=tuple(item["changes"]),
        storage=dict(item["storage"]),
        materialized=item.get("kind") == "materialized view",
        storage_plan=item.get("storage_plan"),
    )


def _plan_from_json(document: Any) -> Plan:
    if document["format"] != FORMAT:
        raise PlanError(f"the plan is of format {document['format']}; this version reads {FORMAT}. Plan again")
    options = document["options"]
    return Plan(
        entries=tuple(item if isinstance(item, Entry) else entry_from_json(item) for item in document["entries"]),
        options=Options(
            renames=tuple(map(Rule.parse, options["renames"])),
            to_database=options["to_database"],
            mangled=options["mangled"],
            trino_catalogs=tuple(options["trino_catalogs"]),
            materialized=options.get("materialized", "report"),
        ),
        cycles=tuple(tuple(map(ViewName.from_text, cycle)) for cycle in document["cycles"]),
        to=None if document["to"] is None else str(document["to"]),
    )


def _target(to: str | None) -> str:
    return "the metastore of the legacy views itself" if to is None else f"views in the metastore {to}"
