"""Versions of Hive's metastore schema: their order, and Hive's upgrade scripts between them.

Source: `upgrade.order.<database>` of Hive 0.12 to 4.3, and schematool's rules for equivalent versions.
"""

from __future__ import annotations

import re
from itertools import pairwise

CHAIN = (
    "0.5.0",
    "0.6.0",
    "0.7.0",
    "0.8.0",
    "0.9.0",
    "0.10.0",
    "0.11.0",
    "0.12.0",
    "0.13.0",
    "0.14.0",
    "1.1.0",
    "1.2.0",
    "2.0.0",
    "2.1.0",
    "2.2.0",
    "2.3.0",
    "3.0.0",
    "3.1.0",
    "3.2.0",
    "4.0.0-alpha-1",
    "4.0.0-alpha-2",
    "4.0.0-beta-1",
    "4.0.0",
    "4.1.0",
    "4.2.0",
    "4.3.0",
)
"""Every schema version that one of Hive's scripts upgrades from or to. The schemas of 0.3 and 0.4 count as 0.5."""

_WITHOUT_SCRIPTS = ("0.3.0", "0.4.0", "1.0.0")
"""Releases whose schema no script of Hive upgrades."""

FIRST_WITH_VIEWS = "0.6.0"
"""The first schema that can hold a view (HIVE-972, HIVE-1068)."""

_PATTERN = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?(?:-(alpha|beta)-?(\d+)?)?")


def chain_version(text: str) -> str | None:
    """Return the schema version that a version string stands for: the newest of `CHAIN` that is not newer.

    So `3.1.3` is `3.1.0`, `0.13.1` is `0.13.0`, and a vendor's `1.1.0-cdh5.12.0` is `1.1.0`.
    """
    if _PATTERN.match(text.strip()) is None:
        return None
    key = _key(text)
    older = [version for version in CHAIN if _key(version) <= key]
    return older[-1] if older else CHAIN[0]


def known_version(text: str) -> str | None:
    """Return the schema version of a release, such as `3.1.0` of `3.1.3`; None if no Hive of that name is known.

    Patch releases do not change the schema, so unknown ones are accepted; unknown minor versions are not.
    """
    match = _PATTERN.fullmatch(text.strip())
    if match is None:
        return None
    major, minor, _, stage, _ = match.groups()
    if stage is not None:
        return text.strip() if text.strip() in CHAIN else None
    is_known = any(version.startswith(f"{major}.{minor}.") for version in (*CHAIN, *_WITHOUT_SCRIPTS))
    return chain_version(text) if is_known else None


def position(version: str) -> int:
    """Return the position of a version in `CHAIN`."""
    return CHAIN.index(version)


def at_least(version: str, other: str) -> bool:
    """Return whether a version is the same as or newer than another; both are members of `CHAIN`."""
    return position(version) >= position(other)


def scripts(database: str, start: str, end: str) -> tuple[str, ...]:
    """Return the names of Hive's upgrade scripts between two versions, in order."""
    steps = CHAIN[position(start) : position(end) + 1]
    return tuple(script_name(database, older, newer) for older, newer in pairwise(steps))


def script_name(database: str, older: str, newer: str) -> str:
    """Return the file name of the script between two adjacent versions."""
    return f"upgrade-{older}-to-{newer}.{database}.sql"


def script_to(database: str, version: str) -> str:
    """Return the file name of Hive's script that upgrades to a version."""
    return script_name(database, CHAIN[position(version) - 1], version)


def _key(text: str) -> tuple[int, int, int, int, int]:
    match = _PATTERN.match(text.strip())
    assert match is not None, text
    major, minor, patch, stage, number = match.groups()
    return (
        int(major),
        int(minor),
        int(patch or 0),
        {"alpha": 0, "beta": 1, None: 2}[stage],
        int(number or 0),
    )
