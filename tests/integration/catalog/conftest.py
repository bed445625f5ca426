from __future__ import annotations

from tests.integration.catalog.fixtures import catalog, open_catalog, other_database, own_directory, raw

__all__ = ["catalog", "open_catalog", "other_database", "own_directory", "raw"]
