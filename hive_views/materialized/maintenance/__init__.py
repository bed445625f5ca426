"""Maintenance of storage tables: snapshot expiration and garbage collection."""
