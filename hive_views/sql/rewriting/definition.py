"""A CREATE or ALTER VIEW statement to everything that is stored for the view."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hive_views.errors import SqlError
from hive_views.sql.parsing.lexer import IDENTIFIER_QUOTES, error_at, line_and_column
from hive_views.sql.parsing.statements import AlterViewAs, ColumnSpec, CreateMaterializedView, CreateView
from hive_views.sql.resolver.scopes import Schemas
from hive_views.sql.rewriting.expand import Expansion, OutputColumn, expand
from hive_views.sql.rewriting.quoting import quote_identifier


@dataclass(frozen=True)
class ViewDefinition:
    """A view as its statement defines it.

    Attributes:
        database: Its database, and
        name: its name in it, both in lower case.
        original: The text as Hive keeps it (hive-exact) or as it was typed (portable).
        stored: The typed text with only its stars replaced by columns.
        expanded: The text that is valid under any current database.
        columns: Its columns without the partition columns.
        partition_keys: Its partition columns.
        tables: The tables and views that it names, as (database, name).
        expansion: The query's expansion, of which the texts were made.
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
) -> ViewDefinition:
    """Work out what is stored for a view."""
    listed: tuple[ColumnSpec, ...] | None = None if isinstance(statement, AlterViewAs) else statement.columns
    expansion = expand(
        statement.parsed_query,
        schemas,
        database=database,
        mode=mode,
        column_names=tuple(spec.name for spec in listed) if listed is not None else None,
        view_name=statement.name.parts[-1],
        functions=functions,
        conf=conf,
    )
    columns = list(expansion.columns)
    if listed is not None:
        _check_listed(listed, statement.text, statement.dialect)
        columns = [
            OutputColumn(column.name, column.type, spec.comment) for column, spec in zip(columns, listed, strict=True)
        ]
    partitions: tuple[str, ...] | None = None if isinstance(statement, AlterViewAs) else statement.partitioned_on
    keys: list[OutputColumn] = []
    expanded = expansion.expanded
    if isinstance(statement, CreateMaterializedView):
        if mode == "hive-exact" and (listed is not None or (statement.clustered_on and statement.distributed_on)):
            line, column = line_and_column(statement.text, statement.name.start)
            raise SqlError(
                "Hive's CREATE MATERIALIZED VIEW takes no column list, and either CLUSTERED ON or DISTRIBUTED ON",
                line=line,
                column=column,
                name=str(statement.name),
            )
        _check_known(statement, columns)
        if partitions:
            columns, keys = _moved(columns, partitions)
            expanded = _reordered(expansion, statement, columns, keys)
    elif partitions:
        columns, keys = _last(columns, partitions, statement)
    return ViewDefinition(
        statement.name.database(database),
        statement.name.name,
        expansion.original,
        expansion.stored,
        expanded,
        tuple(columns),
        tuple(keys),
        expansion.tables,
        expansion,
    )


def _check_listed(listed: tuple[ColumnSpec, ...], text: str, dialect: str) -> None:
    seen: set[str] = set()
    for spec in listed:
        if spec.name.lower() in seen:
            raise error_at(text, spec.start, f"Duplicate column name: {spec.name}", spec.name)
        seen.add(spec.name.lower())


def _check_known(statement: CreateMaterializedView, columns: list[OutputColumn]) -> None:
    names = {column.name for column in columns}
    wanted = (
        *(statement.partitioned_on or ()),
        *statement.clustered_on,
        *statement.distributed_on,
        *statement.sorted_on,
    )
    for name in wanted:
        if name.lower() not in names:
            line, column = line_and_column(statement.text, statement.name.start)
            raise SqlError(
                f"Column {name} is not a column of the materialized view: it has {', '.join(sorted(names))}",
                line=line,
                column=column,
                name=name,
            )


def _moved(columns: list[OutputColumn], partitions: tuple[str, ...]) -> tuple[list[OutputColumn], list[OutputColumn]]:
    by_name = {column.name: column for column in columns}
    return [column for column in columns if column.name not in partitions], [by_name[name] for name in partitions]


def _reordered(
    expansion: Expansion, statement: CreateMaterializedView, columns: list[OutputColumn], keys: list[OutputColumn]
) -> str:
    """Hive moves a materialized view's partition columns to the end of its text."""
    quote = IDENTIFIER_QUOTES[statement.dialect]
    names = ", ".join(quote_identifier(column.name, quote) for column in (*columns, *keys))
    return f"SELECT {names} FROM ({expansion.expanded}) {quote_identifier(statement.name.parts[-1], quote)}"


def _last(
    columns: list[OutputColumn], partitions: tuple[str, ...], statement: CreateView | AlterViewAs
) -> tuple[list[OutputColumn], list[OutputColumn]]:
    line, column = line_and_column(statement.text, statement.name.start)
    count = len(partitions)
    if [item.name for item in columns[-count:]] != list(partitions):
        raise SqlError(
            f"Rightmost columns in view output do not match PARTITIONED ON clause: the view {statement.name} ends with "
            f"{', '.join(item.name for item in columns[-count:])}, the clause names {', '.join(partitions)}",
            line=line,
            column=column,
            name=str(statement.name),
        )
    if count == len(columns):
        raise SqlError(
            f"At least one non-partitioning column must be present in view {statement.name}",
            line=line,
            column=column,
            name=str(statement.name),
        )
    return columns[:-count], columns[-count:]
