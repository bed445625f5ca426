"""Freshness: whether stored rows are the rows that the definition returns now."""
