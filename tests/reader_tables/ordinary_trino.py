"""The ordinary views of Spark's authors in Trino's Hive connector.

`measure` writes each view with `HiveViewCatalog.execute`, and reads it in a real Trino over the Parquet files that Hive
and Spark read. A view that cannot be defined without Spark has the error of its definition.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from trino.exceptions import TrinoQueryError

from hive_views import HiveViewCatalog
from hive_views.errors import HiveViewsError
from tests.integration.hive.reader import VERSION
from tests.integration.hive.reader import running as running_hive
from tests.integration.trino.server import TrinoServer
from tests.integration.trino.server import running as running_trino
from tests.reader_tables.engines import AnswerJournal

NOT_DEFINED = "not defined without Spark"


@contextmanager
def engines(directory: Path, database: str) -> Iterator[tuple[HiveViewCatalog, TrinoServer]]:
    """Start Trino over tables that Hive wrote, and a catalog of views."""
    from tests.conftest import started
    from tests.reader_tables.ordinary import create

    with started(directory / "metastore", VERSION) as process:
        with running_hive(directory / "writer", process.uri) as writer:
            create(writer, directory)
        with (
            HiveViewCatalog("prod", uri=process.uri, warehouse=f"{directory.as_uri()}/views") as catalog,
            running_trino(directory / "trino", process.uri) as trino,
        ):
            yield catalog, trino


def measure(texts: Sequence[str], database: str, journal: str) -> None:
    """Record what Trino returns for each text, as a view."""
    with TemporaryDirectory() as directory, engines(Path(directory), database) as (catalog, trino):

        def rows(text: str) -> list[list[str]]:
            name = f"v{texts.index(text)}"
            try:
                catalog.execute(f"CREATE OR REPLACE VIEW {name} AS {text}", database=database)
            except HiveViewsError as error:
                raise ValueError(f"{NOT_DEFINED}: {error}") from error
            try:
                found = trino.query(f"SELECT * FROM hive.{database}.{name}")
            except TrinoQueryError as error:
                raise ValueError(f"FAILED: {error.message}") from error
            return [list(map(printed, row)) for row in found]

        AnswerJournal(journal, rows).answer_texts(texts)


def printed(value: Any) -> str:
    """Return a value as Hive prints it."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, dict, tuple)):
        return json.dumps(_nested(value), ensure_ascii=False)
    return _plain(value)


def _nested(value: Any) -> Any:
    if isinstance(value, tuple):
        return {name: _nested(item) for name, item in zip(value.__annotations__["names"], value, strict=True)}
    if isinstance(value, list):
        return [_nested(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _nested(item) for key, item in value.items()}
    return value if value is None or isinstance(value, (bool, int, float)) else _plain(value)


def _plain(value: Any) -> str:
    if isinstance(value, datetime):
        return (
            value.isoformat(" ").rstrip("0").rstrip(".") if value.microsecond else value.strftime("%Y-%m-%d %H:%M:%S")
        )
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(str(value), str(value))
    return f"{value:f}" if isinstance(value, Decimal) else str(value)
