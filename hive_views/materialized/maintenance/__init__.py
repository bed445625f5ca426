"""Maintenance of storage: snapshot expiration and garbage collection."""
