"""What an author says about the columns of a view, as values."""

from __future__ import annotations

import pytest
from pyiceberg.types import LongType

from hive_views.dependencies.view_query import DeclaredColumn, ViewQuery, author_dialect, declared_columns
from hive_views.errors import SqlError
from hive_views.sql.text.dialects import Dialect


def test_columns_of_names_comments_and_types():
    assert declared_columns(None) is None
    assert declared_columns(["a", "b"]) == (DeclaredColumn("a"), DeclaredColumn("b"))
    assert declared_columns(None, ["c", None]) == (DeclaredColumn(comment="c"), DeclaredColumn())
    assert declared_columns(["a"], ["c"], [LongType()]) == (DeclaredColumn("a", "c", LongType()),)


@pytest.mark.parametrize(
    ("lists", "counted"),
    [
        ((["a", "b"], ["c"]), "2 names and 1 comments"),
        ((["a"], None, [None, None]), "1 names and 2 types"),
        ((None, ["c"], [None, None]), "1 comments and 2 types"),
    ],
)
def test_numbers_of_names_comments_and_types_agree(lists: tuple[list[str] | None, ...], counted: str):
    with pytest.raises(SqlError, match=f"{counted} are given for the columns"):
        declared_columns(*lists)  # type: ignore[arg-type]


def test_names_of_a_query():
    one = ViewQuery(sql="SELECT 1", dialect=Dialect.SPARK, database="d", columns=declared_columns(["a"]))
    assert one.names == ("a",)
    assert (
        ViewQuery(sql="SELECT 1", dialect=Dialect.SPARK, database="d", columns=declared_columns(None, ["c"])).names
        is None
    )


def test_dialect_of_an_author():
    assert author_dialect("hive") is Dialect.HIVE
    with pytest.raises(SqlError, match="Unknown dialect 'presto': choose one of hive, spark, trino"):
        author_dialect("presto")
