"""The embedded metastore: real JVMs, real kills."""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import hive_views
from hive_views.errors import INSTALL_SPARK, EmbeddedMetastoreError
from hive_views.local_metastore.directory import LOG_LIMIT_BYTES, MetastoreDirectory
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.local_metastore.process import running_metastore, stop_metastore
from hive_views.metastore._thrift.hive_metastore.ttypes import (
    CheckLockRequest,
    Database,
    DataOperationType,
    EnvironmentContext,
    FieldSchema,
    HeartbeatRequest,
    LockComponent,
    LockLevel,
    LockRequest,
    LockState,
    LockType,
    MetaException,
    NoSuchLockException,
    NoSuchObjectException,
    SerDeInfo,
    ShowLocksRequest,
    StorageDescriptor,
    Table,
    UnlockRequest,
)
from tests.integration.metastore.rpc import connect

REPOSITORY = Path(hive_views.__file__).parent.parent


def view(database: str, name: str, **parameters: str) -> Table:
    """A row such as a view has."""
    return Table(
        dbName=database,
        tableName=name,
        tableType="VIRTUAL_VIEW",
        parameters=parameters,
        sd=StorageDescriptor(cols=[FieldSchema("a", "int")], serdeInfo=SerDeInfo()),
        viewOriginalText="select 1 a",
        viewExpandedText="select 1 a",
    )


def expecting(key: str, value: str) -> EnvironmentContext:
    """What a compare-and-swap sends along (HIVE-26882)."""
    return EnvironmentContext({"expected_parameter_key": key, "expected_parameter_value": value})


def exclusive(database: str, table: str) -> LockRequest:
    """A request as Iceberg's Java catalog sends it."""
    component = LockComponent(
        LockType.EXCLUSIVE, LockLevel.TABLE, database, table, operationType=DataOperationType.NO_TXN
    )
    return LockRequest(component=[component], user="tester", hostname="here", agentInfo="test")


def until(happened: Callable[[], bool], what: str, timeout_s: float = 30.0) -> None:
    """Wait for something that comes by itself."""
    deadline = time.monotonic() + timeout_s
    while not happened():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def alive(pid: int) -> bool:
    """Whether a process runs (and is no zombie)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def listening(pid: int) -> list[tuple[str, int]]:
    """Return the addresses and ports that a process listens on, as the kernel lists them."""
    held = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        try:
            held.add(str(descriptor.readlink()))
        except FileNotFoundError:
            continue
    addresses = []
    for family in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{family}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in held:
                address, _, port = fields[1].rpartition(":")
                addresses.append((address, int(port, 16)))
    return addresses


class LogKeeper(logging.Handler):
    """Keeps all that Py4J logs, down to DEBUG."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())

    def __enter__(self) -> LogKeeper:
        self.logger = logging.getLogger("py4j")
        self.level = self.logger.level
        self.logger.setLevel(logging.DEBUG)
        self.logger.addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        self.logger.removeHandler(self)
        self.logger.setLevel(self.level)


@pytest.fixture(scope="module")
def log_of_start() -> LogKeeper:
    """What was logged while `quick` started."""
    return LogKeeper()


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory, log_of_start: LogKeeper) -> Iterator[EmbeddedMetastore]:
    """A metastore of this module's own, on a fresh directory, that removes abandoned locks after a second."""
    metastore = EmbeddedMetastore(tmp_path_factory.mktemp("quick"), txn_timeout_s=1)
    with log_of_start:
        metastore.start()
    yield metastore
    metastore.stop()


# -- What it is -------------------------------------------------------------------------------------------------------


def test_is_ready_when_started(quick: EmbeddedMetastore) -> None:
    with connect(quick.port) as client:
        assert client.get_all_databases() == ["default"]
        assert urlsplit(client.get_database("default").locationUri).path == urlsplit(quick.warehouse).path
        assert client.get_config_value("hive.txn.timeout", "") == "1000ms"
        assert client.set_ugi("somebody", ["group"]) == ["group"]
    assert quick.running
    assert quick.uri == f"thrift://127.0.0.1:{quick.port}"
    assert alive(quick.pid)
    assert Path(quick.log_path).exists()
    assert quick.warehouse.startswith("file:///")
    record = running_metastore(quick.directory)
    assert record is not None
    assert (record.pid, record.uri, record.detached) == (quick.pid, quick.uri, False)


def test_listens_on_the_loopback_address_and_nowhere_else(quick: EmbeddedMetastore) -> None:
    # One socket: the gateway that started it, through which any code could be run, is closed.
    assert listening(quick.pid) == [("0100007F", quick.port)]


def test_gateway_token_is_not_logged(quick: EmbeddedMetastore, log_of_start: LogKeeper) -> None:
    sent = [message for message in log_of_start.messages if message.startswith("Command to send: ")]
    assert any("TxnDbUtil" in message for message in sent)
    # Py4J's authentication command is the letter A and the token.
    assert not [message for message in sent if message.startswith("Command to send: A\n")]


def test_serves_many_connections_at_once(quick: EmbeddedMetastore) -> None:
    count = 60
    together = threading.Barrier(count, timeout=60)
    answers: list[list[str]] = []

    def ask() -> None:
        with connect(quick.port) as client:
            client.get_all_databases()
            together.wait()
            answers.append(client.get_all_databases())

    threads = [threading.Thread(target=ask) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert answers == [["default"]] * count


def test_long_messages_are_transferred(quick: EmbeddedMetastore) -> None:
    text = "x" * 15_000_000
    with connect(quick.port) as client:
        assert client.get_config_value("hive.no.such.value", text) == text


# -- Compare-and-swap and locks, from the first start -----------------------------------------------------------------


def test_compare_and_swap(quick: EmbeddedMetastore) -> None:
    with connect(quick.port) as client:
        client.create_table(view("default", "swapped", metadata_location="one"))
        changed = view("default", "swapped", metadata_location="two")
        client.alter_table_with_environment_context(
            "default", "swapped", changed, expecting("metadata_location", "one")
        )
        lost = view("default", "swapped", metadata_location="three")
        with pytest.raises(MetaException, match="The table has been modified"):
            client.alter_table_with_environment_context(
                "default", "swapped", lost, expecting("metadata_location", "one")
            )
        assert client.get_table("default", "swapped").parameters["metadata_location"] == "two"


def test_concurrent_compare_and_swap_loses_no_update(quick: EmbeddedMetastore) -> None:
    clients, each = 6, 10
    with connect(quick.port) as client:
        client.create_table(view("default", "counter", n="0"))

    def count_up() -> None:
        with connect(quick.port, timeout_s=120) as client:
            for _ in range(each):
                while True:
                    before = client.get_table("default", "counter").parameters["n"]
                    after = view("default", "counter", n=str(int(before) + 1))
                    try:
                        client.alter_table_with_environment_context("default", "counter", after, expecting("n", before))
                    except MetaException as error:
                        assert "The table has been modified" in error.message
                        continue
                    break

    threads = [threading.Thread(target=count_up) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    with connect(quick.port) as client:
        assert client.get_table("default", "counter").parameters["n"] == str(clients * each)


def test_locks_exclude_each_other(quick: EmbeddedMetastore) -> None:
    with connect(quick.port) as client:
        held = client.lock(exclusive("default", "locked"))
        waiting = client.lock(exclusive("default", "locked"))
        other = client.lock(exclusive("default", "another"))
        assert [lock.state for lock in (held, waiting, other)] == [
            LockState.ACQUIRED,
            LockState.WAITING,
            LockState.ACQUIRED,
        ]
        client.unlock(UnlockRequest(held.lockid))
        assert client.check_lock(CheckLockRequest(waiting.lockid)).state == LockState.ACQUIRED
        for lock in (waiting, other):
            client.unlock(UnlockRequest(lock.lockid))
        assert client.show_locks(ShowLocksRequest()).locks == []


def test_lock_expires_without_heartbeat(quick: EmbeddedMetastore) -> None:
    with connect(quick.port) as client:
        with connect(quick.port) as leaving:
            abandoned = leaving.lock(exclusive("default", "abandoned"))
            kept = leaving.lock(exclusive("default", "kept"))
        waiting = client.lock(exclusive("default", "abandoned"))
        assert waiting.state == LockState.WAITING

        def acquired() -> bool:
            client.heartbeat(HeartbeatRequest(lockid=kept.lockid))
            return bool(client.check_lock(CheckLockRequest(waiting.lockid)).state == LockState.ACQUIRED)

        until(acquired, "the abandoned lock is still there")
        with pytest.raises(NoSuchLockException):
            client.heartbeat(HeartbeatRequest(lockid=abandoned.lockid))
        client.heartbeat(HeartbeatRequest(lockid=kept.lockid))
        for lock in (waiting, kept):
            client.unlock(UnlockRequest(lock.lockid))


# -- Start, stop, kill, start again -----------------------------------------------------------------------------------


def test_restart_after_stop_or_kill_keeps_data(tmp_path: Path) -> None:
    directory = tmp_path / "a dir;create=false & more"
    metastore = EmbeddedMetastore(directory, properties={"hive.metastore.try.direct.sql": "false"})
    with pytest.raises(EmbeddedMetastoreError, match="not running"):
        _ = metastore.uri
    with metastore:
        first = metastore.pid
        with connect(metastore.port) as client:
            client.create_database(Database(name="kept"))
            assert client.get_config_value("hive.metastore.try.direct.sql", "") == "false"
        with pytest.raises(EmbeddedMetastoreError, match="running already"):
            metastore.start()
    assert not alive(first)
    assert running_metastore(directory) is None
    metastore.stop()

    port = metastore.start().port
    with connect(port) as client:
        client.create_table(view("kept", "v", written="before the kill"))
    os.kill(metastore.pid, signal.SIGKILL)
    until(lambda: not metastore.running, "it does not die")
    with pytest.raises(EmbeddedMetastoreError, match="ended unexpectedly"):
        _ = metastore.uri
    assert running_metastore(directory) is None

    with EmbeddedMetastore(directory, port=port) as again, connect(again.port) as client:
        assert again.port == port
        assert client.get_table("kept", "v").parameters["written"] == "before the kill"
        with pytest.raises(NoSuchObjectException):
            client.get_table("kept", "absent")


def test_directory_in_use_is_rejected(quick: EmbeddedMetastore) -> None:
    with pytest.raises(EmbeddedMetastoreError) as caught:
        EmbeddedMetastore(quick.directory).start()
    assert f"in use by process {quick.pid} at {quick.uri}" in str(caught.value)
    assert caught.value.directory == quick.directory
    with connect(quick.port) as client:
        assert "default" in client.get_all_databases()


def test_metastore_ends_when_parent_is_killed(tmp_path: Path) -> None:
    program = textwrap.dedent(
        """
        import sys, time
        from hive_views.local_metastore.embedded import EmbeddedMetastore
        with EmbeddedMetastore(sys.argv[1]) as metastore:
            print(metastore.pid, flush=True)
            time.sleep(600)
        """
    )
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert alive(pid)
        parent.kill()
    until(lambda: not alive(pid) and running_metastore(tmp_path) is None, "its JVM still runs")


def test_detached_metastore_outlives_parent_and_can_be_stopped(tmp_path: Path) -> None:
    program = textwrap.dedent(
        """
        import sys
        from hive_views.local_metastore.embedded import EmbeddedMetastore
        EmbeddedMetastore(sys.argv[1], detached=True).start()
        """
    )
    # Its output is not ours to wait for: a detached JVM must not hold the pipes of its starter.
    subprocess.run([sys.executable, "-W", "ignore", "-c", program, str(tmp_path)], check=True, capture_output=True)
    record = running_metastore(tmp_path)
    assert record is not None
    assert record.detached
    assert record.uri is not None
    with connect(int(record.uri.rpartition(":")[2])) as client:
        assert client.get_all_databases() == ["default"]
    assert stop_metastore(tmp_path) == record
    assert not alive(record.pid)
    assert stop_metastore(tmp_path) is None
    assert "Exception in thread" not in (tmp_path / "metastore.log").read_text()


def test_stop_does_not_signal_other_process(tmp_path: Path) -> None:
    directory = MetastoreDirectory(tmp_path)
    directory.create()
    lock = directory.acquire()
    with subprocess.Popen(["sleep", "600"]) as innocent:
        try:
            directory.write_record(innocent.pid, None, detached=False)
            with pytest.raises(EmbeddedMetastoreError, match="nothing was stopped"):
                stop_metastore(tmp_path)
            assert innocent.poll() is None
        finally:
            innocent.kill()
            os.close(lock)
    assert stop_metastore(tmp_path) is None


def test_interrupted_first_start_can_be_repeated(tmp_path: Path) -> None:
    metastore = EmbeddedMetastore(tmp_path)
    with pytest.raises(EmbeddedMetastoreError, match="in time"):
        metastore.start(timeout_s=0.01)
    assert running_metastore(tmp_path) is None
    # Derby killed while it makes a database leaves a folder that it cannot open.
    (tmp_path / "metastore_db").mkdir()
    with metastore, connect(metastore.port) as client:
        assert client.get_all_databases() == ["default"]


# -- What can be missing ----------------------------------------------------------------------------------------------


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_port_in_use_error_names_port(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(EmbeddedMetastoreError, match=f"port {port} of 127.0.0.1 is in use"):
            EmbeddedMetastore(tmp_path, port=port).start()
    assert running_metastore(tmp_path) is None


@pytest.mark.parametrize(
    ("java", "message"),
    [
        (None, "Java 11.0.2, which is too old. Install Java 17, e.g. `apt-get install openjdk-17-jre-headless`"),
        ("echo 'openjdk version \"1.8.0_312\"' >&2; exit 1", "Java 1.8.0_312, which is too old. Install Java 17"),
        ("exit 0", "prints no Java version. Install Java 17"),
    ],
    ids=["11", "8", "none"],
)
def test_old_java_is_rejected(tmp_path: Path, java: str | None, message: str) -> None:
    command = script(tmp_path / "java", java or "echo 'openjdk version \"11.0.2\" 2019' >&2; exit 1")
    with pytest.raises(EmbeddedMetastoreError) as caught:
        EmbeddedMetastore(tmp_path / "m", java=command).start()
    assert message in str(caught.value)
    assert running_metastore(tmp_path / "m") is None


def test_jvm_failure_shows_reason(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedMetastoreError, match="Invalid maximum heap size") as caught:
        EmbeddedMetastore(tmp_path, max_memory_mb=0).start()
    assert "Install" not in str(caught.value)


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"JAVA_HOME": "/no/such/java"}, "JAVA_HOME is '/no/such/java', which has no bin/java"),
        ({"PATH": "/no/such/path"}, "there is no Java. Install Java 17"),
    ],
)
def test_missing_java_error_names_location(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], message: str
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(EmbeddedMetastoreError) as caught:
        EmbeddedMetastore(tmp_path).start()
    assert message in str(caught.value)


def test_java_argument_is_used(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedMetastoreError, match="/no/such/java is not an executable command"):
        EmbeddedMetastore(tmp_path, java="/no/such/java").start()


@pytest.mark.parametrize(("absent", "message"), [("pyspark", "PySpark, whose jars"), ("py4j", "Py4J is missing")])
def test_missing_package_is_named(tmp_path: Path, absent: str, message: str) -> None:
    import pyspark

    packages = tmp_path / "packages"
    packages.mkdir()
    for each in Path(pyspark.__file__).parent.parent.iterdir():
        if not each.name.startswith((absent, "__")) and each.suffix != ".pth":
            (packages / each.name).symlink_to(each)
    program = textwrap.dedent(
        """
        import sys
        from hive_views.local_metastore.embedded import EmbeddedMetastore, EmbeddedMetastoreError
        try:
            EmbeddedMetastore(sys.argv[1]).start()
        except EmbeddedMetastoreError as error:
            print(error)
        """
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", program, str(tmp_path / "m")],
        env={**os.environ, "PYTHONPATH": f"{REPOSITORY}:{packages}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert message in done.stdout
    assert INSTALL_SPARK in done.stdout


def test_invalid_arguments_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedMetastoreError, match="70000 is not a port"):
        EmbeddedMetastore(tmp_path, port=70000)
    with pytest.raises(EmbeddedMetastoreError, match="at least 1"):
        EmbeddedMetastore(tmp_path, txn_timeout_s=0.5)


def test_import_is_light() -> None:
    program = (
        "import sys, hive_views.local_metastore.embedded; "
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not {"pyspark", "py4j", "pyarrow", "pandas"} & set(done.stdout.split())


# -- Its directory ----------------------------------------------------------------------------------------------------


def test_long_log_is_rotated(tmp_path: Path) -> None:
    directory = MetastoreDirectory(tmp_path)
    directory.create()
    directory.log.write_bytes(b"old\n" * (LOG_LIMIT_BYTES // 4))
    directory.create()
    assert directory.log.stat().st_size == LOG_LIMIT_BYTES
    with directory.log.open("ab") as log:
        log.write(b"one more\n")
    directory.create()
    assert not directory.log.exists()
    assert (tmp_path / "metastore.log.1").stat().st_size == LOG_LIMIT_BYTES + len("one more\n")


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (None, "does not name the process"),
        ("{", "cannot be read"),
        ('{"pid": 1}', "cannot be read"),
        ("[" * 60_000, "cannot be read"),
        *[
            (json.dumps({"pid": 1, "uri": None, "started_at": "now", "detached": True} | forged), "cannot be read")
            for forged in (
                {"pid": "1"},
                {"pid": -1},
                {"pid": True},
                {"uri": 7},
                {"uri": "thrift://127.0.0.1:x"},
                {"uri": "thrift://elsewhere:9083"},
                {"detached": "no"},
            )
        ],
    ],
)
def test_invalid_record_stops_nothing(tmp_path: Path, record: str | None, message: str) -> None:
    metastore_directory = MetastoreDirectory(tmp_path)
    metastore_directory.create()
    lock = metastore_directory.acquire()
    try:
        if record is not None:
            (tmp_path / "metastore.json").write_text(record)
        with pytest.raises(EmbeddedMetastoreError, match=message):
            stop_metastore(tmp_path)
    finally:
        os.close(lock)


def test_uncreatable_directory_raises(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EmbeddedMetastoreError, match="cannot create the directory"):
        EmbeddedMetastore(tmp_path / "file" / "m").start()
