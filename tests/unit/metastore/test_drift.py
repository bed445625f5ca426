"""Drift between a row and its metadata file, and damage by the metastore's database."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest

from hive_views.config import CatalogConfig
from hive_views.metastore._thrift.hive_metastore.ttypes import FieldSchema, Table
from hive_views.metastore.drift import (
    find_damage,
    find_drift,
    find_new_properties,
    find_unrecorded_text,
    long_values,
    may_be_damaged,
)
from hive_views.metastore.rows.codec import changed_row
from hive_views.metastore.rows.row import read_row
from tests.unit.metastore.rows import (
    CONFIG,
    HIVE3,
    golden_metadata,
    golden_row,
    metadata_of_a_view,
    plain_row,
    row_and_metadata,
)


@pytest.mark.parametrize(
    ("golden", "fields"),
    [
        ("spark_iceberg_v_spark", []),
        ("spark_iceberg_v_star", []),
        ("created_session_new", []),
        ("ours_session_cor_after", []),
        ("ours_session_props_after", []),
        ("ours_h_spark_after_spark_replace", []),
        ("ours_h_spark_after_spark_rename", []),
        ("ours_plain_alter_after", ["expanded-text", "original-text", "columns"]),
        # These two were written by hand with an expanded text that differs from their file.
        ("ours_h_spark_before_replace", ["expanded-text"]),
        ("ours_plain_props_after", ["expanded-text", "original-text"]),
    ],
)
def test_drift_of_a_golden_row(golden: str, fields: list[str]) -> None:
    row, metadata = read_row(golden_row(golden)), golden_metadata(golden)
    drift = find_drift(row, metadata, CONFIG)
    assert [difference.field for difference in drift] == fields
    for difference in drift:
        assert difference.row != difference.file


def test_new_properties_of_plain_spark_are_no_drift() -> None:
    """It writes the expanded text into both fields, adds parameters, and changes nothing else."""
    theirs = golden_row("ours_plain_props_after")
    assert theirs.viewOriginalText == theirs.viewExpandedText
    row, metadata = row_and_metadata()
    row.viewOriginalText = row.viewExpandedText
    row.parameters.update(theirs.parameters)
    assert find_drift(read_row(row), metadata, CONFIG) == ()
    assert find_new_properties(read_row(row), metadata) == {"a": "b", "our.extra": "1"}


def set_text(row: Table) -> None:
    row.viewOriginalText = row.viewExpandedText = "select 3"


def set_type(row: Table) -> None:
    row.sd.cols[0].type = "bigint"


def drop_column(row: Table) -> None:
    del row.sd.cols[1]


def swap_columns(row: Table) -> None:
    row.sd.cols.reverse()


def rename_column(row: Table) -> None:
    row.sd.cols[0].name = "key"


def forget_texts(row: Table) -> None:
    row.viewOriginalText = row.viewExpandedText = None


def forget_columns(row: Table) -> None:
    row.sd.cols = None


def other_case(row: Table) -> None:
    row.sd.cols[0].name, row.sd.cols[0].type = "ID", "INT"


def other_comment(row: Table) -> None:
    row.sd.cols[0].comment = "another"


def old_java(row: Table) -> None:
    """Iceberg before 1.11 did not change the texts when it replaced a version (#14831)."""
    row.viewExpandedText = row.viewOriginalText = "select 0"


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        (set_text, ["expanded-text", "original-text"]),
        (old_java, ["expanded-text", "original-text"]),
        (forget_texts, ["expanded-text", "original-text"]),
        (set_type, ["columns"]),
        (drop_column, ["columns"]),
        (swap_columns, ["columns"]),
        (rename_column, ["columns"]),
        (forget_columns, ["columns"]),
        (other_case, []),
        (other_comment, []),
    ],
)
def test_each_change_of_a_row_is_drift_of_its_field(change: Callable[[Table], None], fields: list[str]) -> None:
    row, metadata = row_and_metadata()
    assert find_drift(read_row(row), metadata, CONFIG) == ()
    change(row)
    assert [difference.field for difference in find_drift(read_row(row), metadata, CONFIG)] == fields


@pytest.mark.parametrize("config", [CONFIG, HIVE3], ids=["hive2", "hive3"])
def test_both_names_of_timestamptz_are_no_drift(config: CatalogConfig) -> None:
    # Java chose `timestamp` here, whatever the catalog property is.
    assert (
        find_drift(read_row(golden_row("spark_iceberg_v_star")), golden_metadata("spark_iceberg_v_star"), config) == ()
    )


def test_columns_without_hive_type_are_no_drift() -> None:
    row, metadata = row_and_metadata()
    odd = {"id": 3, "name": "g", "required": False, "type": "geometry"}
    schema = {**metadata.raw_schemas[0], "fields": [*metadata.raw_schemas[0]["fields"], odd]}
    strange = metadata.model_copy(update={"raw_schemas": [schema]})
    assert find_drift(read_row(row), strange, CONFIG) == ()


def test_column_type_unknown_to_pyiceberg() -> None:
    """Iceberg's Java catalog writes variant as `unknown` and can commit to such views; so can this one."""
    row, metadata = row_and_metadata()
    odd = {"id": 3, "name": "v", "required": False, "type": "variant"}
    schema = {**metadata.raw_schemas[0], "fields": [*metadata.raw_schemas[0]["fields"], odd]}
    strange = metadata.model_copy(update={"raw_schemas": [schema]})
    after = changed_row(read_row(row), metadata, strange, "file:/v/1.metadata.json", CONFIG)
    assert [(field.name, field.type) for field in after.sd.cols] == [
        ("id", "int"),
        ("name", "string"),
        ("v", "unknown"),
    ]
    assert '"type":"variant"' in after.parameters["current-schema"]
    assert find_drift(read_row(after), strange, CONFIG) == ()


# -- Damage ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "possible"),
    [
        (lambda row: None, False),
        (lambda row: setattr(row, "viewOriginalText", "select 'ü'"), True),
        (lambda row: setattr(row, "viewExpandedText", "select '語'"), True),
        (lambda row: setattr(row, "viewExpandedText", None), False),
        (lambda row: row.parameters.update({"p": "ü"}), True),
        (lambda row: row.parameters.update({"ü": "p"}), True),
        (lambda row: setattr(row.sd.cols[0], "comment", "ü"), True),
        (lambda row: setattr(row.sd.cols[0], "comment", "x" * 256), False),
        (lambda row: setattr(row.sd.cols[0], "comment", "x" * 257), True),
        (lambda row: setattr(row.sd.cols[0], "name", "größe"), True),
        (lambda row: setattr(row.sd.cols[0], "type", "struct<größe:int>"), True),
    ],
)
def test_may_be_damaged(change: Callable[[Table], None], possible: bool) -> None:
    row = plain_row()
    change(row)
    assert may_be_damaged(row) is possible


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        (lambda row: None, []),
        (lambda row: setattr(row, "viewOriginalText", "select '?'"), ["original-text"]),
        (lambda row: setattr(row, "viewExpandedText", "select '?'"), ["expanded-text"]),
        (lambda row: row.parameters.update({"p": "?"}), ["parameter p"]),
        (lambda row: row.parameters.pop("p"), ["parameter p"]),
        (lambda row: row.parameters.update({"added.by.server": "1"}), []),
        (lambda row: setattr(row.sd.cols[0], "comment", "cut"), ["comment of id"]),
        (lambda row: setattr(row.sd.cols[1], "comment", ""), []),
        (lambda row: setattr(row.sd.cols[0], "name", "?"), ["column id"]),
        (lambda row: setattr(row.sd.cols[0], "type", "struct<?:int>"), ["column id"]),
        (lambda row: row.sd.cols.pop(), ["column name"]),
    ],
)
def test_find_damage_lists_changed_fields(change: Callable[[Table], None], fields: list[str]) -> None:
    sent = plain_row()
    sent.parameters["p"] = "ü"
    stored = copy.deepcopy(sent)
    change(stored)
    assert [difference.field for difference in find_damage(sent, stored)] == fields


LONG = "漢" * 20_000


@pytest.mark.parametrize(
    ("whole", "text", "lost"),
    [
        ("select '漢'", "select '?'", False),
        ("select '漢'", "select '????'", False),
        ("select '漢'", "select '?????'", True),
        ("select '漢'", "select ''", True),
        ("select '漢'", "select '漢'", False),
        ("select '漢字'", "select '?'", True),
        ("select '漢字'", "select '????????'", False),
        ("select '漢字'", "select '?????????'", True),
        ("select '漢a字'", "select '??a?'", False),
        ("select '漢a字'", "select '??b?'", True),
        ("select '漢ü字'", "select '?ü?'", False),
        ("select '漢ü字'", "select '???'", True),
        ("select '漢\n字'", "select '?\n?'", False),
        # A '?' of the original text may be adjacent.
        ("select '漢?字'", "select '??'", True),
        ("select '漢?字'", "select '???'", False),
        ("select '?漢字?'", "select '??????????'", False),
        ("select '?漢字?'", "select '???????????'", True),
        ("select ? '漢'", "select ? '?'", False),
        ("select ? '漢'", "select ?? '?'", True),
        ("漢 select", "?? select", False),
        ("漢 select", "select", True),
        ("select '😀'", "select '????'", False),
        ("select 'a'", "select '?'", True),
        # These took exponential time: 12 s for 30 characters, twice as long for each further one.
        (f"select '{LONG}'", f"select '{'?' * 79_999}x'", True),
        (f"select '{LONG}'", f"select '{'?' * 80_000}'", False),
        (f"select '{LONG}'", f"select '{'?' * 19_999}'", True),
        ("漢?" * 20_000, "?" * 39_999, True),
        ("漢a" * 20_000, "??a" * 19_999 + "??b", True),
    ],
)
def test_find_unrecorded_text(whole: str, text: str, lost: bool) -> None:
    """A text damaged by the database is not an unrecorded text."""
    row, _ = row_and_metadata()
    row.viewExpandedText = text
    assert find_unrecorded_text(read_row(row), metadata_of_a_view(whole)) == (text if lost else None)


@pytest.mark.parametrize(
    ("change", "phrases"),
    [
        (lambda row: None, []),
        (lambda row: setattr(row, "viewOriginalText", "x" * 32_700), []),
        (lambda row: setattr(row, "viewOriginalText", "x" * 32_701), ["the original text has 32,701 characters"]),
        (lambda row: setattr(row, "viewExpandedText", None), []),
        (lambda row: row.parameters.update({"p": "x" * 4_001}), ["the parameter p has 4,001 characters"]),
        (
            lambda row: row.sd.cols.append(FieldSchema("c" * 129, "t" * 5_000, "x" * 257)),
            [
                f"the type of the column {'c' * 20}… has 5,000 characters",
                f"the comment of the column {'c' * 20}… has 257 characters",
                f"the name of the column {'c' * 20}… has 129 characters",
            ],
        ),
    ],
    ids=["none", "fits", "text", "no text", "parameter", "column"],
)
def test_values_above_a_length_limit_are_listed(change: Callable[[Table], None], phrases: list[str]) -> None:
    row = plain_row()
    change(row)
    assert long_values(row) == phrases
