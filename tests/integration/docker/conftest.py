"""A Docker engine with the images of docker/; tests are skipped if it is not available."""

from __future__ import annotations

import importlib
import os
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.integration.docker.containers import DOCKER, IMAGES, Metastore, started_metastore

REQUIRED = os.environ.get("HIVE_VIEWS_REQUIRE_DOCKER") == "1"


def _engine_variables() -> dict[str, str]:
    """The environment variables of the engine, as `docker/engine env` prints them."""
    output = subprocess.run([DOCKER / "engine", "env"], capture_output=True, text=True, timeout=120, check=True).stdout
    return dict(word.split("=", 1) for word in shlex.split(output) if "=" in word)


def _missing_engine_reason() -> str | None:
    """The reason why no engine is available; None if one is."""
    status = subprocess.run([DOCKER / "engine", "status"], capture_output=True, text=True, timeout=120, check=False)
    return (status.stdout.strip() or status.stderr.strip()) if status.returncode else None


def _missing_images_reason(client: Any) -> str | None:
    """The missing images; None if all are built."""
    existing = {tag.partition(":")[0] for image in client.images.list() for tag in image.tags}
    missing = [image for image in IMAGES if image not in existing]
    return f"the images {', '.join(missing)} are not built; docker/build builds them" if missing else None


def _skip_or_fail(reason: str | None) -> None:
    if reason:
        (pytest.fail if REQUIRED else pytest.skip)(reason)


@pytest.fixture(scope="session")
def engine() -> Iterator[Any]:
    """A client of the engine; containers of failed tests are removed afterwards."""
    _skip_or_fail(_missing_engine_reason())
    with pytest.MonkeyPatch.context() as patch:
        for name, value in _engine_variables().items():
            patch.setenv(name, value)
        # The cleanup helper of testcontainers is an image of Docker Hub.
        patch.setenv("TESTCONTAINERS_RYUK_DISABLED", "true")
        # On a machine with /.dockerenv, testcontainers would assume a container and use other ports.
        patch.setenv("TESTCONTAINERS_CONNECTION_MODE", "docker_host")
        patch.setenv("TESTCONTAINERS_HOST_OVERRIDE", "127.0.0.1")
        client = importlib.import_module("docker").from_env()  # a folder of the repository has the name, too
        _skip_or_fail(_missing_images_reason(client))
        label = f"hive-views-test={uuid4().hex}"
        patch.setenv("HIVE_VIEWS_TEST_LABEL", label)
        yield client
        for container in client.containers.list(all=True, filters={"label": label}):
            container.remove(force=True, v=True)
        client.close()


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """A directory that the user of the containers can write to."""
    directory = tmp_path / "warehouse"
    directory.mkdir()
    directory.chmod(0o777)
    return directory


@pytest.fixture
def start(engine: Any, warehouse: Path) -> Iterator[Callable[[str, str], Metastore]]:
    """A function that starts a metastore of a release on a database in containers."""
    from contextlib import ExitStack

    with ExitStack() as stack:
        yield lambda version, kind: stack.enter_context(started_metastore(version, kind, warehouse))
