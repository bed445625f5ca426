"""Commits of changes to a view, with the checks of the dependency graph and retries after conflicts."""

from __future__ import annotations

import time
from collections.abc import Sequence

from hive_views.config import REQUIRE_ENGINES, required_engines
from hive_views.errors import CommitFailedError, DefinitionChangedError, SourceDroppedError, UnrecordedTextError
from hive_views.identifiers import ViewName
from hive_views.metastore.commit.view_commit import commit
from hive_views.metastore.commit.view_properties import commit_retries
from hive_views.metastore.queries import load_view
from hive_views.metastore.store import LoadedView, MetastoreStore
from hive_views.spec.changes import AddVersion, Change, SetCurrentVersion, apply
from hive_views.spec.metadata import ViewMetadata
from hive_views.spec.version_texts import same_definition, sql_texts


def commit_changes(
    store: MetastoreStore, loaded: LoadedView, changes: Sequence[Change], *, any_version: bool = False
) -> LoadedView:
    """Apply changes to a view and commit them.

    After a conflict the changes are applied to the newer state, provided that the definition did not change.

    Args:
        store: Metastore, files and properties.
        loaded: The state that the caller read.
        changes: The changes to apply.
        any_version: Also retry if the definition changed (create-or-replace).

    Raises:
        CommitFailedError: If the definition changed concurrently, or the retries are exhausted.
        CyclicViewError: If the view would read itself.
        SourceDroppedError: See `hive_views.dependencies.graph.reject_cycle`.
        EngineRequirementError: See `check_required_engines`.
        DependentsError: If the new columns would break a dependent view, in strict mode.
        HiveViewsError: See `hive_views.metastore.commit.view_commit.commit`.
    """
    changes_definition = any(isinstance(change, (AddVersion, SetCurrentVersion)) for change in changes)
    name = loaded.row.name
    current: LoadedView | None = loaded

    def attempt_commit() -> LoadedView:
        nonlocal current
        if current is None:
            current = load_view(store, name)
            check_same(loaded, current, definition=changes_definition and not any_version)
        base, current = current, None
        metadata = apply(base.metadata, changes, now_ms=int(time.time() * 1000), identifier=str(name))
        precondition, is_new = None, False
        if changes_definition and metadata.current_version() != base.metadata.current_version():
            from hive_views.dependencies.graph import reject_cycle  # only programs that define views import it

            version = metadata.current_version()
            is_added = version.version_id not in {other.version_id for other in base.metadata.versions}
            # A new version can have the current texts, for example if only the storage table changes.
            is_new = is_added and sql_texts(version) != sql_texts(base.metadata.current_version())
            precondition = reject_cycle(store, name, version, is_new=is_new)
            if store.config.strict and metadata.current_schema_id != base.metadata.current_schema_id:
                from hive_views.dependencies.impact import reject_breaking_definition  # imports sqlglot

                reject_breaking_definition(store, name, metadata)
        is_required_anew = metadata.properties.get(REQUIRE_ENGINES) != base.metadata.properties.get(REQUIRE_ENGINES)
        if precondition is not None or is_required_anew:
            check_required_engines(store, name, metadata)
        committed = commit(store, name, base, metadata, precondition=precondition)
        if precondition is not None and is_new:
            from hive_views.dependencies.unreadable_tables import warn_of_unreadable

            warn_of_unreadable(committed.row, precondition.sources)
        return committed

    return commit_retries(loaded.metadata.properties, _is_retryable)(attempt_commit)


def check_required_engines(
    store: MetastoreStore, name: ViewName, metadata: ViewMetadata, *, is_encoded: bool = False
) -> None:
    """Reject a definition for which an engine of `hive-views.require-engines` may not return the author's rows.

    `is_encoded` states that the texts in the row remain in Trino's encoding.
    """
    required = required_engines(metadata.properties)
    if required is None:
        required = store.config.require_engines
    if required:
        from hive_views.dependencies.engines import reject_unreadable  # imports sqlglot

        reject_unreadable(store, name, metadata, required, is_encoded=is_encoded)


def check_same(base: LoadedView, current: LoadedView, *, definition: bool) -> None:
    """Reject a change of a view that was created again since it was read or, with `definition`, redefined.

    Args:
        base: The view as it was read.
        current: The view as it is now.
        definition: Whether the change depends on the definition.

    Raises:
        DefinitionChangedError: If it is another view now, or has another definition.
    """
    name = str(base.row.name)
    if current.metadata.view_uuid != base.metadata.view_uuid:
        raise DefinitionChangedError(
            name,
            "it was dropped and created again by another program",
            expected=base.metadata.view_uuid,
            found=current.metadata.view_uuid,
        )
    if definition and not same_definition(current.metadata.current_version(), base.metadata.current_version()):
        raise DefinitionChangedError(
            name,
            "another program changed its definition (version "
            f"{current.metadata.current_version_id} is current, this change is based on version "
            f"{base.metadata.current_version_id}). Load the view again and repeat the change",
            expected=base.row.metadata_location,
            found=current.row.metadata_location,
        )


def _is_retryable(error: BaseException) -> bool:
    final = (DefinitionChangedError, SourceDroppedError, UnrecordedTextError)
    return isinstance(error, CommitFailedError) and not isinstance(error, final)
