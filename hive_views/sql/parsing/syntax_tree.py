"""Token ranges of sqlglot's nodes, and small queries about its syntax trees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.text.tokens import Text


def child_expressions(value: Any) -> list[exp.Expr]:
    """Return the nodes in one argument of a node: the argument itself, or the nodes in its list."""
    if isinstance(value, exp.Expr):
        return [value]
    if isinstance(value, list):
        return [item for item in value if isinstance(item, exp.Expr)]
    return []


def start_offsets(node: exp.Expr) -> list[int]:
    """Return the text offsets of all names and calls in an expression, in no particular order."""
    offsets: list[int] = []
    stack = [node]
    while stack:
        current = stack.pop()
        meta = current._meta
        if meta and "start" in meta:
            offsets.append(meta["start"])
        for value in current.args.values():
            if isinstance(value, exp.Expr):
                stack.append(value)
            elif isinstance(value, list):
                stack += [item for item in value if isinstance(item, exp.Expr)]
    return offsets


def first_offsets_of(tree: exp.Expr) -> dict[int, int]:
    """Return the smallest of the `start_offsets` of each node of a tree, by the node's `id`."""
    first: dict[int, int] = {}
    for node in reversed(list(tree.walk())):  # each node before its parent
        offsets = [first[id(node)]] if id(node) in first else []
        if node._meta and "start" in node._meta:
            offsets.append(node._meta["start"])
        if offsets:
            first[id(node)] = min(offsets)
            if node.parent is not None:
                first[id(node.parent)] = min(first.get(id(node.parent), first[id(node)]), first[id(node)])
    return first


def unwrapped(node: exp.Expr) -> exp.Expr:
    """Return an expression without its alias and the parentheses around it."""
    if type(node) is exp.Alias:
        node = node.this
    while type(node) is exp.Paren:
        node = node.this
    return node


def conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the conditions that AND combines, without parentheses."""
    stack = [node]
    while stack:
        condition = unwrapped(stack.pop())
        if type(condition) is exp.And:
            stack += [condition.expression, condition.this]
        else:
            yield condition


def table_nodes(tree: exp.Expr) -> Iterator[exp.Table]:
    """Yield the nodes that name the tables and views that a tree reads; not CTEs and the targets of writes."""
    nodes = relation_nodes(tree)
    return (node for node in nodes if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier))


def relation_nodes(tree: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the nodes from which a tree may read rows, except queries: tables, functions, the arguments `TABLE(…)`.

    Includes every other part of FROM that is neither a query nor VALUES.
    """
    stack: list[tuple[exp.Expr, frozenset[str]]] = [(tree, frozenset())]
    while stack:
        node, visible = stack.pop()
        kind = type(node)
        if kind is exp.Hint:
            continue  # BROADCAST(name) repeats a name of the FROM clause
        with_ = node.args.get("with_")
        if with_ is not None:
            recursive = bool(with_.args.get("recursive"))
            for cte in with_.expressions:
                own = visible | {cte.alias.lower()}
                stack.append((cte.this, own if recursive else visible))
                visible = own
        if isinstance(node, exp.Table):
            is_cte = isinstance(node.this, exp.Identifier) and len(node.parts) == 1 and node.name.lower() in visible
            if not is_cte:
                yield node
        elif kind is exp.Anonymous and node.name.upper() == "TABLE":
            argument = node.expressions[0] if len(node.expressions) == 1 else node
            if not (isinstance(argument, exp.Column) and not argument.table and argument.name.lower() in visible):
                yield node
        elif kind is exp.Lateral and not node.args.get("view"):
            yield node
        elif kind in (exp.From, exp.Join) and not isinstance(node.this, _RELATIONS):
            yield node.this
        for name, value in node.args.items():
            if name == "with_" or (name == "this" and isinstance(node, _WRITERS)):
                continue
            for item in value if isinstance(value, list) else (value,):
                if isinstance(item, exp.Expr):
                    stack.append((item, visible))


_RELATIONS = (exp.Table, exp.Query, exp.Values, exp.Unnest, exp.Lateral, exp.Paren)
_WRITERS = (exp.Insert, exp.Create, exp.Merge, exp.Cache, exp.Delete, exp.Update, exp.Drop)


def begins_with_with(query: exp.Expr) -> bool:
    """Return whether a query, in parentheses or not, begins with WITH."""
    while type(query) in (exp.Subquery, exp.Paren):
        if query.args.get("with_") is not None:
            return True
        query = query.this
    return query.args.get("with_") is not None


def is_star(item: exp.Expr) -> bool:
    """Return whether an item of a SELECT list is `*` or `t.*`."""
    return type(item) is exp.Star or (type(item) is exp.Column and type(item.this) is exp.Star)


def comparison_key(node: exp.Expr) -> str:
    """Return a text that is equal for expressions whose Hive trees are equal, ignoring parentheses and case."""
    kind = type(node)
    if kind is exp.Paren:
        return comparison_key(node.this)
    if kind is exp.Column and "db" not in node.args:
        table = node.args.get("table")
        name = f"(tok_table_or_col {(table or node.args['this']).name.lower()})"
        return name if table is None else f"(. {name} {node.args['this'].name.lower()})"
    if isinstance(node, exp.Column):
        return _dotted([part.name.lower() for part in node.parts])
    if kind is exp.Dot:
        return f"(. {comparison_key(node.this)} {node.expression.name.lower()})"
    if kind is exp.Literal:
        return f"'{node.this}'" if node.is_string else node.this
    if kind is exp.Identifier or kind is exp.Var:
        return str(node.this).lower()
    pieces = []
    for name, value in node.args.items():
        if isinstance(value, exp.Expr):
            pieces.append(f"{name}={comparison_key(value)}")
        elif isinstance(value, list):
            items = (comparison_key(item) if isinstance(item, exp.Expr) else str(item) for item in value)
            pieces.append(f"{name}=[{','.join(items)}]")
        elif value is not None and value is not False:
            pieces.append(f"{name}={str(value).lower()}")
    return f"{kind.__name__}({';'.join(pieces)})"


def _dotted(names: list[str]) -> str:
    result = f"(tok_table_or_col {names[0]})"
    for name in names[1:]:
        result = f"(. {result} {name})"
    return result


def function_token(text: Text, node: exp.Expr) -> int | None:
    """Return the index of the token that is a function's name; None if the node is not written as a call."""
    meta = node._meta
    if meta and "start" in meta:
        return text.starts.get(meta["start"])
    if isinstance(node, _NO_FUNCTION) or (type(node) is exp.If and type(node.parent) is exp.Case):
        return None
    index = text.starts.get(min(start_offsets(node), default=-1))
    if index is None:
        return None
    at = text.enclosing[index]
    while at > 0 and text.kinds[at - 1] is TokenType.L_PAREN:
        at -= 1  # parentheses around the first argument
    if at <= 0 or (type(node) is exp.Concat and text.raw(at - 1).lower() != "concat"):
        return None  # adjacent strings are parsed as concat()
    return at - 1


def token_span(text: Text, node: exp.Expr) -> tuple[int, int] | None:
    """Return the first and last token of an expression; None if the tree does not contain them."""
    first: int | None = None
    last: int | None = None
    meta = node._meta
    if meta and "start" in meta:
        first = last = text.starts.get(meta["start"])
        if first is None:
            return None
        if isinstance(node, exp.Func) and _is(text, first + 1, TokenType.L_PAREN):
            return first, text.match.get(first + 1, first)
        if isinstance(node, exp.Func):
            return first, first
    if isinstance(node, exp.Binary) and not (meta and "start" in meta):
        return _chain(text, node)
    unknown = False
    for value in node.args.values():
        for item in value if isinstance(value, list) else [value]:
            if not isinstance(item, exp.Expr) or type(item) in _WITHOUT_POSITION:
                continue
            inner = token_span(text, item)
            if inner is None:
                unknown = True
                continue
            first = inner[0] if first is None else min(first, inner[0])
            last = inner[1] if last is None else max(last, inner[1])
    if first is None or last is None or unknown:
        return None
    return _around(text, node, first, last)


def _chain(text: Text, node: exp.Expr) -> tuple[int, int] | None:
    """Return the tokens of `a + b + …` without recursion: from the leftmost operand to the last one."""
    left: exp.Expr = node
    while isinstance(left, exp.Binary) and not (left._meta and "start" in left._meta):
        left = left.this
    right = node.args.get("expression")
    begin = token_span(text, left) if isinstance(left, exp.Expr) else None
    if begin is None:
        return None
    if type(right) in _WITHOUT_POSITION:
        inner = token_span(text, node.this)
        return _around(text, node, begin[0], inner[1]) if inner is not None else None
    finish = token_span(text, right) if isinstance(right, exp.Expr) else None
    return (begin[0], finish[1]) if finish is not None else None


def _around(text: Text, node: exp.Expr, first: int, last: int) -> tuple[int, int] | None:
    """Extend the token range of an expression's operands by the expression's own keywords and parentheses."""
    kind = type(node)
    if kind is exp.Paren:
        return first - 1, last + 1
    if kind in (exp.Cast, exp.TryCast):
        if _is(text, first - 1, TokenType.L_PAREN):
            return first - 2, text.match.get(first - 1, last)
        return (first - 1, last) if kind is exp.Cast else (first, last)
    if isinstance(node, exp.Func) and kind is not exp.Case and not isinstance(node, _NO_FUNCTION):
        name = function_token(text, node)
        if name is not None:
            return name, text.match.get(name + 1, last)
    if kind is exp.Case:
        while first > 0 and text.tokens[first].token_type is not TokenType.CASE:
            first -= 1
        while last < len(text.tokens) - 1 and text.tokens[last].token_type is not TokenType.END:
            last += 1
        return first, last
    if kind in (exp.Not, exp.Neg, exp.BitwiseNot) and first > 0:
        return (first - 1, last) if text.tokens[first - 1].token_type in _SIGNS else (first, last)
    if kind is exp.Window:
        return first, _window_end(text, node, last)
    if kind is exp.Bracket:
        return first, last + 1
    if kind is exp.In:
        return first, last + 1
    if type(node.args.get("expression")) in (exp.Null, exp.Boolean):
        for ahead in range(last + 1, min(last + 5, len(text.tokens))):
            if text.tokens[ahead].token_type in _CONSTANTS:
                return first, ahead
    return first, last


def _window_end(text: Text, node: exp.Expr, last: int) -> int:
    """Return the last token of `f(…) OVER (…)` or `f(…) OVER name`."""
    function = token_span(text, node.this)
    at = function[1] if function is not None else last
    while at < len(text.tokens) - 1 and text.tokens[at].token_type is not TokenType.OVER:
        at += 1
    return text.match.get(at + 1, min(at + 1, len(text.tokens) - 1))


def _is(text: Text, index: int, kind: TokenType) -> bool:
    return 0 <= index < len(text.tokens) and text.tokens[index].token_type is kind


_NO_FUNCTION = (exp.Binary, exp.Connector, exp.Cast, exp.Case, exp.Interval, exp.Subquery, exp.Predicate)
_WITHOUT_POSITION = (exp.DataType, exp.Null, exp.Boolean, exp.Var)
_SIGNS = (TokenType.NOT, TokenType.DASH, TokenType.TILDE)
_CONSTANTS = (TokenType.NULL, TokenType.TRUE, TokenType.FALSE)


def select_item_ends(text: Text, select: exp.Select) -> list[int | None]:
    """Return the last token of each item of a SELECT list; None where it is unknown.

    An item whose nodes have no position (`true`, `current_date`) ends at the next comma.
    """
    ends = [select_item_end(text, item) for item in select.expressions]
    for position in range(1, len(ends)):
        before = ends[position - 1]
        if ends[position] is None and before is not None:
            ends[position] = _end_forward(text, before + 2)
    missing = next((position for position in range(len(ends) - 1, -1, -1) if ends[position] is None), None)
    if missing is not None:
        _fill_backward(text, select, ends, missing)
    return ends


def _end_forward(text: Text, index: int) -> int | None:
    """Return the last token of the item that begins at a token."""
    if index >= len(text.tokens):
        return None
    while index < len(text.tokens):
        if text.tokens[index].token_type in (TokenType.L_PAREN, TokenType.L_BRACKET):
            index = text.match.get(index, index)
        if index + 1 >= len(text.tokens) or text.tokens[index + 1].token_type in (*_ITEM_ENDS, TokenType.R_PAREN):
            return index
        index += 1
    return None


def _fill_backward(text: Text, select: exp.Select, ends: list[int | None], position: int) -> None:
    """Fill in the ends of the first items, backwards from the position of what follows them."""
    index = _start_of_next(text, select, position)
    while index is not None and position >= 0:
        index -= 1
        if index < 0 or text.tokens[index].token_type not in (TokenType.COMMA, TokenType.FROM):
            return
        ends[position] = index - 1
        position -= 1
        while index > 0 and (position < 0 or text.tokens[index - 1].token_type is not TokenType.COMMA):
            index -= 1
            if text.tokens[index].token_type in (TokenType.R_PAREN, TokenType.R_BRACKET):
                index = text.match.get(index, index)
            if text.tokens[index].token_type is TokenType.SELECT:
                return


def _start_of_next(text: Text, select: exp.Select, position: int) -> int | None:
    """Return the first token of the next item, or of the FROM clause's table."""
    clause = select.args.get("from_")
    following = select.expressions[position + 1] if position + 1 < len(select.expressions) else clause
    if following is None or (following is clause and not isinstance(clause.this, exp.Table)):
        return None
    return text.starts.get(min(start_offsets(following), default=-1))


def select_item_end(text: Text, item: exp.Expr) -> int | None:
    """Return the last token of an item of a SELECT list; None if no node in it has a position.

    The tree does not contain the ends of CASE, INTERVAL and other expressions, so the tokens are searched.
    """
    indexes = [text.starts[start] for start in start_offsets(item) if start in text.starts]
    if not indexes:
        return None
    first, index = min(indexes), max(indexes)
    tokens = token_span(text, item)
    if tokens is not None:
        index = max(index, tokens[1])
    block = text.enclosing[first]  # after the loop: the parenthesis around the whole SELECT
    inner_queries = _queries_around(item, text.tokens[first].start) if block >= 0 else 0
    while block >= 0 and (text.kinds[block + 1] not in _QUERY_STARTS or inner_queries):
        inner_queries -= text.kinds[block + 1] in _QUERY_STARTS
        block = text.enclosing[block]
    while index + 1 < len(text.kinds):
        following = text.kinds[index + 1]
        if following in (TokenType.R_PAREN, TokenType.R_BRACKET):
            if text.match.get(index + 1, block) == block:
                return index
            index += 1
            continue
        around = text.enclosing[index + 1]
        if around == block and following in _ITEM_ENDS:
            return index
        index = text.match.get(index + 1 if around == block else around, index + 1)
    return index


def select_item_tokens(text: Text, items: list[exp.Expr], position: int) -> tuple[int, int] | None:
    """Return the first and last token of an item of a SELECT list without its alias; None if they are not found."""
    item = items[position]
    last = select_item_end(text, item)
    if type(item) is exp.Alias:
        index = text.token_of(item.args["alias"])
        last = index - 2 if index is not None and text.kinds[index - 1] is TokenType.ALIAS else (index or 0) - 1
    before = select_item_end(text, items[position - 1]) if position else None
    if before is not None:
        first = before + 2
    else:
        first = text.starts.get(min(start_offsets(item), default=-1), 0)
        while first > 0 and text.kinds[first - 1] not in _BEFORE_FIRST_ITEM:
            first -= 1
    return (first, last) if last is not None and first <= last else None


def _queries_around(item: exp.Expr, start: int) -> int:
    """Return the number of queries in an expression that contain the node at a character."""
    node: exp.Expr | None = next(
        (node for node in item.walk() if node._meta and node._meta.get("start") == start), None
    )
    queries = 0
    while node is not None and node is not item.parent:
        queries += isinstance(node, exp.Select)
        node = node.parent
    return queries


_BEFORE_FIRST_ITEM = frozenset({TokenType.SELECT, TokenType.DISTINCT, TokenType.ALL, TokenType.HINT, TokenType.COMMA})
_QUERY_STARTS = frozenset({TokenType.SELECT, TokenType.WITH, TokenType.FROM, TokenType.TABLE})
_ITEM_ENDS = frozenset(
    {
        *(TokenType.COMMA, TokenType.FROM, TokenType.ALIAS, TokenType.WHERE, TokenType.LIMIT, TokenType.ORDER_BY),
        *(TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT, TokenType.GROUP_BY, TokenType.HAVING),
        TokenType.PIPE_GT,
    }
)
