"""What a metastore can do, what is wrong with it, and what to do about it.

Servers differ and their version strings lie, so everything is tried: on a temporary row and a temporary file of our
own, which are removed again however the examination ends.
"""

from hive_views.doctor.examination import examine
from hive_views.doctor.report import Finding, Level, Report

__all__ = ["Finding", "Level", "Report", "examine"]
