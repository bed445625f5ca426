"""Other names for the tables and views in a query, token by token: all else stays to the letter."""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp

from hive_views.sql.parsing.lexer import IDENTIFIER_QUOTES, Text
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.parsing.syntax_tree import table_nodes
from hive_views.sql.rewriting.quoting import quote_identifier

Name = tuple[str, ...]
"""A name's parts without quotes: `table`, `database.table` or `catalog.database.table`."""

_PLAIN = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def rename_tables(sql: str, dialect: str, new_name: Callable[[Name], Name | None]) -> str:
    """Give the tables and views that a query names other names.

    Where the last part of a name changes and the place has no alias, the old name becomes its alias, so that the
    columns that are qualified by it go on meaning the same.
    """
    query = parse_query(sql, dialect)
    text, tree = query.text, query.tree
    edits: list[tuple[int, int, str]] = []
    renamed: dict[Name, Name] = {}
    for table in table_nodes(tree):
        parts = list(table.parts)
        old = tuple(part.name for part in parts)
        new = new_name(old)
        if new is None or new == old:
            continue
        renamed[tuple(part.lower() for part in old)] = new
        start, end = _start(parts[0]), _end(parts[-1])
        written = [sql[_start(part) : _end(part) + 1] for part in parts]
        replacement = ".".join(_parts(new, old, written, IDENTIFIER_QUOTES[dialect]))
        if new[-1].lower() != old[-1].lower() and not table.alias:
            if any(table.args.get(key) for key in ("sample", "when", "version", "pivots")):
                raise text.error(f"{'.'.join(old)} cannot be renamed here: give it an alias", start, old[-1])
            replacement += f" AS {written[-1]}"
        edits.append((start, end, replacement))
    if not edits:
        return sql
    for column in tree.find_all(exp.Column):
        edit = _qualifier(text, column, renamed, IDENTIFIER_QUOTES[dialect])
        if edit is not None:
            edits.append(edit)
    for start, end, replacement in sorted(edits, reverse=True):
        sql = sql[:start] + replacement + sql[end + 1 :]
    return sql


def _parts(new: Name, old: Name, written: list[str], quote: str) -> list[str]:
    """The new parts as they are written: as before where one stays, quoted where it was quoted or has to be."""
    found = []
    for back in range(len(new), 0, -1):
        part = new[-back]
        before = written[-back] if back <= len(old) else None
        if before is not None and part.lower() == old[-back].lower():
            found.append(before)
        elif before is not None and not before.startswith(("`", '"')) and _PLAIN.fullmatch(part):
            found.append(part)
        else:
            found.append(quote_identifier(part, quote))
    return found


def _qualifier(text: Text, column: exp.Column, renamed: dict[Name, Name], quote: str) -> tuple[int, int, str] | None:
    """The edit of a column that is qualified by database and table."""
    parts = list(column.parts)
    if len(parts) < 3:
        return None
    old = tuple(part.name for part in parts[:-1])
    new = renamed.get(tuple(part.lower() for part in old))
    if new is None:
        return None
    start, end = _start(parts[0]), _end(parts[-2])
    if new[-1].lower() != old[-1].lower() or len(new) != len(old):
        raise text.error(
            f"A column is qualified by {'.'.join(old)}, which is renamed: give it an alias", start, old[-1]
        )
    written = [text.sql[_start(part) : _end(part) + 1] for part in parts[:-1]]
    return start, end, ".".join(_parts(new, old, written, quote))


def _start(part: exp.Expr) -> int:
    return int(part.meta["start"])


def _end(part: exp.Expr) -> int:
    return int(part.meta["end"])
