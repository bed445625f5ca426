"""The permanent functions that texts call by database and name, which the metastore holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from hive_views.errors import NoSuchNamespaceError
from hive_views.metastore.store import MetastoreStore
from hive_views.sql.text.dialects import Dialect

if TYPE_CHECKING:
    from hive_views.sql.analysis.references import FunctionReference  # sqlglot takes 0.1 s to import


class RegisteredFunctions:
    """The functions of a metastore, each looked up once."""

    def __init__(self, store: MetastoreStore) -> None:
        self._store = store
        self._exists: dict[tuple[str, str], bool] = {}

    def exists(self, database: str, name: str) -> bool:
        """Return whether a database, in lower case, has a function."""
        key = (database, name)
        if key not in self._exists:
            self._exists[key] = self._store.has_function(database, name)
        return self._exists[key]

    def missing(self, called: Iterable[FunctionReference], dialect: Dialect) -> Iterator[FunctionReference]:
        """Yield the functions of the metastore that a text calls and that do not exist.

        Texts of Trino are left out: their qualified names are functions of Trino's catalogs. In a text of Spark, a name
        that no database has may be a catalog's (`prod.bucket(2, id)` of Iceberg).
        """
        for function in called:
            name = function.registered_name
            if name is None or dialect is Dialect.TRINO or self.exists(*name):
                continue
            if dialect is Dialect.HIVE or self._has_database(name[0]):
                yield function

    def _has_database(self, database: str) -> bool:
        try:
            self._store.client.get_database(database)
        except NoSuchNamespaceError:
            return False
        return True


def missing_function(function: FunctionReference) -> str:
    """Return what messages call a function that does not exist; follows "there is"."""
    return f"no function {function.database}.{function.name} in the metastore"
