"""Runs the Python blocks of the documentation, in order, against the real metastore."""

import re
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
