"""ALTER VIEW … RECOMPILE, and what to do with a row that others changed behind the metadata file's back.

RECOMPILE is Oracle's, and was meant for Hive (Hive Views, View Modification): it looks at a view again as if its author
typed it today, so that stars take in new columns and types follow the tables.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pyiceberg.schema import Schema
from sqlglot import exp

from hive_views.authoring import Analyzer, author
from hive_views.children import LINEAGE, children_of
from hive_views.definition import ORIGINAL_SQL, row_texts, sql_texts
from hive_views.dependencies.texts import ViewText, of_hive_view, of_version
from hive_views.errors import InvalidViewError
from hive_views.identifiers import ViewName
from hive_views.metastore.commit import Loaded, Store, commit
from hive_views.metastore.drift import differences
from hive_views.metastore.flat_model import Row
from hive_views.metastore.load import load
from hive_views.metastore.schemas import MetastoreSchemas
from hive_views.spec.changes import AddVersion
from hive_views.spec.metadata import ViewVersion
from hive_views.view import change

_SPARK_NAMESPACE = "view.catalogAndNamespace.part.1"
"""Row parameter of plain Spark: the database that was current when the view's text was written."""


@dataclass(frozen=True)
class Recompiled:
    """What RECOMPILE did."""

    loaded: Loaded
    """The view as it now is."""
    changed: bool
    """Whether there is a new version."""
    added: tuple[str, ...] = ()
    """Columns that the view has now and had not."""
    removed: tuple[str, ...] = ()
    """Columns that it had and has no more."""
    retyped: tuple[str, ...] = ()
    """Columns whose type changed."""


def recompile(store: Store, name: ViewName, analyzer: Analyzer | None = None) -> Recompiled:
    """Expand what a view's author typed again, and make that the current version if it is another one.

    Args:
        store: Metastore, files and properties.
        name: The view.
        analyzer: Where column types come from; None takes Hive's rules.

    Returns:
        What changed.

    Raises:
        NoSuchViewError: If there is no such view.
        SqlError: If what was typed cannot be resolved any more; nothing is changed.
        InvalidViewError: If its columns have names that its text does not give, and nobody can tell which is which now.
        HiveViewsError: As `hive_views.view.change` says.
    """
    loaded = load(store, name)
    before = loaded.metadata.current_version()
    text = of_version(name, before)
    old = loaded.metadata.current_schema()
    names = _column_list(store, text, old)
    made = author(
        store,
        name,
        text.typed,
        database=text.database,
        dialect=text.dialect,
        analyzer=analyzer,
        column_names=names,
        column_comments=text.column_comments,
    )
    new = _with_comments(made.schema, old)
    if _same(before, made.version) and _columns(old) == _columns(new):
        return Recompiled(loaded, changed=False)
    # What others wrote into the summary stays, what follows from the text is new.
    kept = {key: value for key, value in before.summary.items() if key not in (LINEAGE, ORIGINAL_SQL, "operation")}
    version = made.version.model_copy(update={"summary": {**kept, **made.version.summary}})
    after = change(store, loaded, [AddVersion(new, version)])
    types = {field.name: field.field_type for field in old.fields}
    return Recompiled(
        after,
        changed=after.metadata.current_version_id != loaded.metadata.current_version_id,
        added=tuple(field.name for field in new.fields if field.name not in types),
        removed=tuple(column for column in types if column not in {field.name for field in new.fields}),
        retyped=tuple(
            field.name
            for field in new.fields
            if field.name in types and str(types[field.name]) != str(field.field_type)
        ),
    )


def repair(store: Store, name: ViewName) -> Loaded:
    """Write a view's row again from its metadata file, where another program changed it.

    Args:
        store: Metastore, files and properties.
        name: The view.

    Returns:
        The view as it now is; no new version, but a new metadata file of the same content. A row that agrees with its
        file is left alone.

    Raises:
        NoSuchViewError: If there is no such view.
        HiveViewsError: As `hive_views.metastore.commit.commit` says.
    """
    loaded = load(store, name)
    if not differences(loaded.row, loaded.metadata, store.config):
        return loaded
    return commit(store, name, loaded, loaded.metadata.model_copy(), discard_text=True)


def adopt(store: Store, name: ViewName, analyzer: Analyzer | None = None) -> Loaded:
    """Make what another program wrote into a view's row the view's new version.

    Args:
        store: Metastore, files and properties.
        name: The view.
        analyzer: Where column types come from; None takes Hive's rules.

    Returns:
        The view as it now is; as it was where row and file agree.

    Raises:
        NoSuchViewError: If there is no such view.
        SqlError: If the row's text cannot be resolved.
        InvalidViewError: If the row has no text.
        HiveViewsError: As `hive_views.view.change` says.
    """
    loaded = load(store, name)
    if not differences(loaded.row, loaded.metadata, store.config):
        return loaded
    row = loaded.row
    if not (row.texts.expanded or row.texts.original):
        raise InvalidViewError(str(name), "its row has no text to adopt; repair it instead")
    if row.texts.expanded == row_texts(loaded.metadata.current_version()).expanded:
        # Only columns or the typed text were touched, which follow from the definition.
        return repair(store, name)
    text = of_hive_view(row)
    made = author(
        store,
        name,
        text.typed,
        database=_database_of(row),
        dialect="spark" if _SPARK_NAMESPACE in row.parameters else text.dialect,
        analyzer=analyzer,
    )
    # The texts in other dialects say what the view was before.
    return change(store, loaded, [AddVersion(made.schema, made.version, may_lose_dialects=True)])


def _column_list(store: Store, text: ViewText, schema: Schema) -> tuple[str, ...] | None:
    """The names in front of AS: the author's, or those that the view has and its text does not give.

    Views that other programs made, or that were made with their columns, may be named by their schema alone.
    """
    if text.column_names is not None:
        return text.column_names
    old = tuple(field.name for field in schema.fields)
    found = text.expansion(MetastoreSchemas(store))
    new = found.names
    if [name.lower() for name in new] == [name.lower() for name in old]:
        return None
    stars = any(isinstance(star.parent, (exp.Select, exp.Column)) for star in found.resolution.tree.find_all(exp.Star))
    unnamed = [name for name in new if _UNNAMED.fullmatch(name)]
    if stars and len(unnamed) <= sum(_UNNAMED.fullmatch(name) is not None for name in old):
        return None  # the tables' columns changed, and the view follows them
    if len(old) != len(new):
        raise InvalidViewError(
            str(text.view),
            f"its columns ({', '.join(old)}) have names that its text ({', '.join(new)}) does not give, and their "
            "numbers differ: it cannot be told which is which. Replace its definition instead",
        )
    return tuple(was if not stars or now in unnamed else now for was, now in zip(old, new, strict=True))


_UNNAMED = re.compile(r"_c\d+")
"""What Hive calls a column that its query gives no name."""


def _with_comments(new: Schema, old: Schema) -> Schema:
    """Columns keep the comments that they had, where the text gives them none."""
    comments = {field.name: field.doc for field in old.fields}
    fields = (
        field if field.doc is not None else field.model_copy(update={"doc": comments.get(field.name)})
        for field in new.fields
    )
    return Schema(*fields, schema_id=new.schema_id, identifier_field_ids=new.identifier_field_ids)


def _database_of(row: Row) -> str:
    return row.parameters.get(_SPARK_NAMESPACE, row.name.database).lower()


def _same(one: ViewVersion, other: ViewVersion) -> bool:
    """Whether two definitions say the same, whoever wrote what else into their summaries."""
    return (sql_texts(one), one.default_catalog, one.default_namespace, children_of(one)) == (
        sql_texts(other),
        other.default_catalog,
        other.default_namespace,
        children_of(other),
    ) and one.summary.get(ORIGINAL_SQL) == other.summary.get(ORIGINAL_SQL)


def _columns(schema: Schema) -> list[tuple[str, str, str | None]]:
    return [(field.name, str(field.field_type), field.doc) for field in schema.fields]
