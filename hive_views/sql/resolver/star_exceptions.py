"""The columns and fields of structs that `* EXCEPT (…)` omits.

Source of the rules: Spark 4.1's `UnresolvedStarBase` and measurements with Spark 4.1.4: a name is resolved as in an
expression, and a struct without some fields is a new struct, which is not NULL where the struct is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import exp

from hive_views.sql.resolver.context import ResolutionContext
from hive_views.sql.resolver.names import is_qualified_as
from hive_views.sql.resolver.repeated_names import columns_of
from hive_views.sql.resolver.scopes import AmbiguousName, MergedKey, Scope
from hive_views.sql.text.quoting import string_literal
from hive_views.sql.types import hive_types
from hive_views.sql.types.names import struct_of

Paths = frozenset[tuple[str, ...]]
"""The paths of fields, in lower case, that are omitted of a value; the empty path omits it as a whole."""
Omitted = Mapping[tuple[str | None, str], Paths]
"""What is omitted of a column, by its table and its name; no table for the key of a join."""
NOTHING: Paths = frozenset()
_CATALOG = 3
"""A name with more parts in front of a column begins with a catalog, which may not be known."""


def exceptions_of(star: exp.Expr) -> Sequence[exp.Expr]:
    """Return what is in parentheses after EXCEPT."""
    return star.args.get("except_") or star.args.get("except") or ()


def omitted_columns(context: ResolutionContext, star: exp.Expr, scope: Scope, table: str | None) -> Omitted:
    """Return what `* EXCEPT (…)` omits."""
    items = exceptions_of(star)
    if items and not context.dialect.has_star_except:
        raise context.fail("Hive has no EXCEPT after a star: list the columns", star)
    if star.args.get("replace") or star.args.get("rename"):
        raise context.fail("REPLACE and RENAME after a star are not supported: list the columns", star)
    result: dict[tuple[str | None, str], Paths] = {}
    for item in items:
        key, path = _path_of(context, item, scope, table)
        omitted = _extended(context, result.get(key, NOTHING), path, item)
        result |= dict.fromkeys((key, *map(scope.original, columns_of(scope, *key))), omitted)
    return result


def omitted_fields(context: ResolutionContext, star: exp.Expr, fields: Sequence[str]) -> Mapping[str, Paths]:
    """Return what `s.* EXCEPT (…)` omits of a struct with these fields; some of it must stay."""
    result: dict[str, Paths] = {}
    for item in exceptions_of(star):
        first, *path = [part.name.lower() for part in getattr(item, "parts", (item,))]
        if fields.count(first) != 1:
            raise context.fail(f"EXCEPT after the star of a struct: '{first}' is not one of its fields", item, first)
        result[first] = _extended(context, result.get(first, NOTHING), tuple(path), item)
    if len(result) == len(fields) and all(() in paths for paths in result.values()):
        raise context.fail("EXCEPT leaves no field of the struct", star)
    return result


def without_fields(
    context: ResolutionContext, text: str, kind: str | None, omitted: Paths, at: exp.Expr
) -> tuple[str, str]:
    """Return the text and the type of a struct without some of its fields."""
    fields = hive_types.written_fields(kind) if kind is not None else None
    if kind is None:
        raise context.fail(f"EXCEPT with a field: the type of {text} is not known", at)
    names = [name.lower() for name, _ in fields or ()]
    for name, *_ in omitted:
        if names.count(name) != 1:
            raise context.fail(f"EXCEPT with the field {name}: {text} is no struct with this field", at, name)
    kept: list[tuple[str, str, str]] = []
    for spelled, inner in fields or ():
        value = f"{text}.{context.quote(spelled)}"
        rest = frozenset(path[1:] for path in omitted if path[0] == spelled.lower())
        if () not in rest and names.count(spelled.lower()) > 1:
            raise context.fail(f"EXCEPT with a field: {text} has two fields {spelled} but for their case", at, spelled)
        if () not in rest:
            kept.append((spelled, *(without_fields(context, value, inner, rest, at) if rest else (value, inner))))
    if not kept:
        raise context.fail(f"EXCEPT leaves no field of the struct {text}", at)
    arguments = ", ".join(f"{string_literal(name, context.text.dialect)}, {value}" for name, value, _ in kept)
    return f"named_struct({arguments})", struct_of([(name, inner) for name, _, inner in kept])


def _path_of(
    context: ResolutionContext, item: exp.Expr, scope: Scope, table: str | None
) -> tuple[tuple[str | None, str], tuple[str, ...]]:
    """Return the column that a name stands for, or the column of a field and the path of the field."""
    parts = getattr(item, "parts", (item,))
    last = len(parts) - 1
    written = ".".join(part.name for part in parts)
    readings: list[tuple[tuple[str | None, str], tuple[str, ...]]] = []
    for used in range(min(3, last), -1, -1) if context.dialect.has_struct_stars else (last,):
        key = _column_of(context, item, parts[: used + 1], scope, table)
        if key is not None:
            readings.append((key, tuple(part.name.lower() for part in parts[used + 1 :])))
            if used < _CATALOG:
                break
    if len(readings) > 1:
        reason = (
            f"EXCEPT ({written}) after a star can begin with a catalog or with a database: leave the first part out"
        )
        raise context.fail(reason, item, parts[0].name)
    if readings:
        return readings[0]
    raise context.fail(f"EXCEPT ({written}) after a star: it is no column of the star", item, parts[-1].name)


def _column_of(
    context: ResolutionContext, item: exp.Expr, parts: Sequence[Any], scope: Scope, table: str | None
) -> tuple[str | None, str] | None:
    """Return the table and the name of a column of the star; None if no table of FROM has it."""
    *qualifier, name = [part.name.lower() for part in parts]
    owner = qualifier[-1] if qualifier else table
    if type(item) not in (exp.Identifier, exp.Column, exp.Dot) or (qualifier and owner not in scope.tables):
        return None
    has_other_table = bool(qualifier) and table is not None and owner != table
    try:
        column = scope.find_own(owner, name)
        if column is not None and scope.original(column) in scope.repeated:
            raise AmbiguousName(name, is_repeated=True)
    except AmbiguousName as error:
        raise context.fail(error.reason, item, name) from error
    is_other = has_other_table or (len(qualifier) > 1 and not is_qualified_as(scope, qualifier))
    if is_other or column is None:
        return None
    return (None, name) if type(column) is MergedKey else scope.original(column)


def _extended(context: ResolutionContext, paths: Paths, path: tuple[str, ...], item: exp.Expr) -> Paths:
    """Return paths and another one, of which none may contain another."""
    if any(path[: len(other)] == other or other[: len(path)] == path for other in paths):
        raise context.fail("EXCEPT omits a column or a field twice", item, item.name)
    return paths | {path}
