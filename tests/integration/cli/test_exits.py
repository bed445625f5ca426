"""Exit codes and diagnostics, which docs/cli.md lists."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from hive_views import errors
from hive_views.cli.exit_codes import CODES, ExitCode, error_document, exit_code, report_defect, report_error
from hive_views.cli.output import print_line
from hive_views.local_metastore.embedded import EmbeddedMetastore
from tests.integration.cli.conftest import Cli, invoke
from tests.integration.doctor.relay import Relay
from tests.proxy import EVERY, DropReply, ThriftProxy

PAGE = (Path(__file__).parents[3] / "docs" / "cli.md").read_text(encoding="utf-8")


def all_errors(root: type[errors.HiveViewsError] = errors.HiveViewsError) -> list[type[errors.HiveViewsError]]:
    return [root, *(each for kind in root.__subclasses__() for each in all_errors(kind))]


def test_page_lists_every_exit_code() -> None:
    section = PAGE.partition("## Exit codes")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (\d+) \| (.*) \|$", section, flags=re.MULTILINE)
    assert rows == [(str(code.value), code.meaning) for code in ExitCode]


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (errors.HiveViewsError, 1),
        (errors.UsageError, 2),
        (errors.InvalidIdentifierError, 2),
        (errors.InvalidPropertyError, 2),
        (errors.InvalidViewError, 2),
        (errors.SqlError, 2),
        (errors.NoSuchVersionError, 3),
        (errors.NoSuchNamespaceError, 3),
        (errors.NoSuchViewError, 3),
        (errors.NoSuchTableError, 3),
        (errors.NotAViewError, 3),
        (errors.DialectLossError, 4),
        (errors.DependentsError, 4),
        (errors.NotAnIcebergViewError, 4),
        (errors.ViewAlreadyExistsError, 4),
        (errors.TableAlreadyExistsError, 4),
        (errors.CommitFailedError, 4),
        (errors.LockTimeoutError, 4),
        (errors.LockError, 1),
        (errors.CommitStateUnknownError, 5),
        (errors.MetastoreUnavailableError, 6),
        (errors.MetastoreConnectionLostError, 6),
        (errors.MetastoreTimeoutError, 6),
        (errors.MetastoreRefusedError, 1),
        (errors.MetadataFileNotFoundError, 1),
        (errors.InvalidMetadataError, 1),
        (errors.MetadataWriteError, 1),
        (errors.EmbeddedMetastoreError, 1),
    ],
)
def test_exit_code_of_error(kind: type[errors.HiveViewsError], code: int) -> None:
    assert exit_code(kind.__new__(kind)) == code


def test_every_error_has_an_exit_code() -> None:
    for kind in all_errors():
        assert exit_code(kind.__new__(kind)) in ExitCode
    assert CODES[errors.HiveViewsError] is ExitCode.FAILED


def test_error_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    error = errors.NoSuchVersionError("a.b", "7", [1, 2])
    assert error_document(error) == {
        "error": str(error),
        "type": "NoSuchVersionError",
        "operands": {"identifier": "a.b", "wanted": "7", "available": (1, 2)},
    }
    assert error_document(ZeroDivisionError("x")) == {"error": "x", "type": "ZeroDivisionError", "operands": {}}
    assert report_error(errors.InvalidPropertyError(("a",), Path("/p"), "é"), as_json=True) == 2
    out, err = capsys.readouterr()
    assert (out, json.loads(err)["operands"]) == ("", {"key": ["a"], "value": "/p", "reason": "é"})
    assert err.count("\n") == 1


def test_error_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert report_error(errors.NoSuchNamespaceError("x"), as_json=False) == 3
    assert capsys.readouterr() == ("", "Error: Namespace does not exist: x\n")


CONTROL_CHARACTERS = "s3://\x1b]0;title\x07\x9b2J\u202e\r/00000-a.metadata.json"


def test_control_characters_in_errors_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    error = errors.MetadataFileNotFoundError(CONTROL_CHARACTERS)
    report_error(error, as_json=False)
    report_error(error, as_json=True)
    report_defect(ValueError(CONTROL_CHARACTERS), as_json=False)
    stderr = capsys.readouterr().err
    assert not set("\x1b\x07\x9b\u202e\r") & set(stderr)
    text, line, *trace = stderr.splitlines()
    assert text.startswith("Error: Cannot read the metadata file s3://␛]0;title␇")
    assert json.loads(line)["operands"]["location"] == CONTROL_CHARACTERS
    assert trace[-1].startswith("ValueError: s3://␛]0;title␇")


def test_control_characters_in_lines_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    print_line(f"owner {CONTROL_CHARACTERS}")
    assert not set("\x1b\x07\x9b\u202e\r") & set(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nonsense"], "No such command 'nonsense'."),
        (["show"], "Missing argument 'NAME'."),
        (["show", "a.b", "--version", "x"], "Invalid value for '--version'"),
        (["--nonsense", "list"], "No such option"),
        (["set", "a.b", "--", "--json"], "is not of the form key=value"),
    ],
)
def test_usage_error(words: list[str], message: str) -> None:
    done = invoke("--uri", "thrift://127.0.0.1:1", *words)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert not done.err.startswith("{")


def test_usage_error_as_json() -> None:
    done = invoke("show", "--json")
    assert (done.code, done.error["type"], done.error["operands"]) == (2, "UsageError", {})
    assert "Missing argument 'NAME'" in done.error["error"]
    assert invoke("--json", "nonsense").error["error"] == "No such command 'nonsense'."


def test_unreachable_metastore() -> None:
    done = invoke("--uri", "thrift://127.0.0.1:1", "list", "--json")
    assert (done.code, done.error["type"]) == (6, "MetastoreUnavailableError")
    assert "cannot connect to the metastore" in done.error["error"]


def test_unknown_outcome(cli: Cli, proxy: ThriftProxy, top: str) -> None:
    proxy.on("alter_table_with_environment_context", DropReply(), nth=EVERY)
    words = ("--property", "hive-views.settle-timeout-ms=300", "set", top, "a=1", "--json")
    done = cli(*words, HIVE_VIEWS_URI=proxy.uri)
    assert done.code == 5
    assert done.error["type"] == "CommitStateUnknownError"
    assert done.error["operands"]["identifier"] == top


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("create_database", ("database", "create", "{0}_new")),
        ("drop_database", ("database", "drop", "{0}_old", "--yes")),
    ],
)
def test_unknown_outcome_of_change_of_database(
    cli: Cli, proxy: ThriftProxy, database: str, method: str, words: tuple[str, ...]
) -> None:
    """The reply is lost after the change: the exit code must not state that nothing was changed."""
    assert cli("database", "create", f"{database}_old").code == 0
    proxy.on(method, DropReply())
    done = cli(*(word.format(database) for word in words), "--json", HIVE_VIEWS_URI=proxy.uri)
    assert done.code == 5
    assert done.error["type"] == "MetastoreConnectionLostError"
    for name in (f"{database}_old", f"{database}_new"):
        cli("database", "drop", name, "--yes")


def test_warning_is_printed_on_stderr(cli: Cli, metastore: EmbeddedMetastore, database: str) -> None:
    greek = "Ελλάδα".encode()
    words = ("--sql", "SELECT 'Ελλάδα'", "-c", "n:string", "--or-replace")
    with Relay(metastore.port, requests={greek: b"?" * len(greek)}) as relay:
        done = cli("create", f"{database}.v", *words, "--json", HIVE_VIEWS_URI=relay.uri)
        text = cli("create", f"{database}.w", *words, HIVE_VIEWS_URI=relay.uri)
    assert (done.code, json.loads(done.out)["outcome"]) == (0, "created")
    warning = json.loads(done.err)
    assert warning["type"] == "DamagedRowWarning"
    assert "the metadata file is complete" in warning["warning"]
    assert (text.code, text.err) == (0, f"Warning: {warning['warning'].replace('.v:', '.w:')}\n")


def test_no_arguments_print_help() -> None:
    done = invoke()
    assert (done.code, done.err) == (0, "")
    assert "Usage: hive-views" in done.out
    assert invoke("--help").out == done.out
    assert re.fullmatch(r"hive-views \d+\.\d+\.\d+\n", invoke("--version").out)
