"""SHOW CREATE: the statement that is shown is one statement, which defines the same view, whatever the names are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_views.catalog.statements.describe import create_statement
from hive_views.errors import SqlError
from hive_views.identifiers import ViewName
from hive_views.metastore.store import MetastoreStore
from hive_views.spec.metadata import ViewMetadata
from hive_views.sql.parsing.ddl import parse_statement
from hive_views.sql.parsing.statements import CreateView
from hive_views.sql.text.dialects import Dialect
from tests.unit.spec.examples import document, metadata

PIECES = [
    *("'", '"', "`", "\\", ";", "\n", "\r", "--", "/*", "*/", "$(id)", "${x}", "<script>", "]]>", "\u202e", "\u2028"),
    *("a", " ", "%", "COMMENT", "{", "}", "\\u0041", "\x1a"),
]
TEXTS = st.lists(st.sampled_from(PIECES), min_size=1, max_size=8).map("".join)
DIALECTS = (Dialect.SPARK, Dialect.HIVE, Dialect.TRINO)


def view(dialect: Dialect, sql: str, **more: object) -> ViewMetadata:
    versions = document()["versions"]
    versions[0]["representations"][0].update(dialect=dialect, sql=sql)
    return metadata(versions=versions, **more)


def shown(name: ViewName, described: ViewMetadata) -> str:
    # Nothing is read from the metastore if a column has a comment.
    return create_statement(MetastoreStore.__new__(MetastoreStore), name, described, described.properties)


@given(TEXTS, TEXTS, TEXTS, st.dictionaries(TEXTS, TEXTS, max_size=2), st.sampled_from(DIALECTS))
def test_shown_statement_has_the_same_meaning(
    name: str, column: str, comment: str, properties: dict[str, str], dialect: Dialect
) -> None:
    schemas = document()["schemas"]
    schemas[0]["fields"][0].update(name=column, doc=comment)
    schemas[0]["fields"][1].update(name=f"{column}_2")
    described = view(dialect, "select 1, 2", schemas=schemas, properties={**properties, "comment": comment})
    statement = parse_statement(shown(ViewName("sales", name), described), dialect)
    assert isinstance(statement, CreateView)
    assert tuple(statement.name.parts) == ("sales", name)
    assert [(item.name, item.comment) for item in statement.columns] == [(column, comment), (f"{column}_2", "why")]
    assert (dict(statement.properties), statement.comment) == (properties, comment)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "sql",
    ["select x, y from t;\nDROP DATABASE prod CASCADE", "select 1, 2) ; DROP DATABASE x; select (1", "DROP TABLE t"],
)
def test_text_with_another_statement_is_not_shown(sql: str, dialect: Dialect) -> None:
    with pytest.raises(SqlError):
        shown(ViewName("sales", "v"), view(dialect, sql))
