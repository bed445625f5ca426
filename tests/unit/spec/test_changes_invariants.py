"""Invariants of view metadata under random sequences of changes."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.view import metadata as iceberg

from hive_views.errors import HiveViewsError, InvalidMetadataError
from hive_views.spec.changes import AddVersion, Change, SetCurrentVersion, SetLocation, SetProperties, apply
from hive_views.spec.file_codec import parse, serialize
from hive_views.spec.json_codec import version_document, write_document
from hive_views.spec.metadata import ViewMetadata
from tests.unit.spec import examples, strategies
from tests.unit.spec.examples import NAME, NOW
from tests.unit.spec.java_reader import java_problems

SCHEMAS = [examples.schema(), examples.schema("y"), examples.schema("x", "y")]
texts = st.builds(examples.text, st.sampled_from(["select 1", "select 2"]), st.sampled_from(["spark", "hive", "Spark"]))
additions = st.builds(
    AddVersion,
    st.sampled_from(SCHEMAS),
    st.builds(
        examples.version,
        texts,
        st.just(examples.text("select 3", "trino")),
        summary=st.sampled_from([{}, {"engine-name": "a"}]),
        default_catalog=st.sampled_from([None, "prod"]),
    )
    | st.builds(examples.version, texts),
)
properties = st.builds(
    SetProperties,
    st.fixed_dictionaries(
        {},
        optional={
            "version.history.num-entries": st.sampled_from(["1", "2", "3", "12", "0", "x"]),
            "replace.drop-dialect.allowed": st.sampled_from(["true", "false"]),
            "a": st.sampled_from(["1", "2"]),
        },
    ),
    st.sampled_from([frozenset(), frozenset({"b", "unknown"})]),
)
changes = st.lists(
    additions
    | properties
    | st.builds(SetCurrentVersion, st.integers(1, 12))
    | st.builds(SetLocation, st.sampled_from(["file:/one", "file:/two"])),
    max_size=4,
)


@strategies.relaxed
@given(st.lists(changes, min_size=1, max_size=8))
def test_any_sequence_of_changes_keeps_the_metadata_valid(steps: list[list[Change]]) -> None:
    state = examples.created()
    for number, step in enumerate(steps, start=1):
        before = serialize(state, codec="none")
        try:
            new = apply(state, step, identifier=NAME, now_ms=NOW + number)
        except HiveViewsError as error:
            assert not isinstance(error, InvalidMetadataError)
            assert serialize(state, codec="none") == before
            continue
        check_step(state, new, step, NOW + number)
        assert serialize(state, codec="none") == before
        state = new


def check_step(old: ViewMetadata, new: ViewMetadata, step: list[Change], now_ms: int) -> None:
    data = serialize(new, codec="gzip")
    assert parse(data, "x") == new
    assert java_problems(write_document(new)) == []
    assert iceberg.ViewMetadata.model_validate_json(serialize(new, codec="none")) == new.to_pyiceberg()
    assert new.irregularities() == ()
    assert (new is old) == (new == old), "the same object if and only if nothing changed"

    assert new.view_uuid == old.view_uuid
    assert new.raw_schemas[: len(old.raw_schemas)] == old.raw_schemas, "schemas never expire"
    old_versions = {version.version_id: version for version in old.versions}
    added = [version for version in new.versions if version.version_id not in old_versions]
    for version in new.versions:
        assert old_versions.get(version.version_id, version) == version, "versions are immutable"
    for version in added:
        assert version.version_id > max(old_versions)
        assert version.timestamp_ms == now_ms
        assert version.operation == "replace"
    definitions = [definition(version_document(version)) for version in new.versions]
    assert len(set(definitions)) == len(definitions), "an equal version is reused"
    columns = [json.dumps(schema["fields"]) for schema in new.raw_schemas]
    assert len(set(columns)) == len(columns), "an equal schema is reused"

    if new.current_version_id == old.current_version_id:
        grown = old.version_log
    else:
        assert new.version_log[-1].version_id == new.current_version_id
        assert new.version_log[-1].timestamp_ms == now_ms
        grown = [*old.version_log, new.version_log[-1]]
        if new.properties.get("replace.drop-dialect.allowed") != "true":
            assert set(old.current_version().dialects) <= set(new.current_version().dialects)
    assert new.version_log == grown[len(grown) - len(new.version_log) :]
    assert {entry.version_id for entry in new.version_log} <= {version.version_id for version in new.versions}
    if new is not old:
        kept = max(int(new.properties.get("version.history.num-entries", "10")), len(added) + 1)
        assert len(new.versions) <= kept


def definition(version: dict[str, object]) -> str:
    identity = {"version-id": 0, "timestamp-ms": 0, "summary": {**version["summary"], "operation": ""}}  # type: ignore[dict-item]
    return json.dumps({**version, **identity}, sort_keys=True)


@strategies.relaxed
@given(strategies.documents(), changes)
def test_changed_file_of_other_writer_is_readable(original: dict[str, object], step: list[Change]) -> None:
    base = parse(json.dumps(original).encode(), "x")
    try:
        new = apply(base, step, identifier=NAME, now_ms=NOW)
    except HiveViewsError as error:
        assert not isinstance(error, InvalidMetadataError)
        return
    assert parse(serialize(new, codec="gzip"), "y") == new
    old_versions = {version.version_id: version for version in base.versions}
    for version in new.versions:
        assert old_versions.get(version.version_id, version) == version
    assert new.version(new.current_version_id) is not None
