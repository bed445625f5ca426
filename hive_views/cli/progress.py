"""A progress bar on stderr."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def bar(description: str) -> Iterator[Callable[..., None]]:
    """Show a bar with rate and remaining time on stderr while work is done, if that is a terminal.

    Yields a function that is called with the number of finished items, the total, and the description if it changes.
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
            # Rich has no speed before the second update.
            speed = task.speed or (task.completed / task.elapsed if task.elapsed else 0.0)
            return Text(f"{speed:.1f}/s")

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(description, total=None)
        shown_now = description

        def advance(done: int, total: int, now: str = description) -> None:
            nonlocal task, shown_now
            if now != shown_now:
                # Another kind of work has its own rate.
                progress.remove_task(task)
                task, shown_now = progress.add_task(now, total=None), now
            progress.update(task, completed=done, total=total)

        yield advance
