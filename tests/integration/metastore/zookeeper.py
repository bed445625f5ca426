"""A real ensemble of ZooKeeper on loopback, from the jars of a metastore's release."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kazoo.client import KazooClient
from kazoo.handlers.threading import KazooTimeoutError

from hive_views.local_metastore.distributions import find_release, unpack
from hive_views.local_metastore.jvm import find_jars
from hive_views.local_metastore.standalone import free_port
from tests.conftest import CACHE
from tests.faults.observer import until

RELEASE = "4.0.1"


class Ensemble:
    """Three servers that elect a leader; two are enough.

    Args:
        directory: The directory of their files.
        tls: More lines of their configuration, with which they have a second port that expects TLS.

    Attributes:
        hosts: `host:port` of each server.
        secure_ports: The ports that expect TLS.
    """

    def __init__(self, directory: Path, tls: str = "") -> None:
        ports = [(free_port(), free_port(), free_port()) for _ in range(3)]
        peers = "".join(
            f"server.{number}=127.0.0.1:{peer}:{election}\n" for number, (_, peer, election) in enumerate(ports, 1)
        )
        self.hosts = [f"127.0.0.1:{port}" for port, *_ in ports]
        self.secure_ports = [free_port() for _ in ports]
        jars = unpack(find_release(RELEASE, str(directory)), find_jars(str(directory)), CACHE).class_path
        self._processes = []
        for number, (port, *_) in enumerate(ports, 1):
            home = directory / str(number)
            home.mkdir()
            (home / "myid").write_text(f"{number}\n")
            secure_port = f"secureClientPort={self.secure_ports[number - 1]}\nsecureClientPortAddress=127.0.0.1\n"
            (home / "zoo.cfg").write_text(
                f"tickTime=2000\ninitLimit=30\nsyncLimit=30\ndataDir={home}\nclientPort={port}\n"
                f"clientPortAddress=127.0.0.1\nadmin.enableServer=false\n{peers}{secure_port + tls if tls else ''}"
            )
            main = ("org.apache.zookeeper.server.quorum.QuorumPeerMain", str(home / "zoo.cfg"))
            command = ["java", "-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", os.pathsep.join(jars)]
            with (home / "log").open("w") as log:
                self._processes.append(
                    subprocess.Popen([*command, *main], stdout=log, stderr=subprocess.STDOUT, cwd=home)
                )

    def kill(self, number: int) -> None:
        """Kill a server, of 0 to 2."""
        self._processes[number].kill()
        self._processes[number].wait(30)

    def serves(self) -> bool:
        """Whether it answers."""
        client = KazooClient(",".join(self.hosts), timeout=5)
        try:
            client.start(5)
            return "zookeeper" in client.get_children("/")
        except KazooTimeoutError:
            return False
        finally:
            client.stop()
            client.close()


@contextmanager
def ensemble(directory: Path, tls: str = "") -> Iterator[Ensemble]:
    """Start an ensemble, and kill it at the end."""
    running = Ensemble(directory, tls)
    try:
        until(running.serves)
        yield running
    finally:
        for number in range(3):
            running.kill(number)
