"""SQL of the metastore databases, one module per database."""
