"""Drift between a row and its metadata file, and damage to a row by the metastore's database.

Plain Spark and Hive change rows without the metadata file; some databases cannot store every text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hive_views.config import CatalogConfig
from hive_views.errors import InvalidViewError
from hive_views.metastore import trino_encoding
from hive_views.metastore._thrift.hive_metastore.ttypes import Table
from hive_views.metastore.rows.codec import is_trino_encoding_of, row_properties
from hive_views.metastore.rows.row import MAX_KEY_LENGTH, Row, is_user_parameter, is_written_by_spark
from hive_views.metastore.rows.types import MAX_COMMENT_LENGTH, column_definitions
from hive_views.spec.metadata import ViewMetadata
from hive_views.spec.session_settings import ANSI, ROW_PREFIX, is_row_setting, row_settings, typed_mode
from hive_views.spec.version_texts import row_texts, sql_texts

_MAX_TEXT_LENGTH, _MAX_VALUE_LENGTH, _MAX_NAME_LENGTH = 32_700, 4_000, 128
"""Numbers of characters that every metastore's database can store (Derby's LONG VARCHAR; Hive's schemas)."""

_RENAMED_BY_JAVA = frozenset({"gc.enabled", "write.parquet.compression-codec", "write.parquet.row-group-size-bytes"})
"""Properties that Iceberg's Java catalog writes under other parameter names (HMSTablePropertyHelper)."""

_QUESTION_MARKS, _REPLACED = re.compile(r"(\?+)"), re.compile("([^\0->@-\xff]+)")
"""A run of `?`, and the run of `?` and characters beyond Latin-1 that it may stand for. (Python compiles the complement
a hundred times as fast as the range of these characters.)"""


@dataclass(frozen=True)
class Difference:
    """One difference between a row and the metadata file it points to."""

    field: str
    """`expanded-text`, `original-text`, `columns`, `parameter presto_view`, or `property` or `setting` and its key."""
    row: object
    """The value in the row; None if it has none."""
    file: object
    """The value that follows from the metadata file; None if it has none."""

    @property
    def property_key(self) -> str | None:
        """The key of a view property; None for a difference of the definition."""
        return self.field.removeprefix(_PROPERTY) if self.field.startswith(_PROPERTY) else None

    @property
    def is_of_definition(self) -> bool:
        """Whether the row has another text, or other columns, than the metadata file."""
        return not self.field.startswith((_PROPERTY, _SETTING))


_PROPERTY, _SETTING = "property ", "setting "


def find_drift(row: Row, metadata: ViewMetadata, config: CatalogConfig) -> tuple[Difference, ...]:
    """Return the differences between a row and its metadata file that were caused by external edits or damage.

    ALTER VIEW of plain Spark and Hive changes texts and columns but not the metadata location. An original text that
    another writer replaced by the expanded one (Iceberg's Java catalog and plain Spark's SET TBLPROPERTIES do) does not
    change the definition and is not a difference.
    """
    drift = []
    expected = row_texts(metadata.current_version())
    if not is_trino_encoding_of(row.texts, metadata):
        if row.texts.expanded != expected.expanded:
            drift.append(Difference("expanded-text", row.texts.expanded, expected.expanded))
        if row.texts.original not in (expected.original, expected.expanded):
            drift.append(Difference("original-text", row.texts.original, expected.original))
    if has_contradictory_flag(row):
        flag = row.parameters[trino_encoding.FLAG]
        drift.append(Difference(f"parameter {trino_encoding.FLAG}", flag, None))
    try:
        columns = column_definitions(row.name, metadata, config)
    except InvalidViewError:
        # Another catalog wrote a column type that Hive does not have, so the columns cannot be compared.
        return (*drift, *_property_changes(row, metadata), *_stale_settings(row, metadata))
    expected_columns = [(name.lower(), kind.lower()) for name, kind, _ in columns]
    # Iceberg's Java catalog writes timestamptz as either name, depending on its Hive version: both mean the same.
    actual = [(name.lower(), kind.lower()) for name, kind, _ in row.columns]
    if [_without_time_zone(column) for column in actual] != [_without_time_zone(column) for column in expected_columns]:
        drift.append(Difference("columns", actual, expected_columns))
    return (*drift, *_property_changes(row, metadata), *_stale_settings(row, metadata))


def _stale_settings(row: Row, metadata: ViewMetadata) -> Iterator[Difference]:
    """Yield the settings that plain Spark applies to the row's text and that its author did not have.

    A replace by Iceberg's Java catalog leaves those of the replaced version in the row (Iceberg 1.11.0). Rows that
    earlier versions of this package wrote have none: that is no drift, unless the version has an ANSI mode. A text that
    plain Spark wrote has its own.
    """
    if row.texts.expanded != row_texts(metadata.current_version()).expanded:
        return
    expected = row_settings(metadata.current_version().summary)
    for key, value in row.parameters.items():
        if is_row_setting(key) and expected.get(key) != value:
            yield Difference(_SETTING + key.removeprefix(ROW_PREFIX), value, expected.get(key))
    mode = typed_mode(metadata.current_version().summary)
    if mode is not None and ROW_PREFIX + ANSI not in row.parameters:  # an earlier version of this package removes it
        yield Difference(_SETTING + ANSI, None, mode)


def _property_changes(row: Row, metadata: ViewMetadata) -> Iterator[Difference]:
    """Yield the properties that another program changed or removed in the row (SET and UNSET TBLPROPERTIES)."""
    for key, value in row_properties(metadata).items():
        is_of_trino = key == "comment" and trino_encoding.is_encoded(row.texts.original)
        if is_of_trino or key in _RENAMED_BY_JAVA or len(key) > MAX_KEY_LENGTH:
            continue
        actual = row.parameters.get(key)
        # Some databases store empty texts as NULL.
        if (actual or "") != value and not _is_damaged(actual or "", value):
            yield Difference(_PROPERTY + key, actual, value)


def find_new_properties(row: Row, metadata: ViewMetadata) -> dict[str, str]:
    """Return the parameters of a row, missing in the file, that a user of plain Spark may have set as properties.

    They do not count as drift, because other programs may have written them; commits preserve them.
    """
    if not is_written_by_spark(row):
        return {}
    return {
        key: value for key, value in row.parameters.items() if key not in metadata.properties and is_user_parameter(key)
    }


def has_contradictory_flag(row: Row) -> bool:
    """Return whether a row has Trino's mark but not its encoding.

    Trino 483 lists no views of a catalog with such a row.
    """
    return trino_encoding.FLAG in row.parameters and not trino_encoding.is_encoded(row.texts.original)


def find_unrecorded_text(row: Row, *states: ViewMetadata) -> str | None:
    """Return the view text of a row that no version contains, so that a commit would lose it; None if there is none.

    The expanded text of an earlier version is stale but not lost (Iceberg's Java catalog before 1.11 did not update it
    in a replace). Characters that the metastore's database replaced by '?' are ignored.
    """
    # Readers execute the expanded text, which may change although the typed text does not.
    text = trino_encoding.query_of(row.texts) or row.texts.expanded or row.texts.original
    if any(is_trino_encoding_of(row.texts, state) for state in states):
        return None
    if not text or any(row_texts(state.current_version()).expanded == text for state in states):
        return None
    recorded_texts = {
        text
        for state in states
        for version in state.versions
        for text in (row_texts(version).original, row_texts(version).expanded, *sql_texts(version).values())
        if text
    }
    if text in recorded_texts or any(_is_damaged(text, recorded) for recorded in recorded_texts):
        return None
    return text


def _is_damaged(text: str, original: str) -> bool:
    """Return whether a text is another one with each character beyond Latin-1 replaced by one to four '?'.

    Compares runs of such characters with runs of '?', in linear time; a regular expression with a choice for each
    character would take exponential time.
    """
    if "?" not in text or original.isascii():
        return False
    parts, original_parts = _QUESTION_MARKS.split(text), _REPLACED.split(original)
    return parts[::2] == original_parts[::2] and all(
        len(run) <= len(marks) <= len(run) + 3 * (len(run) - run.count("?"))
        for marks, run in zip(parts[1::2], original_parts[1::2], strict=True)
    )


def may_be_damaged(table: Table) -> bool:
    """Return whether a metastore's database could damage this row without an error.

    MariaDB and MySQL with Hive's own latin1 schema replace characters beyond Latin-1 and truncate long comments. A row
    of ASCII texts without long comments cannot be damaged and need not be read back.
    """
    return not all(text.isascii() for text in _texts(table)) or any(
        len(field.comment or "") > MAX_KEY_LENGTH for field in table.sd.cols
    )


def find_damage(sent: Table, stored: Table) -> tuple[Difference, ...]:
    """Return the values that the metastore's database changed in a row that it accepted."""
    damage = []
    for field, sent_text, stored_text in (
        ("original-text", sent.viewOriginalText, stored.viewOriginalText),
        ("expanded-text", sent.viewExpandedText, stored.viewExpandedText),
    ):
        if sent_text != stored_text:
            damage.append(Difference(field, stored_text, sent_text))
    for key, value in sent.parameters.items():
        if value and stored.parameters.get(key) != value:
            damage.append(Difference(f"parameter {key}", stored.parameters.get(key), value))
    stored_columns = [*(stored.sd.cols or []), *[None] * len(sent.sd.cols)]
    for column, stored_column in zip(sent.sd.cols, stored_columns, strict=False):
        stored_definition = None if stored_column is None else (stored_column.name.lower(), stored_column.type.lower())
        if stored_definition != (column.name.lower(), column.type.lower()):
            damage.append(Difference(f"column {column.name}", stored_definition, (column.name, column.type)))
        elif (stored_column.comment or "") != (column.comment or ""):
            damage.append(Difference(f"comment of {column.name}", stored_column.comment, column.comment))
    return tuple(damage)


def long_values(table: Table) -> list[str]:
    """Return the values of a row that exceed a length limit of some metastore's database, for an error message.

    A server that cannot store a value returns its database's message, usually without the column or the length.
    """
    lengths = [
        (len(table.viewOriginalText or ""), _MAX_TEXT_LENGTH, "the original text"),
        (len(table.viewExpandedText or ""), _MAX_TEXT_LENGTH, "the expanded text"),
        (len(table.sd.location or ""), _MAX_VALUE_LENGTH, "the location"),
    ]
    lengths += [
        (len(value or ""), _MAX_VALUE_LENGTH, f"the parameter {key}") for key, value in table.parameters.items()
    ]
    for column in table.sd.cols:
        label = column.name if len(column.name) <= _MAX_NAME_LENGTH else f"{column.name[:20]}…"
        lengths += [
            (len(column.name), _MAX_NAME_LENGTH, f"the name of the column {label}"),
            (len(column.type), _MAX_VALUE_LENGTH, f"the type of the column {label}"),
            (len(column.comment or ""), MAX_COMMENT_LENGTH, f"the comment of the column {label}"),
        ]
    long = sorted(((length, field) for length, limit, field in lengths if length > limit), reverse=True)
    return [f"{field} has {length:,} characters" for length, field in long]


def _without_time_zone(column: tuple[str, str]) -> tuple[str, str]:
    return column[0], column[1].replace("timestamp with local time zone", "timestamp")


def _texts(table: Table) -> Iterator[str]:
    yield table.viewOriginalText or ""
    yield table.viewExpandedText or ""
    for key, value in table.parameters.items():
        yield key
        yield value or ""
    for field in table.sd.cols:
        yield field.name
        yield field.type
        yield field.comment or ""
