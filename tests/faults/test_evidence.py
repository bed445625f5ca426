"""Verification of commits whose reply was lost: the row and its metadata file never prove a wrong outcome."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hive_views.config import CatalogConfig
from hive_views.identifiers import ViewName
from hive_views.io.metadata_files import MetadataFiles
from hive_views.metastore.commit.verification import includes_commit, is_commit_applied
from hive_views.metastore.rows.codec import changed_row, new_row
from hive_views.metastore.rows.row import read_row
from hive_views.metastore.store import LoadedView
from hive_views.spec.changes import AddVersion, Change, SetCurrentVersion, SetLocation, SetProperties, apply, create
from hive_views.spec.file_codec import new_location, parse
from hive_views.spec.metadata import ViewMetadata
from hive_views.spec.version_texts import define
from tests.integration.catalog.samples import SCHEMA, hive_row

NAME = ViewName("d", "v")
CONFIG = CatalogConfig.from_properties({"uri": "thrift://127.0.0.1:1"})


class World:
    """One view with several writers, without a metastore: rows and files are real."""

    def __init__(self, directory: Path) -> None:
        self.files = MetadataFiles({})
        self._directory = directory.as_uri()

    def begin(self, now_ms: int, **properties: str) -> LoadedView:
        metadata = create(
            identifier=str(NAME),
            uuid=str(uuid.uuid4()),
            location=f"{self._directory}/{uuid.uuid4()}",
            schema=SCHEMA,
            version=text("first"),
            properties={"replace.drop-dialect.allowed": "true", **properties},
            now_ms=now_ms,
        )
        location = self._written(metadata, None)
        return LoadedView(read_row(new_row(NAME, metadata, location, CONFIG, now_s=0)), metadata)

    def make(self, base: LoadedView, changes: Sequence[Change], now_ms: int, *, java: bool = False) -> LoadedView:
        """Return the state after a commit."""
        metadata = apply(base.metadata, changes, identifier=str(NAME), now_ms=now_ms)
        if java:
            metadata = parse(metadata.to_pyiceberg().model_dump_json(by_alias=True, exclude_none=True).encode(), "java")
        location = self._written(metadata, base.row.metadata_location)
        return LoadedView(read_row(changed_row(base.row, base.metadata, metadata, location, CONFIG)), metadata)

    def verdict(self, base: LoadedView, ours: LoadedView, now: LoadedView) -> bool | None:
        """Verify a commit."""
        return is_commit_applied(self.files, base, ours, now.row)

    def _written(self, metadata: ViewMetadata, previous: str | None) -> str:
        location = new_location(metadata, previous, str(uuid.uuid4()))
        self.files.write(location, metadata)
        return location


def text(sql: str):  # type: ignore[no-untyped-def]
    return define(f"select '{sql}'", dialect="spark", default_namespace=["d"], expanded=f"select '{sql}' as `c`")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("evidence"))


# -- Examples ---------------------------------------------------------------------------------------------------------


REPLACE = [AddVersion(SCHEMA, text("ours"))]
RECOLOR = [SetProperties({"color": "blue"})]
ROLL_BACK = [SetCurrentVersion(1)]


def commit_others(world: World, base: LoadedView, count: int, *, java: bool = False) -> LoadedView:
    for number in range(count):
        base = world.make(base, [SetProperties({"other": str(number)})], 5000 + number, java=java)
    return base


@pytest.fixture
def base(world: World) -> LoadedView:
    return world.make(world.begin(1000), [AddVersion(SCHEMA, text("second"))], 2000)


@pytest.mark.parametrize("changes", [REPLACE, RECOLOR, ROLL_BACK], ids=["replace", "properties", "rollback"])
@pytest.mark.parametrize(("count", "verdict"), [(0, True), (1, True)])
def test_own_commit_is_current_or_previous(
    world: World, base: LoadedView, changes: list[Change], count: int, verdict: bool
) -> None:
    ours = world.make(base, changes, 3000)
    assert world.verdict(base, ours, commit_others(world, ours, count)) is verdict


@pytest.mark.parametrize("java", [False, True], ids=["by us", "by Java"])
@pytest.mark.parametrize("changes", [REPLACE, ROLL_BACK, [*REPLACE, *RECOLOR]], ids=["replace", "rollback", "both"])
def test_own_commit_is_found_in_history(world: World, base: LoadedView, changes: list[Change], java: bool) -> None:
    ours = world.make(base, changes, 3000)
    assert world.verdict(base, ours, commit_others(world, ours, 3, java=java)) is True


def test_properties_only_commit_is_undetermined_after_two_commits(world: World, base: LoadedView) -> None:
    ours = world.make(base, RECOLOR, 3000)
    assert world.verdict(base, ours, commit_others(world, ours, 2)) is None
    assert world.verdict(base, ours, commit_others(world, base, 2)) is None


@pytest.mark.parametrize("changes", [REPLACE, RECOLOR, ROLL_BACK], ids=["replace", "properties", "rollback"])
def test_concurrent_commit_first_is_not_applied(world: World, base: LoadedView, changes: list[Change]) -> None:
    ours = world.make(base, changes, 3000)
    assert world.verdict(base, ours, base) is False
    assert world.verdict(base, ours, commit_others(world, base, 1)) is False
    assert world.verdict(base, ours, commit_others(world, base, 2)) is None


def test_expired_version_is_undetermined(world: World) -> None:
    base = world.begin(1000, **{"version.history.num-entries": "1"})
    ours = world.make(base, REPLACE, 3000)
    now = world.make(commit_others(world, ours, 1), [AddVersion(SCHEMA, text("later"))], 6000)
    assert world.verdict(base, ours, now) is None


def test_commit_is_found_after_oldest_log_entries_expired(world: World) -> None:
    base = world.begin(1000, **{"version.history.num-entries": "2"})
    ours = world.make(base, REPLACE, 3000)
    now = world.make(commit_others(world, ours, 1), [AddVersion(SCHEMA, text("later"))], 6000)
    assert [entry.version_id for entry in now.metadata.version_log] == [2, 3]
    assert world.verdict(base, ours, now) is True


def test_reused_version_id_is_not_taken_for_own_commit(world: World, base: LoadedView) -> None:
    ours = world.make(base, REPLACE, 3000)
    theirs = world.make(base, [AddVersion(SCHEMA, text("theirs"))], 3000)
    assert world.verdict(base, ours, commit_others(world, theirs, 2)) is None


@pytest.mark.parametrize("changes", [REPLACE, ROLL_BACK], ids=["replace", "rollback"])
def test_same_commit_of_another_client_is_not_taken_for_own(
    world: World, base: LoadedView, changes: list[Change]
) -> None:
    """Both in one millisecond, so that only the names of the files differ."""
    ours = world.make(base, changes, 3000)
    theirs = world.make(base, changes, 3000)
    assert theirs.metadata == ours.metadata
    assert world.verdict(base, ours, theirs) is False


def test_rollback_is_not_taken_for_older_log_entry(world: World) -> None:
    """All within one millisecond: the log entry of the rollback equals the first entry."""
    base = world.make(world.begin(1000), [AddVersion(SCHEMA, text("second"))], 1000)
    ours = world.make(base, ROLL_BACK, 1000)
    assert ours.metadata.version_log[-1] == base.metadata.version_log[0]
    assert world.verdict(base, ours, commit_others(world, base, 3)) is None


def test_partly_reverted_commit_is_undetermined(world: World, base: LoadedView) -> None:
    """A success is not reported if the caller would not find the change."""
    ours = world.make(base, [*REPLACE, *RECOLOR], 3000)
    now = world.make(commit_others(world, ours, 1), [SetProperties({"color": "black"})], 6000)
    assert world.verdict(base, ours, now) is None
    ours = world.make(base, [*REPLACE, SetProperties(removals=frozenset({"replace.drop-dialect.allowed"}))], 3000)
    assert world.verdict(base, ours, commit_others(world, ours, 2)) is True
    ours = world.make(base, [*REPLACE, SetLocation(f"{base.metadata.location}_moved")], 3000)
    assert world.verdict(base, ours, commit_others(world, ours, 2)) is True
    moved = world.make(commit_others(world, ours, 1), [SetLocation(base.metadata.location)], 6000)
    assert world.verdict(base, ours, moved) is None


def test_other_view_with_same_history_is_undetermined(world: World, base: LoadedView) -> None:
    """Dropped, and registered from a copy of the file with another UUID."""
    ours = world.make(base, REPLACE, 3000)
    copied = ours.metadata.model_copy(update={"view_uuid": str(uuid.uuid4())})
    assert includes_commit(ours.metadata, base.metadata, ours.metadata)
    assert not includes_commit(copied, base.metadata, ours.metadata)


@pytest.mark.parametrize("table_type", ["VIRTUAL_VIEW", "MANAGED_TABLE"])
def test_other_object_with_the_name_is_undetermined(world: World, base: LoadedView, table_type: str) -> None:
    """Plain Spark's CREATE OR REPLACE VIEW drops the metadata location of this commit or of its base."""
    ours = world.make(base, REPLACE, 3000)
    now = LoadedView(read_row(hive_row("d", "v", table_type)), ours.metadata)
    assert world.verdict(base, ours, now) is None


def test_unreadable_metadata_file_is_undetermined(world: World, base: LoadedView) -> None:
    ours = world.make(base, REPLACE, 3000)
    now = commit_others(world, ours, 2)
    assert now.row.metadata_location is not None
    world.files.delete(now.row.metadata_location)
    assert world.verdict(base, ours, now) is None


def test_writer_without_previous_metadata_location_is_undetermined(world: World, base: LoadedView) -> None:
    """The history takes precedence over the previous metadata location."""
    ours = world.make(base, REPLACE, 3000)
    now = commit_others(world, ours, 1)
    now.row.table.parameters["previous_metadata_location"] = base.row.metadata_location
    assert world.verdict(base, ours, LoadedView(read_row(now.row.table), now.metadata)) is True


# -- Properties --------------------------------------------------------------------------------------------------------


def commits(who: str) -> st.SearchStrategy[list[Change]]:
    replacing = st.integers(0, 1).map(lambda number: AddVersion(SCHEMA, text(f"{who} {number}")))
    coloring = st.sampled_from(["red", "blue"]).map(lambda color: SetProperties({"color": color}))
    rolling = st.just(SetCurrentVersion(1))
    return st.one_of(
        replacing.map(lambda one: [one]),
        coloring.map(lambda one: [one]),
        rolling.map(lambda one: [one]),
        st.tuples(replacing, coloring).map(list),
    )


def visible_parts(state: LoadedView, properties: set[str]) -> tuple[object, ...]:
    """Return the visible parts of a commit, without those that Java drops."""
    metadata = state.metadata
    texts = [text.sql for text in metadata.current_version().sql_representations]
    return metadata.version_log, {key: metadata.properties.get(key) for key in properties}, texts


@settings(max_examples=150)
@example(
    kept="2",
    ours=[SetCurrentVersion(1)],
    theirs=[([SetProperties({"color": "red"})], False), ([SetCurrentVersion(1)], False)],
    earlier=1,
    applied=False,
    clock=[1000] * 10,
)
@given(
    kept=st.sampled_from(["1", "2", "3", "50"]),
    ours=commits("ours"),
    theirs=st.lists(st.tuples(commits("theirs"), st.booleans()), max_size=5),
    earlier=st.integers(0, 2),
    applied=st.booleans(),
    clock=st.lists(st.integers(1000, 1003), min_size=10, max_size=10),
)
def test_verdict_is_never_wrong(
    world: World,
    kept: str,
    ours: list[Change],
    theirs: list[tuple[list[Change], bool]],
    earlier: int,
    applied: bool,
    clock: list[int],
) -> None:
    """Random commits in between, with almost constant clocks and a history that expires early."""
    ticks = iter(clock)
    base = world.begin(next(ticks), **{"version.history.num-entries": kept})
    try:
        for number in range(earlier):
            base = world.make(base, [AddVersion(SCHEMA, text(f"earlier {number}"))], next(ticks))
        row = world.make(base, ours, next(ticks))
    except ValueError:
        return  # version 1 has expired and cannot be rolled back to
    if row.metadata is base.metadata:
        return
    now, path = (row, [base, row]) if applied else (base, [base])
    for changes, java in theirs:
        try:
            now = world.make(now, changes, next(ticks), java=java)
        except ValueError:
            continue
        path.append(now)
    verdict = world.verdict(base, row, now)
    # Another writer may have made the identical change in the same millisecond: indistinguishable, and harmless.
    old, new = base.metadata.properties, row.metadata.properties
    changed = {key for key in old.keys() | new.keys() if old.get(key) != new.get(key)}
    same = any(visible_parts(state, changed) == visible_parts(row, changed) for state in path if state is not row)
    if verdict is True:
        assert applied or same
    if verdict is False:
        assert not applied
    if len(path) <= 2 and not same:
        assert verdict is applied
