"""How a query's rows change with its tables: which tables to replace by what, so that the new rows come out.

Source: incremental view maintenance by the algebra of bags. A query of projections, filters, inner joins and UNION ALL
gives, for rows that were added to its tables, the rows that are added to it:

- a table gives the rows that were added to it;
- `a UNION ALL b` gives what `a` gives, then what `b` gives;
- `a JOIN b` gives the new rows of `a` with all rows of `b` as it is now, then all rows of `a` as it was with the new
  rows of `b`; and so on for more tables.

Each of these is the query's own text with its tables replaced, so no SQL is generated. A GROUP BY over such a query is
kept up by merging partial results, where its functions allow that exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from sqlglot import exp

from hive_views.sql.analysis.aggregates import may_be_aggregate
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.parsing.syntax_tree import bare, expressions, table_nodes
from hive_views.sql.rewriting.quoting import quote_identifier


class RowSelection(Enum):
    """Which rows of a table a query is run over."""

    NOW = "now"
    """All rows at the state that is refreshed to."""
    BEFORE = "before"
    """All rows at the state of the last refresh."""
    ADDED = "added"
    """The rows that were added between."""
    NONE = "none"
    """No rows: for the other side of a UNION ALL."""


@dataclass(frozen=True)
class TableLeaf:
    """One place of a text that names a table."""

    name: tuple[str, str]
    """Database and table, in lower case."""
    start: int
    """Where the name begins, in characters."""
    end: int
    """Behind its last character."""
    aliased: bool
    """Whether an alias follows."""
    catalog: str | None = None
    """The catalog that is written in front, as it is written."""


class NotIncrementalError(ValueError):
    """A query whose new rows cannot be told from its tables' new rows; the message says why."""


@dataclass(frozen=True)
class Aggregate:
    """How the columns of a GROUP BY are merged: for each the function, or None for a key."""

    merge: tuple[str | None, ...]


class IncrementalQuery:
    """A query's text, and the places in it that name tables."""

    def __init__(self, sql: str, dialect: str, database: str) -> None:
        """Parse a query."""
        self.sql = sql
        self.dialect = dialect
        self.query = parse_query(sql, dialect)
        self.tree = self.query.tree
        self._numbers: dict[int, int] = {}
        found: list[TableLeaf] = []
        for node in self.tree.find_all(exp.Table):
            if isinstance(node.this, exp.Dot):
                # A branch, a tag or a metadata table: it changes when the table that is looked at does not.
                raise NotIncrementalError(f"{node.this.sql(dialect)} has more than three parts: it is no table")
        for node in table_nodes(self.tree):
            first, last = node.parts[0]._meta, node.parts[-1]._meta
            if first is None or last is None or any(node.args.get(key) for key in ("sample", "version", "when")):
                raise NotIncrementalError(f"{node.name} is not read plainly, but as a sample or as it was once")
            parts = [part.name.lower() for part in node.parts]
            if len(parts) > 3:
                raise NotIncrementalError(
                    f"{'.'.join(parts)} is the name of no table, but of what Iceberg has beside it"
                )
            self._numbers[id(node)] = len(found)
            name = (parts[-2] if len(parts) > 1 else database.lower(), parts[-1])
            catalog = node.parts[0].name if len(parts) > 2 else None
            found.append(TableLeaf(name, first["start"], last["end"] + 1, bool(node.alias), catalog))
        self.leaves: tuple[TableLeaf, ...] = tuple(found)

    def render(self, replacement: Callable[[int, TableLeaf], str]) -> str:
        """The text with each table's name replaced; the old name becomes its alias where it has none."""
        pieces, at = [], 0
        for number, leaf in sorted(enumerate(self.leaves), key=lambda item: item[1].start):
            alias = "" if leaf.aliased else f" AS {quote_identifier(leaf.name[1], self.query.text.quote)}"
            pieces += [self.sql[at : leaf.start], replacement(number, leaf), alias]
            at = leaf.end
        return "".join([*pieces, self.sql[at:]])

    # -- What becomes of new rows ------------------------------------------------------------------------------------

    def aggregate(self, decimals: Sequence[int | None], floats: Sequence[bool]) -> Aggregate | None:
        """How a GROUP BY at the top of the query is merged."""
        select = self.tree
        if not isinstance(select, exp.Select) or not _aggregates(select):
            return None
        _refuse(select, ("having", "distinct", "windows", "qualify", "limit", "offset"))
        group = select.args.get("group")
        if group is not None and any(
            group.args.get(key) for key in ("cube", "rollup", "grouping_sets", "all", "totals")
        ):
            raise NotIncrementalError("GROUP BY with grouping sets")
        items = [bare(item) for item in select.expressions]
        if len(items) != len(floats):
            raise NotIncrementalError("its columns are not those of its schema")
        keys = [_position(bare(key), items) for key in (group.expressions if group is not None else ())]
        merged: list[str | None] = []
        for number, item in enumerate(items):
            if any(item == key for key in keys):
                merged.append(None)
                continue
            merged.append(_merge(item, decimals[number], floats[number]))
        for key in keys:
            if key not in items:
                raise NotIncrementalError(f"it groups by {key.sql()}, which is no column of it")
        return Aggregate(tuple(merged))

    def added(self, changed: Iterable[int], *, grouped: bool = False) -> tuple[Mapping[int, RowSelection], ...]:
        """Which rows of each table to read, for the rows that are added to the query."""
        self._refuse_scripts()
        found = _Delta(self._numbers, frozenset(changed)).query(self.tree, grouped=grouped)
        return tuple(
            {number: ways.get(number, RowSelection.NOW) for number in range(len(self.leaves))} for ways in found
        )

    def passed_through(self, leaf: int, position: int) -> str:
        """The column of a table that an output column is, where every row with a value comes of rows with that value.

        Then the rows with some values can be computed anew, and all others left as they are.
        """
        self._refuse_scripts()
        select = self.tree
        if not isinstance(select, exp.Select):
            raise NotIncrementalError("it is no SELECT at the top")
        _refuse(select, (key for key in _FORBIDDEN if key != "distinct"))
        from_ = select.args.get("from_")
        joins = select.args.get("joins") or []
        sources = [] if from_ is None else [from_.this, *(join.this for join in joins)]
        for number, join in enumerate(joins, start=1):
            words = " ".join(str(join.args.get(key) or "").upper() for key in ("side", "kind", "method")).split()
            plain = set(words) <= {"INNER", "CROSS"}
            if not plain and not (set(words) <= {"LEFT", "OUTER"} and self._numbers.get(id(sources[number])) != leaf):
                raise NotIncrementalError(f"{' '.join(words)} JOIN")
        node = next((source for source in sources if self._numbers.get(id(source)) == leaf), None)
        if node is None:
            raise NotIncrementalError("the table that changed is not in the FROM at the top")
        if select.find(exp.Window) is not None:
            raise NotIncrementalError("a window function")
        item = bare(select.expressions[position])
        owner = node.alias_or_name.lower()
        if not isinstance(item, exp.Column) or not (
            item.table.lower() == owner or (not item.table and len(sources) == 1)
        ):
            raise NotIncrementalError(f"{item.sql()} is no column of the table that changed")
        group = select.args.get("group")
        if _aggregates(select):
            keys = (
                [] if group is None else [_position(bare(key), list(select.expressions)) for key in group.expressions]
            )
            if item not in [bare(key) for key in keys] or any(
                group is not None and group.args.get(key)
                for key in ("cube", "rollup", "grouping_sets", "all", "totals")
            ):
                raise NotIncrementalError(f"it does not group by {item.sql()}")
        return item.name.lower()

    def _refuse_scripts(self) -> None:
        """A script reads all rows of a task together: what it gives for new rows alone is something else."""
        if self.tree.find(exp.QueryTransform) is not None:
            raise NotIncrementalError("a script (TRANSFORM … USING)")


_Ways = list[dict[int, RowSelection]]


class _Delta:
    """The recursion: for a node, the assignments that give its new rows."""

    def __init__(self, numbers: Mapping[int, int], changed: frozenset[int]) -> None:
        self._numbers = numbers
        self._changed = changed

    def query(self, node: exp.Expr, *, grouped: bool = False) -> _Ways:
        while type(node) in (exp.Subquery, exp.Paren):
            _refuse(node, ("pivots", "laterals", "joins", "sample", "with_", "limit", "offset"))
            node = node.this
        if node.args.get("with_") is not None:
            raise NotIncrementalError("WITH")
        if isinstance(node, exp.Union) and not node.args.get("distinct"):
            _refuse(node, ("limit", "offset", "order"))
            left, right = node.left, node.right
            return [
                *({**ways, **dict.fromkeys(self._leaves(right), RowSelection.NONE)} for ways in self.query(left)),
                *({**ways, **dict.fromkeys(self._leaves(left), RowSelection.NONE)} for ways in self.query(right)),
            ]
        if not isinstance(node, exp.Select):
            raise NotIncrementalError(f"{type(node).__name__.upper()} is no SELECT or UNION ALL")
        return self._select(node, grouped)

    def _select(self, node: exp.Select, grouped: bool) -> _Ways:
        _refuse(node, _FORBIDDEN)
        if not grouped and (_aggregates(node) or node.args.get("having") is not None):
            raise NotIncrementalError("GROUP BY or an aggregate below the top of the query")
        sources: list[exp.Expr] = []
        from_ = node.args.get("from_")
        if from_ is None:
            # One row, whatever happens: it is not added again, and it is one for each new row of the other side.
            raise NotIncrementalError("SELECT without FROM")
        sources.append(from_.this)
        for join in node.args.get("joins") or ():
            side, kind, method = (str(join.args.get(key) or "").upper() for key in ("side", "kind", "method"))
            if side or kind not in ("", "INNER", "CROSS") or method:
                raise NotIncrementalError(f"{' '.join(filter(None, (method, side, kind)))} JOIN")
            sources.append(join.this)
        conditions = [node.args.get("where"), *(join.args.get("on") for join in node.args.get("joins") or ())]
        for part in [*node.expressions, *filter(None, conditions)]:
            if part.find(exp.Query) is not None:
                raise NotIncrementalError("a subquery outside FROM")
            if part.find(exp.Explode, exp.Posexplode, exp.Inline, exp.UDTF) is not None:
                raise NotIncrementalError("a function that gives rows")
            if part.find(exp.Window) is not None:
                raise NotIncrementalError("a window function")
        ways: _Ways = []
        for number, source in enumerate(sources):
            for found in self._source(source):
                for other, beside in enumerate(sources):
                    if other != number:
                        part_ = RowSelection.NOW if other < number else RowSelection.BEFORE
                        found = {**found, **dict.fromkeys(self._leaves(beside), part_)}
                ways.append(found)
        return ways

    def _source(self, node: exp.Expr) -> _Ways:
        if isinstance(node, exp.Table):
            if any(node.args.get(key) for key in ("joins", "pivots", "laterals", "sample", "version", "when")):
                raise NotIncrementalError(f"{node.name} is not read plainly")
            number = self._numbers.get(id(node))
            if number is None:
                raise NotIncrementalError(f"{node.sql()} is no table")
            return [{number: RowSelection.ADDED}] if number in self._changed else []
        if isinstance(node, exp.Subquery):
            return self.query(node)
        raise NotIncrementalError(f"{type(node).__name__.upper()} in FROM")

    def _leaves(self, node: exp.Expr) -> list[int]:
        return [self._numbers[id(table)] for table in node.find_all(exp.Table) if id(table) in self._numbers]


_FORBIDDEN = (
    "distinct",
    "limit",
    "offset",
    "windows",
    "qualify",
    "laterals",
    "pivots",
    "match",
    "sample",
    "with_",
    "cluster",
    "distribute",
    "sort",
    "order",
    "connect",
    "kind",
    "into",
)

_MERGES: dict[type[exp.Expr], str] = {exp.Sum: "sum", exp.Count: "sum", exp.Min: "min", exp.Max: "max"}
_MOST_DIGITS = 38


def _refuse(node: exp.Expr, keys: Iterable[str]) -> None:
    for key in keys:
        if node.args.get(key):
            raise NotIncrementalError(key.rstrip("_").upper())


def _aggregates(select: exp.Select) -> bool:
    if select.args.get("group") is not None:
        return True
    return any(
        call.find_ancestor(exp.Select) is select and call.find_ancestor(exp.Window) is None
        for item in select.expressions
        for call in item.find_all(exp.AggFunc, exp.Any, exp.Anonymous)
        if not isinstance(call, exp.Anonymous) or may_be_aggregate(call.name)
    )


def _position(key: exp.Expr, items: Sequence[exp.Expr]) -> exp.Expr:
    """What `GROUP BY 1` means."""
    if isinstance(key, exp.Literal) and not key.is_string:
        at = int(key.this) - 1 if str(key.this).isdigit() else -1
        if 0 <= at < len(items):
            return items[at]
    return key


def _merge(item: exp.Expr, precision: int | None, floating: bool) -> str:
    function = _MERGES.get(type(item))
    if function is None:
        raise NotIncrementalError(f"{item.sql()} cannot be merged from partial results")
    if item.find(exp.Distinct) is not None:
        raise NotIncrementalError(f"{item.sql()}: DISTINCT cannot be merged from partial results")
    if len(expressions(item.args.get("expressions"))) > 0 and function != "sum":
        raise NotIncrementalError(f"{item.sql()} has several arguments")
    if floating and function == "sum":
        raise NotIncrementalError(f"{item.sql()}: the order in which floating numbers are added shows in the sum")
    if precision is not None and precision >= _MOST_DIGITS and function == "sum":
        raise NotIncrementalError(f"{item.sql()} may overflow in part and not as a whole")
    return function
