"""Creating views: valid and invalid names, locations, properties, columns and texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import (
    DecimalType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampNanoType,
    TimestamptzType,
)

from hive_views import HiveViewCatalog, define
from hive_views.errors import (
    CommitStateUnknownError,
    InvalidIdentifierError,
    InvalidPropertyError,
    InvalidViewError,
    LockError,
    MetadataWriteError,
    MetastoreRefusedError,
    ViewAlreadyExistsError,
)
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from hive_views.metastore._thrift.hive_metastore.ttypes import Database
from tests.conftest import CatalogFactory
from tests.integration.catalog.samples import OTHER_SCHEMA, QUERY, SCHEMA, files_below, path, version

HIVE_3 = {"hive.hive2-compatible": "false"}


def nothing_there(metastore: EmbeddedMetastore, raw: Client, database: str) -> bool:
    """Whether the database has neither rows nor files."""
    return not raw.get_all_tables(database) and not files_below(f"{metastore.warehouse}/{database}.db")


# -- Names ---------------------------------------------------------------------------------------------------------


def test_identifier_may_start_with_catalog_name(catalog: HiveViewCatalog, database: str) -> None:
    view = catalog.create_view(f"prod.{database}.v", SCHEMA, version(database))
    assert view.name() == (database, "v")
    identifiers: tuple[Any, ...] = (
        f"{database}.v",
        f"prod.{database}.v",
        (database, "v"),
        ("prod", database, "v"),
        [database, "v"],
    )
    for identifier in identifiers:
        assert catalog.view_exists(identifier)
        assert catalog.load_view(identifier) == view
    assert not catalog.view_exists(f"other.{database}.v")
    with pytest.raises(InvalidIdentifierError):
        catalog.load_view(f"other.{database}.v")
    renamed = catalog.rename_view(f"prod.{database}.v", ("prod", database, "w"))
    assert renamed.name() == (database, "w")
    catalog.drop_view(f"prod.{database}.w")


def test_names_are_case_insensitive(catalog: HiveViewCatalog, database: str, raw: Client) -> None:
    view = catalog.create_view(f"{database.upper()}.Top_Orders", SCHEMA, version(database))
    assert view.name() == (database, "top_orders")
    assert view.location().endswith(f"/{database}.db/top_orders")
    assert raw.get_table(database, "top_orders").tableName == "top_orders"
    assert catalog.load_view(f"{database}.TOP_ORDERS") == view
    with pytest.raises(ViewAlreadyExistsError):
        catalog.create_view(f"{database}.TOP_orders", SCHEMA, version(database))
    assert catalog.rename_view((database, "TOP_ORDERS"), (database, "Best")).name() == (database, "best")


@pytest.mark.parametrize("name", ["", "a/b"])
def test_name_with_unsupported_characters_is_rejected(
    catalog: HiveViewCatalog, database: str, metastore: EmbeddedMetastore, raw: Client, name: str
) -> None:
    with pytest.raises(InvalidIdentifierError) as caught:
        catalog.create_view((database, name), SCHEMA, version(database))
    assert caught.value.reason
    assert not catalog.view_exists((database, name))
    catalog.create_view((database, "v"), SCHEMA, version(database))
    with pytest.raises(InvalidIdentifierError):
        catalog.rename_view((database, "v"), (database, name))
    catalog.drop_view((database, "v"), purge_files=True)
    assert nothing_there(metastore, raw, database)


@pytest.mark.hive2
def test_longest_names(open_catalog: CatalogFactory, database: str, own_directory: str) -> None:
    """Hive 2.3 stores names of 256 characters, and locks names of 128."""
    catalog = open_catalog({"iceberg.hive.lock-check-min-wait-ms": "1"})
    name = "x" * 128
    catalog.create_view((database, name), SCHEMA, version(database), location=f"{own_directory}/128")
    with pytest.raises(LockError, match=r"HIVE_LOCKS.*at most 128 characters: choose a shorter name"):
        catalog.create_view((database, "x" * 129), SCHEMA, version(database), location=f"{own_directory}/129")
    assert files_below(f"{own_directory}/129") == set()
    unlocked = open_catalog({"iceberg.engine.hive.lock-enabled": "false"})
    unlocked.create_view((database, "x" * 256), SCHEMA, version(database), location=f"{own_directory}/256")
    assert catalog.list_views(database) == [(database, name), (database, "x" * 256)]
    assert catalog.load_view((database, "x" * 256)).name() == (database, "x" * 256)


@pytest.mark.parametrize("identifier", [("v",), "a.b.c.d", (None, "v")])
def test_invalid_identifier_is_rejected(catalog: HiveViewCatalog, identifier: Any) -> None:
    assert not catalog.view_exists(identifier)
    with pytest.raises(InvalidIdentifierError) as caught:
        catalog.create_view(identifier, SCHEMA, version("d"))
    assert caught.value.identifier == identifier
    with pytest.raises(InvalidIdentifierError):
        catalog.drop_view(identifier)


# -- Locations -----------------------------------------------------------------------------------------------------


def test_view_location_is_below_database_location(
    catalog: HiveViewCatalog, database: str, metastore: EmbeddedMetastore
) -> None:
    view = catalog.create_view(f"{database}.v", SCHEMA, version(database))
    assert path(view.location()) == path(metastore.warehouse) / f"{database}.db" / "v"
    directory, _, name = view.metadata_location.rpartition("/")
    assert directory == f"{view.location()}/metadata"
    assert name.startswith("00000-")
    assert name.endswith(".gz.metadata.json")


def test_unique_locations(open_catalog: CatalogFactory, database: str, metastore: EmbeddedMetastore) -> None:
    catalog = open_catalog({"unique-table-location": "true"})
    first = catalog.create_view(f"{database}.v", SCHEMA, version(database)).location()
    catalog.drop_view(f"{database}.v")
    second = catalog.create_view(f"{database}.v", SCHEMA, version(database)).location()
    assert first != second
    for location in (first, second):
        base, _, unique = location.rpartition("-")
        assert path(base) == path(metastore.warehouse) / f"{database}.db" / "v"
        assert len(unique) == 32


@pytest.mark.parametrize("location", ["", "relative/dir"])
def test_relative_location_is_rejected(
    catalog: HiveViewCatalog, database: str, metastore: EmbeddedMetastore, raw: Client, location: str
) -> None:
    attempts = [
        lambda: catalog.create_view(f"{database}.v", SCHEMA, version(database), location=location),
        lambda: catalog.create_view(
            f"{database}.v", SCHEMA, version(database), properties={"write.metadata.path": location}
        ),
    ]
    for attempt in attempts:
        with pytest.raises(InvalidPropertyError, match="URI") as caught:
            attempt()
        assert caught.value.value == location
    assert nothing_there(metastore, raw, database)
    view = catalog.create_view(f"{database}.v", SCHEMA, version(database))
    with pytest.raises(InvalidPropertyError):
        view.update().set_location(location)
    with pytest.raises(InvalidPropertyError):
        catalog.replace_view(f"{database}.v", SCHEMA, version(database), location=location)
    assert catalog.load_view(f"{database}.v") == view


@pytest.mark.parametrize("form", ["file://{}", "file:{}", "{}", "file://{}///"])
def test_forms_of_a_location(catalog: HiveViewCatalog, database: str, tmp_path: Path, form: str) -> None:
    location = form.format(tmp_path)
    view = catalog.create_view(f"{database}.v", SCHEMA, version(database), location=location)
    assert view.location() == location.rstrip("/")
    assert [path.parent for path in files_below(tmp_path)] == [tmp_path / "metadata"]
    changed = view.update().set_properties(a="b").commit()
    assert Path(urlparse(changed.metadata_location).path).is_file()
    assert catalog.load_view(f"{database}.v") == changed
    catalog.drop_view(f"{database}.v", purge_files=True)
    assert files_below(tmp_path) == set()


@pytest.mark.filterwarnings("ignore:No preferred file implementation")
def test_unknown_storage_scheme_is_reported(catalog: HiveViewCatalog, database: str, raw: Client) -> None:
    with pytest.raises(MetadataWriteError, match=r"The metastore was not changed$") as caught:
        catalog.create_view(f"{database}.v", SCHEMA, version(database), location="carrier-pigeon://x/y")
    assert caught.value.location.startswith("carrier-pigeon://x/y/metadata/00000-")
    assert raw.get_all_tables(database) == []


def test_storage_access_error_is_reported(catalog: HiveViewCatalog, database: str, raw: Client, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MetadataWriteError):
        catalog.create_view(f"{database}.v", SCHEMA, version(database), location=f"file:{tmp_path}/file/v")
    assert raw.get_all_tables(database) == []


def test_another_file_io(open_catalog: CatalogFactory, database: str, own_directory: str) -> None:
    """PyIceberg's `py-io-impl`, here fsspec in place of Arrow."""
    catalog = open_catalog({"py-io-impl": "pyiceberg.io.fsspec.FsspecFileIO"})
    view = catalog.create_view(f"{database}.v", SCHEMA, version(database), location=own_directory)
    changed = view.update().set_properties(a="b").commit()
    assert catalog.load_view(f"{database}.v") == changed
    assert open_catalog().load_view(f"{database}.v") == changed
    catalog.drop_view(f"{database}.v", purge_files=True)
    assert files_below(own_directory) == set()


# -- Properties ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        {"uuid": "00000000-0000-0000-0000-000000000000"},
        {"k": "\ud800"},
        {"version.history.num-entries": "0"},
        {"write.metadata.compression-codec": "zstd"},
    ],
    ids=lambda given: next(iter(given)),
)
def test_unstorable_property_is_rejected(
    catalog: HiveViewCatalog, database: str, metastore: EmbeddedMetastore, raw: Client, given: dict[str, str]
) -> None:
    with pytest.raises(InvalidPropertyError) as caught:
        catalog.create_view(f"{database}.v", SCHEMA, version(database), properties={"good": "1", **given})
    assert {caught.value.key: caught.value.value} == given
    assert nothing_there(metastore, raw, database)
    view = catalog.create_view(f"{database}.v", SCHEMA, version(database))
    with pytest.raises(InvalidPropertyError):
        view.update().set_properties(given).commit()
    assert catalog.load_view(f"{database}.v") == view
    assert files_below(view.location()) == {path(view.metadata_location)}


@pytest.mark.parametrize("prefix", ["view-default.", "view-override."])
def test_invalid_view_default_property_is_rejected(
    open_catalog: CatalogFactory, database: str, metastore: EmbeddedMetastore, raw: Client, prefix: str
) -> None:
    catalog = open_catalog({f"{prefix}uuid": "mine"})
    with pytest.raises(InvalidPropertyError) as caught:
        catalog.create_view(f"{database}.v", SCHEMA, version(database))
    assert caught.value.key == "uuid"
    assert nothing_there(metastore, raw, database)


def test_replace_applies_overrides_but_not_defaults_of_catalog(open_catalog: CatalogFactory, database: str) -> None:
    """Overrides hold for every commit of a definition; defaults are for new views, and reset nothing later."""
    plain = open_catalog()
    catalog = open_catalog({"view-default.a": "default", "view-override.b": "override"})
    plain.create_view(f"{database}.v", SCHEMA, version(database), properties={"a": "mine", "b": "mine"})
    replaced = catalog.replace_view(f"{database}.v", SCHEMA, version(database), properties={"b": "no", "c": "c"})
    assert replaced.properties == {"a": "mine", "b": "override", "c": "c"}
    other = catalog.create_or_replace_view(f"{database}.w", SCHEMA, version(database))
    assert other.properties == {"a": "default", "b": "override"}


def test_properties_are_in_row_and_file(catalog: HiveViewCatalog, database: str, raw: Client) -> None:
    properties = {"comment": "größer als 5 €", "größe": "", "a.b-c": "x" * 30_000}
    view = catalog.create_view(f"{database}.v", SCHEMA, version(database), properties=properties)
    assert view.properties == properties
    assert catalog.load_view(f"{database}.v").properties == properties
    parameters = raw.get_table(database, "v").parameters
    assert {key: parameters[key] for key in properties} == properties


def test_no_compression(catalog: HiveViewCatalog, database: str) -> None:
    plain = {"write.metadata.compression-codec": "none"}
    view = catalog.create_view(f"{database}.v", SCHEMA, version(database), properties=plain)
    assert path(view.metadata_location).read_bytes().startswith(b'{"view-uuid":')
    assert ".gz." not in view.metadata_location
    assert catalog.load_view(f"{database}.v") == view


def test_owner_is_recorded(catalog: HiveViewCatalog, database: str, raw: Client) -> None:
    owned = {"hive.metastore.table.owner": "ada"}
    view = catalog.create_view(f"{database}.v", SCHEMA, version(database), properties=owned)
    assert view.owner == raw.get_table(database, "v").owner == "ada"
    assert view.update().set_properties({"hive.metastore.table.owner": "bob"}).commit().owner == "bob"


# -- Columns -------------------------------------------------------------------------------------------------------

NESTED = Schema(
    NestedField(1, "id", LongType(), required=True, doc="clé"),
    NestedField(
        2,
        "lines",
        ListType(3, StructType(NestedField(4, "price", DecimalType(10, 2)), NestedField(5, "at", TimestamptzType()))),
    ),
    NestedField(6, "tags", MapType(7, StringType(), 8, ListType(9, IntegerType()))),
)


@pytest.mark.parametrize(("more", "time"), [({}, "timestamp"), (HIVE_3, "timestamp with local time zone")])
def test_nested_columns(
    open_catalog: CatalogFactory, database: str, raw: Client, more: dict[str, str], time: str
) -> None:
    catalog = open_catalog(more)
    catalog.create_view(f"{database}.v", NESTED, version(database))
    assert [(field.name, field.type, field.comment) for field in raw.get_table(database, "v").sd.cols] == [
        ("id", "bigint", "clé"),
        ("lines", f"array<struct<price:decimal(10,2),at:{time}>>", None),
        ("tags", "map<string,array<int>>", None),
    ]
    for reader in (open_catalog(), open_catalog(HIVE_3)):
        loaded = reader.load_view(f"{database}.v")
        assert loaded.schema() == NESTED
        assert loaded.drift == ()


def test_create_from_arrow_schema(catalog: HiveViewCatalog, database: str) -> None:
    arrow = pytest.importorskip("pyarrow")
    columns = arrow.schema(
        [arrow.field("id", arrow.int64(), nullable=False), arrow.field("tags", arrow.list_(arrow.string()))]
    )
    view = catalog.create_view(f"{database}.v", columns, version(database))
    assert [(field.name, str(field.field_type), field.required) for field in view.schema().fields] == [
        ("id", "long", True),
        ("tags", "list<string>", False),
    ]
    replaced = catalog.replace_view(
        f"{database}.v", arrow.schema([arrow.field("x", arrow.date32())]), version(database)
    )
    assert replaced.schema().column_names == ["x"]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ([], "no columns"),
        ([NestedField(1, "at", TimestampNanoType())], "column 'at': Hive has no type for Iceberg's timestamp_ns"),
        (
            [NestedField(1, "a", IntegerType()), NestedField(2, "b", ListType(3, TimestampNanoType()))],
            "column 'b': Hive has no type for Iceberg's timestamp_ns",
        ),
        ([NestedField(1, "Id", IntegerType()), NestedField(2, "iD", IntegerType())], "columns 'Id' and 'iD'"),
    ],
    ids=["none", "type", "nested type", "case"],
)
def test_columns_that_cannot_be_stored(
    catalog: HiveViewCatalog,
    database: str,
    metastore: EmbeddedMetastore,
    raw: Client,
    fields: list[NestedField],
    reason: str,
) -> None:
    with pytest.raises(InvalidViewError, match=reason) as caught:
        catalog.create_view(f"{database}.v", Schema(*fields), version(database))
    assert caught.value.identifier == f"{database}.v"
    assert nothing_there(metastore, raw, database)
    view = catalog.create_view(f"{database}.v", OTHER_SCHEMA, version(database))
    attempts = [
        lambda: catalog.replace_view(f"{database}.v", Schema(*fields), version(database)),
        lambda: view.update().replace_version(version(database), Schema(*fields)).commit(),
    ]
    for attempt in attempts:
        with pytest.raises(InvalidViewError, match=reason):
            attempt()
    assert catalog.load_view(f"{database}.v") == view
    assert files_below(view.location()) == {path(view.metadata_location)}


def test_columns_preserve_case(catalog: HiveViewCatalog, database: str, raw: Client) -> None:
    schema = Schema(NestedField(1, "OrderId", LongType()), NestedField(2, "größe", LongType()))
    view = catalog.create_view(f"{database}.v", schema, version(database))
    assert view.schema().column_names == ["OrderId", "größe"]
    assert [field.name for field in raw.get_table(database, "v").sd.cols] == ["orderid", "größe"]
    assert catalog.load_view(f"{database}.v").drift == ()


# -- Texts ---------------------------------------------------------------------------------------------------------


@pytest.mark.characters
def test_non_ascii_texts_are_preserved(catalog: HiveViewCatalog, database: str, raw: Client) -> None:
    typed, expanded = "select 'ä€語😀' -- größe\n", "select 'ä€語😀' as `größe`"
    definition = define(typed, dialect="spark", default_namespace=(database,), expanded=expanded)
    created = catalog.create_view(f"{database}.v", SCHEMA, definition, properties={"comment": "😀"})
    for view in (created, catalog.load_view(f"{database}.v")):
        assert (view.original_text, view.expanded_text) == (typed, expanded)
        representation = view.sql_for("spark")
        assert representation is not None
        assert representation.sql == typed
        assert view.drift == ()
    row = raw.get_table(database, "v")
    assert (row.viewOriginalText, row.viewExpandedText, row.parameters["comment"]) == (typed, expanded, "😀")


LIMIT = 32_700
"""The longest view text on Derby, in characters."""


def test_longest_text_is_kept(catalog: HiveViewCatalog, database: str) -> None:
    text = "select '" + "x" * (LIMIT - 9) + "'"
    assert len(text) == LIMIT
    view = catalog.create_view(f"{database}.v", SCHEMA, version(database, ("spark", text)))
    assert view.expanded_text == text
    assert catalog.load_view(f"{database}.v") == view


@pytest.mark.hive2
@pytest.mark.parametrize(
    ("schema", "definition", "given", "cause"),
    [
        (
            SCHEMA,
            version("d", ("spark", f"select '{'x' * 1_000_000}'")),
            {},
            r"the original text has 1,000,009 characters, the expanded text has 1,000,009",
        ),
        (SCHEMA, version("d"), {"prop": "p" * 50_000}, "the parameter prop has 50,000 characters"),
        (Schema(NestedField(1, "c" * 800, LongType())), version("d"), {}, r"the name of the column c{20}… has 800"),
    ],
    ids=["text", "property", "column"],
)
def test_unstorable_values_are_rejected(
    catalog: HiveViewCatalog,
    database: str,
    metastore: EmbeddedMetastore,
    raw: Client,
    schema: Schema,
    definition: Any,
    given: dict[str, str],
    cause: str,
) -> None:
    """The error adds to the server's reason the view and its longest values."""
    with pytest.raises((MetastoreRefusedError, CommitStateUnknownError), match=cause) as caught:
        catalog.create_view(f"{database}.v", schema, definition, properties=given)
    assert f"{database}.v" in str(caught.value)
    assert len(str(caught.value)) < 2_000
    assert raw.get_all_tables(database) == []
    # Derby's error names the length of a text only; a statement that just fails is no proof, and the file is kept.
    is_proven = "text" in cause
    assert isinstance(caught.value, MetastoreRefusedError) is is_proven
    assert nothing_there(metastore, raw, database) is is_proven


# -- Existing objects ------------------------------------------------------------------------------------------------


def test_create_if_not_exists(catalog: HiveViewCatalog, database: str) -> None:
    view = catalog.create_view_if_not_exists(f"{database}.v", SCHEMA, version(database), properties={"a": "b"})
    again = catalog.create_view_if_not_exists(f"{database}.v", OTHER_SCHEMA, version(database))
    assert again == view
    assert view.properties == {"a": "b"}


def test_identifier_with_other_catalog_is_rejected(
    catalog: HiveViewCatalog, open_catalog: CatalogFactory, database: str
) -> None:
    """Names of catalogs are names of connections: the metastore does not know them."""
    view = catalog.create_view(f"{database}.v", SCHEMA, version(database))
    other = open_catalog(name="dev")
    assert other.load_view(f"dev.{database}.v") == view
    assert not other.view_exists(f"prod.{database}.v")


def test_view_in_database_created_by_other_client(catalog: HiveViewCatalog, raw: Client, own_directory: str) -> None:
    """A database of another program whose location does not exist yet."""
    raw.create_database(Database(name="made_elsewhere", locationUri=f"{own_directory}/x/y/"))
    view = catalog.create_view("made_elsewhere.v", SCHEMA, version("made_elsewhere", ("spark", QUERY)))
    assert view.location() == f"{own_directory}/x/y/v"
    catalog.drop_view("made_elsewhere.v", purge_files=True)
    catalog.drop_namespace("made_elsewhere")


@pytest.mark.parametrize(
    ("comment", "stored"),
    [
        ("c" * 5_000, "c" * 253 + "..."),
        pytest.param("😀" * 128, "😀" * 128, marks=pytest.mark.characters),
        pytest.param("😀" * 129, "😀" * 126 + "...", marks=pytest.mark.characters),
        pytest.param("ab😀" * 100, "ab😀" * 63 + "a...", marks=pytest.mark.characters),
    ],
    ids=["ascii", "fits", "surrogates", "mixed"],
)
def test_long_comment_of_a_column_is_cut_in_the_row_only(
    catalog: HiveViewCatalog, database: str, raw: Client, comment: str, stored: str
) -> None:
    schema = Schema(NestedField(1, "a", LongType(), doc=comment))
    view = catalog.create_view(f"{database}.v", schema, version(database))
    assert raw.get_table(database, "v").sd.cols[0].comment == stored
    assert (view.schema().fields[0].doc, view.drift) == (comment, ())
