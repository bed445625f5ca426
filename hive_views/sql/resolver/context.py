"""The state that all functions of the resolver share, and the rules that they follow.

`ResolutionContext` is the state of one resolution. `DialectRules` are the rules of the text's dialect (instances:
`dialects`), `ExpansionMode` the differences between portable texts and the texts that Hive itself would store
(instances: `portable` and `hive_exact.mode`). Both are chosen once, in `resolver.resolve`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any
from weakref import ref

from sqlglot import exp

from hive_views.errors import SqlError
from hive_views.sql.parsing.expression_ranges import Range
from hive_views.sql.parsing.parser import ParsedQuery
from hive_views.sql.parsing.pipes import PipeStar
from hive_views.sql.parsing.syntax_tree import start_offsets, unwrapped
from hive_views.sql.resolver.budget import ResolutionBudget
from hive_views.sql.resolver.scopes import Schemas, Scope, ScopeColumn, TableKey, TypeSource
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.text.edits import TokenEdits
from hive_views.sql.text.quoting import quote_identifier
from hive_views.sql.text.tokens import Text
from hive_views.sql.types.dialect_inference import type_inference


class UnknownNameError(SqlError):
    """A table, column or function that does not exist, or an ambiguous name."""


@dataclass(slots=True)
class Environment:
    """The names and calls that are allowed in an expression.

    Attributes:
        scopes: The scopes that are searched: one, or both sides of a join.
        outer: The scope of the query around a correlated subquery.
        ungrouped: The scope of FROM, before GROUP BY, in which names inside a grouping key are resolved.
        reuses_computed: Whether an expression that repeats a grouping key, an aggregate or a window function refers to
            the column that was computed for it.
        allows_aggregates: Whether aggregate functions are allowed.
        allows_windows: Whether window functions are allowed.
        rejects_duplicates: Whether a name of several columns of one table is ambiguous.
        parameters: The parameters of the lambdas around the expression, innermost lambda first.
        keeps_parentheses: Whether the parentheses around names stay, as in GROUPING SETS, where they are lists.
        keeps_spelling: Whether a column is written in upper and lower case as the author did.
    """

    scopes: tuple[Scope, ...]
    outer: Scope | None = None
    ungrouped: Scope | None = None
    _: KW_ONLY
    reuses_computed: bool = True
    allows_aggregates: bool = False
    allows_windows: bool = False
    rejects_duplicates: bool = False
    parameters: tuple[Scope, ...] = ()
    keeps_parentheses: bool = False
    keeps_spelling: bool = False

    @staticmethod
    def of_output(
        scope: Scope,
        ungrouped: Scope | None,
        *,
        outer: Scope | None = None,
        reuses_computed: bool = True,
        rejects_duplicates: bool = False,
    ) -> Environment:
        """Return the environment of a clause that can have aggregates and window functions, such as ORDER BY."""
        return Environment(
            (scope,),
            outer,
            ungrouped,
            reuses_computed=reuses_computed,
            allows_aggregates=True,
            allows_windows=True,
            rejects_duplicates=rejects_duplicates,
        )


@dataclass(slots=True)
class CteDefinition:
    """A common table expression: its query and the definitions that its query can use."""

    node: exp.CTE
    visible: VisibleCtes
    position: int
    is_outermost: bool
    level: int = 0
    is_recursive: bool = False
    scope: Scope | None = None
    is_running: bool = False
    """Whether its query is being resolved."""
    outer: Scope | None = None
    """The columns of the query around its WITH that its query can name."""


@dataclass(frozen=True, slots=True)
class VisibleCtes:
    """The common table expressions that a query can name.

    Attributes:
        definitions: All definitions of the nearest WITH, by name in lower case; shared by the queries of this WITH.
        count: The query can name this many definitions, counted from the first.
        outer: The common table expressions that the query around this WITH can name.
    """

    definitions: Mapping[str, CteDefinition] = field(default_factory=dict)
    count: int = 0
    outer: VisibleCtes | None = None

    def find(self, name: str, reads_later: bool) -> tuple[CteDefinition | None, bool]:
        """Return the definition that a name in lower case refers to, and whether its WITH defines it later.

        Args:
            name: The name without a database.
            reads_later: Whether a name can refer to a later definition in this dialect.
        """
        visible: VisibleCtes | None = self
        while visible is not None:
            definition = visible.definitions.get(name)
            if definition is not None:
                is_later = definition.position >= visible.count
                if reads_later or not is_later:
                    return definition, is_later
            visible = visible.outer
        return None, False


@dataclass(slots=True)
class QueryBlock:
    """One SELECT while it is resolved.

    Attributes:
        ctes: The common table expressions that the SELECT can name.
        outer: The scope of the query around a correlated subquery.
        aliases: Its table aliases in the order in which a star lists them.
        level: The number of derived tables and branches of set operations around it.
        has_windows: Whether it contains window functions.
        named_windows: The window functions after which Hive names their columns.
        window_count: The number of window functions in the elements of the SELECT list that are resolved.
        taken_names: The names that no column gets that has none of its own.
        keeps_spelling: Whether its columns are called as the author wrote them; those of a view are in lower case.
        hidden_keys: The tables below a pipe operator with a key of USING or NATURAL JOIN that only `t.*` contains.
    """

    ctes: VisibleCtes
    outer: Scope | None = None
    aliases: dict[str, None] = field(default_factory=dict)
    level: int = 0
    has_windows: bool = False
    named_windows: Sequence[exp.Expr] = ()
    window_count: int = 0
    taken_names: set[str] = field(default_factory=set)
    keeps_spelling: bool = False
    hidden_keys: set[str] = field(default_factory=set)


@dataclass(slots=True)
class OrderedQuery:
    """A query whose ORDER BY, SORT BY, DISTRIBUTE BY and CLUSTER BY are resolved.

    Attributes:
        node: The query.
        output: The columns of its result.
        scope: The columns that its SELECT list is computed from: of FROM, GROUP BY or window functions.
        ungrouped: The columns of its FROM clause; None for a set operation or a query in parentheses.
        level: The number of derived tables and branches of set operations around it.
        is_set_operation: Whether it is a set operation.
        names_output_only: Whether the clauses can name only columns of the result.
        items: Its SELECT list.
        distinct_star_aliases: The table aliases of a `SELECT DISTINCT *`.
    """

    node: exp.Expr
    output: Scope
    scope: Scope
    ungrouped: Scope | None
    level: int
    is_set_operation: bool = False
    names_output_only: bool = False
    items: Sequence[exp.Expr] = ()
    distinct_star_aliases: Sequence[str] = ()


@dataclass(slots=True)
class Source:
    """A table, common table expression or derived table of a FROM clause.

    Attributes:
        node: Its node in the syntax tree.
        alias: Its alias in lower case.
        scope: Its columns.
        table: The name of the table; None for other elements.
        cte: The common table expression; None for other elements.
        sample: The text of its TABLESAMPLE, which the tree of a text of dialect `hive` does not contain.
    """

    node: exp.Expr
    alias: str
    scope: Scope
    table: TableKey | None = None
    cte: exp.CTE | None = None
    sample: str | None = None


@dataclass(slots=True)
class JoinScopes:
    """The columns that the condition of a join can name, and those that its USING clause or NATURAL compares."""

    left: Scope
    right: Scope
    keys: list[tuple[ScopeColumn, ScopeColumn]] = field(default_factory=list)
    natural_keys: list[tuple[ScopeColumn, ScopeColumn]] = field(default_factory=list)


Handler = Callable[["ResolutionContext", Any, Environment], "ScopeColumn | None"]
"""Resolves one kind of node; returns the column if the expression is one, otherwise None."""


class DialectChecks:
    """The checks of a dialect for texts that sqlglot parses but the dialect rejects; here, it rejects nothing."""

    def resolve_function(self, context: ResolutionContext, node: exp.Func, env: Environment) -> None:
        """Check a call, and write its name if it is a registered function."""

    def check_argument_count(self, context: ResolutionContext, node: exp.Expr) -> None:
        """Check the number of arguments of an aggregate."""

    def check_source(self, context: ResolutionContext, node: exp.Expr) -> None:
        """Check an element of FROM."""

    def check_laterals(
        self,
        context: ResolutionContext,
        source: exp.Expr,
        joins: Sequence[exp.Expr],
        laterals: Sequence[exp.Expr],
    ) -> None:
        """Check the lateral views of a query."""

    def check_table(self, context: ResolutionContext, node: exp.Table) -> None:
        """Check the name of a table."""

    def check_table_suffix(self, context: ResolutionContext, node: exp.Table) -> None:
        """Check what follows the name of a table."""

    def check_derived_table(self, context: ResolutionContext, node: exp.Subquery) -> None:
        """Check a derived table."""

    def check_values(self, context: ResolutionContext, node: exp.Values) -> None:
        """Check VALUES."""

    def check_join(self, context: ResolutionContext, join: exp.Join) -> None:
        """Check a join."""

    def check_cast(self, context: ResolutionContext, node: exp.Expr) -> None:
        """Check the type of a cast."""

    def check_select(self, context: ResolutionContext, node: exp.Select) -> None:
        """Check the clauses of a SELECT."""

    def check_set_operation(self, context: ResolutionContext, node: exp.Expr) -> None:
        """Check a set operation."""

    def check_subquery(self, context: ResolutionContext, query: exp.Expr, env: Environment) -> None:
        """Check a subquery in an expression."""


@dataclass(frozen=True)
class DialectRules:
    """The rules by which a dialect resolves names."""

    checks: DialectChecks = field(default_factory=DialectChecks)
    """The checks for texts that sqlglot parses but the dialect rejects."""
    checks_identifiers: bool = False
    """Whether reserved words and other words that are not identifiers are rejected unless they are quoted."""
    checks_types: bool = False
    """Whether operators, conditions and set operations over incompatible types are rejected."""
    restricts_windows: bool = False
    """Whether window functions are allowed only in the SELECT list and QUALIFY."""
    restricts_subqueries: bool = False
    """Whether a subquery in an expression must return one column and can name columns of the next outer block only."""
    requires_aliases: bool = False
    """Whether derived tables, VALUES, table functions and lateral views need an alias."""
    requires_over: bool = False
    """Whether lead() and lag() without OVER are rejected."""
    allows_database_in_column: bool = False
    """Whether `database.table.column` is a column."""
    drops_parentheses: bool = False
    """Whether parentheses and plus signs around a name are replaced together with the name."""
    quotes_fields: bool = False
    """Whether the fields of structs are written in quotes and lower case."""
    merges_using_columns: bool = False
    """Whether a column of a USING clause occurs once in the join's result, not once for each side."""
    removes_redundant_casts: bool = False
    """Whether a cast of a column to its own type is replaced by the column."""
    derives_column_names: bool = False
    """Whether an expression is named after the column to which Hive's planner reduces it."""
    hint_counts_as_item: bool = False
    """Whether a hint counts in the numbers of generated column names."""
    computes_groups_first: bool = False
    """Whether GROUP BY and window functions are resolved first and the SELECT list refers to their results."""
    groups_by_ordinals: bool = False
    """Whether a number in GROUP BY is a position of the SELECT list regardless of settings."""
    names_columns_of_values: bool = True
    """Whether the columns of VALUES have names, `col1` and so on, without an alias that names them."""
    unifies_rows_of_values: bool = False
    """Whether the types of VALUES are those of all rows combined, not those of the first row."""
    allows_generators_with_columns: bool = False
    """Whether a SELECT list can contain a table-generating function and other elements."""
    exploded_name: str = "val"
    """The name of the values that posexplode() produces."""
    has_struct_stars: bool = False
    """Whether `s.*` can be the fields of a struct."""
    reads_outer_in_from: bool = False
    """Whether a derived table or a WITH of a subquery can name columns of the query around the subquery."""
    keeps_letter_case: bool = False
    """Whether fields of structs and columns of inner queries are called as they are written."""
    names_casts_and_literals: bool = False
    """Whether `CAST(c AS t)`, a literal and an element of a column have names without an alias (`implicit_names`)."""
    names_extracted_fields: bool = True
    """Whether a field of any expression gives the output column its name; otherwise only a field of a column does."""
    has_star_except: bool = False
    """Whether `* EXCEPT (…)` exists."""
    reads_later_ctes: bool = False
    """Whether a name can refer to a common table expression that the same WITH defines later."""
    has_partitioned_functions: bool = False
    """Whether FROM can contain `noop(ON t PARTITION BY …)`."""
    has_lateral_aliases: bool = False
    """Whether an element of the SELECT list can name the aliases before it."""
    star_includes_using: bool = False
    """Whether `t.*` includes the columns that are named by USING."""
    interval_units: frozenset[str] | None = None
    """The allowed units of an INTERVAL; None if they are not checked."""
    rejects_repeated_names: bool = False
    """Whether a name of several columns of a derived table or common table expression cannot be written around it."""
    finds_attributes: bool = False
    """Whether such columns are one if they pass on one column of FROM."""
    has_pivots: bool = False
    """Whether PIVOT and UNPIVOT are resolved."""


class ExpansionMode:
    """The differences between portable texts and the texts that Hive 4.1 itself would store."""

    resolves_all_names: bool
    """Whether names that Hive leaves unresolved are resolved: in unused common table expressions and windows, in
    grouping(), and the names of registered functions with OVER."""
    names_all_columns: bool
    """Whether columns without a name of their own, or with another name, get `AS name`."""
    writes_generated_aliases: bool
    """Whether the aliases that the resolver generates for derived tables without alias are written."""
    quotes_regex_names: bool
    """Whether names are quoted even where quoted names are regular expressions."""
    qualifies_inner_ctes: bool
    """Whether the common table expressions of inner queries are written with a database, as tables are."""
    shares_ctes: bool
    """Whether the common table expressions of one WITH can name each other in any order."""
    checks_captures: bool
    """Whether to check that the qualified name of an outer column has no other meaning inside the subquery."""
    replaces_ordinals: bool
    """Whether a position in GROUP BY is replaced by the element of the SELECT list."""
    keeps_keys_under_windows: bool
    """Whether the scope of window functions keeps the expressions of the grouping keys."""

    def reuse_column(
        self, context: ResolutionContext, node: exp.Expr, source: exp.Expr | None, env: Environment
    ) -> None:
        """Write an expression that repeats a grouping key, an aggregate or a window function."""
        raise NotImplementedError

    def key_source(self, context: ResolutionContext, scope: Scope, column: ScopeColumn) -> ScopeColumn | None:
        """Return the column of FROM under whose name a grouping key is written; None if there is none."""
        raise NotImplementedError

    def star_name(
        self, context: ResolutionContext, scope: Scope, column: ScopeColumn, name: str
    ) -> tuple[str | None, str]:
        """Return the table and the name that replace a star over a grouped block, for one of its columns."""
        raise NotImplementedError

    def sampled_name(
        self, context: ResolutionContext, name: str, qualified: str | None, buckets: Sequence[str]
    ) -> str | None:
        """Return the text for an item of TABLESAMPLE, or None to keep it as written.

        Args:
            context: The state.
            name: Its first name.
            qualified: Its qualified name if it is a column.
            buckets: The bucket columns of the table.
        """
        raise NotImplementedError

    def collection_type(self, context: ResolutionContext, node: exp.Expr) -> str | None:
        """Return the type of the argument of a table-generating function."""
        raise NotImplementedError

    def resolve_order(self, context: ResolutionContext, query: OrderedQuery) -> None:
        """Resolve ORDER BY, SORT BY, DISTRIBUTE BY and CLUSTER BY."""
        raise NotImplementedError

    def uses_cbo(self, text: Text, tree: exp.Expr) -> bool:
        """Return whether Hive plans a query with its cost based optimizer."""
        return True

    def skips_exists(self, context: ResolutionContext, query: exp.Expr) -> bool:
        """Return whether only the tables of the query in EXISTS are looked up, not its columns."""
        return False

    def check_call(self, context: ResolutionContext, node: exp.Expr) -> None:
        """Check the arguments of a call."""

    def check_operands(self, context: ResolutionContext, operators: Sequence[exp.Expr]) -> None:
        """Check the operands of operators."""

    def check_exists(self, context: ResolutionContext, query: exp.Expr, outer: Scope) -> None:
        """Check the query in EXISTS."""

    def check_grouping_sets(self, context: ResolutionContext, keys: Sequence[exp.Expr]) -> None:
        """Check GROUPING SETS."""

    def check_lateral_where(self, context: ResolutionContext, where: exp.Expr, laterals: Sequence[exp.Expr]) -> None:
        """Check WHERE over lateral views."""

    def check_having(self, context: ResolutionContext, node: exp.Select) -> None:
        """Check HAVING."""


@dataclass(frozen=True)
class Settings:
    """What a text is resolved with.

    Attributes:
        schemas: The tables and views that exist.
        database: The author's current database, in lower case.
        functions: Registered functions by name: `udf`, `udaf`, `udtf` or `macro`.
        conf: Hive settings that change how a text is parsed and resolved.
        regex_names: Whether quoted names are regular expressions (`hive.support.quoted.identifiers=none`).
        quotes_names: Whether names are written in quotes.
        uses_cbo: Whether Hive plans the query with its cost based optimizer, which has other rules for ORDER BY.
    """

    schemas: Schemas
    database: str
    functions: Mapping[str, str]
    conf: Mapping[str, str]
    regex_names: bool
    quotes_names: bool
    uses_cbo: bool

    @staticmethod
    def of(
        query: ParsedQuery,
        mode: ExpansionMode,
        schemas: Schemas,
        database: str,
        functions: Mapping[str, str] | None,
        conf: Mapping[str, str] | None,
    ) -> Settings:
        """Return the settings with those that follow from others."""
        conf = conf or {}
        has_setting = conf.get("hive.support.quoted.identifiers") == "none"
        regex_names = has_setting and query.text.dialect is Dialect.HIVE
        quotes_names = mode.quotes_regex_names or not regex_names
        uses_cbo = mode.uses_cbo(query.text, query.tree)
        return Settings(schemas, database.lower(), functions or {}, conf, regex_names, quotes_names, uses_cbo)


@dataclass(frozen=True)
class Dispatch:
    """The functions of higher modules that lower ones call.

    Attributes:
        handlers: The function for each kind of node; `names.visit` calls them.
        resolve_query: `queries.resolve_query`.
    """

    handlers: Mapping[type, Handler]
    resolve_query: Callable[..., Scope]


@dataclass(frozen=True, eq=False)
class BoundNames:
    """What each name of a query refers to. The resolver adds to it; nothing else does.

    Attributes:
        tables: The tables and views that the text names, with the position of the first name.
        bindings: The column that an expression refers to, by the id of its node.
        fields: The field names after the column in an expression such as `a.x.y`, by the id of its node.
        star_columns: The columns that a star in a function stands for, by the id of its node.
        sources: The element of FROM for each table and derived table, by the id of its node.
        joins: The columns of both sides of each join, by the id of its node.
        blocks: The columns of FROM and of the result of each SELECT, by the id of its node.
        subqueries: The result of each subquery in an expression, by the id of its node.
        select_items: The element of a SELECT list that each output column comes from.
        pivots: The ids of the nodes of PIVOT and UNPIVOT that are resolved.
        generated: What the replacement of a token names where the author names nothing, by the token: the columns of a
            star, keys of USING, columns of a table that is written as a query, elements in place of positions.
        reparsed_trees: The trees of text that was parsed again; kept so that the ids of their nodes stay unique.
    """

    tables: dict[TableKey, int] = field(default_factory=dict)
    bindings: dict[int, ScopeColumn] = field(default_factory=dict)
    fields: dict[int, list[str]] = field(default_factory=dict)
    star_columns: dict[int, list[ScopeColumn]] = field(default_factory=dict)
    sources: dict[int, Source] = field(default_factory=dict)
    joins: dict[int, JoinScopes] = field(default_factory=dict)
    blocks: dict[int, tuple[Scope, Scope]] = field(default_factory=dict)
    subqueries: dict[int, Scope] = field(default_factory=dict)
    select_items: dict[ScopeColumn, exp.Expr] = field(default_factory=dict)
    pivots: set[int] = field(default_factory=set)
    generated: dict[int, list[ScopeColumn | exp.Expr]] = field(default_factory=dict)
    reparsed_trees: list[exp.Expr] = field(default_factory=list)


StarColumns = list[tuple[str, str, ScopeColumn]]
"""The expanded text, the stored text and the output column of each column of a star."""


@dataclass(eq=False)
class Writing:
    """The replacements of a text.

    Attributes:
        edits: The replacements that complete every name.
        star_edits: The replacements of stars only, for the stored text.
        pending_edits: The replacements of the expression that is being resolved.
        pending_copies: The token ranges of this expression that are replaced by the text of other ranges.
        added_names: The token after which `AS name` is added, with the name.
        expanded_stars: The first and the last token of each star, and its columns.
        pipe_stars: The stars that pipe operators imply, each with whether the text itself determines its columns, and
            its columns.
        has_star: Whether the text contains a star.
    """

    edits: TokenEdits
    star_edits: TokenEdits
    pending_edits: list[tuple[tuple[int, int], str]] = field(default_factory=list)
    pending_copies: list[tuple[tuple[int, int], tuple[int, int]]] = field(default_factory=list)
    added_names: list[tuple[int, str]] = field(default_factory=list)
    expanded_stars: list[tuple[int, int, StarColumns]] = field(default_factory=list)
    pipe_stars: list[tuple[PipeStar, bool, StarColumns]] = field(default_factory=list)
    has_star: bool = False


@dataclass(eq=False)
class ColumnNames:
    """Names of columns that differ from those under which names are looked up.

    Attributes:
        spellings: The names of columns in upper and lower case as the author wrote them, where that is recorded.
        table_spellings: The names of columns of tables that have letters in upper case, as far as they were needed.
        invented_names: The columns without a name of their own, to which the resolver gives one.
        repeated_names: The columns to which a list of column names gives a name twice, by this name.
        renamed_columns: The new names of columns of derived tables whose own names are duplicates.
    """

    spellings: dict[ScopeColumn, str] = field(default_factory=dict)
    table_spellings: dict[TableKey, Mapping[str, str]] = field(default_factory=dict)
    invented_names: set[ScopeColumn] = field(default_factory=set)
    repeated_names: dict[str, list[ScopeColumn]] = field(default_factory=dict)
    renamed_columns: dict[ScopeColumn, str] = field(default_factory=dict)

    def is_invented(self, column: ScopeColumn) -> bool:
        """Return whether the name of a column in the expanded text differs from its name in Spark and Trino."""
        seen: set[ScopeColumn] = set()
        while column not in seen:
            if column in self.invented_names or self.renamed_columns.get(column, column.name) != column.name:
                return True
            seen.add(column)
            origin = column.origins[0] if column.origins else None
            if isinstance(origin, ScopeColumn) and origin.name == column.name:
                column = origin
        return False


@dataclass(eq=False)
class WithClauses:
    """The common table expressions of a text.

    Attributes:
        visible: Those that the SELECT that is being resolved can name.
        definitions: All of them.
        outermost: The names that the outermost WITH defines; Hive resolves them to its definitions everywhere.
        set_operations: The number of aliases that Hive's grammar generated for set operations.
    """

    visible: VisibleCtes = field(default_factory=VisibleCtes)
    definitions: list[CteDefinition] = field(default_factory=list)
    outermost: set[str] = field(default_factory=set)
    set_operations: int = 0


@dataclass(eq=False)
class ResolutionContext:
    """The state of one resolution: the text, the rules that it is resolved by, and what is known of it so far."""

    query: ParsedQuery
    settings: Settings
    dialect: DialectRules
    mode: ExpansionMode
    dispatch: Dispatch
    bound: BoundNames = field(default_factory=BoundNames)
    column_names: ColumnNames = field(default_factory=ColumnNames)
    with_clauses: WithClauses = field(default_factory=WithClauses)

    def __post_init__(self) -> None:
        self.text = self.query.text
        self.budget = ResolutionBudget(self.text)
        self.writing = Writing(TokenEdits(self.text), TokenEdits(self.text))
        bound = self.bound
        self.types = type_inference(self.query, bound.bindings, bound.fields, bound.subqueries, self.settings.conf)

    def tokens_of(self, node: exp.Expr) -> Range | None:
        """Return the first and the last token of a node; None if the text does not have it."""
        return self.query.ranges.get(id(node))

    def type_of(self, node: exp.Expr) -> str | None:
        """Return the Hive type of an expression, or None if it is unknown."""
        return self.types.type_of(node)

    def type_source(self, node: exp.Expr) -> TypeSource:
        """Return a function that infers the type of an expression when it is first needed."""
        # A strong reference would keep every resolved text until a full garbage collection.
        weak_types, budget = ref(self.types), self.budget

        def infer() -> str | None:
            types = weak_types()
            return budget.checked_type(types.type_of(node)) if types is not None else None

        return infer

    def common_type_source(self, *columns: ScopeColumn) -> TypeSource:
        """Return a function that infers the common type of columns of several rows or branches."""
        weak_types, budget = ref(self.types), self.budget

        def infer() -> str | None:
            types = weak_types()
            return budget.checked_type(types.common_type([column.type for column in columns])) if types else None

        return infer

    def key_binding(self, scope: Scope, column: ScopeColumn) -> ScopeColumn | None:
        """Return the column of FROM that a grouping key consists of; None if the key is not a plain column."""
        for text, key_column in scope.keys.items():
            if key_column is column:
                node = scope.key_nodes.get(text)
                return self.bound.bindings.get(id(unwrapped(node))) if node is not None else None
        return None

    def quote(self, name: str) -> str:
        """Quote an identifier in the dialect of the text."""
        return quote_identifier(name, self.text.quote)

    def spelling(self, column: ScopeColumn, name: str) -> str:
        """Return a column's name in upper and lower case as the author wrote it in the query that gives it."""
        origin: Any = column
        while isinstance(origin, ScopeColumn) and origin.name == column.name:
            spelled = self.column_names.spellings.get(origin)
            if spelled is not None:
                return spelled if spelled.lower() == name else name
            origin = origin.origins[0] if origin.origins else None
        return self._table_spelling(origin, name) if isinstance(origin, tuple) and column.name == name else name

    def _table_spelling(self, table: TableKey, name: str) -> str:
        """Return the name of a table's column in upper and lower case as the table has it."""
        schema = self.settings.schemas.table(*table)
        if schema is None or schema.spellings is None:
            return name
        if table not in self.column_names.table_spellings:
            self.column_names.table_spellings[table] = schema.spellings()
        return self.column_names.table_spellings[table].get(name, name)

    def fail(self, reason: str, at: exp.Expr | int | None, name: str | None = None) -> UnknownNameError:
        """Return an error at the position of an expression, or of a character."""
        start = at if isinstance(at, int) or at is None else start_of(at)
        if start is None and at is not None:
            start = self.text.tokens[0].start
        line, column = self.text.position(start)
        return UnknownNameError(reason, line=line, column=column, name=name)


def start_of(node: exp.Expr) -> int | None:
    """Return the position of the first character of an expression; None if the tree does not contain it."""
    return min(start_offsets(node), default=None)
