"""What is stored for a view that a CREATE or ALTER VIEW statement defines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hive_views.sql.parsing.lexer import IDENTIFIER_QUOTES, error_at
from hive_views.sql.parsing.statements import AlterViewAs, ColumnSpec, CreateMaterializedView, CreateView
from hive_views.sql.resolver.scopes import Schemas
from hive_views.sql.rewriting.expand import Expansion, OutputColumn, expand
from hive_views.sql.rewriting.quoting import quote_identifier


@dataclass(frozen=True)
class ExpandedDefinition:
    """A view as its statement defines it.

    Attributes:
        database: The view's database in lower case.
        name: The view's name in lower case.
        original: The text as typed; in mode `hive-exact` with unquoted identifiers, as Hive stores it.
        stored: The typed text with its stars replaced by columns.
        expanded: The text that is valid under any current database.
        columns: The columns without the partition columns.
        partition_keys: The partition columns.
        tables: The tables and views that the query names, as (database, name).
        expansion: The query's expansion, which the texts were made from.
    """

    database: str
    name: str
    original: str
    stored: str
    expanded: str
    columns: tuple[OutputColumn, ...]
    partition_keys: tuple[OutputColumn, ...]
    tables: tuple[tuple[str, str], ...]
    expansion: Expansion = field(repr=False, compare=False)


def define_view(
    statement: CreateView | CreateMaterializedView | AlterViewAs,
    schemas: Schemas,
    *,
    database: str,
    mode: str = "portable",
    functions: Mapping[str, str] | None = None,
    conf: Mapping[str, str] | None = None,
) -> ExpandedDefinition:
    """Return what is stored for the view that a statement defines.

    Args:
        statement: A statement from `parse_statement`.
        schemas: The tables and views that exist.
        database: The author's current database.
        mode: See `expand`.
        functions: See `expand`.
        conf: See `expand`.

    Raises:
        SqlError: As `expand` does, or if the column list or PARTITIONED ON does not fit the query.
    """
    column_list: tuple[ColumnSpec, ...] | None = None if isinstance(statement, AlterViewAs) else statement.columns
    expansion = expand(
        statement.parsed_query,
        schemas,
        database=database,
        mode=mode,
        column_names=tuple(spec.name for spec in column_list) if column_list is not None else None,
        view_name=statement.name.parts[-1],
        functions=functions,
        conf=conf,
    )
    columns = list(expansion.columns)
    if column_list is not None:
        _check_column_list(column_list, statement.text)
        columns = [
            OutputColumn(column.name, column.type, spec.comment)
            for column, spec in zip(columns, column_list, strict=True)
        ]
    partitioned_on: tuple[str, ...] | None = None if isinstance(statement, AlterViewAs) else statement.partitioned_on
    partition_keys: list[OutputColumn] = []
    expanded = expansion.expanded
    if isinstance(statement, CreateMaterializedView):
        has_both = statement.clustered_on and statement.distributed_on
        if mode == "hive-exact" and (column_list is not None or has_both):
            reason = "Hive's CREATE MATERIALIZED VIEW takes no column list, and either CLUSTERED ON or DISTRIBUTED ON"
            raise error_at(statement.text, statement.name.start, reason, str(statement.name))
        _check_named_columns(statement, columns)
        if partitioned_on:
            by_name = {column.name: column for column in columns}
            columns = [column for column in columns if column.name not in partitioned_on]
            partition_keys = [by_name[name] for name in partitioned_on]
            expanded = _partition_keys_last(expansion, statement, columns, partition_keys)
    elif partitioned_on:
        columns, partition_keys = _split_last(columns, partitioned_on, statement)
    return ExpandedDefinition(
        statement.name.database(database),
        statement.name.name,
        expansion.original,
        expansion.stored,
        expanded,
        tuple(columns),
        tuple(partition_keys),
        expansion.tables,
        expansion,
    )


def _check_column_list(column_list: tuple[ColumnSpec, ...], text: str) -> None:
    """Refuse a column list that names a column twice."""
    names: set[str] = set()
    for spec in column_list:
        if spec.name.lower() in names:
            raise error_at(text, spec.start, f"Duplicate column name: {spec.name}", spec.name)
        names.add(spec.name.lower())


def _check_named_columns(statement: CreateMaterializedView, columns: list[OutputColumn]) -> None:
    """Refuse clauses that name a column which the query does not have."""
    names = {column.name for column in columns}
    clauses = (statement.partitioned_on or (), statement.clustered_on, statement.distributed_on, statement.sorted_on)
    for name in (name for clause in clauses for name in clause):
        if name.lower() not in names:
            reason = f"Column {name} is not a column of the materialized view: it has {', '.join(sorted(names))}"
            raise error_at(statement.text, statement.name.start, reason, name)


def _partition_keys_last(
    expansion: Expansion,
    statement: CreateMaterializedView,
    columns: list[OutputColumn],
    partition_keys: list[OutputColumn],
) -> str:
    """Wrap the text so that the partition columns come last, as Hive does for a materialized view."""
    quote = IDENTIFIER_QUOTES[statement.dialect]
    names = ", ".join(quote_identifier(column.name, quote) for column in (*columns, *partition_keys))
    return f"SELECT {names} FROM ({expansion.expanded}) {quote_identifier(statement.name.parts[-1], quote)}"


def _split_last(
    columns: list[OutputColumn], partitioned_on: tuple[str, ...], statement: CreateView | AlterViewAs
) -> tuple[list[OutputColumn], list[OutputColumn]]:
    """Split off the partition columns, which must be the last columns of the query."""
    count = len(partitioned_on)
    last = [column.name for column in columns[-count:]]
    if last != list(partitioned_on):
        reason = (
            f"Rightmost columns in view output do not match PARTITIONED ON clause: the view {statement.name} ends with "
            f"{', '.join(last)}, the clause names {', '.join(partitioned_on)}"
        )
        raise error_at(statement.text, statement.name.start, reason, str(statement.name))
    if count == len(columns):
        reason = f"At least one non-partitioning column must be present in view {statement.name}"
        raise error_at(statement.text, statement.name.start, reason, str(statement.name))
    return columns[:-count], columns[-count:]
