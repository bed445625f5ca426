"""What tools list of Trino's catalogs; one contradictory row makes a listing fail for its whole schema."""

from __future__ import annotations

from tests.integration.trino.server import TrinoServer

_LISTINGS = (
    "SELECT table_name FROM {catalog}.information_schema.tables WHERE table_schema = '{database}'",
    "SELECT table_name || column_name FROM {catalog}.information_schema.columns WHERE table_schema = '{database}'",
    "SELECT table_name FROM {catalog}.information_schema.views WHERE table_schema = '{database}'",
    "SELECT table_name || comment FROM system.metadata.table_comments "
    "WHERE catalog_name = '{catalog}' AND schema_name = '{database}'",
    "SELECT name || COALESCE(comment, '') FROM system.metadata.materialized_views "
    "WHERE catalog_name = '{catalog}' AND schema_name = '{database}'",
    "SELECT table_name || column_name FROM system.jdbc.columns "
    "WHERE table_cat = '{catalog}' AND table_schem = '{database}'",
)


def assert_listings_work(trino: TrinoServer, database: str) -> None:
    """Run all listings of the catalogs `hive` and `iceberg`; raises trino.exceptions.TrinoQueryError."""
    texts = (text.format(catalog=name, database=database) for name in ("hive", "iceberg") for text in _LISTINGS)
    trino.query(" UNION ALL ".join(texts))
    for name in ("hive", "iceberg"):
        trino.query(f"SHOW TABLES FROM {name}.{database}")
