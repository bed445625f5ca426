"""The script of an export and the variable substitution of engines."""

from __future__ import annotations

import pytest

from hive_views.identifiers import ViewName
from hive_views.legacy_import.export import ExportedView, script_text

SETTINGS = ["SET spark.sql.variable.substitute=false;", "SET hive.variable.substitute=false;"]


@pytest.mark.parametrize(
    ("statement", "begins"),
    [
        ("CREATE VIEW v AS SELECT '$\\{a}'", ["CREATE VIEW v AS SELECT '$\\{a}'"]),
        (
            "CREATE VIEW v AS SELECT `${a}`",
            ["-- ${ } is not a variable in these statements.", *SETTINGS, "", "CREATE VIEW v AS"],
        ),
    ],
)
def test_script_turns_substitution_off_if_a_name_contains_a_variable(statement: str, begins: list[str]) -> None:
    script = script_text([ExportedView(ViewName("sales", "v"), statement)])
    assert script.startswith("\n".join(begins))
