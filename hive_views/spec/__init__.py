"""The Iceberg view format: metadata as values, changes to them, the encoding of files. No I/O, no clock."""
