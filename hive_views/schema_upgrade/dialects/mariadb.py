"""MySQL and MariaDB: DDL commits implicitly, so every schema step is one statement."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from hive_views.schema_upgrade.dialects.base import Dialect
from hive_views.schema_upgrade.requirements import Type
from hive_views.schema_upgrade.schema import Column

SQL_MODE = "STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION"
"""The SQL mode of sessions, independent of the server's: values that do not fit are errors, and ANSI_QUOTES,
NO_BACKSLASH_ESCAPES and ORACLE are off."""

_RUN = "PREPARE hive_views FROM @hive_views;\nEXECUTE hive_views;\nDEALLOCATE PREPARE hive_views;"

_LENGTHS = {"tinytext": 255, "text": 65_535, "mediumtext": 16_777_215, "longtext": 4_294_967_295}


class MariaDb(Dialect):
    """MariaDB 10.3 and newer."""

    name = "mariadb"
    hive_name = "mysql"
    title = "MariaDB"
    sqlglot = "mysql"
    transactional_ddl = False
    merges_alters = True
    types: Mapping[str, str] = {
        "bigint": "bigint(20)",
        "int": "int(11)",
        "varchar": "varchar({length}) CHARACTER SET latin1 COLLATE latin1_bin",
        "char": "char({length}) CHARACTER SET latin1 COLLATE latin1_bin",
        "view_text": "mediumtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        "parameter": "mediumtext CHARACTER SET latin1 COLLATE latin1_bin",
        "long_text": "text",
        "flag": "bit(1)",
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
        """An identifier, quoted."""
        return f"`{name}`"

    def literal(self, text: str) -> str:
        """A string literal."""
        return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"

    def drop_index(self, name: str, table: str) -> str:
        """Drop an index."""
        return f"DROP INDEX {self.quote(name)} ON {self.quote(table)}"

    def limit(self, count: int) -> str:
        """The clause that limits a query to a number of rows."""
        return f"LIMIT {count}"

    def short_text(self, expression: str) -> str:
        """The beginning of a long text: grouping long texts would use the disk."""
        return f"LEFT({expression}, 128)"

    def gather(self, key: str) -> str | None:
        """All ids of a group as one text; the session lets it be as long as it must."""
        return f"GROUP_CONCAT({key} ORDER BY {key})"

    def fits(self, column: Column, needed: Type) -> bool:
        """Whether a column can hold what is needed of it."""
        if needed.kind == "varchar":
            return column.length is None or column.length >= needed.length
        return _LENGTHS.get(column.type, 0) >= _LENGTHS["mediumtext"]

    def widen(self, table: str, column: Column, needed: Type) -> tuple[str, ...]:
        """Let a column hold more, in the character set that it has."""
        kind = "mediumtext" if needed.kind != "varchar" else f"varchar({needed.length})"
        collation = column.collation or f"{'utf8mb3' if column.charset == 'utf8' else column.charset or 'latin1'}_bin"
        return (self._modify(table, column, kind, collation),)

    def recode(self, table: str, column: Column) -> str | None:
        """Let a column of texts hold every character."""
        if column.charset is None or column.charset == "utf8mb4":
            return None
        kind = "longtext" if column.type == "longtext" else "mediumtext"
        is_binary = (column.collation or "_bin").endswith("_bin")
        return self._modify(table, column, kind, "utf8mb4_bin" if is_binary else "utf8mb4_general_ci")

    def _modify(self, table: str, column: Column, kind: str, collation: str) -> str:
        """Another type of a column. MODIFY replaces the whole declaration, so it is repeated."""
        parts = [kind, f"CHARACTER SET {collation.split('_')[0]} COLLATE {collation}"]
        parts.append("NULL" if column.nullable else "NOT NULL")
        if column.default not in (None, "NULL"):
            parts.append(f"DEFAULT {self._stored_default(str(column.default))}")
        if column.comment:
            parts.append(f"COMMENT {self.literal(column.comment)}")
        return f"ALTER TABLE {self.quote(table)} MODIFY COLUMN {self.quote(column.name)} {' '.join(parts)}"

    def _stored_default(self, default: str) -> str:
        """A default as INFORMATION_SCHEMA prints it; MariaDB prints an expression."""
        return default

    def merge(self, statements: Sequence[str]) -> str:
        """One ALTER TABLE for several of the same table; of two changes of a column the later one is made."""
        prefix, _ = self._split(statements[0])
        return prefix + ", ".join(self._actions(statements))

    def _actions(self, statements: Sequence[str]) -> list[str]:
        actions: dict[str, str] = {}
        for statement in statements:
            _, action = self._split(statement)
            column = action.split("`")[1]
            actions.pop(column, None)
            actions[column] = action
        return list(actions.values())

    @staticmethod
    def _split(statement: str) -> tuple[str, str]:
        """`ALTER TABLE name ` and the rest."""
        end = statement.index("` ") + 2
        return statement[:end], statement[end:]

    def guarded(
        self, statement: str, table: str, missing: str, name: str, needed: Type | None = None, *, is_part: bool = False
    ) -> str:
        """A statement for a script that may run twice: it checks the catalog first."""
        if not missing:
            return f"{statement};"
        if missing == "table":
            return statement.replace("CREATE TABLE ", "CREATE TABLE IF NOT EXISTS ", 1) + ";"
        view, column = ("STATISTICS", "INDEX_NAME") if missing == "index" else ("COLUMNS", "COLUMN_NAME")
        lacks = ""
        if missing == "charset":
            lacks = " AND CHARACTER_SET_NAME <> 'utf8mb4'"
        elif missing == "width" and needed is not None:
            # A column in another character set is kept: converting it back would turn characters into '?'.
            charset = re.search(r"CHARACTER SET (\w+)", statement)
            charsets = ("utf8", "utf8mb3") if charset and charset[1] == "utf8mb3" else (charset[1] if charset else "",)
            size = (
                f"CHARACTER_MAXIMUM_LENGTH < {needed.length}"
                if needed.kind == "varchar"
                else f"CHARACTER_OCTET_LENGTH < {_LENGTHS['mediumtext']}"
            )
            lacks = f" AND {size} AND CHARACTER_SET_NAME IN ({', '.join(map(self.literal, charsets))})"
        condition = (
            f"(SELECT COUNT(*) FROM INFORMATION_SCHEMA.{view} WHERE TABLE_SCHEMA = DATABASE()\n"
            f"    AND TABLE_NAME = {self.literal(table)} AND {column} = {self.literal(name)}{lacks}) "
            f"= {1 if lacks else 0}"
        )
        if is_part:
            return condition
        return f"SET @hive_views = IF({condition},\n  {self.literal(statement)}, 'DO 0');\n{_RUN}"

    def guarded_merge(self, parts: Sequence[tuple[str, str]]) -> str:
        """One ALTER TABLE of a script for several statements, each with the condition under which it is needed."""
        prefix, _ = self._split(parts[0][0])
        kept = self._actions([statement for statement, _ in parts])
        actions = ",\n".join(
            f"  IF({condition}, {self.literal(self._split(statement)[1])}, NULL)"
            for statement, condition in parts
            if self._split(statement)[1] in kept
        )
        return (
            f"SET @hive_views = CONCAT_WS(', ',\n{actions});\n"
            f"SET @hive_views = IF(@hive_views = '', 'DO 0', CONCAT({self.literal(prefix)}, @hive_views));\n{_RUN}"
        )

    def batches(self, begin: str, statements: Sequence[str], size: int) -> str:
        """Statements over a range of rows, repeated in batches: a procedure that is dropped again."""
        body = "\n".join(
            f"    {each.replace(':first', 'first_id').replace(':last', '(first_id + ' + str(size - 1) + ')')};"
            for each in statements
        )
        return (
            "DROP PROCEDURE IF EXISTS hive_views_batches;\nDELIMITER //\n"
            "CREATE PROCEDURE hive_views_batches()\nBEGIN\n"
            "  DECLARE first_id BIGINT DEFAULT 0;\n  DECLARE last_id BIGINT;\n"
            f"  SELECT COALESCE(({begin}), 0) INTO last_id;\n"
            "  WHILE first_id <= last_id DO\n    START TRANSACTION;\n"
            f"{body}\n    COMMIT;\n    SET first_id = first_id + {size};\n  END WHILE;\nEND //\n"
            "DELIMITER ;\nCALL hive_views_batches();\nDROP PROCEDURE hive_views_batches;"
        )

    def head(self) -> str:
        """What a script begins with."""
        return (
            f"SET NAMES utf8mb4;\nSET SESSION sql_mode = '{SQL_MODE}';\nSET SESSION sql_safe_updates = 0;\n"
            "SET SESSION lock_wait_timeout = 60;"
        )

    def same_text(self, column: str, value: str) -> str:
        """Whether a text column holds a value: as bytes, since its collation may know neither case nor blanks."""
        return f"CAST({column} AS BINARY) = CAST({value} AS BINARY)"


class MySql(MariaDb):
    """MySQL 5.7 and newer."""

    name = "mysql"
    title = "MySQL"

    def _stored_default(self, default: str) -> str:
        """A default as INFORMATION_SCHEMA prints it; MySQL prints the value."""
        return self.literal(default)
