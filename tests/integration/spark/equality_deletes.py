"""Equality deletes, which Flink writes and Spark and PyIceberg do not: written by Iceberg's Java library."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession


def delete_by_equality(spark: SparkSession, table: str, values: Mapping[str, object]) -> None:
    """Delete the rows of a table with some values by an equality delete file for the whole table."""
    jvm: Any = spark._jvm
    iceberg, data = jvm.org.apache.iceberg, jvm.org.apache.iceberg.data
    loaded = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, table)
    columns = jvm.java.util.ArrayList()
    for name in values:
        columns.add(name)
    schema = loaded.schema().select(columns)
    record = data.GenericRecord.create(schema)
    for name, value in values.items():
        record.setField(name, value)
    location = loaded.locationProvider().newDataLocation(f"{uuid.uuid4()}-deletes.parquet")
    unpartitioned = iceberg.PartitionSpec.unpartitioned()
    spec = loaded.spec() if loaded.spec().isUnpartitioned() else None
    if spec is None:
        specs = [item for item in loaded.specs().values() if item.isUnpartitioned()]
        if not specs:
            raise ValueError("a partitioned table has no global equality deletes here")
        spec = specs[0]
    ids = spark.sparkContext._gateway.new_array(jvm.int, len(values))
    for at, name in enumerate(values):
        ids[at] = loaded.schema().findField(name).fieldId()
    output = iceberg.encryption.EncryptedFiles.encryptedOutput(
        loaded.io().newOutputFile(location), iceberg.encryption.EncryptionKeyMetadata.EMPTY
    )
    # The public interface of Iceberg 1.11 and 1.12, for each Spark.
    record_class = loaded.getClass().getClassLoader().loadClass("org.apache.iceberg.data.Record")
    formats = iceberg.formats.FormatModelRegistry
    builder = formats.equalityDeleteWriteBuilder(iceberg.FileFormat.PARQUET, record_class, output)
    writer = builder.schema(schema).spec(unpartitioned).equalityFieldIds(ids).build()
    writer.write(record)
    writer.close()
    files = iceberg.FileMetadata.deleteFileBuilder(spec).copy(writer.toDeleteFile())
    delete_file = files.ofEqualityDeletes(ids).build()  # `copy` leaves the ids out
    loaded.newRowDelta().addDeletes(delete_file).commit()
