"""Set operations at the top of a text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.resolver.resolved import ResolvedQuery
from hive_views.sql.text.quoting import quote_identifier, quote_qualified
from hive_views.sql.text.tokens import Text
from hive_views.sql.types.hive_types import INTEGERS, base
from hive_views.sql.writing.coral.edits import _LIST_ENDS, GROUPED_TYPES, Edit, given_parts, unused_name


def unions(resolution: ResolvedQuery) -> Iterator[Edit]:
    """`A UNION B` at the top becomes `SELECT … FROM (A UNION B) u`, whose branches have the same names and types."""
    text = resolution.text
    branches = _branches(resolution.tree, exp.Union)
    texts = _aligned_branches(resolution, branches)
    if texts is None:
        return
    alias = unused_name(text, "branches")
    columns = ", ".join(quote_qualified(alias, name, text.quote) for name, _ in resolution.columns)
    query = "".join(piece for pair in texts for piece in pair)
    yield _whole(text, f"SELECT {columns} FROM ({query}) {quote_identifier(alias, text.quote)}")


def intersections(resolution: ResolvedQuery) -> Iterator[Edit]:
    """`A INTERSECT B` and `A EXCEPT B` at the top become a GROUP BY over `A UNION ALL B`, where NULLs are equal."""
    tree, text = resolution.tree, resolution.text
    branches = _branches(tree, (exp.Intersect, exp.Except))
    kinds = [base(column.type) for _, column in resolution.columns if column.type is not None]
    is_grouped = len(kinds) == len(resolution.columns) and GROUPED_TYPES.issuperset(kinds)
    branch, alias = unused_name(text, "branch_number"), unused_name(text, "branches")
    texts = _aligned_branches(resolution, branches, more=quote_identifier(branch, text.quote))
    if texts is None or len(texts) != 2 or not is_grouped or not tree.args.get("distinct"):
        return
    columns = ", ".join(quote_qualified(alias, name, text.quote) for name, _ in resolution.columns)
    number = quote_qualified(alias, branch, text.quote)
    having = f"max({number}) = 1" if isinstance(tree, exp.Except) else f"min({number}) = 1 AND max({number}) = 2"
    query = f"{texts[0][0]} UNION ALL {texts[1][0]}"
    yield _whole(
        text,
        f"SELECT {columns} FROM ({query}) {quote_identifier(alias, text.quote)} GROUP BY {columns} HAVING {having}",
    )


def _branches(tree: exp.Expr, kind: type | tuple[type, ...]) -> list[exp.Select]:
    """Return the SELECT blocks of a chain of set operations at the top of a text; none if it has other parts."""
    branches: list[exp.Select] = []
    while isinstance(tree, kind):
        if not isinstance(tree.expression, exp.Select) or set(given_parts(tree)) - _SET_OPERATION:
            return []
        branches.append(tree.expression)
        tree = tree.this
    return [*branches, tree][::-1] if branches and isinstance(tree, exp.Select) else []


_SET_OPERATION = {"this", "expression", "distinct", "with_"}


def _top(text: Text, *kinds: TokenType) -> list[int]:
    """Return the tokens of some types outside of all parentheses."""
    return [at for at, kind in enumerate(text.kinds) if kind in kinds and text.enclosing[at] < 0]


def _whole(text: Text, query: str) -> Edit:
    """Replace a query after its WITH clause."""
    return _top(text, TokenType.SELECT)[0], len(text.tokens) - 1, query


def _aligned_branches(
    resolution: ResolvedQuery, branches: list[exp.Select], more: str | None = None
) -> list[tuple[str, str]] | None:
    """Return the text of each branch of a set operation with one name and type for each column, and its operator.

    None if the text or its types are not supported.
    """
    text, type_of = resolution.text, resolution.type_of
    starts = _top(text, TokenType.SELECT)
    if len(starts) != len(branches) or not branches or TokenType.HINT in text.kind_set:
        return None
    if len({len(branch.expressions) for branch in branches}) != 1 or any(map(_names_aliases, branches)):
        return None
    columns = [
        [type_of(node.unalias()) or "" for node in nodes] for nodes in zip(*map(_expressions, branches), strict=True)
    ]
    targets = [_one_type(types) for types in columns]
    operators = [*_top(text, TokenType.UNION, TokenType.INTERSECT, TokenType.EXCEPT), len(text.tokens)]
    texts = []
    for number, (start, end, branch) in enumerate(zip(starts, operators, branches, strict=False)):
        ranges = _items(text, start, end)
        if len(ranges) != len(targets):
            return None
        items = []
        for (first, last), node, (name, _), types, target in zip(
            ranges, branch.expressions, resolution.columns, columns, targets, strict=True
        ):
            if target is None:
                return None
            if isinstance(node, exp.Alias):
                last -= 2 if text.kinds[last - 1] is TokenType.ALIAS else 1
            value = (
                text.between(first, last)
                if types[number] == target
                else f"CAST({text.between(first, last)} AS {target})"
            )
            has_name = type(node) is exp.Column and node.name == name and types[number] == target
            items.append(value if has_name else f"{value} AS {quote_identifier(name, text.quote)}")
        if more is not None:
            items.append(f"{number + 1} AS {more}")
        head = text.between(start, ranges[0][0] - 1)
        tail = f" {text.between(ranges[-1][1] + 1, end - 1)}" if ranges[-1][1] + 1 < end else ""
        following = starts[number + 1] if number + 1 < len(starts) else end
        operator = f" {text.between(end, following - 1)} " if following > end else ""
        texts.append((f"{head} {', '.join(items)}{tail}", operator))
    return texts


def _names_aliases(branch: exp.Select) -> bool:
    """Return whether a clause of a block names an alias of its SELECT list.

    In an expanded text other columns have a table.
    """
    clauses = (branch.args.get(key) for key in ("group", "having", "order", "sort", "cluster", "distribute", "qualify"))
    aliases = {name.lower() for name in branch.named_selects}
    return any(
        not column.table or column.parts[0].name.lower() in aliases
        for clause in clauses
        if clause is not None
        for column in clause.find_all(exp.Column)
    )


_expressions = attrgetter("expressions")


def _items(text: Text, start: int, end: int) -> list[tuple[int, int]]:
    """Return the tokens of each element of the SELECT list of a block outside of parentheses."""
    first = start + 2 if text.kinds[start + 1] is TokenType.DISTINCT else start + 1
    stops = [at for at in range(first, end) if text.enclosing[at] < 0 and text.kinds[at] in _LIST_ENDS]
    return list(text.elements(first, (stops[0] if stops else end) - 1))


def _one_type(types: Sequence[str]) -> str | None:
    """Return the column type of a set operation if all engines agree: the common type, or the widest integer type."""
    typed = [kind for kind in types if kind != "void"]
    if not typed or "" in typed:
        return None
    if len(set(typed)) == 1:
        return typed[0]
    return max(typed, key=INTEGERS.index) if set(typed) <= set(INTEGERS) else None
