"""Runs the Python blocks of the documentation, in order, against the real metastore, and checks links and messages."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[3] / "docs"
RUNNABLE = ["python.md", "dependencies.md", "import.md", "materialized.md", "partitions.md", "sql.md"]


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("page", RUNNABLE)
def test_code_blocks_run(page, metastore, tmp_path):
    text = (PAGES / page).read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    assert blocks
    names = {"metastore": metastore, "tmp_path": tmp_path}
    for block in blocks:
        exec(compile(block, page, "exec"), names)


@pytest.mark.parametrize("page", sorted(PAGES.rglob("*.md")), ids=lambda page: page.name)
def test_links_resolve(page):
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text())
    missing = [target for target in targets if "://" not in target and not (page.parent / target).exists()]
    assert not missing


def product_strings() -> Iterator[str]:
    """The string constants and class names of the package; a formatted value is left out."""
    for path in (PAGES.parent / "hive_views").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
            elif isinstance(node, ast.ClassDef):
                yield node.name


def test_messages_in_troubleshooting_exist():
    cells = re.findall(r"^\| (`.*?) \| ", (PAGES / "troubleshooting.md").read_text(), flags=re.MULTILINE)
    fragments = [fragment for cell in cells for fragment in re.findall("`([^`]+)`", cell) if fragment != "401"]
    strings = list(product_strings())
    assert len(fragments) > 15
    assert not [fragment for fragment in fragments if not any(fragment in string for string in strings)]
