from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hive_views.errors import InvalidMetadataError, InvalidPropertyError, InvalidViewError
from hive_views.spec.file_codec import (
    TABLE_LIMITS,
    VIEW_LIMITS,
    Codec,
    Limits,
    compression_codec,
    file_number,
    metadata_directory,
    new_location,
    parse,
    parse_table,
    serialize,
    table_text,
)
from hive_views.spec.json_codec import MAX_DEPTH, write_document
from tests.unit.spec import examples, strategies
from tests.unit.spec.examples import document, metadata

WHERE = "s3://bucket/top/metadata/00000-u.gz.metadata.json"
PLAIN = "s3://bucket/top/metadata/00000-u.metadata.json"
GOOD = json.dumps(document()).encode()
BOMB = gzip.compress(b" " * (50 * 1024 * 1024))


SMALL = Limits(bytes=1_000_000, symbols=2_000_000)


def refused(data: bytes, location: str = PLAIN, limits: Limits = VIEW_LIMITS) -> InvalidMetadataError:
    with pytest.raises(InvalidMetadataError) as caught:
        parse(data, location, limits)
    assert caught.value.location == location
    return caught.value


# -- Content ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", ["gzip", "none"])
def test_serialized_metadata_round_trips(codec: Codec) -> None:
    data = serialize(metadata(), codec=codec)
    assert data.startswith(b"\x1f\x8b") == (codec == "gzip")
    assert parse(data, WHERE) == metadata()


def test_equal_metadata_is_serialized_to_equal_bytes() -> None:
    assert serialize(metadata(), codec="gzip") == serialize(metadata(), codec="gzip")
    assert serialize(metadata(), codec="gzip")[4:8] == bytes(4), "the header holds no time"


def test_gzip_module_decompresses_serialized_metadata() -> None:
    assert json.loads(gzip.decompress(serialize(metadata(), codec="gzip"))) == write_document(metadata())


@pytest.mark.parametrize("location", [WHERE, PLAIN, "00001-x.metadata.json.gz", "memory://anything"])
@pytest.mark.parametrize("data", [GOOD, gzip.compress(GOOD)], ids=["plain", "gzip"])
def test_gzip_is_detected_by_content_not_by_name(data: bytes, location: str) -> None:
    assert parse(data, location) == metadata()


def test_text_is_written_as_utf_8() -> None:
    value = metadata(properties={"comment": "größte Aufträge ✓ 日本"})
    assert "größte Aufträge ✓ 日本".encode() in serialize(value, codec="none")


def test_lone_surrogate_in_foreign_file_is_preserved() -> None:
    data = json.dumps(document(properties={"comment": "\ud83d"})).encode()
    again = parse(serialize(parse(data, PLAIN), codec="gzip"), PLAIN)
    assert again.properties == {"comment": "\ud83d"}


@strategies.relaxed
@given(strategies.documents(), st.sampled_from(["gzip", "none"]))
def test_any_metadata_survives_its_file(original: dict[str, object], codec: Codec) -> None:
    value = parse(json.dumps(original).encode(), PLAIN)
    data = serialize(value, codec=codec)
    assert parse(data, PLAIN) == value
    assert serialize(parse(data, PLAIN), codec=codec) == data


# -- Damaged or hostile content ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (GOOD + b"}", "not valid JSON"),
        (b"\xef\xbb\xbf" + GOOD, "not valid JSON"),
        (GOOD.decode().encode("utf-16"), "not UTF-8"),
        (GOOD.replace(b"the best", b"the b\xe9st"), "not UTF-8"),
        (GOOD.replace(b"the best", b"the\nbest"), "not valid JSON"),
        (GOOD.replace(b"1000", b"NaN"), "NaN is not a JSON"),
        (GOOD.replace(b'"view-uuid"', b'"x": -Infinity, "view-uuid"'), "-Infinity is not a JSON"),
        (GOOD.replace(b'"view-uuid"', b'"x": 1e999, "view-uuid"'), "1e999 is too large"),
        (GOOD.replace(b'"view-uuid"', b'"x": ' + b"9" * 5000 + b', "view-uuid"'), "not valid JSON"),
        (GOOD.replace(b'"view-uuid"', b'"location": "a", "view-uuid"'), "'location' occurs twice"),
        (GOOD.replace(b'"comment"', b'"comment": "a", "comment"'), "'comment' occurs twice"),
        (gzip.compress(GOOD)[:-1], "truncated"),
        (gzip.compress(GOOD)[:20], "truncated"),
        (gzip.compress(GOOD) + b"\0", "data after the gzip stream"),
        (gzip.compress(GOOD) + gzip.compress(GOOD), "data after the gzip stream"),
        (gzip.compress(GOOD)[:-8] + bytes(8), "not valid gzip"),
        (b"\x1f\x8b", "truncated"),
        (b"\x1f\x8b\xff\xff\xff", "not valid gzip"),
    ],
)
def test_corrupt_file_is_rejected(data: bytes, reason: str) -> None:
    assert reason in str(refused(data))


def test_invalid_file_with_gzip_name_mentions_both_formats() -> None:
    assert "not UTF-8, nor gzip as its name suggests" in str(refused(b"\xff\x00\x01", WHERE))


def test_decompression_bomb_is_rejected_at_size_limit() -> None:
    assert len(BOMB) < 100_000
    assert "larger than 33554432 bytes" in str(refused(BOMB))
    tracemalloc.start()
    refused(BOMB, limits=SMALL)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10_000_000


@pytest.mark.parametrize("sign", [b"{},", b"[],", b"1,", b'"":1,'])
@pytest.mark.parametrize("read", [parse, parse_table, table_text])
def test_document_with_too_many_values_is_rejected_before_decoding(
    read: Callable[[bytes, str, Limits], object], sign: bytes
) -> None:
    """Each byte or two of it became a value of 40 bytes and more."""
    limits = Limits(VIEW_LIMITS.bytes, symbols=1_999_999)
    bomb = gzip.compress(b'{"a":[' + sign * 2_000_000, compresslevel=1)
    tracemalloc.start()
    with pytest.raises(InvalidMetadataError, match="braces, brackets, commas and colons"):
        read(bomb, PLAIN, limits)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 40_000_000


def test_symbol_limit_allows_realistic_documents() -> None:
    """A table of 100,000 snapshots, a view of ten versions with 10,000 columns each."""
    summary = {f"added-position-delete-files-{number}": "1234567" for number in range(13)}
    numbers = {"snapshot-id": 1, "parent-snapshot-id": 2, "sequence-number": 3, "timestamp-ms": 4, "schema-id": 0}
    snapshot = {**numbers, "summary": summary, "manifest-list": "s3://bucket/warehouse/db/table/metadata/snap-1-0.avro"}
    log = {"snapshot-id": 1, "timestamp-ms": 2}
    each = json.dumps([snapshot, log]).encode()
    assert 100_000 * sum(map(each.count, (b"{", b"[", b",", b":"))) < TABLE_LIMITS.symbols
    many = json.dumps({"snapshots": [snapshot] * 3_000, "snapshot-log": [log] * 3_000}).encode()
    assert len(parse_table(many, PLAIN)["snapshots"]) == 3_000
    column = json.dumps({"id": 1, "name": "n", "required": False, "type": "long", "doc": "what it is"}).encode()
    assert 100_000 * (1 + sum(map(column.count, (b"{", b",", b":")))) < VIEW_LIMITS.symbols


def test_document_above_symbol_limit_is_not_written() -> None:
    value = metadata(properties={"comment": ":" * VIEW_LIMITS.symbols})
    with pytest.raises(InvalidViewError, match=r"version\.history\.num-entries"):
        serialize(value, codec="gzip")


@pytest.mark.parametrize("data", [GOOD, gzip.compress(GOOD)], ids=["plain", "gzip"])
def test_size_limit_counts_decompressed_bytes(data: bytes) -> None:
    assert parse(data, PLAIN, Limits(len(GOOD), VIEW_LIMITS.symbols)) == metadata()
    assert f"larger than {len(GOOD) - 1} bytes" in str(refused(data, limits=Limits(len(GOOD) - 1, VIEW_LIMITS.symbols)))


@pytest.mark.parametrize(
    ("read", "data", "reason"),
    [
        (parse_table, BOMB, "larger than 1000000 bytes"),
        (table_text, BOMB, "larger than 1000000 bytes"),
        (table_text, b" " * 1_000_001, "larger than 1000000 bytes"),
        (parse_table, b'{"a":' * 100_000 + b"1" + b"}" * 100_000, f"deeper than {MAX_DEPTH} levels"),
        (parse_table, b'{"a":' * 900 + b"1" + b"}" * 900, f"deeper than {MAX_DEPTH} levels"),
        (parse_table, gzip.compress(b"{}")[:-1], "truncated"),
        (table_text, gzip.compress(b"{}")[:-1], "truncated"),
        (parse_table, b"root:x:0:0:root:/root:/bin/bash", "not valid JSON"),
        (parse_table, b"\xff{}", "not UTF-8"),
        (table_text, b"\xff{}", "not UTF-8"),
        (parse_table, b"[]", "a JSON object, not list"),
    ],
    ids=lambda value: "" if isinstance(value, bytes) else None,
)
def test_table_metadata_limits_are_enforced(
    read: Callable[[bytes, str, Limits], object], data: bytes, reason: str
) -> None:
    with pytest.raises(InvalidMetadataError) as caught:
        read(data, PLAIN, SMALL)
    assert reason in str(caught.value)
    assert "root:x" not in str(caught.value)


@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_table_metadata_is_parsed(compress: Callable[[bytes], bytes]) -> None:
    assert parse_table(compress(b'{"table-uuid": "x"}'), PLAIN) == {"table-uuid": "x"}
    assert table_text(compress(b'{"table-uuid": "x"}'), PLAIN) == '{"table-uuid": "x"}'


def test_unreadable_metadata_is_not_written() -> None:
    value = metadata(properties={"comment": "x" * VIEW_LIMITS.bytes})
    with pytest.raises(InvalidViewError, match=r"version\.history\.num-entries"):
        serialize(value, codec="gzip")


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
@pytest.mark.parametrize("depth", [MAX_DEPTH, 900, 100_000])
def test_deep_nesting_is_rejected(opening: bytes, closing: bytes, depth: int) -> None:
    deep = opening * depth + b"1" + closing * depth
    assert f"deeper than {MAX_DEPTH} levels" in str(
        refused(GOOD.replace(b'"view-uuid"', b'"x": ' + deep + b', "view-uuid"'))
    )


def test_nesting_up_to_the_limit_is_kept() -> None:
    depth = MAX_DEPTH - 1
    deep = b"[" * depth + b"1" + b"]" * depth
    value = parse(GOOD.replace(b'"view-uuid"', b'"x": ' + deep + b', "view-uuid"'), PLAIN)
    assert parse(serialize(value, codec="gzip"), PLAIN) == value


def test_deeply_nested_column_is_preserved() -> None:
    column: object = "long"
    for level in range(60):
        column = {"type": "struct", "fields": [{"id": level + 10, "name": "s", "required": False, "type": column}]}
    changed = document()
    changed["schemas"][0]["fields"][0]["type"] = column
    value = parse(json.dumps(changed).encode(), PLAIN)
    assert parse(serialize(value, codec="none"), PLAIN) == value
    assert value.current_schema().find_field(10).name == "s"


SOURCES = [GOOD, serialize(metadata(), codec="gzip"), (examples.GOLDEN / "draft_example_2.json").read_bytes()]


@strategies.relaxed
@given(
    st.sampled_from(SOURCES),
    st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 3), st.binary(max_size=3)), min_size=1, max_size=4),
)
@example(SOURCES[1], [(0, 2, b"")])
def test_mutated_bytes_raise_only_our_error(source: bytes, edits: list[tuple[int, int, bytes]]) -> None:
    data = bytearray(source)
    for place, removed, inserted in edits:
        start = place % (len(data) + 1)
        data[start : start + removed] = inserted
    check_parse(bytes(data))


@strategies.relaxed
@given(st.sampled_from([json.loads(GOOD), examples.golden("draft_example_2.json")]), st.data())
def test_mutated_documents_raise_only_our_error(source: object, data: st.DataObject) -> None:
    mutated = json.loads(json.dumps(source))
    holder: Any = None
    key: Any = None
    value = mutated
    for _ in range(data.draw(st.integers(1, 6))):
        if not isinstance(value, (dict, list)) or not value:
            break
        holder = value
        key = data.draw(st.sampled_from(sorted(value) if isinstance(value, dict) else list(range(len(value)))))
        value = holder[key]
    assert holder is not None
    if data.draw(st.booleans()):
        del holder[key]
    else:
        holder[key] = data.draw(strategies.json_values)
    check_parse(json.dumps(mutated).encode())


@strategies.relaxed
@given(st.binary(max_size=200))
def test_any_bytes_raise_only_our_error(data: bytes) -> None:
    check_parse(data)
    check_parse(gzip.compress(data))


def check_parse(data: bytes) -> None:
    try:
        value = parse(data, PLAIN)
    except InvalidMetadataError as error:
        assert error.location == PLAIN
        return
    assert parse(serialize(value, codec="gzip"), PLAIN) == value
    try:
        _ = value.schemas
    except InvalidMetadataError as error:
        assert error.location == value.location


# -- Names and places -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_", "codec"), [(None, "gzip"), ("gzip", "gzip"), ("GZIP", "gzip"), ("none", "none"), ("None", "none")]
)
def test_codec_is_read_from_property_in_any_case(given_: str | None, codec: str) -> None:
    properties = {} if given_ is None else {"write.metadata.compression-codec": given_}
    assert compression_codec(properties) == codec


@pytest.mark.parametrize("value", ["zstd", "", "gzip "])
def test_unsupported_codec_is_rejected(value: str) -> None:
    with pytest.raises(InvalidPropertyError) as caught:
        compression_codec({"write.metadata.compression-codec": value})
    assert (caught.value.key, caught.value.value) == ("write.metadata.compression-codec", value)


@pytest.mark.parametrize(
    ("location", "path", "directory"),
    [
        ("s3://b/v", None, "s3://b/v/metadata"),
        ("s3://b/v/", None, "s3://b/v/metadata"),
        ("file:/v//", None, "file:/v/metadata"),
        ("s3://b/v", "s3://other/dir", "s3://other/dir"),
        ("s3://b/v", "s3://other/dir/", "s3://other/dir"),
        ("s3://b/v", "s3://", "s3://"),
    ],
)
def test_metadata_file_directory(location: str, path: str | None, directory: str) -> None:
    properties = {} if path is None else {"write.metadata.path": path}
    assert metadata_directory(metadata(location=location, properties=properties)) == directory


def test_empty_location_is_rejected() -> None:
    with pytest.raises(InvalidPropertyError, match="URI of a directory"):
        metadata_directory(metadata(properties={"write.metadata.path": ""}))


@pytest.mark.parametrize(
    ("location", "number"),
    [
        ("s3://b/v/metadata/00000-abc.gz.metadata.json", 0),
        ("s3://b/v/metadata/00041-abc.metadata.json", 41),
        ("123456-abc.metadata.json", 123456),
        ("s3://b/00007-x/metadata/v1.metadata.json", -1),
        ("s3://b/v/metadata/v1-x.metadata.json", -1),
        ("s3://b/v/metadata/-1-x.metadata.json", -1),
        ("s3://b/v/metadata/1_0-x.metadata.json", -1),
        ("s3://b/v/metadata/٣-x.metadata.json", -1),
        ("s3://b/v/metadata/9999999999-x.metadata.json", -1),
        ("s3://b/v/metadata/2147483647-x.metadata.json", -1),
        ("s3://b/v/metadata/", -1),
        ("", -1),
    ],
)
def test_file_number_of_location(location: str, number: int) -> None:
    assert file_number(location) == number


@pytest.mark.parametrize(
    ("previous", "properties", "name"),
    [
        (None, {}, "s3://bucket/sales.db/top/metadata/00000-u.gz.metadata.json"),
        ("s3://x/00000-a.gz.metadata.json", {}, "s3://bucket/sales.db/top/metadata/00001-u.gz.metadata.json"),
        ("s3://x/99999-a.metadata.json", {}, "s3://bucket/sales.db/top/metadata/100000-u.gz.metadata.json"),
        ("s3://x/by-hand.json", {}, "s3://bucket/sales.db/top/metadata/00000-u.gz.metadata.json"),
        (
            None,
            {"write.metadata.compression-codec": "none", "write.metadata.path": "file:/m/"},
            "file:/m/00000-u.metadata.json",
        ),
    ],
)
def test_new_file_has_next_number(previous: str | None, properties: dict[str, str], name: str) -> None:
    assert new_location(metadata(properties=properties), previous, "u") == name


PROGRAM = """
import importlib.util, sys, types
# The package's own __init__ is passed over: it may import what it likes, as long as the format does not need it.
places = importlib.util.find_spec("hive_views").submodule_search_locations
sys.modules["hive_views"] = types.ModuleType("hive_views")
sys.modules["hive_views"].__path__ = places
import hive_views.spec.file_codec
print([name for name in ("pyiceberg.catalog", "pyarrow", "pyspark", "thrift", "sqlglot") if name in sys.modules])
"""


def test_importing_spec_imports_no_heavy_modules() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
