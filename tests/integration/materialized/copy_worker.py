"""A process that changes tables and refreshes a view and its copies until it is killed.

`python -m tests.integration.materialized.copy_worker URI WAREHOUSE DATABASE SEED LOCKS`
"""

from __future__ import annotations

import random
import sys

from pyiceberg.exceptions import CommitFailedException

from hive_views import HiveViewCatalog
from hive_views.errors import HiveViewsError
from tests.integration.materialized.conftest import rows
from tests.integration.materialized.duck_engine import DuckEngine

VIEWS = ("mv", "by_shop", "by_id")


def main() -> None:
    uri, warehouse, database, seed, locks = sys.argv[1:]
    choices = random.Random(seed)
    properties = {"uri": uri, "warehouse": warehouse, "iceberg.engine.hive.lock-enabled": locks}
    with HiveViewCatalog("prod", **properties) as catalog:
        engine = DuckEngine(catalog)
        print("started", flush=True)
        while True:
            try:
                if choices.random() < 0.3:
                    sales = catalog.load_table((database, "sales"))
                    number = choices.randrange(1, 30)
                    if choices.random() < 0.6:
                        sales.append(rows((number, choices.choice(["a", "b", None]), number * 2)))
                    else:
                        sales.delete(f"id = {number}")
                else:
                    name = choices.choice(VIEWS)
                    catalog.materialized.load((database, name)).refresh(engine, mode=choices.choice(["auto", "full"]))
            except (HiveViewsError, CommitFailedException) as error:
                print(type(error).__name__, flush=True)


if __name__ == "__main__":
    main()
