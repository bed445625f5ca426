"""The whole examination."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from typing import TYPE_CHECKING

from hive_views.config import CatalogConfig
from hive_views.doctor.behavior import examine_row
from hive_views.doctor.environment import java, storage, views
from hive_views.doctor.report import Finding, Level, Report, guarded
from hive_views.doctor.server import connection, lock_expiry, reach, same_data, transformer, version
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
    tell: Callable[[Finding], None] | None = None,
) -> Report:
    """Find out what the metastore of a catalog can do, and what is wrong.

    Args:
        catalog: The catalog. It is examined over connections of its own.
        database: Where the temporary row and file are made, and whose views are examined. By default the row is made in
            `default`, and no views are examined.
        write: Make a temporary row and a temporary file; False leaves out what cannot be found out otherwise.
        tell: Called with each finding as soon as it is made.

    Returns:
        The findings.

    Raises:
        InvalidIdentifierError: If `database` is no name of a database.
    """
    place = "default" if database is None else parse_namespace(database, catalog=catalog.name)
    findings = []
    # Closed at once where `tell` raises, or the user interrupts: the temporary row goes with it.
    with closing(_examinations(catalog, place, database is not None, write)) as found:
        for finding in found:
            findings.append(finding)
            if tell is not None:
                tell(finding)
    levels = {finding.level for finding in findings}
    worst = next((level for level in (Level.PROBLEM, Level.WARNING) if level in levels), Level.OK)
    return Report(worst, tuple(findings))


def _examinations(
    catalog: HiveViewCatalog, database: str, with_views: bool, write: bool
) -> Generator[Finding, None, None]:
    config = CatalogConfig.from_properties(catalog.properties)
    yield from java()
    reachable = []
    for uri in config.connection.uris:
        finding = reach(config, uri, alone=len(config.connection.uris) == 1)
        reachable += [uri] if finding.level is Level.OK else []
        yield finding
    if not reachable:
        if len(config.connection.uris) > 1:
            yield Finding(
                "reachable",
                Level.PROBLEM,
                ", ".join(config.connection.uris),
                "none of the metastores can be reached",
                "Check the catalog property uri, and that they run",
            )
        return
    if len(reachable) > 1:
        yield from guarded("same-data", ", ".join(reachable), same_data(config, reachable))
    for uri in reachable:
        with MetastoreClient(connection(config, uri)) as client:
            yield from guarded("version", uri, version(client, uri))
            yield from guarded("lock-expiry", uri, lock_expiry(client, config, uri))
            yield from guarded("transformer", uri, transformer(client, uri))
    with MetastoreClient(config.connection) as client:
        try:
            client.get_database(database)
        except NoSuchNamespaceError as error:
            yield Finding("database", Level.PROBLEM, database, str(error), "Name a database that exists")
            return
        if write:
            yield from guarded("row", database, examine_row(client, config, database))
            files = MetadataFiles(catalog.properties)
            yield from guarded("storage", database, storage(client, config, files, database))
        else:
            yield Finding("row", Level.SKIPPED, database, "nothing was written: neither a row nor a file")
    if with_views:
        yield from guarded("views", database, views(catalog, database))
    else:
        yield Finding("views", Level.SKIPPED, "", "name a database to have its views examined")
