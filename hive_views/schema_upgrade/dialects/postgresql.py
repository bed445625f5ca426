"""PostgreSQL: DDL is transactional, so a step is applied completely or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hive_views.schema_upgrade import versions
from hive_views.schema_upgrade.databases import Database
from hive_views.schema_upgrade.dialects.base import Change, Dialect, Missing
from hive_views.schema_upgrade.requirements import NeededTable, Type, TypeKind
from hive_views.schema_upgrade.schema import Column


class PostgreSql(Dialect):
    """PostgreSQL 10 and newer; the scripts' batches need 11."""

    name = Database.POSTGRESQL
    hive_name = "postgres"
    title = "PostgreSQL"
    transactional_ddl = True
    types: Mapping[TypeKind, str] = {
        TypeKind.BIGINT: "bigint",
        TypeKind.INT: "integer",
        TypeKind.VARCHAR: "varchar({length})",
        TypeKind.CHAR: "char({length})",
        TypeKind.VIEW_TEXT: "text",
        TypeKind.PARAMETER: "text",
        TypeKind.LONG_TEXT: "text",
        TypeKind.FLAG: "boolean",
    }
    false = "false"
    now = "to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"
    own_text = "text"
    locking: Mapping[str, str] = {
        "add-column": "the whole table for a moment (ACCESS EXCLUSIVE); no row is rewritten, from PostgreSQL 11 on",
        "create-table": "none; its foreign keys lock their tables against writers for a moment",
        "widen": "the whole table for a moment (ACCESS EXCLUSIVE); no row is rewritten",
    }

    def table_name(self, table: NeededTable, version: str) -> str:
        """The name of a table: lower case in Hive's lock tables before 4.0, whose scripts did not quote names."""
        is_quoted = table.renamed_in is None or versions.at_least(version, table.renamed_in)
        return table.name if is_quoted else table.name.lower()

    def stored_name(self, name: str, table: str) -> str:
        """Lower case in tables with a lower-case name."""
        return name.lower() if table.islower() else name

    def limit(self, count: int) -> str:
        return f"LIMIT {count}"

    def gather(self, key: str) -> str | None:
        return f"STRING_AGG(CAST({key} AS text), ',' ORDER BY {key})"

    def fits(self, column: Column, needed: Type) -> bool:
        if column.length is None:
            return True
        return needed.kind is TypeKind.VARCHAR and column.length >= needed.length

    def widen(self, table: str, column: Column, needed: Type) -> tuple[str, ...]:
        return (self._alter(table, column, self.type(needed)),)

    def restore(self, table: str, column: Column) -> tuple[str, str] | None:
        """Return the statement for an earlier `varchar`, and the condition for longer values."""
        if column.type != "varchar" or not isinstance(column.length, int):
            return None
        longer = f"CHAR_LENGTH({self.quote(column.name)}) > {column.length}"
        return self._alter(table, column, f"varchar({column.length})"), longer

    def lock(self, table: str) -> tuple[str, str]:
        """Return the statement that locks a table against other sessions until the end of the transaction."""
        return f"LOCK TABLE {self.quote(table)} IN ACCESS EXCLUSIVE MODE", ""

    def _alter(self, table: str, column: Column, kind: str) -> str:
        """Return the statement that changes a column's type. Without COLLATE it would get the default collation."""
        collation = f" COLLATE {self.quote(column.collation)}" if column.collation else ""
        return f"ALTER TABLE {self.quote(table)} ALTER COLUMN {self.quote(column.name)} TYPE {kind}{collation}"

    def number_as_text(self, expression: str) -> str:
        """Return a number as text; CHAR would have trailing blanks."""
        return f"CAST({expression} AS text)"

    def guarded(self, change: Change) -> str:
        if change.missing is Missing.NOTHING:
            return f"{change.statement};"
        here = "current_schema()"
        if change.missing is Missing.WIDTH and change.needed is not None:
            narrow = f"< {change.needed.length}" if change.needed.kind is TypeKind.VARCHAR else "IS NOT NULL"
            return (
                f"DO $$ BEGIN\n  IF EXISTS (SELECT 1 FROM information_schema.columns WHERE table_schema = {here} "
                f"AND table_name = {self.literal(change.table)} AND column_name = {self.literal(change.name)}\n"
                f"      AND character_maximum_length {narrow}) THEN\n    {change.statement};\n  END IF;\nEND $$;"
            )
        exists = {
            Missing.COLUMN: f"SELECT 1 FROM information_schema.columns WHERE table_schema = {here} "
            f"AND table_name = {self.literal(change.table)} AND column_name = {self.literal(change.name)}",
            Missing.TABLE: f"SELECT 1 FROM information_schema.tables WHERE table_schema = {here} "
            f"AND table_name = {self.literal(change.name)}",
            Missing.INDEX: f"SELECT 1 FROM pg_indexes WHERE schemaname = {here} "
            f"AND indexname = {self.literal(change.name)}",
        }[change.missing]
        return f"DO $$ BEGIN\n  IF NOT EXISTS ({exists}) THEN\n    {change.statement};\n  END IF;\nEND $$;"

    def batches(self, statements: Sequence[str], size: int) -> str:
        body = self.bounded(statements, "first_id", f"(first_id + {size - 1})", "    ")
        return (
            "DO $$\nDECLARE\n  first_id bigint := 0;\n  last_id bigint;\nBEGIN\n"
            f"  last_id := {self.largest_id()};\n  WHILE first_id <= last_id LOOP\n{body}\n"
            f"    COMMIT;\n    first_id := first_id + {size};\n  END LOOP;\nEND $$;"
        )

    def head(self) -> str:
        return (
            "\\set ON_ERROR_STOP on\nSET client_encoding = 'UTF8';\n"
            "SET lock_timeout = '60s';\nSET statement_timeout = 0;"
        )

    def give(self, table: str, owner: str | None, grants: Sequence[tuple[str, str]]) -> tuple[str, ...]:
        """Return the statements that give a table to an owner and privileges on it to other users."""
        name = self.quote(table)
        owned = (f"ALTER TABLE {name} OWNER TO {self._role(owner)}",) if owner else ()
        return (*owned, *(f"GRANT {privilege} ON {name} TO {self._role(grantee)}" for grantee, privilege in grants))

    def _role(self, name: str) -> str:
        return name if name == "PUBLIC" else self.quote(name)

    def use(self, schema: str) -> str:
        """Select the schema of the tables, and act as their owner."""
        return (
            f"SET search_path TO {self.quote(schema)};\n"
            "DO $$ BEGIN\n  EXECUTE (SELECT format('SET ROLE %I', pg_get_userbyid(relowner)) FROM pg_class "
            "WHERE oid = '\"TBLS\"'::regclass);\nEND $$;"
        )
