"""MySQL and MariaDB: DDL commits implicitly, so every schema step is one statement."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from hive_views.schema_upgrade.databases import Database
from hive_views.schema_upgrade.dialects.base import AlterList, Change, Dialect, Missing
from hive_views.schema_upgrade.requirements import Type, TypeKind
from hive_views.schema_upgrade.schema import Column
from hive_views.sql.text.quoting import quote_identifier

SQL_MODE = "STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION"
"""The SQL mode of sessions, independent of the server's: values that do not fit are errors, and ANSI_QUOTES,
NO_BACKSLASH_ESCAPES and ORACLE are off."""

_RUN = "PREPARE hive_views FROM @hive_views;\nEXECUTE hive_views;\nDEALLOCATE PREPARE hive_views;"

_LENGTHS = {"tinytext": 255, "text": 65_535, "mediumtext": 16_777_215, "longtext": 4_294_967_295}


_SAFE_DEFAULT = re.compile(r"NULL|-?[\d.]+|'(?:[^'\\]|''|\\.)*'", re.DOTALL)
"""Defaults of MariaDB that are literals."""


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def _merge(statements: Sequence[str]) -> str:
    """One ALTER TABLE for several of the same table; of two changes of the same column it makes only the later one."""
    prefix, _ = _split(statements[0])
    return prefix + ", ".join(_actions(statements))


def _actions(statements: Sequence[str]) -> list[str]:
    actions: dict[str, str] = {}
    for statement in statements:
        _, action = _split(statement)
        column = action.split("`")[1]
        actions.pop(column, None)
        actions[column] = action
    return list(actions.values())


def _split(statement: str) -> tuple[str, str]:
    """`ALTER TABLE name ` and the rest."""
    end = statement.index("` ") + 2
    return statement[:end], statement[end:]


def _guard(changes: Sequence[Change]) -> str:
    """One ALTER TABLE of a script for several changes, each with the condition under which it is needed."""
    prefix, _ = _split(changes[0].statement)
    kept = _actions([change.statement for change in changes])
    actions = ",\n".join(
        f"  IF({_is_needed(change)}, {_literal(action)}, NULL)"
        for change in changes
        if (action := _split(change.statement)[1]) in kept
    )
    return (
        f"SET @hive_views = CONCAT_WS(', ',\n{actions});\n"
        f"SET @hive_views = IF(@hive_views = '', 'DO 0', CONCAT({_literal(prefix)}, @hive_views));\n{_RUN}"
    )


def _is_needed(change: Change) -> str:
    """Return the condition under which a change is needed."""
    view, column = ("STATISTICS", "INDEX_NAME") if change.missing is Missing.INDEX else ("COLUMNS", "COLUMN_NAME")
    lacks = ""
    if change.missing is Missing.CHARSET:
        lacks = " AND CHARACTER_SET_NAME <> 'utf8mb4'"
    elif change.missing is Missing.WIDTH and change.needed is not None:
        # A column in another character set is kept: converting it back would turn characters into '?'.
        charset = re.search(r"CHARACTER SET (\w+)", change.statement)
        charsets = ("utf8", "utf8mb3") if charset and charset[1] == "utf8mb3" else (charset[1] if charset else "",)
        size = (
            f"CHARACTER_MAXIMUM_LENGTH < {change.needed.length}"
            if change.needed.kind is TypeKind.VARCHAR
            else f"CHARACTER_OCTET_LENGTH < {_LENGTHS['mediumtext']}"
        )
        lacks = f" AND {size} AND CHARACTER_SET_NAME IN ({', '.join(map(_literal, charsets))})"
    return (
        f"(SELECT COUNT(*) FROM INFORMATION_SCHEMA.{view} WHERE TABLE_SCHEMA = DATABASE()\n"
        f"    AND TABLE_NAME = {_literal(change.table)} AND {column} = {_literal(change.name)}{lacks}) "
        f"= {1 if lacks else 0}"
    )


class MariaDb(Dialect):
    """MariaDB 10.3 and newer."""

    name = Database.MARIADB
    hive_name = "mysql"
    title = "MariaDB"
    transactional_ddl = False
    has_indexes_by_table = True
    alter_list = AlterList(_merge, _guard)
    time_limit = "max_statement_time"
    """The variable that limits the time of statements."""
    prints_default_values = False
    """Whether INFORMATION_SCHEMA prints the value of a column's default, and not an expression."""
    types: Mapping[TypeKind, str] = {
        TypeKind.BIGINT: "bigint(20)",
        TypeKind.INT: "int(11)",
        TypeKind.VARCHAR: "varchar({length}) CHARACTER SET latin1 COLLATE latin1_bin",
        TypeKind.CHAR: "char({length}) CHARACTER SET latin1 COLLATE latin1_bin",
        TypeKind.VIEW_TEXT: "mediumtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        TypeKind.PARAMETER: "mediumtext CHARACTER SET latin1 COLLATE latin1_bin",
        TypeKind.LONG_TEXT: "text",
        TypeKind.FLAG: "bit(1)",
    }
    false = "0"
    now = "DATE_FORMAT(UTC_TIMESTAMP(6), '%Y-%m-%dT%H:%i:%s.%fZ')"
    own_text = "longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
    locking: Mapping[str, str] = {
        "add-column": "changes only the dictionary from MariaDB 10.3 and MySQL 8.0.12 on; older versions copy the "
        "table, and writers wait",
        "create-table": "none; its foreign keys wait briefly for other users of their tables",
        "create-index": "is built online: readers and writers continue",
        "widen": "copies the table: readers continue, writers wait",
        "recode": "copies the table: readers continue, writers wait",
    }
    table_options = " ENGINE=InnoDB DEFAULT CHARSET=latin1"
    one_row = " FROM DUAL"

    def quote(self, name: str) -> str:
        return quote_identifier(name)

    def literal(self, text: str) -> str:
        return _literal(text)

    def drop_index(self, name: str, table: str) -> str:
        return f"DROP INDEX {self.quote(name)} ON {self.quote(table)}"

    def limit(self, count: int) -> str:
        return f"LIMIT {count}"

    def short_text(self, expression: str) -> str:
        """Return the first characters of a long text, since grouping by long texts spills to disk."""
        return f"LEFT({expression}, 128)"

    def gather(self, key: str) -> str | None:
        """Return all IDs of a group as one text, whose maximum length the session sets high enough."""
        return f"GROUP_CONCAT({key} ORDER BY {key})"

    def fits(self, column: Column, needed: Type) -> bool:
        if needed.kind is TypeKind.VARCHAR:
            return column.length is None or column.length >= needed.length
        return _LENGTHS.get(column.type, 0) >= _LENGTHS["mediumtext"]

    def widen(self, table: str, column: Column, needed: Type) -> tuple[str, ...]:
        """Widen a column, which keeps its character set."""
        kind = "mediumtext" if needed.kind is not TypeKind.VARCHAR else f"varchar({needed.length})"
        collation = column.collation or f"{'utf8mb3' if column.charset == 'utf8' else column.charset or 'latin1'}_bin"
        return (self._modify(table, column, kind, collation),)

    def recode(self, table: str, column: Column) -> str | None:
        if column.charset is None or column.charset == "utf8mb4":
            return None
        kind = "longtext" if column.type == "longtext" else "mediumtext"
        is_binary = (column.collation or "_bin").endswith("_bin")
        return self._modify(table, column, kind, "utf8mb4_bin" if is_binary else "utf8mb4_general_ci")

    def restore(self, table: str, column: Column) -> tuple[str, str] | None:
        """Return the statement for an earlier declaration, and the condition for values that it cannot hold."""
        name = self.quote(column.name)
        collation, length = str(column.collation), column.length
        has_safe_default = column.default is None or _SAFE_DEFAULT.fullmatch(str(column.default))
        if not re.fullmatch(r"[a-z0-9]+_\w+", collation) or not has_safe_default:
            return None
        charset = collation.split("_")[0]
        encoded = f"CONVERT({name} USING {charset})"
        if column.type in ("varchar", "char") and isinstance(length, int):
            kind, longer = f"{column.type}({length})", f"CHAR_LENGTH({name}) > {length}"
        elif column.type in _LENGTHS:
            kind, longer = column.type, f"OCTET_LENGTH({encoded}) > {_LENGTHS[column.type]}"
        else:
            return None
        other = f"CAST(CONVERT({encoded} USING utf8mb4) AS BINARY) <> CAST(CONVERT({name} USING utf8mb4) AS BINARY)"
        return self._modify(table, column, kind, collation), f"{longer} OR {other}"

    def lock(self, table: str) -> tuple[str, str]:
        """LOCK TABLES and UNLOCK TABLES: DDL commits implicitly, which would release the locks of a transaction."""
        return f"LOCK TABLES {self.quote(table)} WRITE", "UNLOCK TABLES"

    def _modify(self, table: str, column: Column, kind: str, collation: str) -> str:
        """The statement that changes a column's type. MODIFY replaces the whole declaration, so it repeats the rest."""
        parts = [kind, f"CHARACTER SET {collation.split('_')[0]} COLLATE {collation}"]
        parts.append("NULL" if column.nullable else "NOT NULL")
        if column.default not in (None, "NULL"):
            default = str(column.default)
            parts.append(f"DEFAULT {self.literal(default) if self.prints_default_values else default}")
        if column.comment:
            parts.append(f"COMMENT {self.literal(column.comment)}")
        return f"ALTER TABLE {self.quote(table)} MODIFY COLUMN {self.quote(column.name)} {' '.join(parts)}"

    def guarded(self, change: Change) -> str:
        if change.missing is Missing.NOTHING:
            return f"{change.statement};"
        if change.missing is Missing.TABLE:
            return change.statement.replace("CREATE TABLE ", "CREATE TABLE IF NOT EXISTS ", 1) + ";"
        return f"SET @hive_views = IF({_is_needed(change)},\n  {_literal(change.statement)}, 'DO 0');\n{_RUN}"

    def give(self, table: str, owner: str | None, grants: Sequence[tuple[str, str]]) -> tuple[str, ...]:
        """The statements that grant privileges on a table to the users with privileges on the single table TBLS."""
        return tuple(f"GRANT {privilege} ON {self.quote(table)} TO {grantee}" for grantee, privilege in grants)

    def batches(self, statements: Sequence[str], size: int) -> str:
        """Statements over a range of rows, repeated in batches by a procedure that is dropped afterwards."""
        body = self.bounded(statements, "first_id", f"(first_id + {size - 1})", "    ")
        return (
            "DROP PROCEDURE IF EXISTS hive_views_batches;\nDELIMITER //\n"
            "CREATE PROCEDURE hive_views_batches()\nBEGIN\n"
            "  DECLARE first_id BIGINT DEFAULT 0;\n  DECLARE last_id BIGINT;\n"
            f"  SELECT {self.largest_id()} INTO last_id;\n"
            "  WHILE first_id <= last_id DO\n    START TRANSACTION;\n"
            f"{body}\n    COMMIT;\n    SET first_id = first_id + {size};\n  END WHILE;\nEND //\n"
            "DELIMITER ;\nCALL hive_views_batches();\nDROP PROCEDURE hive_views_batches;"
        )

    def head(self) -> str:
        return (
            f"SET NAMES utf8mb4;\nSET SESSION sql_mode = '{SQL_MODE}';\nSET SESSION sql_safe_updates = 0;\n"
            f"SET SESSION lock_wait_timeout = 60;\nSET SESSION {self.time_limit} = 0;"
        )

    def same_text(self, column: str, value: str) -> str:
        """Return the condition compares bytes, since the column's collation may ignore case and trailing blanks."""
        return f"CAST({column} AS BINARY) = CAST({value} AS BINARY)"


class MySql(MariaDb):
    """MySQL 5.7 and newer."""

    name = Database.MYSQL
    title = "MySQL"
    time_limit = "max_execution_time"
    prints_default_values = True
