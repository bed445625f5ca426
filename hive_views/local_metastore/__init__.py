"""Hive Metastores that are started on this machine."""
