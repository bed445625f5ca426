"""SQL texts of views: read, resolved and expanded, without any I/O."""

from hive_views.sql.analyzer import Analyzer, RuleAnalyzer, UnknownTypeError
from hive_views.sql.ddl import parse_statement
from hive_views.sql.define import ViewDefinition, define_view
from hive_views.sql.expand import Expansion, OutputColumn, expand
from hive_views.sql.references import FunctionReference, References, TableReference, references
from hive_views.sql.scopes import Schemas, TableSchema

__all__ = [
    "Analyzer",
    "Expansion",
    "FunctionReference",
    "OutputColumn",
    "References",
    "RuleAnalyzer",
    "Schemas",
    "TableReference",
    "TableSchema",
    "UnknownTypeError",
    "ViewDefinition",
    "define_view",
    "expand",
    "parse_statement",
    "references",
]
