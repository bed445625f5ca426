"""The worked example of the format's earlier draft (Appendix A), created with this package's changes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import DateType, IntegerType, NestedField
from pyiceberg.view import metadata as iceberg

from hive_views.spec.changes import (
    AddVersion,
    create,
)
from hive_views.spec.file_codec import serialize
from hive_views.spec.json_codec import read_document, write_document
from hive_views.spec.metadata import (
    SQLViewRepresentation,
    ViewMetadata,
    ViewRepresentation,
    ViewVersion,
)
from tests.unit.spec.examples import (
    UUID,
    changed,
    golden,
    version,
)
from tests.unit.spec.java_reader import java_problems

EVENTS = Schema(
    NestedField(1, "col1", IntegerType(), required=False), NestedField(2, "col2", DateType(), required=False)
)
SUMMARY = {"operation": "create", "engine-name": "Spark", "engineVersion": "3.3.2"}


def event_version(sql: str, comments: list[str | None] | None) -> ViewVersion:
    given = SQLViewRepresentation(
        type="sql", sql=sql, dialect="spark", field_aliases=["event_count", "event_date"], field_comments=comments
    )
    return version(ViewRepresentation(given), default_namespace=("default",), summary=SUMMARY)


def event_view() -> tuple[ViewMetadata, ViewMetadata]:
    """The two files of the example."""
    queries = [item["representations"][0]["sql"] for item in golden("draft_example_2.json")["versions"]]
    first = create(
        identifier="default.event_agg",
        uuid=UUID,
        location="s3://bucket/warehouse/default.db/event_agg",
        schema=EVENTS,
        version=event_version(queries[0], ["Count of events", None]),
        properties={"comment": "Daily event counts"},
        now_ms=1573518431292,
    )
    return first, changed(first, AddVersion(EVENTS, event_version(queries[1], None)), now_ms=1573518981593)


def renumbered(example: dict[str, Any]) -> dict[str, Any]:
    """The example with Java's schema ids (from 0), and without its slips: the second version is not marked as current,
    has no schema-id, and calls itself a `create`."""
    for item in example["versions"]:
        item["schema-id"] = 0
        item["summary"]["operation"] = "create" if item["version-id"] == 1 else "replace"
    example["schemas"][0]["schema-id"] = example["current-schema-id"] = 0
    example["current-version-id"] = len(example["versions"])
    return example


@pytest.mark.parametrize("step", [0, 1])
def test_worked_example_of_draft_is_written_with_all_fields(step: int) -> None:
    written = write_document(event_view()[step])
    added = {"view-uuid": written.pop("view-uuid")}
    for item in written["versions"]:
        added["default-catalog"] = item.pop("default-catalog")
        added["default-namespace"] = item.pop("default-namespace")
    assert written == renumbered(golden(f"draft_example_{step + 1}.json"))
    assert added == {"view-uuid": UUID, "default-catalog": "prod", "default-namespace": ["default"]}


@pytest.mark.parametrize("step", [0, 1])
def test_worked_example_of_draft_is_readable_by_java_and_pyiceberg(step: int) -> None:
    data = serialize(event_view()[step], codec="none")
    assert java_problems(json.loads(data)) == []
    theirs = iceberg.ViewMetadata.model_validate_json(data)
    assert theirs == event_view()[step].to_pyiceberg()
    assert theirs.versions[-1].default_namespace == ("default",)


def test_rewritten_file_of_draft_is_readable_by_java() -> None:
    for name in ("draft_example_1.json", "draft_example_2.json"):
        assert "Cannot parse view-uuid: None" in _problems_or_error(golden(name))
        assert java_problems(write_document(read_document(golden(name), "x"))) == []


def _problems_or_error(value: dict[str, Any]) -> list[str]:
    try:
        return java_problems(value)
    except KeyError as error:
        return [f"Cannot parse {error.args[0]}: None"]
