"""The steps of plans that Hive's own upgrade scripts make as well, and the order that follows from them.

A script of Hive fails if a column, table or index that it creates exists already, on MySQL and MariaDB halfway.
Therefore Hive's scripts run before the steps that they contain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from hive_views.schema_upgrade import journal, versions
from hive_views.schema_upgrade.dialects.registry import dialect_of
from hive_views.schema_upgrade.plan_model import HiveScript, Step
from hive_views.schema_upgrade.requirements import ADDITIONS, INDEXES, TABLES
from hive_views.schema_upgrade.schema import Schema


class Form(Enum):
    """What a script does to the object of a step."""

    CREATES = "creates"
    """It creates the column, table, index or row, and fails if it exists."""
    CHANGES = "changes"
    """It changes the column or the table: the type, the name, or other columns and keys of the table."""


@dataclass(frozen=True)
class ScriptedSteps:
    """Steps that one of Hive's scripts makes as well."""

    version: str
    """The version that the script upgrades to."""
    form: Form
    databases: str
    """Hive's names of the databases whose scripts do it, separated by spaces."""
    steps: str
    """The IDs of the steps, separated by commas."""


_ALL = "derby mssql mysql oracle postgres"

SCRIPTED_STEPS = (
    ScriptedSteps(
        "0.6.0",
        Form.CREATES,
        "derby mysql postgres",
        "TBLS.TBL_TYPE, TBLS.VIEW_EXPANDED_TEXT, TBLS.VIEW_ORIGINAL_TEXT",
    ),
    ScriptedSteps(
        "0.6.0",
        Form.CHANGES,
        "derby mysql postgres",
        "TABLE_PARAMS.PARAM_VALUE wide, TBLS.TBL_TYPE wide, TBLS.VIEW_EXPANDED_TEXT wide, TBLS.VIEW_ORIGINAL_TEXT wide",
    ),
    ScriptedSteps(
        "0.6.0",
        Form.CHANGES,
        "mysql",
        "TABLE_PARAMS.PARAM_VALUE utf8mb4, TBLS.VIEW_EXPANDED_TEXT utf8mb4, TBLS.VIEW_ORIGINAL_TEXT utf8mb4",
    ),
    ScriptedSteps("0.13.0", Form.CREATES, _ALL, "HIVE_LOCKS, NEXT_LOCK_ID, NEXT_LOCK_ID row"),
    ScriptedSteps("0.13.0", Form.CHANGES, _ALL, "HIVE_LOCKS.HL_TABLE wide"),
    ScriptedSteps("0.13.0", Form.CREATES, "derby mysql oracle postgres", "HIVE_LOCKS index HL_TXNID_INDEX"),
    ScriptedSteps("0.14.0", Form.CHANGES, "mssql oracle", "HIVE_LOCKS, NEXT_LOCK_ID"),
    ScriptedSteps(
        "1.2.0",
        Form.CHANGES,
        "mssql",
        "HIVE_LOCKS, HIVE_LOCKS.HL_TABLE wide, TABLE_PARAMS.PARAM_VALUE wide, TBLS.TBL_NAME wide, "
        "TBLS.TBL_TYPE, TBLS.TBL_TYPE wide",
    ),
    ScriptedSteps("2.0.0", Form.CHANGES, _ALL, "HIVE_LOCKS, HIVE_LOCKS.HL_AGENT_INFO wide"),
    ScriptedSteps(
        "2.0.0",
        Form.CREATES,
        _ALL,
        "AUX_TABLE, HIVE_LOCKS.HL_AGENT_INFO, HIVE_LOCKS.HL_BLOCKEDBY_EXT_ID, "
        "HIVE_LOCKS.HL_BLOCKEDBY_INT_ID, HIVE_LOCKS.HL_HEARTBEAT_COUNT",
    ),
    ScriptedSteps("2.2.0", Form.CREATES, _ALL, "TBLS.IS_REWRITE_ENABLED"),
    ScriptedSteps("2.2.0", Form.CHANGES, _ALL, "TABLE_PARAMS.PARAM_VALUE wide, TBLS.TBL_NAME wide"),
    ScriptedSteps("2.2.0", Form.CHANGES, "mysql", "TABLE_PARAMS.PARAM_VALUE utf8mb4"),
    ScriptedSteps("3.0.0", Form.CREATES, _ALL, "MV_CREATION_METADATA, MV_TABLES_USED, TBLS.OWNER_TYPE"),
    ScriptedSteps("3.0.0", Form.CREATES, "derby mssql mysql postgres", "MV_CREATION_METADATA index MV_UNIQUE_TABLE"),
    ScriptedSteps("3.0.0", Form.CHANGES, _ALL, "HIVE_LOCKS, TBLS.OWNER_TYPE wide"),
    ScriptedSteps("3.0.0", Form.CHANGES, "mssql", "HIVE_LOCKS index HL_TXNID_INDEX"),
    ScriptedSteps("3.1.0", Form.CHANGES, _ALL, "MV_CREATION_METADATA"),
    ScriptedSteps(
        "3.1.0",
        Form.CREATES,
        _ALL,
        "MATERIALIZATION_REBUILD_LOCKS, MV_CREATION_METADATA.MATERIALIZATION_TIME",
    ),
    ScriptedSteps(
        "4.0.0-alpha-1",
        Form.CREATES,
        _ALL,
        "MV_TABLES_USED.DELETED_COUNT, MV_TABLES_USED.INSERTED_COUNT, MV_TABLES_USED.UPDATED_COUNT, TBLS.WRITE_ID",
    ),
    ScriptedSteps("4.0.0-alpha-1", Form.CHANGES, _ALL, "HIVE_LOCKS, HIVE_LOCKS.HL_TABLE wide, MV_TABLES_USED"),
    ScriptedSteps(
        "4.0.0-alpha-1",
        Form.CHANGES,
        "postgres",
        "AUX_TABLE, HIVE_LOCKS.HL_AGENT_INFO, HIVE_LOCKS.HL_AGENT_INFO wide, "
        "HIVE_LOCKS.HL_BLOCKEDBY_EXT_ID, HIVE_LOCKS.HL_BLOCKEDBY_INT_ID, HIVE_LOCKS.HL_HEARTBEAT_COUNT, "
        "MATERIALIZATION_REBUILD_LOCKS, NEXT_LOCK_ID",
    ),
    ScriptedSteps("4.3.0", Form.CHANGES, _ALL, "HIVE_LOCKS, MATERIALIZATION_REBUILD_LOCKS"),
)
"""Every step that one of Hive's scripts of 0.6 to 4.3 makes as well. Sources: the scripts of 2.0 to 4.0 in the Maven
tarball of 4.0.1, with which `tests/integration/schema_upgrade/test_hive_scripts.py` compares the table; the scripts of
0.6 to 1.2 and of 4.1 to 4.3 in Hive's source (`metastore/scripts/upgrade`, later `metastore-server/src/main/sql`).
Those of 0.7 to 0.12, 1.1, 2.1, 2.3, 3.2 and 4.0.0-alpha-2 to 4.2 make no step."""


def scripts_with(step_id: str, database: str) -> Iterator[tuple[str, Form]]:
    """Yield the versions whose scripts make a step, in order; `database` is Hive's name of the database."""
    for row in SCRIPTED_STEPS:
        if database in row.databases.split() and step_id in row.steps.split(", "):
            yield row.version, row.form


def script_of(step_id: str, database: str, version: str) -> str | None:
    """Return the name of the first script after a version that makes a step, else of the script that made it before."""
    with_step = [since for since, _ in scripts_with(step_id, database)]
    later = [since for since in with_step if not versions.at_least(version, since)]
    return next((versions.script_to(database, since) for since in (*later, *with_step)), None)


def remaining_scripts(schema: Schema, target: str, steps: Iterable[Step]) -> tuple[HiveScript, ...]:
    """Hive's scripts from the version of a schema to the target, in order, with the steps that each makes as well."""
    database = dialect_of(schema.dialect).hive_name
    made = {step.id: {since for since, _ in scripts_with(step.id, database)} for step in steps}
    chain = versions.CHAIN[versions.position(schema.version) + 1 : versions.position(target) + 1]
    return tuple(
        HiveScript(
            versions.script_to(database, version), tuple(step for step, since in made.items() if version in since)
        )
        for version in chain
    )


def upgrade_command(schema: Schema) -> str:
    """What runs Hive's scripts; schematool cannot determine the version of a schema without the table VERSION."""
    if schema.vendor:
        return f"the upgrade scripts of the vendor ({schema.vendor})"
    database = dialect_of(schema.dialect).hive_name
    has_version = schema.version_rows and versions.at_least(schema.version, "0.12.0")
    action = "-upgradeSchema" if has_version else f"-upgradeSchemaFrom {schema.version}"
    return f"schematool -dbType {database} {action}"


def scripts_first(schema: Schema) -> str:
    """What to do about a plan whose steps are also made by scripts that remain."""
    undo = f"{remedy_of_early_objects(schema)}. Then run" if early_objects(schema) else "run"
    same_version = ""
    if versions.at_least(schema.version, versions.FIRST_WITH_VIEWS):
        same_version = f". For the views of the Hive version that you have ({schema.version}), plan without a target"
    return (
        f"{undo} Hive's scripts first ({upgrade_command(schema)}, of the Hive version that you upgrade to), then plan "
        f"again{same_version}"
    )


@dataclass(frozen=True)
class EarlyObject:
    """A column, table or index that exists although the script of Hive that creates it is still to be run."""

    step: str
    """The ID of the step that creates it."""
    script: str
    """The script of Hive, which fails."""


def early_objects(schema: Schema) -> tuple[EarlyObject, ...]:
    """What exists before its script, in an upgrade of hive_views or an interrupted script of Hive; empty for forks."""
    if schema.vendor:
        return ()
    database = dialect_of(schema.dialect).hive_name
    return tuple(
        EarlyObject(step, versions.script_to(database, since))
        for step in _existing(schema)
        for since, form in scripts_with(step, database)
        if form is Form.CREATES and not versions.at_least(schema.version, since)
    )


def _existing(schema: Schema) -> Iterator[str]:
    """Yield the IDs of the steps whose columns, tables and indexes exist."""
    yield from (table.id for table in TABLES if schema.table(table.name))
    yield from (each.id for each in ADDITIONS if schema.column(each.table, each.column.name))
    for index in INDEXES:
        table = schema.table(index.table)
        if table and any(each.name.upper() == index.name for each in table.indexes):
            yield index.id


def remedy_of_early_objects(schema: Schema) -> str:
    """What to do before Hive's scripts about objects that exist already."""
    if journal.JOURNAL.name in schema.own_tables:
        return "undo them before Hive's scripts: hive-views upgrade rollback --schema"
    return (
        f"hive_views has no record of them ({journal.JOURNAL.name}): if a script of Hive was interrupted, restore the "
        "backup from before it, else drop them before Hive's scripts"
    )
