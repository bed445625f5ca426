"""The upgrade of the database of the estate's metastore, and its rollback, while the metastore is stopped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hive_views.local_metastore.process import MetastoreProcess
from tests.estate import copy, rows
from tests.estate.answers import check, shortened
from tests.estate.build import NOISE_DATABASE
from tests.estate.rows import Row, stable
from tests.integration.cli.conftest import Done, invoke
from tests.integration.metastore.rpc import connect

pytestmark = pytest.mark.extended

TARGETS = ("4.1.0", "4.2.0")


def all_rows(metastore: MetastoreProcess) -> dict[str, Row]:
    """Return all rows, of the noise a sample."""
    with metastore, connect(metastore.port, 300) as client:
        return rows.read_all(client, NOISE_DATABASE)


def test_upgrade_and_rollback_change_no_row(tmp_path: Path) -> None:
    home = tmp_path / "estate"
    url = f"derby:{copy.PREFIX}/metastore/metastore_db"

    def run(*words: str) -> Done:
        done = invoke("--json", "upgrade", *words, "--url", url, COLUMNS="200")
        assert done.code in (0, 1), (words, done)
        assert "Traceback" not in done.err, (words, done)
        return done

    answers = {}
    with copy.linked(home):
        copy.unpack(home)
        metastore = copy.metastore(home)
        before = all_rows(metastore)
        for target in TARGETS:
            plan, script = str(tmp_path / f"{target}.json"), str(tmp_path / f"{target}.sql")
            for words in (
                ("detect",),
                ("plan", "--target", target, "--output", plan),
                ("render", "--plan", plan, "--output", script),
                ("apply", "--plan", plan, "--dry-run"),
                ("apply", "--plan", plan, "--yes"),
                ("verify", "--target", target, "--files"),
            ):
                done = run(*words)
                document = json.loads(done.out) if done.out.strip() else done.err
                answers[f"{target} {words[0]} {words[-1].rpartition('/')[2]}"] = {
                    "code": done.code,
                    **stable({"answer": shortened(document)}),
                }
        assert all_rows(metastore) == before
        done = run("rollback", "--yes")
        answers["rollback"] = {"code": done.code, **stable({"answer": shortened(done.out or done.err)})}
        assert all_rows(copy.metastore(home)) == before
    check("upgrade", answers)
