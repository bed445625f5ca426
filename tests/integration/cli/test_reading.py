"""list, show, history, diff: their text and their JSON documents."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from urllib.parse import urlparse

import pytest

from hive_views import HiveViewCatalog, define
from hive_views.catalog.statements import execute_statement
from hive_views.cli.columns import parse_columns
from hive_views.cli.commands.reading import iso_time
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.metastore._thrift.hive_metastore.ttypes import EnvironmentContext
from hive_views.sql.parsing.ddl import parse_statement
from hive_views.sql.text.dialects import Dialect
from tests.integration.catalog.samples import hive_row
from tests.integration.cli.conftest import Cli, make_hive_view
from tests.integration.metastore.rpc import connect

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def test_list_prints_views_as_text_and_json(cli: Cli, top: str, database: str) -> None:
    expected = {"view": top, "database": database, "name": "top", "kind": "view", "owner": None, "comment": None}
    expected["problem"] = None
    assert cli("list", database, "--json").json == {"views": [expected]}
    assert expected in cli("--json", "list").json["views"]
    assert cli("list", database.upper()).out == f"{top}\n"
    assert top in cli("list").out.splitlines()


def test_list_has_no_plain_hive_views_and_no_tables(cli: Cli, metastore: EmbeddedMetastore, top: str) -> None:
    database = top.partition(".")[0]
    make_hive_view(metastore, top, "plain")
    assert cli("list", database).out == f"{top}\n"
    entries = cli("list", database, "--all", "--long", "--json").json["views"]
    assert [(item["name"], item["kind"]) for item in entries] == [("plain", "hive-view"), ("top", "view")]
    assert entries[1]["comment"] == "numbers"
    assert [line.split()[:2] for line in cli("list", database, "--all").out.splitlines()[1:]] == [
        [f"{database}.plain", "hive-view"],
        [top, "view"],
    ]


def test_list_of_an_empty_database(cli: Cli, database: str) -> None:
    assert cli("list", database).out == ""
    assert cli("list", database, "--json").json == {"views": []}


def test_list_of_missing_database(cli: Cli) -> None:
    done = cli("list", "nothere")
    assert (done.code, done.out, done.err) == (3, "", "Error: Namespace does not exist: nothere\n")


def test_show_prints_all_details_of_view(cli: Cli, top: str, database: str) -> None:
    shown = cli("show", top, "--json").json
    assert list(shown) == [
        "view", "database", "name", "uuid", "comment", "owner", "create_time", "location", "metadata_location",
        "previous_metadata_location", "current_version_id", "version_ids", "version", "row", "drift", "validity",
        "problems", "properties", "history", "engines",
    ]  # fmt: skip
    assert (shown["view"], shown["database"], shown["name"]) == (top, database, "top")
    assert shown["comment"] == "numbers"
    assert {"comment": "numbers", "team": "bi"}.items() <= shown["properties"].items()
    assert shown["location"].endswith(f"/{database}.db/top")
    assert shown["metadata_location"].startswith(f"{shown['location']}/metadata/00001-")
    assert shown["previous_metadata_location"].startswith(f"{shown['location']}/metadata/00000-")
    assert (shown["current_version_id"], shown["version_ids"], shown["drift"]) == (2, [1, 2], [])
    stored, expanded = "SELECT id, n, 1 AS one\nFROM t", "SELECT `t`.`id`, `t`.`n`, 1 AS `one` FROM `d`.`t`"
    row = shown["row"]
    assert (row["original_text"], row["expanded_text"]) == (stored, expanded)
    assert row["parameters"]["metadata_location"] == shown["metadata_location"]
    version = shown["version"]
    assert TIME.fullmatch(version.pop("time"))
    assert isinstance(version.pop("timestamp_ms"), int)
    assert version == {
        "version_id": 2,
        "current": True,
        "operation": "replace",
        "engine": "hive-views",
        "default_catalog": None,
        "default_namespace": [database],
        "original_text": stored,
        "expanded_text": expanded,
        "representations": [
            {"type": "sql", "dialect": "spark", "sql": stored, "generated": False},
            {"type": "sql", "dialect": "hive", "sql": expanded, "generated": True},
        ],
        "columns": [
            {"id": 1, "name": "id", "type": "long", "required": False, "comment": "the number"},
            {"id": 2, "name": "n", "type": "string", "required": False, "comment": None},
            {"id": 3, "name": "one", "type": "int", "required": False, "comment": None},
        ],
        "summary": version["summary"],
    }
    assert version["summary"]["operation"] == "replace"


def test_show_an_older_version(cli: Cli, top: str) -> None:
    shown = cli("show", top, "--version", "1", "--json").json
    version = shown["version"]
    assert (version["version_id"], version["current"], version["operation"]) == (1, False, "create")
    assert version["original_text"] == version["expanded_text"] == "SELECT id, n FROM t"
    assert [column["name"] for column in version["columns"]] == ["id", "n"]
    assert shown["current_version_id"] == 2
    text = cli("show", top, "--version", "1").out
    assert f"{top}  version 1 (not current: version 2 is; one of 2)" in text
    assert "SELECT id, n FROM t" in text
    assert "AS one" not in text


def test_show_missing_version(cli: Cli, top: str) -> None:
    done = cli("show", top, "--version", "7", "--json")
    assert (done.code, done.error["type"]) == (3, "NoSuchVersionError")
    assert done.error["operands"] == {"identifier": top, "wanted": "7", "available": [1, 2]}


def test_show_for_people(cli: Cli, top: str) -> None:
    lines = [line.rstrip() for line in cli("show", top).out.splitlines()]
    assert lines[0] == f"{top}  version 2 (current; one of 2)"
    assert "  Comment            numbers" in lines
    assert "  1  id    long    the number" in lines
    start = lines.index("Text as typed  (viewOriginalText in the metastore's row)")
    assert lines[start + 1 : start + 4] == ["  SELECT id, n, 1 AS one", "  FROM t", ""]
    assert lines[lines.index("Representation: spark  (authored)") + 1] == "  the same as: text as typed"
    assert lines[lines.index("Representation: hive  (generated)") + 1].endswith("text for Hive and plain Spark")
    assert "  team = bi" in lines
    assert "Drift" not in "".join(lines)
    assert lines[-1].split()[0::2] == ["2", "replace", "current"]


def test_engines_show_the_settings_that_iceberg_ignores(cli: Cli, catalog: HiveViewCatalog, database: str) -> None:
    settings = {"hive-views.conf.spark.sql.session.timeZone": "Asia/Tokyo", "hive-views.conf.spark.sql.ui.x": "1"}
    query = f"CREATE VIEW {database}.v AS SELECT hour(current_timestamp()) AS h"
    statement = parse_statement(query, Dialect.SPARK)
    execute_statement(catalog, statement, database=database, summary=settings)
    text = cli("show", f"{database}.v", "--engines").out
    assert "Spark's catalog of Iceberg: applies the settings of its session" in text
    assert "its author had spark.sql.session.timeZone=Asia/Tokyo\n" in text
    assert "catalog of Iceberg" not in cli("show", f"{database}.v").out


def test_control_characters_in_output_are_escaped(cli: Cli, database: str) -> None:
    name = f"{database}.evil"
    assert cli("create", name, "--sql", "SELECT 1 -- \x1b[2Jx", "-c", "n:int:[red]a\x07", "-p", "k=\x9b1").code == 0
    text = cli("show", name).out
    assert "␛[2Jx" in text
    assert "[red]a␇" in text
    assert not set("\x1b\x07\x9b") & set(text)
    assert cli("show", name, "--json").json["version"]["original_text"] == "SELECT 1 -- \x1b[2Jx"


def test_scripts_are_printed_as_they_are(cli: Cli, database: str) -> None:
    """A text that is run again must not lose a delimiter such as U+0001; only a terminal gets escapes."""
    literal = "'a\x01b\x85c\u202ed\u2028e'"
    assert cli("create", f"{database}.v", "--sql", f"SELECT {literal} AS s").code == 0
    assert literal in cli("export", "--view", f"{database}.v").out
    assert literal in cli("sql", f"SHOW CREATE TABLE {database}.v").out


def test_drift_is_shown(cli: Cli, metastore: EmbeddedMetastore, top: str) -> None:
    database, name = top.split(".")
    with connect(metastore.port) as client:
        row = client.get_table(database, name)
        changed = copy.deepcopy(row)
        changed.viewExpandedText = "SELECT 2"
        changed.sd.cols = changed.sd.cols[:1]
        client.alter_table_with_environment_context(database, name, changed, EnvironmentContext(properties={}))
    drift = cli("show", top, "--json").json["drift"]
    assert drift == [
        {"field": "expanded-text", "row": "SELECT 2", "file": "SELECT `t`.`id`, `t`.`n`, 1 AS `one` FROM `d`.`t`"},
        {
            "field": "columns",
            "row": [["id", "bigint"]],
            "file": [["id", "bigint"], ["n", "string"], ["one", "int"]],
        },
    ]
    text = cli("show", top).out
    assert "expanded-text, row : SELECT 2\n" in text
    assert "columns, file: id bigint, n string, one int\n" in text


def test_show_of_non_view(cli: Cli, metastore: EmbeddedMetastore, top: str) -> None:
    database = top.partition(".")[0]
    make_hive_view(metastore, top, "plain")
    assert cli("show", f"{database}.nothere").code == 3
    plain = cli("show", f"{database}.plain", "--json").json
    assert (plain["kind"], plain["import_command"]) == ("hive-view", f"hive-views import plan --view {database}.plain")
    text = cli("show", f"{database}.plain").out
    assert plain["row"]["expanded_text"] in text and plain["import_command"] in text
    assert cli("history", f"{database}.plain").code == 4
    assert cli("show", "a.b.c").code == 2
    assert cli("show").code == 2


def test_shell_completion_of_names(cli: Cli, metastore: EmbeddedMetastore, top: str) -> None:
    database = top.partition(".")[0]

    def completed(words: str, uri: str = metastore.uri) -> list[str]:
        words = f"hive-views --uri {uri} {words}"
        shell = {"_HIVE_VIEWS_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        return cli(HIVE_VIEWS_URI=None, **shell).out.split()

    assert f"{database}." in completed(f"show {database[:3]}")
    assert completed(f"show {database}.t") == [top]
    assert completed(f"show {database}.t", "thrift://127.0.0.1:1") == []


def test_show_view_with_missing_metadata_file(cli: Cli, catalog: HiveViewCatalog, top: str) -> None:
    location = catalog.load_view(top).metadata_location
    Path(urlparse(location).path).unlink()
    done = cli("show", top, "--json")
    assert (done.code, done.error["type"]) == (1, "MetadataFileNotFoundError")
    assert done.error["operands"]["location"] == location


def test_history_includes_rollback(cli: Cli, top: str) -> None:
    assert cli("rollback", top, "--to-version", "1").code == 0
    answer = cli("history", top, "--json").json
    assert (answer["view"], answer["current_version_id"]) == (top, 1)
    for entry in answer["entries"]:
        assert iso_time(entry.pop("timestamp_ms")) == entry.pop("time")
    common = {"engine": "hive-views", "expired": False}
    assert answer["entries"] == [
        {"version_id": 1, "operation": "create", "current": False, **common},
        {"version_id": 2, "operation": "replace", "current": False, **common},
        {"version_id": 1, "operation": "rollback", "current": True, **common},
    ]
    lines = [line.split() for line in cli("history", top).out.splitlines()]
    assert lines[0] == ["Version", "Made", "current", "By", "Engine"]
    assert [line[0:1] + line[2:] for line in lines[1:]] == [
        ["1", "create", "hive-views"],
        ["2", "replace", "hive-views"],
        ["1", "rollback", "hive-views", "current"],
    ]


def test_diff_prints_changed_texts_and_columns(cli: Cli, top: str, database: str) -> None:
    answer = cli("diff", top, "1", "2", "--json").json
    assert list(answer) == ["view", "old", "new", "texts", "columns"]
    for side, number in (("old", 1), ("new", 2)):
        assert TIME.fullmatch(answer[side].pop("time"))
        assert answer[side] == {"version_id": number, "default_catalog": None, "default_namespace": [database]}
    assert answer["texts"] == [
        {
            "text": "spark",
            "change": "changed",
            "diff": "--- version 1 (spark)\n+++ version 2 (spark)\n@@ -1 +1,2 @@\n-SELECT id, n FROM t\n"
            "+SELECT id, n, 1 AS one\n+FROM t",
        },
        {
            "text": "hive",
            "change": "added",
            "diff": "--- version 1 (hive)\n+++ version 2 (hive)\n@@ -0,0 +1 @@\n"
            "+SELECT `t`.`id`, `t`.`n`, 1 AS `one` FROM `d`.`t`",
        },
    ]
    one = {"id": 3, "name": "one", "type": "int", "required": False, "comment": None}
    assert answer["columns"] == [{"name": "one", "change": "added", "old": None, "new": one}]
    text = cli("diff", top, "1", "2").out
    assert "Text: spark (changed)\n--- version 1 (spark)\n" in text
    assert "\nColumns\n+ one int\n" in text
    back = cli("diff", top, "2", "1").out
    assert "Text: hive (removed)" in back
    assert "\n- one int\n" in back


def test_diff_of_columns(cli: Cli, database: str) -> None:
    name = f"{database}.v"
    before, after = ("a:int", "b:int:old", "c:int", "d:int"), ("B:long:new", "a:int", "d:int", "e:int")
    for command, columns in (("create", before), ("replace", after)):
        flags = [word for column in columns for word in ("-c", column)]
        assert cli(command, name, "--raw", "--sql", f"SELECT {command}", *flags).code == 0
    column_changes = cli("diff", name, "1", "2", "--json").json["columns"]
    assert [(item["name"], item["change"]) for item in column_changes] == [
        ("c", "removed"),
        ("B", "changed"),
        ("a", "moved"),
        ("e", "added"),
    ]
    assert (column_changes[1]["old"]["type"], column_changes[1]["new"]["type"]) == ("int", "long")
    text = cli("diff", name, "1", "2").out
    assert "~ b int (old) -> B long (new)\n~ a (moved)\n+ e int\n" in text


def test_diff_of_equal_and_missing_versions(cli: Cli, top: str) -> None:
    same = cli("diff", top, "2", "2", "--json").json
    assert [(item["change"], item["diff"]) for item in same["texts"]] == [("same", ""), ("same", "")]
    assert same["columns"] == []
    assert "Columns (same)" in cli("diff", top, "2", "2").out
    assert cli("diff", top, "2", "3").code == 3


def test_diff_compares_typed_text_without_representation(cli: Cli, catalog: HiveViewCatalog, database: str) -> None:
    name, columns = f"{database}.star", parse_columns(["a:int"])
    catalog.create_view(
        name, columns, define("SELECT *", dialect="spark", default_namespace=(database,), stored="SELECT a")
    )
    view = catalog.load_view(name)
    changed = define("SELECT  *", dialect="spark", default_namespace=(database,), stored="SELECT a")
    view.update().replace_version(changed).commit()
    text_changes = cli("diff", name, "1", "2", "--json").json["texts"]
    assert [(item["text"], item["change"]) for item in text_changes] == [("typed", "changed"), ("spark", "same")]
    assert cli("show", name, "--json").json["version"]["original_text"] == "SELECT  *"


@pytest.mark.parametrize(
    ("milliseconds", "expected"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1767182400123, "2025-12-31T12:00:00.123Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (2**63 - 1, str(2**63 - 1)),
    ],
)
def test_iso_time(milliseconds: int, expected: str) -> None:
    assert iso_time(milliseconds) == expected


def test_materialized_view_of_hive_is_called_what_it_is(cli: Cli, metastore: EmbeddedMetastore, database: str) -> None:
    with connect(metastore.port) as client:
        row = hive_row(database, "mv", "MATERIALIZED_VIEW")
        row.viewOriginalText = row.viewExpandedText = "select 1 as a"
        client.create_table(row)
    for words in (("show",), ("history",), ("mv", "status"), ("mv", "rows")):
        done = cli(*words, f"{database}.mv")
        assert "a materialized view of Hive" in done.err, words
        assert f"`hive-views import plan --view {database}.mv` plans its import" in done.err, words
