"""The command line, put together: `hive-views`, and `python -m hive_views`."""

from __future__ import annotations

import io
import logging
import os
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from hive_views.cli import exit_codes as exits
from hive_views.cli import text
from hive_views.cli.binding import bind
from hive_views.cli.commands import dependencies, materialized, metastore, reading, sql, upgrade, writing
from hive_views.cli.commands import doctor as diagnosis
from hive_views.cli.commands import legacy_import as importing
from hive_views.cli.connection import Connection, parse_properties
from hive_views.errors import HiveViewsError, UsageError

PROGRAM = "hive-views"

# Newer releases of Typer carry Click's classes inside, older ones import Click; this is `ClickException` in both.
_ClickError: Any = typer.BadParameter.__bases__[0].__bases__[0]


class Application(TyperGroup):
    """The group of all commands: turns every error into an exit code and a message."""

    _as_json = False

    def main(  # type: ignore[override]  # Click's own signature has overloads
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command line.

        Args:
            args: Its words; those of this process by default.
            prog_name: The program's name.
            complete_var: See Click.
            standalone_mode: Not heeded: it always ends by SystemExit.
            extra: See Click.

        Raises:
            SystemExit: Always; with an `ExitCode`.
        """
        words = list(sys.argv[1:] if args is None else args) or ["--help"]
        self._as_json = as_json = "--json" in (words[: words.index("--")] if "--" in words else words)
        with warnings.catch_warnings():
            warnings.showwarning = _warning_printer(as_json)
            try:
                result = super().main(words, prog_name or PROGRAM, complete_var, standalone_mode=False, **extra)
                code = result if isinstance(result, int) else exits.ExitCode.OK
            except HiveViewsError as error:
                code = exits.report(error, as_json=as_json)
            except typer.Abort:
                exits.say("Aborted.", {"error": "Aborted.", "type": "Abort", "operands": {}}, as_json=as_json)
                code = exits.ExitCode.FAILED
            except _ClickError as error:
                code = _report_usage(error, as_json)
            except Exception as error:  # noqa: BLE001 -- the outermost edge: it is shown, with its traceback
                code = exits.report_defect(error, as_json=as_json)
        raise SystemExit(int(code))

    def invoke(self, ctx: Any) -> Any:
        """Run the command. Ctrl-C has a code of its own; a reader that has seen enough (`| head`) is no failure."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            _silence()
            raise typer.Exit(exits.ExitCode.OK) from None
        except KeyboardInterrupt as interrupt:
            # Here, since Click makes of it what its version likes.
            if interrupt.args:
                text = str(interrupt)
                exits.say(text, {"error": text, "type": "KeyboardInterrupt", "operands": {}}, as_json=self._as_json)
            raise typer.Exit(exits.ExitCode.INTERRUPTED) from None


app = typer.Typer(
    cls=Application,
    name=PROGRAM,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"{PROGRAM} {version('hive_views')}")
        raise typer.Exit()


HELP = """\
Apache Iceberg views in a Hive Metastore: create, change, inspect and diagnose them.

Global options stand before the command; --json may stand behind it, too.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 taken or changed by others, 5 outcome unknown, \
6 metastore out of reach."""


@app.callback(help=HELP)
def options(
    context: typer.Context,
    catalog: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            envvar="HIVE_VIEWS_CATALOG",
            help="A catalog of PyIceberg's configuration: .pyiceberg.yaml, or PYICEBERG_CATALOG__NAME__URI and so on.",
        ),
    ] = None,
    uri: Annotated[
        str | None,
        typer.Option(
            metavar="URI",
            envvar="HIVE_VIEWS_URI",
            help="The metastore, thrift://host:9083; several that serve the same data are separated by commas.",
        ),
    ] = None,
    warehouse: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            envvar="HIVE_VIEWS_WAREHOUSE",
            help="A URI: where databases without a location of their own keep their views.",
        ),
    ] = None,
    properties: Annotated[
        list[str] | None,
        typer.Option("--property", metavar="KEY=VALUE", help="Another catalog property; may be given several times."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document in place of text.")] = False,
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version and end.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    """Remember the global options for the command."""
    if catalog and uri:
        chosen = [_on_command_line(context, name) for name in ("catalog", "uri")]
        if chosen[0] == chosen[1]:
            raise UsageError("--catalog", "give either --catalog or --uri, not both")
        # What is typed counts more than what the environment says.
        catalog, uri = (catalog, None) if chosen[0] else (None, uri)
    context.obj = Connection(
        name=catalog,
        uri=uri,
        warehouse=warehouse,
        properties=parse_properties(properties or (), "--property"),
        as_json=as_json,
    )


_LOOK, _CHANGE = "Look at views", "Change views"

bind(app, "list", reading.list_views, text.print_list, panel=_LOOK)
bind(app, "show", reading.show_view, text.print_view, panel=_LOOK)
bind(app, "history", reading.view_history, text.print_history, panel=_LOOK)
bind(app, "diff", reading.diff_versions, text.print_diff, panel=_LOOK)
bind(app, "create", writing.create_view, text.print_written, panel=_CHANGE)
bind(app, "replace", writing.replace_view, text.print_written, panel=_CHANGE)
bind(app, "rollback", writing.rollback_view, text.print_written, panel=_CHANGE)
bind(app, "rename", writing.rename_view, text.print_written, panel=_CHANGE)
bind(app, "set", writing.set_properties, text.print_written, panel=_CHANGE)
bind(app, "unset", writing.unset_properties, text.print_written, panel=_CHANGE)
bind(app, "register", writing.register_view, text.print_written, panel=_CHANGE)
bind(
    app,
    "drop",
    writing.drop_view,
    text.print_dropped,
    panel=_CHANGE,
    question=writing.question_before_drop,
    code=writing.drop_code,
)
dependencies.register(app, look=_LOOK, change=_CHANGE)
sql.register(app, panel=_CHANGE)
bind(
    app,
    "doctor",
    diagnosis.doctor,
    diagnosis.print_summary,
    panel="Metastore",
    tell=diagnosis.print_finding,
    code=diagnosis.exit_code,
)
importing.register(app, panel="Bring views over")
materialized.register(app)
metastore.register(app)
upgrade.register(app, panel="Metastore")


def run() -> None:
    """Run this process' command line; the entry point of the package.

    Raises:
        SystemExit: Always; with an `ExitCode`.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        # Like Ctrl-C: what was begun is cleaned up (locks, temporary rows) before the process ends.
        signal.signal(number, lambda received, _: sys.exit(128 + received))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if logging.lastResort is not None:
        # It prints warnings on stderr where nobody has set up a log.
        logging.lastResort.setFormatter(exits.ShownFormatter())
    try:
        app(prog_name=PROGRAM)
    finally:
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            _silence()


def _silence() -> None:
    # The interpreter flushes once more at its end, and would complain of a pipe that nobody reads.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _on_command_line(context: typer.Context, parameter: str) -> bool:
    source = context.get_parameter_source(parameter)
    return source is not None and source.name == "COMMANDLINE"


def _warning_printer(as_json: bool) -> Callable[..., None]:
    def show(message: Warning | str, category: type[Warning], *_: Any) -> None:
        exits.say(f"Warning: {message}", {"warning": str(message), "type": category.__name__}, as_json=as_json)

    return show


def _report_usage(error: Any, as_json: bool) -> exits.ExitCode:
    """Tell the user about an error that Click found in the command line."""
    if as_json:
        exits.say("", {"error": error.format_message(), "type": "UsageError", "operands": {}}, as_json=True)
    else:
        error.show()
    return exits.ExitCode.USAGE
