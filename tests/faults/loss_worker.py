"""Writers that are killed at random moments: `python -m tests.faults.loss_worker PLAN`, PLAN being a `Plan` as JSON.

One process imports everything once, forks the writers, kills each of them with SIGKILL after its lifetime and forks
another one, until the plan's time is over and each writer has had a commit acknowledged. A writer that is killed
before its first one has twice the lifetime next, so on a slow machine the run takes longer and still commits. A writer
commits in a loop and keeps a diary: the next attempt, and, synchronized to disk before anything else, whether it was
acknowledged, rejected or left unknown.
"""

from __future__ import annotations

import json
import mmap
import os
import random
import signal
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn

from hive_views import HiveViewCatalog
from hive_views.errors import CommitStateUnknownError, HiveViewsError, MetastoreUnavailableError
from hive_views.io.metadata_files import MetadataFiles
from hive_views.spec.changes import create
from tests.integration.catalog.samples import SCHEMA, version


@dataclass(frozen=True)
class Plan:
    """The plan of a run."""

    properties: dict[str, str]
    """The catalogs' properties; every second writer disables the metastore's lock."""
    database: str
    views: list[str]
    writers: int
    seconds: float
    life: tuple[float, float]
    """The minimum and maximum lifetime of a writer, in seconds."""
    seed: int
    diaries: str
    """The directory of the diaries, one per writer."""

    def dump(self) -> str:
        """Return the plan as JSON."""
        return json.dumps(asdict(self))


def query(token: str) -> str:
    """Return the view text for a commit with this token."""
    return f"select 1 as id, '{token}' as data"


def key(writer: int) -> str:
    """Return the property in which a writer counts its property commits."""
    return f"writer-{writer}"


def run(plan: Plan) -> int:
    """Fork and kill writers repeatedly; return the number of kills."""
    warm_up(plan)
    deadline = time.monotonic() + plan.seconds
    chance = random.Random(plan.seed)
    kills = 0
    living: dict[int, tuple[int, float]] = {}
    generation = 0
    # One byte per writer, shared with it: whether the living one has had a commit acknowledged.
    acknowledged = mmap.mmap(-1, plan.writers)
    starving = set(range(plan.writers))
    factors = [1.0] * plan.writers
    try:
        while starving or time.monotonic() < deadline:
            starving -= {writer for writer in starving if acknowledged[writer]}
            for writer in range(plan.writers):
                if writer in living and time.monotonic() >= living[writer][1]:
                    kill(living.pop(writer)[0])
                    kills += 1
                    factors[writer] = 1.0 if acknowledged[writer] else factors[writer] * 2
                    acknowledged[writer] = 0
                if writer not in living:
                    generation += 1
                    pid = os.fork()
                    if pid == 0:
                        write(plan, writer, generation, acknowledged)
                    living[writer] = (pid, time.monotonic() + factors[writer] * chance.uniform(*plan.life))
            time.sleep(0.005)
    finally:
        for pid, _ in living.values():
            kill(pid)
            kills += 1
    return kills


def warm_up(plan: Plan) -> None:
    """Import all modules that a commit needs once, before the writers are forked."""
    metadata = create(
        identifier="warm.up",
        uuid="00000000-0000-4000-8000-000000000000",
        location=f"{Path(plan.diaries).as_uri()}/warm",
        schema=SCHEMA,
        version=version("warm"),
        properties={},
        now_ms=0,
    )
    files = MetadataFiles({})
    files.write(f"{metadata.location}/up.metadata.json", metadata)
    files.read(f"{metadata.location}/up.metadata.json")


def kill(pid: int) -> None:
    """Kill a writer."""
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status), f"a writer ended by itself: {status}"


def write(plan: Plan, writer: int, generation: int, acknowledged: mmap.mmap) -> NoReturn:
    """Commit until killed."""
    diary = os.open(Path(plan.diaries) / f"{writer}.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def note(**entry: Any) -> None:
        os.write(diary, (json.dumps({"writer": writer, "at": time.monotonic_ns(), **entry}) + "\n").encode())
        os.fsync(diary)
        if entry["event"] == "done":
            acknowledged[writer] = 1

    try:
        work(plan, writer, generation, note)
    except BaseException as error:  # noqa: BLE001 -- what a writer dies of must be seen; it is no part of the plan
        note(event="died", error=repr(error))
    finally:
        os._exit(1)


def work(plan: Plan, writer: int, generation: int, note: Any) -> NoReturn:
    """Commit texts and properties alternately to random views."""
    chance = random.Random(f"{plan.seed} {writer} {generation}")
    locks = "true" if writer % 2 else "false"
    catalog = HiveViewCatalog("prod", **plan.properties, **{"iceberg.engine.hive.lock-enabled": locks})
    count = 0
    while True:
        count += 1
        view = (plan.database, chance.choice(plan.views))
        token = f"{writer}-{generation}-{count}"
        number = generation * 1_000_000 + count
        text = chance.random() < 0.7
        what = {"view": view[1], "token": token} if text else {"view": view[1], "number": number}
        note(event="try", **what)
        try:
            if text:
                made = catalog.replace_view(view, SCHEMA, version(plan.database, ("spark", query(token))))
            else:
                made = catalog.load_view(view).update().set_properties({key(writer): str(number)}).commit()
        except CommitStateUnknownError as error:
            note(event="unknown", error=str(error), **what)
        except HiveViewsError as error:
            note(event="failed", error=f"{type(error).__name__}: {error}", **what)
            if isinstance(error, MetastoreUnavailableError):
                time.sleep(0.2)  # a server that is down rejects thousands of connections per second
        else:
            note(event="done", version=made.metadata.current_version_id, location=made.metadata_location, **what)


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    print(run(Plan(**{**given, "life": tuple(given["life"])})))
