"""A client of a soak: it performs random operations and logs their outcomes."""

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
from hive_views.materialized.refresh.actions import Mode
from hive_views.materialized.refresh.request import StagingRequest
from tests.integration.catalog.samples import SCHEMA, version
from tests.integration.materialized.duck_engine import DuckEngine
from tests.soak.ledger import Ledger, Outcome

MOVABLE = tuple(f"m_{number}" for number in range(10))
"""Names that views are created under, renamed to and dropped from."""
STEADY = ("s_0", "s_1", "s_disk")
"""Views that are never renamed or dropped; the files of the last one are on a disk that is temporarily read-only."""
MATERIALIZED = ("mv_registered", "mv_attached")
"""Materialized views of both layouts."""

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
"""Relative frequencies of operations."""


@dataclass(frozen=True)
class Plan:
    """The task of a process."""

    properties: dict[str, str]
    """Properties of the catalogs of its clients."""
    database: str
    ledgers: str
    """The directory of the ledgers."""
    clients: tuple[int, ...]
    """The numbers of its clients."""
    generation: int
    """The number of processes started before."""
    seed: int


def text(token: str) -> str:
    """The text of the view version with a token."""
    return f"select 1 as id, '{token}' as data"


def counter(client: int) -> str:
    """The property with the counter of a client."""
    return f"client-{client}"


class Client:
    """A client with its own catalog."""

    def __init__(self, plan: Plan, client: int, ledger: Ledger) -> None:
        self._plan = plan
        self._client = client
        self._ledger = ledger
        self._random = random.Random(f"{plan.seed} {client} {plan.generation}")
        self._count = plan.generation * 1_000_000
        self._catalog = HiveViewCatalog("prod", **plan.properties)
        self._operations: dict[str, Callable[[int], None]] = {name: getattr(self, f"_{name}") for name in WEIGHTS}

    def step(self) -> None:
        """Perform a random operation."""
        self._count += 1
        number = self._count
        operation = self._random.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        try:
            self._operations[operation](number)
        except CommitStateUnknownException as error:
            self._write_failure(number, Outcome.UNKNOWN, error)
        except (HiveViewsError, CommitFailedException) as error:
            self._write_failure(number, Outcome.REJECTED, error)
            if isinstance(error, MetastoreError):
                time.sleep(0.1)  # the server may be unavailable
        except BaseException:  # noqa: BLE001 -- the check reports it
            self._ledger.note(self._client, number, event="died", died=traceback.format_exc())

    def close(self) -> None:
        """Close its catalog."""
        self._catalog.close()

    def _write_failure(self, number: int, outcome: Outcome, error: Exception) -> None:
        self._ledger.note(
            self._client, number, event=outcome.value, error=type(error).__name__, message=str(error)[:2000]
        )

    def _attempt(self, number: int, operation: str, **arguments: Any):  # type: ignore[no-untyped-def]
        return self._ledger.attempt(self._client, number, operation, **arguments)

    def _choose_name(self) -> str:
        return self._random.choice(STEADY if self._random.random() < 0.15 else MOVABLE)

    def _identifier(self, name: str) -> tuple[str, str]:
        return (self._plan.database, name)

    def _load_for_change(self, number: int, name: str):  # type: ignore[no-untyped-def]
        """Load a view for a change, and log its UUID."""
        view = self._catalog.load_view(self._identifier(name))
        self._ledger.note(self._client, number, event="loaded", uuid=view.metadata.view_uuid)
        return view

    # -- Operations ---------------------------------------------------------------------------------------------------

    def _create(self, number: int) -> None:
        name, token = self._random.choice(MOVABLE), f"{self._client}-{number}"
        with self._attempt(number, "create", name=name, token=token) as result:
            view = self._catalog.create_view(
                self._identifier(name), SCHEMA, version(self._plan.database, ("spark", text(token)))
            )
            result.update(uuid=view.metadata.view_uuid, version=view.metadata.current_version_id)

    def _replace(self, number: int) -> None:
        name, token = self._choose_name(), f"{self._client}-{number}"
        with self._attempt(number, "replace", name=name, token=token) as result:
            view = self._catalog.replace_view(
                self._identifier(name), SCHEMA, version(self._plan.database, ("spark", text(token)))
            )
            result.update(uuid=view.metadata.view_uuid, version=view.metadata.current_version_id)

    def _properties(self, number: int) -> None:
        name = self._choose_name()
        with self._attempt(number, "properties", name=name):
            view = self._load_for_change(number, name)
            view.update().set_properties({counter(self._client): str(number)}).commit()

    def _comment(self, number: int) -> None:
        name = self._choose_name()
        with self._attempt(number, "comment", name=name, comment=f"{self._client}-{number}"):
            self._load_for_change(number, name).update().set_comment(f"{self._client}-{number}").commit()

    def _rollback(self, number: int) -> None:
        name = self._choose_name()
        with self._attempt(number, "rollback", name=name) as result:
            view = self._load_for_change(number, name)
            current_id = view.metadata.current_version_id
            other_ids = [item.version_id for item in view.versions if item.version_id != current_id]
            result["changes"] = bool(other_ids)
            if other_ids:
                view.update().rollback(version_id=self._random.choice(other_ids)).commit()

    def _rename(self, number: int) -> None:
        name, target = self._random.sample(MOVABLE, 2)
        with self._attempt(number, "rename", name=name, target=target) as result:
            result["uuid"] = self._catalog.rename_view(
                self._identifier(name), self._identifier(target)
            ).metadata.view_uuid

    def _drop(self, number: int) -> None:
        name = self._random.choice(MOVABLE)
        with self._attempt(number, "drop", name=name) as result:
            result["location"] = self._catalog.drop_view(self._identifier(name)).steps[0].metadata_location

    def _refresh(self, number: int) -> None:
        name = self._random.choice(MATERIALIZED)
        with self._attempt(number, "refresh", name=name) as result:
            engine = RecordingEngine(
                self._catalog, lambda staged: self._ledger.note(self._client, number, event="staged", staged=staged)
            )
            [report] = self._catalog.materialized.load(self._identifier(name)).refresh(engine, mode=Mode.FULL)
            result.update(snapshot=report.snapshot_id, rows=report.rows)

    def _list(self, number: int) -> None:
        with self._attempt(number, "list") as result:
            result["names"] = [name for _, name in self._catalog.list_views(self._plan.database)]

    def _load(self, number: int) -> None:
        name = self._choose_name()
        with self._attempt(number, "load", name=name) as result:
            view = self._catalog.load_view(self._identifier(name))
            result.update(uuid=view.metadata.view_uuid, versions=len(view.versions))

    def _reopen(self, number: int) -> None:
        """Open a new catalog, as short-lived programs do."""
        with self._attempt(number, "reopen"):
            self._catalog.close()
            self._catalog = HiveViewCatalog("prod", **self._plan.properties)


class RecordingEngine(DuckEngine):
    """Reports the snapshots that it stages."""

    def __init__(self, catalog: HiveViewCatalog, on_staged: Callable[[int], None]) -> None:
        super().__init__(catalog)
        self._on_staged = on_staged

    def stage(self, request: StagingRequest) -> int:
        try:
            staged = super().stage(request)
        except ValidationException as error:
            # Raised by this engine if another refresh is published while it reads the files of the old rows.
            raise CommitFailedException(str(error)) from error
        self._on_staged(staged)
        return staged
