"""The rules of Iceberg's ViewMetadata.Builder (TestViewMetadata.java, where a test of that name exists), and ours."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import DateType, IntegerType, NestedField
from pyiceberg.view import metadata as iceberg

from hive_views.errors import DialectLossError, InvalidPropertyError, InvalidViewError, NoSuchVersionError
from hive_views.spec.changes import (
    AddVersion,
    Change,
    SetCurrentVersion,
    SetLocation,
    SetProperties,
    apply,
    create,
    version_at,
)
from hive_views.spec.documents import read, write
from hive_views.spec.files import parse, serialize
from hive_views.spec.metadata import (
    SQLViewRepresentation,
    UnknownViewRepresentation,
    ViewMetadata,
    ViewRepresentation,
    ViewVersion,
)
from tests.unit.spec.examples import (
    NAME,
    NOW,
    UUID,
    created,
    document,
    golden,
    iceberg_version,
    metadata,
    schema,
    text,
    version,
)
from tests.unit.spec.java_reader import java_problems

LATER = NOW + 5000
DROP_ALLOWED = {"replace.drop-dialect.allowed": "true"}


def changed(base: ViewMetadata, *changes: Change, now_ms: int = LATER) -> ViewMetadata:
    return apply(base, changes, identifier=NAME, now_ms=now_ms)


def add(*texts: ViewRepresentation | str, columns: Schema | None = None, **more: Any) -> AddVersion:
    return AddVersion(columns or schema(), version(*texts, **more))


def keep(entries: int) -> SetProperties:
    return SetProperties({"version.history.num-entries": str(entries)})


def ids(value: ViewMetadata) -> list[int]:
    return [item.version_id for item in value.versions]


def log(value: ViewMetadata) -> list[int]:
    return [entry.version_id for entry in value.version_log]


# -- Creating ---------------------------------------------------------------------------------------------------------


def test_a_new_view() -> None:
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


def test_a_new_view_of_pyicebergs_own_classes() -> None:
    value = create(
        identifier=NAME,
        uuid=UUID,
        location="file:/top",
        schema=schema(),
        version=iceberg_version("select x", default_catalog="prod", summary={"engine-name": "me"}),
        properties={},
        now_ms=NOW,
    )
    assert write(value)["versions"] == [
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


def test_no_default_catalog_is_written_where_there_is_none() -> None:
    (written,) = write(created(version("select 1", default_catalog=None, default_namespace=())))["versions"]
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
        ({"version": version(text("s", field_aliases=["a", "b"]))}, "field-aliases name 2 columns; its schema has 1"),
        ({"version": version(text("s", field_comments=[]))}, "field-comments name 0 columns; its schema has 1"),
        ({"version": version(text("s", default_catalog="other"))}, "default-catalog of its spark text is other"),
        ({"version": version(text("s", default_namespace=()))}, "default-namespace of its spark text is"),
        ({"version": iceberg_version("s").model_copy(update={"summary": {"a": 1}})}, r"summary\.a"),
    ],
)
def test_what_cannot_be_stored_is_refused_and_the_view_named(given: dict[str, Any], reason: str) -> None:
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
    plan = ViewRepresentation(UnknownViewRepresentation(type="plan", bytes=[1, None]))
    value = created(version("select 1", **{"storage-table": {"name": "s"}}))
    assert write(value)["versions"][0]["storage-table"] == {"name": "s"}
    value = created(version(text("select 1", x=None), plan))
    assert write(value)["versions"][0]["representations"][0]["x"] is None
    assert write(value)["versions"][0]["representations"][1] == {"type": "plan", "bytes": [1, None]}


def test_a_schema_may_be_given_as_json_for_types_that_pyiceberg_does_not_know() -> None:
    fields = [{"id": 1, "name": "v", "required": False, "type": "variant", "x-new": 1}]
    value = changed(created(), AddVersion({"fields": fields, "schema-id": 77}, version("select v")))
    assert value.raw_schemas[-1] == {"type": "struct", "schema-id": 1, "fields": fields}
    assert value.current_schema_id == 1


def test_later_changes_of_what_the_caller_gave_do_not_reach_the_metadata() -> None:
    inner = {"name": "s"}
    value = created(version("select 1", **{"storage-table": inner}))
    inner["name"] = "changed"
    assert write(value)["versions"][0]["storage-table"] == {"name": "s"}


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


def test_an_equal_version_that_is_not_current_becomes_current_again() -> None:
    base = changed(created(version("a")), add("b"))
    value = changed(base, add("a"), now_ms=LATER + 1)
    assert ids(value) == [1, 2]
    assert value.current_version_id == 1
    assert (value.version_log[-1].version_id, value.version_log[-1].timestamp_ms) == (1, LATER + 1)
    assert value.versions == base.versions


EQUAL_BUT_FOR: list[tuple[str, AddVersion]] = [
    ("sql", add("select  x")),
    ("dialect", add(text("select x", "Spark"))),
    ("another text", add("select x", text("select x", "hive"))),
    ("default catalog", add("select x", default_catalog="other")),
    ("no default catalog", add("select x", default_catalog=None)),
    ("default namespace", add("select x", default_namespace=("other",))),
    ("summary", add("select x", summary={})),
    ("schema", add("select x", columns=schema("y"))),
    ("storage table", add("select x", **{"storage-table": {"name": "s"}})),
    ("unknown key of a text", add(text("select x", note=1))),
    ("aliases", add(text("select x", field_aliases=["x"]))),
    ("comments", add(text("select x", field_comments=["the x"]))),
]


@pytest.mark.parametrize(("what", "other"), EQUAL_BUT_FOR, ids=[what for what, _ in EQUAL_BUT_FOR])
def test_a_version_that_says_something_else_is_added(what: str, other: AddVersion) -> None:
    base = changed(created(version("select x")), SetProperties(DROP_ALLOWED))
    value = changed(base, other)
    assert ids(value) == [1, 2]
    assert value.current_version_id == 2
    assert changed(value, other) is value


def test_a_version_without_the_aliases_that_are_there_is_no_other() -> None:
    base = created(version(text("select x", field_aliases=["x"], field_comments=[None])))
    assert changed(base, add("select x")) is base


def test_a_version_from_which_java_dropped_the_drafts_keys_is_no_other() -> None:
    stored = write(created(version("select x")))
    for key in ("default-catalog", "default-namespace"):
        del stored["versions"][0]["representations"][0][key]
    del stored["versions"][0]["summary"]["operation"]
    base = read(stored, "x")
    assert changed(base, add("select x")) is base


def test_an_existing_versions_content_is_never_changed() -> None:
    base = metadata()
    value = changed(base, add("select 1"), keep(5))
    assert write(value)["versions"][0] == document()["versions"][0]


def test_the_order_of_the_texts_counts_because_java_falls_back_to_the_first() -> None:
    base = created(version(text("a", "spark"), text("b", "hive")))
    assert changed(base, add(text("b", "hive"), text("a", "spark"))).current_version_id == 2


def test_an_id_that_the_log_still_names_is_not_given_again() -> None:
    entries = [{"timestamp-ms": 1, "version-id": 7}, {"timestamp-ms": 2, "version-id": 1}]
    assert changed(metadata(version_log=entries), add("select 1")).current_version_id == 8


def test_ids_that_are_used_up_are_an_error() -> None:
    versions = [{**document()["versions"][0], "version-id": 2**31 - 1}]
    with pytest.raises(InvalidViewError, match="version ids are used up"):
        changed(metadata(versions=versions, current_version_id=2**31 - 1), add("select 1"))
    schemas = [*document()["schemas"], {"type": "struct", "schema-id": 2**31 - 1, "fields": []}]
    with pytest.raises(InvalidViewError, match="schema ids are used up"):
        changed(metadata(schemas=schemas), add("select 1", columns=schema("new")))


def test_replacing_several_texts_for_one_dialect_that_java_can_read() -> None:
    base = read(golden("java_ViewMetadataMultipleSQLsForDialect.json"), "x")
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


def test_a_reused_schema_keeps_its_unknown_keys() -> None:
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


# -- Rollback and the version log -------------------------------------------------------------------------------------


def test_invalid_current_version_id() -> None:
    with pytest.raises(NoSuchVersionError, match="has no version 23; its metadata holds") as caught:
        changed(created(), SetCurrentVersion(23))
    assert (caught.value.identifier, caught.value.available) == (NAME, (1,))


def test_version_history_entry_maintains_correct_timeline() -> None:
    one = created(version("a"))
    two = changed(one, add("b"), now_ms=NOW + 1)
    back = changed(two, SetCurrentVersion(1), now_ms=NOW + 2)
    three = changed(back, add("c"), now_ms=NOW + 3)
    entries = [(entry.version_id, entry.timestamp_ms) for entry in three.version_log]
    assert entries == [(1, NOW), (2, NOW + 1), (1, NOW + 2), (3, NOW + 3)]
    assert three.version_log[:3] == back.version_log
    assert [item.timestamp_ms for item in three.versions] == [NOW, NOW + 1, NOW + 3]


def test_a_log_entry_only_if_the_current_version_changes() -> None:
    base = changed(created(version("a")), add("b"))
    assert changed(base, SetProperties({"a": "b"}), SetLocation("file:/new")).version_log == base.version_log
    assert changed(base, SetCurrentVersion(1), SetCurrentVersion(2)) is base
    assert log(changed(base, SetCurrentVersion(1), add("c"), SetCurrentVersion(1))) == [1, 2, 1]


def test_several_versions_in_one_change_make_one_log_entry() -> None:
    assert log(changed(created(version("a")), add("b"), add("c"))) == [1, 3]


def test_the_version_at_a_time() -> None:
    value = changed(created(version("a")), add("b"), now_ms=NOW + 10)
    value = changed(value, SetCurrentVersion(1), now_ms=NOW + 20)
    found = [version_at(value, NOW + offset) for offset in (-1, 0, 9, 10, 19, 20, 10**9)]
    assert [item and item.version_id for item in found] == [None, 1, 1, 2, 2, 1, 1]


def test_the_version_at_a_time_may_have_expired() -> None:
    entries = [{"timestamp-ms": 5, "version-id": 77}, {"timestamp-ms": 9, "version-id": 1}]
    assert version_at(metadata(version_log=entries), 6) is None
    assert version_at(metadata(version_log=[]), 6) is None


# -- Expiry -----------------------------------------------------------------------------------------------------------


def history(*texts: str, keep_entries: int = 100) -> ViewMetadata:
    base = changed(created(version(texts[0])), keep(keep_entries))
    for index, sql in enumerate(texts[1:], start=1):
        base = changed(base, add(sql), now_ms=NOW + index)
    return base


@pytest.mark.parametrize(("entries", "kept"), [(3, [1, 2, 3]), (2, [1, 3]), (1, [1])])
def test_expiration(entries: int, kept: list[int]) -> None:
    base = changed(history("a", "b", "c"), SetCurrentVersion(1))
    assert ids(changed(base, keep(entries))) == kept


def test_ten_versions_are_kept_by_default() -> None:
    value = created(version("0"))
    for number in range(1, 15):
        value = changed(value, add(str(number)))
    assert ids(value) == list(range(6, 16))
    assert log(value) == list(range(6, 16))


def test_update_history() -> None:
    base = history("a", "b", "c", "d", "e")
    for version_id in (4, 1, 5):
        base = changed(base, SetCurrentVersion(version_id))
    assert log(base) == [1, 2, 3, 4, 5, 4, 1, 5]
    value = changed(base, keep(2))
    assert ids(value) == [4, 5]
    assert log(value) == [5], "an entry for an expired version clears all before it"


def test_the_log_is_left_alone_where_nothing_expires() -> None:
    entries = [{"timestamp-ms": 1, "version-id": 77}, {"timestamp-ms": 2, "version-id": 1}]
    assert log(changed(metadata(version_log=entries), SetProperties({"a": "b"}))) == [77, 1]


def test_versions_added_in_current_build_are_retained() -> None:
    base = changed(created(version("a")), keep(2))
    grown = changed(base, add("b"), add("c"), add("d"))
    assert ids(grown) == [2, 3, 4]
    assert ids(changed(grown, SetProperties({"a": "b"}))) == [3, 4]


def test_current_view_version_is_never_expired() -> None:
    base = changed(history("a", "b", "c"), SetCurrentVersion(1))
    value = changed(base, keep(1))
    assert (ids(value), value.current_version_id, log(value)) == ([1], 1, [1])


def test_view_version_history_is_correctly_retained() -> None:
    base = changed(history("a", "b", "c"), keep(2))
    assert (ids(base), log(base)) == ([2, 3], [2, 3])
    back = changed(changed(base, SetCurrentVersion(2)), SetCurrentVersion(3))
    assert (ids(back), log(back)) == ([2, 3], [2, 3, 2, 3])
    with pytest.raises(NoSuchVersionError):
        changed(back, SetCurrentVersion(1))


@pytest.mark.parametrize("value", ["0", "-1", "", "ten", "1.5", " 5", "1_0", "٣", "2147483648", "99999999999"])
def test_invalid_version_history_size_to_keep(value: str) -> None:
    bad = SetProperties({"version.history.num-entries": value})
    with pytest.raises(InvalidPropertyError, match="positive integer") as caught:
        changed(created(), bad)
    assert (caught.value.key, caught.value.value) == ("version.history.num-entries", value)
    with pytest.raises(InvalidPropertyError):
        created(properties=dict(bad.updates))


@pytest.mark.parametrize("value", ["1", "+1", "0001"])
def test_valid_version_history_sizes(value: str) -> None:
    base = changed(history("a", "b"), SetProperties({"version.history.num-entries": value}))
    assert ids(base) == [2]


# -- Dialects ---------------------------------------------------------------------------------------------------------

SPARK, TRINO = text("select 1", "spark"), text("select 1", "trino")


def test_dropping_dialect_fails_by_default() -> None:
    with pytest.raises(DialectLossError, match="loss of view dialects") as caught:
        changed(created(version(SPARK)), add(TRINO))
    assert (caught.value.identifier, caught.value.previous, caught.value.new) == (NAME, ("spark",), ("trino",))


@pytest.mark.parametrize("value", ["true", "TRUE"])
@pytest.mark.parametrize("last", [False, True])
def test_dropping_dialect_does_not_fail_when_allowed_whatever_the_order(value: str, last: bool) -> None:
    changes: list[Change] = [SetProperties({"replace.drop-dialect.allowed": value}), add(TRINO)]
    if last:
        changes.reverse()
    assert changed(created(version(SPARK)), *changes).current_version().dialects == ["trino"]


@pytest.mark.parametrize("value", ["false", "yes", ""])
def test_anything_but_true_does_not_allow_to_drop_a_dialect(value: str) -> None:
    with pytest.raises(DialectLossError):
        changed(created(version(SPARK)), SetProperties({"replace.drop-dialect.allowed": value}), add(TRINO))


def test_dropping_dialect_does_not_fail_when_keeping_previous_representation() -> None:
    assert changed(created(version(SPARK)), add(TRINO, text("s", "SPARK"))).current_version().dialects == [
        "trino",
        "spark",
    ]


def test_dropping_dialect_does_not_fail_when_there_was_none() -> None:
    versions = [{**document()["versions"][0], "representations": []}]
    assert changed(metadata(versions=versions), add(SPARK)).current_version().dialects == ["spark"]


def test_dropping_dialect_fails_when_switching_view_version_id() -> None:
    base = changed(
        created(version(SPARK)), add(TRINO), add(TRINO, SPARK), SetCurrentVersion(1), SetProperties({"a": "b"})
    )
    assert ids(base) == [1, 2, 3]
    with pytest.raises(DialectLossError):
        changed(base, SetCurrentVersion(3), SetCurrentVersion(1), SetCurrentVersion(2))
    both = changed(base, SetCurrentVersion(3))
    with pytest.raises(DialectLossError) as caught:
        changed(both, SetCurrentVersion(1), SetCurrentVersion(2))
    assert (caught.value.previous, caught.value.new) == (("trino", "spark"), ("trino",))


def test_dropping_dialect_allowed_and_then_disallowed() -> None:
    base = changed(created(version(SPARK)), add(TRINO), SetProperties(DROP_ALLOWED))
    with pytest.raises(DialectLossError):
        changed(base, SetCurrentVersion(1), SetProperties({"replace.drop-dialect.allowed": "false"}))
    with pytest.raises(DialectLossError):
        changed(base, SetCurrentVersion(1), SetProperties(removals=frozenset(DROP_ALLOWED)))
    assert changed(base, SetCurrentVersion(1)).current_version_id == 1


# -- Properties and location ------------------------------------------------------------------------------------------


def test_update_view_properties() -> None:
    base = created(properties={"a": "1", "b": "2"})
    value = changed(base, SetProperties({"b": "3", "c": "4"}, frozenset({"a", "unknown"})))
    assert value.properties == {"b": "3", "c": "4"}
    assert (value.versions, value.version_log, value.view_uuid) == (base.versions, base.version_log, UUID)
    assert base.properties == {"a": "1", "b": "2"}


def test_the_last_change_of_a_property_wins() -> None:
    assert changed(created(), SetProperties({"a": "1"}), SetProperties({"a": "2"})).properties == {"a": "2"}
    value = changed(created(), SetProperties({"a": "1", "b": ""}), SetProperties(removals=frozenset({"a"})))
    assert value.properties == {"b": ""}


@pytest.mark.parametrize(
    ("updates", "removals", "reason"),
    [
        ({"k": None}, (), "must be strings"),
        ({None: "v"}, (), "must be strings"),
        ({"k": 1}, (), "must be strings"),
        ({"k": "\ud800"}, (), "must be strings of Unicode"),
        ({}, {None}, "must be strings"),
        ({}, "abc", "as a collection"),
        ({"key2": "v"}, {"key2"}, "Cannot remove and update the same key"),
    ],
)
def test_update_view_properties_error_cases(updates: Any, removals: Any, reason: str) -> None:
    with pytest.raises(InvalidPropertyError, match=reason):
        SetProperties(updates, removals)


def test_a_property_change_does_not_follow_the_callers_mapping() -> None:
    given = {"a": "1"}
    change = SetProperties(given)
    given["b"] = "2"
    assert change.updates == {"a": "1"}


def test_update_view_location() -> None:
    base = created()
    value = changed(base, SetLocation("s3://new/place"))
    assert (value.location, base.location) == ("s3://new/place", "file:/top")
    assert (value.versions, value.version_log) == (base.versions, base.version_log)
    with pytest.raises(InvalidViewError, match="its location must be a URI, not None"):
        changed(base, SetLocation(None))  # type: ignore[arg-type]  # what a caller without type checks may do


def test_nothing_changed_gives_the_very_same_object() -> None:
    base = created(properties={"a": "1"})
    assert changed(base) is base
    assert changed(base, SetProperties({"a": "1"}, frozenset({"b"})), SetLocation(base.location)) is base
    assert changed(base, SetProperties({"b": "1"}), SetProperties(removals=frozenset({"b"}))) is base
    assert changed(base, SetCurrentVersion(1)) is base
    assert changed(base, AddVersion(base.current_schema(), base.current_version())) is base


def test_a_change_that_fails_leaves_the_base_as_it_was() -> None:
    base = metadata()
    before = write(base)
    with pytest.raises(DialectLossError):
        changed(base, SetProperties({"a": "b"}), add(TRINO), SetLocation("file:/x"))
    assert write(base) == before == write(metadata())


def test_the_uuid_never_changes() -> None:
    draft = read(golden("draft_example_1.json"), "x")
    moved = changed(draft, SetLocation("s3://elsewhere"), add("select 1"))
    assert moved.view_uuid == draft.view_uuid
    assert parse(serialize(moved, codec="gzip"), "y").view_uuid == draft.view_uuid


# -- The draft's worked example ---------------------------------------------------------------------------------------

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
    """The two files of the example, made by our own changes."""
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
def test_the_drafts_worked_example_is_written_with_each_of_its_fields(step: int) -> None:
    written = write(event_view()[step])
    added = {"view-uuid": written.pop("view-uuid")}
    for item in written["versions"]:
        added["default-catalog"] = item.pop("default-catalog")
        added["default-namespace"] = item.pop("default-namespace")
    assert written == renumbered(golden(f"draft_example_{step + 1}.json"))
    assert added == {"view-uuid": UUID, "default-catalog": "prod", "default-namespace": ["default"]}


@pytest.mark.parametrize("step", [0, 1])
def test_the_drafts_worked_example_is_readable_by_todays_readers(step: int) -> None:
    data = serialize(event_view()[step], codec="none")
    assert java_problems(json.loads(data)) == []
    theirs = iceberg.ViewMetadata.model_validate_json(data)
    assert theirs == event_view()[step].to_pyiceberg()
    assert theirs.versions[-1].default_namespace == ("default",)


def test_the_drafts_own_files_are_not_readable_by_java_and_become_so() -> None:
    for name in ("draft_example_1.json", "draft_example_2.json"):
        assert "Cannot parse view-uuid: None" in _problems_or_error(golden(name))
        assert java_problems(write(read(golden(name), "x"))) == []


def _problems_or_error(value: dict[str, Any]) -> list[str]:
    try:
        return java_problems(value)
    except KeyError as error:
        return [f"Cannot parse {error.args[0]}: None"]
