"""The Iceberg view format: metadata as values, changes to them, and metadata files as bytes. No I/O, no clock."""
