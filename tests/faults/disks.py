"""Small file systems for tests, which can be full or read-only even for root."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(place: Path, size: str) -> Iterator[Path]:
    """Mount a temporary file system in memory; skip the test if mounting is not permitted."""
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"needs the right to mount a file system: {done.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def remount(place: Path, how: str) -> None:
    """Remount it read-only (`ro`) or writable (`rw`)."""
    subprocess.run(["mount", "-o", f"remount,{how}", str(place)], check=True)
