"""`hive-views metastore`: a Hive Metastore on this machine (2.3.10, or another release), started, looked at, stopped.

It runs as one process of its own (a JVM), which is known by its directory: that holds the data, the log and, while it
runs, `metastore.json` with the process id and the address.
"""

from __future__ import annotations

import inspect
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hive_views.cli.binding import bind, read_docstring
from hive_views.cli.connection import Connection
from hive_views.cli.exit_codes import ExitCode
from hive_views.cli.output import console, print_json

if TYPE_CHECKING:
    from hive_views.local_metastore.process import MetastoreProcess

PORT = 9083
"""Hive's own port."""

_HOW = {"metavar": "DIR", "envvar": "HIVE_VIEWS_METASTORE_DIR", "show_default": "~/.local/share/hive-views/metastore"}

Directory = Annotated[Path | None, typer.Option(**_HOW)]


@dataclass(frozen=True)
class MetastoreStatus:
    """What runs in a directory."""

    directory: str
    """The directory, absolute."""
    running: bool
    """Whether a metastore runs, or is starting, in it."""
    ready: bool
    """Whether it answers."""
    uri: str | None
    """`thrift://127.0.0.1:port`; None where none runs, or it is still starting."""
    pid: int | None
    """The id of its process; None where none runs."""
    since: str | None
    """When it was started: ISO 8601, UTC; None where none runs."""
    warehouse: str
    """Where databases without a location of their own keep their files: a `file:` URI."""
    log: str
    """Its log file."""


def default_directory() -> Path:
    """Where the metastore is when no directory is named: `hive-views/metastore` in the user's data directory (XDG)."""
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "hive-views" / "metastore"


def start(directory: Path | None = None, port: int = PORT, version: str | None = None) -> MetastoreStatus:
    """Start a metastore, and leave it running in the background.

    It listens on 127.0.0.1 only, and answers when this command ends. It needs Java 17 and PySpark, whose jars hold
    Hive Metastore 2.3.10; other releases (3.1.3, 4.0.1, 4.1.0, 4.2.0) are fetched from Maven Central, and kept beside
    the directory. 4.2.0 needs Java 21.

    Args:
        directory: Where its data, its log and its warehouse are; made if it is not there. A directory belongs to one
            release: another one does not understand its data.
        port: The port to listen on; 0 takes a free one.
        version: The release, 2.3.10 (by default), 3.1.3, 4.0.1, 4.1.0 or 4.2.0.

    Returns:
        What runs now.

    Raises:
        EmbeddedMetastoreError: If one runs there already, something is missing, or the port is taken.
        ArtifactFetchError: If the release cannot be fetched.
    """
    return _status_of(_metastore(directory, port, version, detached=True).start())


def serve(
    announce: Callable[[MetastoreStatus], None],
    directory: Path | None = None,
    port: int = PORT,
    version: str | None = None,
) -> None:
    """Run a metastore in the foreground, until it is interrupted or stopped from elsewhere.

    Args:
        announce: Called once, when it answers.
        directory: Where its data, its log and its warehouse are; made if it is not there.
        port: The port to listen on; 0 takes a free one.
        version: The release, 2.3.10 (by default), 3.1.3, 4.0.1, 4.1.0 or 4.2.0.

    Raises:
        EmbeddedMetastoreError: If one runs there already, something is missing, or the port is taken.
        ArtifactFetchError: If the release cannot be fetched.
    """
    with _metastore(directory, port, version, detached=False) as metastore:
        announce(_status_of(metastore))
        while metastore.running:
            time.sleep(0.2)


def stop(directory: Directory = None) -> MetastoreStatus:
    """Stop the metastore that runs in a directory, and no other process.

    It is no error if none runs there.

    Args:
        directory: Its directory.

    Returns:
        What runs now: nothing.

    Raises:
        EmbeddedMetastoreError: If what is recorded there is not what runs there, or it does not end.
    """
    from hive_views.local_metastore.process import stop_metastore

    place = directory or default_directory()
    stop_metastore(place)
    return status(place)


def status(directory: Directory = None) -> MetastoreStatus:
    """Tell whether a metastore runs in a directory, and where it listens.

    The exit code is 0 if it answers, 6 if not.

    Args:
        directory: Its directory.

    Returns:
        What runs there.

    Raises:
        EmbeddedMetastoreError: If the directory's record cannot be read.
    """
    from hive_views.local_metastore.embedded import EmbeddedMetastore
    from hive_views.local_metastore.process import is_ready, running_metastore

    place = EmbeddedMetastore(directory or default_directory())
    record = running_metastore(place.directory)
    uri = record.uri if record else None
    return MetastoreStatus(
        directory=place.directory,
        running=record is not None,
        ready=uri is not None and is_ready(int(uri.rpartition(":")[2])),
        uri=uri,
        pid=record.pid if record else None,
        since=record.started_at if record else None,
        warehouse=place.warehouse,
        log=place.log_path,
    )


_SUMMARY, _HELPS = read_docstring(inspect.getdoc(start) or "")


def _start_command(
    context: typer.Context,
    directory: Annotated[Path | None, typer.Option(help=_HELPS["directory"], **_HOW)] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help=_HELPS["port"])] = PORT,
    release: Annotated[str | None, typer.Option("--version", metavar="X.Y.Z", help=_HELPS["version"])] = None,
    foreground: Annotated[
        bool, typer.Option("--foreground", help="Keep it in the foreground; it ends with this command.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document in place of text.")] = False,
) -> None:
    # Not bound like the others: in the foreground it goes on after it has printed its result.
    def show(found: MetastoreStatus) -> None:
        (print_json if as_json or context.ensure_object(Connection).as_json else render)(found)
        sys.stdout.flush()

    if foreground:
        serve(show, directory, port, release)
    else:
        show(start(directory, port, release))


def register(app: typer.Typer) -> None:
    """Add the commands to the command line.

    Args:
        app: The application.
    """
    group = typer.Typer(help="Run a Hive Metastore on this machine.", no_args_is_help=True)
    group.command("start", help=_SUMMARY)(_start_command)
    bind(group, "stop", stop, render)
    bind(group, "status", status, render, code=lambda found: ExitCode.OK if found.ready else ExitCode.UNREACHABLE)
    app.add_typer(group, name="metastore", rich_help_panel="Metastore")


def render(found: MetastoreStatus) -> None:
    """Show to people what runs in a directory.

    Args:
        found: What runs there.
    """
    out = console()
    if not found.running:
        out.print(f"No metastore runs in {found.directory}", soft_wrap=True)
    elif found.uri is None:
        out.print(f"A metastore is starting in {found.directory} (process {found.pid})", soft_wrap=True)
    else:
        out.print(f"{found.uri}" + ("" if found.ready else " (does not answer)"), soft_wrap=True)
        out.print(f"  process    {found.pid}, since {found.since}", soft_wrap=True)
        out.print(f"  directory  {found.directory}", soft_wrap=True)
        out.print(f"  warehouse  {found.warehouse}", soft_wrap=True)
        out.print(f"  log        {found.log}", soft_wrap=True)


def _metastore(directory: Path | None, port: int, version: str | None, *, detached: bool) -> MetastoreProcess:
    from hive_views.local_metastore.embedded import EMBEDDED_VERSION, EmbeddedMetastore
    from hive_views.local_metastore.standalone import StandaloneMetastore

    place = directory or default_directory()
    if version in (None, EMBEDDED_VERSION):
        return EmbeddedMetastore(place, port=port, detached=detached)
    return StandaloneMetastore(
        place, version=version, port=port, cache=default_directory().parent / "releases", detached=detached
    )


def _status_of(metastore: MetastoreProcess) -> MetastoreStatus:
    return status(Path(metastore.directory))
