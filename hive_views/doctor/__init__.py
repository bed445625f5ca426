"""Diagnosis of a metastore: its capabilities, problems, and how to solve them.

Servers report wrong versions (2.3 and 3.1 both report 3.0), so capabilities are tested on a temporary row and a
temporary file, which are removed at the end, also after errors and interruptions.
"""

from hive_views.doctor.examination import examine
from hive_views.doctor.report import DoctorReport, Finding, Level

__all__ = ["DoctorReport", "Finding", "Level", "examine"]
