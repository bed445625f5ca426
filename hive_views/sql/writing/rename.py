"""New names for the tables and views that a query reads; everything else in the text stays unchanged."""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp

from hive_views.sql.parsing.parser import ParsedQuery
from hive_views.sql.parsing.syntax_tree import table_nodes
from hive_views.sql.text.edits import replace_ranges
from hive_views.sql.text.quoting import quote_identifier
from hive_views.sql.text.tokens import Text

Name = tuple[str, ...]
"""A name's parts without quotes: `table`, `database.table` or `catalog.database.table`."""

_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def rename_tables(query: ParsedQuery, new_name: Callable[[Name], Name | None]) -> str:
    """Return a query's text with other names of the tables and views that it reads; raises SqlError.

    If the last part of a name changes and the table has no alias, the old name becomes its alias, so that columns
    that are qualified by the old name keep their meaning.
    """
    text = query.text
    sql = text.sql
    edits: list[tuple[int, int, str]] = []
    renamed: dict[Name, Name] = {}
    for table in table_nodes(query.tree):
        parts = list(table.parts)
        old = tuple(part.name for part in parts)
        new = new_name(old)
        if new is None or new == old:
            continue
        renamed[tuple(part.lower() for part in old)] = new
        start, end, written = _written(sql, parts)
        replacement = ".".join(_written_parts(new, old, written, text.quote))
        if new[-1].lower() != old[-1].lower() and not table.alias:
            if any(table.args.get(key) for key in ("sample", "when", "version", "pivots")):
                raise text.error(f"{'.'.join(old)} cannot be renamed here: give it an alias", start, old[-1])
            replacement += f" AS {written[-1]}"
        edits.append((start, end, replacement))
    if not edits:
        return sql
    for column in query.tree.find_all(exp.Column):
        edit = _qualifier_edit(text, column, renamed)
        if edit is not None:
            edits.append(edit)
    return replace_ranges(sql, sorted(edits))


def _written_parts(new: Name, old: Name, written: list[str], quote: str) -> list[str]:
    """Write the new parts: unchanged parts as before, other parts quoted if the old part was or if they must be."""
    parts = []
    for back in range(len(new), 0, -1):
        part = new[-back]
        before = written[-back] if back <= len(old) else None
        if before is not None and part.lower() == old[-back].lower():
            parts.append(before)
        elif before is not None and not before.startswith(("`", '"')) and _PLAIN_NAME.fullmatch(part):
            parts.append(part)
        else:
            parts.append(quote_identifier(part, quote))
    return parts


def _qualifier_edit(text: Text, column: exp.Column, renamed: dict[Name, Name]) -> tuple[int, int, str] | None:
    """Return the edit of a column that is qualified by the database and name of a renamed table."""
    parts = list(column.parts)
    if len(parts) < 3:
        return None
    old = tuple(part.name for part in parts[:-1])
    new = renamed.get(tuple(part.lower() for part in old))
    if new is None:
        return None
    start, end, written = _written(text.sql, parts[:-1])
    if new[-1].lower() != old[-1].lower() or len(new) != len(old):
        raise text.error(
            f"A column is qualified by {'.'.join(old)}, which is renamed: give it an alias", start, old[-1]
        )
    return start, end, ".".join(_written_parts(new, old, written, text.quote))


def _written(sql: str, parts: list[exp.Expr]) -> tuple[int, int, list[str]]:
    """Return the start and the end (exclusive) of a name in the text, and its parts as written."""
    ranges = [(int(part.meta["start"]), int(part.meta["end"]) + 1) for part in parts]
    return ranges[0][0], ranges[-1][1], [sql[start:end] for start, end in ranges]
