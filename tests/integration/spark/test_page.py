"""Runs the Python blocks of the page on Spark, in order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hive_views.local_metastore.embedded import EmbeddedMetastore

PAGE = Path(__file__).parents[3] / "docs" / "spark.md"


@pytest.mark.extended
@pytest.mark.usefixtures("alone")
def test_the_blocks_of_the_page_run(spark: SparkSession, metastore: EmbeddedMetastore) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) == 5
    names: dict[str, object] = {"metastore": metastore, "spark": spark.newSession()}
    for block in blocks:
        exec(compile(block, PAGE.name, "exec"), names)
