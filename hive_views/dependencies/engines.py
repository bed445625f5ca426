"""Which engines read a view as its author's engine does."""

from __future__ import annotations

from hive_views.errors import NoSuchViewError
from hive_views.identifiers import ViewName
from hive_views.metastore.store import MetastoreStore
from hive_views.metastore.table_schemas import EngineSchemas
from hive_views.metastore.trino_encoding import is_encoded
from hive_views.sql.analysis.trino_translation import TrinoFinding, trino_findings


def check_for_trino(store: MetastoreStore, name: ViewName) -> tuple[TrinoFinding, ...]:
    """Return what Trino's Hive connector does not read as Hive and Spark do; nothing for views in Trino's encoding."""
    row = store.get_row(name)
    if row is None or not row.kind.is_view:
        raise NoSuchViewError(str(name))
    text = row.texts.expanded or row.texts.original
    if is_encoded(row.texts.original) or not text:
        return ()
    return trino_findings(text, EngineSchemas(store, "trino"), database=name.database)
