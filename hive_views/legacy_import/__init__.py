"""Import of legacy views: conversion of views of Hive, plain Spark and Trino to Iceberg views, and its reversal.

`plan_import` plans an import, `run_plan` runs a plan and `revert_run` restores the legacy rows. See `docs/import.md`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hive_views.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from hive_views.legacy_import.export import ExportedView as ExportedView
    from hive_views.legacy_import.export import export_rows as export_rows
    from hive_views.legacy_import.export import export_script as export_script
    from hive_views.legacy_import.export import script_text as script_text
    from hive_views.legacy_import.journal import History as History
    from hive_views.legacy_import.journal import ImportOutcome as ImportOutcome
    from hive_views.legacy_import.journal import ImportStatus as ImportStatus
    from hive_views.legacy_import.journal import RevertStatus as RevertStatus
    from hive_views.legacy_import.journal import read_journal as read_journal
    from hive_views.legacy_import.legacy_view import ConversionError as ConversionError
    from hive_views.legacy_import.legacy_view import Problem as Problem
    from hive_views.legacy_import.legacy_view import Reason as Reason
    from hive_views.legacy_import.legacy_view import Writer as Writer
    from hive_views.legacy_import.options import ImportOptions as ImportOptions
    from hive_views.legacy_import.options import RenameRule as RenameRule
    from hive_views.legacy_import.plan import ImportPlan as ImportPlan
    from hive_views.legacy_import.plan import PlanEntry as PlanEntry
    from hive_views.legacy_import.plan import PlanStatus as PlanStatus
    from hive_views.legacy_import.plan import plan_import as plan_import
    from hive_views.legacy_import.plan import read_plan as read_plan
    from hive_views.legacy_import.plan import write_plan as write_plan
    from hive_views.legacy_import.reader_check import plan_for_readers as plan_for_readers
    from hive_views.legacy_import.report.report import ImportReport as ImportReport
    from hive_views.legacy_import.report.report import ReportEntry as ReportEntry
    from hive_views.legacy_import.report.report import read_check_results as read_check_results
    from hive_views.legacy_import.report.report import render_report_page as render_report_page
    from hive_views.legacy_import.report.report import report_outcomes as report_outcomes
    from hive_views.legacy_import.report.report import report_plan as report_plan
    from hive_views.legacy_import.report.report import report_run as report_run
    from hive_views.legacy_import.report.report import unchecked_promises as unchecked_promises
    from hive_views.legacy_import.revert import RevertOutcome as RevertOutcome
    from hive_views.legacy_import.revert import revert_run as revert_run
    from hive_views.legacy_import.revert import revert_views as revert_views
    from hive_views.legacy_import.run import RunResult as RunResult
    from hive_views.legacy_import.run import dry_run as dry_run
    from hive_views.legacy_import.run import run_plan as run_plan

__getattr__, __dir__, __all__ = lazy_exports(__name__)
