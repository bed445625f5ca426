"""Rendered scripts: run twice with the clients of the databases; those for Oracle and SQL Server are parsed."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import sqlglot
from sqlglot import exp

from hive_views.schema_upgrade import assumed_schema, detect, plan, render, rollback
from hive_views.schema_upgrade.dialects.registry import NAMES, dialect_of
from hive_views.schema_upgrade.plan_model import Kind
from tests.integration.schema_upgrade.contents import apply_before_scripts, schema_of, types_of
from tests.integration.schema_upgrade.databases import Databases
from tests.integration.schema_upgrade.states import samples

SQLGLOT = {
    "mariadb": "mysql",
    "mysql": "mysql",
    "postgresql": "postgres",
    "derby": "postgres",
    "oracle": "oracle",
    "sqlserver": "tsql",
}
"""A dialect of sqlglot that reads the statements of each database; sqlfluff has the same names for the last two."""

STARTS = ("0.5.0", "0.12.0", "1.2.0", "2.1.0", "2.3.0", "3.1.0", "4.0.0")


@pytest.mark.parametrize(("state", "target"), [("0.5.0", "4.0.0"), ("0.10.0", None), ("2.1.0", "3.1.0")])
def test_script_equals_apply_and_is_repeatable(databases: Databases, state: str, target: str | None) -> None:
    with databases.open(databases.copy(state)) as session:
        new_plan = plan(detect(session), target)
        apply_before_scripts(session, new_plan)
        expected_schema = schema_of(session)
    by_script = databases.copy(state)
    with databases.open(by_script) as session:
        script = render(plan(detect(session), target))

    first = databases.run_script(by_script, script)
    assert "ERROR" not in first, first
    databases.run_script(by_script, script)

    with databases.open(by_script) as session:
        assert schema_of(session) == expected_schema
        rows = samples(state != "0.5.0")
        assert types_of(session) == {row.name: row.expected for row in rows}
        remaining = [step.kind for step in plan(detect(session), target).steps]
        assert remaining == ([Kind.REPAIR] if state != "0.5.0" else []), "a script does not repair texts"
        backup = session.query(f"SELECT COUNT(*) FROM {session.dialect.quote('HIVE_VIEWS_BACKUP')}")
        assert backup[0][0] == sum(row.expected != row.kind for row in rows)


def test_rows_changed_by_script_are_rolled_back(databases: Databases) -> None:
    address = databases.copy("0.10.0")
    with databases.open(address) as session:
        before, script = types_of(session), render(plan(detect(session)))
    databases.run_script(address, script)
    with databases.open(address) as session:
        assert types_of(session) != before
        assert rollback(session).rows > 0
        assert types_of(session) == before


def inner_statements(script: str) -> list[str]:
    """The statements in the EXECUTE IMMEDIATE strings of an Oracle script."""
    return [text.replace("''", "'") for text in re.findall(r"EXECUTE IMMEDIATE '((?:[^']|'')*)'", script)]


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("name", ["oracle", "sqlserver"])
def test_oracle_and_sqlserver_statements_can_be_parsed(name: str, start: str) -> None:
    new_plan = plan(assumed_schema(name, start), "4.0.0")
    assert new_plan.steps
    kinds = {Kind.ADD_COLUMN: exp.Alter, Kind.CREATE_TABLE: exp.Create, Kind.CREATE_INDEX: exp.Create}
    for step in new_plan.steps:
        if not step.kind.is_schema and step.kind is not Kind.FIRST_ROW:
            continue
        for statement in step.statements:
            # sqlglot does not support these forms of ALTER TABLE; test_oracle_modify_and_rename_statements covers them.
            if re.search(r" MODIFY \(| RENAME COLUMN ", statement):
                continue
            tree = sqlglot.parse_one(statement.removesuffix(" ROWDEPENDENCIES"), dialect=SQLGLOT[name])
            assert not isinstance(tree, exp.Command), statement
            if step.kind in kinds:
                assert isinstance(tree, kinds[step.kind]), statement
    script = render(new_plan)
    source = {"oracle": "user_tab_privs_made WHERE table_name = 'TBLS'", "sqlserver": "OBJECT_ID(N'TBLS', N'U')\n"}[
        name
    ]
    assert script.count(source) == sum(step.kind is Kind.CREATE_TABLE for step in new_plan.steps), "their grants"
    for step in new_plan.steps:
        assert f"{step.id}: " in script.replace("\n-- ", " ")
    if name == "oracle":
        assert max(len(line) for line in script.splitlines()) < 2500, "SQL*Plus omits longer lines"
        assert any(statement.startswith("UPDATE TBLS SET TBL_TYPE") for statement in inner_statements(script))
        for statement in inner_statements(script):
            if not re.search(r" MODIFY \(| RENAME COLUMN ", statement):
                bound = statement.replace(":1", "1").replace(":2", "2").removesuffix(" ROWDEPENDENCIES")
                assert not isinstance(sqlglot.parse_one(bound, dialect="oracle"), exp.Command), statement
    else:
        batches = script.split("\nGO\n")
        assert len(batches) > len(new_plan.steps)
        assert "UPDATE [TBLS] SET [TBL_TYPE]" in script, "row steps are rendered although rows were not counted"
        for batch in batches:
            plain = re.sub(r"^(--|:on).*$", "", batch, flags=re.MULTILINE).strip()
            if plain and not plain.startswith(("SET ", "DECLARE ")):
                assert sqlglot.parse(plain.removesuffix("GO"), dialect="tsql"), plain


def test_oracle_modify_and_rename_statements() -> None:
    statements = {step.id: step.statements for step in plan(assumed_schema("oracle", "1.2.0"), "2.2.0").steps}
    assert statements["TBLS.TBL_NAME wide"] == ("ALTER TABLE TBLS MODIFY (TBL_NAME VARCHAR2(256))",)
    assert statements["TABLE_PARAMS.PARAM_VALUE wide"] == (
        "ALTER TABLE TABLE_PARAMS ADD HIVE_VIEWS_SPARE CLOB",
        "ALTER TABLE TABLE_PARAMS RENAME COLUMN PARAM_VALUE TO HIVE_VIEWS_OLD",
        "UPDATE TABLE_PARAMS SET HIVE_VIEWS_SPARE = HIVE_VIEWS_OLD",
        "ALTER TABLE TABLE_PARAMS RENAME COLUMN HIVE_VIEWS_SPARE TO PARAM_VALUE",
        "ALTER TABLE TABLE_PARAMS DROP COLUMN HIVE_VIEWS_OLD",
    )


@pytest.mark.parametrize("name", NAMES)
def test_assumed_schema_of_target_version_needs_no_steps(name: str) -> None:
    new_plan = plan(assumed_schema(name, "4.0.0"), "4.0.0")
    missing = {step.id for step in new_plan.steps if step.kind in (Kind.ADD_COLUMN, Kind.CREATE_TABLE)}
    assert missing == set()


def test_interrupted_oracle_type_change_loses_no_values() -> None:
    """The blocks run over a model of the columns, interrupted after each block: no value is lost.

    Each statement commits, and the metastore may write between two statements.
    """
    script = render(plan(assumed_schema("oracle", "1.2.0"), "2.2.0"))
    blocks = re.findall(r"IF (spare .*) THEN\n    EXECUTE IMMEDIATE '((?:[^']|'')*)'", script)
    assert len(blocks) == 5
    for stop in range(len(blocks) + 1):
        columns = {"PARAM_VALUE": ("VARCHAR2", "first")}
        _run_blocks(blocks[:stop], columns)
        if "PARAM_VALUE" in columns:
            columns["PARAM_VALUE"] = (columns["PARAM_VALUE"][0], "written since")
            expected = "written since"
        else:
            expected = "first"
        _run_blocks(blocks, columns)
        assert columns == {"PARAM_VALUE": ("CLOB", expected)}, f"stopped after {stop} blocks"


def _run_blocks(blocks: list[tuple[str, str]], columns: dict[str, tuple[str, str]]) -> None:
    for condition, statement in blocks:
        kind = columns.get("PARAM_VALUE", ("none", ""))[0]
        counted = {
            "spare": "HIVE_VIEWS_SPARE" in columns,
            "old": "HIVE_VIEWS_OLD" in columns,
            "narrow": kind == "VARCHAR2",
            "wide": kind == "CLOB",
        }
        if not all(counted[name] == bool(int(number)) for name, number in re.findall(r"(\w+) = (\d)", condition)):
            continue
        if added := re.search(r" ADD (\w+) CLOB$", statement):
            columns[added[1]] = ("CLOB", "")
        elif renamed := re.search(r" RENAME COLUMN (\w+) TO (\w+)$", statement):
            columns[renamed[2]] = columns.pop(renamed[1])
        elif copied := re.search(r" SET (\w+) = (\w+)$", statement):
            columns[copied[1]] = (columns[copied[1]][0], columns[copied[2]][1])
        elif dropped := re.search(r" DROP COLUMN (\w+)$", statement):
            del columns[dropped[1]]
        else:
            raise AssertionError(statement)


def test_derby_script_drops_no_column() -> None:
    """`ij` continues after errors: after a failed copy it would drop all values of TABLE_PARAMS."""
    new_plan = plan(assumed_schema("derby", "2.3.0"))
    step = new_plan.step("TABLE_PARAMS.PARAM_VALUE wide")
    assert step is not None and len(step.statements) > 1
    script = render(new_plan)
    assert "DROP COLUMN" not in script
    assert "upgrade apply` only" in script.replace("\n-- ", " ")


@pytest.mark.parametrize("start", ["0.5.0", "1.2.0"])
@pytest.mark.parametrize("name", ["oracle", "sqlserver"])
def test_whole_script_is_valid_plsql_or_tsql(name: str, start: str) -> None:
    sqlfluff = pytest.importorskip("sqlfluff", reason="sqlfluff, which parses PL/SQL and T-SQL (pip install sqlfluff)")
    script = render(plan(assumed_schema(name, start), "4.0.0"))
    commands = re.compile(r"^(WHENEVER SQLERROR|SET DEFINE|:on error).*$", re.MULTILINE)
    sqlfluff.parse(commands.sub("", script), dialect=SQLGLOT[name])


HOSTILE = "a\"`]'\n; DROP TABLE TBLS; -- */ $(id) ${id} &id \u202e<script>]]>\\\r\nGO\n/"


@pytest.mark.parametrize("name", NAMES)
def test_hostile_names_add_no_statement_to_a_script(name: str) -> None:
    benign = plan(assumed_schema(name, "2.3.0"), "4.0.0")
    steps = tuple(replace(step, reason=HOSTILE, blocked=HOSTILE) for step in benign.steps)
    hostile = replace(benign, place=HOSTILE, db_schema=HOSTILE, notes=(HOSTILE,), steps=steps)
    dialect = dialect_of(name)
    schema = "metastore" if name == "oracle" else dialect.quote("metastore")
    expected = [line for line in render(replace(benign, db_schema="metastore")).splitlines() if line[:2] != "--"]
    script = render(hostile).replace(dialect.quote(HOSTILE), schema)
    assert [line for line in script.splitlines() if line[:2] != "--"] == expected
    # sqlcmd replaces variables everywhere, and stops at an undefined one.
    assert name != "sqlserver" or "$(" not in script


@pytest.mark.parametrize("name", [name for name in NAMES if name != "oracle"])
def test_hostile_identifier_is_quoted(name: str) -> None:
    dialect = dialect_of(name)
    (statement,) = sqlglot.parse(f"SELECT 1 AS {dialect.quote(HOSTILE)}", dialect=SQLGLOT[name])
    assert isinstance(statement, exp.Select) and statement.named_selects == [HOSTILE]
