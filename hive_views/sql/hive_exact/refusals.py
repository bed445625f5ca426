"""What Hive refuses although every name is known: subqueries beside lateral views, arguments of another type.

Each rule was seen on a real Hive 4.1.0; the statements are in this package's test fixtures. They hold in mode
`hive-exact` only: there a text has to be refused where Hive refuses it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.hive_exact import operand_types
from hive_views.sql.parsing.syntax_tree import bare, function_token
from hive_views.sql.resolver.context import State
from hive_views.sql.resolver.scopes import Scope
from hive_views.sql.types import hive_types
from hive_views.sql.types.function_signatures import COUNTS, MEASURED_TYPES, TAKES_ONE, WITHOUT_ARGUMENTS

TypeOf = Callable[[exp.Expr], str | None]


def conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    """The conditions that AND puts together, parentheses taken off."""
    waiting = [node]
    while waiting:
        found = bare(waiting.pop())
        if type(found) is exp.And:
            waiting += [found.expression, found.this]
        else:
            yield found


def check_lateral_where(state: State, where: exp.Expr, laterals: list[exp.Expr]) -> None:
    """Subqueries in WHERE over a lateral view.

    With its cost based optimizer Hive moves one that asks about the table only below the lateral view, and then
    refuses the join that it made itself; without, it does not find a lateral view's alias beside a subquery.
    """
    aliases = {item.args["alias"].this.name.lower() for item in laterals if item.args.get("alias") is not None}
    asked = [
        column
        for column in where.find_all(exp.Column)
        if (bound := state.bindings.get(id(column))) is not None and bound.table in aliases
    ]
    for condition in conjuncts(where):
        if condition.find(exp.Select) is None:
            continue
        if state.cbo and not (asked and isinstance(condition, (exp.In, exp.Exists))):
            raise state.fail("JOIN with a LATERAL VIEW is not supported: Hive makes one of this subquery", condition)
        if not state.cbo:
            own = next(
                (column for column in condition.find_all(exp.Column) if any(column is one for one in asked)), None
            )
            if own is not None:
                raise state.fail(f"Invalid table alias '{own.table or own.name}' beside a subquery", own)


def iter_first(node: exp.Expr) -> list[exp.Expr]:
    """The first argument of a call, alone in a list; none where it has none."""
    first = next(node.iter_expressions(), None)
    return [] if first is None else [first]


def is_correlated(state: State, query: exp.Expr, outer: Scope) -> bool:
    """Whether a resolved query names a column of the block around it."""
    around = set(map(id, outer.columns))
    return any(id(state.bindings.get(id(column))) in around for column in query.find_all(exp.Column))


def check_function(state: State, name: str, node: exp.Expr, arguments: list[exp.Expr], type_of: TypeOf) -> None:
    """The type of a built-in function's first argument, where Hive is strict about it."""
    if name in ("coalesce", "nvl", "greatest", "least"):
        both = hive_types.choice if name in ("coalesce", "nvl") else hive_types.greatest
        operand_types.check_choice(state, list(node.iter_expressions()), type_of, both)
    _check_signature(state, name, node, type_of)
    refused = _REFUSED.get(name)
    if refused is None or not arguments:
        return
    type_text = element_type(state, arguments[0], type_of)
    if type_text is not None and hive_types.base(type_text) in refused:
        raise state.fail(f"Wrong arguments: {name}() does not take {type_text}", arguments[0], name)


def _check_signature(state: State, name: str, node: exp.Expr, type_of: TypeOf) -> None:
    """A call without arguments, or with one: whether the function takes that."""
    taken = TAKES_ONE.get(name)
    at = function_token(state.text, node)
    if (taken is None and name not in COUNTS) or at is None or at + 1 >= len(state.text.kinds):
        return
    if isinstance(node, (exp.Floor, exp.Ceil)) and node.args.get("to") is not None:  # floor(x TO DAY)
        if name != "floor":
            raise state.fail(f"Cannot read the text: Hive's {name}() has no TO", node, name)
        return
    opened = at + 1
    closed = state.text.match.get(opened)
    if state.text.kinds[opened] is not TokenType.L_PAREN or closed is None or isinstance(node.parent, exp.WithinGroup):
        return
    start = state.text.tokens[at].start
    if closed == opened + 1:
        if taken is not None and name not in WITHOUT_ARGUMENTS:
            raise state.fail(f"Arguments length mismatch: {name}() needs arguments", start, name)
        return
    count = _count_arguments(state, opened, closed)
    fewest, most = COUNTS.get(name, (count, count))
    if not fewest <= count <= most:
        raise state.fail(f"Arguments length mismatch: {name}() does not take {count} arguments", start, name)
    if count > 1 or taken is None:
        _check_second(state, name, node, type_of)
        return
    if not taken:
        raise state.fail(f"Arguments length mismatch: {name}() needs more than one argument", start, name)
    only = next(node.iter_expressions(), None)
    kind = element_type(state, _own(state, only, at), type_of) if only is not None else None
    base = hive_types.base(kind or "void")
    if base in MEASURED_TYPES and base not in taken:
        raise state.fail(f"Wrong arguments: {name}() does not take {kind}", start, name)


def _own(state: State, argument: exp.Expr, at: int | None) -> exp.Expr:
    """An argument as it was written: sqlglot puts functions of its own around some."""
    while isinstance(argument, exp.Func) and function_token(state.text, argument) == at:
        inner = next(argument.iter_expressions(), None)
        if inner is None:
            break
        argument = inner
    return argument


def _check_second(state: State, name: str, node: exp.Expr, type_of: TypeOf) -> None:
    """The second argument of functions of dates."""
    at = function_token(state.text, node)
    arguments = [_own(state, item, at) for item in node.iter_expressions()]
    kinds = [hive_types.base(type_of(item) or "void") for item in arguments[:2]]
    if name in ("date_add", "date_sub") and len(kinds) > 1:
        if kinds[1] not in ("tinyint", "smallint", "int", "void"):
            raise state.fail(f"Wrong arguments: {name}() does not take days of type {kinds[1]}", arguments[1], name)
    elif name in ("datediff", "months_between"):
        for item, kind in zip(arguments, kinds, strict=False):
            if kind in _NUMBERS or kind == "boolean":
                raise state.fail(f"Wrong arguments: {name}() does not take {kind}", item, name)


def _count_arguments(state: State, opened: int, closed: int) -> int:
    depth = 0
    count = 1
    for kind in state.text.kinds[opened + 1 : closed]:
        depth += (kind in _OPENING) - (kind in _CLOSING)
        count += kind is TokenType.COMMA and not depth
    return count


def check_condition(state: State, node: exp.Expr, type_of: TypeOf) -> None:
    """`if(condition, …)` and `case when condition`: Hive takes booleans only, and results of one type."""
    ifs = node.args.get("ifs") or () if type(node) is exp.Case else ()
    results = [item.args["true"] for item in ifs] if type(node) is exp.Case else [node.args.get("true")]
    last = node.args.get("default") if type(node) is exp.Case else node.args.get("false")
    if type(node) is exp.Case or type(node.parent) is not exp.Case:
        operand_types.check_choice(state, [item for item in (*results, last) if item is not None], type_of)
    if type(node) is exp.If:
        conditions = [] if type(node.parent) is exp.Case else [node.this]
    elif node.args.get("this") is None:
        conditions = [item.this for item in node.args.get("ifs") or ()]
    else:
        for item in node.args.get("ifs") or ():
            check_comparison(state, node.this, item.this, type_of)
        return
    for condition in conditions:
        type_text = type_of(condition)
        if type_text not in (None, "boolean", "void"):
            raise state.fail(f'Argument type mismatch: "boolean" is expected here, but {type_text} is found', condition)


def check_comparison(
    state: State, left: exp.Expr, right: exp.Expr, type_of: TypeOf, kind: type[exp.Expr] = exp.EQ
) -> None:
    """A comparison that loses digits is refused by default (`hive.strict.checks.type.safety`)."""
    one, other = type_of(left), type_of(right)
    if one is None or other is None:
        return
    if "void" not in (one, other) and not operand_types.compares(kind, one, other):
        raise state.fail(f"Wrong arguments: {one} and {other} cannot be compared", right)
    simple = (exp.Column, exp.Literal, exp.Dot, exp.Cast, exp.TryCast, exp.Subquery)
    if not isinstance(left, simple) or not isinstance(right, simple):
        return
    for exact, loose in ((one, other), (other, one)):
        base = hive_types.base(loose)
        lossy = (exact == "bigint" or exact.startswith("decimal")) and base in hive_types.STRINGS
        lossy = lossy or (exact == "bigint" and base == "double")
        if lossy or (exact == "timestamp" and base in (*hive_types.NUMERIC, "decimal")):
            raise state.fail(
                f"Unsafe compares between different types are disabled: {one} and {other} "
                "(hive.strict.checks.type.safety). Cast one of them",
                right,
            )


def check_index(state: State, node: exp.Bracket, type_of: TypeOf) -> None:
    """`array[index]`: Hive takes int and what becomes one without loss."""
    outer = element_type(state, node.this, type_of)
    if outer is not None and hive_types.base(outer) not in ("array", "map", "void"):
        raise state.fail(f"[] not valid on non-collection types: {outer}", node)
    if outer is None or hive_types.base(outer) != "array" or len(node.expressions) != 1:
        return
    index = type_of(node.expressions[0])
    if index not in (None, "tinyint", "smallint", "int", "void"):
        raise state.fail(f"Not proper type for index of ARRAY: only integers are supported, not {index}", node)


def element_type(state: State, node: exp.Expr, type_of: TypeOf) -> str | None:
    """The type of an operand; to Hive a field of a list of structs is one value there, not a list of them."""
    found = type_of(node)
    node = bare(node)
    if found is None or hive_types.base(found) != "array" or type(node) not in (exp.Column, exp.Dot):
        return found
    column = state.bindings.get(id(node))
    last = (node.parts[-1] if isinstance(node, exp.Column) else node.expression).name.lower()
    listed = column is not None and column.name != last and hive_types.base(column.type or "") == "array"
    if not listed and type(node) is exp.Dot:
        listed = hive_types.base(type_of(node.this) or "") == "array"
    return hive_types.arguments(found)[0] if listed else found


def check_grouping_sets(state: State, keys: list[exp.Expr], key_of: Callable[[exp.Expr], str]) -> None:
    """ROLLUP and CUBE with one key twice: Hive's planner fails (`must be sorted`)."""
    seen: set[str] = set()
    for item in keys:
        text = key_of(item)
        if text in seen:
            raise state.fail("ROLLUP or CUBE with the same key twice: Hive cannot plan it", item)
        seen.add(text)


_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET})
_NUMBERS = frozenset({*hive_types.NUMERIC, "decimal"})
_NESTED = frozenset({"array", "map", "struct"})
_TIMES = frozenset({"date", "timestamp"})
_SIMPLE = frozenset({*_NUMBERS, *_TIMES, *hive_types.STRINGS, "boolean", "binary"})
_REFUSED: dict[str, frozenset[str]] = {
    "length": _NUMBERS | _TIMES | _NESTED | {"boolean"},
    **dict.fromkeys(("rlike", "regexp"), _NUMBERS | _TIMES | _NESTED | {"boolean"}),
    **dict.fromkeys(("trim", "ltrim", "rtrim"), _NUMBERS | _TIMES | _NESTED | {"boolean"}),
    **dict.fromkeys(("upper", "lower", "ucase", "lcase"), _NESTED),
    **dict.fromkeys(("char_length", "character_length", "octet_length"), _NUMBERS | _TIMES | _NESTED | {"boolean"}),
    "initcap": _NUMBERS | _TIMES | _NESTED | {"boolean"},
    **dict.fromkeys(("substr", "substring"), _NESTED),
    **dict.fromkeys(("map_keys", "map_values"), _SIMPLE | {"array", "struct"}),
    "sort_array": _SIMPLE | {"map", "struct"},
    **dict.fromkeys(("date_add", "date_sub"), _NUMBERS | {"boolean"}),
    **dict.fromkeys(("round", "bround"), _TIMES | _NESTED),
    "sqrt": _TIMES | _NESTED,
    "base64": frozenset(hive_types.STRINGS),
    "sum": _NESTED | {"boolean"},
    "avg": _NESTED | {"boolean", "date"},
    **dict.fromkeys(("min", "max"), frozenset({"map"})),
    "size": _SIMPLE,
    "array_contains": _SIMPLE | {"map", "struct"},
    "abs": _TIMES | _NESTED | {"boolean"},
}
"""For each function the types that its first argument cannot have."""
