"""The tables of properties in the documentation are those of the package; HIVE_VIEWS_WRITE_DOCS=1 writes them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from hive_views.config import CATALOG_PROPERTIES, KEYS
from hive_views.errors import InvalidPropertyError
from hive_views.materialized.properties import MATERIALIZED_SETTINGS
from hive_views.property_table import Property, choice, rows_of, text_or, truth, whole

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(
    ("page", "properties", "heading"),
    [
        ("configuration.md", CATALOG_PROPERTIES, "meaning"),
        ("materialized.md", MATERIALIZED_SETTINGS, "effect"),
    ],
)
def test_page_has_the_table(page: str, properties: Sequence[Property], heading: str) -> None:
    table = "\n".join(rows_of(properties, heading)) + "\n"
    first = f"| `{properties[0].keys[0]}` |"
    text = (DOCS / page).read_text(encoding="utf-8")
    [written] = [each for each in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE) if f"\n{first}" in each]
    if "HIVE_VIEWS_WRITE_DOCS" in os.environ:
        (DOCS / page).write_text(text.replace(written, table), encoding="utf-8")
        return
    assert written == table


def test_each_key_has_one_row() -> None:
    keys = [key for item in (*CATALOG_PROPERTIES, *MATERIALIZED_SETTINGS) for key in (*item.keys, *item.hidden_keys)]
    assert sorted({key for key in keys if keys.count(key) > 1}) == ["hive-views.rewrite-queries"]
    assert "hive-views.password" in KEYS and "uri" not in KEYS


@pytest.mark.parametrize("item", [*CATALOG_PROPERTIES, *MATERIALIZED_SETTINGS], ids=lambda item: item.keys[0])
def test_default_is_documented_and_applies(item: Property) -> None:
    assert item.of({}) == item.default == item.stored({})
    if item.default is not None and item.shown_default is None:
        assert item.parse(item.keys[0], item.documented_default) == item.default


@pytest.mark.parametrize(
    ("parse", "text", "expected"),
    [
        (truth, "TRUE", True),
        (truth, "yes", InvalidPropertyError),
        (truth, "", InvalidPropertyError),
        (whole(1), "1", 1),
        (whole(1), "0", InvalidPropertyError),
        (whole(None), "-3", -3),
        (whole(), "1.0", InvalidPropertyError),
        (choice("a", "b"), "B", "b"),
        (choice("a", "b"), "", "a"),
        (choice("a", "b"), "c", InvalidPropertyError),
        (text_or("d"), "", "d"),
        (text_or("d"), "x", "x"),
    ],
)
def test_text_is_parsed_or_rejected(parse: Callable[[str, str], object], text: str, expected: object) -> None:
    item = Property(keys=("k",), parse=parse, default="default", meaning="")
    if expected is InvalidPropertyError:
        with pytest.raises(InvalidPropertyError, match=r"\bk\b"):
            item.check({"k": text})
        assert item.stored({"k": text}) == "default"
    else:
        assert item.of({"k": text}) == item.stored({"k": text}) == expected
