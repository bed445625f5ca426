"""Lateral views and other functions that give rows: which columns they bring.

Source of the rules: Hive 4.1's `LateralViewPlan`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from hive_views.sql.hive_exact.refusals import element_type
from hive_views.sql.resolver.context import Place
from hive_views.sql.resolver.expressions import Operators
from hive_views.sql.resolver.scopes import Column, Scope
from hive_views.sql.types import hive_types


@dataclass(slots=True)
class CteDefinition:
    """A common table expression: its query and the definitions that its query can use."""

    node: exp.CTE
    visible: dict[str, CteDefinition]
    top: bool
    level: int = 0
    recursive: bool = False
    scope: Scope | None = None
    running: bool = False
    """Whether its query is being resolved."""


@dataclass(slots=True)
class Block:
    """One query block while it is resolved.

    Attributes:
        ctes: The common table expressions that it can name.
        aliases: Its table aliases in the order in which a star lists them.
        outer: The block around it, for a correlated subquery.
    """

    ctes: dict[str, CteDefinition]
    outer: Scope | None = None
    aliases: list[str] = field(default_factory=list)
    level: int = 0


class Laterals(Operators):
    """Resolves lateral views."""

    def query(
        self,
        node: exp.Expr,
        ctes: dict[str, CteDefinition],
        outer: Scope | None = None,
        *,
        alias: str | None = None,
        level: int = 0,
        naming: bool = True,
    ) -> Scope:
        """Resolve a whole query; the query blocks know how."""
        raise NotImplementedError

    def _claim(self, alias: str, block: Block, at: exp.Expr) -> None:
        if alias in block.aliases:
            raise self.state.fail(f"Ambiguous table alias '{alias}': it is there twice in one FROM", at, alias)
        block.aliases.append(alias)

    def _type_source(self, node: exp.Expr, scope: Scope) -> Any:
        resolver = self._weak  # a column that held its resolver would keep every resolved text until a full collection

        def type_of() -> str | None:
            found = resolver()
            return found.type_of(node) if found is not None else None

        return type_of

    def _renamed(self, scope: Scope, alias: str, alias_node: exp.Expr | None) -> Scope:
        """The columns of a query as those of a table: Hive's step 9, with internal names for second ones of a name."""
        names = [item.name.lower() for item in (alias_node.args.get("columns") or ())] if alias_node is not None else []
        if len(names) > len(scope.columns):
            raise self.state.fail(
                f"The column list of '{alias}' has {len(names)} names, its query {len(scope.columns)} columns",
                alias_node,
            )
        result = Scope()
        for position, column in enumerate(scope.columns):
            table, name = scope.names[column]
            if position < len(names):
                name = names[position]
            elif table == "":
                name = column.internal
            new = Column(column.internal, alias, name, column.type_source)
            result.put_unique(alias, name, new)
            written = result.names.get(new, (alias, name))[1]
            if written != name and not self.state.exact:
                self.rename(column, written)
        return result

    def rename(self, column: Column, name: str) -> None:
        """Give a column of a derived table's SELECT list another name, because its own is there twice."""
        raise NotImplementedError

    # -- Lateral views ---------------------------------------------------------------------------------------------

    def _lateral(self, scope: Scope, node: exp.Expr, block: Block, fresh: bool = False) -> Scope:
        state = self.state
        function = node.this
        alias_node = node.args.get("alias")
        if not node.args.get("view") and isinstance(function, exp.Subquery):
            inner = self.query(function, block.ctes, outer=scope)
            alias = alias_node.this.name.lower() if alias_node is not None and alias_node.this else "__lateral"
            self._claim(alias, block, node)
            self._quote(alias_node.this if alias_node is not None else None)
            result = Scope()
            result.add(scope)
            result.add(self._renamed(inner, alias, alias_node))
            return result
        identifier = alias_node.this if alias_node is not None else None
        if identifier is None:
            if state.strict:
                raise state.fail("A lateral view needs a table alias: LATERAL VIEW f(…) alias AS column", function)
            alias = f"__lateral_{len(block.aliases)}"
        else:
            alias = identifier.name.lower()
        if isinstance(function, exp.Unnest):
            return self._unnest(node, scope, block)[1]
        place = Place((scope,), block.outer, keys=False)
        self._arguments(function, place)
        columns = alias_node.args.get("columns") or [] if alias_node is not None else []
        self._quote(identifier)
        names = []
        for item in columns:
            self._quote(item)
            if item.name.lower() in names:
                raise state.fail(f"Column alias {item.name} already exists", item, item.name)
            names.append(item.name.lower())
        produced = self.produced(function)
        if produced is None and not names:
            raise state.fail(f"Cannot tell the columns of {function.sql()[:60]}: name them with AS", function)
        if produced is not None and names and len(produced) != len(names):
            raise state.fail(
                "The number of aliases supplied in the AS clause does not match the number of columns output by the "
                f"UDTF: expected {len(produced)} aliases but got {len(names)}",
                function,
            )
        result = scope if fresh else Scope()
        if not fresh:
            result.add(scope)
        if produced is None:
            produced = [(name, None) for name in names]
        for position, (name, type_text) in enumerate(produced):
            name = names[position] if names else name
            result.put(alias, name, Column(f"_col{len(result.columns)}", alias, name, type_text))
        if alias not in block.aliases:
            block.aliases.append(alias)
        return result

    def _arguments(self, function: exp.Expr, place: Place) -> None:
        """Look up the names in a table generating function's arguments; in a LATERAL VIEW its own name stays bare."""
        for value in function.args.values():
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, exp.Expr):
                    self.resolve(item, place)

    def produced(self, function: exp.Expr) -> list[tuple[str, str | None]] | None:
        """The columns that a table generating function gives; None where that cannot be told."""
        name = self.function_name(function)
        if name is None:
            return None
        arguments = [
            item
            for value in function.args.values()
            for item in (value if isinstance(value, list) else [value])
            if isinstance(item, exp.Expr)
        ]
        if name == "json_tuple":
            return [(f"c{position}", "string") for position in range(len(arguments) - 1)]
        if name == "parse_url_tuple":
            return [(f"c{position}", "string") for position in range(len(arguments) - 1)]
        if name == "stack":
            return self._stack(arguments)
        if name not in ("explode", "posexplode", "inline"):
            return None
        type_text = self.type_of(arguments[0]) if arguments else None
        if self.state.exact and arguments:
            type_text = element_type(self.state, arguments[0], self.type_of)
        if type_text is None:
            return None
        inner = hive_types.arguments(type_text)
        kind = hive_types.base(type_text)
        if name == "inline":
            row = hive_types.fields(inner[0]) if kind == "array" and inner else None
            if row is None:
                raise self.state.fail(f"inline() takes an array of structs, not {type_text}", function, name)
            return list(row.items())
        position: list[tuple[str, str | None]] = [("pos", "int")] if name == "posexplode" else []
        if kind == "array":
            return [*position, ("val" if position else "col", inner[0])]
        if kind == "map" and name == "explode":
            return [("key", inner[0]), ("value", inner[1])]
        takes = "an array or a map" if name == "explode" else "an array"
        raise self.state.fail(f"{name}() takes {takes} as a parameter, not {type_text}", function, name)

    def _stack(self, arguments: list[exp.Expr]) -> list[tuple[str, str | None]] | None:
        rows = arguments[0]
        if not isinstance(rows, exp.Literal) or rows.is_string or not rows.this.isdigit() or rows.this == "0":
            return None
        values = arguments[1:]
        width = -(-len(values) // int(rows.this))
        return [(f"col{position}", self.type_of(values[position])) for position in range(width)]

    def _unnest(self, node: exp.Expr, scope: Scope, block: Block) -> tuple[str, Scope]:
        unnest = node.this if isinstance(node, exp.Lateral) else node
        alias_node = node.args.get("alias") or unnest.args.get("alias")
        identifier = alias_node.this if alias_node is not None else None
        alias = identifier.name.lower() if identifier is not None else f"__unnest_{len(block.aliases)}"
        self._claim(alias, block, identifier or node)
        for item in unnest.expressions:
            self.resolve(item, Place((scope,), block.outer, keys=False))
        columns = (alias_node.args.get("columns") or []) if alias_node is not None else []
        self._quote(identifier)
        result = Scope()
        result.add(scope)
        for item in columns or [exp.to_identifier("col")]:
            self._quote(item if columns else None)
            result.put(alias, item.name.lower(), Column(f"_col{len(result.columns)}", alias, item.name.lower()))
        return alias, result
