"""Analyses of a query: references, determinism, aggregates, incremental maintenance."""
