"""What in a query may give other rows each time it is run over the same tables."""

from __future__ import annotations

import re

from sqlglot import exp

from hive_views.sql.analysis.references import references
from hive_views.sql.parsing.builtin_functions import SPARK_FUNCTIONS
from hive_views.sql.parsing.parser import ParsedQuery, parse_query

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

_MOVING = re.compile(r"[\x00-\x20]*(now|today|tomorrow|yesterday)\b\s*[\w/+:-]*\s*", re.IGNORECASE)
"""Words that stand for another time each day where Spark casts a text to a date or time, with or without a time zone
(Spark, `SparkDateTimeUtils.extractSpecialValue`); `epoch`, the fifth of them, is always the same."""

_METADATA = frozenset(
    """
    _deleted _file _metadata _partition _pos _spec_id block__offset__inside__file input__file__name
    row__offset__inside__block
    """.split()
)
"""Columns of where a row is stored: a compaction, which changes no row, changes them (Iceberg's `MetadataColumns`,
Spark's `_metadata`, Hive's virtual columns)."""


def find_nondeterminism(query: str | ParsedQuery, dialect: str = "hive") -> tuple[str, ...]:
    """What in a query may give other rows each time."""
    if isinstance(query, str):
        query = parse_query(query, dialect)
    tree = query.tree
    found = set()
    for node in tree.find_all(exp.Func):
        names = {node.name.lower()} if isinstance(node, exp.Anonymous) else {name.lower() for name in node.sql_names()}
        found |= names & _CHANGING
    for column in tree.find_all(exp.Column):
        # A keyword without parentheses is a column to some parsers.
        if not column.table and column.name.lower() in _BARE:
            found.add(column.name.lower())
        found |= {part.name.lower() for part in column.parts} & _METADATA
    for literal in tree.find_all(exp.Literal):
        # Wherever it stands: Spark casts it where the other side is a date or time, and no types are known here.
        moving = _MOVING.fullmatch(literal.name) if literal.is_string else None
        if moving is not None:
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
    if tree.find(exp.QueryTransform) is not None:
        found.add("TRANSFORM")  # a script, which does what it likes
    if "tablesample" in query.text.lower:
        found.add("TABLESAMPLE")
    for function in references(query).functions:
        if function.registered and function.name.lower() not in SPARK_FUNCTIONS:
            found.add(function.name.lower())
        if function.name.lower() in _CHANGING:
            found.add(function.name.lower())
    return tuple(sorted(found))
