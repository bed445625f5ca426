"""What HDFS refuses, and a NameNode that does not answer: a clear error in bounded time, and nothing lost."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from typer.testing import CliRunner

from hive_views import HiveViewCatalog
from hive_views.cli.app import app
from hive_views.cli.exit_codes import ExitCode
from hive_views.errors import HiveViewsError, MetadataFileError, MetadataWriteError
from hive_views.metastore._thrift.hive_metastore.ttypes import Database
from tests.integration.hdfs.cluster import Hdfs
from tests.integration.hdfs.test_storages import SALES, sales
from tests.integration.materialized.duck_engine import DuckEngine

TIMEOUT_S = 2.0
BOUND_S = 20.0
"""How long an operation may take if each request takes `TIMEOUT_S`."""

REFUSED = (HiveViewsError, OSError)
"""What operations raise: those of PyIceberg's tables the error of the storage itself."""

Operation = Callable[[HiveViewCatalog, str], object]

WRITES: dict[str, Operation] = {
    "create": lambda catalog, database: catalog.create_view_from_sql(f"{database}.new", "SELECT 1 AS a"),
    "replace": lambda catalog, database: catalog.replace_view_from_sql(f"{database}.v", "SELECT 2 AS b"),
    "properties": lambda catalog, database: (
        catalog.load_view(f"{database}.v").update().set_properties({"a": "b"}).commit()
    ),
    "create table": lambda catalog, database: catalog.create_table(f"{database}.new", SALES),
    "append": lambda catalog, database: catalog.load_table(f"{database}.sales").append(sales((2, "b"))),
    "create materialized": lambda catalog, database: catalog.materialized.create(
        f"{database}.new", "SELECT id FROM sales", database=database, layout="attached"
    ),
    "refresh": lambda catalog, database: catalog.materialized.load(f"{database}.mv").refresh(DuckEngine(catalog)),
}
"""Operations that write files."""


@pytest.fixture
def filled(open_catalog, raw, cluster: Hdfs, database: str) -> str:
    """The database, in a directory that only its owner may write to, with a view, a table and a materialized view."""
    raw.drop_database(database, True, True)
    raw.create_database(Database(name=database, locationUri=f"{cluster.uri}/warehouse/{database}.db"))
    cluster.set_mode(f"/warehouse/{database}.db", "755")
    catalog = open_catalog()
    catalog.create_view_from_sql(f"{database}.v", "SELECT 1 AS a")
    catalog.create_table(f"{database}.sales", SALES).append(sales((1, "a")))
    catalog.materialized.create(f"{database}.mv", "SELECT id FROM sales", database=database)
    return database


@pytest.fixture
def state(raw, cluster: Hdfs, filled: str) -> Callable[[], tuple[dict[str, str], set[str]]]:
    """The rows and files of the database."""
    return lambda: (
        {name: str(raw.get_table(filled, name)) for name in raw.get_all_tables(filled)},
        cluster.files(f"/warehouse/{filled}.db"),
    )


@contextmanager
def bounded() -> Iterator[None]:
    started = time.monotonic()
    yield
    assert time.monotonic() - started < BOUND_S


@pytest.mark.parametrize("operation", WRITES)
def test_denied_write_changes_nothing(open_catalog, monkeypatch, state, filled, operation):
    before = state()
    monkeypatch.setenv("HADOOP_USER_NAME", "ann")
    with pytest.raises(REFUSED, match=r"Permission denied: user=ann, access=WRITE, inode=") as caught:
        WRITES[operation](open_catalog(), filled)
    assert "\tat " not in str(caught.value) and "RPCError" not in str(caught.value)
    assert state() == before


def test_denied_read_names_the_user(open_catalog, monkeypatch, cluster, filled):
    cluster.set_mode(f"/warehouse/{filled}.db", "700")
    monkeypatch.setenv("HADOOP_USER_NAME", "ann")
    with pytest.raises(MetadataFileError, match="Permission denied: user=ann, access=EXECUTE"):
        open_catalog().load_view(f"{filled}.v")
    with pytest.raises(PermissionError, match="Permission denied: user=ann, access=EXECUTE"):
        open_catalog().load_table(f"{filled}.sales")


def test_denied_purge_drops_the_view_and_names_its_files(open_catalog, monkeypatch, raw, cluster, state, filled):
    _, files = state()
    monkeypatch.setenv("HADOOP_USER_NAME", "ann")
    [step] = open_catalog().drop_view(f"{filled}.v", purge_files=True).steps
    [remaining] = step.remaining_files
    assert remaining.startswith(f"{cluster.uri}/warehouse/{filled}.db/v/metadata/")
    assert state()[1] == files and "v" not in raw.get_all_tables(filled)


def test_command_reports_the_denial(monkeypatch, metastore, state, filled):
    before = state()
    monkeypatch.setenv("HADOOP_USER_NAME", "ann")
    done = CliRunner().invoke(app, ["--uri", metastore.uri, "create", f"{filled}.new", "--sql", "SELECT 1 AS a"])
    assert done.exit_code == ExitCode.FAILED, done.stderr
    assert "Permission denied: user=ann, access=WRITE" in done.stderr and "was not changed" in done.stderr
    assert state() == before


@pytest.mark.parametrize("operation", WRITES)
def test_safe_mode_changes_nothing(open_catalog, cluster, state, filled, operation):
    before = state()
    catalog = open_catalog()
    with cluster.safe_mode(), pytest.raises(REFUSED, match=r"SafeModeException: .*is in safe mode") as caught:
        WRITES[operation](catalog, filled)
    assert "\tat " not in str(caught.value)
    assert state() == before
    WRITES[operation](catalog, filled)


def test_view_is_read_in_safe_mode(open_catalog, cluster, filled):
    with cluster.safe_mode():
        assert open_catalog().load_view(f"{filled}.v").original_text == "SELECT 1 AS a"


@pytest.mark.parametrize("operation", ["create", "replace", "append"])
def test_hanging_namenode_is_waited_for_in_bounded_time(open_catalog, cluster, state, filled, operation):
    rows, files = state()
    catalog = open_catalog({"hdfs.request-timeout": str(TIMEOUT_S)})
    with cluster.stopped(), bounded(), pytest.raises(REFUSED, match="did not answer within 2 s"):
        WRITES[operation](catalog, filled)
    after_rows, after_files = state()
    assert after_rows == rows and after_files >= files
    WRITES[operation](open_catalog(), filled)


def test_hanging_namenode_delays_one_read(open_catalog, cluster, filled):
    catalog = open_catalog({"hdfs.request-timeout": str(TIMEOUT_S)})
    with cluster.stopped(), bounded():
        for _ in range(10):
            with pytest.raises(MetadataFileError, match="did not answer"):
                catalog.load_view(f"{filled}.v")
    assert open_catalog().load_view(f"{filled}.v").original_text == "SELECT 1 AS a"


def test_namenode_that_hangs_during_a_write(open_catalog, cluster, state, filled):
    """The file is created, and its content is not acknowledged: the outcome of the write is unknown, so it stays."""
    rows, files = state()
    catalog = open_catalog({"hdfs.request-timeout": str(TIMEOUT_S)})
    location = f"{cluster.uri}/warehouse/{filled}.db/v/metadata/late.metadata.json"
    view = catalog.load_view(f"{filled}.v")
    stream = catalog.store.files.io(location).new_output(location).create(overwrite=True)
    stream.write(b"{")
    with cluster.stopped(), bounded(), pytest.raises(TimeoutError):
        stream.close()
    assert state()[0] == rows and state()[1] >= files
    assert catalog.load_view(f"{filled}.v") == view


def test_unreachable_namenode_is_reported(open_catalog, raw, database):
    raw.drop_database(database, True, True)
    raw.create_database(Database(name=database))
    with pytest.raises(MetadataWriteError, match=r"hdfs://localhost:1: Connection refused"):
        open_catalog().create_view_from_sql(f"{database}.v", "SELECT 1 AS a", location="hdfs://localhost:1/w/v")
    assert raw.get_all_tables(database) == []


def test_interrupt_ends_the_wait(cluster, filled):
    """Ctrl-C while a NameNode hangs: neither the wait nor the end of the program is delayed."""
    program = (
        "import sys\nfrom hive_views.io.metadata_files import MetadataFiles\nfiles = MetadataFiles({})\n"
        "files.io(sys.argv[1])\nprint('ready', flush=True)\nfiles.exists(sys.argv[1])\n"
    )
    words = [sys.executable, "-c", program, f"{cluster.uri}/warehouse"]
    with cluster.stopped(), subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=BOUND_S)
    assert b"KeyboardInterrupt" in errors
