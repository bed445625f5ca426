"""The text of a view's row for Trino's Hive connector: the rules of `writing.coral`, where the findings get fewer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from hive_views.errors import SqlError
from hive_views.sql.analysis.outcomes import Outcome
from hive_views.sql.analysis.trino_rules import TrinoFinding
from hive_views.sql.analysis.trino_translation import severity, trino_findings
from hive_views.sql.resolver.scopes import Schemas, TableSchema
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.writing.coral import RewrittenText, apply_rules
from hive_views.sql.writing.definition import hive_text
from hive_views.sql.writing.expand import Expansion


def row_text(
    dialect: Dialect,
    expansion: Expansion,
    schemas: Schemas,
    *,
    database: str,
    functions: Mapping[str, str] | None = None,
) -> RewrittenText | None:
    """Return `hive_text`, rewritten for Trino's Hive connector where that helps."""
    sql = hive_text(dialect, expansion, schemas, database=database, functions=functions)
    if sql is None:
        return None
    return rewrite_for_coral(sql, schemas, database=database, dialect=Dialect(dialect).of_row, functions=functions)


def rewrite_for_coral(
    sql: str, schemas: Schemas, *, database: str, dialect: Dialect, functions: Mapping[str, str] | None = None
) -> RewrittenText:
    """Return an expanded text with the rules applied, if Trino reads the result better."""
    plain = _WithoutTimeZones(schemas)
    try:
        rewritten = apply_rules(sql, plain, database=database, dialect=dialect, functions=functions)
    except RecursionError:
        return RewrittenText(sql)  # an expression with about a thousand operators, see `trino_findings`
    if rewritten.sql == sql:
        return rewritten
    before, after = (_severity(text, plain, database, functions) for text in (sql, rewritten.sql))
    return rewritten if after < before else RewrittenText(sql)


def _severity(sql: str, schemas: Schemas, database: str, functions: Mapping[str, str] | None) -> int:
    """Rank the findings of Trino about a text; a text that Hive cannot parse counts as refused."""
    try:
        findings = trino_findings(sql, schemas, database=database, functions=functions)
    except SqlError as error:
        findings = (TrinoFinding(Outcome.REFUSED, error.reason),)
    return severity(findings)


class _WithoutTimeZones:
    """Schemas in which all timestamps have the same type, so that a text does not depend on the names of the types."""

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas

    def table(self, database: str, name: str) -> TableSchema | None:
        schema = self._schemas.table(database, name)
        if schema is None:
            return None
        columns = ((column, _TIMESTAMP.sub("timestamp", kind)) for column, kind in schema.columns)
        return replace(schema, columns=tuple(columns))


_TIMESTAMP = re.compile("timestamp(_ntz| with local time zone)")
