"""The commands, and passwords in errors and logs of real databases."""

from __future__ import annotations

import json
import traceback
from dataclasses import replace
from pathlib import Path

import pytest

from hive_views.cli.commands import upgrade as commands
from hive_views.errors import DatabaseError
from hive_views.schema_upgrade import Password, connect, detect, parse_address
from hive_views.schema_upgrade.address import PASSWORD_VARIABLE
from tests.integration.cli.conftest import invoke
from tests.integration.schema_upgrade.conftest import on_servers
from tests.integration.schema_upgrade.databases import DerbyDatabases, SqlDatabases
from tests.integration.schema_upgrade.servers import PASSWORD


@on_servers
def test_errors_hide_password(databases: SqlDatabases) -> None:
    wrong = "not the pass-word"
    address = parse_address(databases.server.url("none"), user="hive", password=Password(wrong))
    with pytest.raises(DatabaseError) as caught:
        connect(address)
    assert wrong not in str(caught.value)
    assert wrong not in "".join(traceback.format_exception(caught.value))
    with pytest.raises(DatabaseError, match=PASSWORD_VARIABLE):
        connect(replace(address, password=Password("")))


def test_commands_end_to_end(postgresql: SqlDatabases, tmp_path: Path) -> None:
    address = postgresql.copy("0.7.0")
    environment = {
        "HIVE_VIEWS_UPGRADE_URL": address.place,
        "HIVE_VIEWS_UPGRADE_USER": "hive",
        PASSWORD_VARIABLE: PASSWORD,
    }
    plan_file, script_file = str(tmp_path / "plan.json"), str(tmp_path / "script.sql")

    def run(*words: str) -> str:
        result = invoke("upgrade", *words, **environment)
        assert PASSWORD not in result.out + result.err
        assert result.code == 0, result.err
        return str(result.out)

    report = json.loads(run("detect", "--json"))
    assert (report["version"], report["untyped"]) == ("0.7.0", 8)
    assert "TBLS.OWNER_TYPE" in run("detect")
    assert "TABLE_PARAMS.PARAM_VALUE wide" in run("plan", "--output", plan_file)
    assert "hive" not in json.loads(Path(plan_file).read_text())["place"].split("@")[0].split("//")[0]
    run("render", "--plan", plan_file, "--output", script_file)
    assert Path(script_file).read_text() in run("render")
    run("render", "--json", "--output", script_file)
    assert "DO $$" in Path(script_file).read_text()
    unconfirmed = invoke("upgrade", "apply", **environment)
    assert unconfirmed.code == 2
    assert "--yes" in unconfirmed.err
    assert "would be applied" in run("apply", "--plan", plan_file, "--dry-run")
    assert invoke("upgrade", "verify", **environment).code == 1
    applied = run("apply", "--plan", plan_file, "--yes")
    assert "17 of 17 rows" in applied
    assert "sales.odd (TBL_ID 9): its parameter EXTERNAL is 'perhaps'" in applied
    assert "meets all requirements of views" in run("verify")
    assert json.loads(run("verify", "--json"))["lacking"] == []
    assert json.loads(run("plan", "--json"))["steps"] == []
    assert json.loads(run("apply", "--json", "--yes"))["done"] == []
    assert "sales.v_bad: unknown: line 1:1" in run("verify", "--files")
    assert json.loads(run("rollback", "--yes", "--json"))["rows"] == 9


def test_directory_without_derby_is_named(derby: DerbyDatabases, tmp_path: Path) -> None:
    done = invoke("upgrade", "detect", "--url", derby.copy("0.5.0").place, HIVE_VIEWS_DERBY_JARS=str(tmp_path))
    assert done.code == 1
    assert f"{tmp_path} has no derby*.jar; HIVE_VIEWS_DERBY_JARS names a directory" in done.err


def test_scripts_without_a_connection() -> None:
    done = invoke("upgrade", "render", "--database", "oracle", "--from", "0.12.0", "--target", "3.1.3")
    assert done.code == 0
    assert "EXECUTE IMMEDIATE" in done.out
    assert invoke("upgrade", "render", "--database", "oracle").code == 2
    assert invoke("upgrade", "render").code == 2


def test_missing_database_and_database_without_metastore(
    derby: DerbyDatabases, mariadb: SqlDatabases, tmp_path: Path
) -> None:
    assert invoke("upgrade", "detect", "--url", f"derby:{tmp_path}/none").code == 1
    address = mariadb.empty()
    words = ("upgrade", "plan", "--url", address.place, "--user", "hive")
    done = invoke(*words, **{PASSWORD_VARIABLE: PASSWORD})
    assert done.code == 1
    assert "it is not a metastore" in done.err


def test_derby_database_opened_by_another_process_is_rejected(derby: DerbyDatabases) -> None:
    address = derby.copy("0.5.0")
    with derby.open(address), pytest.raises(DatabaseError, match="another process has it open"):
        connect(address)


def test_each_command_is_a_public_function() -> None:
    for name in ("detect", "plan", "render", "apply", "verify", "rollback"):
        assert callable(getattr(commands, name))


@pytest.mark.parametrize("kind", ["mariadb", "postgresql"])
def test_driver_logs_hide_password(kind: str, request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture) -> None:
    databases: SqlDatabases = request.getfixturevalue(kind)
    for name in ("", "sqlalchemy", "psycopg", "pymysql"):
        caplog.set_level("DEBUG", logger=name)
    with databases.open(databases.empty()) as session:
        session.query("SELECT 1")
        assert PASSWORD not in repr(vars(session))
    assert any(record.name.startswith("sqlalchemy") for record in caplog.records)
    assert PASSWORD not in caplog.text


def test_derby_logs_hide_password(derby: DerbyDatabases, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    address = parse_address(derby.copy("0.5.0").place, password=Password("seen-nowhere"))
    with derby.open(address) as session:
        detect(session)
    assert caplog.records, "Py4J logs what it sends"
    assert "seen-nowhere" not in caplog.text
