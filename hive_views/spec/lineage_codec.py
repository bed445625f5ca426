"""L, the lineage map of a view: its immediate children and the UUID of each, as a version and as a row hold it.

Source: the Iceberg proposal "Materialized Views: Lineage and State Representation". A version's summary holds the map
under one key, which Iceberg's Java catalog keeps when it rewrites the metadata. The row holds it once more, in
parameters that the metastore's filter can search, so that "who depends on T" is one question to the server. The row's
copy follows from the file at each of our commits. Other writers keep it as it is, so it says which file it belongs to,
and the file's name says that a row pointing to it has it (`file_id`).
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from urllib.parse import quote, unquote

from hive_views.errors import InvalidIdentifierError
from hive_views.identifiers import ViewName
from hive_views.spec.metadata import ViewVersion

LINEAGE = "hive-views.lineage"
"""Summary key: L as a JSON object, `database.name` to `uuid` and `type`."""

SEQUENCE_LINEAGE = "hive-views.lineage-sequence"
"""Summary key: L in its other form, a JSON object of all children, however deep, to numbers from 1."""

ROW_LINEAGE = "hive_views_lineage"
"""Row parameter: L as `|type:uuid:database.name|…|`. Its name holds only what Hive's filter grammar takes."""

ROW_LINEAGE_OF = "hive_views_lineage_of"
"""Row parameter: the name of the metadata file that `ROW_LINEAGE` belongs to."""

MAX_ROW_LINEAGE = 4000
"""The longest lineage that a row gets, in characters (PARAM_VALUE before HIVE-12274): some 60 children."""

FILE_NODE = "687669657773"
"""The last group of the UUID in the names of metadata files whose row holds a lineage: `hviews` in ASCII."""


class ObjectKind(Enum):
    """What a child is."""

    TABLE = "table"
    """An Iceberg table."""
    VIEW = "view"
    """An Iceberg view."""
    HIVE_TABLE = "hive-table"
    """A table of Hive's own, materialized views of Hive among them."""
    HIVE_VIEW = "hive-view"
    """A view of Hive's own."""

    @property
    def is_view(self) -> bool:
        """Whether it may have children itself."""
        return self in (ObjectKind.VIEW, ObjectKind.HIVE_VIEW)


@dataclass(frozen=True, order=True)
class Dependency:
    """One entry of L."""

    name: ViewName
    """Its name when the view was defined: what the view's text says."""
    uuid: str
    """Its identity, in lower case with dashes."""
    kind: ObjectKind
    """What it was."""
    by_name: bool = False
    """Whether the identity is only derived from name and creation time, because the table's row could not be marked:
    it is lost when the table is renamed."""


def encode(children: Iterable[Dependency]) -> str:
    """L as the text that a version's summary holds; the same children give the same text."""
    entries = {}
    for child in children:
        entry: dict[str, object] = {"type": child.kind.value, "uuid": child.uuid}
        if child.by_name:
            entry["by-name"] = True
        entries[str(child.name)] = entry
    return json.dumps(entries, sort_keys=True, separators=(",", ":"))


def decode(text: str) -> tuple[Dependency, ...] | None:
    """Read what `encode` wrote, keys of later versions left aside."""
    try:
        entries = json.loads(text)
        return tuple(
            sorted(
                Dependency(
                    ViewName.parse(_two_levels(name)),
                    str(uuid.UUID(entry["uuid"])),
                    ObjectKind(entry["type"]),
                    entry.get("by-name") is True,
                )
                for name, entry in entries.items()
            )
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def lineage_of_version(version: ViewVersion) -> tuple[Dependency, ...] | None:
    """L of a version."""
    text = version.summary.get(LINEAGE)
    return None if text is None else decode(text)


def file_id(version: ViewVersion) -> str:
    """What makes the name of a new metadata file unique.

    A file whose row gets a lineage is told from all others by its name, because Hive's filter can compare a parameter
    with a constant, but not with another parameter: a pointer without the mark means that the row's lineage is not the
    file's, as after a commit by Iceberg's Java catalog.
    """
    random = uuid.uuid4()
    if not _row_text(lineage_of_version(version)):
        return str(random)
    return f"{str(random)[:14]}8{str(random)[15:24]}{FILE_NODE}"


def row_parameters(version: ViewVersion, location: str) -> dict[str, str]:
    """The parameters that a row gets for its current version."""
    text = _row_text(lineage_of_version(version))
    return {ROW_LINEAGE: text, ROW_LINEAGE_OF: _file_name(location)} if text else {}


def lineage_in_row(parameters: Mapping[str, str], location: str | None) -> tuple[Dependency, ...] | None:
    """L as a row holds it."""
    text = parameters.get(ROW_LINEAGE)
    if not text or location is None or parameters.get(ROW_LINEAGE_OF) != _file_name(location):
        return None
    found = []
    try:
        for entry in text.strip("|").split("|") if text != "|" else ():
            kind, identity, database, name = entry.replace(".", ":").split(":")
            by_name = kind.startswith("~")
            found.append(
                Dependency(
                    ViewName(unquote(database), unquote(name)),
                    str(uuid.UUID(identity)),
                    ObjectKind(kind.removeprefix("~")),
                    by_name,
                )
            )
    except ValueError:
        return None
    return tuple(sorted(found))


def row_pattern(*, uuid: str | None = None, name: ViewName | None = None) -> str:
    """The pattern, for `like` of Hive's filter, that `ROW_LINEAGE` of a view with a child matches."""
    return f".*:{uuid}:.*" if name is None else f".*:{_row_name(name)}|.*"


def _row_text(children: tuple[Dependency, ...] | None) -> str | None:
    if children is None:
        return None
    entries = (
        f"{'~' if child.by_name else ''}{child.kind.value}:{child.uuid}:{_row_name(child.name)}|" for child in children
    )
    text = "|" + "".join(entries)
    return text if len(text) <= MAX_ROW_LINEAGE else None


def _row_name(name: ViewName) -> str:
    return f"{_quoted(name.database)}.{_quoted(name.name)}"


def _quoted(part: str) -> str:
    # Servers of Hive 4 take names with special characters; quote() leaves '.' alone.
    return quote(part, safe="").replace(".", "%2E")


def _file_name(location: str) -> str:
    return location.rpartition("/")[2]


def _two_levels(name: object) -> tuple[str, str]:
    if not isinstance(name, str) or "." not in name:
        raise InvalidIdentifierError(name, "an entry of a lineage is named database.name")
    database, _, rest = name.partition(".")
    return database, rest
