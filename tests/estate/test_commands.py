"""Every command that only reads, over every object, every database and the whole estate.

None ends because of one object, and none changes a row. The answers are in `answers/`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter

import pytest
import typer.main

from hive_views.cli.app import app
from tests.estate.answers import answer_of, check
from tests.estate.build import NOISE_DATABASE
from tests.estate.conftest import Estate, databases, objects
from tests.integration.cli.conftest import Done
from tests.metastore_calls import recorded_calls

MAX_SECONDS_OBJECT = 20.0
MAX_SECONDS_ALL = 240.0
"""Limits on a busy machine; the requests are what is compared."""

DEFECT = 70
CODES = (0, 1, 2, 3, 4)
"""What a command may answer: success, a problem, wrong usage, not found, not such an object."""


@dataclass(frozen=True)
class Form:
    """A form of a command over one object, one database or everything."""

    words: str
    """Its words; {} is the name of the object or database."""
    fields: tuple[str, ...] = ()
    """The fields of its document that are recorded; all if empty."""
    each: bool = True
    """Whether it runs over each object, or over one of each kind."""
    step: int = 1
    """Of the objects, one of each kind, only each n-th is used: a command that looks for dependents reads all views for
    each object."""

    @property
    def id(self) -> str:
        return self.words.replace(" {}", "").replace(" ", "_").replace("--", "")

    def line(self, name: str) -> list[str]:
        """The words for a name."""
        return [word.replace("{}", name) for word in self.words.split()]


SHOWN = (
    "kind",
    "owner",
    "comment",
    "columns",
    "validity",
    "problems",
    "engines",
    "drift",
    "properties",
    "current_version_id",
)

OBJECT_FORMS = (
    Form("show {} --engines", SHOWN),
    Form("history {}", ("view", "entries"), each=False),
    Form("diff {} 1 2", each=False),
    Form("deps tree {}", each=False, step=5),
    Form("deps tree {} --up", each=False),
    Form("deps impact {} --drop", each=False, step=5),
    Form("deps impact {} --drop-column id", each=False, step=5),
    Form("deps check {}"),
    Form("deps partitions {}", each=False),
    Form("drop {} --dry-run", each=False, step=5),
    Form("mv status {}", each=False),
    Form("mv explain {}", each=False),
    Form("mv refreshes {}", each=False),
    Form("mv rows {} --limit 2", each=False),
    Form("mv orphans {}", each=False),
    Form("export --view {}", each=False),
    Form("import plan --view {}", ("views",)),
)
"""Commands over one object that change nothing."""

DATABASE_FORMS = (
    Form("list {}"),
    Form("list {} --long --all"),
    Form("deps graph {}"),
    Form("deps check {}"),
    Form("doctor --database {} --no-write"),
    Form("export {}"),
    Form("import plan {}", ("views",)),
    Form("mv list {}"),
    Form("mv status --database {}"),
    Form("mv abandoned {}", each=False),
)
"""Commands over one database that change nothing."""

FEW_DATABASES = ("own_views", "iceberg_views")
"""For a command that reads all rows of the metastore for each database."""

WHOLE_FORMS = (
    Form("database list"),
    Form("list"),
    Form("list --long --all"),
    Form("deps graph"),
    Form("deps check"),
    Form("doctor --no-write"),
    Form("mv status --all"),
)
"""Commands over everything that change nothing."""

ELSEWHERE = {
    **dict.fromkeys(("create", "replace", "rollback", "rename", "set", "unset", "register", "drop"), "test_changes"),
    **dict.fromkeys(("recompile", "adopt", "repair", "sql run", "import run", "import revert"), "test_changes"),
    **dict.fromkeys(
        ("mv create", "mv copy", "mv expire", "mv replace", "mv set", "mv plain", "mv back"), "test_changes"
    ),
    **dict.fromkeys(("mv drop", "database create", "database drop", "import report"), "test_changes"),
    "mv refresh": "test_spark",
    "import compare": "tests/integration/hive/test_import_compare.py, with the engines of the views",
    "sql expand": "reads no metastore",
    **dict.fromkeys(("copy plan", "copy run", "copy revert"), "test_copies"),
    **dict.fromkeys(("metastore start", "metastore stop", "metastore status"), "reads no rows"),
    **dict.fromkeys(
        ("upgrade detect", "upgrade plan", "upgrade render", "upgrade apply", "upgrade verify", "upgrade rollback"),
        "test_upgrade",
    ),
}
"""The commands that have no form here, and why."""


def commands() -> Iterator[str]:
    """All commands, found by the groups of the command line."""

    def walk(command: object, words: tuple[str, ...]) -> Iterator[str]:
        inner = getattr(command, "commands", None)
        if inner is None:
            yield " ".join(words)
            return
        for name, item in inner.items():
            yield from walk(item, (*words, name))

    yield from walk(typer.main.get_command(app), ())


def test_all_commands_have_a_form_or_a_reason() -> None:
    forms = [form.words for form in (*OBJECT_FORMS, *DATABASE_FORMS, *WHOLE_FORMS)]
    without = {name for name in commands() if not any(f"{words} ".startswith(f"{name} ") for words in forms)}
    assert without - ELSEWHERE.keys() == set()
    assert ELSEWHERE.keys() <= set(commands())


@pytest.fixture
def calls() -> Iterator[list[str]]:
    with recorded_calls() as calls:
        yield calls


@pytest.fixture(scope="module", autouse=True)
def unchanged(estate: Estate) -> Iterator[None]:
    """No command of this module changes a row."""
    before = estate.rows()
    yield
    after = estate.rows()
    assert {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)} == set()


def run(estate: Estate, words: list[str], limit: float) -> Done:
    """Run a command in its form with JSON, which must end well: with an exit code for users, and in time."""
    started = perf_counter()
    done = estate.cli("--json", *words)
    seconds = perf_counter() - started
    assert done.code in CODES, (words, done)
    assert "Traceback" not in done.err, (words, done)
    if done.code != 0 and not done.out.strip():
        assert json.loads(done.err.splitlines()[-1])["error"], (words, done)
    assert seconds < limit, (words, seconds)
    return done


@pytest.mark.parametrize("form", OBJECT_FORMS, ids=lambda form: form.id)
def test_command_over_each_object(estate: Estate, calls: list[str], form: Form) -> None:
    answers = {}
    for name in objects() if form.each else representatives()[:: form.step]:
        calls.clear()
        done = run(estate, form.line(name), MAX_SECONDS_OBJECT)
        answers[name] = answer_of(done, len(calls), form.fields)
    check(f"object_{form.id}", answers)


@pytest.mark.parametrize("form", DATABASE_FORMS, ids=lambda form: form.id)
def test_command_over_each_database(estate: Estate, calls: list[str], form: Form) -> None:
    answers = {}
    for name in databases() if form.each else FEW_DATABASES:
        calls.clear()
        done = run(estate, form.line(name), MAX_SECONDS_ALL)
        answers[name] = answer_of(done, len(calls), form.fields)
    check(f"database_{form.id}", answers)


@pytest.mark.parametrize("form", WHOLE_FORMS, ids=lambda form: form.id)
def test_command_over_everything(estate: Estate, calls: list[str], form: Form) -> None:
    done = run(estate, form.line(""), MAX_SECONDS_ALL)
    check(f"whole_{form.id}", {"": answer_of(done, len(calls), form.fields)})


@pytest.mark.parametrize("form", (*OBJECT_FORMS, *DATABASE_FORMS), ids=lambda form: form.id)
def test_text_has_the_same_outcome_as_json(estate: Estate, form: Form) -> None:
    """For one object or database of each kind: the exit code is that of the JSON form, and there is some text."""
    quiet = [name for name in databases() if name != NOISE_DATABASE] if form.each else FEW_DATABASES
    names = representatives()[:: form.step] if form in OBJECT_FORMS else quiet
    for name in names:
        text, document = estate.cli(*form.line(name)), estate.cli("--json", *form.line(name))
        assert text.code == document.code, (form, name, text, document)
        assert "Traceback" not in text.err, (form, name, text)
        assert text.code == 0 or (text.out + text.err).strip(), (form, name)


SPECIAL = (
    "iceberg_views.files_gone",
    "iceberg_views.file_damaged",
    "iceberg_tables.files_gone",
    "hive_views.over_gone",
)
"""Objects whose files, and whose sources, are gone."""


def representatives() -> list[str]:
    """One object of each kind of row: its type, format, and the parameters that programs recognize."""
    marks = ("table_type", "transactional_properties", "storage_handler", "spark.sql.sources.provider", "presto_view")
    found: dict[tuple[object, ...], str] = {}
    for name, row in objects().items():
        parameters = row.get("parameters", {})
        store = row.get("sd", {})
        kind = (
            row.get("tableType"),
            store.get("inputFormat"),
            bool(row.get("partitionKeys")),
            row.get("viewOriginalText", "")[:20] if row.get("viewOriginalText", "").startswith("/* Presto") else "",
            any(key.startswith("hive-views.") for key in parameters),
            *(parameters.get(mark) for mark in marks),
        )
        found.setdefault(kind, name)
    return sorted({*found.values(), *SPECIAL})
