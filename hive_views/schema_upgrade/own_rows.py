"""Rows that hive_views itself wrote: which layout they are of, and the one place for steps from one to the next.

So far there is one layout, that of Iceberg's Java catalog (`hive_views.metastore.row_codec`), and it needs no stamp:
a row without one is of layout 1. A later layout stamps its rows, adds its step to `MIGRATIONS`, and raises `CURRENT`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hive_views.errors import UpgradeError

STAMP = "hive_views_layout"
"""The row parameter that says which layout a row is of; absent on rows of layout 1. The metastore's filter finds it."""

CURRENT = 1
"""The layout that this version writes."""


@dataclass(frozen=True)
class Migration:
    """A step from one layout to the next."""

    to: int
    """The layout that it leads to; it starts from the one before."""
    reason: str
    """What changed."""
    change: Callable[[Mapping[str, str]], Mapping[str, str]]
    """From a row's parameters of the layout before to those of this one; pure."""


MIGRATIONS: tuple[Migration, ...] = ()
"""All steps, in their order: none so far."""


def layout_of(parameters: Mapping[str, str]) -> int:
    """The layout of a row."""
    text = parameters.get(STAMP, "1")
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise UpgradeError("", f"the parameter {STAMP} of a row is {text!r}, which is no layout")
    return int(text)


def migrated(
    parameters: Mapping[str, str], migrations: Sequence[Migration] = MIGRATIONS, current: int = CURRENT
) -> dict[str, str]:
    """A row's parameters in the current layout."""
    layout, found = layout_of(parameters), dict(parameters)
    if layout > current:
        raise UpgradeError("", f"a row is of layout {layout}: a later version of hive_views wrote it; use that one")
    known = {step.to: step for step in migrations}
    for number in range(layout + 1, current + 1):
        if number not in known:
            raise UpgradeError("", f"there is no step from layout {number - 1} to {number}")
        found = {**known[number].change(found), STAMP: str(number)}
    return found
