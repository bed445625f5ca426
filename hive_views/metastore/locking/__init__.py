"""Locks of the metastore, their heartbeats, and the lock within one process."""

from hive_views.metastore.locking.lock import MetastoreLock, acquire_lock, hold_lock

__all__ = ["MetastoreLock", "acquire_lock", "hold_lock"]
