"""Rollbacks execute no SQL of the journal, whatever it holds."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sqlglot import TokenType, tokenize

from hive_views.schema_upgrade.dialects.registry import dialect_of
from hive_views.schema_upgrade.requirements import REQUIREMENTS
from hive_views.schema_upgrade.undo import undo_of

_PARTS = ["'", '"', "`", "\\", ";", "--", "/*", "*/", "\n", "#", "x", "1", " DROP TABLE TBLS", "latin1_bin", "NULL"]
_TEXT = st.none() | st.lists(st.sampled_from(_PARTS), max_size=5).map("".join)
_COLUMN = st.fixed_dictionaries(
    {
        "name": st.just("TBL_NAME"),
        "type": st.sampled_from(["varchar", "char", "text", "mediumtext", "varchar(1)); --"]),
        "length": st.none() | st.integers() | st.just("1); --"),
        "nullable": st.booleans() | st.just("x"),
        "default": _TEXT,
        "charset": _TEXT,
        "collation": _TEXT | st.just("latin1_bin"),
        "comment": _TEXT,
    }
)


@pytest.mark.parametrize("dialect", ["mariadb", "mysql", "postgresql"])
@given(_COLUMN)
@example(
    {"name": "TBL_NAME", "type": "varchar", "length": 9, "collation": "latin1_bin", "comment": "\\'; DROP TABLE X"}
)
def test_forged_declaration_of_a_column_gives_one_alter_table(dialect: str, column: dict[str, Any]) -> None:
    sql = dialect_of(dialect)
    undo = undo_of(sql, "TBLS.TBL_NAME wide", "TBLS", json.dumps(column))
    for statement in (*undo.statements, undo.check or "") if undo else ():
        tokens = tokenize(statement, read="postgres" if dialect == "postgresql" else "mysql")
        kinds = {token.token_type for token in tokens}
        assert not kinds & {TokenType.SEMICOLON, TokenType.DROP}
        assert not any(token.comments for token in tokens)
        assert statement.startswith(("ALTER TABLE ", "SELECT COUNT(*), MIN("))


@pytest.mark.parametrize("step", ["TBLS", "TBLS.TBL_NAME", "TBLS.OWNER", "TBLS index OTHER", "SDS", "x wide", "", " "])
def test_objects_that_no_upgrade_adds_are_not_dropped(step: str) -> None:
    assert undo_of(dialect_of("mariadb"), step, "TBLS") is None


def test_ids_of_requirements_are_unique() -> None:
    assert len(REQUIREMENTS) == len({id(each) for each in REQUIREMENTS.values()}) > 30
