"""SQL texts of views: read, resolved and expanded, without any I/O."""

from hive_views.sql.analysis.references import FunctionReference, References, TableReference, references
from hive_views.sql.parsing.ddl import parse_statement
from hive_views.sql.resolver.scopes import Schemas, TableSchema
from hive_views.sql.rewriting.definition import ExpandedDefinition, define_view
from hive_views.sql.rewriting.expand import Expansion, OutputColumn, UnknownTypeError, expand, typed_columns

__all__ = [
    "ExpandedDefinition",
    "Expansion",
    "FunctionReference",
    "OutputColumn",
    "References",
    "Schemas",
    "TableReference",
    "TableSchema",
    "UnknownTypeError",
    "define_view",
    "expand",
    "parse_statement",
    "references",
    "typed_columns",
]
