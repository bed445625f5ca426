"""One client interface to a `ViewSession` on each kind of Spark: with Iceberg, Spark Connect, and plain Spark."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hive_views.errors import HiveViewsError

if TYPE_CHECKING:
    from hive_views.spark import ViewSession

Ask = Callable[[str], dict[str, Any]]


class RefusedError(Exception):
    """A statement that was refused; the attributes are those of the error that `ViewSession` raised."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.kind: str = error["kind"]
        self.line: int | None = error["line"]
        self.column: int | None = error["column"]
        self.condition: str | None = error["condition"]
        self.view: str | None = error["view"]


class SessionClient:
    """Runs statements through a `ViewSession` in this or another process.

    Args:
        kind: `iceberg`, `connect` or `plain`.
        ask: Runs a statement and returns its rows or its error.
    """

    def __init__(self, kind: str, ask: Ask) -> None:
        self.kind = kind
        self._ask = ask

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows; values without a JSON type are text."""
        return [tuple(row) for row in self._run(text)["rows"]]

    def columns(self, text: str) -> list[str]:
        """Run a statement and return the names of its columns."""
        return list(self._run(text)["columns"])

    def _run(self, text: str) -> dict[str, Any]:
        answer = self._ask(text)
        if "error" in answer:
            raise RefusedError(answer["error"])
        return answer


def run_statement(session: ViewSession, text: str, args: dict[str, Any] | None = None) -> dict[str, Any]:
    """Run a statement and return its rows or its error as JSON values."""
    try:
        with session.errors():
            frame = session.sql(text, args)
            answer = {"columns": frame.columns, "rows": [list(row) for row in frame.collect()]}
    except HiveViewsError as error:
        names = ("line", "column", "condition", "view")
        return {
            "error": {
                "message": str(error),
                "kind": type(error).__name__,
                **{name: getattr(error, name, None) for name in names},
            }
        }
    return json.loads(json.dumps(answer, default=str))
