"""What in a query may give other rows each time it is run over the same tables."""

from __future__ import annotations

from sqlglot import exp

from hive_views.sql.parse import parse_query
from hive_views.sql.references import references
from hive_views.sql.spark_functions import SPARK_FUNCTIONS
from hive_views.sql.tokens import Text

# ruff: noqa: SIM905 (a long list of words)
_CHANGING = frozenset(
    """
    any any_value array_agg collect_list collect_set curdate current_catalog current_database current_date
    current_schema current_time current_timestamp current_timezone current_user first first_value getdate
    group_concat input_file_block_length input_file_block_start input_file_name java_method lag last last_value lead
    listagg localtime localtimestamp logged_in_user mode monotonically_increasing_id nth_value now ntile rand randn
    random randstr reflect row_number session_user shuffle spark_partition_id string_agg surrogate_key sysdate
    systimestamp try_reflect uniform unix_timestamp user uuid version
    """.split()
)
"""Functions of the clock, of chance, of the session, of files, and of the order in which rows are read."""


def unrepeatable(sql: str, dialect: str) -> tuple[str, ...]:
    """What in a query may give other rows each time.

    Args:
        sql: The query, the views that it reads in it.
        dialect: Its dialect.

    Returns:
        Names of functions and clauses, sorted: functions of the clock or of chance, those whose result depends on the
        order of rows, functions that are not the engine's own, LIMIT and TABLESAMPLE. Not found are sums of floating
        numbers, whose last digits depend on the order of addition.

    Raises:
        SqlError: If it cannot be read.
    """
    tree = parse_query(Text(sql, dialect))
    found = set()
    for node in tree.find_all(exp.Func):
        names = {node.name.lower()} if isinstance(node, exp.Anonymous) else {name.lower() for name in node.sql_names()}
        found |= names & _CHANGING
    for column in tree.find_all(exp.Column):
        # A keyword without parentheses is a column to some parsers.
        if not column.table and column.name.lower() in ("current_date", "current_timestamp", "current_user", "user"):
            found.add(column.name.lower())
    for clause, name in ((exp.Limit, "LIMIT"), (exp.Offset, "OFFSET"), (exp.TableSample, "TABLESAMPLE")):
        if tree.find(clause) is not None:
            found.add(name)
    if tree.find(exp.Fetch) is not None:
        found.add("FETCH")
    lower = sql.lower()
    if "tablesample" in lower:
        found.add("TABLESAMPLE")
    for function in references(sql, dialect).functions:
        if function.registered and function.name.lower() not in SPARK_FUNCTIONS:
            found.add(function.name.lower())
        if function.name.lower() in _CHANGING:
            found.add(function.name.lower())
    return tuple(sorted(found))
