"""What a comparison of rows said of each view: kept beside the journal, for the report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from hive_views.errors import JournalError
from hive_views.identifiers import ViewName


def file_of(journal: Path) -> Path:
    """Where it is kept."""
    return journal.with_name(f"{journal.name}.verified")


def write_rows_said(journal: Path, said: Mapping[ViewName, str]) -> None:
    """Keep it, in place of what was said before."""
    try:
        file_of(journal).write_text(json.dumps({str(name): text for name, text in said.items()}, indent=1))
    except OSError as error:
        raise JournalError(str(file_of(journal)), str(error)) from error


def rows_said(journal: Path) -> dict[ViewName, str]:
    """Read it."""
    try:
        found = json.loads(file_of(journal).read_text())
        return {ViewName.from_text(name): str(text) for name, text in found.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError) as error:
        raise JournalError(str(file_of(journal)), f"it does not hold what a comparison said: {error}") from error
