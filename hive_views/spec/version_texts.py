"""The texts of a view version: typed, stored and expanded.

The *typed* text is what the author wrote. The *stored* text is the representation in the author's dialect, with stars
replaced by columns, because Iceberg engines bind columns by position. The *expanded* text is Hive's full expansion,
valid under any current database: Hive, plain Spark and Trino's Hive connector read it from the metastore row. A `hive`
representation that was derived from a text of another dialect is *generated*, and listed in the version's summary.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hive_views.spec.json_text import parse_json
from hive_views.spec.metadata import GENERATED_DIALECTS, SQLViewRepresentation, ViewRepresentation, ViewVersion

ORIGINAL_SQL = "hive-views.original-sql"
"""Summary key: the typed text, if no representation contains it."""

LEGACY_ORIGINAL = "hive-views.legacy-original-sql"
"""Summary key: the original text of a legacy row, if it differs from the typed text or may mean something else."""

PARTITIONED_ON = "hive-views.partitioned-on"
"""Summary key: the columns of PARTITIONED ON (HIVE-1941) as a JSON list, which may be empty."""

ROW_TEXT_RULES = "hive-views.row-text-rules"
"""Summary key: the comma-separated rules that rewrote the text of the row (`hive_views.sql.analysis.row_text`)."""

HIVE = "hive"
"""The dialect of the text in the metastore row."""


class RowTexts(NamedTuple):
    """The two text fields of a metastore row."""

    original: str | None
    """viewOriginalText: the typed text; None if the version has no SQL representation."""
    expanded: str | None
    """viewExpandedText: the text that Hive, plain Spark and Trino's Hive connector run; None if there is none."""


def define(
    sql: str,
    *,
    dialect: str,
    default_namespace: Sequence[str],
    default_catalog: str | None = None,
    stored: str | None = None,
    expanded: str | None = None,
    summary: Mapping[str, str] | None = None,
) -> ViewVersion:
    """Create a view version from a typed text and the texts derived from it.

    Args:
        sql: The text as the author typed it.
        dialect: The author's dialect, e.g. `spark`, `hive`, `trino`.
        default_namespace: The database for unqualified names, as a sequence of one name.
        default_catalog: The catalog for names without one; None means the view's catalog.
        stored: The text with stars replaced by columns; None if it equals `sql`.
        expanded: Hive's expansion of the text. If None, none is stored, and the row has the stored text instead.
        summary: Additional entries of the version's summary, e.g. `engine-name`, or what `partition_summary` returns.

    Returns:
        The version, to which `with_column_list` adds a column list. Its id, schema id and timestamp are assigned by the
        commit.
    """
    texts = {dialect: sql if stored is None else stored}
    entries = dict(summary or {})
    if expanded is not None:
        if dialect.lower() != HIVE:
            entries[GENERATED_DIALECTS] = HIVE
        texts[dialect if dialect.lower() == HIVE else HIVE] = expanded
    if texts[dialect] != sql:
        entries[ORIGINAL_SQL] = sql
    return ViewVersion(
        version_id=1,
        schema_id=0,
        timestamp_ms=0,
        summary=entries,
        representations=[
            # Set, also to None: then files have the keys, as earlier releases wrote them.
            ViewRepresentation(
                SQLViewRepresentation(type="sql", sql=text, dialect=name, field_aliases=None, field_comments=None)
            )
            for name, text in texts.items()
        ],
        default_catalog=default_catalog,
        default_namespace=(default_namespace,) if isinstance(default_namespace, str) else tuple(default_namespace),
    )


def with_column_list(version: ViewVersion, names: Sequence[str], comments: Sequence[str | None]) -> ViewVersion:
    """Return a version of `define` with the column list of its author.

    Args:
        version: The version.
        names: The names of the columns, in order.
        comments: Their comments, None for a column without one.
    """
    columns = {"field_aliases": list(names), "field_comments": list(comments)}
    representations = [
        ViewRepresentation(representation.root.model_copy(update=columns)) for representation in version.representations
    ]
    return version.model_copy(update={"representations": representations})


def partition_summary(columns: Sequence[str]) -> dict[str, str]:
    """Return the summary's entry for the columns of PARTITIONED ON; without it, a view keeps its partition columns."""
    return {PARTITIONED_ON: json.dumps(list(columns))}


def partition_columns(version: ViewVersion) -> tuple[str, ...] | None:
    """Return the columns of PARTITIONED ON in lower case; None if the version does not record them."""
    try:
        names = parse_json(version.summary.get(PARTITIONED_ON, "null"))
    except ValueError:
        return None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return None
    return tuple(name.lower() for name in names)


def sql_texts(version: ViewVersion) -> dict[str, str]:
    """Return the first SQL text of each dialect of a version, by dialect in lower case, in order."""
    texts: dict[str, str] = {}
    for representation in version.representations:
        if isinstance(representation.root, SQLViewRepresentation):
            texts.setdefault(representation.root.dialect.lower(), representation.root.sql)
    return texts


def same_definition(one: ViewVersion, other: ViewVersion) -> bool:
    """Return whether two values are the same version, possibly rewritten by another writer.

    Compares id, timestamp and texts: Iceberg's Java library drops unknown keys when it rewrites a file, e.g. those of
    the earlier draft in a representation.
    """
    return (one.version_id, one.timestamp_ms, sql_texts(one)) == (
        other.version_id,
        other.timestamp_ms,
        sql_texts(other),
    )


def row_texts(version: ViewVersion) -> RowTexts:
    """Return the texts of the metastore row for a version.

    The expanded text is chosen as in Iceberg's Java catalog (HiveViewOperations.sqlForView): the `hive`
    representation, else the first SQL representation. The original text is the typed text.
    """
    texts = sql_texts(version)
    expanded = texts.get(HIVE, next(iter(texts.values()), None))
    original = version.summary.get(ORIGINAL_SQL)
    if original is None:
        generated = version.generated_dialects
        original = next((text for dialect, text in texts.items() if dialect not in generated), expanded)
    return RowTexts(original=original, expanded=expanded)
