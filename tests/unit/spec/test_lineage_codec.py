"""Encodings of lineage: in a summary, in a row, and as filter patterns."""

from __future__ import annotations

import json
import re
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_views.identifiers import ViewName
from hive_views.spec.lineage_codec import (
    FILE_NODE,
    LINEAGE,
    MAX_ROW_LINEAGE,
    ROW_LINEAGE,
    ROW_LINEAGE_OF,
    Dependency,
    ObjectKind,
    decode,
    encode,
    file_id,
    lineage_in_row,
    lineage_of_version,
    row_parameters,
    row_pattern,
)
from hive_views.spec.version_texts import define

LOCATION = "file:/w/s.db/v/metadata/00003-aaaa.gz.metadata.json"

# Hive 4 takes more in a name than older servers; a database has no '.' in its name.
# `@catalog#database` is a database of another catalog, which no name contains.
databases = (
    st.text(st.characters(codec="ascii", exclude_characters=".", min_codepoint=32), min_size=1)
    .filter(lambda name: not re.match("@[^#]*#", name))
    .map(str.lower)
)
tables = st.text(st.characters(codec="ascii", min_codepoint=32), min_size=1).map(str.lower)
children = st.lists(
    st.builds(
        Dependency,
        name=st.builds(ViewName, databases, tables),
        uuid=st.uuids().map(str),
        kind=st.sampled_from(ObjectKind),
        by_name=st.booleans(),
    ),
    max_size=8,
    unique_by=lambda child: child.name,
)


def version(lineage):
    return define("select 1", dialect="spark", default_namespace=("s",), summary={LINEAGE: encode(lineage)})


@given(children, st.randoms())
def test_summary_lineage_round_trips_in_any_order(lineage, random):
    shuffled = list(lineage)
    random.shuffle(shuffled)
    assert encode(shuffled) == encode(lineage)
    assert decode(encode(lineage)) == tuple(sorted(lineage))
    assert lineage_of_version(version(lineage)) == tuple(sorted(lineage))


@given(children)
def test_row_lineage_round_trips(lineage):
    parameters = row_parameters(version(lineage), LOCATION)
    if parameters:
        assert lineage_in_row(parameters, LOCATION) == tuple(sorted(lineage))
        assert len(parameters[ROW_LINEAGE]) <= MAX_ROW_LINEAGE
        assert lineage_in_row(parameters, LOCATION.replace("00003", "00004")) is None
        assert lineage_in_row(parameters, None) is None


@given(children.filter(bool))
def test_row_patterns_match_every_dependency(lineage):
    parameters = row_parameters(version(lineage), LOCATION)
    for child in lineage if parameters else ():
        for pattern in (row_pattern(uuid=child.uuid), row_pattern(name=child.name)):
            # As the server reads a pattern: '.' is any character, '.*' any number of them, the rest is itself.
            like = re.escape(pattern).replace(r"\.\*", ".*").replace(r"\.", ".")
            assert re.fullmatch(like, parameters[ROW_LINEAGE])


@given(
    st.text()
    | st.recursive(st.none() | st.text() | st.integers(), lambda inner: st.dictionaries(st.text(), inner)).map(
        json.dumps
    )
)
def test_invalid_text_is_not_a_lineage(text):
    lineage = decode(text)
    assert lineage is None or lineage == () or all(isinstance(child, Dependency) for child in lineage)


@given(st.text())
def test_invalid_parameter_is_not_a_lineage(text):
    lineage = lineage_in_row({ROW_LINEAGE: text, ROW_LINEAGE_OF: "00003-aaaa.gz.metadata.json"}, LOCATION)
    assert lineage is None or lineage == ()


def test_view_without_sources_has_empty_lineage():
    parameters = row_parameters(version([]), LOCATION)
    assert parameters[ROW_LINEAGE] == "|"
    assert lineage_in_row(parameters, LOCATION) == ()


def test_keys_of_later_versions_are_left_aside():
    identity = str(uuid.uuid4())
    text = json.dumps({"s.t": {"uuid": identity.upper(), "type": "table", "snapshot": 3}})
    assert decode(text) == (Dependency(ViewName("s", "t"), identity, ObjectKind.TABLE),)


@pytest.mark.parametrize(("summary", "marked"), [({}, False), ({LINEAGE: "{}"}, True), ({LINEAGE: "not JSON"}, False)])
def test_file_names_are_uuids_and_marked_where_there_is_a_lineage(summary, marked):
    created = define("select 1", dialect="spark", default_namespace=("s",), summary=summary)
    first, second = file_id(created), file_id(created)
    assert first != second
    assert uuid.UUID(first).version == (8 if marked else 4)
    assert uuid.UUID(first).variant == uuid.RFC_4122
    assert first.endswith(FILE_NODE) is marked


def test_long_lineage_is_not_in_row():
    many = [Dependency(ViewName("s", f"table_{number}"), str(uuid.uuid4()), ObjectKind.TABLE) for number in range(100)]
    assert row_parameters(version(many), LOCATION) == {}
    assert FILE_NODE not in file_id(version(many))
    assert len(lineage_of_version(version(many)) or ()) == 100
