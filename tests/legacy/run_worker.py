"""A run in a process of its own, for the tests that kill it; its arguments: PROPERTIES PLAN JOURNAL."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from hive_views import HiveViewCatalog
from hive_views.legacy.plan import read_plan
from hive_views.legacy.run import run_plan


def main(properties: str, plan: str, journal: str) -> None:
    """Run a plan; at its end a line is printed."""
    with HiveViewCatalog("prod", **json.loads(properties)) as catalog:
        result = run_plan(read_plan(Path(plan).read_text()), catalog, Path(journal))
    print("complete" if result.complete else "incomplete", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
