"""`python -m hive_views`, and the command `hive-views`."""

import gc
import signal
import sys

_INTERRUPTED = 130  # `ExitCode.INTERRUPTED`, whose module is not imported yet


def run() -> None:
    """Run the command line. Ctrl-C never prints a traceback, even while modules are imported or the process exits."""
    try:
        from hive_views.cli.app import run as run_commands

        run_commands()
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process exits now
        # Otherwise the interpreter first collects the garbage of all modules: 0.15 s of a short command (Python 3.11).
        gc.freeze()


if __name__ == "__main__":
    run()
