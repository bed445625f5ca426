"""What the parts of a `ViewSession` share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hive_views.catalog.catalog import HiveViewCatalog
    from hive_views.spark.session.helper_session import HelperSession
    from hive_views.spark.session.names import NameResolver
    from hive_views.spark.session.plans import PlanReader


@dataclass(frozen=True, kw_only=True)
class SessionServices:
    """The objects with which statements of one session are read and run."""

    spark: SparkSession
    """The user's session."""
    catalog: HiveViewCatalog
    """The catalog of the views."""
    names: NameResolver
    """What names mean in the session."""
    helper: HelperSession
    """A second session of the same Spark."""
    plans: PlanReader
    """Spark's plans of statements."""
