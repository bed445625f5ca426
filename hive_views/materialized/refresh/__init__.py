"""Refreshes: planning, staging and publishing of rows."""
