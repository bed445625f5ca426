"""Checks of the environment: storage, Java, and the views of a database."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlparse
from uuid import uuid4

from hive_views.catalog.views import HiveView
from hive_views.config import CatalogConfig
from hive_views.doctor.report import Finding, Level, ProgressDisplay, abbreviate, show_nothing
from hive_views.errors import INSTALL_SPARK, EmbeddedMetastoreError, HiveViewsError, MetastoreRefusedError
from hive_views.identifiers import ViewName
from hive_views.io.locations import parts
from hive_views.io.metadata_files import MetadataFiles
from hive_views.local_metastore.jvm import (
    INSTALL_JAVA,
    OLDEST_JAVA,
    find_jars,
    find_java,
    major_version,
    printed_version,
)
from hive_views.metastore.capabilities import TEMPORARY_ROW_PREFIX, elapsed_ms
from hive_views.metastore.queries import load_view, read_rows, unreadable_row
from hive_views.metastore.rows.row import Row
from hive_views.metastore.transport.client import MetastoreClient
from hive_views.spark.versions import (
    MissingSparkError,
    NoIcebergRuntimeError,
    UnsupportedSparkError,
    iceberg_release,
    installed_spark,
)
from hive_views.sql.analysis.validity import Validity

if TYPE_CHECKING:
    from hive_views.catalog.catalog import HiveViewCatalog


def check_storage(
    client: MetastoreClient, config: CatalogConfig, files: MetadataFiles, database: str
) -> Iterator[Finding]:
    """Check that files can be written where views are created: the database's location and the warehouse."""
    database_location = client.get_database(database).locationUri
    locations = [database_location.rstrip("/")] if database_location else []
    warehouse = parts(config.warehouse or "")
    if config.warehouse and not any(parts(location)[: len(warehouse)] == warehouse for location in locations):
        locations.append(config.warehouse)
    if not locations:
        yield Finding(
            "storage",
            Level.PROBLEM,
            database,
            "the database has no location, and the catalog no warehouse",
            "Set the catalog property warehouse",
        )
    for location in locations:
        try:
            milliseconds = elapsed_ms(partial(_write_and_read, files, location))
        except (OSError, ValueError, TypeError, ImportError) as error:
            yield Finding(
                "storage",
                Level.PROBLEM,
                location,
                f"a file cannot be written, read and deleted there: {abbreviate(str(error) or type(error).__name__)}",
                "Views are created there. Check your privileges, the FileIO properties of the catalog (s3.endpoint …), "
                "and that the package for this storage is installed",
            )
            continue
        message = f"a file was written, read and deleted in {milliseconds:.0f} ms"
        yield Finding("storage", Level.OK, location, message, None, {"milliseconds": round(milliseconds, 1)})


def _write_and_read(files: MetadataFiles, directory: str) -> None:
    location = f"{directory}/{TEMPORARY_ROW_PREFIX}{uuid4().hex[:16]}.tmp"
    io = files.io(location)
    content = uuid4().bytes
    missing_directories = _missing_directories(directory)
    try:
        try:
            with io.new_output(location).create(overwrite=False) as stream:
                stream.write(content)
            with io.new_input(location).open(seekable=False) as stream:
                if stream.read() != content:
                    raise OSError(f"{location} came back with another content")
        finally:
            with suppress(FileNotFoundError):
                io.delete(location)
        if io.new_input(location).exists():
            raise OSError(f"{location} cannot be deleted")
    finally:
        for path in missing_directories:
            with suppress(OSError):
                path.rmdir()


def _missing_directories(location: str) -> list[Path]:
    """Return the local directories that a write creates, innermost first; none on other storages."""
    parsed = urlparse(location)
    if parsed.scheme not in ("", "file"):
        return []
    path = Path(parsed.path)  # as in PyIceberg, percent escapes are not decoded
    return [directory for directory in (path, *path.parents) if not directory.exists()]


def check_java() -> Iterator[Finding]:
    """Check for Java and PySpark, which only the embedded metastore and Spark need."""
    why = "only the embedded metastore and Spark need it"
    try:
        java = find_java("(none)")
        version = major_version(printed_version(java) or "")
    except (EmbeddedMetastoreError, OSError, subprocess.TimeoutExpired) as error:
        reason = error.reason if isinstance(error, EmbeddedMetastoreError) else str(error)
        yield Finding("java", Level.WARNING, "", f"{reason} ({why})", INSTALL_JAVA)
    else:
        is_supported = version >= OLDEST_JAVA
        message = f"Java {version or '(of unknown version)'} at {java}{'' if is_supported else f' is too old ({why})'}"
        level, advice = (Level.OK, None) if is_supported else (Level.WARNING, INSTALL_JAVA)
        yield Finding("java", level, "", message, advice, {"version": version, "java": java})
    try:
        jars = find_jars("(none)")
    except EmbeddedMetastoreError as error:
        yield Finding("pyspark", Level.WARNING, "", f"{error.reason} ({why})", INSTALL_SPARK)
    else:
        yield _check_spark(jars)


def _check_spark(jars: Path) -> Finding:
    """Check whether the installed PySpark has a runtime of Iceberg, which refreshes and sessions with Iceberg need."""
    details: dict[str, object] = {"jars": str(jars)}
    try:
        details["version"] = installed = installed_spark()
        details["iceberg"] = release = iceberg_release(installed)
    except (UnsupportedSparkError, NoIcebergRuntimeError) as error:
        return Finding("pyspark", Level.WARNING, "", str(error), INSTALL_SPARK, details)
    except MissingSparkError:  # its jars are elsewhere (SPARK_HOME)
        return Finding("pyspark", Level.OK, "", f"PySpark's jars are in {jars}", None, details)
    message = f"PySpark {installed} in {jars}, with Iceberg's runtime {release}"
    return Finding("pyspark", Level.OK, "", message, None, details)


def check_views(catalog: HiveViewCatalog, database: str, progress: ProgressDisplay = show_nothing) -> Iterator[Finding]:
    """Check that the views of a database and what they read can be read, and that rows and metadata files agree."""
    with progress("checking") as advance:
        results = {str(result.view): result for result in catalog.dependencies.check_views(database, progress=advance)}
    names = [ViewName(*name) for name in catalog.list_views(database)]
    rows: dict[ViewName, Row] = {}
    refused: dict[ViewName, MetastoreRefusedError] = {}
    with progress("reading") as advance:
        for row in read_rows(catalog.store, names, on_refused=refused.__setitem__):
            rows[row.name] = row
            advance(len(rows), len(names))
    findings: list[Finding] = []
    with progress("comparing") as advance:
        for number, name in enumerate(names, 1):
            if name in refused:
                findings.append(_unreadable_row(name, refused[name]))
            else:
                findings += _compare_with_file(catalog, name, rows.get(name))
            advance(number, len(names))
    yield from findings
    unloadable = {finding.subject for finding in findings if finding.level is Level.PROBLEM}
    good = {name for name, result in results.items() if not result.problems}
    good -= {finding.subject for finding in findings if "drift" not in finding.details}
    iceberg_views = set(map(str, names))
    for shown, result in results.items():
        for validity in dict.fromkeys(problem.validity for problem in result.problems):
            is_reported = validity is Validity.DRIFTED and shown in iceberg_views
            advice_format = None if is_reported else _ADVICE.get(validity.value)
            if advice_format is not None and shown not in unloadable:
                level = Level.PROBLEM if validity.is_unreadable else Level.WARNING
                reasons = "; ".join(item.text for item in result.problems if item.validity is validity)
                message = f"it is {validity.value}: {abbreviate(reasons)}"
                yield Finding("views", level, shown, message, advice_format.format(shlex.quote(shown)))
    details = {"views": len(results.keys() | unloadable), "good": len(good)}
    message = f"{len(good)} of {details['views']} views are without problems"
    yield Finding("views", Level.OK, database, message, None, details)


def _unreadable_row(name: ViewName, error: MetastoreRefusedError) -> Finding:
    advice = "The metastore's log has the cause: a right that you lack, or a damaged row"
    return Finding("views", Level.PROBLEM, str(name), unreadable_row(error), advice)


def _compare_with_file(catalog: HiveViewCatalog, name: ViewName, row: Row | None) -> Iterator[Finding]:
    """Check that the metadata file of an Iceberg view can be read, is correct, and agrees with the row."""
    shown, quoted = str(name), shlex.quote(str(name))
    try:
        view = HiveView(load_view(catalog.store, name, row), catalog.store)
        drift, irregular = view.drift, view.metadata.irregularities()
    except HiveViewsError as error:
        advice = "Restore its metadata file, or drop the view and register another of its metadata files"
        yield Finding("views", Level.PROBLEM, shown, str(error), advice)
        return
    if drift:
        fields = [item.field for item in drift]
        yield Finding(
            "views",
            Level.WARNING,
            shown,
            "another program changed its row, so engines read different definitions or properties: "
            f"{', '.join(fields)}",
            f"Compare by `hive-views show {quoted}`. `hive-views adopt {quoted}` commits the row's state as a "
            f"version; `hive-views repair {quoted}` rewrites the row from the metadata file and discards the "
            "change",
            {"drift": fields},
        )
    if irregular:
        message = f"its metadata file violates the format: {'; '.join(irregular)}"
        advice = "Iceberg's Java library can read it; replace the view to correct the file"
        yield Finding("views", Level.WARNING, shown, message, advice)


_ADVICE = {
    "invalid": "Correct the view, or what it reads: `hive-views deps check {0}`",
    "blocked": "Correct what it reads: `hive-views deps tree {0} --up`",
    "drifted": "`hive-views import plan --view {0}` plans its import",
    "unexpanded": "`hive-views recompile {0}` expands its text, if that can be resolved",
    "outdated": "`hive-views recompile {0}` adopts what the typed text means now",
    "unknown": "The view cannot be checked; add a text in the dialect of Hive, Spark or Trino",
}
"""By validity: what to do. Drift of an Iceberg view has a finding of its own."""
