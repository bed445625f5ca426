"""The columns, keys and indexes that a DDL script creates, read from its text, for all databases that Hive supports.

Only statements about the tables that an upgrade changes are read; a statement about them in a form that is not known is
an error, so that nothing is skipped silently.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from hive_views.schema_upgrade.schema import VIEW_TABLES

TABLES = frozenset(VIEW_TABLES) - {"COLUMNS_V2"}

_SYNONYMS = {
    "character varying": "varchar",
    "varchar2": "varchar",
    "character": "char",
    "integer": "int",
    "numeric": "number",
}

_NAME = r'(?:(?:[\["`]?(?:APP|dbo)[\]"`]?\.)?[\["`]?(\w+)[\]"`]?)'
_TYPE = re.compile(
    r"(?P<type>character varying|long varchar|double precision|\w+)\s*(?:\(\s*(?P<length>\d+|max)\s*(?:char)?\s*\))?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class DeclaredColumn:
    """A column as a statement declares it."""

    type: str
    """The type in lower case without its length, `varchar2` and `character varying` as `varchar`."""
    length: str | None = None
    """Its length, `max` on SQL Server."""
    nullable: bool = True
    default: str | None = None
    """The literal in upper case without quotes and casts; None for no default or NULL."""

    def __str__(self) -> str:
        length = f"({self.length})" if self.length else ""
        default = f" DEFAULT {self.default}" if self.default is not None else ""
        return f"{self.type}{length}{default}{'' if self.nullable else ' NOT NULL'}"


@dataclass
class DeclaredTable:
    """A table as statements declare it."""

    columns: dict[str, DeclaredColumn] = field(default_factory=dict)
    primary_key: tuple[str, ...] = ()
    indexes: set[tuple[str, ...]] = field(default_factory=set)
    """The columns of its indexes, without the primary key."""
    references: set[tuple[str, str]] = field(default_factory=set)
    """The columns with a foreign key, and the tables that they refer to."""
    options: str = ""
    """The text after the columns in CREATE TABLE, in upper case."""


class DeclaredSchema(dict[str, DeclaredTable]):
    """Tables by their names in upper case."""

    def run(self, statements: Iterable[str]) -> DeclaredSchema:
        """Apply statements, in order."""
        for statement in statements:
            self._run(" ".join(statement.split()))
        return self

    def _run(self, sql: str) -> None:
        if match := re.match(rf"CREATE TABLE (?:IF NOT EXISTS )?{_NAME} ?\((.*)\)([^()]*)$", sql, re.IGNORECASE):
            name, body, options = match.groups()
            if name.upper() in TABLES:
                self[name.upper()] = DeclaredTable(options=options.strip().upper())
                for part in _parts(body):
                    self._part(self[name.upper()], part)
        elif match := re.match(
            rf"CREATE (?:UNIQUE )?(?:NONCLUSTERED )?INDEX \S+ ON {_NAME}(?: USING \w+)? ?\((.*?)\)", sql, re.IGNORECASE
        ):
            if table := self.get(match[1].upper()):
                table.indexes.add(_names(match[2]))
        elif match := re.match(rf"RENAME COLUMN {_NAME}\.{_NAME} TO {_NAME}$", sql, re.IGNORECASE):
            if match[1].upper() in TABLES:
                self._rename_column(match[1].upper(), match[2], match[3])
        elif match := re.match(rf"ALTER TABLE (?:ONLY )?{_NAME} (.*)$", sql, re.IGNORECASE):
            if match[1].upper() in TABLES:
                for action in self._actions(match[2]):
                    self._alter(match[1].upper(), action, sql)
        elif re.match(
            r"(INSERT|UPDATE|DELETE|SELECT|DROP INDEX|DECLARE|EXEC|DROP VIEW|DROP TABLE)\b", sql, re.IGNORECASE
        ):
            return
        else:
            mentioned = {name.upper() for name in re.findall(r"\w+", sql)} & TABLES
            assert not mentioned, f"not understood: {sql[:300]}"

    @staticmethod
    def _actions(text: str) -> list[str]:
        """The actions of one ALTER TABLE: MySQL separates several by commas."""
        parts = _parts(text)
        is_list = all(re.match(r"(ADD|MODIFY|DROP|ALTER|CHANGE|RENAME)\b", part, re.IGNORECASE) for part in parts)
        return parts if is_list else [text]

    def _alter(self, name: str, action: str, sql: str) -> None:
        table = self[name]
        action = re.sub(r"^WITH CHECK ", "", action, flags=re.IGNORECASE)
        if match := re.match(rf"RENAME TO {_NAME}$", action, re.IGNORECASE):
            self[match[1].upper()] = self.pop(name)
        elif match := re.match(rf"RENAME (?:COLUMN )?{_NAME} TO {_NAME}$", action, re.IGNORECASE):
            self._rename_column(name, match[1], match[2])
        elif match := re.match(rf"DROP COLUMN {_NAME}$", action, re.IGNORECASE):
            table.columns.pop(match[1].upper())
        elif re.match(r"DROP CONSTRAINT|DROP FOREIGN KEY|DROP PRIMARY KEY|DROP INDEX|DROP KEY", action, re.IGNORECASE):
            return
        elif match := re.match(r"ADD (?:COLUMN )?(.*)$", action, re.IGNORECASE):
            self._part(table, _unwrap(match[1]))
        elif match := re.match(r"(?:MODIFY|ALTER)(?: COLUMN)? ?(\S.*)$", action, re.IGNORECASE):
            match = re.match(rf"{_NAME} (.*)$", _unwrap(match[1]))
            assert match is not None, sql
            self._change(table, match[1].upper(), match[2])
        elif match := re.match(rf"CHANGE (?:COLUMN )?{_NAME} {_NAME} (.*)$", action, re.IGNORECASE):
            self._rename_column(name, match[1], match[2])
            self._change(table, match[2].upper(), match[3])
        else:
            raise AssertionError(f"not understood: {sql[:300]}")

    def _change(self, table: DeclaredTable, column: str, text: str) -> None:
        old = table.columns[column]
        if match := re.match(r"SET DEFAULT (.*)$", text, re.IGNORECASE):
            table.columns[column] = replace(old, default=_literal(match[1]))
        elif re.match(r"DEFAULT ", text, re.IGNORECASE):
            table.columns[column] = replace(old, default=_literal(text[8:]))
        elif re.match(r"(SET )?NOT NULL$", text, re.IGNORECASE):
            table.columns[column] = replace(old, nullable=False)
        elif match := re.match(r"(?:SET DATA )?TYPE (.*)$", text, re.IGNORECASE):
            new = _column(match[1])
            table.columns[column] = replace(old, type=new.type, length=new.length)
        else:
            new = _column(text)
            is_oracle = "(" not in text and re.match(r"varchar2", text, re.IGNORECASE)
            table.columns[column] = replace(new, default=new.default or (old.default if is_oracle else None))

    def _rename_column(self, table: str, old: str, new: str) -> None:
        columns = self[table].columns
        columns[new.upper()] = columns.pop(old.upper())

    @staticmethod
    def _part(table: DeclaredTable, part: str) -> None:
        part = re.sub(r"^CONSTRAINT \S+ ", "", part, flags=re.IGNORECASE)
        if match := re.match(r"PRIMARY KEY (?:CLUSTERED )?\((.*?)\)", part.replace("KEY(", "KEY ("), re.IGNORECASE):
            table.primary_key = _names(match[1])
        elif match := re.match(rf"FOREIGN KEY ?\((.*?)\) REFERENCES {_NAME}", part, re.IGNORECASE):
            table.references.add((_names(match[1])[0], match[2].upper()))
        elif match := re.match(
            r"(?:UNIQUE KEY|UNIQUE INDEX|UNIQUE|KEY|INDEX)(?: \S+?)? ?\((.*)\)", part, re.IGNORECASE
        ):
            table.indexes.add(_names(match[1]))
        elif re.match(r"CHECK", part, re.IGNORECASE):
            return
        else:
            match = re.match(rf"{_NAME} (.*)$", part)
            assert match is not None, part
            table.columns[match[1].upper()] = _column(match[2])


def _unwrap(text: str) -> str:
    """The text without the parentheses around it: Oracle's `ADD (…)` and `MODIFY (…)`."""
    return text[1:-1].strip() if text.startswith("(") and text.endswith(")") else text


def _column(text: str) -> DeclaredColumn:
    match = _TYPE.match(text)
    assert match is not None, text
    kind = match["type"].lower()
    rest = text[match.end() :]
    # The display width of MySQL's integers is not their size.
    length = None if kind in ("bigint", "int", "bit") else (match["length"] or "").lower() or None
    default = re.search(r"\bDEFAULT(?!_)\s*(\(?'?[\w.]+'?\)?)", rest, re.IGNORECASE)
    return DeclaredColumn(
        _SYNONYMS.get(kind, kind),
        length,
        re.search(r"\bNOT NULL\b", rest, re.IGNORECASE) is None,
        _literal(default[1]) if default else None,
    )


def _literal(text: str) -> str | None:
    literal = text.split("::")[0].strip().strip("()'").upper()
    return None if literal == "NULL" else literal


def _names(text: str) -> tuple[str, ...]:
    return tuple(re.sub(r"[\"`\[\]]|\s+(ASC|DESC)\b|\(\d+\)", "", name).strip().upper() for name in text.split(","))


def _parts(body: str) -> list[str]:
    """The parts of a list, split at commas outside of parentheses."""
    parts, depth, start = [], 0, 0
    for offset, character in enumerate(body):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append(body[start:offset])
            start = offset + 1
    return [part.strip() for part in [*parts, body[start:]] if part.strip()]


def statements(script: str) -> list[str]:
    """The statements of a script, without comments and commands of clients."""
    text = re.sub(r"/\*(?!!).*?\*/", " ", script, flags=re.DOTALL)
    text = re.sub(r"^\s*(--|GO\b|/\s*$|\\|SOURCE\b|:r\b|@|run\b).*$", "", text, flags=re.MULTILINE | re.IGNORECASE)
    text = re.sub(r"(?<=[\s;,])--.*$", "", text, flags=re.MULTILINE)
    # SQL Server's scripts end some statements by GO or a new line only.
    text = re.sub(r"\n(?=\s*(?:CREATE|ALTER)\s+(?:TABLE|(?:UNIQUE\s+|NONCLUSTERED\s+)*INDEX)\b)", ";\n", text)
    return [statement.strip() for statement in text.split(";") if statement.strip()]


def changed_objects(script: Iterable[str]) -> list[tuple[str, str, str]]:
    """What the statements of a script do to the tables of a plan, in order: the form, the table, and the object.

    Forms: `create` of a table, `add` and `change` of a column (its type or name, too), `index`, `reindex` (of a dropped
    index), `key` (of a primary key), `rename` of a table, `insert` of rows. The object is the column, the name and the
    columns of an index (`NAME(A,B)`), or the columns of a key.
    """
    objects: list[tuple[str, str, str]] = []
    dropped: set[str] = set()
    for statement in script:
        sql = " ".join(statement.split())
        if match := re.match(rf"DROP INDEX (?:IF EXISTS )?{_NAME}", sql, re.IGNORECASE):
            dropped.add(match[1].upper())
        for form, table, name in _changes(sql):
            is_again = form == "index" and name.partition("(")[0].upper() in dropped
            objects.append(("reindex" if is_again else form, table.upper(), name.upper()))
    return [(form, table, name) for form, table, name in objects if table in TABLES]


def _changes(sql: str) -> list[tuple[str, str, str]]:
    if match := re.match(rf"CREATE TABLE (?:IF NOT EXISTS )?{_NAME} ?\((.*)\)([^()]*)$", sql, re.IGNORECASE):
        declared = DeclaredSchema().run([sql])
        names = [name for table in declared.values() for name in table.columns]
        indexes = [f"({','.join(index)})" for table in declared.values() for index in sorted(table.indexes)]
        table = match[1]
        return [("create", table, ""), *(("add", table, name) for name in names)] + [
            ("index", table, name) for name in indexes
        ]
    if match := re.match(
        rf"CREATE (?:UNIQUE )?(?:NONCLUSTERED )?INDEX {_NAME} ON {_NAME}(?: USING \w+)? ?\((.*?)\)", sql, re.IGNORECASE
    ):
        return [("index", match[2], f"{match[1]}({','.join(_names(match[3]))})")]
    if match := re.match(rf"RENAME COLUMN {_NAME}\.{_NAME} TO {_NAME}$", sql, re.IGNORECASE):
        return [("change", match[1], match[2]), ("change", match[1], match[3])]
    if match := re.match(rf"INSERT INTO {_NAME}\b", sql, re.IGNORECASE):
        return [("insert", match[1], "")]
    if match := re.match(rf"EXEC SP_RENAME '{_NAME}\.{_NAME}' ?, ?'(\w+)'", sql, re.IGNORECASE):
        return [("change", match[1], match[2]), ("change", match[1], match[3])]
    if match := re.match(rf"ALTER TABLE (?:ONLY )?{_NAME} (.*)$", sql, re.IGNORECASE):
        if match[1].upper() not in TABLES:
            return []
        return [each for action in DeclaredSchema._actions(match[2]) for each in _altered(match[1], action)]
    return []


def _altered(table: str, action: str) -> list[tuple[str, str, str]]:
    action = re.sub(r"^WITH CHECK ", "", action, flags=re.IGNORECASE)
    if match := re.match(rf"RENAME TO {_NAME}$", action, re.IGNORECASE):
        return [("rename", table, "")]
    if match := re.match(rf"RENAME (?:COLUMN )?{_NAME} TO {_NAME}$", action, re.IGNORECASE):
        return [("change", table, name) for name in dict.fromkeys((match[1].upper(), match[2].upper()))]
    if re.match(r"DROP ", action, re.IGNORECASE):
        return []
    if match := re.match(r"ADD (?:COLUMN )?(.*)$", action, re.IGNORECASE):
        declared = DeclaredTable()
        DeclaredSchema._part(declared, _unwrap(match[1]))
        key = [("key", table, ",".join(declared.primary_key))] if declared.primary_key else []
        indexes = [("index", table, f"({','.join(index)})") for index in sorted(declared.indexes)]
        return [("add", table, name) for name in declared.columns] + key + indexes
    if match := re.match(r"(?:MODIFY|ALTER|CHANGE)(?: COLUMN)? ?(\S.*)$", action, re.IGNORECASE):
        changed = re.match(rf"{_NAME} (.*)$", _unwrap(match[1]))
        assert changed is not None, action
        return [("change", table, changed[1])]
    raise AssertionError(f"not understood: {table} {action[:300]}")
