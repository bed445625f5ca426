"""SQL statements about views, executed by a catalog."""

from hive_views.catalog.statements.context import Result, ResultKind
from hive_views.catalog.statements.describe import describe
from hive_views.catalog.statements.execution import execute, execute_statement, is_about_materialized, locate_error

__all__ = [
    "Result",
    "ResultKind",
    "describe",
    "execute",
    "execute_statement",
    "is_about_materialized",
    "locate_error",
]
