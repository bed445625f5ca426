"""Rewriting of SQL texts: expansion, renames, and the texts that are stored for a view."""
