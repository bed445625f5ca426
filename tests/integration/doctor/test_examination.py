"""The doctor on a real metastore: healthy, unreachable, and with defects injected by a relay or a proxy."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlparse

import pytest

from hive_views import HiveViewCatalog
from hive_views.config import ConnectionConfig
from hive_views.doctor import DoctorReport, Finding, Level, examine
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.metastore._thrift.hive_metastore.ttypes import EnvironmentContext, ShowLocksRequest
from hive_views.metastore.capabilities import TEMPORARY_ROW_PREFIX, TemporaryRow
from hive_views.metastore.transport.client import MetastoreClient
from tests.integration.doctor.relay import Relay
from tests.integration.metastore.rpc import connect
from tests.proxy import ANY, EVERY, BlackHole, DropReply, ThriftProxy

NOWHERE = "thrift://127.0.0.1:1"


def checked(
    uri: str, database: str | None = None, properties: Mapping[str, str] | None = None, *, write: bool = True
) -> tuple[DoctorReport, dict[str, Finding]]:
    """Return a report and the last finding of each check."""
    with_catalog = HiveViewCatalog("test", **{"uri": uri, **(properties or {})})
    report = examine(with_catalog, database=database, write=write)
    with_catalog.close()
    return report, {finding.check: finding for finding in report.findings}


def levels(report: DoctorReport) -> dict[str, str]:
    """Return the findings that are warnings or problems."""
    return {finding.check: finding.level.value for finding in report.findings if finding.level is not Level.OK}


def left_behind(metastore: EmbeddedMetastore, database: str) -> list[str]:
    """Return rows, locks and files that an examination must remove."""
    with connect(metastore.port) as client:
        rows = [name for name in client.get_all_tables(database) if name.startswith(TEMPORARY_ROW_PREFIX)]
        locks = [lock.tablename for lock in client.show_locks(ShowLocksRequest(dbname=database)).locks]
        location = Path(urlparse(client.get_database(database).locationUri).path)
    files = [str(path) for path in location.rglob(f"{TEMPORARY_ROW_PREFIX}*")] if location.exists() else []
    return [*rows, *[lock for lock in locks if lock.startswith(TEMPORARY_ROW_PREFIX)], *files]


def make_view(catalog: HiveViewCatalog, name: str) -> None:
    catalog.create_view_from_sql(name, "SELECT 1 AS n")


def test_healthy_metastore(metastore: EmbeddedMetastore, properties: dict[str, str], database: str) -> None:
    reported: list[Finding] = []
    catalog = HiveViewCatalog("test", **properties)
    make_view(catalog, f"{database}.v")
    report = examine(catalog, database=database, on_finding=reported.append)
    assert (report.level, levels(report)) == (Level.OK, {})
    assert tuple(reported) == report.findings
    findings = {finding.check: finding for finding in report.findings}
    assert list(findings) == [
        "java", "pyspark", "reachable", "version", "lock-expiry", "cache", "row", "clock", "compare-and-swap", "locks",
        "filter", "characters", "text-size", "parameter-size", "comment-size", "row-removed", "storage", "views",
    ]  # fmt: skip
    assert findings["reachable"].subject == metastore.uri
    assert findings["version"].details["sign"] == "2.3"
    assert findings["version"].details["called"] == "3.0"
    methods = findings["version"].details["methods"]
    assert isinstance(methods, dict)
    assert (methods["get_table_req"], methods["alter_table_req"], methods["get_catalogs"]) == (True, False, False)
    assert findings["compare-and-swap"].details == {"honored": True, "by_methods": True}
    assert findings["filter"].details == {"like": True, "equals": True}
    assert findings["text-size"].details["kept"] == 30_000
    assert findings["parameter-size"].details["kept"] == 32_672
    assert findings["comment-size"].details["kept"] == 255
    assert findings["views"].details == {"views": 1, "good": 1}
    assert findings["storage"].subject.endswith(f"/{database}.db")
    assert left_behind(metastore, database) == []


def test_no_write_skips_row_and_file(proxy: ThriftProxy) -> None:
    report, findings = checked(proxy.uri, write=False)
    called = set(proxy.methods)
    assert levels(report) == {"row": "skipped", "views": "skipped"}
    assert report.level is Level.OK
    # `lock` is called without its fields, to find out whether the server supports it.
    assert not called & {"create_table", "alter_table_with_environment_context", "drop_table"}
    assert "storage" not in findings


def test_one_unreachable_metastore_is_warning(metastore: EmbeddedMetastore, database: str) -> None:
    report, _ = checked(f"{NOWHERE},{metastore.uri},{metastore.uri}", database)
    reached = [(item.subject, item.level.value) for item in report.findings if item.check == "reachable"]
    assert reached == [(NOWHERE, "warning"), (metastore.uri, "ok"), (metastore.uri, "ok")]
    assert "Connection refused" in next(item.message for item in report.findings if item.subject == NOWHERE)
    assert levels(report) == {"reachable": "warning"}


def test_no_reachable_metastore_is_problem() -> None:
    report, findings = checked(NOWHERE)
    assert (report.level, findings["reachable"].level) == (Level.PROBLEM, Level.PROBLEM)
    assert set(findings) == {"java", "pyspark", "reachable"}
    report, findings = checked(f"{NOWHERE},thrift://127.0.0.1:2")
    assert (report.level, findings["reachable"].message) == (Level.PROBLEM, "none of the metastores can be reached")


@pytest.mark.parametrize("fault", ["no answer", "no thrift"])
def test_other_service_is_reported(metastore: EmbeddedMetastore, fault: str) -> None:
    if fault == "no answer":
        with ThriftProxy(metastore.port) as proxy:
            proxy.on(ANY, BlackHole(), nth=EVERY)
            _, findings = checked(proxy.uri, properties={"hive-views.call-timeout-ms": "200"})
        assert "no answer within 200 ms" in findings["reachable"].message
    else:
        with Relay(metastore.port, answers={b"\x80\x01\x00": b"HTT"}) as relay:
            _, findings = checked(relay.uri)
        assert "cannot be read" in findings["reachable"].message
    assert findings["reachable"].level is Level.PROBLEM
    assert "Kerberos" in (findings["reachable"].advice or "")


def test_missing_database_is_reported(metastore: EmbeddedMetastore) -> None:
    report, findings = checked(metastore.uri, "nothere")
    assert levels(report) == {"database": "problem"}
    assert findings["database"].message == "Namespace does not exist: nothere"


IGNORES = {b"expected_parameter_key": b"expected_parameter_kex"}


def test_ignored_compare_and_swap_is_reported(metastore: EmbeddedMetastore, database: str) -> None:
    with Relay(metastore.port, requests=IGNORES) as relay:
        report, findings = checked(relay.uri, database)
    # This server has the methods of one that honors it, so commits would rely on it.
    assert levels(report) == {"compare-and-swap": "problem"}
    assert findings["compare-and-swap"].details == {"honored": False, "by_methods": True}
    assert left_behind(metastore, database) == []


def test_unavailable_locks_are_reported(metastore: EmbeddedMetastore, database: str) -> None:
    broken = {b"\x00\x00\x00\x04lock": b"\x00\x00\x00\x04lokk", b"show_locks": b"shew_locks"}
    answers = {b"\x00\x00\x00\x04lokk": b"\x00\x00\x00\x04lock", b"shew_locks": b"show_locks"}
    for enabled, level in (("true", "problem"), ("false", "warning")):
        with Relay(metastore.port, requests=broken, answers=answers) as relay:
            report, findings = checked(relay.uri, database, {"iceberg.engine.hive.lock-enabled": enabled})
        assert levels(report)["locks"] == level
        assert "this metastore cannot lock" in findings["locks"].message
    assert left_behind(metastore, database) == []


def test_heartbeat_interval_longer_than_expiry_is_reported(metastore: EmbeddedMetastore) -> None:
    _, findings = checked(metastore.uri, properties={"iceberg.hive.lock-heartbeat-interval-ms": "300000"}, write=False)
    assert findings["lock-expiry"].level is Level.PROBLEM
    assert findings["lock-expiry"].advice == "Set iceberg.hive.lock-heartbeat-interval-ms to 100000 or less"


def test_broken_filter_is_reported(metastore: EmbeddedMetastore, database: str) -> None:
    with Relay(metastore.port, requests={b"hive_filter_field_params__": b"hive_filter_field_paramz__"}) as relay:
        report, findings = checked(relay.uri, database)
    assert levels(report) == {"filter": "warning"}
    assert isinstance(findings["filter"].details["like"], str)


def test_damaged_characters_are_reported(metastore: EmbeddedMetastore, database: str) -> None:
    # What MariaDB does with Hive's latin1 schema.
    greek = "Ελλάδα".encode()
    with Relay(metastore.port, requests={greek: b"?" * len(greek)}) as relay:
        report, findings = checked(relay.uri, database)
    assert levels(report) == {"characters": "warning"}
    assert findings["characters"].details["damaged"] == ["text", "parameter", "comment"]
    emoji = "😀".encode()
    with Relay(metastore.port, requests={emoji: b"????"}) as relay:
        _, findings = checked(relay.uri, database)
    assert "beyond 16 bits" in findings["characters"].message


@pytest.mark.filterwarnings("ignore:No preferred file implementation")
def test_unwritable_storage_is_reported(metastore: EmbeddedMetastore, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    location = (tmp_path / "file").as_uri()
    _, findings = checked(metastore.uri, properties={"warehouse": location})
    assert (findings["storage"].level, findings["storage"].subject) == (Level.PROBLEM, location)
    _, findings = checked(metastore.uri, properties={"warehouse": "nosuch://bucket/x"})
    assert findings["storage"].level is Level.PROBLEM


def test_created_directories_are_removed(metastore: EmbeddedMetastore, tmp_path: Path) -> None:
    _, findings = checked(metastore.uri, properties={"warehouse": (tmp_path / "a" / "b c").as_uri()})
    assert findings["storage"].level is Level.OK
    assert list(tmp_path.iterdir()) == []


def test_problems_of_views_are_reported(
    metastore: EmbeddedMetastore, properties: dict[str, str], database: str
) -> None:
    catalog = HiveViewCatalog("test", **properties)
    for name in ("good", "changed", "lost"):
        make_view(catalog, f"{database}.{name}")
    catalog.execute("CREATE VIEW over_lost AS SELECT * FROM lost", database=database)
    catalog.execute("CREATE VIEW top AS SELECT * FROM over_lost", database=database)
    Path(urlparse(catalog.load_view(f"{database}.lost").metadata_location).path).unlink()
    with connect(metastore.port) as client:
        row = client.get_table(database, "changed")
        row.viewExpandedText = "SELECT 2"
        client.alter_table_with_environment_context(database, "changed", row, EnvironmentContext(properties={}))
    report, findings = checked(metastore.uri, database)
    assert report.level is Level.PROBLEM
    bad = {item.subject: item for item in report.findings if item.check == "views" and item.level is not Level.OK}
    assert {name: item.level.value for name, item in bad.items()} == {
        f"{database}.changed": "warning",
        f"{database}.lost": "problem",
        f"{database}.over_lost": "problem",
        f"{database}.top": "problem",
    }
    assert f"it is blocked: it reads {database}.over_lost" in bad[f"{database}.top"].message
    assert bad[f"{database}.changed"].details == {"drift": ["expanded-text"]}
    assert findings["views"].details == {"views": 5, "good": 1}
    # Follow the advice.
    assert f"hive-views repair {database}.changed" in (bad[f"{database}.changed"].advice or "")
    catalog.repair_view(f"{database}.changed")
    assert catalog.load_view(f"{database}.changed").drift == ()


class Interruption(BaseException):
    """Stands for KeyboardInterrupt."""


@pytest.mark.parametrize("check", ["row", "compare-and-swap", "locks", "characters", "comment-size"])
def test_interruption_removes_temporary_row(metastore: EmbeddedMetastore, database: str, check: str) -> None:
    def interrupt_at_check(finding: Finding) -> None:
        if finding.check == check:
            raise Interruption

    with pytest.raises(Interruption):
        examine(HiveViewCatalog("test", uri=metastore.uri), database=database, on_finding=interrupt_at_check)
    assert left_behind(metastore, database) == []


@pytest.mark.parametrize("method", ["create_table", "alter_table_with_environment_context", "drop_table"])
def test_lost_reply_removes_temporary_row(
    metastore: EmbeddedMetastore, proxy: ThriftProxy, database: str, method: str
) -> None:
    proxy.on(method, DropReply())
    report, _ = checked(proxy.uri, database)
    expected = {"create_table": {"row": "problem"}, "drop_table": {}}
    assert levels(report) == expected.get(method, {"compare-and-swap": "problem"})
    assert left_behind(metastore, database) == []


def test_leftover_rows_are_reported(metastore: EmbeddedMetastore, database: str) -> None:
    with MetastoreClient(ConnectionConfig(uris=(metastore.uri,))) as client, TemporaryRow(client, database) as other:
        report, findings = checked(metastore.uri, database)
        assert levels(report) == {"leftovers": "warning"}
        assert findings["leftovers"].details == {"rows": [other.name.name]}
    assert left_behind(metastore, database) == []


def test_report_is_json_serializable(metastore: EmbeddedMetastore) -> None:
    report, _ = checked(metastore.uri, write=False)
    assert json.loads(json.dumps(dataclasses.asdict(report)))["level"] == "ok"
