"""Layout `table`: a table of the catalog whose property names the view's metadata file.

Source: Iceberg Materialized View Concept, Design 2. The summary of each snapshot holds the refresh state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hive_views.errors import InvalidRefreshStateError
from hive_views.materialized.layouts.layout import (
    FORMAT_VERSION,
    parse_document,
    parse_identifier,
    unknown_keys,
)
from hive_views.materialized.state.refresh_state import (
    DEFINITION,
    STARTED_MS,
    VERSION_ID,
    RefreshState,
    SourceKind,
    SourceState,
    optional,
    parse_object,
    required,
    without_none,
)
from hive_views.spec.json_text import compact_json
from hive_views.spec.staleness_policy import METADATA
from hive_views.spec.whole_numbers import whole_number

BASE_TABLES = "base-tables"
"""Summary key: the states of the sources."""

DEFINITION_OF = "hive-views.definition-of"
"""Property of a definition in this layout: the table it was created for. It distinguishes its file from a view's."""


@dataclass(frozen=True)
class AssociatedView:
    """The table's property."""

    associated_view_location: str
    """The current metadata file of the view."""
    extra: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """Unknown keys, which are written back."""

    def encode(self) -> str:
        """Encode the property's value."""
        document = {"format-version": FORMAT_VERSION, "associated-view-location": self.associated_view_location}
        return compact_json({**document, **self.extra})

    @staticmethod
    def decode(text: str) -> AssociatedView:
        """Decode the property's value."""
        document = parse_document(text)
        return AssociatedView(
            required(document, "associated-view-location", str, METADATA),
            unknown_keys(document, "format-version", "associated-view-location"),
        )

    @staticmethod
    def of(properties: Mapping[str, str]) -> AssociatedView:
        """Decode the property of a table, or of a table's row."""
        return AssociatedView.decode(properties[METADATA])


def encode_summary(state: RefreshState) -> dict[str, str]:
    """Encode a refresh state as summary entries."""
    records = []
    for source in state.sources:
        record = {
            "identifier": str(source.name),
            "snapshot-id": source.id,
            "type": "view" if source.kind is SourceKind.VIEW else None,
            "uuid": source.uuid,
            "schema-id": source.schema_id,
            DEFINITION: source.definition,
        }
        records.append(without_none(record))
    return without_none(
        {
            VERSION_ID: str(state.view_version_id),
            BASE_TABLES: compact_json(records),
            DEFINITION: state.definition,
            STARTED_MS: None if state.started_ms is None else str(state.started_ms),
        }
    )


def decode_summary(summary: Mapping[str, str], database: str | None = None) -> RefreshState:
    """Decode the refresh state in a summary of any writer; `database` qualifies names without one."""
    version = whole_number(summary.get(VERSION_ID))
    if version is None:
        raise InvalidRefreshStateError(VERSION_ID, f"it must be a number, not {summary.get(VERSION_ID)!r}")
    records = parse_object(f'{{"base-tables":{summary.get(BASE_TABLES, "null")}}}', BASE_TABLES)["base-tables"]
    if not isinstance(records, list):
        raise InvalidRefreshStateError(BASE_TABLES, "it must be a list")
    sources = []
    for index, record in enumerate(records):
        path = f"{BASE_TABLES}[{index}]"
        if not isinstance(record, dict):
            raise InvalidRefreshStateError(path, "it must be an object")
        sources.append(
            SourceState(
                SourceKind.VIEW if record.get("type") == "view" else SourceKind.TABLE,
                parse_identifier(required(record, "identifier", str, path), f"{path}.identifier", database),
                optional(record, "uuid", str, path),
                required(record, "snapshot-id", int, path),
                schema_id=optional(record, "schema-id", int, path),
                definition=optional(record, DEFINITION, str, path),
            )
        )
    return RefreshState(version, tuple(sources), whole_number(summary.get(STARTED_MS)), summary.get(DEFINITION))
