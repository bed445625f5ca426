"""The processes of a soak, and what they hold: connections, files, threads, memory."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import psutil

from tests.soak.client import Plan

ROOT = Path(__file__).parent.parent.parent


@dataclass(frozen=True)
class Holding:
    """What a process holds at one moment, while none of its clients does anything."""

    connections: int
    """Established TCP connections to the metastores."""
    files: int
    """Open file descriptors."""
    threads: int
    memory: int
    """Resident memory, in MiB."""
    objects: int = 0
    """Objects that Python's garbage collector knows; 0 where nobody can tell."""


def holding(pid: int, ports: set[int], objects: int = 0) -> Holding:
    """What a process holds."""
    process = psutil.Process(pid)
    with process.oneshot():
        connections = [
            item
            for item in process.net_connections(kind="tcp")
            if item.status == psutil.CONN_ESTABLISHED and item.raddr and item.raddr.port in ports
        ]
        return Holding(
            len(connections),
            process.num_fds(),
            process.num_threads(),
            process.memory_info().rss // (1 << 20),
            objects,
        )


class Crews:
    """Processes with several clients each.

    Args:
        plan: What they are to do.
        processes: How many there are; the clients of the plan are dealt out among them.
        temporary: Where they put temporary files.
        ports: The ports of the metastores.
    """

    def __init__(self, plan: Plan, processes: int, temporary: Path, ports: set[int]) -> None:
        self._plan = plan
        self._ports = ports
        self._environment = {**os.environ, "TMPDIR": str(temporary)}
        self._generation = 0
        self._log = (temporary.parent / "workers.log").open("ab")
        self._plans = [replace(plan, clients=plan.clients[at::processes]) for at in range(processes)]
        self._processes = [self._start(at) for at in range(processes)]

    def go(self) -> None:
        """Let all clients work."""
        for process in self._processes:
            self._order(process, "go")

    def pause(self) -> list[Holding]:
        """Wait until no client does anything."""
        for process in self._processes:
            self._order(process, "pause")
        objects = [self._answer(process, "pause")["objects"] for process in self._processes]
        return [
            holding(process.pid, self._ports, count) for process, count in zip(self._processes, objects, strict=True)
        ]

    def kill(self, at: int) -> None:
        """Kill a process that works, wherever it is, and start another one in its place."""
        self._processes[at].kill()
        self._end(self._processes[at])
        self._processes[at] = self._start(at)
        self._order(self._processes[at], "go")

    def stop(self) -> list[int]:
        """End all processes."""
        for process in self._processes:
            self._order(process, "stop")
            self._answer(process, "stop")
        return [self._end(process) for process in self._processes]

    def close(self) -> None:
        """End what still runs, whatever happened."""
        for process in self._processes:
            if process.poll() is None:
                process.kill()
            self._end(process)
        self._log.close()

    def _start(self, at: int) -> subprocess.Popen[str]:
        self._generation += 1
        plan = replace(self._plans[at], generation=self._generation)
        return subprocess.Popen(
            [sys.executable, "-m", "tests.soak.worker", json.dumps(asdict(plan))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            cwd=ROOT,
            env=self._environment,
        )

    @staticmethod
    def _order(process: subprocess.Popen[str], order: str) -> None:
        assert process.stdin is not None
        process.stdin.write(f"{order}\n")
        process.stdin.flush()

    @staticmethod
    def _answer(process: subprocess.Popen[str], order: str) -> dict[str, int]:
        """The answer to an order, behind those to the orders before it."""
        assert process.stdout is not None
        for line in process.stdout:
            answer = json.loads(line)
            if answer["order"] == order:
                return answer
        raise AssertionError(f"a process ended by itself, with exit code {process.wait()}")

    @staticmethod
    def _end(process: subprocess.Popen[str]) -> int:
        assert process.stdin is not None and process.stdout is not None
        process.stdout.close()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        return process.wait()
