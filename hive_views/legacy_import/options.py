"""Options of an import: new names, the treatment of damaged texts, the names of Trino catalogs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, TypeVar

from pydantic import Field, PlainSerializer, PlainValidator

from hive_views.config import ENGINES
from hive_views.errors import UsageError
from hive_views.identifiers import ViewName
from hive_views.text_enum import TextEnum

TRINO_CATALOGS = ("hive", "iceberg", "awsdatacatalog")
"""Usual names of Trino and Athena catalogs on this metastore."""

MOST_CALLS = 8
"""Default maximum number of concurrent metastore calls of an import; each row takes about a dozen queries."""

READERS = ENGINES[:1]
"""Engines whose findings a plan lists by default: plain Spark."""


class MojibakeMode(TextEnum):
    """How to import mojibake: UTF-8 texts that a latin1 database stored."""

    REFUSE = "refuse"
    REPAIR = "repair"
    KEEP = "keep"


class MaterializedMode(TextEnum):
    """Treatment of materialized views."""

    CONVERT = "convert"
    REPORT = "report"
    """List them, and leave them unchanged."""


class TrinoRowMode(TextEnum):
    """Treatment of Trino rows that are converted in place."""

    KEEP = "keep"
    """Keep Trino's encoded text."""
    RELEASE = "release"
    """Replace it by the new texts."""


Mode = TypeVar("Mode", bound=TextEnum)


def parse_mode(mode: type[Mode], text: str, option: str) -> Mode:
    """Return the mode of a text; raises UsageError, which names the option."""
    if text not in {*mode}:
        raise UsageError(option, f"{text!r} is none of {', '.join(mode)}")
    return mode(text)


NameText = Annotated[ViewName, PlainValidator(ViewName.from_text), PlainSerializer(str)]
"""A name that plans and journals record as text."""


def check_most_calls(most_calls: int, argument: str = "most_calls") -> None:
    """Raise UsageError unless the maximum of concurrent calls is positive."""
    if most_calls < 1:
        raise UsageError(argument, f"{most_calls} is not positive: an import needs at least one call at a time")


@dataclass(frozen=True)
class RenameRule:
    """One renaming rule: `old_*:new_*`, or `old_db.*:new_db.*`."""

    pattern: str
    """A table or view name, or `database.name` if it contains a dot; `*` matches any text."""
    replacement: str
    """The new name, or `database.name`; each `*` stands for the text that the `*` of the pattern matched."""

    @classmethod
    def parse(cls, text: str) -> RenameRule:
        """Parse `pattern:replacement`; raises UsageError."""
        pattern, separator, replacement = text.partition(":")
        if not separator or not pattern or not replacement:
            raise UsageError("--rename", f"{text!r} is not of the form OLD:NEW, e.g. 'old_*:new_*' or 'a.*:b.*'")
        if pattern.count(".") != replacement.count(".") or pattern.count(".") > 1:
            raise UsageError("--rename", f"{text!r}: both sides name either a table or database.table")
        if replacement.count("*") > pattern.count("*"):
            raise UsageError("--rename", f"{text!r}: the new name has more '*' than the old one")
        return cls(pattern.lower(), replacement.lower())

    def apply(self, name: ViewName) -> ViewName | None:
        """Return the new name, or None if the rule does not match."""
        is_qualified = "." in self.pattern
        expression = "(.*?)".join(re.escape(part) for part in self.pattern.split("*"))
        match = re.fullmatch(expression, str(name) if is_qualified else name.name)
        if match is None:
            return None
        groups = iter(match.groups())
        new_name = "".join(next(groups) if char == "*" else char for char in self.replacement)
        if not is_qualified:
            return ViewName(name.database, new_name)
        database, _, table = new_name.partition(".")  # a table name of Hive 4 may contain dots
        return ViewName(database, table)

    def __str__(self) -> str:
        return f"{self.pattern}:{self.replacement}"


@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    """Options of an import.

    Raises:
        UsageError: If `mojibake`, `materialized`, `trino_rows` or `readers` has an unknown value, or there is no
            reader.
    """

    renames: tuple[Annotated[RenameRule, PlainValidator(RenameRule.parse), PlainSerializer(str)], ...] = ()
    """Renaming rules for the views and for all tables in their texts; the first match wins."""
    to_database: str | None = None
    """Database for the new views; None keeps the database of each legacy view. Applied to views only, after the
    renaming rules."""
    mojibake: Annotated[MojibakeMode, Field(alias="mangled")] = MojibakeMode.REFUSE
    """What happens to texts that a latin1 database damaged; this and the two other modes may be given as their text."""
    trino_catalogs: tuple[str, ...] = TRINO_CATALOGS
    """Names of Trino catalogs whose tables are in this metastore."""
    materialized: MaterializedMode = MaterializedMode.CONVERT
    """What happens to materialized views."""
    trino_rows: TrinoRowMode = TrinoRowMode.KEEP
    """What happens to rows of Trino."""
    accept_unreadable: tuple[NameText, ...] = ()
    """Tables that Spark reads with other rows, or not at all, and views that may read such tables."""
    readers: tuple[str, ...] = READERS
    """Engines that are to read the new views, of `hive_views.config.ENGINES`; a plan has the findings for them."""
    strict: bool = False
    """Refuse views with a finding for one of the readers, of any outcome but a note (`Outcome.is_note`)."""
    file_columns: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    """Name and type of the columns of files that texts read as tables, by the name of the files; a plan on Spark asks
    Spark for them."""

    def __post_init__(self) -> None:
        # Programs may give the modes as their texts.
        for name, mode, option in (
            ("mojibake", MojibakeMode, "--mangled"),
            ("materialized", MaterializedMode, "--materialized"),
            ("trino_rows", TrinoRowMode, "--trino-rows"),
        ):
            object.__setattr__(self, name, parse_mode(mode, getattr(self, name), option))
        for reader in self.readers or ("",):
            if reader not in ENGINES:
                raise UsageError("--readers", f"{reader!r} is none of {', '.join(ENGINES)}")

    @property
    def reader_names(self) -> str:
        """The readers for people, for example `Spark and Hive`."""
        *names, last = (reader.capitalize() for reader in self.readers)
        return f"{', '.join(names)} and {last}" if names else last

    def rename(self, name: ViewName) -> ViewName:
        """Apply the renaming rules to the name of a table or view."""
        return next((new for rule in self.renames if (new := rule.apply(name)) is not None), name)

    def target_of(self, name: ViewName) -> ViewName:
        """Return the name of the Iceberg view that replaces the legacy view of a name."""
        renamed = self.rename(name)
        return renamed if self.to_database is None else ViewName(self.to_database.lower(), renamed.name)
