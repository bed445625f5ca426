"""Plans for assumed schemas, without a database."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_views.errors import BlockedStepsError, InvalidPlanError, UpgradeError, UsageError
from hive_views.schema_upgrade import assumed_schema, dumps, loads, plan
from hive_views.schema_upgrade.dialects.registry import NAMES
from hive_views.schema_upgrade.hive_scripts import SCRIPTED_STEPS, Form, early_objects, scripts_with
from hive_views.schema_upgrade.journal import pack, unpack
from hive_views.schema_upgrade.plan_model import Kind
from hive_views.schema_upgrade.requirements import ADDITIONS, REQUIREMENTS, TABLES
from hive_views.schema_upgrade.schema import LANDMARKS, Column, Rows, Schema, Table, TableRow
from hive_views.schema_upgrade.table_types import HIVE_TYPES, decide
from hive_views.schema_upgrade.versions import CHAIN, at_least, chain_version, scripts

VERSIONS = [
    ("0.3.0", "0.5.0"),
    ("0.13.1", "0.13.0"),
    ("1.0.0", "0.14.0"),
    ("1.2.1", "1.2.0"),
    ("3.1.3", "3.1.0"),
    ("3.1.3000.7.1.7.0-551", "3.1.0"),
    ("1.1.0-cdh5.12.0", "1.1.0"),
    ("4.0.0-alpha-2", "4.0.0-alpha-2"),
    ("4.0.0-beta-1", "4.0.0-beta-1"),
    ("4.0.1", "4.0.0"),
    ("5.0.0", "4.3.0"),
    ("no version", None),
]


@pytest.mark.parametrize(("text", "expected"), VERSIONS)
def test_schema_version_of_hive_version(text: str, expected: str | None) -> None:
    assert chain_version(text) == expected


def test_hive_scripts_are_in_order() -> None:
    assert scripts("mysql", "2.3.0", "3.1.0") == (
        "upgrade-2.3.0-to-3.0.0.mysql.sql",
        "upgrade-3.0.0-to-3.1.0.mysql.sql",
    )
    assert scripts("derby", "3.1.0", "3.1.0") == ()


@given(st.sampled_from(NAMES), st.sampled_from(CHAIN), st.sampled_from(CHAIN[1:]))
def test_plan_is_deterministic_and_survives_json(dialect: str, start: str, target: str) -> None:
    schema = assumed_schema(dialect, start)
    if not at_least(target, schema.version):
        with pytest.raises(UsageError, match="newer than"):
            plan(schema, target)
        return
    new_plan = plan(schema, target)
    assert plan(schema, target) == new_plan
    assert loads(dumps(new_plan)) == new_plan
    assert len({step.id for step in new_plan.steps}) == len(new_plan.steps)
    conflicts = {step for script in new_plan.hive_scripts for step in script.conflicts}
    assert conflicts <= {step.id for step in new_plan.steps}


@pytest.mark.parametrize(("target", "reason"), [("0.5.0", "has no views"), ("1.2.0", "newer")])
def test_invalid_target_is_rejected(target: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        plan(assumed_schema("mysql", "2.3.0"), target)


@pytest.mark.parametrize("target", ["9.0.0", "3.5.0", "4.0.0-beta-9", "3.1.3foo", "0.1.0", "5", "soon", ""])
def test_unknown_version_is_rejected_with_the_known_ones(target: str) -> None:
    with pytest.raises(UsageError, match=r"schemas of 0\.5\.0, .* 4\.3\.0"):
        plan(assumed_schema("mysql", "0.5.0"), target)
    with pytest.raises(UsageError, match=r"schemas of 0\.5\.0, .* 4\.3\.0"):
        assumed_schema("mysql", target)


@pytest.mark.parametrize(
    ("stored", "reason"),
    [
        ("9.1.0", "has version 9.1.0, which this version of hive_views does not know"),
        ("4.9.0", "has version 4.9.0, which this version of hive_views does not know"),
        ("five", "'five', which is not a version of Hive. The tables have the structure of 2.2.0"),
        ("", "'', which is not a version"),
    ],
)
def test_unknown_version_of_a_schema_is_rejected(stored: str, reason: str) -> None:
    with pytest.raises(UpgradeError, match=reason):
        plan(_landmarked("2.2.0", stored))


@pytest.mark.parametrize("stored", ["2.3.9", "2.1.1-cdh6.2.0", "3.1.3000.7.1.7.0-551", "2.2.0"])
def test_patch_releases_and_forks_are_accepted(stored: str) -> None:
    assert plan(_landmarked("2.2.0", stored)).steps


def _landmarked(version: str, stored: str) -> Schema:
    """A schema with the landmarks of a version, whose table VERSION holds another value."""
    extra: dict[str, set[str]] = {}
    for landmark, (table, column) in LANDMARKS.items():
        if at_least(version, landmark):
            extra.setdefault(table, set()).update({column} if column else set())
    schema = assumed_schema("mysql", version)
    missing = [name for name in extra if schema.table(name) is None]
    tables = tuple(
        Table(name=name, columns=tuple(Column(name=column, type="int") for column in sorted(extra[name])))
        for name in missing
    )
    return replace(schema, tables=schema.tables + tables, version_rows=(stored,))


def test_plan_names_conflicting_hive_scripts() -> None:
    new_plan = plan(assumed_schema("mariadb", "2.3.0"), "4.0.0")
    by_name = {script.name: script.conflicts for script in new_plan.hive_scripts}
    assert "TBLS.OWNER_TYPE" in by_name["upgrade-2.3.0-to-3.0.0.mysql.sql"]
    assert "MATERIALIZATION_REBUILD_LOCKS" in by_name["upgrade-3.0.0-to-3.1.0.mysql.sql"]
    assert "TBLS.WRITE_ID" in by_name["upgrade-3.2.0-to-4.0.0-alpha-1.mysql.sql"]
    assert any("schematool" in note for note in new_plan.notes)
    assert plan(assumed_schema("mariadb", "2.3.0")).hive_scripts == ()


def test_plan_with_steps_of_remaining_scripts_names_the_command() -> None:
    (note,) = [note for note in plan(assumed_schema("mariadb", "2.3.0"), "3.1.3").notes if "rejects" in note]
    assert "run Hive's scripts first (schematool -dbType mysql -upgradeSchema, of" in note
    assert note.endswith("that you have (2.3.0), plan without a target")
    (note,) = [note for note in plan(assumed_schema("oracle", "0.11.0"), "3.1.3").notes if "rejects" in note]
    assert "schematool -dbType oracle -upgradeSchemaFrom 0.11.0, of" in note, "it has no table VERSION"
    fork = replace(assumed_schema("postgresql", "1.2.0"), vendor="cdh")
    assert any("the upgrade scripts of the vendor (cdh)" in note for note in plan(fork, "3.1.3").notes)


@pytest.mark.parametrize("version", [version for version in CHAIN if at_least(version, "0.6.0")])
@pytest.mark.parametrize("name", NAMES)
def test_plan_for_the_version_of_the_schema_has_no_script(name: str, version: str) -> None:
    new_plan = plan(assumed_schema(name, version))
    assert new_plan.hive_scripts == ()
    assert not any("script" in note for note in new_plan.notes if "2.2.0" not in note)


def test_each_addition_and_table_is_in_the_script_of_its_version() -> None:
    for each in (*ADDITIONS, *TABLES):
        creating = [version for version, form in scripts_with(each.id, "mysql") if form is Form.CREATES]
        assert creating == [each.since], each.id


def test_scripted_steps_are_steps() -> None:
    steps = {step for row in SCRIPTED_STEPS for step in row.steps.split(", ")}
    assert steps <= {*REQUIREMENTS, "NEXT_LOCK_ID row"}
    assert all(
        set(row.databases.split()) <= {"derby", "mssql", "mysql", "oracle", "postgres"} for row in SCRIPTED_STEPS
    )


def test_object_before_its_script_is_early() -> None:
    schema = _landmarked("2.2.0", "1.2.0")
    early = {each.step: each.script for each in early_objects(schema)}
    assert early["TBLS.IS_REWRITE_ENABLED"] == "upgrade-2.1.0-to-2.2.0.mysql.sql"
    assert early_objects(assumed_schema("mysql", "2.2.0")) == ()
    assert early_objects(replace(schema, vendor="cdh")) == (), "forks have some columns earlier"


def test_columns_that_a_later_hive_script_reverts_are_not_recoded() -> None:
    def recoded(version: str, value: Column) -> set[str]:
        schema = assumed_schema("mariadb", version)
        tables = (
            Table(name="TABLE_PARAMS", columns=(value,)),
            *(table for table in schema.tables if table.name != "TABLE_PARAMS"),
        )
        return {step.id for step in plan(replace(schema, tables=tables)).steps if step.kind is Kind.RECODE}

    latin1_column = Column(name="PARAM_VALUE", type="mediumtext", charset="latin1")
    assert "TABLE_PARAMS.PARAM_VALUE utf8mb4" in recoded("2.2.0", latin1_column)
    assert "TABLE_PARAMS.PARAM_VALUE utf8mb4" not in recoded("2.1.0", latin1_column)
    assert "TABLE_PARAMS.PARAM_VALUE utf8mb4" not in recoded("2.2.0", replace(latin1_column, charset="utf8mb4"))


def test_derby_clob_with_long_values_is_not_converted() -> None:
    schema = assumed_schema("derby", "2.3.0")
    step = "TABLE_PARAMS.PARAM_VALUE wide"
    assert plan(replace(schema, rows=Rows(longest_parameter=32672))).step(step) is not None
    assert plan(replace(schema, rows=Rows(longest_parameter=32673))).step(step) is None


def test_plan_notes_unusual_schemas() -> None:
    schema = replace(assumed_schema("postgresql", "2.3.0"), version_rows=("2.3.0", "3.1.0"), vendor="cdh", place="here")
    notes = " ".join(plan(schema).notes)
    assert "VERSION has 2 rows" in notes
    assert "fork of cdh's" in notes
    assert "which is assumed" in notes


def test_invalid_flags_written_by_hive_script_are_filled_in() -> None:
    schema = replace(assumed_schema("derby", "3.0.0"), rows=Rows(tables=9, bad_flags=3))
    step = plan(schema).step("rows IS_REWRITE_ENABLED")
    assert step is not None and step.rows.startswith("3 rows get 'N'")


def test_fingerprint_depends_on_columns_and_versions_only() -> None:
    schema = assumed_schema("mysql", "2.3.0")
    assert replace(schema, rows=Rows(tables=5)).fingerprint == schema.fingerprint
    assert replace(schema, version_rows=("3.1.0",)).fingerprint != schema.fingerprint
    tables = tuple(
        replace(table, columns=table.columns[1:]) if table.name == "TBLS" else table for table in schema.tables
    )
    assert replace(schema, tables=tables).fingerprint != schema.fingerprint


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": 99}', '{"format": 1, "steps": [{}]}', "no json"])
def test_invalid_plan_documents_are_rejected(text: str) -> None:
    with pytest.raises(InvalidPlanError):
        loads(text)


def test_blocked_steps_are_grouped_by_reason() -> None:
    """A user without privileges is an obstacle to all steps."""
    error = BlockedStepsError(
        "here", [("TBLS.TBL_TYPE", "no right"), ("TBLS index", "taken"), ("AUX_TABLE", "no right")]
    )
    assert "TBLS.TBL_TYPE, AUX_TABLE: no right; TBLS index: taken. Remove" in str(error)


def test_edited_plan_is_rejected() -> None:
    """`apply` plans again from the database, so edits would be applied in part only."""
    document = json.loads(dumps(plan(assumed_schema("mariadb", "1.2.0"), "2.3.0")))
    document["steps"].pop()
    with pytest.raises(InvalidPlanError, match="edited since it was written"):
        loads(json.dumps(document))


def test_lower_case_tables_keep_upper_case_columns() -> None:
    """MySQL and MariaDB with lower_case_table_names=1 store table names in lower case, columns as Hive's scripts do."""
    schema = assumed_schema("mariadb", "2.3.0")
    lowered = replace(schema, tables=tuple(replace(table, name=table.name.lower()) for table in schema.tables))
    step = plan(lowered, "3.1.0").step("TBLS.OWNER_TYPE")
    assert step is not None
    assert step.statements[0].startswith("ALTER TABLE `tbls` ADD COLUMN `OWNER_TYPE`")


def test_plan_json_contains_documented_fields() -> None:
    document = json.loads(dumps(plan(assumed_schema("oracle", "0.12.0"), "1.2.0")))
    assert {"id", "dialect", "steps", "hive_scripts", "notes", "target"} <= document.keys()
    assert all(step["reason"] and step["locks"] and step["undo_note"] for step in document["steps"])


ids = st.lists(st.integers(min_value=0, max_value=10_000), unique=True, min_size=1).map(sorted)


@given(ids)
def test_row_ids_round_trip(numbers: list[int]) -> None:
    assert unpack(pack(numbers), len(numbers)) == numbers


def test_row_ids_are_packed_as_ranges() -> None:
    assert pack([1, 2, 3, 5, 9, 10]) == "1-3,5,9-10"


rows = st.builds(
    TableRow,
    st.none() | st.sampled_from([*HIVE_TYPES, "ODD"]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.none() | st.sampled_from(["TRUE", "true", "FALSE", "maybe", ""]),
)


@given(rows)
def test_decided_types_keep_views_and_data(row: TableRow) -> None:
    decision = decide(row)
    assert decision.new is None or decision.doubt is None
    if row.has_original:
        assert decision.new in (None, "VIRTUAL_VIEW")
    if (row.external or "").upper() == "TRUE" or row.table_type == "EXTERNAL_TABLE":
        assert decision.new != "MANAGED_TABLE", "dropping it would delete data"
    if row.table_type is not None:
        assert decision.new in (None, "EXTERNAL_TABLE")
    if decision.new is not None:
        assert decide(replace(row, table_type=decision.new)).new is None, "deciding is idempotent"


def test_unknown_database_is_rejected_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"'mssql' is not a supported database: .*sqlserver"):
        assumed_schema("mssql", "1.2.0")
