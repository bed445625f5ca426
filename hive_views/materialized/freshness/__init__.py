"""Freshness of materialized views: source state, checks and verdicts."""
