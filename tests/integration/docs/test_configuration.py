"""Compares docs/configuration.md with the constants in hive_views.config."""

import re
from pathlib import Path

import pytest

from hive_views import config

PAGE = (Path(__file__).parents[3] / "docs" / "configuration.md").read_text()
ROWS = {
    cells[1].strip(" `"): cells[2].strip(" `")
    for cells in (line.split("|") for line in PAGE.splitlines() if line.startswith("| `"))
}
KEYS = sorted(name for name in dir(config) if re.fullmatch(r"[A-Z0-9_]+", name) and f"{name}_DEFAULT" in dir(config))


@pytest.mark.parametrize("name", KEYS)
def test_property_is_documented_with_default(name):
    default = getattr(config, f"{name}_DEFAULT")
    assert ROWS[getattr(config, name)] == (str(default).lower() if isinstance(default, bool) else str(default))


@pytest.mark.parametrize("name", ["URI", "WAREHOUSE", "UGI", "VIEW_DEFAULT_PREFIX", "VIEW_OVERRIDE_PREFIX"])
def test_property_without_default_is_documented(name):
    assert f"`{getattr(config, name)}" in PAGE
