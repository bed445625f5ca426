"""Legacy rows as text, and the backup files that hold them next to the metadata files of the new views."""

from __future__ import annotations

import base64
import binascii
import json

from hive_views.errors import MetadataFileError, MetadataWriteError, RevertError
from hive_views.io.metadata_files import MetadataFiles, sync_local_file
from hive_views.legacy_import.readers.detection import is_legacy
from hive_views.metastore.rows.row import Row
from hive_views.metastore.rows.serialization import decode_row, encode_row, row_as_json, row_fingerprint

FORMAT = 1
"""Version of the file's format."""


def row_to_text(row: Row) -> str:
    """Return the Thrift bytes of a row in base64."""
    return base64.b64encode(encode_row(row)).decode("ascii")


def row_from_text(text: str) -> Row:
    """Parse what `row_to_text` returned; raises ValueError."""
    try:
        return decode_row(base64.b64decode(text, validate=True))
    except binascii.Error as error:
        raise ValueError(f"not base64: {error}") from error


def write_backup(files: MetadataFiles, location: str, row: Row) -> None:
    """Write a row to a new file; a local file is on disk when this returns. Raises MetadataWriteError."""
    document = {
        "format": FORMAT,
        "name": str(row.name),
        "fingerprint": row_fingerprint(row),
        "thrift": row_to_text(row),
        "row": row_as_json(row),
    }
    data = json.dumps(document, ensure_ascii=True, indent=1).encode()
    try:
        with files.io(location).new_output(location).create(overwrite=False) as stream:
            stream.write(data)
        sync_local_file(location)
    except (OSError, ValueError) as error:
        raise MetadataWriteError(location, str(error)) from error


def read_backup(files: MetadataFiles, location: str, identifier: str) -> Row:
    """Read the row in a backup file; raises RevertError."""
    try:
        document = files.read_table(location)
        row = row_from_text(document["thrift"])
        if document["format"] != FORMAT or row_fingerprint(row) != document["fingerprint"]:
            raise ValueError("it does not hold the row that it was written for")
        # Any program can write the parameter that names the file. Restoring a table's row would register it twice.
        if not is_legacy(row):
            raise ValueError(f"it holds the row of {row.name}, which is not a legacy view ({row.kind.value})")
    except (MetadataFileError, ValueError, KeyError, TypeError) as error:
        raise RevertError(identifier, f"its legacy row cannot be read from {location}: {error!r}") from error
    return row
