"""The fixtures: what a real Hive 4.1.0 stored for views, and how to ask our own expansion the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hive_views.sql.resolver.scopes import TableSchema

FIXTURES = Path(__file__).parent / "fixtures"
WAREHOUSE: dict[str, Any] = json.loads((FIXTURES / "hive_oracle_warehouse.json").read_text(encoding="utf-8"))
FUNCTIONS = {
    "my_max": "udaf",
    "my_explode": "udtf",
    "my_translate": "udf",
    "plus_one": "macro",
    "test_max": "udaf",
    "test_translate": "udf",
    "test_explode": "udtf",
}
"""The registered functions: those of the warehouse's set-up, and those of Hive's own tests (create_view.q)."""


def lines(name: str) -> list[dict[str, Any]]:
    """The cases of a fixture with one JSON value a line."""
    return [json.loads(line) for line in (FIXTURES / name).read_text(encoding="utf-8").splitlines()]


def folded(text: str) -> str:
    """A text with every run of white space as one blank."""
    return " ".join(text.split())


class Warehouse:
    """The oracle's tables, as the resolver asks for them."""

    def __init__(self, described: dict[str, Any] | None = None) -> None:
        self.asked: list[tuple[str, str]] = []
        self.tables: dict[tuple[str, str], TableSchema] = {}
        for name, table in (described or WAREHOUSE["tables"]).items():
            database, _, short = name.partition(".")
            columns = tuple((column[0], column[1]) for column in [*table["columns"], *table["partition_keys"]])
            kind = "view" if table["type"] == "VIRTUAL_VIEW" else "table"
            self.tables[database, short] = TableSchema(columns, kind, ("key",) if short == "bk" else ())

    def table(self, database: str, name: str) -> TableSchema | None:
        """The schema of a table; None where there is none."""
        self.asked.append((database, name))
        return self.tables.get((database, name))
