"""Parsing of `--column`: accepted spellings of types, and rejected texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_views.cli.columns import parse_columns, type_text
from hive_views.errors import UsageError
from hive_views.spec.schemas import schema_from_pyiceberg


def read(text: str) -> tuple[str, str, str | None]:
    (field,) = schema_from_pyiceberg(parse_columns([text]))["fields"]
    assert field["required"] is False
    return field["name"], type_text(field["type"]), field.get("doc")


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        *[
            (name, name)
            for name in ("boolean", "int", "long", "float", "double", "date", "time", "string", "uuid", "binary")
        ],
        ("timestamp", "timestamp"),
        ("timestamptz", "timestamptz"),
        ("fixed[16]", "fixed[16]"),
        ("bigint", "long"),
        ("BIGINT", "long"),
        ("integer", "int"),
        ("smallint", "int"),
        ("tinyint", "int"),
        ("double precision", "double"),
        ("varchar(20)", "string"),
        ("char(2)", "string"),
        ("decimal", "decimal(10, 0)"),
        ("decimal(7)", "decimal(7, 0)"),
        ("decimal(10,2)", "decimal(10, 2)"),
        (" Decimal( 10 , 2 ) ", "decimal(10, 2)"),
        ("numeric(38,38)", "decimal(38, 38)"),
        ("timestamp_ntz", "timestamp"),
        ("timestamp_ltz", "timestamptz"),
        ("timestamp with local time zone", "timestamptz"),
        ("array<bigint>", "list<long>"),
        ("list<long>", "list<long>"),
        ("map<string,array<decimal(5,1)>>", "map<string, list<decimal(5, 1)>>"),
        ("struct<a:int,b:struct<c:timestamptz>>", "struct<a: int, b: struct<c: timestamptz>>"),
        ("struct<`a b` int, c : string>", "struct<a b: int, c: string>"),
    ],
)
def test_column_type_is_normalized(written: str, expected: str) -> None:
    assert read(f"x:{written}") == ("x", expected, None)
    assert read(f"x:{written}:a comment") == ("x", expected, "a comment")


@pytest.mark.parametrize(
    "text",
    [
        "x", "x:", ":int", "", "x:nothing", "x:int int", "x:int not null", "x:array", "x:array<int", "x:array<int,int>",
        "x:map<string>", "x:map", "x:struct<>", "x:struct", "x:struct<a:int not null>", "x:decimal(39,2)",
        "x:decimal(0)", "x:decimal(3,4)", "x:int[3]", "x:array<fixed[a]>", "x:interval day", "x:variant", "x:'int'",
        "x:select 1", "x:int)",
    ],
)  # fmt: skip
def test_invalid_columns_are_rejected(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_columns([text])
    assert raised.value.argument == "--column"


def test_comments_with_colons_and_comments_in_structs() -> None:
    assert read("x:int:a: b::c") == ("x", "int", "a: b::c")
    (field,) = schema_from_pyiceberg(parse_columns(["x:struct<a:int comment 'p:q',b:long>:r:s"]))["fields"]
    assert field["doc"] == "r:s"
    assert [inner.get("doc") for inner in field["type"]["fields"]] == ["p:q", None]


def test_ids_are_unique_to_any_depth() -> None:
    schema = parse_columns(["a:struct<b:int,c:array<int>>", "d:map<string,int>", "e:int"])
    assert [field.field_id for field in schema.fields] == [1, 2, 3]
    assert schema.field_ids == set(range(1, 9))


def test_duplicate_column_name_is_rejected() -> None:
    with pytest.raises(UsageError, match="given twice"):
        parse_columns(["a:int", "A:long"])


NAMES = st.text("abcdefghijklmnopqrstuvwxyz_", min_size=1, max_size=8).map(lambda name: f"c{name}")
SIMPLE = st.sampled_from(["boolean", "int", "long", "float", "double", "date", "string", "timestamp", "timestamptz"])
DECIMALS = st.integers(1, 38).flatmap(lambda p: st.integers(0, p).map(lambda s: f"decimal({p}, {s})"))
TYPES = st.recursive(
    SIMPLE | DECIMALS,
    lambda inner: st.one_of(
        inner.map(lambda t: f"list<{t}>"),
        st.tuples(inner, inner).map(lambda kv: f"map<{kv[0]}, {kv[1]}>"),
        st.dictionaries(NAMES, inner, min_size=1, max_size=3).map(
            lambda fields: f"struct<{', '.join(f'{name}: {kind}' for name, kind in fields.items())}>"
        ),
    ),
    max_leaves=8,
)


@given(TYPES)
def test_shown_columns_can_be_parsed(text: str) -> None:
    assert read(f"x:{text}")[1] == text


@given(st.text(max_size=40))
def test_any_text_is_parsed_or_rejected(text: str) -> None:
    try:
        parse_columns([text])
    except UsageError:
        return
