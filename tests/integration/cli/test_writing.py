"""create, replace, rename, rollback, drop, set, unset, register: effects, results and errors."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import urlparse

import pytest

from hive_views import HiveViewCatalog, define
from hive_views.cli.columns import parse_columns
from hive_views.cli.commands.writing import parse_time
from hive_views.errors import UsageError
from hive_views.local_metastore.embedded import EmbeddedMetastore
from tests.integration.cli.conftest import Cli, make_hive_view
from tests.integration.metastore.rpc import connect

KEYS = [
    "view", "outcome", "version_id", "uuid", "metadata_location", "previous_metadata_location", "renamed_from", "raw",
]  # fmt: skip
QUERY = ("--sql", "SELECT 1 AS n", "--column", "n:int")


def file_of(location: str) -> Path:
    return Path(urlparse(location).path)


# -- create -----------------------------------------------------------------------------------------------------------


def test_create_raw_with_all_options(cli: Cli, catalog: HiveViewCatalog, database: str) -> None:
    done = cli(
        "create", f"{database}.v", "--raw", "--sql", "  SELECT a, b FROM t;\n;", "-c", "a:bigint:the a",
        "-c", "b:array<string>", "--dialect", "trino", "--default-namespace", "other", "--default-catalog", "lake",
        "--expanded", "SELECT `t`.`a`, `t`.`b` FROM `other`.`t`", "-p", "team=bi", "--property", "formula=a=b",
        "--comment", "all of t", "--json",
    )  # fmt: skip
    written = done.json
    assert list(written) == KEYS
    view = catalog.load_view(f"{database}.v")
    assert written == {
        "view": f"{database}.v",
        "outcome": "created",
        "version_id": 1,
        "uuid": view.metadata.view_uuid,
        "metadata_location": view.metadata_location,
        "previous_metadata_location": None,
        "renamed_from": None,
        "raw": True,
    }
    version = view.current_version()
    assert (version.default_namespace, version.default_catalog) == (("other",), "lake")
    assert view.sql_for("trino").sql == view.original_text == "SELECT a, b FROM t"
    assert view.expanded_text == view.sql_for("hive").sql == "SELECT `t`.`a`, `t`.`b` FROM `other`.`t`"
    assert version.summary["engine-name"] == "hive-views"
    assert {"team": "bi", "formula": "a=b", "comment": "all of t"}.items() <= view.metadata.properties.items()
    assert [(field.name, str(field.field_type), field.doc) for field in view.schema().fields] == [
        ("a", "long", "the a"),
        ("b", "list<string>", None),
    ]


def test_create_at_a_location(cli: Cli, catalog: HiveViewCatalog, database: str, tmp_path: Path) -> None:
    place = tmp_path.as_uri()
    assert cli("create", f"{database}.v", *QUERY, "--location", f"{place}/v").code == 0
    assert catalog.load_view(f"{database}.v").metadata_location.startswith(f"{place}/v/metadata/00000-")
    (tmp_path / "file").touch()
    done = cli("create", f"{database}.w", *QUERY, "--location", f"{place}/file", "--json")
    assert (done.code, done.error["type"]) == (1, "MetadataWriteError")
    assert not catalog.view_exists(f"{database}.w")


def test_create_from_a_file_and_from_standard_input(
    cli: Cli, catalog: HiveViewCatalog, database: str, tmp_path: Path
) -> None:
    query = tmp_path / "query.sql"
    query.write_text("-- Zürich, 東京\nSELECT 1 AS n;\n", encoding="utf-8")
    first = cli(
        "create",
        f"{database}.a",
        "--raw",
        "--file",
        str(query),
        "-c",
        "n:int",
        "--expanded-file",
        "-",
        stdin="SELECT 2\n",
    )
    assert first.out.startswith(f"{database}.a: created, version 1 is current\nStored as it is:")
    view = catalog.load_view(f"{database}.a")
    assert (view.original_text, view.expanded_text) == ("-- Zürich, 東京\nSELECT 1 AS n", "SELECT 2")
    assert view.current_version().default_namespace == (database,)
    assert cli("create", f"{database}.b", "-f", "-", "-c", "n:int", stdin="SELECT 3;").code == 0
    assert catalog.load_view(f"{database}.b").original_text == "SELECT 3"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-c", "n:int"], "--sql: give the query"),
        (["--raw", "--sql", "SELECT 1"], "--column: name each column"),
        (["--sql", " ; \n", "-c", "n:int"], "--sql: the query is empty"),
        (["--sql", "SELECT 1", "--file", "-", "-c", "n:int"], "--sql: cannot be combined with --file"),
        (
            ["--raw", "--file", "-", "--expanded-file", "-", "-c", "n:int"],
            "standard input can contain only one of the texts",
        ),
        (["--file", "/nowhere.sql", "-c", "n:int"], "--file: /nowhere.sql cannot be read"),
        (["--raw", "--sql", "SELECT 1", "-c", "n"], "--column: 'n' is not of the form name:type"),
        (["--sql", "SELECT 1", "-c", "n:nothing"], "'nothing' is not a type"),
        ([*QUERY, "-p", "x"], "--property: 'x' is not of the form key=value"),
        ([*QUERY, "-p", "uuid=x"], "the catalog itself writes this key"),
        ([*QUERY, "--if-not-exists", "--or-replace"], "--if-not-exists: cannot be combined with --or-replace"),
        ([*QUERY, "--nonsense"], "No such option"),
        (["--raw", *QUERY, "-c", "t:timestamp_ns"], "Hive has no type"),
    ],
)
def test_wrong_usage_of_create(cli: Cli, database: str, words: list[str], message: str) -> None:
    done = cli("create", f"{database}.v", *words, stdin="SELECT 1")
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert cli("list", database).out == ""


@pytest.mark.parametrize("name", ["v", "a.b.c.d", "{}.with-dash", "{}.", "{}." + "x" * 257])
def test_invalid_names_are_rejected(cli: Cli, database: str, name: str) -> None:
    done = cli("create", name.format(database), *QUERY)
    assert (done.code, done.out) == (2, "")
    assert "Invalid identifier" in done.err


def test_create_with_existing_name(cli: Cli, catalog: HiveViewCatalog, metastore: EmbeddedMetastore, top: str) -> None:
    before = catalog.load_view(top).metadata_location
    done = cli("create", top, *QUERY, "--json")
    assert (done.code, done.error["type"], done.error["operands"]) == (4, "ViewAlreadyExistsError", {"identifier": top})
    kept = cli("create", top, *QUERY, "--if-not-exists", "--json").json
    assert (kept["outcome"], kept["version_id"], kept["metadata_location"]) == ("unchanged", 2, before)
    make_hive_view(metastore, top, "plain")
    taken = f"{top.partition('.')[0]}.plain"
    for more in ([], ["--if-not-exists"], ["--or-replace"]):
        assert cli("create", taken, *QUERY, *more).code == 4
    assert cli("create", "nothere.v", *QUERY).code == 3


def test_create_or_replace(cli: Cli, database: str) -> None:
    words = ("create", f"{database}.v", "--or-replace", "--json", "--sql", "SELECT 1 AS n")
    outcomes = [
        cli(*words).json,
        cli(*words).json,
        cli(*words, "--sql", "SELECT 1 AS m", "-c", "n").json,
    ]
    assert [(item["outcome"], item["version_id"]) for item in outcomes] == [
        ("created", 1),
        ("unchanged", 1),
        ("replaced", 2),
    ]


# -- replace ----------------------------------------------------------------------------------------------------------


def test_replace_keeps_unspecified_fields(cli: Cli, catalog: HiveViewCatalog, database: str) -> None:
    name = f"{database}.v"
    words = ("--raw", "--dialect", "trino", "--default-namespace", "other", "--default-catalog", "lake", "-p", "a=1")
    assert cli("create", name, *QUERY, *words).code == 0
    done = cli("replace", name, "--raw", "--sql", "SELECT 2 AS n", "-p", "b=2", "--comment", "two", "--json").json
    assert (done["outcome"], done["version_id"]) == ("replaced", 2)
    view = catalog.load_view(name)
    version = view.current_version()
    assert (view.dialects, version.default_namespace, version.default_catalog) == (("trino",), ("other",), "lake")
    assert [field.name for field in view.schema().fields] == ["n"]
    assert {"a": "1", "b": "2", "comment": "two"}.items() <= view.metadata.properties.items()
    rejected = cli("replace", name, "--sql", "SELECT 3 AS n")
    assert (rejected.code, "refer to the catalog lake" in rejected.err) == (2, True)
    emptied = ("--raw", "--sql", "SELECT 3 AS n", "--default-catalog", "", "--default-namespace", "x")
    assert cli("replace", name, *emptied).code == 0
    version = catalog.load_view(name).current_version()
    assert (version.default_namespace, version.default_catalog) == (("x",), None)


def test_replace_with_equal_definition_changes_nothing(cli: Cli, database: str) -> None:
    first = cli("create", f"{database}.v", *QUERY, "--json").json
    again = cli("replace", f"{database}.v", *QUERY, "--json").json
    assert again == {**first, "outcome": "unchanged"}


def test_replace_rejects_loss_of_dialect(cli: Cli, top: str) -> None:
    done = cli("replace", top, "--sql", "SELECT 1 AS n", "--raw", "--dialect", "trino", "-c", "n:int", "--json")
    assert (done.code, done.error["type"]) in [(4, "DialectLossError")]
    assert done.error["operands"]["previous"] == ["spark", "hive"]


def test_replace_with_several_authored_dialects_requires_dialect(
    cli: Cli, catalog: HiveViewCatalog, database: str
) -> None:
    version = define("SELECT 1", dialect="spark", default_namespace=(database,))
    other = define("SELECT 2", dialect="trino", default_namespace=(database,))
    both = version.model_copy(update={"representations": [*version.representations, *other.representations]})
    catalog.create_view(f"{database}.v", parse_columns(["n:int"]), both)
    done = cli("replace", f"{database}.v", "--sql", "SELECT 3")
    assert (done.code, "--dialect: the view has texts for spark, trino" in done.err) == (2, True)


def test_replace_of_missing_view(cli: Cli, database: str) -> None:
    assert cli("replace", f"{database}.v", *QUERY).code == 3


# -- rollback ---------------------------------------------------------------------------------------------------------


def test_rollback_restores_version_once(cli: Cli, catalog: HiveViewCatalog, top: str) -> None:
    assert cli("rollback", top, "--to-version", "1", "-p", "x=1").code == 2
    done = cli("rollback", top, "--to-version", "1", "--json").json
    assert (done["outcome"], done["version_id"]) == ("rolled back", 1)
    assert catalog.load_view(top).original_text == "SELECT id, n FROM t"
    assert cli("rollback", top, "--to-version", "1", "--json").json["outcome"] == "unchanged"


@pytest.mark.parametrize("form", ["milliseconds", "as shown", "offset", "no zone"])
def test_rollback_to_a_time(cli: Cli, top: str, form: str) -> None:
    first = cli("history", top, "--json").json["entries"][0]
    time = {
        "milliseconds": str(first["timestamp_ms"]),
        "as shown": first["time"],
        "offset": first["time"].replace("Z", "+00:00"),
        "no zone": first["time"].removesuffix("Z").replace("T", " "),
    }[form]
    assert cli("rollback", top, "--to-time", time, "--json").json["version_id"] == 1


def test_invalid_rollback_is_rejected(cli: Cli, top: str) -> None:
    assert cli("rollback", top).code == 2
    assert cli("rollback", top, "--to-version", "1", "--to-time", "1").code == 2
    assert cli("rollback", top, "--to-time", "yesterday").code == 2
    assert cli("rollback", top, "--to-version", "9").code == 3
    assert cli("rollback", top, "--to-time", "2001-01-01").code == 3
    assert cli("rollback", top, "--to-version", "x").code == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("1767182400123", 1767182400123),
        ("2025-12-31T12:00:00.123Z", 1767182400123),
        ("2025-12-31T12:00:00.123", 1767182400123),
        ("2025-12-31T14:00:00.123+02:00", 1767182400123),
        ("2025-12-31 12:00", 1767182400000),
        ("2025-12-31", 1767139200000),
    ],
)
def test_time_is_parsed_to_milliseconds(text: str, expected: int) -> None:
    assert parse_time(text) == expected


@pytest.mark.parametrize("text", ["", "now", "2025-13-01", "-5", "1e9", "²", "12:00"])
def test_invalid_time_is_rejected(text: str) -> None:
    with pytest.raises(UsageError):
        parse_time(text)


# -- rename, drop, register -------------------------------------------------------------------------------------------


def test_rename_moves_view_and_rejects_invalid_targets(
    cli: Cli, metastore: EmbeddedMetastore, top: str, database: str
) -> None:
    done = cli("rename", f"hive.{top}".upper().replace("HIVE", "hive"), f"{database}.best", "--json").json
    assert (done["view"], done["outcome"], done["renamed_from"]) == (f"{database}.best", "renamed", top)
    assert cli("rename", f"{database}.best", top).out == f"{database}.best -> {top}: renamed, version 2 is current\n"
    assert cli("create", f"{database}.other", *QUERY).code == 0
    assert cli("rename", top, f"{database}.other").code == 4
    assert cli("rename", top, "nothere.v").code == 3
    assert cli("rename", f"{database}.nothing", f"{database}.v").code == 3
    make_hive_view(metastore, top, "plain")
    assert cli("rename", top, f"{database}.plain").code == 4
    assert cli("rename", top, "a b").code == 2


def test_purge_that_leaves_files_fails_after_the_drop(cli: Cli, catalog: HiveViewCatalog, top: str) -> None:
    storage = "py-io-impl=tests.unit.io.test_deletion.Undeletable"  # it keeps the first file
    done = cli("--property", storage, "drop", top, "--yes", "--purge", "--json")
    result = json.loads(done.out)
    assert (done.code, result["outcome"], result["purged"]) == (1, "dropped", False)
    (remaining,) = result["remaining_files"]
    assert "/00000-" in remaining
    assert not catalog.view_exists(top)


def test_dropped_view_is_restored_by_register(cli: Cli, catalog: HiveViewCatalog, top: str) -> None:
    view = catalog.load_view(top)
    dropped = cli("drop", top, "--yes", "--json").json
    assert dropped == {
        "view": top,
        "outcome": "dropped",
        "purged": False,
        "metadata_location": view.metadata_location,
        "others": [],
        "dependents": [],
        "remaining_files": [],
        "unknown": [],
        "table": None,
        "text": None,
    }
    assert not catalog.view_exists(top)
    back = cli("register", top, dropped["metadata_location"], "--json").json
    assert (back["outcome"], back["version_id"], back["uuid"]) == ("registered", 2, view.metadata.view_uuid)
    assert catalog.load_view(top).metadata == view.metadata
    assert cli("register", top, dropped["metadata_location"]).code == 4
    missing = cli("register", f"{top}2", "file:///nowhere.metadata.json", "--json")
    assert (missing.code, missing.error["type"]) == (1, "MetadataFileNotFoundError")
    text = cli("drop", top, "-y").out.splitlines()
    assert text == [f"{top}: dropped", f"To bring it back: hive-views register {top} {view.metadata_location}"]


def test_drop_with_purge(cli: Cli, catalog: HiveViewCatalog, top: str) -> None:
    view = catalog.load_view(top)
    done = cli("drop", top, "--yes", "--purge", "--json").json
    assert list(done.items())[:4] == [
        ("view", top),
        ("outcome", "dropped"),
        ("purged", True),
        ("metadata_location", None),
    ]
    assert not file_of(view.metadata_location).exists()


def test_purge_keeps_files_if_gc_is_disabled(cli: Cli, catalog: HiveViewCatalog, top: str) -> None:
    assert cli("set", top, "gc.enabled=false").code == 0
    view = catalog.load_view(top)
    done = cli("drop", top, "--yes", "--purge", "--json").json
    assert done["purged"] is False
    assert done["metadata_location"] == view.metadata_location
    assert file_of(view.metadata_location).exists()


def test_view_with_missing_metadata_file_can_be_dropped(cli: Cli, catalog: HiveViewCatalog, top: str) -> None:
    location = catalog.load_view(top).metadata_location
    file_of(location).unlink()
    assert cli("drop", top, "--yes", "--purge").code == 1
    assert cli("drop", top, "--yes", "--json").json["metadata_location"] == location
    assert not catalog.view_exists(top)


def test_drop_of_missing_view(cli: Cli, metastore: EmbeddedMetastore, top: str, database: str) -> None:
    assert cli("drop", f"{database}.nothing", "--yes").code == 3
    done = cli("drop", f"{database}.Nothing", "--yes", "--if-exists", "--json").json
    assert (done["view"], done["outcome"], done["purged"]) == (f"{database}.nothing", "absent", False)
    assert done["metadata_location"] is None
    make_hive_view(metastore, top, "plain")
    assert cli("drop", f"{database}.plain", "--yes", "--if-exists").code == 4
    with connect(metastore.port) as client:
        assert client.get_table(database, "plain").tableName == "plain"


def test_drop_without_a_terminal_needs_yes(cli: Cli, catalog: HiveViewCatalog, top: str) -> None:
    done = cli("drop", top, "--purge", stdin="y\n", env=None)
    assert (done.code, done.out) == (2, "")
    assert f"Drop view {top} and permanently delete all its metadata files?" in done.err
    assert catalog.view_exists(top)


# -- set, unset -------------------------------------------------------------------------------------------------------


def test_set_and_unset_properties(cli: Cli, catalog: HiveViewCatalog, top: str) -> None:
    done = cli("set", top, "team=ops", "formula=a=b", "empty=", "--json").json
    assert (done["outcome"], done["version_id"]) == ("changed", 2)
    assert {"team": "ops", "formula": "a=b", "empty": ""}.items() <= catalog.load_view(top).metadata.properties.items()
    assert cli("set", top, "team=ops", "--json").json["outcome"] == "unchanged"
    assert cli("unset", top, "team", "nothing", "--json").json["outcome"] == "changed"
    assert "team" not in catalog.load_view(top).metadata.properties
    assert cli("unset", top, "nothing", "--json").json["outcome"] == "unchanged"


def test_invalid_properties_are_rejected(cli: Cli, top: str, database: str) -> None:
    for words in (["set", top], ["unset", top], ["set", top, "x"], ["set", top, "=x"], ["set", top, "uuid=1"]):
        assert cli(*words).code == 2, words
    assert cli("set", f"{database}.nothing", "a=1").code == 3
