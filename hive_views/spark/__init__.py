"""Views on Spark: sessions, and column types from Spark's analyzer."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hive_views.spark.session.session import ViewSession as ViewSession

__all__ = ["ViewSession"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Imported on first use (decision 0006).
    from hive_views.spark.session.session import ViewSession

    return ViewSession
