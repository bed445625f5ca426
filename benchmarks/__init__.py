"""Repeatable measurements; each prints a ratio against a named peer measured in the same run."""
