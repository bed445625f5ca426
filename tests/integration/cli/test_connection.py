"""The catalog of a command: options, environment and PyIceberg's configuration, and their precedence."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hive_views.catalog.configuration import configured_catalog
from hive_views.cli.connection import ConnectionOptions, parse_properties
from hive_views.errors import UsageError
from hive_views.local_metastore.embedded import EmbeddedMetastore
from tests.integration.cli.conftest import invoke

NOWHERE = "thrift://127.0.0.1:1"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory without a configuration; PyIceberg reads it from there."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PYICEBERG_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def configure(home: Path, text: str) -> None:
    if text:
        (home / ".pyiceberg.yaml").write_text(text, encoding="utf-8")


def test_catalog_is_read_from_yaml_file(home: Path, metastore: EmbeddedMetastore, database: str) -> None:
    places = f"uri: {metastore.uri}\n    warehouse: {metastore.warehouse}"
    configure(home, f"catalog:\n  prod:\n    type: hive\n    {places}\n")
    assert invoke("--catalog", "prod", "list", database, "--json").json == {"views": []}
    assert invoke("list", database, HIVE_VIEWS_CATALOG="prod").code == 0
    # The catalog's name may stand in front of a view's.
    done = invoke("--catalog", "prod", "create", f"prod.{database}.v", "--sql", "SELECT 1", "-c", "n:int")
    assert done.out == f"{database}.v: created, version 1 is current\n"


def test_catalog_is_read_from_environment(metastore: EmbeddedMetastore, database: str) -> None:
    done = invoke("--catalog", "prod", "list", database, PYICEBERG_CATALOG__PROD__URI=metastore.uri)
    assert (done.code, done.err) == (0, "")


def test_default_catalog(home: Path, metastore: EmbeddedMetastore, database: str) -> None:
    configure(home, f"default-catalog: mine\ncatalog:\n  mine:\n    uri: {metastore.uri}\n")
    assert invoke("list", database).code == 0


def test_options_override_the_configuration(home: Path, metastore: EmbeddedMetastore) -> None:
    configure(home, f"catalog:\n  prod:\n    uri: {NOWHERE}\n    warehouse: file:///there\n    nested:\n      a: b\n")
    properties = {"hive-views.pool-size": "3", "uri": metastore.uri}
    catalog = ConnectionOptions(name="prod", warehouse="file:///here", properties=properties).catalog()
    assert catalog.name == "prod"
    given = {"uri": metastore.uri, "warehouse": "file:///here", "hive-views.pool-size": "3"}
    assert catalog.properties == {**given, "hive.hive2-compatible": "true"}  # our default, passed to PyIceberg's tables


def test_options_override_environment(metastore: EmbeddedMetastore, database: str) -> None:
    there = {"PYICEBERG_CATALOG__PROD__URI": metastore.uri, "PYICEBERG_CATALOG__BAD__URI": NOWHERE}
    assert invoke("--catalog", "prod", "list", database, HIVE_VIEWS_URI=NOWHERE, **there).code == 0
    assert invoke("--uri", metastore.uri, "list", database, HIVE_VIEWS_CATALOG="bad", **there).code == 0
    assert invoke("--uri", metastore.uri, "--catalog", "prod", "list", **there).code == 2
    assert invoke("list", HIVE_VIEWS_URI=metastore.uri, HIVE_VIEWS_CATALOG="prod", **there).code == 2


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        ("", ["list"], "no catalog is named"),
        ("", ["list"], "or start a metastore on this machine: hive-views metastore start"),
        ("catalog:\n  a:\n    uri: x\n", ["list"], "it has a"),
        ("catalog:\n  a:\n    uri: x\n", ["--catalog", "b", "list"], "has no catalog 'b' (it has a)"),
        ("catalog:\n  a:\n    type: rest\n", ["--catalog", "a", "list"], "of type 'rest', not a Hive Metastore"),
        ("# nothing\n", ["--catalog", "a", "list"], "PyIceberg's configuration cannot be read"),
        ("- a\n", ["list"], "PyIceberg's configuration cannot be read"),
        ("catalog: [\n", ["--catalog", "a", "list"], "PyIceberg's configuration cannot be read"),
        ("catalog: text\n", ["--catalog", "a", "list"], "PyIceberg's configuration cannot be read"),
        ("catalog:\n  a:\n    warehouse: x\n", ["--catalog", "a", "list"], "name at least one metastore"),
        ("", ["--uri", "host:9083", "list"], "is not of the form thrift://host:port"),
        ("", ["--uri", NOWHERE, "--property", "x", "list"], "'x' is not of the form key=value"),
        ("", ["--uri", NOWHERE, "--property", "hive-views.pool-size=x", "list"], "it must be a whole number"),
    ],
)
def test_unusable_connection_options_are_rejected(home: Path, text: str, words: list[str], message: str) -> None:
    configure(home, text)
    done = invoke(*words)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


BROKEN = {
    "a value like a mapping": ("catalog:\n  a:\n    s3.secret-access-key: TOPSECRET: x\n", "line 3 (ScannerError)"),
    "an alias": ("catalog:\n  a:\n    password: *TOPSECRET\n", "line 3 ("),
    "a key twice": ("catalog:\n  a:\n    k: TOPSECRET\n    k: TOPSECRET\n", "line 4 (DuplicateKeysDisallowed)"),
    "no mapping": ("catalog: TOPSECRET\n", "(ValueError)"),
    "no catalog": ("catalog:\n  a: TOPSECRET\n", "(ValueError)"),
    "no text": ("catalog:\n  a:\n    k: TOPSECRET\x00\n", "("),
}


@pytest.mark.parametrize("case", BROKEN)
def test_error_for_unreadable_configuration_hides_its_values(home: Path, case: str) -> None:
    text, message = BROKEN[case]
    configure(home, text)
    for words in (["--catalog", "a", "list"], ["--json", "--catalog", "a", "list"]):
        done = invoke(*words)
        assert (done.code, done.out) == (2, "")
        assert "cannot be read" in done.err
        assert f"{home / '.pyiceberg.yaml'}" in done.err
        assert message in done.err
        assert "TOPSECRET" not in done.err


def test_error_for_contradictory_environment_hides_its_values() -> None:
    done = invoke("--catalog", "a", "list", PYICEBERG_CATALOG__A="x", PYICEBERG_CATALOG__A__PASSWORD="TOPSECRET")
    assert (done.code, done.out) == (2, "")
    assert "environment" in done.err
    assert "TOPSECRET" not in done.err


def test_configuration_that_breaks_pyiceberg_import_is_reported(home: Path) -> None:
    """It reads it while it is imported, which it was long ago in this process."""
    configure(home, BROKEN["a value like a mapping"][0])
    done = subprocess.run(
        [sys.executable, "-m", "hive_views", "--uri", NOWHERE, "list"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: --catalog: PyIceberg's configuration cannot be read")
    assert "TOPSECRET" not in done.stderr


def test_properties_are_parsed_and_validated() -> None:
    assert parse_properties(["a=1", "b=x=y", "c=", "a=2"], "-p") == {"a": "2", "b": "x=y", "c": ""}
    for text in ("a", "=b", ""):
        with pytest.raises(UsageError, match="-p"):
            parse_properties([text], "-p")


def test_configured_catalog_names_are_case_insensitive(home: Path) -> None:
    configure(home, "catalog:\n  Prod:\n    uri: thrift://h:1\n")
    assert configured_catalog("PROD") == ("PROD", {"uri": "thrift://h:1"})
