"""Layouts of our own rows: stamps, steps, and rows of a later version."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from hive_views.errors import UpgradeError
from hive_views.schema_upgrade import detect, plan
from hive_views.schema_upgrade.own_rows import CURRENT, MIGRATIONS, STAMP, Migration, layout_of, migrated
from hive_views.schema_upgrade.verification import verify
from tests.integration.schema_upgrade.databases import SqlDatabases

ROW = {"table_type": "ICEBERG-VIEW", "pointer": "file:/a", "another's": "kept"}


def rename_pointer(parameters: Mapping[str, str]) -> dict[str, str]:
    return {("metadata_location" if key == "pointer" else key): value for key, value in parameters.items()}


STEPS = (Migration(2, "the pointer got Iceberg's name", rename_pointer), Migration(3, "nothing else", dict))


def test_a_row_goes_through_all_steps_and_keeps_what_they_do_not_know() -> None:
    found = migrated(ROW, STEPS, 3)
    assert found == {"table_type": "ICEBERG-VIEW", "metadata_location": "file:/a", "another's": "kept", STAMP: "3"}
    assert migrated(found, STEPS, 3) == found, "a second time nothing is to be done"


def test_the_layout_of_this_version() -> None:
    assert migrated(ROW) == ROW
    assert layout_of(ROW) == 1
    assert [step.to for step in MIGRATIONS] == list(range(2, CURRENT + 1))


def test_rows_that_cannot_be_brought_over() -> None:
    with pytest.raises(UpgradeError, match="a later version"):
        migrated({STAMP: "4"}, STEPS, 3)
    with pytest.raises(UpgradeError, match="no step from layout 1 to 2"):
        migrated(ROW, STEPS[1:], 3)
    with pytest.raises(UpgradeError, match="no layout"):
        layout_of({STAMP: "one"})


def test_rows_of_a_later_version_are_noted_and_reported(postgresql: SqlDatabases) -> None:
    with postgresql.open(postgresql.copy("0.12.0")) as session:
        session.execute(
            'INSERT INTO "TABLE_PARAMS" ("TBL_ID", "PARAM_KEY", "PARAM_VALUE") VALUES (21, :key, :value)',
            {"key": STAMP, "value": "9"},
        )
        session.commit()
        assert any("layout 9" in note for note in plan(detect(session)).notes)
        found = {check.view: check for check in verify(session).broken}
        assert "a later version" in found["sales.v"].problems[0]
