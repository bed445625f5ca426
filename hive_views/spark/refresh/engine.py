"""Refreshing materialized views on Spark: pinned sources become temporary views, the result a snapshot nobody sees.

A write to a table with `write.wap.enabled`, in a session that has `spark.wap.id`, is staged: Iceberg adds the snapshot
and leaves the branch where it is. `hive_views.materialized.refresh.publish` then moves the branch, if nobody else did.
Traps that this keeps clear of (measured, Spark 4.1 and Iceberg 1.11): `overwritePartitions` with an empty result makes
no snapshot; the incremental read passes over overwrites and deletes without a word, so the plan looks for them first.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from hive_views.errors import RefreshError, SqlError
from hive_views.materialized.refresh.stage import Action, Input, StagingRequest
from hive_views.materialized.state.refresh_state import NO_SNAPSHOT
from hive_views.spark.sessions import (
    all_settings,
    end_session,
    is_classic,
    recorded_settings,
    second_session,
    spark_exceptions,
)
from hive_views.sql.analysis.incremental import RowSelection
from hive_views.sql.rewriting.quoting import quote_name

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType

    from hive_views.catalog.catalog import HiveViewCatalog

logger = logging.getLogger(__name__)

WAP_ID = "spark.wap.id"
"""Setting of a session (Iceberg's SparkSQLProperties): its writes are staged under this id."""

_WAP = "spark.wap."
"""How settings begin by which a session stages its writes: the caller's are not those of a refresh."""


def _check_types(work: StagingRequest, computed: StructType, stored: StructType) -> None:
    """Refuse rows that the storage would change: Spark stores a fraction in a BIGINT without a word."""
    for column, there in zip(computed.fields, stored.fields, strict=True):
        if not _holds(column.dataType, there.dataType):
            raise RefreshError(
                str(work.target),
                f"column {there.name} is of type {there.dataType.simpleString()}, and the query gives "
                f"{column.dataType.simpleString()}: write a CAST, or create the view in a ViewSession, where Spark "
                "tells its types",
            )


def _spark_types(schema: Schema) -> StructType | None:
    """Columns as Iceberg's Spark shows them (its SparkSchemaUtil); None where one is nested, or of a type of V3."""
    from pyiceberg import types as iceberg
    from pyspark.sql import types as spark

    plain: dict[type, DataType] = {
        iceberg.BooleanType: spark.BooleanType(),
        iceberg.IntegerType: spark.IntegerType(),
        iceberg.LongType: spark.LongType(),
        iceberg.FloatType: spark.FloatType(),
        iceberg.DoubleType: spark.DoubleType(),
        iceberg.DateType: spark.DateType(),
        iceberg.TimestampType: spark.TimestampNTZType(),
        iceberg.TimestamptzType: spark.TimestampType(),
        iceberg.StringType: spark.StringType(),
        iceberg.BinaryType: spark.BinaryType(),
    }
    fields = []
    for field in schema.fields:
        kind = plain.get(type(field.field_type))
        if isinstance(field.field_type, iceberg.DecimalType):
            kind = spark.DecimalType(field.field_type.precision, field.field_type.scale)
        if kind is None:
            return None
        fields.append(spark.StructField(field.name, kind))
    return spark.StructType(fields)


def _holds(computed: DataType, stored: DataType) -> bool:
    """Whether every value of one type is a value of another."""
    from pyspark.sql.types import DecimalType, NullType

    names = (str(computed.simpleString()), str(stored.simpleString()))
    if names[0] == names[1] or isinstance(computed, NullType) or names in _WIDER:
        return True
    if isinstance(stored, DecimalType):
        digits = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}.get(names[0])
        scale = computed.scale if isinstance(computed, DecimalType) else 0
        whole = computed.precision - scale if isinstance(computed, DecimalType) else digits
        room = stored.precision - stored.scale
        return whole is not None and bool(whole <= room and scale <= stored.scale)
    if names[1] == "string":
        return names[0].startswith(("char(", "varchar(", "string"))
    return False


def _set(session: SparkSession, key: str, value: str) -> None:
    """Set what is a session's to set.

    `builder.config("spark.jars", …).getOrCreate()` leaves settings of the whole program in a session that was there
    already, without any effect; Spark lets nobody set them in another one.
    """
    try:
        session.conf.set(key, value)
    except spark_exceptions() as error:
        if not str(getattr(error, "getCondition", lambda: None)()).startswith("CANNOT_MODIFY"):
            raise


_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_WIDER = frozenset(
    {(one, other) for at, one in enumerate(_INTEGERS) for other in _INTEGERS[at:]}
    | {("float", "double"), *((name, "double") for name in _INTEGERS[:3])}
)
"""Pairs of types: every value of the first is one of the second."""


class SparkEngine:
    """Computes and writes stored rows on a Spark session; for `catalog.materialized.refresh`."""

    def __init__(self, spark: SparkSession, catalog: HiveViewCatalog, *, name: str | None = None) -> None:
        """Remember the session; nothing is run yet.

        Args:
            spark: A session whose catalog `name` is Iceberg's, on the catalog's metastore.
            catalog: The catalog.
            name: What Spark calls it; None is the catalog's own name.
        """
        self._spark = spark
        self._catalog = catalog
        self._name = name or catalog.name

    def settings(self) -> dict[str, str]:
        """The session settings that affect query results; see `hive_views.materialized.refresh.stage.Engine`.

        Returns:
            `RECORDED` with their values.
        """
        return recorded_settings(self._spark)

    def stage(self, work: StagingRequest) -> None:
        """Write the rows as a staged snapshot; see `hive_views.materialized.refresh.stage.Engine`.

        Args:
            work: What to do.

        Raises:
            RefreshError: If Spark fails.
        """
        refusals: tuple[type[Exception], ...] = (*spark_exceptions(), SqlError)
        try:
            session = self._session()
        except refusals as error:
            raise RefreshError(str(work.target), f"Spark opens no second session for a refresh: {error}") from error
        try:
            session.conf.set(WAP_ID, work.refresh_id)
            for item in work.inputs:
                self._read(session, item).createOrReplaceTempView(item.alias)
            self._write(session, work)
        except spark_exceptions() as error:
            raise RefreshError(str(work.target), f"Spark: {error}") from error
        finally:
            try:
                session.conf.unset(WAP_ID)
                for item in work.inputs:
                    session.catalog.dropTempView(item.alias)
            except spark_exceptions() as error:
                # They are that session's alone; what the refresh did or raised counts.
                logger.info("The session of a refresh of %s was not tidied up: %s", work.target, error)
            end_session(session)

    def _session(self) -> SparkSession:
        """A session of its own, with the settings of the caller's: temporary views and the id are nobody else's."""
        session = second_session(self._spark)
        there = all_settings(session)
        for key in there:
            if key.startswith(_WAP):  # a clone has the caller's
                session.conf.unset(key)
        # Those of catalogs and of Iceberg among them, which Spark does not know: its isModifiable denies them. Not by
        # SET, which shows asterisks in place of what looks like a secret.
        for key, value in all_settings(self._spark).items():
            if there.get(key) != value and not key.startswith(_WAP):
                _set(session, key, value)
        return session

    def _read(self, session: SparkSession, item: Input) -> DataFrame:
        if not item.iceberg:
            return session.table(quote_name((self._catalog._config.session_catalog, *item.table.identifier)))
        name = quote_name((self._name, *item.table.identifier))
        if item.part is RowSelection.NONE or item.snapshot_id == NO_SNAPSHOT:
            return session.table(name).limit(0)
        if item.live:
            return session.table(name)
        reader = session.read.format("iceberg")
        if item.part is RowSelection.ADDED and item.since is not None and item.since != NO_SNAPSHOT:
            reader = reader.option("start-snapshot-id", str(item.since))
            return reader.option("end-snapshot-id", str(item.snapshot_id)).load(name)
        return reader.option("versionAsOf", str(item.snapshot_id)).load(name)

    def _write(self, session: SparkSession, work: StagingRequest) -> None:
        if is_classic(session):
            from pyspark.sql.functions import expr, lit
        else:
            # Where both kinds of sessions are in one process, the functions of `pyspark.sql` are the classic ones.
            from pyspark.sql.connect.functions import expr, lit

        whole = None
        for query in work.queries:
            part = session.sql(query).toDF(*work.columns)
            whole = part if whole is None else whole.unionAll(part)
        if whole is None:
            raise RefreshError(str(work.target), "there is no query to run")
        target = quote_name((self._name, *work.target.identifier))
        # Spark is asked for the target's types only where they are not told without it: it reads the table for that.
        _check_types(work, whole.schema, _spark_types(work.schema) or session.table(target).schema)
        writer = whole.writeTo(target)
        for key, value in work.summary.items():
            writer = writer.option(f"snapshot-property.{key}", value)
        if work.action is Action.APPEND:
            writer.append()
        elif work.action is Action.PARTITIONS:
            writer.overwrite(expr(work.where or "false"))
        else:
            writer.overwrite(lit(True))
