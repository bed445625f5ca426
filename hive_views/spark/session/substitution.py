"""Lets queries on tables read the fresh stored rows of materialized views (`hive-views.rewrite-queries`).

Spark's analyzed plan of a query is compared with those of the definitions, and an equal part is replaced by a plan over
the stored rows with the same column ids. The operators above it are not changed. Decision 0051 gives the reasons.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from hive_views.config import REWRITE_QUERIES
from hive_views.errors import HiveViewsError, InvalidPropertyError
from hive_views.identifiers import ViewName
from hive_views.materialized.candidates import Candidate, CandidateFinder
from hive_views.materialized.freshness.cache import BoundedCache
from hive_views.materialized.state.refresh_state import NO_SNAPSHOT
from hive_views.spark.java_features import Feature, can_use
from hive_views.spark.jvm import is_classic, scala_list
from hive_views.spark.runtime import EXTENSIONS
from hive_views.spark.session.names import NameContext, NameResolver
from hive_views.spark.session.plan_blocks import INTEGERS, Definition, PlanBlocks, StoredRows
from hive_views.spark.session.proven_plans import RELATION, unproven_part
from hive_views.spark.sessions import active_session, run_plan, spark_exceptions
from hive_views.spark.versions import SPARK_LINES, spark_line
from hive_views.sql.text.quoting import quote_identifier, quote_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from hive_views.spark.session.materialized_reads import MaterializedReader
    from hive_views.spark.session.services import SessionServices

logger = logging.getLogger(__name__)

_WAP_PREFIX = "spark.wap."
_SPARK_TABLE = "org.apache.iceberg.spark.source.SparkTable"


class Substitution:
    """Replaces parts of queries by the stored rows of materialized views.

    The constructor raises InvalidPropertyError if queries of the session cannot be rewritten.
    """

    def __init__(self, services: SessionServices, reader: MaterializedReader) -> None:
        reason = _reason_against(services.spark, services.names)
        if reason is not None:
            raise InvalidPropertyError(REWRITE_QUERIES, "true", reason)
        self._spark = services.spark
        self._catalog = services.catalog
        self._names = services.names
        self._helper = services.helper
        self._reader = reader
        self._finder = CandidateFinder(services.catalog.store, services.catalog)
        self._blocks = PlanBlocks(services.spark)
        self._definitions = BoundedCache(200)

    def forget(self) -> None:
        """Discard the list of materialized views, since this session may have created one."""
        self._finder.forget()

    def rewritten(self, analyzed: Any) -> DataFrame | None:
        """Return the result of an analyzed query with parts of it read from stored rows; None if there are none."""
        from py4j.protocol import Py4JError

        try:
            if analyzed.isStreaming() or not analyzed.deterministic() or self._writes_are_staged():
                return None
            return self._rewritten(analyzed)
        except (*spark_exceptions(), Py4JError, HiveViewsError) as error:
            logger.warning("A query is not rewritten: %s", error)
            return None

    def _writes_are_staged(self) -> bool:
        """Return whether the session reads or writes a branch or staged snapshots of tables."""
        return any(self._spark.conf.get(f"{_WAP_PREFIX}{key}", None) for key in ("id", "branch"))

    def _rewritten(self, analyzed: Any) -> DataFrame | None:
        plan = self._blocks.normalized(analyzed)
        relations = self._relations(plan)
        if not relations:
            return None
        candidates = [item for item in self._finder.over(relations) if self._is_usable(item, relations)]
        unproven = unproven_part(plan) if candidates else None
        if unproven is not None:
            logger.info(
                "A query is not rewritten: it is not proven that stored rows can replace rows under %s", unproven
            )
            return None
        while candidates:
            notes: list[Candidate] = []
            substituted = self._blocks.substitute(plan, [*self._defined(candidates, relations, notes)])
            if not notes:
                return None
            remaining = self._relations(substituted)
            # A statement must read one state of each table. If it also reads a source of the view directly, that table
            # may have changed meanwhile.
            unusable = {item.view.name for item in notes if not remaining.keys().isdisjoint(item.sources.tables)}
            if unusable:
                candidates = [item for item in candidates if item.view.name not in unusable]
                continue
            frame = run_plan(self._spark, substituted)
            if frame._jdf.schema().json() != analyzed.schema().json():
                logger.warning("A query is not rewritten: its columns would be %s", frame.schema.simpleString())
                return None
            for name in dict.fromkeys(item.view.name for item in notes):
                self._reader.add_rewritten(name)
            return frame
        return None

    def _relations(self, plan: Any) -> dict[ViewName, list[Any]]:
        """Return the relations of a plan and of its subqueries that read Iceberg tables of the metastore."""
        relations: dict[ViewName, list[Any]] = {}
        for leaf in self._blocks.leaves(plan):
            name = self._name_of(leaf)
            if name is not None:
                relations.setdefault(name, []).append(leaf)
        return relations

    def _name_of(self, leaf: Any) -> ViewName | None:
        if not leaf.getClass().getName().endswith(f".{RELATION}"):
            return None
        if not (leaf.catalog().isDefined() and leaf.identifier().isDefined()):
            return None
        identifier = leaf.identifier().get()
        parts = (str(leaf.catalog().get().name()), *map(str, identifier.namespace()), str(identifier.name()))
        if len(parts) != 3 or leaf.table().getClass().getName() != _SPARK_TABLE:
            return None
        resolved = self._names.resolve(parts, NameContext("", ()))
        return None if resolved is None else resolved.name

    def _is_usable(self, candidate: Candidate, relations: dict[ViewName, list[Any]]) -> bool:
        """Whether stored rows were computed under the session's settings, from the table states that the plan reads."""
        if self._reader.other_settings(candidate.settings):
            return False
        for source in candidate.sources.observed.sources:
            for relation in relations.get(source.name, ()):
                snapshot = _snapshot_id(relation)
                if snapshot is not None and snapshot != source.id and snapshot not in source.same_rows:
                    return False
                if snapshot is None and source.id != NO_SNAPSHOT:
                    return False
        return True

    def _defined(
        self, candidates: list[Candidate], relations: dict[ViewName, list[Any]], notes: list[Candidate]
    ) -> Iterator[tuple[Definition, Callable[[], StoredRows], Callable[[], None]]]:
        for candidate in candidates:
            definition = self._definition(candidate, relations)
            if definition is not None:
                plan, form = definition

                def load(candidate: Candidate = candidate, plan: Any = plan) -> StoredRows:
                    return self._stored_rows(candidate, plan)

                def on_use(candidate: Candidate = candidate) -> None:
                    notes.append(candidate)

                yield form, load, on_use

    def _definition(self, candidate: Candidate, relations: dict[ViewName, list[Any]]) -> tuple[Any, Definition] | None:
        """Return the plan of a definition and its form; None if it cannot be matched."""
        view = candidate.view
        plain = {name: list(filter(_is_plain, relations[name]))[:1] for name in candidate.sources.tables}
        if not all(plain.values()):
            return None
        key = (
            view.name,
            view.metadata.view_uuid,
            view.metadata.current_version_id,
            repr(candidate.sources.observed.sources),
            tuple(sorted(candidate.settings.items())),
            # Relations are equal only if they name their table in the same way.
            tuple(sorted(str(relation.table().name()) for [relation] in plain.values())),
        )
        cached = self._definitions.get(key)
        if cached is None:
            cached = (self._analyzed(candidate, {name: relation for name, [relation] in plain.items()}),)
            self._definitions.put(key, cached)
        result: tuple[Any, Definition] | None = cached[0]
        return result

    def _analyzed(self, candidate: Candidate, relations: dict[ViewName, Any]) -> tuple[Any, Definition] | None:
        text = candidate.query.render(lambda _, leaf: quote_name((self._catalog.name, *leaf.name)))
        with self._helper.configured(None, {}) as (session, _), active_session(session):
            analyzed = _analyzed_plan(session.sql(text))
        plan = self._blocks.normalized(analyzed)

        def same_relation(leaf: Any) -> Any:
            # Relations of two sessions are never equal: each has its own object of the catalog.
            relation = relations.get(self._name_of(leaf))  # type: ignore[arg-type]
            if relation is None or not relation.schema().equals(leaf.schema()):
                return None
            return self._blocks.relation_like(relation, leaf.output())

        plan = self._blocks.replace_leaves(plan, same_relation)
        form = self._blocks.definition(plan)
        return None if form is None else (plan, form)

    def _stored_rows(self, candidate: Candidate, plan: Any) -> StoredRows:
        """Return the stored rows as a plan of their own, with the types of the definition's columns."""
        view = candidate.view
        assert view.storage is not None and view.snapshot is not None, "a candidate has stored rows"
        frame = self._reader.load(view.storage_name, view.storage.metadata_location, view.snapshot.snapshot_id)
        attributes = scala_list(plan.output())
        names = [field.name for field in view.storage.schema().fields]
        if len(names) != len(attributes):
            return StoredRows(None, tuple(None for _ in attributes))
        items: list[str] = []
        usable: list[bool] = []
        for name, attribute, column in zip(names, attributes, scala_list(_analyzed_plan(frame).output()), strict=True):
            wanted, stored = attribute.dataType(), column.dataType()
            is_same = bool(wanted.equals(stored))
            types = (str(wanted.simpleString()), str(stored.simpleString()))
            is_narrow = INTEGERS.issuperset(types) or all(item.startswith("decimal(") for item in types)
            quoted = quote_identifier(name)
            items.append(quoted if is_same or not is_narrow else f"CAST({quoted} AS {types[0]}) AS {quoted}")
            usable.append(is_same or is_narrow)
        rows = _analyzed_plan(frame.selectExpr(*items))
        columns = scala_list(rows.output())
        return StoredRows(
            rows, tuple(column if is_usable else None for column, is_usable in zip(columns, usable, strict=True))
        )


def _reason_against(spark: SparkSession, names: NameResolver) -> str | None:
    """Why a session cannot rewrite queries."""
    if not is_classic(spark):
        return "a Spark Connect session has no plans that could be rewritten: use a classic session"
    if not SPARK_LINES[spark_line(spark.version)].rewrites_queries:
        lines = ", ".join(line for line, properties in SPARK_LINES.items() if properties.rewrites_queries)
        return f"it needs Spark {lines}, and this is {spark.version}"
    if not can_use(spark, Feature.REWRITING):
        return f"Spark {spark.version} or its Iceberg runtime lacks methods that this needs; the log names them"
    if not names.has_iceberg_catalog:
        return "this Spark has no Iceberg catalog for the stored rows"
    others = {item.strip() for item in str(spark.conf.get("spark.sql.extensions", "")).split(",")} - {"", EXTENSIONS}
    if others:
        return (
            f"the extension {', '.join(sorted(others))} may restrict the rows of tables, and stored rows were computed "
            "without that"
        )
    return None


def _analyzed_plan(frame: DataFrame) -> Any:
    return frame._jdf.queryExecution().analyzed()


def _snapshot_id(relation: Any) -> int | None:
    snapshot_id = relation.table().snapshotId()
    return None if snapshot_id is None else int(snapshot_id)


def _is_plain(relation: Any) -> bool:
    """Return whether a relation reads the current rows of a table: no time travel, no branch, no options."""
    return (
        not relation.timeTravelSpec().isDefined()
        and relation.table().branch() is None
        and bool(relation.options().isEmpty())
    )
