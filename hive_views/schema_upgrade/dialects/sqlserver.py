"""SQL Server: scripts are rendered, not applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hive_views.schema_upgrade.databases import Database
from hive_views.schema_upgrade.dialects.base import Change, Dialect, Missing
from hive_views.schema_upgrade.requirements import Type, TypeKind
from hive_views.schema_upgrade.schema import Column


class SqlServer(Dialect):
    """SQL Server 2012 and newer."""

    name = Database.SQLSERVER
    hive_name = "mssql"
    title = "SQL Server"
    transactional_ddl = True
    has_indexes_by_table = True
    types: Mapping[TypeKind, str] = {
        TypeKind.BIGINT: "bigint",
        TypeKind.INT: "int",
        TypeKind.VARCHAR: "nvarchar({length})",
        TypeKind.CHAR: "char({length})",
        TypeKind.VIEW_TEXT: "nvarchar(max)",
        TypeKind.PARAMETER: "nvarchar(max)",
        TypeKind.LONG_TEXT: "text",
        TypeKind.FLAG: "bit",
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
        return f"[{name.replace(']', ']]')}]"

    def literal(self, text: str) -> str:
        return "N" + super().literal(text)

    def drop_index(self, name: str, table: str) -> str:
        return f"DROP INDEX {self.quote(name)} ON {self.quote(table)}"

    def fits(self, column: Column, needed: Type) -> bool:
        """Return whether a column can hold values of a type.

        `text` and `varchar` lose characters outside their code page.
        """
        size = column.length or 0
        return column.type == "nvarchar" and (size < 0 or (needed.kind is TypeKind.VARCHAR and size >= needed.length))

    def widen(self, table: str, column: Column, needed: Type) -> tuple[str, ...]:
        return (f"ALTER TABLE {self.quote(table)} ALTER COLUMN {self.quote(column.name)} {self.type(needed)} NULL",)

    def number_as_text(self, expression: str) -> str:
        return f"CAST({expression} AS nvarchar(20))"

    def guarded(self, change: Change) -> str:
        if change.missing is Missing.NOTHING:
            return f"{change.statement};\nGO"
        needed = change.needed
        # -1 is nvarchar(max).
        wide = f" OR CHARACTER_MAXIMUM_LENGTH >= {needed.length}" if needed and needed.kind is TypeKind.VARCHAR else ""
        table, name = self.literal(change.table), self.literal(change.name)
        absent = {
            Missing.WIDTH: "EXISTS (SELECT 1 FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_SCHEMA = SCHEMA_NAME() "
            f"AND TABLE_NAME = {table} AND COLUMN_NAME = {name}\n"
            f"    AND NOT (DATA_TYPE = N'nvarchar' AND (CHARACTER_MAXIMUM_LENGTH = -1{wide})))",
            Missing.COLUMN: f"COL_LENGTH({table}, {name}) IS NULL",
            Missing.TABLE: f"OBJECT_ID({name}, N'U') IS NULL",
            Missing.INDEX: f"INDEXPROPERTY(OBJECT_ID({table}), {name}, 'IndexID') IS NULL",
        }[change.missing]
        return f"IF {absent}\n  {change.statement};\nGO"

    def copy_privileges(self, table: str) -> str:
        """Return a batch that repeats the grants of TBLS for a new table."""
        return (
            "DECLARE @grants nvarchar(max) = N'';\n"
            f"SELECT @grants = @grants + N'GRANT ' + permission_name + N' ON {self.quote(table)} TO ' "
            "+ QUOTENAME(USER_NAME(grantee_principal_id)) + N'; '\n"
            "FROM sys.database_permissions WHERE class = 1 AND minor_id = 0 AND major_id = OBJECT_ID(N'TBLS', N'U')\n"
            "  AND state IN (N'G', N'W') AND permission_name IN (N'SELECT', N'INSERT', N'UPDATE', N'DELETE');\n"
            "EXEC (@grants);\nGO"
        )

    def batches(self, statements: Sequence[str], size: int) -> str:
        body = self.bounded(statements, "@first_id", f"(@first_id + {size - 1})", "  ")
        return (
            "DECLARE @first_id bigint = 0;\nDECLARE @last_id bigint = " + self.largest_id() + ";\n"
            f"WHILE @first_id <= @last_id\nBEGIN\n  BEGIN TRANSACTION;\n{body}\n  COMMIT TRANSACTION;\n"
            f"  SET @first_id = @first_id + {size};\nEND;\nGO"
        )

    def comment(self, line: str) -> str:
        """Return a comment line; sqlcmd replaces variables, `$(name)`, also in comments."""
        return super().comment(line.replace("$(", "$ ("))

    def head(self) -> str:
        return (
            ":on error exit\nSET XACT_ABORT ON;\nSET LOCK_TIMEOUT 60000;\nGO\n"
            "IF COALESCE(OBJECT_SCHEMA_NAME(OBJECT_ID(N'TBLS', N'U')), N'') <> SCHEMA_NAME()\n"
            "  RAISERROR(N'TBLS is not in your default schema: connect as the user of the metastore', 16, 1);\nGO"
        )
