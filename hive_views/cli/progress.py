"""A bar on stderr for what takes long."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def bar(what: str) -> Iterator[Callable[..., None]]:
    """A bar with rate and time left on stderr, where that is a terminal; it is gone when the work is done.

    Args:
        what: What is done.

    Yields:
        What is to be told how many are done, of how many, and, where that changes, what is done now.
    """
    if not sys.stderr.isatty():
        yield lambda done, total, now=None: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            # Of a single step, or the first one, Rich knows no speed.
            speed = task.speed or (task.completed / task.elapsed if task.elapsed else 0.0)
            return Text(f"{speed:.1f}/s")

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=None)
        shown_now = what

        def advance(done: int, total: int, now: str = what) -> None:
            nonlocal task, shown_now
            if now != shown_now:
                # Another sort of work has a rate of its own.
                progress.remove_task(task)
                task, shown_now = progress.add_task(now, total=None), now
            progress.update(task, completed=done, total=total)

        yield advance
