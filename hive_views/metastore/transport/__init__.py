"""Connections to a metastore: Thrift client, pool, TLS, SASL."""

from hive_views.metastore.transport.client import MetastoreClient

__all__ = ["MetastoreClient"]
