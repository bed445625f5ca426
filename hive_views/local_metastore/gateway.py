"""A JVM that Python calls through Py4J's gateway, so this package needs no Java code."""

from __future__ import annotations

import logging
import select
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

LOOPBACK = "127.0.0.1"

PY4J_LOGGER = logging.getLogger("py4j.java_gateway")


class GatewayProcess:
    """A JVM with a gateway; it ends with this program unless it is detached.

    The gateway runs any code for a client that has its token. The JVM creates the token and sends it through a pipe, so
    that no argument, environment variable or file contains it. `options` are options of `subprocess.Popen`.
    """

    def __init__(self, command: Sequence[str], *, detached: bool = False, **options: Any) -> None:
        self.process = subprocess.Popen(
            [*command, "py4j.GatewayServer", *(() if detached else ("--die-on-broken-pipe",)), "--enable-auth", "0"],
            stdin=subprocess.DEVNULL if detached else subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Ctrl-C in the terminal must not reach the JVM, which ends with this program anyway.
            start_new_session=True,
            bufsize=0,
            **options,
        )

    @contextmanager
    def gateway(self, deadline: float, *, has_call_timeout: bool = False) -> Iterator[Any]:
        """Connect to the gateway, and close it at the end.

        `deadline` (`time.monotonic`) limits the start of the JVM and, with `has_call_timeout`, each call. Raises
        ConnectionError if the JVM ends, and TimeoutError if it does not start in time.
        """
        from py4j.java_gateway import GatewayParameters, JavaGateway

        port, token = self._read_line(deadline), self._read_line(deadline)
        if not port.isdigit() or not token:
            raise ConnectionError("the JVM ended")
        with hidden(token):
            gateway = JavaGateway(
                gateway_parameters=GatewayParameters(
                    address=LOOPBACK,
                    port=int(port),
                    auth_token=token,
                    read_timeout=max(1.0, deadline - time.monotonic()) if has_call_timeout else None,
                    # Py4J's finalizers call the JVM during garbage collection; objects are detached explicitly instead.
                    enable_memory_management=False,
                )
            )
            try:
                yield gateway
            finally:
                gateway.shutdown()

    def _read_line(self, deadline: float) -> str:
        """Read a line of the JVM's output; empty if the JVM ended."""
        pipe = self.process.stdout
        line = b""
        while pipe and not line.endswith(b"\n"):
            ready, _, _ = select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError("the JVM did not start in time")
            byte = pipe.read(1)
            if not byte:
                return ""
            line += byte
        return line.decode("ascii", errors="replace").strip()

    def stop(self) -> None:
        """Stop the JVM, and kill it after 15 seconds. Does nothing if it has ended already."""
        if self.process.poll() is None:
            if self.process.stdin:
                try:
                    # A line is sent first, since a forked copy of this program may keep the pipe open.
                    self.process.stdin.write(b"\n")
                    self.process.stdin.close()
                except BrokenPipeError:
                    self.process.stdin = None
            else:
                self.process.terminate()
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self._reap()

    def kill(self) -> None:
        """Kill the JVM; committed data is safe in Derby's log."""
        self.process.kill()
        self._reap()

    def _reap(self) -> None:
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                pipe.close()


@contextmanager
def hidden(secret: str) -> Iterator[None]:
    """Keep a secret out of the log: Py4J logs every command at DEBUG level."""

    def lacks_secret(record: logging.LogRecord) -> bool:
        return not secret or secret not in record.getMessage()

    PY4J_LOGGER.addFilter(lacks_secret)
    try:
        yield
    finally:
        PY4J_LOGGER.removeFilter(lacks_secret)
