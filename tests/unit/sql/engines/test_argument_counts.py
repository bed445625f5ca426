"""Numbers of arguments: what Hive's compiler accepted is accepted in every mode of dialect hive, and nothing else."""

from __future__ import annotations

import pytest

from hive_views.errors import SqlError
from hive_views.sql.engines.builtin_functions import HIVE_FUNCTIONS
from hive_views.sql.engines.tables import hive_argument_counts, read_table
from hive_views.sql.writing.expand import AuthorContext, expand
from tests.unit.sql.tables import Tables

TABLES = Tables({"t": {"s": "string", "n": "int", "x": "double"}})


@pytest.mark.parametrize("mode", ["portable", "hive-exact"])
@pytest.mark.parametrize(
    ("call", "is_accepted"),
    [
        ("instr(s, 'a', 1, 1)", True),  # other releases have no more than two
        ("instr(s, 'a', 1, 1, 1)", False),
        ("date_format(s, 'yyyy', 'MM')", False),
        ("substr(s)", False),
        ("if(n > 1, 2)", False),
        ("round(x, 1, 2)", False),
        ("length()", False),
        ("log(2, x)", True),
        ("unix_timestamp()", True),
        ("concat()", True),
        ("named_struct('a', s, 'b')", False),
        ("lag(s, 1, 'x') OVER (ORDER BY n)", True),
        ("lag(s, 1, 'x', 2) OVER (ORDER BY n)", False),
        ("count(*)", True),
        ("count(DISTINCT s, n)", True),
        ("trim(BOTH 'x' FROM s)", True),
        ("sum()", False),
        ("stddev(x, x, x)", False),
        ("percentile_cont(0.5) WITHIN GROUP (ORDER BY x)", True),
        ("floor(CAST(s AS timestamp) TO DAY)", True),
        ("my_function(s, 1, 2, 3)", True),
    ],
)
def test_call_is_accepted_as_by_hive(call: str, mode: str, *, is_accepted: bool) -> None:
    def expanded() -> None:
        functions = {"my_function": "udf"}
        expand(
            f"SELECT {call} AS r FROM t",
            TABLES,
            database="d",
            dialect="hive",
            mode=mode,
            author=AuthorContext(functions=functions),
        )

    if is_accepted:
        expanded()
    else:
        with pytest.raises(SqlError):
            expanded()


def test_every_measured_function_is_built_in() -> None:
    document = read_table("hive_argument_counts")
    assert document["version"] == "4.1.0"
    assert len(document["functions"]) > 250
    assert set(document["functions"]) <= HIVE_FUNCTIONS
    assert all(entry["counts"] or entry["more"] for entry in document["functions"].values())
    assert hive_argument_counts("concat") == (frozenset(range(8)), True)
