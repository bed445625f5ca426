"""SQL Server: scripts are rendered, not applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hive_views.schema_upgrade.dialects.base import Dialect
from hive_views.schema_upgrade.requirements import Type
from hive_views.schema_upgrade.schema import Column


class SqlServer(Dialect):
    """SQL Server 2012 and newer."""

    name = "sqlserver"
    hive_name = "mssql"
    title = "SQL Server"
    sqlglot = "tsql"
    transactional_ddl = True
    types: Mapping[str, str] = {
        "bigint": "bigint",
        "int": "int",
        "varchar": "nvarchar({length})",
        "char": "char({length})",
        "view_text": "nvarchar(max)",
        "parameter": "nvarchar(max)",
        "long_text": "text",
        "flag": "bit",
    }
    false = "0"
    now = "CONVERT(nvarchar(30), SYSUTCDATETIME(), 126) + N'Z'"
    own_text = "nvarchar(max)"
    locking: Mapping[str, str] = {
        "add-column": "the table's definition for a moment (Sch-M)",
        "widen": "the table's definition (Sch-M); a text that becomes nvarchar(max) is rewritten when it is next "
        "written",
    }
    add = "ADD"

    def quote(self, name: str) -> str:
        """An identifier, in brackets."""
        return f"[{name}]"

    def literal(self, text: str) -> str:
        """A string literal."""
        return "N" + super().literal(text)

    def drop_index(self, name: str, table: str) -> str:
        """Take an index away."""
        return f"DROP INDEX {self.quote(name)} ON {self.quote(table)}"

    def fits(self, column: Column, needed: Type) -> bool:
        """Whether a column can hold values of a type; `text` and `varchar` lose characters of other alphabets."""
        size = column.length or 0
        return column.type == "nvarchar" and (size < 0 or (needed.kind == "varchar" and size >= needed.length))

    def widen(self, table: str, column: Column, needed: Type) -> tuple[str, ...]:
        """Let a column hold more."""
        return (f"ALTER TABLE {self.quote(table)} ALTER COLUMN {self.quote(column.name)} {self.type(needed)} NULL",)

    def guarded(
        self, statement: str, table: str, missing: str, name: str, needed: Type | None = None, *, is_part: bool = False
    ) -> str:
        """A statement for a script that may run twice."""
        if not missing:
            return f"{statement};\nGO"
        # -1 is nvarchar(max).
        wide = f" OR CHARACTER_MAXIMUM_LENGTH >= {needed.length}" if needed and needed.kind == "varchar" else ""
        absent = {
            "width": "EXISTS (SELECT 1 FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_SCHEMA = SCHEMA_NAME() "
            f"AND TABLE_NAME = {self.literal(table)} AND COLUMN_NAME = {self.literal(name)}\n"
            f"    AND NOT (DATA_TYPE = N'nvarchar' AND (CHARACTER_MAXIMUM_LENGTH = -1{wide})))",
            "column": f"COL_LENGTH({self.literal(table)}, {self.literal(name)}) IS NULL",
            "table": f"OBJECT_ID({self.literal(name)}, N'U') IS NULL",
            "index": f"INDEXPROPERTY(OBJECT_ID({self.literal(table)}), {self.literal(name)}, 'IndexID') IS NULL",
        }[missing]
        return f"IF {absent}\n  {statement};\nGO"

    def batches(self, begin: str, statements: Sequence[str], size: int) -> str:
        """Statements over a range of rows, repeated in batches, each in a transaction of its own."""
        body = "\n".join(
            f"  {each.replace(':first', '@first_id').replace(':last', f'(@first_id + {size - 1})')};"
            for each in statements
        )
        return (
            "DECLARE @first_id bigint = 0;\nDECLARE @last_id bigint = COALESCE((" + begin + "), 0);\n"
            f"WHILE @first_id <= @last_id\nBEGIN\n  BEGIN TRANSACTION;\n{body}\n  COMMIT TRANSACTION;\n"
            f"  SET @first_id = @first_id + {size};\nEND;\nGO"
        )

    def head(self) -> str:
        """What a script begins with."""
        return (
            ":on error exit\nSET XACT_ABORT ON;\nSET LOCK_TIMEOUT 60000;\nGO\n"
            "IF COALESCE(OBJECT_SCHEMA_NAME(OBJECT_ID(N'TBLS', N'U')), N'') <> SCHEMA_NAME()\n"
            "  RAISERROR(N'TBLS is not in your default schema: connect as the user of the metastore', 16, 1);\nGO"
        )
