"""Comparison of storage locations by their URIs.

A location can be written in many ways, and for some storages it cannot be determined whether two URIs mean the same
location: `hdfs:///x` and `hdfs://name:8020/x`, links, access points, percent-encoded characters. Hence two functions:
`is_below` decides which files may be deleted, and is true only if a file is certainly in a directory. `path_of` decides
which files must be kept, and is equal for all URIs that may mean the same location, possibly also for others.
"""

from __future__ import annotations

import posixpath
import re
from urllib.parse import unquote

_URI = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):(?://([^/]*))?)?(.*)", re.DOTALL)
_ABSOLUTE = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*:)?/+[^/]")
_SCHEME_ALIASES = {"": "file", "s3a": "s3", "s3n": "s3"}
"""Schemes that are other names of a storage, each with the scheme to which it is normalized."""

HDFS_SCHEMES = ("hdfs", "viewfs")
"""The schemes of HDFS: a NameNode or name service, and a mount table on the client."""


def path_of(location: str) -> str:
    """Return the normalized path, equal for `file:/x`, `file:///x`, `/x`, `//x/`, `/y/../x` and `/%78`."""
    return posixpath.normpath(f"/{unquote(split(location)[2]).strip('/')}")


def directory_of(location: str) -> str:
    """Return the directory of a file, as written."""
    return location.rpartition("/")[0]


def base_of(metadata_location: str) -> str:
    """Return the directory of a table or view, given its metadata file."""
    return directory_of(metadata_location).removesuffix("/metadata")


def is_absolute(location: str) -> bool:
    """Return whether a location is a URI or an absolute path; a relative path depends on the process that reads it."""
    return _ABSOLUTE.match(location) is not None


def is_below(location: str, directory: str) -> bool:
    """Return whether a file is certainly below a directory."""
    file_parts, directory_parts = parts(location), parts(directory)
    is_longer = len(file_parts) > len(directory_parts)
    return not steps_out(location) and is_longer and file_parts[: len(directory_parts)] == directory_parts


def steps_out(location: str) -> bool:
    """Return whether a path contains `..`, escaped or not: the meaning of such a path depends on the reader."""
    return ".." in re.split(r"[/\\]", unquote(location))


def parts(location: str) -> list[str]:
    """Split a URI into its storage with host, and the components of the path."""
    scheme, host, path = split(location)
    storage = _SCHEME_ALIASES.get(scheme, scheme)
    return [f"{storage}://{host}", *(part for part in path.split("/") if part not in ("", "."))]


def split(location: str) -> tuple[str, str, str]:
    """Split a URI into its scheme in lower case, host, and path as written; empty where it has none."""
    match = _URI.fullmatch(location)
    assert match is not None, "every part may be empty"
    return (match[1] or "").lower(), match[2] or "", match[3]
