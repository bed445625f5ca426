"""Changes by `HiveView.update`: atomic commits, conflicts, and rejected changes."""

from __future__ import annotations

import pytest

from hive_views import HiveViewCatalog, define
from hive_views.errors import (
    CommitFailedError,
    DialectLossError,
    InvalidPropertyError,
    NoSuchVersionError,
    NoSuchViewError,
)
from hive_views.spec.file_codec import serialize
from tests.integration.catalog.samples import OTHER_SCHEMA, QUERY, SCHEMA, files_below, path, texts, version


def test_update_without_changes_writes_nothing(catalog: HiveViewCatalog, database: str) -> None:
    view = catalog.create_view(f"{database}.v", SCHEMA, version(database), properties={"a": "1"})
    for update in (
        view.update(),
        view.update().set_properties(a="1").remove_properties("b").set_location(view.location()),
        view.update().replace_version(view.current_version(), SCHEMA),
        view.update().rollback(version_id=1),
    ):
        same = update.commit()
        assert same == view
        assert same.metadata_location == view.metadata_location
    assert files_below(view.location()) == {path(view.metadata_location)}


def test_equal_definition_conflicts_with_newer_definition(catalog: HiveViewCatalog, database: str) -> None:
    """Equal to the version that was loaded, it would change nothing; the current version is a newer one."""
    seen = catalog.create_view(f"{database}.v", SCHEMA, version(database))
    newer = seen.update().replace_version(version(database, ("spark", "select 2"))).commit()
    with pytest.raises(CommitFailedError, match="another program changed its definition"):
        seen.update().replace_version(version(database)).commit()
    assert catalog.load_view(f"{database}.v") == newer


def test_equal_properties_are_set_again_on_a_newer_state(catalog: HiveViewCatalog, database: str) -> None:
    seen = catalog.create_view(f"{database}.v", SCHEMA, version(database), properties={"a": "1"})
    seen.update().set_properties(a="2", b="2").commit()
    view = seen.update().set_properties(a="1").commit()
    assert view.properties == {"a": "1", "b": "2"}
    assert catalog.load_view(f"{database}.v") == view


def test_all_changes_of_an_update_are_one_commit(catalog: HiveViewCatalog, database: str, own_directory: str) -> None:
    view = catalog.create_view(f"{database}.v", SCHEMA, version(database), properties={"old": "1"})
    moved = f"{own_directory}/moved"
    changed = (
        view.update()
        .replace_version(version(database, ("spark", "select 2")), OTHER_SCHEMA)
        .set_properties(new="2")
        .remove_properties("old")
        .set_comment("vü")
        .set_location(f"{moved}/")
        .commit()
    )
    assert changed.properties == {"new": "2", "comment": "vü"}
    assert changed.schema().column_names == OTHER_SCHEMA.column_names
    assert changed.metadata_location.startswith(f"{moved}/metadata/00001-")
    assert changed.previous_metadata_location == view.metadata_location
    assert catalog.load_view(f"{database}.v") == changed
    assert files_below(view.location()) == {path(view.metadata_location)}
    assert changed.update().set_comment(None).commit().properties == {"new": "2"}


def test_misspelled_settings_of_a_view_are_rejected(open_catalog, catalog: HiveViewCatalog, database: str) -> None:
    misspelled = {"hive-views.require-engine": "hive"}
    of_later_release = {"hive-views.unknown": "1"}
    view = catalog.create_view(f"{database}.v", SCHEMA, version(database), properties=of_later_release)
    with_default = open_catalog({f"view-default.{key}": value for key, value in misspelled.items()})
    for change in (
        lambda: view.update().set_properties(misspelled),
        lambda: catalog.create_view(f"{database}.w", SCHEMA, version(database), properties=misspelled),
        lambda: catalog.replace_view(f"{database}.v", SCHEMA, version(database), properties=misspelled),
        lambda: with_default.create_view_from_sql(f"{database}.w", "SELECT 1 AS a"),
        lambda: catalog.execute(f"ALTER VIEW {database}.v SET TBLPROPERTIES ('hive-views.require-engine' = 'hive')"),
    ):
        with pytest.raises(InvalidPropertyError, match=r"did you mean hive-views\.require-engines"):
            change()
    assert catalog.list_views(database) == [(database, "v")]
    assert catalog.load_view(f"{database}.v") == view


def test_rollback_by_id_and_by_time(catalog: HiveViewCatalog, database: str) -> None:
    view = catalog.create_view(f"{database}.v", SCHEMA, version(database))
    for number in (2, 3):
        definition = define(f"select {number}", dialect="spark", default_namespace=(database,))
        view = view.update().replace_version(definition, OTHER_SCHEMA).commit()
    back = view.update().rollback(version_id=1).commit()
    assert back.current_version() == back.version(1)
    assert back.schema().column_names == SCHEMA.column_names
    assert (back.original_text, back.expanded_text) == (QUERY, QUERY)
    assert [entry.version_id for entry in back.history()] == [1, 2, 3, 1]
    assert [item.version_id for item in back.versions] == [1, 2, 3]
    third = view.history()[-1].timestamp_ms
    forward = back.update().rollback(timestamp_ms=third).commit()
    assert texts(forward.current_version()) == [("spark", "select 3")]
    assert forward.version_at(third).version_id == 3
    assert catalog.load_view(f"{database}.v").drift == ()


def test_rollback_to_missing_version_raises(catalog: HiveViewCatalog, database: str) -> None:
    view = catalog.create_view(f"{database}.v", SCHEMA, version(database))
    created = view.history()[0].timestamp_ms
    with pytest.raises(NoSuchVersionError, match="no version 7") as caught:
        view.update().rollback(version_id=7)
    assert (caught.value.identifier, caught.value.available) == (f"{database}.v", (1,))
    with pytest.raises(NoSuchVersionError, match=f"at {created - 1} ms"):
        view.update().rollback(timestamp_ms=created - 1)
    with pytest.raises(NoSuchVersionError):
        view.version_at(created - 1)
    for version_id, timestamp_ms in ((None, None), (1, created)):
        with pytest.raises(InvalidPropertyError, match="either a version id or a time"):
            view.update().rollback(version_id=version_id, timestamp_ms=timestamp_ms)


def test_rollback_after_concurrent_definition_fails(catalog: HiveViewCatalog, database: str) -> None:
    first = catalog.create_view(f"{database}.v", SCHEMA, version(database))
    second = first.update().replace_version(version(database, ("spark", "select 2"))).commit()
    third = second.update().replace_version(version(database, ("spark", "select 3"))).commit()
    with pytest.raises(CommitFailedError, match="Load the view again and repeat"):
        second.update().rollback(version_id=1).commit()
    assert catalog.load_view(f"{database}.v") == third


def test_new_version_is_retried_on_changed_properties(catalog: HiveViewCatalog, database: str) -> None:
    seen = catalog.create_view(f"{database}.v", SCHEMA, version(database))
    seen.update().set_properties(by="another").commit()
    view = seen.update().replace_version(version(database, ("spark", "select 2"))).commit()
    assert view.properties == {"by": "another"}
    assert texts(view.current_version()) == [("spark", "select 2")]


def test_update_of_recreated_view_fails(catalog: HiveViewCatalog, database: str) -> None:
    seen = catalog.create_view(f"{database}.v", SCHEMA, version(database))
    catalog.drop_view(f"{database}.v")
    anew = catalog.create_view(f"{database}.v", SCHEMA, version(database))
    with pytest.raises(CommitFailedError, match="dropped and created again") as caught:
        seen.update().set_properties(a="1").commit()
    assert (caught.value.expected, caught.value.found) == (str(seen.uuid()), str(anew.uuid()))
    assert catalog.load_view(f"{database}.v") == anew
    assert seen.refresh() == anew


def test_update_of_renamed_view_fails(catalog: HiveViewCatalog, database: str) -> None:
    seen = catalog.create_view(f"{database}.v", SCHEMA, version(database))
    catalog.rename_view(f"{database}.v", f"{database}.w")
    for do in (seen.update().set_properties(a="1").commit, seen.refresh):
        with pytest.raises(NoSuchViewError, match=f"{database}\\.v"):
            do()
    assert catalog.load_view(f"{database}.w").properties == {}


def test_dialect_loss_is_rejected_unless_allowed(catalog: HiveViewCatalog, database: str) -> None:
    both = version(database, ("spark", QUERY), ("trino", QUERY))
    view = catalog.create_view(f"{database}.v", SCHEMA, both)
    one = version(database, ("Spark", "select 2"))
    for replace in (
        lambda: view.update().replace_version(one).commit(),
        lambda: catalog.replace_view(f"{database}.v", SCHEMA, one),
        lambda: catalog.create_or_replace_view(f"{database}.v", SCHEMA, one),
    ):
        with pytest.raises(DialectLossError) as caught:
            replace()
        assert (caught.value.previous, caught.value.new) == (("spark", "trino"), ("spark",))
    assert catalog.load_view(f"{database}.v") == view
    allowed = view.update().set_properties({"replace.drop-dialect.allowed": "true"}).replace_version(one).commit()
    assert allowed.dialects == ("spark",)
    lost = allowed.update().replace_version(version(database, ("trino", QUERY)), may_lose_dialects=True).commit()
    assert lost.dialects == ("trino",)


def test_invalid_stored_retry_property_can_be_corrected(
    catalog: HiveViewCatalog, database: str, own_directory: str
) -> None:
    metadata = catalog.create_view(f"{database}.v", SCHEMA, version(database)).metadata
    wrong = metadata.model_copy(update={"properties": {"commit.retry.num-retries": "often"}})
    location = f"{own_directory}/00000-{metadata.view_uuid}.metadata.json"
    path(location).write_bytes(serialize(wrong, codec="none"))
    catalog.drop_view(f"{database}.v")
    view = catalog.register_view(f"{database}.v", location)
    assert view.update().remove_properties("commit.retry.num-retries").commit().properties == {}
