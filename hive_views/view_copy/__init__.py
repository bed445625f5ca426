"""Copies of view definitions from one catalog to another: Hive Metastores and Iceberg REST catalogs."""

from hive_views.view_copy.copy import CopiedView, CopyStatus, RevertedView, copy_views, plan_copy, revert_copies

__all__ = ["CopiedView", "CopyStatus", "RevertedView", "copy_views", "plan_copy", "revert_copies"]
