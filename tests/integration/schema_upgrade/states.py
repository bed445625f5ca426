"""Start states: metastore databases of Hive 0.3 to 4.0 with rows.

Databases of 1.2 and later are created by Hive's scripts from the Maven tarball of 4.0.1. Older ones contain only the
tables that upgrades use, described here without copying scripts of Hive.
"""

from __future__ import annotations

import re
import tarfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hive_views.local_metastore.maven import Artifact, fetch
from hive_views.schema_upgrade.session import Session
from hive_views.schema_upgrade.versions import at_least, chain_version

CACHE = Path(__file__).parents[3] / ".cache"

SERVER_4 = Artifact("org.apache.hive", "hive-standalone-metastore-server", "4.0.1", "tar.gz", "bin")

OLD = ("0.3.0", "0.5.0", "0.7.0", "0.10.0", "0.12.0")
NEW = ("1.2.0", "2.1.0", "2.3.0", "3.1.0", "4.0.0")
STATES = (*OLD, *NEW)


def _converted(charset: str) -> dict[str, str]:
    return {
        "mariadb": "".join(
            f"ALTER TABLE {table} CONVERT TO CHARACTER SET {charset} COLLATE {charset}_bin;"
            for table in ("TBLS", "TABLE_PARAMS")
        )
    }


VARIANTS = {
    # name: the state that it begins with, and the changes by database
    "2.3.0 small": (
        "2.3.0",
        {
            "mariadb": "ALTER TABLE TBLS MODIFY TBL_NAME VARCHAR(128) CHARACTER SET latin1 COLLATE latin1_bin, "
            "MODIFY VIEW_ORIGINAL_TEXT TEXT, MODIFY VIEW_EXPANDED_TEXT VARCHAR(4000);"
            "ALTER TABLE TABLE_PARAMS MODIFY PARAM_VALUE VARCHAR(767);",
            "postgresql": 'ALTER TABLE "TBLS" ALTER "TBL_NAME" TYPE varchar(128), '
            'ALTER "VIEW_ORIGINAL_TEXT" TYPE varchar(4000), ALTER "VIEW_EXPANDED_TEXT" TYPE varchar(4000);'
            'ALTER TABLE "TABLE_PARAMS" ALTER "PARAM_VALUE" TYPE varchar(767);',
        },
    ),
    "2.3.0 compact": (
        "2.3.0",
        {
            # In 767 bytes fit 191 characters of utf8mb4.
            "mariadb": "ALTER TABLE TABLE_PARAMS DROP FOREIGN KEY TABLE_PARAMS_FK1, DROP INDEX TABLE_PARAMS_N49, "
            "DROP PRIMARY KEY, ADD INDEX P (TBL_ID), MODIFY PARAM_KEY VARCHAR(256) CHARACTER SET utf8mb4, "
            "ROW_FORMAT=COMPACT; ALTER TABLE TBLS MODIFY TBL_NAME VARCHAR(128) CHARACTER SET utf8mb4, "
            "ROW_FORMAT=COMPACT;"
        },
    ),
    "2.3.0 utf8": ("2.3.0", _converted("utf8mb3")),
    "2.3.0 utf8mb4": ("2.3.0", _converted("utf8mb4")),
}
"""Start states that differ from the results of Hive's scripts, whose columns are latin1 on MariaDB."""

_HIVE_NAMES = {"mariadb": "mysql", "mysql": "mysql", "postgresql": "postgres", "derby": "derby"}

MOJIBAKE = "SELECT `t`.`a` AS `naÃ¯ve` FROM `sales`.`t`"
REPAIRED = "SELECT `t`.`a` AS `naïve` FROM `sales`.`t`"


def hive_scripts(dialect: str, version: str) -> list[str]:
    """The texts of Hive's scripts that create the schema of a version."""
    name = _HIVE_NAMES[dialect]
    script_names = {
        "1.2.0": ["hive-schema-1.2.0"],
        "2.1.0": ["hive-schema-1.2.0", "upgrade-1.2.0-to-2.0.0", "upgrade-2.0.0-to-2.1.0"],
        "2.3.0": [
            "hive-schema-1.2.0",
            "upgrade-1.2.0-to-2.0.0",
            "upgrade-2.0.0-to-2.1.0",
            "upgrade-2.1.0-to-2.2.0",
            "upgrade-2.2.0-to-2.3.0",
        ],
        "3.1.0": ["hive-schema-3.1.0"],
        "4.0.0": ["hive-schema-4.0.0"],
    }[version]
    return [script(dialect, f"{script_name}.{name}.sql") for script_name in script_names]


def script(dialect: str, file_name: str) -> str:
    """The text of a Hive script."""
    return scripts()[f"{_HIVE_NAMES[dialect]}/{file_name}"]


@cache
def scripts() -> dict[str, str]:
    """The texts of all Hive scripts by database and file name. Reading the tarball takes seconds."""
    (archive,) = fetch([SERVER_4], CACHE)
    texts: dict[str, str] = {}
    with tarfile.open(archive) as tar:
        for member in tar:
            _, is_script, name = member.name.partition("scripts/metastore/upgrade/")
            if is_script and name.endswith(".sql"):
                opened = tar.extractfile(member)
                assert opened is not None
                texts[name] = opened.read().decode("utf-8")
    return texts


@dataclass(frozen=True)
class _Types:
    bigint: str
    int: str
    bit: str
    text: str
    name: str = "varchar({})"
    quote: str = '"'
    options: str = ""


_TYPES = {
    "mariadb": _Types(
        "bigint(20)",
        "int(11)",
        "bit(1)",
        "mediumtext",
        "varchar({}) CHARACTER SET latin1 COLLATE latin1_bin",
        "`",
        " ENGINE=InnoDB DEFAULT CHARSET=latin1",
    ),
    "postgresql": _Types("bigint", "integer", "boolean", "text"),
    "derby": _Types("BIGINT", "INTEGER", "CHAR(1)", "LONG VARCHAR"),
}


def old_schema(dialect: str, version: str) -> list[str]:
    """Statements that create the relevant tables of a version before 1.2."""
    types = _TYPES[dialect]

    def has(since: str) -> bool:
        schema_version = chain_version(version)
        assert schema_version is not None
        return at_least(schema_version, since)

    def table(name: str, *columns: str, key: str) -> str:
        parts = []
        for column in columns:
            column_name, kind, *rest = column.split(" ", 2)
            size = re.fullmatch(r"v(\d+)", kind)
            sql = types.name.format(size[1]) if size else getattr(types, kind)
            parts.append(f"{types.quote}{column_name}{types.quote} {sql} {' '.join(rest)}".rstrip())
        keys = ", ".join(f"{types.quote}{column_name}{types.quote}" for column_name in key.split(","))
        parts.append(f"PRIMARY KEY ({keys})")
        return f"CREATE TABLE {types.quote}{name}{types.quote} ({', '.join(parts)}){types.options}"

    databases = ["DB_ID bigint NOT NULL", "DESC v4000", "NAME v128"]
    databases += ["DB_LOCATION_URI v4000"] if has("0.6.0") else []
    tables = [
        "TBL_ID bigint NOT NULL",
        "CREATE_TIME int NOT NULL",
        "DB_ID bigint",
        "LAST_ACCESS_TIME int NOT NULL",
        "OWNER v767",
        "RETENTION int NOT NULL",
        "SD_ID bigint",
        "TBL_NAME v128",
    ]
    if has("0.6.0"):
        tables += ["TBL_TYPE v128", "VIEW_EXPANDED_TEXT text", "VIEW_ORIGINAL_TEXT text"]
    storage = [
        "SD_ID bigint NOT NULL",
        "INPUT_FORMAT v4000",
        "IS_COMPRESSED bit NOT NULL",
        "LOCATION v4000",
        "NUM_BUCKETS int NOT NULL",
        "OUTPUT_FORMAT v4000",
        "SERDE_ID bigint",
    ]
    statements = [
        table("DBS", *databases, key="DB_ID"),
        table("SDS", *storage, *(["CD_ID bigint"] if has("0.8.0") else []), key="SD_ID"),
        table("TBLS", *tables, key="TBL_ID"),
        table(
            "TABLE_PARAMS",
            "TBL_ID bigint NOT NULL",
            "PARAM_KEY v256 NOT NULL",
            "PARAM_VALUE v4000" if has("0.6.0") else "PARAM_VALUE v767",
            key="TBL_ID,PARAM_KEY",
        ),
        table(
            "PARTITION_KEYS",
            "TBL_ID bigint NOT NULL",
            "PKEY_COMMENT v4000",
            "PKEY_NAME v128 NOT NULL",
            "PKEY_TYPE v767 NOT NULL",
            "INTEGER_IDX int NOT NULL",
            key="TBL_ID,PKEY_NAME",
        ),
    ]
    column_columns = ["COMMENT v256", "COLUMN_NAME v128 NOT NULL", "TYPE_NAME v4000", "INTEGER_IDX int NOT NULL"]
    if has("0.8.0"):
        statements += [
            table("CDS", "CD_ID bigint NOT NULL", key="CD_ID"),
            table("COLUMNS_V2", "CD_ID bigint NOT NULL", *column_columns, key="CD_ID,COLUMN_NAME"),
        ]
    else:
        statements.append(table("COLUMNS", "SD_ID bigint NOT NULL", *column_columns, key="SD_ID,COLUMN_NAME"))
    if has("0.7.0"):
        statements.append(table("ROLES", "ROLE_ID bigint NOT NULL", "ROLE_NAME v128", key="ROLE_ID"))
    if has("0.10.0"):
        statements.append(
            table("SKEWED_COL_NAMES", "SD_ID bigint NOT NULL", "INTEGER_IDX int NOT NULL", key="SD_ID,INTEGER_IDX")
        )
    if has("0.12.0"):
        statements.append(
            table(
                "VERSION",
                "VER_ID bigint NOT NULL",
                "SCHEMA_VERSION v127 NOT NULL",
                "VERSION_COMMENT v255",
                key="VER_ID",
            )
        )
        statements.append(f"INSERT INTO {types.quote}VERSION{types.quote} VALUES (1, '0.12.0', 'a test')")
    index, on, *columns = (f"{types.quote}{name}{types.quote}" for name in ("UNIQUETABLE", "TBLS", "TBL_NAME", "DB_ID"))
    statements.append(f"CREATE UNIQUE INDEX {index} ON {on} ({', '.join(columns)})")
    return statements


@dataclass(frozen=True)
class Sample:
    """A row of TBLS in a start state."""

    tbl_id: int
    name: str
    kind: str | None
    """Its TBL_TYPE, if the column exists."""
    text: str | None = None
    """Its view texts."""
    external: str | None = None
    storage: bool = True
    expected: str | None = None
    """Its TBL_TYPE after the upgrade."""
    doubtful: bool = False


def samples(with_views: bool) -> list[Sample]:
    """The rows of a start state; versions before 0.6 have no views and no types."""
    rows = [
        Sample(1, "t", None, expected="MANAGED_TABLE"),
        Sample(2, "ext", None, external="TRUE", expected="EXTERNAL_TABLE"),
        Sample(3, "ext_lower", None, external="true", expected="EXTERNAL_TABLE"),
        Sample(4, "not_ext", None, external="FALSE", expected="MANAGED_TABLE"),
        Sample(9, "odd", None, external="perhaps", doubtful=True),
        Sample(10, "nothing", None, storage=False, doubtful=True),
    ]
    if with_views:
        good = "SELECT `t`.`a` FROM `sales`.`t`"
        rows += [
            Sample(21, "v", None, good, expected="VIRTUAL_VIEW"),
            Sample(22, "v_ext", None, good, external="TRUE", expected="VIRTUAL_VIEW"),
            Sample(23, "v_typed", "VIRTUAL_VIEW", good, external="TRUE", expected="VIRTUAL_VIEW"),
            Sample(24, "typed", "MANAGED_TABLE", expected="MANAGED_TABLE"),
            Sample(25, "typed_ext", "EXTERNAL_TABLE", external="TRUE", expected="EXTERNAL_TABLE"),
            Sample(26, "typed_managed", "MANAGED_TABLE", external="TRUE", expected="EXTERNAL_TABLE"),
            Sample(27, "typed_external", "EXTERNAL_TABLE", expected="EXTERNAL_TABLE", doubtful=True),
            Sample(28, "v_mojibake", "VIRTUAL_VIEW", MOJIBAKE, expected="VIRTUAL_VIEW"),
            Sample(29, "mv", "MATERIALIZED_VIEW", good, expected="MATERIALIZED_VIEW"),
            Sample(30, "v_gone", "VIRTUAL_VIEW", "SELECT `gone`.`a` FROM `sales`.`gone`", expected="VIRTUAL_VIEW"),
            Sample(31, "v_bad", "VIRTUAL_VIEW", "SELEKT a FORM t", expected="VIRTUAL_VIEW"),
        ]
    return rows


def insert_rows(session: Session) -> None:
    """Insert the samples into a start state."""
    from hive_views.schema_upgrade import detect

    schema = detect(session, rows=False)
    quote = session.dialect.quote

    def insert(table: str, **values: object) -> None:
        existing = schema.table(table)
        assert existing is not None, table
        row_values = {name: value for name, value in values.items() if existing.column(name)}
        names = ", ".join(quote(name) for name in row_values)
        session.execute(
            f"INSERT INTO {quote(table)} ({names}) VALUES ({', '.join(':' + name for name in row_values)})", row_values
        )

    # Hive 3.0 and later have catalogs.
    if schema.table("CTLGS"):
        count = session.query(f"SELECT COUNT(*) FROM {quote('CTLGS')}")[0][0]
        if not count:
            insert("CTLGS", CTLG_ID=1, NAME="hive", DESC="", LOCATION_URI="file:/tmp/none", CREATE_TIME=0)
    optional_columns = {"CTLG_NAME": "hive", "CREATE_TIME": 0}
    insert(
        "DBS",
        DB_ID=77,
        NAME="sales",
        DESC="",
        DB_LOCATION_URI="file:/tmp/none/sales.db",
        TYPE="NATIVE",
        **optional_columns,
    )
    false: object = {"derby": "N", "postgresql": False}.get(session.dialect.name, 0)
    with_views = schema.column("TBLS", "VIEW_ORIGINAL_TEXT") is not None
    for row in samples(with_views):
        if row.storage:
            if schema.table("CDS"):
                insert("CDS", CD_ID=1000 + row.tbl_id)
            if schema.table("SERDES"):
                insert("SERDES", SERDE_ID=1000 + row.tbl_id, SLIB="org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe")
            insert(
                "SDS",
                SD_ID=1000 + row.tbl_id,
                CD_ID=1000 + row.tbl_id,
                SERDE_ID=1000 + row.tbl_id if schema.table("SERDES") else None,
                IS_COMPRESSED=false,
                IS_STOREDASSUBDIRECTORIES=false,
                NUM_BUCKETS=-1,
                LOCATION=None if row.text else f"file:/tmp/none/sales.db/{row.name}",
            )
            column_owner = {"SD_ID": 1000 + row.tbl_id} if not schema.table("CDS") else {"CD_ID": 1000 + row.tbl_id}
            insert(
                "COLUMNS_V2" if schema.table("CDS") else "COLUMNS",
                COLUMN_NAME="a",
                TYPE_NAME="int",
                INTEGER_IDX=0,
                **column_owner,
            )
        insert(
            "TBLS",
            TBL_ID=row.tbl_id,
            CREATE_TIME=1700000000,
            DB_ID=77,
            LAST_ACCESS_TIME=0,
            OWNER="ann",
            RETENTION=0,
            SD_ID=1000 + row.tbl_id if row.storage else None,
            TBL_NAME=row.name,
            TBL_TYPE=row.kind,
            VIEW_ORIGINAL_TEXT=row.text,
            VIEW_EXPANDED_TEXT=row.text,
            IS_REWRITE_ENABLED=false,
        )
        if row.external is not None:
            insert("TABLE_PARAMS", TBL_ID=row.tbl_id, PARAM_KEY="EXTERNAL", PARAM_VALUE=row.external)
    session.commit()
