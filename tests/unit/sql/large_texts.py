"""Short texts whose resolution takes exponential work without limits, one for each clause that can repeat columns."""

from __future__ import annotations

import sys
from collections.abc import Callable

from hive_views.config import RowTextForms
from hive_views.errors import SqlError
from hive_views.sql.analysis.row_text import row_text
from hive_views.sql.resolver.origins import source_columns
from hive_views.sql.writing.expand import expand, typed_columns
from tests.unit.sql.tables import Tables

TABLES = Tables({"t": {"a": "int", "b": "string"}, "u": {"k": "int", "v": "string"}})


def chain(step: str, last: str = "SELECT count(*) AS n FROM @", first: str = "SELECT 1 a, 2 b") -> Callable[[int], str]:
    """Return a function for a text of a number of common table expressions, each of which reads the one before it.

    `@` is the name of the one before, `#` the number.
    """

    def text(count: int) -> str:
        steps = [f"c{n} AS ({step})".replace("@", f"c{n - 1}").replace("#", str(n)) for n in range(1, count)]
        return f"WITH c0 AS ({first}){''.join(f', {item}' for item in steps)} {last}".replace("@", f"c{count - 1}")

    return text


def nest(before: str, core: str, after: str) -> Callable[[int], str]:
    """Return a function for a text of a number of levels around a core; `#` is the number of the level."""

    def text(count: int) -> str:
        result = core
        for level in range(count):
            result = before.replace("#", str(level)) + result + after.replace("#", str(level))
        return result

    return text


def laterals(step: str, count: int) -> str:
    """Return a text with a chain of lateral views; `#` is the number of the last one in `step`."""
    views = (f" LATERAL VIEW {step.replace('#', str(number))} q{number} AS e{number + 1}" for number in range(count))
    return f"SELECT 1 one FROM t LATERAL VIEW explode(array(1)) q AS e0{''.join(views)}"


TEXTS: dict[str, str] = {
    "stars": chain("SELECT x.*, y.* FROM @ x, @ y")(27),
    "stars with other names": chain("SELECT x.*, y.* FROM @ x CROSS JOIN (SELECT a a#, * FROM @) y")(40),
    "stars of an unused definition": chain("SELECT x.*, y.* FROM @ x, @ y", "SELECT 1 a")(40),
    "stars of derived tables": nest("SELECT x.*, x.* FROM (", "SELECT 1 a, 2 b", ") x")(40),
    "repeated stars": chain("SELECT *, *, *, *, *, *, *, * FROM @")(60),
    "stars of a product": f"SELECT {', '.join(['*'] * 500)} FROM {', '.join(f't x{n}' for n in range(500))}",
    "UNION": chain("SELECT x.*, y.* FROM @ x, @ y UNION ALL SELECT x.*, y.* FROM @ x, @ y")(40),
    "EXCEPT of a star": chain("SELECT x.* EXCEPT (a), y.* FROM @ x, @ y")(60),
    "DISTINCT": chain("SELECT DISTINCT * FROM @ x, @ y")(60),
    "GROUP BY ALL": chain("SELECT x.*, y.* FROM @ x, @ y GROUP BY ALL")(60),
    "ORDER BY": chain("SELECT x.*, y.* FROM @ x, @ y ORDER BY 1")(60),
    "USING": chain("SELECT * FROM @ x JOIN @ y USING (k)", first="SELECT 1 k, 2 b")(60),
    "FULL JOIN": chain("SELECT * FROM @ x FULL JOIN @ y USING (k)", first="SELECT 1 k, 2 b")(60),
    "LATERAL": chain("SELECT x.*, y.* FROM @ x, LATERAL (SELECT * FROM @) y")(60),
    "lateral view": chain("SELECT x.*, y.*, z# FROM @ x, @ y LATERAL VIEW explode(array(1)) q AS z#")(40),
    "struct of lateral views": laterals("explode(array(struct(e#, e#)))", 200),
    "map of lateral views": laterals("explode(array(map(e#, e#)))", 200),
    "stack of lateral views": laterals("stack(1, struct(e#, e#))", 200),
    "generator": chain("SELECT x.*, y.*, stack(2, 1, 2, 3, 4) AS (p#, q#) FROM @ x, @ y")(60),
    "subquery": chain("SELECT x.*, y.* FROM @ x, @ y WHERE x.a = (SELECT max(a) FROM @)")(50),
    "window": chain("SELECT x.*, y.*, row_number() OVER (ORDER BY 1) r# FROM @ x, @ y")(50),
    "UNPIVOT": chain("SELECT x.*, y.* FROM @ x, @ y", "SELECT * FROM @ UNPIVOT (v FOR n IN (a))")(60),
    "PIVOT": "SELECT * FROM (SELECT a, b FROM t) PIVOT ("
    + ", ".join(f"max(a) {'x' * 20}{n}" for n in range(600))
    + f" FOR b IN ({', '.join(f'{n} p{n}' for n in range(600))}))",
    "VALUES": chain("SELECT x.*, y.* FROM @ x, @ y", first="VALUES (1, 2)")(60),
    "pipe operators": chain("FROM @ x |> CROSS JOIN @ y |> SELECT x.*, y.*")(60),
    "struct of structs": chain("SELECT struct(s AS x, s AS y) s FROM @", "SELECT * FROM @", "SELECT 1 s")(90),
    "named_struct": chain("SELECT named_struct('x', s, 'y', s) s FROM @", "SELECT * FROM @", "SELECT 1 s")(60),
    "map": chain("SELECT map(s, s) s FROM @", "SELECT * FROM @", "SELECT array(1) s")(60),
    "struct of a star": chain("SELECT struct(*) a, struct(*) b FROM @", "SELECT * FROM @")(60),
    "recursive": f"WITH RECURSIVE {chain('SELECT x.*, y.* FROM @ x, @ y')(60).removeprefix('WITH ')}",
    "nested recursive": nest(
        "WITH RECURSIVE r# AS (WITH q AS (SELECT 1) SELECT * FROM (", "SELECT 1 a", ") s) SELECT * FROM r#"
    )(40),
    "names of a long alias": f"SELECT {', '.join(['a'] * 20_000)} FROM t {'x' * 100_000}",
    "brackets": nest("SELECT " + "array[" * 60, "a", "]" * 60 + " FROM t")(1),
    "LIMIT": nest("SELECT 1 LIMIT (", "SELECT 1", ")")(40),
    "OFFSET": nest("SELECT 1 OFFSET (", "SELECT 1", ")")(40),
    "LIMIT and OFFSET": nest("SELECT 1 LIMIT (SELECT 1 OFFSET (", "SELECT 1", "))")(20),
}


def resolve_all(name: str, dialect: str) -> str:
    """Do what commands do with a text; return `resolved`, or the class of the error."""
    try:
        expansion = expand(TEXTS[name], TABLES, database="d", dialect=dialect)
        typed_columns(expansion)
        for _, column in expansion.resolution.columns:
            source_columns(expansion.resolution, column)
        row_text(dialect, expansion, TABLES, database="d", forms=RowTextForms(explicit=True, for_trino=True))
    except SqlError as error:
        return f"{type(error).__name__}: {error}"
    return "resolved"


if __name__ == "__main__":
    for item in TEXTS:
        print(item, "|", resolve_all(item, sys.argv[1]), flush=True)
