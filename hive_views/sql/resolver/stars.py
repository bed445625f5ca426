"""SELECT lists: their stars, their columns' names, and the functions that give several columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from hive_views.sql.hive_exact.planner_names import planned_column
from hive_views.sql.parsing.builtin_functions import HIVE_TABLE_FUNCTIONS
from hive_views.sql.parsing.lexer import unquote_identifier
from hive_views.sql.parsing.syntax_tree import end_of, is_star, item_ends, starts
from hive_views.sql.resolver.context import Place, State
from hive_views.sql.resolver.lateral_views import Block, CteDefinition
from hive_views.sql.resolver.scopes import AmbiguousName, Column, Scope
from hive_views.sql.resolver.sources import Sources
from hive_views.sql.types.function_signatures import CONVERSIONS


class Stars(Sources):
    """Resolves SELECT lists."""

    starred = False
    """Whether the query has a star."""
    starred_tables: frozenset[str] = frozenset()
    """The table aliases of the block while ORDER BY of a `SELECT DISTINCT *` is looked up, as Hive does it."""
    _windowed = False
    _named_windows: Sequence[exp.Expr] = ()
    """The window functions of the block that give an element of its SELECT list their name."""
    _item_place: Place | None = None

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self.definitions: list[CteDefinition] = []
        self.subquery_types: dict[int, Scope] = {}
        self.naming: list[tuple[int, str]] = []
        self._nameless: list[tuple[exp.Expr, str]] = []
        self.items_of: dict[Column, exp.Expr] = {}
        self.renamed: dict[Column, str] = {}
        self._star_texts: list[tuple[int, int, list[tuple[str, str, Column]]]] = []
        self._current_ctes: dict[str, CteDefinition] = {}

    def _items(
        self,
        node: exp.Select,
        items: list[exp.Expr],
        scope: Scope,
        plain: Scope,
        block: Block,
        naming: bool,
        distinct: bool,
    ) -> Scope:
        first = items[0].this if type(items[0]) in (exp.Alias, exp.Aliases) else items[0]
        if isinstance(first, exp.QueryTransform):
            return self._transform(first, items, scope, block)
        special = self._table_generating(items, scope, block) if isinstance(first, exp.Func) else None
        if special is not None:
            return special
        output = Scope()
        waiting, self._nameless = self._nameless, []
        shift = 1 if node.args.get("hint") is not None and self.state.strict else 0
        windows = 0
        for position, item in enumerate(items):
            kind = type(item)
            if kind is exp.Star or (kind is exp.Column and type(item.this) is exp.Star):
                self._star(item, scope, plain, block, output)
                continue
            if self.state.regex_names and self._regex(item, scope, plain, block, output):
                continue
            windows += self._item(item, position + shift, windows, scope, plain, block, output, naming)
        if self._nameless and not self.state.exact:
            self._name_items(node, items)
        self._nameless = waiting
        return output

    def _name_items(self, node: exp.Select, items: list[exp.Expr]) -> None:
        """Note where the names go of the columns that have none."""
        found = [end_of(self.state.text, item) for item, _ in self._nameless]
        if None in found:
            ends = dict(zip(map(id, items), item_ends(self.state.text, node), strict=True))
            found = [ends.get(id(item)) for item, _ in self._nameless]
        self.naming += [(last, name) for last, (_, name) in zip(found, self._nameless, strict=True) if last is not None]

    def _item(
        self,
        item: exp.Expr,
        position: int,
        windows: int,
        scope: Scope,
        plain: Scope,
        block: Block,
        output: Scope,
        naming: bool,
    ) -> int:
        """One element of a SELECT list; returns how many window functions it has."""
        state = self.state
        kind = type(item)
        if kind is exp.Aliases and state.strict:
            raise state.fail("AS (…) with several names is only allowed with a UDTF", item)
        inner = item.this if kind is exp.Alias else item
        alias = item.args.get("alias") if kind is exp.Alias else None
        place = self._item_place
        if place is None or place.scopes[0] is not scope or place.plain is not plain:
            place = self._item_place = Place((scope,), None, plain, True, True, True, True)
        if not state.strict:
            place = Place((self._lateral_aliases(plain, output),), block.outer, plain, False, True, True)
        result = self.resolve(inner, place)
        if alias is not None:
            self._quote(alias)
        bare = inner
        while type(bare) is exp.Paren:
            bare = bare.this
        found_windows = 0
        if self._windowed and type(bare) is not exp.Column:
            found_windows = sum(1 for _ in inner.find_all(exp.Window))
        table, name = self._name(bare, position, scope) if alias is None else (None, alias.name.lower())
        recommended = self._recommended(bare, result, windows) if state.strict and name.startswith("_c") else None
        if recommended is not None and output.find_any(recommended) is None:
            name = recommended
        type_source = result.type_source if isinstance(result, Column) else self._type_source(inner, scope)
        column = Column(f"_col{len(output.columns)}", table, name, type_source)
        output.put(table, name, column)
        self.items_of[column] = item
        if alias is None and naming and not self._has_name(bare, name):
            folded = type(bare) in (exp.Cast, exp.TryCast) and isinstance(result, Column) and result.name == name
            if not folded:
                self._nameless.append((item, name))
        return found_windows

    def _lateral_aliases(self, plain: Scope, output: Scope) -> Scope:
        """What an item of Spark's SELECT list can name: the FROM clause, then the aliases before it."""
        named = {name: column for name, column in output.tables.get(None, {}).items() if not name.startswith("_c")}
        if not named or self.state.text.dialect != "spark":
            return plain
        missing = {name: Column(column.internal, None, name, column.type_source) for name, column in named.items()}
        return plain.below(missing)

    def _name(self, bare: exp.Expr, position: int, scope: Scope) -> tuple[str | None, str]:
        """The table and the name of the column of an item without alias (Hive's `getColAlias`)."""
        kind = type(bare)
        if isinstance(bare, exp.Column):
            parts = bare.parts
            if len(parts) == 1:
                return None, parts[0].name.lower()
            first = parts[0].name.lower()
            table = first if len(parts) == 2 and first in scope.tables else None
            return table, parts[-1].name.lower()
        if kind is exp.Dot and isinstance(bare.expression, exp.Identifier):
            return None, bare.expression.name.lower()
        return None, f"_c{position}"

    def _has_name(self, bare: exp.Expr, name: str) -> bool:
        if type(bare) is exp.Column:
            return bare.name.lower() == name
        inner: Any = bare
        while type(inner) is exp.Dot:
            inner = inner.this
        return type(bare) is exp.Dot and type(inner) is exp.Column and bare.expression.name.lower() == name

    def _recommended(self, bare: exp.Expr, result: Any, windows: int) -> str | None:
        """The name that Hive takes from the column or the window function under a cast, instead of `_c0`."""
        inner: exp.Expr | None
        if self._named_windows:
            inner = bare
            while type(inner) in (exp.Paren, exp.Cast, exp.TryCast):
                inner = inner.this
            if type(inner) is exp.Window:
                function: Any = inner.this
                while isinstance(function, (exp.IgnoreNulls, exp.RespectNulls)):
                    function = function.this
                found = any(inner is window for window in self._named_windows)
                written = self.function_name(function) if found else None
                return f"{written}_window_{windows}" if written is not None else None
        column = result if isinstance(result, Column) else None
        if column is None and type(bare) in (exp.Cast, exp.TryCast):
            inside = bare.this
            while type(inside) in (exp.Paren, exp.Cast, exp.TryCast):
                if type(inside) is not exp.Paren and self.cast_target(inside) != self.cast_target(bare):
                    break
                inside = inside.this
            column = self.state.bindings.get(id(inside)) if type(inside) is exp.Column else None
        inner = None
        if column is None and not (type(bare) is exp.Coalesce and self.function_name(bare) == "nvl"):
            inner = planned_column(bare, self.type_of)
        if column is None and isinstance(bare, exp.Func) and self.function_name(bare) in CONVERSIONS:
            inner = next(bare.iter_expressions(), None)
        if inner is not None:
            column = self.state.bindings.get(id(inner)) if type(inner) is exp.Column else None
        if column is None or column.internal.startswith("_c"):
            return None
        return column.internal

    # -- Stars -----------------------------------------------------------------------------------------------------

    def _regex(self, item: exp.Expr, scope: Scope, plain: Scope, block: Block, output: Scope) -> bool:
        """A quoted regular expression in place of a column name, where the configuration makes it one."""
        state = self.state
        if type(item) is not exp.Column or scope.grouped:
            return False
        pattern = item.this.name
        if all(character.isalnum() or character == "_" for character in pattern):
            return False
        table = item.table.lower() or None
        if table is not None and not scope.has_table(table):
            return False
        try:
            compiled = re.compile(python_pattern(pattern), re.IGNORECASE)
        except re.error as error:
            raise state.fail(f"Invalid column reference '{pattern}': {error}", item, pattern) from error
        self._star(item, scope, plain, block, output, compiled)
        return True

    def _star(
        self,
        item: exp.Expr,
        scope: Scope,
        plain: Scope,
        block: Block,
        output: Scope,
        pattern: re.Pattern[str] | None = None,
    ) -> None:
        """Replace a star by the columns it stands for, and put them into the block's result."""
        state = self.state
        star = item if type(item) is exp.Star else item.this
        excepted = self._star_changes(star)
        table = None
        if type(item) is exp.Column and item.args.get("table") is not None:
            table = item.args["table"].name.lower()
            if (len(item.parts) > 2 and state.strict) or not plain.has_table(table):
                raise state.fail(f"Invalid table alias '{table}' in front of a star", item, table)
        chosen: list[tuple[str, str, Column]] = []
        if plain.using is not None:
            self._named_columns(item, plain, table, chosen, output)
        for alias in [*block.aliases, ""]:
            known = plain.tables.get(alias)
            if known is None or (table is not None and alias != table):
                continue
            for column in known.values():
                if plain.using is not None and column.name in plain.using.columns:
                    joined = (plain.using.left, plain.using.right)
                    if table is None or table in joined or state.text.dialect != "spark":
                        continue
                owner, name = plain.original(column)
                if table is not None and owner != table:
                    continue
                if name in excepted or (pattern is not None and not pattern.fullmatch(name)):
                    continue
                actual = column
                if scope.grouped:
                    actual, owner, name = self._grouped_star(scope, table, name, item)
                chosen.append((owner or "", name, self._put_star(owner, name, actual, output, item)))
        if not chosen:
            raise state.fail("Invalid column reference: the star stands for no column", item)
        self._write_star(item, chosen)

    def _star_changes(self, star: exp.Expr) -> set[str]:
        """The columns that `* EXCEPT (…)` leaves out."""
        if self.state.strict and (star.args.get("except_") or star.args.get("except")):
            raise self.state.fail("Hive has no EXCEPT behind a star: list the columns", star)
        if star.args.get("replace") or star.args.get("rename"):
            raise self.state.fail("REPLACE and RENAME after a star are not supported: list the columns", star)
        return {item.name.lower() for item in star.args.get("except_") or star.args.get("except") or ()}

    def _named_columns(
        self, item: exp.Expr, plain: Scope, table: str | None, chosen: list[tuple[str, str, Column]], output: Scope
    ) -> None:
        using = plain.using
        assert using is not None
        if using.full_outer and not self.state.strict and table is None:
            raise self.state.fail(
                "A star over FULL JOIN … USING takes each USING column from both sides: list the columns", item
            )
        owner = using.right if using.right_outer else using.left
        if table in (using.left, using.right) and self.state.text.dialect == "spark":
            owner = table  # Spark's star of one table has that table's own column, the other engines' has none
        known = plain.tables.get(owner, {})
        for name in using.columns:
            column = known.get(name)
            if column is None or (table is not None and owner != table):
                continue
            if column.base is not None:
                self.state.read.add(column.base)
            new = Column(f"_col{len(output.columns)}", owner, name, column.type_source)
            output.put_unique(owner, name, new)
            chosen.append((owner, name, new))

    def _grouped_star(
        self, scope: Scope, table: str | None, name: str, item: exp.Expr
    ) -> tuple[Column, str | None, str]:
        try:
            found = scope.find(table, name)
        except AmbiguousName:
            found = None
        if found is None:
            raise self.state.fail(f"Expression not in GROUP BY key {name}", item, name)
        owner, written = scope.original(found)
        if not self.state.exact:
            owner, written = self.state.bindings_of_key(scope, found, owner, written, name)
        return found, owner, written

    def _put_star(self, owner: str | None, name: str, column: Column, output: Scope, item: exp.Expr) -> Column:
        if column.base is not None:
            self.state.read.add(column.base)
        new = Column(f"_col{len(output.columns)}", owner, name, column.type_source)
        self.items_of[new] = item
        if not output.put_unique(owner, name, new):
            raise self.state.fail(f"Cannot add column {owner}.{name}: it is there twice", item, name)
        written = output.names[new][1]
        if written != name:
            self.renamed[new] = written
        return new

    def _write_star(self, item: exp.Expr, chosen: list[tuple[str, str, Column]]) -> None:
        state = self.state
        first, last = self._star_span(item)
        if first is None or last is None:
            return
        self.starred = True
        quoted = state.quoted
        if not state.exact:
            self._star_texts.append((first, last, chosen))
            return
        state.edits.replace(first, last, ", ".join(f"{quoted(table)}.{quoted(name)}" for table, name, _ in chosen))

    def rename(self, column: Column, name: str) -> None:
        """Give a column of a derived table's SELECT list another name, because its own is there twice."""
        item = self.items_of.get(column)
        self.renamed[column] = name
        if item is None or is_star(item):
            return
        if type(item) is exp.Alias:
            meta = item.args["alias"]._meta
            if meta:
                index = self._starts[meta["start"]]
                self.state.edits.replace(index, index, self.state.quoted(name))
                self.state.stars.replace(index, index, self.state.quoted(name))
            return
        last = end_of(self.state.text, item)
        if last is not None:
            self.naming.append((last, name))

    def finish(self) -> None:
        """Write the stars, and the names of columns that need one, once it is known which columns got another name."""
        state = self.state
        quoted = state.quoted
        for first, last, chosen in self._star_texts:
            behind = [f" AS {quoted(self.renamed[new])}" if new in self.renamed else "" for _, _, new in chosen]
            texts = [self.written(table, name) + added for (table, name, _), added in zip(chosen, behind, strict=True)]
            for edits in (state.edits, state.stars):
                edits.replace(first, last, ", ".join(texts))

    def _star_span(self, item: exp.Expr) -> tuple[int | None, int | None]:
        found = starts(item)
        if not found:
            return None, None
        first = self._starts.get(min(found))
        last = self._starts.get(max(found))
        star = item if type(item) is exp.Star else item.this
        if last is not None and (star.args.get("except_") or star.args.get("except")):
            while last + 1 < len(self.state.text.tokens) and self.state.text.raw(last) != ")":
                last += 1
        return first, last

    # -- Functions that give several columns -----------------------------------------------------------------------

    def _table_generating(self, items: list[exp.Expr], scope: Scope, block: Block) -> Scope | None:
        """`SELECT explode(…)`: one function that gives the whole result; None where there is none."""
        item = items[0]
        kind = type(item)
        inner = item.this if kind in (exp.Alias, exp.Aliases) else item
        name = self.function_name(inner)
        if name is None or not (name in HIVE_TABLE_FUNCTIONS or self.state.functions.get(name) == "udtf"):
            return None
        state = self.state
        if len(items) > 1:
            if not state.strict:
                return None
            raise state.fail("Only a single expression in the SELECT clause is supported with UDTF's", items[1])
        if scope.grouped:
            raise state.fail(f"{name}: GROUP BY is not supported with a UDTF in the SELECT clause", inner)
        self._arguments(inner, Place((scope,), None, scope, False))
        if state.functions.get(name) == "udtf" and inner._meta:
            index = self._starts[inner._meta["start"]]
            state.edits.replace(index, index, state.quoted(unquote_identifier(state.text.raw(index))))
        names: list[str] = []
        aliases = [item.args["alias"]] if kind is exp.Alias else item.expressions if kind is exp.Aliases else []
        for alias in aliases:
            self._quote(alias)
            names.append(alias.name.lower())
        produced = self.produced(inner)
        if produced is not None and names and len(names) != len(produced):
            raise state.fail(
                f"The number of aliases supplied in the AS clause does not match: expected {len(produced)} aliases "
                f"but got {len(names)}",
                inner,
            )
        columns = produced or [(written, None) for written in names] or [("col", None)]
        output = Scope()
        for position, (written, type_text) in enumerate(columns):
            column_name = names[position] if names else written
            output.put(None, column_name, Column(f"_col{position}", None, column_name, type_text))
        return output

    def _transform(self, item: exp.Expr, items: list[exp.Expr], scope: Scope, block: Block) -> Scope:
        """`SELECT TRANSFORM (…) USING … AS (…)`."""
        ignored = Scope()
        for expression in item.expressions:
            if type(expression) is exp.Star or (type(expression) is exp.Column and type(expression.this) is exp.Star):
                self._star(expression, scope, scope, block, ignored)
            else:
                self.resolve(expression, Place((scope,), None, scope, True))
        schema = item.args.get("schema")
        output = Scope()
        definitions = schema.expressions if schema is not None else []
        if items[0] is not item:
            definitions = [items[0].args["alias"], *(other for other in items[1:] if isinstance(other, exp.Column))]
        for position, definition in enumerate(definitions):
            name = definition.name.lower()
            kind = definition.args.get("kind") if isinstance(definition, exp.ColumnDef) else None
            type_source = (lambda kind=kind: kind.sql(dialect="hive").lower()) if kind is not None else "string"
            output.put(None, name, Column(f"_col{position}", None, name, type_source))
        if not definitions:
            for position, name in enumerate(("key", "value")):
                output.put(None, name, Column(f"_col{position}", None, name, "string"))
        return output


_POSSESSIVE = re.compile(r"(\((?:[^()\\]|\\.)*\)|\[(?:[^\]\\]|\\.)*\]|\\.|[^\\()\[\]])([?*+]|\{\d+(?:,\d*)?\})\+")


def python_pattern(pattern: str) -> str:
    """Java's possessive quantifiers (`(ds|hr)?+.+` is how Hive's users leave columns out), for every Python."""
    count = 0

    def atomic(found: re.Match[str]) -> str:
        nonlocal count
        count += 1
        return f"(?=(?P<atomic{count}>{found.group(1)}{found.group(2)}))(?P=atomic{count})"

    return _POSSESSIVE.sub(atomic, pattern)
