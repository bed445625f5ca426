"""Hypothesis strategies for view metadata documents, of today's format and of the earlier draft."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.unit.spec.examples import UUID

ids = st.integers(-(2**31), 2**31 - 1)
milliseconds = st.integers(-(2**63), 2**63 - 1)
texts = st.text(max_size=8)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
string_maps = st.dictionaries(texts, texts, max_size=3)


def unknown_keys(*known: str) -> st.SearchStrategy[dict[str, Any]]:
    """Keys that the format does not know; often named like attributes of our classes."""
    names = st.sampled_from(["version_id", "view_uuid", "raw_schemas", "root", "storage-table", "dialects"]) | texts
    return st.dictionaries(names.filter(lambda name: name not in known), json_values, max_size=2)


def _optional(**values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional={key.replace("_", "-"): value for key, value in values.items()})


def _merged(*parts: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    # Later parts win: what is known is not replaced by an unknown key of that name.
    return st.tuples(*parts).map(lambda found: {key: value for part in found for key, value in part.items()})


FIELD_KEYS = ("id", "name", "required", "type", "doc", "initial-default", "write-default")
type_names = st.sampled_from(
    ["long", "string", "decimal(10, 2)", "timestamptz", "variant", "geometry(EPSG:3857)", "fixed[4]", "x y z"]
)
types = st.deferred(lambda: type_names | _nested)


def _fields(kind: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return _merged(
        unknown_keys(*FIELD_KEYS),
        _optional(doc=st.none() | texts, initial_default=json_values, write_default=json_values),
        st.fixed_dictionaries({"id": ids, "name": texts, "required": st.booleans(), "type": kind}),
    )


_nested = st.recursive(
    st.fixed_dictionaries({"type": st.just("future"), "of": json_values}),
    lambda inner: (
        st.fixed_dictionaries({"type": st.just("struct"), "fields": st.lists(_fields(inner | type_names), max_size=2)})
        | st.fixed_dictionaries(
            {
                "type": st.just("list"),
                "element-id": ids,
                "element": inner | type_names,
                "element-required": st.booleans(),
            }
        )
        | st.fixed_dictionaries(
            {
                "type": st.just("map"),
                "key-id": ids,
                "key": type_names,
                "value-id": ids,
                "value": inner | type_names,
                "value-required": st.booleans(),
            }
        )
    ),
    max_leaves=3,
)


def schemas(schema_id: int) -> st.SearchStrategy[dict[str, Any]]:
    """A schema with the given id and any column types, known or not."""
    return _merged(
        unknown_keys("type", "schema-id", "fields", "identifier-field-ids"),
        _optional(identifier_field_ids=st.lists(ids, max_size=2)),
        st.fixed_dictionaries(
            {
                "type": st.just("struct"),
                "schema-id": st.just(schema_id),
                "fields": st.lists(_fields(types), max_size=3),
            }
        ),
    )


def sql_texts() -> st.SearchStrategy[dict[str, Any]]:
    """A SQL representation, with or without the draft's optional keys."""
    names = st.none() | st.lists(texts, max_size=2)
    return _merged(
        unknown_keys(
            "type", "sql", "dialect", "default-catalog", "default-namespace", "field-aliases", "field-comments"
        ),
        _optional(
            default_catalog=st.none() | texts,
            default_namespace=names,
            field_aliases=names,
            field_comments=st.none() | st.lists(st.none() | texts, max_size=2),
        ),
        st.fixed_dictionaries(
            {"type": st.just("sql"), "sql": texts, "dialect": st.sampled_from(["spark", "SPARK", "hive", "trino"])}
        ),
    )


unknown_representations = _merged(
    unknown_keys("type"), st.fixed_dictionaries({"type": texts.filter(lambda kind: kind.lower() != "sql")})
)
VERSION_KEYS = (
    "version-id",
    "schema-id",
    "timestamp-ms",
    "summary",
    "representations",
    "default-catalog",
    "default-namespace",
)


@st.composite
def documents(draw: st.DrawFn, *, draft: bool = False) -> dict[str, Any]:
    """A valid document with unknown keys at every level; a draft's lacks keys of today's format."""
    schema_ids = draw(st.lists(ids, min_size=1, max_size=3, unique=True))
    # The highest id is left free, so that a change can add a version and a schema.
    version_ids = draw(st.lists(st.integers(-5, 2**31 - 10), min_size=1, max_size=3, unique=True))
    schema_ids = [min(schema_id, 2**31 - 10 - place) for place, schema_id in enumerate(schema_ids)]
    schema_ids = list(dict.fromkeys(schema_ids))
    optional = _optional(default_catalog=st.none() | texts)
    versions = []
    for version_id in version_ids:
        known = st.fixed_dictionaries(
            {
                "version-id": st.just(version_id),
                "schema-id": st.sampled_from(schema_ids),
                "timestamp-ms": milliseconds,
                "summary": string_maps,
                "representations": st.lists(sql_texts() | unknown_representations, max_size=3),
                "default-namespace": st.lists(texts, max_size=2),
            }
        )
        version = draw(_merged(unknown_keys(*VERSION_KEYS), optional, known))
        if draft:
            for key in draw(st.sets(st.sampled_from(["schema-id", "default-namespace", "default-catalog"]))):
                version.pop(key, None)
        versions.append(version)
    entry = _merged(
        unknown_keys("timestamp-ms", "version-id"),
        st.fixed_dictionaries(
            {"timestamp-ms": milliseconds, "version-id": st.sampled_from(version_ids) | st.integers(-9, 2**31 - 10)}
        ),
    )
    document = draw(
        _merged(
            unknown_keys("current-schema-id", "properties", "view-uuid"),
            _optional(properties=string_maps),
            st.fixed_dictionaries(
                {
                    "view-uuid": st.just(UUID),
                    "format-version": st.just(1),
                    "location": st.text(min_size=1, max_size=8),
                    "schemas": st.tuples(*map(schemas, schema_ids)).map(list),
                    "current-version-id": st.sampled_from(version_ids),
                    "versions": st.just(versions),
                    "version-log": st.lists(entry, max_size=3),
                }
            ),
        )
    )
    if draft:
        del document["view-uuid"]
        current = next(item for item in versions if item["version-id"] == document["current-version-id"])
        # The draft's key agrees with the current version; where they do not, the version counts (a test of its own).
        document["current-schema-id"] = current.get("schema-id", schema_ids[0])
    return document
