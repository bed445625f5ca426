"""The script of an export: what engines would read otherwise is kept from them."""

from __future__ import annotations

import pytest

from hive_views.identifiers import ViewName
from hive_views.legacy_import.export import Exported, script_text

SETTINGS = ["SET spark.sql.variable.substitute=false;", "SET hive.variable.substitute=false;"]


@pytest.mark.parametrize(
    ("statement", "begins"),
    [
        ("CREATE VIEW v AS SELECT '$\\{a}'", ["CREATE VIEW v AS SELECT '$\\{a}'"]),
        (
            "CREATE VIEW v AS SELECT `${a}`",
            ["-- All in ${ } is meant to the letter.", *SETTINGS, "", "CREATE VIEW v AS"],
        ),
    ],
)
def test_variables_are_off_where_a_name_holds_one(statement: str, begins: list[str]) -> None:
    script = script_text([Exported(ViewName("sales", "v"), statement)])
    assert script.startswith("\n".join(begins))
