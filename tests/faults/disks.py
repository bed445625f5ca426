"""Small file systems for tests, which can be full or read-only even for root."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(directory: Path, size: str) -> Iterator[Path]:
    """Mount a temporary file system in memory; skip the test if mounting is not permitted."""
    directory.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(directory)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"needs the right to mount a file system: {done.stderr.strip()}")
    try:
        yield directory
    finally:
        subprocess.run(["umount", str(directory)], check=True)


def remount(directory: Path, how: str) -> None:
    """Remount it read-only (`ro`) or writable (`rw`)."""
    subprocess.run(["mount", "-o", f"remount,{how}", str(directory)], check=True)
