"""Measurement: the two functions alternate, so that other load of the machine affects both equally."""

from __future__ import annotations

import gc
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter


@dataclass(frozen=True)
class Result:
    """One line of the table."""

    what: str
    """What was measured."""
    ours: str
    """The value of hive_views with its unit."""
    peer: str
    """The reference."""
    theirs: str
    """The value of the reference."""
    ratio: str
    """The ratio, or another comparison."""
    target: str
    """The target."""
    met: bool | None
    """Whether the target is met; None without a target."""


def alternate(
    ours: Callable[[int], object], floor: Callable[[int], object], times: int
) -> tuple[list[float], list[float]]:
    """Run two functions alternately; returns their durations in seconds."""
    our_times, floor_times = [], []
    gc.collect()
    for turn in range(times):
        pair = [(ours, our_times), (floor, floor_times)]
        for function, seconds in pair if turn % 2 else reversed(pair):
            started = perf_counter()
            function(turn)
            seconds.append(perf_counter() - started)
    return our_times, floor_times


def compare(what: str, peer: str, ours: list[float], theirs: list[float], limit: float | None) -> Result:
    """Compare medians."""
    ratio = statistics.median(ours) / statistics.median(theirs)
    return Result(
        what,
        f"{statistics.median(ours) * 1e3:.2f} ms",
        peer,
        f"{statistics.median(theirs) * 1e3:.2f} ms",
        f"{ratio:.2f}x",
        "" if limit is None else f"<= {limit:.2f}x",
        None if limit is None else ratio <= limit,
    )
