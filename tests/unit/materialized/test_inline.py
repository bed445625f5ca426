"""Views in the text of a refresh: their queries, with the declared names and types of their columns."""

from __future__ import annotations

import pytest
from pyiceberg.types import (
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
)

from hive_views.errors import InvalidViewError, RefreshError
from hive_views.identifiers import ViewName
from hive_views.materialized.checks.inline import check_definition, inline
from hive_views.materialized.checks.sources import Sources
from hive_views.materialized.freshness.cache import TableState
from hive_views.materialized.freshness.verdict import ObservedState
from hive_views.spec.metadata import ViewMetadata
from tests.unit.spec.examples import metadata, version

NAME = ViewName("db", "mv")
ICEBERG = {"a": "int", "b": "double", "c": "string", "p": "decimal(10, 2)"}
"""The types that the view `v` declares, by its column."""


def view(sql: str, columns: str) -> ViewMetadata:
    """A view with some of the columns of `ICEBERG`."""
    fields = [
        {"id": number, "name": name, "required": False, "type": ICEBERG[name]}
        for number, name in enumerate(columns.split(), start=1)
    ]
    current = {
        "version-id": 1,
        "timestamp-ms": 1,
        "schema-id": 0,
        "summary": {},
        "default-namespace": ["db"],
        "representations": [{"type": "sql", "sql": sql, "dialect": "spark"}],
    }
    return metadata(schemas=[{"type": "struct", "schema-id": 0, "fields": fields}], versions=[current])


def inlined(sql: str, columns: str, **types: IcebergType) -> str:
    """The text of `SELECT * FROM v` without the view, over a table `t` with columns of the given types."""
    fields = tuple(NestedField(number, name, kind) for number, (name, kind) in enumerate(types.items(), start=1))
    sources = Sources(
        ObservedState("uuid", 1),
        tables={
            ViewName("db", "t"): TableState(
                uuid="uuid-t", snapshot_id=1, schema_id=0, snapshots={}, columns={0: fields}
            )
        },
        views={ViewName("db", "v"): view(sql, columns)},
    )
    return inline(NAME, view("SELECT * FROM v", columns), sources, frozenset({"prod"})).sql


INNER = "AS `hive_views_inner`"


@pytest.mark.parametrize(
    ("sql", "columns", "types", "expected"),
    [
        # columns of the declared types
        ("SELECT a, c FROM t", "a c", {"a": IntegerType(), "c": StringType()}, "SELECT a, c FROM `db`.`t` AS `t`"),
        ("SELECT t.x AS a FROM t", "a", {"x": IntegerType()}, "SELECT t.x AS a FROM `db`.`t` AS `t`"),
        # another name, another type
        (
            "SELECT x FROM t",
            "a",
            {"x": IntegerType()},
            f"SELECT `a` FROM (SELECT x FROM `db`.`t` AS `t`) {INNER} (`a`)",
        ),
        (
            "SELECT b, c FROM t",
            "b c",
            {"b": FloatType(), "c": StringType()},
            f"SELECT CAST(`b` AS double) AS `b`, `c` FROM (SELECT b, c FROM `db`.`t` AS `t`) {INNER} (`b`, `c`)",
        ),
        (
            "SELECT p FROM t",
            "p",
            {"p": DecimalType(5, 1)},
            f"SELECT CAST(`p` AS decimal(10,2)) AS `p` FROM (SELECT p FROM `db`.`t` AS `t`) {INNER} (`p`)",
        ),
        # computed columns
        (
            "SELECT a + 1 AS a FROM t",
            "a",
            {"a": IntegerType()},
            f"SELECT CAST(`a` AS int) AS `a` FROM (SELECT a + 1 AS a FROM `db`.`t` AS `t`) {INNER} (`a`)",
        ),
        (
            "SELECT c COLLATE UTF8_LCASE AS c FROM t",
            "c",
            {"c": StringType()},
            "SELECT CAST(`c` AS string) AS `c` FROM (SELECT c COLLATE UTF8_LCASE AS c FROM `db`.`t` AS `t`) "
            f"{INNER} (`c`)",
        ),
        # a star that has grown
        (
            "SELECT * FROM t",
            "a c",
            {"a": IntegerType(), "c": StringType(), "x": LongType()},
            f"SELECT `a`, `c` FROM (SELECT * FROM `db`.`t` AS `t`) {INNER} (`a`, `c`, `hive_views_added_2`)",
        ),
        # a text that the resolver rejects
        (
            "SELECT unknown FROM t",
            "c",
            {"x": StringType()},
            f"SELECT CAST(`c` AS string) AS `c` FROM (SELECT unknown FROM `db`.`t` AS `t`) {INNER} (`c`)",
        ),
    ],
)
def test_columns_of_a_view_are_as_declared(
    sql: str, columns: str, types: dict[str, IcebergType], expected: str
) -> None:
    assert inlined(sql, columns, **types) == f"SELECT * FROM ({expected}) AS `v`"


@pytest.mark.parametrize(
    ("columns", "kind"), [("a", LongType()), ("a", StringType()), ("p", DecimalType(12, 4)), ("p", DoubleType())]
)
def test_type_that_readers_do_not_cast_is_an_error(columns: str, kind: IcebergType) -> None:
    with pytest.raises(RefreshError, match=f"the column {columns} of a view .* replace the view by the same query"):
        inlined(f"SELECT {columns} FROM t", columns, **{columns: kind})


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM t VERSION AS OF 1",
        "SELECT a FROM t TABLESAMPLE (1 ROWS)",
        "SELECT a FROM t WITH ('branch' = 'b')",
    ],
)
def test_definitions_that_no_refresh_can_run(sql: str) -> None:
    with pytest.raises(InvalidViewError, match="no refresh can run its query: "):
        check_definition(NAME, version(sql))
    check_definition(NAME, version("SELECT a FROM t"))
