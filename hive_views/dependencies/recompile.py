"""ALTER VIEW … RECOMPILE, and adoption or repair of a row that another program changed without the metadata file.

RECOMPILE comes from Oracle and was planned for Hive (Hive Views, View Modification): the typed text is expanded again,
so that stars include new columns and column types follow the tables.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pyiceberg.schema import Schema, assign_fresh_schema_ids
from sqlglot import exp

from hive_views.config import ANSI_MODE, row_text_forms
from hive_views.dependencies.view_builder import Building, analyzed_schemas, build_definition, type_shape, with_comment
from hive_views.dependencies.view_changes import commit_changes
from hive_views.dependencies.view_query import Analyzer, ViewQuery, declared_columns
from hive_views.dependencies.view_text import text_of_hive_view, text_of_version
from hive_views.errors import DialectLossError, InvalidViewError, SqlError
from hive_views.identifiers import ViewName
from hive_views.metastore.commit.view_commit import commit
from hive_views.metastore.drift import find_drift, find_new_properties
from hive_views.metastore.queries import load_view
from hive_views.metastore.rows.row import SPARK_DATABASE
from hive_views.metastore.rows.types import row_comment
from hive_views.metastore.store import LoadedView, MetastoreStore
from hive_views.metastore.table_schemas import MetastoreSchemas
from hive_views.spec.changes import AddVersion, SetProperties
from hive_views.spec.lineage_codec import LINEAGE, lineage_of_version
from hive_views.spec.metadata import GENERATED_DIALECTS, ViewVersion
from hive_views.spec.session_settings import encode, settings_entries, settings_of_row
from hive_views.spec.version_texts import ORIGINAL_SQL, ROW_TEXT_RULES, row_texts, sql_texts
from hive_views.sql.analysis.references import references
from hive_views.sql.analysis.view_text import ViewText
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.parsing.syntax_tree import is_star
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.text.positions import line_and_column
from hive_views.sql.writing.expand import Expansion

_UNNAMED = re.compile(r"_c\d+")
"""Hive's names of columns that a query leaves unnamed."""
_REPEATED = re.compile(r"_col\d+")
"""The name of the second of two columns of one name, in a derived table."""


@dataclass(frozen=True)
class RecompileResult:
    """The result of RECOMPILE."""

    loaded: LoadedView
    """The view after RECOMPILE."""
    changed: bool
    """Whether there is a new version."""
    added: tuple[str, ...] = ()
    """New columns."""
    removed: tuple[str, ...] = ()
    """Removed columns."""
    retyped: tuple[str, ...] = ()
    """Columns whose type changed."""


def recompile(
    store: MetastoreStore, name: ViewName, analyzer: Analyzer | None = None, *, catalog_name: str | None = None
) -> RecompileResult:
    """Expand a view's typed text again, and commit a new version if the result differs from the current one."""
    loaded = load_view(store, name)
    old_version = loaded.metadata.current_version()
    text = text_of_version(name, old_version)
    _reject_other_catalogs(store, text, old_version.default_catalog, catalog_name)
    old_schema = loaded.metadata.current_schema()
    names = _column_list(analyzed_schemas(store, analyzer), text, old_schema)
    query = ViewQuery(
        sql=text.typed,
        dialect=text.dialect,
        database=text.database,
        columns=declared_columns(names, None if names is None else text.column_comments),
        analyzer=analyzer,
        summary=settings_entries(old_version.summary),
    )
    building = Building(forms=row_text_forms(store.config, loaded.metadata.properties))
    definition = build_definition(store, name, query, building)
    version = definition.version
    if set(old_version.dialects) - old_version.generated_dialects - set(version.dialects):
        # Regardless of the view's properties: an author's text is only removed on explicit request.
        raise DialectLossError(
            str(name),
            old_version.dialects,
            version.dialects,
            generated=old_version.generated_dialects,
            is_allowed_by_property=False,
        )
    schema = keep_spelling(definition.schema, old_schema)
    if _is_same_definition(old_version, version) and _column_shapes(old_schema) == _column_shapes(schema):
        return RecompileResult(loaded, changed=False)
    # Summary entries of other programs are kept; derived ones are replaced.
    derived = {LINEAGE, ORIGINAL_SQL, GENERATED_DIALECTS, ROW_TEXT_RULES, "operation"}
    if analyzer is None:
        derived.add(ANSI_MODE)
    kept = {key: value for key, value in old_version.summary.items() if key not in derived}
    version = version.model_copy(update={"summary": {**kept, **version.summary}})
    recompiled = commit_changes(store, loaded, [AddVersion(schema, version)])
    old_types = {field.name: field.field_type for field in old_schema.fields}
    new_names = {field.name for field in schema.fields}
    return RecompileResult(
        recompiled,
        changed=recompiled.metadata.current_version_id != loaded.metadata.current_version_id,
        added=tuple(field.name for field in schema.fields if field.name not in old_types),
        removed=tuple(column for column in old_types if column not in new_names),
        retyped=tuple(
            field.name
            for field in schema.fields
            if field.name in old_types and type_shape(old_types[field.name]) != type_shape(field.field_type)
        ),
    )


def repair(store: MetastoreStore, name: ViewName) -> LoadedView:
    """Rewrite a view's row from its metadata file if another program changed the row."""
    loaded = _load_settled(store, name)
    if not find_drift(loaded.row, loaded.metadata, store.config):
        return loaded
    return commit(store, name, loaded, loaded.metadata.model_copy(), discard_text=True)


def adopt(store: MetastoreStore, name: ViewName, analyzer: Analyzer | None = None) -> LoadedView:
    """Commit the changes that another program made in a view's row, as a new version and as properties."""
    loaded = _load_settled(store, name)
    row = loaded.row
    drift = find_drift(row, loaded.metadata, store.config)
    values = {item.property_key: item.row for item in drift if item.property_key is not None}
    has_other_definition = any(item.is_of_definition for item in drift)
    values |= find_new_properties(row, loaded.metadata)
    updates = {key: str(value) for key, value in values.items() if value is not None}
    properties = [SetProperties(updates, frozenset(values.keys() - updates.keys()))] if values else []
    if not has_other_definition:
        if properties:
            return commit_changes(store, loaded, properties)
        return repair(store, name) if drift else loaded  # settings of an earlier version
    if not (row.texts.expanded or row.texts.original):
        raise InvalidViewError(str(name), "its row has no text to adopt; repair it instead")
    version = loaded.metadata.current_version()
    fields = loaded.metadata.current_schema().fields
    row_names = tuple(name for name, _, _ in row.columns)
    is_same_text = row.texts.expanded == row_texts(version).expanded
    if is_same_text and [name.lower() for name in row_names] == [field.name.lower() for field in fields]:
        # Only column types or the typed text differ; both are restored from the definition.
        return commit_changes(store, loaded, properties) if properties else repair(store, name)
    entries: Mapping[str, str] = {}
    if is_same_text:
        text = text_of_version(name, version)
        entries = settings_entries(version.summary)
    else:
        text = text_of_hive_view(row)
        if SPARK_DATABASE in row.parameters:
            text = replace(text, dialect=Dialect.SPARK)
            entries = encode(settings_of_row(row.parameters))
    text_names = text.expand_typed(analyzed_schemas(store, analyzer)).names
    if len(text_names) != len(row_names):
        raise InvalidViewError(
            str(name),
            f"its row has {len(row_names)} columns ({', '.join(row_names)}), and its text now gives "
            f"{len(text_names)} ({', '.join(text_names)}), so the row's definition is ambiguous. Replace the "
            "view's definition instead",
        )
    query = ViewQuery(
        sql=text.typed,
        dialect=text.dialect,
        database=text.database,
        columns=None if list(text_names) == [column.lower() for column in row_names] else declared_columns(row_names),
        analyzer=analyzer,
        summary=entries,
    )
    building = Building(forms=row_text_forms(store.config, loaded.metadata.properties))
    definition = build_definition(store, name, query, building)
    current = {field.name.lower(): field.doc for field in fields}
    comments = [_adopted_comment(comment, current.get(name)) for name, _, comment in row.columns]
    schema = Schema(*map(with_comment, definition.schema.fields, comments))
    # The texts in other dialects describe the view before the external change.
    new_version = AddVersion(schema, definition.version, may_lose_dialects=True)
    return commit_changes(store, loaded, [new_version, *properties])


def _adopted_comment(comment: str | None, current: str | None) -> str | None:
    """Return the comment of a column, whose row may have a part of it."""
    return current if comment == row_comment(current) else comment or None


def _load_settled(store: MetastoreStore, name: ViewName) -> LoadedView:
    """Return a view, read again if its row differs from its file.

    While another client commits, Hive 2.3.10 returns rows with the new metadata location and the old text.
    """
    loaded = load_view(store, name)
    return load_view(store, name) if find_drift(loaded.row, loaded.metadata, store.config) else loaded


def _reject_other_catalogs(
    store: MetastoreStore, text: ViewText, default_catalog: str | None, catalog_name: str | None
) -> None:
    """Reject a view of another engine that reads catalogs outside this metastore.

    Resolving its text against this metastore's tables would silently change the view's columns and catalog.
    """
    local_catalogs = {catalog_name, store.config.session_catalog}
    for table in references(parse_query(text.typed, text.dialect)).tables:
        catalog = table.catalog if table.catalog is not None else default_catalog
        if catalog is not None and catalog not in local_catalogs:
            line, column = line_and_column(text.typed, table.start)
            shown = ".".join(table.parts if table.catalog is not None else (catalog, *table.parts))
            reason = (
                f"{shown}, which {text.view} reads, is in another catalog: only an engine that has it can recompile it"
            )
            raise SqlError(reason, line=line, column=column, name=shown)


def _column_list(schemas: MetastoreSchemas, text: ViewText, schema: Schema) -> tuple[str, ...] | None:
    """Return the column list before AS: the author's, or the names in the schema if those of the text differ.

    In views that other programs created, or that were created with explicit columns, only the schema may have the
    names.
    """
    if text.column_names is not None:
        return text.column_names
    old = tuple(field.name for field in schema.fields)
    try:
        expansion = text.expand_typed(schemas)
    except SqlError:
        # Two columns can have one name, of which an earlier release called one `_c0`.
        replace(text, column_names=old).expand_typed(schemas)
        return old
    new = expansion.names
    if [name.lower() for name in new] == [name.lower() for name in old]:
        return None
    if any(_UNNAMED.fullmatch(name) and name not in new for name in old):
        return _names_with_unnamed(text, old, expansion)
    tree = expansion.resolution.tree
    has_stars = any(isinstance(star.parent, (exp.Select, exp.Column)) for star in tree.find_all(exp.Star))
    if has_stars and _expanded_names(text) == [name.lower() for name in old]:
        return None  # the names came from the text, and have changed because the tables' columns changed
    unnamed = [name for name in new if _UNNAMED.fullmatch(name)]
    has_new_names = len(unnamed) > sum(_UNNAMED.fullmatch(name) is not None for name in old)
    if has_stars and not has_new_names and _is_table_change(old, new):
        return None
    if len(old) == len(new) and (not has_stars or (has_new_names and _is_table_change(old, new, unnamed))):
        return old
    raise _unmatched(text, old, new)


def _names_with_unnamed(text: ViewText, old: Sequence[str], expansion: Expansion) -> tuple[str, ...]:
    """Return the names of the columns of a text in which columns have names that earlier releases called `_c0`.

    Raises:
        InvalidViewError: If it is not certain which columns these are.
    """
    new = list(expansion.names)
    pairs = list(zip(old, new, strict=False))
    if len(old) == len(new) and all(
        name.lower() == now or _UNNAMED.fullmatch(name) or _REPEATED.fullmatch(now) for name, now in pairs
    ):
        return tuple(old)
    unnamed = [name for name in old if _UNNAMED.fullmatch(name)]
    columns = expansion.resolution.columns
    items = [expansion.resolution.bound.select_items.get(column) for _, column in columns]
    computed = [number for number, item in enumerate(items) if item is not None and _has_no_alias(item)]
    others = [name for number, name in enumerate(new) if number not in computed]
    if len(computed) != len(unnamed) or not _is_table_change([name for name in old if name not in unnamed], others):
        raise _unmatched(text, old, new)
    for number, name in zip(computed, unnamed, strict=True):
        new[number] = name
    return tuple(new)


def _has_no_alias(item: exp.Expr) -> bool:
    """Return whether an element of a SELECT list has no name in the text."""
    return not is_star(item) and not isinstance(item, (exp.Alias, exp.Column, exp.Dot))


def _unmatched(text: ViewText, old: Sequence[str], new: Sequence[str]) -> InvalidViewError:
    return InvalidViewError(
        str(text.view),
        f"its columns ({', '.join(old)}) cannot be matched with those of its text ({', '.join(new)}). "
        "Replace the view's definition instead",
    )


def _expanded_names(text: ViewText) -> list[str] | None:
    """Return the column names of the stored expanded text; None if unknown."""
    if text.expanded is None:
        return None
    tree = parse_query(text.expanded, text.dialect.of_row).tree
    return [name.lower() for name in tree.named_selects] if isinstance(tree, exp.Query) else None


def _is_table_change(old: Sequence[str], new: Sequence[str], unnamed: Sequence[str] = ()) -> bool:
    """Return whether the new names can only result from a table change: some were added or some removed, none moved."""
    old = [name.lower() for name in old]
    if unnamed:
        return all(old_name == name for old_name, name in zip(old, new, strict=True) if name not in unnamed)
    added, removed = set(new) - set(old), set(old) - set(new)
    return not (added and removed) and [name for name in old if name in new] == [name for name in new if name in old]


def keep_spelling(new: Schema, old: Schema) -> Schema:
    """Return new columns with the old spelling, comments and nested fields, unless the definition changes them.

    Hive's names are in lower case; for views of Spark, names are stored as written.
    """
    old_fields = {field.name.lower(): field for field in old.fields}
    fields = []
    for field in new.fields:
        old_field = old_fields.get(field.name.lower())
        if old_field is not None:
            update: dict[str, object] = {
                "name": old_field.name,
                "doc": old_field.doc if field.doc is None else field.doc,
            }
            if type_shape(old_field.field_type) == type_shape(field.field_type):
                update["field_type"] = old_field.field_type
            field = field.model_copy(update=update)
        fields.append(field)
    return assign_fresh_schema_ids(Schema(*fields, identifier_field_ids=new.identifier_field_ids))


def _is_same_definition(version: ViewVersion, other: ViewVersion) -> bool:
    """Return whether two versions have the same definition, regardless of other summary entries."""
    return _definition(version) == _definition(other)


def _definition(version: ViewVersion) -> tuple[object, ...]:
    return (
        sql_texts(version),
        version.default_catalog,
        version.default_namespace,
        lineage_of_version(version),
        version.summary.get(ORIGINAL_SQL),
    )


def _column_shapes(schema: Schema) -> list[tuple[str, object, str | None]]:
    return [(field.name, type_shape(field.field_type), field.doc) for field in schema.fields]
