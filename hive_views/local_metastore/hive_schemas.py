"""The database schemas of Hive 4.1 and 4.2, for which Hive publishes no scripts in Maven repositories.

The scripts consist of the script in 4.0's archive and the later changes, for each database. Sources: HIVE-27725
(statistics without names), HIVE-28292 and HIVE-28828 (indexes; not on Derby), HIVE-29178 (parameters of catalogs).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hive_views.text_enum import TextEnum

BASE = "4.0.0"
"""The newest schema whose scripts are in a published archive."""


class DatabaseType(TextEnum):
    """A database, by the name that Hive's schema tool and scripts have for it."""

    DERBY = "derby"
    MYSQL = "mysql"
    POSTGRES = "postgres"


_STATISTICS = (
    ("TAB_COL_STATS", "TAB_COL_STATS_IDX", ("TBL_ID", "COLUMN_NAME"), ("CAT_NAME", "DB_NAME", "TABLE_NAME")),
    (
        "PART_COL_STATS",
        "PCS_STATS_IDX",
        ("PART_ID", "COLUMN_NAME"),
        ("CAT_NAME", "DB_NAME", "TABLE_NAME", "PARTITION_NAME"),
    ),
)
"""For each change: the table, its index, the new columns of the index, the dropped columns of the table."""


def write_schemas(scripts: Path, version: str) -> None:
    """Write the scripts that Hive's schema tool of a version reads, one for each database."""
    for kind in DatabaseType:
        base = (scripts / kind / f"hive-schema-{BASE}.{kind}.sql").read_text(encoding="utf-8")
        (scripts / kind / f"hive-schema-{version}.{kind}.sql").write_text(
            newer_schema(base, kind, version), encoding="utf-8"
        )


def newer_schema(base: str, kind: DatabaseType, version: str) -> str:
    """Return the script that creates the schema of a version in an empty database."""
    statements = [*_to_4_1(kind)]
    if version != "4.1.0":
        statements += _to_4_2(kind)
    values = f"'{version}', \"VERSION_COMMENT\" = 'Hive release version {version}'"
    statements.append(f'UPDATE "VERSION" SET "SCHEMA_VERSION" = {values} WHERE "VER_ID" = 1')
    if kind is not DatabaseType.POSTGRES:  # only PostgreSQL needs the quotes: it would fold the names to lower case
        statements = [statement.replace('"', "") for statement in statements]
    return "\n".join([base.rstrip(), "", *(f"{statement};" for statement in statements), ""])


def _to_4_1(kind: DatabaseType) -> Iterator[str]:
    for table, index, columns, dropped_columns in _STATISTICS:
        yield _drop_index(kind, table, index)
        yield _index(table, index, columns)
        if kind is DatabaseType.POSTGRES:
            # This index is redundant: its columns are a prefix of those of the new index.
            yield _drop_index(kind, table, f"{table}_N49")
        for column in dropped_columns:
            yield f'ALTER TABLE "{table}" DROP COLUMN "{column}"'
    if kind is DatabaseType.DERBY:
        return
    if kind is DatabaseType.POSTGRES:
        yield 'ALTER TABLE "TBLS" DROP CONSTRAINT "UNIQUETABLE"'
        yield 'ALTER TABLE "TBLS" ADD CONSTRAINT "UNIQUETABLE" UNIQUE ("DB_ID", "TBL_NAME")'
    else:
        yield _drop_index(kind, "TBLS", "UNIQUETABLE")
        yield _index("TBLS", "UNIQUETABLE", ("DB_ID", "TBL_NAME"), unique=True)
    yield _drop_index(kind, "TBLS", "TBLS_N49")
    yield _index("TXNS", "TXN_STATE_IDX", ("TXN_STATE", "TXN_ID"), unique=True)


def _to_4_2(kind: DatabaseType) -> Iterator[str]:
    # Like Hive's other tables on MySQL: the key would be too long in a wider character set than latin1.
    table_options = " ENGINE=InnoDB DEFAULT CHARSET=latin1" if kind is DatabaseType.MYSQL else ""
    yield (
        'CREATE TABLE "CATALOG_PARAMS" ("CTLG_ID" BIGINT NOT NULL, "PARAM_KEY" VARCHAR(180) NOT NULL, '
        '"PARAM_VALUE" VARCHAR(4000), PRIMARY KEY ("CTLG_ID", "PARAM_KEY"), CONSTRAINT "CATALOG_PARAMS_FK1" '
        f'FOREIGN KEY ("CTLG_ID") REFERENCES "CTLGS" ("CTLG_ID") ON DELETE CASCADE){table_options}'
    )


def _drop_index(kind: DatabaseType, table: str, name: str) -> str:
    return f'DROP INDEX "{name}"{f" ON {table}" if kind is DatabaseType.MYSQL else ""}'


def _index(table: str, name: str, columns: tuple[str, ...], *, unique: bool = False) -> str:
    column_list = ", ".join(f'"{column}"' for column in columns)
    return f'CREATE {"UNIQUE " if unique else ""}INDEX "{name}" ON "{table}" ({column_list})'
