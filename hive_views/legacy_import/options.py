"""How a user wants legacy views imported: names in another place, texts mended, catalogs of Trino's."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hive_views.errors import UsageError
from hive_views.identifiers import ViewName

TRINO_CATALOGS = ("hive", "iceberg", "awsdatacatalog")
"""Names that Trino and Athena usually give to catalogs on this metastore."""

MOST_CALLS = 8
"""Default of how many calls an import makes to the metastore at once; each row costs that a dozen queries."""

MANGLED = ("refuse", "repair", "keep")
"""What is done with a text that looks as if a latin1 database had damaged it."""


MATERIALIZED = ("convert", "report")
"""What is done with materialized views: made ours, or shown and left as they are."""


def check_most_calls(most_calls: int, argument: str = "most_calls") -> None:
    """Refuse a bound under which nothing could be asked."""
    if most_calls < 1:
        raise UsageError(argument, f"{most_calls} is not positive: an import needs at least one call at a time")


@dataclass(frozen=True)
class Rule:
    """One rule of renaming: `old_*:new_*`, or `old_db.*:new_db.*`."""

    pattern: str
    """What it matches: a table's or view's name, or `database.name` where it has a dot; `*` stands for anything."""
    replacement: str
    """The new name, or `database.name`; each `*` is what the pattern's own stood for."""

    @classmethod
    def parse(cls, text: str) -> Rule:
        """Read `pattern:replacement`."""
        pattern, separator, replacement = text.partition(":")
        if not separator or not pattern or not replacement:
            raise UsageError("--rename", f"{text!r} is not of the form OLD:NEW, e.g. 'old_*:new_*' or 'a.*:b.*'")
        if pattern.count(".") != replacement.count(".") or pattern.count(".") > 1:
            raise UsageError("--rename", f"{text!r}: both sides name either a table or database.table")
        if replacement.count("*") > pattern.count("*"):
            raise UsageError("--rename", f"{text!r}: the new name has more '*' than the old one")
        return cls(pattern.lower(), replacement.lower())

    def apply(self, name: ViewName) -> ViewName | None:
        """The new name; None where the rule does not match."""
        whole = "." in self.pattern
        expression = "(.*?)".join(re.escape(part) for part in self.pattern.split("*"))
        found = re.fullmatch(expression, str(name) if whole else name.name)
        if found is None:
            return None
        parts = iter(found.groups())
        text = "".join(next(parts) if char == "*" else char for char in self.replacement)
        if not whole:
            return ViewName(name.database, text)
        database, _, table = text.partition(".")  # a table of Hive 4 may have more dots in its name
        return ViewName(database, table)

    def __str__(self) -> str:
        return f"{self.pattern}:{self.replacement}"


@dataclass(frozen=True)
class Options:
    """How legacy views are to be imported."""

    renames: tuple[Rule, ...] = ()
    """Applied to the views and to all tables in their texts; the first that matches counts."""
    to_database: str | None = None
    """Where the new views go; None is where the legacy ones stand. Applied to views alone, after the rules."""
    mangled: str = "refuse"
    """One of MANGLED."""
    trino_catalogs: tuple[str, ...] = TRINO_CATALOGS
    """Catalogs of Trino's whose tables are this metastore's."""
    materialized: str = "convert"
    """One of MATERIALIZED."""

    def __post_init__(self) -> None:
        """Refuse what means nothing."""
        if self.mangled not in MANGLED:
            raise UsageError("--mangled", f"{self.mangled!r} is none of {', '.join(MANGLED)}")
        if self.materialized not in MATERIALIZED:
            raise UsageError("--materialized", f"{self.materialized!r} is none of {', '.join(MATERIALIZED)}")

    def renamed(self, name: ViewName) -> ViewName:
        """What the rules make of a table's name."""
        return next((new for rule in self.renames if (new := rule.apply(name)) is not None), name)

    def target(self, name: ViewName) -> ViewName:
        """Where the view of a name goes."""
        renamed = self.renamed(name)
        return renamed if self.to_database is None else ViewName(self.to_database.lower(), renamed.name)
