"""Joins with USING and NATURAL: their keys, and the columns of their results."""

from __future__ import annotations

from sqlglot import exp

from hive_views.sql.resolver.context import JoinScopes, ResolutionContext
from hive_views.sql.resolver.names import quote_alias, written_join_column
from hive_views.sql.resolver.repeated_names import columns_of
from hive_views.sql.resolver.scopes import AmbiguousName, JoinColumn, MergedColumns, Scope, Using


def joined_scope(context: ResolutionContext, left_alias: str | None, left: Scope) -> Scope:
    """Return the scope of a join with the columns of its left side; the scope of an earlier join is extended."""
    if left_alias is None and left.columns:
        return left  # the result of an earlier join, which nothing else refers to
    result = Scope()
    _add_side(context, result, left)
    return result


def _add_side(context: ResolutionContext, scope: Scope, side: Scope) -> None:
    """Add the columns of one side of a join, in Hive under internal names, which may occur in expanded texts."""
    if context.dialect.merges_using_columns and side.is_disjoint_with(scope.tables):
        scope.add_tables(side)
    else:
        scope.add(side)


def merge_join(context: ResolutionContext, left_alias: str | None, sides: JoinScopes, join: exp.Join) -> Scope:
    """Return the columns of a join in Spark or Trino, where a USING or NATURAL key is one column of the result."""
    left, right = sides.left, sides.right
    is_natural = join.args.get("method") == "NATURAL"
    if is_natural and join.kind in ("SEMI", "ANTI"):
        raise context.fail(f"There is no NATURAL {join.kind} JOIN: write USING", join.this)
    if is_natural and any(context.column_names.is_invented(column) for column in (*left.columns, *right.columns)):
        raise context.fail("NATURAL JOIN over a column without a name: give the column a name with AS", join.this)
    keys = _natural_keys(left, right) if is_natural else _using_keys(context, left, right, join)
    if is_natural and context.dialect.keeps_letter_case:
        _check_letter_case(context, left, right, join, keys)
    keeps_left_only = join.kind in ("SEMI", "ANTI")
    pairs = [(left.column_of(first), right.column_of(second)) for first, second in keys]
    if is_natural:
        sides.natural_keys = pairs
    else:
        sides.keys = pairs
    left_keys, right_keys = [key for key, _ in keys], [key for _, key in keys]
    removed = {*right_keys, *_copies(context, right, right_keys)}
    left_copies = _copies(context, left, left_keys)
    can_qualify = is_natural or not keys or _write_condition(context, left, right, join, keys)
    is_merged = bool(keys) or left.merged is not None or (right.merged is not None and not keeps_left_only)
    result = joined_scope(context, left_alias, left)
    if is_merged and result.merged is None:
        result.merged = MergedColumns(result.tables, left.join_columns(), context.common_type_source)
    right_columns = right.join_columns() if is_merged else []
    if not keeps_left_only:
        _add_side(context, result, right)
    if result.merged is None:
        return result
    if join.side == "RIGHT":
        merged, dropped = right_keys, left_keys
    elif join.side == "FULL":
        merged = [JoinColumn(first.name, (*first.tables, *second.tables)) for first, second in keys]
        dropped = left_keys + right_keys
    else:
        merged, dropped = left_keys, right_keys
    is_coalesced = join.side == "FULL" and (is_natural or not can_qualify)
    is_qualified = not is_coalesced and (can_qualify or context.dialect.star_includes_using)
    for key in (*left_keys, *left_copies):
        result.merged.remove(key)
    result.merged.put_first(
        [JoinColumn(key.name, key.tables, True, is_qualified and key.is_qualified) for key in merged]
    )
    if not keeps_left_only:
        result.merged.append((entry for entry in right_columns if entry not in removed), right.tables)
        hidden = right.merged.hidden if right.merged is not None else ()
        result.merged.hide([key for key in dropped if len(key.tables) == 1], hidden)
    return result


def _copies(context: ResolutionContext, side: Scope, keys: list[JoinColumn]) -> list[JoinColumn]:
    """Return the columns of one side that are the same column as a key, under another name; a star omits them, too."""
    if not context.column_names.renamed_columns:
        return []
    copies: list[JoinColumn] = []
    for key in keys:
        table = key.tables[0] or None
        if len(key.tables) == 1 and (table, key.name) not in side.repeated:
            names = [side.original(column)[1] for column in columns_of(side, table, key.name)]
            copies += [JoinColumn(name, key.tables) for name in names if name != key.name]
    return copies


JoinKeys = list[tuple[JoinColumn, JoinColumn]]
"""The columns of the left and of the right side that a join with USING or NATURAL compares."""


def _using_keys(context: ResolutionContext, left: Scope, right: Scope, join: exp.Join) -> JoinKeys:
    """Return the columns that a USING clause compares: on each side the first column of the name."""
    identifiers = join.args.get("using") or ()
    if not identifiers:
        return []
    keys: JoinKeys = []
    for identifier in identifiers:
        quote_alias(context, identifier)
        name = identifier.name.lower()
        pair = [side.join_columns_of(name)[:1] for side in (left, right)]
        if any(
            _begins_with_repeated(context, side, name, found) for side, found in zip((left, right), pair, strict=True)
        ):
            reason = f"USING ({name}): a list of column names has {name} twice. Give one of them another name"
            raise context.fail(reason, identifier, name)
        if not (pair[0] and pair[1]):
            raise context.fail(
                f"column '{identifier.name}' not present in both sides of the join", identifier, identifier.name
            )
        if any(name == key.name for key, _ in keys):
            raise context.fail(f"USING names column '{identifier.name}' twice", identifier, identifier.name)
        keys.append((pair[0][0], pair[1][0]))
    return keys


def _begins_with_repeated(context: ResolutionContext, side: Scope, name: str, found: list[JoinColumn]) -> bool:
    """Return whether the first column of a name, which Spark compares, has got another one as its name is repeated."""
    repeated = [column for column in context.column_names.repeated_names.get(name, ()) if column in side.names]
    if not repeated or not found:
        return bool(repeated)
    columns, key = side.columns, side.column_of(found[0])
    return key not in columns or columns.index(key) > columns.index(repeated[0])


def _natural_keys(left: Scope, right: Scope) -> JoinKeys:
    """Return the columns that both sides of a NATURAL JOIN have."""
    right_columns: dict[str, JoinColumn] = {}
    for entry in right.join_columns():
        right_columns.setdefault(entry.name, entry)
    return [(entry, right_columns.pop(entry.name)) for entry in left.join_columns() if entry.name in right_columns]


def _check_letter_case(context: ResolutionContext, left: Scope, right: Scope, join: exp.Join, keys: JoinKeys) -> None:
    """Reject a key of NATURAL JOIN that both sides spell differently: Spark compares the names with their case."""
    for first, second in keys:
        names = [
            context.spelling(side.column_of(entry), entry.name) for side, entry in ((left, first), (right, second))
        ]
        if names[0] != names[1]:
            reason = f"NATURAL JOIN of {names[0]} and {names[1]}, which Spark takes for two names: write USING"
            raise context.fail(reason, join.this, names[0])


def _write_condition(context: ResolutionContext, left: Scope, right: Scope, join: exp.Join, keys: JoinKeys) -> bool:
    """Write USING as ON unless each side has its keys in one table; return whether keys can be named with their tables.

    Hive compares a key of several tables with the last table. In Trino a key of USING cannot be named with its table.
    """
    sides = [entry for pair in keys for entry in pair]
    aliases = {table for entry in sides for table in entry.tables}
    if not {table for key, _ in keys for table in key.tables}.isdisjoint(right.tables):
        return True  # a table is joined with itself, of which only the left one remains: SEMI and ANTI
    can_qualify = all(entry.is_qualified for entry in sides) and not any(alias.startswith("__") for alias in aliases)
    is_simple = (
        len(aliases) == 2
        and join.side != "FULL"
        and all(left.count_tables(entry.name) + right.count_tables(entry.name) == 2 for entry, _ in keys)
    )
    if is_simple and context.dialect.star_includes_using:
        return True
    identifiers = join.args["using"]
    indexes = [index for item in identifiers if (index := context.text.token_of(item)) is not None]
    if not can_qualify or len(indexes) != len(identifiers) or context.query.depends_on_using:
        return False
    condition = " and ".join(
        f"{written_join_column(context, first)} = {written_join_column(context, second)}" for first, second in keys
    )
    first_token = min(indexes) - 2
    context.writing.edits.replace(first_token, max(indexes) + 1, f"on {condition}")
    written = [side.column_of(entry) for pair in keys for side, entry in zip((left, right), pair, strict=True)]
    context.bound.generated.setdefault(first_token, []).extend(written)
    return True


def resolve_using(
    context: ResolutionContext,
    left_alias: str | None,
    left: Scope,
    right_alias: str | None,
    right: Scope,
    join: exp.Join,
) -> Using:
    """Resolve a USING clause, whose columns both sides must have."""
    names: list[str] = []
    for identifier in join.args["using"]:
        quote_alias(context, identifier)
        name = identifier.name
        lower = name.lower()
        if left_alias is None:
            left_alias = next((table for table in reversed(left.tables) if name in left.tables[table]), None)
        try:
            left_key, right_key = left.find(left_alias, lower), right.find(right_alias, lower)
        except AmbiguousName as error:
            raise context.fail(error.reason, identifier, name) from error
        if left_key is None or right_key is None:
            raise context.fail(f"column '{name}' not present in both sides of the join", identifier, name)
        names.append(name)
        context.bound.joins[id(join)].keys.append((left_key, right_key))
    return Using(left_alias or "", right_alias or "", names, join.side == "RIGHT")
