"""The texts of one view version: the author's, the stored ones, and what the metastore's row shows of them.

Three texts, three jobs. *Typed* is what the author wrote, to the letter. *Stored* is the representation in the
author's dialect, its stars replaced by columns, because Iceberg's engines bind columns by position. *Expanded* is
Hive's full expansion, valid under any current database: what Hive, plain Spark and Trino's Hive connector read from
the row. A `hive` representation that we derived from an authored text of another dialect is *generated*, and the
version's summary says so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hive_views.spec.metadata import GENERATED_DIALECTS, SQLViewRepresentation, ViewRepresentation, ViewVersion

ORIGINAL_SQL = "hive-views.original-sql"
"""Summary key: the author's text, where no representation holds it."""

PARTITIONED_ON = "hive-views.partitioned-on"
"""Summary key: the columns of PARTITIONED ON (HIVE-1941) as a JSON list; an empty list says that there are none."""

HIVE = "hive"
"""The dialect whose text stands in the row."""


@dataclass(frozen=True)
class RowTexts:
    """What the two text fields of a metastore row hold."""

    original: str | None
    """viewOriginalText: the author's text; None where no representation is SQL."""
    expanded: str | None
    """viewExpandedText: the text that Hive, plain Spark and Trino's Hive connector run."""


def define(
    sql: str,
    *,
    dialect: str,
    default_namespace: Sequence[str],
    default_catalog: str | None = None,
    stored: str | None = None,
    expanded: str | None = None,
    field_aliases: Sequence[str] | None = None,
    field_comments: Sequence[str | None] | None = None,
    partitioned_on: Sequence[str] | None = None,
    summary: Mapping[str, str] | None = None,
) -> ViewVersion:
    """Make a version from an author's text and what was derived from it.

    Args:
        sql: The text as the author typed it.
        dialect: The author's dialect, e.g. `spark`, `hive`, `trino`.
        default_namespace: The database that unqualified names of the text mean.
        default_catalog: The catalog that they mean; None is the catalog that the view is in.
        stored: The text with its stars replaced by columns; None where it equals `sql`.
        expanded: Hive's expansion of the text; None stores none, and the row then shows the stored text.
        field_aliases: The column names in front of AS, where the author gave them.
        field_comments: Their comments, None for a column without one.
        partitioned_on: The columns of PARTITIONED ON; None leaves a view's partition columns as they are.
        summary: More entries for the version's summary, e.g. `engine-name`.

    Returns:
        A version without an id of its own: committing it gives one.
    """
    aliases = list(field_aliases) if field_aliases is not None else None
    comments = list(field_comments) if field_comments is not None else None
    texts = {dialect: sql if stored is None else stored}
    entries = dict(summary or {})
    if partitioned_on is not None:
        entries[PARTITIONED_ON] = json.dumps(list(partitioned_on))
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
            ViewRepresentation(
                SQLViewRepresentation(
                    type="sql", sql=text, dialect=name, field_aliases=aliases, field_comments=comments
                )
            )
            for name, text in texts.items()
        ],
        default_catalog=default_catalog,
        default_namespace=(default_namespace,) if isinstance(default_namespace, str) else tuple(default_namespace),
    )


def partition_columns(version: ViewVersion) -> tuple[str, ...] | None:
    """The columns that a version's author named in PARTITIONED ON.

    Args:
        version: Any version, whoever wrote it.

    Returns:
        Their names in lower case; None where the version does not say, as those of other engines.
    """
    try:
        names = json.loads(version.summary.get(PARTITIONED_ON, "null"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return None
    return tuple(name.lower() for name in names)


def sql_texts(version: ViewVersion) -> dict[str, str]:
    """The SQL texts of a version by dialect in lower case, in their order; the first of a dialect counts."""
    texts: dict[str, str] = {}
    for representation in version.representations:
        if isinstance(representation.root, SQLViewRepresentation):
            texts.setdefault(representation.root.dialect.lower(), representation.root.sql)
    return texts


def same_definition(one: ViewVersion, other: ViewVersion) -> bool:
    """Whether two states of a view hold the same version, even if another writer has rewritten the file in between.

    Iceberg's Java library drops keys that it does not know when it rewrites a version (those of the earlier draft in a
    representation, for one); id, time and texts stay.

    Args:
        one: A version.
        other: Another.

    Returns:
        Whether they are one and the same.
    """
    return (one.version_id, one.timestamp_ms, sql_texts(one)) == (
        other.version_id,
        other.timestamp_ms,
        sql_texts(other),
    )


def row_texts(version: ViewVersion) -> RowTexts:
    """What the row of a view shows for a version.

    The expanded text is chosen as Iceberg's Java catalog does (HiveViewOperations.sqlForView): the `hive`
    representation, else the first SQL one. The original text is the author's.

    Args:
        version: Any version, whoever wrote it.

    Returns:
        Both texts; None each where the version has no SQL representation.
    """
    texts = sql_texts(version)
    expanded = texts.get(HIVE, next(iter(texts.values()), None))
    original = version.summary.get(ORIGINAL_SQL)
    if original is None:
        generated = version.generated_dialects
        original = next((text for dialect, text in texts.items() if dialect not in generated), expanded)
    return RowTexts(original=original, expanded=expanded)
