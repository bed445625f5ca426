"""Checks of a materialized view: the current state of its sources, its definition over them, and its freshness."""
