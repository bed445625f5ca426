"""Scripts for Oracle and SQL Server, run on H2 in its modes for both, since neither database is available to the tests.

H2 executes their DDL, queries and updates. What it lacks is replaced here: blocks of PL/SQL and T-SQL are interpreted
statement by statement, catalog views and functions are mapped to INFORMATION_SCHEMA.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from hive_views.local_metastore.jvm import find_jars, find_java
from hive_views.local_metastore.maven import Artifact, fetch
from hive_views.schema_upgrade import assumed_schema, plan, render
from hive_views.schema_upgrade.dialects.registry import dialect_of
from hive_views.schema_upgrade.plan_model import Kind
from tests.integration.schema_upgrade.states import CACHE, samples

H2 = Artifact("com.h2database", "h2", "2.3.232")

MODES = {"oracle": "Oracle", "sqlserver": "MSSQLServer"}

_ORACLE_VIEWS = """
CREATE VIEW user_tables AS SELECT TABLE_NAME FROM INFORMATION_SCHEMA.TABLES;
CREATE VIEW user_tab_columns AS SELECT TABLE_NAME, COLUMN_NAME, CHARACTER_MAXIMUM_LENGTH AS char_length,
  CASE DATA_TYPE WHEN 'CHARACTER LARGE OBJECT' THEN 'CLOB' ELSE DATA_TYPE END AS data_type
  FROM INFORMATION_SCHEMA.COLUMNS;
CREATE VIEW user_indexes AS SELECT INDEX_NAME, TABLE_NAME FROM INFORMATION_SCHEMA.INDEXES;
CREATE VIEW user_ind_columns AS SELECT INDEX_NAME, TABLE_NAME, COLUMN_NAME, ORDINAL_POSITION AS column_position
  FROM INFORMATION_SCHEMA.INDEX_COLUMNS;
"""


@dataclass
class Database:
    """A database of H2 in a JVM."""

    connection: Any
    executed: list[str]

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        statement = self.connection.createStatement()
        result = statement.executeQuery(sql)
        width = result.getMetaData().getColumnCount()
        rows = []
        while result.next():
            rows.append(tuple(result.getString(number) for number in range(1, width + 1)))
        statement.close()
        return rows

    def execute(self, sql: str) -> None:
        statement = self.connection.createStatement()
        changed = statement.executeUpdate(sql)
        statement.close()
        if changed or not sql.startswith(("UPDATE", "INSERT")):
            self.executed.append(sql)

    def holds(self, condition: str) -> bool:
        return self.query(f"SELECT CASE WHEN {condition} THEN 1 ELSE 0 END AS holds") == [("1",)]


@pytest.fixture(scope="module")
def gateway() -> Iterator[Any]:
    from py4j.java_gateway import JavaGateway

    (jar,) = fetch([H2], CACHE)
    (py4j,) = find_jars("the tests").glob("py4j-*.jar")
    gateway = JavaGateway.launch_gateway(
        jarpath=str(py4j), classpath=str(jar), java_path=find_java("the tests"), die_on_exit=True
    )
    yield gateway
    gateway.shutdown()


def start(gateway: Any, name: str, version: str) -> Database:
    """A database with the tables of a version, and the samples in it."""
    source = gateway.jvm.org.h2.jdbcx.JdbcDataSource()
    source.setURL(f"jdbc:h2:mem:;MODE={MODES[name]}")
    database = Database(source.getConnection(), [])
    sql = dialect_of(name)
    for table in assumed_schema(name, version).tables:
        columns = ", ".join(
            f"{sql.quote(column.name)} {column.type}"
            + (f"({'max' if column.length < 0 else column.length})" if column.length else "")
            for column in table.columns
        )
        database.execute(f"CREATE TABLE {sql.quote(table.name)} ({columns}, PRIMARY KEY ({sql.names(_key(table))}))")
    # An index of another name on the columns of HIVE_VIEWS_PARAMS: Oracle rejects a second one.
    columns = sql.names(["PARAM_KEY", "TBL_ID"])
    database.execute(f"CREATE INDEX {sql.quote('OTHER')} ON {sql.quote('TABLE_PARAMS')} ({columns})")
    tbls, params = sql.quote("TBLS"), sql.quote("TABLE_PARAMS")
    for row in samples(with_views=True):
        names = sql.names(["TBL_ID", "SD_ID", "TBL_NAME", "TBL_TYPE", "VIEW_ORIGINAL_TEXT", "VIEW_EXPANDED_TEXT"])
        text = sql.literal(row.text) if row.text else "NULL"
        values = [str(row.tbl_id), "1" if row.storage else "NULL", sql.literal(row.name)]
        values += [sql.literal(row.kind) if row.kind else "NULL", text, text]
        database.execute(f"INSERT INTO {tbls} ({names}) VALUES ({', '.join(values)})")
        if row.external is not None:
            value = sql.literal(row.external)
            database.execute(f"INSERT INTO {params} VALUES ({row.tbl_id}, {sql.literal('EXTERNAL')}, {value})")
    if name == "oracle":
        for view in _ORACLE_VIEWS.split(";")[:-1]:
            database.execute(view)
    database.executed.clear()
    return database


def _key(table: Any) -> list[str]:
    names = [column.name for column in table.columns]
    return ["TBL_ID", "PARAM_KEY"] if table.name == "TABLE_PARAMS" else names[:1]


def run_oracle(database: Database, script: str) -> None:
    """Run the blocks of a script for SQL*Plus."""
    for block in script.split("\n/\n")[1:]:
        if loop := re.search(r"WHILE .* LOOP(.*)END LOOP", block, re.DOTALL):
            for sql in re.findall(r"EXECUTE IMMEDIATE '((?:[^']|'')*)' USING", loop[1]):
                bound = sql.replace("''", "'").replace(":1", "0").replace(":2", "9999")
                bound = re.sub(r"DBMS_LOB\.SUBSTR\((.*?), 128, 1\)", r"SUBSTR(\1, 1, 128)", bound)
                bound = re.sub(r"TO_CHAR\(SYS_EXTRACT_UTC\(SYSTIMESTAMP\), '.*?'\)", "'now'", bound)
                database.execute(bound.replace("TO_CLOB(", "("))
            continue
        block_parts = re.search(r"SELECT (.*?)\s+INTO ([\w, ]+?) FROM (.*?);\n  IF (.*?) THEN", block, re.DOTALL)
        statement = re.search(r"EXECUTE IMMEDIATE '((?:[^']|'')*)'", block)
        if statement is None:
            assert not block.strip("\n-") or "RAISE_APPLICATION_ERROR" in block or "COMMIT" not in block
            continue
        if block_parts is not None:
            counts = dict(
                zip(
                    block_parts[2].split(", "),
                    database.query(f"SELECT {block_parts[1]} FROM {block_parts[3]}")[0],
                    strict=True,
                )
            )
            condition = block_parts[4]
            for variable, count in counts.items():
                condition = condition.replace(f"{variable} =", f"{count} =")
            if not database.holds(condition):
                continue
        database.execute(statement[1].replace("''", "'").replace(" ROWDEPENDENCIES", ""))


def run_sqlserver(database: Database, script: str) -> None:
    """Run the batches of a script for sqlcmd."""
    for batch in script.split("\nGO\n")[2:]:
        text = re.sub(r"^--.*\n", "", batch.strip() + "\n", flags=re.MULTILINE).strip()
        if loop := re.search(r"BEGIN TRANSACTION;(.*)COMMIT TRANSACTION", text, re.DOTALL):
            bound = loop[1].replace("(@first_id + 9999)", "9999").replace("@first_id", "0")
            bound = bound.replace("CONVERT(nvarchar(30), SYSUTCDATETIME(), 126) + N'Z'", "'now'")
            for sql in bound.split(";\n"):
                if sql.strip():
                    database.execute(sql.strip())
            continue
        if not text or "sys.database_permissions" in text:
            continue
        conditional = re.match(r"IF (.*?)\n  (\S.*);", text, re.DOTALL)
        if conditional is None:
            database.execute(text.rstrip(";"))
        elif database.holds(_condition(conditional[1])):
            database.execute(conditional[2])


def _condition(text: str) -> str:
    """A condition of T-SQL with functions of the catalog as a condition of H2."""
    text = re.sub(
        r"COL_LENGTH\((N'\w+'), (N'\w+')\) IS NULL",
        r"NOT EXISTS (SELECT 1 FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME = \1 AND COLUMN_NAME = \2)",
        text,
    )
    text = re.sub(
        r"OBJECT_ID\((N'\w+'), N'U'\) IS NULL",
        r"NOT EXISTS (SELECT 1 FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_NAME = \1)",
        text,
    )
    text = re.sub(
        r"INDEXPROPERTY\(OBJECT_ID\((N'\w+')\), (N'\w+'), 'IndexID'\) IS NULL",
        r"NOT EXISTS (SELECT 1 FROM INFORMATION_SCHEMA.INDEXES WHERE TABLE_NAME = \1 AND INDEX_NAME = \2)",
        text,
    )
    # H2 stores nvarchar(max) as a character large object and other types under their SQL names.
    text = text.replace("SCHEMA_NAME()", "CURRENT_SCHEMA").replace("DATA_TYPE = N'nvarchar' AND ", "")
    return text.replace("CHARACTER_MAXIMUM_LENGTH = -1", "CHARACTER_MAXIMUM_LENGTH > 1000000")


@pytest.mark.parametrize("version", ["1.2.0", "2.3.0", "3.1.0"])
@pytest.mark.parametrize("name", MODES)
def test_script_runs_twice(gateway: Any, name: str, version: str) -> None:
    database, sql = start(gateway, name, version), dialect_of(name)
    schema = replace(assumed_schema(name, version), place="")
    script = render(plan(schema, "4.0.0"))
    run = {"oracle": run_oracle, "sqlserver": run_sqlserver}[name]
    tbls, params = sql.quote("TBLS"), sql.quote("TABLE_PARAMS")
    values = database.query(f"SELECT * FROM {params} ORDER BY 1")

    run(database, script)

    for step in plan(schema, "4.0.0").steps:
        if step.kind in (Kind.ADD_COLUMN, Kind.CREATE_TABLE, Kind.CREATE_INDEX):
            (statement,) = step.statements
            is_rejected = name == "oracle" and step.name == "HIVE_VIEWS_PARAMS"
            assert (statement.removesuffix(" ROWDEPENDENCIES") in database.executed) is not is_rejected
    names = sql.names(["TBL_NAME", "TBL_TYPE", "IS_REWRITE_ENABLED", "WRITE_ID"])
    rows = {row[0]: row[1:] for row in database.query(f"SELECT {names} FROM {tbls}")}
    assert {row[1] for row in rows.values()} <= {"0", "FALSE"}
    assert {row[2] for row in rows.values()} == {"0"}, "Hive 4 cannot read a row with NULL"
    assert {key: row[0] for key, row in rows.items()} == {row.name: row.expected for row in samples(with_views=True)}
    listed = sql.names(["TBL_ID", "PARAM_KEY", "PARAM_VALUE"])
    assert database.query(f"SELECT {listed} FROM {params} ORDER BY 1") == values
    first = list(database.executed)
    database.executed.clear()
    run(database, script)
    assert database.executed == [], first


@pytest.mark.parametrize("name", MODES)
def test_script_fills_missing_write_ids(gateway: Any, name: str) -> None:
    """A column that an earlier script added as nullable, so that SQL Server left it NULL in existing rows."""
    database, sql = start(gateway, name, "3.1.0"), dialect_of(name)
    database.execute(f"ALTER TABLE {sql.quote('TBLS')} ADD {sql.quote('WRITE_ID')} bigint DEFAULT NULL")
    script = render(plan(assumed_schema(name, "3.1.0"), "4.0.0"))
    {"oracle": run_oracle, "sqlserver": run_sqlserver}[name](database, script)
    assert database.query(f"SELECT DISTINCT {sql.quote('WRITE_ID')} FROM {sql.quote('TBLS')}") == [("0",)]
