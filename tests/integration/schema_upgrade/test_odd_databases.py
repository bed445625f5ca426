"""Databases that are not as Hive's scripts leave them, and rows that change while they are looked at."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from hive_views.errors import DatabaseError, InvalidPlanError, UpgradeError
from hive_views.schema_upgrade import Password, apply, connect, detect, parse_address, plan, rollback
from hive_views.schema_upgrade.journal import unpack
from hive_views.schema_upgrade.plan_model import Kind
from hive_views.schema_upgrade.rendering import render
from hive_views.schema_upgrade.row_changes import Progress
from hive_views.schema_upgrade.table_types import HIVE_TYPES, TableRow, decidable, decide, new_type
from hive_views.schema_upgrade.verification import verify
from tests.integration.schema_upgrade.contents import backup_of, rows_of, schema_of, select, types_of
from tests.integration.schema_upgrade.databases import Databases, DerbyDatabases, SqlDatabases
from tests.integration.schema_upgrade.servers import PASSWORD
from tests.integration.schema_upgrade.states import old_schema


def test_cloudera_fork_is_detected_by_its_column(postgresql: SqlDatabases) -> None:
    with postgresql.open(postgresql.copy("0.12.0")) as session:
        session.execute('ALTER TABLE "VERSION" ADD COLUMN "SCHEMA_VERSION_V2" character varying(255)')
        session.execute('ALTER TABLE "TBLS" ADD COLUMN "OWNER_TYPE" character varying(10)')
        session.execute("""UPDATE "VERSION" SET "SCHEMA_VERSION" = '1.1.0', "SCHEMA_VERSION_V2" = '1.1.0-cdh5.12.0'""")
        session.commit()
        found = detect(session)
        assert (found.vendor, found.vendor_version, found.version) == ("cdh", "1.1.0-cdh5.12.0", "1.1.0")
        made = plan(found, "3.1.3")
        assert made.step("TBLS.OWNER_TYPE") is None, "the fork had it before Apache's Hive"
        assert any("1.1.0-cdh5.12.0" in note for note in made.notes)


def test_flags_that_are_neither_set_nor_unset(databases: Databases) -> None:
    with databases.open(databases.copy("2.3.0")) as session:
        quote = session.dialect.quote
        table, flag = quote("TBLS"), quote("IS_REWRITE_ENABLED")
        if session.dialect.name == "mariadb":
            session.execute(f"ALTER TABLE {table} MODIFY {flag} bit(1) NULL")
        elif session.dialect.name == "postgresql":
            session.execute(f"ALTER TABLE {table} ALTER COLUMN {flag} DROP NOT NULL")
        # Hive's script to 3.0.0 writes a timestamp into Derby's CHAR(1); elsewhere a script that stopped leaves NULLs.
        value = "'2'" if isinstance(databases, DerbyDatabases) else "NULL"
        session.execute(f"UPDATE {table} SET {flag} = {value} WHERE {quote('TBL_ID')} IN (1, 21)")
        session.commit()
        before = rows_of(session, "TBLS")
        made = plan(detect(session))
        assert next(step.kind for step in made.steps if not step.kind.is_schema) is Kind.FILL
        apply(session, made)
        assert len({repr(row[0]) for row in select(session, "TBLS", ["IS_REWRITE_ENABLED"])}) == 1
        assert detect(session).rows.bad_flags == 0
        rollback(session)
        assert rows_of(session, "TBLS") == before


@pytest.mark.parametrize("kind", ["mariadb", "postgresql"])
def test_row_changed_during_its_batch_is_not_overwritten(kind: str, request: pytest.FixtureRequest) -> None:
    """The batch is done again, and the row that somebody else changed is in no backup."""
    databases: SqlDatabases = request.getfixturevalue(kind)
    address = databases.copy("0.10.0")
    with databases.open(address) as other, databases.open(address) as session:
        quote = session.dialect.quote
        statement = f"UPDATE {quote('TBLS')} SET {quote('TBL_TYPE')} = 'INDEX_TABLE' WHERE {quote('TBL_ID')} = 2"
        told: list[str] = []

        def meddle(progress: Progress) -> None:
            if progress.step == "rows TBL_TYPE" and progress.statement.startswith("UPDATE"):
                told.append(progress.statement)
                if len(told) == 1:
                    other.execute(statement)
                    other.commit()

        made = plan(detect(session))
        first = made.step("rows TBL_TYPE")
        assert first is not None
        apply(session, made, while_running=True, progress=meddle)
        assert types_of(session)["ext"] == "INDEX_TABLE"
        assert types_of(session)["ext_lower"] == "EXTERNAL_TABLE"
        backed_up = [unpack(str(row[4])) for row in backup_of(session) if row[2] == "TBL_TYPE"]
        assert not any(2 in ids for ids in backed_up)
        assert [1 in ids for ids in backed_up].count(True) == 1, "the batch that was given up left nothing behind"


def test_progress_is_reported_per_batch(databases: Databases) -> None:
    with databases.open(databases.copy("0.10.0")) as session:
        told: list[Progress] = []
        apply(session, plan(detect(session)), batch_size=5, progress=told.append)
        batches = [each for each in told if each.step == "rows TBL_TYPE" and each.statement == "COMMIT"]
        assert [(each.done, each.total) for each in batches] == [(5, 17), (10, 17), (15, 17), (17, 17)]


def test_rejected_statement_keeps_committed_steps(databases: Databases) -> None:
    """What was committed stays, the error names the statement and none of its values, and a second run goes on."""
    address = databases.copy("0.5.0")
    with databases.open(address) as session:
        made = plan(detect(session))
        quote = session.dialect.quote

        def spoil(progress: Progress) -> None:
            if progress.step == "TBLS.VIEW_EXPANDED_TEXT" and progress.statement == "done":
                session.execute(f"ALTER TABLE {quote('TBLS')} ADD COLUMN {quote('TBL_TYPE')} VARCHAR(128)")
                session.commit()

        with pytest.raises(DatabaseError) as caught:
            apply(session, made, progress=spoil)
        assert caught.value.statement == made.steps[2].statements[0]
        assert detect(session, rows=False).column("TBLS", "VIEW_EXPANDED_TEXT")
        again = apply(session, made)
        assert "TBLS.TBL_TYPE" in again.found_done
        assert plan(detect(session)).steps == ()


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
            apply(session, plan(detect(session)))
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
    """It made the columns utf8mb4; back in latin1, all that was written since would be question marks."""
    address = mariadb.copy("0.7.0")
    with mariadb.open(address) as session:
        session.execute("ALTER TABLE TBLS MODIFY VIEW_ORIGINAL_TEXT text CHARACTER SET latin1")
        session.execute("ALTER TABLE TABLE_PARAMS MODIFY PARAM_VALUE varchar(4000) CHARACTER SET latin1")
        made = plan(detect(session))
    wide = [step.id for step in made.steps if step.kind in (Kind.WIDEN, Kind.RECODE)]
    assert wide[:2] == ["TBLS.VIEW_ORIGINAL_TEXT wide", "TABLE_PARAMS.PARAM_VALUE wide"]
    assert "TBLS.VIEW_ORIGINAL_TEXT utf8mb4" in wide
    # Without strictness a value that does not fit is cut, or becomes question marks, with a warning.
    mariadb.server.run("SET GLOBAL sql_mode = '';")
    try:
        mariadb.run_script(address, render(made))
        with mariadb.open(address) as session:
            session.execute("ALTER TABLE TABLE_PARAMS MODIFY PARAM_VALUE longtext CHARACTER SET utf8mb4")
            for statement in (
                "UPDATE TBLS SET VIEW_ORIGINAL_TEXT = :text, VIEW_EXPANDED_TEXT = :text WHERE TBL_ID = 21",
                "INSERT INTO TABLE_PARAMS (TBL_ID, PARAM_KEY, PARAM_VALUE) VALUES (21, 'note', :text)",
            ):
                session.execute(statement, {"text": "SELECT '東京 😀'"})
            session.commit()
            schema, rows = schema_of(session), rows_of(session, "TBLS")
        mariadb.run_script(address, render(made))
        with mariadb.open(address) as session:
            assert schema_of(session) == schema
            assert rows_of(session, "TBLS") == rows
            assert (21, "SELECT '東京 😀'") in select(session, "TABLE_PARAMS", ["TBL_ID", "PARAM_VALUE"])
    finally:
        mariadb.server.run("SET GLOBAL sql_mode = DEFAULT;")


def test_tables_without_transactions_are_refused(mariadb: SqlDatabases) -> None:
    """MySQL 5.1 made them by default: a change that is killed there leaves no backup, and cannot be rolled back."""
    with mariadb.open(mariadb.copy("0.7.0")) as session:
        session.execute("ALTER TABLE TBLS ENGINE=MyISAM")
        made = plan(detect(session))
        with pytest.raises(UpgradeError, match="TBLS does not support transactions"):
            apply(session, made)
        session.execute("ALTER TABLE TBLS ENGINE=InnoDB")
        assert apply(session, plan(detect(session))).done


def test_schema_other_than_public(postgresql: SqlDatabases) -> None:
    """Two metastores in one database: a plan and a script are for the one that was read."""
    address = postgresql.copy("0.5.0")
    postgresql.server.run(
        'ALTER SCHEMA public RENAME TO "Meta"; CREATE SCHEMA public; ' + "; ".join(old_schema("postgresql", "0.5.0")),
        address.database,
    )
    with connect(replace(address, schema="Meta")) as session:
        found = detect(session)
        assert (found.db_schema, found.rows.tables) == ("Meta", 6)
        made = plan(found)
    with connect(address) as session:
        assert detect(session).rows.tables == 0
        with pytest.raises(InvalidPlanError, match="the schema Meta, not for public"):
            apply(session, made)
    for _ in range(2):
        postgresql.run_script(address, render(made))
    with connect(replace(address, schema="Meta")) as session:
        assert plan(detect(session)).steps == ()
        assert types_of(session)["ext"] == "EXTERNAL_TABLE"
    with connect(address) as session:
        assert detect(session).column("TBLS", "TBL_TYPE") is None, "the other one is as it was"


def test_views_are_checked_within_their_own_catalog(postgresql: SqlDatabases) -> None:
    """From 3.0 on two catalogs may have databases of one name: the other one's table is not what a view reads."""
    with postgresql.open(postgresql.copy("3.1.0")) as session:
        for statement in (
            """INSERT INTO "CTLGS" ("CTLG_ID", "NAME", "LOCATION_URI") VALUES (9, 'spark', 'file:/none')""",
            """INSERT INTO "DBS" ("DB_ID", "NAME", "DB_LOCATION_URI", "CTLG_NAME")
               VALUES (99, 'sales', 'file:/none', 'spark')""",
            """UPDATE "TBLS" SET "DB_ID" = 99 WHERE "TBL_NAME" IN ('v', 'v_mangled')""",
        ):
            session.execute(statement)
        session.commit()
        found = {check.view: check.problems for check in verify(session).broken}
        assert "sales.v_typed" not in found
        assert "no table or view sales.t" in found["spark.sales.v"][0]


ODD_NAMES = ["it's", 'a"b', "a`b", "a.b", "a;--b", "a%s:b", "a\\b", "naïve"]


def test_rows_with_odd_names_and_texts(databases: Databases) -> None:
    """They get their types, are checked, and come back to the letter."""
    long = "SELECT '" + "é" * (16_000 if databases.dialect == "derby" else 700_000) + "'"
    texts = [long, "SELECT '東京 😀 :x %s \\' FROM `sales`.`it``s`", "", " ", "\n;--", "SELECT `a` FROM `sales`.`a``b`"]
    with databases.open(databases.copy("0.12.0")) as session:
        session.execute(f"DELETE FROM {session.dialect.quote('TABLE_PARAMS')}")
        if databases.dialect == "mariadb":
            apply(session, plan(detect(session)))
        names = ["TBL_ID", "CREATE_TIME", "DB_ID", "LAST_ACCESS_TIME", "RETENTION", "SD_ID", "TBL_NAME"]
        names += ["VIEW_ORIGINAL_TEXT", "VIEW_EXPANDED_TEXT"]
        listed = f"{session.dialect.quote('TBLS')} ({session.dialect.names(names)})"
        for number, name in enumerate(ODD_NAMES):
            text = texts[number] if number < len(texts) else None
            session.execute(
                f"INSERT INTO {listed} VALUES (:number, 0, 77, 0, 0, 1001, :name, :first, :second)",
                {"number": 500 + number, "name": name, "first": text, "second": None if number % 2 else text},
            )
        session.commit()
        before = rows_of(session, "TBLS")
        found = apply(session, plan(detect(session)), batch_size=3)
        assert plan(detect(session)).steps == ()
        types = types_of(session)
        assert [types[name] for name in ODD_NAMES] == ["VIRTUAL_VIEW"] * 6 + ["MANAGED_TABLE"] * 2
        assert not {doubt.tbl_id for doubt in found.doubts} & set(range(500, 508))
        checked = verify(session)
        assert checked.complete
        broken = {check.view: check.validity for check in checked.broken}
        # The second names a table that is not there, the last one that is; the others have no text that is a query.
        assert [name for name in ODD_NAMES if f"sales.{name}" in broken] == ['a"b', "a`b", "a.b", "a;--b"]
        assert set(broken.values()) == {"invalid"}
        rollback(session)
        after = rows_of(session, "TBLS")
        if databases.dialect != "mariadb":
            assert after == before
        kept = dict(select(session, "TBLS", ["TBL_ID", "VIEW_ORIGINAL_TEXT"]))
        assert [kept[500 + number] for number in range(len(texts))] == texts


def test_the_sql_of_counts_and_scripts_decides_as_the_program_does(databases: Databases) -> None:
    """Every combination of what decides about a row, in the database and out of it."""
    types, flags = [None, *HIVE_TYPES, "ODD"], [False, True]
    combinations = itertools.product(types, flags, flags, flags, [None, "TRUE", "true", "FALSE", "maybe"])
    rows = [TableRow(1000 + number, *each) for number, each in enumerate(combinations)]
    with databases.open(databases.copy("0.10.0")) as session:
        quote = session.dialect.quote
        tbls, key = quote("TBLS"), quote("TBL_ID")
        session.execute(f"DELETE FROM {quote('TABLE_PARAMS')}")
        session.execute(f"DELETE FROM {tbls}")
        names = ["TBL_ID", "CREATE_TIME", "LAST_ACCESS_TIME", "RETENTION", "SD_ID", "TBL_TYPE"]
        names += ["VIEW_ORIGINAL_TEXT", "VIEW_EXPANDED_TEXT", "TBL_NAME"]
        for row in rows:
            values = [str(row.tbl_id), "0", "0", "0", "1" if row.has_storage else "NULL"]
            values.append(f"'{row.table_type}'" if row.table_type else "NULL")
            values += ["'SELECT 1'" if there else "NULL" for there in (row.has_original, row.has_expanded)]
            values.append(f"'t{row.tbl_id}'")
            session.execute(f"INSERT INTO {tbls} ({session.dialect.names(names)}) VALUES ({', '.join(values)})")
            if row.external is not None:
                into = f"{quote('TABLE_PARAMS')} ({session.dialect.names(['TBL_ID', 'PARAM_KEY', 'PARAM_VALUE'])})"
                session.execute(f"INSERT INTO {into} VALUES ({row.tbl_id}, 'EXTERNAL', '{row.external}')")
        session.commit()
        decided = {row.tbl_id: found.new for row in rows if (found := decide(row)).new is not None}
        chosen = session.query(
            f"SELECT {key}, {new_type(session.dialect, tbls)} FROM {tbls} WHERE {decidable(session.dialect, tbls)}"
        )
        session.rollback()
        assert {int(tbl_id): kind for tbl_id, kind in chosen} == decided
        assert detect(session).rows.to_type == len(decided)

        found = apply(session, plan(detect(session)), batch_size=50)

        assert {doubt.tbl_id for doubt in found.doubts} == {row.tbl_id for row in rows if decide(row).doubt}
        after = dict(select(session, "TBLS", ["TBL_ID", "TBL_TYPE"]))
        assert after == {row.tbl_id: decided.get(row.tbl_id, row.table_type) for row in rows}
        assert rollback(session).rows == len(decided)
        assert dict(select(session, "TBLS", ["TBL_ID", "TBL_TYPE"])) == {row.tbl_id: row.table_type for row in rows}
