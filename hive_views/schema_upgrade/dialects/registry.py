"""The dialects by the names of their databases."""

from __future__ import annotations

from hive_views.errors import UsageError
from hive_views.schema_upgrade.dialects.base import Dialect
from hive_views.schema_upgrade.dialects.derby import Derby
from hive_views.schema_upgrade.dialects.mariadb import MariaDb, MySql
from hive_views.schema_upgrade.dialects.oracle import Oracle
from hive_views.schema_upgrade.dialects.postgresql import PostgreSql
from hive_views.schema_upgrade.dialects.sqlserver import SqlServer

DIALECTS: dict[str, Dialect] = {
    dialect.name: dialect for dialect in (MariaDb(), MySql(), PostgreSql(), Derby(), Oracle(), SqlServer())
}
"""All dialects; they have no state."""

NAMES = tuple(DIALECTS)
"""The names of the supported databases."""


def dialect_of(name: str) -> Dialect:
    """Return the dialect of a database; raises UsageError for a name that is not in `NAMES`."""
    if name not in DIALECTS:
        raise UsageError("dialect", f"{name!r} is not a supported database: {', '.join(NAMES)}")
    return DIALECTS[name]
