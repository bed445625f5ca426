"""Spark's own plans: what a statement reads, and whether a typed and an expanded query mean the same.

`PlanReader` reads plans in the form that EXPLAIN prints, which classic sessions and Spark Connect have in common.
`check_equal` compares two queries: their types, their relations and the sources of each column. It does not depend on
this package's resolver, since Spark resolves both texts. Queries that pass it can still differ in their filters and
join conditions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from hive_views.errors import SqlError
from hive_views.spark.java_features import Feature, can_use
from hive_views.spark.jvm import java_class, scala_list, static_method
from hive_views.spark.sessions import GLOBAL_TEMP, active_session, run_plan, spark_exceptions
from hive_views.sql.text.quoting import unquote_identifier
from hive_views.sql.text.spark_lexer import spark_tokens

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from hive_views.identifiers import ViewName

# -- What a statement reads --------------------------------------------------------------------------------------------

_NODE = re.compile(r"(?P<prefix>(?:(?:[: ] {2})*[:+]- )?)['!~]?(?P<name>[A-Z]\w*) ?(?P<arguments>.*)")
_SECTIONS = re.compile(
    r"== Parsed Logical Plan ==\n(?P<parsed>.*?)"
    r"== Analyzed Logical Plan ==\n(?P<analyzed>.*?)"
    r"(?:== Optimized Logical Plan ==.*|\Z)",
    re.DOTALL,
)
_NAME_PART = re.compile(r"`(?:[^`]|``)*`|[^.`]+")
"""A part of an alias, which Spark quotes unless it consists of letters, digits and underscores."""
_ATTRIBUTE = re.compile(r"(\w+)#\d+")
"""A column of a plan, with its id."""
_ATTRIBUTE_ID = re.compile(r"#(\d+)L?(?:-T\d+ms)?\Z")
"""The id at the end of a printed column; L marks BIGINT, and T the delay of a watermark."""
_CASTS = re.compile(r"\[(cast\(|\.\.\. \d+ more fields)")
"""The beginning of the column list of a view of Iceberg's catalog, or of any column list if the setting
`spark.sql.debug.maxToStringFields` is 0."""
_QUERY_WORDS = frozenset({"SELECT", "WITH", "FROM", "VALUES", "TABLE", "("})
_CHANGE_WORDS = frozenset({"INSERT", "DELETE", "UPDATE", "MERGE"})
"""Words that show that a statement which begins with WITH or FROM is not only a query."""
_LEAVES = frozenset({"RelationV2", "Relation", "HiveTableRelation", "StreamingRelationV2"})
_NOT_ICEBERG = frozenset({"Relation", "HiveTableRelation"})
"""The leaves for tables that Spark's session catalog reads itself."""
_V2_RELATIONS = _LEAVES - _NOT_ICEBERG
_EXECUTION = "org.apache.spark.sql.execution"
_ERROR = "org.apache.spark."
"""The beginning of the class of an exception, which EXPLAIN prints in place of a plan that it could not compute."""
_TRUNCATED = re.compile(r"(\.\.\. \d+ more characters|Truncated plan of \d+ characters)\Z")
"""The end of a plan that is longer than `spark.sql.maxPlanStringLength`."""
_REDACTED = "*********(redacted)"
"""The text that Spark prints in plans in place of text that `spark.sql.redaction.string.regex` matches."""
_WRITE_MARK = "__required_write_privileges__"
"""An option that Spark's parser gives to the relations that a statement writes to (4.0, 4.1)."""


@dataclass(frozen=True, slots=True, eq=False)
class PlanNode:
    """One operator of a plan."""

    name: str
    """Its class, such as `UnresolvedRelation`."""
    arguments: str
    """Its arguments as EXPLAIN prints them."""
    depth: int
    """The indentation in steps; a node's children are one step deeper, and the texts that it contains two."""
    parent: PlanNode | None

    @property
    def relation(self) -> str | None:
        """The name that a relation has in the text, its parts joined by `, `; None for other nodes and for targets."""
        if _WRITE_MARK in self.arguments or (self.parent is not None and self.parent.name == "CacheTable"):
            return None
        start = {"UnresolvedRelation": "[", "RelationTimeTravel": "'UnresolvedRelation ["}.get(self.name)
        if start is None or not self.arguments.startswith(start):
            return None
        return self.arguments[len(start) : self.arguments.find("], [")]


@dataclass(frozen=True, slots=True)
class AnalyzedRelation:
    """A table or view in an analyzed plan."""

    parts: tuple[str, ...]
    """Its name as Spark resolved it."""
    is_view: bool
    """Whether it is a view, and not a table."""
    may_be_iceberg: bool = True
    """Whether it may be an Iceberg table, and not only one that Spark's session catalog reads."""
    reader: tuple[str, ...] = ()
    """The innermost temporary or plain view that reads it; Spark analyzes it under the settings of that view."""
    filters: frozenset[str] = frozenset()
    """Columns in the filters and join conditions of the statement that may be columns of it."""


@dataclass(frozen=True)
class AnalyzedStatement:
    """A statement after Spark's analysis."""

    relations: tuple[AnalyzedRelation, ...]
    """The tables and views that it reads, directly or through views and functions."""
    frame: DataFrame | None
    """The result, if the statement is a query on a classic session."""
    plan: Any = None
    """The plan on a classic session, which `PlanReader.run` runs without a second analysis."""
    v2_relations: int = 0
    """The number of tables in the plan, as printed, that Spark's session catalog does not read itself."""


class PlanReader:
    """Reads plans in a session."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self.has_objects = can_use(spark, Feature.PLANS)
        """Whether plans are read as objects of the JVM, and not as EXPLAIN prints them."""

    def parsed(self, text: str, session: SparkSession | None = None) -> tuple[PlanNode, ...]:
        """Return the plan of Spark's parser under the settings of a session; raises Spark's error if it is invalid."""
        session = session or self._spark
        if self.has_objects:
            return tuple(plan_nodes(_printed(session, _parsed_plan(session, text))))
        return tuple(plan_nodes(_explained(session, text, None)["parsed"]))

    def analyzed(self, text: str, args: Any = None) -> AnalyzedStatement | None:
        """Return a statement after Spark's analysis, without running it; None if Spark rejects it."""
        frame, plan, tree = None, None, ""
        try:
            if self.has_objects:
                if is_query(text):
                    frame = self._spark.sql(text) if args is None else self._spark.sql(text, args)
                    plan = frame._jdf.queryExecution().analyzed()
                elif args is None:
                    plan = self._command(text)
            if plan is None:
                tree = _explained(self._spark, text, args)["analyzed"]
        except spark_exceptions():
            return None
        if plan is not None:
            tree = _printed(self._spark, plan)
        if tree.startswith(_ERROR):
            return None
        nodes = tuple(plan_nodes(tree))
        v2_relations = sum(node.name in _V2_RELATIONS for node in nodes)
        return AnalyzedStatement(tuple(relations_of(nodes)), frame, plan, v2_relations)

    def lacks_property(self, statement: AnalyzedStatement, key: str) -> bool:
        """Return whether no table that a statement reads has a property, judged by the tables that Spark has loaded.

        False if the plan's tables are not accessible: on Connect, or where the plan is printed with others.
        """
        plan = statement.plan
        if plan is None:
            return False
        tables = list(_loaded_tables(plan))
        if len(tables) < statement.v2_relations:
            # Commands that are analyzed with their query have it as an inner child.
            roots = [plan, *scala_list(plan.innerChildren())] if plan.children().isEmpty() else [plan]
            plans = [*roots[1:], *(subquery for root in roots for subquery in scala_list(root.subqueriesAll()))]
            tables += [table for part in plans for table in _loaded_tables(part)]
        if len(tables) != statement.v2_relations:
            return False
        return not any(table.properties().containsKey(key) for table in tables)

    def describes_table(self, text: str) -> Any:
        """Return the plan of a DESCRIBE of a table that Spark's session catalog does not read itself.

        None for all else.
        """
        if not self.has_objects:
            return None
        try:
            plan = self._command(text)
            nodes = [*islice(plan_nodes(_printed(self._spark, plan)), 2)]
        except spark_exceptions():
            return None
        return plan if [node.name for node in nodes] == ["DescribeRelation", "ResolvedTable"] else None

    def _command(self, text: str) -> Any:
        """Return the analyzed plan of a classic session's statement that is not run."""
        skip = static_method(self._spark._jvm, f"{_EXECUTION}.CommandExecutionMode", "SKIP")()
        state = self._spark._jsparkSession.sessionState()
        return state.executePlan(_parsed_plan(self._spark, text), skip).analyzed()

    def explaining(self, text: str, plan: Any, *, is_rewritten: bool = False) -> Any:
        """An EXPLAIN statement for an analyzed plan; None on Connect, and for EXTENDED, which shows the parsed plan.

        For a plan that was rewritten, EXTENDED shows that plan as the parsed one.
        """
        if plan is None:
            return None
        mode = _parsed_plan(self._spark, text).mode()
        if mode.name() == "extended" and not is_rewritten:
            return None
        return java_class(self._spark._jvm, f"{_EXECUTION}.command.ExplainCommand")(plan, mode)

    def run(self, plan: Any) -> DataFrame:
        """Run an analyzed plan."""
        return run_plan(self._spark, plan)


def is_query(text: str) -> bool:
    """Return whether a text is a query, so that running it changes nothing."""
    words = [token.keyword or token.text for token in spark_tokens(text)]
    first = words[0] if words else ""
    return first in _QUERY_WORDS and (first in ("SELECT", "VALUES", "TABLE") or _CHANGE_WORDS.isdisjoint(words))


def plan_nodes(tree: str) -> Iterator[PlanNode]:
    """The nodes of a printed plan, parents first. Lines that belong to literals or to the statement are skipped."""
    path: list[PlanNode] = []
    for line in tree.split("\n"):
        match = _NODE.match(line)
        depth = 0 if match is None else len(match["prefix"]) // 3
        if match is None or (depth == 0 and path):
            continue
        while path and path[-1].depth >= depth:
            path.pop()
        node = PlanNode(match["name"], match["arguments"], depth, path[-1] if path else None)
        path.append(node)
        yield node


def relations_of(nodes: tuple[PlanNode, ...]) -> Iterator[AnalyzedRelation]:
    """Yield the tables and views in an analyzed plan."""
    for alias, child in pairwise(nodes):
        if alias.name == "SubqueryAlias" and child.parent is alias:
            parts = _name_parts(alias)
            # Iceberg's catalog (1.11) names a view as the text does, and projects its columns to the declared types.
            # Other aliases with few parts are those of a statement.
            if len(parts) == 3 or (child.name == "Project" and _CASTS.match(child.arguments)):
                is_view, may_be_iceberg = child.name not in _LEAVES, child.name not in _NOT_ICEBERG
                yield AnalyzedRelation(parts, is_view, may_be_iceberg, _reader_of(alias), _filtered_columns(alias))


def filters_by_name(
    relations: Iterable[AnalyzedRelation], name_of: Callable[[tuple[str, ...]], ViewName | None]
) -> dict[ViewName, frozenset[str]]:
    """Return the filtered columns of relations by the names that their parts mean."""
    filters: dict[ViewName, frozenset[str]] = {}
    for relation in relations:
        name = name_of(relation.parts) if relation.filters else None
        if name is not None:
            filters[name] = filters.get(name, frozenset()) | relation.filters
    return filters


def _name_parts(alias: PlanNode) -> tuple[str, ...]:
    """Return the parts of the name that a SubqueryAlias gives."""
    return tuple(map(unquote_identifier, _NAME_PART.findall(alias.arguments)))


def _filtered_columns(node: PlanNode) -> frozenset[str]:
    """Return the names in the conditions of the operators that contain a relation."""
    names: set[str] = set()
    while node.parent is not None:
        node = node.parent
        if node.name in ("Filter", "Join"):
            names.update(name.lower() for name in _ATTRIBUTE.findall(node.arguments))
    return frozenset(names)


def _reader_of(node: PlanNode) -> tuple[str, ...]:
    """Return the name of the innermost view of Spark within whose plan a node is; empty if there is none."""
    while node.parent is not None:
        child, node = node, node.parent
        if node.name == "SubqueryAlias" and child.name == "View":
            return _name_parts(node)
    return ()


def _loaded_tables(plan: Any) -> Iterator[Any]:
    """Return the tables of a classic session's plan that Spark has loaded from catalogs other than its own."""
    return (leaf.table() for leaf in scala_list(plan.collectLeaves()) if leaf.nodeName() == "DataSourceV2Relation")


def _parsed_plan(session: SparkSession, text: str) -> Any:
    """The plan of a classic session's parser, which takes its settings from the session that is active in the JVM."""
    with active_session(session):
        return session._jsparkSession.sessionState().sqlParser().parsePlan(text)


def _printed(session: SparkSession, plan: Any) -> str:
    """Return a plan of a classic session as EXPLAIN prints it."""
    try:
        return complete_plan(plan.treeString())
    except spark_exceptions():
        # Types such as TIME are printed only if the JVM's active session, which is often another one, enables them.
        with active_session(session):
            return complete_plan(plan.treeString())


def complete_plan(printed: str) -> str:
    """Return a printed plan; raises SqlError if Spark has left out parts of it, which may be the names of views."""
    if _TRUNCATED.search(printed):
        raise SqlError("Spark truncates plans, which tell what a statement reads: RESET spark.sql.maxPlanStringLength")
    return printed


def _explained(session: SparkSession, text: str, args: Any) -> dict[str, str]:
    """Return the plans that EXPLAIN EXTENDED prints; raises Spark's error if the text is invalid."""
    # The planning of a statement that creates a view ends after its analysis. It cannot contain parameters.
    is_view = args is None and is_query(text) and not {"?", ":"} & {token.text for token in spark_tokens(text)}
    explain = f"EXPLAIN EXTENDED {'CREATE TEMPORARY VIEW hive_views_explained AS ' if is_view else ''}{text}"
    rows = (session.sql(explain) if args is None else session.sql(explain, args)).collect()
    printed = complete_plan("\n".join(row[0] for row in rows))  # a plan that fails is printed line by line
    if _REDACTED in printed:
        raise SqlError(
            "What this statement reads is determined from a printed plan, of which spark.sql.redaction.string.regex "
            "hides parts: RESET it, or use a classic session without parameters"
        )
    sections = _SECTIONS.match(printed)
    if sections is None:
        raise ValueError(f"Spark's EXPLAIN EXTENDED is not understood: {printed[:200]}")
    return sections.groupdict()


# -- Whether two queries are equal -------------------------------------------------------------------------------------

_UNREADABLE: tuple[type[Exception], ...] = (
    *(AttributeError, IndexError, KeyError, RecursionError, StopIteration, TypeError, ValueError),
)
"""The exceptions raised when a version of Spark writes the JSON form of a plan differently."""


@dataclass(frozen=True)
class AnalyzedQuery:
    """Results of Spark's analyzer for a query.

    Attributes:
        columns: The columns of its result.
        relations: The relations that it reads, in the order of the plan; None without a JSON form of it, as on Spark
            Connect.
        sources: The columns of relations that each column of the result is computed from; empty without `relations`.
    """

    columns: StructType
    relations: tuple[str, ...] | None = None
    sources: tuple[frozenset[str], ...] = ()

    @classmethod
    def of(cls, frame: DataFrame) -> AnalyzedQuery:
        """Read a query's plan; the query is not run."""
        columns: StructType = frame.schema
        if not can_use(frame.sparkSession, Feature.PLAN_COMPARISON):
            return cls(columns)
        plan = frame._jdf.queryExecution().analyzed()
        reader = _PlanJson()
        try:
            reader.read(json.loads(plan.toJSON()))
        except spark_exceptions() + _UNREADABLE:
            return cls(columns)
        ids = _output_ids(plan)
        if len(ids) != len(columns.fields):
            return cls(columns)
        return cls(columns, tuple(reader.relations), tuple(reader.sources_of(item) for item in ids))


def _output_ids(plan: Any) -> list[int]:
    """Return the ids of the columns of a classic session's plan, in one call and not in two for each column."""
    separator = uuid4().hex
    printed = str(plan.output().mkString(separator))
    return [int(match[1]) for part in printed.split(separator) if (match := _ATTRIBUTE_ID.search(part))]


def check_equal(typed: AnalyzedQuery, expanded: AnalyzedQuery) -> None:
    """Reject an expanded query that Spark analyzes differently than the typed one; raises SqlError."""
    reason = _difference(typed, expanded)
    if reason is not None:
        raise SqlError(
            f"Spark analyzes the expanded text differently than the typed text: {reason}. The statement is rejected, "
            "since readers could get other rows: write the query in another way, for example with table aliases"
        )


def _difference(typed: AnalyzedQuery, expanded: AnalyzedQuery) -> str | None:
    types = [[column.dataType for column in query.columns.fields] for query in (typed, expanded)]
    if len(types[0]) != len(types[1]):
        return f"it has {len(types[1])} columns instead of {len(types[0])}"
    for column, ours, theirs in zip(typed.columns.fields, types[1], types[0], strict=True):
        if ours != theirs:
            return f"column {column.name} is {ours.simpleString()} instead of {theirs.simpleString()}"
    if typed.relations is None or expanded.relations is None:
        return None
    if typed.relations != expanded.relations:
        return f"it reads {_listed(expanded.relations)} instead of {_listed(typed.relations)}"
    for column, source, expected in zip(typed.columns.fields, expanded.sources, typed.sources, strict=True):
        if source != expected:
            return f"column {column.name} comes from {_listed(sorted(source))} instead of {_listed(sorted(expected))}"
    return None


def _listed(names: Any) -> str:
    return ", ".join(names or ()) or "nothing"


_REFERENCES = frozenset({"CTERelationRef", "UnionLoopRef"})
"""The leaves that stand for another part of the plan; a text may give its columns other names, in the same order."""


@dataclass
class _PlanJson:
    """Reads the JSON form of a plan (`TreeNode.toJSON`): lists of nodes, parents first."""

    relations: list[str] = field(default_factory=list)
    leaves: dict[int, str] = field(default_factory=dict)
    """The column of a relation by the id of its attribute."""
    inputs: dict[int, set[int]] = field(default_factory=dict)
    """The attributes that an attribute is computed from."""

    def read(self, nodes: list[dict[str, Any]]) -> None:
        """Read a plan."""
        self._read(iter(nodes), "")

    def _read(self, nodes: Iterator[dict[str, Any]], name: str, *, is_view: bool = False) -> None:
        node = next(nodes)
        if node["class"].endswith(".SubqueryAlias"):
            qualifier = str(node["identifier"].get("qualifier") or "[]").strip("[]")
            if qualifier and not qualifier.startswith(GLOBAL_TEMP):  # temporary views have names of their session
                name = f"{qualifier}.{node['identifier']['name']}".replace(", ", ".")
        elif node["class"].endswith(".View") and not name:
            identifier = node["desc"]["identifier"]
            name = "" if identifier.get("database") else identifier["table"]
        kind = node["class"].rpartition(".")[2]
        if kind in _REFERENCES:
            self._add_relation(name or kind, {item: str(at) for at, item in enumerate(_attributes(node["output"]))})
        elif node["num-children"] == 0:
            self._add_relation(name or kind, _attributes(node))
        elif is_view:
            projected = [item[0] for item in node.get("projectList", ()) if "exprId" in item[0]]
            self._add_relation(name, {item["exprId"]["id"]: item["name"] for item in projected})
        elif node["class"].endswith(".Generate"):
            generator = set(_attributes(node.get("generator")))
            self.inputs.update(dict.fromkeys(_attributes(node.get("generatorOutput")), generator))
        for value in node.values():
            self._read_expressions(value)
        for _ in range(node["num-children"]):
            self._read(nodes, name, is_view=node["class"].endswith(".View"))

    def _add_relation(self, name: str, columns: dict[int, str]) -> None:
        self.relations.append(name)
        for item, column in columns.items():
            self.leaves[item] = f"{name}.{column.lower()} (relation {len(self.relations)})"

    def _read_expressions(self, value: Any) -> None:
        """Read the aliases, and the plans of subqueries, in the arguments of a node."""
        if isinstance(value, dict):
            for item in value.values():
                self._read_expressions(item)
            return
        if not isinstance(value, list) or not value:
            return
        first = value[0]
        kind = first.get("class", "") if isinstance(first, dict) else ""
        if ".plans.logical." in kind:
            self._read(iter(value), "")
            return
        if kind.endswith(".expressions.Alias"):
            self.inputs[first["exprId"]["id"]] = set(_attributes(value[1:])) | set(_attributes(first.get("child")))
        for item in value:
            self._read_expressions(item)

    def sources_of(self, attribute: int) -> frozenset[str]:
        """Return the columns of relations that an attribute is computed from."""
        sources: set[str] = set()
        visited: set[int] = set()
        stack = [attribute]
        while stack:
            item = stack.pop()
            if item in visited:
                continue
            visited.add(item)
            if item in self.leaves:
                sources.add(self.leaves[item])
            else:
                stack += self.inputs.get(item, ())
        return frozenset(sources)


def _attributes(value: Any) -> dict[int, str]:
    """Return the ids and names of the attributes in a part of a plan's JSON."""
    attributes: dict[int, str] = {}
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, list):
            stack += item
        elif isinstance(item, dict):
            if str(item.get("class", "")).endswith(".expressions.AttributeReference"):
                attributes[item["exprId"]["id"]] = item["name"]
            stack += [part for part in item.values() if isinstance(part, (list, dict))]
    return attributes
