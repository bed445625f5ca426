"""Names of files that Spark reads as tables: the format and the path, such as csv.`s3://bucket/x`."""

from __future__ import annotations

import re

from hive_views.sql.text.dialects import Dialect

FILE_FORMATS = frozenset(["avro", "binaryfile", "csv", "delta", "json", "orc", "parquet", "text", "xml"])
"""Formats that Spark reads by `format.path` (the providers of its DataSourceRegister files)."""

FILE_NAME = re.compile(rf"\b(?:{'|'.join(sorted(FILE_FORMATS))})`?\s*\.\s*`[^`]*/", re.IGNORECASE)
"""Matches the beginning of the name of files in a text of Spark."""


def is_file_name(dialect: Dialect, parts: tuple[str, ...]) -> bool:
    """Return whether a table's name is a format and the path of a file or directory."""
    # A row's text of dialect hive may be Spark's.
    is_format = dialect != Dialect.TRINO and len(parts) == 2 and parts[0].lower() in FILE_FORMATS
    return is_format and (":/" in parts[1] or parts[1].startswith("/"))


def file_name(parts: tuple[str, ...]) -> str:
    """Return the name of files as Spark reads it."""
    path = parts[1].replace("`", "``")
    return f"{parts[0].lower()}.`{path}`"
