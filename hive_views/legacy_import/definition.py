"""The schema and version of the Iceberg view that a legacy view becomes, or why it cannot be converted.

The typed, the stored and the expanded text come from `hive_views.dependencies.view_builder`, as for any other view.
This module decides what the row of a legacy view does not state: which text is the source, which tables and columns its
names refer to, and whether the row's original text is what the author typed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.types import NestedField

from hive_views.config import RowTextForms, row_text_forms
from hive_views.dependencies.view_builder import Building, ViewDefinition, build_definition, type_shape
from hive_views.dependencies.view_query import ViewQuery, declared_columns
from hive_views.errors import MetadataFileError, NoSuchViewError, SqlError
from hive_views.identifiers import ViewName
from hive_views.legacy_import.legacy_view import (
    ConversionError,
    LegacyView,
    Reason,
    Writer,
    decode_mojibake,
    repair_columns,
)
from hive_views.legacy_import.options import ImportOptions, MaterializedMode, MojibakeMode
from hive_views.legacy_import.readers.spark import settings_note
from hive_views.metastore.store import MetastoreStore
from hive_views.metastore.table_schemas import MetastoreSchemas
from hive_views.spec.metadata import GENERATED_DIALECTS, SQLViewRepresentation, ViewRepresentation
from hive_views.spec.session_settings import encode
from hive_views.spec.version_texts import HIVE, LEGACY_ORIGINAL, ORIGINAL_SQL, ROW_TEXT_RULES, sql_texts
from hive_views.sql.analysis.references import References, references
from hive_views.sql.analysis.row_text import describe_rules
from hive_views.sql.analysis.view_text import qualified_functions
from hive_views.sql.parsing.errors import ParseTextError
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.parsing.parser_settings import find_variable
from hive_views.sql.resolver.origins import unchanged_type
from hive_views.sql.text.dialects import SYNTAX, Dialect
from hive_views.sql.text.file_names import file_name
from hive_views.sql.text.quoting import quote_identifier
from hive_views.sql.text.tokens import Text
from hive_views.sql.types.hive_types import parse_type
from hive_views.sql.types.names import row_type
from hive_views.sql.types.upcasts import can_upcast, row_type_as_read
from hive_views.sql.writing.definition import portable_text, to_portable_sql
from hive_views.sql.writing.expand import AuthorContext, Expansion, UnknownTypeError, expand
from hive_views.sql.writing.rename import rename_tables

LEGACY_WRITER = "hive-views.legacy-writer"
"""Summary key: the engine that wrote the legacy row: `hive`, `spark` or `trino`."""

LEGACY_INVOKER = "hive-views.legacy-run-as-invoker"
"""Summary key: whether a Trino view ran with the privileges of its reader."""

_DATABASE = re.compile(r"`(\w+)`\.`")
_GENERATED_NAME = re.compile(r"_c\d+")
_CALL = re.compile(r"`?[\w.]+`?\s*\(")


@dataclass(frozen=True)
class LegacyDefinition:
    """The definition of the Iceberg view that a legacy view becomes."""

    definition: ViewDefinition
    """The columns and the version of the view."""
    reads: tuple[ViewName, ...]
    """The tables and views that the view reads, under their new names."""
    changes: tuple[str, ...]
    """Sentences about differences from the legacy view."""


def check_convertible(view: LegacyView, options: ImportOptions) -> LegacyView:
    """Return the view with mojibake repaired if the options say so; raises ConversionError if the row is unusable."""
    if view.problem is not None:
        raise ConversionError(view.problem.reason, view.problem.text)
    if view.materialized and options.materialized is MaterializedMode.REPORT:
        raise ConversionError(Reason.MATERIALIZED, _describe_materialized(view))
    if view.repaired_sql is None or options.mojibake is MojibakeMode.KEEP:
        return repair_columns(view, options.mojibake)
    if options.mojibake is MojibakeMode.REFUSE:
        raise ConversionError(
            Reason.MOJIBAKE,
            "its text looks like UTF-8 that a latin1 database damaged; repaired it would be: "
            + view.repaired_sql[:300],
        )
    repair = "characters that a latin1 database damaged are repaired"
    original = view.original and (decode_mojibake(view.original) or view.original)
    view = replace(view, sql=view.repaired_sql, repaired_sql=None, original=original, repairs=(*view.repairs, repair))
    return repair_columns(view, options.mojibake)


def find_references(view: LegacyView) -> References:
    """Return the tables and functions that a legacy view's text names; raises ConversionError."""
    try:
        return references(parse_query(view.sql, view.dialect))
    except SqlError as error:
        unreadable = ConversionError(Reason.UNREADABLE, str(error))
        if view.writer is not Writer.HIVE or view.original is None:
            raise unreadable from error
    try:
        # Hive may have written an expanded text that cannot be parsed; see `_from_original_text`.
        return references(parse_query(view.original, view.dialect))
    except SqlError:
        raise unreadable from None


def define_view(
    store: MetastoreStore,
    catalog_name: str,
    view: LegacyView,
    target: ViewName,
    options: ImportOptions,
    targets: Mapping[ViewName, ViewName],
    *,
    keeps_catalogs: bool = True,
) -> LegacyDefinition:
    """Define the Iceberg view that a legacy view becomes; raises ConversionError.

    `keeps_catalogs` states whether names in Spark's texts keep the catalog that they name.
    """
    try:
        return _define(store, catalog_name, view, target, options, targets, keeps_catalogs=keeps_catalogs)
    except ConversionError as error:
        if error.problem.reason not in (Reason.UNREADABLE, Reason.UNRESOLVED, Reason.MISSING_TABLE):
            raise
        original_view = _from_original_text(store, view)
        if original_view is None:
            raise
        return _define(store, catalog_name, original_view, target, options, targets, keeps_catalogs=keeps_catalogs)


def _from_original_text(store: MetastoreStore, view: LegacyView) -> LegacyView | None:
    """Return a Hive view with its original text as the source, if Hive cannot compile its expanded text again.

    Hive's expansion has faults that make such texts: it removes the delimiters of hints, qualifies a CTE of a derived
    table with the database, and so on. If the hive-exact expansion of the original text equals the row's expanded text,
    faults included, the original text is what the author typed.
    """
    if view.writer is not Writer.HIVE or view.original is None:
        return None
    named_databases = map(str.lower, _DATABASE.findall(view.sql))
    database = _database_of_original(MetastoreSchemas(store), view, named_databases, view.sql, mode="hive-exact")
    if database is None:
        return None
    repair = "Hive cannot compile its expanded text again; it is expanded anew from the original one"
    return replace(view, sql=view.original, original=None, database=database, repairs=(*view.repairs, repair))


def _database_of_original(
    schemas: MetastoreSchemas, view: LegacyView, named_databases: Iterable[str], expanded: str, *, mode: str
) -> str | None:
    """Return the current database under which the original text expands to the expanded text; None if none does."""
    declared = tuple(column.name for column in view.columns)
    for database in dict.fromkeys((view.name.database, *named_databases, "default")):
        for column_names in (None, declared):
            try:
                expansion = expand(
                    view.original or "",
                    schemas,
                    database=database,
                    mode=mode,
                    author=AuthorContext(
                        column_names=column_names,
                        view_name=view.name.name,
                        functions={
                            item.name.lower(): "udf" for item in qualified_functions(view.original or "", Dialect.HIVE)
                        },
                    ),
                )
                if has_same_tokens(expansion.expanded, expanded):
                    return database
            except SqlError:
                continue
    return None


def _define(
    store: MetastoreStore,
    catalog_name: str,
    view: LegacyView,
    target: ViewName,
    options: ImportOptions,
    targets: Mapping[ViewName, ViewName],
    *,
    keeps_catalogs: bool,
) -> LegacyDefinition:
    accepted = {store.config.session_catalog, catalog_name}
    if view.dialect is Dialect.TRINO:
        accepted = {name.lower() for name in options.trino_catalogs}
    accepted_lower = {name.lower() for name in accepted}
    if view.catalog is not None and view.catalog.lower() not in accepted_lower:
        raise ConversionError(
            Reason.OTHER_CATALOG, f"its names refer to the catalog {view.catalog}, which is not {_join_or(accepted)}"
        )
    named = find_references(view)
    for table in named.tables:
        if table.catalog is not None and table.catalog.lower() not in accepted_lower:
            raise ConversionError(
                Reason.OTHER_CATALOG, f"it reads {'.'.join(table.parts)}, which is not in {_join_or(accepted)}"
            )

    keeps_catalogs = keeps_catalogs and view.dialect is not Dialect.TRINO

    def new_name(parts: tuple[str, ...], *, keep_catalog: bool = keeps_catalogs) -> tuple[str, ...] | None:
        database = parts[-2].lower() if len(parts) > 1 else view.database
        old = ViewName(database, parts[-1].lower())
        new = targets.get(old) or options.rename(old)
        keeps_catalog = len(parts) > 2 and keep_catalog
        if new == old:
            return None if len(parts) < 3 or keeps_catalog else parts[-2:]
        return (*(parts[:-2] if keeps_catalog else ()), new.database, new.name)

    try:
        query = parse_query(view.sql, view.dialect)
        sql = rename_tables(query, new_name)
        sql_with_catalogs = sql
        if view.dialect is Dialect.TRINO:
            sql_with_catalogs = rename_tables(query, partial(new_name, keep_catalog=True))
    except ParseTextError as error:
        raise ConversionError(Reason.UNREADABLE, str(error)) from error
    except SqlError as error:
        raise ConversionError(Reason.CANNOT_RENAME, str(error)) from error
    renamed = named if sql == view.sql else references(parse_query(sql, view.dialect))
    missing = _missing_tables(store, view, renamed, sql, options.file_columns)
    if missing:
        raise ConversionError(Reason.MISSING_TABLE, f"there is no {_join_or(missing)}")
    try:
        return _DefinitionBuilder(store, view, target, sql, sql_with_catalogs, options.file_columns).build()
    except UnknownTypeError as error:
        raise ConversionError(Reason.TYPE, str(error)) from error
    except ParseTextError as error:
        raise ConversionError(Reason.UNREADABLE, str(error)) from error
    except SqlError as error:
        functions = {function.name.lower() for function in named.functions if function.registered}
        reason = Reason.UNKNOWN_FUNCTION if (error.name or "").lower() in functions else Reason.UNRESOLVED
        raise ConversionError(reason, str(error)) from error
    except (MetadataFileError, NoSuchViewError) as error:
        raise ConversionError(Reason.UNRESOLVED, str(error)) from error


@dataclass(frozen=True)
class _PlannedAnalyzer:
    """Knows the declared columns of a legacy view, and the columns of files that a plan recorded."""

    schema: Schema
    files: Mapping[str, tuple[tuple[str, str], ...]]
    spark_version: None = None
    """Spark wrote the view, of whatever version."""

    def __call__(self, query: str, /) -> Schema:
        return self.schema

    def file_columns(self, file_format: str, path: str) -> tuple[tuple[str, str], ...]:
        """Return name and type of the columns of files; raises SqlError if the plan has none."""
        name = file_name((file_format, path))
        if name not in self.files:
            raise SqlError(f"The columns of the files {name} are unknown")
        return self.files[name]


class _DefinitionBuilder:
    """Builds the definition of one view and collects sentences about differences from the legacy view."""

    def __init__(
        self,
        store: MetastoreStore,
        view: LegacyView,
        target: ViewName,
        sql: str,
        sql_with_catalogs: str,
        file_columns: Mapping[str, tuple[tuple[str, str], ...]],
    ) -> None:
        self._store = store
        self._view = view
        self._target = target
        self._sql = sql
        self._sql_with_catalogs = sql_with_catalogs
        self._changes = [*view.repairs, *view.notes]
        self._schema = self._columns()
        self._analyzer = _PlannedAnalyzer(self._schema, file_columns)
        self._schemas = MetastoreSchemas(store, file_columns=self._analyzer.file_columns)
        self._expansions: dict[tuple[str, str, str], Expansion] = {}
        self._plain_text: str | None = None
        """The row's text without the forms that were applied to it."""

    def build(self) -> LegacyDefinition:
        view = self._view
        if view.dialect is Dialect.TRINO:
            definition = self._define_trino()
        else:
            sql, column_names = self._fit_columns()
            self._check_types(sql)
            definition = self._author(sql, view.dialect, column_names)
            if view.writer is Writer.HIVE:
                definition = self._with_hive_texts(definition)
            else:
                definition = self._with_spark_texts(definition, sql)
        _reject_variables(definition)
        entries = {LEGACY_WRITER: view.writer.value}
        # All settings that the row records. A `ViewSession` applies those of RECORDED; the plan names the others.
        entries |= encode(view.settings)
        if view.run_as_invoker is not None:
            entries[LEGACY_INVOKER] = str(view.run_as_invoker).lower()
        definition = _with_summary(definition, entries)
        return LegacyDefinition(definition, definition.tables, tuple(self._changes))

    def _author(self, sql: str, dialect: Dialect, column_names: tuple[str, ...] | None) -> ViewDefinition:
        view = self._view
        comments = None if column_names is None else [column.comment for column in view.columns]
        query = ViewQuery(
            sql=sql,
            dialect=dialect,
            database=view.database,
            columns=declared_columns(column_names, comments),
            analyzer=self._analyzer,
            summary=encode(view.settings),
        )
        forms = row_text_forms(self._store.config, {})
        forms = RowTextForms(forms.explicit, forms.for_trino and dialect != HIVE)
        definition = build_definition(self._store, self._target, query, Building(mark=False, forms=forms))
        rules = definition.version.summary.get(ROW_TEXT_RULES)
        if rules is not None:
            self._changes += describe_rules(rules)
            plain = build_definition(self._store, self._target, query, Building(mark=False))
            self._plain_text = sql_texts(plain.version).get(HIVE)
        return definition

    def _columns(self) -> Schema:
        """Return the declared columns: readers of the legacy view see their types, whatever the query returns now."""
        fields = []
        for number, column in enumerate(self._view.columns):
            # Spark reads TIMESTAMP columns of Hive and Spark as instants; Trino has a type for each kind.
            read = row_type(column.type)
            written = column.type if read is None else read.text
            type_text = "timestamptz" if written.lower() == "timestamp" else written
            try:
                field_type = parse_type(type_text)
            except SqlError:
                raise ConversionError(
                    Reason.TYPE, f"column {column.name} is of type {column.type}, which Iceberg does not have"
                ) from None
            fields.append(NestedField(number + 1, column.name, field_type, required=False, doc=column.comment or None))
        # `parse_type` does not assign ids to nested fields.
        return assign_fresh_schema_ids(Schema(*fields))

    def _expand(self, sql: str, dialect: Dialect, database: str) -> Expansion:
        key = (sql, dialect, database)
        if key not in self._expansions:
            functions = {function.name.lower(): "udf" for function in qualified_functions(sql, dialect)}
            self._expansions[key] = expand(
                sql, self._schemas, database=database, dialect=dialect, author=AuthorContext(functions=functions)
            )
        return self._expansions[key]

    def _column_names(self, sql: str) -> tuple[str, ...]:
        return self._expand(sql, self._view.dialect, self._view.database).names

    def _fit_columns(self) -> tuple[str, tuple[str, ...] | None]:
        """Return a query and a column list (None if not needed) that together give the columns of the view."""
        view = self._view
        names = self._column_names(self._sql)
        declared = tuple(column.name for column in view.columns)
        declared_lower = tuple(name.lower() for name in declared)
        if names == declared_lower:
            return self._sql, None
        if view.schema_mode == "EVOLUTION":
            raise SqlError(
                f"The query returns the columns {', '.join(names)}, and the view declares {', '.join(declared_lower)}: "
                "query the view in plain Spark, which then records the new columns, and plan again"
            )
        recorded = tuple(name.lower() for name in view.query_columns) if view.query_columns is not None else None
        if (
            recorded is not None
            and len(recorded) == len(declared)
            and names != recorded
            and set(recorded) <= set(names)
        ):
            # The query has a star, which now returns more columns, or in another order. Spark selects the recorded
            # columns by name.
            quote = SYNTAX[view.dialect].quote
            selected = ", ".join(quote_identifier(name, quote) for name in recorded)
            self._changes.append("the query's star is narrowed to the columns that the view was created with")
            alias = quote_identifier(view.name.name, quote)
            query = f"SELECT {selected} FROM ({_without_trailing_text(self._sql, view.dialect)}) {alias}"
            return query, None if recorded == declared_lower else declared
        if len(names) == len(declared):
            self._check_recorded_names(names, recorded)
            return self._sql, declared
        raise SqlError(
            f"The query returns {len(names)} columns ({', '.join(names)}), "
            f"the view has {len(declared)} ({', '.join(declared_lower)})"
        )

    def _check_recorded_names(self, names: tuple[str, ...], recorded: tuple[str, ...] | None) -> None:
        """Refuse a query that no longer returns the columns that Spark recorded, since Spark selects them by name."""
        if recorded is None or len(recorded) != len(names):
            return
        # Names that Spark generates from expressions are not known here.
        missing = [
            old
            for name, old in zip(names, recorded, strict=True)
            if name != old and not _GENERATED_NAME.fullmatch(name)
        ]
        if missing:
            raise SqlError(
                f"The query no longer returns {', '.join(missing)}, which the view was created with, but "
                f"{', '.join(names)}: a table was changed, and Spark cannot read the view. Create it again, and plan "
                "again"
            )

    def _check_types(self, sql: str) -> None:
        """Refuse a view of Spark whose columns readers through Iceberg would not cast to the declared types.

        Plain Spark casts the columns (`WITH SCHEMA COMPENSATION`) or adopts the types of the tables (`EVOLUTION`);
        Iceberg's catalog allows only implicit casts. Computed columns are checked later, by Spark's analyzer.
        """
        view = self._view
        expansion = self._expand(sql, view.dialect, view.database)
        is_evolving = "EVOLUTION" in view.schema_mode
        for field, column, (_, source) in zip(
            self._schema.fields, view.columns, expansion.resolution.columns, strict=True
        ):
            actual = unchanged_type(expansion.resolution, source)
            if actual is None or _is_readable(actual, column.type, is_equal_required=is_evolving):
                continue
            change = f"column {field.name} is declared as {column.type}, and its query returns {actual} now"
            if view.writer is not Writer.SPARK:
                self._changes.append(f"{change}: Spark cannot read the view, before and after the import")
            elif is_evolving:
                raise ConversionError(
                    Reason.TYPE,
                    f"{change}: query the view in plain Spark, which then records the new type, and plan again",
                )
            else:
                raise ConversionError(
                    Reason.TYPE,
                    f"{change}, which readers through Iceberg do not cast: create the view again, with CAST in its "
                    "query if its types shall stay, and plan again",
                )

    def _with_hive_texts(self, definition: ViewDefinition) -> ViewDefinition:
        """Keep the original text as the typed text if it can be shown to mean the same as the expanded text."""
        view = self._view
        expanded = self._plain_text or sql_texts(definition.version)[HIVE]
        if expanded != view.sql and not view.repairs:
            self._changes.append("the expanded text is repaired, e.g. columns without a name get one")
        if view.original is None:
            return definition
        if self._sql != view.sql:
            return _with_summary(definition, {LEGACY_ORIGINAL: view.original})
        tables = self._expand(self._sql, view.dialect, view.database).tables
        database = _database_of_original(self._schemas, view, (name for name, _ in tables), expanded, mode="portable")
        if database is None:
            self._changes.append(
                "the original text cannot be shown to mean the same: it is kept, but not as the typed text"
            )
            return _with_summary(definition, {LEGACY_ORIGINAL: view.original})
        definition = _with_summary(definition, {ORIGINAL_SQL: view.original})
        has_list = self._has_column_list(view.original, database)
        aliases = [column.name for column in view.columns] if has_list else None
        comments = [column.comment for column in view.columns] if has_list else None
        representations = [
            ViewRepresentation(item.root.model_copy(update={"field_aliases": aliases, "field_comments": comments}))
            for item in definition.version.representations
            if isinstance(item.root, SQLViewRepresentation)
        ]
        update = {"default_namespace": (database,), "representations": representations}
        return replace(definition, version=definition.version.model_copy(update=update))

    def _has_column_list(self, original: str, database: str) -> bool:
        """Return whether the author gave a column list."""
        names = self._expand(original, Dialect.HIVE, database).names
        return names != tuple(column.name.lower() for column in self._view.columns)

    def _with_spark_texts(self, definition: ViewDefinition, sql: str) -> ViewDefinition:
        """Keep the text of a Spark view as the typed text, unless names in it were changed."""
        view = self._view
        if any(column.name != column.name.lower() for column in view.columns):
            self._changes.append("plain Spark shows the columns' names in lower case, Iceberg's catalog as they are")
        if any("timestamp_ntz" in column.type for column in view.columns):
            self._changes.append(
                "plain Spark returns TIMESTAMP_NTZ columns as TIMESTAMP, which Hive's row has for both"
            )
        note = settings_note(view.settings)
        if note is not None:
            self._changes.append(note)
        if sql == view.sql:
            return definition
        return _with_summary(definition, {ORIGINAL_SQL if self._sql == view.sql else LEGACY_ORIGINAL: view.sql})

    def _define_trino(self) -> ViewDefinition:
        """Keep Trino's text, and generate those of Hive and Spark if they are known to mean the same."""
        view = self._view
        try:
            sql = to_portable_sql(self._sql)
        except SqlError as error:
            raise ConversionError(
                Reason.NOT_PORTABLE,
                f"{error.reason}. Iceberg's Spark catalog would run the Trino text as Spark SQL, so the view is not "
                "converted",
            ) from error
        names = self._expand(sql, Dialect.HIVE, view.database).names
        declared = tuple(column.name for column in view.columns)
        is_fitting = names == tuple(name.lower() for name in declared)
        if not is_fitting and len(names) != len(declared):
            raise SqlError(f"The query returns {len(names)} columns, the view has {len(declared)}")
        definition = self._author(sql, Dialect.HIVE, None if is_fitting else declared)
        text = sql_texts(definition.version)[HIVE]
        stored = self._expand(self._sql_with_catalogs, Dialect.TRINO, view.database).stored
        representations = [
            ViewRepresentation(SQLViewRepresentation(type="sql", sql=text_of_dialect, dialect=dialect))
            for dialect, text_of_dialect in {"spark": text, HIVE: text, "trino": stored}.items()
        ]
        update = {"representations": representations}
        definition = replace(definition, version=definition.version.model_copy(update=update))
        self._changes.append("texts for Spark and Hive are generated")
        entries = {GENERATED_DIALECTS: "spark,hive", ORIGINAL_SQL: self._sql_with_catalogs}
        if self._sql_with_catalogs != view.sql:
            entries[LEGACY_ORIGINAL] = view.sql
        return _with_summary(definition, entries)


def _is_readable(actual: str, declared: str, *, is_equal_required: bool) -> bool:
    """Return whether readers of a view get a table's column in the declared type; True if a type is not known here."""
    try:
        actual_type, declared_type = row_type_as_read(actual), row_type_as_read(declared)
    except SqlError:
        return True
    if is_equal_required:
        return type_shape(actual_type) == type_shape(declared_type)
    return can_upcast(actual_type, declared_type)


def _reject_variables(definition: ViewDefinition) -> None:
    """Refuse names that contain `${…}`: unlike in strings, Spark and Hive would substitute a variable there."""
    texts = sql_texts(definition.version)
    variable = next(filter(None, (find_variable(texts[key]) for key in ("spark", HIVE) if key in texts)), None)
    if variable is not None:
        raise ConversionError(
            Reason.UNSUPPORTED,
            f"a name in its text contains {variable}, which Spark replaces by the value of a variable: rename it",
        )


def _with_summary(definition: ViewDefinition, entries: Mapping[str, str]) -> ViewDefinition:
    summary = {**definition.version.summary, **entries}
    return replace(definition, version=definition.version.model_copy(update={"summary": summary}))


def _missing_tables(
    store: MetastoreStore, view: LegacyView, named: References, sql: str, known_files: Collection[str]
) -> list[str]:
    missing = set()
    for table in named.tables:
        name = ViewName(*table.resolved(view.database))
        if store.get_row(name) is not None:
            continue
        if _CALL.match(sql, table.start):
            raise ConversionError(Reason.UNKNOWN_FUNCTION, f"{table.parts[-1]} is an unknown table function of Hive")
        missing.add(str(name))
    files = ", ".join(name for name in named.files if name not in known_files)
    if files and not missing:
        reason = f"it reads the files {files}, whose columns only Spark knows: import it on Spark (--spark)"
        raise ConversionError(Reason.UNSUPPORTED, reason)
    if named.opaque and not missing:
        reason = f"it reads {named.opaque[0]}, a table function of which it is unknown what it reads"
        raise ConversionError(Reason.UNKNOWN_FUNCTION, reason)
    return sorted(missing)


def _describe_materialized(view: LegacyView) -> str:
    storage = ", ".join(f"{key}={value}" for key, value in sorted(view.storage.items()))
    return f"it is a materialized view of {view.writer.value.capitalize()} ({storage or 'its row names no storage'})"


def has_same_tokens(sql: str, other_sql: str) -> bool:
    """Return whether two expanded texts of Hive have the same tokens; the case of keywords and names does not count."""
    return _tokens(sql) == _tokens(other_sql)


def _tokens(sql: str) -> list[str]:
    text = Text(portable_text(sql, Dialect.HIVE), Dialect.HIVE)
    tokens = map(text.raw, range(len(text.tokens)))
    return [token if token.endswith(("'", '"')) else token.lower() for token in tokens]


def _without_trailing_text(sql: str, dialect: Dialect) -> str:
    """Return a query without what follows its last token, e.g. a line comment, so that a bracket can follow."""
    text = Text(sql, dialect)
    return text.between(0, len(text.tokens) - 1)


def _join_or(names: set[str] | list[str]) -> str:
    return " or ".join(sorted(names))
