"""How a benchmark measures: ours and the peer in turns, so that whatever else the machine does hits both alike."""

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
    """Our figure, with its unit."""
    peer: str
    """Whom it is compared with."""
    theirs: str
    """The peer's figure."""
    ratio: str
    """Ours over theirs, or what else is compared."""
    target: str
    """What it should be."""
    met: bool | None
    """Whether it is; None where there is no target."""


def alternate(
    ours: Callable[[int], object], floor: Callable[[int], object], times: int
) -> tuple[list[float], list[float]]:
    """Run two functions in turns."""
    our_times, floor_times = [], []
    gc.collect()
    for turn in range(times):
        pair = [(ours, our_times), (floor, floor_times)]
        for function, seconds in pair if turn % 2 else reversed(pair):
            started = perf_counter()
            function(turn)
            seconds.append(perf_counter() - started)
    return our_times, floor_times


def compare(what: str, peer: str, ours: list[float], theirs: list[float], most: float | None) -> Result:
    """Compare medians."""
    ratio = statistics.median(ours) / statistics.median(theirs)
    return Result(
        what,
        f"{statistics.median(ours) * 1e3:.2f} ms",
        peer,
        f"{statistics.median(theirs) * 1e3:.2f} ms",
        f"{ratio:.2f}x",
        "" if most is None else f"<= {most:.2f}x",
        None if most is None else ratio <= most,
    )
