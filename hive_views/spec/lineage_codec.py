"""The lineage of a view (its direct dependencies with their UUIDs) in a version's summary and in a row.

Source: the Iceberg proposal "Materialized Views: Lineage and State Representation". A version's summary has the lineage
under one key, which Iceberg's Java catalog preserves when it rewrites the metadata. The row has a copy in parameters
that the metastore can filter by, so that one request finds the dependents of an object. Each commit of this package
rewrites the copy. Other writers do not, so the copy names the metadata file to which it belongs, and the name of a
metadata file is marked if its row has a copy (`file_id`).
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from urllib.parse import quote, unquote

from hive_views.errors import InvalidIdentifierError
from hive_views.identifiers import ViewName
from hive_views.spec.json_text import compact_json, parse_json
from hive_views.spec.metadata import ViewVersion

LINEAGE = "hive-views.lineage"
"""Summary key: the lineage as a JSON object, `database.name` to `uuid` and `type`."""

SEQUENCE_LINEAGE = "hive-views.lineage-sequence"
"""Summary key: all direct and indirect dependencies as a JSON object to sequence numbers from 1."""

ROW_LINEAGE = "hive_views_lineage"
"""Row parameter: the lineage as `|type:uuid:database.name|…|`. Hive's filter grammar allows no '-' in its name."""

ROW_LINEAGE_OF = "hive_views_lineage_of"
"""Row parameter: the name of the metadata file that `ROW_LINEAGE` belongs to."""

MAX_ROW_LINEAGE = 4000
"""Maximum length of a row's lineage in characters (PARAM_VALUE before HIVE-12274), enough for 60 dependencies."""

FILE_NODE = "687669657773"
"""The last group of the UUID in the names of metadata files whose row has a lineage: `hviews` in ASCII."""


class ObjectKind(Enum):
    """The kind of an object that a view can read."""

    TABLE = "table"
    """An Iceberg table."""
    VIEW = "view"
    """An Iceberg view."""
    HIVE_TABLE = "hive-table"
    """A Hive table, or a materialized view of Hive."""
    HIVE_VIEW = "hive-view"
    """A plain Hive view."""

    @property
    def is_view(self) -> bool:
        """Whether it can have dependencies."""
        return self in (ObjectKind.VIEW, ObjectKind.HIVE_VIEW)


@dataclass(frozen=True, order=True)
class Dependency:
    """One entry of a lineage."""

    name: ViewName
    """The name in the view's text."""
    uuid: str
    """The object's UUID, in lower case with dashes."""
    kind: ObjectKind
    """The object's kind when the view was defined."""
    by_name: bool = False
    """Whether the UUID is derived from name and creation time, because the table's row could not be marked; a rename of
    the table changes it."""


def encode(dependencies: Iterable[Dependency]) -> str:
    """Encode a lineage for a version's summary; deterministic."""
    entries = {}
    for dependency in dependencies:
        entry: dict[str, object] = {"type": dependency.kind.value, "uuid": dependency.uuid}
        if dependency.by_name:
            entry["by-name"] = True
        entries[str(dependency.name)] = entry
    return compact_json(entries, sort_keys=True)


def decode(text: str) -> tuple[Dependency, ...] | None:
    """Decode a lineage, ignoring unknown keys; None if it is invalid."""
    try:
        entries = parse_json(text)
        return tuple(
            sorted(
                Dependency(
                    ViewName.parse(_split_name(name)),
                    str(uuid.UUID(entry["uuid"])),
                    ObjectKind(entry["type"]),
                    entry.get("by-name") is True,
                )
                for name, entry in entries.items()
            )
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def lineage_of_version(version: ViewVersion) -> tuple[Dependency, ...] | None:
    """Return the lineage of a version; None if it has none."""
    text = version.summary.get(LINEAGE)
    return None if text is None else decode(text)


def file_id(version: ViewVersion) -> str:
    """Return the unique part of the name of a new metadata file.

    The name is marked if the row gets a lineage, because Hive's filter can compare a parameter only with a constant: if
    the row points to a file without the mark, e.g. after a commit by Iceberg's Java catalog, its lineage is obsolete.
    """
    random = uuid.uuid4()
    if not _row_text(lineage_of_version(version)):
        return str(random)
    return f"{str(random)[:14]}8{str(random)[15:24]}{FILE_NODE}"


def row_parameters(version: ViewVersion, location: str) -> dict[str, str]:
    """Return the lineage parameters of a row, for its current version."""
    text = _row_text(lineage_of_version(version))
    return {ROW_LINEAGE: text, ROW_LINEAGE_OF: _file_name(location)} if text else {}


def lineage_in_row(parameters: Mapping[str, str], location: str | None) -> tuple[Dependency, ...] | None:
    """Return the lineage in a row; None if it has none, or it is obsolete or invalid."""
    text = parameters.get(ROW_LINEAGE)
    if not text or location is None or parameters.get(ROW_LINEAGE_OF) != _file_name(location):
        return None
    dependencies = []
    try:
        for entry in text.strip("|").split("|") if text != "|" else ():
            kind, identity, database, name = entry.replace(".", ":").split(":")
            by_name = kind.startswith("~")
            dependencies.append(
                Dependency(
                    ViewName(unquote(database), unquote(name)),
                    str(uuid.UUID(identity)),
                    ObjectKind(kind.removeprefix("~")),
                    by_name,
                )
            )
    except ValueError:
        return None
    return tuple(sorted(dependencies))


def row_pattern(*, uuid: str | None = None, name: ViewName | None = None) -> str:
    """Return a pattern for `like` in Hive's filter that matches `ROW_LINEAGE` of the views that read an object."""
    return f".*:{uuid}:.*" if name is None else f".*:{_row_name(name)}|.*"


def _row_text(dependencies: tuple[Dependency, ...] | None) -> str | None:
    if dependencies is None:
        return None
    entries = (
        f"{'~' if dependency.by_name else ''}{dependency.kind.value}:{dependency.uuid}:{_row_name(dependency.name)}|"
        for dependency in dependencies
    )
    text = "|" + "".join(entries)
    return text if len(text) <= MAX_ROW_LINEAGE else None


def _row_name(name: ViewName) -> str:
    return f"{_quote_part(name.database)}.{_quote_part(name.name)}"


def _quote_part(part: str) -> str:
    # Hive 4 allows special characters in names; quote() does not escape '.'.
    return quote(part, safe="").replace(".", "%2E")


def _file_name(location: str) -> str:
    return location.rpartition("/")[2]


def _split_name(name: object) -> tuple[str, str]:
    if not isinstance(name, str) or "." not in name:
        raise InvalidIdentifierError(name, "the key of a lineage entry must be database.name")
    database, _, rest = name.partition(".")
    return database, rest
