"""Type texts: how rows and this package write the names of fields."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_views.sql.types.hive_types import parse_type, written_fields
from hive_views.sql.types.names import hive_name, row_type, struct_of


@pytest.mark.parametrize(
    ("text", "quoted", "names"),
    [
        ("int", "int", ()),
        ("decimal(10,2)", "decimal(10,2)", ()),
        ("struct<a:int,b:decimal(10,2)>", "struct<a:int,b:decimal(10,2)>", ("a", "b")),
        ("struct<my-f:int>", "struct<`my-f`:int>", ("my-f",)),
        ("struct<a b:int,c:string>", "struct<`a b`:int,c:string>", ("a b", "c")),
        ("struct<a,b:int>", "struct<`a,b`:int>", ("a,b",)),
        ("struct<a<b:int>", "struct<`a<b`:int>", ("a<b",)),
        ("struct<a`b:int>", "struct<`a``b`:int>", ("a`b",)),
        ("struct<`a:b`:int,`c``d`:string>", "struct<`a:b`:int,`c``d`:string>", ("a:b", "c`d")),
        ("array<struct<x:map<int,struct<y z:int>>>>", "array<struct<x:map<int,struct<`y z`:int>>>>", ("x", "y z")),
        ("map<string, array<int>>", "map<string,array<int>>", ()),
        ("struct<t:timestamp with local time zone>", "struct<t:timestamp with local time zone>", ("t",)),
    ],
)
def test_names_in_a_type_of_a_row(text: str, quoted: str, names: tuple[str, ...]) -> None:
    read = row_type(text)
    assert read is not None
    assert (read.text, read.field_names) == (quoted, names)


@pytest.mark.parametrize(
    "text", ["struct<a:b:int>", "struct<a:int", "struct<>", "array<int>>", "array<int>,int", "map<"]
)
def test_text_that_is_no_type_of_a_row(text: str) -> None:
    assert row_type(text) is None


def test_deep_types_and_empty_names() -> None:
    assert row_type("array<" * 5000 + "int" + ">" * 5000) is None
    assert written_fields(struct_of([("", "int"), ("a", "int")])) == [("", "int"), ("a", "int")]


@given(st.lists(st.tuples(st.text(min_size=1), st.sampled_from(["int", "array<string>", "decimal(5,2)"])), min_size=1))
def test_fields_of_any_name_are_read_as_they_were_written(fields: list[tuple[str, str]]) -> None:
    text = struct_of(fields)
    assert written_fields(text) == fields
    assert written_fields(f"array<{text}>") is None
    nested = struct_of([("outer", text)])
    assert written_fields(nested) == [("outer", text)]
    if len({name for name, _ in fields}) == len(fields):
        document = parse_type(text).model_dump(mode="json", by_alias=True)
        assert hive_name(document) == text
