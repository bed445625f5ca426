"""Refreshes of materialized views on Spark."""
