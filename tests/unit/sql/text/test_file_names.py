"""Names of files that Spark reads as tables."""

from __future__ import annotations

import pytest

from hive_views.sql.text.dialects import Dialect
from hive_views.sql.text.file_names import FILE_NAME, file_name, is_file_name


@pytest.mark.parametrize(
    ("dialect", "parts", "expected"),
    [
        (Dialect.SPARK, ("csv", "s3://bucket/x"), True),
        (Dialect.SPARK, ("Parquet", "/data/x"), True),
        # The text of a row, which has the dialect hive, may be Spark's.
        (Dialect.HIVE, ("json", "hdfs://host/x"), True),
        (Dialect.TRINO, ("csv", "s3://bucket/x"), False),
        (Dialect.SPARK, ("csv", "orders"), False),
        (Dialect.SPARK, ("sales", "/data/x"), False),
        (Dialect.SPARK, ("prod", "csv", "/data/x"), False),
        (Dialect.SPARK, ("csv",), False),
    ],
)
def test_name_of_files(dialect: Dialect, parts: tuple[str, ...], expected: bool) -> None:
    assert is_file_name(dialect, parts) is expected


def test_written_name_quotes_the_path() -> None:
    assert file_name(("CSV", "/data/a`b")) == "csv.`/data/a``b`"
    assert FILE_NAME.search("select * from `ORC` . `s3://x/y`") is not None
    assert FILE_NAME.search("select * from orc.`x`") is None
