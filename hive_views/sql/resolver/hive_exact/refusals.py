"""Queries that Hive rejects although all of their names are known: wrong arguments, unsupported subqueries.

Each rule was measured on Hive 4.1.0; the statements are in the fixtures of `tests/unit/sql`. The rules apply
only in mode `hive-exact`, which rejects every text that Hive rejects.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.engines.function_signatures import (
    MEASURED_TYPES,
    SINGLE_ARGUMENT_TYPES,
)
from hive_views.sql.parsing.syntax_tree import comparison_key, conjuncts
from hive_views.sql.resolver.context import ResolutionContext
from hive_views.sql.resolver.grouping import collect_calls
from hive_views.sql.resolver.hive_exact.operand_types import check_choice, check_comparison, element_type
from hive_views.sql.resolver.names import function_name
from hive_views.sql.resolver.scopes import Scope
from hive_views.sql.types import hive_types
from hive_views.sql.types.hive_types import NUMBERS, TIMES

# -- Clauses -----------------------------------------------------------------------------------------------------------


def check_lateral_where(context: ResolutionContext, where: exp.Expr, laterals: Sequence[exp.Expr]) -> None:
    """Check the subqueries in WHERE over a lateral view.

    With the cost based optimizer, Hive moves a subquery that names only the table below the lateral view, and then
    rejects the resulting join. Without the optimizer, it does not find the lateral view's alias next to a subquery.
    """
    aliases = {item.args["alias"].this.name.lower() for item in laterals if item.args.get("alias") is not None}
    lateral_columns = [
        column
        for column in where.find_all(exp.Column)
        if (bound := context.bound.bindings.get(id(column))) is not None and bound.table in aliases
    ]
    for condition in conjuncts(where):
        if condition.find(exp.Select) is None:
            continue
        if context.settings.uses_cbo and not (lateral_columns and isinstance(condition, (exp.In, exp.Exists))):
            raise context.fail("JOIN with a LATERAL VIEW is not supported: Hive makes one of this subquery", condition)
        if not context.settings.uses_cbo:
            for column in condition.find_all(exp.Column):
                if any(column is lateral_column for lateral_column in lateral_columns):
                    raise context.fail(
                        f"Invalid table alias '{column.table or column.name}' together with a subquery", column
                    )


def check_exists(context: ResolutionContext, query: exp.Expr, outer: Scope) -> None:
    """Reject an uncorrelated EXISTS, which Hive does not accept without its cost based optimizer."""
    if context.settings.uses_cbo:
        return
    outer_columns = set(map(id, outer.columns))
    if not any(id(context.bound.bindings.get(id(column))) in outer_columns for column in query.find_all(exp.Column)):
        raise context.fail(
            "Invalid SubQuery expression: For Exists/Not Exists operator SubQuery must be Correlated", query
        )


def check_having(context: ResolutionContext, node: exp.Select) -> None:
    """Reject an aggregate with DISTINCT in a block with HAVING and window functions."""
    calls = collect_calls(context, node)
    if calls.windows and any(type(item.this) is exp.Distinct for item in calls.aggregates.values()):
        raise context.fail(
            "Hive does not support DISTINCT in an aggregate together with HAVING and window functions", node
        )


def check_grouping_sets(context: ResolutionContext, keys: Sequence[exp.Expr]) -> None:
    """Reject a key that ROLLUP or CUBE has twice: Hive's planner fails (`must be sorted`)."""
    texts: set[str] = set()
    for item in keys:
        text = comparison_key(item)
        if text in texts:
            raise context.fail("ROLLUP or CUBE with the same key twice: Hive cannot plan it", item)
        texts.add(text)


# -- Calls -------------------------------------------------------------------------------------------------------------


def check_call(context: ResolutionContext, node: exp.Expr) -> None:
    """Check the number and types of the arguments of a call, or of CASE, IF and RLIKE."""
    if type(node) is exp.Case or type(node) is exp.If:
        _check_condition(context, node)
    elif type(node) is exp.RegexpLike:
        _check_function(context, "rlike", node)
    else:
        name = function_name(context, node)
        if name is not None:
            _check_function(context, name, node)


def _check_condition(context: ResolutionContext, node: exp.Expr) -> None:
    """Check `if(condition, …)` and `case when condition`: conditions are booleans, results have one type."""
    ifs: list[exp.Expr] = (node.args.get("ifs") or []) if type(node) is exp.Case else []
    if type(node) is exp.Case:
        results = [*(item.args["true"] for item in ifs), node.args.get("default")]
    else:
        results = [node.args.get("true"), node.args.get("false")]
    is_branch = type(node) is exp.If and type(node.parent) is exp.Case
    if not is_branch:
        check_choice(context, [item for item in results if item is not None])
    if type(node) is exp.If:
        conditions = [] if is_branch else [node.this]
    elif node.args.get("this") is None:
        conditions = [item.this for item in ifs]
    else:
        for item in ifs:
            check_comparison(context, node.this, item.this)
        return
    for condition in conditions:
        type_text = context.type_of(condition)
        if type_text not in (None, "boolean", "void"):
            raise context.fail(
                f'Argument type mismatch: "boolean" is expected here, but {type_text} is found', condition
            )


def _check_function(context: ResolutionContext, name: str, node: exp.Expr) -> None:
    if name in ("coalesce", "nvl", "greatest", "least"):
        unify = hive_types.choice if name in ("coalesce", "nvl") else hive_types.greatest
        check_choice(context, list(node.iter_expressions()), unify)
    _check_signature(context, name, node)
    rejected_types = _REJECTED_TYPES.get(name)
    first = next(node.iter_expressions(), None)
    if rejected_types is None or first is None:
        return
    type_text = element_type(context, first)
    if type_text is not None and hive_types.base(type_text) in rejected_types:
        raise context.fail(f"Wrong arguments: {name}() does not take {type_text}", first, name)


def _check_signature(context: ResolutionContext, name: str, node: exp.Expr) -> None:
    """Check the types of one or two arguments."""
    text = context.text
    accepted_types = SINGLE_ARGUMENT_TYPES.get(name)
    at = context.query.function_token(node)
    if at is None or at + 1 >= len(text.kinds):
        return
    if isinstance(node, (exp.Floor, exp.Ceil)) and node.args.get("to") is not None:  # floor(x TO DAY)
        if name != "floor":
            raise context.fail(f"Cannot read the text: Hive's {name}() has no TO", node, name)
        return
    opened = at + 1
    closed = text.match.get(opened)
    if text.kinds[opened] is not TokenType.L_PAREN or closed is None or isinstance(node.parent, exp.WithinGroup):
        return
    start = text.tokens[at].start
    if closed == opened + 1:
        return
    count = len(list(text.elements(opened + 1, closed - 1)))
    if count > 1 or accepted_types is None:
        _check_dates(context, name, node)
        return
    if not accepted_types:
        raise context.fail(f"Arguments length mismatch: {name}() needs more than one argument", start, name)
    argument = next(node.iter_expressions(), None)
    type_text = element_type(context, _written_argument(context, argument, at)) if argument is not None else None
    base = hive_types.base(type_text or "void")
    if base in MEASURED_TYPES and base not in accepted_types:
        raise context.fail(f"Wrong arguments: {name}() does not take {type_text}", start, name)


def _check_dates(context: ResolutionContext, name: str, node: exp.Expr) -> None:
    """Check the types of the first two arguments of date functions."""
    at = context.query.function_token(node)
    arguments = [_written_argument(context, item, at) for item in node.iter_expressions()]
    bases = [hive_types.base(context.type_of(item) or "void") for item in arguments[:2]]
    if name in ("date_add", "date_sub") and len(bases) > 1:
        if bases[1] not in ("tinyint", "smallint", "int", "void"):
            raise context.fail(f"Wrong arguments: {name}() does not take days of type {bases[1]}", arguments[1], name)
    elif name in ("datediff", "months_between"):
        for item, base in zip(arguments, bases, strict=False):
            if base in NUMBERS or base == "boolean":
                raise context.fail(f"Wrong arguments: {name}() does not take {base}", item, name)


def _written_argument(context: ResolutionContext, argument: exp.Expr, at: int | None) -> exp.Expr:
    """Return an argument as written: sqlglot wraps some arguments into additional function nodes."""
    while isinstance(argument, exp.Func) and context.query.function_token(argument) == at:
        inner = next(argument.iter_expressions(), None)
        if inner is None:
            break
        argument = inner
    return argument


_NESTED = frozenset({"array", "map", "struct"})
_SIMPLE = frozenset({*NUMBERS, *TIMES, *hive_types.STRINGS, "boolean", "binary"})
_REJECTED_TYPES: dict[str, frozenset[str]] = {
    "length": NUMBERS | TIMES | _NESTED | {"boolean"},
    **dict.fromkeys(("rlike", "regexp"), NUMBERS | TIMES | _NESTED | {"boolean"}),
    **dict.fromkeys(("trim", "ltrim", "rtrim"), NUMBERS | TIMES | _NESTED | {"boolean"}),
    **dict.fromkeys(("upper", "lower", "ucase", "lcase"), _NESTED),
    **dict.fromkeys(("char_length", "character_length", "octet_length"), NUMBERS | TIMES | _NESTED | {"boolean"}),
    "initcap": NUMBERS | TIMES | _NESTED | {"boolean"},
    **dict.fromkeys(("substr", "substring"), _NESTED),
    **dict.fromkeys(("map_keys", "map_values"), _SIMPLE | {"array", "struct"}),
    "sort_array": _SIMPLE | {"map", "struct"},
    **dict.fromkeys(("date_add", "date_sub"), NUMBERS | {"boolean"}),
    **dict.fromkeys(("round", "bround"), TIMES | _NESTED),
    "sqrt": TIMES | _NESTED,
    "base64": frozenset(hive_types.STRINGS),
    "sum": _NESTED | {"boolean"},
    "avg": _NESTED | {"boolean", "date"},
    **dict.fromkeys(("min", "max"), frozenset({"map"})),
    "size": _SIMPLE,
    "array_contains": _SIMPLE | {"map", "struct"},
    "abs": TIMES | _NESTED | {"boolean"},
}
"""The types that the first argument of each function cannot have."""
