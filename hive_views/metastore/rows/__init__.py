"""Rows of the metastore: their values, their columns and their bytes."""
