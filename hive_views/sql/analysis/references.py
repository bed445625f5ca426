"""The tables, views and functions that a query names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.engines.builtin_functions import HIVE_FUNCTIONS, HIVE_PARTITIONED_FUNCTIONS, SPARK_FUNCTIONS
from hive_views.sql.parsing.hive_grammar import PARSED_ELSEWHERE, RESERVED
from hive_views.sql.parsing.parser import ParsedQuery
from hive_views.sql.parsing.spark_grammar import name_offsets
from hive_views.sql.parsing.syntax_tree import function_token, relation_nodes, start_offsets
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.text.file_names import file_name, is_file_name
from hive_views.sql.text.quoting import unquote_identifier
from hive_views.sql.text.tokens import Text


@dataclass(frozen=True)
class TableReference:
    """A table or view that a text names.

    Attributes:
        parts: The name as written, without quotes: `table`, `database.table` or `catalog.database.table`.
        start: Where the name begins in the text, in characters.
        other_parts: Another possible reading of the name: `prod.db.history` is a table of the catalog `prod`, or the
            history of the Iceberg table `prod.db`.
    """

    parts: tuple[str, ...]
    start: int = field(compare=False, default=0)
    other_parts: tuple[str, ...] | None = field(compare=False, default=None)

    def other_resolved(self, database: str) -> tuple[str, str] | None:
        """Return database and table of `other_parts`; None if the name has one meaning."""
        return None if self.other_parts is None else TableReference(self.other_parts).resolved(database)

    def resolved(self, database: str) -> tuple[str, str]:
        """Return database and table in lower case, under a current database.

        Table names contain no dots: Hive up to 3.1 reads the quoted name `a.b` as two parts.
        """
        parts = self.parts if len(self.parts) > 1 else self.parts[0].split(".")
        return (parts[-2].lower() if len(parts) > 1 else database.lower(), parts[-1].lower())

    @property
    def catalog(self) -> str | None:
        """The catalog in front of the name, if there is one."""
        return self.parts[0] if len(self.parts) > 2 else None


@dataclass(frozen=True)
class FunctionReference:
    """A function that a text calls.

    Attributes:
        name: The name as written, without quotes.
        registered: Whether it is a registered function, not a built-in function of the engine.
        start: Where the name begins in the text, in characters.
        database: The database that precedes the name as written, without quotes; None without one.
    """

    name: str
    registered: bool
    start: int = field(compare=False, default=0)
    database: str | None = None

    @property
    def qualified(self) -> bool:
        """Whether a database precedes the name, so that it is never a built-in function."""
        return self.database is not None

    @property
    def registered_name(self) -> tuple[str, str] | None:
        """Database and name, in lower case, of a function of the metastore; None for any other function."""
        if self.database is None or self.database.lower() in _NOT_IN_METASTORE:
            return None
        return self.database.lower(), self.name.lower()


@dataclass(frozen=True)
class References:
    """The names in a text, each once, in the order of first occurrence.

    Attributes:
        tables: The tables and views.
        functions: The functions.
        opaque: The parts of FROM that may read further tables, which the text does not name, e.g. `f(…)`.
        files: The files that Spark reads as tables, such as csv.`s3://bucket/x`.
    """

    tables: tuple[TableReference, ...]
    functions: tuple[FunctionReference, ...]
    opaque: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


def references(query: ParsedQuery) -> References:
    """Find the tables, views and functions that a query names; no schemas are needed.

    A common table expression is not reported where it is in scope.
    """
    tables: dict[tuple[str, ...], TableReference] = {}
    opaque: dict[str, None] = {}
    files: dict[str, None] = {}
    for node in relation_nodes(query.tree):
        if isinstance(node, exp.Table) and is_file_name(query.text.dialect, named_parts(node)):
            files[file_name(named_parts(node))] = None
            continue
        parts = _parts(query, node)
        if parts is None:
            called = node if isinstance(node, exp.Func) else node.this
            opaque[f"{getattr(called, 'name', '') or called.key}(…)"] = None
        if not parts:
            continue
        start = min(start_offsets(node.this if isinstance(node, exp.Table) else node), default=0)
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            start = (node.parts[0]._meta or {}).get("start", 0)
        name = tuple(part.lower() for part in parts)
        if name not in tables or start < tables[name].start:
            tables[name] = TableReference(parts, start, _other_name(query, node, parts))
    functions: dict[tuple[str, str], FunctionReference] = {}
    for function in _function_calls(query):
        functions.setdefault(((function.database or "").lower(), function.name.lower()), function)
    return References(
        tuple(sorted(tables.values(), key=lambda item: item.start)),
        tuple(sorted(functions.values(), key=lambda item: item.start)),
        tuple(opaque),
        tuple(files),
    )


def named_parts(table: exp.Table) -> tuple[str, ...]:
    """Return the parts of a table's name, without quotes."""
    return tuple(part.name for part in table.parts)


def _parts(query: ParsedQuery, node: exp.Expr) -> tuple[str, ...] | None:
    """Return the name of the table that a part of FROM reads; empty if it reads no table, None if that is unknown."""
    read = node if type(node) is exp.Anonymous else node.this
    if isinstance(node, exp.Table) and isinstance(read, (exp.Identifier, exp.Dot)):
        return _written_name(query, node)
    if isinstance(read, exp.Query):
        return ()
    if not isinstance(read, exp.Func) or node.args.get("db") is not None:
        return None
    name = (read.name if isinstance(read, exp.Anonymous) else read.sql_name()).lower()
    argument = read.expressions[0] if len(read.expressions) == 1 else None
    if name == "identifier":
        value = None if argument is None else _constant_text(argument)
        parts = [] if value is None else _NAME_PART.findall(value)
        is_name = value is not None and value == ".".join(parts)
        return tuple(unquote_identifier(part) for part in parts) if is_name else None
    if name != "table":
        return () if name in _TABLE_FUNCTIONS else None
    if node is not read:
        return ()  # the function TABLE has a separate node
    if isinstance(argument, exp.Column):
        return tuple(part.name for part in argument.parts)
    if isinstance(argument, (exp.Query, exp.Values)):
        return ()
    return _parts(query, exp.Table(this=argument.copy())) if isinstance(argument, exp.Func) else None


def _written_name(query: ParsedQuery, node: exp.Table) -> tuple[str, ...] | None:
    first = node.parts[0]
    if query.text.dialect is Dialect.HIVE and len(node.parts) == 1:
        word = "" if first.args.get("quoted") else first.name.lower()
        if word in HIVE_PARTITIONED_FUNCTIONS:
            index = query.text.token_of(first)
            is_call = index is not None and query.text.kinds[index + 1 : index + 2] == [TokenType.L_PAREN]
            word = "table" if is_call else word
        if word == "table":
            return None
    parts = tuple(part.name for part in node.parts)
    if query.text.dialect is Dialect.TRINO:  # "table$files"
        return (*parts[:-1], parts[-1].partition("$")[0] or parts[-1])
    # `database.table.files`, and the same with a catalog
    is_metadata = len(parts) == 3 and parts[-1].lower() in _METADATA_TABLES and parts[0] != "spark_catalog"
    return parts[:-1] if len(parts) > 3 or is_metadata else parts


def source_without_schema(query: ParsedQuery) -> str | None:
    """Return what a query reads whose columns no row has: files, metadata of Iceberg tables; None if nothing."""
    dialect = query.text.dialect
    for node in relation_nodes(query.tree):
        parts = named_parts(node) if isinstance(node, exp.Table) else ()
        if is_file_name(dialect, parts):
            return f"the files {file_name(parts)}"
        if dialect == Dialect.SPARK and len(parts) > 3 and parts[-1].lower() in _METADATA_TABLES:
            return f"metadata of the table {'.'.join(parts[:-1])}"
    if dialect == Dialect.SPARK and any(
        _HIDDEN in {part.name.lower() for part in node.parts} for node in query.nodes_of(exp.Column)
    ):
        return f"Spark's column {_HIDDEN} of the files of a table"
    return None


def _other_name(query: ParsedQuery, node: exp.Expr, parts: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the second possible reading of a table's written name; None if there is only one."""
    written = tuple(part.name for part in node.parts) if isinstance(node, exp.Table) else parts
    if query.text.dialect is Dialect.TRINO or len(written) != 3 or written[0] == "spark_catalog":
        return None
    if parts != written:
        return written
    return written[:-1] if _SELECTOR.fullmatch(written[-1].lower()) else None


def _constant_text(node: exp.Expr) -> str | None:
    """Return the value of an expression of string literals; None for any other expression."""
    if isinstance(node, exp.Literal):
        return node.name if node.is_string else None
    if isinstance(node, exp.Paren):
        return _constant_text(node.this)
    operands: list[exp.Expr] = []
    if isinstance(node, exp.DPipe):
        operands = [node.this, node.expression]
    elif isinstance(node, exp.Concat):
        operands = node.expressions
    values = [_constant_text(operand) for operand in operands]
    return None if not values or None in values else "".join(filter(None, values))


_HIDDEN = "_metadata"
"""The column of each table of files that no schema has (Spark's FileFormat.METADATA_NAME)."""
_NAME_PART = re.compile(r"`(?:[^`]|``)+`|[^`.]+")
_TABLE_FUNCTIONS = (
    HIVE_FUNCTIONS | SPARK_FUNCTIONS | {"generate_series", "sequence", "unnest"}
) - HIVE_PARTITIONED_FUNCTIONS
_METADATA_TABLES = frozenset(
    """
    all_data_files all_delete_files all_entries all_files all_manifests data_files delete_files entries files history
    manifests metadata_log_entries partitions position_deletes refs snapshots
    """.split()
)
"""Iceberg's names of a table's metadata tables."""
_SELECTOR = re.compile(r"at_timestamp_\d+|snapshot_id_\d+|branch_.+|tag_.+|changes")
"""Suffixes of a table's name that Iceberg's Spark catalog reads as a state of the table (`SparkCatalog.load`)."""


def _function_calls(query: ParsedQuery) -> Iterator[FunctionReference]:
    """Yield the function calls of a query in order.

    Names of tables, aliases and types are recognized in the tree and excluded. Calls are also found by their tokens,
    since the parser turns some calls into operators, and renames functions that it knows from other engines.
    """
    text, tokens = query.text, query.text.tokens
    identifiers = {
        text.token_of(node) for node in query.nodes_of(exp.Identifier) if not isinstance(node.parent, exp.Anonymous)
    }
    called: dict[int, bool] = {}
    for node in query.nodes_of(exp.Func):
        at = function_token(text, node)
        if at is not None:
            called[at] = isinstance(node, exp.Anonymous)
    before_parenthesis = {index - 1 for index, kind in enumerate(text.kinds) if kind is TokenType.L_PAREN}
    for index in sorted((before_parenthesis | called.keys()) - identifiers - {-1}):
        token = tokens[index]
        name = unquote_identifier(text.raw(index))
        lower = name.lower()
        is_word = token.token_type is TokenType.VAR and lower not in RESERVED
        if index not in called and not is_word:
            continue
        if lower == "repeatable" and index > 0 and tokens[index - 1].token_type is TokenType.R_PAREN:
            continue  # the seed of a TABLESAMPLE
        if name and (name[0].isalpha() or name[0] == "_"):
            built_in = lower in _HIVE_NAMES or (text.dialect is not Dialect.HIVE and lower in SPARK_FUNCTIONS)
            if text.dialect is Dialect.TRINO:
                built_in = built_in or not called.get(index, True)
            is_qualified = index > 1 and tokens[index - 1].token_type is TokenType.DOT
            database = unquote_identifier(text.raw(index - 2)) if is_qualified else None
            if not (is_qualified or built_in) and text.dialect is Dialect.SPARK and _is_keyword(text, token.start):
                continue  # UNPIVOT INCLUDE NULLS (…)
            yield FunctionReference(name, is_qualified or not built_in, token.start, database)


def _is_keyword(text: Text, start: int) -> bool:
    """Return whether Spark reads the word at an offset as a keyword; False if it cannot read the text."""
    names = name_offsets(text.sql)
    return bool(names) and start not in names


_NOT_IN_METASTORE = frozenset({"builtin", "session", "system"})
"""Qualifiers of functions that the metastore does not hold: Spark's own, and those of Iceberg's catalogs."""
_HIVE_NAMES = HIVE_FUNCTIONS | PARSED_ELSEWHERE
_NOT_REGISTERED = _HIVE_NAMES | RESERVED
# Because of the lookbehind, matches begin only at the first character of a word: linear time in long words.
_CALL = re.compile(r"(\.\s*)?(`[^`]*`|(?<!\w)\w+)\s*\(")


def may_call_registered_functions(sql: str) -> bool:
    """Return whether a Hive text may call functions that are not built into Hive; determined without parsing it."""
    has_comments = "--" in sql or "/*" in sql
    calls = _CALL.findall(sql)
    return has_comments or any(dot or name.strip("`").lower() not in _NOT_REGISTERED for dot, name in calls)


_GAP = r"(?:\s|--[^\n]*|/\*.*?\*/)*"
_COMPOSED = re.compile(rf"\bidentifier{_GAP}\(", re.DOTALL)
_CALL_IN_FROM = re.compile(rf"(?:\b(?:from|join|lateral)\b|\btable{_GAP}\(|,){_GAP}(?=([\w.`]+){_GAP}\()", re.DOTALL)


def may_read_unnamed_tables(sql: str) -> bool:
    """Return whether a text (in lower case) may read a table without containing its name.

    Determined without parsing it.
    """
    if _COMPOSED.search(sql) is not None:
        return True
    called = (name.strip("`") for name in _CALL_IN_FROM.findall(sql, max(sql.find("from"), 0)))
    return any(name not in _TABLE_FUNCTIONS and name not in RESERVED for name in called)


# ruff: noqa: SIM905 (a long list of words)
_NONDETERMINISTIC = frozenset(
    """
    aes_encrypt any any_value approx_percentile approx_top_k approx_top_k_accumulate approx_top_k_combine arg_max
    arg_min array_agg collect_list collect_set curdate current_catalog current_database current_date current_schema
    current_time current_timestamp current_timezone current_user first first_value getdate group_concat
    histogram_numeric hll_sketch_agg hll_union_agg input_file_block_length input_file_block_start input_file_name
    java_method kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint
    kll_sketch_agg_double kll_sketch_agg_float lag last last_value lead listagg localtime localtimestamp logged_in_user
    max_by min_by mode monotonically_increasing_id now nth_value ntile percentile_approx rand randn random randstr
    reflect row_number session_user shuffle spark_partition_id string_agg surrogate_key sysdate systimestamp
    theta_intersection_agg theta_sketch_agg theta_union_agg try_reflect uniform unix_timestamp user uuid version
    """.split()
)
"""Functions of the clock, of random numbers, of the session, of files, and of the order in which rows are read."""

_KEYWORDS = frozenset(
    """
    current_catalog current_database current_date current_schema current_time current_timestamp current_user localtime
    localtimestamp session_user user
    """.split()
)
"""The nondeterministic functions that are valid without parentheses; some parsers read them as columns."""

_COLLATE = re.compile(r"\bcollate\b")
_CURRENT_UNIX_TIME = re.compile(rf"\bunix_timestamp`?{_GAP}\({_GAP}\)", re.DOTALL)

_RELATIVE_TIME = re.compile(r"[\x00-\x20]*(now|today|tomorrow|yesterday)\b\s*(?:[\w/+:-]+\s*)?", re.IGNORECASE)
"""The words that Spark casts to a date or time relative to now, with an optional time zone (Spark's
`SparkDateTimeUtils.extractSpecialValue`). The fifth such word, `epoch`, is constant."""

CONSTANT_TEXT = "a constant text expression"
"""The cause that is reported for an expression of constants that may return one of these words: `'to' || 'day'`."""

_NO_NEW_TEXT = frozenset(
    """
    abs acos add_months and array array_contains array_size asin atan atan2 between bround cardinality case cast
    cbrt ceil ceiling coalesce contains cos cosh cot date date_add date_diff date_from_unix_date date_part date_sub
    date_trunc datediff datepart day day_of_month day_of_week day_of_year dayofmonth dayofweek dayofyear degrees
    double e element_at endswith exp extract factorial find_in_set float floor greatest hour if ifnull in instr int
    interval is_inf is_nan isnan isnotnull isnull last_day least length levenshtein ln locate log log10 log2
    make_date make_dt_interval make_interval make_timestamp make_timestamp_ltz make_timestamp_ntz make_ym_interval
    map map_from_arrays minute mod month months_between named_struct negative next_day not null_if nullif nvl nvl2
    octet_length or pi pmod position positive pow power quarter radians rint round second sequence sign signum sin
    sinh size sqrt startswith str_position struct tan tanh timestamp timestamp_add timestamp_diff timestamp_micros
    timestamp_millis timestamp_seconds timestamp_trunc timestampadd timestampdiff tinyint to_date to_number
    to_timestamp to_timestamp_ltz to_timestamp_ntz trunc try_add try_cast try_divide try_element_at try_multiply
    try_subtract try_to_date try_to_timestamp ts_or_ds_add ts_or_ds_to_date unix_date unix_micros unix_millis
    unix_seconds var_map week weekofyear width_bucket xor year
    """.split()
)
"""Functions whose result is one of their arguments, or is not a text."""

_METADATA_COLUMNS = frozenset(
    """
    _deleted _file _metadata _partition _pos _spec_id block__offset__inside__file input__file__name
    row__offset__inside__block
    """.split()
)
"""Columns with the location of a row, which a compaction changes without changing rows (Iceberg's
`MetadataColumns`, Spark's `_metadata`, Hive's virtual columns)."""


def find_nondeterminism(query: ParsedQuery) -> tuple[str, ...]:
    """Return the functions, columns and clauses of a query whose result may differ between runs, sorted."""
    tree = query.tree
    causes = set()
    for node in tree.find_all(exp.Func):
        causes |= _called_names(node) & _NONDETERMINISTIC
    for column in tree.find_all(exp.Column):
        if not column.table and column.name.lower() in _KEYWORDS:
            causes.add(column.name.lower())
        causes |= {part.name.lower() for part in column.parts} & _METADATA_COLUMNS
    for literal in tree.find_all(exp.Literal, exp.RawString):
        # In any position: Spark casts the string if the other operand is a date or time, and types are unknown here.
        relative = None if literal.is_number else _RELATIVE_TIME.fullmatch(literal.name)
        if relative is not None:
            cast, word = literal.parent, f"'{relative[1].lower()}'"
            is_time = isinstance(cast, exp.Cast) and cast.to.is_type(*exp.DataType.TEMPORAL_TYPES)
            causes.add(f"{cast.args['to'].sql('spark').lower()} {word}" if is_time and cast else word)
    if any(map(_may_be_constant_text, tree.find_all(exp.Func, exp.DPipe, exp.HexString))):
        causes.add(CONSTANT_TEXT)
    for spec in tree.find_all(exp.WindowSpec):
        ends = (spec.args.get("start"), spec.args.get("end"))
        if str(spec.args.get("kind") or "").upper() == "ROWS" and ends != ("UNBOUNDED", "UNBOUNDED"):
            causes.add("ROWS")  # rows that are equal under ORDER BY may come in any order
    for clause, name in (
        (exp.Limit, "LIMIT"),
        (exp.Offset, "OFFSET"),
        (exp.Fetch, "FETCH"),
        (exp.TableSample, "TABLESAMPLE"),
        (exp.QueryTransform, "TRANSFORM"),  # the result of a script is unpredictable
    ):
        if tree.find(clause) is not None:
            causes.add(name)
    if "tablesample" in query.text.lower:  # the parser drops some of them
        causes.add("TABLESAMPLE")
    if _COLLATE.search(query.text.lower) and tree.find(exp.AggFunc, exp.Distinct, exp.Group, exp.SetOperation):
        causes.add("COLLATE")  # the first of the texts that are equal is returned
    for function in references(query).functions:
        name = function.name.lower()
        built_in = not function.qualified and (not function.registered or name in SPARK_FUNCTIONS)
        if built_in and name == "unix_timestamp" and not _CURRENT_UNIX_TIME.search(query.text.lower):
            continue  # it converts its argument
        if name in _NONDETERMINISTIC or not built_in:
            causes.add(name)
    return tuple(sorted(causes))


def without_datetime_words(causes: Iterable[str]) -> tuple[str, ...]:
    """Remove the words, such as 'today', that are nondeterministic only if Spark casts them to a date or time.

    `DATE 'today'` and `CAST('today' AS DATE)` remain.
    """
    return tuple(cause for cause in causes if cause != CONSTANT_TEXT and not cause.startswith("'"))


def _called_names(call: exp.Func) -> set[str]:
    return {name.lower() for name in ([call.name] if isinstance(call, exp.Anonymous) else call.sql_names())}


def _may_be_constant_text(node: exp.Expr) -> bool:
    """Return whether a node may return the same text for every row, without being a literal."""
    if isinstance(node, exp.HexString):
        return True
    names = _called_names(node) if isinstance(node, exp.Func) else set()
    if names & _NO_NEW_TEXT or isinstance(node, (exp.AggFunc, exp.Connector)):
        return False
    return node.find(exp.Literal, exp.RawString) is not None and node.find(*_VARYING) is None


_VARYING = (exp.Column, exp.Star, exp.Query, exp.Window, exp.Parameter)
"""Nodes whose value may differ from row to row."""
