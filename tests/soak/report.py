"""The report of a soak as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.soak.check import CheckResult
from tests.soak.ledger import Attempt, Outcome
from tests.soak.worker_processes import ResourceUsage


@dataclass
class ResourceSample:
    """Resources while all clients were idle."""

    seconds: float
    """The duration of the load until then, in seconds."""
    processes: list[ResourceUsage]
    """Resources of the worker processes; the first of them is never killed."""
    sessions: int
    """PostgreSQL sessions."""
    locks: int
    """Rows of HIVE_LOCKS."""


@dataclass
class Measurements:
    """Measurements of a soak."""

    seed: int
    seconds: float = 0.0
    samples: list[ResourceSample] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    servers: dict[str, ResourceUsage] = field(default_factory=dict)
    orphans: dict[str, int] = field(default_factory=dict)
    """Counts of orphans of killed refreshes, before they were removed."""


def markdown(measurements: Measurements, attempts: Iterable[Attempt], check_result: CheckResult) -> str:
    """Tables of all measurements."""
    attempts = list(attempts)
    lines = [f"{measurements.seconds / 60:.1f} minutes of load, seed {measurements.seed}.", ""]
    lines += ["| operation | applied | rejected | unknown | interrupted |", "|---|---|---|---|---|"]
    table = Counter((attempt.operation, attempt.outcome) for attempt in attempts)
    for operation in sorted({operation for operation, _ in table}):
        lines.append(_row(operation, *(table[operation, outcome] for outcome in Outcome)))
    lines.append(_row("all", *(sum(1 for item in attempts if item.outcome is outcome) for outcome in Outcome)))
    errors = Counter(
        (item.details["error"], item.outcome.value) for item in attempts if "error" in item.details
    ).most_common()
    lines += ["", "| error | outcome | count |", "|---|---|---|"]
    lines += [_row(f"`{error}`", outcome, count) for (error, outcome), count in errors]
    lines += ["", "| fault | count |", "|---|---|"]
    lines += [_row(kind, count) for kind, count in measurements.faults.most_common()]
    lines.append(_row("all", sum(measurements.faults.values())))
    lines += ["", f"{measurements.calls:,} calls passed the proxies.", "", "| checked | count |", "|---|---|"]
    lines += [_row(name, count) for name, count in sorted(check_result.counts.items())]
    lines += [_row(f"orphans of refreshes: {kind}", count) for kind, count in measurements.orphans.items()]
    lines += [
        "",
        "| after | process | connections | files | threads | memory | objects | PostgreSQL sessions | locks |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for sample in measurements.samples:
        for number, usage in enumerate(sample.processes):
            name = "clients, never killed" if number == 0 else f"clients {number}"
            lines.append(
                _row(
                    f"{sample.seconds:.0f} s",
                    name,
                    usage.connections,
                    usage.files,
                    usage.threads,
                    f"{usage.memory} MiB",
                    f"{usage.objects:,}",
                    sample.sessions,
                    sample.locks,
                )
            )
    for name, usage in measurements.servers.items():
        lines.append(_row("the end", name, "", usage.files, usage.threads, f"{usage.memory} MiB", "", "", ""))
    return "\n".join(lines) + "\n"


def _row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"
