"""Which views Spark reads by itself, and which are put into a statement by their definitions.

Measured on Spark 4.1.4 with Iceberg 1.11.0: Iceberg's catalog analyzes a view's text under the settings of the reading
session. Spark's session catalog reads the row's expanded text with ANSI off and the default time zone, whatever the
session says. Neither reads other versions than the current one.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyiceberg.schema import Schema
from pyiceberg.types import IcebergType

from hive_views.errors import (
    CyclicViewError,
    HiveViewsError,
    NoSuchRefreshError,
    NoSuchVersionError,
    NotMaterializedError,
    RefreshError,
    SparkSqlError,
    SqlError,
    ViewDriftWarning,
)
from hive_views.identifiers import ViewName
from hive_views.materialized.layouts.layouts import METADATA
from hive_views.materialized.loading import is_materialized
from hive_views.materialized.properties import TIME_TRAVEL
from hive_views.materialized.time_travel import stored_rows
from hive_views.metastore.row_codec import RowKind
from hive_views.spark.analyzer import iceberg_schema
from hive_views.spark.session.failures import InView, Source, pointing_into
from hive_views.spark.session.metadata_tables import (
    METADATA_TABLES,
    REFRESHES,
    STORAGE,
    metadata_table,
    refreshes_table,
)
from hive_views.spark.session.names import SESSION_CATALOG, Context, Names, Target
from hive_views.spark.session.rewrite import (
    Place,
    Replacement,
    Rewritten,
    Travel,
    places,
    possible_places,
    replace,
)
from hive_views.spark.session.settings import READING
from hive_views.spark.session.stored_rows import StoredRows
from hive_views.spark.session.temporary_views import HelperSession
from hive_views.spec.session_settings import RECORDED, recorded, same
from hive_views.spec.version_texts import HIVE, sql_texts
from hive_views.sql.parsing.lexer import line_and_column
from hive_views.sql.parsing.spark_lexer import spark_tokens
from hive_views.sql.rewriting.quoting import quote_identifier, quote_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from hive_views.catalog.catalog import HiveViewCatalog
    from hive_views.catalog.views import HiveView
    from hive_views.materialized.loading import MaterializedView
    from hive_views.spec.metadata import ViewVersion


@dataclass(frozen=True)
class Prepared:
    """A statement as Spark is to be given it."""

    rewritten: Rewritten
    """The statement."""
    views: Mapping[str, ViewName]
    """The views that stand in it by other names, by those names."""

    @classmethod
    def untouched(cls, text: str) -> Prepared:
        """A statement in which nothing is replaced."""
        return cls(Rewritten(text, text), {})

    @property
    def source(self) -> Source:
        """For errors."""
        return Source(self.rewritten.original, self.rewritten.text, self.rewritten.offset)


class Reader:
    """Prepares statements that read views.

    Args:
        spark: The user's session.
        catalog: Where the views are.
        names: Resolves names.
        helper: Makes what a statement reads in place of a view.
    """

    def __init__(self, spark: SparkSession, catalog: HiveViewCatalog, names: Names, helper: HelperSession) -> None:
        self._spark = spark
        self._catalog = catalog
        self._names = names
        self._helper = helper
        self.stored = StoredRows(spark, catalog, iceberg=names.iceberg)

    def prepare(self, text: str) -> Prepared:
        """A statement of the user's with those views replaced that Spark does not read as they are meant."""
        self.stored.notes.clear()
        try:
            found = places(text)
        except SqlError as error:
            # Spark may read it, and its own error is better than ours if it does not.
            reason = str(error)
            if next((word.keyword for word in spark_tokens(text)), "") in ("INSERT", "REPLACE", "CREATE"):
                reason += ". Give its query to sql() by itself, and write the data frame that it returns"
            self.check_unread(text, reason)
            return Prepared.untouched(text)
        return self._replaced(text, found, self._names.current() if found else None, (), temporary=True)

    def check_unread(self, text: str, reason: str) -> None:
        """Refuse a statement that is handed to Spark unread where a view in it would be read otherwise than meant."""
        context: Context | None = None
        for place in possible_places(text):
            if not place.parts:
                line, column = line_and_column(text, place.start)
                why = "IDENTIFIER(…) may be a view that Spark reads otherwise than it is meant: write its name"
                raise SqlError(f"{why}; this statement cannot be rewritten: {reason}", line=line, column=column)
            context = context or self._names.current()
            try:
                instead = self._place(text, place, context, (), temporary=True, unread=True)
            except _AtPlaceError as error:
                why = error.reason
            except HiveViewsError as error:
                error.point_at(*line_and_column(text, place.start))
                raise
            else:
                if instead is None:
                    continue
                why = f"{instead.target.name} is no view that Spark reads by itself as it is meant"
            line, column = line_and_column(text, place.start)
            shown = ".".join(place.parts)
            raise SqlError(
                f"{why}; and this statement cannot be rewritten: {reason}", line=line, column=column, name=shown
            )

    def prepare_definition(
        self, text: str, context: Context, whole: tuple[str, int] | None = None, view: str | None = None
    ) -> Prepared:
        """The same for a query that is to be a view's definition: it sees no temporary views."""
        return self._replaced(text, places(text), context, (), temporary=False, view=view, whole=whole)

    def home(self, text: str, database: str) -> Context:
        """The catalog of Spark in which a query over this metastore's tables is analyzed (see `authoring`)."""
        session = not self._names.iceberg
        for place in places(text):
            name = ViewName.parse(place.parts[-2:] if len(place.parts) > 1 else (database, *place.parts))
            row = self._catalog.store.get_row(name)
            if row is not None and row.kind is RowKind.ICEBERG_VIEW:
                default = self._catalog.load_view(name.identifier).current_version().default_catalog
                session = session or default == SESSION_CATALOG
            elif row is not None and row.kind is not RowKind.ICEBERG_TABLE:
                session = True
        return Context(SESSION_CATALOG if session else self._catalog.name, (database,))

    def definition(self, inside: InView) -> Source | None:
        """The text of a view that Spark calls by a name, where it is one of ours."""
        made = self._helper.source_of(inside.name)
        if made is not None:
            return made
        # As the statement names it, or the view that reads it.
        target = self._names.resolve(tuple(inside.name.split(".")), self._names.current())
        if target is None:
            return None
        row = self._catalog.store.get_row(target.name)
        if row is None or row.kind is not RowKind.ICEBERG_VIEW:
            return None
        texts = sql_texts(self._catalog.load_view(target.name.identifier).current_version())
        return next(
            (Source(text, text, lambda at: at, str(target.name)) for text in texts.values() if inside.is_of(text)), None
        )

    # -- One text -----------------------------------------------------------------------------------------------------

    def _replaced(
        self,
        text: str,
        found: tuple[Place, ...],
        context: Context | None,
        above: tuple[ViewName, ...],
        *,
        temporary: bool,
        view: str | None = None,
        whole: tuple[str, int] | None = None,
    ) -> Prepared:
        """The text with its places replaced; `whole` is what the user typed, where this is in it."""
        replacements: list[Replacement] = []
        views: dict[str, ViewName] = {}
        typed, start = whole or (text, 0)
        for place in found:
            assert context is not None
            try:
                made = self._place(text, place, context, above, temporary=temporary)
            except _AtPlaceError as error:
                line, column = line_and_column(typed, start + place.start)
                if view is not None:
                    reason = f"In the definition of view {view}, line {line}:{column}: {error.reason}"
                    raise SqlError(reason, name=view) from None
                raise SqlError(error.reason, line=line, column=column, name=".".join(place.parts)) from None
            except HiveViewsError as error:
                # What is wrong with an object is told where the user names it, or names what reads it.
                if view is None and getattr(error, "view", None) is None:
                    error.point_at(*line_and_column(typed, start + place.start))
                raise
            if made is not None:
                replacements.append(Replacement(place, made.name, made.target.complete))
                if made.needed:
                    views[made.name] = made.target.name
        return Prepared(replace(text, replacements) if replacements else Rewritten(text, text), views)

    def _place(
        self,
        text: str,
        place: Place,
        context: Context,
        above: tuple[ViewName, ...],
        *,
        temporary: bool,
        unread: bool = False,
    ) -> _Instead | None:
        """What to write at a place instead; None where Spark reads it by itself."""
        target = self._names.resolve(place.parts, context)
        row = self._catalog.store.get_row(target.name) if target is not None else None
        if target is not None and row is not None:
            is_table = row.kind is RowKind.ICEBERG_TABLE and METADATA in row.parameters
            if is_table and self._names.iceberg and not unread:
                return self._materialized_table(place, target, above, temporary=temporary)
            if row.kind is not RowKind.ICEBERG_VIEW:
                return self._other(target, row.kind, in_definition=not temporary)
            if temporary and len(place.parts) == 1 and self._names.is_temporary(place.parts[0]):
                return None
            made = self._view(text, place, target, above)
            if made is None and not temporary and target.catalog == self._catalog.name:
                # Iceberg looks for an unqualified view in the reading session's current catalog, not in the one that
                # was current for the definition (its ResolveViews, 1.11).
                return _Instead(quote_name(target.complete), target, needed=False)
            return made
        if len(place.parts) > 1 and place.parts[-1].lower() in {*METADATA_TABLES, STORAGE}:
            return self._metadata_table(text, place, context, temporary)
        return None

    def _materialized_table(
        self, place: Place, target: Target, above: tuple[ViewName, ...], *, temporary: bool
    ) -> _Instead | None:
        """A table with a view attached: its rows where they will do, the view's definition otherwise."""
        if place.travel is not None or (
            temporary and len(place.parts) == 1 and self._names.is_temporary(place.parts[0])
        ):
            return None
        stored = self.stored.frame_of(target.name)
        if stored is not None:
            return _Instead(self._helper.frame_as_view(stored), target)
        metadata = self._catalog.materialized.load(target.name.identifier).metadata
        version, name = metadata.current_version(), str(target.name)
        text, context = _text(target.name, version), self._home_of(version, target.name)
        try:
            found = places(text)
        except SqlError as error:
            raise _AtPlaceError(f"The definition of {target.name} cannot be read: {error}") from error
        prepared = self._replaced(text, found, context, (*above, target.name), temporary=False, view=name)
        settings = recorded(version.summary)
        made = self._define(target.name, metadata.current_schema(), version, prepared, context, settings)
        return _Instead(made, target)

    def _other(self, target: Target, kind: RowKind, *, in_definition: bool) -> _Instead | None:
        """A table, or a view of Hive's own: nothing to do, unless it is named by a catalog that Spark does not have."""
        if self._names.iceberg:
            return None
        if kind is RowKind.ICEBERG_TABLE and not self._names.is_served_by_iceberg:
            if not in_definition:
                return None
            raise _AtPlaceError(
                f"{target.name} is an Iceberg table, which this Spark cannot read: it has no catalog "
                f"{self._catalog.name!r}. Start it with Iceberg's runtime (hive_views.spark.runtime)"
            )
        if target.catalog != self._catalog.name:
            return None
        return _Instead(quote_name((SESSION_CATALOG, *target.name.identifier)), target)

    def _metadata_table(self, statement: str, place: Place, context: Context, temporary: bool) -> _Instead | None:
        target = self._names.resolve(place.parts[:-1], context)
        row = self._catalog.store.get_row(target.name) if target is not None else None
        if target is None or row is None:
            return None
        if temporary and self._names.is_temporary(place.parts[-2]) and len(place.parts) == 2:
            return None
        table = place.parts[-1].lower()
        if row.kind is RowKind.ICEBERG_TABLE:
            # What else a table has is Iceberg's (`history` among it).
            if METADATA not in row.parameters or table not in (STORAGE, REFRESHES):
                return None
        elif row.kind is not RowKind.ICEBERG_VIEW:
            return None
        if place.travel is not None and table != STORAGE:
            raise _AtPlaceError(f"{'.'.join(place.parts)} has no versions of its own: leave AS OF out")
        frame: DataFrame
        if table in (STORAGE, REFRESHES):
            try:
                materialized = self._catalog.materialized.load(target.name.identifier)
            except NotMaterializedError:
                return None
            if table == STORAGE:
                version, at_ms = self._wanted(statement, place)
                frame = self._stored_at(materialized, version, at_ms)
            else:
                frame = refreshes_table(self._spark, self._catalog, materialized)
        else:
            view = self._catalog.load_view(target.name.identifier)
            frame = metadata_table(self._spark, self._catalog, view, table)
        complete = ViewName(target.name.name, table)
        return _Instead(self._helper.frame_as_view(frame), Target(target.name.database, complete))

    # -- Stored rows as they were -------------------------------------------------------------------------------------

    def _wanted(self, statement: str, place: Place) -> tuple[int | str | None, int | None]:
        """Which stored rows an AS OF asks for: a snapshot, branch or tag, or a time; neither where there is none."""
        if place.travel is None:
            return None, None
        if place.travel.kind == "timestamp":
            return None, self._millis(statement, place.travel)
        text = place.travel.expression.strip().strip("'\"")
        return (int(text) if text.isdecimal() else text), None

    def _stored_at(self, view: MaterializedView, version: int | str | None, at_ms: int | None) -> DataFrame:
        if not self._names.iceberg:
            raise _AtPlaceError(f"The rows of {view.name} are stored in an Iceberg table, which this Spark cannot read")
        try:
            return self.stored.frame_at(stored_rows(view, version=version, at_ms=at_ms))
        except (NoSuchRefreshError, RefreshError) as error:
            raise _AtPlaceError(str(error)) from None

    def _travelled(self, statement: str, view: HiveView, place: Place, name: ViewName) -> DataFrame | None:
        """The stored rows that an AS OF behind a materialized view's name means; None where it means a definition.

        A number of a version means that definition; any other is a snapshot. A time means a definition as well, unless
        the view's `hive-views.time-travel` says that its refreshes are there to be travelled to.
        """
        if place.travel is None or not is_materialized(view.metadata):
            return None
        if place.travel.kind == "timestamp" and view.metadata.properties.get(TIME_TRAVEL, "").lower() != "true":
            return None
        version, at_ms = self._wanted(statement, place)
        if isinstance(version, int) and view.version(version) is not None:
            return None
        try:
            return self._stored_at(self._catalog.materialized.load(name.identifier), version, at_ms)
        except _AtPlaceError as error:
            if at_ms is not None:
                raise
            versions = ", ".join(str(item.version_id) for item in view.versions)
            raise _AtPlaceError(f"{error.reason}; versions of its definition are {versions}") from None

    # -- One view -----------------------------------------------------------------------------------------------------

    def _view(self, statement: str, place: Place, target: Target, above: tuple[ViewName, ...]) -> _Instead | None:
        if target.name in above:
            raise CyclicViewError(str(target.name), [str(name) for name in (*above, target.name)])
        view = self._catalog.load_view(target.name.identifier)
        if place.travel is None:
            stored = self.stored.frame(target.name, view)
        else:
            stored = self._travelled(statement, view, place, target.name)
        if stored is not None:
            return _Instead(self._helper.frame_as_view(stored), target)
        version = view.current_version() if place.travel is None else self._version(statement, view, place)
        text = _text(target.name, version)
        context = self._home_of(version, target.name)
        settings = recorded(version.summary)
        native = place.travel is None and self._reads(target, view, context, settings, text)
        try:
            found = places(text)
        except SqlError as error:
            if native:
                return None  # a text that only Spark reads, and Spark does
            raise _AtPlaceError(f"The definition of {target.name} cannot be read: {error}") from error
        name = str(target.name)
        prepared = self._replaced(text, found, context, (*above, target.name), temporary=False, view=name)
        if native and not prepared.views:
            return None
        if view.drift:
            warnings.warn(
                f"The row of {target.name} was changed by another program; its metadata file is read. See view.drift, "
                "catalog.adopt_view and catalog.repair_view",
                ViewDriftWarning,
                stacklevel=6,
            )
        schema = view.schemas()[version.schema_id]
        return _Instead(self._define(target.name, schema, version, prepared, context, settings), target)

    def _version(self, statement: str, view: HiveView, place: Place) -> ViewVersion:
        assert place.travel is not None
        wanted = place.travel.expression
        if place.travel.kind == "timestamp":
            try:
                return view.version_at(self._millis(statement, place.travel))
            except NoSuchVersionError as error:
                raise _AtPlaceError(f"{error}; it was first defined at {_first(view)}") from None
        number = wanted.strip("'\"")
        found = view.version(int(number)) if number.isdecimal() else None
        if found is None:
            available = [item.version_id for item in view.versions]
            raise _AtPlaceError(str(NoSuchVersionError(".".join(view.name()), number, available)))
        return found

    def _millis(self, statement: str, travel: Travel) -> int:
        """The time that stands behind TIMESTAMP AS OF, in milliseconds from the epoch, as the session reads it."""
        head = "SELECT unix_millis(CAST("
        query = f"{head}{travel.expression} AS TIMESTAMP)) AS at"
        start = travel.start
        with pointing_into(Source(statement, query, lambda at: start + max(at - len(head), 0))):
            millis = self._spark.sql(query).collect()[0].at
        if millis is None:
            raise _AtPlaceError(f"{travel.expression} is no time")
        return int(millis)

    def _home_of(self, version: ViewVersion, name: ViewName) -> Context:
        catalog = version.default_catalog or self._catalog.name
        if catalog == self._catalog.name and not self._names.iceberg:
            catalog = SESSION_CATALOG
        return Context(catalog, tuple(version.default_namespace) or (name.database,))

    def _reads(self, target: Target, view: HiveView, context: Context, settings: Mapping[str, str], text: str) -> bool:
        """Whether Spark reads the current version of a view as it is meant."""
        if any(part in text and self._names.setting(key).lower() == "true" for key, part in READING.items()):
            return False
        if target.catalog == self._catalog.name:
            if _WINDOW.search(text):
                return False  # Iceberg's ResolveViews (1.11) leaves named windows unresolved
            known = self._names.iceberg
            return known and all(same(key, value, self._names.setting(key)) for key, value in settings.items())
        # The session catalog: the row's text, ANSI off, the default time zone; names without a catalog mean the
        # session's current one, whichever that is.
        if settings or view.drift or context.catalog != SESSION_CATALOG:
            return False
        return self._names.current().catalog == SESSION_CATALOG

    def _define(
        self,
        name: ViewName,
        schema: Schema,
        version: ViewVersion,
        prepared: Prepared,
        context: Context,
        settings: Mapping[str, str],
    ) -> str:
        columns = tuple(field.name for field in schema.fields)
        under = {key: settings.get(key, self._names.setting(key)) for key in RECORDED}
        inner = prepared.source
        source = Source(inner.text, inner.given, inner.offset, str(name))
        body = prepared.rewritten.text
        made = self._helper.view(body, columns, context, under, source)
        try:
            given = self._columns_of(made, source)
        except SparkSqlError:
            # A view that was made before a table was changed: Spark holds on to the types of then.
            made = self._helper.view(body, columns, context, under, source, fresh=True)
            given = self._columns_of(made, source)
        casts = []
        for declared, found in zip(schema.fields, given.fields, strict=True):
            column = quote_identifier(declared.name)
            if str(declared.field_type) == str(found.field_type):
                casts.append(column)
                continue
            kind = upcast(found.field_type, declared.field_type)
            if kind is None:
                raise SqlError(
                    f"Column {declared.name} of view {name} is declared as {declared.field_type}, and its query gives "
                    f"{found.field_type} now: a table was changed. ALTER VIEW {name} RECOMPILE takes the new type",
                    name=str(name),
                )
            casts.append(f"CAST({column} AS {kind}) AS {column}")
        if casts == [quote_identifier(column) for column in columns]:
            return made
        wider = f"SELECT {', '.join(casts)} FROM {made}"
        return self._helper.view(wider, columns, context, under, Source(inner.text, wider, lambda at: None, str(name)))

    def _columns_of(self, made: str, source: Source) -> Schema:
        with pointing_into(Source(source.text, made, lambda at: None, source.view)):
            return iceberg_schema(self._spark.table(made.replace("`", "")).schema)


@dataclass(frozen=True)
class _Instead:
    """What to write at a place."""

    name: str
    """The name, with its quotes."""
    target: Target
    """What stood there."""
    needed: bool = True
    """Whether Spark would not read what stood there as it is meant."""


class _AtPlaceError(Exception):
    """What is wrong at one place of a text; the caller knows where that is."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def _text(name: ViewName, version: ViewVersion) -> str:
    texts = sql_texts(version)
    for dialect in ("spark", HIVE):
        if dialect in texts:
            return texts[dialect]
    # Iceberg's Spark catalog would run the first text: quotes and functions may mean something else in it.
    raise _AtPlaceError(
        f"View {name} has no text for Spark, only for {', '.join(texts) or 'no dialect'}. Give it one with CREATE OR "
        "REPLACE VIEW"
    )


def _first(view: HiveView) -> str:
    from datetime import datetime, timezone

    times = [entry.timestamp_ms for entry in view.history()]
    return datetime.fromtimestamp(min(times) / 1000, timezone.utc).isoformat(timespec="milliseconds")


_WINDOW = re.compile(r"\bwindow\b", re.IGNORECASE)
_WIDER = ("int", "long", "float", "double")
_WRITTEN = (*_WIDER, "boolean", "date", "timestamp", "timestamptz")
_SPARK_TYPES = {"long": "BIGINT", "timestamptz": "TIMESTAMP", "timestamp": "TIMESTAMP_NTZ"}


def upcast(found: IcebergType, declared: IcebergType) -> str | None:
    """Spark's name for a declared type that a query's type fits into without loss (Cast.canUpCast)."""
    one, other = str(found), str(declared)
    shown = _SPARK_TYPES.get(other, other.upper())
    if one in _WIDER and other in _WIDER:
        return shown if _WIDER.index(one) < _WIDER.index(other) else None
    if other == "string" and (one in _WRITTEN or one.startswith("decimal")):
        return shown
    if one == "date" and other in ("timestamp", "timestamptz"):
        return shown
    if one.startswith("decimal") and other.startswith("decimal"):
        digits, scale = _digits(one)
        wanted, wanted_scale = _digits(other)
        return shown if wanted_scale >= scale and wanted - wanted_scale >= digits - scale else None
    return None


def _digits(decimal: str) -> tuple[int, int]:
    digits, scale = decimal[len("decimal(") : -1].split(",")
    return int(digits), int(scale)
