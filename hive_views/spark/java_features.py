"""The internal classes and methods of Spark and Iceberg that this package names, by what it uses them for.

Another release of Spark or Iceberg, or a vendor's build, may lack them. `can_use` asks the JVM for the methods at the
first use of a feature and caches the answer; the caller then does what the feature's `otherwise` states. A test
compares the table with the code, and another one asks each tested version of Spark (`make test-versions`).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from hive_views.spark.jvm import CONSTRUCTOR, JavaMethod, is_classic, missing_methods

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logging.getLogger(__name__)

_CATALYST = "org.apache.spark.sql.catalyst"
_EXPRESSIONS = f"{_CATALYST}.expressions"
_LOGICAL = f"{_CATALYST}.plans.logical"
_CONNECTOR = "org.apache.spark.sql.connector.catalog"
_EXECUTION = "org.apache.spark.sql.execution"
_ICEBERG = "org.apache.iceberg"
SPARK_THROWABLE = "org.apache.spark.SparkThrowable"
SESSION_PACKAGE = "org.apache.spark.sql.{classic}"
"""The package of classic sessions; `{classic}` is `classic`, and nothing on Spark 3."""


@dataclass(frozen=True)
class _Purpose:
    what: str
    """What the methods are for, as in "does not …"."""
    otherwise: str
    """What happens where the JVM lacks one of them."""


class Feature(Enum):
    """What the package uses internal methods for."""

    SETTINGS = _Purpose("read all settings at once", "they are read one by one")
    PLANS = _Purpose("read analyzed plans", "plans are read as EXPLAIN prints them, as on Spark Connect")
    TEMPORARY_VIEWS = _Purpose("find a temporary view by its name", "all temporary views are listed")
    PLAN_COMPARISON = _Purpose(
        "compare the sources of columns in a typed and an expanded text", "only their types are compared"
    )
    RELATIVE_TIMES = _Purpose(
        "find constants such as 'today' in plans", "they are looked for in the text, as on Spark Connect"
    )
    STALE_PARTITIONS = _Purpose(
        "prove that a query needs no stale partition", "such a query is rejected, as on Spark Connect"
    )
    FILE_COMPARISON = _Purpose("compare the files of snapshots", "refreshes compare their rows")
    REWRITING = _Purpose("rewrite queries to stored rows", "a session with hive-views.rewrite-queries is rejected")
    ERROR_CONDITIONS = _Purpose("read the conditions of errors that PySpark does not convert", "they have none")


def _methods(class_name: str, names: str) -> tuple[JavaMethod, ...]:
    """Return the methods of a class, written as `name/parameters`; `5|6` is either number, `new` a constructor."""
    methods = []
    for item in names.split():
        name, _, counts = item.partition("/")
        parameters = tuple(map(int, counts.split("|")))
        methods.append(JavaMethod(class_name, CONSTRUCTOR if name == "new" else name, parameters))
    return tuple(methods)


_ANALYZED = (
    *_methods(f"{SESSION_PACKAGE}.Dataset", "queryExecution/0"),
    *_methods(f"{_EXECUTION}.QueryExecution", "analyzed/0"),
)
_RUN = _methods(f"{SESSION_PACKAGE}.Dataset$", "ofRows/2")
_LEAVES = (
    *_methods(f"{_CATALYST}.trees.TreeNode", "collectLeaves/0 nodeName/0"),
    *_methods(f"{_CATALYST}.plans.QueryPlan", "subqueriesAll/0"),
)
_OTHER_OUTPUT = (
    *_methods("org.apache.spark.api.python.PythonUtils", "toSeq/1"),
    *_methods(
        f"{_EXECUTION}.datasources.v2.DataSourceV2Relation",
        "new/5|6 table/0 catalog/0 identifier/0 options/0 productArity/0 output/0",
    ),
    *_methods(f"{_EXPRESSIONS}.NamedExpression", "name/0 exprId/0"),
)

METHODS: Mapping[Feature, tuple[JavaMethod, ...]] = MappingProxyType(
    {
        Feature.SETTINGS: _methods("org.apache.spark.sql.RuntimeConfig", "getAll/0"),
        Feature.PLANS: (
            *_ANALYZED,
            *_RUN,
            *_LEAVES,
            *_methods(f"{SESSION_PACKAGE}.SparkSession", "sessionState/0 setActiveSession/1 getActiveSession/0"),
            *_methods("org.apache.spark.sql.internal.SessionState", "sqlParser/0 executePlan/2"),
            *_methods(f"{_CATALYST}.parser.ParserInterface", "parsePlan/1"),
            *_methods(f"{_EXECUTION}.CommandExecutionMode", "SKIP/0"),
            *_methods(f"{_EXECUTION}.command.ExplainCommand", "new/2 mode/0"),
            *_methods(f"{_EXECUTION}.ExplainMode", "name/0"),
            *_methods(f"{_CATALYST}.trees.TreeNode", "treeString/0 children/0 innerChildren/0"),
            *_methods(f"{_EXECUTION}.datasources.v2.DataSourceV2Relation", "table/0"),
            *_methods(f"{_CONNECTOR}.Table", "properties/0"),
        ),
        Feature.TEMPORARY_VIEWS: (
            *_methods(f"{SESSION_PACKAGE}.SparkSession", "sessionState/0 setActiveSession/1 getActiveSession/0"),
            *_methods("org.apache.spark.sql.internal.SessionState", "catalog/0"),
            *_methods(f"{_CATALYST}.catalog.SessionCatalog", "getRawTempView/1"),
        ),
        Feature.PLAN_COMPARISON: (
            *_ANALYZED,
            *_methods(f"{_CATALYST}.trees.TreeNode", "toJSON/0"),
            *_methods(f"{_CATALYST}.plans.QueryPlan", "output/0"),
        ),
        Feature.RELATIVE_TIMES: (
            *_ANALYZED,
            *_LEAVES,
            *_methods(f"{_CATALYST}.optimizer.ReplaceExpressions$", "apply/1"),
            *_methods(f"{_CATALYST}.optimizer.SpecialDatetimeValues$", "apply/1"),
        ),
        Feature.STALE_PARTITIONS: (
            *_ANALYZED,
            *_RUN,
            *_LEAVES,
            *_methods(f"{_EXECUTION}.QueryExecution", "optimizedPlan/0"),
            *_methods(f"{_CATALYST}.trees.TreeNode", "children/0 innerChildren/0"),
            *_methods(f"{_CATALYST}.plans.QueryPlan", "subqueries/0"),
            *_methods(f"{_EXECUTION}.LogicalRDD", "rdd/0"),
            *_methods("org.apache.spark.rdd.RDD", "id/0"),
        ),
        Feature.FILE_COMPARISON: (
            *_ANALYZED,
            *_RUN,
            *_OTHER_OUTPUT,
            *_methods(f"{_ICEBERG}.spark.Spark3Util", "loadIcebergTable/2"),
            *_methods(f"{_ICEBERG}.spark.ScanTaskSetManager", "get/0 stageTasks/3 removeTasks/2"),
            *_methods(f"{_ICEBERG}.spark.SparkTableCache", "get/0 add/2 remove/1"),
            *_methods(f"{_ICEBERG}.relocated.com.google.common.collect.Lists", "newArrayList/1"),
            *_methods(f"{_ICEBERG}.Table", "newScan/0"),
            *_methods(f"{_ICEBERG}.TableScan", "useSnapshot/1"),
            *_methods(f"{_ICEBERG}.Scan", "ignoreResiduals/0 planFiles/0"),
            *_methods(f"{_ICEBERG}.ContentScanTask", "file/0"),
            *_methods(f"{_ICEBERG}.FileScanTask", "deletes/0"),
            *_methods(f"{_ICEBERG}.ContentFile", "recordCount/0 location/0"),
            *_methods(f"{_ICEBERG}.DeleteFile", "contentOffset/0"),
        ),
        Feature.REWRITING: (
            *_ANALYZED,
            *_RUN,
            *_LEAVES,
            *_OTHER_OUTPUT,
            *_methods(f"{SESSION_PACKAGE}.Dataset", "schema/0"),
            *_methods(f"{_CATALYST}.trees.TreeNode", "children/0 withNewChildren/1"),
            *_methods(
                f"{_CATALYST}.plans.QueryPlan",
                "canonicalized/0 deterministic/0 expressions/0 output/0 references/0 sameResult/1 schema/0",
            ),
            *_methods(f"{_LOGICAL}.LogicalPlan", "isStreaming/0"),
            *_methods(f"{_EXECUTION}.datasources.v2.DataSourceV2Relation", "timeTravelSpec/0"),
            *_methods(f"{_CONNECTOR}.Identifier", "namespace/0 name/0"),
            *_methods(f"{_CONNECTOR}.CatalogPlugin", "name/0"),
            *_methods(f"{_ICEBERG}.spark.source.SparkTable", "name/0 snapshotId/0 branch/0"),
            *_methods(f"{_CATALYST}.analysis.EliminateSubqueryAliases$", "apply/1"),
            *_methods(f"{_CATALYST}.analysis.EliminateView$", "apply/1"),
            *_methods(f"{_CATALYST}.optimizer.ReplaceDistinctWithAggregate$", "apply/1"),
            *_methods(f"{_CATALYST}.optimizer.SimplifyCasts$", "apply/1"),
            *_methods(f"{_CATALYST}.optimizer.InlineCTE", "new/2 apply/1"),
            *_methods(f"{_CATALYST}.optimizer.CollapseProject$", "replaceAlias/2"),
            *_methods(f"{_LOGICAL}.Project", "new/2 projectList/0 child/0"),
            *_methods(f"{_LOGICAL}.Filter", "new/2 condition/0 child/0"),
            *_methods(f"{_LOGICAL}.Sort", "child/0"),
            *_methods(f"{_LOGICAL}.Join", "left/0 right/0 joinType/0 condition/0"),
            *_methods(
                f"{_LOGICAL}.Aggregate", "new/3|4 groupingExpressions/0 aggregateExpressions/0 child/0 productArity/0"
            ),
            *_methods(
                f"{_EXPRESSIONS}.Expression",
                "canonicalized/0 dataType/0 nullable/0 references/0",
            ),
            *_methods(f"{_EXPRESSIONS}.NamedExpression", "qualifier/0 metadata/0"),
            *_methods(f"{_EXPRESSIONS}.AttributeSet", "toSeq/0"),
            *_methods(f"{_EXPRESSIONS}.AttributeMap$", "apply/1"),
            *_methods(f"{_EXPRESSIONS}.ExprId", "id/0"),
            *_methods(f"{_EXPRESSIONS}.Alias", "new/6 child/0"),
            *_methods(f"{_EXPRESSIONS}.And", "left/0 right/0"),
            *_methods(f"{_EXPRESSIONS}.BoundReference", "new/3"),
            *_methods(f"{_EXPRESSIONS}.Cast$", "apply/3"),
            *_methods(f"{_EXPRESSIONS}.Coalesce", "new/1"),
            *_methods(f"{_EXPRESSIONS}.KnownNotNull", "new/1"),
            *_methods(f"{_EXPRESSIONS}.Literal", "value/0"),
            *_methods(f"{_EXPRESSIONS}.Literal$", "default/1"),
            *_methods(f"{_EXPRESSIONS}.PlanExpression", "plan/0"),
            *_methods(f"{_EXPRESSIONS}.aggregate.AggregateExpression", "aggregateFunction/0 isDistinct/0"),
            *_methods(f"{_EXPRESSIONS}.aggregate.AggregateFunction", "toAggregateExpression/0"),
            *_methods(f"{_EXPRESSIONS}.aggregate.Sum", "new/1 productElement/1"),
            *_methods("org.apache.spark.sql.types.DataType", "simpleString/0 json/0"),
            *_methods("org.apache.spark.sql.types.DecimalType", "precision/0"),
            *_methods("org.apache.spark.sql.types.Metadata", "contains/1"),
            *_methods("org.apache.spark.sql.util.CaseInsensitiveStringMap", "isEmpty/0"),
        ),
        Feature.ERROR_CONDITIONS: _methods(SPARK_THROWABLE, "getErrorClass/0 getSqlState/0 getQueryContext/0"),
    }
)
"""The methods of each feature; one that is inherited is listed for the class through which it is called."""


def can_use(session: SparkSession, feature: Feature) -> bool:
    """Return whether a session is a classic one whose JVM has the methods of a feature; logs once which it lacks."""
    return is_classic(session) and has_methods(session._jvm, feature, str(session.version))


def methods_of(feature: Feature, spark_version: str) -> Iterator[JavaMethod]:
    """Yield the methods of a feature with the names that their classes have in a version of Spark."""
    for item in METHODS[feature]:
        yield JavaMethod(class_in(item.class_name, spark_version), item.name, item.parameters)


def class_in(name: str, spark_version: str) -> str:
    """Return the name of a class in a version of Spark: version 4 moved classic sessions to a package of their own."""
    return name.replace(".{classic}", "" if spark_version.startswith("3.") else ".classic")


@cache
def has_methods(jvm: Any, feature: Feature, spark_version: str) -> bool:
    """Return whether a JVM with a version of Spark has the methods of a feature; logs once which it lacks."""
    missing = missing_methods(jvm, methods_of(feature, spark_version))
    if not missing:
        return True
    of_iceberg = [item for item in METHODS[feature] if item.class_name.startswith(_ICEBERG)]
    if missing != of_iceberg:  # without Iceberg's runtime, all of them are missing
        purpose: _Purpose = feature.value
        names = ", ".join(map(str, missing))
        logger.warning(
            "This Spark %s lacks %s, so that hive_views does not %s: %s",
            spark_version,
            names,
            purpose.what,
            purpose.otherwise,
        )
    return False
