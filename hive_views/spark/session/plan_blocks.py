"""Matches parts of Spark's plans with definitions of materialized views, and builds plans over their stored rows.

The plans are those of Spark's analyzer in a classic session, read and built through Py4J. A definition and a part of a
query are converted to a common form: leaves (relations, and operators that are treated as opaque), conditions and
columns. Conditions and columns are expressions over the numbered columns of the leaves. Spark compares expressions
(`canonicalized`). If a part is not proven to be equal, `_NoMatchError` is raised and the part is left unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from hive_views.spark.jvm import java_class, relation_with_output, scala_list, scala_sequence, static_method
from hive_views.spark.session.proven_plans import OPERATORS_OF_DEFINITIONS, RELATION, class_name, unproven_part

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CATALYST = "org.apache.spark.sql.catalyst"
_RULES = (
    "analysis.EliminateSubqueryAliases",
    "analysis.EliminateView",
    "optimizer.ReplaceDistinctWithAggregate",
    "optimizer.SimplifyCasts",
)
"""Rules of Spark that bring plans into a common form, besides InlineCTE."""

_NARROW = frozenset({"Filter", "Sort", "GlobalLimit", "LocalLimit", "Window", "Join"})
"""Operators that pass on the columns of their children, and themselves need only those that they refer to."""

_MAX_ASSIGNMENTS = 24
"""Maximum number of ways to pair the leaves of a self join that are tried."""

INTEGERS = frozenset({"tinyint", "smallint", "int", "bigint"})
_MAX_SUMMED_PRECISION = 28
"""Up to this precision, the SUM of a DECIMAL has ten more digits, so only a sum of ten billion rows can overflow."""


class _NoMatchError(Exception):
    """It cannot be proven that a part of a query can be computed from stored rows."""


@dataclass(frozen=True)
class StoredRows:
    """A plan that reads stored rows."""

    plan: Any
    attributes: tuple[Any, ...]
    """Its column for each column of the definition; None for one that is stored in another type."""


@dataclass(frozen=True)
class _Select:
    """A query without groups: leaves, conditions and columns."""

    leaves: tuple[Any, ...]
    predicates: tuple[Any, ...]
    outputs: dict[int, Any]
    """The expressions of its columns by the ids of their attributes."""


@dataclass(frozen=True)
class _Group:
    """A query with groups."""

    leaves: tuple[Any, ...]
    predicates: tuple[Any, ...]
    keys: tuple[Any, ...]


@dataclass(frozen=True)
class Definition:
    """A definition in the form that is compared with queries."""

    select: _Select | None
    """The definition as a whole; None if its rows may depend on the order of computation."""
    group: _Group | None
    """The same, if it is a GROUP BY without HAVING."""
    select_outputs: Any
    """The positions of the usable columns by expression; a Java map."""
    group_outputs: Any
    """The same for a GROUP BY with the same keys."""
    key_outputs: Any
    """The entries of `group_outputs` that distinguish all values of the keys; for other keys and for conditions."""


@dataclass
class _Rewriting:
    """One attempt to compute expressions from stored rows."""

    outputs: Any
    load: Callable[[], StoredRows]
    rows: StoredRows | None = None

    def column(self, canonical: Any) -> Any:
        """Return the stored column with an expression's value; None if there is none."""
        position = self.outputs.get(canonical)
        if position is None:
            return None
        attribute = self.stored().attributes[position]
        if attribute is None:
            raise _NoMatchError
        return attribute

    def stored(self) -> StoredRows:
        """Return the stored rows, which are loaded when the first column is needed."""
        if self.rows is None:
            self.rows = self.load()
        return self.rows


class PlanBlocks:
    """Compares and builds plans in one classic session."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        jvm: Any = spark._jvm
        self._jvm = jvm
        self._no_items = self._seq([])

    def normalized(self, plan: Any) -> Any:
        """Return a plan in the common form, with the same rows and columns."""
        for rule in _RULES:
            plan = self._object(rule).apply(plan)
        return self._class("optimizer.InlineCTE")(False, False).apply(plan)

    def leaves(self, plan: Any) -> list[Any]:
        """Return the leaves of a plan and of its subqueries."""
        plans = [plan, *scala_list(plan.subqueriesAll())]
        return [leaf for part in plans for leaf in scala_list(part.collectLeaves())]

    def replace_leaves(self, plan: Any, replacement: Callable[[Any], Any]) -> Any:
        """Return a plan with other leaves; None for a leaf keeps it."""
        children = scala_list(plan.children())
        if not children:
            other = replacement(plan)
            return plan if other is None else other
        return plan.withNewChildren(self._seq([self.replace_leaves(child, replacement) for child in children]))

    def relation_like(self, relation: Any, output: Any) -> Any:
        """Return a relation with other attributes for its columns."""
        return relation_with_output(self._jvm, relation, output)

    # -- Definitions ---------------------------------------------------------------------------------------------------

    def definition(self, plan: Any) -> Definition | None:
        """Return the form of a definition's normalized plan; None if it cannot be matched."""
        if class_name(plan) == "Sort":  # the rows are the same in any order
            plan = plan.child()
        if not plan.deterministic() or plan.isStreaming() or not plan.subqueriesAll().isEmpty():
            return None
        if unproven_part(plan, OPERATORS_OF_DEFINITIONS) is not None:
            return None
        attributes = scala_list(plan.output())
        group, group_outputs, key_outputs = self._defined_group(plan, attributes)
        leaves = self._select_leaves(plan)
        select: _Select | None = self._select(plan, self._offsets(leaves))
        assert select is not None
        if not all(map(self._is_exact, select.predicates)) or not all(map(self._has_exact_rows, leaves)):
            select = None
        select_outputs = self._usable(attributes, select.outputs) if select is not None else None
        if select is None and group is None:
            return None
        return Definition(select, group, select_outputs, group_outputs, key_outputs)

    def _defined_group(self, plan: Any, attributes: list[Any]) -> tuple[_Group | None, Any, Any]:
        """Return the definition as a GROUP BY, with the maps `group_outputs` and `key_outputs` of `Definition`."""
        node = plan
        while class_name(node) == "Project":
            node = node.child()
        if class_name(node) != "Aggregate":
            return None, None, None
        leaves = self._select_leaves(node.child())
        child = self._select(node.child(), self._offsets(leaves))
        keys = tuple(self._bound(key, child.outputs) for key in scala_list(node.groupingExpressions()))
        grouped = {_id(item): self._bound(item, child.outputs) for item in scala_list(node.aggregateExpressions())}
        outputs = self._projected(plan, node, grouped)
        parts = (*child.predicates, *keys)
        if not all(map(self._is_exact, parts)) or not all(map(self._has_exact_rows, leaves)):
            return None, None, None
        # A group has only one of its equal keys, such as 0.0 and -0.0, or maps with entries in another order.
        merged = [key.canonicalized() for key in keys if _has_equal_values(key)]
        precise = {name: expression for name, expression in outputs.items() if not self._contains(expression, merged)}
        group = _Group(tuple(leaves), child.predicates, keys)
        return group, self._usable(attributes, outputs), self._usable(attributes, precise)

    def _contains(self, expression: Any, parts: Sequence[Any]) -> bool:
        """Return whether an expression contains one of the given parts outside of aggregates."""
        if not parts or class_name(expression) == "AggregateExpression":
            return False
        canonical = expression.canonicalized()
        return any(canonical.equals(part) for part in parts) or any(
            self._contains(child, parts) for child in scala_list(expression.children())
        )

    def _projected(self, plan: Any, bottom: Any, outputs: dict[int, Any]) -> dict[int, Any]:
        """The columns of the projections in `plan` down to the operator `bottom`, whose columns are `outputs`."""
        if plan is bottom:
            return outputs
        below = self._projected(plan.child(), bottom, outputs)
        return {_id(item): self._bound(item, below) for item in scala_list(plan.projectList())}

    def _usable(self, attributes: list[Any], outputs: dict[int, Any]) -> Any:
        """Return the positions of the columns whose values do not depend on the order of computation, by expression."""
        positions = java_class(self._jvm, "java.util.HashMap")()
        for position, attribute in enumerate(attributes):
            expression = outputs.get(_id(attribute))
            if expression is not None and self._is_exact(expression):
                positions.putIfAbsent(expression.canonicalized(), position)
        return positions

    def _has_exact_rows(self, plan: Any) -> bool:
        """Return whether the rows of an operator do not depend on the order of computation."""
        expressions = [] if class_name(plan) == RELATION else scala_list(plan.expressions())
        return all(map(self._is_exact, expressions)) and all(map(self._has_exact_rows, scala_list(plan.children())))

    def _is_exact(self, expression: Any) -> bool:
        """Return whether the values of an expression do not depend on the order of computation.

        Spark's canonical form reorders sums and products: (a + b) + c and a + (b + c) are equal in it. The literals 0.0
        and -0.0 are equal, too.
        """
        kind = class_name(expression)
        children = scala_list(expression.children())
        if kind == "Literal" and _is_zero(expression):
            return False
        if kind == "AggregateExpression" and not _is_exact_aggregate(expression.aggregateFunction()):
            return False
        is_nested = kind in ("Add", "Multiply") and any(class_name(child) == kind for child in children)
        if is_nested and _type(expression) not in INTEGERS:
            return False
        if kind in ("Greatest", "Least") and _has_floats(expression):
            return False
        return all(map(self._is_exact, children))

    # -- Queries -------------------------------------------------------------------------------------------------------

    def substitute(
        self, plan: Any, definitions: Sequence[tuple[Definition, Callable[[], StoredRows], Callable[[], None]]]
    ) -> Any:
        """Return a normalized plan in which parts are computed from stored rows; the plan itself if no part can be.

        Each definition has a function that loads its stored rows, and one that is called when they are used.
        """
        return self._substitute(plan, None, definitions)

    def _substitute(self, plan: Any, needed: frozenset[int] | None, definitions: Any) -> Any:
        if class_name(plan) == "Sample":  # which rows it takes depends on their order
            return plan
        if plan.deterministic() and plan.subqueriesAll().isEmpty():
            for definition, load, on_use in definitions:
                replaced = self._matched(plan, needed, definition, load)
                if replaced is not None:
                    on_use()
                    return replaced
        children = scala_list(plan.children())
        if not children:
            return plan
        below = self._needed_below(plan, needed)
        replaced_children = [self._substitute(child, below, definitions) for child in children]
        if all(new is old for new, old in zip(replaced_children, children, strict=True)):
            return plan
        return plan.withNewChildren(self._seq(replaced_children))

    def _needed_below(self, plan: Any, needed: frozenset[int] | None) -> frozenset[int] | None:
        """Return the columns of its children that an operator needs; None for all."""
        kind = class_name(plan)
        if kind not in ("Project", "Aggregate") and (needed is None or kind not in _NARROW):
            return None
        references = frozenset(_id(item) for item in scala_list(plan.references().toSeq()))
        return references if kind in ("Project", "Aggregate") else references | (needed or frozenset())

    def _matched(
        self, plan: Any, needed: frozenset[int] | None, definition: Definition, load: Callable[[], StoredRows]
    ) -> Any:
        """Return the plan that computes the needed columns of a part of a query from stored rows.

        None if impossible.
        """
        attributes = [item for item in scala_list(plan.output()) if needed is None or _id(item) in needed]
        if class_name(plan) == "Aggregate":
            group = definition.group
            if group is None:
                return None
            for offsets in self._assignments(self._select_leaves(plan.child()), group.leaves):
                try:
                    return self._grouped(plan, attributes, definition, group, offsets, load)
                except _NoMatchError:
                    continue
            return None
        if definition.select is None:
            return None
        rewriting = _Rewriting(definition.select_outputs, load)
        for offsets in self._assignments(self._select_leaves(plan), definition.select.leaves):
            try:
                return self._selected(plan, attributes, definition.select, offsets, rewriting)
            except _NoMatchError:
                continue
        return None

    def _selected(
        self, plan: Any, attributes: list[Any], defined: _Select, offsets: list[int], rewriting: _Rewriting
    ) -> Any:
        query = self._select(plan, offsets)
        conditions = self._remaining(query.predicates, defined.predicates)
        items = [
            self._named(attribute, self._rewritten(query.outputs[_id(attribute)], rewriting))
            for attribute in attributes
        ]
        return self._class("plans.logical.Project")(self._seq(items), self._filtered(conditions, rewriting))

    def _grouped(
        self,
        plan: Any,
        attributes: list[Any],
        definition: Definition,
        defined: _Group,
        offsets: list[int],
        load: Callable[[], StoredRows],
    ) -> Any:
        child = self._select(plan.child(), offsets)
        conditions = self._remaining(child.predicates, defined.predicates)
        keys = [self._bound(key, child.outputs) for key in scala_list(plan.groupingExpressions())]
        outputs = {_id(item): self._bound(item, child.outputs) for item in scala_list(plan.aggregateExpressions())}
        is_same = _are_same(keys, defined.keys)
        rewriting = _Rewriting(definition.key_outputs if conditions or not is_same else definition.group_outputs, load)
        if is_same:
            if conditions and not keys:
                raise _NoMatchError  # the single row is of all rows
            items = [self._named(item, self._rewritten(outputs[_id(item)], rewriting)) for item in attributes]
            return self._class("plans.logical.Project")(self._seq(items), self._filtered(conditions, rewriting))
        if not defined.keys:
            raise _NoMatchError  # the single row exists without rows of the tables, too
        new_keys = [self._rewritten(key, rewriting) for key in keys]
        items = [
            self._named(item, self._rewritten(outputs[_id(item)], rewriting, self._rolled_up)) for item in attributes
        ]
        arguments = [self._seq(new_keys), self._seq(items), self._filtered(conditions, rewriting)]
        if plan.productArity() > len(arguments):
            arguments.append(static_method(self._jvm, "scala.Option", "empty")())  # hints
        return self._class("plans.logical.Aggregate")(*arguments)

    def _rolled_up(self, aggregate: Any, rewriting: _Rewriting) -> Any:
        """Return an aggregate over several stored groups, computed from the stored aggregates or from stored keys."""
        function = aggregate.aggregateFunction()
        kind = class_name(function)
        is_exact = _is_exact_aggregate(function)
        if aggregate.isDistinct() or (
            kind in ("Min", "Max") and rewriting.outputs.get(aggregate.canonicalized()) is None
        ):
            # Each key occurs in the stored rows if it occurs in the tables.
            if kind not in ("Count", "Sum", "Min", "Max") or not is_exact:
                raise _NoMatchError
            arguments = [self._rewritten(child, rewriting) for child in scala_list(function.children())]
            others = [self._rewritten(child, rewriting) for child in scala_list(aggregate.children())[1:]]
            return aggregate.withNewChildren(self._seq([function.withNewChildren(self._seq(arguments)), *others]))
        column = rewriting.column(aggregate.canonicalized())
        if column is None or not is_exact:
            raise _NoMatchError
        if kind == "Count":
            total = self._class("expressions.aggregate.Sum")(column).toAggregateExpression()
            zero = self._object("expressions.Literal").default(total.dataType())
            return self._class("expressions.Coalesce")(self._seq([total, zero]))
        if kind not in ("Sum", "Min", "Max") or (kind == "Sum" and not _can_add_sums(function)):
            raise _NoMatchError
        total = function.withNewChildren(self._seq([column])).toAggregateExpression()
        if total.dataType().equals(aggregate.dataType()):
            return total
        is_ansi = str(self._spark.conf.get("spark.sql.ansi.enabled")).lower() == "true"
        cast = self._object("expressions.Cast")
        return cast.apply(total, aggregate.dataType(), is_ansi)

    def _rewritten(
        self, expression: Any, rewriting: _Rewriting, aggregate: Callable[[Any, _Rewriting], Any] | None = None
    ) -> Any:
        """Return an expression over stored columns. `aggregate` rewrites its aggregates.

        Without it, they must be stored.
        """
        kind = class_name(expression)
        if kind == "AggregateExpression" and aggregate is not None:
            return aggregate(expression, rewriting)
        if aggregate is None or not self._has_aggregates(expression):
            column = rewriting.column(expression.canonicalized())
            if column is not None:
                return column
        if kind in ("BoundReference", "AttributeReference", "AggregateExpression", "OuterReference"):
            raise _NoMatchError
        children = scala_list(expression.children())
        if not children:
            return expression
        return expression.withNewChildren(
            self._seq([self._rewritten(child, rewriting, aggregate) for child in children])
        )

    def _has_aggregates(self, expression: Any) -> bool:
        return class_name(expression) == "AggregateExpression" or any(
            map(self._has_aggregates, scala_list(expression.children()))
        )

    def _remaining(self, predicates: Sequence[Any], defined: Sequence[Any]) -> list[Any]:
        """Return the conditions of a query without those of the definition, all of which it must have."""
        wanted = [predicate.canonicalized() for predicate in defined]
        canonical = [predicate.canonicalized() for predicate in predicates]
        if not all(any(item.equals(other) for other in canonical) for item in wanted):
            raise _NoMatchError
        return [
            predicate
            for predicate, form in zip(predicates, canonical, strict=True)
            if not any(form.equals(item) for item in wanted)
        ]

    def _filtered(self, conditions: list[Any], rewriting: _Rewriting) -> Any:
        plan = rewriting.stored().plan
        for condition in conditions:
            plan = self._class("plans.logical.Filter")(self._rewritten(condition, rewriting), plan)
        return plan

    def _named(self, attribute: Any, expression: Any) -> Any:
        """Return an expression as a column with the name, id, type and nullability of an attribute."""
        if not expression.dataType().equals(attribute.dataType()):
            raise _NoMatchError
        if expression.nullable() and not attribute.nullable():
            expression = self._class("expressions.KnownNotNull")(expression)
        return self._alias(expression, attribute)

    def _alias(self, expression: Any, attribute: Any) -> Any:
        return self._class("expressions.Alias")(
            expression,
            attribute.name(),
            attribute.exprId(),
            attribute.qualifier(),
            static_method(self._jvm, "scala.Option", "apply")(attribute.metadata()),
            self._no_items,
        )

    # -- The common form -----------------------------------------------------------------------------------------------

    def _select_leaves(self, plan: Any) -> list[Any]:
        """Return the operators below projections, filters and inner joins."""
        kind = class_name(plan)
        if kind in ("Project", "Filter"):
            return self._select_leaves(plan.child())
        if kind == "Join" and _is_inner(plan):
            return self._select_leaves(plan.left()) + self._select_leaves(plan.right())
        return [plan]

    def _offsets(self, leaves: Sequence[Any]) -> list[int]:
        """Return the number of each leaf's first column."""
        offsets = [0]
        for leaf in leaves:
            offsets.append(offsets[-1] + leaf.output().size())
        return offsets[:-1]

    def _assignments(self, leaves: Sequence[Any], defined: Sequence[Any]) -> Iterator[list[int]]:
        """Yield the ways to pair the leaves of a query with equal ones of a definition, each as the leaves' offsets."""
        if len(leaves) != len(defined):
            return
        equal = [[position for position, item in enumerate(defined) if leaf.sameResult(item)] for leaf in leaves]
        defined_offsets = self._offsets(defined)

        def assign(number: int, used: frozenset[int]) -> Iterator[list[int]]:
            if number == len(leaves):
                yield []
                return
            for position in equal[number]:
                if position not in used:
                    for rest in assign(number + 1, used | {position}):
                        yield [defined_offsets[position], *rest]

        yield from islice(assign(0, frozenset()), _MAX_ASSIGNMENTS)

    def _select(self, plan: Any, offsets: list[int]) -> _Select:
        """Return the form of projections, filters and inner joins over leaves with the given column offsets."""
        leaves: list[Any] = []
        predicates: list[Any] = []

        def columns(node: Any) -> dict[int, Any]:
            kind = class_name(node)
            if kind == "Project":
                below = columns(node.child())
                return {_id(item): self._bound(item, below) for item in scala_list(node.projectList())}
            if kind == "Filter":
                below = columns(node.child())
                predicates.extend(self._conjuncts(self._bound(node.condition(), below)))
                return below
            if kind == "Join" and _is_inner(node):
                below = {**columns(node.left()), **columns(node.right())}
                if node.condition().isDefined():
                    predicates.extend(self._conjuncts(self._bound(node.condition().get(), below)))
                return below
            offset = offsets[len(leaves)]
            leaves.append(node)
            return {
                _id(attribute): self._class("expressions.BoundReference")(offset + number, attribute.dataType(), True)
                for number, attribute in enumerate(scala_list(node.output()))
            }

        outputs = columns(plan)
        return _Select(tuple(leaves), tuple(predicates), outputs)

    def _bound(self, expression: Any, columns: dict[int, Any]) -> Any:
        """Return an expression with the attributes in it replaced by their expressions."""
        if class_name(expression) == "AttributeReference":
            return columns.get(_id(expression), expression)
        pairs = []
        for attribute in scala_list(expression.references().toSeq()):
            replacement = columns.get(_id(attribute))
            if replacement is not None:
                pairs.append(java_class(self._jvm, "scala.Tuple2")(attribute, self._alias(replacement, attribute)))
        attribute_map = self._object("expressions.AttributeMap")
        bound = self._object("optimizer.CollapseProject").replaceAlias(
            expression, attribute_map.apply(self._seq(pairs))
        )
        while class_name(bound) == "Alias":
            bound = bound.child()
        return bound

    def _conjuncts(self, condition: Any) -> list[Any]:
        if class_name(condition) == "And":
            return self._conjuncts(condition.left()) + self._conjuncts(condition.right())
        return [condition]

    def _seq(self, items: list[Any]) -> Any:
        return scala_sequence(self._jvm, items)

    def _class(self, name: str) -> Any:
        return java_class(self._jvm, f"{_CATALYST}.{name}")

    def _object(self, name: str) -> Any:
        return java_class(self._jvm, f"{_CATALYST}.{name}$.MODULE$")


def _id(named: Any) -> int:
    return int(named.exprId().id())


def _type(expression: Any) -> str:
    return str(expression.dataType().simpleString())


def _is_inner(join: Any) -> bool:
    return str(join.joinType().toString()) in ("Inner", "Cross")


def _has_floats(expression: Any) -> bool:
    """Whether the type of an expression contains floating-point numbers, or texts that can equal different texts."""
    return any(word in _type(expression) for word in ("float", "double", "collate", "variant"))


def _has_equal_values(expression: Any) -> bool:
    """Return whether the type of an expression has values that are equal but distinguishable."""
    return _has_floats(expression) or "map<" in _type(expression)


def _is_zero(literal: Any) -> bool:
    """Return whether a literal is a zero with a sign."""
    return _type(literal) in ("float", "double") and literal.value() is not None and float(literal.value()) == 0


def _is_exact_aggregate(function: Any) -> bool:
    """Return whether an aggregate does not depend on the order of its rows.

    Aggregates of floating-point numbers do, and so does the average of integers, which Spark computes with doubles.
    """
    kind = class_name(function)
    if kind == "Count":
        return True
    if kind in ("Min", "Max"):
        return not _has_floats(function)
    if kind not in ("Sum", "Average"):
        return False
    child = _type(function.children().apply(0))
    return child.startswith("decimal(") or (kind == "Sum" and child in INTEGERS)


def _can_add_sums(function: Any) -> bool:
    """Return whether the sum of a function's sums is the sum of all values; `try_sum` gives NULL where it overflows."""
    if "TRY" in str(function.productElement(1).toString()):
        return False
    child = function.children().apply(0).dataType()
    return _type(function) == "bigint" or int(child.precision()) <= _MAX_SUMMED_PRECISION


def _are_same(expressions: Sequence[Any], others: Sequence[Any]) -> bool:
    """Return whether two lists have the same expressions, in any order."""
    one = [expression.canonicalized() for expression in expressions]
    other = [expression.canonicalized() for expression in others]
    return all(any(item.equals(match) for match in other) for item in one) and all(
        any(item.equals(match) for match in one) for item in other
    )
