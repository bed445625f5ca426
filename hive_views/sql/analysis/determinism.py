"""Parts of a query whose result may differ between runs over the same tables."""

from __future__ import annotations

import re
from collections.abc import Iterable

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

CONSTANT_TEXT = "a constant text expression"
"""The cause for a function of constants, such as `'to' || 'day'`, that may return one of these words."""

_NO_NEW_TEXT = frozenset(
    """
    abs acos add_months and array array_contains array_size asin atan atan2 between bround cardinality case cast
    cbrt ceil ceiling coalesce contains cos cosh cot date date_add date_diff date_from_unix_date date_part date_sub
    date_trunc datediff datepart day day_of_month day_of_week day_of_year dayofmonth dayofweek dayofyear degrees
    double e element_at endswith exp extract factorial find_in_set float floor greatest hour if ifnull in instr int
    interval is_inf is_nan isnan isnotnull isnull last_day least length levenshtein ln locate log log10 log2
    make_date make_dt_interval make_interval make_timestamp make_timestamp_ltz make_timestamp_ntz make_ym_interval
    map map_from_arrays minute mod month months_between named_struct negative next_day not null_if nullif nvl nvl2
    octet_length or pi pmod position positive pow power quarter radians rint round second sequence sign signum sin
    sinh size sqrt startswith str_position struct tan tanh timestamp timestamp_add timestamp_diff timestamp_micros
    timestamp_millis timestamp_seconds timestamp_trunc timestampadd timestampdiff tinyint to_date to_number
    to_timestamp to_timestamp_ltz to_timestamp_ntz trunc try_add try_cast try_divide try_element_at try_multiply
    try_subtract try_to_date try_to_timestamp ts_or_ds_add ts_or_ds_to_date unix_date unix_micros unix_millis
    unix_seconds var_map week weekofyear width_bucket xor year
    """.split()
)
"""Functions whose result is no text, or one of their arguments."""

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
    for literal in tree.find_all(exp.Literal, exp.RawString):
        # In any position: Spark casts the string if the other operand is a date or time, and types are unknown here.
        relative = None if literal.is_number else _RELATIVE_TIME.fullmatch(literal.name)
        if relative is not None:
            cast, word = literal.parent, f"'{relative[1].lower()}'"
            is_time = isinstance(cast, exp.Cast) and cast.to.is_type(*exp.DataType.TEMPORAL_TYPES)
            causes.add(f"{cast.args['to'].sql('spark').lower()} {word}" if is_time and cast else word)
    if any(map(_may_be_constant_text, tree.find_all(exp.Func, exp.DPipe, exp.HexString))):
        causes.add(CONSTANT_TEXT)
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


def without_words(causes: Iterable[str]) -> tuple[str, ...]:
    """The causes without those that matter only if Spark casts a constant text to a date or time, and a query may not.

    `DATE 'today'` and `CAST('today' AS DATE)` remain.
    """
    return tuple(cause for cause in causes if cause != CONSTANT_TEXT and not cause.startswith("'"))


def _may_be_constant_text(node: exp.Expr) -> bool:
    """Whether a node may return a text that is no literal of the query, and the same for every row."""
    if isinstance(node, exp.HexString):
        return True
    names = {node.name.lower()} if isinstance(node, exp.Anonymous) else set()
    if isinstance(node, exp.Func) and not isinstance(node, exp.Anonymous):
        names = {name.lower() for name in node.sql_names()}
    if names & _NO_NEW_TEXT or isinstance(node, (exp.AggFunc, exp.Connector)):
        return False
    return node.find(exp.Literal, exp.RawString) is not None and node.find(*_VARYING) is None


_VARYING = (exp.Column, exp.Star, exp.Query, exp.Window, exp.Parameter)
"""Nodes whose value may differ from row to row."""
