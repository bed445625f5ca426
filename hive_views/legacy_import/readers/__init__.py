"""Readers of legacy rows: Hive, Spark and Trino."""
