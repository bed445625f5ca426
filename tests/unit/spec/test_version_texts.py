"""The typed, stored and expanded texts of a version."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_views.spec.metadata import GENERATED_DIALECTS, ViewVersion
from hive_views.spec.version_texts import (
    ORIGINAL_SQL,
    PARTITIONED_ON,
    RowTexts,
    define,
    partition_columns,
    partition_summary,
    row_texts,
    sql_texts,
    with_column_list,
)

TYPED, STORED, EXPANDED = "select * from t", "select a from t", "select `t`.`a` from `d`.`t`"


@pytest.mark.parametrize(
    ("dialect", "stored", "expanded", "texts", "summary"),
    [
        # Nothing was derived: the typed text is all there is.
        ("spark", None, None, {"spark": TYPED}, {}),
        ("hive", None, None, {"hive": TYPED}, {}),
        # Its star was replaced: the summary keeps what was typed.
        ("spark", STORED, None, {"spark": STORED}, {ORIGINAL_SQL: TYPED}),
        # An expansion besides is a generated text.
        ("spark", None, EXPANDED, {"spark": TYPED, "hive": EXPANDED}, {GENERATED_DIALECTS: "hive"}),
        (
            "spark",
            STORED,
            EXPANDED,
            {"spark": STORED, "hive": EXPANDED},
            {GENERATED_DIALECTS: "hive", ORIGINAL_SQL: TYPED},
        ),
        ("spark", TYPED, TYPED, {"spark": TYPED, "hive": TYPED}, {GENERATED_DIALECTS: "hive"}),
        # A definition in Hive's dialect has one text, its expansion, which is not generated from another dialect.
        ("hive", None, EXPANDED, {"hive": EXPANDED}, {ORIGINAL_SQL: TYPED}),
        ("Hive", STORED, EXPANDED, {"Hive": EXPANDED}, {ORIGINAL_SQL: TYPED}),
        ("HIVE", None, TYPED, {"HIVE": TYPED}, {}),
    ],
)
def test_define_assigns_texts_to_dialects(
    dialect: str, stored: str | None, expanded: str | None, texts: dict[str, str], summary: dict[str, str]
) -> None:
    version = define(TYPED, dialect=dialect, default_namespace=["d"], stored=stored, expanded=expanded)
    assert {item.dialect: item.sql for item in version.sql_representations} == texts
    assert list(sql_texts(version)) == [name.lower() for name in texts]
    assert version.summary == summary
    assert (version.default_catalog, version.default_namespace) == (None, ("d",))
    assert row_texts(version) == RowTexts(original=TYPED, expanded=list(texts.values())[-1])


def test_define_with_all_that_an_author_gives() -> None:
    version = define(
        TYPED,
        dialect="spark",
        default_namespace=("a", "b"),
        default_catalog="spark_catalog",
        expanded=EXPANDED,
        summary={"engine-name": "spark", ORIGINAL_SQL: "typed elsewhere", **partition_summary(["x"])},
    )
    version = with_column_list(version, ("x",), [None])
    assert (version.default_catalog, version.default_namespace) == ("spark_catalog", ("a", "b"))
    for item in version.sql_representations:
        assert (item.field_aliases, item.field_comments) == (["x"], [None])
    assert version.summary == {
        "engine-name": "spark",
        ORIGINAL_SQL: "typed elsewhere",
        PARTITIONED_ON: '["x"]',
        GENERATED_DIALECTS: "hive",
    }
    assert partition_columns(version) == ("x",)


def version_with(texts: list[tuple[str, str]], **summary: str) -> ViewVersion:
    """A version of another catalog: any texts in any order."""
    return ViewVersion.model_validate(
        {
            "version-id": 1,
            "schema-id": 0,
            "timestamp-ms": 1,
            "summary": summary,
            "representations": [{"type": "sql", "dialect": dialect, "sql": sql} for dialect, sql in texts],
            "default-namespace": ["d"],
        }
    )


@pytest.mark.parametrize(
    ("texts", "summary", "original", "expanded"),
    [
        ([], {}, None, None),
        ([("trino", "t")], {}, "t", "t"),
        ([("trino", "t"), ("spark", "s")], {}, "t", "t"),
        ([("spark", "s"), ("hive", "h")], {}, "s", "h"),
        ([("hive", "h"), ("spark", "s")], {}, "h", "h"),
        ([("hive", "h"), ("spark", "s")], {GENERATED_DIALECTS: "hive"}, "s", "h"),
        ([("spark", "s"), ("HIVE", "h")], {GENERATED_DIALECTS: " Spark , hive "}, "h", "h"),
        ([("spark", "s"), ("hive", "h")], {ORIGINAL_SQL: "typed"}, "typed", "h"),
        ([("spark", "s"), ("hive", "h")], {ORIGINAL_SQL: ""}, "", "h"),
        # Two of a dialect break the format, but Java reads them: the first counts.
        ([("spark", "s"), ("Spark", "s2"), ("hive", "h"), ("Hive", "h2")], {}, "s", "h"),
        ([("hive", "h")], {GENERATED_DIALECTS: "hive,trino"}, "h", "h"),
    ],
)
def test_row_texts_of_foreign_versions(
    texts: list[tuple[str, str]], summary: dict[str, str], original: str | None, expanded: str | None
) -> None:
    assert row_texts(version_with(texts, **summary)) == RowTexts(original=original, expanded=expanded)


def test_unknown_representations_are_ignored() -> None:
    version = version_with([("spark", "s")])
    odd = ViewVersion.model_validate(
        {
            **version.model_dump(by_alias=True),
            "representations": [{"type": "graph", "nodes": 1}, {"type": "sql", "dialect": "spark", "sql": "s"}],
        }
    )
    assert sql_texts(odd) == {"spark": "s"}
    assert row_texts(odd) == RowTexts(original="s", expanded="s")


@pytest.mark.parametrize(
    ("value", "dialects"),
    [(None, set()), ("", set()), (" , ", set()), ("hive", {"hive"}), ("Hive, trino,,", {"hive", "trino"})],
)
def test_generated_dialects(value: str | None, dialects: set[str]) -> None:
    summary = {} if value is None else {GENERATED_DIALECTS: value}
    assert version_with([("spark", "s")], **summary).generated_dialects == dialects


@given(
    typed=st.text(min_size=1),
    stored=st.none() | st.text(min_size=1),
    expanded=st.none() | st.text(min_size=1),
    dialect=st.sampled_from(["spark", "trino", "hive", "HIVE", "Spark"]),
)
def test_typed_text_is_preserved(typed: str, stored: str | None, expanded: str | None, dialect: str) -> None:
    version = define(typed, dialect=dialect, default_namespace=["d"], stored=stored, expanded=expanded)
    shown = row_texts(version)
    assert shown.original == typed
    written = sql_texts(version)
    assert shown.expanded == written.get("hive", next(iter(written.values())))
    if expanded is not None:
        assert shown.expanded == expanded
    elif stored is not None:
        assert shown.expanded == stored
