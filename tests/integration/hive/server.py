"""HiveServer2 4.1.0, whose classes are in hive-jdbc's standalone JAR, where other packages than its own are relocated.

The names of classes in constant pools are put back, except for what hive-exec relocates in the same way.
`python -m tests.integration.hive.server` installs it (48 MB besides Hive itself).
"""

from __future__ import annotations

import re
import socket
import struct
import subprocess
import time
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.integration.hive.reader import HOME, VERSION, install, java_options, settings

_ARTIFACTS = (
    f"org.apache.hive:hive-jdbc:{VERSION}:jar:standalone",
    "com.lmax:disruptor:3.4.4",
    "org.mortbay.jasper:apache-jsp:9.0.52",
)
_CLASSES = re.compile(r"org/apache/hive/(service/(?!rpc/)|http/|hplsql/)")
"""What is taken from the JAR; hive-service-rpc is in Hive's class path as it is."""
_RELOCATED = re.compile(rb"org([/.])apache\1hive\1(?=(?:org|io)\1)")
"""hive-exec has `org.apache.hive.com.google` and `org.apache.hive.com.fasterxml`, too."""
_CONSTANT_SIZES = {
    3: 5,
    4: 5,
    5: 9,
    6: 9,
    7: 3,
    8: 3,
    9: 5,
    10: 5,
    11: 5,
    12: 5,
    15: 4,
    16: 3,
    17: 5,
    18: 5,
    19: 3,
    20: 3,
}
_UTF8 = 1
_TWO_ENTRIES = (5, 6)
_START_SECONDS = 180


def with_own_names(data: bytes) -> bytes:
    """Return a class file whose names are those before the relocation (JVM specification, section 4.4)."""
    number = struct.unpack_from(">H", data, 8)[0]
    parts, at, index = [data[:10]], 10, 1
    while index < number:
        tag = data[at]
        if tag == _UTF8:
            length = struct.unpack_from(">H", data, at + 1)[0]
            text = _RELOCATED.sub(b"", data[at + 3 : at + 3 + length])
            parts.append(struct.pack(">BH", _UTF8, len(text)) + text)
            at += 3 + length
        else:
            parts.append(data[at : at + _CONSTANT_SIZES[tag]])
            at += _CONSTANT_SIZES[tag]
        index += 2 if tag in _TWO_ENTRIES else 1
    return b"".join([*parts, data[at:]])


def install_server(home: Path = HOME) -> Path:
    """Install Hive and HiveServer2, unless they are installed; returns the directory."""
    install(home)
    jar = home / "server" / "hiveserver2.jar"
    if jar.exists():
        return home
    jar.parent.mkdir(exist_ok=True)
    for artifact in _ARTIFACTS:
        copy = ("dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={jar.parent}")
        subprocess.run(["mvn", "-q", "-B", *copy], check=True)
    source = jar.parent / f"hive-jdbc-{VERSION}-standalone.jar"
    partial = jar.with_suffix(".partial")
    with zipfile.ZipFile(source) as classes, zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as target:
        for name in classes.namelist():
            if _CLASSES.match(name) and name.endswith(".class"):
                target.writestr(name, with_own_names(classes.read(name)))
    source.unlink()
    partial.rename(jar)
    return home


@contextmanager
def serving(directory: Path, metastore_uri: str, more: Mapping[str, str] | None = None) -> Iterator[str]:
    """Run HiveServer2 on a metastore of Hive 4.1; yields its address for `import compare`."""
    home = install_server()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    own = {
        "hive.server2.thrift.bind.host": "127.0.0.1",
        "hive.server2.thrift.port": str(port),
        "hive.server2.webui.port": "0",
        "hive.server2.enable.doAs": "false",
        "hive.server2.logging.operation.enabled": "false",
        "hive.server2.tez.initialize.default.sessions": "false",
        "hive.server2.materializedviews.registry.impl": "DUMMY",
        "hive.scheduled.queries.executor.enabled": "false",
    }
    options = {**settings(directory, metastore_uri), **own, **(more or {})}
    command = [
        *("java", *java_options(directory), "-cp", f"{home / 'lib'}/*:{home / 'server'}/*"),
        "org.apache.hive.service.server.HiveServer2",
        *(word for key, value in options.items() for word in ("--hiveconf", f"{key}={value}")),
    ]
    log = directory / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, cwd=directory)
    try:
        _wait(process, port, log)
        yield f"hive2://tester@127.0.0.1:{port}/"
    finally:
        process.kill()
        process.wait()


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.3)
    raise RuntimeError(f"HiveServer2 did not start:\n{log.read_text(errors='replace')[-2000:]}")


if __name__ == "__main__":
    print(install_server())
