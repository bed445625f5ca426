"""Checks how Trino's Hive connector reads a view text, as measured on Trino 483 (docs/trino.md).

The connector translates the expanded text with Coral. Some constructs are refused, some return other rows without an
error. A construct counts as unverified unless it is in the table of verified constructs.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from itertools import chain

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.analysis.outcomes import Outcome
from hive_views.sql.analysis.trino_choices import choice_findings
from hive_views.sql.analysis.trino_rules import (
    REPORTED_BY_NAME,
    RULES,
    UNKNOWN_FUNCTIONS,
    VERIFIED,
    WITHOUT_ON,
    TrinoFinding,
    other_rows,
    refused,
    unverified,
)
from hive_views.sql.analysis.written_names import with_written_name, written_name
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.parsing.syntax_tree import first_offsets_of
from hive_views.sql.resolver.resolved import ResolvedQuery
from hive_views.sql.resolver.resolver import resolve
from hive_views.sql.resolver.scopes import Schemas
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.text.tokens import Text
from hive_views.sql.writing.coral.blocks import (
    TYPED,
    aggregates_of_aggregates,
    functions_before_grouping,
    typed_functions_of_sources,
)

_FROM_BEST_TO_WORST = (Outcome.SOME_VALUES, Outcome.MAY_FAIL, Outcome.REFUSED, Outcome.UNVERIFIED, Outcome.OTHER_ROWS)


def severity(findings: Collection[TrinoFinding]) -> int:
    """Rank the findings about a text: 0 without findings; a refused text ranks better than one with other rows."""
    outcomes = {finding.outcome for finding in findings}
    if Outcome.REFUSED in outcomes:
        return 1 + _FROM_BEST_TO_WORST.index(Outcome.REFUSED)
    return max((1 + _FROM_BEST_TO_WORST.index(outcome) for outcome in outcomes), default=0)


def trino_findings(
    sql: str,
    schemas: Schemas,
    *,
    database: str,
    dialect: Dialect = Dialect.HIVE,
    functions: Mapping[str, str] | None = None,
) -> tuple[TrinoFinding, ...]:
    """Examine an expanded text; no findings mean that Trino returns the rows of Hive and Spark; raises SqlError."""
    resolution = resolve(parse_query(sql, dialect), schemas, database, functions=functions)
    try:
        located = _located_findings(resolution, schemas, database)
    except RecursionError:
        raise resolution.text.error("The text is nested too deeply", 0) from None
    severity = list(Outcome).index
    located.sort(key=lambda item: (severity(item[0].outcome), item[0].construct, item[1]))
    positions = ((finding, *resolution.text.position(start)) for finding, start in located)
    return tuple(dict.fromkeys(replace(finding, line=line, column=column) for finding, line, column in positions))


def _located_findings(resolution: ResolvedQuery, schemas: Schemas, database: str) -> list[_Located]:
    first_offsets = first_offsets_of(resolution.tree)
    located = list(_text_findings(resolution.text))
    tree = resolution.tree
    if isinstance(tree, exp.SetOperation) and tree.args.get("order") and not tree.args.get("limit"):
        located.append((unverified("ORDER BY of a set operation at the top, without LIMIT"), 0))
    for at in _dates_taken_for_strings(resolution):
        located.append((refused(_DATE_LITERAL), resolution.text.tokens[at].start))
    by_node = (
        _query_findings(resolution, schemas, database),
        _node_findings(resolution),
        choice_findings(resolution),
    )
    for finding, node in chain.from_iterable(by_node):
        located.append((finding, first_offsets.get(id(node), 0)))
    return located


def _node_findings(resolution: ResolvedQuery) -> Iterator[tuple[TrinoFinding, exp.Expr]]:
    for node in resolution.tree.walk():
        kind = type(node)
        rule = RULES.get(kind)
        if rule is None and kind not in VERIFIED and kind not in REPORTED_BY_NAME:
            rule = unverified(kind.key.replace("_", " "))
        finding = rule if isinstance(rule, TrinoFinding) or rule is None else rule(node, resolution.type_of)
        if finding is not None:
            yield replace(finding, construct=with_written_name(resolution.query, node, finding.construct)), node


_Located = tuple[TrinoFinding, int]
"""A finding and where it begins in the text, in characters."""


def _query_findings(
    resolution: ResolvedQuery, schemas: Schemas, database: str
) -> Iterator[tuple[TrinoFinding, exp.Expr]]:
    for select in resolution.tree.find_all(exp.Select):
        merged = (function for _, function in typed_functions_of_sources(resolution, select))
        for function in chain(functions_before_grouping(select), merged):
            name = written_name(resolution.query, function)
            report = refused if isinstance(function, TYPED) else unverified
            yield report(f"{name} of a column in a block with GROUP BY, DISTINCT or IN"), function
        for _, node in aggregates_of_aggregates(resolution, select):
            yield refused("an aggregate of an aggregate"), node
        if select.args.get("windows"):
            yield refused("a WINDOW clause"), select
    for table in resolution.tree.find_all(exp.Table):
        around = table.find_ancestor(exp.Subquery, exp.CTE, exp.Exists, exp.In)
        if not table.db and around is not None and not isinstance(around, exp.CTE):
            yield unverified("a common table expression in a derived table or subquery"), table
        if table.catalog:
            yield refused("a name of a table with its catalog"), table
        schema = schemas.table(table.db.lower() or database, table.name.lower())
        if schema is not None and any("with local time zone" in kind for _, kind in schema.columns):
            yield refused(f"a timestamp with time zone in {table.name}, unless legacy-translation is on"), table


_DATE_LITERAL = "DATE '…' outside of <, > and BETWEEN; CAST('…' AS DATE) is read"
_ORDER_COMPARISONS = (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NEQ, exp.Between, exp.DateDiff, exp.TsOrDsToDate)


def _dates_taken_for_strings(resolution: ResolvedQuery) -> Iterator[int]:
    """Yield the token of each `DATE '…'` that is not compared by order: Coral takes it for a string."""
    text = resolution.text
    for cast in resolution.tree.find_all(exp.Cast):
        at = (text.token_of(cast.this) or 0) - 1
        is_shifted = isinstance(cast.parent, (exp.Add, exp.Sub))  # reported with its interval
        is_literal = at >= 0 and text.raw(at).lower() == "date"
        if is_literal and not is_shifted and not isinstance(cast.parent, _ORDER_COMPARISONS):
            yield at


_BARE_NUMBERS = ([TokenType.NUMBER], [TokenType.DASH])


def _is_plural_unit(text: Text, at: int) -> bool:
    is_quoted = text.kinds[at - 1 : at] == [TokenType.STRING]
    return is_quoted and at < len(text.tokens) and text.raw(at).lower() in _PLURAL_UNITS


_PLURAL_UNITS = frozenset({"years", "months", "weeks", "days", "hours", "minutes", "seconds"})

_ESCAPED_QUOTE = re.compile(r"\\['\"]")


def _text_findings(text: Text) -> Iterator[_Located]:
    for at, token in enumerate(text.tokens):
        kinds, raw = text.kinds[max(at - 2, 0) : at], text.raw(at)
        previous = kinds[-1] if kinds else None
        if token.token_type is TokenType.STRING:
            if not raw.isascii() and any(ord(character) > 255 for character in raw):
                yield refused("a string with characters beyond Latin-1"), token.start
            if "\\" in _ESCAPED_QUOTE.sub("", raw):
                yield other_rows("a backslash in a string"), token.start
            if previous is TokenType.STRING:
                yield refused("adjacent strings"), token.start
            if previous is TokenType.TIMESTAMP:
                yield refused("TIMESTAMP '…'; CAST('…' AS TIMESTAMP) is read"), token.start
        elif (
            raw.lower() in UNKNOWN_FUNCTIONS
            and previous is not TokenType.DOT
            and text.kinds[at + 1 : at + 2] == [TokenType.L_PAREN]
        ):
            yield refused(f"{raw.lower()}()"), token.start
        elif token.token_type is TokenType.JOIN and not _has_condition(text, at):
            yield refused(WITHOUT_ON), token.start
        elif token.token_type is TokenType.NUMBER and raw[-1].isalpha() and raw[-1] not in "Ll":
            yield refused("a number with a suffix other than L"), token.start
        elif raw.lower() == "nulls":
            yield refused("NULLS FIRST or NULLS LAST"), token.start
        elif token.token_type is TokenType.DIV:
            yield refused("DIV"), token.start
        elif raw.lower() == "struct" and text.kinds[at + 1 : at + 2] == [TokenType.L_PAREN]:
            yield other_rows("struct(): the names of its fields; those of named_struct() are read"), token.start
        elif token.token_type is TokenType.INTERVAL and text.kinds[at + 1 : at + 2] in _BARE_NUMBERS:
            yield refused("INTERVAL with a number without quotes; INTERVAL '1' DAY is read"), token.start
        elif token.token_type is TokenType.INTERVAL and _is_plural_unit(text, at + 2):
            yield refused("INTERVAL with a unit in the plural; INTERVAL '7' DAY is read"), token.start
        elif token.token_type is TokenType.INTERVAL and kinds[:1] == [TokenType.STRING]:
            yield refused("an interval added to a literal"), token.start
        elif token.token_type is TokenType.INTERVAL and kinds[:1] == [TokenType.R_PAREN]:
            function = text.raw(text.match[at - 2] - 1).lower()
            if function == "cast":
                yield refused("an interval added to a CAST"), token.start


_AFTER_SOURCE = (TokenType.JOIN, TokenType.ON, TokenType.USING, TokenType.SELECT)


def _has_condition(text: Text, join: int) -> bool:
    """Return whether ON or USING follows a JOIN before the next one: sqlglot adds `ON true` where none is written."""
    level = text.enclosing[join]
    following = (at for at in range(join + 1, len(text.kinds)) if text.kinds[at] in _AFTER_SOURCE)
    at = next((at for at in following if text.enclosing[at] == level), join)
    return text.kinds[at] in (TokenType.ON, TokenType.USING)
