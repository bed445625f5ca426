"""Rules that rewrite an expanded text so that Trino's Hive connector reads it, with the same rows in Hive and Spark.

The connector translates the text in the metastore's row with Coral, which refuses some constructs of Hive and Spark and
reads others in another way (docs/trino.md). Each rule replaces one construct by another one that Hive, plain Spark and
Trino read alike; `tests/unit/sql/fixtures/coral_rules.jsonl` has an example of each. A rule that does not apply leaves
the text unchanged. After a rule the text must have the columns, types and names that it had before, or the rule is
taken back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from operator import attrgetter

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.errors import SqlError
from hive_views.sql.analysis.trino_translation import (
    AVERAGED_DIGITS,
    Outcome,
    TrinoFinding,
    average_types,
    is_exact_quotient,
    severity,
    trino_findings,
)
from hive_views.sql.parsing.ddl import unescape
from hive_views.sql.parsing.lexer import Text
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.parsing.syntax_tree import comparison_key, function_token, token_span, unwrapped
from hive_views.sql.resolver.resolver import Resolution
from hive_views.sql.resolver.scopes import Schemas, TableSchema
from hive_views.sql.rewriting.definition import hive_text
from hive_views.sql.rewriting.expand import Expansion, expand
from hive_views.sql.rewriting.quoting import quote_identifier, quote_qualified
from hive_views.sql.rewriting.token_edits import TokenEdits
from hive_views.sql.types.hive_types import INTEGERS, base, decimal

Edit = tuple[int, int, str]
"""The first and the last token of a range, and the text that replaces it. Of overlapping ranges the widest counts."""
Rule = Callable[[Resolution], Iterator[Edit]]
"""Yields edits that belong together. A rule is repeated as long as it yields any."""

_ROUNDS = 20
"""How often a rule is repeated, for constructs inside each other."""


def row_text(
    dialect: str,
    expansion: Expansion,
    schemas: Schemas,
    *,
    database: str,
    functions: Mapping[str, str] | None = None,
) -> str | None:
    """Return `hive_text`, rewritten for Trino's Hive connector where that helps."""
    sql = hive_text(dialect, expansion, schemas, database=database, functions=functions)
    if sql is None:
        return None
    if not any(isinstance(node, _KINDS) for node in expansion.resolution.tree.walk()):
        return sql
    dialect = "hive" if dialect == "trino" else dialect
    return rewrite_for_coral(sql, schemas, database=database, dialect=dialect, functions=functions)


def rewrite_for_coral(
    sql: str, schemas: Schemas, *, database: str, dialect: str, functions: Mapping[str, str] | None = None
) -> str:
    """Return an expanded text with the rules applied, if Trino reads the result better."""
    plain = _WithoutTimeZones(schemas)
    rewritten = apply_rules(sql, plain, database=database, dialect=dialect, functions=functions)
    if rewritten == sql:
        return sql
    before, after = (_severity(text, plain, database, functions) for text in (sql, rewritten))
    return rewritten if after < before else sql


def apply_rules(
    sql: str, schemas: Schemas, *, database: str, dialect: str, functions: Mapping[str, str] | None = None
) -> str:
    """Return an expanded text with the rules applied; the text itself if it cannot be resolved."""

    def read(text: str) -> Expansion | None:
        try:
            result = expand(text, schemas, database=database, dialect=dialect, functions=functions)
        except SqlError:
            return None
        return result if result.expanded == text else None

    current = read(sql)
    if current is None:
        return sql
    kinds = {type(node) for node in current.resolution.tree.walk()}
    for rule in dict.fromkeys(rule for rule, kind in RULES if kind in kinds):
        for _ in range(_ROUNDS):
            rewritten = read(_apply(rule, current.resolution))
            if rewritten is None or rewritten.expanded == current.expanded or rewritten.columns != current.columns:
                break
            current = rewritten
    return current.expanded


def _severity(sql: str, schemas: Schemas, database: str, functions: Mapping[str, str] | None) -> int:
    """Rank what Trino does with a text; one that is not Hive's is refused."""
    try:
        findings = trino_findings(sql, schemas, database=database, functions=functions)
    except SqlError as error:
        findings = (TrinoFinding(Outcome.REFUSED, error.reason),)
    return severity(findings)


class _WithoutTimeZones:
    """Schemas whose timestamps have one type, so that a text does not depend on how its reader names them."""

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas

    def table(self, database: str, name: str) -> TableSchema | None:
        schema = self._schemas.table(database, name)
        if schema is None:
            return None
        columns = ((column, _TIMESTAMP.sub("timestamp", kind)) for column, kind in schema.columns)
        return replace(schema, columns=tuple(columns))


_TIMESTAMP = re.compile("timestamp(_ntz| with local time zone)")


def _apply(rule: Rule, resolution: Resolution) -> str:
    edits = TokenEdits(resolution.text)
    for edit in rule(resolution):
        edits.replace(*edit)
    return edits.apply()


# -- Positions ---------------------------------------------------------------------------------------------------------

_CLAUSES = frozenset(
    {
        *(TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY, TokenType.CLUSTER_BY),
        *(TokenType.SORT_BY, TokenType.DISTRIBUTE_BY, TokenType.LIMIT, TokenType.UNION, TokenType.INTERSECT),
        *(TokenType.EXCEPT, TokenType.WINDOW, TokenType.QUALIFY, TokenType.OFFSET, TokenType.LATERAL),
    }
)
"""The tokens that begin a clause after FROM."""
_LIST_ENDS = frozenset({TokenType.FROM, *_CLAUSES})


def _clause_end(text: Text, index: int) -> int:
    """Return the last token before the next clause of a query block, from a token of the block."""
    outer = text.enclosing(index)
    end = text.match[outer] if outer >= 0 else len(text.tokens)
    for at in range(index + 1, end):
        if text.kinds[at] in _CLAUSES and text.enclosing(at) == outer:
            return at - 1
    return end - 1


def _written(text: Text, node: exp.Expr) -> tuple[int, int] | None:
    """Return the tokens of an expression, if they are read as the same expression when they stand alone."""
    span = token_span(text, node)
    if span is None:
        return None
    try:
        (item,) = parse_query(f"SELECT {text.between(*span)}", text.dialect).tree.expressions
    except (SqlError, ValueError):
        return None
    return span if comparison_key(item) == comparison_key(node) else None


def _call(text: Text, node: exp.Expr) -> tuple[int, int] | None:
    """Return the tokens of a function call, from its name to its parenthesis."""
    name = function_token(text, node)
    return None if name is None or name + 1 not in text.match else (name, text.match[name + 1])


def _source(text: Text, node: exp.Expr) -> tuple[int, int] | None:
    """Return the tokens of an element of FROM with its alias; None for what is not a plain table or derived table."""
    alias = node.args.get("alias")
    if isinstance(alias, exp.TableAlias) and alias.args.get("columns"):
        return None
    name = None if alias is None else text.starts.get((alias.this._meta or {}).get("start", -1))
    extra = {key for key, value in node.args.items() if value} - {"this", "db", "catalog", "alias"}
    if extra:
        return None
    if isinstance(node, exp.Table):
        parts = [text.starts.get((part._meta or {}).get("start", -1)) for part in node.parts]
        known = [part for part in parts if part is not None]
        return (known[0], known[-1] if name is None else name) if len(known) == len(parts) else None
    if isinstance(node, exp.Subquery) and name is not None:
        close = name - 2 if text.kinds[name - 1] is TokenType.ALIAS else name - 1
        return (text.match[close], name) if text.kinds[close] is TokenType.R_PAREN else None
    return None


def _unused_name(text: Text, name: str) -> str:
    """Return a name that does not occur in a text."""
    number = 0
    while name in text.lower:
        number += 1
        name = f"{name.rstrip('0123456789')}{number}"
    return name


# -- Joins -------------------------------------------------------------------------------------------------------------


def _has_plain_joins(select: exp.Expr) -> bool:
    """Whether a block joins tables only: the readers place lateral views between joins in different ways."""
    joins = select.args.get("joins") or []
    return not select.args.get("laterals") and not any(
        isinstance(join.this, (exp.Lateral, exp.Unnest))
        or join.this.args.get("laterals")
        or join.this.args.get("joins")
        for join in joins
    )


def join_conditions(resolution: Resolution) -> Iterator[Edit]:
    """`a CROSS JOIN b` and `a, b` become `a JOIN b ON true`.

    A comma binds less than JOIN in Spark: that makes a difference only before RIGHT, FULL, USING and NATURAL.
    """
    text = resolution.text
    for select in resolution.tree.find_all(exp.Select):
        joins = select.args.get("joins") or []
        binds_less = any(join.side in ("RIGHT", "FULL") or join.args.get("using") or join.method for join in joins)
        if not _has_plain_joins(select):
            continue
        for join in joins:
            if join.side or join.method or join.kind in ("SEMI", "ANTI") or {"on", "using"} & set(_given(join)):
                continue
            span = _source(text, join.this)
            if span is None:
                continue
            before = span[0] - 1
            if text.kinds[before] is TokenType.COMMA and not binds_less:
                yield before, before, " JOIN"
            elif text.kinds[before - 1 : before + 1] == [TokenType.CROSS, TokenType.JOIN]:
                yield before - 1, before, "JOIN"
            elif text.kinds[before] is not TokenType.JOIN:
                continue
            yield span[1], span[1], f"{text.raw(span[1])} ON true"


def _given(node: exp.Expr) -> Iterator[str]:
    return (key for key, value in node.args.items() if value)


def using_joins(resolution: Resolution) -> Iterator[Edit]:
    """`a JOIN b USING (k)` becomes `a JOIN b ON a.k = b.k`, in a block of two tables whose names are all complete."""
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
        left, right = _source(text, from_.this), _source(text, joins[0].this)
        if left is None or right is None or resolution.context.keeps_using or not _has_plain_joins(select):
            continue
        tables = [source.alias_or_name for source in (from_.this, joins[0].this)]
        keys = [identifier.name for identifier in joins[0].args["using"]]
        condition = " AND ".join(
            " = ".join(quote_qualified(table, key, text.quote) for table in tables) for key in keys
        )
        yield right[1] + 1, text.match[right[1] + 2], f"ON {condition}"


def semi_joins(resolution: Resolution) -> Iterator[Edit]:
    """`a LEFT SEMI JOIN b ON a.x = b.y` becomes `a WHERE EXISTS (SELECT 1 FROM b WHERE a.x = b.y)`, ANTI NOT EXISTS."""
    text = resolution.text
    for select in resolution.tree.find_all(exp.Select):
        joins = select.args.get("joins") or []
        if not joins or joins[-1].kind not in ("SEMI", "ANTI") or not _has_plain_joins(select):
            continue
        span, condition = _source(text, joins[-1].this), joins[-1].args.get("on")
        where = select.args.get("where")
        if (
            span is None
            or condition is None
            or not _is_equality(condition, joins[-1].alias_or_name)
            or (where is not None and where.find(exp.Query) is not None)
        ):
            continue
        first, on, last = span[0] - 1, span[1] + 1, _clause_end(text, span[1])
        while text.kinds[first - 1] in (TokenType.LEFT, TokenType.SEMI, TokenType.ANTI):
            first -= 1
        exists = f"EXISTS (SELECT 1 FROM {text.between(*span)} WHERE {text.between(on + 1, last)})"
        exists = exists if joins[-1].kind == "SEMI" else f"NOT {exists}"
        if where is None:
            yield first, last, f"WHERE {exists}"
        else:
            end = _clause_end(text, last + 1)
            yield first, end, f"WHERE {exists} AND ({text.between(last + 2, end)})"
        return


def _is_equality(condition: exp.Expr, table: str) -> bool:
    """Whether a condition consists of equalities between a column of a table and one of another table."""
    if isinstance(condition, exp.And):
        return _is_equality(condition.left, table) and _is_equality(condition.right, table)
    sides = [condition.args.get("this"), condition.args.get("expression")]
    tables = [side.table.lower() for side in sides if type(side) is exp.Column and len(side.parts) == 2]
    return type(condition) is exp.EQ and len(tables) == 2 and tables.count(table.lower()) == 1 and "" not in tables


def scalar_subqueries(resolution: Resolution) -> Iterator[Edit]:
    """A subquery of one aggregate, compared in WHERE, becomes a joined table of one row."""
    text = resolution.text
    for subquery in resolution.tree.find_all(exp.Subquery):
        inner, where = subquery.this, subquery.find_ancestor(exp.Where, exp.Select)
        aggregate = unwrapped(inner.expressions[0]) if isinstance(inner, exp.Select) and inner.expressions else None
        if (
            not isinstance(where, exp.Where)
            or not isinstance(subquery.parent, (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE))
            or not isinstance(aggregate, (exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Count))
            or set(_given(inner)) - {"expressions", "from_", "joins", "where"}
            or len(inner.expressions) > 1
            or where.find_ancestor(exp.In, exp.Exists) is not None
            or not isinstance(where.parent, exp.Select)
            or not _has_plain_joins(where.parent)
        ):
            continue
        call = _call(text, aggregate)
        if call is None or (open_ := text.enclosing(call[0])) < 0 or text.kinds[open_ + 1] is not TokenType.SELECT:
            continue
        alias, column = _unused_name(text, "scalar"), inner.expressions[0].alias or _unused_name(text, "value")
        if column.lower() in {name.lower() for name in where.parent.named_selects}:
            continue  # HAVING and ORDER BY of the query around it can name its own column by this name alone
        query = text.between(open_ + 1, text.match[open_] - 1)
        if not inner.expressions[0].alias:
            at = text.tokens[call[1]].end + 1 - text.tokens[open_ + 1].start
            query = f"{query[:at]} AS {quote_identifier(column, text.quote)}{query[at:]}"
        if not _is_independent(query, resolution):
            continue
        outer = text.enclosing(open_)
        clauses = [at for at in range(open_) if text.kinds[at] is TokenType.WHERE and text.enclosing(at) == outer]
        if not clauses:
            continue
        where_ = clauses[-1]
        yield open_, text.match[open_], quote_qualified(alias, column, text.quote)
        yield where_, where_, f"JOIN ({query}) {quote_identifier(alias, text.quote)} ON true {text.raw(where_)}"
        return


def _is_independent(query: str, resolution: Resolution) -> bool:
    """Whether a subquery names neither columns nor common table expressions of the query around it."""
    context, dialect = resolution.context, resolution.text.dialect
    try:
        expansion = expand(
            query, context.schemas, database=context.database, dialect=dialect, functions=context.functions
        )
    except SqlError:
        return False
    return expansion.expanded == query


# -- Set operations ----------------------------------------------------------------------------------------------------


def unions(resolution: Resolution) -> Iterator[Edit]:
    """`A UNION B` at the top becomes `SELECT … FROM (A UNION B) u`, whose branches have the same names and types."""
    text = resolution.text
    branches = _branches(resolution.tree, exp.Union)
    texts = _aligned_branches(resolution, branches)
    if texts is None:
        return
    alias = _unused_name(text, "branches")
    columns = ", ".join(quote_qualified(alias, name, text.quote) for name, _ in resolution.columns)
    query = "".join(piece for pair in texts for piece in pair)
    yield _whole(text, f"SELECT {columns} FROM ({query}) {quote_identifier(alias, text.quote)}")


_GROUPED_TYPES = frozenset({*INTEGERS, "string", "boolean", "date", "decimal"})
"""The types whose equal values are identical."""


def intersections(resolution: Resolution) -> Iterator[Edit]:
    """`A INTERSECT B` and `A EXCEPT B` at the top become a GROUP BY over `A UNION ALL B`, where NULLs are equal."""
    tree, text = resolution.tree, resolution.text
    branches = _branches(tree, (exp.Intersect, exp.Except))
    kinds = [base(column.type) for _, column in resolution.columns if column.type is not None]
    is_grouped = len(kinds) == len(resolution.columns) and _GROUPED_TYPES.issuperset(kinds)
    branch, alias = _unused_name(text, "branch_number"), _unused_name(text, "branches")
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
        if not isinstance(tree.expression, exp.Select) or set(_given(tree)) - _SET_OPERATION:
            return []
        branches.append(tree.expression)
        tree = tree.this
    return [*branches, tree][::-1] if branches and isinstance(tree, exp.Select) else []


_SET_OPERATION = {"this", "expression", "distinct", "with_"}


def _top(text: Text, *kinds: TokenType) -> list[int]:
    """Return the tokens of some types outside of all parentheses."""
    return [at for at, kind in enumerate(text.kinds) if kind in kinds and text.enclosing(at) < 0]


def _whole(text: Text, query: str) -> Edit:
    """Replace a query after its WITH clause."""
    return _top(text, TokenType.SELECT)[0], len(text.tokens) - 1, query


def _aligned_branches(
    resolution: Resolution, branches: list[exp.Select], more: str | None = None
) -> list[tuple[str, str]] | None:
    """Return the text of each branch of a set operation with one name and type for each column, and its operator.

    None where the text is not understood or has other types.
    """
    text, type_of = resolution.text, resolution.context.type_of
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
    """Whether a clause of a block names an alias of its SELECT list: expanded columns have the names of tables."""
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
    stops = [at for at in range(first, end) if text.enclosing(at) < 0 and text.kinds[at] in _LIST_ENDS]
    commas = [at for at in range(first, stops[0] if stops else end) if text.enclosing(at) < 0]
    commas = [at for at in commas if text.kinds[at] is TokenType.COMMA]
    bounds = [first - 1, *commas, stops[0] if stops else end]
    return [(before + 1, after - 1) for before, after in pairwise(bounds)]


_WIDTHS = ("tinyint", "smallint", "int", "bigint")


def _one_type(types: Sequence[str]) -> str | None:
    """Return the type of a column of a set operation where all engines agree on it: one type, or the widest integer."""
    typed = [kind for kind in types if kind != "void"]
    if not typed or "" in typed:
        return None
    if len(set(typed)) == 1:
        return typed[0]
    return max(typed, key=_WIDTHS.index) if set(typed) <= set(_WIDTHS) else None


# -- Expressions -------------------------------------------------------------------------------------------------------


def timestamp_literals(resolution: Resolution) -> Iterator[Edit]:
    """`TIMESTAMP '2024-02-01 00:00:00'` becomes a CAST; up to milliseconds, which Trino's type has."""
    text = resolution.text
    for at, kind in enumerate(text.kinds[1:]):
        if kind is TokenType.STRING and text.raw(at).lower() == "timestamp" and _is_time(text.raw(at + 1)):
            yield at, at + 1, f"CAST({text.raw(at + 1)} AS TIMESTAMP)"


def _is_time(raw: str) -> bool:
    if not re.fullmatch(r".\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,3})?.", raw):
        return False
    try:
        datetime.strptime(raw[1:20], "%Y-%m-%d %H:%M:%S")
    except ValueError:
        return False
    return True


def null_safe_comparisons(resolution: Resolution) -> Iterator[Edit]:
    """`x <=> NULL` becomes `(x IS NULL)`, and `x <=> 1` becomes `(x IS NOT NULL AND x = 1)`, for a column x.

    Only for a literal of the column's kind: a comparison of other kinds casts one side, which may give NULL.
    """
    text, type_of = resolution.text, resolution.context.type_of
    for node in resolution.tree.find_all(exp.NullSafeEQ):
        span, column = _written(text, node), token_span(text, node.this)
        if span is None or column is None or type(node.this) is not exp.Column:
            continue
        name = text.between(*column)
        if type(node.expression) is exp.Null:
            yield (*span, f"({name} IS NULL)")
        if _literal_kinds(node.expression) & {type_of(node.this)}:
            value = text.between(column[1] + 2, span[1])
            yield (*span, f"({name} IS NOT NULL AND {name} = {value})")


def _literal_kinds(node: exp.Expr) -> frozenset[str | None]:
    """Return the types of columns with which a literal is compared without a cast that may give NULL."""
    if type(node) is exp.Boolean:
        return frozenset({"boolean"})
    if type(node) is not exp.Literal:
        return frozenset()
    if node.is_string:
        return frozenset({"string"})
    return frozenset({*INTEGERS, "float", "double"}) if node.this.isdigit() else frozenset()


def integer_divisions(resolution: Resolution) -> Iterator[Edit]:
    """`a / b` of integers becomes `CAST(a AS DOUBLE) / b`, which it is in Hive and Spark."""
    text, type_of = resolution.text, resolution.context.type_of
    for node in resolution.tree.find_all(exp.Div):
        if type_of(node.this) in INTEGERS and type_of(node.expression) in INTEGERS:
            span = _written(text, node.this)
            if span is not None and text.raw(span[1] + 1) == "/":
                yield (*span, f"CAST({text.between(*span)} AS DOUBLE)")


def decimal_sums(resolution: Resolution) -> Iterator[Edit]:
    """`sum(x)` of decimals becomes a CAST to the type that it has in Hive and Spark."""
    text, type_of = resolution.text, resolution.context.type_of
    for node in resolution.tree.find_all(exp.Sum):
        size, span = decimal(type_of(node.this) or ""), _call(text, node)
        if size is None or span is None or size[0] > 28 or isinstance(node.parent, (exp.Window, exp.Filter, exp.Cast)):
            continue
        yield (*span, f"CAST({text.between(*span)} AS DECIMAL({size[0] + 10},{size[1]}))")


def decimal_averages(resolution: Resolution) -> Iterator[Edit]:
    """`avg(x)` of a decimal column becomes a quotient of sum and count, with the digits of Hive and Spark."""
    text, type_of = resolution.text, resolution.context.type_of
    for node in resolution.tree.find_all(exp.Avg):
        size, span, value = decimal(type_of(node.this) or ""), _call(text, node), token_span(text, node.this)
        if size is None or span is None or value is None or isinstance(node.parent, (exp.Window, exp.Filter)):
            continue
        if type(node.this) is not exp.Column or value[0] != span[0] + 2:  # ALL; other values may change between calls
            continue
        if size[0] <= AVERAGED_DIGITS:
            total, average = ("DECIMAL({},{})".format(*kind) for kind in average_types(*size))
            argument = text.between(*value)
            yield (*span, f"CAST(CAST(sum({argument}) AS {total}) / count({argument}) AS {average})")


def decimal_quotients(resolution: Resolution) -> Iterator[Edit]:
    """`x / 3` of a decimal becomes a CAST to the type that it has in Hive and Spark: Trino computes more digits."""
    text, type_of = resolution.text, resolution.context.type_of
    for node in resolution.tree.find_all(exp.Div):
        span = _written(text, node)
        if span is not None and is_exact_quotient(node, type_of) and not isinstance(node.parent, exp.Cast):
            yield *span, f"CAST({text.between(*span)} AS {str(type_of(node)).upper()})"


_DATE_FUNCTIONS = frozenset({"date_add", "date_sub", "to_date"})


def dates(resolution: Resolution) -> Iterator[Edit]:
    """`date_add`, `date_sub` and `to_date` get a CAST to DATE: Coral takes them for strings."""
    text = resolution.text
    for node in resolution.tree.find_all(exp.TsOrDsAdd, exp.TsOrDsToDate):
        span = _call(text, node)
        if span is None or text.raw(span[0]).lower() not in _DATE_FUNCTIONS or isinstance(node.parent, exp.Cast):
            continue
        if resolution.context.type_of(node) == "date":
            yield (*span, f"CAST({text.between(*span)} AS DATE)")


_DATE_PARTS = {
    "year": "CAST(substr({0}, 1, length({0}) - 6) AS INT)",
    "month": "CAST(substr({0}, -5, 2) AS INT)",
    "day": "CAST(substr({0}, -2) AS INT)",
    "dayofmonth": "CAST(substr({0}, -2) AS INT)",
    "date_format yyyy": "CAST(substr({0}, 1, length({0}) - 6) AS STRING)",
    "date_format yyyy-MM": "CAST(substr({0}, 1, length({0}) - 3) AS STRING)",
    "date_format yyyy-MM-dd": "{0}",
}
"""Parts of a date as parts of its text, whose last six characters are `-MM-DD`.

For the years that Hive and Spark document, 1 to 9999.
"""


def date_parts(resolution: Resolution) -> Iterator[Edit]:
    """`year(x)`, `date_format(x, 'yyyy-MM')` and so on of a date or timestamp become a part of its text.

    Coral passes a string to `year`, and takes the pattern of `date_format` for one of Trino.
    """
    text, type_of = resolution.text, resolution.context.type_of
    for node in resolution.tree.find_all(exp.Year, exp.Month, exp.Day, exp.DayOfMonth, exp.TimeToStr):
        operand = node.this.this if isinstance(node.this, (exp.TsOrDsToDate, exp.TimeStrToTime)) else node.this
        span, column = _call(text, node), token_span(text, operand)
        if span is None or column is None or type(operand) is not exp.Column:
            continue
        function = " ".join([text.raw(span[0]).lower(), *(text.raw(at)[1:-1] for at in range(column[1] + 2, span[1]))])
        part, kind = _DATE_PARTS.get(function), type_of(operand) or ""
        if part is None or not kind.startswith(("date", "timestamp")):
            continue
        date = text.between(*column) if kind == "date" else f"CAST({text.between(*column)} AS DATE)"
        yield *span, part.format(f"CAST({date} AS STRING)")


def distinct_sizes(resolution: Resolution) -> Iterator[Edit]:
    """`size(collect_set(x))` becomes `CAST(count(DISTINCT x) AS INT)`."""
    text = resolution.text
    for node in resolution.tree.find_all(exp.ArraySize):
        span, inner = _call(text, node), node.this
        argument = None if not isinstance(inner, exp.ArrayUniqueAgg) else _written(text, inner.this)
        if span is None or argument is None or text.raw(span[0]).lower() != "size":
            continue
        if base(resolution.context.type_of(inner.this) or "") in _GROUPED_TYPES:
            yield (*span, f"CAST(count(DISTINCT {text.between(*argument)}) AS INT)")


_VALUES = (exp.Alias, exp.EQ, exp.NEQ, exp.In, exp.Coalesce, exp.Concat, exp.If, exp.Case, exp.Select)
"""Where a string is a value: LIKE, patterns and formats have rules of their own for backslashes."""


def string_escapes(resolution: Resolution) -> Iterator[Edit]:
    """A string with backslashes is written with the characters themselves, and a backslash as `chr(92)`."""
    text = resolution.text
    for node in resolution.tree.find_all(exp.Literal):
        at = text.starts.get((node._meta or {}).get("start", -1))
        if at is None or text.kinds[at] is not TokenType.STRING or not isinstance(node.parent, _VALUES):
            continue
        raw = text.raw(at)
        value = unescape(raw, text.dialect)
        is_plain = all(character in "\t\n\r" or " " <= character <= "\xff" for character in value)
        if re.sub(r"\\['\"]", "", raw).count("\\") == 0 or not is_plain or "${" in value:
            continue
        quote = raw[0]
        pieces = [f"{quote}{piece.replace(quote, chr(92) + quote)}{quote}" for piece in value.split("\\")]
        written = pieces[0] if len(pieces) == 1 else f"concat({', chr(92), '.join(pieces)})"
        yield (at, at, written)


RULES: tuple[tuple[Rule, type], ...] = (
    (join_conditions, exp.Join),
    (using_joins, exp.Join),
    (semi_joins, exp.Join),
    (scalar_subqueries, exp.Subquery),
    (timestamp_literals, exp.Cast),
    (null_safe_comparisons, exp.NullSafeEQ),
    (integer_divisions, exp.Div),
    (decimal_averages, exp.Avg),
    (decimal_quotients, exp.Div),
    (decimal_sums, exp.Sum),
    (dates, exp.TsOrDsAdd),
    (dates, exp.TsOrDsToDate),
    (date_parts, exp.Year),
    (date_parts, exp.Month),
    (date_parts, exp.Day),
    (date_parts, exp.DayOfMonth),
    (date_parts, exp.TimeToStr),
    (distinct_sizes, exp.ArraySize),
    (string_escapes, exp.Literal),
    (unions, exp.Union),
    (intersections, exp.Intersect),
    (intersections, exp.Except),
)
"""The rules in the order in which they are applied, and the node without which a rule does not apply."""

_KINDS = tuple(kind for _, kind in RULES)
