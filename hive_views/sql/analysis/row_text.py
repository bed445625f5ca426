"""The text of a view's row: explicit for Hive and Spark, rewritten for Trino where its findings get fewer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from hive_views.config import RowTextForms
from hive_views.errors import SqlError
from hive_views.sql.analysis.outcomes import Outcome
from hive_views.sql.analysis.trino_rules import TrinoFinding
from hive_views.sql.analysis.trino_translation import severity, trino_findings
from hive_views.sql.resolver.scopes import Schemas, TableSchema
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.writing.coral import RewrittenText, apply_rules
from hive_views.sql.writing.definition import hive_text
from hive_views.sql.writing.expand import Expansion
from hive_views.sql.writing.explicit import EXPLICIT_RULES, explicit_text


def row_text(
    dialect: Dialect,
    expansion: Expansion,
    schemas: Schemas,
    *,
    database: str,
    functions: Mapping[str, str] | None = None,
    forms: RowTextForms,
    is_compared: bool = True,
) -> RewrittenText | None:
    """Return `hive_text`, rewritten by the forms that the user wants; None for a Trino text that is not portable.

    Without `is_compared`, the rules for Trino apply although Trino may not read the result better.
    """
    sql = hive_text(dialect, expansion, schemas, database=database, functions=functions)
    if sql is None:
        return None
    of_row = Dialect(dialect).of_row
    rules: tuple[str, ...] = ()
    if forms.explicit:
        explicit = explicit_text(sql, schemas, database=database, dialect=of_row, functions=functions)
        sql, rules = explicit.sql, explicit.rules
    if forms.for_trino:
        rewritten = rewrite_for_coral(
            sql, schemas, database=database, dialect=of_row, functions=functions, is_compared=is_compared
        )
        sql, rules = rewritten.sql, (*rules, *rewritten.rules)
    return RewrittenText(sql, rules)


def describe_rules(rules: str) -> Iterator[str]:
    """Yield sentences about the rules that rewrote the text of a row, given by their names with commas between them."""
    own = {rule.__name__ for rule, _ in EXPLICIT_RULES}
    names = rules.split(",")
    explicit, others = ([name for name in names if (name in own) is is_own] for is_own in (True, False))
    if explicit:
        yield f"the row's text says what Hive and Spark take for granted differently ({','.join(explicit)})"
    if others:
        yield f"the row's text is rewritten for Trino's Hive connector ({','.join(others)})"


def rewrite_for_coral(
    sql: str,
    schemas: Schemas,
    *,
    database: str,
    dialect: Dialect,
    functions: Mapping[str, str] | None = None,
    is_compared: bool = True,
) -> RewrittenText:
    """Return an expanded text with the rules applied; with `is_compared`, only if Trino reads the result better."""
    plain = _WithoutTimeZones(schemas)
    try:
        rewritten = apply_rules(sql, plain, database=database, dialect=dialect, functions=functions)
    except RecursionError:
        return RewrittenText(sql)  # an expression with about a thousand operators, see `trino_findings`
    if rewritten.sql == sql or not is_compared:
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
