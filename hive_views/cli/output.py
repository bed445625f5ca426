"""What commands print on stdout: one JSON document, or text. Only diagnostics are printed on stderr."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hive_views.errors import UsageError
from hive_views.identifiers import ViewName
from hive_views.rendering.escaping import escape, escape_json

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

WIDE = 10_000
"""The width of output to a file or pipe, where nothing is wrapped or cut, so that programs can parse it."""

_CONTROL_PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"} | {0x7F: 0x2421}
_CONTROL_PICTURES |= dict.fromkeys(range(0x80, 0xA0), 0xFFFD)


def json_value(value: Any) -> Any:
    """Convert a result to JSON types: dataclasses to objects, names and times to text, enum members to their values.

    An object whose JSON fields differ from its own defines `to_json()`.
    """
    if hasattr(value, "to_json"):
        value = value.to_json()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, ViewName):
        return str(value)
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%SZ")
    if dataclasses.is_dataclass(value):
        return {field.name: json_value(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: json_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_value(item) for item in value]
    return value


def print_json(value: Any) -> None:
    """Print a command's result as one JSON document on stdout."""
    is_utf8 = (sys.stdout.encoding or "").lower() in ("utf-8", "utf8")
    text = json.dumps(json_value(value), ensure_ascii=not is_utf8, indent=2)
    sys.stdout.write(escape_json(text) + "\n")


def console() -> Console:
    """Return a console on stdout, with colors if it is a terminal that has them and NO_COLOR is not set."""
    from rich.console import Console

    class Output(Console):
        def on_broken_pipe(self) -> None:
            # Rich would exit with code 1 here.
            raise BrokenPipeError

    output = Output(highlight=False, markup=False, emoji=False)
    if not output.is_terminal and "COLUMNS" not in os.environ:
        output.width = WIDE
    return output


def print_line(*parts: str | Text, style: str = "") -> None:
    """Print the parts of a line on stdout: a text is escaped as by `shown`, a styled `Text` is not.

    The line is not wrapped, so that it can be copied from a terminal.
    """
    escaped = (shown(part) if isinstance(part, str) else part for part in parts)
    console().print(*escaped, style=style, sep="", soft_wrap=True)


def print_table(headings: Iterable[str], rows: Iterable[Iterable[object]], indent: str = "") -> None:
    """Print rows on stdout, below headings; a cell is a styled `Text`, or a value that is printed as by `shown`."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Column, Table
    from rich.text import Text

    columns = [Column(shown(heading), overflow="fold") for heading in headings]
    table = Table(*columns, box=SIMPLE_HEAD if console().is_terminal else None, pad_edge=False)
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else shown(cell) for cell in row))
    print_grid(table, indent)


def print_grid(table: Table, indent: str = "") -> None:
    """Print a table on stdout, each line after an indent; without trailing blanks unless it is a terminal."""
    from rich.padding import Padding

    out = console()
    padded = Padding(table, (0, 0, 0, len(indent)), expand=False)
    if out.is_terminal:
        out.print(padded)
        return
    with out.capture() as captured:
        out.print(padded)
    for line in captured.get().splitlines():
        print(line.rstrip())


def shown(value: object) -> str:
    """The text of a value (empty for None), with control and bidirectional characters escaped but lines and tabs."""
    return "" if value is None else escape(str(value).translate(_CONTROL_PICTURES), lines=True)


def print_script(text: str) -> None:
    """Print text that is run again: as it is, but on a terminal with escapes, and a remark on stderr about them."""
    if not sys.stdout.isatty():
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
        return
    safe = shown(text)
    console().print(safe, end="", soft_wrap=True)
    if safe != text:
        print(
            "Some characters are escaped on a terminal: redirect the output to get the text as it is", file=sys.stderr
        )


def write_file(path: str | os.PathLike[str], text: str, option: str, *, is_private: bool = False) -> None:
    """Write a result to the file that an option names; only its owner can read a private file."""
    # Imported here: its package imports PyIceberg, which reads its configuration then.
    from hive_views.io.private_files import write_private_text

    try:
        if is_private:
            write_private_text(Path(path), text)
        else:
            Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(option, f"{path} cannot be written: {error.strerror or error}") from error


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
