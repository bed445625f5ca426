from __future__ import annotations

import copy
import json
import uuid
from typing import Any

import pytest
from hypothesis import given

from hive_views.errors import InvalidMetadataError
from hive_views.spec.changes import AddVersion, Change, SetProperties, apply
from hive_views.spec.json_codec import nests_deeper, read_document, write_document
from tests.unit.spec import examples, strategies
from tests.unit.spec.examples import GOLDEN, NAME, NOW, document, golden

WHERE = "file:/views/top.metadata.json"
SPARK_FILES = sorted(path.name for path in GOLDEN.glob("*.metadata.json") if not path.name.startswith("not_"))


def canonical(value: Any) -> str:
    """JSON text, because 1 == 1.0 == True in Python."""
    return json.dumps(value, sort_keys=True)


def holds(whole: Any, part: Any) -> bool:
    """Whether a JSON value contains another one, key by key."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(key in whole and holds(whole[key], item) for key, item in part.items())
    if isinstance(part, list):
        return isinstance(whole, list) and len(whole) == len(part) and all(map(holds, whole, part))
    return canonical(whole) == canonical(part)


# -- What others wrote ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*SPARK_FILES, "java_ValidViewMetadata.json"])
def test_foreign_file_is_rewritten_with_draft_key(name: str) -> None:
    original = golden(name)
    written = write_document(read_document(copy.deepcopy(original), name))
    (current,) = [item for item in original["versions"] if item["version-id"] == original["current-version-id"]]
    assert written == {"properties": {}, **original, "current-schema-id": current["schema-id"]}


def test_golden_files_exist() -> None:
    assert len(SPARK_FILES) >= 10


def test_javas_valid_file_has_its_values() -> None:
    value = read_document(golden("java_ValidViewMetadata.json"), WHERE)
    assert value.properties == {"some-key": "some-value", "comment": "some-comment"}
    assert value.current_version().timestamp_ms == 5555
    assert value.current_version().default_namespace == ()
    assert value.current_version().default_catalog == "some-catalog"
    assert [(entry.timestamp_ms, entry.version_id) for entry in value.version_log] == [(4353, 1), (5555, 2)]
    assert [(field.name, field.doc) for field in value.current_schema().fields] == [
        ("x", None),
        ("y", "comment"),
        ("z", None),
    ]


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("java_ViewMetadataMissingLocation.json", "location"),
        ("java_ViewMetadataMissingCurrentVersion.json", "current-version-id"),
        ("java_ViewMetadataInvalidCurrentVersion.json", "current-version-id"),
        ("java_ViewMetadataInvalidCurrentSchema.json", "versions[1].schema-id"),
        ("not_a_view.metadata.json", "format-version"),
    ],
)
def test_invalid_foreign_files_are_rejected(name: str, path: str) -> None:
    with pytest.raises(InvalidMetadataError) as caught:
        read_document(golden(name), WHERE)
    assert (caught.value.location, caught.value.path) == (WHERE, path)


# -- The earlier draft ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["draft_example_1.json", "draft_example_2.json"])
def test_worked_example_of_draft_is_read(name: str) -> None:
    value = read_document(golden(name), WHERE)
    version = value.current_version()
    (text,) = version.sql_representations
    assert version.default_catalog == "prod"
    assert version.default_namespace == ("default",)
    assert version.summary == {"operation": "create", "engine-name": "Spark", "engineVersion": "3.3.2"}
    assert text.field_aliases == ["event_count", "event_date"]
    assert text.field_comments == ["Count of events", None]
    assert [field.name for field in value.current_schema().fields] == ["col1", "col2"]
    assert value.properties == {"comment": "Daily event counts"}


def test_draft_version_without_schema_id_has_current_schema() -> None:
    second = read_document(golden("draft_example_2.json"), WHERE).version(2)
    assert second is not None
    assert second.schema_id == 1
    assert second.sql_representations[0].field_comments is None


@pytest.mark.parametrize("name", ["draft_example_1.json", "draft_example_2.json"])
def test_everything_in_a_drafts_file_is_written_back(name: str) -> None:
    written = write_document(read_document(golden(name), WHERE))
    assert holds(written, golden(name))
    assert read_document(json.loads(json.dumps(written)), WHERE) == read_document(golden(name), WHERE)


def test_draft_uuid_is_derived_from_location() -> None:
    first, second = (
        read_document(golden("draft_example_1.json"), WHERE),
        read_document(golden("draft_example_2.json"), "another file"),
    )
    assert first.view_uuid == second.view_uuid == str(uuid.uuid5(uuid.NAMESPACE_URL, first.location))
    moved = {**golden("draft_example_1.json"), "location": "s3://elsewhere"}
    assert read_document(moved, WHERE).view_uuid != first.view_uuid
    assert write_document(first)["view-uuid"] == first.view_uuid


def test_draft_location_with_lone_surrogate_is_rejected() -> None:
    with pytest.raises(InvalidMetadataError, match=r"location: .*unicode"):
        read_document({**golden("draft_example_1.json"), "location": "s3://\ud800"}, WHERE)


def test_defaults_are_lifted_from_the_first_text_that_has_them() -> None:
    draft = golden("draft_example_1.json")
    texts = draft["versions"][0]["representations"]
    texts.insert(0, {"type": "sql", "sql": "s", "dialect": "hive", "default-namespace": None})
    texts.append(
        {"type": "sql", "sql": "s", "dialect": "trino", "default-namespace": ["other"], "default-catalog": "o"}
    )
    version = read_document(draft, WHERE).current_version()
    assert (version.default_catalog, version.default_namespace) == ("prod", ("default",))
    assert [text.default_namespace for text in version.sql_representations] == [None, ("default",), ("other",)]


def test_draft_without_namespace_has_empty_namespace() -> None:
    draft = golden("draft_example_1.json")
    del draft["versions"][0]["representations"][0]["default-namespace"]
    version = read_document(draft, WHERE).current_version()
    assert (version.default_catalog, version.default_namespace) == ("prod", ())


def test_parsed_defaults_do_not_change_current_version() -> None:
    changed = document()
    changed["versions"][0]["representations"][0]["default-catalog"] = "elsewhere"
    del changed["versions"][0]["default-catalog"]
    version = read_document(changed, WHERE).current_version()
    assert version.default_catalog is None
    assert "default-catalog" not in write_document(read_document(changed, WHERE))["versions"][0]


def test_schema_id_of_version_overrides_current_schema_id() -> None:
    other = {"type": "struct", "schema-id": 4, "fields": []}
    value = read_document(document(current_schema_id=4, schemas=[*document()["schemas"], other]), WHERE)
    assert value.current_schema_id == 0
    assert write_document(value)["current-schema-id"] == 0


def test_representation_type_is_read_in_any_case() -> None:
    changed = document()
    changed["versions"][0]["representations"][0]["type"] = "SQL"
    value = read_document(changed, WHERE)
    assert value.current_version().sql_representations[0].sql == "select x, y from t"
    assert write_document(value)["versions"][0]["representations"][0]["type"] == "sql"


def test_log_entry_may_refer_to_expired_version() -> None:
    log = [{"timestamp-ms": 1, "version-id": 77}, {"timestamp-ms": 2, "version-id": 1}]
    assert [entry.version_id for entry in read_document(document(version_log=log), WHERE).version_log] == [77, 1]


# -- What is refused, and where ---------------------------------------------------------------------------------------

VERSION = "versions/0"
TEXT = "versions/0/representations/0"
FIELD = "schemas/0/fields/1"
DELETE = object()
NESTED = {"type": "list", "element-id": 3, "element": "long", "element-required": True}
MAP = {"type": "map", "key-id": 3, "key": "string", "value-id": 4, "value": "long", "value-required": True}

REFUSED: list[tuple[str, Any, str]] = [
    # key to change, its new value, the path that the error names
    ("view-uuid", "zz", "view-uuid"),
    ("view-uuid", None, "view-uuid"),
    ("view-uuid", "{fa6506c3-7681-40c8-86dc-e36561f83385}", "view-uuid"),
    ("format-version", 2, "format-version"),
    ("format-version", 0, "format-version"),
    ("format-version", "1", "format-version"),
    ("format-version", True, "format-version"),
    ("format-version", 1.0, "format-version"),
    ("format-version", DELETE, "format-version"),
    ("location", 5, "location"),
    ("location", "", "location"),
    ("location", DELETE, "location"),
    ("properties", None, "properties"),
    ("properties", [], "properties"),
    ("properties/a", None, "properties.a"),
    ("properties/a b", 1, 'properties["a b"]'),
    ("properties/a", True, "properties.a"),
    ("schemas", DELETE, "schemas"),
    ("schemas", [], "versions[0].schema-id"),
    ("schemas", {}, "schemas"),
    ("schemas/0", "struct", "schemas[0]"),
    ("schemas/0/schema-id", DELETE, "schemas[0].schema-id"),
    ("schemas/0/schema-id", "0", "schemas[0].schema-id"),
    ("schemas/0/schema-id", False, "schemas[0].schema-id"),
    ("schemas/0/schema-id", 2**31, "schemas[0].schema-id"),
    ("schemas/0/type", "list", "schemas[0].type"),
    ("schemas/0/fields", None, "schemas[0].fields"),
    ("schemas/0/identifier-field-ids", [True], "schemas[0].identifier-field-ids"),
    ("schemas/1", document()["schemas"][0], "schemas[1].schema-id"),
    (FIELD, [], "schemas[0].fields[1]"),
    (f"{FIELD}/id", "2", "schemas[0].fields[1].id"),
    (f"{FIELD}/id", True, "schemas[0].fields[1].id"),
    (f"{FIELD}/name", None, "schemas[0].fields[1].name"),
    (f"{FIELD}/required", 1, "schemas[0].fields[1].required"),
    (f"{FIELD}/required", DELETE, "schemas[0].fields[1].required"),
    (f"{FIELD}/doc", 3, "schemas[0].fields[1].doc"),
    (f"{FIELD}/type", DELETE, "schemas[0].fields[1].type"),
    (f"{FIELD}/type", 1, "schemas[0].fields[1].type"),
    (f"{FIELD}/type", {}, "schemas[0].fields[1].type"),
    (f"{FIELD}/type", {"type": "struct", "fields": [{}]}, "schemas[0].fields[1].type.fields[0].id"),
    (f"{FIELD}/type", {**NESTED, "element-id": None}, "schemas[0].fields[1].type.element-id"),
    (f"{FIELD}/type", {**NESTED, "element-required": 0}, "schemas[0].fields[1].type.element-required"),
    (f"{FIELD}/type", {**NESTED, "element": {**MAP, "key": 7}}, "schemas[0].fields[1].type.element.key"),
    (f"{FIELD}/type", {**MAP, "value-required": "no"}, "schemas[0].fields[1].type.value-required"),
    (f"{FIELD}/type", {**MAP, "value": {**NESTED, "element": []}}, "schemas[0].fields[1].type.value.element"),
    ("current-schema-id", 4, "current-schema-id"),
    ("current-schema-id", None, "current-schema-id"),
    ("current-schema-id", "0", "current-schema-id"),
    ("current-version-id", 2, "current-version-id"),
    ("current-version-id", "1", "current-version-id"),
    ("current-version-id", True, "current-version-id"),
    ("current-version-id", 1.0, "current-version-id"),
    ("current-version-id", DELETE, "current-version-id"),
    ("versions", [], "versions"),
    ("versions", {}, "versions"),
    ("versions", DELETE, "versions"),
    ("versions/1", document()["versions"][0], "versions[1].version-id"),
    (VERSION, "v", "versions[0]"),
    (f"{VERSION}/version-id", DELETE, "versions[0].version-id"),
    (f"{VERSION}/version-id", 2**31, "versions[0].version-id"),
    (f"{VERSION}/schema-id", 3, "versions[0].schema-id"),
    (f"{VERSION}/schema-id", DELETE, "versions[0].schema-id"),
    (f"{VERSION}/timestamp-ms", 1.5, "versions[0].timestamp-ms"),
    (f"{VERSION}/timestamp-ms", 2**63, "versions[0].timestamp-ms"),
    (f"{VERSION}/timestamp-ms", DELETE, "versions[0].timestamp-ms"),
    (f"{VERSION}/summary", DELETE, "versions[0].summary"),
    (f"{VERSION}/summary", None, "versions[0].summary"),
    (f"{VERSION}/summary/operation", None, "versions[0].summary.operation"),
    (f"{VERSION}/default-catalog", 1, "versions[0].default-catalog"),
    (f"{VERSION}/default-namespace", DELETE, "versions[0].default-namespace"),
    (f"{VERSION}/default-namespace", "sales", "versions[0].default-namespace"),
    (f"{VERSION}/default-namespace", ["a", 1], "versions[0].default-namespace[1]"),
    (f"{VERSION}/representations", DELETE, "versions[0].representations"),
    (f"{VERSION}/representations", {}, "versions[0].representations"),
    (TEXT, 5, "versions[0].representations[0]"),
    (f"{TEXT}/type", DELETE, "versions[0].representations[0].type"),
    (f"{TEXT}/type", 1, "versions[0].representations[0].type"),
    (f"{TEXT}/sql", DELETE, "versions[0].representations[0].sql"),
    (f"{TEXT}/sql", None, "versions[0].representations[0].sql"),
    (f"{TEXT}/dialect", 3, "versions[0].representations[0].dialect"),
    (f"{TEXT}/field-aliases", ["a", None], "versions[0].representations[0].field-aliases[1]"),
    (f"{TEXT}/field-comments", [1], "versions[0].representations[0].field-comments[0]"),
    (f"{TEXT}/default-namespace", [1], "versions[0].representations[0].default-namespace[0]"),
    ("version-log", DELETE, "version-log"),
    ("version-log", None, "version-log"),
    ("version-log/0", 1, "version-log[0]"),
    ("version-log/0/version-id", "1", "version-log[0].version-id"),
    ("version-log/0/timestamp-ms", DELETE, "version-log[0].timestamp-ms"),
]


def changed_at(key: str, value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(document())
    *steps, last = key.split("/")
    holder: Any = changed
    for step in steps:
        holder = holder[int(step) if step.isdigit() else step]
    if value is DELETE:
        del holder[last]
    elif isinstance(holder, list):
        holder[int(last) :] = [value]
    else:
        holder[last] = value
    return changed


@pytest.mark.parametrize(("key", "value", "path"), REFUSED)
def test_format_violation_error_has_path(key: str, value: Any, path: str) -> None:
    with pytest.raises(InvalidMetadataError) as caught:
        read_document(changed_at(key, value), WHERE)
    assert caught.value.path == path
    assert caught.value.location == WHERE


def test_unchanged_document_is_valid() -> None:
    assert holds(write_document(read_document(document(), WHERE)), document())


@pytest.mark.parametrize("value", [None, [], "x", 1])
def test_document_must_be_an_object(value: object) -> None:
    with pytest.raises(InvalidMetadataError, match="must be a JSON object"):
        read_document(value, WHERE)


@pytest.mark.parametrize("location", [None, 5])
def test_draft_without_location_is_rejected(location: object) -> None:
    with pytest.raises(InvalidMetadataError) as caught:
        read_document({**golden("draft_example_1.json"), "location": location}, WHERE)
    assert caught.value.path == "location"


def test_keys_named_like_our_attributes_are_unknown_keys() -> None:
    changed = document(raw_schemas_=1)
    changed |= {"raw_schemas": 1, "view_uuid": 2, "model_extra": 3}
    changed["versions"][0]["version_id"] = 4
    value = read_document(changed, WHERE)
    assert (value.view_uuid, value.current_version().version_id) == (examples.UUID, 1)
    assert holds(write_document(value), changed)


@pytest.mark.parametrize(
    ("holder", "key", "path"),
    [("", "current-version-id", "current-version-id"), ("versions/0/", "version-id", "versions[0].version-id")],
)
def test_attribute_name_as_key_is_unknown_key(holder: str, key: str, path: str) -> None:
    changed = changed_at(holder + key, DELETE)
    holder_object = changed["versions"][0] if holder else changed
    holder_object[key.replace("-", "_")] = 1
    with pytest.raises(InvalidMetadataError, match="it is missing") as caught:
        read_document(changed, WHERE)
    assert caught.value.path == path


# -- Nothing is lost --------------------------------------------------------------------------------------------------


@strategies.relaxed
@given(strategies.documents())
def test_document_round_trips(original: dict[str, Any]) -> None:
    value = read_document(copy.deepcopy(original), WHERE)
    written = write_document(value)
    expected = {"properties": {}, **original, "current-schema-id": value.current_schema_id}
    assert canonical(written) == canonical(expected)
    assert read_document(json.loads(json.dumps(written)), WHERE) == value


@strategies.relaxed
@given(strategies.documents(draft=True))
def test_draft_keys_are_preserved(original: dict[str, Any]) -> None:
    value = read_document(copy.deepcopy(original), WHERE)
    written = write_document(value)
    assert holds(written, original)
    again = read_document(json.loads(json.dumps(written)), WHERE)
    assert again == value
    assert canonical(write_document(again)) == canonical(written)


@strategies.relaxed
@given(strategies.documents())
def test_change_preserves_everything_else(original: dict[str, Any]) -> None:
    original.setdefault("properties", {})["version.history.num-entries"] = "100"
    original["properties"]["replace.drop-dialect.allowed"] = "true"
    value = read_document(copy.deepcopy(original), WHERE)
    changes: list[Change] = [
        SetProperties({"k": "v"}),
        AddVersion(examples.schema("only", "here"), examples.version("select 'new'")),
    ]
    written = write_document(apply(value, changes, identifier=NAME, now_ms=NOW))
    written["properties"].pop("k")
    assert written["versions"].pop()["representations"][0]["sql"] == "select 'new'"
    last = max((entry["timestamp-ms"] for entry in original["version-log"][-1:]), default=NOW)
    assert written["version-log"].pop()["timestamp-ms"] == max(NOW, last)
    written["schemas"].pop()
    written["current-version-id"] = original["current-version-id"]
    written["current-schema-id"] = value.current_schema_id
    assert canonical(written) == canonical({**original, "current-schema-id": value.current_schema_id})


def test_explicit_null_is_preserved_and_missing_key_is_not_added() -> None:
    changed = document()
    changed["versions"][0]["default-catalog"] = None
    changed["versions"][0]["representations"][0] |= {"field-comments": ["x", None], "field-aliases": None, "new": None}
    written = write_document(read_document(changed, WHERE))
    assert canonical(written["versions"]) == canonical(changed["versions"])
    plain = document()
    del plain["versions"][0]["default-catalog"]
    assert canonical(write_document(read_document(plain, WHERE))["versions"]) == canonical(plain["versions"])


@pytest.mark.parametrize(
    ("value", "levels"),
    [(1, 0), ([], 1), ({}, 1), ([[]], 2), ({"a": [{}]}, 3), ([1, {"a": 1, "b": [2]}], 3)],
)
def test_nesting_is_counted(value: object, levels: int) -> None:
    assert not nests_deeper(value, levels)
    assert levels == 0 or nests_deeper(value, levels - 1)
