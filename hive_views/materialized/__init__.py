"""Materialized views: a view's definition, the table that stores its rows, and whether those still are the view's."""
