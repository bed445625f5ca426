"""Whether views still can be read, and still say what their authors typed: one view, or a check_views over databases.

Hive's design left this open (Hive Views, Dependency Invalidation): a base table is dropped, a column goes or changes
its type, and nobody notices until a query fails, or does not fail and returns something else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from itertools import islice

from sqlglot import exp

from hive_views.dependencies.lineage import LineageReader
from hive_views.dependencies.resolved_texts import (
    SchemaOverlay,
    ViewText,
    schemas_of_rows,
    text_of_hive_view,
    text_of_version,
)
from hive_views.errors import MetadataFileError, NoSuchViewError, SqlError
from hive_views.identifiers import ViewName
from hive_views.metastore.drift import find_drift
from hive_views.metastore.queries import all_view_names, database_names, load_view, read_rows
from hive_views.metastore.row_codec import Row, RowKind
from hive_views.metastore.store import LoadedView
from hive_views.metastore.table_schemas import MetastoreSchemas
from hive_views.metastore.transport.client import BATCH_SIZE
from hive_views.sql.resolver.scopes import Schemas
from hive_views.sql.rewriting.expand import Expansion


class Validity(Enum):
    """How a view stands, from good to bad."""

    VALID = "valid"
    """Its text can be resolved, and gives the columns that it has."""
    OUTDATED = "outdated"
    """It can be read as it was frozen; what its author typed means something else by now. RECOMPILE would change it."""
    DRIFTED = "drifted"
    """Another program changed the row behind the metadata file's back. It can be adopted or repaired."""
    INVALID = "invalid"
    """It cannot be read, or not with the columns that it has."""
    UNKNOWN = "unknown"
    """Its text cannot be looked into: no dialect that can be read here."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a view."""

    validity: Validity
    """How bad it is."""
    reason: str
    """What is wrong."""
    line: int | None = None
    """Where in the text, from 1; None where it is about the view as a whole."""
    column: int | None = None
    """The character in that line, from 1."""


@dataclass(frozen=True)
class CheckedView:
    """What a check found about one view."""

    view: ViewName
    """The view."""
    problems: tuple[Problem, ...]
    """All that is wrong, worst first; empty for a valid view."""

    @property
    def validity(self) -> Validity:
        """How it stands: the worst of its problems."""
        return self.problems[0].validity if self.problems else Validity.VALID


def check_view(reader: LineageReader, name: ViewName) -> CheckedView:
    """Check one view against its tables as they are now."""
    row = reader.store.get_row(name)
    if row is None or not row.kind.is_view:
        raise NoSuchViewError(str(name))
    return _found(_read(reader, row), MetastoreSchemas(reader.store))


def check_views(
    reader: LineageReader, scanned: Sequence[str] | None = None, *, workers: int = 4
) -> tuple[CheckedView, ...]:
    """Check all views of some databases."""
    store = reader.store
    names = [name for database in scanned or database_names(store) for name in all_view_names(store, database)]
    schemas = SchemaOverlay(MetastoreSchemas(store), {})
    found: list[CheckedView] = []
    with ThreadPoolExecutor(max_workers=workers) as pool:
        coming = read_rows(store, names)
        # The server reads the next rows while these are looked at.
        while batch := list(islice(coming, BATCH_SIZE)):
            schemas.known |= schemas_of_rows({row.name: row for row in batch})
            read = list(pool.map(lambda row: _read(reader, row), batch))
            wanted = {name for row in batch for name in reader.recorded(row)} - schemas.known.keys()
            schemas.known |= dict.fromkeys(wanted)
            schemas.known |= schemas_of_rows({row.name: row for row in read_rows(store, sorted(wanted))})
            found += [_found(item, schemas) for item in read]
    return tuple(sorted(found, key=lambda finding: finding.view))


@dataclass(frozen=True)
class _Read:
    """A view's row and texts, and what is wrong with them already."""

    row: Row
    text: ViewText | None
    problems: tuple[Problem, ...]


def _read(reader: LineageReader, row: Row) -> _Read:
    problems: list[Problem] = []
    text = None
    try:
        if row.kind is RowKind.HIVE_VIEW:
            text = text_of_hive_view(row)
        else:
            loaded = _load(reader, row)
            row = loaded.row
            for difference in find_drift(row, loaded.metadata, reader.store.config):
                reason = f"the row's {difference.field} is not the metadata file's: {difference.row}"
                problems.append(Problem(Validity.DRIFTED, reason))
            text = text_of_version(row.name, loaded.metadata.current_version())
    except SqlError as error:
        problems.append(Problem(Validity.UNKNOWN, error.reason))
    except (MetadataFileError, NoSuchViewError) as error:
        problems.append(Problem(Validity.INVALID, str(error)))
    return _Read(row, text, tuple(problems))


def _found(read: _Read, schemas: Schemas) -> CheckedView:
    problems = list(read.problems)
    if read.text is not None:
        problems += examine(read.text, schemas, [(name, kind) for name, kind, _ in read.row.columns])
    order = (Validity.INVALID, Validity.DRIFTED, Validity.OUTDATED, Validity.UNKNOWN)
    return CheckedView(read.row.name, tuple(sorted(problems, key=lambda problem: order.index(problem.validity))))


def _load(reader: LineageReader, row: Row) -> LoadedView:
    try:
        return LoadedView(row, reader.store.files.read(row.metadata_location or ""))
    except MetadataFileError:
        # A commit with a purge, or a drop, between the listing and now.
        return load_view(reader.store, row.name)


def examine(text: ViewText, schemas: Schemas, columns: Sequence[tuple[str, str]]) -> list[Problem]:
    """Resolve a view's texts and compare what they give with the columns that it has."""
    typed: Expansion | None = None
    outdated: Problem | None = None
    try:
        typed = text.expansion(schemas)
    except SqlError as error:
        outdated = Problem(
            Validity.OUTDATED, f"what was typed cannot be resolved any more: {error.reason}", error.line, error.column
        )
    reading = typed
    if typed is None or (text.expanded is not None and text.written(typed, schemas) != text.expanded):
        if typed is not None:
            outdated = Problem(Validity.OUTDATED, "what was typed means another text by now: recompile it to get that")
        try:
            reading = text.reading(schemas)
        except SqlError as error:
            # People know what they typed, not what it was expanded to.
            shown = outdated if outdated is not None and outdated.line is not None else error
            return [Problem(Validity.INVALID, shown.reason, shown.line, shown.column)]
    assert reading is not None, "a text that cannot be resolved has returned"
    problems = [] if outdated is None else [outdated]
    if len(reading.names) != len(columns):
        reason = f"the view has {len(columns)} columns, its text gives {len(reading.names)}"
        return [Problem(Validity.INVALID, reason), *problems]
    for (name, kind), now in zip(columns, plain_types(reading), strict=True):
        if now is not None and stored_type(now) != stored_type(kind):
            problems.append(Problem(Validity.INVALID, f"column {name} is {kind}; its table's column is {now} by now"))
    return problems


def plain_types(expansion: Expansion) -> list[str | None]:
    """The Hive types of those columns that are columns of tables, whose types no engine's rules can change."""
    found = expansion.resolution
    if not isinstance(found.tree, exp.Select):
        return [None] * len(expansion.names)
    types: list[str | None] = []
    for (_, source), column in zip(found.columns, expansion.columns, strict=True):
        item = found.context.select_items.get(source)
        plain = item is None or isinstance(item.unalias(), (exp.Column, exp.Star))
        types.append(column.type if plain else None)
    return types


def stored_type(kind: str) -> str:
    """A Hive type as a view's row has it, whose types went through Iceberg's."""
    kind = kind.lower().replace(" ", "")
    kind = re.sub(r"\b(tinyint|smallint)\b", "int", kind)
    kind = re.sub(r"\b(?:var)?char\(\d+\)", "string", kind)
    return kind.replace("timestampwithlocaltimezone", "timestamp")
