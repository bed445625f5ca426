"""One client of a soak: it does one random thing after the other, and writes down what it was told of each."""

from __future__ import annotations

import random
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException, ValidationException

from hive_views import HiveViewCatalog
from hive_views.errors import HiveViewsError, MetastoreError
from hive_views.materialized.refresh.plan import Mode
from hive_views.materialized.refresh.stage import StagingRequest
from tests.integration.catalog.samples import SCHEMA, version
from tests.integration.materialized.duck_engine import DuckEngine
from tests.soak.ledger import Ledger, Outcome

MOVABLE = tuple(f"m_{number}" for number in range(10))
"""Names that views are created under, renamed to and dropped from."""
STEADY = ("s_0", "s_1", "s_disk")
"""Views that are never renamed or dropped; the last one's files are on a disk that is read-only at times."""
MATERIALIZED = ("mv_registered", "mv_attached")
"""Materialized views, by their layouts."""

WEIGHTS = {
    "create": 8,
    "replace": 26,
    "properties": 12,
    "comment": 4,
    "rollback": 6,
    "rename": 10,
    "drop": 4,
    "refresh": 4,
    "list": 8,
    "load": 16,
    "reopen": 2,
}
"""How often each operation is chosen."""


@dataclass(frozen=True)
class Plan:
    """What a process is to do."""

    properties: dict[str, str]
    """Of its clients' catalogs."""
    database: str
    ledgers: str
    """The directory of the ledgers."""
    clients: tuple[int, ...]
    """The numbers of its clients."""
    generation: int
    """How many processes were started before it."""
    seed: int


def text(token: str) -> str:
    """The text of the view version that has this token."""
    return f"select 1 as id, '{token}' as data"


def counter(client: int) -> str:
    """The property in which a client counts."""
    return f"client-{client}"


class Client:
    """A client with a catalog of its own."""

    def __init__(self, plan: Plan, client: int, ledger: Ledger) -> None:
        self._plan = plan
        self._client = client
        self._ledger = ledger
        self._chance = random.Random(f"{plan.seed} {client} {plan.generation}")
        self._count = plan.generation * 1_000_000
        self._catalog = HiveViewCatalog("prod", **plan.properties)
        self._operations: dict[str, Callable[[int], None]] = {name: getattr(self, f"_{name}") for name in WEIGHTS}

    def step(self) -> None:
        """Do one thing."""
        self._count += 1
        number = self._count
        operation = self._chance.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        try:
            self._operations[operation](number)
        except CommitStateUnknownException as error:
            self._ended(number, Outcome.UNKNOWN, error)
        except (HiveViewsError, CommitFailedException) as error:
            self._ended(number, Outcome.REFUSED, error)
            if isinstance(error, MetastoreError):
                time.sleep(0.1)  # as programs do, where a server is away
        except BaseException:  # noqa: BLE001 -- the check of the ledger raises it
            self._ledger.note(self._client, number, event="died", died=traceback.format_exc())

    def close(self) -> None:
        """Close its catalog."""
        self._catalog.close()

    def _ended(self, number: int, outcome: Outcome, error: Exception) -> None:
        self._ledger.note(
            self._client, number, event=outcome.value, error=type(error).__name__, message=str(error)[:2000]
        )

    def _attempt(self, number: int, operation: str, **what: Any):  # type: ignore[no-untyped-def]
        return self._ledger.attempt(self._client, number, operation, **what)

    def _pick(self) -> str:
        return self._chance.choice(STEADY if self._chance.random() < 0.15 else MOVABLE)

    def _at(self, name: str) -> tuple[str, str]:
        return (self._plan.database, name)

    def _load_and_aim(self, number: int, name: str):  # type: ignore[no-untyped-def]
        """Load a view to change it, and write down which one that was."""
        view = self._catalog.load_view(self._at(name))
        self._ledger.note(self._client, number, event="aim", uuid=view.metadata.view_uuid)
        return view

    # -- Operations ---------------------------------------------------------------------------------------------------

    def _create(self, number: int) -> None:
        name, token = self._chance.choice(MOVABLE), f"{self._client}-{number}"
        with self._attempt(number, "create", name=name, token=token) as learned:
            made = self._catalog.create_view(
                self._at(name), SCHEMA, version(self._plan.database, ("spark", text(token)))
            )
            learned.update(uuid=made.metadata.view_uuid, version=made.metadata.current_version_id)

    def _replace(self, number: int) -> None:
        name, token = self._pick(), f"{self._client}-{number}"
        with self._attempt(number, "replace", name=name, token=token) as learned:
            made = self._catalog.replace_view(
                self._at(name), SCHEMA, version(self._plan.database, ("spark", text(token)))
            )
            learned.update(uuid=made.metadata.view_uuid, version=made.metadata.current_version_id)

    def _properties(self, number: int) -> None:
        name = self._pick()
        with self._attempt(number, "properties", name=name):
            view = self._load_and_aim(number, name)
            view.update().set_properties({counter(self._client): str(number)}).commit()

    def _comment(self, number: int) -> None:
        name = self._pick()
        with self._attempt(number, "comment", name=name, comment=f"{self._client}-{number}"):
            self._load_and_aim(number, name).update().set_comment(f"{self._client}-{number}").commit()

    def _rollback(self, number: int) -> None:
        name = self._pick()
        with self._attempt(number, "rollback", name=name) as learned:
            view = self._load_and_aim(number, name)
            others = [item.version_id for item in view.versions if item.version_id != view.metadata.current_version_id]
            learned["changes"] = bool(others)
            if others:
                view.update().rollback(version_id=self._chance.choice(others)).commit()

    def _rename(self, number: int) -> None:
        name, target = self._chance.sample(MOVABLE, 2)
        with self._attempt(number, "rename", name=name, target=target) as learned:
            learned["uuid"] = self._catalog.rename_view(self._at(name), self._at(target)).metadata.view_uuid

    def _drop(self, number: int) -> None:
        name = self._chance.choice(MOVABLE)
        with self._attempt(number, "drop", name=name) as learned:
            learned["location"] = self._catalog.drop_view(self._at(name)).steps[0].metadata_location

    def _refresh(self, number: int) -> None:
        name = self._chance.choice(MATERIALIZED)
        with self._attempt(number, "refresh", name=name) as learned:
            engine = NotingEngine(
                self._catalog, lambda staged: self._ledger.note(self._client, number, event="staged", staged=staged)
            )
            [report] = self._catalog.materialized.refresh(self._at(name), engine, mode=Mode.FULL)
            learned.update(snapshot=report.snapshot_id, rows=report.rows)

    def _list(self, number: int) -> None:
        with self._attempt(number, "list") as learned:
            learned["names"] = [name for _, name in self._catalog.list_views(self._plan.database)]

    def _load(self, number: int) -> None:
        name = self._pick()
        with self._attempt(number, "load", name=name) as learned:
            view = self._catalog.load_view(self._at(name))
            learned.update(uuid=view.metadata.view_uuid, versions=len(view.versions))

    def _reopen(self, number: int) -> None:
        """A new catalog, as programs have that live shortly."""
        with self._attempt(number, "reopen"):
            self._catalog.close()
            self._catalog = HiveViewCatalog("prod", **self._plan.properties)


class NotingEngine(DuckEngine):
    """Tells which snapshot it staged."""

    def __init__(self, catalog: HiveViewCatalog, tell: Callable[[int], None]) -> None:
        super().__init__(catalog)
        self._tell = tell

    def stage(self, work: StagingRequest) -> int:
        try:
            staged = super().stage(work)
        except ValidationException as error:
            # This engine's own: another refresh was published while it was looking for the files of the old rows.
            raise CommitFailedException(str(error)) from error
        self._tell(staged)
        return staged
