"""A run in another process, for tests that kill it. Arguments: PROPERTIES PLAN JOURNAL [HOW].

HOW is `run`, `spark` (a run on the executors of a local Spark) or `revert`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from hive_views import HiveViewCatalog
from hive_views.legacy_import.plan import ImportPlan, read_plan
from hive_views.legacy_import.revert import revert_run
from hive_views.legacy_import.run import run_plan


def main(properties: str, plan: str, journal: str, how: str = "run") -> None:
    """Run a plan or revert its run, and print the result."""
    with HiveViewCatalog("prod", **json.loads(properties)) as catalog:
        if how == "revert":
            print(*(outcome.status.value for outcome in revert_run(catalog, Path(journal))), flush=True)
            return
        import_plan = read_plan(Path(plan).read_text())
        complete = (
            _on_spark(import_plan, catalog, Path(journal))
            if how == "spark"
            else run_plan(import_plan, catalog, Path(journal)).complete
        )
    print("complete" if complete else "incomplete", flush=True)


def _on_spark(plan: ImportPlan, catalog: HiveViewCatalog, journal: Path) -> bool:
    from hive_views.spark.legacy_import.job import SparkImport
    from hive_views.spark.runtime import plain_session

    spark = plain_session(catalog.properties["uri"], catalog.properties["warehouse"])
    complete = SparkImport(spark, catalog, most_calls=2).run(plan, journal, verify="none").complete
    spark.stop()
    return complete


if __name__ == "__main__":
    main(*sys.argv[1:])
