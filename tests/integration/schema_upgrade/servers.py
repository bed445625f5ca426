"""Real database servers in temporary directories, on free loopback ports, run by an unprivileged user."""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from hive_views.local_metastore.gateway import LOOPBACK
from hive_views.local_metastore.standalone import free_port

PASSWORD = "an-open-secret"
"""The password of the user `hive` of these servers."""

_START_TIMEOUT_S = 120
_ATTEMPTS = 4
_READY = re.compile(rb"database system is ready to accept connections|ready for connections")
"""Log lines of started PostgreSQL and MariaDB servers; a connection test alone could reach another program."""


@dataclass(frozen=True)
class Server:
    """A database server."""

    kind: str
    """`mysql` or `postgresql`."""
    port: int
    directory: Path

    def url(self, database: str) -> str:
        return f"{self.kind}://{LOOPBACK}:{self.port}/{database}"

    def jdbc_url(self, database: str, *, old_driver: bool = False) -> str:
        """The JDBC URL for Hive; `old_driver` for the MySQL driver that Hive 2.3 and 3.1 need."""
        if self.kind == "postgresql":
            return f"jdbc:postgresql://{LOOPBACK}:{self.port}/{database}"
        if old_driver:
            return f"jdbc:mysql://{LOOPBACK}:{self.port}/{database}?useSSL=false&allowPublicKeyRetrieval=true"
        return f"jdbc:mariadb://{LOOPBACK}:{self.port}/{database}"

    def run(self, sql: str, database: str | None = None) -> str:
        """Run statements or a script with the client of the database."""
        if self.kind == "postgresql":
            command = ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", LOOPBACK, "-p", str(self.port)]
            command += ["-U", "hive", database or "postgres"]
        else:
            command = ["mariadb", "--no-defaults", "-u", "hive", "-h", LOOPBACK, "-P", str(self.port)]
            command += ["--skip-column-names", "--batch", "--default-character-set=utf8mb4"]
            command += [database] if database else []
        environment = {
            **os.environ,
            "PGPASSWORD": PASSWORD,
            "MYSQL_PWD": PASSWORD,
            "PGOPTIONS": "-c client_min_messages=error",
        }
        done = subprocess.run(
            command, input=sql, text=True, errors="replace", capture_output=True, env=environment, timeout=300
        )
        assert done.returncode == 0, f"{done.stderr}\n{done.stdout[-2000:]}"
        return done.stdout

    def dump(self, database: str, *options: str) -> str:
        """Dump a database as a script."""
        if self.kind == "postgresql":
            command = [_postgresql_tool("pg_dump") or "", "-h", LOOPBACK, "-p", str(self.port), "-U", "hive"]
        else:
            command = ["mariadb-dump", "--no-defaults", "-u", "hive", "-h", LOOPBACK, "-P", str(self.port)]
            command += ["--default-character-set=utf8mb4", "--skip-lock-tables", "--skip-comments"]
        command += [*options, database]
        environment = {**os.environ, "MYSQL_PWD": PASSWORD, "PGPASSWORD": PASSWORD}
        done = subprocess.run(command, text=True, capture_output=True, env=environment, timeout=300, check=True)
        return done.stdout

    def create(self, database: str) -> None:
        if self.kind == "postgresql":
            self.run(f'CREATE DATABASE "{database}"')
        else:
            # Hive's keys are too long for other character sets.
            self.run(f"CREATE DATABASE `{database}` CHARACTER SET latin1 COLLATE latin1_bin")

    def drop(self, database: str) -> None:
        if self.kind == "postgresql":
            self.run(f'DROP DATABASE "{database}" WITH (FORCE)')
        else:
            self.run(f"DROP DATABASE `{database}`")


def _user(*names: str) -> str | None:
    """An unprivileged user if this process is root, else None."""
    if os.geteuid() != 0:
        return None
    for name in (*names, "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    return None


def _directory(owner: str | None, parent: Path | None = None) -> Path:
    path = Path(tempfile.mkdtemp(prefix="hive-views-db-", dir=parent))
    if owner:
        shutil.chown(path, owner)
    return path


def _run_as(owner: str | None, command: list[str]) -> list[str]:
    return ["runuser", "-u", owner, "--", *command] if owner else command


def _start(command: Callable[[int], list[str]], home: Path) -> tuple[subprocess.Popen[bytes], int]:
    """Start a server on a free port; try another port if the port is taken meanwhile."""
    log = home / "log"
    for _ in range(_ATTEMPTS):
        port = free_port()
        with log.open("wb") as out:
            process = subprocess.Popen(
                command(port), stdout=out, stderr=out, stdin=subprocess.DEVNULL, cwd=home, start_new_session=True
            )
        deadline = time.monotonic() + _START_TIMEOUT_S
        while time.monotonic() < deadline and process.poll() is None:
            if _READY.search(log.read_bytes()):
                return process, port
            time.sleep(0.05)
        if process.poll() is None:
            process.kill()
            process.wait()
    raise AssertionError(f"the server does not start:\n{log.read_text(errors='replace')[-3000:]}")


def missing(kind: str) -> str | None:
    """The missing package of a server, for the reason of skipped tests."""
    if kind == "postgresql" and (_postgresql_tool("initdb") is None or shutil.which("psql") is None):
        return "PostgreSQL (Debian: apt-get install postgresql)"
    if kind == "mysql" and (_mariadbd() is None or shutil.which("mariadb") is None):
        return "MariaDB (Debian: apt-get install mariadb-server-core mariadb-client-core)"
    return None


def _postgresql_tool(name: str) -> str | None:
    paths = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3]))
    return str(paths[-1]) if paths else shutil.which(name)


def _mariadbd() -> str | None:
    return shutil.which("mariadbd") or ("/usr/sbin/mariadbd" if Path("/usr/sbin/mariadbd").exists() else None)


@contextlib.contextmanager
def postgresql() -> Iterator[Server]:
    if reason := missing("postgresql"):
        pytest.skip(f"needs {reason}")
    owner = _user("postgres")
    home = _directory(owner)
    secret = home / "password"
    secret.write_text(PASSWORD)
    secret.chmod(0o644)
    initdb, postgres = _postgresql_tool("initdb"), _postgresql_tool("postgres")
    assert initdb and postgres
    subprocess.run(
        _run_as(owner, [initdb, "-D", f"{home}/data", "-U", "hive", f"--pwfile={secret}", "-A", "scram-sha-256",
                    "-E", "UTF8", "--locale=C", "--no-sync"]),
        check=True, capture_output=True, cwd=home,
    )  # fmt: skip
    options = {
        "listen_addresses": LOOPBACK,
        "unix_socket_directories": "",
        "max_connections": 60,
        "max_prepared_transactions": 4,
        "fsync": "off",
        "full_page_writes": "off",
        "shared_buffers": "64MB",
        "lc_messages": "C",
    }

    def command(port: int) -> list[str]:
        words = [postgres, "-D", f"{home}/data", "-c", f"port={port}"]
        for key, value in options.items():
            words += ["-c", f"{key}={value}"]
        return _run_as(owner, words)

    process, port = _start(command, home)
    try:
        server = Server("postgresql", port, home)
        _wait_until_ready(server)
        yield server
    finally:
        # runuser forwards the signal, which requests a fast shutdown.
        _stop(process, signal.SIGINT, home / "data" / "postmaster.pid")
        shutil.rmtree(home, ignore_errors=True)


@contextlib.contextmanager
def mariadb(*options: str, directory: Path | None = None) -> Iterator[Server]:
    """MariaDB with further options, in a new directory below the given one."""
    if reason := missing("mysql"):
        pytest.skip(f"needs {reason}")
    owner = _user("mysql")
    home = _directory(owner, directory)
    user = [f"--user={owner}"] if owner else []
    for name in ("data", "tmp"):
        (home / name).mkdir()
        if owner:
            shutil.chown(home / name, owner)
    subprocess.run(
        ["mariadb-install-db", "--no-defaults", *user, f"--datadir={home}/data", f"--tmpdir={home}/tmp",
         "--auth-root-authentication-method=normal", "--skip-test-db"],
        check=True, capture_output=True, cwd=home,
    )  # fmt: skip
    first = home / "users.sql"
    first.write_text(
        f"CREATE USER hive@'%' IDENTIFIED BY '{PASSWORD}';\nGRANT ALL ON *.* TO hive@'%' WITH GRANT OPTION;\n"
        "DROP USER root@localhost;\n"
    )
    first.chmod(0o644)
    server_program = _mariadbd()
    assert server_program

    def command(port: int) -> list[str]:
        # With innodb-flush-log-at-trx-commit=0 a killed server loses what it committed during the last second.
        return [
            server_program, "--no-defaults", *user, f"--datadir={home}/data", f"--tmpdir={home}/tmp", f"--port={port}",
            f"--bind-address={LOOPBACK}", f"--socket={home}/tmp/s", f"--pid-file={home}/tmp/pid",
            "--max-connections=60", "--skip-name-resolve", f"--init-file={first}", *(options or ("--skip-log-bin",)),
            "--innodb-flush-method=nosync",
            "--innodb-flush-log-at-trx-commit=1", "--innodb-doublewrite=0", "--innodb-buffer-pool-size=128M",
            "--character-set-server=latin1", "--collation-server=latin1_swedish_ci",
        ]  # fmt: skip

    process, port = _start(command, home)
    try:
        server = Server("mysql", port, home)
        _wait_until_ready(server)
        yield server
    finally:
        _stop(process, signal.SIGTERM, None)
        shutil.rmtree(home, ignore_errors=True)


def _wait_until_ready(server: Server) -> None:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while True:
        try:
            server.run("SELECT 1;")
        except AssertionError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return


def _stop(process: subprocess.Popen[bytes], number: int, pid_file: Path | None) -> None:
    if process.poll() is not None:
        return
    if pid_file is not None and pid_file.exists():
        os.kill(int(pid_file.read_text().split()[0]), number)
    else:
        process.send_signal(number)
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
