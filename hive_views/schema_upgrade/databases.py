"""The databases of metastores that this package knows."""

from __future__ import annotations

from hive_views.text_enum import TextEnum


class Database(TextEnum):
    """A database; its text is its name in plans and on the command line."""

    MARIADB = "mariadb"
    MYSQL = "mysql"
    """MySQL; in addresses MariaDB, too."""
    POSTGRESQL = "postgresql"
    DERBY = "derby"
    ORACLE = "oracle"
    SQLSERVER = "sqlserver"

    @property
    def is_mysql(self) -> bool:
        """Whether it is MySQL or MariaDB."""
        return self in (Database.MARIADB, Database.MYSQL)
