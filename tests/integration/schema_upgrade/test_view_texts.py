"""Damaged view texts in databases."""

from __future__ import annotations

import subprocess
import sys

from hive_views.schema_upgrade import detect, plan, rollback
from tests.integration.schema_upgrade.contents import apply_before_scripts, select
from tests.integration.schema_upgrade.databases import SqlDatabases
from tests.integration.schema_upgrade.servers import PASSWORD


def test_mojibake_of_mariadb_is_repaired_and_rolled_back(mariadb: SqlDatabases) -> None:
    """The text is stored by a client that declares UTF-8 as latin1."""
    address = mariadb.copy("0.7.0")
    text = "SELECT `t`.`a` AS `x`, 'Zürich 東京 ½' AS `y` FROM `sales`.`t`"
    quoted = text.replace("'", "''")
    mariadb.server.run(
        f"SET NAMES latin1; UPDATE TBLS SET VIEW_ORIGINAL_TEXT = '{quoted}', VIEW_EXPANDED_TEXT = '{quoted}' "
        "WHERE TBL_ID = 23;",
        address.database,
    )
    with mariadb.open(address) as session:
        schema = detect(session)
        assert schema.rows.mangled == (23, 28)
        mojibake = dict(select(session, "TBLS", ["TBL_ID", "VIEW_EXPANDED_TEXT"]))[23]
        assert "ZÃ¼rich" in str(mojibake)
        apply_before_scripts(session, plan(schema))
        texts = select(session, "TBLS", ["TBL_ID", "VIEW_ORIGINAL_TEXT", "VIEW_EXPANDED_TEXT"])
        assert (23, text, text) in texts
        column = detect(session).column("TBLS", "VIEW_EXPANDED_TEXT")
        assert column is not None and column.charset == "utf8mb4"
        assert detect(session).rows.mangled == ()
        rollback(session)
        assert dict(select(session, "TBLS", ["TBL_ID", "VIEW_EXPANDED_TEXT"]))[23] == mojibake


def test_truncated_text_is_reported(mariadb: SqlDatabases) -> None:
    with mariadb.open(mariadb.copy("0.7.0")) as session:
        session.execute(
            "UPDATE TBLS SET VIEW_EXPANDED_TEXT = :text WHERE TBL_ID = 21", {"text": "SELECT " + "1" * 65_528}
        )
        session.commit()
        assert detect(session).rows.truncated == ((21, "VIEW_EXPANDED_TEXT", 65_535),)


UPGRADE = """
import pathlib, re, sys
from hive_views.schema_upgrade import ApplyOptions, Password, apply, connect, detect, parse_address, plan, rollback
with connect(parse_address(sys.argv[1], user="hive", password=Password(sys.argv[2]))) as session:
    applied = apply(session, plan(detect(session)), ApplyOptions(before_hive_scripts=True))
    restored = rollback(session)
# Not ru_maxrss, which begins at the memory of the process that started this one.
peak = re.search(r"VmHWM:\\s*([0-9]+)", pathlib.Path("/proc/self/status").read_text())
print(len(applied.done), restored.rows, int(peak[1]) // 1024)
"""


def test_memory_does_not_grow_with_the_texts(mariadb: SqlDatabases) -> None:
    """150 views with two texts of 80 KB, all of which are repaired and restored."""
    address = mariadb.copy("2.3.0")
    text = "CONCAT('SELECT ''naÃ¯ve'', ''', REPEAT('x', 79960), ''' AS c')"
    mariadb.server.run(
        "INSERT INTO TBLS (TBL_ID, CREATE_TIME, DB_ID, LAST_ACCESS_TIME, RETENTION, TBL_NAME, TBL_TYPE, "
        "VIEW_ORIGINAL_TEXT, VIEW_EXPANDED_TEXT, IS_REWRITE_ENABLED) SELECT seq, 0, 77, 0, 0, CONCAT('v', seq), "
        f"'VIRTUAL_VIEW', {text}, {text}, 0 FROM seq_100001_to_100150",
        address.database,
    )
    command = [sys.executable, "-c", UPGRADE, mariadb.server.url(address.database), PASSWORD]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    _, restored, peak = map(int, done.stdout.split())
    assert restored >= 300
    assert peak < 120, "MB"
