"""A `ViewSession` on each sort of Spark, spoken to in one way."""

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

    def __init__(self, told: dict[str, Any]) -> None:
        super().__init__(told["message"])
        self.kind: str = told["kind"]
        self.line: int | None = told["line"]
        self.column: int | None = told["column"]
        self.condition: str | None = told["condition"]
        self.view: str | None = told["view"]


class Speaker:
    """Runs statements through a `ViewSession`, wherever that is.

    Args:
        kind: `iceberg`, `connect` or `plain`.
        ask: Runs one.
    """

    def __init__(self, kind: str, ask: Ask) -> None:
        self.kind = kind
        self._ask = ask

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        """The rows of a statement; values as JSON has them, others as text."""
        return [tuple(row) for row in self._run(text)["rows"]]

    def columns(self, text: str) -> list[str]:
        """The names of its columns."""
        return list(self._run(text)["columns"])

    def _run(self, text: str) -> dict[str, Any]:
        answer = self._ask(text)
        if "error" in answer:
            raise RefusedError(answer["error"])
        return answer


def told(session: ViewSession, text: str, args: dict[str, Any] | None = None) -> dict[str, Any]:
    """Run a statement, and tell its rows or its error as JSON has them."""
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
