"""Files that only their owner may read, regardless of the umask: plans and journals contain view definitions."""

from __future__ import annotations

import os
from pathlib import Path

_MODE = 0o600


def private_opener(path: str, flags: int) -> int:
    """Open a file for `open(opener=…)`; a new file is readable by its owner only, an existing one keeps its mode."""
    return os.open(path, flags, _MODE)


def write_private_text(path: Path, text: str) -> None:
    """Write a file; a new one is readable by its owner only. Raises OSError."""
    with open(path, "w", encoding="utf-8", opener=private_opener) as file:
        file.write(text)


def sync_directory(directory: Path) -> None:
    """Wait until the names in a directory are on disk; raises OSError."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
