"""Mojibake and truncated view texts."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_views.schema_upgrade import apply, detect, plan, rollback
from hive_views.schema_upgrade.schema import Column
from hive_views.schema_upgrade.view_checks import has_fixed_columns
from hive_views.schema_upgrade.view_texts import decode_mojibake, is_truncated, repair, suspicion_reason
from tests.integration.schema_upgrade.contents import select
from tests.integration.schema_upgrade.databases import SqlDatabases
from tests.integration.schema_upgrade.servers import PASSWORD

texts = st.text(alphabet=st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), min_size=1)


@given(texts)
def test_mojibake_round_trip(text: str) -> None:
    mojibake = "".join(bytes([code]).decode("cp1252", "ignore") or chr(code) for code in text.encode("utf-8"))
    assert decode_mojibake(mojibake) == (None if text.isascii() else text)


@given(st.text(alphabet="abc äöüéñß 'select from", min_size=1))
def test_latin1_text_is_not_mojibake(text: str) -> None:
    """A single accented letter is never a valid UTF-8 sequence."""
    assert decode_mojibake(text) is None


@pytest.mark.parametrize("text", ["select 1", "", "naïve", "東京", "SELECT 'Ã' FROM t"])
def test_intact_texts_are_not_mojibake(text: str) -> None:
    assert decode_mojibake(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "SELECT replace(a, 'Ã©', 'e') AS a FROM t",
        "SELECT regexp_replace(`a`, 'Ã¼', 'ue') FROM `sales`.`t`",
        "SELECT translate(a, 'Ã©Ã¼', 'eu') FROM t",
    ],
)
def test_text_with_intended_mojibake_is_reported_but_not_repaired(text: str) -> None:
    assert decode_mojibake(text) is not None
    assert repair(text) is None
    assert suspicion_reason(text) is not None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT a FROM t", None),
        ("SELECT a FROM t WHERE b = 'who?'", None),
        ("SELECT a FROM t WHERE b = '?'", None),
        ("SELECT a FROM t WHERE b RLIKE 'colou?r'", None),
        ("SELECT parse_url('http://h/p?q=1', 'QUERY') FROM t", None),
        ("SELECT get_json_object(a, '$.b?c') FROM t", None),
        ("SELECT a -- really?\nFROM t /* ?? */", None),
        ("SELECT a FROM t WHERE b = 'Zürich'", None),
        (20_000 * "'\\", None),
        (20_000 * "/* ", None),
        ("SELECT a FROM t WHERE b = 'it''s ?'", None),
        ("SELECT `na?ve` FROM t", "outside of literals"),
        ("SELECT `??` FROM t", "outside of literals"),
        ("SELECT a AS pr?s FROM t", "outside of literals"),
        ("SELECT a FROM t WHERE b = 'Z?rich'", "in a literal"),
        ("SELECT a FROM t WHERE b = '?lodz'", "in a literal"),
        ('SELECT a FROM t WHERE b = "??"', "in a literal"),
        ("SELECT 'ZÃ¼rich', '東京' FROM t", "a part of it"),
    ],
)
def test_suspicious_texts(text: str, expected: str | None) -> None:
    reason = suspicion_reason(text)
    assert (reason is None) == (expected is None), reason
    assert expected is None or expected in str(reason)


TRUNCATED = [
    ("x" * 100, Column("t", "mediumtext"), False),
    ("x" * 65_535, Column("t", "mediumtext"), True),
    ("x" * 65_534, Column("t", "text"), True),
    ("é" * 32_767, Column("t", "text"), True),
    ("x" * 32_700, Column("t", "long varchar"), True),
    ("x" * 4_000, Column("t", "varchar", 4000), True),
    ("x" * 3_000, Column("t", "varchar", 4000), False),
    ("x" * 1_000_000, Column("t", "text", None), False),
]


@pytest.mark.parametrize(("text", "column", "expected"), TRUNCATED)
def test_truncated_texts(text: str, column: Column, expected: bool) -> None:
    if column.type == "text" and len(text) == 1_000_000:
        column = Column("t", "clob")
    assert is_truncated(text, column) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT a, upper(b) AS c, count(*) FROM t WHERE a > 7 GROUP BY a, b", True),
        ("SELECT * FROM t", False),
        ("SELECT t.* FROM t", False),
        ("SELECT `(ds|hr)?+.+` FROM t", False),
        ("SELECT inline(a) FROM t", False),
        ("SELECT EXPLODE(a) FROM t", False),
        ("SELECT my_udtf(a) FROM t", False),
        ("SELECT TRANSFORM (a) USING 'cat' FROM t", False),
        ("SELECT upper /* or */ (a) FROM t", False),
    ],
)
def test_texts_whose_columns_cannot_change(text: str, expected: bool) -> None:
    assert has_fixed_columns(text) is expected


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
        apply(session, plan(schema))
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
from hive_views.schema_upgrade import Password, apply, connect, detect, parse_address, plan, rollback
with connect(parse_address(sys.argv[1], user="hive", password=Password(sys.argv[2]))) as session:
    applied = apply(session, plan(detect(session)))
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
