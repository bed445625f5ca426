"""Names in expressions: each column reference to the column it means, as Hive's type checker does.

Source of the rules: Hive 4.1's `TypeCheckProcFactory`, `JoinCondTypeCheckProcFactory`, `CalcitePlanner.genAllRexNode`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, ClassVar
from weakref import ref

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.hive_exact import refusals
from hive_views.sql.parsing.hive_grammar import BEFORE_OPERAND, RESERVED
from hive_views.sql.parsing.lexer import unquote_identifier
from hive_views.sql.parsing.syntax_tree import bare, function_token, key, span
from hive_views.sql.resolver.context import FIELD, VALUE, Place, State, UnknownNameError
from hive_views.sql.resolver.scopes import AmbiguousName, Column, Scope
from hive_views.sql.rewriting.quoting import quote_qualified
from hive_views.sql.types import hive_types


class Names:
    """Looks up the names of expressions, and notes the edits that make them complete."""

    handlers: ClassVar[dict[type, Any]] = {}
    """The method for each kind of node; see `Operators`."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._weak = ref(self)
        self._starts = state.text.starts
        self.in_sets = False
        self._reread_trees: list[exp.Expr] = []
        """What was parsed again: while it lives, nothing else has the ids under which its names are bound."""
        self.top_names: set[str] = set()
        """The names that the outermost WITH defines: Hive takes them for these everywhere."""

    # -- Expressions -----------------------------------------------------------------------------------------------

    def resolve(self, node: exp.Expr, place: Place) -> Any:
        """Look up every name of an expression; its edits count only if all of it could be looked up."""
        state = self.state
        pending, copies = state.pending, state.copies
        begin, begin_of_copies = len(pending), len(copies)
        try:
            result = self.visit(node, place)
            state.edits.replace_all(pending[begin:] if begin else pending)
            if copies:
                for target, source in copies[begin_of_copies:]:
                    state.edits.copy(target, source)
            return result
        finally:
            del pending[begin:]
            del copies[begin_of_copies:]

    def visit(self, node: exp.Expr, place: Place) -> Any:
        """Look up the names of one node and what is under it."""
        if place.keys and (place.scopes[0].keys or (place.outer is not None and place.outer.keys)):
            found = self._computed(node, place)
            if found is not None:
                return found
        handler = self.handlers.get(type(node))
        if handler is not None:
            return handler(self, node, place)
        if not isinstance(node, exp.Func):
            self.visit_children(node, place)
            return VALUE
        self._function(node, place)
        if self.state.exact and place.scopes[0].with_sets and self.function_name(node) == "grouping":
            return VALUE
        self.visit_children(node, place)
        if self.state.exact:
            if type(node) is exp.Case or type(node) is exp.If:
                refusals.check_condition(self.state, node, self.type_of)
            else:
                name = self.function_name(node)
                if name is not None:
                    refusals.check_function(self.state, name, node, refusals.iter_first(node), self.type_of)
        return VALUE

    def type_of(self, node: exp.Expr) -> str | None:
        """The Hive type of an expression, or None where it is not known."""
        raise NotImplementedError

    def _function(self, node: exp.Func, place: Place) -> None:
        """Check that a function exists; see `Operators`."""
        raise NotImplementedError

    def function_name(self, node: exp.Expr) -> str | None:
        """The name of a function as it stands in the text, in lower case."""
        index = function_token(self.state.text, node)
        return unquote_identifier(self.state.text.raw(index)).lower() if index is not None else None

    def visit_children(self, node: exp.Expr, place: Place) -> None:
        """Look up the names in everything under a node."""
        for value in node.args.values():
            if isinstance(value, exp.Expr):
                self.visit(value, place)
            elif isinstance(value, list):
                for item in value:
                    if isinstance(item, exp.Expr):
                        self.visit(item, place)

    def _computed(self, node: exp.Expr, place: Place) -> Column | None:
        """The column that holds an expression's value already: a GROUP BY key, an aggregate, a window function."""
        scope = place.scopes[0]
        outer = place.outer
        text = key(node)
        column = scope.keys.get(text)
        if column is None and outer is not None:
            column = outer.keys.get(text)
        if column is None:
            return None
        source = scope.key_nodes.get(text)
        if type(node) is exp.Paren and source is bare(node):
            node = source  # Hive's tree has no parentheses: this is the expression itself, not a copy of it
        if source is not node:
            self.state.bindings.setdefault(id(node), column)
        if not self.state.exact:
            plain = place.plain
            if plain is not None and source is not node:
                self.visit(node, Place((plain,), place.outer, keys=False, aggregates=True, windows=True))
        elif source is not None and source is not node:
            target_span, source_span = span(self.state.text, node), span(self.state.text, source)
            if target_span is not None and source_span is not None:
                self.state.copies.append((target_span, source_span))
        return column

    # -- Column references -----------------------------------------------------------------------------------------

    def _column(self, node: exp.Column, place: Place) -> Any:
        arguments = node.args
        identifier, table = arguments["this"], arguments.get("table")
        if type(identifier) is exp.Star:
            return VALUE
        if (
            len(place.scopes) == 1
            and self.state.strict
            and type(identifier) is exp.Identifier
            and "db" not in arguments
        ):
            column = self._plain_column(node, identifier, table, place)
            if column is not None:
                return column
        return self._chain(node, node.parts, place)

    def _plain_column(self, node: exp.Column, identifier: Any, table: Any, place: Place) -> Column | None:
        """What `_chain` does, for the names that most are: `a` and `t.a` of one scope. None where it is another."""
        state = self.state
        scope = place.scopes[0]
        name = identifier.this
        if not _is_name(name):
            self.check_identifier(identifier)
        if place.strict_names and scope.ambiguous and not scope.grouped:
            return None
        tables = scope.tables
        known: dict[str, Column] | None = None
        if table is not None:
            if type(table) is exp.Identifier and _is_name(table.this):
                known = tables.get(table.this.lower())
        elif len(tables) == 1 and not scope.hidden:
            (known,) = tables.values()
        column = known.get(name.lower()) if known is not None else None
        if column is None or (scope.grouped and not column.table):
            return None
        state.bindings[id(node)] = column
        if column.base is not None:
            state.read.add(column.base)
        if column.table:
            self._point(identifier if table is None else table, identifier, True, column, scope)
        return column

    def _dot(self, node: exp.Dot, place: Place) -> Any:
        parts: list[exp.Expr] = []
        inner: exp.Expr = node
        while type(inner) is exp.Dot:
            parts.append(inner.expression)
            inner = inner.this
        parts.reverse()
        if type(inner) is exp.Column and not isinstance(inner.this, exp.Star):
            if place.keys and self._computed(inner, place) is not None:
                self._fields(self.state.bindings[id(inner)].type, parts)
                return FIELD
            return self._chain(node, [*inner.parts, *parts], place)
        if not all(isinstance(part, exp.Identifier) for part in parts):
            self.visit_children(node, place)
            return VALUE
        base_type = None
        result = self.visit(inner, place)
        if isinstance(result, Column):
            base_type = result.type
        self._fields(base_type, parts)
        return FIELD

    def _chain(self, node: exp.Expr, parts: list[Any], place: Place) -> Any:
        """`a`, `t.a`, `a.field`, `t.a.field.field`: Hive reads it from the left."""
        first = parts[0].name.lower()
        if self.state.strict:
            for part in parts:
                self.check_identifier(part)
        used = 1
        column: Column | None = None
        scope: Scope | None = None
        if len(parts) == 1:
            column, scope = self._find(place, None, first, parts[0])
            if column is None:
                raise self._no_column(parts[0], place)
        else:
            owner = self._table_scope(place, first, parts[0])
            if owner is None and not self.state.strict:
                used, owner = self._qualified_table(place, parts)
                first = parts[used - 1].name.lower() if owner is not None else first
            if owner is not None:
                name = parts[used].name.lower()
                column, scope = self._find(place, first, name, parts[used])
                used += 1
                if column is None:
                    raise self.state.fail(
                        f"Invalid column reference '{parts[used - 1].name}': table {first} has no such column "
                        f"(it has: {self._offer(place, first)})",
                        parts[used - 1],
                        parts[used - 1].name,
                    )
            else:
                column, scope = self._find(place, None, first, parts[0])
                used = 1
                if column is None:
                    raise self._no_column(parts[0], place)
        assert scope is not None and column is not None
        self.state.bindings[id(node)] = column
        if column.base is not None:
            self.state.read.add(column.base)
        base = place.plain
        if scope.grouped and base is not None and not column.table and not self.state.exact:
            known = self.state.bound_key(scope, column)
            column, scope = (known, base) if known is not None else (column, scope)
        self._point(parts[0], parts[used - 1], used == len(parts), column, scope)
        if used < len(parts):
            self._fields(column.type, parts[used:])
            return FIELD
        return column

    def _point(self, begin: Any, end: Any, whole: bool, column: Column, scope: Scope) -> None:
        """Replace a column reference by its complete name, with the parentheses and no-op signs around it."""
        if not column.table:
            return
        table, name = scope.names.get(column) or scope.original(column)
        meta = begin._meta
        if not meta or not end._meta or table is None:
            return
        state = self.state
        first = last = self._starts.get(meta["start"])
        if end is not begin:
            last = self._starts.get(end._meta["start"])
        if first is None or last is None:
            return
        if first and state.text.kinds[first - 1] in _IN_FRONT and state.strict and not self.in_sets:
            first, last = self._widen(first, last) if whole else self._parentheses(first, last)
        state.pending.append(((first, -last), self.written(table, name)))

    def written(self, table: str, name: str) -> str:
        """A column's complete name; the name alone where its table has no name in the text."""
        if table.startswith("__") and not self.state.exact:
            return self.state.quoted(name)
        return quote_qualified(table, name, self.state.text.quote)

    def check_identifier(self, identifier: Any) -> None:
        """Refuse what Hive does not read as a name unless it is quoted: a reserved word, a leading underscore."""
        name = identifier.name
        if _is_name(name) or not self.state.strict:
            return
        meta = identifier._meta
        if meta and "start" in meta and not self.state.text.sql.startswith("`", meta["start"]):
            raise self.state.fail(f"'{name}' cannot be a name here: write it as `{name}`", identifier, name)

    def _quote(self, identifier: exp.Expr | None) -> None:
        """Put an alias into quotes, in the case in which it was written."""
        if identifier is None or not identifier._meta:
            return
        if self.state.regex_names and self.state.strict and identifier.args.get("quoted"):
            raise self.state.fail(
                "An alias cannot be quoted where hive.support.quoted.identifiers=none", identifier, identifier.name
            )
        if self.state.exact and self.state.regex_names:
            return
        self.check_identifier(identifier)
        index = self._starts.get(identifier._meta["start"])
        if index is not None:
            self.state.edits.replace(index, index, self.state.quoted(identifier.name))

    def _parentheses(self, first: int, last: int) -> tuple[int, int]:
        kinds = self.state.text.kinds
        while (
            first > 0
            and last + 1 < len(kinds)
            and kinds[first - 1] is TokenType.L_PAREN
            and kinds[last + 1] is TokenType.R_PAREN
            and (first == 1 or kinds[first - 2] in BEFORE_OPERAND)
        ):
            first -= 1
            last += 1
        return first, last

    def _widen(self, first: int, last: int) -> tuple[int, int]:
        """Take in `(…)` and a plus sign, which Hive's tree does not have."""
        kinds = self.state.text.kinds
        while True:
            first, last = self._parentheses(first, last)
            if first > 1 and kinds[first - 1] is TokenType.PLUS and kinds[first - 2] in BEFORE_OPERAND:
                first -= 1
                continue
            return first, last

    def _fields(self, type_text: str | None, parts: list[Any]) -> None:
        """The fields of a struct: each is quoted in lower case; each must be there where the type is known."""
        state = self.state
        for part in parts:
            if type_text is not None:
                is_list = hive_types.base(type_text) == "array"
                inner = hive_types.arguments(type_text)[0] if is_list and hive_types.arguments(type_text) else type_text
                known = hive_types.fields(inner)
                name = part.name.lower()
                if known is None:
                    if state.strict:
                        raise state.fail(
                            f"'.{part.name}': . is only supported on struct or list of struct types, not {type_text}",
                            part,
                            part.name,
                        )
                    type_text = None
                elif name not in known:
                    raise state.fail(
                        f"Cannot find field {part.name} in {inner}: it has {', '.join(known)}", part, part.name
                    )
                else:
                    type_text = f"array<{known[name]}>" if is_list else known[name]
            if state.strict and part._meta and "start" in part._meta:
                at = self._starts.get(part._meta["start"])
                if at is not None:
                    state.pending.append(((at, -at), state.quoted(part.name.lower())))

    def _table_scope(self, place: Place, alias: str, at: exp.Expr) -> Scope | None:
        found = [scope for scope in place.scopes if scope.has_table(alias)]
        if len(found) > 1:
            raise self.state.fail(f"Ambiguous table alias '{alias}': both sides of the join have it", at, alias)
        if found:
            return found[0]
        outer = place.outer
        return outer if outer is not None and outer.has_table(alias) else None

    def _qualified_table(self, place: Place, parts: list[Any]) -> tuple[int, Scope | None]:
        """`db.t.a` and `catalog.db.t.a`, which Hive does not know: the number of parts that name the table."""
        for used in range(min(3, len(parts) - 1), 1, -1):
            owner = self._table_scope(place, parts[used - 1].name.lower(), parts[0])
            if owner is not None:
                return used, owner
        return 1, None

    def _find(self, place: Place, table: str | None, name: str, at: exp.Expr) -> tuple[Column | None, Scope | None]:
        found: Column | None = None
        owner: Scope | None = None
        try:
            for scope in place.scopes:
                if place.strict_names and scope.ambiguous and not scope.grouped and scope.is_ambiguous(table, name):
                    raise AmbiguousName(name)
                column = self._of_using(scope, name) if table is None and scope.using is not None else None
                if column is None:
                    column = scope.find(table, name)
                if column is not None:
                    if found is not None:
                        raise AmbiguousName(name)
                    found, owner = column, scope
            if found is None and place.outer is not None:
                found, owner = place.outer.find(table, name), place.outer
        except AmbiguousName as error:
            raise self.state.fail(
                f"Ambiguous column reference '{name}': more than one table has it. Write its table in front", at, name
            ) from error
        return found, owner

    def _of_using(self, scope: Scope, name: str) -> Column | None:
        """The column that a name of a USING clause means in Spark and Trino."""
        using = scope.using
        if self.state.strict or using is None or name not in using.columns:
            return None
        if using.full_outer:
            raise AmbiguousName(name)
        return scope.tables.get(using.right if using.right_outer else using.left, {}).get(name)

    def _offer(self, place: Place, table: str | None = None) -> str:
        names: list[str] = []
        for scope in place.scopes:
            names += list(scope.tables.get(table, ())) if table is not None else list(scope.visible())
        return ", ".join(names[:40]) + (" …" if len(names) > 40 else "")

    def _no_column(self, node: exp.Expr, place: Place) -> UnknownNameError:
        name = node.name
        if place.scopes[0].grouped:
            return self.state.fail(f"Expression not in GROUP BY key '{name}'", node, name)
        return self.state.fail(
            f"Invalid table alias or column reference '{name}' (possible column names are: {self._offer(place)})",
            node,
            name,
        )


@lru_cache(maxsize=8192)
def _is_name(name: str) -> bool:
    """Whether Hive reads a word as a name without quotes."""
    return name.lower() not in RESERVED and _PLAIN.fullmatch(name) is not None


_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_]*")

_IN_FRONT = frozenset({TokenType.L_PAREN, TokenType.PLUS})
