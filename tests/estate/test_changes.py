"""Every command that changes something, over one object of each kind, in this order on one copy.

A command that is refused changes no row; one that succeeds changes only what it names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from time import perf_counter

import pytest

from tests.estate.answers import answer_of, check
from tests.estate.conftest import Estate, databases
from tests.estate.rows import Row
from tests.estate.test_commands import DEFECT, MAX_SECONDS_OBJECT, representatives
from tests.integration.metastore.rpc import connect
from tests.metastore_calls import recorded_calls

NEW = "made_by_tests"
"""The database of new views and tables."""
UUIDS = frozenset({"hive-views.uuid", "hive_views_uuid", "uuid"})
"""Parameters that a definition writes into the rows of its sources, so that a replaced source is noticed."""


@dataclass(frozen=True)
class Change:
    """A command over one object."""

    id: str
    words: tuple[str, ...]
    """Its words; {} is the object, {new} a name in the database NEW."""
    may_change: tuple[str, ...] = ("{}",)
    """The rows that it may change when it succeeds."""
    fields: tuple[str, ...] = field(default=("kind", "view", "outcome", "action", "dropped"))
    """The fields of its document that are recorded."""

    def line(self, name: str, number: int) -> list[str]:
        """The words for an object."""
        return [fill(word, name, number) for word in self.words]


def fill(text: str, name: str, number: int) -> str:
    return text.replace("{new}", f"{NEW}.{text_id(name)}_{number}").replace("{}", name).replace("{sql}", quoted(name))


def text_id(name: str) -> str:
    """The database of an object, as a part of another name."""
    return name.partition(".")[0]


def quoted(name: str) -> str:
    """A name in a query."""
    return ".".join(f"`{part.replace('`', '``')}`" for part in name.split(".", 1))


OVER = "SELECT * FROM {sql}"

CHANGES = (
    Change("sql_describe", ("sql", "DESCRIBE {sql}"), ()),
    Change("sql_show_create", ("sql", "SHOW CREATE TABLE {sql}"), ()),
    Change("sql_show_columns", ("sql", "SHOW COLUMNS IN {sql}"), ()),
    Change("sql_show_properties", ("sql", "SHOW TBLPROPERTIES {sql}"), ()),
    Change("create_taken", ("create", "{}", "--sql", "SELECT 1 AS one"), ()),
    Change("create_over", ("create", "{new}_c", "--sql", OVER), ("{new}_c",)),
    Change("create_over_hive", ("create", "{new}_h", "--sql", OVER, "--dialect", "hive"), ("{new}_h",)),
    Change("sql_create_over", ("sql", f"CREATE VIEW {{new}}_s AS {OVER}"), ("{new}_s",)),
    Change("mv_create_over", ("mv", "create", "{new}_m", "--sql", OVER), ("{new}_m",)),
    Change("set", ("set", "{}", "estate=1")),
    Change("unset", ("unset", "{}", "estate")),
    Change("recompile", ("recompile", "{}", "--yes"), fields=("views",)),
    Change("adopt", ("adopt", "{}")),
    Change("repair", ("repair", "{}", "--yes")),
    Change("rollback", ("rollback", "{}", "--to-version", "1")),
    Change("replace", ("replace", "{}", "--sql", "SELECT 1 AS one")),
    Change("register", ("register", "{}", "file:/tmp/none.metadata.json"), ()),
    Change("mv_set", ("mv", "set", "{}", "-p", "hive-views.max-staleness-ms=1")),
    Change("mv_replace", ("mv", "replace", "{}", "--sql", "SELECT 1 AS one")),
    Change("mv_expire", ("mv", "expire", "{}", "--yes")),
    Change("mv_copy", ("mv", "copy", "{}", "{new}_k"), ("{}", "{new}_k")),
    Change("mv_plain", ("mv", "plain", "{}")),
    Change("mv_back", ("mv", "back", "{}")),
    Change("sql_alter_properties", ("sql", "ALTER VIEW {sql} SET TBLPROPERTIES ('estate'='1')")),
    Change("sql_alter_as", ("sql", "ALTER VIEW {sql} AS SELECT 2 AS two")),
    Change("sql_drop_if_exists_other", ("sql", "DROP VIEW IF EXISTS {new}_none"), ()),
    Change("rename", ("rename", "{}", "{new}_r"), ("{}", "{new}_r")),
    Change("sql_rename", ("sql", "ALTER VIEW {sql} RENAME TO {new}_sr"), ("{}", "{new}_sr")),
    Change("mv_drop", ("mv", "drop", "{}", "--yes")),
    Change("sql_drop", ("sql", "DROP VIEW {sql}")),
    Change("drop", ("drop", "{}", "--purge", "--yes")),
)


@pytest.fixture(scope="module", autouse=True)
def new_database(estate: Estate) -> Iterator[None]:
    done = estate.cli("database", "create", NEW)
    assert done.code == 0, done
    yield


@pytest.fixture(scope="module")
def state(estate: Estate, new_database: None) -> dict[str, dict[str, Row]]:
    """The rows before the next test."""
    return {"rows": estate.rows()}


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.id)
def test_command_changes_only_what_it_names(estate: Estate, state: dict[str, dict[str, Row]], change: Change) -> None:
    answers, allowed = {}, set()
    for number, name in enumerate(representatives()):
        words = change.line(name, number)
        started = perf_counter()
        with recorded_calls() as calls:
            done = estate.cli("--json", *words)
        assert perf_counter() - started < MAX_SECONDS_OBJECT, words
        assert done.code < DEFECT, (words, done)
        assert "Traceback" not in done.err, (words, done)
        if done.code == 0:
            allowed |= {fill(item, name, number) for item in change.may_change}
        answers[name] = answer_of(done, len(calls), change.fields)
    before, state["rows"] = state["rows"], estate.rows()
    assert changed(before, state["rows"]) - allowed == set()
    check(f"change_{change.id}", answers)


def changed(before: dict[str, Row], after: dict[str, Row]) -> set[str]:
    """The names of rows that differ in more than the UUIDs of sources; a storage table has the name of its view."""
    names = {name for name in before.keys() | after.keys() if comparable(before, name) != comparable(after, name)}
    return {name.removesuffix("__storage") for name in names}


def comparable(rows: dict[str, Row], name: str) -> Row | None:
    row = rows.get(name)
    if row is None:
        return None
    parameters = {key: value for key, value in row.get("parameters", {}).items() if key not in UUIDS}
    # The server returns the current rows of the sources of Hive's materialized views.
    creation = {key: value for key, value in row.get("creationMetadata", {}).items() if key != "sourceTables"}
    return {**row, "parameters": parameters, "creationMetadata": creation}


def test_databases_with_objects_are_not_dropped(estate: Estate, state: dict[str, dict[str, Row]]) -> None:
    before = estate.rows()
    answers = {}
    for name in databases():
        done = estate.cli("--json", "database", "drop", name, "--yes")
        assert done.code < DEFECT, (name, done)
        answers[name] = answer_of(done, 0)
    check("change_database_drop", answers)
    dropped = {f"{name}." for name, answer in answers.items() if answer["code"] == 0}
    assert changed(before, estate.rows()) == dropped
    with connect(estate.metastore.port) as client:
        assert "hive_tables" in client.get_all_databases()
