"""Conversion between the bytes of a view metadata file and `ViewMetadata`; names and locations of the files.

Names and locations follow Iceberg's `BaseViewOperations` and `TableMetadataParser`. Fractional numbers of unknown keys
are read as IEEE doubles, as JSON readers do.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from hive_views.errors import InvalidMetadataError, InvalidPropertyError, InvalidViewError
from hive_views.spec.json_codec import MAX_DEPTH, nests_deeper, read_document, write_document
from hive_views.spec.metadata import INT_MAX, ViewMetadata

METADATA_COMPRESSION = "write.metadata.compression-codec"
METADATA_COMPRESSION_DEFAULT: Codec = "gzip"
"""View property (Iceberg's ViewProperties): `gzip` or `none`, in any case."""

METADATA_PATH = "write.metadata.path"
"""View property (Iceberg's ViewProperties): URI of the directory for metadata files. Default: `<location>/metadata`."""


@dataclass(frozen=True)
class Limits:
    """Limits of a document that is read."""

    bytes: int
    """Maximum size in bytes after decompression, to protect against decompression bombs."""
    symbols: int
    """Maximum number of braces, brackets, commas and colons, also inside strings. Each may become a value of 40 to 80
    bytes: a file of 31 KB (gzip) took nearly 1 GB of memory."""


VIEW_LIMITS = Limits(bytes=32 * 1024 * 1024, symbols=2_000_000)
"""The limits of a view's metadata. Ten versions with 10,000 columns each have half as many symbols."""

TABLE_LIMITS = Limits(bytes=256 * 1024 * 1024, symbols=5_000_000)
"""The limits of a table's metadata: many snapshots make it long; 100,000 snapshots have 4.7 million symbols."""

Codec = Literal["gzip", "none"]
"""The compression of a file."""

_CODECS: Mapping[str, Codec] = {"gzip": "gzip", "none": "none"}
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WINDOW = 16 + zlib.MAX_WBITS
_GZIP_LEVEL = 6


def parse(data: bytes, location: str, limits: Limits = VIEW_LIMITS) -> ViewMetadata:
    """Parse the contents of a metadata file, in today's format or the earlier draft."""
    text = _decode(data, location, limits)
    return read_document(_load_json(text, location, _DECODER.decode), location)


def parse_table(data: bytes, location: str, limits: Limits = TABLE_LIMITS) -> dict[str, Any]:
    """Parse a table's metadata file; only checks that it is a JSON object."""
    value = _load_json(table_text(data, location, limits), location, json.loads)
    if not isinstance(value, dict):
        raise InvalidMetadataError(location, "", f"it must be a JSON object, not {type(value).__name__}")
    return value


def table_text(data: bytes, location: str, limits: Limits = TABLE_LIMITS) -> str:
    """Return the JSON text of a table's metadata file; only checks its size."""
    return _decode(data, location, limits)


def serialize(metadata: ViewMetadata, *, codec: Codec) -> bytes:
    """Serialize metadata to the contents of a metadata file; deterministic."""
    document = write_document(metadata)
    try:
        data = _ENCODER.encode(document).encode()
    except UnicodeEncodeError:
        # A file may contain a lone surrogate as an escape, which can be written only as an escape.
        data = _ASCII_ENCODER.encode(document).encode()
    for count, limit, unit in (
        (len(data), VIEW_LIMITS.bytes, "bytes"),
        (_count_symbols(data), VIEW_LIMITS.symbols, "braces, commas and the like"),
    ):
        if count > limit:
            raise InvalidViewError(
                metadata.location,
                f"its metadata has {count} {unit}; at most {limit} can be read. Lower version.history.num-entries",
            )
    if codec == "none":
        return data
    compressor = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_WINDOW)  # writes no timestamp into the header
    return compressor.compress(data) + compressor.flush()


def compression_codec(properties: Mapping[str, str]) -> Codec:
    """Read the property `write.metadata.compression-codec`."""
    value = properties.get(METADATA_COMPRESSION, METADATA_COMPRESSION_DEFAULT)
    if value.lower() not in _CODECS:
        raise InvalidPropertyError(METADATA_COMPRESSION, value, "it must be gzip or none")
    return _CODECS[value.lower()]


def metadata_directory(metadata: ViewMetadata) -> str:
    """Return the directory of a view's new metadata files."""
    path = metadata.properties.get(METADATA_PATH)
    if path is None:
        return f"{_without_slash(metadata.location)}/metadata"
    if not path:
        raise InvalidPropertyError(METADATA_PATH, path, "it must be the URI of a directory")
    return _without_slash(path)


def new_location(metadata: ViewMetadata, previous_location: str | None, unique: str) -> str:
    """The location of a new metadata file: `<directory>/<number>-<unique>.gz.metadata.json`, or without `.gz`."""
    number = (-1 if previous_location is None else file_number(previous_location)) + 1
    extension = ".gz.metadata.json" if compression_codec(metadata.properties) == "gzip" else ".metadata.json"
    return f"{metadata_directory(metadata)}/{number:05d}-{unique}{extension}"


def file_number(location: str) -> int:
    """Return the number at the start of a metadata file's name; -1 if there is none."""
    match = re.match(r"([0-9]{1,10})-", location.rpartition("/")[2])
    number = int(match[1]) if match else -1
    return number if number < INT_MAX else -1


def _decode(data: bytes, location: str, limits: Limits) -> str:
    """Return the text of a file, decompressed and within the limits.

    Compression is detected from the data, not from the file name, since some object stores decompress files.
    """
    document = _decompress(data, location, limits.bytes) if data.startswith(_GZIP_MAGIC) else data
    if len(document) > limits.bytes:
        raise InvalidMetadataError(location, "", f"it is larger than {limits.bytes} bytes")
    if _count_symbols(document) > limits.symbols:
        symbols = f"{limits.symbols} braces, brackets, commas and colons"
        raise InvalidMetadataError(location, "", f"it has more than {symbols}, which would take too much memory")
    try:
        return document.decode()
    except UnicodeDecodeError as error:
        is_gzip_name = location.endswith((".gz.metadata.json", ".metadata.json.gz"))
        compressed = ", nor gzip as its name suggests" if is_gzip_name else ""
        raise InvalidMetadataError(
            location, "", f"it is not UTF-8{compressed}: {error.reason} at {error.start}"
        ) from None


def _load_json(text: str, location: str, load: Callable[[str], Any]) -> Any:
    """Load JSON that does not nest too deeply."""
    try:
        value = load(text)
    except RecursionError:
        raise _too_deep(location) from None
    except ValueError as error:
        raise InvalidMetadataError(location, "", f"it is not valid JSON: {error}") from None
    # The number of brackets is a cheap upper bound of the depth.
    if text.count("[") + text.count("{") > MAX_DEPTH and nests_deeper(value, MAX_DEPTH):
        raise _too_deep(location)
    return value


def _count_symbols(document: bytes) -> int:
    """Count braces, brackets, commas and colons: a cheap upper bound of the number of values in a document."""
    return sum(map(document.count, (b"{", b"[", b",", b":")))


def _decompress(data: bytes, location: str, max_bytes: int) -> bytes:
    stream = zlib.decompressobj(_GZIP_WINDOW)
    try:
        document = stream.decompress(data, max_bytes + 1)
    except zlib.error as error:
        raise InvalidMetadataError(location, "", f"it is not valid gzip: {error}") from None
    if len(document) > max_bytes:
        return document  # longer than the limit: the caller rejects it
    if not stream.eof:
        raise InvalidMetadataError(location, "", "it is truncated: the gzip stream does not end")
    if stream.unused_data:
        raise InvalidMetadataError(location, "", "there is data after the gzip stream")
    return document


def _without_slash(location: str) -> str:
    while location.endswith("/") and not location.endswith("://"):
        location = location[:-1]
    return location


def _too_deep(location: str) -> InvalidMetadataError:
    return InvalidMetadataError(location, "", f"it nests values deeper than {MAX_DEPTH} levels")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        keys: set[str] = set()
        for key, _ in pairs:
            if key in keys:
                raise ValueError(f"the key {key!r} occurs twice in one object")
            keys.add(key)
    return members


def _parse_float(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"the number {text} is too large")
    return number


def _reject_constant(text: str) -> float:
    raise ValueError(f"{text} is not a JSON value")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique_keys, parse_float=_parse_float, parse_constant=_reject_constant)
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_ASCII_ENCODER = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))
