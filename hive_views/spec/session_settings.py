"""The Spark settings on which query results depend, and their records in view versions and refreshes.

Two lists are derived from the settings of a session, by rules on the keys of Spark's own configuration entries:

- `is_captured_by_spark`: the settings that Spark itself stores with a view and applies when the view is read, by the
  rule of `org.apache.spark.sql.catalyst.CapturesConfig` (4.1; in 4.0 the same rule is in `ViewHelper`): every setting
  that was set and can be modified, except some families. The time zone and ANSI mode are captured even if not set.
- `can_change_results`: those of these settings that can change the rows of a query, which a refresh records and a read
  compares. Families of settings for performance, display, streaming and writing are excluded; an entry that a later
  Spark release adds is included until it is excluded explicitly.

`hive_views.spark.sessions.captured_settings` applies a rule to a session.
"""

from __future__ import annotations

from collections.abc import Mapping

from hive_views.config import ANSI_MODE

PREFIX = "hive-views.conf."
"""Prefix of the summary keys; Spark's key follows."""

ANSI = "spark.sql.ansi.enabled"
"""Whether invalid casts and overflows raise errors, or return NULL and wrapped numbers."""
TIME_ZONE = "spark.sql.session.timeZone"
"""The time zone of timestamps without one, and of timestamps as text."""
RECORDED = (ANSI, TIME_ZONE)
"""The settings that are always recorded when a view is defined or refreshed, and applied when it is read."""

ROW_PREFIX = "view.sqlConfig."
"""Prefix of the row parameters in which Spark stores the settings of its own views; Spark's key follows."""

_SPARK = "spark.sql."

_NOT_CAPTURED_BY_SPARK = (
    "view.maxNestedViewDepth",
    "optimizer.",
    "codegen.",
    "execution.",
    "shuffle.",
    "adaptive.",
    "hive.convertMetastoreParquet",
    "hive.convertMetastoreOrc",
    "hive.convertInsertingPartitionedTable",
    "hive.convertInsertingUnpartitionedTable",
    "hive.convertMetastoreCtas",
    "maven.additionalRemoteRepositories",
    "analyzer.singlePassResolver.enabledTentatively",
    "analyzer.singlePassResolver.dualRunWithLegacy",
)
"""Beginnings of keys after `spark.sql.`: `configPrefixDenyList` and `singlePassResolverDenyList` of CapturesConfig."""

OF_APPLICATION = (
    *("spark.app.", "spark.driver.", "spark.executor.", "spark.submit.", "spark.repl.", "spark.jars", "spark.master"),
    *("spark.hadoop.", "spark.local.", "spark.log.", "spark.rdd.", "spark.serializer", "spark.ui."),
)
"""Beginnings of keys of the application, which no session can modify: none of the 683 entries of Spark 4.1.4's SQLConf
begins like them."""

_CAPTURED_BY_SPARK = frozenset({"spark.sql.optimizer.disableHints"})
"""`configAllowList` of CapturesConfig."""

_SAME_RESULTS = (
    # How rows are computed: joins, partitioning, buffers, plans, and the split into tasks and files.
    "addPartitionInBatch.",
    "autoBroadcastJoinThreshold",
    "broadcastTimeout",
    "bucketing.",
    "cartesianProductExec.",
    "cbo.",
    "classic.shuffleDependency.",
    "columnVector.",
    "connect.",
    "constraintPropagation.",
    "csv.parser.inputBufferSize",
    "defaultCacheStorageLevel",
    "defaultSizeInBytes",
    "exchange.reuse",
    "files.max",
    "files.min",
    "files.openCostInBytes",
    "hive.advancedPartitionPredicatePushdown.",
    "hive.filesourcePartitionFileCacheSize",
    "hive.gatherFastStats",
    "hive.manageFilesourcePartitions",
    "hive.metastorePartitionPruning",
    "inMemoryColumnarStorage.",
    "inMemoryTableScanStatistics.",
    "join.preferSortMergeJoin",
    "leafNodeDefaultParallelism",
    "limit.",
    "maxBroadcastTableSize",
    "maxConcurrentOutputFileWriters",
    "maxSinglePartitionBytes",
    "objectHashAggregate.",
    "optimizer.",
    "orc.aggregatePushdown",
    "orc.columnar",
    "orc.enable",
    "orc.filterPushdown",
    "parquet.aggregatePushdown",
    "parquet.columnarReaderBatchSize",
    "parquet.enable",
    "parquet.filterPushdown",
    "parser.manageParserCaches",
    "parser.parserDfaCache",
    "planner.",
    "session.localRelation",
    "sessionWindow.buffer.",
    "shuffleDependency.",
    "shuffledHashJoinFactor",
    "sort.",
    "sortMergeJoinExec.",
    "sources.bucketing.autoBucketedScan.",
    "sources.parallelPartitionDiscovery.",
    "sources.v2.bucketing.",
    "statistics.",
    "subexpressionElimination.",
    "windowExec.",
    # Logs, web pages, messages and clients.
    "artifact.",
    "cli.",
    "dataFrameQueryContext.",
    "dataframeCache.",
    "debug",
    "error.",
    "expressionTreeChangeLog.",
    "extendedExplainProviders",
    "maxMetadataStringLength",
    "maxPlanStringLength",
    "nameResolutionLog.",
    "planChangeLog.",
    "planChangeValidation",
    "lightweightPlanChangeValidation",
    "pyspark.",
    "redaction.",
    "repl.",
    "stackTracesInDataFrameContext",
    "thriftServer.",
    "thriftserver.",
    "ui.",
    # Streams and writes.
    "avro.compression.",
    "avro.deflate.",
    "avro.xz.",
    "avro.zstandard.",
    "orc.compression.",
    "parquet.compression.",
    "parquet.fieldId.write.",
    "parquet.output",
    "parquet.writeLegacyFormat",
    "pipelines.",
    "sources.commitProtocolClass",
    "sources.default",
    "sources.outputCommitterClass",
    "sources.partitionOverwriteMode",
    "streaming.",
    "truncateTable.",
    # Names in view texts are completed with the view's catalog and database; texts are read with these settings off.
    "ansi.doubleQuotedIdentifiers",
    "catalog.",
    "defaultCatalog",
    "legacy.storeAnalyzedPlanForView",  # of temporary views
    "parser.escapedStringLiterals",
    "parser.quotedRegexColumnNames",
    "variable.substitute",
)
"""Beginnings of keys after `spark.sql.`: families of settings that do not change the rows of a query (Spark 4.1)."""


def is_captured_by_spark(key: str) -> bool:
    """Return whether Spark stores a setting with a view, provided that it was set and can be modified."""
    return key in _CAPTURED_BY_SPARK or not _is_in(key, _NOT_CAPTURED_BY_SPARK)


def can_change_results(key: str) -> bool:
    """Return whether a setting can change the rows of a query, provided that it can be modified."""
    return is_captured_by_spark(key) and key.startswith(_SPARK) and not _is_in(key, _SAME_RESULTS)


def _is_in(key: str, families: tuple[str, ...]) -> bool:
    return key.startswith(_SPARK) and key.startswith(families, len(_SPARK))


def encode(settings: Mapping[str, str]) -> dict[str, str]:
    """Encode settings as summary entries."""
    return {PREFIX + key: value for key, value in settings.items()}


def recorded_settings(summary: Mapping[str, str]) -> dict[str, str]:
    """Return the recorded settings of a version that can change its rows, from its summary."""
    keys = (key.removeprefix(PREFIX) for key in summary if key.startswith(PREFIX))
    return {key: summary[PREFIX + key] for key in keys if can_change_results(key)}


def typed_mode(summary: Mapping[str, str]) -> str | None:
    """Return the ANSI mode with which a version was typed without Spark; None if it has the settings of a session.

    It is no setting of a session: readers keep their other settings, which the settings of a session replace.
    """
    mode = summary.get(ANSI_MODE)
    return mode if mode in ("true", "false") and PREFIX + ANSI not in summary else None


def author_settings(summary: Mapping[str, str]) -> dict[str, str]:
    """Return the recorded settings of a version that can change its rows, with its ANSI mode if no session has one."""
    mode = typed_mode(summary)
    return recorded_settings(summary) | ({} if mode is None else {ANSI: mode})


def ansi_mode(summary: Mapping[str, str]) -> str | None:
    """Return the recorded ANSI mode of a version, by a session or without one; None if it has none."""
    return author_settings(summary).get(ANSI)


def settings_entries(summary: Mapping[str, str]) -> dict[str, str]:
    """Return the entries of a summary that hold settings which can change the rows, or the ANSI mode."""
    mode = typed_mode(summary)
    return encode(recorded_settings(summary)) | ({} if mode is None else {ANSI_MODE: mode})


def row_settings(summary: Mapping[str, str]) -> dict[str, str]:
    """Return the row parameters with which plain Spark, and Spark's session catalog, apply a version's settings.

    They are those of its own views. Settings that change how a text is read are left out, because the row's text does
    not depend on them.
    """
    return {ROW_PREFIX + key: value for key, value in author_settings(summary).items()}


def settings_of_row(parameters: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that Spark stored in a row."""
    return {key.removeprefix(ROW_PREFIX): value for key, value in parameters.items() if key.startswith(ROW_PREFIX)}


def is_row_setting(parameter: str) -> bool:
    """Return whether a row parameter is a setting that plain Spark applies and that can change the rows of a view."""
    return parameter.startswith(ROW_PREFIX) and can_change_results(parameter.removeprefix(ROW_PREFIX))


def differing_settings(recorded: Mapping[str, str], current: Mapping[str, str]) -> list[str]:
    """The settings whose values differ between two sessions; none if the settings of a session are unknown (empty).

    A setting that only one session has counts as different, because default values are not recorded.
    """
    if not recorded or not current:
        return []
    return sorted(
        key
        for key in recorded.keys() | current.keys()
        if key not in recorded or key not in current or not is_same_setting(key, recorded[key], current[key])
    )


def is_same_setting(key: str, one: str, other: str) -> bool:
    """Return whether two values of a setting are equivalent."""
    if key == TIME_ZONE:
        return one == other
    return one == other or (one.lower() == other.lower() and one.lower() in ("true", "false"))
