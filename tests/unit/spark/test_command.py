"""Storage settings that `mv refresh` derives from PyIceberg's properties for Iceberg's catalog in Spark."""

from __future__ import annotations

import pytest

from hive_views.spark.command import storage_settings

S3 = {"io-impl": "org.apache.iceberg.io.ResolvingFileIO"}


@pytest.mark.parametrize(
    ("properties", "settings"),
    [
        ({"uri": "thrift://h:9083", "warehouse": "hdfs://n/w"}, {}),
        ({"warehouse": "s3://bucket/w"}, S3),
        ({"warehouse": "s3a://bucket/w", "s3.region": "eu"}, {**S3, "client.region": "eu"}),
        (
            {"s3.endpoint": "http://h:9000", "s3.access-key-id": "a", "s3.secret-access-key": "b"},
            {
                **S3,
                "s3.endpoint": "http://h:9000",
                "s3.path-style-access": "true",
                "s3.access-key-id": "a",
                "s3.secret-access-key": "b",
            },
        ),
        (
            {"s3.endpoint": "http://h", "s3.force-virtual-addressing": "True"},
            {**S3, "s3.endpoint": "http://h"},
        ),
        (
            {"client.access-key-id": "one", "client.session-token": "t", "client.region": "eu", "s3.region": "us"},
            {**S3, "s3.access-key-id": "one", "s3.session-token": "t", "client.region": "us"},
        ),
    ],
)
def test_storage_settings(properties, settings):
    assert storage_settings(properties) == settings
