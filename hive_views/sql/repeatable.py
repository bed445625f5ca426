"""What in a query may give other rows each time it is run over the same tables."""

from __future__ import annotations

import re

from sqlglot import exp

from hive_views.sql.parse import parse_query
from hive_views.sql.references import references
from hive_views.sql.spark_functions import SPARK_FUNCTIONS
from hive_views.sql.tokens import Text

# ruff: noqa: SIM905 (a long list of words)
_CHANGING = frozenset(
    """
    aes_encrypt any any_value approx_percentile approx_top_k approx_top_k_accumulate approx_top_k_combine
    arg_max arg_min array_agg collect_list collect_set curdate current_catalog current_database current_date
    current_schema current_time current_timestamp current_timezone current_user first first_value getdate
    group_concat histogram_numeric input_file_block_length input_file_block_start input_file_name java_method
    kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double
    kll_sketch_agg_float lag last last_value lead listagg localtime localtimestamp logged_in_user max_by min_by
    mode monotonically_increasing_id now nth_value ntile percentile_approx rand randn random randstr reflect
    row_number session_user shuffle spark_partition_id string_agg surrogate_key sysdate systimestamp try_reflect
    uniform unix_timestamp user uuid version
    """.split()
)
"""Functions of the clock, of chance, of the session, of files, and of the order in which rows are read."""

_BARE = frozenset(
    """
    current_catalog current_database current_date current_schema current_time current_timestamp current_user localtime
    localtimestamp session_user user
    """.split()
)
"""Those of them that may stand without parentheses: a column to some parsers."""

_MOVING = re.compile(r"\s*(now|today|tomorrow|yesterday)\b.*", re.IGNORECASE | re.DOTALL)
"""Words that stand for another time each day in a literal such as DATE 'today' (Spark, `stringToDate`)."""


def unrepeatable(sql: str, dialect: str) -> tuple[str, ...]:
    """What in a query may give other rows each time.

    Args:
        sql: The query, the views that it reads in it.
        dialect: Its dialect.

    Returns:
        Names of functions and clauses, sorted: functions of the clock or of chance, those whose result depends on the
        order of rows, windows by ROWS, words such as DATE 'today', functions that are not the engine's own, LIMIT and
        TABLESAMPLE. Not found are sums of floating numbers, whose last digits depend on the order of addition.

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
        if not column.table and column.name.lower() in _BARE:
            found.add(column.name.lower())
    for literal in tree.find_all(exp.Literal):
        moving = _MOVING.fullmatch(literal.name) if literal.is_string else None
        if moving is not None and _makes_time(literal.parent):
            found.add(f"'{moving[1].lower()}'")
    for spec in tree.find_all(exp.WindowSpec):
        ends = (spec.args.get("start"), spec.args.get("end"))
        if str(spec.args.get("kind") or "").upper() == "ROWS" and ends != ("UNBOUNDED", "UNBOUNDED"):
            found.add("ROWS")  # of rows that the ORDER BY does not tell apart, any may come first
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


def _makes_time(node: object) -> bool:
    """Whether a text in an expression may be read as a date or time."""
    if isinstance(node, exp.Cast):
        return True
    if not isinstance(node, exp.Func):
        return False
    names = {node.name} if isinstance(node, exp.Anonymous) else node.sql_names()
    return any(word in name.lower() for name in names for word in ("date", "time"))
