"""Where a row and its metadata file disagree, what a row alone holds, and what a database did to a row.

Plain Spark and Hive change rows behind the file's back; some databases cannot hold what they are given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hive_views.config import CatalogConfig
from hive_views.errors import InvalidViewError
from hive_views.metastore._thrift.hive_metastore.ttypes import Table
from hive_views.metastore.row_codec import MAX_KEY_LENGTH, Row, columns_of
from hive_views.spec.metadata import ViewMetadata
from hive_views.spec.version_texts import row_texts, sql_texts

_ROOM_FOR_TEXT, _ROOM_FOR_VALUE, _ROOM_FOR_COMMENT, _ROOM_FOR_NAME = 32_700, 4_000, 256, 128
"""Characters that every metastore's database holds (Derby's LONG VARCHAR; Hive's schemas); many hold more."""

_MARKS, _REPLACED = re.compile(r"(\?+)"), re.compile("([?\u0100-\U0010ffff]+)")


@dataclass(frozen=True)
class Difference:
    """One respect in which a row and the metadata file it points to disagree."""

    field: str
    """`expanded-text`, `original-text` or `columns`."""
    row: object
    """What the row says."""
    file: object
    """What follows from the metadata file."""


def find_drift(row: Row, metadata: ViewMetadata, config: CatalogConfig) -> tuple[Difference, ...]:
    """What others changed in the row behind the metadata file's back, or what the database damaged.

    Plain Spark's and Hive's ALTER VIEW change texts and columns and leave the pointer. An original text that another
    writer overwrote with the expanded one (Iceberg's Java catalog and plain Spark's SET TBLPROPERTIES do) is no
    difference in the definition and is not counted.
    """
    found = []
    expected = row_texts(metadata.current_version())
    if row.texts.expanded != expected.expanded:
        found.append(Difference("expanded-text", row.texts.expanded, expected.expanded))
    if row.texts.original not in (expected.original, expected.expanded):
        found.append(Difference("original-text", row.texts.original, expected.original))
    try:
        columns = columns_of(row.name, metadata, config)
    except InvalidViewError:
        # Another catalog wrote a type that Hive does not know, under a name of its own; there is nothing to compare.
        return tuple(found)
    wanted = [(name.lower(), kind.lower()) for name, kind, _ in columns]
    # Iceberg's Java catalog writes timestamptz by the version of its own Hive classes: both names mean the same column.
    actual = [(name.lower(), kind.lower()) for name, kind, _ in row.columns]
    if [_plain_times(column) for column in actual] != [_plain_times(column) for column in wanted]:
        found.append(Difference("columns", actual, wanted))
    return tuple(found)


def find_unrecorded_text(row: Row, *states: ViewMetadata) -> str | None:
    """A text in a row that would be lost if the row were written from its metadata file.

    A row whose expanded text is one of any version's is only stale (Iceberg's Java catalog before 1.11 left it so at a
    replace). Characters that the metastore's database turned into '?' do not count.
    """
    # What readers run: an author who types the same again under other tables gives another expanded text only.
    text = row.texts.expanded or row.texts.original
    if not text or any(row_texts(state.current_version()).expanded == text for state in states):
        return None
    known = {
        text
        for state in states
        for version in state.versions
        for text in (row_texts(version).original, row_texts(version).expanded, *sql_texts(version).values())
        if text
    }
    if text in known or any(_is_damaged(text, whole) for whole in known):
        return None
    return text


def _is_damaged(text: str, whole: str) -> bool:
    """Whether a text is another one whose characters beyond Latin-1 were each replaced by one to four '?'.

    Runs of such characters, and of '?', end where the same other character stands in both texts, so they are compared
    one by one: a pattern of one choice for each character would take time that doubles with every one of them.
    """
    if "?" not in text or whole.isascii():
        return False
    pieces, wholes = _MARKS.split(text), _REPLACED.split(whole)
    return pieces[::2] == wholes[::2] and all(
        len(run) <= len(marks) <= len(run) + 3 * (len(run) - run.count("?"))
        for marks, run in zip(pieces[1::2], wholes[1::2], strict=True)
    )


def may_be_damaged(table: Table) -> bool:
    """Whether a metastore's database could change this row without an error.

    MariaDB and MySQL with Hive's own latin1 schema replace characters beyond Latin-1 and cut long comments
    (facts: metastore.md). A row of plain ASCII without long comments cannot be hurt and need not be read back.
    """
    return not all(text.isascii() for text in _texts(table)) or any(
        len(field.comment or "") > MAX_KEY_LENGTH for field in table.sd.cols
    )


def find_damage(sent: Table, stored: Table) -> tuple[Difference, ...]:
    """What the metastore's database changed in a row that it accepted."""
    found = []
    for label, ours, theirs in (
        ("original-text", sent.viewOriginalText, stored.viewOriginalText),
        ("expanded-text", sent.viewExpandedText, stored.viewExpandedText),
    ):
        if ours != theirs:
            found.append(Difference(label, theirs, ours))
    for key, value in sent.parameters.items():
        if value and stored.parameters.get(key) != value:
            found.append(Difference(f"parameter {key}", stored.parameters.get(key), value))
    columns = [*(stored.sd.cols or []), *[None] * len(sent.sd.cols)]
    for ours, theirs in zip(sent.sd.cols, columns, strict=False):
        there = None if theirs is None else (theirs.name.lower(), theirs.type.lower())
        if there != (ours.name.lower(), ours.type.lower()):
            found.append(Difference(f"column {ours.name}", there, (ours.name, ours.type)))
        elif (theirs.comment or "") != (ours.comment or ""):
            found.append(Difference(f"comment of {ours.name}", theirs.comment, ours.comment))
    return tuple(found)


def long_values(table: Table) -> list[str]:
    """What in a row is longer than some metastore's database holds, for the message of a refusal.

    A server that cannot store a value says so in its database's words, most often without the column or the length.
    """
    found = [
        (len(table.viewOriginalText or ""), _ROOM_FOR_TEXT, "the original text"),
        (len(table.viewExpandedText or ""), _ROOM_FOR_TEXT, "the expanded text"),
        (len(table.sd.location or ""), _ROOM_FOR_VALUE, "the location"),
    ]
    found += [(len(value or ""), _ROOM_FOR_VALUE, f"the parameter {key}") for key, value in table.parameters.items()]
    for column in table.sd.cols:
        shown = column.name if len(column.name) <= _ROOM_FOR_NAME else f"{column.name[:20]}…"
        found += [
            (len(column.name), _ROOM_FOR_NAME, f"the name of the column {shown}"),
            (len(column.type), _ROOM_FOR_VALUE, f"the type of the column {shown}"),
            (len(column.comment or ""), _ROOM_FOR_COMMENT, f"the comment of the column {shown}"),
        ]
    long = sorted(((length, what) for length, room, what in found if length > room), reverse=True)
    return [f"{what} has {length:,} characters" for length, what in long]


def _plain_times(column: tuple[str, str]) -> tuple[str, str]:
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
