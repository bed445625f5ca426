"""Refreshes materialized views on Spark: reads snapshots of the sources as temporary views, and stages the result.

A write to a table with `write.wap.enabled`, in a session with `spark.wap.id`, is staged: Iceberg adds the snapshot and
does not move the branch. `hive_views.materialized.refresh.publish` moves the branch if no other writer did. With Spark
4.1 and Iceberg 1.11 (measured), `overwritePartitions` with an empty result creates no snapshot, and an incremental read
silently skips overwrites and deletes, so the plan checks for them.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, cast

from pyiceberg.types import DecimalType
from typing_extensions import assert_never

from hive_views.errors import RefreshError, SqlError
from hive_views.materialized.refresh.request import (
    KEYS_VIEW,
    Append,
    Input,
    Key,
    MergeFunction,
    MergeGroups,
    Overwrite,
    ReplaceKeys,
    ReplacePartitions,
    StagingRequest,
    key_name,
    key_value,
    merged_type,
)
from hive_views.materialized.state.refresh_state import NO_SNAPSHOT
from hive_views.spark.java_features import Feature, can_use
from hive_views.spark.jvm import is_classic, java_class, scala_list
from hive_views.spark.metastore_catalogs import check_metastore_catalog
from hive_views.spark.refresh.file_comparison import FileComparison
from hive_views.spark.refresh.key_conditions import KeyCondition, key_conditions
from hive_views.spark.sessions import (
    active_session,
    all_settings,
    end_session,
    error_condition,
    is_spark_3,
    result_settings,
    second_session,
    spark_exceptions,
)
from hive_views.spark.text_settings import TEXT_SETTINGS
from hive_views.spark.versions import check_session_version
from hive_views.sql.analysis.incremental import RowSelection
from hive_views.sql.parsing.parser_settings import find_doubled_quote, reads_doubled_quotes
from hive_views.sql.text.quoting import quote_identifier, quote_name
from hive_views.sql.types.spark_types import spark_type

if TYPE_CHECKING:
    from pyiceberg.types import IcebergType
    from pyspark.sql import DataFrame, DataFrameWriterV2, SparkSession
    from pyspark.sql.types import DataType, StructType

    from hive_views.catalog.catalog import HiveViewCatalog

logger = logging.getLogger(__name__)

WAP_ID = "spark.wap.id"
"""The setting that stages a session's writes under an id (Iceberg's SparkSQLProperties)."""

_WAP_PREFIX = "spark.wap."
"""The prefix of the settings for staged writes, which are not copied from the caller's session."""


def _check_types(work: StagingRequest, computed: StructType) -> None:
    """Reject rows that the storage would change: Spark silently truncates a fraction that it stores in a BIGINT."""
    for column, stored in zip(computed.fields, work.schema.fields, strict=True):
        if not _can_store(column.dataType, stored.field_type):
            raise RefreshError(
                str(work.target.table),
                f"column {stored.name} is of type {spark_type(stored.field_type)}, and the query "
                f"returns {column.dataType.simpleString()}. If a source's column was widened since, give the view its "
                "query again in a ViewSession (ALTER MATERIALIZED VIEW … AS …), which changes the stored type; "
                "otherwise write a CAST, or create the view in a ViewSession, where Spark determines its types",
            )


def _can_store(computed: DataType, stored: IcebergType) -> bool:
    """Return whether every value of the computed type is a value of the stored type."""
    name, stored_name = computed.simpleString(), spark_type(stored)
    if name in (stored_name, "void") or (name, stored_name) in _WIDER:
        return True
    if isinstance(stored, DecimalType):
        digits = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}.get(name)
        scale = 0
        if computed.typeName() == "decimal":
            digits, scale = computed.precision - computed.scale, computed.scale
        return digits is not None and digits <= stored.precision - stored.scale and scale <= stored.scale
    return stored_name == "string" and name.startswith(("char(", "varchar(", "string"))


def _set_if_modifiable(session: SparkSession, key: str, value: str) -> None:
    """Set a setting, unless it cannot be changed.

    `builder.config("spark.jars", …).getOrCreate()` stores static settings in an existing session, without effect; Spark
    rejects them in another session.
    """
    try:
        session.conf.set(key, value)
    except spark_exceptions() as error:
        if not str(error_condition(error)[0]).startswith("CANNOT_MODIFY"):
            raise


_CHANGE = "hive_views_change"
"""The column that is 1 for an added and -1 for a deleted row."""
_CHANGELOG_COLUMNS = ("_change_type", "_change_ordinal", "_commit_snapshot_id")
_IS_KEY = "hive_views_is_key"
_ROWS_VIEW = "hive_views_rows"
_ICEBERG_PREFIX = "spark.sql.iceberg."
_SNAPSHOT_PROPERTY = f"{_ICEBERG_PREFIX}snapshot-property."


_NORMALIZED_TYPES = ("double", "float", "array", "map", "struct")
"""Types of columns whose values Spark may change when it groups by them: -0.0 becomes 0.0, also in nested columns."""


def _without_maps(value: str, kind: DataType, depth: int = 0) -> str:
    """An expression for a value with maps replaced by arrays of entries: Spark fails to group some rows by maps."""
    from pyspark.sql.types import ArrayType, MapType, StructType

    item = f"item_{depth}"
    if isinstance(kind, MapType):
        inner = _without_maps(f"{item}.value", kind.valueType, depth + 1)
        return f"transform(map_entries({value}), {item} -> struct({item}.key, {inner}))"
    if isinstance(kind, ArrayType):
        inner = _without_maps(item, kind.elementType, depth + 1)
        return value if inner == item else f"transform({value}, {item} -> {inner})"
    if isinstance(kind, StructType):
        fields = {f"{value}.{quote_identifier(field.name)}": field.dataType for field in kind.fields}
        inners = [_without_maps(name, field, depth) for name, field in fields.items()]
        return value if inners == list(fields) else f"IF({value} IS NULL, NULL, struct({', '.join(inners)}))"
    return value


def _condition(alias: str, keys: Iterable[Key], conditions: Iterable[KeyCondition]) -> str:
    """Return the condition that a row may have one of the affected keys, by constants alone."""
    pairs = zip(keys, conditions, strict=True)
    return " AND ".join(item.on(key_value(alias, columns)) for columns, item in pairs)


def _replacement(work: StagingRequest, write: ReplaceKeys, target: str, rows: DataFrame, is_candidate: str) -> str:
    """Return the MERGE that deletes the stored rows of the affected keys, and inserts the new rows."""
    rows.createOrReplaceTempView(_ROWS_VIEW)
    listed = ", ".join(map(quote_identifier, work.columns))
    keys = [key_name(number) for number in range(len(write.keys))]
    source = (
        f"SELECT {listed}, {', '.join(f'NULL AS {key}' for key in keys)}, false AS {_IS_KEY} FROM {_ROWS_VIEW} "
        f"UNION ALL SELECT {', '.join('NULL' for _ in work.columns)}, {', '.join(keys)}, true FROM {KEYS_VIEW}"
    )
    is_key = " AND ".join(
        f"{key_value('t', columns)} <=> s.{key}" for columns, key in zip(write.keys, keys, strict=True)
    )
    return (
        f"MERGE INTO {target} AS t USING ({source}) AS s ON s.{_IS_KEY} AND {is_key} AND {is_candidate} "
        f"WHEN MATCHED THEN DELETE WHEN NOT MATCHED AND NOT s.{_IS_KEY} THEN {_insert(work)}"
    )


_MERGED_VALUES = {
    MergeFunction.SUM: "coalesce(t.{name} + s.{name}, t.{name}, s.{name})",
    MergeFunction.MIN: "least(t.{name}, s.{name})",
    MergeFunction.MAX: "greatest(t.{name}, s.{name})",
}
"""The merged value of a stored and a new one."""


def _group_update(work: StagingRequest, write: MergeGroups, target: str, rows: DataFrame) -> str:
    """Return the MERGE that updates the rows of the groups that change, and inserts the others."""
    rows = rows.localCheckpoint()
    rows.createOrReplaceTempView(_ROWS_VIEW)
    # Equal numbers of different types have different hash values, so the conditions need the stored types.
    types = {field.name: spark_type(field.field_type, quote_identifier) for field in work.schema.fields}
    stored = [f"CAST({quote_identifier(name)} AS {types[name]}) AS {quote_identifier(name)}" for (name,) in write.keys]
    _, conditions = key_conditions(rows.selectExpr(*stored))
    is_group = " AND ".join(f"{key_value('t', columns)} <=> {key_value('s', columns)}" for columns in write.keys)
    is_group = f"{is_group} AND {_condition('t', write.keys, conditions)}"
    updates = []
    for field in work.schema.fields:
        name, function = quote_identifier(field.name), write.functions.get(field.name)
        if function is not None:
            value = _MERGED_VALUES[function].format(name=name)
            updates.append(f"t.{name} = {merged_type(value, field.field_type)}")
    update = f"WHEN MATCHED THEN UPDATE SET {', '.join(updates)} " if updates else ""
    return (
        f"MERGE INTO {target} AS t USING {_ROWS_VIEW} AS s ON {is_group} {update}WHEN NOT MATCHED THEN {_insert(work)}"
    )


def _insert(work: StagingRequest) -> str:
    names = [quote_identifier(name) for name in work.columns]
    return f"INSERT ({', '.join(names)}) VALUES ({', '.join(f's.{name}' for name in names)})"


_OPTIMIZER = "org.apache.spark.sql.catalyst.optimizer"


def _merge(session: SparkSession, work: StagingRequest, statement: str) -> None:
    """Run a MERGE whose snapshot gets the summary and the write options of a request."""
    settings = {f"{_SNAPSHOT_PROPERTY}{key}": value for key, value in work.target.summary.items()}
    settings |= {f"{_ICEBERG_PREFIX}{key}": value for key, value in work.options.items()}
    try:
        for key, value in settings.items():
            session.conf.set(key, value)
        session.sql(statement)
    finally:
        for key in settings:
            session.conf.unset(key)


def _writer(work: StagingRequest, target: str, rows: DataFrame) -> DataFrameWriterV2:
    """Return a writer whose snapshot gets the summary and the write options of a request."""
    writer = rows.writeTo(target)
    for key, value in work.target.summary.items():
        writer = writer.option(f"snapshot-property.{key}", value)
    for key, value in work.options.items():
        writer = writer.option(key, value)
    return writer


def _casts_relative_times(frame: DataFrame) -> bool:
    """Whether Spark's own rule for the words `now`, `today` … changes the analyzed plan of a query or subquery."""
    jvm = frame.sparkSession._jvm
    replace = java_class(jvm, f"{_OPTIMIZER}.ReplaceExpressions$.MODULE$")
    special = java_class(jvm, f"{_OPTIMIZER}.SpecialDatetimeValues$.MODULE$")
    analyzed = cast(Any, frame)._jdf.queryExecution().analyzed()
    for plan in (analyzed, *scala_list(analyzed.subqueriesAll())):
        # As FinishAnalysis does: functions such as to_date become casts first.
        replaced = replace.apply(plan)
        if not special.apply(replaced).equals(replaced):
            return True
    return False


_RUNTIME_FILTERS = (
    "spark.sql.optimizer.dynamicPartitionPruning.enabled",
    "spark.sql.optimizer.runtime.rowLevelOperationGroupFilter.enabled",
)
"""Settings that let Spark pass filters to Iceberg while a query runs. On a NULL partition of a STRING column, Iceberg
1.11 then fails with a NullPointerException in `Evaluator.in`, called by `SparkRuntimeFilterableScan.filter`."""

_FAILED_RUNTIME_FILTER = ("Invalid object: null", "INTERNAL_ERROR")

_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_WIDER = frozenset(
    {(narrow, wide) for index, narrow in enumerate(_INTEGERS) for wide in _INTEGERS[index:]}
    | {("float", "double"), *((name, "double") for name in _INTEGERS[:3])}
)
"""Pairs of types, where every value of the first type is also a value of the second."""


class SparkEngine:
    """Computes and stages rows on a Spark session; an engine for refreshes of materialized views."""

    def __init__(self, spark: SparkSession, catalog: HiveViewCatalog, *, name: str | None = None) -> None:
        """Create an engine; nothing is run yet.

        Args:
            spark: A session with an Iceberg catalog on the catalog's metastore.
            catalog: The catalog of the views.
            name: The name of the Iceberg catalog in Spark; by default that of `catalog`.

        Raises:
            UnsupportedSparkError: If this release does not run on that version of Spark.
            InvalidPropertyError: If Spark reads another catalog of the metastore.
        """
        check_session_version(spark)
        check_metastore_catalog(spark, catalog)
        self._spark = spark
        self._catalog = catalog
        self._name = name or catalog.name
        # Iceberg 1.11 for Spark 3.5 does not give the snapshot of a MERGE the properties in the session's settings.
        self.can_replace_keys = not is_spark_3(spark)
        self.can_compare_files = can_use(spark, Feature.FILE_COMPARISON)

    def settings(self, keys: Collection[str] = ()) -> dict[str, str]:
        """Return the session settings that affect query results; see `Engine` of `materialized.refresh.request`."""
        return result_settings(self._spark, keys)

    def stage(self, work: StagingRequest) -> None:
        """Write the rows as a staged snapshot; see `Engine` of `materialized.refresh.request`."""
        joins_quotes = not reads_doubled_quotes(self._spark.version)
        if joins_quotes and any(find_doubled_quote(query) is not None for query in work.queries):
            raise RefreshError(
                str(work.target.table),
                f"its query has a doubled quote in a literal, such as 'it''s', which Spark {self._spark.version} "
                "reads without the quote: replace it by \\', or refresh with Spark 4.1",
            )
        with self._session_for(work) as session:
            try:
                self._write(session, work)
            except spark_exceptions() as error:
                if not any(text in str(error) for text in _FAILED_RUNTIME_FILTER):
                    raise
                for key in _RUNTIME_FILTERS:
                    session.conf.set(key, "false")
                self._write(session, work)

    def casts_relative_times(self, work: StagingRequest) -> bool | None:
        """Whether Spark casts a constant text such as `now` or `today` to a date or time, by its analyzed plans."""
        if not can_use(self._spark, Feature.RELATIVE_TIMES):
            return None
        with self._session_for(work) as session:
            return any(_casts_relative_times(session.sql(query)) for query in work.queries)

    @contextmanager
    def computed(self, work: StagingRequest) -> Iterator[DataFrame]:
        """The rows of a request in the types of the stored columns, in a second session. Nothing is written.

        Create a view of the data frame before the context ends, because its inputs are dropped then.
        """
        with self._session_for(work) as session:
            rows = self._computed_rows(session, work)
            types = [spark_type(field.field_type, quote_identifier) for field in work.schema.fields]
            yield rows.selectExpr(
                *(
                    name if column.dataType.simpleString() == stored else f"CAST({name} AS {stored}) AS {name}"
                    for column, name, stored in zip(
                        rows.schema.fields, map(quote_identifier, work.columns), types, strict=True
                    )
                )
            )

    @contextmanager
    def _session_for(self, work: StagingRequest) -> Iterator[SparkSession]:
        """A second session with the inputs of a request as temporary views, whose writes are staged."""
        session_errors: tuple[type[Exception], ...] = (*spark_exceptions(), SqlError)
        try:
            session = self.open_session()
        except session_errors as error:
            raise RefreshError(
                str(work.target.table), f"Spark cannot open a second session for a refresh: {error}"
            ) from error
        try:
            session.conf.set(WAP_ID, work.target.refresh_id)
            with active_session(session), ExitStack() as comparisons:
                for item in work.inputs:
                    self._read(session, item, comparisons).createOrReplaceTempView(item.alias)
                yield session
        except spark_exceptions() as error:
            raise RefreshError(str(work.target.table), f"Spark: {error}") from error
        finally:
            try:
                session.conf.unset(WAP_ID)
                for item in work.inputs:
                    session.catalog.dropTempView(item.alias)
            except spark_exceptions() as error:
                # The views and the setting end with the session anyway. The error must not hide the refresh's outcome.
                logger.info("Could not clean up the session of a refresh of %s: %s", work.target.table, error)
            end_session(session)

    def open_session(self) -> SparkSession:
        """Open a session with the caller's settings, so that its temporary views and write id are separate."""
        session = second_session(self._spark)
        current = all_settings(session)
        for key in current:
            if key.startswith(_WAP_PREFIX):  # a cloned session has those of the caller
                session.conf.unset(key)
        # Settings of catalogs and of Iceberg are included, although Spark's isModifiable is false for them. The result
        # of SET cannot be used, because it masks values that look like secrets.
        for key, value in all_settings(self._spark).items():
            if current.get(key) != value and not key.startswith(_WAP_PREFIX):
                _set_if_modifiable(session, key, value)
        for key in TEXT_SETTINGS:  # a view's text is always read with them off
            session.conf.set(key, "false")
        return session

    def _changed_rows(self, session: SparkSession, name: str, item: Input, comparisons: ExitStack) -> DataFrame:
        """The rows of a table that were added or deleted between two snapshots, without those that were only moved."""
        if item.has_changelog:
            reader = session.read.format("iceberg").option("start-snapshot-id", str(item.since))
            changes = reader.option("end-snapshot-id", str(item.snapshot_id)).load(f"{name}.`changes`")
            columns = [quote_identifier(column) for column in changes.columns if column not in _CHANGELOG_COLUMNS]
            changes = changes.selectExpr(*columns, f"CASE _change_type WHEN 'INSERT' THEN 1 ELSE -1 END AS {_CHANGE}")
        else:
            before, now = self._states(session, name, item, comparisons)
            # A column that only one of the states has was added since, and the definition does not read it.
            columns = [quote_identifier(column) for column in before.columns if column in now.columns]
            before, now = (
                frame.selectExpr(*columns, f"{change} AS {_CHANGE}") for frame, change in ((before, -1), (now, 1))
            )
            changes = before.unionAll(now)
        view = f"{item.alias}_log"
        changes.createOrReplaceTempView(view)
        types = {quote_identifier(field.name): field.dataType for field in changes.schema.fields}
        exact = [column for column in columns if types[column].typeName() in _NORMALIZED_TYPES]
        # `first` returns the stored value, and not the normalized one.
        selected = [f"first({column}) AS {column}" if column in exact else column for column in columns]
        groups = [_without_maps(column, types[column]) for column in columns]
        groups += [f"CAST({column} AS STRING)" for column in exact]
        # Unchanged rows occur once as added and once as deleted (also where copy-on-write moves them) and cancel out.
        return session.sql(
            f"SELECT {', '.join(selected)} FROM {view} GROUP BY {', '.join(groups)} HAVING sum({_CHANGE}) <> 0"
        )

    def _states(
        self, session: SparkSession, name: str, item: Input, comparisons: ExitStack
    ) -> tuple[DataFrame, DataFrame]:
        """The rows of two snapshots of a table, on classic sessions without those of files that both snapshots have."""
        ids = [None if number in (None, NO_SNAPSHOT) else number for number in (item.since, item.snapshot_id)]
        if self.can_compare_files:
            comparison = FileComparison(session, name, ids)
            comparisons.callback(comparison.close)
            return comparison.read()
        before, now = (
            session.table(name).limit(0)
            if number is None
            else session.read.format("iceberg").option("versionAsOf", str(number)).load(name)
            for number in ids
        )
        return before, now

    def _read(self, session: SparkSession, item: Input, comparisons: ExitStack) -> DataFrame:
        if not item.iceberg:
            return session.table(quote_name((self._catalog.store.config.session_catalog, *item.table.identifier)))
        name = quote_name((self._name, *item.table.identifier))
        if item.part is RowSelection.CHANGED:
            return self._changed_rows(session, name, item, comparisons)
        if item.part is RowSelection.NONE or item.snapshot_id == NO_SNAPSHOT:
            return session.table(name).limit(0)
        if item.live:
            return session.table(name)
        reader = session.read.format("iceberg")
        if item.part is RowSelection.ADDED and item.since is not None and item.since != NO_SNAPSHOT:
            reader = reader.option("start-snapshot-id", str(item.since))
            return reader.option("end-snapshot-id", str(item.snapshot_id)).load(name)
        return reader.option("versionAsOf", str(item.snapshot_id)).load(name)

    def _computed_rows(self, session: SparkSession, work: StagingRequest) -> DataFrame:
        whole = None
        for query in work.queries:
            part = session.sql(query).toDF(*work.columns)
            whole = part if whole is None else whole.unionAll(part)
        if whole is None:
            raise RefreshError(str(work.target.table), "it has no query to run")
        _check_types(work, whole.schema)
        return whole

    def _write(self, session: SparkSession, work: StagingRequest) -> None:
        if is_classic(session):
            from pyspark.sql.functions import expr, lit
        else:
            # If a process has classic and Connect sessions, the functions of `pyspark.sql` are the classic ones.
            from pyspark.sql.connect.functions import expr, lit

        target, write = quote_name((self._name, *work.target.table.identifier)), work.write
        if isinstance(write, ReplaceKeys):
            self._replace_keys(session, work, write, target)
            return
        rows = self._computed_rows(session, work)
        match write:
            case MergeGroups():
                _merge(session, work, _group_update(work, write, target, rows))
            case Append():
                _writer(work, target, rows).append()
            case ReplacePartitions():
                _writer(work, target, rows).overwrite(expr(write.where))
            case Overwrite():
                _writer(work, target, rows).overwrite(lit(True))
            case _:
                assert_never(write)

    def _replace_keys(self, session: SparkSession, work: StagingRequest, write: ReplaceKeys, target: str) -> None:
        # A cached result would be computed again: Spark 4.1 loads the tables of temporary views anew.
        keys = session.sql(write.query).localCheckpoint()
        keys.createOrReplaceTempView(KEYS_VIEW)
        rows = self._computed_rows(session, work)
        count, conditions = key_conditions(keys)
        if count > write.limit:
            raise RefreshError(str(work.target.table), f"{count} keys changed, more than {write.limit}")
        if not count:
            _writer(work, target, rows).append()  # there are no rows
            return
        rows = rows.where(_condition("", write.keys, conditions))
        is_candidate = _condition("t", write.keys, conditions)
        _merge(session, work, _replacement(work, write, target, rows, is_candidate))
