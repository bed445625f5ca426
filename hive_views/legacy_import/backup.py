"""The file that holds a legacy row, next to the metadata of the view that took its place."""

from __future__ import annotations

import base64
import binascii
import json

from hive_views.errors import MetadataWriteError, RevertError
from hive_views.io.metadata_files import MetadataFiles, sync_local_file
from hive_views.metastore.row_codec import Row, decode_row, encode_row, row_as_json, row_fingerprint

FORMAT = 1
"""The number of the file's form."""


def packed(row: Row) -> str:
    """A row as text: its Thrift bytes in base64. See `unpacked`."""
    return base64.b64encode(encode_row(row)).decode("ascii")


def unpacked(text: str) -> Row:
    """Read what `packed` gave."""
    try:
        return decode_row(base64.b64decode(text, validate=True))
    except binascii.Error as error:
        raise ValueError(f"not base64: {error}") from error


def write_backup(files: MetadataFiles, location: str, row: Row) -> None:
    """Write a row to a new file; a local one is on the disk when this returns."""
    document = {
        "format": FORMAT,
        "name": str(row.name),
        "fingerprint": row_fingerprint(row),
        "thrift": packed(row),
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
    """Read a row back."""
    try:
        with files.io(location).new_input(location).open() as stream:
            document = json.loads(stream.read())
        row = unpacked(document["thrift"])
        if document["format"] != FORMAT or row_fingerprint(row) != document["fingerprint"]:
            raise ValueError("it does not hold the row that it was written for")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RevertError(identifier, f"its legacy row cannot be read from {location}: {error!r}") from error
    return row
