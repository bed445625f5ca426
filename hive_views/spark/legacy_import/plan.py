"""What Spark's analyzer says of a plan's new texts, before anything is written: in the plan, for its reader.

The new text of a view that stays in the metastore names what the legacy one names, so plain Spark's session catalog can
be asked about both now: about the legacy view as plain Spark reads it, and about the text that will take its place,
under the settings that its row records. A text that names a view by its new name, or reads one that only Trino reads
today, cannot be asked about before the run; the run's own check asks then.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from hive_views.identifiers import ViewName
from hive_views.legacy_import.model import Writer
from hive_views.legacy_import.plan import Entry, Plan
from hive_views.legacy_import.planner import Progress
from hive_views.legacy_import.readers.detection import read_view
from hive_views.metastore.queries import read_rows
from hive_views.spark.legacy_import.verified_run import refuse_a_stranger
from hive_views.spark.sessions import SESSION_CATALOG, spark_exceptions
from hive_views.spec.session_settings import RECORDED
from hive_views.sql.rewriting.quoting import quote_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hive_views.catalog.catalog import HiveViewCatalog

REFUSED = "Spark's analyzer refuses the new text: "
"""Begins what a plan tells of a view whose new text Spark does not take."""

UNREADABLE = "Spark cannot read the legacy view today: "
"""Begins what a plan tells of a view that plain Spark cannot read before the import."""


def told_by_spark(spark: SparkSession, catalog: HiveViewCatalog, plan: Plan, told: Progress | None = None) -> Plan:
    """Ask Spark's analyzer about the views of a plan that are ready; no row is read."""
    refuse_a_stranger(spark, catalog, plan)
    ready = {entry.name for entry in plan.ready}
    settings = {
        row.name: frozenset((key, value) for key, value in read_view(row).settings.items() if key in RECORDED)
        for row in read_rows(catalog.store, sorted(ready), most_calls=1)
    }
    sessions: dict[frozenset[tuple[str, str]], SparkSession] = {}
    blind: set[ViewName] = set()
    entries = []
    asked = 0
    for entry in plan.entries:
        above_blind = any(name in blind for name in entry.reads)
        if above_blind or not entry.in_place or entry.writer is Writer.TRINO:
            blind.add(entry.name)
        said = None
        if entry.name in ready:
            wanted = settings.get(entry.name, frozenset())
            if wanted not in sessions:
                sessions[wanted] = _under(spark, wanted)
            said = _said(sessions[wanted], entry, ask_new=not above_blind)
            asked += 1
            if told is not None:
                told(asked, len(ready))
        entries.append(entry if said is None else replace(entry, changes=(*entry.changes, said)))
    return replace(plan, entries=tuple(entries))


def _under(spark: SparkSession, settings: frozenset[tuple[str, str]]) -> SparkSession:
    """A session of its own, for views that record some settings."""
    session = spark.newSession()
    for key, value in settings:
        with suppress(*spark_exceptions()):  # a time zone that this Spark does not know, say: its own holds then
            session.conf.set(key, value)
    return session


def _said(session: SparkSession, entry: Entry, *, ask_new: bool) -> str | None:
    """What is to be told of one view; None where nothing is against it."""
    if entry.writer is not Writer.TRINO:  # plain Spark reads none of Trino's
        place = quote_name((SESSION_CATALOG, *entry.name.identifier))
        problem = _problem(session, f"SELECT * FROM {place}")
        if problem is not None:
            return UNREADABLE + problem
    problem = _problem(session, entry.new_text) if ask_new and entry.new_text is not None else None
    return None if problem is None else REFUSED + problem


def _problem(session: SparkSession, text: str) -> str | None:
    """What the analyzer says against a text, in its first line."""
    try:
        session.sql(text).schema  # noqa: B018 -- what analyzes it on any kind of session
    except spark_exceptions() as error:
        return str(error).strip().splitlines()[0][:300]
    return None
