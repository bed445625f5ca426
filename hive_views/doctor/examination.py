"""The examination of a catalog's metastore."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from typing import TYPE_CHECKING

from hive_views.config import CatalogConfig
from hive_views.doctor.behavior import check_row
from hive_views.doctor.environment import check_java, check_storage, check_views
from hive_views.doctor.report import DoctorReport, Finding, Level, ProgressDisplay, report_failure, show_nothing
from hive_views.doctor.server import (
    check_cache,
    check_lock_expiry,
    check_reachable,
    check_same_data,
    check_transformer,
    check_version,
    connection_to,
)
from hive_views.errors import NoSuchNamespaceError
from hive_views.identifiers import parse_namespace
from hive_views.io.metadata_files import MetadataFiles
from hive_views.metastore.transport.client import MetastoreClient

if TYPE_CHECKING:
    from hive_views.catalog.catalog import HiveViewCatalog


def examine(
    catalog: HiveViewCatalog,
    *,
    database: str | None = None,
    write: bool = True,
    on_finding: Callable[[Finding], None] | None = None,
    progress: ProgressDisplay = show_nothing,
) -> DoctorReport:
    """Examine the metastore of a catalog: its capabilities and problems.

    Args:
        catalog: The catalog; the examination opens its own connections.
        database: The database of the temporary row and file, whose views are examined. By default the row is created in
            `default`, and no views are examined.
        write: Create a temporary row and a temporary file; False skips the checks that need them.
        on_finding: Called with each finding as soon as it is available; with those of views after all were read.
        progress: Displays the progress of the steps that examine views.

    Raises:
        InvalidIdentifierError: If `database` is not a valid database name.
    """
    database_name = "default" if database is None else parse_namespace(database, catalog=catalog.name)
    findings = []
    # Closing the generator removes the temporary row, also if `on_finding` raises or the user interrupts.
    with closing(_examinations(catalog, database_name, database is not None, write, progress)) as examinations:
        for finding in examinations:
            findings.append(finding)
            if on_finding is not None:
                on_finding(finding)
    levels = {finding.level for finding in findings}
    worst = next((level for level in (Level.PROBLEM, Level.WARNING) if level in levels), Level.OK)
    return DoctorReport(worst, tuple(findings))


def _examinations(
    catalog: HiveViewCatalog, database: str, with_views: bool, write: bool, progress: ProgressDisplay
) -> Generator[Finding, None, None]:
    config = CatalogConfig.from_properties(catalog.properties)
    yield from check_java()
    reachable = []
    for uri in config.connection.uris:
        finding = check_reachable(config, uri, alone=len(config.connection.uris) == 1)
        reachable += [uri] if finding.level is Level.OK else []
        yield finding
    if not reachable:
        if len(config.connection.uris) > 1:
            yield Finding(
                "reachable",
                Level.PROBLEM,
                ", ".join(config.connection.uris),
                "none of the metastores can be reached",
                "Check the catalog property uri, and that the metastores run",
            )
        return
    if len(reachable) > 1:
        yield from report_failure("same-data", ", ".join(reachable), check_same_data(config, reachable))
    for uri in reachable:
        with MetastoreClient(connection_to(config, uri)) as client:
            yield from report_failure("version", uri, check_version(client, uri))
            yield from report_failure("lock-expiry", uri, check_lock_expiry(client, config, uri))
            yield from report_failure("transformer", uri, check_transformer(client, uri))
            yield from report_failure("cache", uri, check_cache(client, uri))
    with MetastoreClient(config.connection) as client:
        try:
            client.get_database(database)
        except NoSuchNamespaceError as error:
            yield Finding("database", Level.PROBLEM, database, str(error), "Name a database that exists")
            return
        if write:
            yield from report_failure("row", database, check_row(client, config, database))
            files = MetadataFiles(catalog.properties)
            yield from report_failure("storage", database, check_storage(client, config, files, database))
        else:
            yield Finding("row", Level.SKIPPED, database, "nothing was written: neither a row nor a file")
    if with_views:
        yield from report_failure("views", database, check_views(catalog, database, progress))
    else:
        yield Finding("views", Level.SKIPPED, "", "name a database to have its views examined")
