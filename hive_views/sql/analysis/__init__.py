"""Analyses of a query: references, lineage, determinism, incremental maintenance, findings about engines."""
