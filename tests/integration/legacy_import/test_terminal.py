"""`hive-views import run` at a terminal: the progress bar and Ctrl-C."""

from __future__ import annotations

import re

from hive_views.legacy_import.journal import ImportStatus, read_journal
from tests.integration.cli.conftest import cli
from tests.integration.cli.terminal import run_at_terminal
from tests.integration.legacy_import.rows import hive_view_row
from tests.integration.legacy_import.test_cli_options import IDS, OLD
from tests.proxy import Hold

__all__ = ["cli"]

SWAP = "alter_table_with_environment_context"


def test_terminal_shows_progress_and_interrupted_run_is_resumed(cli, add, sales, metastore, proxy, tmp_path):
    for number in range(3):
        text = f"select `orders`.`id` from `{sales}`.`orders`"
        add(hive_view_row(sales, f"v_{number}", "select id from orders", text, IDS, **OLD))
    plan, journal = tmp_path / "plan.json", tmp_path / "plan.json.journal"
    # Without a terminal there is no bar: `.json` checks that stderr is empty.
    assert cli("--json", "import", "plan", sales, "--output", str(plan)).json["counts"] == {"pending": 3}

    hold = proxy.on(SWAP, Hold(), nth=2)
    # The first alter marks the table for lineage.
    code, out, terminal_output = run_at_terminal(["import", "run", str(plan)], proxy.uri, hold)
    assert (code, out) == (130, "")
    assert f"Run the same plan again to resume it from {journal}" in terminal_output
    assert "Traceback" not in terminal_output

    code, out, terminal_output = run_at_terminal(["import", "run", str(plan), "--json"], metastore.uri)
    assert code == 0
    # The bar, the counts, the rate, and the remaining time.
    assert re.search(r"importing [━╸╺ ]+ 3/3 [0-9.]+/s 0:00:00", terminal_output), terminal_output
    assert '"converted": 3' in out
    assert [item.status for item in read_journal(journal).outcomes.values()] == [ImportStatus.CONVERTED] * 3
