"""The figures of a soak, for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.soak.check import Verdict
from tests.soak.crews import Holding
from tests.soak.ledger import Attempt, Outcome


@dataclass
class Moment:
    """What was held while nobody did anything."""

    seconds: float
    """For how long the clients had worked by then."""
    processes: list[Holding]
    """Of the clients; the first of them was never killed."""
    sessions: int
    """Of PostgreSQL."""
    locks: int
    """Rows of HIVE_LOCKS."""


@dataclass
class Figures:
    """All that a soak measured."""

    seed: int
    seconds: float = 0.0
    moments: list[Moment] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    servers: dict[str, Holding] = field(default_factory=dict)
    refreshes_left: dict[str, int] = field(default_factory=dict)
    """What killed refreshes left behind, before it was removed."""


def markdown(figures: Figures, attempts: Iterable[Attempt], verdict: Verdict) -> str:
    """Tables for a page."""
    attempts = list(attempts)
    lines = [f"{figures.seconds / 60:.1f} minutes of load, seed {figures.seed}.", ""]
    lines += ["| operation | done | refused | unknown | cut short |", "|---|---|---|---|---|"]
    table = Counter((attempt.operation, attempt.outcome) for attempt in attempts)
    for operation in sorted({operation for operation, _ in table}):
        lines.append(_row(operation, *(table[operation, outcome] for outcome in Outcome)))
    lines.append(_row("all", *(sum(1 for item in attempts if item.outcome is outcome) for outcome in Outcome)))
    errors = Counter(
        (item.known["error"], item.outcome.value) for item in attempts if "error" in item.known
    ).most_common()
    lines += ["", "| error | told as | times |", "|---|---|---|"]
    lines += [_row(f"`{error}`", outcome, count) for (error, outcome), count in errors]
    lines += ["", "| fault | times |", "|---|---|"]
    lines += [_row(kind, count) for kind, count in figures.faults.most_common()]
    lines.append(_row("all", sum(figures.faults.values())))
    lines += ["", f"{figures.calls:,} calls passed the proxies.", "", "| checked | count |", "|---|---|"]
    lines += [_row(what, count) for what, count in sorted(verdict.counts.items())]
    lines += [_row(f"left by refreshes: {what}", count) for what, count in figures.refreshes_left.items()]
    lines += [
        "",
        "| after | process | connections | files | threads | memory | objects | sessions of PostgreSQL | locks |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for moment in figures.moments:
        for number, held in enumerate(moment.processes):
            name = "clients, never killed" if number == 0 else f"clients {number}"
            lines.append(
                _row(
                    f"{moment.seconds:.0f} s",
                    name,
                    held.connections,
                    held.files,
                    held.threads,
                    f"{held.memory} MiB",
                    f"{held.objects:,}",
                    moment.sessions,
                    moment.locks,
                )
            )
    for name, held in figures.servers.items():
        lines.append(_row("the end", name, "", held.files, held.threads, f"{held.memory} MiB", "", "", ""))
    return "\n".join(lines) + "\n"


def _row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"
