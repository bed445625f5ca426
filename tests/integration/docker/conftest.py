"""An engine with the images of docker/, or a reason why there is none."""

from __future__ import annotations

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
    """The variables by which programs find the engine, as docker/engine says them to a shell."""
    said = subprocess.run([DOCKER / "engine", "env"], capture_output=True, text=True, timeout=120, check=True).stdout
    return dict(word.split("=", 1) for word in shlex.split(said) if "=" in word)


def _why_no_engine() -> str | None:
    """Why the tests cannot run; None where an engine answers."""
    status = subprocess.run([DOCKER / "engine", "status"], capture_output=True, text=True, timeout=120, check=False)
    return (status.stdout.strip() or status.stderr.strip()) if status.returncode else None


def _why_no_images(client: Any) -> str | None:
    """Why the tests cannot run; None where the images are there."""
    have = {tag.partition(":")[0] for image in client.images.list() for tag in image.tags}
    missing = [image for image in IMAGES if image not in have]
    return f"the images {', '.join(missing)} are not built; docker/build builds them" if missing else None


def _leave_out(why: str | None) -> None:
    if why:
        (pytest.fail if REQUIRED else pytest.skip)(why)


@pytest.fixture(scope="session")
def engine() -> Iterator[Any]:
    """A client of the engine. What a broken test leaves is removed afterwards."""
    _leave_out(_why_no_engine())
    with pytest.MonkeyPatch.context() as patch:
        for name, value in _engine_variables().items():
            patch.setenv(name, value)
        # Its helper that cleans up is an image of Docker's hub.
        patch.setenv("TESTCONTAINERS_RYUK_DISABLED", "true")
        # Else it takes a machine with /.dockerenv for a container, and looks for ports elsewhere.
        patch.setenv("TESTCONTAINERS_CONNECTION_MODE", "docker_host")
        patch.setenv("TESTCONTAINERS_HOST_OVERRIDE", "127.0.0.1")
        import docker

        client = docker.from_env()
        _leave_out(_why_no_images(client))
        label = f"hive-views-test={uuid4().hex}"
        patch.setenv("HIVE_VIEWS_TEST_LABEL", label)
        yield client
        for container in client.containers.list(all=True, filters={"label": label}):
            container.remove(force=True, v=True)
        client.close()


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """A directory for files of ours and of the containers' user."""
    place = tmp_path / "warehouse"
    place.mkdir()
    place.chmod(0o777)
    return place


@pytest.fixture
def start(engine: Any, warehouse: Path) -> Iterator[Callable[[str, str], Metastore]]:
    """Starts a metastore of a release on a database, in containers."""
    from contextlib import ExitStack

    with ExitStack() as stack:
        yield lambda version, kind: stack.enter_context(started_metastore(version, kind, warehouse))
