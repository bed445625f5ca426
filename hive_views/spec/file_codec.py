"""View metadata files: bytes <-> `ViewMetadata`, where they lie and what they are called.

Names and places are those of Iceberg's `BaseViewOperations` and `TableMetadataParser`. Numbers with a fraction under
keys that nobody knows are kept as IEEE doubles, as JSON readers do.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from typing import Any, Literal

from hive_views.errors import InvalidMetadataError, InvalidPropertyError, InvalidViewError
from hive_views.spec import json_codec as documents
from hive_views.spec.metadata import INT_MAX, ViewMetadata

METADATA_COMPRESSION = "write.metadata.compression-codec"
METADATA_COMPRESSION_DEFAULT: Codec = "gzip"
"""View property (Iceberg's ViewProperties): `gzip` or `none`, in any case."""

METADATA_PATH = "write.metadata.path"
"""View property (Iceberg's ViewProperties): URI of the directory for metadata files. Default: `<location>/metadata`."""

MAX_BYTES = 32 * 1024 * 1024
"""The longest document that is read or written, in bytes after decompression: a bomb must not fill the memory."""

MAX_TABLE_BYTES = 256 * 1024 * 1024
"""The longest metadata of a table that is read, in bytes after decompression: those of many snapshots are long."""

MAX_SIGNS = 2_000_000
"""How many braces, brackets, commas and colons a document has at most, in texts as well. Each may become a value of 40
to 80 bytes, so that 31 KB of gzip took nearly 1 GB. Ten versions with 10,000 columns each have half as many."""

MAX_TABLE_SIGNS = 5_000_000
"""The same for the metadata of a table: 100,000 snapshots have 4.7 million."""

Codec = Literal["gzip", "none"]
"""How a file is compressed."""

_CODECS: Mapping[str, Codec] = {"gzip": "gzip", "none": "none"}
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WINDOW = 16 + zlib.MAX_WBITS
_GZIP_LEVEL = 6


def parse(data: bytes, location: str, *, max_bytes: int = MAX_BYTES, max_signs: int = MAX_SIGNS) -> ViewMetadata:
    """Read the content of a metadata file, of today's format or of the earlier draft.

    What is gzip is decompressed whatever the file is called, and what is not is read as it stands: some object stores
    decompress on the way.
    """
    document = _document(data, location, max_bytes, max_signs)
    try:
        text = document.decode()
    except UnicodeDecodeError as error:
        compressed = ", nor gzip, as its name says" if _is_gzip_name(location) else ""
        raise InvalidMetadataError(
            location, "", f"it is not UTF-8{compressed}: {error.reason} at {error.start}"
        ) from None
    try:
        value = _DECODER.decode(text)
    except RecursionError:
        raise _too_deep(location) from None
    except ValueError as error:
        raise InvalidMetadataError(location, "", f"it is not the JSON of a metadata file: {error}") from None
    # Counting brackets is a cheap upper bound, which nearly every file stays below.
    if text.count("[") + text.count("{") > documents.MAX_DEPTH and documents.nests_deeper(value, documents.MAX_DEPTH):
        raise _too_deep(location)
    return documents.read(value, location)


def parse_table(
    data: bytes, location: str, *, max_bytes: int = MAX_TABLE_BYTES, max_signs: int = MAX_TABLE_SIGNS
) -> dict[str, Any]:
    """Read a table's metadata file, of which nothing is checked but that it is an object of JSON."""
    document = _document(data, location, max_bytes, max_signs)
    try:
        value = json.loads(document)
    except RecursionError:
        raise _too_deep(location) from None
    except ValueError as error:
        raise InvalidMetadataError(location, "", f"it is not the JSON of a metadata file: {error}") from None
    if documents.nests_deeper(value, documents.MAX_DEPTH):
        raise _too_deep(location)
    if not isinstance(value, dict):
        raise InvalidMetadataError(location, "", f"it must hold a JSON object, not {type(value).__name__}")
    return value


def table_text(
    data: bytes, location: str, *, max_bytes: int = MAX_TABLE_BYTES, max_signs: int = MAX_TABLE_SIGNS
) -> str:
    """The JSON in a table's metadata file, of which nothing is checked but its length."""
    try:
        return _document(data, location, max_bytes, max_signs).decode()
    except UnicodeDecodeError as error:
        raise InvalidMetadataError(location, "", f"it is not UTF-8: {error.reason} at {error.start}") from None


def serialize(metadata: ViewMetadata, *, codec: Codec) -> bytes:
    """Make the content of a metadata file. The same metadata gives the same bytes."""
    document = documents.write(metadata)
    try:
        data = _ENCODER.encode(document).encode()
    except UnicodeEncodeError:
        # Half a surrogate pair, which a file of others may hold as an escape, can only be written as one.
        data = _ASCII_ENCODER.encode(document).encode()
    counts = ((len(data), MAX_BYTES, "bytes"), (_signs(data), MAX_SIGNS, "braces, commas and the like"))
    for count, most, what in counts:
        if count > most:
            raise InvalidViewError(
                metadata.location,
                f"its metadata has {count} {what}; at most {most} can be read. Lower version.history.num-entries",
            )
    if codec == "none":
        return data
    compressor = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_WINDOW)  # writes no time into the header
    return compressor.compress(data) + compressor.flush()


def compression_codec(properties: Mapping[str, str]) -> Codec:
    """Read the property `write.metadata.compression-codec`."""
    value = properties.get(METADATA_COMPRESSION, METADATA_COMPRESSION_DEFAULT)
    if value.lower() not in _CODECS:
        raise InvalidPropertyError(METADATA_COMPRESSION, value, "it must be gzip or none")
    return _CODECS[value.lower()]


def metadata_directory(metadata: ViewMetadata) -> str:
    """Say where a view's new metadata files go."""
    path = metadata.properties.get(METADATA_PATH)
    if path is None:
        return f"{_without_slash(metadata.location)}/metadata"
    if not path:
        raise InvalidPropertyError(METADATA_PATH, path, "it must be the URI of a directory")
    return _without_slash(path)


def new_location(metadata: ViewMetadata, previous_location: str | None, unique: str) -> str:
    """Name the file for new metadata: `<directory>/<number>-<unique>.gz.metadata.json`, or without `.gz`."""
    number = (-1 if previous_location is None else file_number(previous_location)) + 1
    extension = ".gz.metadata.json" if compression_codec(metadata.properties) == "gzip" else ".metadata.json"
    return f"{metadata_directory(metadata)}/{number:05d}-{unique}{extension}"


def file_number(location: str) -> int:
    """Read the number in front of a metadata file's name."""
    found = re.match(r"([0-9]{1,10})-", location.rpartition("/")[2])
    number = int(found[1]) if found else -1
    return number if number < INT_MAX else -1


def _document(data: bytes, location: str, max_bytes: int, max_signs: int) -> bytes:
    document = _decompressed(data, location, max_bytes) if data.startswith(_GZIP_MAGIC) else data
    if len(document) > max_bytes:
        raise _too_long(location, max_bytes)
    if _signs(document) > max_signs:
        reason = f"it has more than {max_signs} braces, brackets, commas and colons, which would fill the memory"
        raise InvalidMetadataError(location, "", reason)
    return document


def _signs(document: bytes) -> int:
    """An upper bound of the values in a document, for much less than it takes to read them."""
    return sum(map(document.count, (b"{", b"[", b",", b":")))


def _decompressed(data: bytes, location: str, max_bytes: int) -> bytes:
    stream = zlib.decompressobj(_GZIP_WINDOW)
    try:
        document = stream.decompress(data, max_bytes + 1)
    except zlib.error as error:
        raise InvalidMetadataError(location, "", f"it is not valid gzip: {error}") from None
    if len(document) > max_bytes:
        raise _too_long(location, max_bytes)
    if not stream.eof:
        raise InvalidMetadataError(location, "", "it is cut off: the gzip stream does not end")
    if stream.unused_data:
        raise InvalidMetadataError(location, "", "something follows the gzip stream")
    return document


def _is_gzip_name(location: str) -> bool:
    return location.endswith((".gz.metadata.json", ".metadata.json.gz"))


def _without_slash(location: str) -> str:
    while location.endswith("/") and not location.endswith("://"):
        location = location[:-1]
    return location


def _too_long(location: str, max_bytes: int) -> InvalidMetadataError:
    return InvalidMetadataError(location, "", f"it is longer than {max_bytes} bytes")


def _too_deep(location: str) -> InvalidMetadataError:
    return InvalidMetadataError(location, "", f"it nests values deeper than {documents.MAX_DEPTH} levels")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"the key {key!r} occurs twice in one object")
            seen.add(key)
    return members


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"the number {text} is too large")
    return number


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is no JSON value")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique_keys, parse_float=_finite, parse_constant=_no_constant)
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_ASCII_ENCODER = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))
