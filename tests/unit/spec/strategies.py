"""Hypothesis strategies for view metadata documents, of today's format and of the earlier draft."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tests.unit.spec.examples import UUID

relaxed = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
"""For tests over whole documents: a busy machine must not make them fail."""

ids = st.integers(-(2**31), 2**31 - 10)
milliseconds = st.integers(-(2**63), 2**63 - 1)
texts = st.text(max_size=6)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=4,
)
string_maps = st.dictionaries(texts, texts, max_size=2)

NAMES_OF_OUR_ATTRIBUTES = ["version_id", "view_uuid", "raw_schemas", "root", "storage-table", "model_extra", "dialects"]
unknown_objects = st.dictionaries(st.sampled_from(NAMES_OF_OUR_ATTRIBUTES) | texts, json_values, max_size=2)

TYPES: list[Any] = [
    "long",
    "decimal(10, 2)",
    "timestamptz",
    "variant",
    "geometry(EPSG:3857)",
    "x y z",
    {"type": "future", "of": ["long", None]},
    {"type": "list", "element-id": 11, "element": "variant", "element-required": False, "new": None},
    {"type": "map", "key-id": 12, "key": "string", "value-id": 13, "value": "fixed[4]", "value-required": True},
    {
        "type": "struct",
        "fields": [
            {"id": 14, "name": "n", "required": False, "type": {"type": "struct", "fields": []}, "doc": None},
            {
                "id": 15,
                "name": "",
                "required": True,
                "type": "date",
                "write-default": "2020-01-01",
                "new": {"a": [1.5]},
            },
        ],
    },
]


class _Objects:
    """Draws the objects of one document. Each gets unknown keys, out of a few that are drawn once."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self._unknown = st.sampled_from([{}, *draw(st.lists(unknown_objects, min_size=1, max_size=3))])
        self._text = st.sampled_from(["", "Ünï ✓", *draw(st.lists(texts, min_size=1, max_size=3))])
        self._names = st.sampled_from([[], [""], draw(st.lists(texts, max_size=3))])

    def with_unknown(self, known: dict[str, Any], *optional: str) -> dict[str, Any]:
        """The object with unknown keys; `optional` keys are known too, though they are not there."""
        unknown = self.draw(self._unknown)
        return {key: value for key, value in unknown.items() if key not in optional} | known

    def maybe(self, **values: st.SearchStrategy[Any]) -> dict[str, Any]:
        chosen = self.draw(st.sets(st.sampled_from(sorted(values))))
        return {key.replace("_", "-"): self.draw(values[key]) for key in sorted(chosen)}

    def schema(self, schema_id: int) -> dict[str, Any]:
        fields = [
            self.with_unknown(
                {"id": number, "name": self.draw(self._text), "required": self.draw(st.booleans()), "type": kind}
                | self.maybe(doc=st.none() | self._text, initial_default=st.just(1), write_default=st.none()),
                *("doc", "initial-default", "write-default"),
            )
            for number, kind in enumerate(self.draw(st.lists(st.sampled_from(TYPES), max_size=3)), start=1)
        ]
        known = {"type": "struct", "schema-id": schema_id, "fields": fields}
        return self.with_unknown(known | self.maybe(identifier_field_ids=st.just([1])), "identifier-field-ids")

    def representation(self) -> dict[str, Any]:
        if self.draw(st.integers(0, 3)) == 0:
            return self.with_unknown({"type": self.draw(st.sampled_from(["", "plan", "sqlx"]))})
        names = st.none() | self._names
        optional = self.maybe(
            default_catalog=st.none() | self._text,
            default_namespace=names,
            field_aliases=names,
            field_comments=st.sampled_from([None, [None], ["x", None]]),
        )
        dialect = st.sampled_from(["spark", "SPARK", "hive", "trino"])
        known = {"type": "sql", "sql": self.draw(self._text), "dialect": self.draw(dialect)}
        return self.with_unknown(
            known | optional, "default-catalog", "default-namespace", "field-aliases", "field-comments"
        )

    def version(self, version_id: int, schema_ids: list[int]) -> dict[str, Any]:
        known = {
            "version-id": version_id,
            "schema-id": self.draw(st.sampled_from(schema_ids)),
            "timestamp-ms": self.draw(milliseconds),
            "summary": self.draw(string_maps),
            "representations": [self.representation() for _ in range(self.draw(st.integers(0, 3)))],
            "default-namespace": self.draw(self._names),
        }
        return self.with_unknown(known | self.maybe(default_catalog=st.none() | self._text), "default-catalog")


@st.composite
def schemas(draw: st.DrawFn) -> dict[str, Any]:
    """A schema of any column types, known or not, with unknown keys."""
    return _Objects(draw).schema(0)


@st.composite
def documents(draw: st.DrawFn, *, draft: bool = False) -> dict[str, Any]:
    """A valid document with unknown keys at every level; a draft's lacks keys of today's format."""
    objects = _Objects(draw)
    schema_ids = draw(st.lists(ids, min_size=1, max_size=2, unique=True))
    version_ids = draw(st.lists(ids, min_size=1, max_size=3, unique=True))
    versions = [objects.version(version_id, schema_ids) for version_id in version_ids]
    entries = st.lists(st.tuples(milliseconds, st.sampled_from(version_ids) | ids), max_size=3)
    document = {
        "view-uuid": UUID,
        "format-version": 1,
        "location": draw(st.text(min_size=1, max_size=6)),
        "schemas": [objects.schema(schema_id) for schema_id in schema_ids],
        "current-version-id": draw(st.sampled_from(version_ids)),
        "versions": versions,
        "version-log": [
            objects.with_unknown({"timestamp-ms": time, "version-id": version_id}) for time, version_id in draw(entries)
        ],
    }
    document = objects.with_unknown(document | objects.maybe(properties=string_maps), "properties", "current-schema-id")
    if draft:
        for version in versions:
            for key in draw(st.sets(st.sampled_from(["schema-id", "default-namespace", "default-catalog"]))):
                version.pop(key, None)
        del document["view-uuid"]
        current = next(item for item in versions if item["version-id"] == document["current-version-id"])
        # The draft's key agrees with the current version; where they do not, the version counts (a test of its own).
        document["current-schema-id"] = current.get("schema-id", schema_ids[0])
    return document
