"""Texts from resolved queries: expansion, renames, and the texts that are stored for a view."""
