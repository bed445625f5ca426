"""The metastore of a container: a release on a database, as the environment says, at port 9083.

| variable | default | meaning |
|---|---|---|
| HIVE_VIEWS_METASTORE_VERSION | 4.0.1 | 2.3.10 (on Derby only), 3.1.3, 4.0.1 |
| HIVE_VIEWS_METASTORE_DIRECTORY | /data | its log, and Derby's data |
| HIVE_VIEWS_WAREHOUSE | file:///warehouse | where databases without a location keep their files |
| HIVE_VIEWS_DATABASE | derby | `derby`, `postgresql`, `mariadb` or `mysql` |
| HIVE_VIEWS_DATABASE_HOST, HIVE_VIEWS_DATABASE_PORT | database, its own | where the database is; it is waited for |
| HIVE_VIEWS_DATABASE_NAME, HIVE_VIEWS_DATABASE_USER | hive, hive | which database, and who connects |
| HIVE_VIEWS_DATABASE_PASSWORD_FILE | | its password; or HIVE_VIEWS_DATABASE_PASSWORD, for all to see |

hive_views' metastores listen on the loopback address; socat hands on to it what comes from other containers.
`--check` asks a running one for its databases, and fails where it gives no answer.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from socket import create_connection
from types import FrameType
from typing import NoReturn

from hive_views.errors import HiveViewsError
from hive_views.local_metastore.distributions import DEFAULT
from hive_views.local_metastore.embedded import EMBEDDED_VERSION, EmbeddedMetastore
from hive_views.local_metastore.process import MetastoreProcess, is_ready
from hive_views.local_metastore.standalone import Database, StandaloneMetastore

PORT = 9083
"""Where the container is reached."""

INNER_PORT = 9084
"""Where the metastore listens, on the loopback address."""

PORTS = {"postgresql": 5432, "mysql": 3306}
"""The ports of the databases."""

WAIT_S = 120.0
"""How long the database is waited for, in seconds."""

START_S = 300.0
"""How long the metastore is waited for, in seconds; a first start makes its schema."""


class SettingError(Exception):
    """The environment asks for something that cannot be had."""


def setting(name: str, default: str) -> str:
    """A variable of the environment; the default where it is empty, too, as compose makes those that are not set."""
    return os.environ.get(f"HIVE_VIEWS_{name}") or default


def read_password() -> str:
    """The database's password. It does not stay in the environment, which the JVM inherits."""
    given = os.environ.pop("HIVE_VIEWS_DATABASE_PASSWORD", "")
    file = setting("DATABASE_PASSWORD_FILE", "")
    try:
        password = Path(file).read_text(encoding="utf-8").rstrip("\n") if file else given
    except OSError as error:
        raise SettingError(f"HIVE_VIEWS_DATABASE_PASSWORD_FILE cannot be read: {error}") from error
    if not password:
        raise SettingError("no password: set HIVE_VIEWS_DATABASE_PASSWORD_FILE, or HIVE_VIEWS_DATABASE_PASSWORD")
    return password


def find_database() -> Database | None:
    """The database that the environment names; None for Derby."""
    named = setting("DATABASE", "derby")
    kind = "mysql" if named == "mariadb" else named
    if kind == "derby":
        return None
    if kind not in PORTS:
        raise SettingError(f"HIVE_VIEWS_DATABASE is {named!r}; it must be derby, postgresql, mariadb or mysql")
    port = setting("DATABASE_PORT", str(PORTS[kind]))
    if not port.isdecimal():
        raise SettingError(f"HIVE_VIEWS_DATABASE_PORT is {port!r}, not a number")
    return Database(
        kind=kind,
        port=int(port),
        name=setting("DATABASE_NAME", "hive"),
        user=setting("DATABASE_USER", "hive"),
        password=read_password(),
        host=setting("DATABASE_HOST", "database"),
    )


def find_metastore(version: str, database: Database | None) -> MetastoreProcess:
    """The metastore to start."""
    directory = setting("METASTORE_DIRECTORY", "/data")
    warehouse = setting("WAREHOUSE", "file:///warehouse")
    if version != EMBEDDED_VERSION:
        properties = {"metastore.warehouse.dir": warehouse}
        cache = setting("CACHE", "/opt/hive-views/cache")
        return StandaloneMetastore(
            directory, version=version, database=database, port=INNER_PORT, cache=cache, properties=properties
        )
    if database is not None:
        raise SettingError(
            f"Hive {EMBEDDED_VERSION} comes out of PySpark's jars, without the scripts that make another database's "
            f"schema: it runs on Derby only. Choose another HIVE_VIEWS_METASTORE_VERSION, or HIVE_VIEWS_DATABASE=derby"
        )
    return EmbeddedMetastore(directory, port=INNER_PORT, properties={"hive.metastore.warehouse.dir": warehouse})


def wait_for(database: Database) -> None:
    """Wait until the database accepts connections."""
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            with create_connection((database.host, database.port), 5):
                return
        except OSError as error:
            if time.monotonic() > deadline:
                raise SettingError(f"no database at {database.host}:{database.port}: {error}") from error
            time.sleep(0.2)


def serve() -> None:
    """Run until the container is stopped, or a part of it ends by itself."""
    version = setting("METASTORE_VERSION", DEFAULT)
    database = find_database()
    metastore = find_metastore(version, database)
    if database is not None:
        wait_for(database)
    with ExitStack() as stack:
        log = Path(metastore.log_path)
        log.parent.mkdir(parents=True, exist_ok=True)
        log.touch()
        # What `docker logs` shows.
        show = subprocess.Popen(["tail", "-n", "0", "-F", str(log)], stdout=sys.stderr, stderr=subprocess.DEVNULL)
        stack.callback(show.terminate)
        metastore.start(START_S)
        stack.callback(metastore.stop)
        forward = subprocess.Popen(
            ["socat", f"TCP-LISTEN:{PORT},fork,reuseaddr,nodelay,keepalive", f"TCP:127.0.0.1:{INNER_PORT},nodelay"]
        )
        stack.callback(forward.terminate)
        print(f"Hive Metastore {version} on {database.kind if database else 'derby'} at port {PORT}", flush=True)
        while metastore.running and forward.poll() is None:
            time.sleep(0.2)
        raise SettingError("the metastore has ended" if not metastore.running else "socat has ended")


def end(number: int, frame: FrameType | None) -> NoReturn:
    """Leave by the way that stops everything."""
    raise SystemExit(0)


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.exit(not is_ready(PORT))
    signal.signal(signal.SIGTERM, end)
    try:
        serve()
    except (SettingError, HiveViewsError) as problem:
        sys.exit(f"hive-views metastore: {problem}")
