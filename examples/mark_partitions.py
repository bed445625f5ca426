"""A job for a scheduler: mark partitions of a view that are complete, and mark stale ones again.

    python examples/mark_partitions.py thrift://metastore.example.com:9083 sales.by_day 2026-01-01 2026-01-02

Run it after each load with the days that readers should see. Cron, Airflow and the like only need its exit code: 1 if a
day is incomplete. While a partition is marked again it is missing for a moment, so a reader never sees an old mark.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from hive_views import HiveViewCatalog


def mark(catalog: HiveViewCatalog, view: str, days: Iterable[str], column: str = "ds") -> list[str]:
    """Mark the partitions of some days, and stale ones again; return those that cannot be marked, with the reason."""
    unchanged = set()
    for item in catalog.partitions.marked(view):
        if item.stale is False:
            unchanged.add(dict(item.partition)[column])
        else:
            catalog.partitions.drop(view, item.partition, if_exists=True)
            days = [*days, dict(item.partition)[column]]
    problems = []
    for day in sorted(set(days) - unchanged):
        state = catalog.partitions.dependencies(view, {column: day})
        if state.complete is False:
            problems.append(f"{column}={day}: {state.why}")
        else:
            catalog.partitions.add(view, {column: day}, if_not_exists=True)
    return problems


def main() -> int:
    """Mark the days of the command line."""
    uri, view, *days = sys.argv[1:]
    with HiveViewCatalog("scheduler", uri=uri) as catalog:
        problems = mark(catalog, view, days)
    print("\n".join(problems) or "complete")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
