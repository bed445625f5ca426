"""The command line application: `hive-views`, or `python -m hive_views`."""

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

from hive_views import __version__
from hive_views.cli import exit_codes as exits
from hive_views.cli.binding import Command, bind
from hive_views.cli.commands import (
    copying,
    databases,
    dependencies,
    import_compare,
    materialized,
    metastore,
    reading,
    sql,
    upgrade,
    writing,
)
from hive_views.cli.commands import doctor as diagnosis
from hive_views.cli.commands import legacy_import as importing
from hive_views.cli.connection import ConnectionOptions, parse_properties
from hive_views.errors import HiveViewsError, UsageError

PROGRAM = "hive-views"

# `ClickException`, which newer releases of Typer include and older ones import from Click.
_ClickError: Any = typer.BadParameter.__bases__[0].__bases__[0]


class Application(TyperGroup):
    """The group of all commands; converts every error into an exit code and a message."""

    received_signals: int | None = None
    """A file descriptor with the numbers of the signals that this process received; see `run`."""
    _as_json = False

    def main(  # type: ignore[override]  # Click's own signature has overloads
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command line, and raise SystemExit with its `ExitCode`, whatever `standalone_mode` is."""
        words = list(sys.argv[1:] if args is None else args) or ["--help"]
        self._as_json = as_json = "--json" in (words[: words.index("--")] if "--" in words else words)
        with warnings.catch_warnings():
            warnings.showwarning = _warning_printer(as_json)
            try:
                result = super().main(words, prog_name or PROGRAM, complete_var, standalone_mode=False, **extra)
                code = result if isinstance(result, int) else exits.ExitCode.OK
            except HiveViewsError as error:
                code = exits.report_error(error, as_json=as_json)
            except typer.Abort as error:
                is_interrupt = isinstance(error.__cause__, KeyboardInterrupt)  # before the command was invoked
                code = exits.ExitCode.INTERRUPTED if is_interrupt else exits.ExitCode.FAILED
                if not is_interrupt:
                    exits.print_message("Aborted.", "Abort", as_json=as_json)
            except _ClickError as error:
                code = _report_usage(error, as_json)
            except Exception as error:  # noqa: BLE001 -- printed with its traceback
                if self._is_interrupted():
                    code = exits.ExitCode.INTERRUPTED
                else:
                    code = exits.report_defect(error, as_json=as_json)
        raise SystemExit(int(code))

    def _is_interrupted(self) -> bool:
        """Return whether Ctrl-C was pressed, although a library replaced the KeyboardInterrupt, as Py4J does."""
        try:
            return self.received_signals is not None and signal.SIGINT in os.read(self.received_signals, 1000)
        except BlockingIOError:
            return False

    def invoke(self, ctx: Any) -> Any:
        """Run the command. A closed pipe (`| head`) is not an error."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            _discard_stdout()
            raise typer.Exit(exits.ExitCode.OK) from None
        except KeyboardInterrupt as interrupt:
            # Handled here, since versions of Click treat it differently.
            if interrupt.args:
                message = str(interrupt)
                exits.print_message(message, "KeyboardInterrupt", as_json=self._as_json)
            raise typer.Exit(exits.ExitCode.INTERRUPTED) from None


app = typer.Typer(
    cls=Application,
    name=PROGRAM,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(is_requested: bool) -> None:
    if is_requested:
        typer.echo(f"{PROGRAM} {__version__}")
        raise typer.Exit()


HELP = """\
Apache Iceberg views in a Hive Metastore: create, change, inspect and diagnose them.

Global options come before the command; --json may also come after it.

Exit codes: 0 success, 1 failure, 2 usage error, 3 not found, 4 conflict, 5 outcome unknown, 6 metastore unreachable."""


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
            help="The metastore, thrift://host:9083; separate several that serve the same data by commas.",
        ),
    ] = None,
    warehouse: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            envvar="HIVE_VIEWS_WAREHOUSE",
            help="The URI of the directory for views of databases that have no location.",
        ),
    ] = None,
    properties: Annotated[
        list[str] | None,
        typer.Option("--property", metavar="KEY=VALUE", help="Another catalog property; may be repeated."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")] = False,
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    """Store the global options for the command."""
    if catalog and uri:
        is_catalog_typed, is_uri_typed = (_is_on_command_line(context, name) for name in ("catalog", "uri"))
        if is_catalog_typed == is_uri_typed:
            raise UsageError("--catalog", "give either --catalog or --uri, not both")
        # The command line takes precedence over the environment.
        catalog, uri = (catalog, None) if is_catalog_typed else (None, uri)
    context.obj = ConnectionOptions(
        name=catalog,
        uri=uri,
        warehouse=warehouse,
        properties=parse_properties(properties or (), "--property"),
        as_json=as_json,
    )


_READ_PANEL, _CHANGE_PANEL, _METASTORE_PANEL = "Inspect views", "Change views", "Metastore"

reading.register(app, panel=_READ_PANEL)
writing.register(app, panel=_CHANGE_PANEL)
dependencies.register(app, read_panel=_READ_PANEL, change_panel=_CHANGE_PANEL)
sql.register(app, panel=_CHANGE_PANEL)
bind(
    app,
    Command(
        "doctor",
        diagnosis.doctor,
        diagnosis.print_summary,
        panel=_METASTORE_PANEL,
        emit=diagnosis.print_finding,
        has_failed=diagnosis.has_problems,
    ),
)
import_compare.register(importing.register(app, panel="Migrate views"))
copying.register(app, panel="Migrate views")
materialized.register(app)
metastore.register(app)
databases.register(app, panel=_METASTORE_PANEL)
upgrade.register(app, panel=_METASTORE_PANEL)


def run() -> None:
    """Run this process' command line, and raise SystemExit with its `ExitCode`; the package's entry point."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        # As for Ctrl-C, locks and temporary rows are removed before the process ends.
        signal.signal(number, lambda signal_number, _: sys.exit(128 + signal_number))
    Application.received_signals, wakeup = os.pipe()
    for descriptor in (Application.received_signals, wakeup):
        os.set_blocking(descriptor, False)
    signal.set_wakeup_fd(wakeup)
    # Py4J logs a KeyboardInterrupt with its traceback.
    logging.getLogger().addFilter(lambda record: "KeyboardInterrupt" not in record.getMessage())
    # sqlglot warns of JSON paths that it could not translate; here every text keeps its own.
    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if logging.lastResort is not None:
        # It prints warnings on stderr if no log is configured.
        logging.lastResort.setFormatter(exits.EscapingFormatter())
    try:
        app(prog_name=PROGRAM)
    finally:
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            _discard_stdout()


def _discard_stdout() -> None:
    # The interpreter flushes stdout again when it exits, and would report the closed pipe.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _is_on_command_line(context: typer.Context, parameter: str) -> bool:
    source = context.get_parameter_source(parameter)
    return source is not None and source.name == "COMMANDLINE"


def _warning_printer(as_json: bool) -> Callable[..., None]:
    def show(message: Warning | str, category: type[Warning], *_: Any) -> None:
        document = {"warning": str(message), "type": category.__name__}
        exits.print_diagnostic(f"Warning: {message}", document, as_json=as_json)

    return show


def _report_usage(error: Any, as_json: bool) -> exits.ExitCode:
    """Print a usage error that Click found."""
    if as_json:
        exits.print_message(error.format_message(), "UsageError", as_json=True)
    else:
        error.show()
    return exits.ExitCode.USAGE
