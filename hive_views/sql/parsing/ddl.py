"""Parser of the view DDL of Hive, Spark and Trino.

The head of a statement is read word by word. The query inside it is kept as text, which
`hive_views.sql.parsing.parser` parses.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from sqlglot.tokenizer_core import TokenType

from hive_views.sql.parsing.errors import ParseTextError
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
    ExplainRefresh,
    ObjectName,
    PartitionSpec,
    Query,
    RefreshMaterializedView,
    ShowCreate,
    ShowPartitions,
    ShowViews,
    Statement,
)
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.text.quoting import unescape, unquote_identifier
from hive_views.sql.text.spark_lexer import first_word
from hive_views.sql.text.tokens import Text

T = TypeVar("T")
S = TypeVar("S", bound=Statement)

_COMMANDS = frozenset({"SHOW", "DESCRIBE", "DESC", "REFRESH", "ALTER", "DROP", "COMMENT", "CREATE", "EXPLAIN", "USE"})


class Cursor:
    """Reads a statement word by word; raises SqlError."""

    def __init__(self, sql: str, dialect: Dialect) -> None:
        self.first, self.first_start = first_word(sql, dialect)
        hidden = sql
        if self.first in _COMMANDS:
            # sqlglot's tokenizer reads everything after some of these words as one string
            end = self.first_start + len(self.first)
            hidden = sql[: self.first_start] + " " * len(self.first) + sql[end:]
        self.text = Text(hidden, dialect, whole=sql)
        self.sql = sql
        self.dialect = self.text.dialect
        self.syntax = self.text.syntax
        self.index = 0
        self._words: list[str] = []
        self._starts: list[int] = []
        self._ends: list[int] = []
        for token in self.text.tokens:
            raw = hidden[token.start : token.end + 1]
            pieces = raw.split() if token.token_type not in _WHOLE and not raw.startswith(("`", '"', "'")) else [raw]
            start = token.start
            for piece in pieces:
                start = hidden.index(piece, start)
                self._words.append(piece)
                self._starts.append(start)
                self._ends.append(start + len(piece))
                start += len(piece)
        while self._words and self._words[-1] == ";":
            for values in (self._words, self._starts, self._ends):
                values.pop()

    # -- Lookahead ------------------------------------------------------------------------------------------------

    @property
    def done(self) -> bool:
        """Whether all words have been read."""
        return self.index >= len(self._words)

    @property
    def start(self) -> int:
        """Where the next word begins, in characters."""
        return self._starts[self.index] if not self.done else len(self.sql.rstrip())

    def word(self, ahead: int = 0) -> str:
        """Return the next word in upper case; empty at the end and for strings and quoted names."""
        index = self.index + ahead
        if index >= len(self._words) or self._words[index][:1] in "`\"'":
            return ""
        return self._words[index].upper()

    def error(self, expected: str) -> ParseTextError:
        """Return an error that points at the next word."""
        actual = f"'{self._words[self.index][:40]}'" if not self.done else "the end of the statement"
        return self.error_at(self.start, f"Expected {expected}, found {actual}")

    def error_at(self, start: int, reason: str) -> ParseTextError:
        """Return an error that points at a character of the statement."""
        line, column = self.text.position(start)
        return ParseTextError(reason, line=line, column=column)

    # -- Reading ---------------------------------------------------------------------------------------------------

    def accept(self, *words: str) -> bool:
        """Read these words if they come next; return whether they did."""
        if all(self.word(ahead) == word for ahead, word in enumerate(words)):
            self.index += len(words)
            return True
        return False

    def expect(self, *words: str) -> None:
        """Read these words, which must come next."""
        if not self.accept(*words):
            raise self.error(" ".join(words))

    def identifier(self) -> tuple[str, int]:
        """Read a name; return it without quotes, and where it begins."""
        if self.done:
            raise self.error("a name")
        raw, start = self._words[self.index], self._starts[self.index]
        if raw[0] in self.syntax.name_quotes:
            name = unquote_identifier(raw)
        elif raw[0].isalnum() or raw[0] == "_":
            name = raw
        else:
            raise self.error("a name")
        if not name:
            raise self.error("a name that is not empty")
        self.index += 1
        return name, start

    def name(self) -> ObjectName:
        """Read `view`, `database.view` or `catalog.database.view`."""
        part, start = self.identifier()
        parts = [part]
        while self.accept("."):
            parts.append(self.identifier()[0])
        if len(parts) > 3:
            raise self.error("a name of at most three parts")
        return ObjectName(tuple(parts), start)

    def string(self, *, is_joined: bool = True) -> str:
        """Read a string literal, joined with those that follow it unless `is_joined` is False; return its value."""
        if self.done or self._words[self.index][0] not in self.syntax.string_quotes:
            raise self.error("a string in quotes")
        value = self._single_string()
        while self.syntax.joins_strings and not self.done and self._words[self.index][0] in "'\"":
            # Measured on Spark 4.1.4 and Hive 2.3.10: adjacent strings are concatenated. In Spark a doubled quote is a
            # quote (since 4.0); to Hive it ends one string and begins the next one.
            previous, current = self.index - 1, self.index
            touching = self._ends[previous] == self._starts[current]
            if touching and self.syntax.has_doubled_quotes and self._words[previous][-1] == self._words[current][0]:
                value += self._words[current][0]
            elif not is_joined or (not touching and self.dialect is Dialect.HIVE):
                break
            value += self._single_string()
        return value

    def _single_string(self) -> str:
        raw = self._words[self.index]
        self.index += 1
        return unescape(raw, self.dialect)

    def parenthesized(self, item: Callable[[], T]) -> tuple[T, ...]:
        """Read `(item, item, …)`."""
        self.expect("(")
        items = [item()]
        while self.accept(","):
            items.append(item())
        self.expect(")")
        return tuple(items)

    def property_key(self) -> str:
        """Read `'key'` (Spark and Trino: `key` or `first.second` too)."""
        first = self._words[self.index][:1] if not self.done else ""
        if first and first in self.syntax.string_quotes:
            return self.string(is_joined=self.dialect is not Dialect.SPARK)
        parts = [self.identifier()[0]]
        while self.accept("."):
            parts.append(self.identifier()[0])
        return ".".join(parts)

    def property_pair(self) -> tuple[str, str]:
        """Read `'key' = 'value'` (Spark and Trino: also `key = value`; Spark: also without the equals sign)."""
        key = self.property_key()
        if not self.accept("=") and not self.accept("==") and self.dialect is not Dialect.SPARK:
            raise self.error("=")
        return key, self.value()

    def value(self) -> str:
        """Read a string, a number, TRUE or FALSE, or Trino's ARRAY[…]; return it as text."""
        if self.done:
            raise self.error("a value")
        raw = self._words[self.index]
        if raw[0] in "'\"":
            return self.string()
        start = self.start
        negative = self.accept("-")
        if self.word() == "ARRAY" and self.word(1) == "[":
            while not self.done and not self.accept("]"):
                self.index += 1
            return self.text_since(start)
        if self.done or not (self.word()[:1].isalnum() or self.word() == "NULL"):
            raise self.error("a value")
        self.index += 1
        return ("-" if negative else "") + self.sql[self._starts[self.index - 1] : self._ends[self.index - 1]]

    def rest(self) -> tuple[str, int]:
        """Read the rest without a final semicolon and trailing comments; return it, and where it begins."""
        if self.done:
            raise self.error("a query")
        start = self.start
        self.index = len(self._words)
        return self.text_since(start), start

    def text_since(self, start: int) -> str:
        """Return the text from a position up to the last word that was read."""
        return self.sql[start : self._ends[self.index - 1]]

    def statement(self, class_: Callable[..., S], /, **fields: Any) -> S:
        """Return a statement with its text and dialect."""
        return class_(text=self.sql, dialect=self.dialect, **fields)

    def finish(self) -> None:
        """Check that all words have been read."""
        if not self.done:
            raise self.error("the end of the statement")


_WHOLE = frozenset({TokenType.STRING, TokenType.IDENTIFIER, TokenType.HINT, TokenType.COMMENT})


def parse_statement(sql: str, dialect: Dialect = Dialect.HIVE) -> Statement:
    """Parse a statement of the view DDL."""
    cursor = Cursor(sql, dialect)
    reader = _STATEMENT_READERS.get(cursor.first)
    if reader is None:
        actual = f"'{cursor.first}'" if cursor.first else "nothing"
        words = ", ".join(word for word in _STATEMENT_READERS if word not in ("DESC", "EXPLAIN"))
        reason = f"Expected a statement about views ({words}), found {actual}"
        raise cursor.error_at(cursor.first_start, reason)
    statement = reader(cursor)
    cursor.finish()
    return statement


# -- CREATE ------------------------------------------------------------------------------------------------------------


def _create(cursor: Cursor) -> Statement:
    fields: dict[str, Any] = {"or_replace": cursor.accept("OR", "REPLACE")}
    cursor.accept("GLOBAL")
    temporary = cursor.accept("TEMPORARY") or cursor.accept("TEMP")
    materialized = cursor.accept("MATERIALIZED")
    if not cursor.accept("VIEW"):
        raise cursor.error("VIEW or MATERIALIZED VIEW")
    start = cursor.start
    fields["if_not_exists"] = cursor.accept("IF", "NOT", "EXISTS")
    if fields["if_not_exists"] and fields["or_replace"]:
        raise cursor.error_at(start, "Can't combine IF NOT EXISTS and OR REPLACE")
    fields["name"] = cursor.name()
    if cursor.word() == "(":
        fields["columns"] = cursor.parenthesized(lambda: _column(cursor))
    clauses = _MATERIALIZED_CLAUSES if materialized else _VIEW_CLAUSES
    read_clauses: set[str] = set()
    while not cursor.done and cursor.word() != "AS":
        start = cursor.start
        clause = next((name for keywords, name in _CLAUSE_KEYWORDS if cursor.accept(*keywords)), None)
        if clause is None:
            raise cursor.error("AS and the query")
        if clause not in clauses:
            raise cursor.error_at(start, f"{clause} is not possible here")
        if clause in read_clauses:
            raise cursor.error_at(start, f"a second {clause} is not possible here")
        read_clauses.add(clause)
        fields.update(clauses[clause](cursor))
    cursor.expect("AS")
    query = Query(*cursor.rest())
    if materialized:
        return cursor.statement(CreateMaterializedView, query=query, **fields)
    return cursor.statement(CreateView, query=query, temporary=temporary, **fields)


def _column(cursor: Cursor) -> ColumnSpec:
    name, start = cursor.identifier()
    comment = cursor.string() if cursor.accept("COMMENT") else None
    return ColumnSpec(name, comment, start)


def _names(cursor: Cursor) -> tuple[str, ...]:
    return cursor.parenthesized(lambda: cursor.identifier()[0])


def _properties(cursor: Cursor) -> tuple[tuple[str, str], ...]:
    return cursor.parenthesized(cursor.property_pair)


def _transform(cursor: Cursor) -> str:
    """Return a column in lower case, or a transform of one as written: `day(at)`, `bucket(8, id)`."""
    start = cursor.start
    name, _ = cursor.identifier()
    if cursor.word() != "(":
        return name.lower()
    cursor.parenthesized(lambda: cursor.identifier())
    return cursor.text_since(start)


def _sort_term(cursor: Cursor) -> str:
    """Return a column or transform as written, with its direction and the order of NULLs."""
    start = cursor.start
    _transform(cursor)
    if not cursor.accept("ASC"):
        cursor.accept("DESC")
    if cursor.accept("NULLS") and not cursor.accept("FIRST"):
        cursor.expect("LAST")
    return cursor.text_since(start)


def _choice(cursor: Cursor, *choices: str) -> str:
    """Read one of several keywords, each of one or more words; return it in lower case."""
    for choice in choices:
        if cursor.accept(*choice.split()):
            return choice.lower()
    raise cursor.error(f"{', '.join(choices[:-1])} or {choices[-1]}")


def _stored(cursor: Cursor) -> dict[str, Any]:
    if cursor.accept("AS"):
        return {"stored_as": cursor.identifier()[0].lower()}
    cursor.expect("BY")
    quoted = not cursor.done and cursor.word() == ""
    return {"stored_by": cursor.string() if quoted else cursor.identifier()[0].lower()}


def _row_format(cursor: Cursor) -> dict[str, Any]:
    start = cursor.start
    while not cursor.done and cursor.word() not in ("STORED", "LOCATION", "TBLPROPERTIES", "AS"):
        cursor.index += 1
    return {"row_format": cursor.text_since(start)}


def _grace_period(cursor: Cursor) -> dict[str, Any]:
    start = cursor.start
    cursor.expect("INTERVAL")
    cursor.value()
    cursor.identifier()
    return {"grace_period": cursor.text_since(start)}


_CLAUSE_KEYWORDS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("COMMENT",), "COMMENT"),
    (("PARTITIONED", "ON", "SPEC"), "PARTITIONED ON"),
    (("PARTITIONED", "ON"), "PARTITIONED ON"),
    (("PARTITIONED", "BY"), "PARTITIONED ON"),
    (("CLUSTERED", "ON"), "CLUSTERED ON"),
    (("DISTRIBUTED", "ON"), "DISTRIBUTED ON"),
    (("SORTED", "ON"), "SORTED ON"),
    (("SORTED", "BY"), "SORTED BY"),
    (("TBLPROPERTIES",), "TBLPROPERTIES"),
    (("STORAGE", "PROPERTIES"), "STORAGE PROPERTIES"),
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
_SCHEMA_MODES = ("BINDING", "COMPENSATION", "TYPE EVOLUTION", "EVOLUTION")
_Clause = Callable[[Cursor], dict[str, Any]]
_COMMON_CLAUSES: dict[str, _Clause] = {
    "COMMENT": lambda cursor: {"comment": cursor.string()},
    "PARTITIONED ON": lambda cursor: {"partitioned_on": tuple(name.lower() for name in _names(cursor))},
    "TBLPROPERTIES": lambda cursor: {"properties": _properties(cursor)},
}
_VIEW_CLAUSES: dict[str, _Clause] = {
    **_COMMON_CLAUSES,
    "SECURITY": lambda cursor: {"security": _choice(cursor, "DEFINER", "INVOKER")},
    "WITH SCHEMA": lambda cursor: {"schema_mode": _choice(cursor, *_SCHEMA_MODES)},
}
_MATERIALIZED_CLAUSES: dict[str, _Clause] = {
    **_COMMON_CLAUSES,
    "PARTITIONED ON": lambda cursor: {"partitioned_on": cursor.parenthesized(lambda: _transform(cursor))},
    "STORAGE PROPERTIES": lambda cursor: {"storage_properties": _properties(cursor)},
    "WITH": lambda cursor: {"properties": _properties(cursor)},
    "CLUSTERED ON": lambda cursor: {"clustered_on": _names(cursor)},
    "DISTRIBUTED ON": lambda cursor: {"distributed_on": _names(cursor)},
    "SORTED ON": lambda cursor: {"sorted_on": _names(cursor)},
    "SORTED BY": lambda cursor: {"sorted_by": cursor.parenthesized(lambda: _sort_term(cursor))},
    "DISABLE REWRITE": lambda cursor: {"rewrite": False},
    "ENABLE REWRITE": lambda cursor: {"rewrite": True},
    "ROW FORMAT": _row_format,
    "STORED": _stored,
    "LOCATION": lambda cursor: {"location": cursor.string()},
    "GRACE PERIOD": _grace_period,
}


# -- ALTER -------------------------------------------------------------------------------------------------------------


def _alter(cursor: Cursor) -> Statement:
    materialized = cursor.accept("MATERIALIZED")
    cursor.expect("VIEW")
    if_exists = cursor.accept("IF", "EXISTS")
    of_view = partial(cursor.statement, name=cursor.name())
    if cursor.accept("RENAME", "TO"):
        return of_view(AlterViewRename, new_name=cursor.name(), if_exists=if_exists, materialized=materialized)
    if cursor.accept("SET", "TBLPROPERTIES") or cursor.accept("SET", "PROPERTIES"):
        pairs = _properties(cursor) if cursor.word() == "(" else _bare_properties(cursor)
        return of_view(AlterViewSetProperties, properties=pairs, materialized=materialized)
    if cursor.accept("UNSET", "TBLPROPERTIES"):
        ignore_missing = cursor.accept("IF", "EXISTS")
        keys = cursor.parenthesized(cursor.property_key)
        return of_view(AlterViewUnsetProperties, keys=keys, if_exists=ignore_missing, materialized=materialized)
    if materialized:
        if cursor.accept("REBUILD"):
            return of_view(RefreshMaterializedView)
        if cursor.accept("ENABLE", "REWRITE"):
            return of_view(AlterMaterializedViewRewrite, enabled=True)
        if cursor.accept("DISABLE", "REWRITE"):
            return of_view(AlterMaterializedViewRewrite, enabled=False)
        if cursor.accept("AS"):
            return of_view(AlterViewAs, query=Query(*cursor.rest()), materialized=True)
        raise cursor.error("AS, REBUILD, ENABLE REWRITE, DISABLE REWRITE, RENAME TO, SET or UNSET")
    if cursor.accept("RECOMPILE"):
        return of_view(AlterViewRecompile)
    if cursor.accept("ADD"):
        if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
        return of_view(AlterViewAddPartitions, partitions=_partitions(cursor), if_not_exists=if_not_exists)
    if cursor.accept("DROP"):
        ignore_missing = cursor.accept("IF", "EXISTS")
        return of_view(AlterViewDropPartitions, partitions=_partitions(cursor), if_exists=ignore_missing)
    # A common table expression can be called schema.
    if cursor.word() == "WITH" and cursor.word(1) == "SCHEMA" and cursor.word(2) in ("TYPE", *_SCHEMA_MODES):
        raise cursor.error_at(cursor.start, "WITH SCHEMA: an Iceberg view does not keep it. Leave it out")
    if not cursor.accept("AS") and cursor.word() not in ("SELECT", "WITH", "FROM", "(", "VALUES"):
        raise cursor.error("AS, SET, UNSET, RENAME TO, RECOMPILE, ADD PARTITION or DROP PARTITION")
    return of_view(AlterViewAs, query=Query(*cursor.rest()))


def _bare_properties(cursor: Cursor) -> tuple[tuple[str, str], ...]:
    pairs = [cursor.property_pair()]
    while cursor.accept(","):
        pairs.append(cursor.property_pair())
    return tuple(pairs)


def _partitions(cursor: Cursor) -> tuple[PartitionSpec, ...]:
    partitions = []
    while cursor.accept("PARTITION"):
        partitions.append(cursor.parenthesized(lambda: _partition_value(cursor)))
        if cursor.word() == "LOCATION":
            raise cursor.error("no LOCATION: a view's partition has no files")
        cursor.accept(",")
    if not partitions:
        raise cursor.error("PARTITION")
    return tuple(partitions)


def _partition_value(cursor: Cursor) -> tuple[str, str | None]:
    name, _ = cursor.identifier()
    if not cursor.accept("="):
        return name.lower(), None
    return name.lower(), cursor.value()


# -- DROP, REFRESH, SHOW, DESCRIBE -------------------------------------------------------------------------------------


def _drop(cursor: Cursor) -> Statement:
    kind = _choice(cursor, "VIEW", "TABLE", "MATERIALIZED VIEW")
    if_exists = cursor.accept("IF", "EXISTS")
    name = cursor.name()
    behavior = next((word.lower() for word in ("RESTRICT", "CASCADE") if cursor.accept(word)), None)
    purge = kind == "table" and cursor.accept("PURGE")
    return cursor.statement(Drop, kind=kind, name=name, if_exists=if_exists, behavior=behavior, purge=purge)


def _refresh(cursor: Cursor) -> Statement:
    cursor.expect("MATERIALIZED", "VIEW")
    name = cursor.name()
    full = cursor.accept("FULL")
    incremental = not full and cursor.accept("INCREMENTAL")
    cascade = cursor.accept("CASCADE")
    return cursor.statement(RefreshMaterializedView, name=name, full=full, incremental=incremental, cascade=cascade)


def _explain(cursor: Cursor) -> Statement:
    cursor.expect("REFRESH", "MATERIALIZED", "VIEW")
    return cursor.statement(ExplainRefresh, name=cursor.name())


def _show(cursor: Cursor) -> Statement:
    if cursor.accept("CREATE"):
        return cursor.statement(
            ShowCreate, kind=_choice(cursor, "VIEW", "TABLE", "MATERIALIZED VIEW"), name=cursor.name()
        )
    if cursor.accept("PARTITIONS"):
        name = cursor.name()
        partition = cursor.parenthesized(lambda: _partition_value(cursor)) if cursor.accept("PARTITION") else ()
        return cursor.statement(ShowPartitions, name=name, partition=partition)
    materialized = cursor.accept("MATERIALIZED")
    cursor.expect("VIEWS")
    database = cursor.identifier()[0] if cursor.accept("IN") or cursor.accept("FROM") else None
    like = cursor.accept("LIKE")
    pattern = cursor.string() if like or (not cursor.done and cursor.word() == "") else None
    return cursor.statement(ShowViews, database=database, pattern=pattern, materialized=materialized)


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
    return cursor.statement(Describe, name=name, extended=extended, formatted=formatted)


def _comment(cursor: Cursor) -> Statement:
    """COMMENT ON [MATERIALIZED] VIEW name IS 'text' | NULL: a change of the property `comment`."""
    cursor.expect("ON")
    materialized = cursor.accept("MATERIALIZED")
    cursor.expect("VIEW")
    of_view = partial(cursor.statement, name=cursor.name(), materialized=materialized)
    cursor.expect("IS")
    if cursor.accept("NULL"):
        return of_view(AlterViewUnsetProperties, keys=("comment",), if_exists=True)
    return of_view(AlterViewSetProperties, properties=(("comment", cursor.string()),))


_STATEMENT_READERS: dict[str, Callable[[Cursor], Statement]] = {
    "CREATE": _create,
    "ALTER": _alter,
    "COMMENT": _comment,
    "DROP": _drop,
    "REFRESH": _refresh,
    "EXPLAIN": _explain,
    "SHOW": _show,
    "DESCRIBE": _describe,
    "DESC": _describe,
}
