"""`hive-views mv abandoned` against the real metastore; see also tests/integration/materialized."""

from __future__ import annotations

import pyarrow as pa

from hive_views import HiveViewCatalog
from tests.integration.cli.conftest import Cli


def test_abandoned_lists_and_removes_garbage(cli: Cli, catalog: HiveViewCatalog, database: str) -> None:
    catalog.create_table((database, "sales"), pa.schema([("id", pa.int64())]))
    catalog.materialized.create((database, "stored"), "SELECT id FROM sales")
    catalog.drop_view((database, "stored"))
    words = ("mv", "abandoned", database)
    assert cli(*words).out == "0 left behind\n", "it is too young"
    report = cli(*words, "--older-than", "0", "--json").json
    assert (report["tables"], report["rows"], report["removed"]) == ([f"{database}.stored__storage"], [], False)
    [file], [definition] = report["files"], report["definitions"]
    listed = f"table      {database}.stored__storage\nfile       {file}\ndefinition {definition}\n3 left behind\n"
    assert cli(*words, "--older-than", "0").out == listed
    assert cli(*words, "--older-than", "0", "--remove").code == 2, "there is no terminal to ask on"
    done = cli(*words, "--older-than", "0", "--remove", "--yes", "--json").json
    assert (done["tables"], done["definitions"], done["removed"]) == (report["tables"], [], True)
    assert cli(*words, "--older-than", "0").out == f"definition {definition}\n1 left behind\n"
    done = cli(*words, "--older-than", "0", "--remove", "--definitions", "--yes")
    assert done.out == f"definition {definition}\n1 left behind, removed\n"
    assert cli(*words, "--older-than", "0").out == "0 left behind\n"
    assert cli("mv", "abandoned", "no_such_database").code == 3
