"""Fetches what the image needs from a Maven repository: Hive's releases, and Iceberg's runtime for Spark."""

import shutil
import sys
from pathlib import Path

from hive_views.local_metastore.distributions import RELEASES, unpack
from hive_views.local_metastore.jvm import find_jars
from hive_views.spark.runtime import fetch_runtime

VERSIONS = ("3.1.3", "4.0.1")
"""The releases that are in the image; the later ones would add 400 MB."""


def main(fetched: Path, kept: Path) -> None:
    """Fetch into a directory that outlives the build, and copy into the image what is needed to run.

    Args:
        fetched: The directory of the builds; what is there is not fetched again.
        kept: The directory in the image.
    """
    kept.mkdir(parents=True, exist_ok=True)
    fetch_runtime(fetched)
    for release in map(RELEASES.__getitem__, VERSIONS):
        unpack(release, find_jars(str(kept)), fetched)
        shutil.copytree(fetched / f"hive-metastore-{release.version}", kept / f"hive-metastore-{release.version}")
    # Not the archives, which are unpacked.
    for jar in fetched.glob("*.jar"):
        shutil.copy(jar, kept)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
