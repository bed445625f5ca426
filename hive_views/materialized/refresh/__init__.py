"""Refreshes: plan, staging, publishing."""
