"""Containers of the images of docker/, started through testcontainers (imported late: it reads its settings then)."""

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
    """testcontainers' container."""
    password: str
    """Its database's."""

    @property
    def uri(self) -> str:
        """Where it is reached from here; another port after each start."""
        return f"thrift://127.0.0.1:{self.container.get_exposed_port(PORT)}"

    @property
    def engines(self) -> Any:
        """The engine's own object for the container."""
        return self.container.get_wrapped_container()

    def wait(self) -> None:
        """Wait until its own check finds it well."""
        wait_until_healthy(self.engines)


def wait_until_healthy(container: Any) -> None:
    """Wait for the image's health check; fail with the log where the container ends or does not get well."""
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
    """A metastore that answers."""
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
        # A free port, of this machine alone whatever the engine's default is.
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
