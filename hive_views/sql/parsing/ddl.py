"""The view DDL of Hive, Spark and Trino: text to statements."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

from sqlglot.tokenizer_core import TokenType

from hive_views.sql.parsing.lexer import Text, unquote_identifier
from hive_views.sql.parsing.parser import ParseTextError
from hive_views.sql.parsing.spark_lexer import first_word
from hive_views.sql.parsing.statements import (
    AlterMaterializedViewRewrite,
    AlterViewAddPartitions,
    AlterViewAs,
    AlterViewDropPartitions,
    AlterViewRecompile,
    AlterViewRename,
    AlterViewSetProperties,
    AlterViewUnsetProperties,
    ColumnSpec,
    CreateMaterializedView,
    CreateView,
    Describe,
    Drop,
    ObjectName,
    PartitionSpec,
    Query,
    RefreshMaterializedView,
    ShowCreate,
    ShowPartitions,
    ShowViews,
    Statement,
)

T = TypeVar("T")

_COMMANDS = frozenset({"SHOW", "DESCRIBE", "DESC", "REFRESH", "ALTER", "DROP", "CREATE", "EXPLAIN", "USE"})


class Cursor:
    """A place in a statement.

    Args:
        sql: The statement.
        dialect: `hive`, `spark` or `trino`.

    Raises:
        SqlError: If it cannot be split into tokens.
    """

    def __init__(self, sql: str, dialect: str) -> None:
        self.first, self.first_at = first_word(sql, dialect)
        hidden = sql
        if self.first in _COMMANDS:
            # sqlglot's tokenizer takes what follows some of these words for one string
            end = self.first_at + len(self.first)
            hidden = sql[: self.first_at] + " " * len(self.first) + sql[end:]
        self.text = Text(hidden, dialect, whole=sql)
        self.sql = sql
        self.dialect = dialect
        self.index = 0
        self._words: list[str] = []
        self._at: list[int] = []
        self._ends: list[int] = []
        self._kinds: list[TokenType] = []
        for token in self.text.tokens:
            raw = hidden[token.start : token.end + 1]
            pieces = raw.split() if token.token_type not in _WHOLE and not raw.startswith(("`", '"', "'")) else [raw]
            at = token.start
            for piece in pieces:
                at = hidden.index(piece, at)
                self._words.append(piece)
                self._at.append(at)
                self._ends.append(at + len(piece))
                self._kinds.append(token.token_type)
                at += len(piece)
        while self._words and self._words[-1] == ";":
            for listed in (self._words, self._at, self._ends, self._kinds):
                listed.pop()

    # -- Looking ---------------------------------------------------------------------------------------------------

    @property
    def done(self) -> bool:
        """Whether everything was read."""
        return self.index >= len(self._words)

    @property
    def start(self) -> int:
        """Where the next word begins."""
        return self._at[self.index] if not self.done else len(self.sql.rstrip())

    def word(self, ahead: int = 0) -> str:
        """The next word in upper case; empty at the end and for what is quoted."""
        at = self.index + ahead
        if at >= len(self._words) or self._words[at][:1] in "`\"'":
            return ""
        return self._words[at].upper()

    def error(self, expected: str) -> ParseTextError:
        """An error at the next word."""
        line, column = self.text.position(self.start)
        found = f"'{self._words[self.index][:40]}'" if not self.done else "the end of the statement"
        return ParseTextError(f"Expected {expected}, found {found}", line=line, column=column)

    # -- Reading ---------------------------------------------------------------------------------------------------

    def accept(self, *words: str) -> bool:
        """Read some words, all of them or none."""
        if all(self.word(ahead) == word for ahead, word in enumerate(words)):
            self.index += len(words)
            return True
        return False

    def expect(self, *words: str) -> None:
        """Read some words."""
        if not self.accept(*words):
            raise self.error(" ".join(words))

    def identifier(self) -> tuple[str, int]:
        """Read one name; returns it without quotes, and where it begins."""
        if self.done:
            raise self.error("a name")
        raw, at = self._words[self.index], self._at[self.index]
        quotes = '`"' if self.dialect == "trino" else "`"
        if raw[0] in quotes:
            name = unquote_identifier(raw)
        elif raw[0].isalnum() or raw[0] == "_":
            name = raw
        else:
            raise self.error("a name")
        if not name:
            raise self.error("a name that is not empty")
        self.index += 1
        return name, at

    def name(self) -> ObjectName:
        """Read `view`, `database.view` or `catalog.database.view`."""
        part, start = self.identifier()
        parts = [part]
        while self.accept("."):
            parts.append(self.identifier()[0])
        if len(parts) > 3:
            raise self.error("a name of at most three parts")
        return ObjectName(tuple(parts), start)

    def string(self) -> str:
        """Read a string literal; returns its value."""
        if self.done or self._words[self.index][0] not in ("'" if self.dialect == "trino" else "'\""):
            raise self.error("a string in quotes")
        value = self._one_string()
        while self.dialect != "trino" and not self.done and self._words[self.index][0] in "'\"":
            # Measured on Spark 4.1.4 and Hive 2.3.10: strings that follow one another are one. In Spark a quote that is
            # doubled is a quote (since 4.0); to Hive that is the end of a string, and the next one.
            before, here = self.index - 1, self.index
            touching = self._ends[before] == self._at[here]
            if touching and self.dialect == "spark" and self._words[before][-1] == self._words[here][0]:
                value += self._words[here][0]
            elif not touching and self.dialect == "hive":
                break
            value += self._one_string()
        return value

    def _one_string(self) -> str:
        raw = self._words[self.index]
        self.index += 1
        return unescape(raw, self.dialect)

    def listed(self, item: Callable[[], T]) -> tuple[T, ...]:
        """Read `(item, item, …)`."""
        self.expect("(")
        items = [item()]
        while self.accept(","):
            items.append(item())
        self.expect(")")
        return tuple(items)

    def property_pair(self) -> tuple[str, str]:
        """Read `'key' = 'value'` (Spark and Trino: `key = value` too)."""
        at = self._words[self.index][:1] if not self.done else ""
        if at in ("'", '"') and not (self.dialect == "trino" and at == '"'):
            key = self.string()
        else:
            parts = [self.identifier()[0]]
            while self.accept("."):
                parts.append(self.identifier()[0])
            key = ".".join(parts)
        if not self.accept("=") and not self.accept("=="):
            raise self.error("=")
        return key, self.value()

    def value(self) -> str:
        """Read a string, a number, TRUE or FALSE, or Trino's ARRAY[…]; returns it as text."""
        if self.done:
            raise self.error("a value")
        raw = self._words[self.index]
        if raw[0] in "'\"":
            return self.string()
        begin = self.start
        negative = self.accept("-")
        if self.word() == "ARRAY" and self.word(1) == "[":
            while not self.done and not self.accept("]"):
                self.index += 1
            return self.sql[begin : self._ends[self.index - 1]]
        if self.done or not (self.word()[:1].isalnum() or self.word() == "NULL"):
            raise self.error("a value")
        self.index += 1
        return ("-" if negative else "") + self.sql[self._at[self.index - 1] : self._ends[self.index - 1]]

    def rest(self) -> tuple[str, int]:
        """Everything that was not read yet, without the semicolon and comments behind it; and where it begins."""
        if self.done:
            raise self.error("a query")
        begin = self.start
        self.index = len(self._words)
        return self.sql[begin : self._ends[-1]], begin

    def finish(self) -> None:
        """Make sure that everything was read."""
        if not self.done:
            raise self.error("the end of the statement")


_WHOLE = frozenset({TokenType.STRING, TokenType.IDENTIFIER, TokenType.HINT, TokenType.COMMENT})
_ESCAPES = {"0": "\0", "n": "\n", "r": "\r", "t": "\t", "b": "\b", "Z": "\x1a", "%": "\\%", "_": "\\_"}
_ESCAPED = re.compile(r"\\u([0-9A-Fa-f]{4})|\\([0-3][0-7]{2})|\\(.)", re.DOTALL)


def unescape(raw: str, dialect: str) -> str:
    """The value of a string literal: with Hive's and Spark's backslashes, or Trino's doubled quotes."""
    quote, inner = raw[0], raw[1:-1]
    if dialect == "trino":
        return inner.replace(quote * 2, quote)

    def replaced(found: re.Match[str]) -> str:
        if found.group(1):
            return chr(int(found.group(1), 16))
        if found.group(2):
            return chr(int(found.group(2), 8))
        return _ESCAPES.get(found.group(3), found.group(3))

    return _ESCAPED.sub(replaced, inner)


def parse_statement(sql: str, dialect: str = "hive") -> Statement:
    """Read one statement of the view DDL."""
    cursor = Cursor(sql, dialect)
    reader = _READERS.get(cursor.first)
    if reader is None:
        line, column = cursor.text.position(cursor.first_at)
        what = f"'{cursor.first}'" if cursor.first else "nothing"
        raise ParseTextError(
            f"Expected a statement about views (CREATE, ALTER, DROP, REFRESH, SHOW, DESCRIBE), found {what}",
            line=line,
            column=column,
        )
    if cursor.first not in ("SHOW", "DESCRIBE", "DESC", "REFRESH", "ALTER", "DROP", "CREATE"):
        cursor.index = 1
    statement = reader(cursor)
    cursor.finish()
    return statement


# -- CREATE ------------------------------------------------------------------------------------------------------------


def _create(cursor: Cursor) -> Statement:
    found: dict[str, Any] = {"or_replace": cursor.accept("OR", "REPLACE")}
    cursor.accept("GLOBAL")
    temporary = cursor.accept("TEMPORARY") or cursor.accept("TEMP")
    materialized = cursor.accept("MATERIALIZED")
    if not cursor.accept("VIEW"):
        raise cursor.error("VIEW or MATERIALIZED VIEW")
    start = cursor.start
    found["if_not_exists"] = cursor.accept("IF", "NOT", "EXISTS")
    if found["if_not_exists"] and found["or_replace"]:
        line, column = cursor.text.position(start)
        raise ParseTextError("Can't combine IF NOT EXISTS and OR REPLACE", line=line, column=column)
    found["name"] = cursor.name()
    if cursor.word() == "(":
        found["columns"] = cursor.listed(lambda: _column(cursor))
    clauses = _MATERIALIZED_CLAUSES if materialized else _VIEW_CLAUSES
    seen: set[str] = set()
    while not cursor.done and cursor.word() != "AS":
        before = cursor.start
        clause = next((name for words, name in _HEADS if cursor.accept(*words)), None)
        if clause is None or clause not in clauses:
            raise cursor.error("AS and the query") if clause is None else _misplaced(cursor, before, clause)
        if clause in seen:
            raise _misplaced(cursor, before, f"a second {clause}")
        seen.add(clause)
        found.update(clauses[clause](cursor))
    cursor.expect("AS")
    text, begin = cursor.rest()
    query = Query(text, begin)
    if materialized:
        return CreateMaterializedView(text=cursor.sql, dialect=cursor.dialect, query=query, **found)
    return CreateView(text=cursor.sql, dialect=cursor.dialect, query=query, temporary=temporary, **found)


def _misplaced(cursor: Cursor, start: int, clause: str) -> ParseTextError:
    line, column = cursor.text.position(start)
    return ParseTextError(f"{clause} is not possible here", line=line, column=column)


def _column(cursor: Cursor) -> ColumnSpec:
    name, start = cursor.identifier()
    comment = cursor.string() if cursor.accept("COMMENT") else None
    return ColumnSpec(name, comment, start)


def _names(cursor: Cursor) -> tuple[str, ...]:
    return cursor.listed(lambda: cursor.identifier()[0])


def _properties(cursor: Cursor) -> tuple[tuple[str, str], ...]:
    return cursor.listed(cursor.property_pair)


def _partitioned(cursor: Cursor) -> dict[str, Any]:
    return {"partitioned_on": tuple(name.lower() for name in _names(cursor))}


def _security(cursor: Cursor) -> dict[str, Any]:
    for word in ("DEFINER", "INVOKER"):
        if cursor.accept(word):
            return {"security": word.lower()}
    raise cursor.error("DEFINER or INVOKER")


def _schema_mode(cursor: Cursor) -> dict[str, Any]:
    if cursor.accept("TYPE", "EVOLUTION"):
        return {"schema_mode": "type evolution"}
    for word in ("BINDING", "COMPENSATION", "EVOLUTION"):
        if cursor.accept(word):
            return {"schema_mode": word.lower()}
    raise cursor.error("BINDING, COMPENSATION, TYPE EVOLUTION or EVOLUTION")


def _stored(cursor: Cursor) -> dict[str, Any]:
    if cursor.accept("AS"):
        return {"stored_as": cursor.identifier()[0].lower()}
    cursor.expect("BY")
    quoted = not cursor.done and cursor.word() == ""
    return {"stored_by": cursor.string() if quoted else cursor.identifier()[0].lower()}


def _row_format(cursor: Cursor) -> dict[str, Any]:
    begin = cursor.start
    end = begin
    while not cursor.done and cursor.word() not in ("STORED", "LOCATION", "TBLPROPERTIES", "AS"):
        end = cursor.start + 1
        cursor.index += 1
        end = cursor._ends[cursor.index - 1]
    return {"row_format": cursor.sql[begin:end]}


def _grace(cursor: Cursor) -> dict[str, Any]:
    begin = cursor.start
    cursor.expect("INTERVAL")
    cursor.value()
    cursor.identifier()
    return {"grace_period": cursor.sql[begin : cursor._ends[cursor.index - 1]]}


_HEADS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("COMMENT",), "COMMENT"),
    (("PARTITIONED", "ON", "SPEC"), "PARTITIONED ON"),
    (("PARTITIONED", "ON"), "PARTITIONED ON"),
    (("PARTITIONED", "BY"), "PARTITIONED ON"),
    (("CLUSTERED", "ON"), "CLUSTERED ON"),
    (("DISTRIBUTED", "ON"), "DISTRIBUTED ON"),
    (("SORTED", "ON"), "SORTED ON"),
    (("TBLPROPERTIES",), "TBLPROPERTIES"),
    (("WITH", "SCHEMA"), "WITH SCHEMA"),
    (("WITH",), "WITH"),
    (("SECURITY",), "SECURITY"),
    (("DISABLE", "REWRITE"), "DISABLE REWRITE"),
    (("ENABLE", "REWRITE"), "ENABLE REWRITE"),
    (("ROW", "FORMAT"), "ROW FORMAT"),
    (("STORED",), "STORED"),
    (("LOCATION",), "LOCATION"),
    (("GRACE", "PERIOD"), "GRACE PERIOD"),
)
_Clause = Callable[[Cursor], dict[str, Any]]
_SHARED: dict[str, _Clause] = {
    "COMMENT": lambda cursor: {"comment": cursor.string()},
    "PARTITIONED ON": _partitioned,
    "TBLPROPERTIES": lambda cursor: {"properties": _properties(cursor)},
}
_VIEW_CLAUSES: dict[str, _Clause] = {**_SHARED, "SECURITY": _security, "WITH SCHEMA": _schema_mode}
_MATERIALIZED_CLAUSES: dict[str, _Clause] = {
    **_SHARED,
    "WITH": lambda cursor: {"properties": _properties(cursor)},
    "CLUSTERED ON": lambda cursor: {"clustered_on": _names(cursor)},
    "DISTRIBUTED ON": lambda cursor: {"distributed_on": _names(cursor)},
    "SORTED ON": lambda cursor: {"sorted_on": _names(cursor)},
    "DISABLE REWRITE": lambda cursor: {"rewrite": False},
    "ENABLE REWRITE": lambda cursor: {"rewrite": True},
    "ROW FORMAT": _row_format,
    "STORED": _stored,
    "LOCATION": lambda cursor: {"location": cursor.string()},
    "GRACE PERIOD": _grace,
}


# -- ALTER -------------------------------------------------------------------------------------------------------------


def _alter(cursor: Cursor) -> Statement:
    materialized = cursor.accept("MATERIALIZED")
    cursor.expect("VIEW")
    if_exists = cursor.accept("IF", "EXISTS")
    name = cursor.name()
    common: dict[str, Any] = {"text": cursor.sql, "dialect": cursor.dialect, "name": name}
    if cursor.accept("RENAME", "TO"):
        return AlterViewRename(**common, new_name=cursor.name(), if_exists=if_exists, materialized=materialized)
    if cursor.accept("SET", "TBLPROPERTIES") or cursor.accept("SET", "PROPERTIES"):
        listed = cursor.word() == "("
        pairs = _properties(cursor) if listed else _bare_properties(cursor)
        return AlterViewSetProperties(**common, properties=pairs, materialized=materialized)
    if cursor.accept("UNSET", "TBLPROPERTIES"):
        missing_is_fine = cursor.accept("IF", "EXISTS")
        keys = cursor.listed(cursor.string)
        return AlterViewUnsetProperties(**common, keys=keys, if_exists=missing_is_fine, materialized=materialized)
    if materialized:
        if cursor.accept("REBUILD"):
            return RefreshMaterializedView(**common)
        if cursor.accept("ENABLE", "REWRITE"):
            return AlterMaterializedViewRewrite(**common, enabled=True)
        if cursor.accept("DISABLE", "REWRITE"):
            return AlterMaterializedViewRewrite(**common, enabled=False)
        if cursor.accept("AS"):
            sql, begin = cursor.rest()
            return AlterViewAs(**common, query=Query(sql, begin), materialized=True)
        raise cursor.error("AS, REBUILD, ENABLE REWRITE, DISABLE REWRITE, RENAME TO, SET or UNSET")
    if cursor.accept("RECOMPILE"):
        return AlterViewRecompile(**common)
    if cursor.accept("ADD"):
        if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
        return AlterViewAddPartitions(**common, partitions=_partitions(cursor), if_not_exists=if_not_exists)
    if cursor.accept("DROP"):
        missing_is_fine = cursor.accept("IF", "EXISTS")
        return AlterViewDropPartitions(**common, partitions=_partitions(cursor), if_exists=missing_is_fine)
    if cursor.word() == "WITH" and cursor.word(1) == "SCHEMA" and cursor.word(2) in _SCHEMA_MODES:
        line, column = cursor.text.position(cursor.start)
        raise ParseTextError("WITH SCHEMA: an Iceberg view does not keep it. Leave it out", line=line, column=column)
    if not cursor.accept("AS") and cursor.word() not in ("SELECT", "WITH", "FROM", "(", "VALUES"):
        raise cursor.error("AS, SET, UNSET, RENAME TO, RECOMPILE, ADD PARTITION or DROP PARTITION")
    sql, begin = cursor.rest()
    return AlterViewAs(**common, query=Query(sql, begin))


_SCHEMA_MODES = frozenset({"BINDING", "COMPENSATION", "EVOLUTION", "TYPE"})


def _bare_properties(cursor: Cursor) -> tuple[tuple[str, str], ...]:
    pairs = [cursor.property_pair()]
    while cursor.accept(","):
        pairs.append(cursor.property_pair())
    return tuple(pairs)


def _partitions(cursor: Cursor) -> tuple[PartitionSpec, ...]:
    found = []
    while cursor.accept("PARTITION"):
        found.append(cursor.listed(lambda: _partition_value(cursor)))
        if cursor.word() == "LOCATION":
            raise cursor.error("no LOCATION: a view's partition has no files")
        cursor.accept(",")
    if not found:
        raise cursor.error("PARTITION")
    return tuple(found)


def _partition_value(cursor: Cursor) -> tuple[str, str | None]:
    name, _ = cursor.identifier()
    if not cursor.accept("="):
        return name.lower(), None
    return name.lower(), cursor.value()


# -- The others --------------------------------------------------------------------------------------------------------


def _drop(cursor: Cursor) -> Statement:
    for keywords in (("MATERIALIZED", "VIEW"), ("VIEW",), ("TABLE",)):
        if cursor.accept(*keywords):
            kind = " ".join(keywords).lower()
            break
    else:
        raise cursor.error("VIEW, TABLE or MATERIALIZED VIEW")
    if_exists = cursor.accept("IF", "EXISTS")
    name = cursor.name()
    behavior = next((word.lower() for word in ("RESTRICT", "CASCADE") if cursor.accept(word)), None)
    purge = kind == "table" and cursor.accept("PURGE")
    return Drop(
        text=cursor.sql,
        dialect=cursor.dialect,
        kind=kind,
        name=name,
        if_exists=if_exists,
        behavior=behavior,
        purge=purge,
    )


def _refresh(cursor: Cursor) -> Statement:
    cursor.expect("MATERIALIZED", "VIEW")
    name = cursor.name()
    full = cursor.accept("FULL")
    incremental = not full and cursor.accept("INCREMENTAL")
    cascade = cursor.accept("CASCADE")
    common: dict[str, Any] = {"text": cursor.sql, "dialect": cursor.dialect, "name": name}
    return RefreshMaterializedView(**common, full=full, incremental=incremental, cascade=cascade)


def _show(cursor: Cursor) -> Statement:
    common: dict[str, Any] = {"text": cursor.sql, "dialect": cursor.dialect}
    if cursor.accept("CREATE"):
        for keywords in (("MATERIALIZED", "VIEW"), ("VIEW",), ("TABLE",)):
            if cursor.accept(*keywords):
                return ShowCreate(**common, kind=" ".join(keywords).lower(), name=cursor.name())
        raise cursor.error("VIEW, TABLE or MATERIALIZED VIEW")
    if cursor.accept("PARTITIONS"):
        name = cursor.name()
        partition = cursor.listed(lambda: _partition_value(cursor)) if cursor.accept("PARTITION") else ()
        return ShowPartitions(**common, name=name, partition=partition)
    materialized = cursor.accept("MATERIALIZED")
    cursor.expect("VIEWS")
    database = cursor.identifier()[0] if cursor.accept("IN") or cursor.accept("FROM") else None
    like = cursor.accept("LIKE")
    pattern = cursor.string() if like or (not cursor.done and cursor.word() == "") else None
    return ShowViews(**common, database=database, pattern=pattern, materialized=materialized)


def _describe(cursor: Cursor) -> Statement:
    extended = formatted = False
    while len(cursor._words) > cursor.index + 1 and cursor.word(1) != ".":
        if cursor.accept("EXTENDED"):
            extended = True
        elif cursor.accept("FORMATTED"):
            formatted = True
        elif not (cursor.accept("TABLE") or cursor.accept("VIEW")):
            break
    name = cursor.name()
    return Describe(text=cursor.sql, dialect=cursor.dialect, name=name, extended=extended, formatted=formatted)


_READERS: dict[str, Callable[[Cursor], Statement]] = {
    "CREATE": _create,
    "ALTER": _alter,
    "DROP": _drop,
    "REFRESH": _refresh,
    "SHOW": _show,
    "DESCRIBE": _describe,
    "DESC": _describe,
}
