"""Joins, semi joins and subqueries that become joins."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.resolver.resolved import ResolvedQuery
from hive_views.sql.text.quoting import quote_identifier, quote_qualified
from hive_views.sql.writing.coral.edits import (
    Edit,
    call_tokens,
    clause_end,
    foreign_columns,
    from_token,
    given_parts,
    has_plain_joins,
    source_tokens,
    unused_name,
)


def join_conditions(resolution: ResolvedQuery) -> Iterator[Edit]:
    """`a CROSS JOIN b`, `a JOIN b` and `a, b` become `a JOIN b ON true`.

    In Spark a comma binds less tightly than JOIN, which makes a difference only before RIGHT, FULL, USING and NATURAL.
    """
    text = resolution.text
    for select in resolution.tree.find_all(exp.Select):
        joins = select.args.get("joins") or []
        binds_less = any(join.side in ("RIGHT", "FULL") or join.args.get("using") or join.method for join in joins)
        if not has_plain_joins(select):
            continue
        for join in joins:
            if join.side or join.method or join.kind in ("SEMI", "ANTI"):
                continue
            span = source_tokens(text, join.this)
            # sqlglot adds `ON true` to a JOIN without a condition.
            if span is None or text.kinds[span[1] + 1 : span[1] + 2] in ([TokenType.ON], [TokenType.USING]):
                continue
            before = span[0] - 1
            if text.kinds[before] is TokenType.COMMA and not binds_less:
                yield before, before, " JOIN"
            elif text.kinds[before - 1 : before + 1] == [TokenType.CROSS, TokenType.JOIN]:
                yield before - 1, before, "JOIN"
            elif text.kinds[before] is not TokenType.JOIN:
                continue
            yield span[1], span[1], f"{text.raw(span[1])} ON true"


def using_joins(resolution: ResolvedQuery) -> Iterator[Edit]:
    """`a JOIN b USING (k)` becomes `a JOIN b ON a.k = b.k`, in a block of two tables with qualified columns."""
    text = resolution.text
    for select in resolution.tree.find_all(exp.Select):
        joins, from_ = select.args.get("joins") or [], select.args.get("from_")
        if (
            len(joins) != 1
            or from_ is None
            or not joins[0].args.get("using")
            or joins[0].side == "FULL"
            or joins[0].kind not in ("", "INNER")
        ):
            continue
        left, right = source_tokens(text, from_.this), source_tokens(text, joins[0].this)
        if left is None or right is None or resolution.query.depends_on_using or not has_plain_joins(select):
            continue
        tables = [source.alias_or_name for source in (from_.this, joins[0].this)]
        keys = [identifier.name for identifier in joins[0].args["using"]]
        condition = " AND ".join(
            " = ".join(quote_qualified(table, key, text.quote) for table in tables) for key in keys
        )
        yield right[1] + 1, text.match[right[1] + 2], f"ON {condition}"


def semi_joins(resolution: ResolvedQuery) -> Iterator[Edit]:
    """`a LEFT SEMI JOIN b ON a.x = b.y` becomes `a WHERE EXISTS (SELECT 1 FROM b WHERE a.x = b.y)`.

    LEFT ANTI JOIN becomes NOT EXISTS.
    """
    text = resolution.text
    for select in resolution.tree.find_all(exp.Select):
        joins = select.args.get("joins") or []
        if not joins or joins[-1].kind not in ("SEMI", "ANTI") or not has_plain_joins(select):
            continue
        span, condition = source_tokens(text, joins[-1].this), joins[-1].args.get("on")
        where = select.args.get("where")
        if (
            span is None
            or condition is None
            or not _is_equality(condition, joins[-1].alias_or_name)
            or (where is not None and where.find(exp.Query) is not None)
        ):
            continue
        first, on, last = span[0] - 1, span[1] + 1, clause_end(text, span[1])
        while text.kinds[first - 1] in (TokenType.LEFT, TokenType.SEMI, TokenType.ANTI):
            first -= 1
        exists = f"EXISTS (SELECT 1 FROM {text.between(*span)} WHERE {text.between(on + 1, last)})"
        exists = exists if joins[-1].kind == "SEMI" else f"NOT {exists}"
        if where is None:
            yield first, last, f"WHERE {exists}"
        else:
            end = clause_end(text, last + 1)
            yield first, end, f"WHERE {exists} AND ({text.between(last + 2, end)})"
        return


def _is_equality(condition: exp.Expr, table: str) -> bool:
    """Return whether a condition consists of equalities between a column of a table and one of another table."""
    if isinstance(condition, exp.And):
        return _is_equality(condition.left, table) and _is_equality(condition.right, table)
    sides = [condition.args.get("this"), condition.args.get("expression")]
    tables = [side.table.lower() for side in sides if type(side) is exp.Column and len(side.parts) == 2]
    return type(condition) is exp.EQ and len(tables) == 2 and tables.count(table.lower()) == 1 and "" not in tables


def scalar_subqueries(resolution: ResolvedQuery) -> Iterator[Edit]:
    """Yield a subquery of one aggregate in WHERE, HAVING or a SELECT list becomes a joined table of one row."""
    text = resolution.text
    for subquery in resolution.tree.find_all(exp.Subquery):
        inner, block = subquery.this, subquery.find_ancestor(exp.Select)
        if not isinstance(block, exp.Select) or not _has_one_row(inner) or not _takes_join(block, subquery):
            continue
        if next(foreign_columns(inner), None) is not None:
            continue
        call = call_tokens(text, next(inner.expressions[0].find_all(*_AGGREGATES)))
        open_ = -1 if call is None else text.enclosing[call[0]]
        while open_ >= 0 and text.kinds[open_ + 1] is not TokenType.SELECT:
            open_ = text.enclosing[open_]
        if open_ < 0:
            continue
        alias, column = unused_name(text, "scalar"), inner.expressions[0].alias or unused_name(text, "value")
        if column.lower() in {name.lower() for name in block.named_selects}:
            continue  # HAVING and ORDER BY of the outer query can use this name for a column of the outer query
        inner_from = from_token(text, open_ + 1, open_)
        if inner_from is None:
            continue
        query = text.between(open_ + 1, text.match[open_] - 1)
        if not inner.expressions[0].alias:
            items, rest = text.between(open_ + 1, inner_from - 1), text.between(inner_from, text.match[open_] - 1)
            query = f"{items} AS {quote_identifier(column, text.quote)} {rest}"
        level = text.enclosing[open_]
        while level >= 0 and text.kinds[level + 1] not in (TokenType.SELECT, TokenType.WITH):
            level = text.enclosing[level]
        clause = subquery.find_ancestor(exp.Where, exp.Having, exp.Select)
        outer_from = from_token(text, open_, level, before=clause is not block)
        if outer_from is None:
            continue
        last = clause_end(text, outer_from)
        value = quote_qualified(alias, column, text.quote)
        yield open_, text.match[open_], f"max({value})" if isinstance(clause, exp.Having) else value
        yield last, last, f"{text.raw(last)} JOIN ({query}) {quote_identifier(alias, text.quote)} ON true"
        return


_AGGREGATES = (exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Count)


def _has_one_row(query: exp.Expr) -> bool:
    """Return whether a query computes one value from aggregates, without GROUP BY."""
    if not isinstance(query, exp.Select) or set(given_parts(query)) - {"expressions", "from_", "joins", "where"}:
        return False
    if len(query.expressions) != 1 or query.args.get("from_") is None:
        return False
    value = query.expressions[0]
    aggregates = list(value.find_all(exp.AggFunc))
    return (
        bool(aggregates)
        and all(isinstance(item, _AGGREGATES) for item in aggregates)
        and value.find(exp.Window, exp.Query, exp.Filter) is None
        and all(column.find_ancestor(*_AGGREGATES) is not None for column in value.find_all(exp.Column))
    )


def _takes_join(block: exp.Select, subquery: exp.Subquery) -> bool:
    """Return whether a subquery in a clause of a block can become a table of its FROM clause."""
    node: exp.Expr | None = subquery.parent
    while node is not block and not isinstance(node, (exp.Where, exp.Having)):
        # In HAVING the value is written as an aggregate, which cannot be inside another aggregate.
        if node is None or isinstance(node, (*_CONTEXTS, exp.AggFunc, exp.Anonymous)):
            return False
        node = node.parent
    is_joinable = block.args.get("from_") is not None and has_plain_joins(block)
    if not is_joinable or block.find_ancestor(exp.In, exp.Exists) is not None:
        return False
    group = block.args.get("group")
    if isinstance(node, exp.Having):
        return node.parent is block and group is not None and set(given_parts(group)) == {"expressions"}
    if isinstance(node, exp.Where):
        return node.parent is block
    is_aggregated = any(
        aggregate.find_ancestor(exp.Window, exp.Select) is block
        for item in (*block.expressions, block.args.get("order"))
        if item is not None
        for aggregate in item.find_all(exp.AggFunc, exp.Anonymous)  # which may be an aggregate
    )
    return group is None and block.args.get("having") is None and not is_aggregated


_CONTEXTS = (
    *(exp.In, exp.Exists, exp.Filter, exp.Window, exp.Join, exp.From, exp.Lateral),
    *(exp.Group, exp.Order, exp.With),
)
"""The parents under which a subquery is kept: it is not a value there, or not computed before grouping."""
