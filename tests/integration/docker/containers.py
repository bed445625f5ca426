"""Containers of the images of docker/. Importing testcontainers reads its settings, so it is imported late."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

DOCKER = Path(__file__).parents[3] / "docker"
IMAGES = ("hive-views", "hive-views-postgresql", "hive-views-mariadb")
PORT = 9083
_READY_S = 300


@dataclass
class Metastore:
    """A metastore in a container."""

    container: Any
    """The container of testcontainers."""
    password: str
    """The password of its database."""

    @property
    def uri(self) -> str:
        """The URI on this machine; the port changes with each start."""
        return f"thrift://127.0.0.1:{self.container.get_exposed_port(PORT)}"

    @property
    def docker_container(self) -> Any:
        """The container of the Docker client."""
        return self.container.get_wrapped_container()

    def wait(self) -> None:
        """Wait until the container is healthy."""
        wait_until_healthy(self.docker_container)


def wait_until_healthy(container: Any) -> None:
    """Wait until a container is healthy; fail with its log if it ends or does not become healthy."""
    deadline = time.monotonic() + _READY_S
    while True:
        container.reload()
        state = container.attrs["State"]
        if state["Status"] == "running" and state["Health"]["Status"] == "healthy":
            return
        if state["Status"] in ("exited", "dead") or time.monotonic() > deadline:
            pytest.fail(f"{container.name} is {state['Status']}:\n{container.logs(tail=40).decode(errors='replace')}")
        time.sleep(0.2)


@contextmanager
def started_metastore(version: str, kind: str, warehouse: Path) -> Iterator[Metastore]:
    """Start a metastore and its database, and wait until it is healthy."""
    from testcontainers.core.network import Network

    password = uuid4().hex
    with ExitStack() as stack:
        network = stack.enter_context(Network())
        settings = {"HIVE_VIEWS_DATABASE_PASSWORD": password}
        if kind != "derby":
            store = _container(f"hive-views-{kind}", network, settings).with_network_aliases("database")
            wait_until_healthy(stack.enter_context(store).get_wrapped_container())
        settings |= {
            "HIVE_VIEWS_METASTORE_VERSION": version,
            "HIVE_VIEWS_DATABASE": kind,
            "HIVE_VIEWS_WAREHOUSE": warehouse.as_uri(),
        }
        server = _container("hive-views", network, settings).with_volume_mapping(str(warehouse), str(warehouse), "rw")
        # A free loopback port, independent of the default of the engine.
        server.ports = {PORT: ("127.0.0.1", None)}
        metastore = Metastore(stack.enter_context(server), password)
        metastore.wait()
        yield metastore


def _container(image: str, network: Any, settings: dict[str, str]) -> Any:
    from testcontainers.core.container import DockerContainer

    name, _, value = os.environ["HIVE_VIEWS_TEST_LABEL"].partition("=")
    container = DockerContainer(image).with_network(network).with_kwargs(labels={name: value})
    for key, text in settings.items():
        container = container.with_env(key, text)
    return container
