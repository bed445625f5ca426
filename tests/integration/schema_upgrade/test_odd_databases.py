"""Databases that differ from the results of Hive's scripts, and concurrent changes of rows."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from hive_views.errors import DatabaseError, InvalidPlanError, UpgradeError, UsageError
from hive_views.schema_upgrade import (
    Password,
    connect,
    detect,
    parse_address,
    plan,
    render,
    rollback,
    verify,
)
from hive_views.schema_upgrade.journal import unpack
from hive_views.schema_upgrade.plan_model import Kind
from hive_views.schema_upgrade.row_changes import Progress
from hive_views.schema_upgrade.schema import TableRow
from hive_views.schema_upgrade.table_types import HIVE_TYPES, decidable, decide, new_type
from tests.integration.schema_upgrade.conftest import on_servers, once
from tests.integration.schema_upgrade.contents import (
    apply_before_scripts,
    backup_of,
    change,
    rows_of,
    schema_of,
    select,
    types_of,
)
from tests.integration.schema_upgrade.databases import Databases, DerbyDatabases, SqlDatabases
from tests.integration.schema_upgrade.servers import PASSWORD
from tests.integration.schema_upgrade.states import old_schema


def test_cloudera_fork_is_detected_by_its_column(postgresql: SqlDatabases) -> None:
    with postgresql.open(postgresql.copy("0.12.0")) as session:
        session.execute('ALTER TABLE "VERSION" ADD COLUMN "SCHEMA_VERSION_V2" character varying(255)')
        session.execute('ALTER TABLE "TBLS" ADD COLUMN "OWNER_TYPE" character varying(10)')
        session.execute("""UPDATE "VERSION" SET "SCHEMA_VERSION" = '1.1.0', "SCHEMA_VERSION_V2" = '1.1.0-cdh5.12.0'""")
        session.commit()
        schema = detect(session)
        assert (schema.vendor, schema.vendor_version, schema.version) == ("cdh", "1.1.0-cdh5.12.0", "1.1.0")
        new_plan = plan(schema, "3.1.3")
        assert new_plan.step("TBLS.OWNER_TYPE") is None, (
            "the fork has the column in an earlier version than Apache Hive"
        )
        assert any("1.1.0-cdh5.12.0" in note for note in new_plan.notes)


def test_invalid_flags_are_filled_in(databases: Databases) -> None:
    with databases.open(databases.copy("2.3.0")) as session:
        if session.dialect.name == "mariadb":
            change(session, "ALTER TABLE [TBLS] MODIFY [IS_REWRITE_ENABLED] bit(1) NULL")
        elif session.dialect.name == "postgresql":
            change(session, "ALTER TABLE [TBLS] ALTER COLUMN [IS_REWRITE_ENABLED] DROP NOT NULL")
        # Hive's script to 3.0.0 writes a timestamp into Derby's CHAR(1); elsewhere an interrupted script leaves NULLs.
        value = "'2'" if isinstance(databases, DerbyDatabases) else "NULL"
        change(session, f"UPDATE [TBLS] SET [IS_REWRITE_ENABLED] = {value} WHERE [TBL_ID] IN (1, 21)")
        before = rows_of(session, "TBLS")
        new_plan = plan(detect(session))
        assert next(step.kind for step in new_plan.steps if not step.kind.is_schema) is Kind.FILL
        apply_before_scripts(session, new_plan)
        assert len({repr(row[0]) for row in select(session, "TBLS", ["IS_REWRITE_ENABLED"])}) == 1
        assert detect(session).rows.bad_flags == 0
        rollback(session)
        assert rows_of(session, "TBLS") == before


@on_servers
def test_row_changed_during_its_batch_is_not_overwritten(databases: SqlDatabases) -> None:
    """The batch is repeated, and the backup does not contain the changed row."""
    address = databases.copy("0.10.0")
    with databases.open(address) as other, databases.open(address) as session:
        statements: list[str] = []

        def change_row(progress: Progress) -> None:
            if progress.step == "rows TBL_TYPE" and progress.statement.startswith("UPDATE"):
                statements.append(progress.statement)
                if len(statements) == 1:
                    change(other, "UPDATE [TBLS] SET [TBL_TYPE] = 'INDEX_TABLE' WHERE [TBL_ID] = 2")

        new_plan = plan(detect(session))
        first = new_plan.step("rows TBL_TYPE")
        assert first is not None
        apply_before_scripts(session, new_plan, while_running=True, progress=change_row)
        assert types_of(session)["ext"] == "INDEX_TABLE"
        assert types_of(session)["ext_lower"] == "EXTERNAL_TABLE"
        backed_up = [unpack(str(row[4]), 1_000) for row in backup_of(session) if row[2] == "TBL_TYPE"]
        assert not any(2 in ids for ids in backed_up)
        assert [1 in ids for ids in backed_up].count(True) == 1, "the backup contains nothing of the abandoned batch"


@once
def test_progress_is_reported_per_batch(databases: Databases) -> None:
    with databases.open(databases.copy("0.10.0")) as session:
        reports: list[Progress] = []
        with pytest.raises(UsageError, match="from 1 to 100000"):
            apply_before_scripts(session, plan(detect(session)), batch_size=100_001)
        apply_before_scripts(session, plan(detect(session)), batch_size=5, progress=reports.append)
        batches = [report for report in reports if report.step == "rows TBL_TYPE" and report.statement == "COMMIT"]
        assert [(batch.done, batch.total) for batch in batches] == [(5, 17), (10, 17), (15, 17), (17, 17)]


def test_rejected_statement_keeps_committed_steps(databases: Databases) -> None:
    """Committed steps remain, the error names the statement, and a second run completes the plan."""
    address = databases.copy("0.5.0")
    with databases.open(address) as session:
        new_plan = plan(detect(session))
        step = new_plan.step("TABLE_PARAMS index HIVE_VIEWS_PARAMS")
        assert step is not None

        def add_index(progress: Progress) -> None:
            if progress.step == "TBLS.TBL_TYPE" and progress.statement == "done":
                change(session, f"CREATE INDEX [{step.name}] ON [TABLE_PARAMS] ([PARAM_KEY])")

        with pytest.raises(DatabaseError) as caught:
            apply_before_scripts(session, new_plan, progress=add_index)
        assert caught.value.statement == step.statements[0]
        assert "TBLS.TBL_TYPE was applied" in caught.value.completed_steps
        assert detect(session, rows=False).column("TBLS", "VIEW_EXPANDED_TEXT")
        session.execute(session.dialect.drop_index(step.name, "TABLE_PARAMS"))
        session.commit()
        again = apply_before_scripts(session, plan(detect(session)))
        assert step.id in again.done
        assert plan(detect(session)).steps == ()

        def drop_index(progress: Progress) -> None:
            if progress.statement == "COMMIT" and progress.done == progress.total:
                session.execute(session.dialect.drop_index(step.name, "TABLE_PARAMS"))
                session.commit()

        with pytest.raises(DatabaseError, match=r"Before that: rows TBL_TYPE was undone up to row \d+ of \d+"):
            rollback(session, schema=True, progress=drop_index)


@pytest.mark.parametrize("mode", ["", "ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH", "ORACLE"])
def test_nondefault_sql_modes(mariadb: SqlDatabases, mode: str) -> None:
    address, by_script = mariadb.copy("0.7.0"), mariadb.copy("0.7.0")
    mariadb.server.run(f"SET GLOBAL sql_mode = '{mode}';")
    text = "SELECT 'naÃ¯ve' AS `x`, 'C:\\\\dir' AS `y` FROM `sales`.`t`"
    try:
        with connect(parse_address(address.place, user="hive", password=Password(PASSWORD))) as session:
            session.execute("UPDATE TBLS SET VIEW_ORIGINAL_TEXT = :text WHERE TBL_ID = 21", {"text": text})
            session.commit()
            before = rows_of(session, "TBLS")
            apply_before_scripts(session, plan(detect(session)))
            assert plan(detect(session)).steps == ()
            assert (21, text.replace("Ã¯", "ï")) in select(session, "TBLS", ["TBL_ID", "VIEW_ORIGINAL_TEXT"])
            with pytest.raises(DatabaseError, match="too long"):
                session.execute("UPDATE TBLS SET TBL_TYPE = :text WHERE TBL_ID = 1", {"text": "x" * 200})
            session.rollback()
            rollback(session)
            assert rows_of(session, "TBLS") == before
        with mariadb.open(by_script) as session:
            script = render(plan(detect(session), "3.1.0"))
        mariadb.run_script(by_script, script)
        mariadb.run_script(by_script, script)
        with mariadb.open(by_script) as session:
            assert [step.kind for step in plan(detect(session), "3.1.0").steps] == [Kind.REPAIR]
    finally:
        mariadb.server.run("SET GLOBAL sql_mode = DEFAULT;")


def test_repeated_script_leaves_upgraded_columns_unchanged(mariadb: SqlDatabases) -> None:
    """Columns changed back to latin1 would replace characters written since by question marks."""
    address = mariadb.copy("0.7.0")
    with mariadb.open(address) as session:
        session.execute("ALTER TABLE TBLS MODIFY VIEW_ORIGINAL_TEXT text CHARACTER SET latin1")
        session.execute("ALTER TABLE TABLE_PARAMS MODIFY PARAM_VALUE varchar(4000) CHARACTER SET latin1")
        new_plan = plan(detect(session))
    wide = [step.id for step in new_plan.steps if step.kind in (Kind.WIDEN, Kind.RECODE)]
    assert wide[:2] == ["TBLS.VIEW_ORIGINAL_TEXT wide", "TABLE_PARAMS.PARAM_VALUE wide"]
    assert "TBLS.VIEW_ORIGINAL_TEXT utf8mb4" in wide
    # Without strict mode, values that do not fit are truncated or replaced by question marks with a warning only.
    mariadb.server.run("SET GLOBAL sql_mode = '';")
    try:
        mariadb.run_script(address, render(new_plan))
        with mariadb.open(address) as session:
            session.execute("ALTER TABLE TABLE_PARAMS MODIFY PARAM_VALUE longtext CHARACTER SET utf8mb4")
            for statement in (
                "UPDATE TBLS SET VIEW_ORIGINAL_TEXT = :text, VIEW_EXPANDED_TEXT = :text WHERE TBL_ID = 21",
                "INSERT INTO TABLE_PARAMS (TBL_ID, PARAM_KEY, PARAM_VALUE) VALUES (21, 'note', :text)",
            ):
                session.execute(statement, {"text": "SELECT '東京 😀'"})
            session.commit()
            schema, rows = schema_of(session), rows_of(session, "TBLS")
        mariadb.run_script(address, render(new_plan))
        with mariadb.open(address) as session:
            assert schema_of(session) == schema
            assert rows_of(session, "TBLS") == rows
            assert (21, "SELECT '東京 😀'") in select(session, "TABLE_PARAMS", ["TBL_ID", "PARAM_VALUE"])
    finally:
        mariadb.server.run("SET GLOBAL sql_mode = DEFAULT;")


def test_tables_without_transactions_are_rejected(mariadb: SqlDatabases) -> None:
    """MySQL 5.1 created MyISAM tables by default, whose changes and backup are not atomic."""
    with mariadb.open(mariadb.copy("0.7.0")) as session:
        session.execute("ALTER TABLE TBLS ENGINE=MyISAM")
        new_plan = plan(detect(session))
        with pytest.raises(UpgradeError, match="TBLS does not support transactions"):
            apply_before_scripts(session, new_plan)
        session.execute("ALTER TABLE TBLS ENGINE=InnoDB")
        assert apply_before_scripts(session, plan(detect(session))).done


def test_schema_other_than_public(postgresql: SqlDatabases) -> None:
    """With two metastores in one database, a plan and its script are for the schema that was read."""
    address = postgresql.copy("0.5.0")
    postgresql.server.run(
        'ALTER SCHEMA public RENAME TO "Meta"; CREATE SCHEMA public; ' + "; ".join(old_schema("postgresql", "0.5.0")),
        address.database,
    )
    with connect(replace(address, schema="Meta")) as session:
        schema = detect(session)
        assert (schema.db_schema, schema.rows.tables) == ("Meta", 6)
        new_plan = plan(schema)
    with connect(address) as session:
        assert detect(session).rows.tables == 0
        with pytest.raises(InvalidPlanError, match="the schema Meta, not for public"):
            apply_before_scripts(session, new_plan)
    for _ in range(2):
        postgresql.run_script(address, render(new_plan))
    with connect(replace(address, schema="Meta")) as session:
        assert plan(detect(session)).steps == ()
        assert types_of(session)["ext"] == "EXTERNAL_TABLE"
    with connect(address) as session:
        assert detect(session).column("TBLS", "TBL_TYPE") is None, "the other metastore is unchanged"


def test_views_are_checked_within_their_own_catalog(postgresql: SqlDatabases) -> None:
    """Hive 3.0 and later may have databases of the same name in several catalogs."""
    with postgresql.open(postgresql.copy("3.1.0")) as session:
        for statement in (
            """INSERT INTO "CTLGS" ("CTLG_ID", "NAME", "LOCATION_URI") VALUES (9, 'spark', 'file:/none')""",
            """INSERT INTO "DBS" ("DB_ID", "NAME", "DB_LOCATION_URI", "CTLG_NAME")
               VALUES (99, 'sales', 'file:/none', 'spark')""",
            """UPDATE "TBLS" SET "DB_ID" = 99 WHERE "TBL_NAME" IN ('v', 'v_mojibake')""",
        ):
            session.execute(statement)
        session.commit()
        problems = {check.view: check.problems for check in verify(session).broken}
        assert "sales.v_typed" not in problems
        assert "no table or view sales.t" in problems["spark.sales.v"][0]


def test_star_of_a_grown_table_is_outdated(postgresql: SqlDatabases) -> None:
    with postgresql.open(postgresql.copy("2.3.0")) as session:
        for statement in (
            """UPDATE "TBLS" SET "VIEW_ORIGINAL_TEXT" = 'SELECT * FROM t' WHERE "TBL_NAME" = 'v'""",
            """INSERT INTO "COLUMNS_V2" ("CD_ID", "COLUMN_NAME", "TYPE_NAME", "INTEGER_IDX")
               VALUES (1001, 'b', 'int', 1)""",
        ):
            session.execute(statement)
        session.commit()
        validity = {check.view: check.validity for check in verify(session).broken}
        assert (validity.get("sales.v"), validity.get("sales.v_typed")) == ("outdated", None)
        report = verify(session, views=False)
        assert (report.views, report.broken, report.lacking) == (None, (), verify(session).lacking)


UNUSUAL_NAMES = ["it's", 'a"b', "a`b", "a.b", "a;--b", "a%s:b", "a\\b", "naïve"]


def test_rows_with_unusual_names_and_texts(databases: Databases) -> None:
    """Types are filled in, texts are checked, and a rollback restores all values."""
    long_text = "SELECT '" + "é" * (16_000 if databases.dialect == "derby" else 700_000) + "'"
    texts = [
        long_text,
        "SELECT '東京 😀 :x %s \\' FROM `sales`.`it``s`",
        "",
        " ",
        "\n;--",
        "SELECT `a` FROM `sales`.`a``b`",
    ]
    with databases.open(databases.copy("0.12.0")) as session:
        session.execute(f"DELETE FROM {session.dialect.quote('TABLE_PARAMS')}")
        if databases.dialect == "mariadb":
            apply_before_scripts(session, plan(detect(session)))
        names = ["TBL_ID", "CREATE_TIME", "DB_ID", "LAST_ACCESS_TIME", "RETENTION", "SD_ID", "TBL_NAME"]
        names += ["VIEW_ORIGINAL_TEXT", "VIEW_EXPANDED_TEXT"]
        listed = f"{session.dialect.quote('TBLS')} ({session.dialect.names(names)})"
        for number, name in enumerate(UNUSUAL_NAMES):
            text = texts[number] if number < len(texts) else None
            session.execute(
                f"INSERT INTO {listed} VALUES (:number, 0, 77, 0, 0, 1001, :name, :first, :second)",
                {"number": 500 + number, "name": name, "first": text, "second": None if number % 2 else text},
            )
        session.commit()
        before = rows_of(session, "TBLS")
        applied = apply_before_scripts(session, plan(detect(session)), batch_size=3)
        assert plan(detect(session)).steps == ()
        types = types_of(session)
        assert [types[name] for name in UNUSUAL_NAMES] == ["VIRTUAL_VIEW"] * 6 + ["MANAGED_TABLE"] * 2
        assert not {doubt.tbl_id for doubt in applied.doubts} & set(range(500, 508))
        report = verify(session)
        assert report.complete
        broken = {check.view: check.validity for check in report.broken}
        # The text of a"b reads a missing table; a`b has none; a%s:b reads a`b; those of a.b and a;--b are not queries,
        # as far as this package can read them.
        names_of = {
            wanted: [name for name in UNUSUAL_NAMES if broken.get(f"sales.{name}") == wanted]
            for wanted in ("invalid", "unknown")
        }
        assert names_of == {"invalid": ['a"b', "a`b"], "unknown": ["a.b", "a;--b"]}
        assert [name for name, validity in broken.items() if validity not in names_of] == ["sales.a%s:b"]
        rollback(session)
        after = rows_of(session, "TBLS")
        if databases.dialect != "mariadb":
            assert after == before
        texts_by_id = dict(select(session, "TBLS", ["TBL_ID", "VIEW_ORIGINAL_TEXT"]))
        assert [texts_by_id[500 + number] for number in range(len(texts))] == texts


def test_sql_and_python_decide_types_equally(databases: Databases) -> None:
    """All combinations of the fields that decide the type of a row."""
    types, flags = [None, *HIVE_TYPES, "ODD"], [False, True]
    combinations = itertools.product(types, flags, flags, flags, [None, "TRUE", "true", "FALSE", "maybe"])
    rows = {1000 + number: TableRow(*fields) for number, fields in enumerate(combinations)}
    with databases.open(databases.copy("0.10.0")) as session:
        quote = session.dialect.quote
        tbls, key = quote("TBLS"), quote("TBL_ID")
        session.execute(f"DELETE FROM {quote('TABLE_PARAMS')}")
        session.execute(f"DELETE FROM {tbls}")
        names = ["TBL_ID", "CREATE_TIME", "LAST_ACCESS_TIME", "RETENTION", "SD_ID", "TBL_TYPE"]
        names += ["VIEW_ORIGINAL_TEXT", "VIEW_EXPANDED_TEXT", "TBL_NAME"]
        for tbl_id, row in rows.items():
            values = [str(tbl_id), "0", "0", "0", "1" if row.has_storage else "NULL"]
            values.append(f"'{row.table_type}'" if row.table_type else "NULL")
            values += ["'SELECT 1'" if has_text else "NULL" for has_text in (row.has_original, row.has_expanded)]
            values.append(f"'t{tbl_id}'")
            session.execute(f"INSERT INTO {tbls} ({session.dialect.names(names)}) VALUES ({', '.join(values)})")
            if row.external is not None:
                into = f"{quote('TABLE_PARAMS')} ({session.dialect.names(['TBL_ID', 'PARAM_KEY', 'PARAM_VALUE'])})"
                session.execute(f"INSERT INTO {into} VALUES ({tbl_id}, 'EXTERNAL', '{row.external}')")
        session.commit()
        decided = {tbl_id: decision.new for tbl_id, row in rows.items() if (decision := decide(row)).new is not None}
        new_types = session.query(
            f"SELECT {key}, {new_type(session.dialect, tbls)} FROM {tbls} WHERE {decidable(session.dialect, tbls)}"
        )
        session.rollback()
        assert {int(tbl_id): kind for tbl_id, kind in new_types} == decided
        assert detect(session).rows.to_type == len(decided)

        doubts = verify(session).doubts

        applied = apply_before_scripts(session, plan(detect(session)), batch_size=50)

        assert doubts == applied.doubts
        assert {doubt.tbl_id for doubt in applied.doubts} == {
            tbl_id for tbl_id, row in rows.items() if decide(row).doubt
        }
        after = dict(select(session, "TBLS", ["TBL_ID", "TBL_TYPE"]))
        assert after == {tbl_id: decided.get(tbl_id, row.table_type) for tbl_id, row in rows.items()}
        assert rollback(session).rows == len(decided)
        assert dict(select(session, "TBLS", ["TBL_ID", "TBL_TYPE"])) == {
            tbl_id: row.table_type for tbl_id, row in rows.items()
        }


@pytest.mark.parametrize("kind", ["mariadb", "postgresql"])
def test_lost_connection_is_not_replaced(kind: str, request: pytest.FixtureRequest) -> None:
    """A new connection would have another schema, role and SQL mode, and no lock against other upgrades."""
    databases: SqlDatabases = request.getfixturevalue(kind)
    own, kill = {
        "mariadb": ("SELECT CONNECTION_ID()", "KILL {0}"),
        "postgresql": ("SELECT pg_backend_pid()", "SELECT pg_terminate_backend({0})"),
    }[kind]
    with databases.open(databases.copy("0.10.0")) as session:
        databases.server.run(kill.format(session.query(own)[0][0]))
        with pytest.raises(DatabaseError):
            session.query("SELECT 1")
        for run in (session.rollback, lambda: detect(session)):
            with pytest.raises(DatabaseError, match="the connection was lost"):
                run()
