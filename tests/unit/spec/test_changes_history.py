"""Log, expiry, dialects, properties: rules of ViewMetadata.Builder (TestViewMetadata.java) and of this package."""

from __future__ import annotations

from typing import Any

import pytest

from hive_views.errors import DialectLossError, InvalidPropertyError, InvalidViewError, NoSuchVersionError
from hive_views.spec.changes import (
    AddVersion,
    Change,
    SetCurrentVersion,
    SetLocation,
    SetProperties,
    version_at,
)
from hive_views.spec.file_codec import parse, serialize
from hive_views.spec.json_codec import read_document, write_document
from hive_views.spec.metadata import GENERATED_DIALECTS, ViewMetadata
from tests.unit.spec.examples import (
    NAME,
    NOW,
    UUID,
    add,
    changed,
    created,
    document,
    golden,
    ids,
    keep,
    log,
    metadata,
    schema,
    text,
    version,
)

DROP_ALLOWED = {"replace.drop-dialect.allowed": "true"}


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


def test_log_entry_is_added_only_if_current_version_changes() -> None:
    base = changed(created(version("a")), add("b"))
    assert changed(base, SetProperties({"a": "b"}), SetLocation("file:/new")).version_log == base.version_log
    assert changed(base, SetCurrentVersion(1), SetCurrentVersion(2)) is base
    assert log(changed(base, SetCurrentVersion(1), add("c"), SetCurrentVersion(1))) == [1, 2, 1]


def test_several_versions_in_one_change_make_one_log_entry() -> None:
    assert log(changed(created(version("a")), add("b"), add("c"))) == [1, 3]


def test_version_at_time_follows_log() -> None:
    value = changed(created(version("a")), add("b"), now_ms=NOW + 10)
    value = changed(value, SetCurrentVersion(1), now_ms=NOW + 20)
    versions = [version_at(value, NOW + offset) for offset in (-1, 0, 9, 10, 19, 20, 10**9)]
    assert [item and item.version_id for item in versions] == [None, 1, 1, 2, 2, 1, 1]


def test_expired_version_at_time_is_none() -> None:
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
def test_expired_versions_exclude_current_version(entries: int, kept: list[int]) -> None:
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


def test_log_is_unchanged_if_nothing_expires() -> None:
    entries = [{"timestamp-ms": 1, "version-id": 77}, {"timestamp-ms": 2, "version-id": 1}]
    assert log(changed(metadata(version_log=entries), SetProperties({"a": "b"}))) == [77, 1]
    assert log(changed(metadata(version_log=entries), keep(1))) == [77, 1]


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


@pytest.mark.parametrize(
    ("generated", "note"),
    [
        ({}, "replace.drop-dialect.allowed=false"),
        ({GENERATED_DIALECTS: "hive"}, "replace.drop-dialect.allowed does not apply to this text"),
    ],
)
def test_message_names_the_lost_text_and_says_what_the_property_does(generated: dict[str, str], note: str) -> None:
    base = created(version(TRINO, text("select 1", "hive"), summary=generated))
    base = changed(base, SetProperties(DROP_ALLOWED)) if generated else base
    with pytest.raises(DialectLossError, match="loss of view dialects") as caught:
        changed(base, add(SPARK, text("select 1", "hive")))
    assert note in str(caught.value)
    assert caught.value.lost == ("trino",)


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


HIVE = text("select 1", "hive")
GENERATED = {"hive-views.generated-dialects": "hive"}


def test_drop_dialect_property_does_not_apply_to_same_change() -> None:
    """The property that a generated text brings along is for later changes, not for the one that brings it."""
    base = created(version(SPARK, TRINO))
    with pytest.raises(DialectLossError):
        changed(base, add(SPARK, HIVE, summary=GENERATED))
    assert changed(base, add(SPARK, TRINO, HIVE, summary=GENERATED)).properties == DROP_ALLOWED


def test_generated_text_sets_drop_dialect_property_unless_set() -> None:
    assert created(version(SPARK, HIVE, summary=GENERATED)).properties == DROP_ALLOWED
    grown = changed(created(version(SPARK)), add(SPARK, HIVE, summary=GENERATED))
    assert grown.properties == DROP_ALLOWED
    forbidden = {"replace.drop-dialect.allowed": "false"}
    assert created(version(SPARK, HIVE, summary=GENERATED), properties=forbidden).properties == forbidden


def test_authored_text_is_lost_only_if_allowed() -> None:
    base = created(version(SPARK, HIVE, summary=GENERATED))
    assert changed(base, add(SPARK)).current_version().dialects == ["spark"]
    with pytest.raises(DialectLossError):
        changed(base, add(TRINO))
    change = AddVersion(schema(), version(TRINO), may_lose_dialects=True)
    assert changed(base, change).current_version().dialects == ["trino"]


def test_rollback_can_allow_dialect_loss() -> None:
    base = changed(created(version(SPARK)), add(SPARK, TRINO))
    with pytest.raises(DialectLossError):
        changed(base, SetCurrentVersion(1))
    assert changed(base, SetCurrentVersion(1, may_lose_dialects=True)).current_version_id == 1


# -- Properties and location ------------------------------------------------------------------------------------------


def test_update_view_properties() -> None:
    base = created(properties={"a": "1", "b": "2"})
    value = changed(base, SetProperties({"b": "3", "c": "4"}, frozenset({"a", "unknown"})))
    assert value.properties == {"b": "3", "c": "4"}
    assert (value.versions, value.version_log, value.view_uuid) == (base.versions, base.version_log, UUID)
    assert base.properties == {"a": "1", "b": "2"}


def test_last_property_change_wins() -> None:
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


def test_property_change_copies_mapping() -> None:
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


def test_unchanged_metadata_is_same_object() -> None:
    base = created(properties={"a": "1"})
    assert changed(base) is base
    assert changed(base, SetProperties({"a": "1"}, frozenset({"b"})), SetLocation(base.location)) is base
    assert changed(base, SetProperties({"b": "1"}), SetProperties(removals=frozenset({"b"}))) is base
    assert changed(base, SetCurrentVersion(1)) is base
    assert changed(base, AddVersion(base.current_schema(), base.current_version())) is base


def test_failed_change_does_not_modify_base() -> None:
    base = metadata()
    before = write_document(base)
    with pytest.raises(DialectLossError):
        changed(base, SetProperties({"a": "b"}), add(TRINO), SetLocation("file:/x"))
    assert write_document(base) == before == write_document(metadata())


def test_uuid_never_changes() -> None:
    draft = read_document(golden("draft_example_1.json"), "x")
    moved = changed(draft, SetLocation("s3://elsewhere"), add("select 1"))
    assert moved.view_uuid == draft.view_uuid
    assert parse(serialize(moved, codec="gzip"), "y").view_uuid == draft.view_uuid
