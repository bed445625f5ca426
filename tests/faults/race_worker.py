"""A process that commits to a view concurrently with others: `python -m tests.faults.race_worker CONTEST`, as JSON.

It waits for the file `start`, commits, and prints one JSON line per acknowledged commit.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from hive_views import HiveViewCatalog
from hive_views.errors import CommitFailedError
from tests.integration.catalog.samples import SCHEMA, version

PATIENCE = {"commit.retry.num-retries": "1000", "commit.retry.min-wait-ms": "5", "commit.retry.max-wait-ms": "50"}
"""View properties for unlimited commit retries."""


@dataclass(frozen=True)
class Contest:
    """The task of one process."""

    properties: dict[str, str]
    database: str
    view: str
    process: int
    commits: int
    start: str

    def dump(self) -> str:
        """Return the task as JSON."""
        return json.dumps(asdict(self))


def query(process: int, number: int) -> str:
    """Return the text of one commit."""
    return f"select {process} as id, '{number}' as data"


def compete(contest: Contest) -> list[dict[str, int | str]]:
    """Commit a new text and a property alternately; return the acknowledged commits."""
    name = (contest.database, contest.view)
    acknowledged: list[dict[str, int | str]] = []
    with HiveViewCatalog("prod", **contest.properties) as catalog:
        for number in range(contest.commits):
            while True:
                try:
                    if number % 2:
                        update = catalog.load_view(name).update()
                        made = update.set_properties({f"p{contest.process}-{number}": "set"}).commit()
                    else:
                        texts = version(contest.database, ("spark", query(contest.process, number)))
                        made = catalog.replace_view(name, SCHEMA, texts)
                    break
                except CommitFailedError:
                    continue
            acknowledged.append({"number": number, "version": made.metadata.current_version_id})
    return acknowledged


if __name__ == "__main__":
    given = Contest(**json.loads(sys.argv[1]))
    print("ready", flush=True)
    while not Path(given.start).exists():
        time.sleep(0.001)
    for line in compete(given):
        print(json.dumps(line))
