"""`hive-views metastore`: starts and stops a Hive Metastore on this machine, and shows its status.

The metastore is a JVM process that is identified by its directory, which contains the data, the log and, while it runs,
`metastore.json` with the process id and the URI.
"""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hive_views.cli.binding import Command, bind, read_docstring
from hive_views.cli.connection import METASTORE_DIRECTORY_VARIABLE, ConnectionOptions, default_directory
from hive_views.cli.exit_codes import ExitCode
from hive_views.cli.output import print_json, print_line

if TYPE_CHECKING:
    from hive_views.local_metastore.process import MetastoreProcess

PORT = 9083
"""Hive's default port."""

_DIRECTORY_OPTION = {
    "metavar": "DIR",
    "envvar": METASTORE_DIRECTORY_VARIABLE,
    "show_default": "~/.local/share/hive-views/metastore",
}

Directory = Annotated[Path | None, typer.Option(help="The metastore's directory.", **_DIRECTORY_OPTION)]


@dataclass(frozen=True, kw_only=True)
class MetastoreStatus:
    """The metastore of a directory."""

    directory: str
    running: bool
    ready: bool
    uri: str | None
    pid: int | None
    since: str | None
    warehouse: str
    log: str
    stopped_pid: int | None = None


def start(directory: Path | None = None, port: int = PORT, version: str | None = None) -> MetastoreStatus:
    """Start a metastore in the background.

    It listens on 127.0.0.1 only, and answers when this command ends. It needs Java 17 and PySpark, whose jars contain
    Hive Metastore 2.3.10; other releases (3.1.3, 4.0.1, 4.1.0, 4.2.0, 4.2.1) are downloaded from Maven Central and
    cached. 4.2 needs Java 21.

    Args:
        directory: The directory of its data, log and warehouse; created if missing. A directory belongs to one release:
            other releases cannot read its data.
        port: The port to listen on; 0 chooses a free one.
        version: The release: 2.3.10 (default), 3.1.3, 4.0.1, 4.1.0, 4.2.0 or 4.2.1.

    Raises:
        EmbeddedMetastoreError: If one runs there already, a requirement is missing, or the port is in use.
        ArtifactFetchError: If the release cannot be downloaded.
    """
    return _status_of(_metastore(directory, port, version, detached=True).start())


def serve(
    announce: Callable[[MetastoreStatus], None],
    directory: Path | None = None,
    port: int = PORT,
    version: str | None = None,
) -> None:
    """Run a metastore in the foreground until it is interrupted or stopped; calls `announce` when it answers."""
    with _metastore(directory, port, version, detached=False) as metastore:
        announce(_status_of(metastore))
        while metastore.running:
            time.sleep(0.2)


def stop(directory: Directory = None) -> MetastoreStatus:
    """Stop the metastore of a directory, and name the process that was stopped.

    Succeeds if none runs there.
    """
    from hive_views.local_metastore.process import stop_metastore

    directory = directory or default_directory()
    record = stop_metastore(directory)
    return replace(status(directory), stopped_pid=record.pid if record else None)


def status(directory: Directory = None) -> MetastoreStatus:
    """Show whether a metastore runs in a directory, and its URI.

    The exit code is 0 if it answers, 6 otherwise.
    """
    from hive_views.local_metastore.embedded import EmbeddedMetastore
    from hive_views.local_metastore.process import is_ready, running_metastore

    metastore = EmbeddedMetastore(directory or default_directory())
    record = running_metastore(metastore.directory)
    uri = record.uri if record else None
    return MetastoreStatus(
        directory=metastore.directory,
        running=record is not None,
        ready=uri is not None and is_ready(int(uri.rpartition(":")[2])),
        uri=uri,
        pid=record.pid if record else None,
        since=record.started_at if record else None,
        warehouse=metastore.warehouse,
        log=metastore.log_path,
    )


_SUMMARY, _HELPS = read_docstring(inspect.getdoc(start) or "")


def _start_command(
    context: typer.Context,
    directory: Annotated[Path | None, typer.Option(help=_HELPS["directory"], **_DIRECTORY_OPTION)] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help=_HELPS["port"])] = PORT,
    release: Annotated[str | None, typer.Option("--version", metavar="X.Y.Z", help=_HELPS["version"])] = None,
    foreground: Annotated[
        bool, typer.Option("--foreground", help="Run it in the foreground; it ends with this command.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document in place of text.")] = False,
) -> None:
    # Not registered with `bind`: in the foreground it continues after it printed its result.
    def show(status: MetastoreStatus) -> None:
        (print_json if as_json or context.ensure_object(ConnectionOptions).as_json else render)(status)
        sys.stdout.flush()

    if foreground:
        serve(show, directory, port, release)
    else:
        show(start(directory, port, release))


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    group = typer.Typer(help="Run a Hive Metastore on this machine.", no_args_is_help=True)
    group.command("start", help=_SUMMARY)(_start_command)
    bind(group, Command("stop", stop, render))
    bind(
        group,
        Command("status", status, render, code=lambda status: ExitCode.OK if status.ready else ExitCode.UNREACHABLE),
    )
    app.add_typer(group, name="metastore", rich_help_panel="Metastore")


def render(status: MetastoreStatus) -> None:
    """Print a status as text."""
    if status.stopped_pid is not None:
        print_line(f"Stopped the metastore in {status.directory} (process {status.stopped_pid})")
    elif not status.running:
        print_line(f"No metastore runs in {status.directory}")
    elif status.uri is None:
        print_line(f"A metastore is starting in {status.directory} (process {status.pid})")
    else:
        print_line(f"{status.uri}" + ("" if status.ready else " (does not answer)"))
        print_line(f"  process    {status.pid}, since {status.since}")
        print_line(f"  directory  {status.directory}")
        print_line(f"  warehouse  {status.warehouse}")
        print_line(f"  log        {status.log}")


def _metastore(directory: Path | None, port: int, version: str | None, *, detached: bool) -> MetastoreProcess:
    from hive_views.local_metastore.embedded import EMBEDDED_VERSION, EmbeddedMetastore
    from hive_views.local_metastore.standalone import StandaloneMetastore

    directory = directory or default_directory()
    if version in (None, EMBEDDED_VERSION):
        return EmbeddedMetastore(directory, port=port, detached=detached)
    return StandaloneMetastore(
        directory, version=version, port=port, cache=default_directory().parent / "releases", detached=detached
    )


def _status_of(metastore: MetastoreProcess) -> MetastoreStatus:
    return status(Path(metastore.directory))
