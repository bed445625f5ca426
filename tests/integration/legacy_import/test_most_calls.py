"""The number of concurrent metastore calls of an import in one process, counted by a proxy."""

from __future__ import annotations

import pytest

from hive_views.errors import UsageError
from hive_views.legacy_import.plan import plan_import
from hive_views.legacy_import.run import run_plan
from tests.integration.legacy_import.rows import hive_view_row
from tests.integration.legacy_import.test_cli_options import IDS, OLD
from tests.proxy import ANY, EVERY, Delay


@pytest.mark.parametrize("most", [1, 2])
def test_concurrent_calls_stay_within_most_calls(proxy, open_catalog, add, sales, other_database, journal, most):
    text = f"select `orders`.`id` from `{sales}`.`orders`"
    for namespace in (sales, other_database):
        for number in range(2):
            add(hive_view_row(namespace, f"v_{number}", "select id from orders", text, IDS, **OLD))
    catalog = open_catalog({"uri": proxy.uri})
    # Slow replies, so that calls overlap if they can.
    proxy.on(ANY, Delay(reply_s=0.005), nth=EVERY)
    plan = plan_import(catalog, databases=[sales, other_database], most_calls=most)
    assert run_plan(plan, catalog, journal, most_calls=most).complete
    assert len(plan.ready) == 4
    assert 1 <= proxy.most_at_once <= most


def test_plan_reads_tables_in_batches(proxy, open_catalog, add, raw, sales):
    for number in range(40):
        table = raw.get_table(sales, "orders")
        table.tableName = f"orders_{number}"
        raw.create_table(table)
        text = f"select `orders_{number}`.`id` from `{sales}`.`orders_{number}`"
        add(hive_view_row(sales, f"v_{number}", f"select id from orders_{number}", text, IDS, **OLD))
    plan = plan_import(open_catalog({"uri": proxy.uri}), databases=[sales])
    assert len(plan.ready) == 40
    assert sum(call.method.startswith("get_table") for call in proxy.calls) <= 8


def test_most_calls_must_be_positive(catalog, sales, journal):
    for most in (0, -1):
        with pytest.raises(UsageError, match=f"most_calls: {most} is not positive"):
            plan_import(catalog, databases=[sales], most_calls=most)
    with pytest.raises(UsageError, match="most_calls: 0 is not positive"):
        run_plan(plan_import(catalog, databases=[sales]), catalog, journal, most_calls=0)
    assert not journal.exists()
