from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType
from pyiceberg.view import View
from pyiceberg.view import metadata as iceberg

from hive_views.errors import InvalidMetadataError
from hive_views.spec.metadata import (
    SQLViewRepresentation,
    UnknownViewRepresentation,
    ViewHistoryEntry,
    ViewMetadata,
    ViewRepresentation,
    ViewVersion,
)
from tests.unit.spec import examples
from tests.unit.spec.examples import UUID, document, metadata

VARIANT_SCHEMA = {
    "type": "struct",
    "schema-id": 7,
    "fields": [
        {"id": 1, "name": "v", "required": False, "type": "variant", "x-mask": True},
        {"id": 2, "name": "l", "required": False, "type": {"type": "future", "of": ["long"]}},
    ],
}


def with_unknown_representation() -> ViewMetadata:
    versions = document()["versions"]
    versions[0]["representations"].insert(0, {"type": "substrait", "plan": {"dialect": "x"}, "dialect": "spark"})
    return metadata(versions=versions)


def test_pyiceberg_programs_work_on_our_values() -> None:
    view = View(("sales", "top"), metadata())  # type: ignore[arg-type]  # has all the attributes that View uses
    assert isinstance(view.current_version(), iceberg.ViewVersion)
    assert isinstance(view.history()[0], iceberg.ViewHistoryEntry)
    assert isinstance(view.current_version().representations[0], iceberg.ViewRepresentation)
    assert isinstance(view.current_version().representations[0].root, iceberg.SQLViewRepresentation)
    assert view.current_version().representations[0].root.sql == "select x, y from t"
    assert view.current_version().default_namespace == ("sales",)
    assert view.current_version().summary == {"engine-name": "spark"}
    assert view.schema().find_field("y").doc == "why"
    assert str(view.uuid()) == UUID
    assert view.properties == {"comment": "the best"}
    assert view.location() == "s3://bucket/sales.db/top"
    assert [version.version_id for version in view.versions] == [1]
    assert view.version(1) is view.current_version()
    assert view.version(2) is None
    assert view == View(("sales", "top"), metadata())  # type: ignore[arg-type]


def test_pyiceberg_finds_a_text_behind_a_representation_that_it_does_not_know() -> None:
    view = View(("sales", "top"), with_unknown_representation())  # type: ignore[arg-type]
    representation = view.sql_for("SPARK")
    assert representation is not None
    assert representation.sql == "select x, y from t"
    assert view.sql_for("trino") is None


def test_conversion_to_pyiceberg_omits_unsupported_fields() -> None:
    converted = with_unknown_representation().to_pyiceberg()
    expected = document()
    assert type(converted) is iceberg.ViewMetadata
    assert converted == iceberg.ViewMetadata.model_validate(expected)


def test_values_are_frozen() -> None:
    value = metadata()
    for holder, attribute in [
        (value, "location"),
        (value.current_version(), "version_id"),
        (value.version_log[0], "timestamp_ms"),
        (value.current_version().representations[0].root, "sql"),
    ]:
        with pytest.raises(ValidationError, match="frozen"):
            setattr(holder, attribute, 1)


def test_equality_ignores_cached_schemas() -> None:
    queried, untouched = metadata(), metadata()
    assert queried.current_schema().schema_id == 0
    assert queried == untouched


def test_schemas_are_converted_once() -> None:
    value = metadata()
    assert value.schema(0) is value.current_schema() is value.schemas[0]


def test_schemas_are_pyiceberg_schemas() -> None:
    wanted = Schema(
        NestedField(1, "x", LongType(), required=True), NestedField(2, "y", StringType(), required=False, doc="why")
    )
    assert metadata().schemas == [wanted]
    assert metadata().current_schema_id == 0


def test_missing_ids_return_none() -> None:
    value = metadata()
    assert (value.version(9), value.schema(9), value.raw_schema(9)) == (None, None, None)


def test_schema_with_unknown_type_raises_on_access_only() -> None:
    value = metadata(schemas=[VARIANT_SCHEMA, *document()["schemas"]])
    assert value.current_schema().schema_id == 0
    assert value.raw_schema(7) == VARIANT_SCHEMA
    with pytest.raises(InvalidMetadataError, match=r"does not have the type 'variant'") as caught:
        value.schema(7)
    assert caught.value.path == "schemas[0].fields[0].type"
    with pytest.raises(InvalidMetadataError, match="variant"):
        _ = value.schemas
    with pytest.raises(InvalidMetadataError, match="variant"):
        value.to_pyiceberg()


def test_unsupported_default_value_raises_package_error() -> None:
    field = {"id": 1, "name": "x", "required": True, "type": "decimal(4, 2)", "initial-default": "many"}
    value = metadata(schemas=[{"type": "struct", "schema-id": 0, "fields": [field]}])
    with pytest.raises(InvalidMetadataError, match=r"schemas\[0\]: PyIceberg does not accept the schema"):
        value.current_schema()


def test_operation_is_read_from_summary_or_version_id() -> None:
    assert examples.version("select 1", version_id=1).operation == "create"
    assert examples.version("select 1", version_id=2).operation == "replace"
    assert examples.version("select 1", version_id=2, summary={"operation": "create"}).operation == "create"


def test_dialects_are_in_lower_case_and_in_order() -> None:
    version = examples.version(examples.text("a", "Trino"), examples.text("b", "SPARK"), examples.text("c", "spark"))
    assert version.dialects == ["trino", "spark"]
    assert [text.sql for text in version.sql_representations] == ["a", "b", "c"]


def test_regular_file_has_no_irregularities() -> None:
    assert metadata().irregularities() == ()


def test_several_texts_for_one_dialect_are_readable_and_reported() -> None:
    value = examples.read_document(examples.golden("java_ViewMetadataMultipleSQLsForDialect.json"), "x")
    assert [text.sql for text in value.current_version().sql_representations] == [
        "select 'foo' foo",
        "select * from foo",
    ]
    (found,) = value.irregularities()
    assert found.startswith("versions[0].representations[1].dialect: another text for 'spark-sql'")


def test_unknown_representations_and_contradicting_defaults_are_reported() -> None:
    versions = document()["versions"]
    versions[0]["representations"] += [
        {"type": "plan"},
        {"type": "sql", "sql": "s", "dialect": "hive", "default-catalog": "other", "default-namespace": []},
    ]
    irregularities = metadata(versions=versions).irregularities()
    assert [line.partition(":")[0] for line in irregularities] == [
        "versions[0].representations[1].type",
        "versions[0].representations[2].default-namespace",
        "versions[0].representations[2].default-catalog",
    ]


def test_inconsistent_metadata_is_rejected() -> None:
    value = metadata()
    with pytest.raises(InvalidMetadataError, match="current-version-id: there is no version 9"):
        ViewMetadata(
            view_uuid=UUID,
            format_version=1,
            location="l",
            raw_schemas=value.raw_schemas,
            current_version_id=9,
            versions=value.versions,
            version_log=[],
        )


def test_fields_are_populated_by_name_and_alias() -> None:
    entry = ViewHistoryEntry(timestamp_ms=5, version_id=1)
    assert entry == ViewHistoryEntry(**{"timestamp-ms": 5, "version-id": 1})
    aliases: dict[str, Any] = {"field-comments": ["x", None], "new": 1}
    representation = SQLViewRepresentation(type="sql", sql="s", dialect="d", **aliases)
    assert representation.field_comments == ["x", None]
    assert representation.model_extra == {"new": 1}
    assert ViewRepresentation(representation).root is representation


@pytest.mark.parametrize(
    "given", [{"version_id": True}, {"version_id": "1"}, {"version_id": 2**31}, {"summary": {"a": 1}}]
)
def test_constructor_does_not_coerce_values(given: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        examples.version("select 1", **given)


@pytest.mark.parametrize("kind", ["sql", "SQL"])
def test_unknown_representation_rejects_type_sql(kind: str) -> None:
    with pytest.raises(ValidationError, match="SQLViewRepresentation"):
        UnknownViewRepresentation(type=kind)


def test_version_is_accepted_by_pyiceberg_metadata() -> None:
    value = metadata()
    created = iceberg.ViewMetadata.model_validate(
        {
            "view-uuid": UUID,
            "format-version": 1,
            "location": "l",
            "schemas": value.schemas,
            "current-version-id": 1,
            "versions": value.versions,
            "version-log": value.version_log,
        }
    )
    assert isinstance(created.versions[0], ViewVersion)
