"""Connections to a metastore: Thrift client, pool, TLS, SASL."""
