"""The command line as a process: imports, pipes, signals, terminals, and exceptions that are defects."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import signal
import subprocess
import sys
import termios
from collections.abc import Sequence
from pathlib import Path

import pytest

from hive_views import HiveViewCatalog
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.metastore.capabilities import TEMPORARY_ROW_PREFIX
from tests.integration.catalog.samples import hive_row
from tests.integration.cli.conftest import Cli
from tests.integration.metastore.rpc import connect

COMMAND = [sys.executable, "-m", "hive_views"]


def environment(metastore: EmbeddedMetastore | None = None, **more: str) -> dict[str, str]:
    uri = {"HIVE_VIEWS_URI": metastore.uri} if metastore else {}
    return {**os.environ, **uri, **more}


def run(words: Sequence[str], **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, capture_output=True, text=True, check=False, timeout=120, env={**os.environ, **variables}
    )


@pytest.mark.parametrize("words", [["--help"], ["metastore", "status"], ["create", "--help"], ["--version"]])
def test_starting_imports_little(words: list[str], tmp_path: Path) -> None:
    done = run([sys.executable, "-X", "importtime", "-m", "hive_views", *words], HIVE_VIEWS_METASTORE_DIR=str(tmp_path))
    assert done.returncode in (0, 6)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    heavy = {
        "hive_views.catalog.catalog", "hive_views.metastore.transport.client", "hive_views.spec.metadata",
        "pyiceberg.catalog",
        "pyiceberg.schema", "pyspark", "pyarrow", "sqlglot", "numpy", "pandas",
    }  # fmt: skip
    assert "hive_views.cli.app" in imported
    assert not heavy & imported


def test_module_equals_installed_command(metastore: EmbeddedMetastore, top: str) -> None:
    installed = Path(sys.executable).parent / "hive-views"
    words = ["--uri", metastore.uri, "--json", "list", top.partition(".")[0]]
    one, other = run([str(installed), *words]), run([*COMMAND, *words])
    assert (one.returncode, one.stdout, one.stderr) == (other.returncode, other.stdout, other.stderr)
    assert json.loads(one.stdout)["views"][0]["view"] == top


def test_closed_output_pipe_ends_command_silently(metastore: EmbeddedMetastore, top: str) -> None:
    for words in (["list"], ["--json", "show", top]):
        with subprocess.Popen(
            [*COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(metastore)
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.close()
            assert (process.stderr.read(), process.wait(60)) == ("", 0)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)])
def test_doctor_removes_temporary_objects_on_signal(
    metastore: EmbeddedMetastore, database: str, number: signal.Signals, code: int
) -> None:
    for _ in range(5):  # on a busy machine the process may be done before the signal comes
        with subprocess.Popen(
            [*COMMAND, "doctor", "--database", database],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(metastore),
        ) as process:
            assert process.stdout is not None
            while "compare-and-swap" not in (line := process.stdout.readline()):
                assert line
            process.send_signal(number)
            process.stdout.read()
        if process.returncode != 0:
            break
    assert process.returncode == code
    with connect(metastore.port) as client:
        assert not [name for name in client.get_all_tables(database) if name.startswith(TEMPORARY_ROW_PREFIX)]


def test_control_characters_in_logs_are_escaped(metastore: EmbeddedMetastore, database: str) -> None:
    evil = hive_row(database, "t", "EXTERNAL_TABLE", table_type="ICEBERG", metadata_location="file:///\x1b[2J\x9b.json")
    with connect(metastore.port) as client:
        client.create_table(evil)
    words = ["--warehouse", metastore.warehouse, "sql", f"CREATE VIEW {database}.v AS SELECT * FROM {database}.t"]
    done = run([*COMMAND, "--uri", metastore.uri, *words])
    assert done.returncode == 0, done
    assert "Could not determine the UUID" in done.stderr
    assert "␛[2J" in done.stderr
    assert not set("\x1b\x9b") & set(done.stdout + done.stderr)


def test_internal_error_prints_traceback(metastore: EmbeddedMetastore, top: str) -> None:
    command = [sys.executable, "-m", "tests.integration.cli.defective"]
    words = ["--uri", metastore.uri, "show", top]
    done = run([*command, *words])
    assert (done.returncode, done.stdout) == (70, "")
    assert "Traceback (most recent call last)" in done.stderr
    assert done.stderr.rstrip().endswith("ZeroDivisionError: a defect")
    done = run([*command, "--json", *words])
    assert (done.returncode, done.stdout) == (70, "")
    assert json.loads(done.stderr.splitlines()[-1]) == {
        "error": "a defect",
        "type": "ZeroDivisionError",
        "operands": {},
    }


def test_exception_that_replaces_an_interrupt_prints_no_traceback() -> None:
    command = [sys.executable, "-m", "tests.integration.cli.defective", "--uri", "thrift://127.0.0.1:1"]
    for words in (["show", "interrupted.view"], ["--json", "show", "interrupted.view"]):
        done = run([*command, *words])
        assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_unencodable_character_is_escaped(cli: Cli, metastore: EmbeddedMetastore, database: str) -> None:
    name = f"{database}.greek"
    assert cli("create", name, "--sql", "SELECT 'Ελλάδα 😀'", "-c", "n:string").code == 0
    variables = {"PYTHONIOENCODING": "latin-1", "HIVE_VIEWS_URI": metastore.uri}
    done = run([*COMMAND, "show", name, "--json"], **variables)
    assert json.loads(done.stdout)["version"]["original_text"] == "SELECT 'Ελλάδα 😀'"
    done = run([*COMMAND, "show", name], **variables)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\u0395" in done.stdout


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 1), ("\x03", 130)])
def test_drop_asks_on_a_terminal(
    metastore: EmbeddedMetastore, catalog: HiveViewCatalog, top: str, answer: str, code: int
) -> None:
    controller, terminal = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, "drop", top],
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=terminal,
        text=True,
        env=environment(metastore),
        start_new_session=True,
        preexec_fn=_take_terminal,
    ) as process:
        os.close(terminal)
        output = b""
        while b"[y/N]: " not in output:
            output += os.read(controller, 1000)
        os.write(controller, answer.encode() if answer == "\x03" else f"{answer}\n".encode())
        assert process.stdout is not None
        out = process.stdout.read()
        assert process.wait(60) == code
    os.close(controller)
    assert f"Drop view {top}?".encode() in output
    assert out.startswith(f"{top}: dropped\n") if code == 0 else out == ""
    assert catalog.view_exists(top) == (code != 0)


def _take_terminal() -> None:
    """Make standard input this new session's terminal, so that Ctrl-C there is a signal."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
