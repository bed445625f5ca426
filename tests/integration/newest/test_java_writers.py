"""Iceberg's Java catalog and this package as writers of the same views on the newest Hive."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from benchmarks.java_catalog import JavaCatalog, java_catalog
from hive_views import HiveViewCatalog, define
from hive_views.errors import CommitFailedError
from hive_views.local_metastore.process import MetastoreProcess
from tests.integration.newest.conftest import NEWEST

COMMITS = 15
SCHEMA = Schema(NestedField(1, "column_1", LongType()))
# What Java's `ViewOperations` and its `ViewBuilder.replace` raise when another writer was faster.
LOST_RACES = ("CommitFailedException", "AlreadyExistsException: View was updated concurrently")


@contextmanager
def java_writer(metastore: MetastoreProcess, database: str, client: str) -> Iterator[JavaCatalog]:
    try:
        with java_catalog(metastore, client, database=database, columns=1) as java:
            yield java
    except RuntimeError as error:
        if "needs a JDK" in str(error):
            pytest.skip(str(error))
        raise


def text(writer: str, number: int) -> str:
    return f"SELECT {number} AS column_1 /* {writer} */"


def repeated(commit: Callable[[], object]) -> None:
    """Commit until no other writer was faster."""
    while True:
        try:
            commit()
        except CommitFailedError:
            continue
        except RuntimeError as error:
            if any(lost in str(error) for lost in LOST_RACES):
                continue
            raise
        return


def test_concurrent_commits_of_java_and_python_are_all_kept(
    metastore: MetastoreProcess, catalog: HiveViewCatalog, database: str
) -> None:
    name = (database, "v")
    history = {"version.history.num-entries": "1000"}
    catalog.create_view(
        name, SCHEMA, define(text("first", 0), dialect="spark", default_namespace=(database,)), properties=history
    )
    with java_writer(metastore, database, NEWEST) as java:

        def write_java() -> None:
            for number in range(COMMITS):
                repeated(lambda number=number: java.run("replace", "v", text("java", number)))  # type: ignore[misc]

        def write_python() -> None:
            for number in range(COMMITS):
                definition = define(text("python", number), dialect="spark", default_namespace=(database,))
                repeated(lambda definition=definition: catalog.replace_view(name, SCHEMA, definition))  # type: ignore[misc]

        with ThreadPoolExecutor(2) as pool:
            for future in [pool.submit(write_java), pool.submit(write_python)]:
                future.result()
        view = catalog.load_view(name)
        texts = [version.sql_representations[0].sql for version in view.metadata.versions]
        assert texts[0] == text("first", 0)
        for writer in ("java", "python"):
            written = [text(writer, number) for number in range(COMMITS)]
            assert [item for item in texts if item in written] == written
        assert len(texts) == 1 + 2 * COMMITS
        java.run("rename", "v", "w")
        catalog.rename_view((database, "w"), name)
        java.run("load", "v")
        java.run("drop", "v")
        assert not catalog.view_exists(name)


def test_client_of_hive_2_cannot_use_hive_4(metastore: MetastoreProcess, database: str) -> None:
    """Spark's jars have Hive's client 2.3.10, which calls `get_table`; Hive 4 removed it."""
    with (
        java_writer(metastore, database, "2.3.10") as java,
        pytest.raises(RuntimeError, match="Invalid method name: 'get_table'"),
    ):
        java.run("load", "v")
