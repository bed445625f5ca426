"""Comparison of upgrades with Hive's own scripts: columns, keys and indexes on the five databases of Hive.

The scripts are read from the Maven tarball of 4.0.1, which holds those of 1.2.0 to 4.0.0; the scripts of later versions
are not published on Maven.
"""

from __future__ import annotations

import copy
import os
import re
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from hive_views.schema_upgrade import Schema, UpgradePlan, assumed_schema, plan, versions
from hive_views.schema_upgrade.databases import Database
from hive_views.schema_upgrade.hive_scripts import SCRIPTED_STEPS, Form
from hive_views.schema_upgrade.requirements import ADDITIONS, INDEXES, RECODINGS, WIDENINGS, Recoding, Widening
from hive_views.schema_upgrade.requirements import TABLES as NEEDED_TABLES
from hive_views.schema_upgrade.schema import Column, Index, Rows, Table
from tests.integration.schema_upgrade import states
from tests.integration.schema_upgrade.hive_ddl import (
    TABLES,
    DeclaredSchema,
    DeclaredTable,
    changed_objects,
    statements,
)

CHANGED_COLUMNS: tuple[Widening | Recoding, ...] = (*WIDENINGS, *RECODINGS)

DATABASES = {"derby": "derby", "mysql": "mysql", "oracle": "oracle", "postgresql": "postgres", "sqlserver": "mssql"}
STARTS = ("1.2.0", "2.0.0", "2.1.0", "2.2.0", "2.3.0", "3.0.0", "3.1.0", "3.2.0", "4.0.0-alpha-1")
TARGETS = ("1.2.0", "2.0.0", "2.1.0", "2.2.0", "2.3.0", "3.0.0", "3.1.0", "3.2.0", "4.0.0-alpha-1", "4.0.0")

EXPLAINED = (
    # (database, difference as a regular expression, reason)
    ("derby", r"TABLE_PARAMS.PARAM_VALUE: varchar\(32672\) instead of clob", "Derby cannot compare a CLOB"),
    ("mysql", r"TABLE_PARAMS.PARAM_VALUE: mediumtext instead of varchar\(4000\)", "schemas as JSON are longer"),
    ("oracle", r"TABLE_PARAMS.PARAM_VALUE: clob instead of varchar\(4000\)", "schemas as JSON are longer"),
    ("postgresql", r"TABLE_PARAMS.PARAM_VALUE: text instead of varchar\(4000\)", "schemas as JSON are longer"),
    ("derby", r"TABLE_PARAMS.PARAM_VALUE: varchar\(32672\) instead of varchar\(4000\)", "schemas as JSON are longer"),
    ("sqlserver", r"TABLE_PARAMS.PARAM_VALUE: nvarchar\(max\) instead of nvarchar\(4000\)", "schemas are longer"),
    ("sqlserver", r"TBLS.VIEW_\w+_TEXT: nvarchar\(max\) instead of text", "text loses other alphabets"),
    ("oracle", r"\S+: number\(19\)((?: DEFAULT 0)?(?: NOT NULL)?) instead of number\1", "64 bits"),
    ("oracle", r"MV_CREATION_METADATA index TBL_NAME, DB_NAME is added", "Hive's index has the other order"),
    ("oracle", r"MV_CREATION_METADATA index DB_NAME, TBL_NAME is missing", "ours has the other order"),
    ("derby", r"(TABLE_PARAMS index TBL_ID|TBLS index DB_ID) is added", "Derby itself creates them for foreign keys"),
    ("sqlserver", r"HIVE_LOCKS index HL_TXNID is added", "Hive creates it from 3.0 on, and drops an existing one"),
    (None, r"TABLE_PARAMS index PARAM_KEY, TBL_ID is added", "filters by parameters scan the table otherwise"),
    (None, r"HIVE_LOCKS.HL_TABLE: \w+\(256\) instead of \w+\(128\)", "names have 256 characters; Hive 4 widens it"),
    (None, r"MV_TABLES_USED key .* instead of TBL_ID, MV_CREATION_METADATA_ID", "a table may hold duplicate rows"),
    (
        None,
        r"MV_CREATION_METADATA.MATERIALIZATION_TIME: .* DEFAULT 0 NOT NULL instead of \w+ NOT NULL",
        "old Hive inserts",
    ),
    (None, r"HIVE_LOCKS.HL_TXNID: \S+ instead of \S+ NOT NULL", "JDBC reads NULL as 0, and locks last for minutes"),
)


@cache
def hive_schemas(database: str, version: str) -> tuple[DeclaredSchema, ...]:
    """The schemas of a version: upgraded from 1.2.0, and created by its script if it has one."""
    name = DATABASES[database]
    scripts = states.scripts()
    upgraded = DeclaredSchema().run(statements(scripts[f"{name}/hive-schema-1.2.0.{name}.sql"]))
    chain = versions.CHAIN[versions.position("1.2.0") : versions.position(version) + 1]
    for older, newer in pairwise(chain):
        upgraded.run(statements(scripts[f"{name}/{versions.script_name(name, older, newer)}"]))
    own = scripts.get(f"{name}/hive-schema-{version}.{name}.sql")
    return (upgraded, DeclaredSchema().run(statements(own))) if own else (upgraded,)


def detected(database: str, declared: DeclaredSchema, version: str) -> Schema:
    """The schema that `detect` reads from a database created by these statements."""

    def column(name: str, kind: str, length: str | None, nullable: bool, default: str | None) -> Column:
        kind = "varchar2" if database == "oracle" and kind == "varchar" else kind
        charset = "latin1" if database == "mysql" and ("char" in kind or "text" in kind) else None
        size = None if length is None else -1 if length == "max" else int(length)
        return Column(name=name, type=kind, length=size, nullable=nullable, default=default, charset=charset)

    tables = [
        Table(
            name=name.lower() if name in LOCK_TABLES and is_lower(database, version) else name,
            columns=tuple(
                column(key, item.type, item.length, item.nullable, item.default) for key, item in table.columns.items()
            ),
            indexes=tuple(Index(f"I{number}", columns) for number, columns in enumerate(sorted(table.indexes))),
        )
        for name, table in declared.items()
    ]
    return Schema(dialect=Database(database), tables=tuple(tables), version_rows=(version,), rows=Rows(tables=1))


LOCK_TABLES = ("HIVE_LOCKS", "NEXT_LOCK_ID", "AUX_TABLE", "MATERIALIZATION_REBUILD_LOCKS")


def is_lower(database: str, version: str) -> bool:
    return database == "postgresql" and not versions.at_least(version, "4.0.0-alpha-1")


def differences(own: DeclaredSchema, hives: tuple[DeclaredSchema, ...]) -> list[str]:
    """Differences of an upgraded schema from all of Hive's schemas of the version."""
    lines = []
    for name in sorted(TABLES & {table for hive in hives for table in hive}):
        if name not in own:
            lines.append(f"{name} is missing")
            continue
        own_table, tables = own[name], [hive[name] for hive in hives if name in hive]
        for column in sorted({column for table in tables for column in table.columns}):
            declared = [str(table.columns[column]) for table in tables if column in table.columns]
            actual = str(own_table.columns.get(column))
            if actual not in declared:
                lines.append(f"{name}.{column}: {actual} instead of {declared[-1]}")
        lines += _key_differences(name, own_table, tables)
    return lines


def _key_differences(name: str, own: DeclaredTable, tables: list[DeclaredTable]) -> list[str]:
    lines = []
    if own.primary_key not in [table.primary_key for table in tables]:
        lines.append(f"{name} key {', '.join(own.primary_key)} instead of {', '.join(tables[-1].primary_key)}")
    if own.references not in [table.references for table in tables]:
        lines.append(f"{name} references {own.references} instead of {tables[-1].references}")
    if own.options not in [table.options for table in tables]:
        lines.append(f"{name} options {own.options} instead of {tables[-1].options}")
    required = set.intersection(*(table.indexes for table in tables))
    allowed = set.union(*(table.indexes for table in tables))
    lines += [f"{name} index {', '.join(index)} is missing" for index in sorted(required - own.indexes)]
    lines += [f"{name} index {', '.join(index)} is added" for index in sorted(own.indexes - allowed)]
    return lines


def unexplained(database: str, lines: list[str]) -> list[str]:
    return [
        line
        for line in lines
        if not any(name in (None, database) and re.fullmatch(pattern, line) for name, pattern, _ in EXPLAINED)
    ]


@pytest.mark.parametrize("database", DATABASES)
@pytest.mark.parametrize("target", TARGETS)
def test_upgraded_columns_equal_those_of_hives_scripts(database: str, target: str) -> None:
    """Each start version, upgraded by the statements of a plan, against the schema of Hive's scripts."""
    for start in [start for start in STARTS if versions.at_least(target, start)]:
        for declared in hive_schemas(database, start):
            new_plan = plan(detected(database, declared, start), target)
            assert unexplained(database, _upgraded(declared, new_plan, hive_schemas(database, target))) == [], start


@pytest.mark.parametrize("database", DATABASES)
@pytest.mark.parametrize("target", TARGETS)
def test_created_tables_equal_those_of_hives_scripts(database: str, target: str) -> None:
    """A schema that lacks all tables of locks and materialized views."""
    (declared, *_) = hive_schemas(database, "1.2.0")
    without = DeclaredSchema({name: declared[name] for name in ("TBLS", "TABLE_PARAMS")})
    new_plan = plan(replace(detected(database, without, "1.2.0"), version_rows=("1.2.0",)), target)
    lines = _upgraded(without, new_plan, hive_schemas(database, target))
    assert unexplained(database, [line for line in lines if "HL_TXNID:" not in line]) == []
    assert [line for line in lines if "HL_TXNID:" in line] == []


def _upgraded(declared: DeclaredSchema, new_plan: UpgradePlan, hives: tuple[DeclaredSchema, ...]) -> list[str]:
    upgraded = copy.deepcopy(declared)
    upgraded.run(sql for step in new_plan.steps if step.kind.is_schema for sql in step.statements)
    return differences(upgraded, hives)


@pytest.mark.parametrize("database", DATABASES)
@pytest.mark.parametrize("version", TARGETS)
def test_assumed_schema_has_the_columns_of_hives_scripts(database: str, version: str) -> None:
    hives = [detected(database, declared, version) for declared in hive_schemas(database, version)]

    def comparable(table: str, column: Column) -> tuple[str, int | None, str | None]:
        kind = {"integer": "int"}.get(column.type, column.type)
        return (
            kind,
            column.length if "char" in kind else None,
            column.charset if table in ("TBLS", "TABLE_PARAMS") else None,
        )

    for table in assumed_schema(database, version).tables:
        for column in table.columns:
            declared = [
                comparable(table.name, item) for hive in hives if (item := hive.column(table.name, column.name))
            ]
            if (database, column.name) == ("sqlserver", "PARAM_VALUE") and versions.at_least(version, "2.2.0"):
                # nvarchar(max) after an upgrade, varchar(max) in a new schema, which has to be changed.
                declared.append(("varchar", -1, None))
            assert comparable(table.name, column) in declared, f"{table.name}.{column.name}"
        if table.name not in ("TBLS", "TABLE_PARAMS"):
            names = [{item.name for item in stored.columns} for hive in hives if (stored := hive.table(table.name))]
            assert {column.name for column in table.columns} in names, table.name


SOURCE = os.environ.get("HIVE_VIEWS_TEST_HIVE_SOURCE")
"""A checkout of Hive, whose older and newer scripts are compared as well: those of 0.6 to 1.2 and of 4.1 and later."""

SOURCE_DIRECTORIES = ("metastore/scripts/upgrade", "standalone-metastore/metastore-server/src/main/sql")


def script_text(name: str, version: str) -> str | None:
    """The script that upgrades to a version, with the scripts that it includes; None if it is not available."""
    file = versions.script_to(name, version)
    if text := states.scripts().get(f"{name}/{file}"):
        return text
    for directory in (Path(SOURCE or "none", path, name) for path in SOURCE_DIRECTORIES):
        if (directory / file).exists():
            lines = (directory / file).read_text(encoding="utf-8", errors="replace").splitlines()
            included = [
                re.match(r"\s*(?:SOURCE|RUN|:r|@|\\i)\s*'?([\w.-]+\.sql)", line, re.IGNORECASE) for line in lines
            ]
            texts = [
                (directory / match[1]).read_text(encoding="utf-8", errors="replace") if match else line
                for match, line in zip(included, lines, strict=True)
            ]
            return "\n".join(texts)
    return None


def steps_of(form: str, table: str, name: str) -> list[tuple[str, Form]]:
    """The steps that a change of a script belongs to, as `changed_objects` names it."""
    needed = {each.name: each for each in NEEDED_TABLES}.get(table)
    if form == "insert":
        return [(f"{table} row", Form.CREATES)] if needed and needed.first_value is not None else []
    steps = [(table, Form.CREATES if form == "create" else Form.CHANGES)] if needed else []
    if form in ("add", "change"):
        column_form = Form.CREATES if form == "add" else Form.CHANGES
        steps += [(each.id, column_form) for each in ADDITIONS if (each.table, each.column.name) == (table, name)]
        steps += [(each.id, Form.CHANGES) for each in CHANGED_COLUMNS if (each.table, each.column) == (table, name)]
    if form in ("index", "reindex"):
        index, _, columns = name.rstrip(")").partition("(")
        steps += [
            (each.id, Form.CREATES if form == "index" else Form.CHANGES)
            for each in INDEXES
            if each.table == table and (each.name == index or ",".join(each.columns) == columns)
        ]
    return steps


def scripted_steps(name: str, version: str) -> dict[str, Form] | None:
    """The steps that Hive's script to a version makes as well; None if the script is not available."""
    text = script_text(name, version)
    if text is None:
        return None
    steps: dict[str, Form] = {}
    for change in changed_objects(statements(text)):
        for step, form in steps_of(*change):
            if name == "mysql" or not step.endswith(" utf8mb4"):
                steps[step] = Form.CREATES if Form.CREATES in (form, steps.get(step)) else form
    return steps


@pytest.mark.parametrize("name", DATABASES.values())
@pytest.mark.parametrize("version", versions.CHAIN[1:])
def test_table_of_steps_equals_hives_scripts(name: str, version: str) -> None:
    """A step that a new version of hive_views or of Hive adds has to be added to `SCRIPTED_STEPS`."""
    expected = scripted_steps(name, version)
    if expected is None:
        assert not versions.at_least(version, "2.0.0") or versions.at_least(version, "4.1.0")
        return
    rows = [row for row in SCRIPTED_STEPS if row.version == version and name in row.databases.split()]
    assert {step: row.form for row in rows for step in row.steps.split(", ")} == expected


def existing_objects(declared: DeclaredSchema) -> set[tuple[str, str, str]]:
    """The tables, columns, indexes and keys, as `changed_objects` names them, with indexes by their columns only."""
    objects = {("create", table, "") for table in declared}
    objects |= {("add", name, column) for name, table in declared.items() for column in table.columns}
    objects |= {("index", name, f"({','.join(index)})") for name, table in declared.items() for index in table.indexes}
    return objects | {("key", name, ",".join(table.primary_key)) for name, table in declared.items()}


@pytest.mark.parametrize("database", DATABASES)
@pytest.mark.parametrize("start", STARTS)
def test_plan_lists_each_step_on_which_a_remaining_script_fails(database: str, start: str) -> None:
    """Each pair of versions: what a plan adds and a remaining script adds again is a conflict of this script."""
    name, failing = DATABASES[database], 0
    for target in [target for target in TARGETS if versions.at_least(target, start)]:
        for declared in hive_schemas(database, start):
            new_plan = plan(detected(database, declared, start), target)
            upgraded = copy.deepcopy(declared)
            upgraded.run(sql for step in new_plan.steps if step.kind.is_schema for sql in step.statements)
            added = existing_objects(upgraded) - existing_objects(declared)
            conflicts = {script.name: set(script.conflicts) for script in new_plan.hive_scripts}
            assert tuple(conflicts) == versions.scripts(name, start, target)
            for script, listed in conflicts.items():
                for form, table, item in changed_objects(statements(states.scripts()[f"{name}/{script}"])):
                    by_columns = item[item.index("(") :] if form == "index" else item
                    if (form, table, by_columns) in added:
                        failing += 1
                        steps = {step for step, _ in steps_of(form, table, item)}
                        assert steps & listed, f"{start} to {target}: {script} repeats {form} {table}.{item}"
    assert failing or versions.at_least(start, "4.0.0-alpha-1")
