"""The command line with a defect: `python -m tests.integration.cli.defective` in place of `python -m hive_views`."""

from __future__ import annotations

import logging
import os
import signal

from hive_views.catalog.catalog import HiveViewCatalog
from hive_views.cli.app import run


def load_view(self: HiveViewCatalog, identifier: object) -> object:
    """Fails with an unexpected exception; for `interrupted.view`, as Py4J does after Ctrl-C."""
    if identifier == "interrupted.view":
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:
            logging.exception("KeyboardInterrupt while sending command.")
    raise ZeroDivisionError("a defect")


if __name__ == "__main__":
    HiveViewCatalog.load_view = load_view  # type: ignore[assignment,method-assign]
    run()
