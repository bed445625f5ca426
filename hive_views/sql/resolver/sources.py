"""The FROM clause: each table, derived table, lateral view and join to the columns it brings.

Source of the rules: Hive 4.1's `SemanticAnalyzer.processTable`, `CalcitePlanner.genJoinRelNode`, `LateralViewPlan`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.parsing.builtin_functions import HIVE_PARTITIONED_FUNCTIONS
from hive_views.sql.parsing.lexer import unquote_identifier
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.resolver.context import Place
from hive_views.sql.resolver.lateral_views import Block, CteDefinition, Laterals
from hive_views.sql.resolver.scopes import Column, Scope, Using, columns_of
from hive_views.sql.types import hive_types


class Sources(Laterals):
    """Resolves FROM clauses."""

    def from_clause(self, select: exp.Select, block: Block) -> Scope:
        """The scope of a query block's FROM clause, its tables, joins and lateral views resolved."""
        clause = select.args.get("from_")
        if clause is None:
            return Scope()
        return self._with_joins(clause.this, select.args.get("joins"), select.args.get("laterals"), block)

    def _with_joins(self, first: exp.Expr, joins: Any, laterals: Any, block: Block) -> Scope:
        alias, scope = self.source(first, block)
        joins = joins or ()
        if laterals and self.state.strict and first.name.lower() in HIVE_PARTITIONED_FUNCTIONS:
            raise self.state.fail("A partitioned table function cannot have a lateral view", laterals[0])
        if laterals and joins and self.state.strict:
            raise self.state.fail(
                "JOIN with a LATERAL VIEW is not supported: put the lateral view into a derived table", laterals[0]
            )
        for join in joins:
            scope = self._join(alias, scope, join, block)
            alias = None
        for position, lateral in enumerate(laterals or ()):
            scope = self._lateral(scope, lateral, block, fresh=position > 0)
        return scope

    def source(self, node: exp.Expr, block: Block) -> tuple[str | None, Scope]:
        """One element of a FROM clause: its alias (lower case) and its columns."""
        alias: str | None
        if not self.state.strict and node.args.get("pivots"):
            raise self.state.fail(
                "PIVOT and UNPIVOT make columns that cannot be told here: write them as a query", node
            )
        if isinstance(node, exp.Table):
            inner = node.this
            if isinstance(inner, exp.Func):
                alias, scope = self._table_function(node, inner, block)
            else:
                alias, scope = self._table(node, block)
            return self._nested(node, alias, scope, block)
        if isinstance(node, exp.Subquery):
            alias, scope = self._derived(node, block)
            return self._nested(node, alias, scope, block)
        if isinstance(node, exp.Values):
            return self._values(node, block)
        if self.state.strict and isinstance(node, (exp.Unnest, exp.Lateral)):
            raise self.state.fail("Hive has no UNNEST and no LATERAL subquery: write LATERAL VIEW explode(…)", node)
        if isinstance(node, exp.Lateral):
            return None, self._lateral(Scope(), node, block)
        if isinstance(node, exp.Unnest):
            return self._unnest(node, Scope(), block)
        if isinstance(node, exp.Paren):
            return self.source(node.this, block)
        raise self.state.fail(f"Cannot read this part of FROM: {type(node).__name__}", node)

    def _nested(self, node: exp.Expr, alias: str | None, scope: Scope, block: Block) -> tuple[str | None, Scope]:
        joins = node.args.get("joins")
        for join in joins or ():
            scope = self._join(alias, scope, join, block)
            alias = None
        for lateral in node.args.get("laterals") or ():
            scope = self._lateral(scope, lateral, block)
        return alias, scope

    # -- Tables ----------------------------------------------------------------------------------------------------

    def _table(self, node: exp.Table, block: Block) -> tuple[str, Scope]:
        state = self.state
        parts = node.parts
        name = parts[-1].name
        lower = name.lower()
        if lower in HIVE_PARTITIONED_FUNCTIONS and state.strict:
            opened = self._after(parts[-1])
            if opened is not None and state.text.tokens[opened].token_type is TokenType.L_PAREN:
                return self._partitioned(node, opened, block)
        for part in parts:
            if type(part) is not exp.Identifier:
                raise state.fail("Cannot read this table name", node)
        alias_node = node.args.get("alias")
        alias_identifier = alias_node.this if alias_node is not None else None
        alias = lower if alias_identifier is None else alias_identifier.name.lower()
        if state.strict and alias_node is not None:
            if alias_node.args.get("columns"):
                raise state.fail("Hive does not name the columns of a table: use a derived table", node, name)
            if alias_identifier is not None and not alias_identifier._meta:
                raise state.fail(f"An alias cannot be a string: write `{alias_identifier.name}`", node, name)
        self._claim(alias, block, alias_identifier or parts[-1])
        definition = block.ctes.get(lower) if block.ctes and len(parts) == 1 else None
        if definition is not None:
            inner = self.cte(definition, block.level)
            scope = self._renamed(inner, alias, alias_node)
            if definition.top or not state.exact or lower in self.top_names:
                return alias, scope
            self._point_table(parts)
            self._quote(alias_identifier)
            return alias, scope
        database = parts[-2].name.lower() if len(parts) > 1 else state.database
        schema = state.schemas.table(database, lower)
        if schema is None:
            raise state.fail(f"Table not found '{name}': there is no table or view {database}.{lower}", parts[-1], name)
        if schema.kind == "temporary":
            raise state.fail(f"View definition references temporary table {database}@{name}", parts[-1], name)
        state.tables.setdefault((database, lower), parts[0]._meta["start"] if parts[0]._meta else 0)
        self._point_table(parts)
        self._quote(alias_identifier)
        scope = Scope()
        known, columns, alias_and_name = columns_of(schema, alias, database, lower)
        scope.tables[alias] = known.copy()
        scope.columns = columns.copy()
        scope.names = alias_and_name.copy()
        if schema.kind == "table":
            scope.with_virtual = (alias,)
        names = alias_node.args.get("columns") if alias_node is not None else None
        if names:
            scope = self._renamed(scope, alias, alias_node)
        sampled = TokenType.TABLE_SAMPLE in state.text.kind_set
        if state.strict and (sampled or node.args.get("pivots")):
            self._table_ending(node, alias_identifier)
        if sampled:
            self._sample(parts[-1], scope, schema.bucket_columns)
        return alias, scope

    def _point_table(self, parts: list[Any]) -> None:
        state = self.state
        quoted = str if state.exact and state.regex_names else state.quoted
        prefix = f"{quoted(state.database)}." if len(parts) == 1 else ""
        for part in parts:
            meta = part._meta
            index = self._starts.get(meta["start"]) if meta else None
            if index is None:
                return
            self.check_identifier(part)
            state.edits.replace(index, index, prefix + quoted(part.name))

    def _table_ending(self, node: exp.Table, alias: exp.Expr | None) -> None:
        """What Hive does not read behind a table."""
        if node.args.get("pivots"):
            raise self.state.fail("PIVOT and UNPIVOT: Hive has no such clause", node)
        at = self._after(alias) if alias is not None else None
        if at is not None and self.state.text.tokens[at].token_type is TokenType.TABLE_SAMPLE:
            raise self.state.fail(
                "TABLESAMPLE stands in front of the table's alias", self.state.text.tokens[at].start, node.name
            )

    def _sample(self, table: exp.Expr, scope: Scope, buckets: tuple[str, ...]) -> None:
        """`TABLESAMPLE (BUCKET x OUT OF y ON …)`: bucket columns are quoted, others completed."""
        state = self.state
        tokens = state.text.tokens
        index = self._starts.get(table._meta["start"], len(tokens)) + 1 if table._meta else len(tokens)
        if index >= len(tokens) or tokens[index].token_type is not TokenType.TABLE_SAMPLE:
            return
        end = state.text.match.get(index + 1)
        if end is None:
            raise state.fail("TABLESAMPLE needs (BUCKET … OUT OF …), (… PERCENT) or (… ROWS)", tokens[index].start)
        start = next((at for at in range(index, end) if state.text.raw(at).lower() == "on"), end)
        items: list[list[int]] = [[]]
        for at in range(start + 1, end):
            if state.text.raw(at) == "," and state.text.match.get(at) is None:
                items.append([])
            else:
                items[-1].append(at)
        for item in items:
            if not item:
                continue
            name = unquote_identifier(state.text.raw(item[0]))
            column = scope.find(None, name.lower()) if len(item) == 1 else None
            if len(item) == 1 and column is None:
                raise state.fail(f"Invalid column reference '{name}'", tokens[item[0]].start, name)
            if column is not None and not (name.lower() in buckets and state.exact):
                owner, column_name = scope.original(column)
                written = f"{state.quoted(str(owner))}.{state.quoted(column_name)}"
            elif column is not None or state.exact:
                written = state.quoted(name)
            else:
                continue
            state.edits.replace(item[0], item[0], written)

    def _after(self, identifier: exp.Expr) -> int | None:
        """The index of the token behind a name; None at the end of the text."""
        meta = identifier._meta
        index = self._starts.get(meta["start"]) if meta else None
        return index + 1 if index is not None and index + 1 < len(self.state.text.tokens) else None

    def _partitioned(self, node: exp.Table, opened: int, block: Block) -> tuple[str, Scope]:
        """`noop(on t partition by … order by …)`: the names inside are completed, those of its result stay bare."""
        text = self.state.text
        closed = text.match.get(opened)
        if closed is None or closed < opened + 3:
            raise self.state.fail("A partitioned table function needs (ON table PARTITION BY …)", node)
        bounds = [opened + 2]
        depth = 0
        for index in range(opened + 2, closed):
            kind = text.tokens[index].token_type
            depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
            if depth == 0 and kind in _PARTITION_CLAUSES:
                bounds.append(index)
        bounds.append(closed)
        source = self._reread("select * from ", bounds[0], bounds[1])
        _, scope = self.source(source.args["from_"].this, Block(block.ctes, None, level=block.level + 1))
        for first, last in pairwise(bounds[1:]):
            for item in self._reread("select 1 order by ", first + 1, last).args["order"].expressions:
                self.resolve(item.this if type(item) is exp.Ordered else item, Place((scope,), None, keys=False))
        alias_node = node.args.get("alias")
        identifier = alias_node.this if alias_node is not None else None
        alias = identifier.name.lower() if identifier is not None else f"__ptf_{len(block.aliases)}"
        self._claim(alias, block, identifier or node)
        self._quote(identifier)
        result = Scope()
        for position, column in enumerate(scope.columns):
            result.put(None, column.name, Column(f"_col{position}", None, column.name, column.type_source))
        return alias, result

    def _reread(self, prefix: str, first: int, last: int) -> exp.Expr:
        """Parse some tokens again behind other words, so that their places in the text stay the same."""
        text = self.state.text
        begin = text.tokens[first].start
        if begin < len(prefix) or first >= last:
            raise self.state.fail("Cannot read this partitioned table function", begin)
        padded = " " * (begin - len(prefix)) + prefix + text.sql[begin : text.tokens[last - 1].end + 1]
        tree = parse_query(padded, text.dialect, whole=text.whole, offset=text.offset).tree
        self._reread_trees.append(tree)
        return tree

    # -- Derived tables --------------------------------------------------------------------------------------------

    def _derived(self, node: exp.Subquery, block: Block) -> tuple[str | None, Scope]:
        inner = node.this
        alias_node = node.args.get("alias")
        identifier = alias_node.this if alias_node is not None else None
        if self.state.strict and identifier is not None and identifier._meta:
            following = self._starts.get(identifier._meta["start"], -2) + 1
            tokens = self.state.text.tokens
            if 0 < following < len(tokens) and tokens[following].token_type is TokenType.TABLE_SAMPLE:
                raise self.state.fail("TABLESAMPLE is only for tables", tokens[following].start)
        if isinstance(inner, exp.Table):
            return self.source(inner, block)
        if identifier is None:
            if self.state.strict:
                raise self.state.fail("A derived table needs an alias: write (SELECT …) name", inner)
            alias = f"__derived_{len(block.aliases)}"
        else:
            alias = str(identifier.name).lower()
        scope = self.query(node, block.ctes, alias=alias, level=block.level + 1)
        self._claim(alias, block, identifier or inner)
        self._quote(identifier)
        names = alias_node.args.get("columns") if alias_node is not None else None
        for name in names or ():
            self._quote(name)
        return alias, self._renamed(scope, alias, alias_node)

    def cte(self, definition: CteDefinition, level: int) -> Scope:
        """The columns of a common table expression, resolved when it is first named."""
        if definition.scope is None:
            if definition.running and not definition.recursive:
                name = definition.node.alias
                raise self.state.fail(
                    f"Recursive common table expression {name}: its query names itself",
                    definition.node.args["alias"],
                    name,
                )
            definition.running = True
            if definition.recursive:
                self._recursive(definition)
            definition.scope = self.query(
                definition.node.this, definition.visible, alias=definition.node.alias, level=level + 1
            )
        columns = definition.node.args["alias"].args.get("columns")
        if columns:
            return self._renamed(definition.scope, definition.node.alias.lower(), definition.node.args["alias"])
        return definition.scope

    def _recursive(self, definition: CteDefinition) -> None:
        """The columns of a recursive definition, from its first branch, before its own name is looked up in it."""
        branch = definition.node.this
        while isinstance(branch, (exp.Union, exp.Subquery)):
            branch = branch.this
        visible = {name: other for name, other in definition.visible.items() if other is not definition}
        scope = self.query(branch, visible, level=definition.level + 1)
        alias_node = definition.node.args["alias"]
        definition.scope = self._renamed(scope, definition.node.alias.lower(), alias_node)

    def _values(self, node: exp.Values, block: Block) -> tuple[str, Scope]:
        alias_node = node.args.get("alias")
        identifier = alias_node.this if alias_node is not None else None
        if self.state.strict and identifier is None:
            raise self.state.fail("VALUES in FROM needs an alias", node)
        names = [item.name.lower() for item in (alias_node.args.get("columns") or ())] if alias_node is not None else []
        if self.state.strict and names:
            raise self.state.fail(
                "VALUES in FROM cannot name its columns: write TABLE(VALUES …) AS t(a, b)", names_at(alias_node)
            )
        alias = identifier.name.lower() if identifier is not None else f"__values_{len(block.aliases)}"
        self._claim(alias, block, identifier or node)
        self._quote(identifier)
        for item in (alias_node.args.get("columns") or ()) if alias_node is not None else ():
            self._quote(item)
        return alias, self.values_scope(node, alias, names)

    def values_scope(self, node: exp.Expr, alias: str | None, names: list[str]) -> Scope:
        """The columns of VALUES: `col1`, `col2` … where they have no names."""
        rows = node.expressions
        width = len(rows[0].expressions) if rows and isinstance(rows[0], exp.Tuple) else 1
        scope = Scope()
        for position in range(width):
            name = names[position] if position < len(names) else f"col{position + 1}"
            items = [row.expressions[position] if isinstance(row, exp.Tuple) else row for row in rows]
            source = self._type_source(items[0], scope)
            for item in () if self.state.strict else items[1:]:
                first, other = (Column("", None, "", kind) for kind in (source, self._type_source(item, scope)))
                source = either_type(first, other)
            scope.put(alias, name, Column(f"_col{position}", alias, name, source))
        return scope

    def _table_function(self, node: exp.Table, inner: exp.Func, block: Block) -> tuple[str, Scope]:
        """`TABLE(VALUES …)`, `TABLE(explode(…))` and the table functions of Spark and Trino."""
        alias_node = node.args.get("alias")
        identifier = alias_node.this if alias_node is not None else None
        if identifier is None and self.state.strict:
            raise self.state.fail("A table function in FROM needs an alias", node)
        alias = identifier.name.lower() if identifier is not None else inner.name.lower()
        self._claim(alias, block, identifier or inner)
        columns = alias_node.args.get("columns") or () if alias_node is not None else ()
        names = [item.name.lower() for item in columns]
        for item in columns:
            self._quote(item)
        rows = inner.expressions[0] if inner.expressions else None
        if isinstance(rows, exp.Values):
            return alias, self.values_scope(rows, alias, names)
        self.visit_children(inner, Place((Scope(),), block.outer))
        scope = Scope()
        for position, name in enumerate(names or ["col"]):
            scope.put(alias, name, Column(f"_col{position}", alias, name))
        return alias, scope

    # -- Joins -----------------------------------------------------------------------------------------------------

    def _join(self, left_alias: str | None, left: Scope, join: exp.Join, block: Block) -> Scope:
        state = self.state
        node = join.this
        if self.state.strict and isinstance(node, (exp.Unnest, exp.Lateral)):
            raise self.state.fail("Hive has no UNNEST and no LATERAL subquery: write LATERAL VIEW explode(…)", node)
        if isinstance(node, exp.Lateral):
            return self._lateral(left, node, block)
        if isinstance(node, exp.Unnest):
            return self._unnest(node, left, block)[1]
        if state.strict and join.args.get("method"):
            raise state.fail(f"{join.args['method']} JOIN: Hive has no such join. Write JOIN … ON", node)
        if state.strict and join.kind == "SEMI" and join.args.get("using"):
            raise state.fail("LEFT SEMI JOIN … USING: Hive cannot plan it. Write ON", node)
        if state.strict and join.kind == "ANTI":
            raise state.fail("LEFT ANTI JOIN is not read by Hive 4.1: write NOT EXISTS", node)
        if state.strict and isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table):
            raise state.fail("A join in parentheses can only stand first in FROM", node)
        right_alias, right = self.source(node, block)
        using = join.args.get("using")
        condition = join.args.get("on")
        only_left = join.kind in ("SEMI", "ANTI")
        natural = join.args.get("method") == "NATURAL"
        if condition is not None:
            scopes = (left, right)
            self.resolve(condition, Place(scopes, block.outer, keys=False))
        named = self._using(left_alias, left, right_alias, right, join) if using else None
        if left_alias is None and left.columns and not only_left:
            result = left  # the result of a join already: nobody else holds it
            result.using = None
        else:
            result = Scope()
            result.add(left)
        if only_left and not using:
            return result
        names_of_left = {alias: dict(columns) for alias, columns in left.tables.items()} if natural else {}
        result.add(right)
        if natural:
            shared = {name for table in names_of_left.values() for name in table}
            names = [name for table in right.tables.values() for name in table if name in shared]
            owner = left_alias or next(
                (str(alias) for alias, table in names_of_left.items() if set(names) & set(table)), ""
            )
            if names:
                result.using = Using(owner, right_alias or "", names, join.side == "RIGHT", join.side == "FULL")
        elif using:
            result.using = named
        if only_left:
            result = Scope()
            result.add(left)
        return result

    def _using(
        self, left_alias: str | None, left: Scope, right_alias: str | None, right: Scope, join: exp.Join
    ) -> Using:
        state = self.state
        names: list[str] = []
        for identifier in join.args["using"]:
            name = identifier.name
            self._quote(identifier)
            lower = name.lower()
            owner = left_alias
            if owner is None:
                for table, columns in left.tables.items():
                    if (name if state.strict else lower) in columns:
                        owner = table
                left_alias = owner
            for alias, scope in ((owner, left), (right_alias, right)):
                if scope.find(alias, lower) is None:
                    raise state.fail(f"column '{name}' not present in both sides of the join", identifier, name)
            names.append(name if state.strict else lower)
        return Using(left_alias or "", right_alias or "", names, join.side == "RIGHT", join.side == "FULL")


_INTEGERS = hive_types.NUMERIC[:4]
_PARTITION_CLAUSES = frozenset(
    {TokenType.PARTITION_BY, TokenType.DISTRIBUTE_BY, TokenType.ORDER_BY, TokenType.SORT_BY, TokenType.CLUSTER_BY}
)


def names_at(alias_node: exp.Expr | None) -> exp.Expr | None:
    """The first column name of an alias, to point an error at."""
    columns = alias_node.args.get("columns") if alias_node is not None else None
    return columns[0] if columns else alias_node


def either_type(one: Column, other: Column, *, by_name: bool = False) -> Callable[[], str | None]:
    """The type of a set operation's column in Spark and Trino, which put more types together than Hive does."""

    def shared() -> str | None:
        first, second = one.type, other.type
        if first == second or first is None or second is None or by_name:
            return first if first == second and not by_name else None
        if first in _INTEGERS and second in _INTEGERS:
            return max(first, second, key=_INTEGERS.index)
        if hive_types.base(first) in hive_types.STRINGS and hive_types.base(second) in hive_types.STRINGS:
            return hive_types.common(first, second)
        return {first, second}.difference({"void"}).pop() if "void" in (first, second) else None

    return shared
