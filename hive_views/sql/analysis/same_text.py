"""Whether two texts are the same query, written differently.

Differences that cannot change a row are ignored: white space, comments, the case of keywords and, in expanded texts,
the aliases of tables. Everything else counts as a difference.
"""

from __future__ import annotations

from collections import Counter

from sqlglot import exp

from hive_views.errors import SqlError
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.text.quoting import unquote_identifier
from hive_views.sql.text.spark_lexer import SparkToken, spark_tokens


def is_same_text(before: str, after: str, dialect: Dialect, *, is_expanded: bool = False) -> bool:
    """Return whether two texts are the same query.

    Args:
        before: One text.
        after: The other.
        dialect: The dialect of both.
        is_expanded: Whether every column in the texts is qualified, so that table aliases can be told from columns.

    Returns:
        False also if a text cannot be parsed.
    """
    if before == after:
        return True
    if any("\\\n" in text or "\\\r" in text for text in (before, after)):
        return False  # where a line comment ends depends on the engine
    old_tokens, new_tokens = list(spark_tokens(before, dialect)), list(spark_tokens(after, dialect))
    if [token.kind for token in old_tokens] != [token.kind for token in new_tokens]:
        return False
    try:
        old, new = parse_query(before, dialect).tree.copy(), parse_query(after, dialect).tree.copy()
    except (SqlError, RecursionError):
        return False
    renamed: dict[str, str] = {}
    if is_expanded:
        old_aliases, new_aliases = _table_aliases(old), _table_aliases(new)
        if old_aliases is not None and new_aliases is not None and len(old_aliases) == len(new_aliases):
            renamed = dict(zip(old_aliases, new_aliases, strict=True))
            _rename(old, renamed)
            _rename(new, {alias: alias for alias in new_aliases})
    # Different functions may have the same node in the tree, and a name the same token as a keyword: compare both.
    return _are_same_tokens(old_tokens, new_tokens, renamed) and _description(old) == _description(new)


def _are_same_tokens(before: list[SparkToken], after: list[SparkToken], renamed: dict[str, str]) -> bool:
    for old, new in zip(before, after, strict=True):
        if old.text == new.text or (old.kind == "word" and old.text.lower() == new.text.lower()):
            continue
        if old.kind not in ("word", "quoted"):
            return False
        old_name, new_name = (unquote_identifier(token.text).lower() for token in (old, new))
        if renamed.get(old_name) != new_name:
            return False
    return True


def _table_aliases(tree: exp.Expr) -> list[str] | None:
    """Return the aliases of tables in order.

    None if a name occurs as more than one alias or also as a table or a CTE.
    """
    aliases = [
        table.args["alias"].name.lower()
        for table in tree.find_all(exp.Table, bfs=False)
        if isinstance(table.args.get("alias"), exp.TableAlias) and not table.args["alias"].args.get("columns")
    ]
    names = Counter(node.name.lower() for node in tree.find_all(exp.TableAlias))
    names.update(table.name.lower() for table in tree.find_all(exp.Table) if not table.args.get("alias"))
    return aliases if all(names[alias] == 1 for alias in aliases) else None


def _rename(tree: exp.Expr, names: dict[str, str]) -> None:
    """Rename aliases of tables, both where they are defined and where they qualify columns."""
    for node in list(tree.walk()):
        identifier: exp.Expr | None = None
        if isinstance(node, exp.TableAlias) and isinstance(node.parent, exp.Table):
            identifier = node.this
        elif isinstance(node, exp.Column) and len(node.parts) > 1:
            identifier = node.parts[0]
        elif isinstance(node, exp.Column) and isinstance(node.this, exp.Star) and node.args.get("table"):
            identifier = node.args["table"]
        if isinstance(identifier, exp.Identifier) and identifier.name.lower() in names:
            identifier.set("this", names[identifier.name.lower()])


def _description(tree: exp.Expr) -> str:
    for node in tree.walk():
        node.comments = None
    return repr(tree)
