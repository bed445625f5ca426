"""The fixtures: the texts that Hive 4.1.0 stored for views, and the tables that their statements name."""

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


def load_cases(name: str) -> list[dict[str, Any]]:
    """Read a fixture with one JSON value a line."""
    return [json.loads(line) for line in (FIXTURES / name).read_text(encoding="utf-8").splitlines()]


def collapse_whitespace(text: str) -> str:
    """Replace every run of white space by one blank."""
    return " ".join(text.split())


class Warehouse:
    """The tables of the warehouse as a `Schemas` source; `requested` lists the tables that were looked up."""

    def __init__(self) -> None:
        self.requested: list[tuple[str, str]] = []
        self.tables: dict[tuple[str, str], TableSchema] = {}
        for qualified_name, table in WAREHOUSE["tables"].items():
            database, _, name = qualified_name.partition(".")
            columns = tuple((column[0], column[1]) for column in [*table["columns"], *table["partition_keys"]])
            kind = "view" if table["type"] == "VIRTUAL_VIEW" else "table"
            self.tables[database, name] = TableSchema(columns, kind, ("key",) if name == "bk" else ())

    def table(self, database: str, name: str) -> TableSchema | None:
        """The schema of a table; None where it does not exist."""
        self.requested.append((database, name))
        return self.tables.get((database, name))
