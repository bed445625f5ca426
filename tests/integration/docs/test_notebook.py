"""examples/views.ipynb: its cells run, and results are displayed as tables."""

import ast
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

NOTEBOOK = Path(__file__).parents[3] / "examples" / "views.ipynb"


def run_cell(source: str, names: dict[str, object]) -> object:
    """Run a cell; returns the value of its last expression, as a notebook displays it."""
    tree = ast.parse(source)
    last = tree.body[-1]
    if isinstance(last, ast.Expr):
        tree.body.pop()
    exec(compile(tree, NOTEBOOK.name, "exec"), names)
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), NOTEBOOK.name, "eval"), names)


@pytest.mark.usefixtures("alone")
def test_cells_run_and_display_tables(metastore, monkeypatch):
    monkeypatch.setenv("HIVE_VIEWS_URI", metastore.uri)
    monkeypatch.setenv("HIVE_VIEWS_WAREHOUSE", metastore.warehouse)
    names: dict[str, Any] = {}
    cells = [
        "".join(cell["source"]) for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"
    ]
    results = [run_cell(cell, names) for cell in cells]
    displayed = [ElementTree.fromstring(result._repr_html_()) for result in results if hasattr(result, "_repr_html_")]
    assert [table.findtext("caption") for table in displayed] == [
        "view notebook.large",
        "rows notebook.customers",
        "3 objects",
        "stale",
        "0 of 0 views are ready",
    ]
    cells_of_view = [cell.text for cell in displayed[0].iter("td")]
    assert "SELECT * FROM notebook.orders WHERE total > 100" in cells_of_view
    assert [cell.text for cell in displayed[2].iter("td")] == [
        *("notebook.customers", "notebook.large", "same"),
        *("notebook.large", "notebook.orders", "same"),
    ]
    names["catalog"].close()
