"""Generated schema scripts of Hive 4.1 and 4.2; the tests that start these servers run them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hive_views.local_metastore.hive_schemas import BASE, DatabaseType, newer_schema, write_schemas

STATEMENT = re.compile(r"\A(DROP INDEX|CREATE (UNIQUE )?INDEX|ALTER TABLE|CREATE TABLE|UPDATE) [^;]*\Z")


@pytest.mark.parametrize("kind", DatabaseType)
@pytest.mark.parametrize("version", ["4.1.0", "4.2.0"])
def test_script_extends_base_schema(tmp_path: Path, kind: DatabaseType, version: str) -> None:
    for each in DatabaseType:
        (tmp_path / each).mkdir()
        (tmp_path / each / f"hive-schema-{BASE}.{each}.sql").write_text(f"-- {each}\nINSERT 1;\n")
    write_schemas(tmp_path, version)
    text = (tmp_path / kind / f"hive-schema-{version}.{kind}.sql").read_text()
    base, *lines = [line for line in text.splitlines() if line and line != "INSERT 1;"]
    assert base == f"-- {kind}"
    # The schema tool splits at the ends of lines.
    statements = [line.removesuffix(";") for line in lines if line.endswith(";")]
    assert len(statements) == len(lines)
    assert all(map(STATEMENT.match, statements))
    assert f"'{version}'" in statements[-1]
    assert ('"' in text) is (kind is DatabaseType.POSTGRES), "it alone would fold names to lower case"
    assert ("CATALOG_PARAMS" in text) is (version == "4.2.0")


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (DatabaseType.DERBY, "DROP INDEX TAB_COL_STATS_IDX;"),
        (DatabaseType.MYSQL, "DROP INDEX TAB_COL_STATS_IDX ON TAB_COL_STATS;"),
        (DatabaseType.POSTGRES, 'DROP INDEX "TAB_COL_STATS_IDX";'),
    ],
)
def test_script_uses_dialect_of_database(kind: DatabaseType, expected: str) -> None:
    assert expected in newer_schema("", kind, "4.1.0").splitlines()


def test_derby_indexes_are_kept() -> None:
    for kind in DatabaseType:
        assert ("TXN_STATE_IDX" in newer_schema("", kind, "4.1.0")) is (kind is not DatabaseType.DERBY)
