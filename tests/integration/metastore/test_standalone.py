"""Hive's standalone metastores: real releases, fetched, started, used and started again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hive_views import HiveViewCatalog
from hive_views.errors import ArtifactFetchError, EmbeddedMetastoreError
from hive_views.local_metastore.distributions import RELEASES
from hive_views.local_metastore.maven import Artifact, fetch
from hive_views.local_metastore.process import running_metastore
from hive_views.local_metastore.standalone import StandaloneMetastore

CACHE = Path(__file__).parents[3] / ".cache"

STARTED = tuple(RELEASES) if os.environ.get("HIVE_VIEWS_EVERY_RELEASE") else ("4.2.0", "4.2.1")
"""Those that need another Java; 3.1.3 and 4.0.1 are started by other tests, all by `metastore-start` of the matrix."""


@pytest.mark.parametrize("version", STARTED)
def test_release_starts_and_keeps_views_after_restart(version: str, tmp_path: Path) -> None:
    with StandaloneMetastore(tmp_path, version=version, cache=CACHE) as metastore:
        catalog = HiveViewCatalog("standalone", uri=metastore.uri, warehouse=metastore.warehouse)
        catalog.create_namespace("s")
        catalog.execute("CREATE VIEW s.v AS SELECT 1 AS a")
        catalog.execute("CREATE OR REPLACE VIEW s.v AS SELECT 2 AS b")
        catalog.rename_view("s.v", "s.w")
        metadata = catalog.load_view("s.w").metadata
        assert running_metastore(tmp_path) is not None
    assert running_metastore(tmp_path) is None
    with StandaloneMetastore(tmp_path, version=version, cache=CACHE) as metastore:
        again = HiveViewCatalog("standalone", uri=metastore.uri, warehouse=metastore.warehouse)
        assert again.load_view("s.w").metadata == metadata
        assert again.list_views("s") == [("s", "w")]
    other = next(release for release in RELEASES if release != version)
    # The Derby of an older release cannot open a newer one's files at all.
    reason = "the schema of Hive 3.1" if version < other else "the schema cannot be created"
    with pytest.raises(EmbeddedMetastoreError, match=reason):
        StandaloneMetastore(tmp_path, version=other, cache=CACHE).start()


def test_unsupported_release_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedMetastoreError, match=r"Hive 1\.2\.1 is not supported.*3\.1\.3, 4\.0\.1"):
        StandaloneMetastore(tmp_path, version="1.2.1")
    assert list(tmp_path.iterdir()) == []


def test_missing_artifact_raises(tmp_path: Path) -> None:
    nowhere = Artifact("org.postgresql", "postgresql", "0.0.0.0")
    with pytest.raises(ArtifactFetchError) as raised:
        fetch([nowhere], tmp_path)
    assert raised.value.coordinates == "org.postgresql:postgresql:0.0.0.0"
    assert list(tmp_path.iterdir()) == []


def test_mirror_password_is_not_in_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEFAULT_ARTIFACT_REPOSITORY", "http://ann:s3cr@t@127.0.0.1:1/maven")
    with pytest.raises(ArtifactFetchError, match=r"from http://127\.0\.0\.1:1/maven") as raised:
        fetch([Artifact("org.postgresql", "postgresql", "0.0.0.0")], tmp_path)
    assert "127.0.0.1:1/maven/org/postgresql" in raised.value.reason
    assert "s3cr" not in str(raised.value) + repr(vars(raised.value))
