"""Tables and columns that a metastore reads or writes for every table or view, and that only Hive's scripts create.

A metastore fails without them, whatever version the table VERSION holds. The names are those that Hive's scripts
of 1.2.0 to 4.0.0 have in common for MySQL, PostgreSQL and Derby.
"""

from __future__ import annotations

from collections.abc import Iterator

from hive_views.schema_upgrade import versions
from hive_views.schema_upgrade.databases import Database
from hive_views.schema_upgrade.dialects.registry import dialect_of
from hive_views.schema_upgrade.requirements import TABLES
from hive_views.schema_upgrade.schema import Schema, Table

_PRIVILEGE = "CREATE_TIME GRANTOR GRANTOR_TYPE GRANT_OPTION PRINCIPAL_NAME PRINCIPAL_TYPE"
_STATISTICS = (
    "AVG_COL_LEN BIG_DECIMAL_HIGH_VALUE BIG_DECIMAL_LOW_VALUE COLUMN_NAME COLUMN_TYPE CS_ID DB_NAME DOUBLE_HIGH_VALUE "
    "DOUBLE_LOW_VALUE LAST_ANALYZED LONG_HIGH_VALUE LONG_LOW_VALUE MAX_COL_LEN NUM_DISTINCTS NUM_FALSES NUM_NULLS "
    "NUM_TRUES TABLE_NAME"
)

COLUMNS: dict[str, dict[str, str]] = {
    "1.2.0": {
        "BUCKETING_COLS": "BUCKET_COL_NAME INTEGER_IDX SD_ID",
        "CDS": "CD_ID",
        "COLUMNS_V2": "CD_ID COLUMN_NAME COMMENT INTEGER_IDX TYPE_NAME",
        "DATABASE_PARAMS": "DB_ID PARAM_KEY PARAM_VALUE",
        "DBS": "DB_ID DB_LOCATION_URI DESC NAME OWNER_NAME OWNER_TYPE",
        "DB_PRIVS": f"{_PRIVILEGE} DB_GRANT_ID DB_ID DB_PRIV",
        "FUNCS": "CLASS_NAME CREATE_TIME DB_ID FUNC_ID FUNC_NAME FUNC_TYPE OWNER_NAME OWNER_TYPE",
        "FUNC_RU": "FUNC_ID INTEGER_IDX RESOURCE_TYPE RESOURCE_URI",
        "GLOBAL_PRIVS": f"{_PRIVILEGE} USER_GRANT_ID USER_PRIV",
        "IDXS": "CREATE_TIME DEFERRED_REBUILD INDEX_HANDLER_CLASS INDEX_ID INDEX_NAME INDEX_TBL_ID LAST_ACCESS_TIME "
        "ORIG_TBL_ID SD_ID",
        "PARTITIONS": "CREATE_TIME LAST_ACCESS_TIME PART_ID PART_NAME SD_ID TBL_ID",
        "PARTITION_KEYS": "INTEGER_IDX PKEY_COMMENT PKEY_NAME PKEY_TYPE TBL_ID",
        "PARTITION_KEY_VALS": "INTEGER_IDX PART_ID PART_KEY_VAL",
        "PARTITION_PARAMS": "PARAM_KEY PARAM_VALUE PART_ID",
        "PART_COL_PRIVS": f"{_PRIVILEGE} COLUMN_NAME PART_COLUMN_GRANT_ID PART_COL_PRIV PART_ID",
        "PART_COL_STATS": f"{_STATISTICS} PARTITION_NAME PART_ID",
        "PART_PRIVS": f"{_PRIVILEGE} PART_GRANT_ID PART_ID PART_PRIV",
        "ROLES": "CREATE_TIME OWNER_NAME ROLE_ID ROLE_NAME",
        "ROLE_MAP": "ADD_TIME GRANTOR GRANTOR_TYPE GRANT_OPTION PRINCIPAL_NAME PRINCIPAL_TYPE ROLE_GRANT_ID ROLE_ID",
        "SDS": "CD_ID INPUT_FORMAT IS_COMPRESSED IS_STOREDASSUBDIRECTORIES LOCATION NUM_BUCKETS OUTPUT_FORMAT SD_ID "
        "SERDE_ID",
        "SD_PARAMS": "PARAM_KEY PARAM_VALUE SD_ID",
        "SEQUENCE_TABLE": "NEXT_VAL SEQUENCE_NAME",
        "SERDES": "NAME SERDE_ID SLIB",
        "SERDE_PARAMS": "PARAM_KEY PARAM_VALUE SERDE_ID",
        "SKEWED_COL_NAMES": "INTEGER_IDX SD_ID SKEWED_COL_NAME",
        "SKEWED_COL_VALUE_LOC_MAP": "LOCATION SD_ID STRING_LIST_ID_KID",
        "SKEWED_STRING_LIST": "STRING_LIST_ID",
        "SKEWED_STRING_LIST_VALUES": "INTEGER_IDX STRING_LIST_ID STRING_LIST_VALUE",
        "SKEWED_VALUES": "INTEGER_IDX SD_ID_OID STRING_LIST_ID_EID",
        "SORT_COLS": "COLUMN_NAME INTEGER_IDX ORDER SD_ID",
        "TABLE_PARAMS": "PARAM_KEY PARAM_VALUE TBL_ID",
        "TAB_COL_STATS": f"{_STATISTICS} TBL_ID",
        "TBLS": "CREATE_TIME DB_ID LAST_ACCESS_TIME OWNER RETENTION SD_ID TBL_ID TBL_NAME",
        "TBL_COL_PRIVS": f"{_PRIVILEGE} COLUMN_NAME TBL_COLUMN_GRANT_ID TBL_COL_PRIV TBL_ID",
        "TBL_PRIVS": f"{_PRIVILEGE} TBL_GRANT_ID TBL_ID TBL_PRIV",
        "VERSION": "SCHEMA_VERSION VERSION_COMMENT VER_ID",
    },
    "2.1.0": {
        "KEY_CONSTRAINTS": "CHILD_CD_ID CHILD_INTEGER_IDX CHILD_TBL_ID CONSTRAINT_NAME CONSTRAINT_TYPE DELETE_RULE "
        "ENABLE_VALIDATE_RELY PARENT_CD_ID PARENT_INTEGER_IDX PARENT_TBL_ID POSITION UPDATE_RULE",
    },
    "3.0.0": {
        "CTLGS": "CTLG_ID DESC LOCATION_URI NAME",
        "DBS": "CTLG_NAME",
        "KEY_CONSTRAINTS": "DEFAULT_VALUE",
        "PART_COL_STATS": "BIT_VECTOR CAT_NAME",
        "SERDES": "DESCRIPTION DESERIALIZER_CLASS SERDE_TYPE SERIALIZER_CLASS",
        "TAB_COL_STATS": "CAT_NAME",
    },
    "3.1.0": {
        "DB_PRIVS": "AUTHORIZER",
        "GLOBAL_PRIVS": "AUTHORIZER",
        "PART_COL_PRIVS": "AUTHORIZER",
        "PART_PRIVS": "AUTHORIZER",
        "TBL_COL_PRIVS": "AUTHORIZER",
        "TBL_PRIVS": "AUTHORIZER",
    },
    "3.2.0": {"CTLGS": "CREATE_TIME", "DBS": "CREATE_TIME"},
    "4.0.0-alpha-1": {
        "DBS": "DATACONNECTOR_NAME DB_MANAGED_LOCATION_URI REMOTE_DBNAME TYPE",
        "PACKAGES": "BODY CREATE_TIME DB_ID HEADER NAME OWNER_NAME PKG_ID",
        "PARTITIONS": "WRITE_ID",
        "PART_COL_STATS": "ENGINE",
        "STORED_PROCS": "CREATE_TIME DB_ID NAME OWNER_NAME SOURCE SP_ID",
        "TAB_COL_STATS": "ENGINE",
    },
    "4.0.0-beta-1": {"PART_COL_STATS": "HISTOGRAM", "TAB_COL_STATS": "HISTOGRAM"},
}
"""The columns that each schema version added, by table. Tables and columns that plans add are not listed."""

_DROPPED_IN = {"IDXS": "3.0.0"}
"""The versions whose scripts drop tables."""


def metastore_problems(schema: Schema, target: str) -> Iterator[str]:
    """Why a metastore of a version would not start, or not read rows, even after all steps of a plan."""
    if schema.version_rows and not versions.at_least(schema.version, target):
        remaining = versions.scripts("", schema.version, target)
        yield f"{len(remaining)} of Hive's scripts remain from schema {schema.version} to {target}: run schematool"
    if len(schema.version_rows) > 1:
        yield f"VERSION has {len(schema.version_rows)} rows, and the metastore expects one"
    if not schema.version_rows and schema.table("VERSION"):
        yield "VERSION has no row"
    missing: dict[str, None] = {}
    tbls = schema.table("TBLS")
    forbidden: dict[str, list[str]] = {}
    for since, tables in COLUMNS.items():
        if not versions.at_least(target, since):
            continue
        for name, columns in tables.items():
            if name in _DROPPED_IN and versions.at_least(target, _DROPPED_IN[name]):
                continue
            table = schema.table(name)
            if table is None:
                missing[name] = None
            else:
                missing |= dict.fromkeys(f"{name}.{each}" for each in columns.split() if table.column(each) is None)
                for user in _without_privileges(table, tbls) if tbls else ():
                    forbidden.setdefault(user, []).append(name)
    for needed in TABLES:
        if (table := schema.table(needed.name)) and versions.at_least(target, needed.since):
            names = [column.name for column in needed.columns if table.column(column.name) is None]
            missing |= dict.fromkeys(f"{needed.name}.{name}" for name in names)
    if missing:
        yield f"Hive's schema of {target} has tables or columns that are missing: {', '.join(missing)}"
    for user, names in forbidden.items():
        yield f"{user} may read and change TBLS, but not all of {', '.join(dict.fromkeys(names))}: GRANT the privileges"
    for needed in TABLES:
        stored, name = schema.table(needed.name), dialect_of(schema.dialect).table_name(needed, target)
        if schema.dialect == Database.POSTGRESQL and stored and stored.name != name:
            # It is the lock table of another version: Hive 4.0 quotes their names.
            yield f'Hive {target} reads the table "{name}", whose name is "{stored.name}"'


def _without_privileges(table: Table, tbls: Table) -> set[str]:
    """Return the users who may read and change TBLS, as a metastore's user may, but not this table."""
    users = {user for user, privilege in tbls.metastore_grants if not table.allows(user, privilege)}
    return users if table.is_usable or tbls.owner is None else users | {tbls.owner}
