"""Reads Spark's own plans of a text: which relations it reads, according to Spark's parser and analyzer.

Plans are read in the form that EXPLAIN prints, which classic sessions and Spark Connect have in common.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from hive_views.spark.sessions import is_classic, spark_exceptions
from hive_views.sql.parsing.spark_lexer import spark_tokens

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_NODE = re.compile(r"(?P<prefix>(?:(?:[: ] {2})*[:+]- )?)['!~]?(?P<name>[A-Z]\w*) ?(?P<arguments>.*)")
_SECTIONS = re.compile(
    r"== Parsed Logical Plan ==\n(?P<parsed>.*?)"
    r"== Analyzed Logical Plan ==\n(?P<analyzed>.*?)"
    r"(?:== Optimized Logical Plan ==.*|\Z)",
    re.DOTALL,
)
_CASTS = re.compile(r"\[cast\(")
_QUERY_WORDS = frozenset({"SELECT", "WITH", "FROM", "VALUES", "TABLE", "("})
_CHANGE_WORDS = frozenset({"INSERT", "DELETE", "UPDATE", "MERGE"})
"""Words that make a statement which begins with WITH or FROM more than a query."""
_LEAVES = frozenset({"RelationV2", "Relation", "HiveTableRelation", "StreamingRelationV2"})
_ERROR = "org.apache.spark."
"""How EXPLAIN begins a plan that could not be computed: with the class of the exception."""
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


@dataclass(frozen=True)
class AnalyzedStatement:
    """A statement after Spark's analysis."""

    relations: tuple[AnalyzedRelation, ...]
    """The tables and views that it reads, directly or through views and functions."""
    frame: DataFrame | None
    """The result, if the statement is a query on a classic session."""


class PlanReader:
    """Reads plans in a session.

    Args:
        spark: The user's session.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def parsed(self, text: str, session: SparkSession | None = None) -> tuple[PlanNode, ...]:
        """The plan of Spark's parser under the settings of a session; raises Spark's error if it is invalid."""
        session = session or self._spark
        if is_classic(session):
            return tuple(plan_nodes(_parsed_plan(session, text).treeString()))
        return tuple(plan_nodes(_explained(session, text, None)["parsed"]))

    def analyzed(self, text: str, args: Any = None) -> AnalyzedStatement | None:
        """A statement after Spark's analysis, without running it; None if Spark rejects it."""
        frame = None
        try:
            if is_classic(self._spark):
                if is_query(text):
                    frame = self._spark.sql(text) if args is None else self._spark.sql(text, args)
                    tree = frame._jdf.queryExecution().analyzed().treeString()
                elif args is None:
                    java_session = self._spark._jsparkSession
                    skip = self._spark._jvm.org.apache.spark.sql.execution.CommandExecutionMode.SKIP()
                    plan = _parsed_plan(self._spark, text)
                    tree = java_session.sessionState().executePlan(plan, skip).analyzed().treeString()
                else:
                    tree = _explained(self._spark, text, args)["analyzed"]
            else:
                tree = _explained(self._spark, text, args)["analyzed"]
        except spark_exceptions():
            return None
        if tree.startswith(_ERROR):
            return None
        return AnalyzedStatement(tuple(_relations(tuple(plan_nodes(tree)))), frame)


def is_query(text: str) -> bool:
    """Whether a text is a query, which running does not change anything."""
    words = [token.keyword or token.text for token in spark_tokens(text)]
    first = words[0] if words else ""
    return first in _QUERY_WORDS and (first in ("SELECT", "VALUES", "TABLE") or _CHANGE_WORDS.isdisjoint(words))


def plan_nodes(tree: str) -> Iterator[PlanNode]:
    """The nodes of a printed plan, parents first. Lines that are parts of literals or of the statement are skipped."""
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


def _relations(nodes: tuple[PlanNode, ...]) -> Iterator[AnalyzedRelation]:
    for alias, child in pairwise(nodes):
        if alias.name == "SubqueryAlias" and child.parent is alias:
            parts = tuple(alias.arguments.split("."))
            # Iceberg's catalog (1.11) names a view as the text does, and projects its columns to the declared types.
            # Other aliases with few parts are those of a statement.
            if len(parts) == 3 or (child.name == "Project" and _CASTS.match(child.arguments)):
                yield AnalyzedRelation(parts, child.name not in _LEAVES)


def _parsed_plan(session: SparkSession, text: str) -> Any:
    """The plan of a classic session's parser, which takes its settings from the session that is active in the JVM."""
    active_sessions = session._jvm.org.apache.spark.sql.classic.SparkSession
    previous = active_sessions.getActiveSession()
    active_sessions.setActiveSession(session._jsparkSession)
    try:
        return session._jsparkSession.sessionState().sqlParser().parsePlan(text)
    finally:
        if previous.isDefined():
            active_sessions.setActiveSession(previous.get())


def _explained(session: SparkSession, text: str, args: Any) -> dict[str, str]:
    """The plans that EXPLAIN EXTENDED prints; raises Spark's error if the text is invalid."""
    # The planning of a statement that creates a view ends after its analysis. It cannot contain parameters.
    is_view = args is None and is_query(text) and not {"?", ":"} & {token.text for token in spark_tokens(text)}
    explain = f"EXPLAIN EXTENDED {'CREATE TEMPORARY VIEW hive_views_explained AS ' if is_view else ''}{text}"
    [row] = (session.sql(explain) if args is None else session.sql(explain, args)).collect()
    sections = _SECTIONS.match(row[0])
    if sections is None:
        raise ValueError(f"Spark's EXPLAIN EXTENDED is not understood: {row[0][:200]}")
    return sections.groupdict()
