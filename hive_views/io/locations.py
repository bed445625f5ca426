"""Places of a storage by their URIs: what is certainly below a directory, and what may be one place.

One place can be written in many ways, and some storages do not tell that two of them are one: `hdfs:///x` and
`hdfs://name:8020/x`, links, access points, an escape for a character. So there are two questions. `is_below` says yes
where it is certain: what is to be deleted must be. `path_of` is the same for all ways of writing that may mean one
place, and may be the same for two: what is to be kept is looked for by it.
"""

from __future__ import annotations

import posixpath
import re
from urllib.parse import unquote

_URI = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):(?://([^/]*))?)?(.*)", re.DOTALL)
_ONE_KIND = {"": "file", "s3a": "s3", "s3n": "s3"}
"""Schemes that are other words for one."""


def path_of(location: str) -> str:
    """What all ways of writing a place have in common (`file:/x`, `file:///x`, `/x`, `//x/`, `/y/../x`, `/%78`)."""
    return posixpath.normpath(f"/{unquote(_split(location)[2]).strip('/')}")


def directory_of(location: str) -> str:
    """The directory that a file is in, as it was written."""
    return location.rpartition("/")[0]


def base_of(metadata_location: str) -> str:
    """The directory of a table or view, by its metadata file."""
    return directory_of(metadata_location).removesuffix("/metadata")


def is_below(location: str, place: str) -> bool:
    """Whether a file is certainly below a directory."""
    mine, above = parts(location), parts(place)
    return not steps_out(location) and len(mine) > len(above) and mine[: len(above)] == above


def steps_out(location: str) -> bool:
    """Whether a path has a `..`, escaped or not: where it leads depends on who reads it."""
    return ".." in re.split(r"[/\\]", unquote(location))


def parts(location: str) -> list[str]:
    """A URI as a kind of storage with its host, and the names on the path."""
    scheme, host, path = _split(location)
    kind = _ONE_KIND.get(scheme, scheme)
    return [f"{kind}://{host}", *(part for part in path.split("/") if part not in ("", "."))]


def _split(location: str) -> tuple[str, str, str]:
    found = _URI.fullmatch(location)
    assert found is not None, "every part may be empty"
    return (found[1] or "").lower(), found[2] or "", found[3]
