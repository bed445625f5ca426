"""The rules of each dialect: Hive's own, and those that Spark and Trino share.

Source of Hive's rules: Hive 4.1's `TypeCheckProcFactory`, `SemanticAnalyzer.processTable`, `CalcitePlanner`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.engines.builtin_functions import (
    HIVE_AGGREGATES,
    HIVE_FUNCTIONS,
    HIVE_PARTITIONED_FUNCTIONS,
    HIVE_TABLE_FUNCTIONS,
    HIVE_WINDOW_FUNCTIONS,
)
from hive_views.sql.engines.grammar import spark_grammar
from hive_views.sql.parsing.hive_grammar import INTERVAL_UNITS, PARSED_ELSEWHERE
from hive_views.sql.parsing.syntax_tree import begins_with_with, has_grouping_sets
from hive_views.sql.resolver.context import DialectChecks, DialectRules, Environment, ResolutionContext
from hive_views.sql.resolver.ordering import keys_of
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.text.quoting import unquote_identifier
from hive_views.sql.types.argument_counts import HIVE_COUNTS, SPARK_COUNTS, ArgumentCounts, wrong_argument_count

# -- Functions ---------------------------------------------------------------------------------------------------------


def _resolve_hive_function(context: ResolutionContext, node: exp.Func, env: Environment) -> None:
    """Reject a function that does not exist or is not allowed here; quote the name of a registered one."""
    at = context.query.function_token(node)
    if at is None:
        return
    tokens = context.text.tokens
    start = tokens[at].start
    written = unquote_identifier(context.text.raw(at))
    name = written.lower()
    if name in HIVE_FUNCTIONS:
        if name == "grouping" and not env.scopes[0].has_grouping_sets:
            raise context.fail("grouping() needs GROUP BY with ROLLUP, CUBE or GROUPING SETS", start, name)
        if name in HIVE_AGGREGATES and name not in HIVE_WINDOW_FUNCTIONS and not env.allows_aggregates:
            raise context.fail(f"Not yet supported place for UDAF '{name}'", start, name)
        if name in HIVE_TABLE_FUNCTIONS:
            raise context.fail(
                f"{name}: UDTF's are not supported outside the SELECT clause, nor nested in expressions", start, name
            )
        _check_hive_argument_count(context, node)
        return
    if name.startswith("ds_") or at + 1 >= len(tokens):
        return
    if tokens[at + 1].token_type is not TokenType.L_PAREN and not isinstance(node, exp.Anonymous):
        return
    if name in context.settings.functions:
        context.writing.pending_edits.append(((at, -at), context.quote(written)))
    elif name not in PARSED_ELSEWHERE:
        raise context.fail(f"Invalid function '{written}': it is neither built in nor registered", start, written)


def _check_hive_argument_count(context: ResolutionContext, node: exp.Expr) -> None:
    _check_argument_count(context, node, HIVE_COUNTS)


def _check_spark_argument_count(context: ResolutionContext, node: exp.Expr) -> None:
    _check_argument_count(context, node, SPARK_COUNTS)


def _check_argument_count(context: ResolutionContext, node: exp.Expr, accepted: ArgumentCounts) -> None:
    """Reject a built-in function with a number of arguments that the engine does not accept."""
    wrong = wrong_argument_count(context.query, node, accepted)
    if wrong is not None:
        raise context.fail(wrong, node)


# -- FROM --------------------------------------------------------------------------------------------------------------


def _check_hive_source(context: ResolutionContext, node: exp.Expr) -> None:
    if isinstance(node, (exp.Unnest, exp.Lateral)):
        raise context.fail("Hive has no UNNEST and no LATERAL subquery: write LATERAL VIEW explode(…)", node)


def _check_pivots(context: ResolutionContext, node: exp.Expr) -> None:
    if node.args.get("pivots"):
        raise context.fail("PIVOT and UNPIVOT: Trino has no such clause", node)


def _check_hive_laterals(
    context: ResolutionContext, source: exp.Expr, joins: Sequence[exp.Expr], laterals: Sequence[exp.Expr]
) -> None:
    if laterals and source.name.lower() in HIVE_PARTITIONED_FUNCTIONS:
        raise context.fail("A partitioned table function cannot have a lateral view", laterals[0])
    if laterals and joins:
        raise context.fail(
            "JOIN with a LATERAL VIEW is not supported: put the lateral view into a derived table", laterals[0]
        )


def _check_hive_table(context: ResolutionContext, node: exp.Table) -> None:
    name = node.parts[-1].name
    alias = node.args.get("alias")
    if alias is None:
        return
    if alias.args.get("columns"):
        raise context.fail("Hive does not name the columns of a table: use a derived table", node, name)
    if alias.this is not None and not alias.this._meta:
        raise context.fail(f"An alias cannot be a string: write `{alias.this.name}`", node, name)


def _check_hive_table_suffix(context: ResolutionContext, node: exp.Table) -> None:
    if node.args.get("pivots"):
        raise context.fail("PIVOT and UNPIVOT: Hive has no such clause", node)
    alias = node.args.get("alias")
    start = _start_of_sample_behind(context, alias.this) if alias is not None else None
    if start is not None:
        raise context.fail("TABLESAMPLE has to precede the table's alias", start, node.name)


def _check_hive_derived_table(context: ResolutionContext, node: exp.Subquery) -> None:
    alias = node.args.get("alias")
    start = _start_of_sample_behind(context, alias.this) if alias is not None else None
    if start is not None:
        raise context.fail("TABLESAMPLE is only allowed for tables", start)
    if alias is not None and isinstance(node.this, exp.Table):
        raise context.fail("A join in parentheses cannot have an alias: write a query (SELECT …) instead", alias)


def _start_of_sample_behind(context: ResolutionContext, alias: exp.Expr | None) -> int | None:
    """Return the position of a TABLESAMPLE directly after an alias."""
    text = context.text
    index = text.token_of(alias) if alias is not None else None
    is_sampled = index is not None and text.kinds[index + 1 : index + 2] == [TokenType.TABLE_SAMPLE]
    return text.tokens[index + 1].start if index is not None and is_sampled else None


def _check_hive_values(context: ResolutionContext, node: exp.Values) -> None:
    alias = node.args.get("alias")
    if alias is not None and alias.args.get("columns"):
        raise context.fail(
            "VALUES in FROM cannot name its columns: write TABLE(VALUES …) AS t(a, b)", alias.args["columns"][0]
        )


def _check_hive_join(context: ResolutionContext, join: exp.Join) -> None:
    node = join.this
    _check_hive_source(context, node)
    if join.args.get("method"):
        raise context.fail(f"{join.args['method']} JOIN: Hive has no such join. Write JOIN … ON", node)
    if join.kind == "SEMI" and join.args.get("using"):
        raise context.fail("LEFT SEMI JOIN … USING: Hive cannot plan it. Write ON", node)
    if join.kind == "ANTI":
        raise context.fail("LEFT ANTI JOIN is not read by Hive 4.1: write NOT EXISTS", node)
    if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table):
        raise context.fail("A join in parentheses is only allowed as the first element of FROM", node)


# -- Queries -----------------------------------------------------------------------------------------------------------


def _check_hive_select(context: ResolutionContext, node: exp.Select) -> None:
    """Reject combinations of clauses that Hive does not have."""
    arguments = node.args
    limit = arguments.get("limit")
    if limit is None and arguments.get("offset") is not None:
        raise context.fail("OFFSET without LIMIT: Hive has no such clause", arguments["offset"])
    for item in keys_of(node, "order", "sort", "distribute", "cluster"):
        if item.find(exp.Select) is not None:
            raise context.fail("Subqueries are only allowed in SELECT, WHERE and HAVING", item)
    if limit is None and _CHECKED_CLAUSES.isdisjoint(arguments):
        return
    order, sort = arguments.get("order"), arguments.get("sort")
    cluster, distribute = arguments.get("cluster"), arguments.get("distribute")
    if cluster is not None and sort is not None:
        raise context.fail("Cannot have both CLUSTER BY and SORT BY clauses", sort)
    if cluster is not None and distribute is not None:
        raise context.fail("Cannot have both CLUSTER BY and DISTRIBUTE BY clauses", distribute)
    if arguments.get("locks"):
        raise context.fail("FOR UPDATE and FOR SHARE: Hive has no such clause", node)
    if isinstance(limit, exp.Fetch):
        raise context.fail("FETCH FIRST: Hive has no such clause. Write LIMIT", node)
    count = limit.args.get("expression") if limit is not None else None
    if count is not None and not isinstance(count, exp.Literal):
        raise context.fail("LIMIT needs a number", count)
    if order is not None and sort is not None:
        raise context.fail("Cannot have both ORDER BY and SORT BY clauses", sort)
    if order is not None and distribute is not None:
        raise context.fail("Cannot have both ORDER BY and DISTRIBUTE BY clauses", distribute)


def _check_hive_set_operation(context: ResolutionContext, node: exp.Expr) -> None:
    """Reject a branch that is ordered outside parentheses."""
    branch = node.this
    if type(branch) is not exp.Select:
        return
    for name in ("order", "sort", "distribute", "cluster", "limit"):
        clause = branch.args.get(name)
        if clause is not None:
            raise context.fail(f"{name.upper()} in front of a set operation: put the branch into parentheses", clause)


def _check_hive_subquery(context: ResolutionContext, query: exp.Expr, env: Environment) -> None:
    if begins_with_with(query):
        raise context.fail("A subquery in an expression cannot begin with WITH: move it to the front", query)
    if len(env.scopes) > 1 or (env.ungrouped is not None and not env.allows_aggregates):
        raise context.fail("Subqueries are only allowed in SELECT, WHERE and HAVING", query)
    if isinstance(query.find_ancestor(exp.Window, exp.Query), exp.Window):
        raise context.fail("Subqueries are not allowed in window functions", query)


def _check_spark_call(context: ResolutionContext, node: exp.Func, env: Environment) -> None:
    """Reject a built-in function with a number of arguments that Spark does not accept, and grouping() without sets."""
    _check_spark_argument_count(context, node)
    select = node.find_ancestor(exp.Select) if isinstance(node, (exp.Grouping, exp.GroupingId)) else None
    group = select.args.get("group") if select is not None else None
    if select is not None and (group is None or not has_grouping_sets(group)):
        raise context.fail("grouping() and grouping_id() need GROUP BY with ROLLUP, CUBE or GROUPING SETS", node)


def _check_spark_cast(context: ResolutionContext, node: exp.Expr) -> None:
    """Reject a cast to a type of another engine, also inside an array, a map or a struct.

    Spark's grammar reads every word as the name of a type.
    """
    types = context.text.cast_types
    if types is not None and not any(map(_foreign_type, types)):
        return
    first, last = context.query.ranges.get(id(node.args["to"]), (-1, -1))
    if first >= 0:
        foreign = _foreign_type(" ".join(context.text.between(first, last).lower().split()))
        if foreign is not None:
            raise context.fail(f"Spark has no type {foreign}", context.text.tokens[first].start)


@lru_cache(maxsize=4096)
def _foreign_type(written: str) -> str | None:
    """Return the part of a type, in lower case and with single blanks, that is a type of another engine."""
    grammar = spark_grammar()
    nested = _NO_TYPE.sub(" ", written)
    for kind in _SIMPLE_TYPE.findall(nested) if "<" in written else [written]:
        name, simple = re.split(r"\W", kind, maxsplit=1)[0], re.sub(r"\d+", "1", re.sub(r" (?=[(),\d])", "", kind))
        precision, scale = [int(number) for number in (*re.findall(r"\d+", kind), 0, 0)[:2]]
        is_decimal = simple.endswith("(1,1)") or (simple.endswith("(1)") and name in _DECIMALS)
        if (
            (name in grammar.type_names and simple not in grammar.simple_types)
            or name in _NESTED_TYPES
            or (is_decimal and not scale <= precision <= _MAX_PRECISION)
        ):
            return kind
    return None


_NESTED_TYPES = frozenset({"array", "map", "struct"})
_DECIMALS = frozenset({"decimal", "dec", "numeric"})
_MAX_PRECISION = 38
_NO_TYPE = re.compile(r"`(?:[^`]|``)*`|comment ('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")|not null|collate \w+")
"""What a nested type has beside types: quoted names of fields, and clauses of fields."""
_SIMPLE_TYPE = re.compile(r"\b([a-z_0-9]+(?: ?\([\d, ]+\))?) ?(?=[,>])")
"""A type inside another one; names of fields are in front of a space or a colon."""
_CHECKED_CLAUSES = frozenset({"order", "sort", "distribute", "cluster", "locks"})


class _HiveChecks(DialectChecks):
    resolve_function = staticmethod(_resolve_hive_function)
    check_argument_count = staticmethod(_check_hive_argument_count)
    check_source = staticmethod(_check_hive_source)
    check_laterals = staticmethod(_check_hive_laterals)
    check_table = staticmethod(_check_hive_table)
    check_table_suffix = staticmethod(_check_hive_table_suffix)
    check_derived_table = staticmethod(_check_hive_derived_table)
    check_values = staticmethod(_check_hive_values)
    check_join = staticmethod(_check_hive_join)
    check_select = staticmethod(_check_hive_select)
    check_set_operation = staticmethod(_check_hive_set_operation)
    check_subquery = staticmethod(_check_hive_subquery)


class _TrinoChecks(DialectChecks):
    check_source = staticmethod(_check_pivots)


class _SparkChecks(DialectChecks):
    resolve_function = staticmethod(_check_spark_call)
    check_argument_count = staticmethod(_check_spark_argument_count)
    check_cast = staticmethod(_check_spark_cast)


HIVE = DialectRules(
    checks=_HiveChecks(),
    checks_identifiers=True,
    checks_types=True,
    restricts_windows=True,
    restricts_subqueries=True,
    requires_aliases=True,
    requires_over=True,
    drops_parentheses=True,
    quotes_fields=True,
    removes_redundant_casts=True,
    derives_column_names=True,
    hint_counts_as_item=True,
    computes_groups_first=True,
    reads_later_ctes=True,
    has_partitioned_functions=True,
    interval_units=frozenset({*INTERVAL_UNITS, "year to month", "day to second"}),
)
TRINO = DialectRules(
    allows_database_in_column=True,
    merges_using_columns=True,
    groups_by_ordinals=True,
    names_columns_of_values=False,
    unifies_rows_of_values=True,
    allows_generators_with_columns=True,
    has_star_except=True,
    names_extracted_fields=False,
    rejects_repeated_names=True,
    checks=_TrinoChecks(),
)
SPARK = replace(
    TRINO,
    has_lateral_aliases=True,
    star_includes_using=True,
    reads_outer_in_from=True,
    keeps_letter_case=True,
    names_casts_and_literals=True,
    names_columns_of_values=True,
    exploded_name="col",
    has_struct_stars=True,
    has_pivots=True,
    finds_attributes=True,
    checks=_SparkChecks(),
)
DIALECTS = {Dialect.HIVE: HIVE, Dialect.SPARK: SPARK, Dialect.TRINO: TRINO}
