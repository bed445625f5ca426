"""Parts of a query whose result may differ between runs over the same tables."""

from __future__ import annotations

import re

from sqlglot import exp

from hive_views.sql.analysis.references import references
from hive_views.sql.parsing.builtin_functions import SPARK_FUNCTIONS
from hive_views.sql.parsing.parser import ParsedQuery, parse_query

# ruff: noqa: SIM905 (a long list of words)
_NONDETERMINISTIC = frozenset(
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
"""Functions of the clock, of random numbers, of the session, of files, and of the order in which rows are read."""

_KEYWORDS = frozenset(
    """
    current_catalog current_database current_date current_schema current_time current_timestamp current_user localtime
    localtimestamp session_user user
    """.split()
)
"""Those of them that are valid without parentheses; some parsers read them as columns."""

_RELATIVE_TIME = re.compile(r"[\x00-\x20]*(now|today|tomorrow|yesterday)\b\s*[\w/+:-]*\s*", re.IGNORECASE)
"""The words that Spark casts to a date or time relative to now, with an optional time zone (Spark's
`SparkDateTimeUtils.extractSpecialValue`). The fifth such word, `epoch`, is constant."""

_METADATA_COLUMNS = frozenset(
    """
    _deleted _file _metadata _partition _pos _spec_id block__offset__inside__file input__file__name
    row__offset__inside__block
    """.split()
)
"""Columns that tell where a row is stored, which a compaction changes without changing rows (Iceberg's
`MetadataColumns`, Spark's `_metadata`, Hive's virtual columns)."""


def find_nondeterminism(query: str | ParsedQuery, dialect: str = "hive") -> tuple[str, ...]:
    """Return the functions, columns and clauses of a query whose result may differ between runs, sorted.

    Args:
        query: The query's text, or the parsed query.
        dialect: `hive`, `spark` or `trino`; a parsed query has its own.

    Raises:
        SqlError: If the text cannot be read.
    """
    if isinstance(query, str):
        query = parse_query(query, dialect)
    tree = query.tree
    causes = set()
    for node in tree.find_all(exp.Func):
        names = {node.name.lower()} if isinstance(node, exp.Anonymous) else {name.lower() for name in node.sql_names()}
        causes |= names & _NONDETERMINISTIC
    for column in tree.find_all(exp.Column):
        if not column.table and column.name.lower() in _KEYWORDS:
            causes.add(column.name.lower())
        causes |= {part.name.lower() for part in column.parts} & _METADATA_COLUMNS
    for literal in tree.find_all(exp.Literal):
        # In any position: Spark casts the string if the other operand is a date or time, and types are unknown here.
        relative = _RELATIVE_TIME.fullmatch(literal.name) if literal.is_string else None
        if relative is not None:
            causes.add(f"'{relative[1].lower()}'")
    for spec in tree.find_all(exp.WindowSpec):
        ends = (spec.args.get("start"), spec.args.get("end"))
        if str(spec.args.get("kind") or "").upper() == "ROWS" and ends != ("UNBOUNDED", "UNBOUNDED"):
            causes.add("ROWS")  # rows that are equal under ORDER BY may come in any order
    for clause, name in (
        (exp.Limit, "LIMIT"),
        (exp.Offset, "OFFSET"),
        (exp.Fetch, "FETCH"),
        (exp.TableSample, "TABLESAMPLE"),
        (exp.QueryTransform, "TRANSFORM"),  # a script can do anything
    ):
        if tree.find(clause) is not None:
            causes.add(name)
    if "tablesample" in query.text.lower:  # the parser drops some of them
        causes.add("TABLESAMPLE")
    for function in references(query).functions:
        name = function.name.lower()
        if name in _NONDETERMINISTIC or (function.registered and name not in SPARK_FUNCTIONS):
            causes.add(name)
    return tuple(sorted(causes))
