"""The worker processes of a soak and their resources: connections, files, threads, memory."""

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
class ResourceUsage:
    """Resources of a process while its clients are idle."""

    connections: int
    """Established TCP connections to the metastores."""
    files: int
    """Open file descriptors."""
    threads: int
    memory: int
    """Resident memory, in MiB."""
    objects: int = 0
    """Objects tracked by Python's garbage collector; 0 for other programs."""


def measure_resources(pid: int, ports: set[int], objects: int = 0) -> ResourceUsage:
    """Measure the resources of a process."""
    process = psutil.Process(pid)
    with process.oneshot():
        connections = [
            item
            for item in process.net_connections(kind="tcp")
            if item.status == psutil.CONN_ESTABLISHED and item.raddr and item.raddr.port in ports
        ]
        return ResourceUsage(
            len(connections),
            process.num_fds(),
            process.num_threads(),
            process.memory_info().rss // (1 << 20),
            objects,
        )


class WorkerProcesses:
    """Processes with several clients each.

    Args:
        plan: Their task.
        processes: The number of processes; the clients of the plan are distributed among them.
        temporary: The directory for temporary files.
        ports: The ports of the metastores.
    """

    def __init__(self, plan: Plan, processes: int, temporary: Path, ports: set[int]) -> None:
        self._plan = plan
        self._ports = ports
        self._environment = {**os.environ, "TMPDIR": str(temporary)}
        self._generation = 0
        self._log = (temporary.parent / "workers.log").open("ab")
        self._plans = [replace(plan, clients=plan.clients[index::processes]) for index in range(processes)]
        self._processes = [self._start(index) for index in range(processes)]

    def go(self) -> None:
        """Start or resume all clients."""
        for process in self._processes:
            self._send(process, "go")

    def pause(self) -> list[ResourceUsage]:
        """Wait until all clients are idle; returns the resources of the processes."""
        for process in self._processes:
            self._send(process, "pause")
        objects = [self._receive(process, "pause")["objects"] for process in self._processes]
        return [
            measure_resources(process.pid, self._ports, count)
            for process, count in zip(self._processes, objects, strict=True)
        ]

    def kill(self, index: int) -> None:
        """Kill a running process, and start a replacement."""
        self._processes[index].kill()
        self._end(self._processes[index])
        self._processes[index] = self._start(index)
        self._send(self._processes[index], "go")

    def stop(self) -> list[int]:
        """End all processes; returns their exit codes."""
        for process in self._processes:
            self._send(process, "stop")
            self._receive(process, "stop")
        return [self._end(process) for process in self._processes]

    def close(self) -> None:
        """Kill processes that still run."""
        for process in self._processes:
            if process.poll() is None:
                process.kill()
            self._end(process)
        self._log.close()

    def _start(self, index: int) -> subprocess.Popen[str]:
        self._generation += 1
        plan = replace(self._plans[index], generation=self._generation)
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
    def _send(process: subprocess.Popen[str], command: str) -> None:
        assert process.stdin is not None
        process.stdin.write(f"{command}\n")
        process.stdin.flush()

    @staticmethod
    def _receive(process: subprocess.Popen[str], command: str) -> dict[str, int]:
        """Read the answer to a command, skipping answers to earlier commands."""
        assert process.stdout is not None
        for line in process.stdout:
            answer = json.loads(line)
            if answer["command"] == command:
                return answer
        raise AssertionError(f"a worker process ended with exit code {process.wait()}")

    @staticmethod
    def _end(process: subprocess.Popen[str]) -> int:
        assert process.stdin is not None and process.stdout is not None
        process.stdout.close()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        return process.wait()
