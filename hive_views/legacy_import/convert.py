"""A legacy view to the metadata of an Iceberg view: the texts, what may be claimed of them, and what is not converted.

Everything passes through `hive_views.dependencies.view_builder`, so that the typed, the stored and the expanded text
hold what they hold for any other view. What is added here is what a legacy view leaves open: which text is the source,
which names and columns were meant, and whether what looks like the author's text is one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.types import NestedField

from hive_views.config import CatalogConfig
from hive_views.dependencies.view_builder import ViewDefinition, build_definition
from hive_views.errors import HiveViewsError, MetadataFileError, NoSuchViewError, SqlError
from hive_views.identifiers import ViewName
from hive_views.legacy_import.model import LegacyView, Reason, Refusal, Writer
from hive_views.legacy_import.mojibake import demangled, mended_columns
from hive_views.legacy_import.options import Options
from hive_views.legacy_import.readers.spark import unheeded
from hive_views.legacy_import.readers.trino_sql import portable
from hive_views.metastore.store import MetastoreStore
from hive_views.metastore.table_schemas import MetastoreSchemas
from hive_views.spec.metadata import GENERATED_DIALECTS, SQLViewRepresentation, ViewRepresentation, ViewVersion
from hive_views.spec.session_settings import encode
from hive_views.spec.version_texts import HIVE, ORIGINAL_SQL
from hive_views.sql.analysis.references import References, references
from hive_views.sql.parsing.lexer import IDENTIFIER_QUOTES, Text
from hive_views.sql.parsing.parser import ParseTextError
from hive_views.sql.rewriting.dialects import portable_text
from hive_views.sql.rewriting.expand import Expansion, UnknownTypeError, expand
from hive_views.sql.rewriting.quoting import quote_identifier
from hive_views.sql.rewriting.rename import rename_tables
from hive_views.sql.types.iceberg_types import parse_type

LEGACY_ORIGINAL = "hive-views.legacy-original-sql"
"""Summary key: a legacy row's original text that could not be shown to mean what its expanded text means."""

LEGACY_WRITER = "hive-views.legacy-writer"
"""Summary key: whose layout the row had: `hive`, `spark` or `trino`."""

LEGACY_INVOKER = "hive-views.legacy-run-as-invoker"
"""Summary key: whether a view of Trino's ran with its reader's rights."""


class RefusedError(HiveViewsError):
    """A legacy view cannot be converted; within this room it becomes a status."""

    def __init__(self, reason: Reason, text: str) -> None:
        super().__init__(text)
        self.refusal = Refusal(reason, text)


@dataclass(frozen=True)
class Made:
    """What a legacy view becomes."""

    definition: ViewDefinition
    """Its columns and its version."""
    reads: tuple[ViewName, ...]
    """The tables and views that it reads, under their new names."""
    changes: tuple[str, ...]
    """What is not as it was, in words."""


def reads(view: LegacyView) -> References:
    """What a legacy view's text names."""
    try:
        return references(view.sql, view.dialect)
    except SqlError as error:
        refusal = RefusedError(Reason.UNREADABLE, str(error))
        if view.writer is not Writer.HIVE or view.original is None:
            raise refusal from error
    try:
        # Hive's own fault, perhaps; see `mended`.
        return references(view.original, view.dialect)
    except SqlError:
        raise refusal from None


def prepared(view: LegacyView, options: Options) -> LegacyView:
    """The view with what the row alone says against it decided: a text that looks damaged is mended or refused."""
    if view.problem is not None:
        raise RefusedError(view.problem.reason, view.problem.text)
    if view.materialized and options.materialized == "report":
        raise RefusedError(Reason.MATERIALIZED, _materialized(view))
    if view.mangled is None or options.mangled == "keep":
        return mended_columns(view, options.mangled)
    if options.mangled == "refuse":
        raise RefusedError(
            Reason.MANGLED,
            "its text looks like UTF-8 that a latin1 database damaged; repaired it would be: " + view.mangled[:300],
        )
    note = "characters that a latin1 database damaged are repaired"
    original = view.original and (demangled(view.original) or view.original)
    view = replace(view, sql=view.mangled, mangled=None, original=original, repaired=(*view.repaired, note))
    return mended_columns(view, options.mangled)


def make(
    store: MetastoreStore,
    catalog: str,
    view: LegacyView,
    target: ViewName,
    options: Options,
    targets: Mapping[ViewName, ViewName],
) -> Made:
    """Define the Iceberg view that a legacy view becomes."""
    try:
        return _make(store, catalog, view, target, options, targets)
    except RefusedError as refusal:
        again = mended(store, view) if refusal.refusal.reason in _FAULTS else None
        if again is None:
            raise
        return _make(store, catalog, again, target, options, targets)


_FAULTS = (Reason.UNREADABLE, Reason.UNRESOLVED, Reason.MISSING_TABLE)


def mended(store: MetastoreStore, view: LegacyView) -> LegacyView | None:
    """A view whose expanded text Hive itself cannot compile again, read from its original text.

    Hive takes the delimiters off hints, qualifies a CTE of a derived table by the database, and so on (facts:
    hive_expansion.md). Where the original text, expanded as Hive does it, gives exactly the row's text, faults and all,
    it is what the author typed, and is expanded without the faults.
    """
    if view.writer is not Writer.HIVE or view.original is None:
        return None
    named = dict.fromkeys(_DATABASE.findall(view.sql))
    declared = tuple(column.name for column in view.columns)
    schemas = MetastoreSchemas(store)
    for database in dict.fromkeys((view.name.database, *map(str.lower, named), "default")):
        for names in (None, declared):
            try:
                exact = expand(
                    view.original,
                    schemas,
                    database=database,
                    mode="hive-exact",
                    column_names=names,
                    view_name=view.name.name,
                )
                same = alike(exact.expanded, view.sql)
            except SqlError:
                continue
            if same:
                note = "Hive cannot compile its expanded text again; it is expanded anew from the original one"
                return replace(
                    view, sql=view.original, original=None, database=database, repaired=(*view.repaired, note)
                )
    return None


_DATABASE = re.compile(r"`(\w+)`\.`")


def _make(
    store: MetastoreStore,
    catalog: str,
    view: LegacyView,
    target: ViewName,
    options: Options,
    targets: Mapping[ViewName, ViewName],
) -> Made:
    accepted = {store.config.session_catalog, catalog}
    if view.dialect == "trino":
        accepted = {name.lower() for name in options.trino_catalogs}
    if view.catalog is not None and view.catalog.lower() not in {name.lower() for name in accepted}:
        raise RefusedError(
            Reason.OTHER_CATALOG, f"its names mean tables of the catalog {view.catalog}, which is not {_or(accepted)}"
        )
    named = reads(view)
    for table in named.tables:
        if table.catalog is not None and table.catalog.lower() not in {name.lower() for name in accepted}:
            raise RefusedError(
                Reason.OTHER_CATALOG, f"it reads {'.'.join(table.parts)}, which is not in {_or(accepted)}"
            )

    def new_name(parts: tuple[str, ...], *, keep: bool = view.dialect != "trino") -> tuple[str, ...] | None:
        old = ViewName(*(part.lower() for part in parts[-2:])) if len(parts) > 1 else None
        old = old or ViewName(view.database, parts[-1].lower())
        new = targets.get(old) or options.renamed(old)
        keeps_catalog = len(parts) > 2 and keep
        if new == old:
            return None if len(parts) < 3 or keeps_catalog else parts[-2:]
        return (*(parts[:-2] if keeps_catalog else ()), new.database, new.name)

    try:
        sql = rename_tables(view.sql, view.dialect, new_name)
        own = rename_tables(view.sql, view.dialect, partial(new_name, keep=True))
    except ParseTextError as error:
        raise RefusedError(Reason.UNREADABLE, str(error)) from error
    except SqlError as error:
        raise RefusedError(Reason.CANNOT_RENAME, str(error)) from error
    renamed = References(tables=references(sql, view.dialect).tables, functions=named.functions)
    missing = _missing(store, view, renamed, sql)
    if missing:
        raise RefusedError(Reason.MISSING_TABLE, f"there is no {_or(missing)}")
    try:
        return _Maker(store, view, target, sql, own).make()
    except UnknownTypeError as error:
        raise RefusedError(Reason.TYPE, str(error)) from error
    except ParseTextError as error:
        raise RefusedError(Reason.UNREADABLE, str(error)) from error
    except SqlError as error:
        unknown = {item.name.lower() for item in named.functions if item.registered}
        reason = Reason.UNKNOWN_FUNCTION if (error.name or "").lower() in unknown else Reason.UNRESOLVED
        raise RefusedError(reason, str(error)) from error
    except (MetadataFileError, NoSuchViewError) as error:
        raise RefusedError(Reason.UNRESOLVED, str(error)) from error


class _Maker:
    """One view on its way to a definition."""

    def __init__(self, store: MetastoreStore, view: LegacyView, target: ViewName, sql: str, own: str) -> None:
        self._store = store
        self._view = view
        self._target = target
        self._sql = sql
        self._own = own
        self._changes = [*view.repaired, *view.told]
        self._schemas = MetastoreSchemas(store)
        self._schema = self._columns()

    def make(self) -> Made:
        view = self._view
        if view.dialect == "trino":
            found = self._trino()
        else:
            sql, names = self._fitted()
            found = self._author(sql, view.dialect, names)
            found = self._hive(found) if view.writer is Writer.HIVE else self._raw(found, sql)
        summary = {**found.version.summary, LEGACY_WRITER: view.writer.value}
        # All that the row records; a `ViewSession` heeds those of RECORDED, and of the others the plan tells.
        summary |= encode(view.settings)
        if view.run_as_invoker is not None:
            summary[LEGACY_INVOKER] = str(view.run_as_invoker).lower()
        found = replace(found, version=found.version.model_copy(update={"summary": summary}))
        return Made(found, found.tables, tuple(self._changes))

    def _author(self, sql: str, dialect: str, names: tuple[str, ...] | None) -> ViewDefinition:
        view = self._view
        return build_definition(
            self._store,
            self._target,
            sql,
            database=view.database,
            dialect=dialect,
            analyzer=lambda _: self._schema,
            column_names=names,
            column_comments=None if names is None else [column.comment for column in view.columns],
            mark=False,
        )

    def _columns(self) -> Schema:
        """The columns that the legacy view declares: its readers saw these types, whatever the query gives today."""
        fields = []
        for number, column in enumerate(self._view.columns):
            # A TIMESTAMP of Hive's and Spark's is an instant to Spark; Trino's say which they are.
            kind = "timestamptz" if column.type.lower() == "timestamp" else column.type
            try:
                found = parse_type(kind)
            except SqlError:
                raise RefusedError(
                    Reason.TYPE, f"column {column.name} is of type {column.type}, which Iceberg does not have"
                ) from None
            fields.append(NestedField(number + 1, column.name, found, required=False, doc=column.comment or None))
        # A type's own reader gives nested fields no ids.
        return assign_fresh_schema_ids(Schema(*fields))

    def _expand(self, sql: str, dialect: str, database: str) -> Expansion:
        return expand(sql, self._schemas, database=database, dialect=dialect)

    def _fitted(self) -> tuple[str, tuple[str, ...] | None]:
        """The text, and the column list that it needs so that it gives the view's columns."""
        view = self._view
        names = self._names(self._sql)
        declared = tuple(column.name for column in view.columns)
        lower = tuple(name.lower() for name in declared)
        if names == lower:
            return self._sql, None
        wanted = tuple(name.lower() for name in view.query_columns) if view.query_columns is not None else None
        if wanted is not None and len(wanted) == len(lower) and names != wanted and set(wanted) <= set(names):
            # A star that gives more than it did, or in another order: the recorded columns, by name, as Spark takes
            # them.
            quote = IDENTIFIER_QUOTES[view.dialect]
            listed = ", ".join(quote_identifier(name, quote) for name in wanted)
            self._changes.append("the query's star is narrowed to the columns that the view was created with")
            alias = quote_identifier(view.name.name, quote)
            inner = f"SELECT {listed} FROM ({_whole(self._sql, view.dialect)}) {alias}"
            return inner, None if wanted == lower else declared
        if len(names) == len(lower):
            return self._sql, declared
        given, had = ", ".join(names), ", ".join(lower)
        raise SqlError(f"The query gives {len(names)} columns ({given}), the view has {len(lower)} ({had})")

    def _names(self, sql: str) -> tuple[str, ...]:
        return self._expand(sql, self._view.dialect, self._view.database).names

    def _hive(self, found: ViewDefinition) -> ViewDefinition:
        """Keep the author's text where it is shown to mean what the expanded text means."""
        view, version = self._view, found.version
        expanded = _texts(version)[HIVE]
        if expanded != view.sql and not view.repaired:
            self._changes.append("the expanded text is mended: names are added to columns that have none, for example")
        if view.original is None or self._sql != view.sql:
            if view.original is not None:
                return self._with(found, {LEGACY_ORIGINAL: view.original})
            return found
        database = self._meant(expanded)
        if database is None:
            self._changes.append("the original text cannot be shown to mean the same: kept aside, not as typed text")
            return self._with(found, {LEGACY_ORIGINAL: view.original})
        made = self._with(found, {ORIGINAL_SQL: view.original})
        aliases = [column.name for column in view.columns] if self._wrapped(database) else None
        comments = [column.comment for column in view.columns] if aliases is not None else None
        representations = [
            ViewRepresentation(item.root.model_copy(update={"field_aliases": aliases, "field_comments": comments}))
            for item in made.version.representations
            if isinstance(item.root, SQLViewRepresentation)
        ]
        update = {"default_namespace": (database,), "representations": representations}
        return replace(made, version=made.version.model_copy(update=update))

    def _meant(self, expanded: str) -> str | None:
        """The current database under which the original text expands to the expanded one; None where there is none."""
        view = self._view
        candidates = [view.name.database, *(name for name, _ in self._expansion().tables), "default"]
        for database in dict.fromkeys(candidates):
            for names in (None, tuple(column.name for column in view.columns)):
                try:
                    again = expand(
                        view.original or "",
                        self._schemas,
                        database=database,
                        dialect="hive",
                        column_names=names,
                        view_name=view.name.name,
                    )
                except SqlError:
                    continue
                if alike(again.expanded, expanded):
                    return database
        return None

    def _wrapped(self, database: str) -> bool:
        """Whether the author gave a column list."""
        names = self._expand(self._view.original or "", "hive", database).names
        return names != tuple(column.name.lower() for column in self._view.columns)

    def _expansion(self) -> Expansion:
        return self._expand(self._sql, self._view.dialect, self._view.database)

    def _raw(self, found: ViewDefinition, sql: str) -> ViewDefinition:
        """A Spark view's text is what its author typed, unless names in it were changed."""
        if any(column.name != column.name.lower() for column in self._view.columns):
            self._changes.append("plain Spark shows the columns' names in lower case, Iceberg's catalog as they are")
        told = unheeded(self._view.settings)
        if told is not None:
            self._changes.append(told)
        if sql == self._view.sql:
            return found
        if self._sql != self._view.sql:
            return self._with(found, {LEGACY_ORIGINAL: self._view.sql})
        return self._with(found, {ORIGINAL_SQL: self._view.sql})

    def _trino(self) -> ViewDefinition:
        """Trino's text stays; Hive's and Spark's is made only where it is known to mean the same."""
        view = self._view
        try:
            sql = portable(self._sql)
        except SqlError as error:
            raise RefusedError(
                Reason.NOT_PORTABLE,
                f"{error.reason}. Iceberg's Spark catalog would run the Trino text as its own, so the view is left to "
                "Trino",
            ) from error
        names = self._expand(sql, "hive", view.database).names
        declared = tuple(column.name for column in view.columns)
        fits = names == tuple(name.lower() for name in declared)
        if not fits and len(names) != len(declared):
            raise SqlError(f"The query gives {len(names)} columns, the view has {len(declared)}")
        made = self._author(sql, "hive", None if fits else declared)
        text = _texts(made.version)[HIVE]
        stored = self._expand(self._own, "trino", view.database).stored
        texts = {"spark": text, HIVE: text, "trino": stored}
        representations = [
            ViewRepresentation(SQLViewRepresentation(type="sql", sql=value, dialect=dialect))
            for dialect, value in texts.items()
        ]
        update = {"representations": representations}
        made = replace(made, version=made.version.model_copy(update=update))
        self._changes.append("texts for Spark and Hive are generated; Trino goes on reading its own encoding")
        entries = {GENERATED_DIALECTS: "spark,hive", ORIGINAL_SQL: self._own}
        return self._with(made, entries if self._own == view.sql else {**entries, LEGACY_ORIGINAL: view.sql})

    @staticmethod
    def _with(found: ViewDefinition, entries: Mapping[str, str]) -> ViewDefinition:
        summary = {**found.version.summary, **entries}
        return replace(found, version=found.version.model_copy(update={"summary": summary}))


def changed_types(view: LegacyView, config: CatalogConfig, columns: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """What of a view's declared types Iceberg does not have, in words."""
    found = []
    for ours, (_, kind) in zip(view.columns, columns, strict=True):
        before = ours.type.lower().replace(" ", "")
        plain = {"timestamp_ntz": "timestamp", "timestampwithlocaltimezone": "timestamp"}.get(before, before)
        if plain != kind.lower().replace(" ", "") and config.hive2_compatible:
            found.append(f"column {ours.name}: {ours.type} becomes {kind}")
    return tuple(found)


_CALL = re.compile(r"`?[\w.]+`?\s*\(")


def _missing(store: MetastoreStore, view: LegacyView, named: References, sql: str) -> list[str]:
    found = []
    for table in named.tables:
        name = ViewName(*table.resolved(view.database))
        if store.get_row(name) is not None:
            continue
        if _CALL.match(sql, table.start):
            what = f"{table.parts[-1]} is a table function of Hive's, which is not known"
            raise RefusedError(Reason.UNKNOWN_FUNCTION, what)
        found.append(str(name))
    return sorted(set(found))


def _materialized(view: LegacyView) -> str:
    kept = ", ".join(f"{key}={value}" for key, value in sorted(view.storage.items()))
    return f"it is a materialized view of {view.writer.value.capitalize()} ({kept or 'nothing is said of its storage'})"


def _texts(version: ViewVersion) -> dict[str, str]:
    return {item.dialect.lower(): item.sql for item in version.sql_representations}


def alike(one: str, other: str) -> bool:
    """Whether two expanded texts of Hive's say the same."""
    return _tokens(one) == _tokens(other)


def _tokens(sql: str) -> list[str]:
    text = Text(portable_text(sql, HIVE), HIVE)
    raws = map(text.raw, range(len(text.tokens)))
    return [raw if raw.endswith(("'", '"')) else raw.lower() for raw in raws]


def _whole(sql: str, dialect: str) -> str:
    """A query without what stands behind its last token, so that a bracket can follow."""
    text = Text(sql, dialect)
    return text.between(0, len(text.tokens) - 1)


def _or(names: set[str] | list[str]) -> str:
    return " or ".join(sorted(names))
