"""The check of copied views by their rows, in a Spark session with both catalogs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hive_views.identifiers import ViewName
from hive_views.spark.versions import check_session_version
from hive_views.spark.view_content import ViewContent, changed_types, is_different, read_contents
from hive_views.sql.text.quoting import quote_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class ComparedCopy:
    """A view in two catalogs."""

    name: str
    """Its name in both."""
    is_equal: bool
    """Whether Spark reads the same columns and rows in both."""
    text: str
    """A sentence about it."""


def compare_copies(spark: SparkSession, source: str, target: str, names: Iterable[str]) -> list[ComparedCopy]:
    """Read views in two Iceberg catalogs of a Spark session and compare their columns and rows.

    Rows are compared by their number and the sum of their hashes (`hive_views.spark.view_content`). A view that differs
    is read a second time, because some views return other rows each time.

    Args:
        spark: A session in which both catalogs are Iceberg catalogs.
        source: The name in Spark of the catalog of the originals.
        target: The name in Spark of the catalog of the copies.
        names: The views, as `database.name`, e.g. those that `copy_views` copied.

    Returns:
        The views in the given order. A view that Spark cannot read in one of the catalogs is not equal.

    Raises:
        UnsupportedSparkError: If this release does not run on that version of Spark.
    """
    check_session_version(spark)
    views = {name: ViewName(*name.rsplit(".", 1)) for name in names}
    quoted = {view: name.split(".") for name, view in views.items()}

    def read(catalog: str, some: Iterable[ViewName]) -> dict[ViewName, ViewContent]:
        return read_contents(spark, {view: quote_name((catalog, *quoted[view])) for view in some})

    originals, copies = read(source, views.values()), read(target, views.values())
    differing = [view for view, original in originals.items() if is_different(original, copies[view])]
    again = read(source, differing)
    return [_compare(name, originals[view], copies[view], again.get(view)) for name, view in views.items()]


def _compare(name: str, original: ViewContent, copy: ViewContent, again: ViewContent | None) -> ComparedCopy:
    for where, content in (("source", original), ("target", copy)):
        if content.problem is not None:
            return ComparedCopy(name, False, f"Spark cannot read it in the {where}: {content.problem}")
    if original.columns != copy.columns:
        columns = " and ".join(", ".join(content.columns) for content in (original, copy))
        return ComparedCopy(name, False, f"it has other columns: {columns}")
    if types := changed_types(original, copy):
        return ComparedCopy(name, False, f"its columns have other types: {', '.join(types)}")
    if not is_different(original, copy):
        return ComparedCopy(name, True, f"the same {original.number} rows")
    numbers = f"{original.number} rows in the source, {copy.number} in the target"
    if again != original:
        return ComparedCopy(name, False, f"not comparable: it returns other rows each time ({numbers})")
    return ComparedCopy(name, False, f"other rows: {numbers}")
