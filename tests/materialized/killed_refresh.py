"""A process that refreshes a materialized view and kills itself: `python -m tests.materialized.killed_refresh`."""

from __future__ import annotations

import os
import signal
import sys

from hive_views import HiveViewCatalog
from hive_views.materialized.work import Work
from tests.materialized.duck_engine import DuckEngine


class Killed(DuckEngine):
    """Dies before or behind its work."""

    def __init__(self, catalog: HiveViewCatalog, moment: str) -> None:
        super().__init__(catalog)
        self.moment = moment

    def stage(self, work: Work) -> int:
        if self.moment == "behind":
            super().stage(work)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("unreachable: the process is gone")


if __name__ == "__main__":
    uri, warehouse, view, moment = sys.argv[1:]
    with HiveViewCatalog("prod", uri=uri, warehouse=warehouse) as catalog:
        catalog.materialized.refresh(view, Killed(catalog, moment))
