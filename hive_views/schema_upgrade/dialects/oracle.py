"""Oracle: scripts are rendered, not applied. DDL commits implicitly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hive_views.schema_upgrade.databases import Database
from hive_views.schema_upgrade.dialects.base import Change, Dialect, Missing
from hive_views.schema_upgrade.requirements import NeededColumn, Type, TypeKind
from hive_views.schema_upgrade.schema import Column

SPARE = "HIVE_VIEWS_SPARE"
"""The column that holds the values while a column changes its type."""


OLD = "HIVE_VIEWS_OLD"
"""The name of the column whose values are copied."""

_SPARE_COLUMN = (
    (f"ALTER TABLE {{table}} ADD {SPARE} {{type}}", "spare = 0 AND narrow = 1"),
    (f"ALTER TABLE {{table}} RENAME COLUMN {{column}} TO {OLD}", "spare = 1 AND narrow = 1"),
    (f"UPDATE {{table}} SET {SPARE} = {OLD}", "spare = 1 AND old = 1"),
    (f"ALTER TABLE {{table}} RENAME COLUMN {SPARE} TO {{column}}", "spare = 1 AND old = 1"),
    (f"ALTER TABLE {{table}} DROP COLUMN {OLD}", "spare = 0 AND old = 1 AND wide = 1"),
)
"""The statements that change a column to CLOB, and when a script runs each: if the previous one was the last."""


class Oracle(Dialect):
    """Oracle 12 and newer. Names are not quoted, as in Hive's own scripts: all are upper case."""

    name = Database.ORACLE
    hive_name = "oracle"
    title = "Oracle"
    transactional_ddl = False
    types: Mapping[TypeKind, str] = {
        TypeKind.BIGINT: "NUMBER(19)",
        TypeKind.INT: "NUMBER(10)",
        TypeKind.VARCHAR: "VARCHAR2({length})",
        TypeKind.CHAR: "CHAR({length})",
        TypeKind.VIEW_TEXT: "CLOB",
        TypeKind.PARAMETER: "CLOB",
        TypeKind.LONG_TEXT: "CLOB",
        TypeKind.FLAG: "NUMBER(1)",
    }
    false = "0"
    now = 'TO_CHAR(SYS_EXTRACT_UTC(SYSTIMESTAMP), \'YYYY-MM-DD"T"HH24:MI:SS.FF6"Z"\')'
    own_text = "CLOB"
    locking: Mapping[str, str] = {
        "add-column": "the table's definition for a moment; no row is rewritten, from Oracle 12 on",
        "widen": "where the type becomes a CLOB all rows are rewritten, and the column has another name meanwhile: "
        "stop the metastore",
    }
    add = "ADD"
    one_row = " FROM DUAL"

    def quote(self, name: str) -> str:
        """Return an identifier; none of them needs quotes."""
        return name

    def column(self, column: NeededColumn) -> str:
        """Return a column as it is declared; a flag with its check."""
        checked = f" CHECK ({column.name} IN (1, 0))" if column.type.kind is TypeKind.FLAG else ""
        return super().column(column) + checked

    def fits(self, column: Column, needed: Type) -> bool:
        if needed.kind is TypeKind.VARCHAR:
            return column.type == "clob" or (column.length or 0) >= needed.length
        return column.type == "clob"

    def widen(self, table: str, column: Column, needed: Type) -> tuple[str, ...]:
        """Widen a column; a change to CLOB uses a spare column."""
        if needed.kind is TypeKind.VARCHAR:
            return (f"ALTER TABLE {table} MODIFY ({column.name} {self.type(needed)})",)
        # The old column is renamed before it is copied, so that writes of a running metastore fail instead of being
        # lost when the column is dropped.
        names = {"table": table, "column": column.name, "type": self.type(needed)}
        return tuple(statement.format(**names) for statement, _ in _SPARE_COLUMN)

    def short_text(self, expression: str) -> str:
        """Return the beginning of a CLOB, which can be compared."""
        return f"DBMS_LOB.SUBSTR({expression}, 128, 1)"

    def number_as_text(self, expression: str) -> str:
        return f"TO_CLOB(TO_CHAR({expression}))"

    def guarded(self, change: Change) -> str:
        table, name = self.literal(change.table), self.literal(change.name)
        if change.missing is Missing.WIDTH and change.needed is not None and change.needed.kind is not TypeKind.VARCHAR:
            return self._with_spare_column(change)
        if change.missing is Missing.WIDTH and change.needed is not None:
            return self._where(
                f"user_tab_columns WHERE table_name = {table} AND column_name = {name} "
                f"AND char_length < {change.needed.length}",
                "found = 1",
                change.statement,
            )
        if change.missing is Missing.NOTHING:
            return f"BEGIN\n  EXECUTE IMMEDIATE {self.literal(change.statement)};\nEND;\n/"
        # Oracle rejects a second index on the same columns, whatever its name (ORA-01408).
        columns = change.statement[change.statement.rfind("(") + 1 : -1].replace(" ", "") + ","
        exists = {
            Missing.COLUMN: "user_tab_columns WHERE table_name = {0} AND column_name = {1}",
            Missing.TABLE: "user_tables WHERE table_name = {1}",
            Missing.INDEX: "(SELECT index_name FROM user_indexes WHERE index_name = {1} UNION ALL\n"
            "    SELECT index_name FROM user_ind_columns WHERE table_name = {0} GROUP BY index_name\n"
            "    HAVING SUBSTR(LISTAGG(column_name, ',') WITHIN GROUP (ORDER BY column_position) || ',', 1, {3})\n"
            "      = {2})",
        }[change.missing].format(table, name, self.literal(columns), len(columns))
        return self._where(exists, "found = 0", change.statement)

    def _where(self, source: str, condition: str, statement: str) -> str:
        return (
            f"DECLARE\n  found NUMBER;\nBEGIN\n  SELECT COUNT(*) INTO found FROM {source};\n"
            f"  IF {condition} THEN\n    EXECUTE IMMEDIATE {self.literal(statement)};\n  END IF;\nEND;\n/"
        )

    def _with_spare_column(self, change: Change) -> str:
        """One guarded statement of a type change. Each commits, so it runs only if the previous one was the last."""
        column, statement = self.literal(change.name), self.literal(change.statement)
        _, condition = _SPARE_COLUMN[change.position]
        state_query = (
            f"SELECT COUNT(CASE WHEN column_name = {self.literal(SPARE)} THEN 1 END),\n"
            f"      COUNT(CASE WHEN column_name = {self.literal(OLD)} THEN 1 END),\n"
            f"      COUNT(CASE WHEN column_name = {column} AND data_type <> 'CLOB' THEN 1 END),\n"
            f"      COUNT(CASE WHEN column_name = {column} AND data_type = 'CLOB' THEN 1 END)\n"
            f"    INTO spare, old, narrow, wide FROM user_tab_columns WHERE table_name = {self.literal(change.table)}"
        )
        return (
            "DECLARE\n  spare NUMBER;\n  old NUMBER;\n  narrow NUMBER;\n  wide NUMBER;\nBEGIN\n"
            f"    {state_query};\n"
            f"  IF {condition} THEN\n    EXECUTE IMMEDIATE {statement};\n    COMMIT;\n  END IF;\nEND;\n/"
        )

    def copy_privileges(self, table: str) -> str:
        """Return a block that repeats the grants of TBLS for a new table."""
        return (
            "DECLARE\n  granting VARCHAR2(400);\nBEGIN\n"
            "  FOR made IN (SELECT DISTINCT grantee, privilege FROM user_tab_privs_made WHERE table_name = 'TBLS'\n"
            "    AND privilege IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE')) LOOP\n"
            f"    granting := 'GRANT ' || made.privilege || ' ON {table} TO ' ||\n"
            "      CASE made.grantee WHEN 'PUBLIC' THEN 'PUBLIC' ELSE '\"' || made.grantee || '\"' END;\n"
            "    EXECUTE IMMEDIATE granting;\n  END LOOP;\nEND;\n/"
        )

    def batches(self, statements: Sequence[str], size: int) -> str:
        """Statements over a range of rows, repeated in batches; dynamic SQL, since the same script adds the columns."""
        body = "\n".join(
            f"    EXECUTE IMMEDIATE {self.literal(each.replace(':first', ':1').replace(':last', ':2'))} "
            f"USING first_id, first_id + {size - 1};"
            for each in statements
        )
        return (
            "DECLARE\n  first_id NUMBER := 0;\n  last_id NUMBER;\nBEGIN\n"
            f"  SELECT COALESCE(MAX(TBL_ID), 0) INTO last_id FROM TBLS;\n  WHILE first_id <= last_id LOOP\n{body}\n"
            f"    COMMIT;\n    first_id := first_id + {size};\n  END LOOP;\nEND;\n/"
        )

    def head(self) -> str:
        return (
            "WHENEVER SQLERROR EXIT FAILURE\nSET DEFINE OFF\nALTER SESSION SET DDL_LOCK_TIMEOUT = 60;\n"
            "DECLARE\n  found NUMBER;\nBEGIN\n"
            "  SELECT COUNT(*) INTO found FROM user_tables WHERE table_name = 'TBLS';\n  IF found = 0 THEN\n"
            "    RAISE_APPLICATION_ERROR(-20001, 'TBLS is not yours: connect as the user of the metastore');\n"
            "  END IF;\nEND;\n/"
        )
