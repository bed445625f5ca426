"""New definitions: rules of ViewMetadata.Builder (named as in TestViewMetadata.java) and of this package."""

from __future__ import annotations

from typing import Any

import pytest
from pyiceberg.view import metadata as iceberg

from hive_views.errors import InvalidViewError
from hive_views.spec.changes import (
    AddVersion,
    SetProperties,
    create,
)
from hive_views.spec.file_codec import parse, serialize
from hive_views.spec.json_codec import read_document, write_document
from hive_views.spec.metadata import (
    UnknownViewRepresentation,
    ViewRepresentation,
)
from tests.unit.spec.examples import (
    LATER,
    NAME,
    NOW,
    UUID,
    add,
    changed,
    created,
    document,
    golden,
    iceberg_version,
    ids,
    keep,
    metadata,
    schema,
    text,
    version,
)

DROP_ALLOWED = {"replace.drop-dialect.allowed": "true"}


# -- Creating ---------------------------------------------------------------------------------------------------------


def test_create_new_view() -> None:
    value = create(
        identifier=NAME,
        uuid=UUID,
        location="s3://b/top",
        schema=schema("a", schema_id=5),
        version=version("select a", version_id=9, schema_id=9, timestamp_ms=9),
        properties={"comment": "c"},
        now_ms=NOW,
    )
    assert (value.view_uuid, value.location, value.properties) == (UUID, "s3://b/top", {"comment": "c"})
    current = value.current_version()
    assert (current.version_id, current.schema_id, current.timestamp_ms) == (1, 0, NOW)
    assert current.summary == {"user": "some-user", "operation": "create"}
    assert value.current_schema() == schema("a")
    assert [(entry.version_id, entry.timestamp_ms) for entry in value.version_log] == [(1, NOW)]


def test_create_from_pyiceberg_classes() -> None:
    value = create(
        identifier=NAME,
        uuid=UUID,
        location="file:/top",
        schema=schema(),
        version=iceberg_version("select x", default_catalog="prod", summary={"engine-name": "me"}),
        properties={},
        now_ms=NOW,
    )
    assert write_document(value)["versions"] == [
        {
            "version-id": 1,
            "timestamp-ms": NOW,
            "schema-id": 0,
            "summary": {"engine-name": "me", "operation": "create"},
            "default-catalog": "prod",
            "default-namespace": ["default"],
            "representations": [
                {
                    "type": "sql",
                    "sql": "select x",
                    "dialect": "spark",
                    "default-catalog": "prod",
                    "default-namespace": ["default"],
                }
            ],
        }
    ]


def test_missing_default_catalog_is_not_written() -> None:
    (written,) = write_document(created(version("select 1", default_catalog=None, default_namespace=())))["versions"]
    assert "default-catalog" not in written
    assert written["default-namespace"] == []
    assert set(written["representations"][0]) == {"type", "sql", "dialect"}


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"version": version()}, "it has no query"),
        ({"version": None}, "it has no definition"),
        ({"version": version(ViewRepresentation(UnknownViewRepresentation(type="plan")))}, "it has no query"),
        ({"version": version(" \n")}, "needs a query and the name of its dialect"),
        ({"version": version(text("select 1", ""))}, "needs a query and the name of its dialect"),
        ({"version": version(text("a", "spark"), text("b", "SpArK"))}, "multiple queries for dialect spark"),
        ({"version": iceberg.ViewVersion.model_construct(representations=[])}, "it has no default namespace"),
        ({"schema": None}, "it has no schema"),
        ({"schema": {"fields": [{"id": 1}]}}, r"schema\.fields\[0\]\.name: it must be a string; it is missing"),
        ({"location": ""}, "its location must be a URI"),
        ({"location": None}, "its location must be a URI"),
        ({"uuid": "7"}, "view-uuid: it must be a UUID"),
        ({"version": version("select '\ud800'")}, "JSON in UTF-8 cannot"),
        ({"version": version("select 1", **{"storage-table": {1, 2}})}, "JSON in UTF-8 cannot"),
        ({"version": version(text("s", field_aliases=["a", "b"]))}, "field-aliases have 2 entries; its schema has 1"),
        ({"version": version(text("s", field_comments=[]))}, "field-comments have 0 entries; its schema has 1"),
        ({"version": version(text("s", default_catalog="other"))}, "default-catalog of its spark text is other"),
        ({"version": version(text("s", default_namespace=()))}, "default-namespace of its spark text is"),
        ({"version": iceberg_version("s").model_copy(update={"summary": {"a": 1}})}, r"summary\.a"),
    ],
)
def test_unstorable_definition_error_names_view(given: dict[str, Any], reason: str) -> None:
    good: dict[str, Any] = {
        "uuid": UUID,
        "location": "file:/top",
        "schema": schema(),
        "version": version("select 1"),
        "properties": {},
    }
    create(identifier=NAME, now_ms=NOW, **good)
    with pytest.raises(InvalidViewError, match=reason) as caught:
        create(identifier=NAME, now_ms=NOW, **{**good, **given})
    assert caught.value.identifier == NAME


def test_values_nested_deeper_than_a_file_may_be_are_refused() -> None:
    deep: Any = []
    for _ in range(300):
        deep = [deep]
    with pytest.raises(InvalidViewError, match="deeper than 200 levels"):
        created(version("select 1", **{"storage-table": deep}))


def test_values_nested_as_deep_as_a_file_may_be_are_written_and_read() -> None:
    deep: Any = []
    while True:
        try:
            value = created(version("select 1", **{"storage-table": deep}))
        except InvalidViewError:
            break
        assert parse(serialize(value, codec="none"), "x") == value
        deep = [deep]


def test_unknown_keys_and_representations_of_a_new_version_are_written() -> None:
    plan = ViewRepresentation(UnknownViewRepresentation.model_validate({"type": "plan", "bytes": [1, None]}))
    value = created(version("select 1", **{"storage-table": {"name": "s"}}))
    assert write_document(value)["versions"][0]["storage-table"] == {"name": "s"}
    value = created(version(text("select 1", x=None), plan))
    assert write_document(value)["versions"][0]["representations"][0]["x"] is None
    assert write_document(value)["versions"][0]["representations"][1] == {"type": "plan", "bytes": [1, None]}


def test_schema_with_unknown_type_can_be_passed_as_json() -> None:
    fields = [{"id": 1, "name": "v", "required": False, "type": "variant", "x-new": 1}]
    value = changed(created(), AddVersion({"fields": fields, "schema-id": 77}, version("select v")))
    assert value.raw_schemas[-1] == {"type": "struct", "schema-id": 1, "fields": fields}
    assert value.current_schema_id == 1


def test_metadata_copies_arguments() -> None:
    inner = {"name": "s"}
    value = created(version("select 1", **{"storage-table": inner}))
    inner["name"] = "changed"
    assert write_document(value)["versions"][0]["storage-table"] == {"name": "s"}


# -- Versions ---------------------------------------------------------------------------------------------------------


def test_view_version_id_reassignment() -> None:
    value = changed(created(version("a", version_id=1)), add("b", version_id=1), add("c", version_id=1))
    assert ids(value) == [1, 2, 3]
    assert [item.sql_representations[0].sql for item in value.versions] == ["a", "b", "c"]
    assert value.current_version_id == 3
    assert [item.operation for item in value.versions] == ["create", "replace", "replace"]


def test_view_version_deduplication() -> None:
    once = changed(created(version("a")), add("b"), add("c"))
    twice = changed(once, add("a", timestamp_ms=1), add("b", timestamp_ms=2), add("c", timestamp_ms=3))
    assert twice is once


def test_view_version_deduplication_with_custom_summary() -> None:
    value = changed(created(version("a")), add("a"), add("a", summary={"user": "some-user", "key": "val"}))
    assert ids(value) == [1, 2]
    assert value.current_version().summary == {"user": "some-user", "key": "val", "operation": "replace"}


def test_equal_earlier_version_becomes_current() -> None:
    base = changed(created(version("a")), add("b"))
    value = changed(base, add("a"), now_ms=LATER + 1)
    assert ids(value) == [1, 2]
    assert value.current_version_id == 1
    assert (value.version_log[-1].version_id, value.version_log[-1].timestamp_ms) == (1, LATER + 1)
    assert value.versions == base.versions


def test_current_version_is_kept_among_equal_versions() -> None:
    (first,) = document()["versions"]
    base = metadata(versions=[first, {**first, "version-id": 2}], current_version_id=2)
    assert changed(base, AddVersion(base.current_schema(), base.current_version())) is base


STORAGE_TABLE: dict[str, Any] = {"storage-table": {"name": "s"}}

EQUAL_BUT_FOR: list[tuple[str, AddVersion]] = [
    ("sql", add("select  x")),
    ("dialect", add(text("select x", "Spark"))),
    ("another text", add("select x", text("select x", "hive"))),
    ("default catalog", add("select x", default_catalog="other")),
    ("no default catalog", add("select x", default_catalog=None)),
    ("default namespace", add("select x", default_namespace=("other",))),
    ("summary", add("select x", summary={})),
    ("schema", add("select x", columns=schema("y"))),
    ("storage table", add("select x", **STORAGE_TABLE)),
    ("unknown key of a text", add(text("select x", note=1))),
    ("aliases", add(text("select x", field_aliases=["x"]))),
    ("comments", add(text("select x", field_comments=["the x"]))),
]


@pytest.mark.parametrize(("what", "other"), EQUAL_BUT_FOR, ids=[what for what, _ in EQUAL_BUT_FOR])
def test_different_version_is_added(what: str, other: AddVersion) -> None:
    base = changed(created(version("select x")), SetProperties(DROP_ALLOWED))
    value = changed(base, other)
    assert ids(value) == [1, 2]
    assert value.current_version_id == 2
    assert changed(value, other) is value


def test_version_without_existing_aliases_is_equal() -> None:
    base = created(version(text("select x", field_aliases=["x"], field_comments=[None])))
    assert changed(base, add("select x")) is base


def test_version_rewritten_by_java_is_equal() -> None:
    stored = write_document(created(version("select x")))
    for key in ("default-catalog", "default-namespace"):
        del stored["versions"][0]["representations"][0][key]
    del stored["versions"][0]["summary"]["operation"]
    base = read_document(stored, "x")
    assert changed(base, add("select x")) is base


def test_existing_version_is_not_modified() -> None:
    base = metadata()
    value = changed(base, add("select 1"), keep(5))
    assert write_document(value)["versions"][0] == document()["versions"][0]


def test_other_order_of_texts_adds_version() -> None:
    base = created(version(text("a", "spark"), text("b", "hive")))
    assert changed(base, add(text("b", "hive"), text("a", "spark"))).current_version_id == 2


def test_logged_version_id_is_not_reused() -> None:
    entries = [{"timestamp-ms": 1, "version-id": 7}, {"timestamp-ms": 2, "version-id": 1}]
    assert changed(metadata(version_log=entries), add("select 1")).current_version_id == 8


def test_exhausted_ids_raise() -> None:
    versions = [{**document()["versions"][0], "version-id": 2**31 - 1}]
    with pytest.raises(InvalidViewError, match="version ids are used up"):
        changed(metadata(versions=versions, current_version_id=2**31 - 1), add("select 1"))
    schemas = [*document()["schemas"], {"type": "struct", "schema-id": 2**31 - 1, "fields": []}]
    with pytest.raises(InvalidViewError, match="schema ids are used up"):
        changed(metadata(schemas=schemas), add("select 1", columns=schema("new")))


def test_replacing_several_texts_for_one_dialect_that_java_can_read() -> None:
    base = read_document(golden("java_ViewMetadataMultipleSQLsForDialect.json"), "x")
    assert changed(base, SetProperties({"a": "b"})).versions == base.versions
    with pytest.raises(InvalidViewError, match="multiple queries for dialect spark-sql"):
        changed(base, AddVersion(base.current_schema(), base.current_version()))
    value = changed(base, AddVersion(base.current_schema(), version(text("select 1", "spark-sql"))))
    assert (ids(value), value.current_version().dialects) == ([1, 2], ["spark-sql"])


# -- Schemas ----------------------------------------------------------------------------------------------------------


def test_schema_id_reassignment() -> None:
    value = changed(created(), add("b", columns=schema("y", schema_id=7)), add("c", columns=schema("z", schema_id=9)))
    assert [item.schema_id for item in value.schemas] == [0, 1, 2]
    assert [item.schema_id for item in value.versions] == [0, 1, 2]
    assert [item.fields[0].name for item in value.schemas] == ["x", "y", "z"]


def test_schema_deduplication() -> None:
    value = changed(
        created(),
        add("b", columns=schema("y", schema_id=5)),
        add("c", columns=schema("y", schema_id=6)),
        add("d", columns=schema("x", schema_id=8)),
    )
    assert [item["schema-id"] for item in value.raw_schemas] == [0, 1]
    assert [item.schema_id for item in value.versions] == [0, 1, 1, 0]


def test_view_version_and_schema_deduplication() -> None:
    three = changed(created(version("a")), add("b", columns=schema("y")), add("c", columns=schema("z")))
    value = changed(three, add("c", columns=schema("z")), add("b", columns=schema("y")), add("a"))
    assert (ids(value), value.current_version_id, len(value.raw_schemas)) == ([1, 2, 3], 1, 3)


def test_reused_schema_preserves_unknown_keys() -> None:
    schemas = document()["schemas"]
    schemas[0]["fields"][0]["mask"] = "hash"
    base = metadata(schemas=schemas)
    value = changed(base, AddVersion(base.current_schema(), version("select 1")))
    assert value.raw_schemas == schemas


def test_schema_ids_start_at_zero_and_go_on_from_the_highest() -> None:
    raw = document()["schemas"][0]
    versions = [{**document()["versions"][0], "schema-id": -4}]
    base = metadata(schemas=[{**raw, "schema-id": -4}], versions=versions)
    value = changed(base, add("a", columns=schema("a")), add("b", columns=schema("b")))
    assert [item["schema-id"] for item in value.raw_schemas] == [-4, 0, 1]
