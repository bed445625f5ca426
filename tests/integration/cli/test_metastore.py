"""`hive-views metastore` as real processes, from start to stop."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hive_views.cli.commands import metastore
from hive_views.cli.connection import default_directory
from tests.integration.metastore.rpc import connect

COMMAND = [sys.executable, "-m", "hive_views"]


def run(*words: str, directory: Path) -> tuple[int, dict[str, Any], str]:
    """A command's exit code, its JSON document and its stderr."""
    done = subprocess.run(
        [*COMMAND, "--json", "metastore", *words, "--directory", str(directory)],
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    return done.returncode, json.loads(done.stdout or "{}"), done.stderr


def gone(pid: int) -> bool:
    """Whether a process has ended, at last."""
    for _ in range(600):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def test_start_status_stop(tmp_path: Path) -> None:
    directory = tmp_path / "m"
    code, status, _ = run("status", directory=directory)
    assert (code, status["running"], status["ready"], status["uri"], status["pid"]) == (6, False, False, None, None)
    assert not directory.exists()
    code, started, _ = run("start", "--port", "0", directory=directory)
    try:
        assert (code, started["running"], started["ready"]) == (0, True, True)
        with connect(int(started["uri"].rpartition(":")[2])) as client:
            assert client.get_all_databases() == ["default"]
        assert run("status", directory=directory)[:2] == (0, started)
        # Other commands find it without --uri.
        environment = {key: value for key, value in os.environ.items() if key != "HIVE_VIEWS_URI"}
        environment |= {"HIVE_VIEWS_METASTORE_DIR": str(directory), "HOME": str(tmp_path)}
        listed = subprocess.run([*COMMAND, "database", "list"], capture_output=True, text=True, env=environment)
        assert (listed.returncode, listed.stdout) == (0, "default\n")
        assert started["warehouse"] == (directory / "warehouse").as_uri()
        assert Path(started["log"]).exists()
        code, _, errors = run("start", "--port", "0", directory=directory)
        assert code == 1
        assert f"in use by process {started['pid']} at {started['uri']}" in json.loads(errors)["error"]
    finally:
        code, stopped, _ = run("stop", directory=directory)
    assert (code, stopped["running"], stopped["stopped_pid"]) == (0, False, started["pid"])
    assert gone(started["pid"])
    nothing = {**stopped, "stopped_pid": None}
    assert run("status", directory=directory)[:2] == (6, nothing)
    assert run("stop", directory=directory)[:2] == (0, nothing)


@pytest.mark.parametrize(("how", "expected"), [("interrupt", 130), ("stop", 0)])
def test_start_in_foreground(tmp_path: Path, how: str, expected: int) -> None:
    words = ["metastore", "start", "--foreground", "--port", "0", "--json"]
    environment = {**os.environ, "HIVE_VIEWS_METASTORE_DIR": str(tmp_path)}
    with subprocess.Popen([*COMMAND, *words], stdout=subprocess.PIPE, text=True, env=environment) as command:
        assert command.stdout is not None
        text = ""
        while not text.endswith("}\n"):
            line = command.stdout.readline()
            assert line, "it ended"
            text += line
        started = json.loads(text)
        assert started["ready"]
        assert run("status", directory=tmp_path)[:2] == (0, started)
        assert command.poll() is None
        if how == "interrupt":
            command.send_signal(signal.SIGINT)
        else:
            assert run("stop", directory=tmp_path)[0] == 0
        assert command.wait(60) == expected
    assert gone(started["pid"])


@pytest.mark.parametrize("delay_s", [1.0, 3.0, 5.0])
def test_interrupt_during_start_prints_no_traceback(tmp_path: Path, delay_s: float) -> None:
    words = [*COMMAND, "metastore", "start", "--port", "0"]
    environment = {**os.environ, "HIVE_VIEWS_METASTORE_DIR": str(tmp_path)}
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as command:
        time.sleep(delay_s)
        command.send_signal(signal.SIGINT)
        _, errors = command.communicate(timeout=60)
    if command.returncode == 0:  # it was faster
        assert run("stop", directory=tmp_path)[0] == 0
    else:
        # A signal that comes before Python has installed its handler ends the process; a shell reports 130 for both.
        assert (command.returncode in (130, -signal.SIGINT), errors) == (True, "")
    assert run("status", directory=tmp_path)[0] == 6


def test_status_is_rendered_as_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    metastore.render(metastore.status(tmp_path))
    assert capsys.readouterr().out == f"No metastore runs in {tmp_path}\n"
    running = metastore.MetastoreStatus(
        directory="/d", running=True, ready=True, uri="thrift://127.0.0.1:1", pid=7, since="now", warehouse="file:///d/w",
        log="/d/log",
    )  # fmt: skip
    metastore.render(running)
    assert capsys.readouterr().out.split() == [
        "thrift://127.0.0.1:1", "process", "7,", "since", "now", "directory", "/d", "warehouse", "file:///d/w", "log",
        "/d/log",
    ]  # fmt: skip


def test_default_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_directory() == tmp_path / "hive-views" / "metastore"
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert default_directory() == Path("/home/somebody/.local/share/hive-views/metastore")
