"""Comparison of legacy views with the views that replace them, on the user's own data."""
