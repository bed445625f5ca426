"""Runs commands whose stderr is a terminal."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys

from tests.proxy import Hold

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def run_at_terminal(words: list[str], uri: str, interrupt: Hold | None = None) -> tuple[int, str, str]:
    """Run a command whose stderr is a terminal; returns its exit code, stdout, and the terminal's output."""
    controller, terminal = pty.openpty()
    environment = {**os.environ, "HIVE_VIEWS_URI": uri, "TERM": "xterm", "COLUMNS": "100", "LINES": "30"}
    terminal_output = b""
    with subprocess.Popen(
        [sys.executable, "-m", "hive_views", *words],
        stdout=subprocess.PIPE,
        stderr=terminal,
        text=True,
        env={key: value for key, value in environment.items() if key != "NO_COLOR"},
    ) as process:
        os.close(terminal)
        if interrupt is not None:
            interrupt.wait_until_held()
            process.send_signal(signal.SIGINT)
        while True:
            try:
                data = os.read(controller, 65536)
            except OSError:  # raised on Linux when the terminal is closed
                break
            if not data:
                break
            terminal_output += data
        assert process.stdout is not None
        out = process.stdout.read()
        code = process.wait(120)
    os.close(controller)
    return code, out, ESCAPES.sub("", terminal_output.decode())
