"""The commit protocol: compare-and-swap of a row under the metastore's lock."""

from hive_views.metastore.commit.protocol import CommitPrecondition
from hive_views.metastore.commit.view_commit import commit, drop, rename

__all__ = ["CommitPrecondition", "commit", "drop", "rename"]
