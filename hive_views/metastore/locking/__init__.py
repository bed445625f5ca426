"""Locks of the metastore, their heartbeats, and the queue within one process."""
