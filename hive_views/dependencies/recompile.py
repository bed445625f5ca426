"""ALTER VIEW … RECOMPILE, and what to do with a row that others changed behind the metadata file's back.

RECOMPILE is Oracle's, and was meant for Hive (Hive Views, View Modification): it looks at a view again as if its author
typed it today, so that stars take in new columns and types follow the tables.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.types import IcebergType, ListType, MapType, NestedField, StructType
from sqlglot import exp

from hive_views.dependencies.resolved_texts import ViewText, text_of_hive_view, text_of_version
from hive_views.dependencies.view_builder import Analyzer, build_definition
from hive_views.dependencies.view_changes import commit_changes
from hive_views.errors import DialectLossError, InvalidViewError, SqlError
from hive_views.identifiers import ViewName
from hive_views.metastore.commit.view_commit import commit
from hive_views.metastore.drift import find_drift
from hive_views.metastore.queries import load_view
from hive_views.metastore.row_codec import Row
from hive_views.metastore.store import LoadedView, MetastoreStore
from hive_views.metastore.table_schemas import MetastoreSchemas
from hive_views.spec.changes import AddVersion
from hive_views.spec.lineage_codec import LINEAGE, lineage_of_version
from hive_views.spec.metadata import GENERATED_DIALECTS, ViewVersion
from hive_views.spec.version_texts import HIVE, ORIGINAL_SQL, row_texts, sql_texts
from hive_views.sql.analysis.references import references
from hive_views.sql.parsing.lexer import line_and_column
from hive_views.sql.parsing.parser import parse_query

_SPARK_NAMESPACE = "view.catalogAndNamespace.part.1"
"""Row parameter of plain Spark: the database that was current when the view's text was written."""


@dataclass(frozen=True)
class Recompiled:
    """What RECOMPILE did."""

    loaded: LoadedView
    """The view as it now is."""
    changed: bool
    """Whether there is a new version."""
    added: tuple[str, ...] = ()
    """Columns that the view has now and had not."""
    removed: tuple[str, ...] = ()
    """Columns that it had and has no more."""
    retyped: tuple[str, ...] = ()
    """Columns whose type changed."""


def recompile(
    store: MetastoreStore, name: ViewName, analyzer: Analyzer | None = None, *, own: str | None = None
) -> Recompiled:
    """Expand what a view's author typed again, and make that the current version if it is another one."""
    loaded = load_view(store, name)
    before = loaded.metadata.current_version()
    text = text_of_version(name, before)
    _refuse_other_catalogs(store, text, before.default_catalog, own)
    old = loaded.metadata.current_schema()
    names = _column_list(store, text, old)
    made = build_definition(
        store,
        name,
        text.typed,
        database=text.database,
        dialect=text.dialect,
        analyzer=analyzer,
        column_names=names,
        column_comments=None if names is None else text.column_comments,
    )
    lost = set(before.dialects) - before.generated_dialects - set(made.version.dialects)
    if lost:
        # Whatever the view's properties allow: an author's text is not ours to take away, and nobody asked for it.
        raise DialectLossError(str(name), before.dialects, made.version.dialects)
    new = _as_it_was(made.schema, old)
    if _same(before, made.version) and _columns(old) == _columns(new):
        return Recompiled(loaded, changed=False)
    # What others wrote into the summary stays, what follows from the text is new.
    derived = (LINEAGE, ORIGINAL_SQL, GENERATED_DIALECTS, "operation")
    kept = {key: value for key, value in before.summary.items() if key not in derived}
    version = made.version.model_copy(update={"summary": {**kept, **made.version.summary}})
    after = commit_changes(store, loaded, [AddVersion(new, version)])
    types = {field.name: field.field_type for field in old.fields}
    return Recompiled(
        after,
        changed=after.metadata.current_version_id != loaded.metadata.current_version_id,
        added=tuple(field.name for field in new.fields if field.name not in types),
        removed=tuple(column for column in types if column not in {field.name for field in new.fields}),
        retyped=tuple(
            field.name
            for field in new.fields
            if field.name in types and _shape(types[field.name]) != _shape(field.field_type)
        ),
    )


def repair(store: MetastoreStore, name: ViewName) -> LoadedView:
    """Write a view's row again from its metadata file, where another program changed it."""
    loaded = load_view(store, name)
    if not find_drift(loaded.row, loaded.metadata, store.config):
        return loaded
    return commit(store, name, loaded, loaded.metadata.model_copy(), discard_text=True)


def adopt(store: MetastoreStore, name: ViewName, analyzer: Analyzer | None = None) -> LoadedView:
    """Make what another program wrote into a view's row the view's new version."""
    loaded = load_view(store, name)
    if not find_drift(loaded.row, loaded.metadata, store.config):
        return loaded
    row = loaded.row
    if not (row.texts.expanded or row.texts.original):
        raise InvalidViewError(str(name), "its row has no text to adopt; repair it instead")
    current = loaded.metadata.current_version()
    fields = loaded.metadata.current_schema().fields
    names = tuple(name for name, _, _ in row.columns)
    same_text = row.texts.expanded == row_texts(current).expanded
    if same_text and [name.lower() for name in names] == [field.name.lower() for field in fields]:
        # Only types or the typed text were touched, which follow from the definition.
        return repair(store, name)
    text = text_of_version(name, current) if same_text else text_of_hive_view(row)
    if not same_text:
        dialect = "spark" if _SPARK_NAMESPACE in row.parameters else text.dialect
        text = replace(text, dialect=dialect, database=_database_of(row))
    found = text.expansion(MetastoreSchemas(store)).names
    if len(found) != len(names):
        raise InvalidViewError(
            str(name),
            f"its row has {len(names)} columns ({', '.join(names)}), and its text gives {len(found)} by now "
            f"({', '.join(found)}): it cannot be told what the row's author meant. Replace its definition instead",
        )
    made = build_definition(
        store,
        name,
        text.typed,
        database=text.database,
        dialect=text.dialect,
        analyzer=analyzer,
        column_names=None if list(found) == [column.lower() for column in names] else names,
    )
    comments = [comment for _, _, comment in row.columns]
    schema = Schema(*(_commented(*pair) for pair in zip(made.schema.fields, comments, strict=True)))
    # The texts in other dialects say what the view was before.
    return commit_changes(store, loaded, [AddVersion(schema, made.version, may_lose_dialects=True)])


def _refuse_other_catalogs(store: MetastoreStore, text: ViewText, default: str | None, own: str | None) -> None:
    """A view of another engine may read catalogs that are not on this metastore, where its names mean other tables.

    Its text would be resolved by the tables of this one, and its columns and its current catalog would silently change.
    """
    ours = {own, store.config.session_catalog}
    for table in references(text.typed, text.dialect).tables:
        catalog = table.catalog if table.catalog is not None else default
        if catalog is not None and catalog not in ours:
            line, column = line_and_column(text.typed, table.start)
            shown = ".".join(table.parts if table.catalog is not None else (catalog, *table.parts))
            reason = (
                f"{shown}, which {text.view} reads, is in another catalog: only an engine that has it can recompile it"
            )
            raise SqlError(reason, line=line, column=column, name=shown)


def _column_list(store: MetastoreStore, text: ViewText, schema: Schema) -> tuple[str, ...] | None:
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
    if stars and _frozen_names(text) == [name.lower() for name in old]:
        return None  # the names always were the text's own: the tables' columns changed, and the view follows them
    unnamed = [name for name in new if _UNNAMED.fullmatch(name)]
    given = len(unnamed) > sum(_UNNAMED.fullmatch(name) is not None for name in old)
    if stars and not given and _follows(old, new):
        return None
    if len(old) == len(new) and (not stars or (given and _follows(old, new, unnamed))):
        return old
    raise InvalidViewError(
        str(text.view),
        f"its columns ({', '.join(old)}) have names that its text ({', '.join(new)}) does not give: it cannot be told "
        "which is which. Replace its definition instead",
    )


def _frozen_names(text: ViewText) -> list[str] | None:
    """The names that the text gave its columns when it was expanded; None where that cannot be told."""
    if text.expanded is None:
        return None
    tree = parse_query(text.expanded, "spark" if text.dialect == "spark" else HIVE).tree
    return [name.lower() for name in tree.named_selects] if isinstance(tree, exp.Query) else None


def _follows(old: Sequence[str], new: Sequence[str], unnamed: Sequence[str] = ()) -> bool:
    """Whether new names can only be the old ones behind a change of a table: some came or some went, and none moved."""
    before = [name.lower() for name in old]
    if unnamed:
        return all(was == now for was, now in zip(before, new, strict=True) if now not in unnamed)
    came, went = set(new) - set(before), set(before) - set(new)
    return not (came and went) and [name for name in before if name in new] == [name for name in new if name in before]


_UNNAMED = re.compile(r"_c\d+")
"""What Hive calls a column that its query gives no name."""


def _as_it_was(new: Schema, old: Schema) -> Schema:
    """Columns keep the spelling, the comments and the nested fields that they had, where the text says nothing else.

    Names of Hive are in lower case; those that Spark gave a view are as they were written.
    """
    before = {field.name.lower(): field for field in old.fields}
    fields = []
    for field in new.fields:
        was = before.get(field.name.lower())
        if was is not None:
            update: dict[str, object] = {"name": was.name, "doc": was.doc if field.doc is None else field.doc}
            if _shape(was.field_type) == _shape(field.field_type):
                update["field_type"] = was.field_type
            field = field.model_copy(update=update)
        fields.append(field)
    return assign_fresh_schema_ids(Schema(*fields, identifier_field_ids=new.identifier_field_ids))


def _shape(kind: IcebergType) -> object:
    """A type without the ids, spelling and comments of its fields."""
    if isinstance(kind, StructType):
        return "struct", tuple((field.name.lower(), _shape(field.field_type)) for field in kind.fields)
    if isinstance(kind, ListType):
        return "list", _shape(kind.element_type)
    if isinstance(kind, MapType):
        return "map", _shape(kind.key_type), _shape(kind.value_type)
    return str(kind)


def _commented(field: NestedField, comment: str | None) -> NestedField:
    return field if not comment else field.model_copy(update={"doc": comment})


def _database_of(row: Row) -> str:
    return row.parameters.get(_SPARK_NAMESPACE, row.name.database).lower()


def _same(one: ViewVersion, other: ViewVersion) -> bool:
    """Whether two definitions say the same, whoever wrote what else into their summaries."""
    return (sql_texts(one), one.default_catalog, one.default_namespace, lineage_of_version(one)) == (
        sql_texts(other),
        other.default_catalog,
        other.default_namespace,
        lineage_of_version(other),
    ) and one.summary.get(ORIGINAL_SQL) == other.summary.get(ORIGINAL_SQL)


def _columns(schema: Schema) -> list[tuple[str, object, str | None]]:
    return [(field.name, _shape(field.field_type), field.doc) for field in schema.fields]
