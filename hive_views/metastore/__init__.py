"""The Hive Metastore: connections, locks, the commit protocol, the row codec and queries."""

from hive_views.metastore.store import LoadedView, MetastoreStore

__all__ = ["LoadedView", "MetastoreStore"]
