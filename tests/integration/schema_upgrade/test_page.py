"""docs/upgrade.md: its Python blocks run, and its commands, variables and steps exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from hive_views.schema_upgrade import detect, plan
from hive_views.schema_upgrade.address import PASSWORD_VARIABLE
from hive_views.schema_upgrade.dialects.registry import dialect_of
from tests.integration.cli.conftest import invoke
from tests.integration.schema_upgrade.contents import types_of
from tests.integration.schema_upgrade.databases import SqlDatabases
from tests.integration.schema_upgrade.test_scripts_first import environment, run_scripts

PAGE = (Path(__file__).parents[3] / "docs" / "upgrade.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)


def test_code_blocks_run(postgresql: SqlDatabases, capsys: pytest.CaptureFixture[str]) -> None:
    address = postgresql.copy("0.12.0")
    with postgresql.open(address) as session:
        before = types_of(session)
    names: dict[str, object] = {"address": address}
    for block in BLOCKS:
        exec(compile(block, "upgrade.md", "exec"), names)
    assert "EXECUTE IMMEDIATE" in capsys.readouterr().out
    with postgresql.open(address) as session:
        assert types_of(session) == before, "the last line rolls back"


def test_first_block_runs_in_its_order(postgresql: SqlDatabases, tmp_path: Path) -> None:
    """On a database of 1.2; the scripts of schematool run by the client of the database."""
    address = postgresql.copy("1.2.0")
    with postgresql.open(address) as session:
        before = types_of(session)
    (block,) = re.findall(r"^```\n(export .*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
    commands = [line.partition(" #")[0].split() for line in block.splitlines()[1:]]
    assert [words[:1] for words in commands].count(["schematool"]) == 1
    for program, *words in commands:
        if program == "schematool":
            run_scripts(postgresql, address, "3.1.0")
            continue
        words = [str(tmp_path / word) if word == "plan.json" else word for word in words]
        is_change = words[1] in ("apply", "rollback") and "--dry-run" not in words
        done = invoke(*words, *(["--yes"] if is_change else []), **environment(address))
        assert done.code == 0, f"{words}: {done.err}"
    with postgresql.open(address) as session:
        assert detect(session).version == "3.1.0"
        assert types_of(session) == before, "the last line rolls back"


def test_commands_and_variables_exist() -> None:
    shown = invoke("upgrade", "--help").out
    for command in re.findall(r"^hive-views upgrade (\w+)", PAGE, flags=re.MULTILINE):
        assert command in shown
    assert PASSWORD_VARIABLE in PAGE


def test_command_line_imports_no_database_driver() -> None:
    drivers = "{'sqlalchemy', 'pymysql', 'psycopg', 'py4j'}"
    code = f"import sys, hive_views, hive_views.cli.app; print({drivers} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_batch_sizes_are_documented() -> None:
    assert f"batches of {dialect_of('mariadb').batch_size:,} (Derby {dialect_of('derby').batch_size})" in PAGE


def test_schema_steps_are_documented(postgresql: SqlDatabases) -> None:
    with postgresql.open(postgresql.copy("0.5.0")) as session:
        for step in plan(detect(session), "4.0.0").steps:
            if step.kind.is_schema and "index" not in step.id and not step.name.lower().startswith("hl_"):
                assert step.name.upper() in PAGE.upper(), step.id
