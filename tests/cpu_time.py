"""The CPU time of tests and of all processes that they start, by module and shared fixture.

    python -m pytest -p tests.cpu_time -m "not extended" tests/integration/spark

It is user and system time, which other programs on the machine change little. Run it without --numprocesses.
"""

from __future__ import annotations

import resource
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import psutil
import pytest

SHOWN = 40
"""How many modules, and how many fixtures, are printed."""


def consumed_s() -> float:
    """Return the CPU time of this process, of its children that ended, and of all processes below it."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    total = sum(usage.ru_utime + usage.ru_stime for usage in usages)
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            times = process.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


class CpuTime:
    """Adds up the CPU time of each module; that of a shared fixture is counted for the fixture alone."""

    def __init__(self) -> None:
        self.modules: defaultdict[str, float] = defaultdict(float)
        self.fixtures: defaultdict[str, float] = defaultdict(float)
        self.tests: Counter[str] = Counter()
        self._counted = consumed_s()

    def _spent_s(self) -> float:
        now = consumed_s()
        spent, self._counted = now - self._counted, now
        return spent

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Iterator[None]:
        yield
        self.modules["collection"] += self._spent_s()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        yield
        module = item.nodeid.partition("::")[0]
        self.modules[module] += self._spent_s()
        self.tests[module] += 1

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
        if fixturedef.scope == "function":
            return (yield)
        self.modules["before shared fixtures"] += self._spent_s()
        try:
            return (yield)
        finally:
            self.fixtures[f"{fixturedef.argname} ({fixturedef.baseid or 'pytest'})"] += self._spent_s()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        total = sum(self.modules.values()) + sum(self.fixtures.values())
        terminalreporter.section(f"{total:.0f} s of CPU time")
        for name in _largest(self.modules):
            terminalreporter.write_line(f"{self.modules[name]:7.1f} s {self.tests[name]:5} tests {name}")
        for name in _largest(self.fixtures):
            terminalreporter.write_line(f"{self.fixtures[name]:7.1f} s     fixture {name}")


def _largest(seconds: dict[str, float]) -> list[str]:
    return sorted(seconds, key=seconds.__getitem__, reverse=True)[:SHOWN]


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(CpuTime())
