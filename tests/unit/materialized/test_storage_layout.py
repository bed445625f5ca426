"""Terms of PARTITIONED BY and SORTED BY."""

from __future__ import annotations

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import ListType, LongType, NestedField, StringType, TimestampType

from hive_views.errors import InvalidPropertyError
from hive_views.materialized.storage_layout import partition_spec, sort_order

SCHEMA = Schema(
    NestedField(1, "id", LongType()),
    NestedField(2, "at", TimestampType()),
    NestedField(3, "a desc", StringType()),
    NestedField(4, "sum(x)", LongType()),
    NestedField(5, "items", ListType(6, LongType())),
)


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ("id", "1 ASC NULLS FIRST"),
        ("ID desc", "1 DESC NULLS LAST"),
        ("id Nulls Last", "1 ASC NULLS LAST"),
        ("id DESC  NULLS\nFIRST ", "1 DESC NULLS FIRST"),
        ("a desc", "3 ASC NULLS FIRST"),
        ("`a desc` desc", "3 DESC NULLS LAST"),
        ("sum(x)", "4 ASC NULLS FIRST"),
        ("`sum(x)` desc", "4 DESC NULLS LAST"),
        ("day(at) desc", "day(2) DESC NULLS LAST"),
        ("bucket(8, id)", "bucket[8](1) ASC NULLS FIRST"),
    ],
)
def test_sort_terms(term, expected):
    [field] = sort_order(SCHEMA, [term]).fields
    column = str(field.source_id) if str(field.transform) == "identity" else f"{field.transform}({field.source_id})"
    assert f"{column} {field.direction.name} {field.null_order.value.replace('-', ' ').upper()}" == expected


def test_no_terms_give_unsorted_unpartitioned_storage():
    assert sort_order(SCHEMA, []).is_unsorted and partition_spec(SCHEMA, []).is_unpartitioned()


@pytest.mark.parametrize("terms", [partition_spec, sort_order])
@pytest.mark.parametrize(
    ("term", "reason"),
    [
        ("nothing", "neither a column"),
        ("items", "cannot be applied"),
        ("day(id)", "cannot be applied"),
        ("bucket(id)", "write a column, or year"),
        ("lower(id)", "write a column, or year"),
        ("", "neither a column"),
    ],
)
def test_invalid_terms(terms, term, reason):
    with pytest.raises(InvalidPropertyError, match=reason):
        terms(SCHEMA, [term])
